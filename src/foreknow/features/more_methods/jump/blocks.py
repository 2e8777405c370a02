"""Blocks: the parts of the people that are independent once a generalization is known.

Level i looks at the functions 1 to i. Its *cells* are the people whom none of them tells apart;
its *blocks* are the people whom they connect. Given the values of every group of function i, what
happens in one block says nothing about another, and within a block only the number of each value
in each cell matters. Blocks of the same shape are one object, so that work is shared among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from foreknow.features.more_methods.jump.functions import renumber


@dataclass(frozen=True)
class Below:
    """A lower level's block that shares people with a block: the group of each cell in it.

    `group_of` has an entry for each cell of the upper block; -1 where the cell lies elsewhere.
    """

    block: Block
    group_of: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """The shape of a part of the people: cells, their groups, and the blocks of lower levels.

    `sizes` has the people of each cell, `group_of` the group of each cell at this level, and
    `below` the lower blocks of each lower level. `number` is the same for equal shapes only.
    """

    number: int
    sizes: tuple[int, ...]
    group_of: tuple[int, ...]
    below: tuple[tuple[Below, ...], ...]

    @cached_property
    def group_sizes(self) -> tuple[int, ...]:
        """People of each group."""
        return _sums(self.group_of, self.sizes)

    @cached_property
    def cells_of(self) -> tuple[tuple[int, ...], ...]:
        """Cells of each group."""
        return _members(self.group_of)


@dataclass(frozen=True)
class Placed:
    """A block, and the people of each of its cells by their place in the table."""

    block: Block
    cells: tuple[tuple[int, ...], ...]

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """People of each group."""
        groups = []
        for cells in self.block.cells_of:
            people = chain.from_iterable(self.cells[cell] for cell in cells)
            groups.append(tuple(people))
        return tuple(groups)


@dataclass
class BlockTree:
    """Cells and blocks of every level, from the group of each person under each function."""

    partitions: Sequence[Sequence[int]]
    blocks: list[Block] = field(default_factory=list, repr=False)  # every shape, by its number
    _levels: dict[int, tuple[Placed, ...]] = field(default_factory=dict, repr=False)
    _known: dict[object, Block] = field(default_factory=dict, repr=False)

    def level(self, number: int) -> tuple[Placed, ...]:
        """Blocks of a level, with their people."""
        if number not in self._levels:
            self._levels[number] = tuple(self._placed_blocks(number))
        return self._levels[number]

    def _placed_blocks(self, level: int) -> list[Placed]:
        """The blocks of a level, each with the people of its cells.

        A level is a function that groups people, and all functions before it. A cell is people who
        are in the same group by each of these; a block is people whom some chain of groups
        connects.
        """
        # `part_of` is the block of each person; people with the same groups everywhere are a cell.
        functions = self.partitions[: level + 1]
        cell_of, part_of = renumber(zip(*functions, strict=True)), _join_parts(functions)
        cells_by_part: list[list[tuple[int, ...]]] = [[] for _ in range(max(part_of) + 1)]
        for people in _members(cell_of):
            cells_by_part[part_of[people[0]]].append(people)
        # Where each person is at each lower level: one dict per level.
        homes_by_level = list(map(self._homes, range(level)))
        placed_blocks = []
        for cells in cells_by_part:
            # All people of a cell are in the same groups, so one of them tells which.
            first_people = [people[0] for people in cells]
            levels_below = []
            for homes in homes_by_level:
                levels_below.append(_blocks_below([homes[person] for person in first_people]))
            group_of = renumber(functions[level][person] for person in first_people)
            block = self.shape(tuple(map(len, cells)), group_of, tuple(levels_below))
            placed_blocks.append(Placed(block, tuple(cells)))
        return placed_blocks

    def _homes(self, level: int) -> dict[int, _Home]:
        """For each person, the block and the group at a level."""
        homes: dict[int, _Home] = {}
        for position, placed in enumerate(self.level(level)):
            for group, people in enumerate(placed.groups):
                homes |= dict.fromkeys(people, _Home(position, placed.block, group))
        return homes

    def shape(
        self,
        sizes: tuple[int, ...],
        group_of: tuple[int, ...],
        below: tuple[tuple[Below, ...], ...],
    ) -> Block:
        """The block with these sizes of cells, groups of cells and lower blocks.

        Blocks of the same shape are one object, so that what is worked out for one serves all.
        """
        # The key holds numbers of lower blocks in place of the blocks, which makes it small.
        below_key = []
        for level in below:
            shapes_of_level = [(lower.block.number, lower.group_of) for lower in level]
            below_key.append(tuple(shapes_of_level))
        key = (sizes, group_of, tuple(below_key))
        if key not in self._known:
            self._known[key] = Block(len(self._known), sizes, group_of, below)
            self.blocks.append(self._known[key])
        return self._known[key]

    def without(self, block: Block, is_dropped: Sequence[bool]) -> tuple[Block, tuple[int, ...]]:
        """The block as if some lower levels did not exist, and for each of its cells the new cell.

        A lower level is an earlier function; a cell is people in the same group by each of them.
        ``is_dropped[j]`` says whether level j is left out. Cells that only these levels told apart
        become one, which leaves fewer cells to count.
        """
        pairs = zip(block.below, is_dropped, strict=True)
        kept_levels = [() if is_out else below for below, is_out in pairs]
        # A new cell is the cells with the same group at this level and at all that are kept.
        groups_below = [below.group_of for below in chain.from_iterable(kept_levels)]
        cell_of = renumber(zip(block.group_of, *groups_below, strict=True))
        # Cells that became one agree in all groups, so the first shows them.
        first_cells = [cells[0] for cells in _members(cell_of)]
        smaller_below = []
        for level in kept_levels:
            smaller_level = []
            for below in level:
                groups = [below.group_of[cell] for cell in first_cells]
                smaller_level.append(Below(below.block, tuple(groups)))
            smaller_below.append(tuple(smaller_level))
        group_of = tuple([block.group_of[cell] for cell in first_cells])
        smaller = self.shape(_sums(cell_of, block.sizes), group_of, tuple(smaller_below))
        return smaller, cell_of


class _Home(NamedTuple):
    """Where a person is at a level: the place of their block, the block, and their group in it."""

    position: int
    block: Block
    group: int


def _blocks_below(homes: Sequence[_Home]) -> tuple[Below, ...]:
    """The blocks of a lower level with people of a block, with the group of each cell there.

    `homes` says for each cell of the block where it is at the lower level. The group of a cell that
    lies in another lower block is -1.
    """
    block_at = {home.position: home.block for home in homes}
    blocks_below = []
    for position, block in block_at.items():
        groups = [home.group if home.position == position else -1 for home in homes]
        blocks_below.append(Below(block, tuple(groups)))
    return tuple(blocks_below)


def _join_parts(partitions: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The parts of people whom some chain of groups connects, numbered by first appearance.

    Each partition has the group of each person. Two people are connected if they share a group in
    one partition, directly or through others.

    >>> _join_parts([(0, 0, 1, 1, 2), (0, 1, 1, 2, 3)])
    (0, 0, 0, 0, 1)
    """
    # Of each person, the first one with whom a chain connects them, as far as is known.
    first_connected, first_before = np.arange(len(partitions[0])), None
    while first_before is None or (first_connected != first_before).any():
        first_before = first_connected
        for group_of in map(np.array, partitions):
            # Everybody takes over the smallest number that somebody in their group has, until
            # nothing changes.
            first_of_group = np.full(group_of.max() + 1, len(first_connected))
            np.minimum.at(first_of_group, group_of, first_connected)
            first_connected = first_of_group[group_of]
    return renumber(first_connected.tolist())


def _members(numbers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The positions at which each number stands; the numbers are 0, 1, ... without a gap."""
    members: list[list[int]] = [[] for _ in range(max(numbers) + 1)]
    for position, number in enumerate(numbers):
        members[number].append(position)
    return tuple(map(tuple, members))


def _sums(group_of: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """The people of each group, from the group and the size of each cell."""
    sums = [0] * (max(group_of) + 1)
    for group, size in zip(group_of, sizes, strict=True):
        sums[group] += size
    return tuple(sums)
