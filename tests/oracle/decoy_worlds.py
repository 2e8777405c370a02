"""The adversary of facts over worlds that are not equally likely: slow, and right by inspection.

People are numbered 0, 1, ...; a world is the tuple of everybody's value, and has a weight. Nothing
here knows the library.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations, product

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


def one_trial(values, part, many, unsafe, swaps, decoys):
    """One cut, tried beside decoys, and the groups that people are dealt into if it is refused.

    Parameters
    ----------
    values : the bag of the group, as a sequence
    part : the people of one part
    many : how many groups people are dealt into
    unsafe : set of bags of the part (sorted tuples) with which the cut is unsafe
    swaps : how many exchanges of two people's values away a decoy must be from such a bag

    Returns
    -------
    accepted : dict of world -> probability that the cut is accepted
    refused : dict of (deal, bags) -> dict of world -> probability of it; `deal` is the group of
        each person

    >>> accepted, refused = one_trial("ab", [0], 1, {("a",)}, 0, 1)
    >>> accepted[("a", "b")], accepted[("b", "a")], refused[(0, 0), ("ab",)]["b", "a"]
    (Fraction(0, 1), Fraction(1, 2), Fraction(1, 2))
    """
    n, often = len(values), Counter(values)
    worlds = sorted(set(permutations(values)))
    order = sorted(often, key=lambda x: (-often[x], x))
    seats = [[] for _ in range(many)]
    for turn, value in enumerate(x for x in order for _ in range(often[x])):
        seats[turn % many].append(value)
    planned = ["".join(sorted(own)) for own in seats]

    def bag(world, people):
        return tuple(sorted(world[p] for p in people))

    near = {world for world in worlds if bag(world, part) in unsafe}
    for _ in range(swaps):
        more = set()
        for world in near:
            for p, q in combinations(range(n), 2):
                other = list(world)
                other[p], other[q] = other[q], other[p]
                more.add(tuple(other))
        near |= more
    labelled = sorted(set(permutations([i for i, own in enumerate(planned) for _ in own])))
    inside = defaultdict(list)  # of each deal, the worlds that agree with it
    for deal in labelled:
        for world in worlds:
            bags = ["".join(bag(world, [p for p in range(n) if deal[p] == i])) for i in range(many)]
            if bags == planned:
                inside[deal].append(world)
    ways = Counter(world for own in inside.values() for world in own)
    accepted, refused = dict.fromkeys(worlds, Fraction(0)), defaultdict(dict)
    for deal, own in inside.items():
        quiet = Fraction(sum(world not in near for world in own), len(own)) ** decoys
        for world in own:
            chance = Fraction(1, ways[world])
            is_safe = bag(world, part) not in unsafe
            accepted[world] += chance * quiet * is_safe
            refused[deal, tuple(planned)][world] = chance * (1 - quiet * is_safe)
    return accepted, dict(refused)
