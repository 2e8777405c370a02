"""Facts on priors by worlds, and the two formulas of facts in one group."""

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
    results = [((), Fraction(1))]
    for rows, bag in groups:
        own = [
            (world, prod((weigh(row, x) for row, x in zip(rows, world, strict=True)), start=1))
            for world in sorted(set(permutations(bag)))
        ]
        results = [(a + b, v * w) for (a, v), (b, w) in product(results, own) if w]
    return results


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
        for combination in combinations(rest, min(knows, len(rest))):
            free = [person for person in rest if person not in combination]
            for linked in combinations(free, min(links, len(free))):
                for ruled_out in combinations(others, min(ruled, len(others))):
                    best = max(
                        best, _surest_of(every, secret, target, combination, linked, ruled_out)
                    )
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


# ---- T and V of one group ------------------------------------------------------------------------

# Of the skyline paper, section 6.1, in fractions, mended: every numerator is clipped at 0, V is 1
# when there are no relatives, and fewer than l other values means those there are. A group is
# (number of people, {value: count}).


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
