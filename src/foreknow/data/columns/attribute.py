"""Attribute: a quasi-identifier as codes in leaf order, with the levels it coarsens through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.columns.grids import Grid

Order: TypeAlias = Literal["ordered", "nominal"]


@dataclass(frozen=True, eq=False)
class Attribute:
    """A quasi-identifier as codes in leaf order, with the levels it coarsens through."""

    name: str
    codes: NDArray[np.unsignedinteger[Any]]  # of everybody
    domain: list[Any]  # distinct values in leaf order; None (a null) first where there is one
    order: Order  # whether a range of the domain means something, or only a set of values does
    ancestors: tuple[IntArray, ...]  # level 1 and up: the node of each leaf
    labels: tuple[tuple[str, ...], ...]  # level 1 and up: the label of each node
    positions: NDArray[np.float64]  # where each value lies, for widths: its number, or its rank
    listed: frozenset[str] = frozenset()  # values of the hierarchy, had by someone or not
    # where the domain is not of values, but of cells that they are in
    cells: GridCells | None = None
    # of numbers and days: those that stand for all from one on, and up to one (see `levels`)
    top: Any = None
    bottom: Any = None

    @property
    def ends(self) -> NDArray[np.float64]:
        """Where each value ends: a cell is wide, a value is not."""
        return self.positions if self.cells is None else self.cells.ends

    @property
    def many(self) -> IntArray:
        """How many values of the table each value of the domain stands for."""
        if self.cells is None:
            return np.ones(len(self.domain), dtype=np.int64)
        return np.bincount(self.cells.values.ancestors[0], minlength=len(self.domain))

    def values_in(self, codes: tuple[int, ...]) -> tuple[int, ...]:
        """The codes of the table's values that some values of the domain stand for."""
        if self.cells is None:
            return codes
        inside = np.isin(self.cells.values.ancestors[0], codes)
        return tuple(np.flatnonzero(inside).tolist())

    @property
    def span(self) -> float:
        """How wide the whole domain is, for shares of it; 1 where it is not wide at all."""
        return float(self.ends[-1] - self.positions[0]) or 1.0


@dataclass(frozen=True, eq=False)
class GridCells:
    """The cells of a grid that values of an attribute are in; or its rarer values as one."""

    grid: Grid | None  # None where rarer values are one
    values: Attribute  # the same with the values as they are; cells are its first level
    texts: tuple[tuple[str, str], ...]  # how each cell begins and ends in labels
    ends: NDArray[np.float64]  # where each cell ends, as `Attribute.positions` are where it begins
