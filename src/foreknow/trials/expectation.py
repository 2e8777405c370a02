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
    """Cells of some cases, and how many people and occurrences their rows and columns have."""

    cells: IntArray
    case: IntArray  # which of these cases each cell is of
    rows: IntArray
    columns: IntArray
    people: FloatArray
    held: FloatArray
    of_row: FloatArray  # the people of each cell's row


class Expected(NamedTuple):
    """Posteriors by cell, and the logarithm of the weight of all worlds by case, if asked for."""

    posteriors: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class CaseLayout:
    """Groups that differ; case c has ``offsets[c]:offsets[c + 1]``, by signature and held value."""

    cases: SignatureGroups
    times: FloatArray  # how many groups are like it
    case_of: IntArray
    seconds: tuple[float, float] = JUDGING

    @classmethod
    def of(cls, groups: SignatureGroups, seconds: tuple[float, float] = JUDGING) -> CaseLayout:
        """Lay out groups; exact posteriors may take so many seconds, and so many a person."""
        first, case_of = groups.distinct()
        times = np.bincount(case_of, minlength=len(first)).astype(np.float64)
        return cls(groups.take(first), times, case_of, seconds)

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
        """Cases whose members are all alike; those that are gone through; and the rest."""
        cases, sizes = self.cases, self.cases.sizes
        alike = (np.diff(cases.offsets) == 1) | (np.diff(cases.value_offsets) == 1)
        by_value = states_of(cases.counts, cases.value_offsets)
        by_signature = states_of(cases.people, cases.offsets)
        reached = ~alike & (np.minimum(by_value, by_signature) <= REACH)
        beyond = [np.flatnonzero(~alike & ~reached)]
        shaped: list[tuple[float, bool, IntArray]] = []
        for turned in (False, True):
            some = np.flatnonzero(reached & ((by_signature < by_value) == turned))
            amounts = cases.people if turned else cases.counts
            starts = cases.offsets if turned else cases.value_offsets
            for batch in shapes(cases, some, turned):
                first = batch[0]
                capacities, size = amounts[starts[first] : starts[first + 1]], int(sizes[first])
                cost = _STEP * size * len(capacities)
                cost += _STATE * float(np.prod(capacities + 1.0)) * len(capacities) * len(batch)
                shaped.append((cost / (size * len(batch)), turned, batch))
        left = self.seconds[0] + self.seconds[1] * float(sizes.sum())
        found: list[Batch] = []
        for each, turned, batch in sorted(shaped, key=lambda one: one[0]):
            left -= each * int(sizes[batch[0]]) * len(batch)
            if left < 0:
                beyond.append(batch)
            else:
                found += batches(cases, self.offsets, batch, turned)
        return np.flatnonzero(alike), found, np.sort(np.concatenate(beyond))

    @property
    def balanced(self) -> NDArray[np.bool_]:
        """Which cases are beyond reach."""
        mask = np.zeros(self.cases.n_groups, dtype=bool)
        mask[self._parts[2]] = True
        return mask

    def expected(self, chances: FloatArray, weighed: bool = True) -> Expected:
        """Posteriors for a chance of each cell: how likely its people are to have its value.

        Weights are not worked out where they are not asked for.
        """
        alike, reached, beyond = self._parts
        found = Expected(self.alone.copy(), np.zeros(self.cases.n_groups))
        if len(alike):
            self._balance(alike, self._of_alike, chances, found, 0, weighed)
        if len(beyond):
            self._balance(beyond, self._of_beyond, chances, found, _ROUNDS, weighed)
        left = []
        for batch in reached:
            good, found.weights[batch.cases] = batch.judge(chances, found.posteriors)
            if not good.all():  # the weights of worlds are too far apart for floats
                left.append(batch.cases[~good])
        if left:
            rest = np.concatenate(left)
            self._balance(rest, self._margins(rest), chances, found, _ROUNDS, weighed)
        np.minimum(found.posteriors, 1.0, out=found.posteriors)
        return found

    def _margins(self, some: IntArray) -> _Margins:
        cells, offsets = ranges(self.offsets[some], self.offsets[some + 1])
        rows, columns = (_numbered(part[cells]) for part in self._places[1:])
        people = np.zeros(rows.max() + 1)
        people[rows] = self.people[cells]
        held = np.zeros(columns.max() + 1)
        held[columns] = self.cases.counts[self._places[2][cells]]
        case = np.repeat(np.arange(len(some)), np.diff(offsets))
        return _Margins(cells, case, rows, columns, people, held, people[rows])

    @cached_property
    def _of_beyond(self) -> _Margins:
        return self._margins(self._parts[2])

    @cached_property
    def _of_alike(self) -> _Margins:
        return self._margins(self._parts[0])

    def _balance(
        self,
        some: IntArray,
        of: _Margins,
        chances: FloatArray,
        found: Expected,
        rounds: int,
        weighed: bool,
    ) -> None:
        """Fit the margins of some cases."""
        cells, rows, columns, people = of.cells, of.rows, of.columns, of.people
        given = np.maximum(chances.take(cells), np.finfo(float).tiny)
        start = given if rounds else self.alone[cells]
        row, column = people, np.ones(len(of.held))
        for _ in range(rounds):
            column = of.held / np.bincount(columns, start * row.take(rows))
            sums = np.bincount(rows, start * column.take(columns))
            change = np.abs(row * sums / people - 1).max()
            row = people / sums
            if change <= _BALANCED:
                break
        table = start * row.take(rows) * column.take(columns)
        found.posteriors[cells] = table / of.of_row
        if weighed:
            # Stirling's leading terms of how many worlds agree with the table, and their weight.
            logs = np.log(given * of.of_row / (table + 1e-300))
            terms = np.where(table > 0, table * logs, 0.0)
            found.weights[some] = np.bincount(of.case, terms, minlength=len(some))


def _numbered(places: IntArray) -> IntArray:
    """The number of each place, of those that occur, in order."""
    occurs = np.zeros(int(places.max()) + 1, dtype=bool)
    occurs[places] = True
    return np.asarray((np.cumsum(occurs) - 1)[places])
