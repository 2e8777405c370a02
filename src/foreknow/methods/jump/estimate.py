"""Estimates of disclosure sets beyond exact reach, from tables drawn at random.

Tables are drawn from the permutation set, or from those of it that surely fail an early function,
all alike; those that the algorithm gets to function i on are draws from the disclosure set. A table
of which that is beyond reach is counted both ways. No verdict is ever based on any of this.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal

from foreknow.errors import InputError
from foreknow.methods.jump.disclosure_set import BeyondReach, Need
from foreknow.methods.jump.functions import Person, Value
from foreknow.methods.jump.run import Case

_RARE = 0.5  # worth the detour
_ONE = 1 << 200


@dataclass(frozen=True)
class EstimatedSet:
    """What samples say of a disclosure set.

    Attributes
    ----------
    interval : (float, float)
        The highest probability of any person and value lies within, with the confidence at least,
        all persons and values allowed for (Hoeffding's and Bonferroni's inequalities). It is (0, 1)
        where no draw is inside.
    max_ratio : float
        The highest share in the sample; too high rather than too low, as a maximum of estimates.
    worst : (person, value)
        Where it is.
    samples, inside, undecided : int
        Tables drawn; those surely in the set; and those of which it could not be told.
    confidence : float
    method : "draws" or "steered draws"
        From all tables that agree, or from those that fail at function `fails_at`, as all in the
        set do.
    fails_at : int or None
    """

    interval: tuple[float, float]
    max_ratio: float
    worst: tuple[Person, Value] | None = field(repr=False)
    samples: int
    inside: int
    undecided: int
    confidence: float
    estimated: bool = True
    method: Literal["draws", "steered draws"] = "draws"
    fails_at: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            "estimated": True,
            "method": self.method,
            "interval": list(self.interval),
            "confidence": self.confidence,
            "max ratio": self.max_ratio,
            "samples": self.samples,
            "inside": self.inside,
            "undecided": self.undecided,
        }

    def __repr__(self) -> str:
        low, high = self.interval
        text = (
            f"<EstimatedSet: highest ratio {low:.4f} to {high:.4f} with confidence "
            f"{self.confidence:.0%}, {self.inside:,} of {self.samples:,} tables inside"
        )
        if self.fails_at is not None:
            text += f", drawn from those that fail at function {self.fails_at}"
        return text + (f", {self.undecided:,} undecided>" if self.undecided else ">")


def estimate(case: Case, i: int, samples: int, seed: int | None, confidence: float) -> EstimatedSet:
    """Estimate the disclosure set of function i from so many tables."""
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise InputError(f"samples must be a whole number from 1, not {samples!r}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, not {confidence!r}")
    chance = random.Random(seed)
    # People of one cell have the same probabilities; one of each stands for all.
    cells = [people[0] for placed in case.exact.layout.level(i) for people in placed.cells]
    draw, fails_at = drawn(case, i, chance)
    inside, unsure = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    n_inside = n_unsure = 0
    for _ in range(samples):
        codes = draw()
        verdict = gets_to(case, i, codes)
        if verdict is False:
            continue
        n_inside += verdict is True
        n_unsure += verdict is None
        (inside if verdict else unsure).update((person, codes[person]) for person in cells)
    events = len(cells) * len(case.values)

    def half_width(n: int) -> float:
        return math.sqrt(math.log(2 * events / (1 - confidence)) / (2 * n))

    low, high = 0.0, 0.0
    for event in inside.keys() | unsure.keys():
        own, maybe = inside[event], unsure[event]
        # At most: all undecided tables with the value are in, and no others; and conversely.
        n_high, n_low = n_inside + maybe, n_inside + n_unsure - maybe
        high = max(high, (own + maybe) / n_high + half_width(n_high))
        low = max(low, own / n_low - half_width(n_low)) if n_low else low
    most, worst = 0.0, None
    if inside:
        (person, code), times = inside.most_common(1)[0]
        most, worst = times / n_inside, (case.people[person], case.values[code])
    return EstimatedSet(
        (low, min(1.0, high)) if n_inside else (low, 1.0),
        most,
        worst,
        samples,
        n_inside,
        n_unsure,
        confidence,
        method="draws" if fails_at is None else "steered draws",
        fails_at=fails_at,
    )


def gets_to(case: Case, i: int, codes: Sequence[int]) -> bool | None:
    """Whether the algorithm evaluates function i on a table; None where that is beyond reach."""
    exact, strategy = case.exact, case.exact.strategy
    j = 0
    while j < i:
        need = strategy.need(j, i)
        parts = exact.parts(j, codes, case.colours)
        if need is not Need.ALWAYS and not exact.permutation_safe(parts):
            j += 1
            continue
        if need is Need.PERMUTATION:
            return False
        try:
            safe = exact.disclosure_safe(j, parts)
        except BeyondReach:
            return None
        if safe:
            return False
        j = strategy.after(j) if need is Need.GATED else j + 1
    return j == i


def drawn(case: Case, i: int, chance: random.Random) -> tuple[Callable[[], list[int]], int | None]:
    """Draws from the permutation set, or from those of it that fail at a function, also given."""
    exact, best, fails_at = case.exact, None, None
    needs = exact.needs(i, case.parts(i))
    for j, need in enumerate(needs):
        reached = all(needs[k] is not Need.GATED or exact.strategy.after(k) <= j for k in range(j))
        if need is Need.PERMUTATION and reached and exact.complete:
            steered = Steered(case, i, j, chance)
            if 0 < steered.at_most < (best.at_most if best else _RARE):
                best, fails_at = steered, j
    if best:
        return best.draw, fails_at
    groups = groups_of(case, i)
    return lambda: _shuffled(case.codes, groups, chance), None


def groups_of(case: Case, i: int) -> list[tuple[int, ...]]:
    """People of each group of function i."""
    return [people for placed in case.exact.layout.level(i) for people in placed.groups]


def _shuffled(
    codes: Sequence[int], groups: Sequence[Sequence[int]], chance: random.Random
) -> list[int]:
    found = list(codes)
    for people in groups:
        dealt = [codes[person] for person in people]
        chance.shuffle(dealt)
        for person, code in zip(people, dealt, strict=True):
            found[person] = code
    return found


@dataclass(frozen=True)
class _Event:
    """A value occurs too often in a group, which has people in some groups of function i."""

    code: int
    limit: int
    people: frozenset[int]
    inside: tuple[tuple[int, ...], ...]  # the group's people in each of them
    outside: tuple[tuple[int, ...], ...]  # and others
    counts: tuple[int, ...]  # how often each has the value
    ways: tuple[tuple[int, ...], ...]  # [k][n]: ways that n of it are inside, in those from k

    def happens(self, codes: Sequence[int]) -> bool:
        """Whether it does in a table."""
        return sum(codes[p] == self.code for p in self.people) > self.limit


class Steered:
    """Draws from those tables of a permutation set, a share `at_most`, that fail at function j."""

    def __init__(self, case: Case, i: int, j: int, chance: random.Random) -> None:
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
                weight = sum(event.ways[0][event.limit + 1 :]) * _ONE // total
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
        ways: list[tuple[int, ...]] = [(1,)]
        for a, b, n in reversed(list(zip(inside, outside, counts, strict=True))):
            found = [0] * (n + len(ways[-1]))
            for m, x in enumerate(_splits(a, b, n)):
                for rest, y in enumerate(ways[-1]):
                    found[m + rest] += x * y
            ways.append(tuple(found))
        sets = tuple(inside), tuple(outside), tuple(counts), tuple(reversed(ways))
        return _Event(code, limit, people, *sets)

    def draw(self) -> list[int]:
        """The value of each person."""
        while True:
            at = bisect_right(self._sums, self._chance.randrange(self._sums[-1]))
            codes = self._with(self._events[at])
            times = sum(event.happens(codes) for event in self._events)
            if self._chance.randrange(times) == 0:  # each table once, whatever fails in it
                return codes

    def _with(self, event: _Event) -> list[int]:
        """A table in which an event happens, all such alike."""
        chance, had = self._chance, self._case.codes
        number = range(event.limit + 1, len(event.ways[0]))
        (left,) = chance.choices(number, _shares(event.ways[0][event.limit + 1 :]))
        given: set[int] = set()
        for k, (a, b, n) in enumerate(zip(event.inside, event.outside, event.counts, strict=True)):
            later = event.ways[k + 1]
            options = [
                ways * later[left - m] if 0 <= left - m < len(later) else 0
                for m, ways in enumerate(_splits(a, b, n))
            ]
            (m,) = chance.choices(range(n + 1), _shares(options))
            left -= m
            given.update(chance.sample(a, m), chance.sample(b, n - m))
        touched = {p for part in (*event.inside, *event.outside) for p in part}
        codes = list(had)
        for group in self._groups:
            there = group[0] in touched
            values = [had[p] for p in group if not (there and had[p] == event.code)]
            chance.shuffle(values)
            for p, code in zip((p for p in group if p not in given), values, strict=True):
                codes[p] = code
        for p in given:
            codes[p] = event.code
        return codes


def _splits(inside: Sequence[int], outside: Sequence[int], n: int) -> list[int]:
    """In how many ways 0 to n of n people are inside."""
    return [math.comb(len(inside), m) * math.comb(len(outside), n - m) for m in range(n + 1)]


def _shares(weights: Sequence[int]) -> list[float]:
    """Large whole numbers as floats."""
    total = sum(weights)
    return [weight / total for weight in weights]
