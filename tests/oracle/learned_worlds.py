"""What a release says of statistics, by enumeration: every world of every group, in fractions.

A group is a pair: the kinds of its people, one for each, and its bag of values. Statistics are a
dict (kind, value) -> Fraction. Nothing here knows the library or its formulas.
"""

from fractions import Fraction
from itertools import permutations
from math import prod


def likelihood(groups, chances):
    """The chance of all bags, given which kinds the people of each group are of.

    >>> half = Fraction(1, 2)
    >>> likelihood(
    ...     [("xy", "ab")], {("x", "a"): half, ("x", "b"): half, ("y", "a"): half, ("y", "b"): half}
    ... )
    Fraction(1, 2)
    """
    return prod(
        sum(prod(chances[k, v] for k, v in zip(kinds, world, strict=True)) for world in worlds(bag))
        for kinds, bag in groups
    )


def worlds(bag):
    """Every way in which people, in order, can have the values of a bag; each once."""
    return sorted(set(permutations(bag)))


def amounts(groups, chances):
    """How many people of each kind have each value, on average over worlds, and of each group."""
    total, each = {}, []
    for kinds, bag in groups:
        own = {}
        weights = {
            world: prod(chances[k, v] for k, v in zip(kinds, world, strict=True))
            for world in worlds(bag)
        }
        whole = sum(weights.values())
        for world, weight in weights.items():
            for k, v in zip(kinds, world, strict=True):
                own[k, v] = own.get((k, v), 0) + weight / whole
        for cell, amount in own.items():
            total[cell] = total.get(cell, 0) + amount
        each.append(own)
    return total, each


def step(groups, chances, smoothing):
    """One step of expectation and maximization, with so many people of all values added."""
    total, _ = amounts(groups, chances)
    held = [value for _, bag in groups for value in bag]
    every = sorted({kind for kind, _ in chances})
    people = {kind: sum(list(kinds).count(kind) for kinds, _ in groups) for kind in every}
    return {
        (kind, value): (
            total.get((kind, value), 0) + smoothing * Fraction(held.count(value), len(held))
        )
        / (people[kind] + smoothing)
        for kind, value in chances
    }


def without_own(groups, chances, smoothing, at):
    """What all groups but one teach: their amounts, by kind and value."""
    total, each = amounts(groups, chances)
    held = [value for _, bag in groups for value in bag]
    found = {}
    for kind in set(groups[at][0]):
        others = sum(list(k).count(kind) for i, (k, _) in enumerate(groups) if i != at)
        for value in set(groups[at][1]):
            left = total.get((kind, value), 0) - each[at].get((kind, value), 0)
            share = smoothing * Fraction(held.count(value), len(held))
            found[kind, value] = (left + share) / (others + smoothing)
    return found
