"""The steps at which values lie: whole numbers that say how many values could lie between.

Each function gives the steps of some values in order, and for each level of their hierarchy below
the top what limits the steps of its nodes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from foreknow.hierarchy import DateLevels, Intervals
from foreknow.hierarchy_decimals import common_unit, exact
from foreknow.hierarchy_files import Ordered, Tree
from foreknow.sparse import IntArray

# From the place of a node's first value to the first step that the node could hold, and the one
# after its last.
Limits: TypeAlias = Callable[[int], tuple[int, int]]
Steps: TypeAlias = tuple[list[int], list[Limits]]

_LARGEST = 400  # digits; more than any float has
_DAY = 86_400_000_000
_UNITS = (_DAY, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1)  # in microseconds
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


def listed_steps(known: Sequence[Any], hierarchy: Tree | Ordered) -> Steps:
    """The place of values among all that a hierarchy lists; of nodes, all leaves below them."""
    if isinstance(hierarchy, Tree):
        every: list[Any] = list(dict.fromkeys(row[0] for row in hierarchy.rows))
    else:
        every = list(hierarchy.values)
    # Laid out together, each value that occurs comes right before itself in the list.
    levels = hierarchy.levels([*known, *every], "", lambda _: 0)
    listed = levels.order >= len(known)
    before = np.concatenate(([0], np.cumsum(listed)))
    own = np.flatnonzero(~listed)

    def limits_of(nodes: IntArray) -> Limits:
        def limits(first: int) -> tuple[int, int]:
            node = nodes[own[first]]
            a, b = np.searchsorted(nodes, node), np.searchsorted(nodes, node, "right")
            return int(before[a]), int(before[b])

        return limits

    return before[own].tolist(), [limits_of(nodes) for nodes in levels.ancestors[:-1]]


def number_steps(known: Sequence[Any], hierarchy: Intervals | None = None) -> Steps | None:
    """Numbers in units of the last decimal place that any of them needs; None for other values.

    >>> number_steps([20, 25])[0], number_steps([0.25, 2.0])[0]
    ([20, 25], [25, 200])
    """
    kinds = set(map(type, known))
    if not kinds <= {int, float, Decimal}:
        return None
    places, steps = 0, list(known)
    if kinds != {int}:
        decimals = [exact(number) for number in known]
        if not all(map(_is_usual, decimals)):
            return None
        places, steps = common_unit(decimals)
    if hierarchy is None:
        return steps, []
    # Bounds of intervals may lie between two steps.
    given = [Decimal(str(number)) for number in (hierarchy.origin, *hierarchy.widths)]
    _, (unit, origin, *widths) = common_unit([Decimal(1).scaleb(-places), *given])

    def limits_of(width: int) -> Limits:
        def limits(first: int) -> tuple[int, int]:
            low = origin + (steps[first] * unit - origin) // width * width
            return -(-low // unit), -(-(low + width) // unit)

        return limits

    return steps, [limits_of(width) for width in widths]


def _is_usual(number: Decimal) -> bool:
    if not number.is_finite():
        return False
    exponent = number.as_tuple().exponent
    return int(exponent) >= -_LARGEST and number.adjusted() <= _LARGEST


def date_steps(known: Sequence[Any], hierarchy: DateLevels | None = None) -> Steps | None:
    """Moments in the coarsest of days, hours, ... in which all are whole; None for other values.

    >>> date_steps([dt.date(2024, 1, 31), dt.date(2024, 2, 1)])[0]
    [738916, 738917]
    """
    found = [_microseconds(value, clock=hierarchy is not None) for value in known]
    moments = [moment for moment in found if moment is not None]
    if len(moments) < len(known):
        return None
    unit = next(unit for unit in _UNITS if not any(moment % unit for moment in moments))
    steps = [moment // unit for moment in moments]
    periods = () if hierarchy is None else hierarchy.periods

    def limits_of(period: str) -> Limits:
        def limits(first: int) -> tuple[int, int]:
            low, end = _period(period, moments[first] // _DAY)
            return low * _DAY // unit, end * _DAY // unit

        return limits

    return steps, [limits_of(period) for period in periods]


def _microseconds(value: Any, *, clock: bool) -> int | None:
    """A moment on a line; as the clock showed it, or as the instant that it was."""
    if isinstance(value, str) and clock:
        value = dt.datetime.fromisoformat(value)
    if not isinstance(value, (dt.date, dt.time)):
        return None
    days = value.toordinal() if isinstance(value, dt.date) else 0
    found = days * _DAY
    if isinstance(value, (dt.datetime, dt.time)):
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        found += seconds * 1_000_000 + value.microsecond
        offset = None if clock else value.utcoffset()
        if offset is not None:
            found -= offset // dt.timedelta(microseconds=1)
    return found


def _period(period: str, day: int) -> tuple[int, int]:
    """The first day of a calendar period, and the one after its last, by one of its days.

    >>> [dt.date.fromordinal(n).isoformat() for n in _period("quarter", 738_916)]
    ['2024-01-01', '2024-04-01']
    """
    if period == "day":
        return day, day + 1
    months = _MONTHS[period]
    of = dt.date.fromordinal(day)
    first = (of.year * 12 + of.month - 1) // months * months
    return _first_of(first), _first_of(first + months)


def _first_of(month: int) -> int:
    """The first day of a month, numbered from that of the year 0."""
    year, month = divmod(month, 12)
    if year < 1:
        return 1
    if year > dt.MAXYEAR:
        return dt.date.max.toordinal() + 1
    return dt.date(year, month + 1, 1).toordinal()
