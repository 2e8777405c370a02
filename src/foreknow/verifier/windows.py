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
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow.errors import CertificateError
from foreknow.verifier.counts import Group, Held, Ints, distinct
from foreknow.verifier.facts import no_relative

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


class _Runs(NamedTuple):
    """What groups have in windows: the same from the window `first` to the window `last`."""

    group: Ints
    first: Ints
    last: Ints
    people: Ints
    holders: Ints  # of a value in the window
    left: Ints  # who have none, and none of the l most frequent other values


class _Odds(NamedTuple):
    """Odds from the least, each once; and which of them each run has."""

    known: list[Fraction]
    of_run: Ints

    @classmethod
    def of(cls, one: Ints, other: Ints, law: Callable[[int, int], Fraction]) -> _Odds:
        """Those that follow from two numbers of each run."""
        sorts, of_run = distinct(one, other)
        odds = [law(*pair) for pair in zip(one[sorts].tolist(), other[sorts].tolist(), strict=True)]
        known = sorted(set(odds))
        place = {own: at for at, own in enumerate(known)}
        return cls(known, np.array([place[own] for own in odds], np.int64)[of_run])

    def up_to(self, most: Fraction, times: Fraction) -> Ints:
        """Which runs have odds that are at most `most` when multiplied."""
        return self.of_run < bisect_right(self.known, most / times if times else self.known[-1])


# The least odds against, the window and the group that attain them.
_Least: TypeAlias = "tuple[Fraction, int, int]"


def worst_near(
    held: Held, width: Any, l: int, k: int, m: int
) -> tuple[str | None, Group | None, Fraction]:
    """The first window, target's group and probability at which the adversary is surest."""
    line = _line(set(held.names))
    numbers = sorted(set(line.at.values()))
    end = _end_of(width, line)
    reach = np.array([bisect_right(numbers, end(number)) - 1 for number in numbers], np.int64)
    place = {number: i for i, number in enumerate(numbers)}
    at = np.array([place[line.at[name]] for name in held.names], np.int64)
    if not len(held.codes):
        return None, None, Fraction(0)
    placed = Held(held.labels, held.names, held.of_group, at[held.codes], held.counts)
    odds, window, group = min(_candidates(placed, reach, l, k, m))
    return _words(numbers[window], end, line), held.group(group), 1 / (1 + odds)


def _candidates(held: Held, reach: Ints, l: int, k: int, m: int) -> Iterator[_Least]:
    """The least odds with everybody in one group; and with target and relatives in two."""

    def target(known: int) -> _Odds:
        return _Odds.of(runs.left, runs.holders, lambda n, s: Fraction(max(n - known, 0), s))

    def relatives(known: int) -> _Odds:
        return _Odds.of(
            runs.people, runs.holders, lambda n, s: Fraction(*no_relative(n, s, known, m))
        )

    runs = _runs(held, reach, l)
    together = _together(target(k), relatives(k + 1), runs)
    yield together
    if not m or not together[0]:
        return
    # A group matters where its best window, with the best of all others, is not above that.
    near = np.zeros(len(held), bool)
    for one, other in ((target(0), relatives(k)), (target(k), relatives(0))):
        near[runs.group[one.up_to(together[0], other.known[0])]] = True
        near[runs.group[other.up_to(together[0], one.known[0])]] = True
    if not near.any():
        return
    runs = _runs(held, reach, l, everywhere=near)
    yield _apart(target(0), relatives(k), runs, len(reach))
    yield _apart(target(k), relatives(0), runs, len(reach))


def _together(target: _Odds, family: _Odds, runs: _Runs) -> _Least:
    """The least of both in one group, the first window that has it, and the first group there."""
    best = np.full(len(family.known), len(target.known) - 1)
    np.minimum.at(best, family.of_run, target.of_run)
    products = [target.known[at] * own for at, own in zip(best.tolist(), family.known, strict=True)]
    odds = min(products)
    least = np.flatnonzero([own == odds for own in products])
    there = np.flatnonzero(np.isin(family.of_run, least) & (target.of_run == best[family.of_run]))
    first = there[np.lexsort((runs.group[there], runs.first[there]))[0]]
    return odds, int(runs.first[first]), int(runs.group[first])


def _apart(target: _Odds, family: _Odds, runs: _Runs, n_windows: int) -> _Least:
    """The least odds of a target in one group times that of relatives in any, in one window."""
    least = [_least_at(each.of_run, runs, n_windows) for each in (target, family)]
    some = np.flatnonzero(least[0] < len(target.known))  # windows that hold a value
    first, _ = distinct(*(each[some] for each in least))
    odds, window = min(
        (target.known[least[0][at]] * family.known[least[1][at]], int(at))
        for at in some[first].tolist()
    )
    there = (runs.first <= window) & (window <= runs.last)
    there &= target.of_run == least[0][window]
    return odds, window, int(runs.group[there].min())


def _least_at(ranks: Ints, runs: _Runs, n_windows: int) -> Ints:
    """The least rank at each window: in a tree of halves, of which an interval is a few."""
    width = 1 << (n_windows - 1).bit_length()
    tree = np.full(2 * width, np.iinfo(np.int64).max)
    begin, end = runs.first + width, runs.last + 1 + width
    while len(begin):
        for side, odd in ((begin, begin & 1 == 1), (end - 1, end & 1 == 1)):
            np.minimum.at(tree, side[odd], ranks[odd])
        begin, end = (begin + 1) >> 1, end >> 1
        rest = begin < end
        begin, end, ranks = begin[rest], end[rest], ranks[rest]
    level = tree[1:2]
    while len(level) < width:
        level = np.minimum(level.repeat(2), tree[2 * len(level) : 4 * len(level)])
    return level[:n_windows]


def _runs(held: Held, reach: Ints, l: int, everywhere: Any = None) -> _Runs:
    """What groups have in windows that begin at values of their own; or some groups in all.

    What a group has in a window it has more of in one that begins at a value of its own; so these
    are enough for one group by itself.
    """
    n = len(reach)
    group, first = held.of_group, held.codes
    keys = group * n + first  # in order
    last = first
    if everywhere is not None:  # what a group has changes where a window loses or gets a value
        group, first = group[everywhere[group]], first[everywhere[group]]
        enters, span = np.searchsorted(reach, first), n + 1
        changes = np.unique(np.concatenate([group * span + first + 1, group * span + enters]))
        group, first, last = changes[:-1] // span, changes[:-1] % span, changes[1:] % span - 1
        same = group == changes[1:] // span
        group, first, last = group[same], first[same], last[same]
    begin = np.searchsorted(keys, group * n + first)
    end = np.searchsorted(keys, group * n + reach[first], "right")
    some = begin < end
    group, first, last, begin, end = (row[some] for row in (group, first, last, begin, end))
    sums = np.concatenate([[0], np.cumsum(held.counts)])
    people, holders = held.people[group], sums[end] - sums[begin]
    left = np.maximum(people - holders - _others(held, group, begin, end, l), 0)
    return _Runs(group, first, last, people, holders, left)


def _others(held: Held, group: Ints, begin: Ints, end: Ints, l: int) -> Ints:
    """How many have one of the l most frequent values of a group that lie outside of a window."""
    frequent = np.lexsort((-held.counts, held.of_group))
    others, left = np.zeros(len(group), np.int64), np.full(len(group), l)
    rest = np.arange(len(group) if l else 0)
    for place in range(int(held.kinds.max())):
        rest = rest[held.kinds[group[rest]] > place]
        if not len(rest):
            break
        cell = frequent[held.starts[group[rest]] + place]
        outside = (cell < begin[rest]) | (cell >= end[rest])
        others[rest] += np.where(outside, held.counts[cell], 0)
        left[rest] -= outside
        rest = rest[left[rest] > 0]
    return others


# ---- numbers and dates as texts -------------------------------------------------------------


def place_of(value: str) -> tuple[bool, bool, Fraction] | None:
    """Whether a text is a date, whether with a time of day, and where it lies; None of others."""
    number, day = _NUMBER.fullmatch(value), _DATE.fullmatch(value)
    try:
        if number and abs(int(number[1] or 0)) <= _DIGITS and len(value) <= 3 * _DIGITS:
            return False, False, Fraction(value)
        if day:
            at = (datetime.fromisoformat(value) - datetime.min) // _MOMENT
            return True, day["clock"] is not None, Fraction(at)
    except ValueError:
        pass
    return None


def _line(values: set[str]) -> _Line:
    at: dict[str, Fraction] = {}
    dated = clocked = False
    for value in sorted(values):
        place = place_of(value)
        if place is None:
            raise CertificateError(
                f"within is about numbers or dates, and {value[:40]!r} is neither"
            )
        dated, clocked, at[value] = dated or place[0], clocked or place[1], place[2]
    if dated and not all(map(_DATE.fullmatch, values)):
        raise CertificateError("within is about numbers or dates, and the release has both")
    return _Line(dated, clocked, at)


_MOMENT = timedelta(microseconds=1)


def _end_of(width: Any, line: _Line) -> Callable[[Fraction], Fraction]:
    """Where a window ends that begins at a number."""
    text = str(width) if isinstance(width, (int, str)) and not isinstance(width, bool) else ""
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
    return low if low == high else f"between {low} and {high}"


def _decimal(millionths: int) -> str:
    whole, part = divmod(abs(millionths), 10**6)
    digits = f"{whole:,}.{part:06}".rstrip("0").rstrip(".")
    return f"-{digits}" if millionths < 0 else digits
