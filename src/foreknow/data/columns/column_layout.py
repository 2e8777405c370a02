"""Columns as attributes, by hierarchy and level, and in the cells of a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.columns.attribute import Attribute, GridCells, Order
from foreknow.data.columns.grids import Grid, ends_of, grid_of, words_of
from foreknow.data.columns.hierarchy import Hierarchy, Intervals, Ordered
from foreknow.data.columns.level_limits import Level
from foreknow.data.columns.levels import (
    coded_at_ends,
    from_level,
    opened,
    reached_ends,
    with_open_ends,
)
from foreknow.data.schema import Schema
from foreknow.data.tables.columns import (
    Column,
    narrowest,
)
from foreknow.errors import SchemaError
from foreknow.shown_numbers import days_of


def attribute_of(column: Column, schema: Schema, row_of: Callable[[int], int]) -> Attribute:
    """A column as an attribute, by its hierarchy, and no finer than its level in the schema.

    `row_of` returns the first row of the table, from 1, with a code of the column; messages name
    it.
    """
    level = schema.levels.get(column.name, Level())
    hierarchy = cast("Hierarchy | None", schema.hierarchies.get(column.name))
    if level.has_ends and not isinstance(hierarchy, (Intervals, type(None))):
        raise SchemaError(
            f"levels: top and bottom are for columns with intervals, or without a hierarchy, "
            f"and {column.name!r} has another one: say at_least, or leave that hierarchy out"
        )
    if level.has_ends:
        # First, the highest values become one value, and the lowest.
        column, ends = coded_at_ends(column, level)
        attribute = with_open_ends(_as_attribute(column, hierarchy, row_of), ends)
    else:
        attribute = _as_attribute(column, hierarchy, row_of)
    return from_level(attribute, level.at_least, hierarchy) if level.at_least else attribute


def _as_attribute(
    column: Column, hierarchy: Hierarchy | None, row_of: Callable[[int], int]
) -> Attribute:
    """A column as an attribute, its values in the order of its hierarchy, or of its categories.

    Without either, the order stays. `row_of` returns the first row with a code, for messages.
    """
    if hierarchy is None and column.categories:
        hierarchy = Ordered(column.categories)
    if hierarchy is None:
        order: Order = "nominal" if column.kind == "text" else "ordered"
        return Attribute(
            name=column.name,
            codes=column.codes,
            domain=column.domain,
            order=order,
            ancestors=(),
            labels=(),
            positions=_positions(column),
        )
    levels = hierarchy.levels(column.domain, column.name, row_of)
    # Values are numbered anew in leaf order, in which those of every node stand side by side.
    leaf_of_code = np.empty(len(levels.order), dtype=column.codes.dtype)
    leaf_of_code[levels.order] = np.arange(len(levels.order), dtype=column.codes.dtype)
    return Attribute(
        name=column.name,
        codes=leaf_of_code[column.codes],
        domain=[column.domain[code] for code in levels.order.tolist()],
        order="ordered",
        ancestors=levels.ancestors,
        labels=levels.labels,
        positions=np.arange(len(column.domain), dtype=np.float64),
        listed=getattr(hierarchy, "listed", frozenset()),
    )


def in_cells(attribute: Attribute, grid: Grid | None, times: IntArray | None = None) -> Attribute:
    """An attribute whose values are the cells of a grid, such as 20 to 24.

    Without a `grid` it is the finest one that hides the values; if none is needed, the attribute is
    returned unchanged. `times` says how many people each entry is; None: one.
    """
    domain, codes = attribute.domain, attribute.codes
    first = int(domain[0] is None)  # 1 if the first value is a null
    is_of_hierarchy = grid is not None
    if grid is None:
        people = np.bincount(codes, times, len(domain))[first:].astype(np.int64)
        grid = grid_of(domain[first:], people) if len(people) else None
    if grid is None:
        return attribute
    levels = grid.levels(domain, attribute.name, lambda _: 0)
    # `levels.order` has the values in the order of cells; a null is a cell of its own, the first.
    cell_of_value = np.empty(len(domain), dtype=np.int64)
    cell_of_value[levels.order] = levels.ancestors[0]
    names = levels.labels[0]
    # The texts with which each cell begins and ends; "" where it is open.
    texts = []
    for name in names:
        start, _, end = name.partition(" to ")
        texts.append((start, end or start))
    is_bottom, is_top = reached_ends(attribute, names)
    if is_top:
        start, _ = texts[-1]
        texts[-1] = start, ""
    if is_bottom:
        _, end = texts[first]
        texts[first] = "", end
    names = opened(attribute, names)
    starts, ends = _positions_of_cells(ends_of(grid, levels, domain), len(names), first > 0)
    # `values` keeps the exact values, with cells as the first level above them. A hierarchy has
    # that level already.
    ancestors, labels = attribute.ancestors, attribute.labels
    if not is_of_hierarchy:
        ancestors, labels = (cell_of_value, np.zeros_like(cell_of_value)), (names, ("*",))
    # The nodes above a cell are those above its first value.
    first_value = np.searchsorted(cell_of_value, np.arange(len(names)))
    return replace(
        attribute,
        codes=cell_of_value.astype(narrowest(len(names)))[codes],
        domain=[*[None] * first, *names[first:]],
        ancestors=tuple(nodes[first_value] for nodes in ancestors) if is_of_hierarchy else (),
        labels=labels if is_of_hierarchy else (),
        positions=starts,
        cells=GridCells(
            grid,
            values=replace(attribute, ancestors=ancestors, labels=labels),
            texts=tuple(texts),
            ends=ends,
        ),
    )


def _positions_of_cells(
    positions: NDArray[np.float64], n_cells: int, has_null: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where each cell begins, and where it ends, as finite numbers; shapes (cells,).

    `positions`, shape (cells, 2), has both of each cell but that of the null, which is the first
    cell if it `has_null`.
    """
    # Numbers too large for floats have no positions: all cells then count as equally wide. Without
    # any cell (all values are missing) there is no position to look at.
    if len(positions) and not (np.isfinite(np.ptp(positions)) and np.isfinite(positions).all()):
        positions = np.arange(n_cells - has_null)[:, None] + np.array([0.0, 1.0])
    if has_null:  # it lies before the first cell, by the mean width of cells
        gap = 1.0
        if len(positions):
            gap = (positions[-1, 1] - positions[0, 0]) / len(positions)
        positions = _after_null(positions, gap)
    return positions[:, 0].copy(), positions[:, 1].copy()


def grids_of(attributes: Iterable[Attribute]) -> dict[str, str]:
    """The grid of each attribute that is in cells, in words."""
    return {a.name: words_of(a.cells.grid) for a in attributes if a.cells and a.cells.grid}


def _positions(column: Column) -> NDArray[np.float64]:
    """Where values lie on a line: numbers and dates by size, others by rank; a null before all."""
    values = [value for value in column.domain if value is not None]
    if column.kind == "number":
        positions = np.array([_as_float(value) for value in values])
    elif column.kind == "date" and values:
        positions = np.array([days_of(value) for value in values])
    else:
        positions = np.arange(len(values), dtype=np.float64)
    # Numbers whose differences are too large for floats lie by rank.
    if len(positions):
        width = 2 * (positions[-1] / 2 - positions[0] / 2)  # halves first, against overflow
        if not np.isfinite(width + 2 * abs(positions).max()):
            positions = np.arange(len(values), dtype=np.float64)
    if not column.has_null:
        return positions
    # The mean distance of neighbours; 1 if there is only one value, or none.
    gap = 1.0
    if len(positions) > 1:
        gap = (positions[-1] - positions[0]) / (len(positions) - 1)
    return _after_null(positions, gap or 1.0)


def _after_null(positions: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Positions with that of a null before them, `gap` away from its neighbour."""
    null = positions[:1].min(initial=np.inf) - gap if len(positions) else 0.0
    return np.concatenate((np.full((1, *positions.shape[1:]), null), positions))


def _as_float(number: Any) -> float:
    """A number as a float; infinity if it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return float("inf")
