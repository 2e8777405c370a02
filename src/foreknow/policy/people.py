"""People: limits for persons who may have several cases, in several groups.

Whatever is known, the probability that a person has a value in some case is at most the sum of the
probabilities of their cases. So a limit holds for a person if that sum keeps it. A search requires
more, which can be checked for each group by itself: if somebody in a group has j cases, each of
these must stay below 1/j of the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from foreknow.adversaries.chances import Chances
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.protocol import HasCounts, Ledger, counts_of
from foreknow.criteria.protocol import EachGroup
from foreknow.data.arrays import BoolArray, FloatArray, IntArray, ranges
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import JointLabels, Label
from foreknow.data.microdata import Microdata
from foreknow.data.people import CASES
from foreknow.data.windows import Windows
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.numbers import CLOSE
from foreknow_judge.verdict import Limit

if TYPE_CHECKING:
    from foreknow.policy.requirement import Point

# How many cells are added up at a time.
_AT_ONCE = 1 << 22
# If persons times values exceed this many times the cells, sums are kept sparse.
_SPARSE = 8
# The largest error of floats: sums closer than this to the highest are compared as fractions.
_NEAR = 4 * CLOSE


def owners_counts(
    combined: Microdata, groups: IntArray, labels: Any
) -> tuple[GroupCounts, CaseOwners | None]:
    """The combinations of a table, counted in groups; and the person and cell of each case."""
    counts = replace(combined.counts(groups), groups=labels)
    if numbers_of_cases(counts) is None:
        return counts, None
    cells = counts.cell_groups * counts.n_values + counts.codes
    own = groups.astype(np.int64) * counts.n_values + combined.sensitive_codes
    name = str(combined.schema.person)
    return counts, CaseOwners(name, combined.persons, np.searchsorted(cells, own))


def numbers_of_cases(counts: GroupCounts) -> IntArray | None:
    """How many cases the person of each combination has; None where rows are people."""
    columns = counts.values.columns if isinstance(counts.values, JointLabels) else {}
    if CASES not in columns:
        return None
    codes, numbers = columns[CASES]
    return np.asarray(np.array(numbers, dtype=np.int64)[codes])


class CountsOfCases(GroupCounts):
    """Counts of cases, with the most cases that any person in each group has."""

    most: IntArray


@dataclass(frozen=True)
class SeveralCases:
    """The cases of one person, with the worst probability for each; for the owner only."""

    group: Label  # of their first case
    groups: tuple[Label, ...]  # of each
    chances: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"groups": [str(group) for group in self.groups], "chances": list(self.chances)}


@dataclass(frozen=True, eq=False)
class CaseOwners:
    """The person of each case, and where it is counted; for the owner only."""

    name: str  # the column of persons
    of_case: IntArray  # the person of each case
    groups: IntArray  # the group of each case; or its cell, in counts of combinations

    @cached_property
    def _several(self) -> tuple[IntArray, IntArray]:
        """Person and group of each case of people with several cases, sorted by person."""
        several = np.flatnonzero(np.bincount(self.of_case)[self.of_case] > 1)
        order = several[np.argsort(self.of_case[several], kind="stable")]
        return self.of_case[order], self.groups[order]

    def disclosures(self, point: Point, counted: HasCounts) -> list[Disclosure]:
        """For each value, an upper bound of the probability that some person has it.

        This is the highest sum over one person's cases, or the worst of a single case.
        """
        found = _of_single_cases(point, counted)
        people, _ = self._several
        if not len(people):
            return found
        sums = _Sums(*self._several, _chances(point.adversary, counted), counts_of(counted))
        best = sums.best()
        for code, (top, own) in enumerate(zip(best.tolist(), found, strict=True)):
            if top > own.probability * (1 - _NEAR):
                found[code] = sums.disclosure(code, top, own)
        return found

    def over(
        self, adversary: Any, limit: Limit, counted: HasCounts, about: BoolArray
    ) -> tuple[int, int]:
        """An upper bound of how many people reach a limit, and how many groups have their cases."""
        order = np.argsort(self.of_case, kind="stable")
        sums = _Sums(
            *(self.of_case[order], self.groups[order]),
            *(_chances(adversary, counted), counts_of(counted)),
        )
        reached = np.zeros(int(self.of_case.max()) + 1, dtype=bool)
        least = float(limit.at(None)) * (1 - _NEAR)
        for who, value, sum_of in sums.each():
            reached[who[(sum_of >= least) & about[value]]] = True
        return int(reached.sum()), len(np.unique(self.groups[reached[self.of_case]]))


def _chances(adversary: Any, counted: HasCounts) -> Chances:
    """The probabilities that an adversary reaches for each case."""
    chances = adversary.chances(counted)
    if not isinstance(chances, Chances):
        raise UnsupportedError(
            f"{adversary} says nothing of each group, so it has no limit about people with several "
            "cases; leave person out of the schema, and limits are about cases"
        )
    return chances


def refuse_no_sum(name: str = "", *, within: bool, relative: bool) -> None:
    """Refuse secrets and limits for which the sum over a person's cases proves nothing."""
    if within or relative:
        raise UnsupportedError(
            f"{name}{'within' if within else 'at_most_times'} is unsupported where rows are cases "
            "and people are counted: the sum over a person's cases is no limit of that kind; "
            "leave person out of the schema, and limits are about cases"
        )


def _of_single_cases(point: Point, counted: HasCounts) -> list[Disclosure]:
    """The worst disclosure of a single case, for each value."""
    refuse_no_sum(within=isinstance(counted, Windows), relative=point.relative)
    return list(point.adversary.disclosures(counted).values())


def of_most_cases(point: Point, counted: HasCounts, most: int) -> list[Disclosure]:
    """Upper bounds for people if it is not known whose cases are where: `most` times a case's."""

    def times(own: Disclosure) -> Disclosure:
        def exact() -> Fraction | None:
            bound = own.settled
            return None if bound is None else min(Fraction(1), most * bound)

        many = min(1.0, most * own.probability)
        return Disclosure(own.value, many, _witness=lambda: own.witness, bounded=True, _bound=exact)

    found = _of_single_cases(point, counted)
    return found if most == 1 else list(map(times, found))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of probabilities over all cases of each person."""

    people: IntArray  # of each case; ascending
    groups: IntArray  # of each case
    chances: Chances
    counts: GroupCounts

    @cached_property
    def _kinds(self) -> tuple[IntArray, IntArray, IntArray]:
        """One cell for each kind of group and value: starts of the kinds, values, cells.

        If the adversary can tell people in a group apart, the highest probability counts.
        """
        of, n_values = self.chances, self.counts.n_values
        keys = of.case * n_values + of.value
        order = np.lexsort((-of.chance, keys))
        cells = order[np.unique(keys[order], return_index=True)[1]]
        n_kinds = self.counts.n_groups if of.case_of is None else int(of.case_of.max()) + 1
        starts = np.searchsorted(of.case[cells], np.arange(n_kinds + 1))
        return starts, of.value[cells], cells

    @cached_property
    def _kind_of_case(self) -> IntArray:
        of_group = self.chances.case_of
        return self.groups if of_group is None else of_group[self.groups]

    def best(self) -> FloatArray:
        """For each value, the highest sum of any person."""
        best = np.zeros(self.counts.n_values)
        for _, value, sums in self.each():
            np.maximum.at(best, value, sums)
        return best

    def each(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Persons, values that they may have, and sums; in blocks."""
        starts, values, cells = self._kinds
        chance, n_values = self.chances.chance[cells], self.counts.n_values
        kinds = self._kind_of_case
        many = np.cumsum(starts[kinds + 1] - starts[kinds])
        # Cut between persons.
        firsts = np.flatnonzero(np.diff(self.people, prepend=-1))
        before = np.concatenate(([0], many))[firsts]
        cuts = firsts[np.flatnonzero(np.diff(before // _AT_ONCE, prepend=-1))]
        for first, last in zip(cuts, np.append(cuts[1:], len(self.people)), strict=True):
            own = kinds[first:last]
            at, offsets = ranges(starts[own], starts[own + 1])
            person = np.cumsum(np.diff(self.people[first:last], prepend=-1) > 0) - 1
            keys = np.repeat(person, np.diff(offsets)) * n_values + values[at]
            sums: FloatArray
            if (dense := (int(person[-1]) + 1) * n_values) <= _SPARSE * len(keys):
                sums = np.bincount(keys, chance[at], dense).astype(np.float64)
                found = np.flatnonzero(sums)
                sums = sums[found]
            else:
                found, which = np.unique(keys, return_inverse=True)
                sums = np.bincount(which.reshape(-1), chance[at], len(found)).astype(np.float64)
            who = self.people[first:last][np.flatnonzero(np.diff(person, prepend=-1))]
            yield who[found // n_values], found % n_values, sums

    def _cell_of_case(self, code: int) -> IntArray:
        """For one value, the cell of each case; -1 if nobody in its group can have the value."""
        starts, values, cells = self._kinds
        at = np.flatnonzero(values == code)
        found = np.full(len(starts) - 1, -1, dtype=np.int64)
        found[np.searchsorted(starts, at, "right") - 1] = cells[at]
        return found[self._kind_of_case]

    def disclosure(self, code: int, top: float, own: Disclosure) -> Disclosure:
        """The disclosure of the highest sum for one value, or of a single case if higher."""
        cell_of_case = self._cell_of_case(code)

        def exact() -> Fraction | None:
            known = cell_of_case >= 0
            chance = np.where(known, self.chances.chance[cell_of_case], 0.0)
            sums = np.bincount(self.people, chance)
            near = (sums[self.people] >= top * (1 - _NEAR)) & known
            of: dict[int, list[int]] = {}
            for person, cell in zip(self.people[near], cell_of_case[near].tolist(), strict=True):
                of.setdefault(int(person), []).append(cell)
            alike = {tuple(sorted(each)) for each in of.values()}
            cells = np.unique(np.concatenate([np.array(each) for each in alike]))
            fraction = dict(zip(cells.tolist(), self.chances.fractions(cells), strict=True))
            highest = own.settled
            for each in alike:
                chances = [fraction[cell] for cell in each]
                if highest is None or None in chances:
                    return None
                highest = max(highest, sum(chances, Fraction(0)))
            return None if highest is None else min(Fraction(1), highest)

        def witness() -> SeveralCases:
            chance = np.where(cell_of_case >= 0, self.chances.chance[cell_of_case], 0.0)
            person = int(np.argmax(np.bincount(self.people, chance)))
            cases = np.flatnonzero(self.people == person)
            groups = tuple(self.counts.group_label(int(g)) for g in self.groups[cases])
            return SeveralCases(groups[0], groups, tuple(chance[cases].tolist()))

        probability = min(1.0, max(top, own.probability))
        return Disclosure(own.value, probability, _witness=witness, bounded=True, _bound=exact)


def ledger_of_people(
    point: Point, asked: BoolArray | Windows, semantics: Semantics, most: int
) -> Ledger:
    """A ledger for a limit about people: each group's limit depends on the most cases in it.

    If knowledge reaches into other groups, the most cases of all people decide everywhere.
    """
    adversary: Any = point.adversary

    @cache  # these ledgers have no state: each group is asked about by itself
    def ledger(many: int) -> Any:
        return adversary.ledger(point.below / many, asked, semantics)

    speaks = adversary.speaks
    if speaks is None or speaks.groups or point.inclusive:
        started: Ledger = ledger(most)
        return started

    def fails(counts: GroupCounts) -> BoolArray:
        assert isinstance(counts, CountsOfCases)
        failing = np.zeros(counts.n_groups, dtype=bool)
        for many in np.unique(counts.most).tolist():
            own = np.flatnonzero(counts.most == many)
            failing[own] = ~ledger(many).alone(counts.take(own))
        return failing

    return EachGroup(fails)
