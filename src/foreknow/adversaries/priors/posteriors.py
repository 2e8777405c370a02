"""Posteriors of everybody in floats: groups of one shape go through one lattice together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.exact import exact_group
from foreknow.adversaries.priors.exchanges import ROUNDING, upper_bounds
from foreknow.adversaries.priors.signature_groups import (
    PriorMatrix,
    SignatureGroups,
    ValueMode,
    equal_rows,
)
from foreknow.data.arrays import FloatArray, IntArray, ranges
from foreknow.possible_worlds import Lattice, lattice, world_weights
from foreknow_judge.errors import UnsupportedError

# States that a group is gone through at most; above, it is bounded. Half a million states of
# nineteen kinds take about a second and 200 MB.
REACH = 1 << 19
# Where floats cannot hold the weights, whole numbers do, up to this many states.
_WHOLE_STATES = 1 << 13
# Groups of one shape are judged together, so many numbers (and at least sixteen groups) at a time.
_NUMBERS = 1 << 19
# Rows that sum to at most one keep all partial sums at most one. Where the sum over worlds is at
# least this, what underflows on the way is below `_ABSOLUTE` of it.
LEAST_TOTAL = 2.0**-700
_ABSOLUTE = 2.0**-300


@dataclass(frozen=True, eq=False, repr=False)
class GroupPosteriors:
    """Posteriors by group, signature and held value; groups that are alike share a case.

    Cells of case c are ``offsets[c]:offsets[c + 1]``; one signature after another, and within it
    one held value after another.
    """

    mode: ValueMode
    cases: SignatureGroups
    case_of: IntArray
    offsets: IntArray
    # upper bounds where `bounded`; NaN where no world has a positive weight
    probabilities: FloatArray
    bounded: NDArray[np.bool_]
    errors: FloatArray  # of the posteriors of a case, relative, besides 2**-300

    def upper(self) -> FloatArray:
        """Per cell, a float that is never below the posterior; NaN stays."""
        error = np.repeat(self.errors, np.diff(self.offsets))
        highest = np.minimum(self.probabilities * (1 + 2 * error) + 2 * _ABSOLUTE, 1.0)
        return np.where(self.bounded, self.probabilities, highest)

    def lower(self) -> FloatArray:
        """Per cell, a float that is never above the posterior, 0 where `bounded`; NaN stays."""
        error = np.repeat(self.errors, np.diff(self.offsets))
        lowest = np.maximum(self.probabilities * (1 - 2 * error) - 2 * _ABSOLUTE, 0.0)
        return np.where(self.bounded, self.probabilities * 0.0, lowest)

    @property
    def impossible(self) -> IntArray:
        """Positions of groups without a possible world; under ``binary`` for one of the values."""
        case = np.searchsorted(self.offsets, np.flatnonzero(np.isnan(self.probabilities)), "right")
        return np.flatnonzero(np.isin(self.case_of, case - 1))

    def cells(self) -> tuple[IntArray, IntArray, IntArray]:
        """Case, signature code and value code of each cell."""
        case, row, column = cell_places(self.cases, self.offsets)
        return case, self.cases.signatures[row], self.cases.values[column]


def posteriors(
    groups: SignatureGroups,
    priors: PriorMatrix,
    mode: ValueMode = "joint",
    *,
    reach: int = REACH,
) -> GroupPosteriors:
    """Posteriors of everybody; groups of more states than `reach` get upper bounds instead.

    Under ``joint`` everybody has one value; under ``binary`` each value is had or not, by itself.
    Equal groups are judged once, as one case.
    """
    first_of_case, case_of = groups.distinct()
    cases = groups.take(first_of_case)
    compute = _joint_posteriors if mode == "joint" else _binary_posteriors
    return GroupPosteriors(mode, cases, case_of, *compute(cases, priors, reach))


class _Results(NamedTuple):
    """The posteriors of some cases; see `GroupPosteriors`."""

    offsets: IntArray
    probabilities: FloatArray
    bounded: NDArray[np.bool_]
    errors: FloatArray


def _binary_posteriors(cases: SignatureGroups, priors: PriorMatrix, reach: int) -> _Results:
    """The posteriors of each case if values are had or not, each value by itself.

    They are joint posteriors of two values. With odds ``o = f / (1 - f)`` and c occurrences,
    ``p(t:x) = o_t e_{c-1}(others) / e_c(all)``, where e_c is the elementary symmetric polynomial;
    for one occurrence the paper's Table V (errata, section 3).
    """
    case_of_value = np.repeat(np.arange(cases.n_groups), cases.n_values)
    # A small problem for each value of each case; equal problems are solved once.
    all_problems = _problems_of_two_values(cases, case_of_value)
    first, problem_of_value = all_problems.distinct()
    problems = all_problems.take(first)
    solved = _joint_posteriors(problems, priors.pairs, reach)
    offsets = cell_offsets(cases)
    case, signature, value = cell_places(cases, offsets)
    # The cells of a problem: its signatures, and for each the value x itself comes first.
    problem = problem_of_value[value]
    position = signature - cases.offsets[case]
    cells = solved.offsets[problem] + position * problems.n_values[problem]
    errors = np.zeros(cases.n_groups)
    np.maximum.at(errors, case_of_value, solved.errors[problem_of_value])
    return _Results(offsets, solved.probabilities[cells], solved.bounded[cells], errors)


def _problems_of_two_values(cases: SignatureGroups, case_of_value: IntArray) -> SignatureGroups:
    """One group per case and value: the value has code 2x, and all others together code 2x + 1."""
    cells, offsets = ranges(cases.offsets[case_of_value], cases.offsets[case_of_value + 1])
    n_others = cases.sizes[case_of_value] - cases.counts
    # Nobody has another value if all have this one.
    occurs = np.stack([np.ones(len(case_of_value), dtype=bool), n_others > 0], axis=1)
    codes = np.stack([2 * cases.values, 2 * cases.values + 1], axis=1)[occurs]
    counts = np.stack([cases.counts, n_others], axis=1)[occurs]
    return SignatureGroups(
        offsets=offsets,
        signatures=cases.signatures[cells],
        people=cases.people[cells],
        value_offsets=np.concatenate(([0], np.cumsum(occurs.sum(axis=1)))),
        values=codes,
        counts=counts,
    )


def cell_offsets(cases: SignatureGroups) -> IntArray:
    """The place at which the cells of each case begin: one for each signature and value."""
    cells = cases.n_signatures * cases.n_values
    return np.concatenate(([0], np.cumsum(cells)))


def cell_places(cases: SignatureGroups, offsets: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The case of each cell, and where its signature and its value stand among those of all.

    A case has a cell for each of its signatures and values: signature by signature, and its values
    in order.
    """
    case = np.repeat(np.arange(cases.n_groups), cases.n_signatures * cases.n_values)
    n_values = cases.n_values[case]
    position = np.arange(len(case)) - offsets[case]
    return (
        case,
        cases.offsets[case] + position // n_values,
        cases.value_offsets[case] + position % n_values,
    )


def _joint_posteriors(cases: SignatureGroups, priors: PriorMatrix, reach: int) -> _Results:
    """The posteriors of each case by joint priors.

    Cases of one shape are computed together, in floats; those out of reach one by one.
    """
    offsets = cell_offsets(cases)
    n_cells = int(offsets[-1])
    result = _Results(
        offsets=offsets,
        probabilities=np.full(n_cells, np.nan),
        bounded=np.zeros(n_cells, dtype=bool),
        errors=np.zeros(cases.n_groups),
    )
    _, signature, value = cell_places(cases, offsets)
    chances = priors.chances[cases.signatures[signature], cases.values[value]]
    # Count worlds along values or along signatures (`turned`), whichever has fewer states.
    by_value = states_of(cases.counts, cases.value_offsets)
    by_signature = states_of(cases.people, cases.offsets)
    n_states = np.minimum(by_value, by_signature)
    is_open = np.ones(cases.n_groups, dtype=bool)
    for turned in (False, True):
        is_reached = (n_states <= reach) & ((by_signature < by_value) == turned)
        for same_shape in split_by_shape(cases, np.flatnonzero(is_reached), turned):
            for batch in batches(cases, offsets, same_shape, turned):
                is_accurate, _ = batch.fill_in(chances, result.probabilities)
                is_open[batch.cases] = ~is_accurate
                result.errors[batch.cases] = batch.error
    # Out of reach for floats, or too small for them: one by one.
    for case in np.flatnonzero(is_open).tolist():
        _fill_in_case(cases, priors, result, case, min(reach, _WHOLE_STATES))
    return result


def _fill_in_case(
    cases: SignatureGroups, priors: PriorMatrix, result: _Results, case: int, reach: int
) -> None:
    """Compute the posteriors of one case in whole numbers, or bound them if that is out of reach.

    The result is written into `result`.
    """
    offsets, probabilities, are_bounded, errors = result
    try:
        table = np.array(exact_group(cases, case, priors, reach=reach), dtype=float)
        bounded, error = False, relative_error(1, 0, 0)
    except UnsupportedError:
        # Too many worlds: bounds by exchanging values of people.
        signatures, people = zip(*cases.people_of(case), strict=True)
        values, counts = zip(*cases.bag_of(case), strict=True)
        table = upper_bounds(people, counts, priors.chances[np.ix_(signatures, values)])
        bounded, error = True, 0.0
    cells = slice(offsets[case], offsets[case + 1])
    probabilities[cells] = np.minimum(table, 1.0).ravel()
    are_bounded[cells] = bounded & ~np.isnan(probabilities[cells])
    errors[case] = error


@dataclass(frozen=True, eq=False)
class Batch:
    """Cases whose worlds are counted together, by one lattice of states.

    Items (signatures, or values) are assigned to kinds (the other of both), level by level. Cases
    run along the last axis of arrays.
    """

    cases: IntArray
    shape: Lattice
    cells: IntArray  # (levels, kinds, cases): of each kind at each level
    # Of each item of each case: its case, its last level, and factors of its cells if not all 1.
    case: IntArray
    level: IntArray
    factors: FloatArray | None

    def fill_in(
        self, chances: FloatArray, posteriors: FloatArray
    ) -> tuple[NDArray[np.bool_], FloatArray]:
        """Write into `posteriors`, by cell, for the cases of the batch that floats can hold.

        Return a mask of these cases, and the logarithm of the weight of all worlds of each.
        """
        capacities = np.array(self.shape.capacities, dtype=float)[:, None]
        rows, shift = scaled(chances[self.cells], capacities)
        is_read = np.zeros(len(rows), dtype=bool)
        is_read[self.level] = True
        weights, totals = world_weights(rows, self.shape, is_read)
        # Smaller totals may have lost weights by underflow.
        is_accurate = totals >= LEAST_TOTAL
        weights_of_items = weights[self.level, :, self.case]
        with np.errstate(divide="ignore", invalid="ignore"):
            # The share of each kind among all worlds of the item.
            shares = weights_of_items / weights_of_items.sum(axis=1, keepdims=True)
        if self.factors is not None:
            shares *= self.factors
        case_is_accurate, cells = is_accurate[self.case], self.cells[self.level, :, self.case]
        posteriors[cells[case_is_accurate]] = np.minimum(shares[case_is_accurate], 1.0)
        with np.errstate(divide="ignore"):
            return is_accurate, np.log(totals) + shift

    @property
    def error(self) -> float:
        """Bound of the relative error of its posteriors."""
        kinds, widest = len(self.shape.capacities), max(self.shape.widths)
        return relative_error(len(self.cells), kinds, widest)


def batches(
    cases: SignatureGroups, offsets: IntArray, chosen: IntArray, turned: bool
) -> Iterator[Batch]:
    """Yield batches of cases of one shape, as large as memory allows.

    Cases are groups that differ; a cell is a signature and a value of a case. Items are signatures
    and kinds are values, or the other way round where `turned`.
    """
    if len(chosen) == 1:
        yield _batch_of_one(cases, offsets, int(chosen[0]), turned)
        return
    all_kinds, all_items = side(cases, chosen, turned), side(cases, chosen, not turned)
    # All these cases have the same amounts of kinds: one lattice serves them.
    shape = lattice(tuple(all_kinds.amounts[0].tolist()))
    n_levels, n_kinds = sum(shape.capacities), len(shape.capacities)
    size = max(_NUMBERS // (sum(shape.widths) + n_levels * n_kinds), 16)
    for start in range(0, len(chosen), size):
        chunk = chosen[start : start + size]
        rows = slice(start, start + size)
        kinds, items = all_kinds.part(rows), all_items.part(rows)
        # Which item there is at each level; an item is weighed at the last of its levels.
        every_item = np.tile(np.arange(items.amounts.shape[1]), len(chunk))
        item = np.repeat(every_item, items.amounts.ravel()).reshape(len(chunk), n_levels)
        item_place = items.places[np.arange(len(chunk))[:, None], item][:, :, None]
        kind_place = kinds.places[:, None, :]
        signature, value = (kind_place, item_place) if turned else (item_place, kind_place)
        # The cell of each case, level and kind.
        n_values = cases.n_values[chunk, None, None]
        cells = offsets[chunk][:, None, None] + signature * n_values + value
        # Items that exist: shorter rows were filled up with 0.
        case, i = np.nonzero(items.amounts)
        # From the chance of an occurrence being of a signature to that of a person having the
        # value.
        factors = None
        if turned:
            factors = items.amounts[case, i, None] / np.array(shape.capacities, dtype=float)
        yield Batch(
            cases=chunk,
            shape=shape,
            cells=np.ascontiguousarray(cells.transpose(1, 2, 0)),
            case=case,
            level=items.amounts.cumsum(axis=1)[case, i] - 1,
            factors=factors,
        )


def _batch_of_one(cases: SignatureGroups, offsets: IntArray, case: int, turned: bool) -> Batch:
    """The batch of a single case, as `batches` would yield it: the same numbers, made faster."""
    places, amounts = [], []
    for starts, all_amounts in (
        (cases.offsets, cases.people),
        (cases.value_offsets, cases.counts),
    ):
        of_case = all_amounts[starts[case] : starts[case + 1]].tolist()
        # Most frequent first; equally frequent ones stay in order.
        order = sorted(range(len(of_case)), key=lambda place: -of_case[place])
        places.append(np.array(order))
        amounts.append([of_case[place] for place in order])
    n_values = len(places[1])
    strides = n_values, 1  # of signatures, and of values, in the cells of a case
    kinds, items = (0, 1) if turned else (1, 0)
    shape = lattice(tuple(amounts[kinds]))
    item_cells = np.repeat(places[items] * strides[items] + offsets[case], amounts[items])
    factors = None
    if turned:
        capacities = np.array(shape.capacities, dtype=float)
        factors = np.array(amounts[items])[:, None] / capacities
    return Batch(
        cases=np.array([case]),
        shape=shape,
        cells=np.add.outer(item_cells, places[kinds] * strides[kinds])[:, :, None],
        case=np.zeros(len(amounts[items]), dtype=np.int64),
        level=np.cumsum(amounts[items]) - 1,
        factors=factors,
    )


class Side(NamedTuple):
    """Signatures or values of cases that have as many of them, most frequent first.

    Both arrays have a row for each case: their places in the case, and their amounts of people.
    """

    places: IntArray
    amounts: IntArray

    def part(self, rows: slice) -> Side:
        """The part of these arrays that belongs to some of the cases."""
        return Side(self.places[rows], self.amounts[rows])


def side(cases: SignatureGroups, batch: IntArray, signatures: bool) -> Side:
    """The signatures or values of some cases, and how many people have each; see `Side`."""
    offsets = cases.offsets if signatures else cases.value_offsets
    amounts = cases.people if signatures else cases.counts
    lengths = (cases.n_signatures if signatures else cases.n_values)[batch]
    position = np.arange(int(lengths.max()))
    is_filled = position < lengths[:, None]
    cells = np.where(is_filled, offsets[batch][:, None] + position, 0)
    # Shorter rows are filled up with 0.
    sorted_amounts = np.where(is_filled, amounts[cells], 0)
    order = np.argsort(-sorted_amounts, axis=1, kind="stable")
    return Side(order, sorted_amounts[np.arange(len(batch))[:, None], order])


def split_by_shape(cases: SignatureGroups, chosen: IntArray, turned: bool) -> Iterator[IntArray]:
    """Split cases into batches with equal amounts of values, or of signatures if `turned`.

    One lattice of states, and so one computation, serves a batch.
    """
    if len(chosen) == 1:
        yield chosen
        return
    lengths = (cases.n_signatures if turned else cases.n_values)[chosen]
    for length in np.unique(lengths).tolist():
        same_length = chosen[lengths == length]
        if len(same_length) == 1:
            yield same_length
            continue
        # Equal rows of amounts are one shape.
        first, number = equal_rows(side(cases, same_length, turned).amounts)
        order = np.argsort(number, kind="stable")
        yield from np.split(
            same_length[order], np.searchsorted(number[order], np.arange(1, len(first)))
        )


def states_of(amounts: IntArray, offsets: IntArray) -> FloatArray:
    """How many states the lattice of each row of capacities c has: the product of c + 1.

    The result is in floats, and at most 2**1000.
    """
    # Sums of logarithms, so that nothing overflows.
    logs = np.concatenate(([0.0], np.cumsum(np.log2(amounts + 1.0))))
    return np.asarray(np.rint(np.exp2(np.minimum(logs[offsets[1:]] - logs[offsets[:-1]], 1000))))


def relative_error(items: int, kinds: int, widest: int) -> float:
    """Bound the relative error of a posterior from floats by `world_weights`.

    Against the posterior from the fractions that the floats were rounded from. All terms are at
    least 0, so relative errors of terms bound that of their sum. An entry is off by at most five
    roundings (the prior, scaling, merging), an item adds one product and a sum over kinds, and a
    weight is a sum over states; a posterior is a quotient of two such.
    """
    return 1.01 * 2 * ROUNDING * (items * (kinds + 6) + widest + kinds + 10)


def scaled(rows: FloatArray, capacities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale columns (of items, kinds, problems) towards capacities, and rows to sum to one.

    Worlds keep their ratios. Powers of two are exact; only the last division rounds. The second
    result is the logarithm of how many times as heavy every world of a problem was.
    """
    # Rows so that their largest entry is about 1; columns by their capacity; rows again.
    _, first = np.frexp(rows.max(axis=1))
    rows = np.ldexp(rows, -first[:, None, :])
    _, column = np.frexp(rows.sum(axis=0) / capacities)
    rows = np.ldexp(rows, -column)
    _, last = np.frexp(rows.max(axis=1))
    rows = np.ldexp(rows, -last[:, None, :])
    # Then rows that sum to one; rows of zeros stay.
    total = rows.sum(axis=1)
    total[total == 0] = 1
    rows /= total[:, None, :]
    twos = (first + last).sum(axis=0) + (capacities * column).sum(axis=0)
    return rows, np.asarray(np.log(2.0) * twos + np.log(total).sum(axis=0))
