"""The adversary of facts over worlds that are not equally likely: slow, and right by inspection.

People are numbered 0, 1, ...; a world is the tuple of everybody's value, and has a weight. Nothing
here knows the library.
"""

from fractions import Fraction
from itertools import combinations, product

import numpy as np


def worst_posterior(weights, secret, most):
    """Highest posterior of a secret for anybody, over all facts of at most `most` = (l, k, m).

    l values that the target does not have, outside the secret; k other people whose value is known,
    whatever it is; m more people who have the secret only if the target does.

    Parameters
    ----------
    weights : dict of world -> Fraction
    secret : set of values, any of which is the secret

    >>> worst_posterior({("a", "b"): Fraction(1), ("b", "a"): Fraction(3)}, {"a"}, (0, 0, 0))
    Fraction(3, 4)
    """
    worlds = [world for world, weight in weights.items() if weight]
    exact = [Fraction(weights[world]) for world in worlds]
    whole = sum(exact)
    weight = np.array([float(x / whole) for x in exact])
    people, values = range(len(worlds[0])), sorted({x for world in worlds for x in world})
    has = {(p, x): np.array([w[p] == x for w in worlds]) for p in people for x in values}
    hit = {p: np.logical_or.reduce([has[p, x] for x in values if x in secret]) for p in people}
    best, found = -1.0, None
    for target in people:
        others = [p for p in people if p != target]
        outside = [x for x in values if x not in secret]
        ruled = [
            ~np.logical_or.reduce([has[target, x] for x in out])
            for out in combinations(outside, min(most[0], len(outside)))
            if out
        ] or [np.ones(len(worlds), dtype=bool)]
        ruled.append(np.ones(len(worlds), dtype=bool))
        for known in (own for k in range(most[1] + 1) for own in combinations(others, k)):
            rest = [p for p in others if p not in known]
            families = [own for m in range(most[2] + 1) for own in combinations(rest, m)]
            links = [
                np.logical_and.reduce([hit[target] | ~hit[p] for p in own])
                if own
                else np.ones(len(worlds), dtype=bool)
                for own in families
            ]
            for theirs in product(values, repeat=len(known)):
                told = np.ones(len(worlds), dtype=bool)
                for p, x in zip(known, theirs, strict=True):
                    told = told & has[p, x]
                if not told.any():
                    continue
                for out in ruled:
                    left = np.array(links) & told & out
                    total = left @ weight
                    hits = (left & hit[target]) @ weight
                    chance = np.divide(hits, total, out=np.zeros_like(hits), where=total > 0)
                    at = int(chance.argmax())
                    if chance[at] > best + 1e-12:
                        best, found = chance[at], (left[at], hit[target])
    left, hits = found
    total = sum(x for x, own in zip(exact, left, strict=True) if own)
    return sum(x for x, own in zip(exact, left & hits, strict=True) if own) / total
