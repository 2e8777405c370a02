"""The five minima of the skyline paper straight from its formulas, as mended in the docs."""

import math
from fractions import Fraction


def t(bag, value, l, k):  # noqa: E741
    """Odds against the target; bag is a dict of counts."""
    if not bag.get(value):
        return math.inf
    others = sorted((n for x, n in bag.items() if x != value), reverse=True)
    return Fraction(max(sum(others) - sum(others[:l]) - k, 0), bag[value])


def v(bag, value, m, k):
    """Chance that no family member has the value when k who do not have it are known."""
    if m == 0 or not bag.get(value):
        return Fraction(1)
    n, s = sum(bag.values()), bag[value]
    product = Fraction(1)
    for i in range(m):
        if n - s - k - i <= 0:
            return Fraction(0)
        product *= Fraction(n - s - k - i, n - k - i)
    return product


def five(bags, value, point):
    """SS1 to SS5: the minima over groups."""
    l, k, m = point  # noqa: E741
    per_group = [
        (
            t(bag, value, l, k) * v(bag, value, m, k + 1),
            t(bag, value, l, 0),
            t(bag, value, l, k),
            v(bag, value, m, 0),
            v(bag, value, m, k),
        )
        for bag in bags
    ]
    return [min(column) for column in zip(*per_group, strict=True)]


def breach(statistics):
    """Breach probability from the five minima (Theorem 2)."""
    ss1, ss2, ss3, ss4, ss5 = statistics
    return 1 / (1 + min(ss1, ss2 * ss5, ss3 * ss4))
