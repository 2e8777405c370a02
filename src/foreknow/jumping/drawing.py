"""Drawing: tables that agree with a generalization, all alike or all that an early function fails.

Where everybody who gets to function i has failed at an earlier function j, tables that are not
safe at j are the only ones to look at; shuffling hardly ever finds them if they are rare. A table
fails at j if some value occurs too often in some group: these are events whose probabilities are
known exactly. So draw an event by its probability, then a table in which it happens, and keep the
table once in as many times as it has events (Karp and Luby, "Monte-Carlo algorithms for
enumeration and reliability problems", 1983). What is kept are independent draws, all alike.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from foreknow.jumping.runs import Case
from foreknow.jumping.strategy import Need

RARE = 0.5  # worth the detour
_ONE = 1 << 200


class Shuffle:
    """Draws from the permutation set of function i.

    Parameters
    ----------
    case : Case
    i : int
    chance : random.Random
    """

    fails_at: int | None = None

    def __init__(self, case: Case, i: int, chance: random.Random) -> None:
        self._codes, self._chance = case.codes, chance
        self._groups = groups_of(case, i)

    def draw(self) -> list[int]:
        """The value of each person."""
        codes = list(self._codes)
        for people in self._groups:
            dealt = [self._codes[person] for person in people]
            self._chance.shuffle(dealt)
            for person, code in zip(people, dealt, strict=True):
                codes[person] = code
        return codes

    def has(self, codes: Sequence[int]) -> bool:
        """Whether it might draw a table: always."""
        return True


@dataclass(frozen=True)
class _Event:
    """A value occurs too often in a group.

    `inside` and `outside` are the group's people, and others, in each group of function i;
    `counts` how often that has the value; `ways` how many ways to have so many more there or
    later, for each place.
    """

    code: int
    limit: int
    people: frozenset[int]
    inside: tuple[tuple[int, ...], ...]
    outside: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    ways: tuple[tuple[int, ...], ...]

    def happens(self, codes: Sequence[int]) -> bool:
        """Whether it does in a table."""
        return sum(codes[p] == self.code for p in self.people) > self.limit


class Steered:
    """Draws from those tables of the permutation set that fail at function j.

    Parameters
    ----------
    case : Case
    i, j : int
    chance : random.Random

    Attributes
    ----------
    at_most : float
        An upper bound of their share of the permutation set.
    """

    def __init__(self, case: Case, i: int, j: int, chance: random.Random) -> None:
        self.fails_at: int | None = j
        self._case, self._chance = case, chance
        self._groups = groups_of(case, i)
        self._events: list[_Event] = []
        weights: list[int] = []
        for people in groups_of(case, j):
            for code, colour in enumerate(case.colours):
                event = self._event(frozenset(people), code, case.exact.limit(len(people), colour))
                total = math.prod(
                    math.comb(len(a) + len(b), n)
                    for a, b, n in zip(event.inside, event.outside, event.counts, strict=True)
                )
                weight = _ways_above(event) * _ONE // total
                if weight:
                    self._events.append(event)
                    weights.append(weight)
        self._sums = list(accumulate(weights))
        self.at_most = float(self._sums[-1] / _ONE) if weights else 0.0

    def _event(self, people: frozenset[int], code: int, limit: int) -> _Event:
        inside, outside, counts = [], [], []
        for group in self._groups:
            here = tuple(p for p in group if p in people)
            if here:
                inside.append(here)
                outside.append(tuple(p for p in group if p not in people))
                counts.append(sum(self._case.codes[p] == code for p in group))
        # ways[k][n]: to have exactly n of the value inside, in the groups from k.
        ways: list[tuple[int, ...]] = [(1,)]
        for a, b, n in reversed(list(zip(inside, outside, counts, strict=True))):
            own = [math.comb(len(a), m) * math.comb(len(b), n - m) for m in range(n + 1)]
            after = ways[-1]
            found = [0] * (len(own) + len(after) - 1)
            for m, x in enumerate(own):
                for rest, y in enumerate(after):
                    found[m + rest] += x * y
            ways.append(tuple(found))
        return _Event(
            code,
            limit,
            people,
            tuple(inside),
            tuple(outside),
            tuple(counts),
            tuple(reversed(ways)),
        )

    def draw(self) -> list[int]:
        """The value of each person."""
        while True:
            at = bisect_right(self._sums, self._chance.randrange(self._sums[-1]))
            codes = self._with(self._events[at])
            times = sum(event.happens(codes) for event in self._events)
            if self._chance.randrange(times) == 0:
                return codes

    def has(self, codes: Sequence[int]) -> bool:
        """Whether it might draw a table."""
        return any(event.happens(codes) for event in self._events)

    def _with(self, event: _Event) -> list[int]:
        """A table in which an event happens, all such alike."""
        chance, had = self._chance, self._case.codes
        number = list(range(event.limit + 1, len(event.ways[0])))
        (left,) = chance.choices(number, _shares(event.ways[0][event.limit + 1 :]))
        given: dict[int, int] = {}
        for k, (a, b, n) in enumerate(zip(event.inside, event.outside, event.counts, strict=True)):
            options = [
                math.comb(len(a), m) * math.comb(len(b), n - m) * event.ways[k + 1][left - m]
                if 0 <= left - m < len(event.ways[k + 1])
                else 0
                for m in range(n + 1)
            ]
            (m,) = chance.choices(range(n + 1), _shares(options))
            left -= m
            for p in (*chance.sample(a, m), *chance.sample(b, n - m)):
                given[p] = event.code
        touched = {p for part in (*event.inside, *event.outside) for p in part}
        codes = list(had)
        for group in self._groups:
            free = [p for p in group if p not in given]
            there = group[0] in touched
            dealt = [had[p] for p in group if not (there and had[p] == event.code)]
            chance.shuffle(dealt)
            for p, code in zip(free, dealt, strict=True):
                codes[p] = code
        for p, code in given.items():
            codes[p] = code
        return codes


def sources(case: Case, i: int, chance: random.Random) -> list[Shuffle | Steered]:
    """Where to draw tables from.

    First the smallest set that surely has all that get to function i; then those that fail at
    any function by which some of them may have come.
    """
    needs = case.exact.rules_of(i, case.parts(i)).needs
    steered = {
        j: Steered(case, i, j, chance) for j, need in enumerate(needs) if need is not Need.NOTHING
    }
    best: Shuffle | Steered = Shuffle(case, i, chance)
    least = RARE
    for j in failed(case, i):
        if 0 < steered[j].at_most < least:
            best, least = steered[j], steered[j].at_most
    rest = [one for one in steered.values() if one is not best and one.at_most]
    return [best, *rest]


def failed(case: Case, i: int) -> list[int]:
    """Functions at which every table fails that gets to function i, by limits alone."""
    exact, found = case.exact, []
    needs = exact.rules_of(i, case.parts(i)).needs
    for j, need in enumerate(needs):
        reached = all(needs[k] is not Need.GATED or exact.strategy.after(k) <= j for k in range(j))
        if need is Need.PERMUTATION and reached and exact.strategy.property.complete:
            found.append(j)
    return found


def groups_of(case: Case, i: int) -> list[tuple[int, ...]]:
    """People of each group of function i."""
    return [people for placed in case.exact.layout.level(i) for people in placed.groups]


def _ways_above(event: _Event) -> int:
    return sum(event.ways[0][event.limit + 1 :])


def _shares(weights: list[int] | tuple[int, ...]) -> list[float]:
    """Large whole numbers as floats."""
    total = sum(weights)
    return [weight / total for weight in weights]
