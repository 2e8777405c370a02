"""The verifier's own worst window: numbers and dates that lie near each other as one secret.

Values are read from their texts, exactly. The windows that begin at an occurring value are enough,
since each other window holds no more than one of these. As the window moves over the values, what
a group has in it changes at few of them; between two changes its cell is the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.errors import CertificateError
from foreknow.verifier.counts import Group, Held, Ints, distinct
from foreknow.verifier.facts import (
    Cell,
    Cells,
    Floats,
    no_relative,
    odds_single,
    rough_relatives,
    rough_single,
    up_to,
)

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE]([-+]?\d{1,4}))?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?P<clock>[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_SPAN = re.compile(r"(\d{1,12}) ?(day|hour|minute|second)s?", re.ASCII)
_WIDTH = re.compile(r"\d{1,400}(\.\d{1,400}|/\d{1,400})?([eE][-+]?\d{1,3})?", re.ASCII)
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
# A number of more digits than this is not read.
_DIGITS = 400
_DAY = timedelta(days=1)
# So many cells are gone through at a time.
_AT_ONCE = 1 << 19


class _Line(NamedTuple):
    """Where the values lie: numbers as they are, dates in days since the year 1."""

    dates: bool
    clocks: bool  # whether a date has a time of day
    at: Mapping[str, Fraction]


class _Lying(NamedTuple):
    """Cells, and the windows from `first` to `last` at which their groups have them."""

    cells: Cells
    first: Ints
    last: Ints


def worst_near(
    held: Held, within: Any, l: int, k: int, m: int
) -> tuple[str | None, Group | None, Fraction]:
    """The first window, target's group and probability at which the adversary is surest."""
    line = _line(set(held.names))
    numbers = sorted(set(line.at.values()))
    end = _end_of(within, line)
    reach = np.array([bisect_right(numbers, end(number)) - 1 for number in numbers], np.int64)
    place = {number: i for i, number in enumerate(numbers)}
    at = np.array([place[line.at[name]] for name in held.names], np.int64)
    if not len(held.codes):
        return None, None, Fraction(0)
    lain = _Lain(Held(held.labels, held.names, held.of_group, at[held.codes], held.counts), reach)
    odds, window, group = min(lain.candidates(l, k, m))
    return _words(numbers[window], end, line), held.group(group), 1 / (1 + odds)


class _Lain:
    """Groups whose values are places on a line, and how far the window reaches from each."""

    def __init__(self, held: Held, reach: Ints) -> None:
        self.held, self.reach, self.n = held, reach, len(reach)
        self.keys = held.of_group * self.n + held.codes  # in order
        self.sums = np.concatenate([[0], np.cumsum(held.counts)])
        self.frequent = np.lexsort((-held.counts, held.of_group))

    def candidates(self, l: int, k: int, m: int) -> Iterator[tuple[Fraction, int, int]]:
        """Odds against, window and group of all that may be worst: in one group, and in two."""
        n_kinds = 5 if m else 1
        least = np.full((n_kinds, len(self.held)), np.inf)
        # What a group has in a window it has more of in one that begins at a value of its own.
        for begin, end, lying in self._parts(np.ones(len(self.held), bool), l, False):
            edges = self.held.starts[begin:end] - self.held.starts[begin]
            for row, kind in zip(least, _rough(lying.cells, k, m), strict=True):
                row[begin:end] = np.minimum.reduceat(kind, edges)
        low, partners = least[0].min(), _partners(least.min(axis=1))
        near = np.any(least + partners[:, None] <= up_to(low), axis=0)
        painted = [_Paint(self.n) for _ in range(n_kinds - 1)]
        for _, _, lying in self._parts(near, l, bool(m)):
            kinds = _rough(lying.cells, k, m)
            yield from self._together(lying, kinds[0] <= up_to(low), k, m)
            for paint, kind, partner in zip(painted, kinds[1:], partners[1:], strict=True):
                paint.add(lying, kind, kind + partner <= up_to(low))
        if not m:
            return
        alone, with_known, helped, free = (paint.least() for paint in painted)
        apart = np.minimum(alone + helped, with_known + free)
        low = min(low, apart.min())
        for window in np.flatnonzero(apart <= up_to(low)).tolist():
            found = min(self._apart(np.flatnonzero(near), window, l, k, m))
            yield found
            if not found[0]:  # none can be less, and windows come in order
                break

    def _together(
        self, lying: _Lying, near: NDArray[np.bool_], k: int, m: int
    ) -> Iterator[tuple[Fraction, int, int]]:
        """A group has the same up to the last window, which mostly begins at a value of its own."""
        cells, rows = lying.cells, np.flatnonzero(near)
        rows = rows[np.lexsort((cells.group[rows], lying.last[rows]))]
        for at in rows[_sorts(cells, rows)].tolist():
            cell = cells.exact(at)
            odds = _target(cell, k) * _family(cell, k + 1, m)
            yield odds, int(lying.last[at]), int(cells.group[at])

    def _apart(
        self, group: Ints, window: int, l: int, k: int, m: int
    ) -> Iterator[tuple[Fraction, int, int]]:
        """One group for the target and another for the family, in one window."""
        first = np.full(len(group), window)
        cells = self._lying(group, first, first, l).cells
        exact: list[Callable[[Cell], Fraction]] = [
            lambda cell: _target(cell, 0),
            lambda cell: _target(cell, k),
            lambda cell: _family(cell, k, m),
            lambda cell: _family(cell, 0, m),
        ]
        least = []
        for kind, of in zip(_rough(cells, k, m)[1:], exact, strict=True):
            at = np.flatnonzero(kind <= up_to(kind.min()))
            sorts = at[_sorts(cells, at)].tolist()
            least.append(min((of(cells.exact(i)), int(cells.group[i])) for i in sorts))
        alone, with_known, helped, free = least
        yield alone[0] * helped[0], window, alone[1]
        yield with_known[0] * free[0], window, with_known[1]

    def _parts(
        self, near: NDArray[np.bool_], l: int, everywhere: bool
    ) -> Iterator[tuple[int, int, _Lying]]:
        """What groups have in windows that begin at their values, or in all; a part at a time."""
        starts, begin = self.held.starts, 0
        while begin < len(self.held):
            end = int(np.searchsorted(starts, starts[begin] + _AT_ONCE, "right")) - 1
            end = max(begin + 1, end)
            own = slice(int(starts[begin]), int(starts[end]))
            group, first = self.held.of_group[own], self.held.codes[own]
            group, first = group[near[group]], first[near[group]]
            last = first
            if everywhere:
                enters = np.searchsorted(self.reach, first)
                wide = self.n + 1
                changes = np.concatenate([group * wide + first + 1, group * wide + enters])
                changes.sort(kind="stable")  # two runs in order
                changes = changes[np.diff(changes, prepend=-1) > 0]
                group, first = changes[:-1] // wide, changes[:-1] % wide
                last = changes[1:] % wide - 1
                same = group == changes[1:] // wide
                group, first, last = group[same], first[same], last[same]
            if len(group):
                yield begin, end, self._lying(group, first, last, l)
            begin = end

    def _lying(self, group: Ints, first: Ints, last: Ints, l: int) -> _Lying:
        begin = np.searchsorted(self.keys, group * self.n + first)
        end = np.searchsorted(self.keys, group * self.n + self.reach[first], "right")
        some = begin < end
        group, first, last, begin, end = (row[some] for row in (group, first, last, begin, end))
        others = np.zeros(len(group), np.int64)
        left = np.full(len(group), l)
        rest = np.arange(len(group) if l else 0)
        for i in range(int(self.held.kinds.max())):
            rest = rest[self.held.kinds[group[rest]] > i]
            if not len(rest):
                break
            cell = self.frequent[self.held.starts[group[rest]] + i]
            outside = (cell < begin[rest]) | (cell >= end[rest])
            others[rest] += np.where(outside, self.held.counts[cell], 0)
            left[rest] -= outside
            rest = rest[left[rest] > 0]
        holders = self.sums[end] - self.sums[begin]
        none = np.zeros((0, len(group)), np.int64)
        cells = Cells(first, group, self.held.people[group], holders, others, none)
        return _Lying(cells, first, last)


class _Paint:
    """The least of what lies at each window: a tree of halves, of which an interval is a few."""

    def __init__(self, n_windows: int) -> None:
        self.n_windows, self.width = n_windows, 1 << (n_windows - 1).bit_length()
        self.tree = np.full(2 * self.width, np.inf)

    def add(self, lying: _Lying, heights: Floats, some: NDArray[np.bool_]) -> None:
        heights = heights[some]
        begin, end = lying.first[some] + self.width, lying.last[some] + 1 + self.width
        while len(begin):
            for side, odd in ((begin, begin & 1 == 1), (end - 1, end & 1 == 1)):
                np.minimum.at(self.tree, side[odd], heights[odd])
            begin, end = (begin + 1) >> 1, end >> 1
            rest = begin < end
            begin, end, heights = begin[rest], end[rest], heights[rest]

    def least(self) -> Floats:
        level = self.tree[1:2]
        while len(level) < self.width:
            level = np.minimum(level.repeat(2), self.tree[2 * len(level) : 4 * len(level)])
        return np.asarray(level[: self.n_windows])


def _sorts(cells: Cells, rows: Ints) -> Ints:
    """Of some cells, the first of each sort of equal ones."""
    return distinct(*(row[rows] for row in (cells.people, cells.holders, cells.others)))[0]


def _partners(least: Floats) -> Floats:
    """For each kind of `_rough`, the least of what it is added to."""
    return np.concatenate([[0.0], least[[3, 4, 1, 2]]]) if len(least) > 1 else np.zeros(1)


def _rough(cells: Cells, k: int, m: int) -> list[Floats]:
    """Logarithms: of both in one group; of the target alone, and with k; of the family so."""
    target = {known: rough_single(cells, known) for known in {0, k}}
    if not m:
        return [target[k]]
    family = {known: rough_relatives(cells, known, m) for known in {0, k, k + 1}}
    return [target[k] + family[k + 1], target[0], target[k], family[k], family[0]]


def _target(cell: Cell, known: int) -> Fraction:
    return Fraction(*odds_single(cell, known))


def _family(cell: Cell, known: int, m: int) -> Fraction:
    return Fraction(*no_relative(cell.people, cell.holders, known, m)) if m else Fraction(1)


# ---- numbers and dates as texts -------------------------------------------------------------


def _line(values: set[str]) -> _Line:
    at: dict[str, Fraction] = {}
    dated = clocked = False
    for value in sorted(values):
        number, day = _NUMBER.fullmatch(value), _DATE.fullmatch(value)
        try:
            if number and abs(int(number[1] or 0)) <= _DIGITS and len(value) <= 3 * _DIGITS:
                at[value] = Fraction(value)
            elif day:
                at[value] = Fraction((datetime.fromisoformat(value) - datetime.min) // _MOMENT)
                dated, clocked = True, clocked or day["clock"] is not None
            else:
                raise ValueError
        except ValueError:
            raise CertificateError(
                f"within is about numbers or dates, and {value[:40]!r} is neither"
            ) from None
    if dated and not all(map(_DATE.fullmatch, values)):
        raise CertificateError("within is about numbers or dates, and the release has both")
    return _Line(dated, clocked, at)


_MOMENT = timedelta(microseconds=1)


def _end_of(within: Any, line: _Line) -> Callable[[Fraction], Fraction]:
    """Where a window ends that begins at a number."""
    text = str(within) if isinstance(within, (int, str)) and not isinstance(within, bool) else ""
    span = _SPAN.fullmatch(text)
    wide = None
    if span and line.dates:
        wide = Fraction(int(span[1]) * _SECONDS[span[2]], _SECONDS["day"])
    elif not span and (found := _WIDTH.fullmatch(text.removesuffix("%").strip())):
        wide = Fraction(found[0])
    share = text.endswith("%")
    whole = wide is not None and (wide.denominator == 1 or bool(span))
    if not wide or (line.dates and (share or not whole)):
        raise CertificateError(f"within = {text[:40]!r} cannot be read for these values")
    if line.dates and not line.clocks and wide.denominator != 1:
        raise CertificateError(f"within = {text[:40]!r}: dates lie whole days apart")
    if share:
        times = 1 + wide / 100
        return lambda number: number * times if number >= 0 else number / times
    more = wide * (_DAY // _MOMENT) if line.dates else wide
    return lambda number: number + more


def _words(number: Fraction, end: Callable[[Fraction], Fraction], line: _Line) -> str:
    if line.dates:
        most = (datetime.max - datetime.min) // _MOMENT
        units = [int(number), min(most, int(end(number)))]
        moments = [datetime.min + unit * _MOMENT for unit in units]
        low, high = (str(x) if line.clocks else str(x.date()) for x in moments)
    else:
        low, high = _decimal(floor(number * 10**6)), _decimal(ceil(end(number) * 10**6))
    return f"between {low} and {high}"


def _decimal(millionths: int) -> str:
    whole, part = divmod(abs(millionths), 10**6)
    digits = f"{whole:,}.{part:06}".rstrip("0").rstrip(".")
    return f"-{digits}" if millionths < 0 else digits
