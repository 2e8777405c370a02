"""Grids: the cells in which numbers and dates are published where no hierarchy says how.

The exact extremes of a group are somebody's values. A grid is chosen for the whole table: labels
are made of its whole cells, and tell nothing of where in a cell anybody is.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.columns.hierarchy import (
    DateLevels,
    Intervals,
    Levels,
    integers,
    not_a_number,
    period_of,
)
from foreknow.numbers import decimal_text
from foreknow.shown_numbers import common_unit, read_moment
from foreknow_judge.numbers import exact

Grid: TypeAlias = Intervals | DateLevels

# A value that so many people of the table share, or so many values, may be written as they are.
SHARED, FEW = 5, 20
# So many of so many values must lie in a cell with another value, and with enough people.
_HIDDEN, _OF = 3, 4


def grid_of(values: Sequence[Any], people: IntArray) -> Grid | None:
    """The finest readable grid that hides values; None if they may be written as they are.

    A grid hides values if three in four of them lie in cells with another value, and with 5 people
    or more. If none does, the coarsest one is returned. At most 20 values of 5 people or more each
    need no grid; numbers that are not finite have none. `values` are ascending, and `people` is how
    many people have each of them.

    >>> grid_of(range(20, 60), np.full(40, 3)), grid_of(range(20, 60), np.full(40, 1))
    (Intervals(widths=(2,), origin=0), Intervals(widths=(5,), origin=0))
    """
    if len(values) <= FEW and people.min(initial=SHARED) >= SHARED:
        return None
    if isinstance(values[0], (dt.date, dt.time)):
        periods = ["hour", "day"]
        if isinstance(values[0], dt.date):
            periods += ["month", "quarter", "year", "decade", "century"]
        levels = DateLevels(periods).levels(values, "", lambda _: 0)
        for period, cells in zip(periods, levels.ancestors, strict=False):
            if _hides(cells, people[levels.order]):
                return DateLevels([period])
        return DateLevels(periods[-1:])
    if any(map(not_a_number, values)):
        return None
    # Decimals as whole numbers of their last place, so that cells are computed exactly.
    decimals, units = 0, list(values)
    if not all(type(value) is int for value in values):
        decimals, units = common_unit([exact(value) for value in values])
    positions = integers(units)
    # With cells wider than `largest`, only the two cells beside 0 are left: a wider one does not
    # hide more.
    largest = max(int(positions[-1]), -1 - int(positions[0]))
    width = next(
        width
        for width in _widths(positions)
        if width > largest or _hides(positions // width, people)
    )
    return Intervals([decimal_text(width, decimals) if decimals else width])


def _widths(positions: NDArray[Any]) -> Iterator[int]:
    """Yield 1, 2 and 5 times each power of ten, ascending, from a width that may hide values.

    `positions` are the values in ascending order, as whole numbers.
    """
    least_width = 2
    if len(positions) > 1:
        span = [positions[-1] - positions[0] + 1]
        gaps = np.concatenate((span, np.diff(positions), span))
        nearest = np.sort(np.minimum(gaps[:-1], gaps[1:]))  # of each value, its nearest other
        # Three in four values, rounded up, must share a cell with their nearest other value, so a
        # cell must be wider than that many of these distances.
        n_hidden = -(-_HIDDEN * len(positions) // _OF)
        least_width = max(2, int(nearest[n_hidden - 1]) + 1)
    # Powers of ten from below the least width on.
    for power in count(max(0, len(str(least_width)) - 2)):
        for factor in (1, 2, 5):
            width = factor * 10**power
            if width >= least_width:
                yield width


def _hides(cells: NDArray[Any], people: IntArray) -> bool:
    """True if three in four values lie in cells with another value and with 5 people or more.

    `cells` has the cell of each value, in ascending order, and `people` how many have the value.
    """
    is_first = np.concatenate(([True], cells[1:] != cells[:-1]))  # in its cell
    starts = np.flatnonzero(is_first)
    n_values = np.diff(starts, append=len(cells))  # of each cell
    is_hiding = (n_values > 1) & (np.add.reduceat(people, starts) >= SHARED)
    return int(n_values[is_hiding].sum()) * _OF >= _HIDDEN * len(cells)


def words_of(grid: Grid) -> str:
    """A grid in words, to follow "written".

    >>> words_of(Intervals(["0.5"])), words_of(DateLevels(["month"]))
    ('in steps of 0.5', 'by month')
    """
    if isinstance(grid, DateLevels):
        return f"by {grid.periods[0]}"
    return f"in steps of {grid.widths[0]}"


def ends_of(grid: Grid, levels: Levels, values: Sequence[Any]) -> NDArray[np.float64]:
    """The start and the end of each cell, as its label says; shape (cells, 2).

    Dates are in days. A cell of nulls is left out.
    """
    ends = []
    cell_of_leaf, names = levels.ancestors[0], levels.labels[0]  # cells are the first level
    first_leaves = np.searchsorted(cell_of_leaf, np.arange(len(names)))
    for name, leaf in zip(names, first_leaves.tolist(), strict=True):
        # A value in the cell, by which the period around it is found.
        value = values[int(levels.order[leaf])]
        if value is None:
            continue
        if isinstance(grid, Intervals):
            low, _, end = name.partition(" to ")
            ends.append((float(low), float(end.removeprefix("<") or low)))
            continue
        moment = read_moment(value)
        assert moment is not None or isinstance(value, dt.time)
        hour = value.hour if moment is None else moment.toordinal() * 24 + moment.hour
        low_hour, end_hour = period_of(grid.periods[0], hour)
        ends.append((low_hour / 24, end_hour / 24))
    return np.array(ends, dtype=np.float64).reshape(-1, 2)
