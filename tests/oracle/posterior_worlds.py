"""Posteriors from priors by enumeration, and by permanents: slow, and right by inspection.

People are given by their rows: a dict value -> prior, each a Fraction. The bag is a list of
values, one for each person. Nothing here knows the library or its formulas.
"""

from fractions import Fraction
from itertools import combinations, permutations
from math import prod


def joint(people, bag):
    """Posterior of each person and value; None where no world has a positive weight.

    >>> half = Fraction(1, 2)
    >>> joint([{"a": half, "b": half}, {"a": half, "b": half}], "ab")[0]["a"]
    Fraction(1, 2)
    """
    weights = {}
    for world in set(permutations(bag)):
        weights[world] = prod(row[x] for row, x in zip(people, world, strict=True))
    total = sum(weights.values())
    if not total:
        return None
    return [
        {
            x: sum((w for world, w in weights.items() if world[t] == x), Fraction(0)) / total
            for x in set(bag)
        }
        for t in range(len(people))
    ]


def binary(people, bag, value):
    """Posterior of one value for each person; worlds say only who has it.

    >>> half = Fraction(1, 2)
    >>> binary([{"a": half}, {"a": half}], "ab", "a")
    [Fraction(1, 2), Fraction(1, 2)]
    """
    everyone = range(len(people))
    weights = {}
    for holders in combinations(everyone, list(bag).count(value)):
        weights[holders] = prod(
            people[t][value] if t in holders else 1 - people[t][value] for t in everyone
        )
    total = sum(weights.values())
    if not total:
        return None
    return [sum((w for h, w in weights.items() if t in h), Fraction(0)) / total for t in everyone]


def permanent(matrix):
    """Permanent by Ryser's formula: inclusion and exclusion over columns.

    >>> permanent([[1, 2], [3, 4]])
    10
    """
    n = len(matrix)
    total = 0
    for size in range(1, n + 1):
        for columns in combinations(range(n), size):
            total += (-1) ** (n - size) * prod(sum(row[c] for c in columns) for row in matrix)
    return total if n else 1


def joint_by_permanents(people, bag):
    """The same as `joint`: a column per occurrence, cofactors over the permanent.

    >>> half = Fraction(1, 2)
    >>> joint_by_permanents([{"a": half, "b": half}, {"a": half, "b": half}], "ab")[0]["a"]
    Fraction(1, 2)
    """
    matrix = [[row[x] for x in bag] for row in people]
    total = permanent(matrix)
    if not total:
        return None
    found = [dict.fromkeys(bag, Fraction(0)) for _ in people]
    for t, row in enumerate(matrix):
        for column, x in enumerate(bag):
            rest = [[*r[:column], *r[column + 1 :]] for u, r in enumerate(matrix) if u != t]
            found[t][x] += Fraction(row[column] * permanent(rest)) / total
    return found
