"""The ledger of Facts where merging can hurt: the minima over the groups that are there now.

Under ``set`` and ``multiset`` a group that goes takes its minima with it, and they may rise again.
So the cells of all groups are kept, each with its five ratios. Where a ratio is too close to the
limit for floats to say, it counts as unsafe: what is admitted is safe, surely.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.minima import Five, five
from foreknow.adversaries.profiles import profiles
from foreknow.adversaries.protocol import Mask
from foreknow.adversaries.ratios import FloatArray
from foreknow.counts import GroupCounts
from foreknow.errors import InternalError
from foreknow.labels import Labels
from foreknow.sparse import IntArray

# Relative distance from the limit within which a ratio counts as unsafe.
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of some groups, in order of value, and their five ratios."""

    value: IntArray
    group: IntArray
    ratios: Five

    @classmethod
    def of(cls, counts: GroupCounts, amounts: tuple[int, int, int], wanted: Mask | None) -> _Cells:
        l, k, m = amounts  # noqa: E741
        found = profiles(counts, l, wanted).by_value()
        return cls(found.value, found.group, five(found, k, m))

    def take(self, index: NDArray[Any]) -> _Cells:
        ratios = Five(*(ratio[index] for ratio in self.ratios))
        return _Cells(self.value[index], self.group[index], ratios)

    def join(self, other: _Cells) -> _Cells:
        value = np.concatenate((self.value, other.value))
        group = np.concatenate((self.group, other.group))
        joined = _Cells(value, group, self.ratios.join(other.ratios))
        return joined.take(np.argsort(value, kind="stable"))

    @property
    def starts(self) -> IntArray:
        """Where the cells of each value begin."""
        return np.flatnonzero(
            np.append(np.ones(min(1, len(self.value)), bool), self.value[1:] != self.value[:-1])
        )

    def least(self, n_values: int) -> Five:
        """The minima of every value; where it is nowhere, the ratios of a group without it."""
        least = _nowhere(n_values)
        if len(self.value):
            starts = self.starts
            at = self.value[starts]
            for ratio, found in zip(least, self.ratios.least(starts), strict=True):
                ratio[at] = found
        return least

    def two_least(self, n_values: int) -> list[_TwoLeast]:
        """The minimum of each ratio and value, its group, and the minimum of the other groups."""
        first, second = self.least(n_values), _nowhere(n_values)
        group = np.full((len(first), n_values), -1)
        starts = self.starts
        for i, ratio in enumerate(self.ratios):
            attained = np.flatnonzero(ratio == first[i][self.value])
            group[i, self.value[attained[::-1]]] = self.group[attained[::-1]]
            others = np.where(self.group == group[i, self.value], _nowhere(1)[i], ratio)
            if len(starts):
                second[i][self.value[starts]] = np.minimum.reduceat(others, starts)
        return [_TwoLeast(*each) for each in zip(first, group, second, strict=True)]


@dataclass(frozen=True, eq=False)
class _TwoLeast:
    """For every value the least of a ratio, the group of it, and the least of other groups."""

    first: FloatArray
    group: IntArray
    second: FloatArray

    def without(self, value: IntArray, group: IntArray) -> FloatArray:
        """The least of some values without one group each."""
        return np.where(self.group[value] == group, self.second[value], self.first[value])


def _nowhere(n_values: int) -> Five:
    empty = np.array([np.inf, np.inf, np.inf, 1.0, 1.0])
    return Five(*np.repeat(empty, n_values).reshape(5, -1))


@dataclass(eq=False)
class PresentLedger:
    """Minima over the groups that are there now, for any law.

    Parameters
    ----------
    amounts : (l, k, m)
    threshold : Fraction
        Safe while every breach probability is strictly below.
    wanted : bool array, shape (values,), optional
        Which sensitive values count; all when left out.
    """

    amounts: tuple[int, int, int]
    threshold: Fraction
    wanted: Mask | None = None
    _values: Labels | None = field(default=None, init=False)
    _cells: _Cells | None = field(default=None, init=False)
    _numbers: dict[bytes, list[int]] = field(init=False)
    _n_numbers: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._numbers = defaultdict(list)

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """Whether the release is safe when `added` replaces `removed`."""
        return self._weigh_one(removed, added).together(np.ones(1, dtype=bool))

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note that `added` replaced `removed`."""
        self._weigh_one(removed, added).commit(np.ones(1, dtype=bool))

    def _weigh_one(self, removed: GroupCounts | None, added: GroupCounts) -> PresentWeighing:
        owner = np.zeros(added.n_groups, dtype=np.int64)
        leaving = None if removed is None else np.zeros(removed.n_groups, dtype=np.int64)
        self._bind(added)
        return PresentWeighing(self, removed, added, owner, leaving)

    def weigh(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> PresentWeighing:
        """Measure many proposals; group p of `removed` is what proposal p replaces."""
        self._bind(added)
        leaving = None if removed is None else np.arange(removed.n_groups)
        return PresentWeighing(self, removed, added, np.asarray(owner, dtype=np.int64), leaving)

    def _bind(self, counts: GroupCounts) -> None:
        if self._values is None:
            self._values = counts.values
            none = counts.take(np.empty(0, dtype=np.int64))
            self._cells = _Cells.of(none, self.amounts, self.wanted)
        elif self._values is not counts.values and self._values != counts.values:
            raise InternalError("a ledger was shown counts with other value labels than before")

    @property
    def cells(self) -> _Cells:
        """Cells of all groups that are there."""
        if self._cells is None:
            raise InternalError("a ledger was asked before it was shown any counts")
        return self._cells

    @cached_property
    def n_values(self) -> int:
        """Number of sensitive values."""
        return len(self._values or ())

    def numbers_of(self, counts: GroupCounts) -> IntArray:
        """Numbers of groups that are there, found by what they hold; equals one after the other."""
        used: dict[bytes, int] = defaultdict(int)
        numbers = []
        for key in _contents(counts):
            known = self._numbers.get(key, [])
            if used[key] >= len(known):
                raise InternalError("a group is to be replaced that is not in the ledger")
            numbers.append(known[used[key]])
            used[key] += 1
        return np.array(numbers, dtype=np.int64)

    def replace(self, leaving: GroupCounts | None, cells: _Cells, counts: GroupCounts) -> None:
        """Let groups go, and note the cells of others, whose groups are positions in `counts`."""
        present = self.cells
        if leaving is not None:
            present = present.take(~np.isin(present.group, self.numbers_of(leaving)))
            for key in _contents(leaving):
                self._numbers[key].pop(0)
        numbers = np.arange(counts.n_groups) + self._n_numbers
        self._n_numbers += counts.n_groups
        for key, number in zip(_contents(counts), numbers.tolist(), strict=True):
            self._numbers[key].append(number)
        self._cells = present.join(_Cells(cells.value, numbers[cells.group], cells.ratios))

    def safe(self, least: Five) -> Mask:
        """Which values are surely safe by their minima."""
        bar = float((1 - self.threshold) / self.threshold)
        safe: Mask = least.negated_ratio() > bar * (1 + _CLOSE)  # at bar 0 a float of 0 is exact
        return safe

    def reach(self, least: Five) -> FloatArray:
        """Breach probability of each value as a share of the threshold."""
        reach: FloatArray = 1 / (1 + least.negated_ratio()) / float(self.threshold)
        return reach


def _contents(counts: GroupCounts) -> Iterator[bytes]:
    """What each group holds, as a key."""
    for g in range(counts.n_groups):
        cells = slice(counts.offsets[g], counts.offsets[g + 1])
        parts = (counts.sizes[g : g + 1], counts.codes[cells], counts.counts[cells])
        yield b"".join(part.tobytes() for part in parts)


@dataclass(eq=False)
class PresentWeighing:
    """Proposals measured against what is there; each replaces a group by others."""

    ledger: PresentLedger
    removed: GroupCounts | None
    added: GroupCounts
    owner: IntArray
    leaving: IntArray | None

    @cached_property
    def n_proposals(self) -> int:
        """Number of proposals."""
        return int(self.owner.max(initial=-1)) + 1

    @cached_property
    def _cells(self) -> _Cells:
        return _Cells.of(self.added, self.ledger.amounts, self.ledger.wanted)

    def alone(self) -> Mask:
        """Whether the release is safe with each proposal by itself."""
        ledger, n_values = self.ledger, self.ledger.n_values
        standing = ledger.cells.two_least(n_values)
        unsafe = ~ledger.safe(Five(*(least.first for least in standing)))
        number = np.full(self.n_proposals, -1)
        touched = self._cells
        owner = self.owner[touched.group]
        if self.removed is not None and self.leaving is not None:
            number[self.leaving] = ledger.numbers_of(self.removed)
            old = _Cells.of(self.removed, ledger.amounts, ledger.wanted)
            owner = np.concatenate((owner, self.leaving[old.group]))
            gone = _Cells(old.value, old.group, _nowhere(len(old.value)))
            touched = _Cells(
                np.concatenate((touched.value, gone.value)),
                owner,
                touched.ratios.join(gone.ratios),
            )
        # One pair for each proposal and value that it touches.
        order = np.lexsort((touched.value, owner))
        value, owner = touched.value[order], owner[order]
        new = (value[1:] != value[:-1]) | (owner[1:] != owner[:-1])
        starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(value)), dtype=bool), new)))
        if not len(starts):
            return np.full(self.n_proposals, not unsafe.any())
        own = touched.take(order).ratios.least(starts)
        value, owner = value[starts], owner[starts]
        rest = Five(*(least.without(value, number[owner]) for least in standing))
        safe = ledger.safe(own.min(rest))
        mended = np.bincount(owner[safe], unsafe[value[safe]], minlength=self.n_proposals)
        broken = np.bincount(owner[~safe], minlength=self.n_proposals)
        result: Mask = (broken == 0) & (mended == np.count_nonzero(unsafe))
        return result

    def reach(self) -> FloatArray:
        """Worst breach probability with each proposal by itself, as a share of the threshold."""
        return np.array(
            [self.ledger.reach(self._least(mask)).max(initial=0.0) for mask in self._each()]
        )

    def together(self, chosen: Mask) -> bool:
        """Whether the release is safe with all the chosen proposals."""
        return bool(self.ledger.safe(self._least(chosen)).all())

    def commit(self, chosen: Mask) -> None:
        """Carry the chosen proposals out."""
        if not chosen.any():
            return
        leaving = None
        if self.removed is not None and self.leaving is not None:
            leaving = self.removed.take(np.flatnonzero(chosen[self.leaving]))
        mine = np.flatnonzero(chosen[self.owner])
        place = np.full(self.added.n_groups, -1)
        place[mine] = np.arange(len(mine))
        cells = self._cells.take(place[self._cells.group] >= 0)
        moved = _Cells(cells.value, place[cells.group], cells.ratios)
        self.ledger.replace(leaving, moved, self.added.take(mine))

    def _each(self) -> Iterator[Mask]:
        for proposal in range(self.n_proposals):
            mask = np.zeros(self.n_proposals, dtype=bool)
            mask[proposal] = True
            yield mask

    def _least(self, chosen: Mask) -> Five:
        """The minima of every value with the chosen proposals carried out."""
        n_values = self.ledger.n_values
        present = self.ledger.cells
        if self.removed is not None and self.leaving is not None:
            leaving = self.removed.take(np.flatnonzero(chosen[self.leaving]))
            present = present.take(~np.isin(present.group, self.ledger.numbers_of(leaving)))
        own = self._cells.take(chosen[self.owner[self._cells.group]])
        return present.least(n_values).min(own.least(n_values))
