"""The ledger of Facts: the five minima of each value, and the profiles that attain them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.facts.minima import Five, attaining, exact_minimum, five
from foreknow.adversaries.facts.profiles import Profiles, profiles
from foreknow.adversaries.facts.ratios import FloatArray
from foreknow.adversaries.protocol import Mask
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label, Labels
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError, InternalError, UnsupportedError

# Relative distance from the threshold within which fractions decide instead of floats.
_CLOSE = 1e-9


@dataclass(eq=False)
class FactsLedger:
    """Minima over all groups there ever were; by Theorem 4 the same as over those there are.

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
    # It decides what is close to the threshold, too.
    exact: ClassVar[bool] = True
    _values: Labels | None = field(default=None, init=False)
    _unsafe: bool = field(default=False, init=False)
    _front: Profiles = field(init=False)
    _minima: Five = field(init=False)
    _settled: dict[tuple[int, bytes], bool] = field(init=False, default_factory=dict)

    # ---- one change at a time -------------------------------------------------------------

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """Whether the release stays safe when `added` replaces `removed`."""
        return bool(self.weigh(removed, added, np.zeros(added.n_groups, dtype=np.int64)).alone()[0])

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note that `added` replaced `removed`."""
        owner = np.zeros(added.n_groups, dtype=np.int64)
        self.weigh(removed, added, owner).commit(np.ones(1, dtype=bool))

    def five(self, value: Label) -> tuple[float, float, float, float, float]:
        """SS1 to SS5 of the paper for one value."""
        if self._values is None:
            return (np.inf, np.inf, np.inf, 1.0, 1.0)
        code = self._values.codes[value]
        together, t_alone, t_known, v_alone, v_known = (float(x[code]) for x in self._minima)
        return (together, t_alone, t_known, v_alone, v_known)

    # ---- many proposals at once -----------------------------------------------------------

    def weigh(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> FactsWeighing:
        """Measure many proposals; added group g belongs to proposal ``owner[g]``, ascending."""
        self._bind(added)
        return FactsWeighing(self, added, np.asarray(owner, dtype=np.int64))

    def _bind(self, counts: GroupCounts) -> None:
        if counts.semantics != "single":
            raise UnsupportedError(
                f"a search with Facts needs 'single' semantics, not {counts.semantics!r}"
            )
        if self._values is None:
            if self.wanted is not None:
                self.wanted = np.asarray(self.wanted)
                if self.wanted.dtype != bool or self.wanted.shape != (counts.n_values,):
                    raise InputError(f"values= must be a bool array of {counts.n_values} entries")
            self._values = counts.values
            self._front = profiles(counts.take(np.empty(0, dtype=np.int64)), 0)
            empty = np.array([np.inf, np.inf, np.inf, 1.0, 1.0])
            self._minima = Five(*np.repeat(empty, counts.n_values).reshape(5, -1))
        elif self._values is not counts.values and self._values != counts.values:
            raise InternalError("a ledger was shown counts with other value labels than before")

    @cached_property
    def bar(self) -> Fraction:
        """The negated ratio that must be exceeded: (1 - c) / c."""
        return (1 - self.threshold) / self.threshold

    def safe(self, ratio: FloatArray) -> tuple[Mask, Mask]:
        """Which negated ratios are surely safe, and which are too close for floats to say."""
        bar = float(self.bar)
        if not bar:  # a ratio of 0 is exact
            return ratio > 0, np.zeros(len(ratio), dtype=bool)
        margin = _CLOSE * bar
        return ratio > bar + margin, np.abs(ratio - bar) <= margin

    def note(self, added: Profiles) -> None:
        """Fold the profiles of new groups into the minima."""
        if not len(added):
            return
        self._settled.clear()
        _, k, m = self.amounts
        self._front = attaining(self._front.join(attaining(added, k, m)), k, m)
        front, starts = self._front, self._front.starts
        at = front.value[starts]
        for minima, least in zip(self._minima, five(front, k, m).least(starts), strict=True):
            minima[at] = least
        safe, close = self.safe(Five(*(ratio[at] for ratio in self._minima)).negated_ratio())
        self._unsafe = not np.all(safe | close) or not all(
            self.settle(int(code), front.take(slice(0))) for code in at[close]
        )

    def settle(self, value: int, added: Profiles) -> bool:
        """Decide with fractions whether one value stays safe with more groups."""
        first, last = np.searchsorted(self._front.value, (value, value + 1))
        # Groups are asked about again and again; without others, all values are alike.
        key = (
            value if first < last else -1,
            np.concatenate((added.n, added.s, added.identity)).tobytes(),
        )
        if key not in self._settled:
            _, k, m = self.amounts
            everything = self._front.take(slice(first, last)).join(added)
            least = exact_minimum(everything, k, m)
            self._settled[key] = least.probability < self.threshold
        return self._settled[key]


@dataclass(eq=False)
class FactsWeighing:
    """Proposals measured against one ledger; minima per (value, proposal) pair."""

    ledger: FactsLedger
    added: GroupCounts
    owner: IntArray

    @cached_property
    def n_proposals(self) -> int:
        """Number of proposals."""
        return int(self.owner.max(initial=-1)) + 1

    @cached_property
    def _cells(self) -> tuple[Profiles, Mask]:
        """Profiles sorted by value and proposal, without proposals that T alone forbids."""
        l, k, _ = self.ledger.amounts  # noqa: E741
        found = profiles(self.added, l, self.ledger.wanted).by_value()
        bar = float(self.ledger.bar)
        # V is at most 1, so T(l, k) must itself exceed the bar.
        low = found.t(k) < bar * (1 - _CLOSE)
        possible = np.ones(self.n_proposals, dtype=bool)
        possible[self.owner[found.group[low]]] = False
        return found.take(possible[self.owner[found.group]]), possible

    @cached_property
    def _five(self) -> Five:
        _, k, m = self.ledger.amounts
        return five(self._cells[0], k, m)

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, IntArray, Five]:
        """First cell, value and proposal of each pair, and its minima."""
        cells = self._cells[0]
        owner = self.owner[cells.group]
        new = (cells.value[1:] != cells.value[:-1]) | (owner[1:] != owner[:-1])
        starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(cells)), dtype=bool), new)))
        if not len(starts):
            return starts, starts, starts, self._five
        return starts, cells.value[starts], owner[starts], self._five.least(starts)

    def alone(self) -> Mask:
        """Whether the release stays safe with each proposal by itself."""
        cells, possible = self._cells
        starts, value, owner, minima = self._pairs
        result = possible & (not self.ledger._unsafe)
        standing = Five(*(ratio[value] for ratio in self.ledger._minima))
        safe, close = self.ledger.safe(minima.min(standing).negated_ratio())
        result[owner[~safe & ~close]] = False
        ends = np.append(starts[1:], len(cells))
        for pair in np.flatnonzero(close & result[owner]):
            if result[owner[pair]]:
                own = cells.take(slice(starts[pair], ends[pair]))
                result[owner[pair]] = self.ledger.settle(int(value[pair]), own)
        return result

    def together(self, chosen: Mask) -> bool:
        """Whether the release stays safe with all the chosen proposals."""
        cells, possible = self._cells
        if self.ledger._unsafe or np.any(chosen & ~possible):
            return False
        _, value, owner, minima = self._pairs
        mine = chosen[owner]
        value = value[mine]
        if not len(value):
            return True
        starts = np.flatnonzero(np.concatenate(([True], value[1:] != value[:-1])))
        joint = Five(*(ratio[mine] for ratio in minima)).least(starts)
        standing = Five(*(ratio[value[starts]] for ratio in self.ledger._minima))
        safe, close = self.ledger.safe(joint.min(standing).negated_ratio())
        if not np.all(safe | close):
            return False
        for at in np.flatnonzero(close):
            code = value[starts[at]]
            own = (cells.value == code) & chosen[self.owner[cells.group]]
            if not self.ledger.settle(int(code), cells.take(own)):
                return False
        return True

    def reach(self) -> FloatArray:
        """0 for what is safe, infinity for what is not: where minima only fall, nothing mends."""
        return np.where(self.alone(), 0.0, np.inf)

    def commit(self, chosen: Mask) -> None:
        """Fold the chosen proposals into the ledger."""
        cells, possible = self._cells
        if np.any(chosen & ~possible):
            cells = profiles(self.added, self.ledger.amounts[0], self.ledger.wanted).by_value()
        self.ledger.note(cells.take(chosen[self.owner[cells.group]]))


# Relative distance from the limit within which a ratio counts as unsafe.


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
