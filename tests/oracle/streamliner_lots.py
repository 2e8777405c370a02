"""Every lot that a method can draw: runs it once for each outcome, with exact probabilities.

`Lots` stands in for a random generator. Each draw is decided in turn, and the method runs again
until all outcomes were seen. Nothing here knows what the method does with its lots.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from math import perm

import numpy as np


class Lots:
    """A generator whose draws are given in advance; where they end, the first outcome is taken."""

    def __init__(self, given):
        self.given = given
        self.taken = []  # (which outcome, of how many)

    def _draw(self, n):
        place = len(self.taken)
        which = self.given[place] if place < len(self.given) else 0
        self.taken.append((which, n))
        return which

    def permutation(self, what):
        left = list(range(what)) if isinstance(what, int) else list(what)
        return np.array([left.pop(self._draw(len(left))) for _ in range(len(left))], dtype=np.int64)

    def shuffle(self, array):
        array[:] = self.permutation(array)

    def choice(self, what, size, replace):
        assert not replace
        left = list(what)
        return np.array([left.pop(self._draw(len(left))) for _ in range(size)], dtype=np.int64)

    def integers(self, low, high=None, size=None):
        low, high = (0, low) if high is None else (low, high)
        if np.ndim(high):
            return np.array([low + self._draw(top - low) for top in high], dtype=np.int64)
        if size is None:
            return low + self._draw(high - low)
        cells = int(np.prod(size))
        return np.array([low + self._draw(high - low) for _ in range(cells)]).reshape(size)


def outcomes(run):
    """The result of `run(lots)` for each outcome, with its probability."""
    given = []
    while True:
        lots = Lots(given)
        result = run(lots)
        chance = Fraction(1)
        for _, n in lots.taken:
            chance /= n
        yield result, chance
        given = [which for which, _ in lots.taken]
        while given and given[-1] + 1 == lots.taken[len(given) - 1][1]:
            given.pop()
        if not given:
            return
        given[-1] += 1


def tables(bag):
    """All ways to give the values of a bag to people 0, 1, ..."""
    return sorted(set(permutations(bag)))


def release_of(groups, table):
    """What is published: who is together, and the bag of each group."""
    found = {}
    for person, group in enumerate(groups):
        found.setdefault(int(group), []).append(person)
    return frozenset(
        (tuple(people), tuple(sorted(table[p] for p in people))) for people in found.values()
    )


def releases(bag, method):
    """release -> {table: probability of the release}, for all tables of a bag."""
    found = {}
    for table in tables(bag):
        for groups, chance in outcomes(lambda lots, t=table: method(t, lots)):
            weights = found.setdefault(release_of(groups, table), Counter())
            weights[table] += chance
    return found


def posteriors(release, weights):
    """(posterior, frequency in the group) of each member of each group and each of its values."""
    total = sum(weights.values())
    for people, values in release:
        for person, value in product(people, sorted(set(values))):
            held = sum(w for table, w in weights.items() if table[person] == value)
            yield Fraction(held) / total, Fraction(values.count(value), len(values))


def worst(found):
    """The highest posterior of any release."""
    return max(p for release, weights in found.items() for p, _ in posteriors(release, weights))


def exchangeable(found):
    """Whether every table that agrees with a release leads to it with the same probability."""
    for release, weights in found.items():
        agreeing = 1
        for people, values in release:
            agreeing *= perm(len(people))
            for value in set(values):
                agreeing //= perm(values.count(value))
        if len(weights) != agreeing or len(set(weights.values())) != 1:
            return False
    return True


def bags(people, l):  # noqa: E741
    """All bags of values, up to renaming, in which none has more than 1/l of the people."""

    def parts(n, most):
        if n == 0:
            yield ()
            return
        for size in range(min(n, most), 0, -1):
            for rest in parts(n - size, size):
                yield (size, *rest)

    for sizes in parts(people, people // l):
        yield tuple(v for v, size in enumerate(sizes) for _ in range(size))
