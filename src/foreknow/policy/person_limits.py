"""Limits for persons who may have several cases, in several groups.

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

from foreknow.adversaries.adversary import HasCounts, Ledger
from foreknow.adversaries.chances import Chances
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.release_counts import counts_of
from foreknow.criteria.group_criterion import EachGroup
from foreknow.data.arrays import BoolArray, FloatArray, IntArray, ranges
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels.labels import Label
from foreknow.data.labels.windows import Windows
from foreknow.data.members import CASES
from foreknow.data.microdata import Microdata
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.numbers import CLOSE
from foreknow_judge.verdict import Limit

if TYPE_CHECKING:
    from foreknow.policy.requirement import Point

# How many cells are added up at a time.
_AT_ONCE = 1 << 18
# If persons times values exceed this many times the cells, sums are kept sparse.
_SPARSE = 8
# The largest error of floats: sums closer than this to the highest are compared as fractions.
_NEAR = 4 * CLOSE


def owners_counts(
    combined: Microdata, groups: IntArray, labels: Any
) -> tuple[GroupCounts, CaseOwners | None]:
    """The combinations of a table, counted in groups; and the person and cell of each case.

    A row of `combined` is a case of a person with a combination of values; `groups` is the group of
    each row, and `labels` names the groups. A cell is a combination that occurs in a group. The
    second result is None where rows are people.
    """
    counts = replace(combined.counts(groups), groups=labels)
    if numbers_of_cases(counts) is None:
        return counts, None
    # One number for group and combination. Cells are sorted by it, so each case finds its cell.
    cells = counts.cell_groups * counts.n_values + counts.codes
    cell_of_case = groups.astype(np.int64) * counts.n_values + combined.sensitive_codes
    name = str(combined.schema.person)
    return counts, CaseOwners(name, combined.persons, np.searchsorted(cells, cell_of_case))


def numbers_of_cases(counts: GroupCounts) -> IntArray | None:
    """How many cases the person of each combination has; None where rows are people."""
    if CASES not in counts.values.columns:
        return None
    codes, numbers = counts.values.columns[CASES]
    return np.asarray(np.array(numbers, dtype=np.int64)[codes])


class CountsOfCases(GroupCounts):
    """Counts of cases, with the most cases that any person in each group has."""

    most_cases: IntArray


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

    def disclosures(self, point: Point, release: HasCounts) -> list[Disclosure]:
        """For each value, an upper bound of the probability that some person has it.

        This is the highest sum over one person's cases, or the worst of a single case.
        """
        disclosures = list(point.adversary.disclosures(release).values())
        people, _ = self._several
        if not len(people):  # nobody has several cases
            return disclosures
        sums = _Sums(*self._several, _chances(point.adversary, release), counts_of(release))
        least = np.array([single.probability for single in disclosures]) * (1 - _NEAR)
        best = sums.best(least)
        # In floats a sum may be the higher one: then the two are compared as fractions.
        for code in np.flatnonzero(best > least).tolist():
            disclosures[code] = sums.disclosure(code, float(best[code]), disclosures[code])
        return disclosures

    def over(
        self, adversary: Any, limit: Limit, release: HasCounts, is_about: BoolArray
    ) -> tuple[int, int]:
        """At most how many people reach a limit, and how many groups have cases of these.

        A person reaches it if the chances of all their cases add up to it, for one value that the
        requirement is about (`is_about`, a bool for each value).
        """
        order = np.argsort(self.of_case, kind="stable")  # the cases of a person together
        sums = _Sums(
            *(self.of_case[order], self.groups[order]),
            *(_chances(adversary, release), counts_of(release)),
        )
        reached = np.zeros(int(self.of_case.max()) + 1, dtype=bool)
        lowest_sum = float(limit.at(None)) * (1 - _NEAR)  # a float may be a little too low
        for person, value, sum_of in sums.above(lowest_sum).each():
            reached[person[(sum_of >= lowest_sum) & is_about[value]]] = True
        return int(reached.sum()), len(np.unique(self.groups[reached[self.of_case]]))


def _chances(adversary: Any, release: HasCounts) -> Chances:
    """How likely the adversary finds each value for a person of each group.

    An adversary that only knows its worst case is refused.
    """
    chances = adversary.chances(release)
    if not isinstance(chances, Chances):
        raise UnsupportedError(
            f"{adversary} says nothing of each group, so it has no limit about people with several "
            "cases; leave person out of the schema, and limits are about cases"
        )
    return chances


def of_most_cases(point: Point, release: HasCounts, most_cases: int) -> list[Disclosure]:
    """Upper bounds for people, if it is not known whose cases are where, for each value.

    A person has at most `most_cases` cases, so a value in one of them is at most so many times as
    likely as in the worst case.
    """

    def times(disclosure: Disclosure) -> Disclosure:
        def exact() -> Fraction | None:  # worked out only when it is asked for
            bound = disclosure.settled
            return None if bound is None else min(Fraction(1), most_cases * bound)

        probability = min(1.0, most_cases * disclosure.probability)
        return Disclosure(
            disclosure.value,
            probability,
            _witness=lambda: disclosure.witness,
            bounded=True,
            _bound=exact,
        )

    disclosures = list(point.adversary.disclosures(release).values())
    return disclosures if most_cases == 1 else list(map(times, disclosures))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of probabilities over all cases of each person."""

    people: IntArray  # of each case; those of a person one after the other
    groups: IntArray  # of each case
    chances: Chances
    counts: GroupCounts

    @cached_property
    def _kinds(self) -> tuple[IntArray, IntArray, IntArray]:
        """The chances of each kind of group: where each begins, and values and cells for all.

        Groups with equal chances are one kind. A cell is the position of a chance among those of
        the adversary; there is one for each kind and value. If the adversary can tell people in a
        group apart, the highest chance counts.
        """
        chances, n_values = self.chances, self.counts.n_values
        keys = chances.case * n_values + chances.value
        # By kind and value, the highest chance first: `unique` finds the first of each.
        order = np.lexsort((-chances.chance, keys))
        cells = order[np.unique(keys[order], return_index=True)[1]]
        n_kinds = (
            self.counts.n_groups if chances.case_of is None else int(chances.case_of.max()) + 1
        )
        starts = np.searchsorted(chances.case[cells], np.arange(n_kinds + 1))
        return starts, chances.value[cells], cells

    @cached_property
    def _kind_of_case(self) -> IntArray:
        of_group = self.chances.case_of
        return self.groups if of_group is None else of_group[self.groups]

    @cached_property
    def _bound(self) -> FloatArray:
        """For each case, what no sum of its person exceeds: that of the likeliest values."""
        starts, _, cells = self._kinds
        likeliest = np.zeros(len(starts) - 1)
        np.maximum.at(likeliest, _kind_of_cell(starts), self.chances.chance[cells])
        bound = np.bincount(self.people, likeliest[self._kind_of_case])[self.people]
        return np.asarray(bound * (1 + _NEAR))

    def _of_cases(self, cases: IntArray) -> _Sums:
        """The sums over some cases, in this order."""
        return _Sums(self.people[cases], self.groups[cases], self.chances, self.counts)

    def above(self, least: float) -> _Sums:
        """The sums of people of whom one may be as high as this."""
        return self._of_cases(np.flatnonzero(self._bound >= least))

    def best(self, least: FloatArray) -> FloatArray:
        """For each value, the highest sum of any person; or `least`, if none is higher.

        People come in order of what their sums cannot exceed. A value of which nobody who is left
        can have a higher sum is no longer looked at.
        """
        best, surest_first = least.copy(), self._of_cases(np.lexsort((self.people, -self._bound)))
        for start, end in surest_first._blocks():
            may_rise = best < surest_first._bound[start]
            if not may_rise.any():
                break
            _, value, sums = surest_first._sums(start, end, may_rise)
            np.maximum.at(best, value, sums)
        return best

    def each(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield, for blocks of people, who may have which value, and the sum of its chances.

        Each array has an entry for each person and value: the number of the person, the code of the
        value, and the sum over the person's cases.
        """
        all_values = np.ones(self.counts.n_values, dtype=bool)
        for start, end in self._blocks():
            yield self._sums(start, end, all_values)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Where to cut the cases, between persons, so that few cells are added up at once."""
        starts, kinds = self._kinds[0], self._kind_of_case
        n_cells = np.cumsum(starts[kinds + 1] - starts[kinds])
        # Cut into blocks of about as many cells, and only between persons.
        first_cases = np.flatnonzero(np.diff(self.people, prepend=-1))
        cells_before = np.concatenate(([0], n_cells))[first_cases]
        cuts = first_cases[np.flatnonzero(np.diff(cells_before // _AT_ONCE, prepend=-1))].tolist()
        return zip(cuts, [*cuts[1:], len(self.people)], strict=False)

    def _sums(
        self, start: int, end: int, is_asked: BoolArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The sums of some cases, as `each` yields them, for the values that are asked about."""
        starts, values, cells = self._kinds
        if not is_asked.all():
            asked = np.flatnonzero(is_asked[values])
            n_asked = np.bincount(_kind_of_cell(starts)[asked], minlength=len(starts) - 1)
            starts, values = np.concatenate(([0], np.cumsum(n_asked))), values[asked]
            cells = cells[asked]
        chance, n_values = self.chances.chance[cells], self.counts.n_values
        # All cells of each case's kind; persons are numbered from 0 in the block, and one number
        # stands for a person and a value.
        case_kinds = self._kind_of_case[start:end]
        positions, offsets = ranges(starts[case_kinds], starts[case_kinds + 1])
        person = np.cumsum(np.diff(self.people[start:end], prepend=-1) != 0) - 1
        keys = np.repeat(person, np.diff(offsets)) * n_values + values[positions]
        n_keys = (int(person[-1]) + 1) * n_values
        sums: FloatArray
        # Most persons have most values: an array with all of both. Else only those that occur.
        if n_keys <= _SPARSE * len(keys):
            sums = np.bincount(keys, chance[positions], n_keys).astype(np.float64)
            used_keys = np.flatnonzero(sums)
            sums = sums[used_keys]
        else:
            used_keys, number = np.unique(keys, return_inverse=True)
            key_sums = np.bincount(number.reshape(-1), chance[positions], len(used_keys))
            sums = key_sums.astype(np.float64)
        people = self.people[start:end][np.flatnonzero(np.diff(person, prepend=-1))]
        return people[used_keys // n_values], used_keys % n_values, sums

    def _cell_of_case(self, code: int) -> IntArray:
        """For one value, the cell of each case; -1 if nobody in its group can have the value."""
        starts, values, cells = self._kinds
        positions = np.flatnonzero(values == code)
        cell_of_kind = np.full(len(starts) - 1, -1, dtype=np.int64)
        cell_of_kind[np.searchsorted(starts, positions, "right") - 1] = cells[positions]
        return cell_of_kind[self._kind_of_case]

    def disclosure(self, code: int, top: float, single_case: Disclosure) -> Disclosure:
        """The disclosure of one value: the highest sum of chances over the cases of one person.

        `code` is the value, and `top` the sum as a float. If a single case has a higher chance
        (`single_case`), it is that. The exact sum and the witness are worked out when asked for.
        """
        cell_of_case = self._cell_of_case(code)  # -1 for a case that cannot have the value

        def exact() -> Fraction | None:
            """The highest sum as a fraction, of the people whose sums are near it; or None."""
            has_cell = cell_of_case >= 0
            chance = np.where(has_cell, self.chances.chance[cell_of_case], 0.0)
            sums = np.bincount(self.people, chance)
            is_near = (sums[self.people] >= top * (1 - _NEAR)) & has_cell
            # Persons with cases in the same cells have the same sum: these are added up once.
            cells_of_person: dict[int, list[int]] = {}
            for person, cell in zip(
                self.people[is_near].tolist(), cell_of_case[is_near].tolist(), strict=True
            ):
                cells_of_person.setdefault(person, []).append(cell)
            different_cells = {tuple(sorted(cells)) for cells in cells_of_person.values()}
            cells = np.unique(np.concatenate([np.array(cells) for cells in different_cells]))
            chance_of = dict(zip(cells.tolist(), self.chances.fractions(cells), strict=True))
            highest = single_case.settled
            for person_cells in different_cells:
                chances = [chance_of[cell] for cell in person_cells]
                if highest is None or None in chances:
                    return None
                highest = max(highest, sum(chances, Fraction(0)))
            return None if highest is None else min(Fraction(1), highest)

        def witness() -> SeveralCases:
            """The person with the highest sum, as the groups and chances of their cases."""
            chance = np.where(cell_of_case >= 0, self.chances.chance[cell_of_case], 0.0)
            person = int(np.argmax(np.bincount(self.people, chance)))
            cases = np.flatnonzero(self.people == person)
            groups = tuple(self.counts.group_label(int(g)) for g in self.groups[cases])
            return SeveralCases(groups[0], groups, tuple(chance[cases].tolist()))

        probability = min(1.0, max(top, single_case.probability))
        return Disclosure(
            single_case.value, probability, _witness=witness, bounded=True, _bound=exact
        )


def _kind_of_cell(starts: IntArray) -> IntArray:
    """The kind of each cell, where the cells of each kind begin at `starts`."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def ledger_of_people(
    point: Point, targets: BoolArray | Windows, semantics: Semantics, most_cases: int
) -> Ledger:
    """A ledger for a limit about people who may have several cases.

    A ledger answers a search: are these groups safe? If somebody in a group has j cases there, each
    must stay below 1/j of the limit, so that their sum keeps it. If knowledge reaches into other
    groups, the most cases of all people decide everywhere.
    """
    adversary: Any = point.adversary

    @cache  # these ledgers have no state: each group is asked about by itself
    def ledger(n_cases: int) -> Any:
        return adversary.ledger(point.below / n_cases, targets, semantics)

    # What the adversary's facts are about: only the target's group, or other groups, too.
    speaks = adversary.speaks
    if speaks is None or speaks.groups or point.inclusive:
        started: Ledger = ledger(most_cases)
        return started

    def fails(counts: GroupCounts) -> BoolArray:
        assert isinstance(counts, CountsOfCases)
        failing = np.zeros(counts.n_groups, dtype=bool)
        # Groups in which somebody has at most so many cases have the same limit.
        for n_cases in np.unique(counts.most_cases).tolist():
            groups = np.flatnonzero(counts.most_cases == n_cases)
            failing[groups] = ~ledger(n_cases).alone(counts.take(groups))
        return failing

    return EachGroup(fails)
