"""Posteriors of priors, by listing worlds."""

from fractions import Fraction
from itertools import combinations, permutations
from math import prod

# ---- posterior worlds ----------------------------------------------------------------------------

# Posteriors from priors by enumeration, and by permanents: slow, and right by inspection.
#
# People are given by their rows: a dict value -> prior, each a Fraction. The bag is a list of
# values, one for each person. Nothing here knows the library or its formulas.


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


# ---- learned worlds ------------------------------------------------------------------------------

# What a release says of statistics, by enumeration: every world of every group, in fractions.
#
# A group is a pair: the kinds of its people, one for each, and its bag of values. Statistics are
# a dict (kind, value) -> Fraction. Nothing here knows the library or its formulas.


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
    results = {}
    for kind in set(groups[at][0]):
        others = sum(list(k).count(kind) for i, (k, _) in enumerate(groups) if i != at)
        for value in set(groups[at][1]):
            left = total.get((kind, value), 0) - each[at].get((kind, value), 0)
            share = smoothing * Fraction(held.count(value), len(held))
            results[kind, value] = (left + share) / (others + smoothing)
    return results


# ---- art worlds ----------------------------------------------------------------------------------

# r-robust groupings by plain enumeration, and the paper's condition as it is printed.
#
# Each person has a row for each attribute set.


def posteriors(rows, bag, reading):
    """Posteriors by person and value, joint or where each value is had or not had.

    None where no world has weight, for some value.

    >>> tenth = Fraction(1, 100)
    >>> first = {"a": 10 * tenth, "b": 6 * tenth, "c": 6 * tenth}
    >>> other = {"a": 6 * tenth, "b": 10 * tenth, "c": 10 * tenth}
    >>> max(posteriors([first, other, other], "abc", "joint").values())
    Fraction(25, 43)
    """
    if reading == "joint":
        found = joint(rows, bag)
        return found and {(t, x): p for t, row in enumerate(found) for x, p in row.items()}
    results = {}
    for x in set(bag):
        found = binary(rows, bag, x)
        if found is None:
            return None
        results |= {(t, x): p for t, p in enumerate(found)}
    return results


def robust(people, values, r, reading, unique=True):
    """Whether one group is r-robust for each attribute set.

    `people` holds, for each person, a row for each attribute set.
    """
    if unique and len(set(values)) < len(values):
        return False
    for rows in zip(*people, strict=True):
        result = posteriors(rows, values, reading)
        if result is None or max(result.values()) > Fraction(1) / r:
            return False
    return True


def keeps(people, values, asked, reading):
    """Whether every posterior of one group keeps its limits, for each attribute set.

    Parameters
    ----------
    asked : for each attribute set, a list of (values, at_most, below, times)
        Which values; a posterior is at most this, below this, and at most so many times the
        prior; None where it does not matter.
    """
    for s, rows in enumerate(zip(*people, strict=True)):
        result = posteriors(rows, values, reading)
        if result is None:
            return False
        for (t, x), posterior in result.items():
            for about, at_most, below, times in asked[s]:
                if x not in about:
                    continue
                if at_most is not None and posterior > at_most:
                    return False
                if below is not None and posterior >= below:
                    return False
                if times is not None and posterior > times * rows[t][x]:
                    return False
    return True


def groupings(n):
    """All partitions of n people, as lists of lists.

    >>> len(list(groupings(4)))
    15
    """
    if not n:
        yield []
        return
    for grouping in groupings(n - 1):
        yield [*grouping, [n - 1]]
        for i in range(len(grouping)):
            yield [*grouping[:i], [*grouping[i], n - 1], *grouping[i + 1 :]]


def exists(people, values, r, reading, unique=True, asked=None):
    """Whether any grouping is r-robust, or keeps limits; each set of people is judged once."""
    known = {}

    def good(group):
        key = tuple(group)
        if key not in known:
            own = [people[t] for t in key], [values[t] for t in key]
            if asked is not None:
                known[key] = keeps(*own, asked, reading)
            else:
                known[key] = len(key) >= r and robust(*own, r, reading, unique)
        return known[key]

    return any(all(good(group) for group in grouping) for grouping in groupings(len(values)))


def printed_condition(people, values, r):
    """Whether a group satisfies the paper's theorem 1 for every value and attribute set.

    m-unique, at least r people, and ``f_max - f_min <= (N - r) f_max / (f_max (r - 1) /
    (1 - f_max) + N - 1)``; at f_max = 1 the right side is 0.
    """
    size = len(values)
    if size < r or len(set(values)) < size:
        return False
    for rows in zip(*people, strict=True):
        for x in values:
            lowest, highest = min(row[x] for row in rows), max(row[x] for row in rows)
            allowed = Fraction(0)
            if highest < 1:
                allowed = (size - r) * highest / (highest * (r - 1) / (1 - highest) + size - 1)
            if highest - lowest > allowed:
                return False
    return True


def printed_art(people, values, r):
    """ART as printed (section V): merge groups that violate the condition with close ones.

    Each group is merged with the one that leaves the least deviation of priors, values being
    different, until it satisfies the condition. None where it gets stuck.

    >>> half = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    >>> printed_art([(half,), (half,)], "ab", 2)
    [[0, 1]]
    """
    groups = [[t] for t in range(len(values))]

    def fine(group):
        return printed_condition([people[t] for t in group], [values[t] for t in group], r)

    def deviation(group):
        worst = Fraction(0)
        for rows in zip(*(people[t] for t in group), strict=True):
            for x in {values[t] for t in group}:
                worst = max(worst, max(row[x] for row in rows) - min(row[x] for row in rows))
        return worst

    while True:
        wrong = next((group for group in groups if not fine(group)), None)
        if wrong is None:
            return [sorted(group) for group in groups]
        held = {values[t] for t in wrong}
        others = [
            group
            for group in groups
            if group is not wrong and not held & {values[t] for t in group}
        ]
        if not others:
            return None
        near = min(others, key=lambda group: (deviation(wrong + group), len(group)))
        groups = [group for group in groups if group is not wrong and group is not near]
        groups.append(wrong + near)
