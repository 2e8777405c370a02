"""Cutting: a block dealt by parts that earlier functions do not connect.

Take the last level at which the block falls apart. Its parts are independent once it is known
which values each *piece* has: the people of a part whom no later function tells apart. So values
are dealt to pieces first, up to exchanging parts that look alike, and every part is then dealt by
itself, with what was found for equal values in parts of the same shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from foreknow.jumping.blocks import Below, Block, Layout
from foreknow.jumping.chaining import Chain
from foreknow.jumping.dealing import Budget, Deals, classed, spreads, tables
from foreknow.jumping.functions import renumber
from foreknow.jumping.sight import Column, Rules, Seen, Sight, lost, nobody

# Of a part: the room in its pieces; (class, how often in each piece) of each value.
Slot: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, tuple[int, ...]], ...]]


@dataclass(frozen=True, eq=False)
class Cut:
    """How a block falls apart.

    Attributes
    ----------
    level : int
        The parts are blocks of this level; they see the levels up to it.
    parts : tuple of Block
        Their own groups are their pieces.
    cells : tuple of tuples of int
        The block's cells in each part.
    pieces : tuple of tuples of int
        The pieces of each part, as numbered in the block.
    alike : tuple of int
        Parts with the same number can be exchanged.
    group_of, sizes : tuple of int
        Group of the block, and people, of each piece.
    above : tuple of tuples of Below
        The levels after `level`, by pieces instead of cells.
    """

    level: int
    parts: tuple[Block, ...]
    cells: tuple[tuple[int, ...], ...]
    pieces: tuple[tuple[int, ...], ...]
    alike: tuple[int, ...]
    group_of: tuple[int, ...]
    sizes: tuple[int, ...]
    above: tuple[tuple[Below, ...], ...]


def cut_of(block: Block, layout: Layout) -> Cut | None:
    """The last level at which a block falls apart; None if it is connected from the start."""
    level = next((j for j in range(block.level - 1, -1, -1) if len(block.below[j]) > 1), None)
    if level is None:
        return None
    part_of = [-1] * len(block.sizes)
    for place, below in enumerate(block.below[level]):
        for cell, group in enumerate(below.group_of):
            if group >= 0:
                part_of[cell] = place
    above = block.below[level + 1 :]
    # Where a cell lies in the block's groups and those of later levels.
    later = [
        (block.group_of[c], *((k, b.group_of[c]) for one in above for k, b in enumerate(one)))
        for c in range(len(block.sizes))
    ]
    piece_of = renumber(zip(part_of, later, strict=True))
    first = {piece: cell for cell, piece in reversed(list(enumerate(piece_of)))}
    sizes = [0] * len(first)
    for piece, size in zip(piece_of, block.sizes, strict=True):
        sizes[piece] += size
    parts, cells_in, pieces_in, alike = [], [], [], []
    for place in range(len(block.below[level])):
        cells = tuple(c for c, part in enumerate(part_of) if part == place)
        pieces = tuple(dict.fromkeys(piece_of[c] for c in cells))
        part = layout.shape(
            tuple(block.sizes[c] for c in cells),
            tuple(pieces.index(piece_of[c]) for c in cells),
            tuple(_inside(one, cells) for one in block.below[: level + 1]),
        )
        parts.append(part)
        cells_in.append(cells)
        pieces_in.append(pieces)
        alike.append((part.number, tuple(later[first[piece]] for piece in pieces)))
    by_piece = [first[piece] for piece in range(len(sizes))]
    return Cut(
        level,
        tuple(parts),
        tuple(cells_in),
        tuple(pieces_in),
        renumber(alike),
        tuple(block.group_of[c] for c in by_piece),
        tuple(sizes),
        tuple(
            tuple(Below(b.block, tuple(b.group_of[c] for c in by_piece)) for b in one)
            for one in above
        ),
    )


def _inside(blocks: Sequence[Below], cells: Sequence[int]) -> tuple[Below, ...]:
    """The blocks of a level that lie among some cells."""
    found = (Below(b.block, tuple(b.group_of[c] for c in cells)) for b in blocks)
    return tuple(b for b in found if max(b.group_of) >= 0)


class CutDeal:
    """All deals of a block, by its parts (see `Deals`).

    Parameters
    ----------
    block : Block
    columns : sequence of Column
    cut : Cut
    rules : Rules
    budget : Budget
    deal : callable
        From a part, its columns and rules to its deals.
    """

    def __init__(
        self,
        block: Block,
        columns: Sequence[Column],
        cut: Cut,
        rules: Rules,
        budget: Budget,
        deal: Callable[[Block, tuple[Column, ...], Rules], Deals],
    ) -> None:
        self.block, self._cut, self._rules, self._budget = block, cut, rules, budget
        self.classes, self.copies = classed(columns)
        self.total = tables(block, self.classes, self.copies)
        self.ends: dict[Seen, int] = {}
        self._deal = deal
        self._above = Sight(cut.above, rules.needs[cut.level + 1 :], rules)
        # For each way to cut the values: how many it stands for, what is seen, the parts' deals.
        self._ways: list[tuple[int, Seen, tuple[Slot, ...], Chain]] = []
        lower = rules.first(cut.level + 1)
        nothing = nobody(lower.needs)
        for (slots, seen), weight in self._pieces().items():
            upper = self._above.done(seen)
            deals = [
                deal(part, self._columns(slot), lower)
                for part, slot in zip(cut.parts, slots, strict=True)
            ]
            chain = Chain(nothing, deals, budget) if lost(upper) else _Whole(nothing, deals, budget)
            ...
