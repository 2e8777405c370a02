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
from foreknow_judge.counts.group_bags import distinct
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
    # Cells are sorted by group and combination, and each occurs: so they are these kinds of rows.
    _, cell_of_case = distinct(groups, combined.sensitive_codes)
    return counts, CaseOwners(str(combined.schema.person), combined.persons, cell_of_case)


def numbers_of_cases(counts: GroupCounts) -> IntArray | None:
    """How many cases the person of each combination has; None where rows are people."""
    column = counts.values.columns.get(CASES)
    if column is None:
        return None
    codes, numbers = column
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
        chances = _chances_of_cells(point.adversary, release)
        sums = _Sums(*self._several, chances, counts_of(release))
        of_single_cases = np.array([single.probability for single in disclosures]) * (1 - _NEAR)
        highest_sums = sums.highest(of_single_cases)
        # In floats a sum may be the higher one: then the two are compared as fractions.
        for code in np.flatnonzero(highest_sums > of_single_cases).tolist():
            highest_sum = float(highest_sums[code])
            disclosures[code] = sums.disclosure(code, highest_sum, disclosures[code])
        return disclosures

    def count_over(
        self, adversary: Any, limit: Limit, release: HasCounts, is_about: BoolArray
    ) -> tuple[int, int]:
        """At most how many people reach a limit, and how many groups have cases of these.

        A person reaches it if the chances of all their cases add up to it, for one value that the
        requirement is about (`is_about`, a bool for each value).
        """
        order = np.argsort(self.of_case, kind="stable")  # the cases of a person together
        sums = _Sums(
            people=self.of_case[order],
            groups=self.groups[order],
            chances=_chances_of_cells(adversary, release),
            counts=counts_of(release),
        )
        is_over = np.zeros(int(self.of_case.max()) + 1, dtype=bool)
        lowest_sum = float(limit.at(None)) * (1 - _NEAR)  # a float may be a little too low
        for person, value, sum_of_chances in sums.that_may_reach(lowest_sum).of_people():
            is_over[person[(sum_of_chances >= lowest_sum) & is_about[value]]] = True
        groups_over = np.unique(self.groups[is_over[self.of_case]])
        return int(is_over.sum()), len(groups_over)


def _chances_of_cells(adversary: Any, release: HasCounts) -> Chances:
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

    def times_most_cases(disclosure: Disclosure) -> Disclosure:
        def bound_as_fraction() -> Fraction | None:  # worked out only when it is asked for
            fraction = disclosure.settled
            return None if fraction is None else min(Fraction(1), most_cases * fraction)

        return Disclosure(
            disclosure.value,
            min(1.0, most_cases * disclosure.probability),
            _witness=lambda: disclosure.witness,
            bounded=True,
            _bound=bound_as_fraction,
        )

    disclosures = list(point.adversary.disclosures(release).values())
    return disclosures if most_cases == 1 else list(map(times_most_cases, disclosures))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of probabilities over all cases of each person."""

    people: IntArray  # of each case; those of a person one after the other
    groups: IntArray  # of each case
    chances: Chances
    counts: GroupCounts

    @cached_property
    def _chances_by_kind(self) -> tuple[IntArray, IntArray, IntArray]:
        """The chances of each kind of group: where each begins, and values and cells for all.

        Groups with equal chances are one kind. A cell is the position of a chance among those of
        the adversary; there is one for each kind and value. If the adversary can tell people in a
        group apart, the highest chance counts.
        """
        chances, n_values = self.chances, self.counts.n_values
        kind_and_value = chances.case * n_values + chances.value
        # By kind and value, the highest chance first: `unique` finds the first of each.
        order = np.lexsort((-chances.chance, kind_and_value))
        _, first = np.unique(kind_and_value[order], return_index=True)
        cells = order[first]
        n_kinds = self.counts.n_groups
        if chances.case_of is not None:
            n_kinds = int(chances.case_of.max()) + 1
        starts = np.searchsorted(chances.case[cells], np.arange(n_kinds + 1))
        return starts, chances.value[cells], cells

    @cached_property
    def _kind_of_case(self) -> IntArray:
        of_group = self.chances.case_of
        return self.groups if of_group is None else of_group[self.groups]

    @cached_property
    def _upper_bounds(self) -> FloatArray:
        """For each case, what no sum of its person exceeds: that of the likeliest values."""
        starts, _, cells = self._chances_by_kind
        likeliest = np.zeros(len(starts) - 1)
        np.maximum.at(likeliest, _kind_of_cell(starts), self.chances.chance[cells])
        bound = np.bincount(self.people, likeliest[self._kind_of_case])[self.people]
        return np.asarray(bound * (1 + _NEAR))

    def _only_cases(self, cases: IntArray) -> _Sums:
        """The sums over some cases, in this order."""
        return _Sums(self.people[cases], self.groups[cases], self.chances, self.counts)

    def that_may_reach(self, amount: float) -> _Sums:
        """The sums of people of whom one may be as high as this."""
        return self._only_cases(np.flatnonzero(self._upper_bounds >= amount))

    def highest(self, least: FloatArray) -> FloatArray:
        """For each value, the highest sum of any person; or `least`, if none is higher.

        People come in order of what their sums cannot exceed. A value of which nobody who is left
        can have a higher sum is no longer looked at.
        """
        highest = least.copy()
        # The cases of a person stay together, in their order, so it is persons that are sorted.
        first_cases = np.flatnonzero(np.diff(self.people, prepend=-1))
        ends = np.append(first_cases[1:], len(self.people))
        by_bound = np.argsort(-self._upper_bounds[first_cases], kind="stable")
        cases, _ = ranges(first_cases[by_bound], ends[by_bound])
        surest_first = self._only_cases(cases)
        for start, end in surest_first._block_ends():
            may_rise = highest < surest_first._upper_bounds[start]
            if not may_rise.any():
                break
            _, value, sums = surest_first._sums_of_block(start, end, may_rise)
            np.maximum.at(highest, value, sums)
        return highest

    def of_people(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield, for blocks of people, who may have which value, and the sum of its chances.

        Each array has an entry for each person and value: the number of the person, the code of the
        value, and the sum over the person's cases.
        """
        all_values = np.ones(self.counts.n_values, dtype=bool)
        for start, end in self._block_ends():
            yield self._sums_of_block(start, end, all_values)

    def _block_ends(self) -> Iterator[tuple[int, int]]:
        """The first case and the end of each block of whole persons with about as many cells."""
        starts, _, _ = self._chances_by_kind
        kinds = self._kind_of_case
        n_cells = np.cumsum(starts[kinds + 1] - starts[kinds])
        first_cases = np.flatnonzero(np.diff(self.people, prepend=-1))  # of persons
        cells_before = np.concatenate(([0], n_cells))[first_cases]
        block_of_person = cells_before // _AT_ONCE
        is_first_of_block = np.flatnonzero(np.diff(block_of_person, prepend=-1))
        cuts = first_cases[is_first_of_block].tolist()
        return zip(cuts, [*cuts[1:], len(self.people)], strict=False)

    def _sums_of_block(
        self, start: int, end: int, is_asked: BoolArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The sums of the cases from `start` up to `end`, as `of_people` yields them.

        Only of the values that are asked about.
        """
        starts, values, cells = self._chances_by_kind
        if not is_asked.all():
            positions = np.flatnonzero(is_asked[values])
            n_asked = np.bincount(_kind_of_cell(starts)[positions], minlength=len(starts) - 1)
            starts = np.concatenate(([0], np.cumsum(n_asked)))
            values, cells = values[positions], cells[positions]
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
        starts, values, cells = self._chances_by_kind
        positions = np.flatnonzero(values == code)
        cell_of_kind = np.full(len(starts) - 1, -1, dtype=np.int64)
        cell_of_kind[np.searchsorted(starts, positions, "right") - 1] = cells[positions]
        return cell_of_kind[self._kind_of_case]

    def disclosure(self, code: int, highest_sum: float, single_case: Disclosure) -> Disclosure:
        """The disclosure of one value: the highest sum of chances over the cases of one person.

        `code` is the value, and `highest_sum` a float. If a single case has a higher chance
        (`single_case`), it is that. The exact sum and the witness are worked out when asked for.
        """

        def exact() -> Fraction | None:
            """The highest sum as a fraction, of the people whose sums are near it; or None."""
            cell_of_case = self._cell_of_case(code)  # -1 for a case that cannot have the value
            has_cell = cell_of_case >= 0
            chance = np.where(has_cell, self.chances.chance[cell_of_case], 0.0)
            sums = np.bincount(self.people, chance)
            is_near = (sums[self.people] >= highest_sum * (1 - _NEAR)) & has_cell
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
            cell_of_case = self._cell_of_case(code)
            chance = np.where(cell_of_case >= 0, self.chances.chance[cell_of_case], 0.0)
            person = int(np.argmax(np.bincount(self.people, chance)))
            cases = np.flatnonzero(self.people == person)
            groups = tuple(self.counts.group_label(int(g)) for g in self.groups[cases])
            return SeveralCases(groups[0], groups, tuple(chance[cases].tolist()))

        probability = min(1.0, max(highest_sum, single_case.probability))
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
    def ledger_for(n_cases: int) -> Any:
        """A ledger for people with so many cases in a group."""
        return adversary.ledger(point.below / n_cases, targets, semantics)

    # The adversary's facts may be about other groups than the target's, too.
    reach = adversary.speaks
    if reach is None or reach.groups or point.inclusive:
        ledger: Ledger = ledger_for(most_cases)
        return ledger

    def fails(counts: GroupCounts) -> BoolArray:
        assert isinstance(counts, CountsOfCases)
        failing = np.zeros(counts.n_groups, dtype=bool)
        # Groups in which somebody has at most so many cases have the same limit.
        for n_cases in np.unique(counts.most_cases).tolist():
            groups = np.flatnonzero(counts.most_cases == n_cases)
            failing[groups] = ~ledger_for(n_cases).alone(counts.take(groups))
        return failing

    return EachGroup(fails)
