"""Levels: how fine labels may be: numbers from some on as one, a hierarchy from a level on.

What is not to be shown is not there: methods see a column only as fine as it may be published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foreknow.data.engines.columns import narrowest
from foreknow.data.hierarchy import DateLevels, Intervals, Tree
from foreknow.data.labels import text_of
from foreknow.data.meaning import MISSING, OR_MORE, UP_TO
from foreknow.errors import SchemaError
from foreknow_judge.numbers import exact, read_number

if TYPE_CHECKING:
    from foreknow.data.engines import Column
    from foreknow.data.microdata import Attribute


class Level(NamedTuple):
    """How fine a column may be published."""

    top: Any = None  # numbers from this one on are one value
    at_least: int = 0  # labels are of this level of its hierarchy, or of a coarser one

    def with_(self, second: Level) -> Level:
        """What keeps both."""
        tops = [level.top for level in (self, second) if level.top is not None]
        return Level(min(tops, default=None), max(self.at_least, second.at_least))


def topped(column: Column, top: Any) -> tuple[Column, Any]:
    """A column of numbers with all from a top on as that number, and the number."""
    first = int(column.domain[0] is None)
    if column.kind != "number":
        raise SchemaError(
            f"levels: a top is for numbers, and {column.name!r} is read as {column.kind}; say "
            f'at_least, or types = {{ {column.name} = "number" }} in [schema]'
        )
    if all(type(value) is int for value in column.domain[first:]) and top != int(top):
        raise SchemaError(f"levels: the numbers of {column.name!r} are whole, and top is {top}")
    top = int(top) if top == int(top) else Decimal(top.numerator) / Decimal(top.denominator)
    below = [value is None or exact(value) < exact(top) for value in column.domain]
    n_below = below.index(False) if False in below else len(below)
    codes = np.minimum(column.codes, n_below).astype(column.codes.dtype)
    return replace(column, codes=codes, domain=[*column.domain[:n_below], top][: len(below)]), top


def without_end(attribute: Attribute, top: Any) -> Attribute:
    """An attribute of such a column, in whose labels numbers from the top on have no end."""
    return replace(
        attribute, labels=tuple(opened(names, top) for names in attribute.labels), top=top
    )


def opened(names: Sequence[Any], top: Any) -> tuple[Any, ...]:
    """Ascending labels of numbers, of which the last has no end if it reaches a number."""
    *lower_names, last = names
    low, _, high = (last or "").partition(UP_TO)
    end = read_number((high or low).removeprefix("<"))
    if end is None:
        return tuple(names)
    reaches = end > top if high.startswith("<") else end >= top
    return (*lower_names, f"{low}{OR_MORE}" if reaches else last)


def from_level(attribute: Attribute, level: int, hierarchy: Any) -> Attribute:
    """The same whose values are the nodes of a level of its hierarchy, and coarser ones above.

    What is called like something finer gets its level, as a reader of the hierarchy needs it.
    """
    if level >= len(attribute.ancestors):
        raise SchemaError(
            f"levels: the hierarchy of {attribute.name!r} has {len(attribute.ancestors)} levels, "
            f"of which the last hides everything, and at_least is {level}; leave the column out"
        )
    nodes, *above = attribute.ancestors[level - 1 :]
    leaf = np.searchsorted(nodes, np.arange(int(nodes.max()) + 1))
    finer = _finer(attribute, level, hierarchy)
    span_of_name: dict[str, tuple[int, int]] = {}  # of a name, its first and last value
    names = []
    for node_level, (level_nodes, labels) in enumerate(
        zip(attribute.ancestors[level - 1 :], attribute.labels[level - 1 :], strict=True), level
    ):
        level_names = []
        for node, label in enumerate(labels):
            inside = np.flatnonzero(level_nodes == node)
            span = int(inside[0]), int(inside[-1])
            clear = label not in finer and span_of_name.get(label, span) == span
            level_names.append(label if clear else f"{label} (level {node_level})")
            span_of_name.setdefault(label, span)
        names.append(tuple(level_names))
    lacks = attribute.domain[0] is None
    return replace(
        attribute,
        codes=nodes.astype(narrowest(len(leaf)))[attribute.codes],
        domain=[*[None] * lacks, *names[0][lacks:]],
        ancestors=tuple(level_nodes[leaf] for level_nodes in above),
        labels=tuple(names[1:]),
        positions=np.arange(len(leaf), dtype=np.float64),
        listed=frozenset(),
        top=None,
    )


def _finer(attribute: Attribute, level: int, hierarchy: Any) -> set[str]:
    """What is called below a level of a hierarchy; numbers and periods mean the same on each."""
    if isinstance(hierarchy, (Intervals, DateLevels)):
        return set()
    if isinstance(hierarchy, Tree):
        return {cell for row in hierarchy.rows for cell in row[:level]}
    return {*map(text_of, attribute.domain)}.union(*attribute.labels[: level - 1]) - {MISSING}
