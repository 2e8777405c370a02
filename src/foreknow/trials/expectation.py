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
    shapes,
    states_of,
)
from foreknow.adversaries.priors.signature_groups import SignatureGroups
from foreknow.data.arrays import FloatArray, IntArray, ranges

# States of a group that is gone through at most. Steps of a lattice are taken for all groups of a
# shape at once; what that takes in seconds, about: of a step, and of a state of a group.
REACH = 1 << 13
_STEP, _STATE = 6e-5, 1.5e-8
# Seconds that all may take, about: those whose people cost most are beyond reach. While learning,
# which takes a hundred times as many rounds; in its last steps; and to judge what was learned.
LEARNING, ENDING, JUDGING = (0.004, 1e-6), (0.04, 2e-7), (0.25, 2e-5)
# Balancing ends where no margin is farther off than this, or after so many rounds.
_BALANCED, _ROUNDS = 1e-7, 200


class _Margins(NamedTuple):
    """The cells of some cases, the people of each row, and the occurrences of each column."""

    cells: IntArray
    case: IntArray  # which of these cases each cell is of
    rows: IntArray
    columns: IntArray
    people: FloatArray
    occurrences: FloatArray
    of_row: FloatArray  # the people of each cell's row


class Expected(NamedTuple):
    """Posteriors by cell; by case the logarithm of the weight of all worlds, if `weighed`."""

    posteriors: FloatArray
    weights: FloatArray


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
        """Lay out groups; `seconds` limit exact posteriors, in all and for each person."""
        first, case_of = groups.distinct()
        times = np.bincount(case_of, minlength=len(first)).astype(np.float64)
        return cls(groups.take(first), times, case_of, seconds)

    def times_over(self, n_copies: int) -> CaseLayout:
        """The same cases several times, one copy after another, each for chances of its own."""
        cases = self.cases.take(np.tile(np.arange(self.cases.n_groups), n_copies))
        return CaseLayout(cases, np.tile(self.times, n_copies), self.case_of, self.seconds)

    @cached_property
    def offsets(self) -> IntArray:
        """Where the cells of each case begin."""
        return cell_offsets(self.cases)

    @property
    def case(self) -> IntArray:
        """The case of each cell."""
        return self._places[0]

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray, IntArray]:
        return cell_places(self.cases, self.offsets)

    @cached_property
    def signature(self) -> IntArray:
        """The signature of each cell."""
        return self.cases.signatures[self._places[1]]

    @cached_property
    def value(self) -> IntArray:
        """The value of each cell."""
        return self.cases.values[self._places[2]]

    @cached_property
    def people(self) -> FloatArray:
        """How many of a group have the signature of each cell."""
        return self.cases.people[self._places[1]].astype(np.float64)

    @cached_property
    def alone(self) -> FloatArray:
        """How frequent the value of each cell is in its group."""
        return self.cases.counts[self._places[2]] / self.cases.sizes[self.case]

    @cached_property
    def _parts(self) -> tuple[IntArray, list[Batch], IntArray]:
        """Cases of one signature; those that are counted exactly; and the rest."""
        cases, sizes = self.cases, self.cases.sizes
        is_uniform = (np.diff(cases.offsets) == 1) | (np.diff(cases.value_offsets) == 1)
        by_value = states_of(cases.counts, cases.value_offsets)
        by_signature = states_of(cases.people, cases.offsets)
        reached = ~is_uniform & (np.minimum(by_value, by_signature) <= REACH)
        beyond = [np.flatnonzero(~is_uniform & ~reached)]
        shaped: list[tuple[float, bool, IntArray]] = []
        for turned in (False, True):
            chosen = np.flatnonzero(reached & ((by_signature < by_value) == turned))
            amounts = cases.people if turned else cases.counts
            starts = cases.offsets if turned else cases.value_offsets
            for batch in shapes(cases, chosen, turned):
                first = batch[0]
                capacities, size = amounts[starts[first] : starts[first + 1]], int(sizes[first])
                cost = _STEP * size * len(capacities)
                cost += _STATE * float(np.prod(capacities + 1.0)) * len(capacities) * len(batch)
                shaped.append((cost / (size * len(batch)), turned, batch))
        time_left = self.seconds[0] + self.seconds[1] * float(sizes.sum())
        exact_batches: list[Batch] = []
        for cost_per_person, turned, batch in sorted(shaped, key=lambda entry: entry[0]):
            time_left -= cost_per_person * int(sizes[batch[0]]) * len(batch)
            if time_left < 0:
                beyond.append(batch)
            else:
                exact_batches += batches(cases, self.offsets, batch, turned)
        return np.flatnonzero(is_uniform), exact_batches, np.sort(np.concatenate(beyond))

    @property
    def balanced(self) -> NDArray[np.bool_]:
        """True for each case that is beyond reach of exact counting."""
        mask = np.zeros(self.cases.n_groups, dtype=bool)
        mask[self._parts[2]] = True
        return mask

    def expected(self, chances: FloatArray, weighed: bool = True) -> Expected:
        """Posteriors, for given chances of cells: how likely its people are to have its value.

        Weights are not worked out where they are not asked for.
        """
        uniform, reached, beyond = self._parts
        expected = Expected(self.alone.copy(), np.zeros(self.cases.n_groups))
        if len(uniform):
            self._balance(uniform, self._of_alike, chances, expected, 0, weighed)
        if len(beyond):
            self._balance(beyond, self._of_beyond, chances, expected, _ROUNDS, weighed)
        failed = []
        for batch in reached:
            good, expected.weights[batch.cases] = batch.judge(chances, expected.posteriors)
            if not good.all():  # the weights of worlds are too far apart for floats
                failed.append(batch.cases[~good])
        if failed:
            failed_cases = np.concatenate(failed)
            self._balance(
                failed_cases, self._margins(failed_cases), chances, expected, _ROUNDS, weighed
            )
        np.minimum(expected.posteriors, 1.0, out=expected.posteriors)
        return expected

    def _margins(self, cases: IntArray) -> _Margins:
        cells, offsets = ranges(self.offsets[cases], self.offsets[cases + 1])
        rows, columns = (_numbered(part[cells]) for part in self._places[1:])
        people = np.zeros(rows.max() + 1)
        people[rows] = self.people[cells]
        occurrences = np.zeros(columns.max() + 1)
        occurrences[columns] = self.cases.counts[self._places[2][cells]]
        case = np.repeat(np.arange(len(cases)), np.diff(offsets))
        return _Margins(cells, case, rows, columns, people, occurrences, people[rows])

    @cached_property
    def _of_beyond(self) -> _Margins:
        return self._margins(self._parts[2])

    @cached_property
    def _of_alike(self) -> _Margins:
        return self._margins(self._parts[0])

    def _balance(
        self,
        cases: IntArray,
        margins: _Margins,
        chances: FloatArray,
        expected: Expected,
        rounds: int,
        weighed: bool,
    ) -> None:
        """Scale chances until they have the margins of some cases (balanced tables)."""
        cells, rows, columns, people = margins.cells, margins.rows, margins.columns, margins.people
        positive = np.maximum(chances.take(cells), np.finfo(float).tiny)
        start = positive if rounds else self.alone[cells]
        row, column = people, np.ones(len(margins.occurrences))
        for _ in range(rounds):
            column = margins.occurrences / np.bincount(columns, start * row.take(rows))
            sums = np.bincount(rows, start * column.take(columns))
            change = np.abs(row * sums / people - 1).max()
            row = people / sums
            if change <= _BALANCED:
                break
        table = start * row.take(rows) * column.take(columns)
        expected.posteriors[cells] = table / margins.of_row
        if weighed:
            # Stirling's leading terms of how many worlds agree with the table, and their weight.
            logs = np.log(positive * margins.of_row / (table + 1e-300))
            terms = np.where(table > 0, table * logs, 0.0)
            expected.weights[cases] = np.bincount(margins.case, terms, minlength=len(cases))


def _numbered(places: IntArray) -> IntArray:
    """Number the distinct places in order; the number of each place."""
    occurs = np.zeros(int(places.max()) + 1, dtype=bool)
    occurs[places] = True
    return np.asarray((np.cumsum(occurs) - 1)[places])
