"""Facts on priors by worlds, and facts by a dynamic program."""

import math
from fractions import Fraction
from itertools import combinations, permutations, product
from math import prod

# ---- facts on priors -----------------------------------------------------------------------------

# Facts on top of priors by enumeration: all worlds, weighed by priors, and all facts.
#
# People are given by their rows: a dict value -> prior, each a Fraction. Groups are lists of
# people, each with a bag. Nothing here knows the library or its formulas.


def worlds(groups, weigh):
    """Who has what in each world of positive weight, and that weight; `groups` are (rows, bag)."""
    found = [((), Fraction(1))]
    for rows, bag in groups:
        own = [
            (world, prod((weigh(row, x) for row, x in zip(rows, world, strict=True)), start=1))
            for world in sorted(set(permutations(bag)))
        ]
        found = [(a + b, v * w) for (a, v), (b, w) in product(found, own) if w]
    return found


def joint(row, value):
    """Everybody has exactly one value."""
    return row[value]


def binary(secret):
    """Everybody has the value or not; what else they have is as likely as anything else."""
    return lambda row, value: row[secret] if value == secret else 1 - row[secret]


def surest(groups, secret, amounts, weigh=joint):
    """How sure somebody can become at most that some person has one of the values of `secret`.

    One more value ruled out, one more person known or linked never makes the surest less sure, so
    facts are taken in full amounts, as far as there are values and people.

    >>> half = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    >>> surest([([half, half], "ab")], "a", (0, 1, 0))
    Fraction(1, 1)
    """
    ruled, knows, links = amounts
    every = worlds(groups, weigh)
    people = range(sum(len(bag) for _, bag in groups))
    others = sorted({x for _, bag in groups for x in bag} - set(secret))
    best = Fraction(0)
    for target in people:
        rest = [person for person in people if person != target]
        for known in combinations(rest, min(knows, len(rest))):
            free = [person for person in rest if person not in known]
            for linked in combinations(free, min(links, len(free))):
                for ruled_out in combinations(others, min(ruled, len(others))):
                    best = max(best, _surest_of(every, secret, target, known, linked, ruled_out))
    return best


def _surest_of(every, secret, target, known, linked, ruled_out):
    had, total = {}, {}
    for world, weight in every:
        own = world[target]
        if own in ruled_out:
            continue
        seen = tuple(world[person] for person in known)
        if own in secret:
            had[seen] = had.get(seen, 0) + weight
        elif any(world[person] in secret for person in linked):
            continue
        total[seen] = total.get(seen, 0) + weight
    return max((weight / total[seen] for seen, weight in had.items()), default=Fraction(0))


# ---- dynamic program -----------------------------------------------------------------------------

# The skyline paper's dynamic program (its appendix A6) in fractions: slow, and right by reading.
#
# It is what the paper compares its own algorithm with. It does not use the congregation property:
# known people and relatives may be spread over the groups in every way. Nothing here knows the
# library.
#
# A release is a list of groups (number of people, {value: count}). T and V are the formulas of
# section 6.1, mended: every numerator is clipped at 0, V is 1 when there are no relatives, and
# fewer than l other values means those there are.


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
