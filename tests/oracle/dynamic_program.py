"""The skyline paper's dynamic program (its appendix A6) in fractions: slow, and right by reading.

It is what the paper compares its own algorithm with. It does not use the congregation property:
known people and relatives may be spread over the groups in every way. Nothing here knows the
library.

A release is a list of groups (number of people, {value: count}). T and V are the formulas of
section 6.1, mended: every numerator is clipped at 0, V is 1 when there are no relatives, and
fewer than l other values means those there are.
"""

import math
from fractions import Fraction
from itertools import product


def breach(groups, value, amounts, semantics="single"):
    """Highest probability that somebody has the value, with exactly so many facts, spread freely.

    >>> group2 = (4, {"Flu": 2, "Cancer": 1, "AIDS": 1})
    >>> breach([group2], "AIDS", (1, 0, 0)), breach([group2], "AIDS", (1, 1, 0))
    (Fraction(1, 2), Fraction(1, 1))
    """
    l, k, m = amounts  # noqa: E741
    places = list(product(range(k + 1), range(m + 1)))
    # Before the first group nobody has been placed: not the target, no known person, no relative.
    with_t = dict.fromkeys(places, math.inf)
    without_t = dict.fromkeys(places, math.inf) | {(0, 0): Fraction(1)}
    for group in groups:
        here = {(p, q): v_of(group, value, q, p, semantics) for p, q in places}
        t_here = {
            (p, q): times(
                t_of(group, value, l, p, semantics), v_of(group, value, q, p + 1, semantics)
            )
            for p, q in places
        }
        with_t, without_t = (
            {
                at: min(least(with_t, here, at), least(without_t, t_here, at))  # t before, or here
                for at in places
            },
            {at: least(without_t, here, at) for at in places},
        )
    return probability(with_t[k, m])


def least(before, here, at):
    """Place i known people and j relatives before this group and the rest in it, as is worst."""
    k, m = at
    return min(times(before[i, j], here[k - i, m - j]) for i in range(k + 1) for j in range(m + 1))


def congregated(groups, value, amounts, semantics="single"):
    """Highest probability when all known people are in one group and all relatives in one group.

    Every choice of the three groups of the target, of the known and of the relatives is tried.

    >>> congregated([(4, {"Flu": 2, "Cancer": 1, "AIDS": 1})], "AIDS", (1, 1, 0))
    Fraction(1, 1)
    """
    l, k, m = amounts  # noqa: E741
    ratios = [math.inf]
    for target, known, family in product(range(len(groups)), repeat=3):
        # Known people in a third group say nothing about the target or the relatives.
        k_target = k if known == target else 0
        k_family = k if known == family else 0
        if family == target:
            k_family += 1  # the target, who for these odds does not have the value
        t = t_of(groups[target], value, l, k_target, semantics)
        ratios.append(times(t, v_of(groups[family], value, m, k_family, semantics)))
    return probability(min(ratios))


def probability(ratio):
    """Turn odds against into a probability."""
    return Fraction(0) if ratio == math.inf else 1 / (1 + ratio)


def times(one, other):
    """Multiply; infinite where one of them is, for a target who cannot have the value."""
    return math.inf if math.inf in (one, other) else one * other


# ---- T and V of one group ---------------------------------------------------------------------


def t_of(group, value, l, k, semantics):  # noqa: E741
    """Odds against the target having the value: l values ruled out or implying it, k known."""
    n, counts = group
    s = counts.get(value, 0)
    if s == 0:
        return math.inf
    others = sorted((count for x, count in counts.items() if x != value), reverse=True)[:l]
    if semantics == "single":
        return Fraction(max(n - s - sum(others) - k, 0), s)
    if semantics == "set":
        odds = Fraction(max(n - s - k, 0), s)
        for count in others:
            odds *= Fraction(max(n - count, 0), n)
        return odds
    if n - k - 1 <= 0:
        return Fraction(0)
    none = Fraction(n - k - 1, n - k) ** s  # that the target has none of the s occurrences
    return none / (1 - none) * Fraction(n - 1, n) ** sum(others)


def v_of(group, value, m, k, semantics):
    """Chance that none of m relatives has the value, k others being known not to have it."""
    n, counts = group
    s = counts.get(value, 0)
    if m == 0 or s == 0:
        return Fraction(1)
    if semantics == "multiset":
        return Fraction(n - k - m, n - k) ** s if n - k - m > 0 else Fraction(0)
    chance = Fraction(1)
    for i in range(m):
        if n - s - k - i <= 0:
            return Fraction(0)
        chance *= Fraction(n - s - k - i, n - k - i)
    return chance
