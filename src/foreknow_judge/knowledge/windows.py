"""The worst window: numbers or dates within some width of each other are one secret.

Values are read from their texts, exactly. The windows that begin at an occurring value are enough,
since every other window holds no more than one of these. As the window moves over the values, what
a group has in it changes only at a few values; between two changes its cell stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np

from foreknow_judge.counts.group_bags import Group, GroupBags, Ints, distinct
from foreknow_judge.counts.labels import DAY, MOMENT, as_whole, value_of
from foreknow_judge.errors import CertificateError
from foreknow_judge.knowledge.facts import (
    DistinctProfiles,
    LeastOdds,
    Theorem2,
    is_less,
    least_of,
    times,
    worst_of,
)

_SPAN = re.compile(r"(\d{1,12}) ?(day|hour|minute|second)s?", re.ASCII)
_WIDTH = re.compile(r"\d{1,400}(\.\d{1,400}|/\d{1,400})?([eE][-+]?\d{1,3})?", re.ASCII)
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
# How many cells are processed at a time.
_AT_ONCE = 1 << 19


class _Line(NamedTuple):
    """The positions of values: numbers as they are, dates in microseconds since the year 1."""

    dates: bool
    clocks: bool  # whether some date has a time of day
    at: Mapping[str, Fraction]


def worst_near(
    bags: GroupBags, width: Any, l: int, k: int, m: int
) -> tuple[str | None, Group | None, Fraction]:
    """The worst case: the window as text, the target's group and the adversary's probability.

    A window holds the values from one number, or date, up to `width` above it. The adversary rules
    out `l` values of the target, and knows `k` other people and `m` people who are linked to the
    target. First each group is bounded over all windows; then the windows of those groups that
    may be worst are judged. Without a value, window and group are None.
    """
    line = _line(set(bags.names))
    values = [*set(line.at.values())]
    numbers = [number for _, number in sorted(zip(as_whole(values), values, strict=True))]
    end = _end_of(width, line)
    # For a window that begins at each number: how many numbers lie up to its end.
    reach = np.array(_reach([end(number) for number in numbers], numbers), np.int64)
    place_of_number = {number: i for i, number in enumerate(numbers)}
    positions = np.array([place_of_number[line.at[name]] for name in bags.names], np.int64)
    bags_on_line = GroupBags(
        bags.labels,
        bags.names,
        bags.of_group,
        positions[bags.codes],
        bags.counts,
    )
    law, l = Theorem2.of("single", k, m), min(l, len(numbers))
    bounds = _bounds(bags_on_line, reach, l)
    worst = worst_of(bounds, law)
    if worst is None:
        return None, None, Fraction(0)
    groups = np.array([worst.group])
    # First the group of the lowest bound is judged exactly; then all groups whose bound is as low
    # as that, since no other group can be worse.
    for _ in range(2):
        in_groups = np.isin(bags_on_line.of_group, groups)
        columns = (
            row[in_groups]
            for row in (bags_on_line.of_group, bags_on_line.codes, bags_on_line.counts)
        )
        worst_groups = GroupBags(bags.labels, bags.names, *columns)
        runs, _ = _runs(
            worst_groups, reach, l, worst_groups.of_group, worst_groups.codes, worst_groups.codes
        )
        worst = worst_of(runs, law) or worst
        groups = bounds.group[_may_reach(bounds.rows, law, worst.odds, by_itself=True)]
    if m and worst.odds:  # linked people may be in a group without the first value of the window
        worst = min([worst, *_of_all(worst_groups, reach, l, law, worst.odds)])
    return (
        _window_text(numbers[worst.value], end, line),
        bags.group(worst.group),
        worst.chance,
    )


def _reach(ends: Sequence[Fraction], numbers: Sequence[Fraction]) -> list[int]:
    """For each end, the position of the last number up to it; both are in order."""
    last_positions, position = list[int](), 0
    for end in ends:
        while position < len(numbers) and numbers[position] <= end:
            position += 1
        last_positions.append(position - 1)
    return last_positions


def _bounds(placed: GroupBags, reach: Ints, l: int) -> DistinctProfiles:
    """A profile for each group that is at least as bad as that of any window of values.

    A profile is the people of the group, those with a value in the window, and those with one of
    the l most frequent values outside. Windows that begin at one of the group's own values are
    enough: any other window holds no more of its values than one of these. `reach` says where a
    window ends that begins at each place.
    """
    group, all_cells = placed.of_group, np.arange(len(placed.codes))
    # For the window that begins at each cell (value of a group): the first cell behind its end.
    end = _cell_positions(placed, len(reach), group, reach[placed.codes], "right")
    # The most people with a value in one window, for each group; those without any are left out.
    holders = placed.max_by_group(_sums(placed.counts, all_cells, end))
    groups = np.flatnonzero(holders)
    rows = np.stack([placed.people, holders, placed.top_sum(l)], 1)[groups]
    return DistinctProfiles(0 * groups, groups, rows)


def _of_all(
    groups: GroupBags, reach: Ints, l: int, law: Theorem2, limit: Fraction
) -> Iterator[LeastOdds]:
    """Yield the worst cases of windows whose odds may be as low as `limit`, block by block.

    Here the target and the linked people may be in different groups, so all groups with a value in
    the same window are judged together. A block is some neighbouring windows, to bound the memory.
    """
    # The profile of a group changes where the window loses or gains one of its values: between
    # two changes lie runs of windows, each from a first to a last one.
    # A value at place c is in windows that begin from `enters` to c; one number says group and
    # place, so that changes of all groups are sorted at once.
    enters, span = np.searchsorted(reach, groups.codes), len(reach) + 1
    keys = groups.of_group * span
    changes = np.unique(np.concatenate([keys + groups.codes + 1, keys + enters]))
    group, first, last = changes[:-1] // span, changes[:-1] % span, changes[1:] % span - 1
    same = group == changes[1:] // span  # no run reaches from one group into the next
    runs, last = _runs(groups, reach, l, group[same], first[same], last[same])
    may_be_worst = _may_reach(runs.rows, law, limit)
    value = runs.value[may_be_worst]
    last = last[may_be_worst]
    group = runs.group[may_be_worst]
    rows = runs.rows[may_be_worst]
    # How many runs include each window: those that have begun, less those that have ended.
    covering = np.cumsum(np.bincount(value, minlength=span) - np.bincount(last + 1, None, span))
    block = np.cumsum(covering) // _AT_ONCE
    for low, high in pairwise([*np.unique(block, return_index=True)[1].tolist(), span]):
        overlapping = np.flatnonzero((value < high) & (last >= low))
        begin, end = np.maximum(value[overlapping], low), np.minimum(last[overlapping], high - 1)
        # A row for each window of each run.
        n_windows = end - begin + 1
        run = np.repeat(overlapping, n_windows)
        start = np.repeat(np.cumsum(n_windows) - n_windows, n_windows)
        windows = np.repeat(begin, n_windows) + np.arange(len(run)) - start
        worst = worst_of(DistinctProfiles(windows, group[run], rows[run]), law)
        yield from [] if worst is None else [worst]


def _may_reach(rows: Ints, law: Theorem2, highest_odds: Fraction, by_itself: bool = False) -> Ints:
    """Which profiles may have odds of at most `highest_odds`: a bool for each row.

    A profile is the numbers of a group in a window. It may be the target's group, with the linked
    people in the best other group, or theirs, with the best target. With `by_itself`, both may also
    be in the one group.
    """
    first, profile_of_row = distinct(*rows.T)
    profiles = rows[first].tolist()
    limit = highest_odds.numerator, highest_odds.denominator
    reaches_odds = np.array(
        [by_itself and not is_less(limit, law.least([profile])[0]) for profile in profiles], bool
    )
    if law.m:
        # As if all known people stood beside both, the target and the linked people: no real
        # odds are lower than these.
        against = [law.against(profile, law.k) for profile in profiles]
        none = [law.none_linked(profile, law.k) for profile in profiles]
        for odds_of_profiles, partner_odds in ((against, none), (none, against)):
            best = least_of(partner_odds)
            reaches_odds |= np.array(
                [not is_less(limit, times(odds, best)) for odds in odds_of_profiles]
            )
    return reaches_odds[profile_of_row]


def _runs(
    groups: GroupBags, reach: Ints, l: int, group: Ints, first: Ints, last: Ints
) -> tuple[DistinctProfiles, Ints]:
    """The profile of each `group` in windows that begin from `first` to `last`, and the last ones.

    All windows of such a run hold the same values of the group. Runs without any are left out. A
    profile is the people of the group, those with a value in the window, and those with one of the
    l most frequent values outside.
    """
    # The cells (values of the group) in the window that begins at `first`: from `begin` to `end`.
    begin = _cell_positions(groups, len(reach), group, first, "left")
    end = _cell_positions(groups, len(reach), group, reach[first], "right")
    is_filled = begin < end
    group, first, last, begin, end = (row[is_filled] for row in (group, first, last, begin, end))
    holders, other_counts = _sums(groups.counts, begin, end), _outside(groups, group, begin, end, l)
    rows = np.stack([groups.people[group], holders, other_counts], 1)
    return DistinctProfiles(first, group, rows), last


def _cell_positions(groups: GroupBags, n_values: int, group: Ints, value: Ints, side: Any) -> Ints:
    """The position among all cells where those of a group up to a value begin or end (`side`).

    Values are numbers below `n_values`.
    """
    return np.searchsorted(
        groups.of_group * n_values + groups.codes, group * n_values + value, side
    )


def _sums(of_cell: Ints, begin: Ints, end: Ints) -> Ints:
    """The sums over the cells from each `begin` up to its `end`."""
    sums = np.append(0, np.cumsum(of_cell))
    return np.asarray(sums[end] - sums[begin])


def _outside(groups: GroupBags, group: Ints, begin: Ints, end: Ints, l: int) -> Ints:
    """How many people have one of the l most frequent values of their group outside the window.

    `group`, and `begin` and `end` of its cells in the window, have an entry for each window. Values
    are gone through by rank, in all windows at once, until each has l of them.
    """
    frequent = np.lexsort((-groups.counts, groups.of_group))  # cells by group, the highest first
    n_outside, n_left = np.zeros(len(group), np.int64), np.full(len(group), l)
    unfinished = np.arange(len(group) if l else 0)  # windows that still lack values
    for rank in range(int(groups.n_values.max(initial=0))):
        # Only windows whose group has a value of this rank.
        unfinished = unfinished[groups.n_values[group[unfinished]] > rank]
        if not len(unfinished):
            break
        cell = frequent[groups.starts[group[unfinished]] + rank]
        outside = (cell < begin[unfinished]) | (cell >= end[unfinished])
        n_outside[unfinished] += np.where(outside, groups.counts[cell], 0)
        n_left[unfinished] -= outside
        unfinished = unfinished[n_left[unfinished] > 0]
    return n_outside


# ---- numbers and dates as texts -------------------------------------------------------------


def _line(names: set[str]) -> _Line:
    """The positions of values that are all numbers, or all dates; refused if they are mixed."""
    values = {name: value_of(name) for name in sorted(names)}  # sorted, so the message is the same
    spans = [value for value in values.values() if value is not None]
    dated = any(span.dated for span in spans)
    for name, value in values.items():
        if value is None or value.dated != dated:
            raise CertificateError("not-comparable", "within", value=name)
    at = {name: span.low[0] for name, span in zip(values, spans, strict=True)}
    return _Line(dated, any(span.unit == "moment" for span in spans), at)


def _end_of(width: Any, line: _Line) -> Callable[[Fraction], Fraction]:
    """The function from the beginning of a window to its end, by its width: 5, "10%", "7 days" ...

    A percentage is one of the lower end. Dates have a width of whole days, unless they have times.
    """
    text = str(width) if isinstance(width, (int, str)) and not isinstance(width, bool) else ""
    span = _SPAN.fullmatch(text)
    wide = None
    if span and line.dates:
        wide = Fraction(int(span[1]) * _SECONDS[span[2]], _SECONDS["day"])
    elif not span and (match := _WIDTH.fullmatch(text.removesuffix("%").strip())):
        wide = Fraction(match[0])
    share = text.endswith("%")
    has_whole_width = wide and (wide.denominator == 1 or (span and line.clocks))
    if not wide or (line.dates and (share or not has_whole_width)):
        raise CertificateError("wrong-width", text)
    if share:
        times = 1 + wide / 100
        # Below 0 the end must lie above the beginning, too, so the number is divided.
        return lambda number: number * times if number >= 0 else number / times
    step = wide * DAY if line.dates else wide
    return lambda number: number + step


def _window_text(number: Fraction, end: Callable[[Fraction], Fraction], line: _Line) -> str:
    """The window that begins at a number or date in words: "between LOW and HIGH".

    Dates are counted in microseconds here.
    """
    if line.dates:
        last_moment = (datetime.max - datetime.min) // MOMENT  # Python has no later one
        units = [int(number), min(last_moment, int(end(number)))]
        moments = [datetime.min + unit * MOMENT for unit in units]
        low, high = (str(x) if line.clocks else str(x.date()) for x in moments)
    else:
        low, high = _decimal(floor(number * 10**6)), _decimal(ceil(end(number) * 10**6))
    return low if low == high else f"between {low} and {high}"


def _decimal(millionths: int) -> str:
    """A number of millionths as a decimal number."""
    units, fraction_digits = divmod(abs(millionths), 10**6)
    digits = f"{units:,}.{fraction_digits:06}".rstrip("0").rstrip(".")
    return f"-{digits}" if millionths < 0 else digits
