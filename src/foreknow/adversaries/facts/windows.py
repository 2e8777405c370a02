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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.facts.minima import FactsMeasure
from foreknow.adversaries.facts.profiles import (
    Profiles,
    ranked_cells,
    safe_product,
    t_exact,
    t_ratio,
    v_exact,
    v_ratio,
)
from foreknow.data.arrays import BoolArray, FloatArray, IntArray, combine
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.windows import Window, Windows
from foreknow_judge.numbers import CLOSE

# Cells worked on at once.
_BLOCK = 1 << 19
# Floats order quotients of whole numbers below this as they are; no two of them are equal.
_EXACT_QUOTIENTS = 1 << 25
# The rank of what no range holds.
_NOWHERE = np.iinfo(np.int32).max
# Into so many parts a search divides the windows; see `WindowsMeasure`.
_PARTS = 64


class Pieces(NamedTuple):
    """Pieces of groups in windows; arrays of one shape.

    It lies at the windows `first` to `last`, by the place of the value at which they begin: there
    the group of n people has at least these s holders, and at most this slack to spare.
    """

    first: IntArray
    last: IntArray
    group: IntArray
    n: IntArray
    s: IntArray
    slack: IntArray


def pieces_at_own_values(counts: GroupCounts, last: IntArray, l: int) -> Pieces:
    """The window that begins at each value of each group: the worst of a group is among them.

    ``last[v]`` is the last value of the window that begins at value v; l values are ruled out.
    """
    return _pieces(
        counts,
        last,
        l,
        first=counts.codes,
        last=counts.codes,
        group=counts.cell_groups,
        begins=np.arange(len(counts.codes)),
    )


def pieces_everywhere(counts: GroupCounts, last: IntArray, l: int) -> Pieces:
    """The pieces at every window: after a value has left, and where a value has entered.

    A piece is a run of windows in which a group has the same people. ``last[v]`` is the last value
    of the window that begins at value v; l values are ruled out.
    """
    codes, group = counts.codes, counts.cell_groups
    # After the value of a cell has left, until the next of its group leaves.
    inner = np.flatnonzero(group[1:] == group[:-1])
    after_leaving = _pieces(
        counts,
        last,
        l,
        first=codes[inner] + 1,
        last=codes[inner + 1],
        group=group[inner],
        begins=inner + 1,
    )
    # Where the value of a cell has entered, until the first that is in there leaves.
    entry = np.searchsorted(last, np.arange(counts.n_values))[codes]
    begins = np.searchsorted(_keys(counts), group * counts.n_values + entry)
    after_entering = _pieces(
        counts, last, l, first=entry, last=codes[begins], group=group, begins=begins
    )
    return Pieces(*map(np.concatenate, zip(after_leaving, after_entering, strict=True)))


def pieces_at(counts: GroupCounts, last: IntArray, l: int, positions: IntArray) -> Pieces:
    """The pieces of each group in some windows."""
    group = np.repeat(np.arange(counts.n_groups), len(positions))
    window = np.tile(positions, counts.n_groups)
    begins = np.searchsorted(_keys(counts), group * counts.n_values + window)
    return _pieces(counts, last, l, first=window, last=window, group=group, begins=begins)


def _keys(counts: GroupCounts) -> IntArray:
    """The group and the value of each cell as one number; they ascend."""
    return counts.cell_groups * counts.n_values + counts.codes


def _pieces(
    counts: GroupCounts,
    ends_at: IntArray,
    l: int,
    *,
    first: IntArray,
    last: IntArray,
    group: IntArray,
    begins: IntArray,
) -> Pieces:
    """Pieces of groups in windows: see `Pieces`, whose `first` and `last` these are.

    Piece i is of ``group[i]``, whose cells (values of it) in the window begin at ``begins[i]``; the
    window ends with the value ``ends_at[first[i]]``. Groups with nothing there are left out.
    """
    ends = np.searchsorted(_keys(counts), group * counts.n_values + ends_at[first], side="right")
    nonempty = slice(None) if (begins < ends).all() else np.flatnonzero(begins < ends)
    first, last, group = first[nonempty], last[nonempty], group[nonempty]
    begins, ends = begins[nonempty], ends[nonempty]
    # A sum over consecutive cells is the difference of two running sums.
    running = np.concatenate(([0], np.cumsum(counts.counts)))
    n, s = counts.sizes[group], running[ends] - running[begins]
    n_ruled_out = _count_ruled_out(counts, l, group, begins, ends)
    return Pieces(first, last, group, n=n, s=s, slack=n - s - n_ruled_out)


def _count_ruled_out(
    counts: GroupCounts, l: int, group: IntArray, begins: IntArray, ends: IntArray
) -> IntArray:
    """How many people of a group have one of the l most frequent values outside of a window.

    Row i is about ``group[i]`` and the window of its cells from ``begins[i]`` up to ``ends[i]``.
    """
    n_people = np.zeros(len(group), dtype=np.int64)
    n_left = np.full(len(group), min(l, counts.n_values))  # l may be beyond every integer type
    _, ranked = ranked_cells(counts)
    # Go through each group's values, the most frequent first, until l outside were found.
    open_rows, rank = np.arange(len(group) if l else 0), 0
    while True:
        # Drop the rows whose group has no further value.
        place = counts.offsets[group[open_rows]] + rank
        has_more = place < counts.offsets[group[open_rows] + 1]
        open_rows = open_rows[has_more]
        if not len(open_rows):
            return n_people
        cell = ranked[place[has_more]]
        is_outside = (cell < begins[open_rows]) | (cell >= ends[open_rows])
        n_people[open_rows] += np.where(is_outside, counts.counts[cell], 0)
        n_left[open_rows] -= is_outside
        open_rows, rank = open_rows[n_left[open_rows] > 0], rank + 1


def blocks(counts: GroupCounts) -> Iterator[tuple[int, GroupCounts]]:
    """The groups in blocks of so many cells: the number of the first group, and the counts."""
    start = 0
    while start < counts.n_groups:
        # As many groups as fit into a block, but at least one.
        upto = np.searchsorted(counts.offsets, counts.offsets[start] + _BLOCK, side="right")
        end = max(start + 1, int(upto) - 1)
        is_all = start == 0 and end == counts.n_groups
        yield start, counts if is_all else counts.take(np.arange(start, end))
        start = end


class Triples(NamedTuple):
    """Distinct (n, s, slack), and the first window of each at which a group has this."""

    n: IntArray
    s: IntArray
    slack: IntArray
    place: IntArray


def _distinct_triples(
    n: IntArray, s: IntArray, slack: IntArray, position: IntArray
) -> tuple[Triples, IntArray]:
    """The distinct triples (people, holders, slack), and the number of each piece's triple.

    `position` is a window of each piece; a triple keeps the first one.
    """
    sizes = [int(column.max(initial=0)) + 1 for column in (n, s, slack)]
    pairs, pair_rows = combine([n, s], sizes[:2])
    codes, rows = combine([pairs, slack], [len(pair_rows), sizes[2]])
    earliest = np.full(len(rows), np.iinfo(np.int64).max)
    np.minimum.at(earliest, codes, position)
    return Triples(n[rows], s[rows], slack[rows], earliest), codes


def worst_window(windows: Windows, amounts: tuple[int, int, int]) -> tuple[Window, Fraction]:
    """The window of which an adversary with facts (l, k, m) can be surest, and how sure.

    A window is a range of numbers or dates that is one secret. Groups are processed in blocks;
    equal numbers of different groups are judged once.
    """
    l, k, m = amounts
    # Of each block: its distinct triples; the triple of each piece; its first and last window.
    triples_of_blocks, codes_of_blocks, spans = [], [], []
    for _, block in blocks(windows.counts):
        # Without links, only windows that begin at a value of the group can be worst.
        pieces = (pieces_everywhere if m else pieces_at_own_values)(block, windows.last, l)
        triples, code = _distinct_triples(pieces.n, pieces.s, pieces.slack, pieces.last)
        triples_of_blocks.append(triples)
        if m:
            codes_of_blocks.append(code.astype(np.int32))
            spans.append((pieces.first.astype(np.int32), pieces.last.astype(np.int32)))
    all_columns = map(np.concatenate, zip(*triples_of_blocks, strict=True))
    triples, code_of_triple = _distinct_triples(*all_columns)
    odds, position = _least_odds_together(triples, k, m)
    if m:
        # From the numbers of triples within a block to those of all blocks.
        starts = np.cumsum([0, *(len(of_block.n) for of_block in triples_of_blocks)])
        code = np.concatenate(
            [code_of_triple[start + c] for start, c in zip(starts, codes_of_blocks, strict=False)]
        )
        first, last = map(np.concatenate, zip(*spans, strict=True))
        in_two_groups = _least_odds_apart(
            triples, code, first, last, windows.counts.n_values, k=k, m=m
        )
        odds, position = min((odds, position), in_two_groups)
    return windows.window(position), 1 / (1 + odds)


def _least_odds_together(triples: Triples, k: int, m: int) -> tuple[Fraction, int]:
    """The least odds with everybody in one group, and the first window at which they are."""
    n, s, slack, _ = triples
    ratio = safe_product(t_ratio(n, s, slack, k), v_ratio(n, s, m, k + 1))
    # Floats find the near ones; fractions decide.
    nearly_lowest = np.flatnonzero(ratio <= ratio.min() * (1 + CLOSE))
    candidates: list[tuple[Fraction, int]] = []
    rows = zip(*(column[nearly_lowest].tolist() for column in triples), strict=True)
    for n, s, slack, position in rows:
        odds = t_exact(n, s, Fraction(slack), k) * v_exact(n, s, m, k + 1)
        candidates.append((odds, position))
    return min(candidates)


def _least_odds_apart(
    triples: Triples,
    code: IntArray,
    first: IntArray,
    last: IntArray,
    n_windows: int,
    k: int,
    m: int,
) -> tuple[Fraction, int]:
    """The least odds if target and linked people are in two groups, and the first such window.

    The `k` known people are all beside the target, or all beside the `m` linked people. A triple is
    people, holders and slack of a group; row i has the numbers ``triples[code[i]]`` in the windows
    from ``first[i]`` to ``last[i]``. T is the odds against the target's secret, V the chance that
    no linked person has it.
    """
    n, s, slack, _ = triples
    ranked: dict[tuple[str, int], _RankedRatio] = {}
    for n_known in {0, k}:
        ratio, exact = t_ratio(n, s, slack, n_known), _exact_t(triples, n_known)
        ranked["t", n_known] = _RankedRatio.of(triples, ratio, exact, factors=1)
        ratio, exact = v_ratio(n, s, m, n_known), _exact_v(triples, m, n_known)
        ranked["v", n_known] = _RankedRatio.of(triples, ratio, exact, factors=m)
    # From the rank of each triple to that of each piece; then the least at each window.
    ranks = [ranking.rank[code] for ranking in ranked.values()]
    lowest = dict(zip(ranked, _least_ranks_by_window(first, last, ranks, n_windows), strict=True))
    windows = np.flatnonzero(lowest["t", 0] < _NOWHERE)  # a value may be had by nobody
    candidates: list[tuple[Fraction, int]] = []
    for target, family in ((("t", 0), ("v", k)), (("t", k), ("v", 0))):
        t, v = ranked[target], ranked[family]
        t_ranks, v_ranks = lowest[target][windows], lowest[family][windows]
        odds = safe_product(t.ratio[t_ranks], v.ratio[v_ranks])
        # Floats find the near windows; each distinct pair is compared by fractions.
        is_near = odds <= odds.min() * (1 + CLOSE)
        pairs = np.stack((t_ranks[is_near], v_ranks[is_near]))
        _, rows = np.unique(pairs, axis=1, return_index=True)
        for window, t_rank, v_rank in zip(
            windows[is_near][rows].tolist(), *pairs[:, rows].tolist(), strict=True
        ):
            candidates.append((t.exact(t_rank) * v.exact(v_rank), window))
    return min(candidates)


def _exact_t(triples: Triples, n_known: int) -> Callable[[int], Fraction]:
    """A function that gives T(l, k) of triple i as a fraction, with `n_known` people known."""

    def exact(i: int) -> Fraction:
        n, s, slack = int(triples[0][i]), int(triples[1][i]), int(triples[2][i])
        return t_exact(n, s, Fraction(slack), n_known)

    return exact


def _exact_v(triples: Triples, m: int, n_known: int) -> Callable[[int], Fraction]:
    """A function that gives V(m, k) of triple i as a fraction, with `n_known` people known."""
    return lambda i: v_exact(int(triples.n[i]), int(triples.s[i]), m, n_known)


@dataclass(frozen=True)
class _RankedRatio:
    """A ratio of each triple by its rank, which is that of the exact ratio."""

    rank: NDArray[Any]  # of each triple
    ratio: FloatArray  # of each rank
    exact: Callable[[int], Fraction]  # of each rank

    @classmethod
    def of(
        cls, triples: Triples, ratio: FloatArray, exact: Callable[[int], Fraction], factors: int
    ) -> _RankedRatio:
        """Rank triples by their ratio, the lowest first.

        Close floats may be in the wrong order, if they are quotients of several factors or of large
        numbers: fractions order these. ``exact(i)`` is that of triple i.
        """
        order = np.argsort(ratio, kind="stable")
        ascending = ratio[order]
        if factors > 1 or int(triples.n.max()) >= _EXACT_QUOTIENTS:
            # A run of close ratios ends before one that is clearly higher. A ratio of 0 is exact.
            is_apart = (ascending[1:] > ascending[:-1] * (1 + CLOSE)) | (ascending[1:] == 0)
            starts = np.concatenate(([0], np.flatnonzero(is_apart) + 1))
            ends = np.append(starts[1:], len(order))
            for i in np.flatnonzero(ends - starts > 1).tolist():
                run = slice(int(starts[i]), int(ends[i]))
                order[run] = sorted(order[run].tolist(), key=exact)
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order))
        return cls(rank, ratio[order], lambda position: exact(int(order[position])))


def _least_ranks_by_window(
    first: IntArray, last: IntArray, ranks: list[NDArray[Any]], n_windows: int
) -> list[NDArray[Any]]:
    """For each window the least of each rank over the ranges that contain the window.

    Range i goes from window ``first[i]`` to ``last[i]``. It is covered by two ranges whose length
    is a power of two, so that each length is handled once.
    """
    level = np.frexp((last - first + 1).astype(np.float64))[1] - 1
    best = [np.full(n_windows, _NOWHERE, dtype=np.int32) for _ in ranks]
    for power in range(int(level.max(initial=0)), -1, -1):
        half = 1 << power
        of_level = np.flatnonzero(level == power)
        left, right = first[of_level], last[of_level] - (half - 1)
        for lowest, rank in zip(best, ranks, strict=True):
            # A range of twice this length from i on is two of this length: from i, and i + half.
            lowest[half:] = np.minimum(lowest[half:], lowest[:-half])
            rank_values = rank[of_level]
            np.minimum.at(lowest, left, rank_values)
            np.minimum.at(lowest, right, rank_values)
    return best


class WindowsMeasure(FactsMeasure):
    """The measure of groups against facts about windows: five ratios of each part.

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

    def refused(self, counts: GroupCounts, parts: int = 1) -> None:
        """None: no group can be refused without its windows."""

    def _profiles(self, counts: GroupCounts, groups: BoolArray | None = None) -> Profiles:
        """Profiles of groups in windows of values.

        A profile is the people of a group, those who have the secret, and those to spare. In place
        of a value, it has the number of the part of the line in which its window begins.
        """
        windows = len(self.last)
        # The last window of each part; parts have about the same number of windows.
        ends = -(-np.arange(1, self.n_parts + 1) * windows // self.n_parts) - 1
        nothing = np.zeros(0, dtype=np.int64)
        all_pieces = [Pieces(*[nothing] * 6)]
        for first_group, block in blocks(counts):
            pieces_of_block = [pieces_at_own_values(block, self.last, self.l)]
            if self.m:
                pieces_of_block.append(pieces_at(block, self.last, self.l, ends))
            for pieces in pieces_of_block:
                all_pieces.append(pieces._replace(group=first_group + pieces.group))
        joined = Pieces(*map(np.concatenate, zip(*all_pieces, strict=True)))
        window_profiles = Profiles(
            value=np.searchsorted(ends, joined.first),
            group=joined.group,
            n=joined.n,
            s=joined.s,
            slack=joined.slack,
            kind=None,
            counts=counts,
            l=self.l,
        )
        return window_profiles if groups is None else window_profiles.take(groups[joined.group])
