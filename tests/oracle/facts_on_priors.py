"""Facts on top of priors by enumeration: all worlds, weighed by priors, and all facts.

People are given by their rows: a dict value -> prior, each a Fraction. Groups are lists of people,
each with a bag. Nothing here knows the library or its formulas.
"""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import prod


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
