"""Facts about windows: what an adversary with facts finds out to within a width, at worst.

A window is a set of values that are counted as one, so Theorem 2 of the skyline paper is about it
as it is about a value. Windows are too many to be counted one by one. But as a window moves over
the values of one group, what the group has in it changes only where a value enters or leaves; in
between it is a *piece*. There are at most twice as many pieces as cells.

Target, known people and relatives in one group: the worst is a piece. Target and relatives in two
groups: for each window the least T and the least V over the pieces that lie at it; these minima
over ranges come from a sparse table, in two entries for each piece. Floats rank; what is near the
worst, or counts as equal, is compared by fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.facts.minima import FactsMeasure
from foreknow.adversaries.facts.profiles import (
    FloatArray,
    Profiles,
    safe_product,
    t_exact,
    t_ratio,
    v_exact,
    v_ratio,
)
from foreknow.data.counts import GroupCounts
from foreknow.data.sparse import IntArray, combine
from foreknow.data.windows import Window, Windows
from foreknow.numbers import CLOSE

# Cells worked on at once: what is known of them by rank takes 2 l numbers each.
_BLOCK = 1 << 19
# Of more of the most frequent values, each window is looked at by itself.
_FEW = 32
# Floats order quotients of whole numbers below this as they are; no two of them are equal.
_EXACT_QUOTIENTS = 1 << 25
# The rank of what no range holds.
_NOWHERE = np.iinfo(np.int32).max
# Into so many parts a search divides the windows; see `WindowsMeasure`.
_PARTS = 64


class Pieces(NamedTuple):
    """What groups have in windows; arrays of one shape.

    It lies at the windows `first` to `last`, by the place of the value at which they begin: there
    the group of n people has at least these s holders, and at most this slack to spare.
    """

    first: IntArray
    last: IntArray
    group: IntArray
    n: IntArray
    s: IntArray
    slack: IntArray


@dataclass(frozen=True)
class Block:
    """Cells of some whole groups, in which windows are looked up."""

    counts: GroupCounts
    last: IntArray  # of each window, the code of its last value
    l: int
    start: int  # groups
    end: int

    @cached_property
    def _cells(self) -> slice:
        offsets = self.counts.offsets
        return slice(int(offsets[self.start]), int(offsets[self.end]))

    @cached_property
    def codes(self) -> IntArray:
        """The value of each cell."""
        return self.counts.codes[self._cells]

    @cached_property
    def group(self) -> IntArray:
        """The group of each cell, from 0 in the block."""
        lengths = np.diff(self.counts.offsets[self.start : self.end + 1])
        return np.repeat(np.arange(self.end - self.start), lengths)

    @cached_property
    def _ends(self) -> IntArray:
        """Where the cells of each group end."""
        ends: IntArray = self.counts.offsets[self.start + 1 : self.end + 1] - self._cells.start
        return ends

    @cached_property
    def _keys(self) -> IntArray:
        return self.group * self.counts.n_values + self.codes

    @cached_property
    def _running(self) -> IntArray:
        return np.concatenate(([0], np.cumsum(self.counts.counts[self._cells])))

    @cached_property
    def _largest(self) -> tuple[list[IntArray], list[IntArray]]:
        """Sums of the 1 to l largest counts of the group: before each cell, and from it on."""
        many = self.counts.counts[self._cells]
        at_start = np.zeros(len(many), dtype=bool)
        at_start[self._ends[:-1]] = True
        at_start[:1] = True
        before = []
        for sums in _running_largest(many, self.group, self.l):
            moved = np.concatenate(([0], sums[:-1]))
            moved[at_start] = 0
            before.append(moved)
        backwards = _running_largest(
            many[::-1], self.group[::-1].max(initial=0) - self.group[::-1], self.l
        )
        return before, [np.append(sums[::-1], 0) for sums in backwards]

    def own(self) -> Pieces:
        """Each window that begins at a value of the group: the worst of a group by itself."""
        begins = np.arange(len(self.codes))
        return self._pieces(self.codes, self.codes, self.group, begins)

    def every(self) -> Pieces:
        """All pieces: after a value has left, and where a value has entered."""
        n_values = self.counts.n_values
        # After the value of a cell has left, until the next leaves.
        inner = np.flatnonzero(self.group[1:] == self.group[:-1])
        left = self._pieces(
            self.codes[inner] + 1, self.codes[inner + 1], self.group[inner], inner + 1
        )
        # Where the value of a cell has entered, until the first that is in there leaves.
        entry = np.searchsorted(self.last, np.arange(n_values))[self.codes]
        begins = np.searchsorted(self._keys, self.group * n_values + entry)
        entered = self._pieces(entry, self.codes[begins], self.group, begins)
        return Pieces(*(np.concatenate(pair) for pair in zip(left, entered, strict=True)))

    def at(self, places: IntArray) -> Pieces:
        """What each group has in some windows."""
        groups = np.repeat(np.arange(self.end - self.start), len(places))
        windows = np.tile(places, self.end - self.start)
        begins = np.searchsorted(self._keys, groups * self.counts.n_values + windows)
        return self._pieces(windows, windows, groups, begins)

    def _pieces(self, first: IntArray, last: IntArray, group: IntArray, begins: IntArray) -> Pieces:
        """Pieces at windows from `first`, of cells from `begins`; those without people left out."""
        after = group * self.counts.n_values + self.last[first]
        ends = np.searchsorted(self._keys, after, side="right")
        if (empty := ends <= begins).any():
            some = np.flatnonzero(~empty)
            first, last, group, begins, ends = (x[some] for x in (first, last, group, begins, ends))
        n = self.counts.sizes[self.start + group]
        s = self._running[ends] - self._running[begins]
        others = self._others_of_few if self.l <= _FEW else self._others_of_many
        return Pieces(first, last, self.start + group, n, s, n - s - others(group, begins, ends))

    def _others_of_few(self, group: IntArray, begins: IntArray, ends: IntArray) -> IntArray:
        """Sums of the l largest counts outside of windows: some before, the rest behind."""
        none = np.zeros(len(group), dtype=np.int64)
        if not self.l:
            return none
        before, behind = self._largest
        some_behind = ends < self._ends[group]
        sums = [none, *(np.where(some_behind, largest[ends], 0) for largest in behind)]
        others = sums[self.l]
        for i, own in enumerate(before, 1):
            np.maximum(others, own[begins] + sums[self.l - i], out=others)
        return others

    def _others_of_many(self, group: IntArray, begins: IntArray, ends: IntArray) -> IntArray:
        """The same group by group, from the largest count on; groups ascend."""
        others = np.zeros(len(group), dtype=np.int64)
        many = self.counts.counts[self._cells]
        starts = np.concatenate(([0], self._ends[:-1]))
        pieces = np.searchsorted(group, np.arange(len(starts) + 1))
        for g, (start, end) in enumerate(zip(starts.tolist(), self._ends.tolist(), strict=True)):
            order = start + np.argsort(-many[start:end], kind="stable")
            step = max(1, _BLOCK // (end - start))
            for low in range(int(pieces[g]), int(pieces[g + 1]), step):
                rows = slice(low, min(low + step, int(pieces[g + 1])))
                outside = (order < begins[rows, None]) | (order >= ends[rows, None])
                used = outside & (np.cumsum(outside, axis=1) <= self.l)
                others[rows] = used @ many[order]
        return others


def _running_largest(many: IntArray, group: IntArray, l: int) -> Iterator[IntArray]:
    """Sums of the 1, 2, ... l largest counts of a group so far; groups ascend."""
    shift = group * (int(many.max(initial=0)) + 1)
    new = np.ones(len(many), dtype=bool)
    new[1:] = group[1:] != group[:-1]
    passed, total = many, np.zeros(len(many), dtype=np.int64)
    for _ in range(l):
        largest = np.maximum.accumulate(passed + shift) - shift
        total = total + largest
        yield total
        earlier = np.concatenate(([0], largest[:-1]))
        earlier[new] = 0
        passed = np.minimum(earlier, passed)


def blocks(counts: GroupCounts, last: IntArray, l: int) -> Iterator[Block]:
    """Whole groups, so many cells at once."""
    l = min(l, int(np.diff(counts.offsets).max(initial=0)))
    most, start = max(1, _BLOCK // (min(l, _FEW) + 1)), 0
    while start < counts.n_groups:
        upto = np.searchsorted(counts.offsets, counts.offsets[start] + most, side="right")
        end = max(start + 1, int(upto) - 1)
        yield Block(counts, last, l, start, end)
        start = end


class Triples(NamedTuple):
    """Distinct (n, s, slack), and the first window of each at which a group has this."""

    n: IntArray
    s: IntArray
    slack: IntArray
    place: IntArray


def _distinct(
    n: IntArray, s: IntArray, slack: IntArray, place: IntArray
) -> tuple[Triples, IntArray]:
    """Distinct triples, and which of them each is."""
    sizes = [int(column.max(initial=0)) + 1 for column in (n, s, slack)]
    pairs, kept = combine([n, s], sizes[:2])
    codes, rows = combine([pairs, slack], [len(kept), sizes[2]])
    earliest = np.full(len(rows), np.iinfo(np.int64).max)
    np.minimum.at(earliest, codes, place)
    return Triples(n[rows], s[rows], slack[rows], earliest), codes


def worst_window(windows: Windows, amounts: tuple[int, int, int]) -> tuple[Window, Fraction]:
    """The window of which an adversary with (l, k, m) facts can be surest, and how sure."""
    l, k, m = amounts
    several, codes, spans = [], [], []
    for block in blocks(windows.counts, windows.last, l):
        pieces = block.every() if m else block.own()
        triples, code = _distinct(pieces.n, pieces.s, pieces.slack, pieces.last)
        several.append(triples)
        if m:
            codes.append(code.astype(np.int32))
            spans.append((pieces.first.astype(np.int32), pieces.last.astype(np.int32)))
    triples, code = _distinct(*(np.concatenate(x) for x in zip(*several, strict=True)))
    odds, place = _together(triples, k, m)
    if m:
        shifts = np.cumsum([0, *(len(each.n) for each in several)])
        own = [code[shift + c] for shift, c in zip(shifts, codes, strict=False)]
        first, last = (np.concatenate(ends) for ends in zip(*spans, strict=True))
        found = _apart(triples, np.concatenate(own), first, last, windows.counts.n_values, k, m)
        odds, place = min((odds, place), found)
    return windows.window(place), 1 / (1 + odds)


def _together(triples: Triples, k: int, m: int) -> tuple[Fraction, int]:
    """Least odds with everybody in one group, and the first window at which they are."""
    n, s, slack, _ = triples
    ratio = safe_product(t_ratio(n, s, slack, k), v_ratio(n, s, m, k + 1))
    near = np.flatnonzero(ratio <= ratio.min() * (1 + CLOSE))
    rows = zip(*(column[near].tolist() for column in triples), strict=True)
    return min(
        (t_exact(n, s, Fraction(slack), k) * v_exact(n, s, m, k + 1), place)
        for n, s, slack, place in rows
    )


def _apart(
    triples: Triples,
    code: IntArray,
    first: IntArray,
    last: IntArray,
    n_windows: int,
    k: int,
    m: int,
) -> tuple[Fraction, int]:
    """Least odds with target and relatives in two groups, and the first such window."""
    ranked = {
        ("t", known): _Ranked.of(triples, t_ratio(*triples[:3], known), _t_of(triples, known), 1)
        for known in {0, k}
    } | {
        ("v", known): _Ranked.of(
            triples, v_ratio(*triples[:2], m, known), _v_of(triples, m, known), m
        )
        for known in {0, k}
    }
    ranks = [ranking.rank[code] for ranking in ranked.values()]
    least = dict(zip(ranked, _least_over(first, last, ranks, n_windows), strict=True))
    places = np.flatnonzero(least["t", 0] < _NOWHERE)  # a value may be had by nobody
    best: tuple[Fraction, int] | None = None
    for target, family in ((("t", 0), ("v", k)), (("t", k), ("v", 0))):
        t, v = ranked[target], ranked[family]
        odds = safe_product(t.ratio[least[target][places]], v.ratio[least[family][places]])
        near = places[odds <= odds.min() * (1 + CLOSE)]
        pairs = np.stack((least[target][near], least[family][near]))
        _, rows = np.unique(pairs, axis=1, return_index=True)
        for row in rows.tolist():
            own = t.exact(int(pairs[0, row])) * v.exact(int(pairs[1, row])), int(near[row])
            best = own if best is None else min(best, own)
    assert best is not None
    return best


def _t_of(triples: Triples, known: int) -> Callable[[int], Fraction]:
    def exact(i: int) -> Fraction:
        n, s, slack = (int(column[i]) for column in triples[:3])
        return t_exact(n, s, Fraction(slack), known)

    return exact


def _v_of(triples: Triples, m: int, known: int) -> Callable[[int], Fraction]:
    return lambda i: v_exact(int(triples.n[i]), int(triples.s[i]), m, known)


@dataclass(frozen=True)
class _Ranked:
    """A ratio of each triple by its rank, which is that of the exact ratio."""

    rank: NDArray[Any]  # of each triple
    ratio: FloatArray  # of each rank
    exact: Callable[[int], Fraction]  # of each rank

    @classmethod
    def of(
        cls, triples: Triples, ratio: FloatArray, exact: Callable[[int], Fraction], factors: int
    ) -> _Ranked:
        """Rank by floats; by fractions where these are quotients of several factors, and near."""
        order = np.argsort(ratio, kind="stable")
        ascending = ratio[order]
        if factors > 1 or int(triples.n.max()) >= _EXACT_QUOTIENTS:
            # 0 is exact.
            apart = (ascending[1:] > ascending[:-1] * (1 + CLOSE)) | (ascending[1:] == 0)
            starts = np.concatenate(([0], np.flatnonzero(apart) + 1))
            ends = np.append(starts[1:], len(order))
            for i in np.flatnonzero(ends - starts > 1).tolist():
                run = slice(int(starts[i]), int(ends[i]))
                order[run] = sorted(order[run].tolist(), key=exact)
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order))
        return cls(rank, ratio[order], lambda place: exact(int(order[place])))


def _least_over(
    first: IntArray, last: IntArray, ranks: list[NDArray[Any]], n_windows: int
) -> list[NDArray[Any]]:
    """For each window the least of each rank over the ranges that hold it."""
    level = np.frexp((last - first + 1).astype(np.float64))[1] - 1
    best = [np.full(n_windows, _NOWHERE, dtype=np.int32) for _ in ranks]
    for power in range(int(level.max(initial=0)), -1, -1):
        half = 1 << power
        mine = np.flatnonzero(level == power)
        low, high = first[mine], last[mine] - (half - 1)
        for least, rank in zip(best, ranks, strict=True):
            # What is least from a place on, so far up to twice as far.
            least[half:] = np.minimum(least[half:], least[:-half])
            own = rank[mine]
            np.minimum.at(least, low, own)
            np.minimum.at(least, high, own)
    return best


class WindowsMeasure(FactsMeasure):
    """What a ledger keeps of groups against facts about windows: five ratios of each part.

    Without relatives the worst window of a group is all there is to know. With relatives, target
    and family share one window: windows are divided into parts, one window each where there are no
    more than 64 values. Over a part the least T and the least V are taken, perhaps of two windows:
    so a search never takes what is unsafe for safe, but of many values it may refuse some that is
    safe. What is least over a part is attained at a value of the group, or at the part's end.

    For each part this is a minimum over windows of what falls where groups are merged: so it is
    monotone.
    """

    def __init__(self, amounts: tuple[int, int, int], threshold: Fraction, last: IntArray) -> None:
        super().__init__(amounts, threshold, None, "single")
        self.last = last
        self.n_parts = min(len(last), _PARTS) if self.m else 1

    def bind(self, n_values: int) -> int:
        """A key for each part of the windows; `n_values` is how many windows there are."""
        return self.n_parts

    def _profiles(self, counts: GroupCounts) -> Profiles:
        windows = len(self.last)
        ends = -(-np.arange(1, self.n_parts + 1) * windows // self.n_parts) - 1
        columns: list[list[Any]] = [[], [], [], [], []]
        for block in blocks(counts, self.last, self.l):
            for pieces in (block.own(), *([block.at(ends)] if self.m else [])):
                part = np.searchsorted(ends, pieces.first)
                found = part, pieces.group, pieces.n, pieces.s, pieces.slack
                for column, own in zip(columns, found, strict=True):
                    column.append(own)
        nothing = np.zeros(0, dtype=np.int64)
        value, group, n, s, slack = (np.concatenate([nothing, *column]) for column in columns)
        return Profiles(value, group, n, s, slack, None, counts, self.l)
