"""Highest: the person of whom a value is most likely, over a whole release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from foreknow.adversaries.disclosure import SETTLED, Disclosure
from foreknow.adversaries.statements.case import Answer, Case
from foreknow.adversaries.statements.posterior import Estimate
from foreknow.counts import GroupCounts
from foreknow.labels import Label


@dataclass(frozen=True)
class StatementsWitness:
    """The person of whom a value is most likely.

    Attributes
    ----------
    person, value, group : label
    interval : (float, float) or None
        Of an estimate.

    Notes
    -----
    `to_dict` leaves out the person: who it is, is told on request only.
    """

    person: Label
    value: Label
    group: Label
    interval: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which name nobody."""
        return {
            "group": self.group,
            "interval": None if self.interval is None else list(self.interval),
        }


@dataclass(frozen=True)
class Highest:
    """Finds the highest posterior of values."""

    case: Case

    def disclosure(self, code: int) -> Disclosure:
        """The highest posterior of a value; of an estimate, the upper end of its interval.

        As long as somebody's is an estimate, so is the highest of all: theirs may be higher.
        """
        self.case.check()
        estimated = sure = False
        best: tuple[Fraction, Answer, int | None, int] | None = None
        for person, group, answer in self._candidates(code):
            bound = Fraction(answer.high) if isinstance(answer, Estimate) else answer
            known = not isinstance(answer, Estimate)
            estimated |= not known and bound > 0
            # Of two that are equal, the one that is known.
            if best is None or bound > best[0] or (bound == best[0] and known and not sure):
                sure = known
                best = (bound, answer, person, group)
        value = self.case.ground.counts.values[code]
        if best is None or not best[0]:
            return Disclosure(value, 0.0, lambda: Fraction(0))
        bound, answer, person, group = best
        # Nothing is higher than 1.
        estimated &= answer != Fraction(1)
        exact = None if estimated or isinstance(answer, Estimate) else answer
        interval = (answer.low, answer.high) if isinstance(answer, Estimate) else None

        def witness() -> StatementsWitness:
            ground = self.case.ground
            who = ground.members.of_group(group)[0] if person is None else None
            name = ground.members.names[person] if person is not None else who
            return StatementsWitness(name, value, ground.counts.group_label(group), interval)

        return Disclosure(value, float(bound), lambda: exact, witness, estimated=estimated)

    def _candidates(self, code: int) -> Iterator[tuple[int | None, int, Answer]]:
        """Person, group and probability: of those named, and of one of the others in each group."""
        case = self.case
        for group, named in case.touched.items():
            others = self._others.get(group)
            for person in (*named, *(() if others is None else (others,))):
                yield person, group, case.answer(person, code)
        found = _best_untouched(case.ground.counts, code, list(case.touched))
        if found is not None:
            yield None, *found

    @cached_property
    def _others(self) -> dict[int, int]:
        """A member of each touched group whom nothing names."""
        found = {}
        for group, named in self.case.touched.items():
            members = np.flatnonzero(self.case.ground.members.groups == group)
            free = np.setdiff1d(members, named)
            if len(free):
                found[group] = int(free[0])
        return found


def _best_untouched(
    counts: GroupCounts, code: int, touched: list[int]
) -> tuple[int, Fraction] | None:
    """The group where somebody is most likely to have a value, by its counts alone."""
    cells = np.flatnonzero(counts.codes == code)
    groups = counts.cell_groups[cells]
    free = ~np.isin(groups, touched)
    groups, occurrences = groups[free], counts.counts[cells[free]]
    if not len(groups):
        return None
    people = counts.sizes[groups]
    if counts.semantics == "multiset":
        with np.errstate(divide="ignore"):
            shares = -np.expm1(occurrences * np.log1p(-1 / people))
    else:
        shares = occurrences / people
    near = np.flatnonzero(shares >= shares.max() - SETTLED)
    pairs, first = np.unique(np.stack([people[near], occurrences[near]]), axis=1, return_index=True)
    found = [
        (_share(int(n), int(o), counts.semantics), int(groups[near[i]]))
        for (n, o), i in zip(pairs.T.tolist(), first.tolist(), strict=True)
    ]
    share, group = max(found)
    return group, share


def _share(people: int, occurrences: int, semantics: str) -> Fraction:
    if semantics == "multiset":
        return 1 - Fraction(people - 1, people) ** occurrences
    return Fraction(occurrences, people)
