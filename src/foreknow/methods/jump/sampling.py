"""Estimating: disclosure sets beyond exact reach, by tables drawn at random.

Tables are drawn from the permutation set, or from those that an early function fails, all alike;
those that the algorithm gets to function i on are draws from the disclosure set. Where hardly any
are, chains walk inside the set instead. What cannot be told of a table within reach is counted
both ways. No verdict is ever based on any of this.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from typing import Any, Literal, TypeAlias

from foreknow.errors import InputError
from foreknow.methods.jump.block_counts import BeyondReach
from foreknow.methods.jump.functions import Person, Value
from foreknow.methods.jump.mcmc import CONVERGED, Source, walk
from foreknow.methods.jump.runs import Case
from foreknow.methods.jump.strategy import Need

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


def gets_to(case: Case, i: int, codes: Sequence[int]) -> bool | None:
    """Whether the algorithm evaluates function i on a table; None where that is beyond reach.

    Parameters
    ----------
    case : Case
    i : int
    codes : sequence of int
        The value of each person.
    """
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


Method: TypeAlias = Literal["draws", "steered draws", "chains"]

FEW = 30  # draws inside, below which chains are run instead


@dataclass(frozen=True)
class EstimatedSet:
    """What samples tell of a disclosure set.

    Attributes
    ----------
    interval : (float, float)
        The highest probability of any person and value lies within. For draws: with the
        confidence at least, all persons and values allowed for (Hoeffding's and Bonferroni's
        inequalities). For chains: by batch means, about with the confidence *if* the chains have
        reached all of the set; (0, 1) where they disagree, or got stuck, or met tables that could
        not be decided.
    max_ratio : float
        The highest share in the sample; too high rather than too low, as a maximum of estimates.
    worst : (person, value)
        Where it is.
    samples, inside, undecided : int
        Tables drawn; those surely in the set; and those of which it could not be told.
    confidence : float
    method : "draws", "steered draws" or "chains"
        From all tables that agree; from those that fail at function `fails_at`, as all in the
        set do; or steps inside the set, where draws found less than 30 tables.
    fails_at : int or None
    r_hat, effective : float or None
        Of chains: whether they agree (about 1), and how many independent draws tell as much.
    """

    interval: tuple[float, float]
    max_ratio: float
    worst: tuple[Person, Value] | None = field(repr=False)
    samples: int
    inside: int
    undecided: int
    confidence: float
    estimated: bool = True
    method: Method = "draws"
    fails_at: int | None = None
    r_hat: float | None = None
    effective: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        found: dict[str, Any] = {
            "estimated": True,
            "method": self.method,
            "interval": list(self.interval),
            "confidence": self.confidence,
            "max ratio": self.max_ratio,
            "samples": self.samples,
            "inside": self.inside,
            "undecided": self.undecided,
        }
        if self.r_hat is not None and self.effective is not None:
            found["r hat"] = self.r_hat if math.isfinite(self.r_hat) else None
            found["effective draws"] = self.effective
        return found

    def __repr__(self) -> str:
        low, high = self.interval
        text = f"<EstimatedSet: highest ratio {low:.4f} to {high:.4f} with "
        if self.method == "chains":
            text += f"nominal confidence {self.confidence:.0%}, {self.samples:,} steps of chains"
            text += f" worth {self.effective:,.0f} draws, R-hat {self.r_hat:.2f}"
        else:
            text += f"confidence {self.confidence:.0%}, {self.inside:,} of {self.samples:,} "
            text += "tables inside"
            if self.fails_at is not None:
                text += f", drawn from those that fail at function {self.fails_at}"
        return text + (f", {self.undecided:,} undecided>" if self.undecided else ">")


def estimate(case: Case, i: int, samples: int, seed: int | None, confidence: float) -> EstimatedSet:
    """Estimate the disclosure set of function i from so many tables."""
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise InputError(f"samples must be a whole number from 1, not {samples!r}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, not {confidence!r}")
    if not 0 <= i < len(case.functions):
        raise InputError(f"the functions are 0 to {len(case.functions) - 1}, not {i!r}")
    chance = random.Random(seed)
    # People of one cell have the same probabilities; one of each stands for all.
    cells = [people for placed in case.exact.layout.level(i) for people in placed.cells]
    drawn, *others = sources(case, i, chance)
    inside: list[Counter[int]] = [Counter() for _ in cells]
    unsure: list[Counter[int]] = [Counter() for _ in cells]
    members: list[list[int]] = []
    n_inside = n_unsure = 0
    for _ in range(samples):
        codes = drawn.draw()
        verdict = gets_to(case, i, codes)
        if verdict is False:
            continue
        n_inside += verdict is True
        n_unsure += verdict is None
        if verdict and len(members) < FEW:
            members.append(codes)
        for found, people in zip(inside if verdict else unsure, cells, strict=True):
            found[codes[people[0]]] += 1
    if n_inside < min(FEW, samples) and not n_unsure:
        found_by = [members]
        for other in others:
            tried = (other.draw() for _ in range(min(samples, FEW)))
            found_by.append([codes for codes in tried if gets_to(case, i, codes)])
        if gets_to(case, i, case.codes):
            found_by.append([list(case.codes)])
        # In turn, so that chains begin in different places.
        starts = [codes for few in zip_longest(*found_by) for codes in few if codes]
        if starts:
            return _walked(case, i, starts, (drawn, *others), cells, samples, chance, confidence)
    sure, open_ = (inside, n_inside), (unsure, n_unsure)
    return _summary(case, cells, sure, open_, samples, confidence, drawn.fails_at)


def _walked(
    case: Case,
    i: int,
    starts: Sequence[Sequence[int]],
    origins: Sequence[Source],
    cells: Sequence[Sequence[int]],
    samples: int,
    chance: random.Random,
    confidence: float,
) -> EstimatedSet:
    events = len(cells) * len(case.values)
    found = walk(
        starts,
        groups_of(case, i),
        cells,
        len(case.values),
        lambda codes: gets_to(case, i, codes),
        origins,
        chance,
        samples,
        (1 - confidence) / events,
    )
    best = int(found.mean.argmax())
    cell, code = divmod(best, len(case.values))
    low = float((found.mean - found.half).max())
    high = float((found.mean + found.half).max())
    told = found.r_hat <= CONVERGED and not found.undecided
    return EstimatedSet(
        (max(0.0, low), min(1.0, high)) if told else (0.0, 1.0),
        float(found.mean.max()),
        (case.people[cells[cell][0]], case.values[code]),
        samples,
        samples,
        found.undecided,
        confidence,
        method="chains",
        r_hat=found.r_hat,
        effective=found.effective,
    )


def _summary(
    case: Case,
    cells: Sequence[Sequence[int]],
    sure: tuple[list[Counter[int]], int],
    unsure: tuple[list[Counter[int]], int],
    samples: int,
    confidence: float,
    fails_at: int | None,
) -> EstimatedSet:
    events = len(cells) * len(case.values)

    def half_width(n: int) -> float:
        return math.sqrt(math.log(2 * events / (1 - confidence)) / (2 * n)) if n else 1.0

    low, high, best, worst = 0.0, 0.0, -1.0, None
    for people, inside, outside in zip(cells, sure[0], unsure[0], strict=True):
        for code, value in enumerate(case.values):
            own, maybe = inside[code], outside[code]
            # At most: all undecided tables with the value are in, and no others; and conversely.
            n_high, n_low = sure[1] + maybe, sure[1] + unsure[1] - maybe
            if n_high:
                high = max(high, (own + maybe) / n_high + half_width(n_high))
            if n_low:
                low = max(low, own / n_low - half_width(n_low))
            share = own / sure[1] if sure[1] else 0.0
            if share > best:
                best, worst = share, (case.people[people[0]], value)
    if not sure[1]:
        high, best = 1.0, 0.0
    return EstimatedSet(
        (low, min(1.0, high)),
        best,
        worst,
        samples,
        sure[1],
        unsure[1],
        confidence,
        method="draws" if fails_at is None else "steered draws",
        fails_at=fails_at,
    )
