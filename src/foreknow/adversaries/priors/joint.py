"""Joint posteriors of many groups at once: groups of one shape go through the lattice together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.bounds import upper_bounds
from foreknow.adversaries.priors.dynamic_program import (
    LEAST_TOTAL,
    Lattice,
    balanced,
    deal,
    lattice,
    merge_floats,
    normalized,
    relative_error,
    scaled,
    spread,
)
from foreknow.adversaries.priors.exact import by_whole_numbers, possible
from foreknow.adversaries.priors.posteriors import GroupPosteriors, Reading
from foreknow.adversaries.priors.signature_groups import (
    FloatArray,
    PriorMatrix,
    SignatureGroups,
    equal_rows,
)
from foreknow.data.sparse import IntArray, ranges
from foreknow.errors import InputError, did_you_mean

# Where scaled floats do not suffice, whole numbers do, up to this many states.
_WHOLE_STATES = 1 << 13


@dataclass(frozen=True)
class Judged:
    """What came of one group.

    Attributes
    ----------
    table : float array, shape (signatures, values), or None
        Posteriors, or upper bounds; None where no world has a positive weight.
    bounded : bool
    error : float
        Bound on the relative error, of posteriors.
    """

    table: FloatArray | None
    bounded: bool = False
    error: float = 0.0


def judge(people: Sequence[int], counts: Sequence[int], chances: FloatArray, reach: int) -> Judged:
    """Judge one group under the joint reading.

    Parameters
    ----------
    people, counts : sequences of int
    chances : float array, shape (signatures, values)
    reach : int
        How many states may be gone through.

    Examples
    --------
    >>> chances = np.array([[0.1, 0.9], [0.003, 0.997]])
    >>> judge([1, 1], [1, 1], chances, 100).table.round(6)
    array([[0.973633, 0.026367],
           [0.026367, 0.973633]])
    """
    held = possible(chances > 0, people, counts)
    if held is None:
        return Judged(None)
    chances = np.where(held, chances, 0.0)
    merged = merge_floats(people, counts, chances)
    by_value = prod(c + 1 for c in merged.counts)
    by_signature = prod(n + 1 for n in merged.people)
    if min(by_value, by_signature) > reach:
        return Judged(upper_bounds(people, counts, chances), bounded=True)
    if by_value <= by_signature:
        found = _posteriors(merged.people, merged.counts, merged.chances)
    else:
        found = _posteriors(merged.counts, merged.people, merged.chances.T)
        if found is not None:
            shares = np.array(merged.counts) / np.array(merged.people)[:, None]
            found = Judged(found.table.T * shares, False, found.error)  # type: ignore[union-attr]
    if found is None or found.table is None:
        return Judged(upper_bounds(people, counts, chances), bounded=True)
    return Judged(np.minimum(spread(found.table, merged), 1.0), False, found.error)


def _posteriors(items: Sequence[int], kinds: Sequence[int], chances: FloatArray) -> Judged | None:
    """Deal items to kinds; None where floats and whole numbers both fail."""
    order = sorted(range(len(kinds)), key=lambda k: -kinds[k])
    shape = lattice(tuple(kinds[k] for k in order))
    levels = np.repeat(np.arange(len(items)), items)
    last = np.cumsum(items) - 1
    wanted = np.zeros(len(levels), dtype=bool)
    wanted[last] = True
    scaled = balanced(np.array(items, float), np.array(kinds, float), chances)[:, order]
    weights, totals = deal(normalized(scaled[levels][:, :, None]), shape, wanted)
    table = np.empty(chances.shape)
    if totals[0] >= LEAST_TOTAL:
        found = weights[last, :, 0]
        table[:, order] = found / found.sum(axis=1, keepdims=True)
        return Judged(table, False, relative_error(len(levels), len(kinds), shape.widest))
    if shape.n_states > _WHOLE_STATES:
        return None
    exact = by_whole_numbers(items, kinds, [[Fraction(c) for c in row] for row in chances])
    if exact is None:
        return None
    return Judged(
        np.array(exact, dtype=object).astype(float), False, relative_error(len(levels), 0, 0)
    )


# States that a group is gone through at most; above, it is bounded. Half a million states of
# nineteen kinds take about a second and 200 MB.
REACH = 1 << 19
# Above so many states it is worth to look for proportional priors first.
_MANY = 1 << 12
# Groups of one shape are judged together, so many numbers and groups at a time.
_NUMBERS = 1 << 18
_LEAST_PROBLEMS, _MOST_PROBLEMS = 16, 4096


def joint_posteriors(
    groups: SignatureGroups, priors: PriorMatrix, reach: int = REACH
) -> GroupPosteriors:
    """Posteriors of everybody under the joint reading (the paper's equations 1 to 3).

    Parameters
    ----------
    groups : SignatureGroups
    priors : PriorMatrix
    reach : int
        States above which a group gets upper bounds instead.

    Examples
    --------
    >>> groups = SignatureGroups.from_people([([0, 1], [0, 1])] * 3)
    >>> priors = PriorMatrix.from_fractions([["1/10", "9/10"], ["3/1000", "997/1000"]])
    >>> found = joint_posteriors(groups, priors)
    >>> found
    GroupPosteriors(joint: 3 exact, 0 bounded, 0 impossible)
    >>> found.of(2).round(6)
    array([[0.973633, 0.026367],
           [0.026367, 0.973633]])
    """
    priors.check(groups)
    first, case_of = groups.distinct()
    cases = groups.take(first)
    cells = np.diff(cases.offsets) * np.diff(cases.value_offsets)
    offsets = np.concatenate(([0], np.cumsum(cells)))
    work = _Work(
        cases,
        priors.chances,
        offsets,
        np.full(int(offsets[-1]), np.nan),
        np.zeros(int(offsets[-1]), dtype=bool),
        np.zeros(len(first)),
    )
    work.run(reach)
    return GroupPosteriors(
        groups, "joint", cases, case_of, offsets, work.probabilities, work.bounded, work.errors
    )


@dataclass(frozen=True)
class _Work:
    """The cases, and where answers go."""

    cases: SignatureGroups
    chances: FloatArray
    offsets: IntArray
    probabilities: FloatArray
    bounded: NDArray[np.bool_]
    errors: FloatArray

    def run(self, reach: int) -> None:
        cases = self.cases
        by_value = _states(cases.counts, cases.value_offsets)
        by_signature = _states(cases.people, cases.offsets)
        states = np.minimum(by_value, by_signature)
        small = states <= reach
        for case in np.flatnonzero(small & (states > _MANY)).tolist():
            small[case] = not self._shrinks(case)
        left = [np.flatnonzero(~small)]
        for turned in (False, True):
            side = np.flatnonzero(small & ((by_signature < by_value) == turned))
            left += [self._together(batch, turned) for batch in _shapes(cases, side, turned)]
        for case in np.concatenate(left).tolist():
            self._alone(case, reach)

    def _together(self, batch: IntArray, turned: bool) -> IntArray:
        """Judge cases of one shape; returns those whose weights floats could not hold."""
        kinds = _Side(self.cases, batch, turned)
        items = _Side(self.cases, batch, not turned)
        shape = lattice(tuple(kinds.amounts[0].tolist()))
        step = min(max(_NUMBERS // shape.n_states, _LEAST_PROBLEMS), _MOST_PROBLEMS)
        left = [
            self._some(batch[i : i + step], kinds.part(i, step), items.part(i, step), shape, turned)
            for i in range(0, len(batch), step)
        ]
        return np.concatenate(left)

    def _some(
        self, batch: IntArray, kinds: _Side, items: _Side, shape: Lattice, turned: bool
    ) -> IntArray:
        level = np.arange(sum(shape.capacities))
        # Which item is dealt at each level; an item is weighed where it is dealt for the last time.
        each = np.tile(np.arange(items.amounts.shape[1]), len(batch))
        item = np.repeat(each, items.amounts.ravel()).reshape(len(batch), len(level))
        last = np.diff(item, axis=1, append=-1) != 0
        # Groups run along the last axis, next to each other in memory.
        dealt = np.ascontiguousarray(np.take_along_axis(items.codes, item, axis=1).T)[:, None, :]
        taken = np.ascontiguousarray(kinds.codes.T)[None, :, :]
        rows = self.chances[taken, dealt] if turned else self.chances[dealt, taken]
        capacities = np.array(shape.capacities, dtype=float)[:, None]
        weights, totals = deal(scaled(rows, capacities), shape, last.any(axis=0))
        good = totals >= LEAST_TOTAL
        n_values = np.diff(self.cases.value_offsets)[batch]
        for at_level in level[last.any(axis=0)].tolist():
            who = np.flatnonzero(last[:, at_level] & good)
            found = weights[at_level][:, who] / weights[at_level][:, who].sum(axis=0)
            place = np.take_along_axis(items.places, item[:, [at_level]], axis=1)[who]
            if turned:
                times = np.take_along_axis(items.amounts, item[:, [at_level]], axis=1)[who]
                found = found.T * times / capacities[:, 0]
                at = kinds.places[who] * n_values[who, None] + place
            else:
                found = found.T
                at = place * n_values[who, None] + kinds.places[who]
            self.probabilities[self.offsets[batch[who]][:, None] + at] = np.minimum(found, 1.0)
        self.errors[batch] = relative_error(len(level), len(capacities), shape.widest)
        return batch[~good]

    def _one(self, case: int) -> tuple[tuple[int, ...], tuple[int, ...], FloatArray]:
        """People, counts and priors of a case."""
        signatures, people = zip(*self.cases.people_of(case), strict=True)
        values, counts = zip(*self.cases.bag_of(case), strict=True)
        return people, counts, self.chances[np.ix_(signatures, values)]

    def _shrinks(self, case: int) -> bool:
        """Whether some priors of a case are proportional, so that it has fewer states."""
        people, counts, chances = self._one(case)
        merged = merge_floats(people, counts, chances)
        return len(merged.people) < len(people) or len(merged.counts) < len(counts)

    def _alone(self, case: int, reach: int) -> None:
        found = judge(*self._one(case), reach)
        cells = slice(self.offsets[case], self.offsets[case + 1])
        self.probabilities[cells] = np.nan if found.table is None else found.table.ravel()
        self.bounded[cells] = found.bounded
        self.errors[case] = found.error


class _Side:
    """Signatures or values of cases that have as many of them, most frequent first."""

    def __init__(self, cases: SignatureGroups, batch: IntArray, signatures: bool) -> None:
        offsets = cases.offsets if signatures else cases.value_offsets
        codes = cases.signatures if signatures else cases.values
        amounts = cases.people if signatures else cases.counts
        lengths = np.diff(offsets)[batch]
        at = np.arange(int(lengths.max()))
        there = at < lengths[:, None]
        cells = np.where(there, offsets[batch][:, None] + at, 0)
        held = np.where(there, amounts[cells], 0)
        self.places = np.argsort(-held, axis=1, kind="stable")
        self.amounts = np.take_along_axis(held, self.places, axis=1)
        self.codes = np.take_along_axis(codes[cells], self.places, axis=1)

    def part(self, start: int, length: int) -> _Side:
        """Some of the cases."""
        found = object.__new__(_Side)
        for name in ("places", "amounts", "codes"):
            setattr(found, name, getattr(self, name)[start : start + length])
        return found


def _shapes(cases: SignatureGroups, some: IntArray, turned: bool) -> Iterator[IntArray]:
    """Split cases into those that go through one lattice."""
    offsets = cases.offsets if turned else cases.value_offsets
    lengths = np.diff(offsets)[some]
    for length in np.unique(lengths).tolist():
        alike = some[lengths == length]
        first, number = equal_rows(_Side(cases, alike, turned).amounts)
        order = np.argsort(number, kind="stable")
        yield from np.split(alike[order], np.searchsorted(number[order], np.arange(1, len(first))))


def _states(amounts: IntArray, offsets: IntArray) -> FloatArray:
    """States of the lattice of each row of capacities, as floats."""
    logs = np.concatenate(([0.0], np.cumsum(np.log2(amounts + 1.0))))
    found: FloatArray = np.exp2(logs[offsets[1:]] - logs[offsets[:-1]])
    return found


def binary_posteriors(
    groups: SignatureGroups, priors: PriorMatrix, reach: int = REACH
) -> GroupPosteriors:
    """Posteriors of everybody under the binary reading, {x, not x} for each value x.

    With odds ``o = f / (1 - f)`` and c occurrences, ``p(t:x) = o_t e_{c-1}(others) / e_c(all)``;
    for one occurrence ``o_t`` over the sum of all odds, to which the paper's Table V belongs
    (errata, section 3).

    Examples
    --------
    >>> groups = SignatureGroups.from_people([([0, 1, 1], [0, 1, 2])])
    >>> priors = PriorMatrix.from_fractions([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]])
    >>> binary_posteriors(groups, priors).of(0)[0].round(6)  # 1 / (1 + 1/3 + 1/3) of the first
    array([0.6     , 0.142857, 0.333333])
    """
    priors.check(groups)
    first, case_of = groups.distinct()
    cases = groups.take(first)
    owner = np.repeat(np.arange(cases.n_groups), np.diff(cases.value_offsets))
    found = joint_posteriors(_two_values(cases, owner), _with_complements(priors), reach)
    n_signatures, n_values = np.diff(cases.offsets), np.diff(cases.value_offsets)
    offsets = np.concatenate(([0], np.cumsum(n_signatures * n_values)))
    # Signature i of the case, in the problem of each of its values: its first cell is {x}.
    case = np.repeat(np.arange(cases.n_groups), n_signatures * n_values)
    at = np.arange(int(offsets[-1])) - offsets[case]
    problem = found.case_of[cases.value_offsets[case] + at % n_values[case]]
    width = np.diff(found.cases.value_offsets)[problem]
    cells = found.offsets[problem] + at // n_values[case] * width
    errors = np.zeros(cases.n_groups)
    np.maximum.at(errors, owner, found.errors[found.case_of])
    return GroupPosteriors(
        groups,
        "binary",
        cases,
        case_of,
        offsets,
        found.probabilities[cells],
        found.bounded[cells],
        errors,
    )


def _two_values(cases: SignatureGroups, owner: IntArray) -> SignatureGroups:
    """One group per case and value: the value, code 2x, and all others, code 2x + 1."""
    cells, offsets = ranges(cases.offsets[owner], cases.offsets[owner + 1])
    others = cases.sizes[owner] - cases.counts
    there = np.stack([np.ones(len(owner), dtype=bool), others > 0], axis=1)
    codes = np.stack([2 * cases.values, 2 * cases.values + 1], axis=1)[there]
    counts = np.stack([cases.counts, others], axis=1)[there]
    value_offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
    names = None if cases.names is None else [cases.names[g] for g in owner.tolist()]
    return SignatureGroups(
        offsets, cases.signatures[cells], cases.people[cells], value_offsets, codes, counts, names
    )


def _with_complements(priors: PriorMatrix) -> PriorMatrix:
    chances: FloatArray = np.stack([priors.chances, priors.complements], axis=2)
    return PriorMatrix(chances.reshape(len(chances), -1))


def posteriors(
    groups: SignatureGroups,
    priors: PriorMatrix,
    reading: Reading = "joint",
    *,
    reach: int = REACH,
) -> GroupPosteriors:
    """Posteriors of everybody; see `joint_posteriors` and `binary_posteriors`.

    Examples
    --------
    >>> groups = SignatureGroups.from_people([([0, 1], [0, 1])])
    >>> priors = PriorMatrix.from_fractions([["1/10", "9/10"], ["3/1000", "997/1000"]])
    >>> posteriors(groups, priors, "binary")
    GroupPosteriors(binary: 1 exact, 0 bounded, 0 impossible)
    """
    if reading not in get_args(Reading):
        known = get_args(Reading)
        raise InputError(f"reading {reading!r} is unknown{did_you_mean(str(reading), known)}")
    judge = joint_posteriors if reading == "joint" else binary_posteriors
    return judge(groups, priors, reach)
