"""The verifier's own worst window: numbers and dates that lie near each other as one secret.

Values are read from their texts, exactly. The windows that begin at an occurring value are enough,
since each other window holds no more than one of these. As the window moves over the values, what
a group has in it changes at few of them; between two changes its cell is the same.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, floor
from typing import Any, NamedTuple

from foreknow.errors import CertificateError
from foreknow.verifier.counts import Group
from foreknow.verifier.facts import Cell, no_relative, odds_single

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE]([-+]?\d{1,4}))?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?P<clock>[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_SPAN = re.compile(r"(\d{1,12}) ?(day|hour|minute|second)s?", re.ASCII)
_WIDTH = re.compile(r"\d{1,400}(\.\d{1,400}|/\d{1,400})?([eE][-+]?\d{1,3})?", re.ASCII)
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
# A number of more digits than this is not read.
_DIGITS = 400
_DAY = timedelta(days=1)


class _Line(NamedTuple):
    """Where the values lie: numbers as they are, dates in days since the year 1."""

    dates: bool
    clocks: bool  # whether a date has a time of day
    at: Mapping[str, Fraction]


class _Held(NamedTuple):
    """A group: its place among all, its people, and where its values lie, with how often each."""

    order: int
    people: int
    places: list[int]
    counts: list[int]


class _Lying(NamedTuple):
    """A cell, and the windows from `first` to `last` at which a group has it."""

    cell: Cell
    first: int
    last: int
    group: int


def worst_near(
    held: Mapping[Group, tuple[int, Mapping[str, int]]],
    within: Any,
    l: int,  # noqa: E741
    k: int,
    m: int,
) -> tuple[str | None, Group | None, Fraction]:
    """The window, the target's group and the probability at which the adversary is surest.

    Of several that are as bad it is one that begins first; and its first group, as in `held`.
    """
    line = _line({value for _, bag in held.values() for value in bag})
    numbers = sorted(set(line.at.values()))
    end = _end_of(within, line)
    reach = [bisect_right(numbers, end(number)) - 1 for number in numbers]
    place = {number: i for i, number in enumerate(numbers)}
    groups = [_held(i, *of, line, place) for i, of in enumerate(held.values())]
    found = min(_candidates(groups, reach, l, k, m), default=None)
    if found is None:
        return None, None, Fraction(0)
    odds, window, order = found
    return _words(numbers[window], end, line), list(held)[order], 1 / (1 + odds)


def _held(
    order: int, people: int, bag: Mapping[str, int], line: _Line, place: Mapping[Fraction, int]
) -> _Held:
    many: dict[int, int] = {}
    for value, count in bag.items():
        at = place[line.at[value]]
        many[at] = many.get(at, 0) + count
    places = sorted(many)
    return _Held(order, people, places, [many[at] for at in places])


def _candidates(
    groups: list[_Held],
    reach: list[int],
    l: int,  # noqa: E741
    k: int,
    m: int,
) -> Iterator[tuple[Fraction, int, int]]:
    """Odds against, window and group: with everybody in one group, and in two."""
    firsts: dict[Cell, tuple[int, int]] = {}
    lying: list[_Lying] = []
    for group in groups:
        for each in _lying(group, reach, l, bool(m)):
            lying.append(each)
            # It has the same up to the last, which mostly begins at a value of its own.
            own = each.last, each.group
            firsts[each.cell] = min(firsts.get(each.cell, own), own)
    for cell, (window, order) in firsts.items():
        yield _target(cell, k) * _family(cell, k + 1, m), window, order
    if not m:
        return
    cells = set(firsts)
    t = {
        known: _painted(lying, len(reach), {c: _target(c, known) for c in cells})
        for known in (0, k)
    }
    v = {
        known: _painted(lying, len(reach), {c: _family(c, known, m) for c in cells})
        for known in (0, k)
    }
    for target, family in ((t[0], v[k]), (t[k], v[0])):
        for window, (one, other) in enumerate(zip(target, family, strict=True)):
            yield one[0] * other[0], window, one[1]


def _target(cell: Cell, known: int) -> Fraction:
    return Fraction(*odds_single(cell, known))


def _family(cell: Cell, known: int, m: int) -> Fraction:
    return Fraction(*no_relative(cell.people, cell.holders, known, m)) if m else Fraction(1)


def _lying(group: _Held, reach: list[int], l: int, everywhere: bool) -> Iterator[_Lying]:  # noqa: E741
    """What a group has in windows: in those that begin at its own values, or in all."""
    _, people, places, counts = group
    sums = [0, *accumulate(counts)]
    frequent = sorted(range(len(places)), key=lambda i: -counts[i])
    changes = [at + 1 for at in places]
    if everywhere:
        changes = sorted({*changes, *(bisect_left(reach, at) for at in places)})
        windows = [(first, after - 1) for first, after in pairwise(changes)]
    else:
        windows = [(at, at) for at in places]
    for first, last in windows:
        begin, end = bisect_left(places, first), bisect_right(places, reach[first])
        if begin == end:
            continue
        others, left = 0, l
        for i in frequent:
            if not left:
                break
            if not begin <= i < end:
                others, left = others + counts[i], left - 1
        cell = Cell(people, sums[end] - sums[begin], (others,))
        yield _Lying(cell, first, last, group.order)


def _painted(
    lying: list[_Lying], n_windows: int, ratios: Mapping[Cell, Fraction]
) -> list[tuple[Fraction, int]]:
    """For each window the least ratio of what lies there, and the first group that has it."""
    rank = {ratio: i for i, ratio in enumerate(sorted(set(ratios.values())))}
    of = {cell: rank[ratio] for cell, ratio in ratios.items()}
    found: list[tuple[Fraction, int]] = [(Fraction(0), 0)] * n_windows
    bare = list(range(n_windows + 1))  # from each window on, the next that is not painted
    for each in sorted(lying, key=lambda each: (of[each.cell], each.group)):
        window = _next(bare, each.first)
        while window <= each.last:
            found[window] = ratios[each.cell], each.group
            bare[window] = window + 1
            window = _next(bare, window)
    return found


def _next(bare: list[int], window: int) -> int:
    while bare[window] != window:
        bare[window] = window = bare[bare[window]]
    return window


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
