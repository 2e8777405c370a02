"""The worst posterior that a target has any of a set of values, world by world: slow, and plain.

Worlds are of the values themselves, as in `tests.oracle.worlds`: nothing is merged. The adversary
rules out single values of the target, of the set or not; knows the values of other people, each by
itself; and knows links: if another person has one of the set, whichever, so has the target.
Nothing here knows the library or its formulas.
"""

from fractions import Fraction
from itertools import combinations, product

from tests.oracle.worlds import members, worlds


def worst_of_set(bags, united, most):
    """Highest posterior that somebody has one of `united`, for every amount up to `most`.

    >>> worst_of_set(["xyz"], {"x", "y"}, (1, 0, 0))[1, 0, 0]
    Fraction(1, 1)
    """
    everybody, every = worlds(bags), sorted({value for bag in bags for value in bag})
    best = dict.fromkeys(product(*(range(amount + 1) for amount in most)), Fraction(0))
    groups = members(bags)
    people = [person for group in groups for person in group]
    for home in groups:
        target = home[0]
        others = [person for person in people if person != target]
        for n in range(most[0] + 1):
            for excluded in combinations(every, n):
                left = [world for world in everybody if world[target] not in excluded]
                for amounts, kept in _told(left, others, target, united, most):
                    hits = sum(world[target] in united for world in kept)
                    found = Fraction(hits, len(kept))
                    for at in best:
                        enough = all(a >= b for a, b in zip(at, (n, *amounts), strict=True))
                        if enough and found > best[at]:
                            best[at] = found
    return best


def _told(left, others, target, united, most):
    """What is left for every choice of known people and links, with how many there are of each."""
    if not left:
        return
    if not others:
        yield (0, 0), left
        return
    person, *rest = others
    yield from _told(left, rest, target, united, most)
    _, k, m = most
    if k:
        for value in sorted({world[person] for world in left}):
            known = [world for world in left if world[person] == value]
            for (a, b), kept in _told(known, rest, target, united, (0, k - 1, m)):
                yield (a + 1, b), kept
    if m:
        linked = [w for w in left if w[person] not in united or w[target] in united]
        for (a, b), kept in _told(linked, rest, target, united, (0, k, m - 1)):
            yield (a, b + 1), kept
