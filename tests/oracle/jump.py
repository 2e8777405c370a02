"""Jumps by enumeration of all tables."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from math import log

# ---- jump worlds ---------------------------------------------------------------------------------

# Naive, safe and jump algorithms by listing all tables: Definitions 1 to 4, word for word.
#
# A table is a tuple of values, one per person. A function is a tuple of tuples of people. Nothing
# is remembered, compressed or skipped, apart from verdicts that are asked for twice.


def all_tables(values):
    """Every table with these values, each once."""
    return sorted(set(permutations(values)))


def generalization(function, table):
    """What is published: the values of each group, without their order."""
    return tuple(tuple(sorted(table[person] for person in group)) for group in function)


def marginals(tables):
    """For each person, the share of tables with each value."""
    n = len(tables)
    return [
        {value: Fraction(times, n) for value, times in Counter(column).items()}
        for column in zip(*tables, strict=True)
    ]


class Algorithm:
    """kind: "naive", "safe" or "jump"; judge: from a person's marginals, group size to a bool."""

    def __init__(self, kind, functions, judge, tables, distances=None):
        self.kind, self.functions, self.judge, self.tables = kind, functions, judge, tables
        self.distances = distances
        self.known = {}

    def holds(self, i, tables):
        size = {person: len(group) for group in self.functions[i] for person in group}
        return bool(tables) and all(
            self.judge(shares, size[person]) for person, shares in enumerate(marginals(tables))
        )

    def permutation_set(self, i, table):
        seen = generalization(self.functions[i], table)
        return [t for t in self.tables if generalization(self.functions[i], t) == seen]

    def disclosure_set(self, i, table):
        return [t for t in self.permutation_set(i, table) if i in self.path(t, i)]

    def permutation_safe(self, i, table):
        key = ("p", i, generalization(self.functions[i], table))
        if key not in self.known:
            self.known[key] = self.holds(i, self.permutation_set(i, table))
        return self.known[key]

    def disclosure_safe(self, i, table):
        key = ("d", i, generalization(self.functions[i], table))
        if key not in self.known:
            self.known[key] = self.holds(i, self.disclosure_set(i, table))
        return self.known[key]

    def path(self, table, until):
        """Functions that are evaluated, up to one of them."""
        return self._walk(table, until)[0]

    def released(self, table):
        return self._walk(table, len(self.functions))[1]

    def _walk(self, table, until):
        path, i = [], 0
        while i < len(self.functions) and i <= until:
            path.append(i)
            if i == until:
                break
            if self.kind == "naive":
                if self.permutation_safe(i, table):
                    return path, i
                i += 1
            elif self.kind == "safe":
                if self.disclosure_safe(i, table):
                    return path, i
                i += 1
            elif self.permutation_safe(i, table):
                if self.disclosure_safe(i, table):
                    return path, i
                i += self.distances[i]
            else:
                i += 1
        return path, None


def max_ratio(limit):
    return lambda shares, size: max(shares.values()) <= limit


def below_ratio(limit):
    return lambda shares, size: max(shares.values()) < limit


def distinct(least):
    return lambda shares, size: len(shares) >= least


def entropy(least):
    def judge(shares, size):
        return -sum(float(p) * log(p) for p in shares.values()) > log(least) - 1e-9

    return judge


def recursive(c, least):
    def judge(shares, size):
        ranked = sorted(shares.values(), reverse=True)
        return ranked[0] < c * sum(ranked[least - 1 :])

    return judge


def at_least(k):
    return lambda shares, size: size >= k


# ---- jump requirements ---------------------------------------------------------------------------

# Requirements against whoever also knows the method, by listing what they may rule out.
#
# A world is a tuple of values, one per person; all worlds of a list are equally likely.


def rulings(others, most):
    """Every set of at most so many values."""
    for size in range(min(most, len(others)) + 1):
        yield from combinations(others, size)


def worst_in_worlds(worlds, most, about):
    """The highest posterior of a value that `about` accepts, with up to `most` others ruled out."""
    domain = sorted({value for world in worlds for value in world})
    highest = Fraction(0)
    for person in range(len(worlds[0])):
        column = [world[person] for world in worlds]
        for target in filter(about, domain):
            for ruled_out in rulings([v for v in domain if v != target], most):
                left = [value for value in column if value not in ruled_out]
                if target in left:
                    highest = max(highest, Fraction(left.count(target), len(left)))
    return highest


def judge_of(requirements):
    """From a person's chances to whether all of (limit, most ruled out, about) hold."""

    def judge(shares, size):
        for limit, most, about in requirements:
            for target in filter(about, shares):
                others = [value for value in shares if value != target]
                for ruled_out in rulings(others, most):
                    left = 1 - sum(shares[value] for value in ruled_out)
                    if shares[target] / left >= limit:
                        return False
        return True

    return judge
