"""Blocks: the parts of the people that are independent once a generalization is known.

Level i looks at the functions 1 to i. Its *cells* are the people whom none of them tells apart;
its *blocks* are the people whom they connect. Given the values of every group of function i, what
happens in one block says nothing about another, and within a block only the number of each value
in each cell matters. Blocks of the same shape are one object, so that work is shared among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from foreknow.methods.jump.functions import joined, refined, renumber


@dataclass(frozen=True)
class Below:
    """A block of a lower level inside a block; the group of each cell there, or -1 outside it."""

    block: Block
    group_of: tuple[int, ...]

    def at(self, cells: Iterable[int]) -> Below:
        """The same for some cells of the block above."""
        return Below(self.block, tuple(self.group_of[c] for c in cells))


@dataclass(frozen=True, eq=False)
class Block:
    """The shape of a part of the people: cells, their groups, and the blocks of lower levels."""

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
        return tuple(
            tuple(person for cell in cells for person in self.cells[cell])
            for cells in self.block.cells_of
        )


@dataclass
class Layout:
    """Cells and blocks of every level, from the group of each person under each function."""

    partitions: Sequence[Sequence[int]]
    blocks: list[Block] = field(default_factory=list, repr=False)  # every shape, by its number
    _levels: dict[int, tuple[Placed, ...]] = field(default_factory=dict, repr=False)
    _known: dict[object, Block] = field(default_factory=dict, repr=False)
    _cuts: dict[int, Cut | None] = field(default_factory=dict, repr=False)

    def level(self, i: int) -> tuple[Placed, ...]:
        """Blocks of a level, with their people."""
        if i not in self._levels:
            self._levels[i] = tuple(self._made(i))
        return self._levels[i]

    def _made(self, i: int) -> list[Placed]:
        functions = self.partitions[: i + 1]
        cell_of, part_of = refined(functions), joined(functions)
        parts: list[list[tuple[int, ...]]] = [[] for _ in range(max(part_of) + 1)]
        for people in _members(cell_of):
            parts[part_of[people[0]]].append(people)
        # For each lower level: (place of the block, block, group) of every person.
        homes = [
            {
                person: (place, placed.block, group)
                for place, placed in enumerate(self.level(j))
                for group, people in enumerate(placed.groups)
                for person in people
            }
            for j in range(i)
        ]
        found = []
        for part in parts:
            first = [people[0] for people in part]
            below = []
            for home in homes:
                here = [home[person] for person in first]
                blocks = {place: block for place, block, _ in here}
                below.append(
                    tuple(
                        Below(block, tuple(g if p == place else -1 for p, _, g in here))
                        for place, block in blocks.items()
                    )
                )
            group_of = renumber(functions[i][person] for person in first)
            block = self.shape(tuple(map(len, part)), group_of, tuple(below))
            found.append(Placed(block, tuple(part)))
        return found

    def shape(
        self,
        sizes: tuple[int, ...],
        group_of: tuple[int, ...],
        below: tuple[tuple[Below, ...], ...],
    ) -> Block:
        """The one block of a shape."""
        seen = tuple(tuple((b.block.number, b.group_of) for b in level) for level in below)
        key = (sizes, group_of, seen)
        if key not in self._known:
            self._known[key] = Block(len(self._known), sizes, group_of, below)
            self.blocks.append(self._known[key])
        return self._known[key]

    def without(self, block: Block, levels: Sequence[bool]) -> tuple[Block, tuple[int, ...]]:
        """The block without some lower levels, and the new cell of each cell."""
        seen = [() if out else below for below, out in zip(block.below, levels, strict=True)]
        cell_of = renumber(
            (group, *(b.group_of[c] for level in seen for b in level))
            for c, group in enumerate(block.group_of)
        )
        old = [cells[0] for cells in _members(cell_of)]
        small = self.shape(
            _sums(cell_of, block.sizes),
            tuple(block.group_of[c] for c in old),
            tuple(tuple(b.at(old) for b in level) for level in seen),
        )
        return small, cell_of

    def cut_of(self, block: Block) -> Cut | None:
        """Cut a block at the last level at which it falls apart; None if it is connected."""
        if block.number not in self._cuts:
            levels = [j for j, below in enumerate(block.below) if len(below) > 1]
            self._cuts[block.number] = _cut(block, levels[-1], self) if levels else None
        return self._cuts[block.number]


@dataclass(frozen=True, eq=False)
class Cut:
    """How a block falls apart at a level, into parts that earlier functions do not connect.

    They are independent once it is known which values each *piece* has: the people of a part whom
    no later level tells apart, which are its groups. `alike` numbers parts that can be exchanged;
    `above` are the later levels, by pieces instead of cells.
    """

    level: int
    parts: tuple[Block, ...]
    cells: tuple[tuple[int, ...], ...]  # of the block, in each part
    pieces: tuple[tuple[int, ...], ...]  # of each part, as numbered in the block
    alike: tuple[int, ...]
    group_of: tuple[int, ...]  # of each piece
    sizes: tuple[int, ...]
    above: tuple[tuple[Below, ...], ...]

    @cached_property
    def pieces_of(self) -> tuple[tuple[int, ...], ...]:
        """Pieces of each group of the block."""
        return _members(self.group_of)


def _cut(block: Block, level: int, layout: Layout) -> Cut:
    places = [
        next(place for place, below in enumerate(block.below[level]) if below.group_of[c] >= 0)
        for c in range(len(block.sizes))
    ]
    above = block.below[level + 1 :]
    later = [
        (block.group_of[c], *(b.group_of[c] for one in above for b in one))
        for c in range(len(block.sizes))
    ]
    piece_of = renumber(zip(places, later, strict=True))
    first = [cells[0] for cells in _members(piece_of)]
    parts, cells_in, pieces_in, alike = [], [], [], []
    for cells in _members(places):
        pieces = tuple(dict.fromkeys(piece_of[c] for c in cells))
        inside = (tuple(b.at(cells) for b in one) for one in block.below[: level + 1])
        part = layout.shape(
            tuple(block.sizes[c] for c in cells),
            tuple(pieces.index(piece_of[c]) for c in cells),
            tuple(tuple(b for b in one if max(b.group_of) >= 0) for one in inside),
        )
        parts.append(part)
        cells_in.append(cells)
        pieces_in.append(pieces)
        alike.append((part.number, tuple(later[first[piece]] for piece in pieces)))
    return Cut(
        level,
        tuple(parts),
        tuple(cells_in),
        tuple(pieces_in),
        renumber(alike),
        tuple(block.group_of[c] for c in first),
        _sums(piece_of, block.sizes),
        tuple(tuple(b.at(first) for b in one) for one in above),
    )


def _members(numbers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The places of each number from 0."""
    found: list[list[int]] = [[] for _ in range(max(numbers) + 1)]
    for place, number in enumerate(numbers):
        found[number].append(place)
    return tuple(map(tuple, found))


def _sums(group_of: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    found = [0] * (max(group_of) + 1)
    for group, size in zip(group_of, sizes, strict=True):
        found[group] += size
    return tuple(found)
