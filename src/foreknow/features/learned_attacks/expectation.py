"""How likely the people of each group are to have each of its values, for any chances.

The groups are laid out once, and then asked for one set of chances after another. Where a group is
in reach, its posteriors are exact but for rounding, by the dynamic program of
`foreknow.adversaries.priors.exact`. Beyond it is *balanced*: a table of people by signature and
value whose margins are those of the group, and whose odds ratios are those of the chances (Deming
and Stephan 1940). It is what posteriors come near to as groups grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.posteriors import (
    Batch,
    batches,
    cell_offsets,
    cell_places,
    split_by_shape,
    states_of,
)
from foreknow.adversaries.priors.signature_groups import SignatureGroups
from foreknow.data.arrays import FloatArray, IntArray, ranges

# States of a group that is gone through at most. Steps of a lattice are taken for all groups of a
# shape at once; what that takes in seconds, about: of a step, and of a state of a group.
REACH = 1 << 13
_STEP, _STATE = 6e-5, 1.5e-8
# Seconds that all may take, about: those whose people cost most are beyond reach. While learning,
# which takes a hundred times as many rounds; to judge what was learned; and to do so beside a
# publication.
LEARNING, JUDGING, SOON = (0.004, 1e-6), (0.25, 2e-5), (0.05, 4e-6)
# Balancing ends where no margin is farther off than this, or after so many rounds; while learning,
# the next step corrects what is off.
_BALANCED, _ROUNDS, _ROUNDS_LEARNING = 1e-7, 200, 12


class _Margins(NamedTuple):
    """The cells of some cases, the people of each row, and the occurrences of each column."""

    cells: IntArray
    case: IntArray  # which of these cases each cell is of
    rows: IntArray
    columns: IntArray
    people: FloatArray
    occurrences: FloatArray
    of_row: FloatArray  # the people of each cell's row


class _CellPlaces(NamedTuple):
    """The case of each cell, and where its signature and its value are in those of all cases."""

    case: IntArray
    signature: IntArray
    value: IntArray


class Expected(NamedTuple):
    """Posteriors by cell; by case the logarithm of the weight of all worlds, if `weighed`."""

    posteriors: FloatArray
    weights: FloatArray


class _CaseParts(NamedTuple):
    """Cases, divided by how their posteriors are worked out."""

    uniform: IntArray  # of one signature, or of one value: everybody has the group's shares
    exact: list[Batch]  # all worlds are counted
    balanced: IntArray  # the rest: chances are scaled until they have the group's margins


@dataclass(frozen=True, eq=False)
class CaseLayout:
    """The distinct groups (cases); ``offsets[c]:offsets[c + 1]`` are the cells of case c.

    A cell is a signature and a value that occur together in the group.
    """

    cases: SignatureGroups
    times: FloatArray  # how many groups are like it
    case_of: IntArray
    seconds: tuple[float, float] = JUDGING

    @classmethod
    def of(cls, groups: SignatureGroups, seconds: tuple[float, float] = JUDGING) -> CaseLayout:
        """Lay out groups, equal ones as one case.

        `seconds` limit exact counting: so many in all, and so many more for each person.
        """
        first, case_of = groups.distinct()
        times = np.bincount(case_of, minlength=len(first)).astype(np.float64)
        return cls(groups.take(first), times, case_of, seconds)

    def times_over(self, n_copies: int) -> CaseLayout:
        """The cases `n_copies` times in a row: one call then serves as many sets of chances."""
        cases = self.cases.take(np.tile(np.arange(self.cases.n_groups), n_copies))
        return CaseLayout(cases, np.tile(self.times, n_copies), self.case_of, self.seconds)

    @property
    def rounds(self) -> int:
        """How many rounds balancing takes at most."""
        return _ROUNDS_LEARNING if self.seconds == LEARNING else _ROUNDS

    @cached_property
    def offsets(self) -> IntArray:
        """Where the cells of each case begin."""
        return cell_offsets(self.cases)

    @cached_property
    def _places(self) -> _CellPlaces:
        return _CellPlaces(*cell_places(self.cases, self.offsets))

    @property
    def case(self) -> IntArray:
        """The case of each cell."""
        return self._places.case

    @cached_property
    def signature(self) -> IntArray:
        """The signature of each cell."""
        return self.cases.signatures[self._places.signature]

    @cached_property
    def value(self) -> IntArray:
        """The value of each cell."""
        return self.cases.values[self._places.value]

    @cached_property
    def people(self) -> FloatArray:
        """How many of a group have the signature of each cell."""
        return self.cases.people[self._places.signature].astype(np.float64)

    @cached_property
    def alone(self) -> FloatArray:
        """How frequent the value of each cell is in its group."""
        return self.cases.counts[self._places.value] / self.cases.sizes[self.case]

    @cached_property
    def _parts(self) -> _CaseParts:
        """The cases (distinct groups), divided by how their posteriors are worked out.

        All assignments of values to people are counted exactly for as many cases as `seconds`
        allow, the cheapest for each person first; the rest is balanced. `uniform` cases need
        neither.
        """
        cases, sizes = self.cases, self.cases.sizes
        # With one kind of people or one value, everybody has the group's own shares.
        is_uniform = (np.diff(cases.offsets) == 1) | (np.diff(cases.value_offsets) == 1)
        # The exact count is a dynamic program. Its states are how many of each value (or, turned
        # round, of each kind of people) are used up; the smaller number of states is taken.
        by_value = states_of(cases.counts, cases.value_offsets)
        by_signature = states_of(cases.people, cases.offsets)
        is_countable = ~is_uniform & (np.minimum(by_value, by_signature) <= REACH)
        balanced = [np.flatnonzero(~is_uniform & ~is_countable)]
        candidates: list[tuple[float, bool, IntArray]] = []
        for by_signatures in (False, True):
            countable = np.flatnonzero(is_countable & ((by_signature < by_value) == by_signatures))
            amounts = cases.people if by_signatures else cases.counts
            starts = cases.offsets if by_signatures else cases.value_offsets
            for batch in split_by_shape(cases, countable, by_signatures):
                # A batch is of cases with equal amounts, which go through the program together; so
                # one of them tells the cost of all.
                first = batch[0]
                capacities, size = amounts[starts[first] : starts[first + 1]], int(sizes[first])
                cost = _STEP * size * len(capacities)
                cost += _STATE * float(np.prod(capacities + 1.0)) * len(capacities) * len(batch)
                candidates.append((cost / (size * len(batch)), by_signatures, batch))
        time_left = self.seconds[0] + self.seconds[1] * float(sizes.sum())
        exact_batches: list[Batch] = []
        for cost_per_person, by_signatures, batch in sorted(candidates, key=lambda entry: entry[0]):
            time_left -= cost_per_person * int(sizes[batch[0]]) * len(batch)
            if time_left < 0:
                balanced.append(batch)
            else:
                exact_batches += batches(cases, self.offsets, batch, by_signatures)
        return _CaseParts(
            np.flatnonzero(is_uniform), exact_batches, np.sort(np.concatenate(balanced))
        )

    @property
    def balanced(self) -> NDArray[np.bool_]:
        """True for each case that is beyond reach of exact counting."""
        mask = np.zeros(self.cases.n_groups, dtype=bool)
        mask[self._parts.balanced] = True
        return mask

    def expected(self, chances: FloatArray, weighed: bool = True) -> Expected:
        """The expected posterior of each cell, and the logarithm of the weight of each case.

        A cell is a kind of people and a value that occur together in a case (a distinct group);
        `chances` has for each cell how likely the value is for such people beforehand. Without
        `weighed`, the weights are 0.
        """
        uniform, exact, balanced = self._parts
        # Batches and _balance fill in these arrays.
        expected = Expected(self.alone.copy(), np.zeros(self.cases.n_groups))
        if len(uniform):
            margins = self._margins_of_uniform
            self._balance(uniform, margins, chances, expected, rounds=0, weighed=weighed)
        if len(balanced):
            margins = self._margins_of_balanced
            self._balance(balanced, margins, chances, expected, rounds=self.rounds, weighed=weighed)
        failed = []
        for batch in exact:
            is_judged, expected.weights[batch.cases] = batch.fill_in(chances, expected.posteriors)
            if not is_judged.all():  # the weights of worlds are too far apart for floats
                failed.append(batch.cases[~is_judged])
        if failed:
            failed_cases = np.concatenate(failed)
            margins = self._margins(failed_cases)
            self._balance(
                failed_cases, margins, chances, expected, rounds=self.rounds, weighed=weighed
            )
        # Rounding may lead a little beyond 1.
        np.minimum(expected.posteriors, 1.0, out=expected.posteriors)
        return expected

    def _margins(self, cases: IntArray) -> _Margins:
        """The margins of these cases, as tables of people by signature (rows) and value (columns).

        A row's margin is the people of the signature there; a column's how often the value occurs.
        """
        cells, offsets = ranges(self.offsets[cases], self.offsets[cases + 1])
        # Rows and columns of these cases only, numbered from 0.
        rows = _numbered(self._places.signature[cells])
        columns = _numbered(self._places.value[cells])
        people = np.zeros(rows.max() + 1)
        people[rows] = self.people[cells]
        occurrences = np.zeros(columns.max() + 1)
        occurrences[columns] = self.cases.counts[self._places.value[cells]]
        case = np.repeat(np.arange(len(cases)), np.diff(offsets))
        return _Margins(
            cells, case, rows, columns, people=people, occurrences=occurrences, of_row=people[rows]
        )

    @cached_property
    def _margins_of_balanced(self) -> _Margins:
        return self._margins(self._parts.balanced)

    @cached_property
    def _margins_of_uniform(self) -> _Margins:
        return self._margins(self._parts.uniform)

    def _balance(
        self,
        cases: IntArray,
        margins: _Margins,
        chances: FloatArray,
        expected: Expected,
        *,
        rounds: int,
        weighed: bool,
    ) -> None:
        """Set the posteriors of `cases` in `expected`: chances scaled to each case's margins.

        The table of a case has its kinds of people as rows and its values as columns; a cell says
        how many people of the kind have the value. Rows and columns are scaled in turn until both
        margins are right (iterative proportional fitting). With 0 `rounds`, everybody has the
        shares of the values in the group. If `weighed`, the weights of the cases are set, too.
        """
        cells, rows, columns, people = margins.cells, margins.rows, margins.columns, margins.people
        # A chance of 0 may leave no table with these margins, so the least positive float stands
        # for 0.
        positive = np.maximum(chances.take(cells), np.finfo(float).tiny)
        start_table = positive if rounds else self.alone[cells]
        row_factor, column_factor = people, np.ones(len(margins.occurrences))
        for _ in range(rounds):
            # First columns to their margins, then rows; rows then say how far the last round was
            # off.
            column_factor = margins.occurrences / np.bincount(
                columns, start_table * row_factor.take(rows)
            )
            sums = np.bincount(rows, start_table * column_factor.take(columns))
            change = np.abs(row_factor * sums / people - 1).max()
            row_factor = people / sums
            if change <= _BALANCED:
                break
        table = start_table * row_factor.take(rows) * column_factor.take(columns)
        expected.posteriors[cells] = table / margins.of_row
        if weighed:
            # Stirling's leading terms of how many worlds agree with the table, and their weight.
            logs = np.log(positive * margins.of_row / (table + 1e-300))
            terms = np.where(table > 0, table * logs, 0.0)
            expected.weights[cases] = np.bincount(margins.case, terms, minlength=len(cases))


def _numbered(codes: IntArray) -> IntArray:
    """Number the distinct codes from 0 in ascending order, and return the number of each code."""
    occurs = np.zeros(int(codes.max()) + 1, dtype=bool)
    occurs[codes] = True
    return np.asarray((np.cumsum(occurs) - 1)[codes])
