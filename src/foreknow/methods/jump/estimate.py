"""Estimates of disclosure sets beyond exact reach, from tables drawn at random.

Tables are drawn from the permutation set, all alike; those on which the algorithm gets to function
i are draws from the disclosure set. A table of which that is beyond reach is counted both ways. No
verdict is ever based on any of this.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from foreknow.errors import InputError
from foreknow.methods.jump.disclosure_set import BeyondReach
from foreknow.methods.jump.functions import Person, Value
from foreknow.methods.jump.run import Case
from foreknow.numbers import percentage, significant, whole_number


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
        Tables drawn; those surely in the set; and those that could not be decided.
    confidence : float
    method : "draws"
        From all tables that agree.
    """

    interval: tuple[float, float]
    max_ratio: float
    worst: tuple[Person, Value] | None = field(repr=False)
    samples: int
    inside: int
    undecided: int
    confidence: float
    estimated: bool = True
    method: Literal["draws"] = "draws"

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
        undecided = f", {self.undecided:,} undecided" if self.undecided else ""
        return (
            f"<EstimatedSet: highest ratio {significant(low, 4, 'down')} to "
            f"{significant(high, 4, 'up')} with confidence "
            f"{percentage(self.confidence)}, {self.inside:,} of {self.samples:,} tables "
            f"inside{undecided}>"
        )


def estimate(case: Case, i: int, samples: int, seed: int | None, confidence: float) -> EstimatedSet:
    """Estimate the disclosure set of function i from so many tables."""
    whole_number(samples, "samples", 1)
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, not {confidence!r}")
    chance = random.Random(seed)
    # People of one cell have the same probabilities; one of each stands for all.
    blocks = case.exact.layout.level(i)
    cells = [people[0] for placed in blocks for people in placed.cells]
    groups = [people for placed in blocks for people in placed.groups]
    inside, unsure = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    n_inside = n_unsure = 0
    for _ in range(samples):
        codes = shuffled(case.codes, groups, chance)
        verdict = _gets_to(case, i, codes)
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
    )


def _gets_to(case: Case, i: int, codes: Sequence[int]) -> bool | None:
    """Whether the algorithm evaluates function i on a table; None where that is beyond reach."""
    own, strategy = replace(case, codes=tuple(codes)), case.exact.strategy
    needs = tuple(strategy.need(j, i) for j in range(i))
    try:
        return strategy.gets_to(i, needs, own.permutation_safe, own.disclosure_safe)
    except BeyondReach:
        return None


def shuffled(
    codes: Sequence[int], groups: Sequence[Sequence[int]], chance: random.Random
) -> list[int]:
    """A table of the permutation set, all alike: each group's values in any order."""
    found = list(codes)
    for people in groups:
        own = [codes[person] for person in people]
        chance.shuffle(own)
        for person, code in zip(people, own, strict=True):
            found[person] = code
    return found
