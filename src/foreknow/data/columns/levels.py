"""Levels: how fine labels may be: the highest or lowest values as one, a level of a hierarchy.

What is not to be shown is not there: methods see a column only as fine as it may be published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from foreknow.data.columns.hierarchy import DateLevels, Intervals, Tree
from foreknow.data.columns.level_limits import Level
from foreknow.data.labels.label_meaning import MISSING, UP_TO, from_on, meanings_of, up_to
from foreknow.data.labels.labels import text_of
from foreknow.data.tables.columns import narrowest
from foreknow.errors import SchemaError
from foreknow_judge.numbers import exact

if TYPE_CHECKING:
    from foreknow.data.columns.attribute import Attribute
    from foreknow.data.tables.columns import Column


def coded_at_ends(column: Column, level: Level) -> tuple[Column, Level]:
    """A column with its highest values as one value, and its lowest; and a `Level` with these two.

    `level` says from which value on the former are, and up to which value the latter.

    >>> from foreknow.data.tables.columns import Column
    >>> ages = Column("age", np.array([0, 1, 2, 3]), [17, 18, 60, 95], "number", True)
    >>> coded_at_ends(ages, Level(top=90, bottom=20))[0].domain
    [20, 60, 90]
    """
    is_ordered = column.kind in ("number", "date")
    if not is_ordered or any(isinstance(value, datetime) for value in column.domain):
        what = "a time of day" if column.kind == "date" else column.kind
        raise SchemaError(
            f"levels: top and bottom are for numbers and days, and {column.name!r} is read as "
            f'{what}; say at_least, or types = {{ {column.name} = "number" }} in [schema]'
        )
    top = _value_of_limit(column, level.top, "top")
    bottom = _value_of_limit(column, level.bottom, "bottom")
    first = int(column.domain[0] is None)  # 1 if the first value is a null
    values = column.domain[first:]
    positions = [_position(value) for value in values]
    # Values before `start` become the bottom, and values from `end` on become the top.
    start, end = 0, len(values)
    if bottom is not None:
        start = sum(position <= _position(bottom) for position in positions)
    if top is not None:
        end = sum(position < _position(top) for position in positions)
    # The new code of each value: the bottom has one code in place of `start` of them, and the top
    # is one code. A null keeps its code.
    new_codes = np.minimum(np.arange(len(values)), end) - max(start - 1, 0)
    new_code = np.concatenate([np.arange(first), np.maximum(new_codes, 0) + first])
    domain = [*column.domain[:first], *values[start:end]]
    if start:
        domain.insert(first, bottom)
    if end < len(values):
        domain.append(top)
    codes = new_code.astype(column.codes.dtype)[column.codes]
    return replace(column, codes=codes, domain=domain), Level(top, bottom=bottom)


def _value_of_limit(column: Column, limit: Any, key: str) -> Any:
    """A limit as a value of the column, which stands for all beyond it; None without a limit.

    `limit` is a fraction or a date; `key` is "top" or "bottom", for messages.
    """
    if limit is None:
        return None
    if column.kind == "date":
        if isinstance(limit, date):
            return limit
        day = "1936-12-31" if key == "bottom" else "2020-01-01"
        raise SchemaError(
            f"levels: {column.name!r} has dates, and its {key} is {limit}; write a date, such as "
            f'{key} = "{day}"'
        )
    if isinstance(limit, date):
        raise SchemaError(
            f"levels: {column.name!r} has numbers, and its {key} is {limit}; write a number"
        )
    values = column.domain[int(column.domain[0] is None) :]
    if all(type(value) is int for value in values) and limit != int(limit):
        raise SchemaError(
            f"levels: the numbers of {column.name!r} are whole, and {key} is {limit}; write a "
            "whole number"
        )
    # A fraction such as 1/3 cannot be written as a value of the column.
    end = Decimal(limit.numerator) / Decimal(limit.denominator)
    if exact(end) != limit:
        raise SchemaError(
            f"levels: {key} of {column.name!r} is {limit}, which has no short decimal; write one, "
            f"such as {float(limit):.4g}"
        )
    return int(limit) if limit == int(limit) else end


def _position(value: Any) -> Fraction | int:
    """Where a number or a day lies among others."""
    return value.toordinal() if isinstance(value, date) else Fraction(exact(value))


def with_open_ends(attribute: Attribute, level: Level) -> Attribute:
    """An attribute whose lowest and highest labels are open where values were made one.

    `level` has the values that stand for those beyond them.
    """
    ended = replace(attribute, top=level.top, bottom=level.bottom)
    return replace(ended, labels=tuple(opened(ended, names) for names in attribute.labels))


def has_dates(attribute: Attribute) -> bool:
    """True if the values that stand for those beyond them are days."""
    return isinstance(attribute.top, date) or isinstance(attribute.bottom, date)


def reached_ends(attribute: Attribute, names: Sequence[Any]) -> tuple[bool, bool]:
    """Whether the first of ascending labels covers the bottom, and whether the last covers the top.

    Bottom and top are the values of the attribute that stand for all beyond them.
    """
    first = int(attribute.domain[0] is None)  # 1 if the first value is a null
    if not names[first:]:
        return False, False
    bottom, top = attribute.bottom, attribute.top
    is_bottom = bottom is not None and _reaches(names[first], bottom=bottom)
    return is_bottom, top is not None and _reaches(names[-1], top=top)


def opened(attribute: Attribute, names: Sequence[Any]) -> tuple[Any, ...]:
    """Ascending labels, of which the first and last are open if they cover bottom and top.

    So "90 to 94" becomes "90 or more". A label that is open at both ends is ``*``.
    """
    first = int(attribute.domain[0] is None)  # 1 if the first value is a null
    texts, is_date = [*names], has_dates(attribute)
    is_bottom, is_top = reached_ends(attribute, names)
    if is_top and is_bottom and len(texts) == first + 1:
        return (*texts[:first], "*")
    if is_top:
        texts[-1] = from_on(texts[-1].partition(UP_TO)[0], is_date)
    if is_bottom:
        texts[first] = up_to(texts[first].rpartition(UP_TO)[2], is_date)
    return tuple(texts)


def _reaches(label: str, top: Any = None, bottom: Any = None) -> bool:
    """True if a label covers values from a top on, or up to a bottom; one of both is given."""
    is_day = isinstance(top if bottom is None else bottom, date)
    kinds = (datetime,) if is_day else (int, Decimal)
    for way in meanings_of(label):
        if not isinstance(way.lower, kinds) or not isinstance(way.upper, kinds):
            continue
        low: Any = way.lower
        high: Any = way.upper
        # A period ends where the next begins: its last day is a moment before.
        if is_day:
            low, high = low.date(), (high - timedelta(microseconds=1)).date()
        if bottom is not None:
            return bool(low <= bottom)
        # A label such as "80 to <90" ends below 90.
        has_high = is_day or not way.below
        return bool(high >= top if has_high else high > top)
    return False


def from_level(attribute: Attribute, level: int, hierarchy: Any) -> Attribute:
    """An attribute whose values are the nodes of one level of its hierarchy, counted from 1.

    A node that is called like something finer gets its level in its name, as a reader of the
    hierarchy needs it.
    """
    if level >= len(attribute.ancestors):
        raise SchemaError(
            f"levels: the hierarchy of {attribute.name!r} has {len(attribute.ancestors)} levels, "
            f"of which the last hides everything, and at_least is {level}; leave the column out"
        )
    # The node of each value (leaf) at this level and at those above.
    nodes, *nodes_above = attribute.ancestors[level - 1 :]
    finer_names = _names_below(attribute, level, hierarchy)
    names, *names_above = _names_from_level(attribute, level, finer_names)
    # The first leaf of each node has the nodes above it.
    first_leaf = np.searchsorted(nodes, np.arange(int(nodes.max()) + 1))
    first = int(attribute.domain[0] is None)  # 1 if the first value is a null
    return replace(
        attribute,
        codes=nodes.astype(narrowest(len(first_leaf)))[attribute.codes],
        domain=[*[None] * first, *names[first:]],
        ancestors=tuple(level_nodes[first_leaf] for level_nodes in nodes_above),
        labels=tuple(names_above),
        positions=np.arange(len(first_leaf), dtype=np.float64),
        listed=frozenset(),
        top=None,
        bottom=None,
    )


def _names_from_level(
    attribute: Attribute, level: int, finer_names: set[str]
) -> list[tuple[str, ...]]:
    """The names of the nodes at each level, from `level` up to the top.

    A name that is also one of `finer_names`, or means other values at a lower level, is followed by
    its level.
    """
    span_of_name: dict[str, tuple[int, int]] = {}  # its first and its last leaf
    names = []
    for node_level in range(level, len(attribute.ancestors) + 1):
        nodes, labels = attribute.ancestors[node_level - 1], attribute.labels[node_level - 1]
        level_names = []
        for node, label in enumerate(labels):
            # Values of a node stand side by side: the first and the last show which it holds.
            leaves = np.flatnonzero(nodes == node)
            span = int(leaves[0]), int(leaves[-1])
            is_clear = label not in finer_names and span_of_name.get(label, span) == span
            level_names.append(label if is_clear else f"{label} (level {node_level})")
            span_of_name.setdefault(label, span)
        names.append(tuple(level_names))
    return names


def _names_below(attribute: Attribute, level: int, hierarchy: Any) -> set[str]:
    """The names of values and nodes below a level of a hierarchy; none for numbers and periods.

    Names of numbers and periods show what they cover, so none is taken for another.
    """
    if isinstance(hierarchy, (Intervals, DateLevels)):
        return set()
    if isinstance(hierarchy, Tree):
        return {cell for row in hierarchy.rows for cell in row[:level]}
    return {*map(text_of, attribute.domain)}.union(*attribute.labels[: level - 1]) - {MISSING}
