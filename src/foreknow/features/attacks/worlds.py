"""The worlds of a release: assignments of its bags to members, without equivalent ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine
from foreknow.data.columns.attribute import Attribute
from foreknow.features.attacks.divisions import Tables, assignments, assignments_of_tables, divided
from foreknow.needs import Analysis, Need

Codes: TypeAlias = NDArray[Any]
# What is worked out for an adversary who runs the method.
ATTACK = Analysis(
    "an attack",
    frozenset(
        {
            Need.ONE_VALUE,
            Need.ONE_COLUMN,
            Need.NO_WINDOWS,
            Need.ABSOLUTE,
            Need.EVERYBODY,
            Need.NO_HOUSEHOLDS,
        }
    ),
)
ONE_COLUMN_REMEDY = {
    Need.ONE_COLUMN: "publish one sensitive column by requirements that say knowing = [] and count "
    "no households (of), and attack that release"
}

_MOST_DIGITS = 18
# Of one group; they are kept in memory.
_MOST_TABLES = 200_000
# Cells of a group; more have too many assignments in any case.
_MOST_CELLS = 200


class Divisions(NamedTuple):
    """Every way to divide the bag of a group over its cells."""

    cells: IntArray
    values: IntArray  # that occur in it
    tables: Tables
    ways: list[int]  # assignments to people that each stands for

    @property
    def codes(self) -> Codes:
        """Values of the members, in the order of `Worlds.members`, shape (ways, people)."""
        n_tables, n_cells, _ = self.tables.shape
        codes = np.repeat(np.tile(self.values, n_tables * n_cells), self.tables.ravel())
        return codes.reshape(n_tables, -1)


@dataclass(frozen=True, eq=False)
class Worlds:
    """Every way to assign the values of each group; people of one *cell* are interchangeable."""

    groups: IntArray
    codes: Codes  # some world
    cell_of: IntArray
    n_values: int

    @classmethod
    def of(
        cls,
        groups: IntArray,
        codes: Codes,
        n_values: int,
        attributes: list[Attribute] | None = None,
    ) -> Worlds:
        """Worlds whose cells are people of one group with equal attributes, or single people.

        `groups` is the group of each person, and `codes` the value of each in some world.
        `attributes` None: everybody is alone in a cell.
        """
        cell_of = np.arange(len(groups))
        if attributes is not None:
            columns = [groups, *(a.codes for a in attributes)]
            sizes = [int(groups.max()) + 1, *(len(a.domain) for a in attributes)]
            cell_of, _ = combine(columns, sizes)
        return cls(groups, codes, cell_of.astype(np.int64), n_values)

    @property
    def n_people(self) -> int:
        """People of the release, with those who are left out."""
        return len(self.groups)

    @cached_property
    def n_groups(self) -> int:
        """Groups of the release."""
        return int(self.groups.max()) + 1

    @cached_property
    def n_cells(self) -> int:
        """Cells of all groups."""
        return int(self.cell_of.max()) + 1

    @cached_property
    def order(self) -> IntArray:
        """Everybody, in order of their groups and cells."""
        return np.lexsort((self.cell_of, self.groups))

    @cached_property
    def members(self) -> list[IntArray]:
        """The people of each group, cell after cell."""
        ends = np.cumsum(np.bincount(self.groups, minlength=self.n_groups))
        return np.split(self.order, ends[:-1])

    @cached_property
    def cell_sizes(self) -> IntArray:
        """How many people are in each cell."""
        return np.bincount(self.cell_of, minlength=self.n_cells)

    @cached_property
    def group_of_cell(self) -> IntArray:
        """The group of each cell; all people of a cell are of one group."""
        group_of = np.empty(self.n_cells, dtype=np.int64)
        group_of[self.cell_of] = self.groups
        return group_of

    @cached_property
    def bags(self) -> IntArray:
        """How often each value is in each group, shape (groups, values)."""
        return self._counted(self.groups, self.n_groups, self.codes)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of each value in each cell's group."""
        sizes = self.bags.sum(axis=1, keepdims=True)
        shares: NDArray[np.float64] = (self.bags / sizes)[self.group_of_cell]
        return shares

    @cached_property
    def open(self) -> NDArray[np.bool_]:
        """A mask of the cells and values that the release itself leaves open."""
        return (self.shares > 0) & (self.shares < 1)

    @cached_property
    def mixed(self) -> NDArray[np.bool_]:
        """True for each cell of a group with several values."""
        several: NDArray[np.bool_] = np.count_nonzero(self.bags, axis=1) > 1
        return several[self.group_of_cell]

    @cached_property
    def n_worlds(self) -> int:
        """The number of worlds, with distinguishable people."""
        return math.prod(map(assignments, self.bags.tolist()))

    @cached_property
    def amount(self) -> str:
        """The number of worlds as a text; of very many, only about how many, as a power of ten."""
        # The logarithm of the multinomial coefficients: size! divided by each count!, added up.
        logs = np.cumsum(np.log10(np.arange(1, int(self.bags.sum(axis=1).max()) + 1)))
        logs = np.append(0.0, logs)
        power = float(logs[self.bags.sum(axis=1)].sum() - logs[self.bags].sum())
        return f"about 10^{power:.0f}" if power > _MOST_DIGITS + 1 else amount_text(self.n_worlds)

    def tally(self, codes: Codes) -> IntArray:
        """How many people of each cell have each value in a world, shape (cells, values)."""
        return self._counted(self.cell_of, self.n_cells, codes)

    def _counted(self, row_of: IntArray, n_rows: int, codes: Codes) -> IntArray:
        flat = np.bincount(row_of * self.n_values + codes, minlength=n_rows * self.n_values)
        return flat.reshape(n_rows, self.n_values)

    def representative(self, codes: Codes) -> Codes:
        """The world that stands for all that differ only within cells.

        People of a cell are interchangeable: in it, their values ascend.
        """
        world = np.empty_like(codes)
        world[self.order] = codes[np.lexsort((codes, self.cell_of, self.groups))]
        return world

    def at_random(self, random: np.random.Generator) -> Codes:
        """A world at random: each group's values are dealt out anew, all ways equally likely."""
        world = np.empty_like(self.codes)
        world[self.order] = self.codes[np.lexsort((random.random(self.n_people), self.groups))]
        return world

    def every(self, most_worlds: int) -> list[Divisions] | None:
        """The ways to divide each group over its cells; None if they make too many worlds.

        A cell is people of a group who are interchangeable. Worlds are all combinations of one way
        for each group.
        """
        divisions, remaining_worlds = [], most_worlds
        for people, bag in zip(self.members, self.bags, strict=True):
            values = np.flatnonzero(bag)
            cells, sizes = np.unique(self.cell_of[people], return_counts=True)
            if len(cells) > _MOST_CELLS and len(values) > 1:
                return None
            splits = divided(bag[values], sizes.tolist(), min(remaining_worlds, _MOST_TABLES))
            if splits is None:
                return None
            divisions.append(
                Divisions(cells, values, splits, assignments_of_tables(splits).tolist())
            )
            # Ways are multiplied, so the next group may have only so many.
            remaining_worlds //= len(splits)
        return divisions


def amount_text(amount: int) -> str:
    """Write a number of worlds; a very large one by its power of ten."""
    power = math.log10(amount) if amount else 0
    return str(amount) if power < _MOST_DIGITS else f"about 10^{power:.0f}"
