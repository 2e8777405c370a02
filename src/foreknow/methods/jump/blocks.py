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

from foreknow.methods.jump.functions import joined, refined, renumber


@dataclass(frozen=True)
class Below:
    """A block of a lower level inside a block: its shape, and which cells are in which group.

    Attributes
    ----------
    block : Block
    group_of : tuple of int
        For each cell of the block above, the group of the block below, or -1 outside it.
    """

    block: Block
    group_of: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """The shape of a part of the people at a level; equal shapes are the same object.

    Attributes
    ----------
    number : int
        Distinguishes shapes.
    sizes : tuple of int
        People of each cell.
    group_of : tuple of int
        Group of each cell under the level's own function, from 0.
    below : tuple of tuples of Below
        For each lower level, its blocks inside this one.
    """

    number: int
    sizes: tuple[int, ...]
    group_of: tuple[int, ...]
    below: tuple[tuple[Below, ...], ...]

    @property
    def level(self) -> int:
        """How many lower levels there are."""
        return len(self.below)

    @cached_property
    def group_sizes(self) -> tuple[int, ...]:
        """People of each group."""
        sizes = [0] * (max(self.group_of) + 1)
        for size, group in zip(self.sizes, self.group_of, strict=True):
            sizes[group] += size
        return tuple(sizes)

    @cached_property
    def cells_of(self) -> tuple[tuple[int, ...], ...]:
        """Cells of each group."""
        cells: list[list[int]] = [[] for _ in self.group_sizes]
        for cell, group in enumerate(self.group_of):
            cells[group].append(cell)
        return tuple(map(tuple, cells))

    def __repr__(self) -> str:
        return f"<block of {sum(self.sizes)} people in {len(self.sizes)} cells>"


@dataclass(frozen=True)
class Placed:
    """A block and the people in it.

    Attributes
    ----------
    block : Block
    cells : tuple of tuples of int
        People of each cell, by their place in the table.
    """

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
    """Cells and blocks of every level, made when first asked for.

    Parameters
    ----------
    partitions : sequence of sequences of int
        Group of each person under each function, numbered by first appearance.

    Attributes
    ----------
    blocks : list of Block
        Every shape so far, by its number.

    Examples
    --------
    >>> layout = Layout([(0, 0, 1, 1, 2, 2), (0, 0, 0, 1, 1, 1), (0, 0, 0, 0, 1, 1)])
    >>> [placed.cells for placed in layout.level(2)]  # AB|CD|EF, ABC|DEF, ABCD|EF: all connected
    [((0, 1), (2,), (3,), (4, 5))]
    """

    partitions: Sequence[Sequence[int]]
    _levels: dict[int, tuple[Placed, ...]] = field(default_factory=dict, repr=False)
    _known: dict[object, Block] = field(default_factory=dict, repr=False)
    blocks: list[Block] = field(default_factory=list, repr=False)

    @property
    def n_people(self) -> int:
        """People of the table."""
        return len(self.partitions[0])

    def level(self, i: int) -> tuple[Placed, ...]:
        """Blocks of a level, with their people."""
        if i not in self._levels:
            self._levels[i] = tuple(self._made(i))
        return self._levels[i]

    def _made(self, i: int) -> list[Placed]:
        functions = self.partitions[: i + 1]
        cell_of, part_of = refined(functions), joined(functions)
        cells: list[list[int]] = [[] for _ in range(max(cell_of) + 1)]
        for person, cell in enumerate(cell_of):
            cells[cell].append(person)
        parts: list[list[list[int]]] = [[] for _ in range(max(part_of) + 1)]
        for people in cells:
            parts[part_of[people[0]]].append(people)
        # For each lower level: the block and the group of every person.
        homes = [self._homes(j) for j in range(i)]
        return [
            Placed(self._shape(part, functions[i], homes), tuple(map(tuple, part)))
            for part in parts
        ]

    def _homes(self, j: int) -> dict[int, tuple[int, Block, int]]:
        """For each person, (place of the block, block, group) at a level."""
        return {
            person: (place, placed.block, group)
            for place, placed in enumerate(self.level(j))
            for group, people in enumerate(placed.groups)
            for person in people
        }

    def _shape(
        self,
        part: Sequence[Sequence[int]],
        function: Sequence[int],
        homes: Sequence[dict[int, tuple[int, Block, int]]],
    ) -> Block:
        first = [people[0] for people in part]
        sizes = tuple(map(len, part))
        group_of = renumber(function[person] for person in first)
        below: list[tuple[Below, ...]] = []
        for home in homes:
            inside = dict.fromkeys(home[person][0] for person in first)
            blocks = {home[person][0]: home[person][1] for person in first}
            below.append(
                tuple(
                    Below(
                        blocks[place],
                        tuple(
                            home[person][2] if home[person][0] == place else -1 for person in first
                        ),
                    )
                    for place in inside
                )
            )
        return self.shape(sizes, group_of, tuple(below))

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
            block = Block(len(self._known), sizes, group_of, below)
            self._known[key] = block
            self.blocks.append(block)
        return self._known[key]
