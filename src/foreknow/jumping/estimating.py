"""Estimating: disclosure sets beyond exact reach, by tables drawn from the permutation set.

Shuffling the values within every group draws from the permutation set, all tables alike. A drawn
table belongs to the disclosure set where the algorithm gets to the function on it. What cannot be
told of a table within reach is counted both ways.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from foreknow.errors import InputError
from foreknow.jumping.dealing import BeyondReach
from foreknow.jumping.functions import Person, Value
from foreknow.jumping.runs import Case
from foreknow.jumping.strategy import Need


@dataclass(frozen=True)
class EstimatedSet:
    """What samples tell of a disclosure set.

    Attributes
    ----------
    interval : (float, float)
        The highest probability of any person and value lies within, with the confidence; all
        persons and values are allowed for (Hoeffding's and Bonferroni's inequalities).
    max_ratio : float
        The highest share in the sample; too high rather than too low, as a maximum of estimates.
    worst : (person, value)
        Where it is.
    samples, inside, undecided : int
        Tables drawn; those surely in the set; and those of which it could not be told.
    confidence : float
    """

    interval: tuple[float, float]
    max_ratio: float
    worst: tuple[Person, Value] | None = field(repr=False)
    samples: int
    inside: int
    undecided: int
    confidence: float
    estimated: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            "estimated": True,
            "interval": list(self.interval),
            "confidence": self.confidence,
            "max ratio": self.max_ratio,
            "samples": self.samples,
            "inside": self.inside,
            "undecided": self.undecided,
        }

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"<EstimatedSet: highest ratio {low:.4f} to {high:.4f} with confidence "
            f"{self.confidence:.0%}, {self.inside:,} of {self.samples:,} tables inside"
            + (f", {self.undecided:,} undecided>" if self.undecided else ">")
        )


def estimate(case: Case, i: int, samples: int, seed: int | None, confidence: float) -> EstimatedSet:
    """Estimate the disclosure set of function i from so many tables."""
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise InputError(f"samples must be a whole number from 1, not {samples!r}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, not {confidence!r}")
    if not 0 <= i < len(case.functions):
        raise InputError(f"the functions are 0 to {len(case.functions) - 1}, not {i!r}")
    chance = random.Random(seed)
    layout = case.exact.layout
    groups = [people for placed in layout.level(i) for people in placed.groups]
    # People of one cell have the same probabilities; one of each stands for all.
    cells = [people[0] for placed in layout.level(i) for people in placed.cells]
    inside: list[Counter[int]] = [Counter() for _ in cells]
    unsure: list[Counter[int]] = [Counter() for _ in cells]
    n_inside = n_unsure = 0
    for _ in range(samples):
        codes = list(case.codes)
        for people in groups:
            dealt = [case.codes[person] for person in people]
            chance.shuffle(dealt)
            for person, code in zip(people, dealt, strict=True):
                codes[person] = code
        verdict = _gets_to(case, i, codes)
        if verdict is False:
            continue
        n_inside += verdict is True
        n_unsure += verdict is None
        for found, person in zip(inside if verdict else unsure, cells, strict=True):
            found[codes[person]] += 1
    return _summary(case, cells, (inside, n_inside), (unsure, n_unsure), samples, confidence)


def _summary(
    case: Case,
    cells: list[int],
    sure: tuple[list[Counter[int]], int],
    unsure: tuple[list[Counter[int]], int],
    samples: int,
    confidence: float,
) -> EstimatedSet:
    events = len(cells) * len(case.values)

    def half_width(n: int) -> float:
        return math.sqrt(math.log(2 * events / (1 - confidence)) / (2 * n)) if n else 1.0

    low, high, best, worst = 0.0, 0.0, -1.0, None
    for person, inside, outside in zip(cells, sure[0], unsure[0], strict=True):
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
                best, worst = share, (case.people[person], value)
    if not sure[1]:
        high, best = 1.0, 0.0
    return EstimatedSet((low, min(1.0, high)), best, worst, samples, sure[1], unsure[1], confidence)


def _gets_to(case: Case, i: int, codes: list[int]) -> bool | None:
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
