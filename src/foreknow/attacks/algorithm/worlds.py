"""Worlds: every assignment of a release's bags to its members, as few as soundness allows."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.microdata import Attribute
from foreknow.data.sparse import IntArray, combine

Codes: TypeAlias = NDArray[Any]

_MOST_DIGITS = 18
# Of one group; they are kept in memory.
_MOST_ASSIGNMENTS = 200_000
# Cells or values of a group; more have too many assignments in any case, and recurse too deep.
_DEEPEST = 200


class Assignment(NamedTuple):
    """Values of a group's members, in the order of `Worlds.members`, ascending within a cell."""

    codes: Codes
    ways: int  # assignments to people that it stands for


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
        """Cells are people of one group with equal attributes, or everybody by themselves."""
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
        """The group of each cell."""
        found = np.empty(self.n_cells, dtype=np.int64)
        found[self.cell_of] = self.groups
        return found

    @cached_property
    def bags(self) -> IntArray:
        """How often each value is in each group, shape (groups, values)."""
        keys = self.groups * self.n_values + self.codes
        flat = np.bincount(keys, minlength=self.n_groups * self.n_values)
        return flat.reshape(self.n_groups, self.n_values)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """What the release itself says: the share of each value in each cell's group."""
        sizes = self.bags.sum(axis=1, keepdims=True)
        shares: NDArray[np.float64] = (self.bags / sizes)[self.group_of_cell]
        return shares

    @cached_property
    def open(self) -> NDArray[np.bool_]:
        """Which cells and values the release itself leaves open."""
        return (self.shares > 0) & (self.shares < 1)

    @cached_property
    def mixed(self) -> IntArray:
        """The groups with several values."""
        return np.flatnonzero(np.count_nonzero(self.bags, axis=1) > 1)

    @cached_property
    def n_worlds(self) -> int:
        """How many worlds there are, people being told apart."""
        return math.prod(_ways(bag) for bag in self.bags.tolist())

    @cached_property
    def amount(self) -> str:
        """The same in words; of very many, only about how many."""
        logs = np.cumsum(np.log10(np.arange(1, int(self.bags.sum(axis=1).max()) + 1)))
        logs = np.append(0.0, logs)
        power = float(logs[self.bags.sum(axis=1)].sum() - logs[self.bags].sum())
        return f"about 10^{power:.0f}" if power > _MOST_DIGITS + 1 else amount_text(self.n_worlds)

    def ways(self, group: int) -> int:
        """How many ways there are to assign the bag of one group."""
        return _ways(self.bags[group].tolist())

    def tally(self, codes: Codes) -> IntArray:
        """How many people of each cell have each value in a world, shape (cells, values)."""
        size = self.n_cells * self.n_values
        flat = np.bincount(self.cell_of * self.n_values + codes, minlength=size)
        return flat.reshape(self.n_cells, self.n_values)

    def representative(self, codes: Codes) -> Codes:
        """The world for all that differ within cells only: values ascend there."""
        found = np.empty_like(codes)
        found[self.order] = codes[np.lexsort((codes, self.cell_of, self.groups))]
        return found

    def at_random(self, random: np.random.Generator) -> Codes:
        """Any world, as likely as any other."""
        found = np.empty_like(self.codes)
        found[self.order] = self.codes[np.lexsort((random.random(self.n_people), self.groups))]
        return found

    def exchanged(self, codes: Codes, one: int, other: int) -> Codes:
        """Exchange two values in the groups that have as many of both."""
        inside = (self.bags[:, one] == self.bags[:, other])[self.groups]
        turned = np.where(codes == one, other, np.where(codes == other, one, codes))
        return np.where(inside, turned, codes).astype(codes.dtype)

    def every(self, most: int, until: float | None = None) -> list[list[Assignment]] | None:
        """Assignments of each group; None if they make more than `most` worlds, or take long."""
        each, left = [], most
        for group in range(self.n_groups):
            found = self._assignments(group, min(left, _MOST_ASSIGNMENTS), until)
            if found is None:
                return None
            each.append(found)
            left //= len(found)
        return each

    def _assignments(self, group: int, most: int, until: float | None) -> list[Assignment] | None:
        bag = self.bags[group]
        present = np.flatnonzero(bag)
        _, sizes = np.unique(self.cell_of[self.members[group]], return_counts=True)
        if len(present) == 1 or len(sizes) == 1:
            codes = np.repeat(present, bag[present]).astype(self.codes.dtype)
            return [Assignment(codes, _ways(bag[present].tolist()))]
        if max(len(present), len(sizes)) > _DEEPEST:
            return None
        found: list[Assignment] = []
        for places, ways in _assigned(tuple(sizes.tolist()), tuple(bag[present].tolist())):
            if len(found) >= most or (until is not None and time.monotonic() > until):
                return None
            found.append(Assignment(present[list(places)].astype(self.codes.dtype), ways))
        return found


def amount_text(many: int) -> str:
    """Write a number of worlds; a very large one by its power of ten."""
    power = math.log10(many) if many else 0
    return str(many) if power < _MOST_DIGITS else f"about 10^{power:.0f}"


def _ways(bag: list[int]) -> int:
    """How many ways there are to assign a bag to people."""
    return math.factorial(sum(bag)) // math.prod(map(math.factorial, bag))


def _assigned(sizes: tuple[int, ...], bag: tuple[int, ...]) -> Iterator[tuple[Any, int]]:
    """Every assignment of a bag to cells, and how many assignments to people it stands for."""
    if not sizes:
        yield (), 1
        return
    for taken in _taken(sizes[0], bag):
        own = tuple(code for code, many in enumerate(taken) for _ in range(many))
        rest = tuple(a - b for a, b in zip(bag, taken, strict=True))
        ways = _ways(list(taken))
        for others, more in _assigned(sizes[1:], rest):
            yield own + others, ways * more


def _taken(many: int, bag: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way to take so many values out of a bag."""
    if not bag:
        if not many:
            yield ()
        return
    for own in range(max(0, many - sum(bag[1:])), min(many, bag[0]) + 1):
        for rest in _taken(many - own, bag[1:]):
            yield own, *rest
