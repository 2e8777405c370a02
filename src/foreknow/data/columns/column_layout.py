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
from foreknow.data.engines.columns import (
    Column,
    narrowest,
)
from foreknow.data.schema import Schema
from foreknow.errors import SchemaError
from foreknow.figures import days_of


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
        # The highest and lowest values become one before the column is laid out.
        column, ends = coded_at_ends(column, level)
        attribute = with_open_ends(_laid_out(column, hierarchy, row_of), ends)
    else:
        attribute = _laid_out(column, hierarchy, row_of)
    return from_level(attribute, level.at_least, hierarchy) if level.at_least else attribute


def _laid_out(
    column: Column, hierarchy: Hierarchy | None, row_of: Callable[[int], int]
) -> Attribute:
    """A column as an attribute, its values in the order of its hierarchy, or of its categories."""
    if hierarchy is None and column.categories:
        hierarchy = Ordered(column.categories)
    if hierarchy is None:
        order: Order = "nominal" if column.kind == "text" else "ordered"
        return Attribute(
            column.name, column.codes, column.domain, order, (), (), _positions(column)
        )
    levels = hierarchy.levels(column.domain, column.name, row_of)
    # Values are numbered anew in leaf order, in which those of every node stand side by side.
    leaf_of_code = np.empty(len(levels.order), dtype=column.codes.dtype)
    leaf_of_code[levels.order] = np.arange(len(levels.order), dtype=column.codes.dtype)
    return Attribute(
        column.name,
        leaf_of_code[column.codes],
        [column.domain[i] for i in levels.order.tolist()],
        "ordered",
        levels.ancestors,
        levels.labels,
        np.arange(len(column.domain), dtype=np.float64),
        getattr(hierarchy, "listed", frozenset()),
    )


def in_cells(attribute: Attribute, grid: Grid | None, times: IntArray | None = None) -> Attribute:
    """An attribute whose values are the cells of a grid, such as 20 to 24.

    Without a `grid` it is the finest one that hides the values; if none is needed, the attribute is
    returned unchanged. `times` says how many people each entry is; None: one.
    """
    domain, codes = attribute.domain, attribute.codes
    first = int(domain[0] is None)  # 1 if the first value is a null
    has_grid = grid is not None
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
    # The text with which each cell begins and ends.
    texts = [name.split(" to ") for name in names]
    is_bottom, is_top = reached_ends(attribute, names)
    if is_top:
        texts[-1] = [texts[-1][0], ""]  # it has no end
    if is_bottom:
        texts[first] = ["", texts[first][-1]]
    names = opened(attribute, names)
    positions = ends_of(grid, levels, domain)
    # Numbers too large for floats have no positions: all cells then count as equally wide. Without
    # any cell (all values are missing) there is no position to look at.
    if len(positions) and not (np.isfinite(np.ptp(positions)) and np.isfinite(positions).all()):
        positions = np.arange(len(names) - first)[:, None] + np.array([0.0, 1.0])
    if first:  # a null lies before the first cell, by the mean width of cells
        gap = 1.0
        if len(positions):
            gap = (positions[-1, 1] - positions[0, 0]) / len(positions)
        positions = _after_null(positions, gap)
    # `values` keeps the exact values, with cells as the first level above them. A hierarchy has
    # that level already.
    ancestors = attribute.ancestors if has_grid else (cell_of_value, np.zeros_like(cell_of_value))
    # The first value of each cell.
    leaf = np.searchsorted(cell_of_value, np.arange(len(names)))
    labels = attribute.labels if has_grid else (names, ("*",))
    values = replace(attribute, ancestors=ancestors, labels=labels)
    return replace(
        attribute,
        codes=cell_of_value.astype(narrowest(len(names)))[codes],
        domain=[*[None] * first, *names[first:]],
        ancestors=tuple(nodes[leaf] for nodes in ancestors) if has_grid else (),
        labels=labels if has_grid else (),
        positions=positions[:, 0].copy(),
        cells=GridCells(grid, values, tuple((t[0], t[-1]) for t in texts), positions[:, 1].copy()),
    )


def grids_of(attributes: Iterable[Attribute]) -> dict[str, str]:
    """The grid of each attribute that is in cells, in words."""
    return {a.name: words_of(a.cells.grid) for a in attributes if a.cells and a.cells.grid}


def _positions(column: Column) -> NDArray[np.float64]:
    """Where values lie on a line: numbers and dates by size, others by rank; a null before all."""
    values = [value for value in column.domain if value is not None]
    if column.kind == "number":
        positions = np.array([_float(v) for v in values])
    elif column.kind == "date" and values:
        positions = np.array([days_of(value) for value in values])
    else:
        positions = np.arange(len(values), dtype=np.float64)
    # Numbers too large for differences of floats lie by rank. Halves first, against overflow.
    if len(positions) and not np.isfinite(
        2 * (positions[-1] / 2 - positions[0] / 2) + 2 * abs(positions).max()
    ):
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


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")
