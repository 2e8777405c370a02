"""The worst posterior that a target's number lies in some window, world by world: slow, and plain.

Windows begin anywhere, at values and between them: every x at which what lies in [x, x + w]
changes, and a point between each two. What lies in a window is a set of values, whose worst
posterior `tests.oracle.sets` enumerates. Nothing here knows the library or its formulas.
"""

from fractions import Fraction
from itertools import pairwise

from tests.oracle.sets import worst_of_set


def windows_of(values, wide, share=False):
    """The sets of values that lie in some window; `share` says that it is so wide for its amount.

    >>> [sorted(map(int, s)) for s in windows_of([1, 2, 4], 2)]
    [[1], [1, 2], [2], [2, 4], [4]]
    >>> [sorted(map(int, s)) for s in windows_of([-110, -100, 0, 5], Fraction(1, 10), share=True)]
    [[-110], [-110, -100], [-100], [0], [5]]
    """
    values, wide = sorted({Fraction(v) for v in values}), Fraction(wide)

    def holds(x, v):
        if not share:
            return x <= v <= x + wide
        # Near by amount: of one sign, and the larger amount at most so much above the smaller.
        return x <= v <= x * (1 + wide) if x >= 0 else x <= v <= x / (1 + wide)

    if share:
        begins = {v / (1 + wide) if v > 0 else v * (1 + wide) for v in values}
    else:
        begins = {v - wide for v in values}
    changes = sorted(begins | set(values))
    between = [(one + other) / 2 for one, other in pairwise(changes)]
    found = {frozenset(v for v in values if holds(x, v)) for x in (*changes, *between)}
    return sorted(found - {frozenset()}, key=sorted)


def worst_of_windows(bags, wide, most, share=False):
    """Highest posterior that somebody's value is in one window, for every amount up to `most`.

    >>> worst_of_windows([[1, 2, 9]], 1, (1, 0, 0))[0, 0, 0]
    Fraction(2, 3)
    """
    bags = [[Fraction(value) for value in bag] for bag in bags]
    every = windows_of([value for bag in bags for value in bag], wide, share)
    each = [worst_of_set(bags, united, most) for united in every]
    return {at: max(found[at] for found in each) for at in each[0]}
