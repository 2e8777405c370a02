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
from typing import TypeAlias

from foreknow.methods.jump.block_counts import (
    Budget,
    Chain,
    Column,
    Deals,
    Rules,
    Seen,
    Sight,
    classed,
    how_many_spreads,
    lost,
    nobody,
    spreads,
    tables,
)
from foreknow.methods.jump.blocks import Below, Block, Layout
from foreknow.methods.jump.functions import renumber

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
        self.block, self._cut, self._budget = block, cut, budget
        self.classes, self.copies = classed(columns)
        self.total = tables(block, self.classes, self.copies)
        self.ends: dict[Seen, int] = {}
        self._above = Sight(cut.above, rules.needs[cut.level + 1 :], rules)
        lower = rules.first(cut.level + 1)
        self._unseen: Seen = (None,) * (cut.level + 1)
        # For each way to cut the values: how many it stands for, what later levels see, the
        # values of each part, and the parts' deals.
        self._ways: list[tuple[int, Seen, tuple[Slot, ...], Chain]] = []
        for (slots, seen), number in self._pieces().items():
            upper = self._above.done(seen)
            deals = [
                deal(part, self._columns(slot), lower)
                for part, slot in zip(cut.parts, slots, strict=True)
            ]
            chain = Chain(nobody(lower.needs), deals, budget)
            if not chain.ends and lost(upper):
                continue
            self._ways.append((number, upper, slots, chain))
            for end, ways in self._ends_of(chain, upper).items():
                self.ends[end] = self.ends.get(end, 0) + number * ways

    def _ends_of(self, chain: Chain, upper: Seen) -> dict[Seen, int]:
        """Deals of the parts by what all levels see."""
        ends = {(*lower, *upper): ways for lower, ways in chain.ends.items()}
        if not lost(upper):
            rest = math.prod(deal.total for deal in chain.deals) - sum(chain.ends.values())
            if rest:
                ends[(*self._unseen, *upper)] = rest
        return ends

    def _columns(self, slot: Slot) -> tuple[Column, ...]:
        """Values of a part, no longer by their class in the block."""
        return tuple(sorted((self.classes[which][0], counts) for which, counts in slot[1]))

    def _pieces(self) -> dict[tuple[tuple[Slot, ...], Seen], int]:
        """Ways to deal the values to pieces, up to exchanging parts that are alike."""
        cut = self._cut
        pieces_of = [
            tuple(p for p, group in enumerate(cut.group_of) if group == g)
            for g in range(len(self.block.group_sizes))
        ]
        empty: tuple[Slot, ...] = tuple(
            (tuple(cut.sizes[p] for p in pieces), ()) for pieces in cut.pieces
        )
        states = {(empty, self._above.start()): 1}
        for which, ((colour, counts), copies) in enumerate(
            zip(self.classes, self.copies, strict=True)
        ):
            options = []
            self._budget.spend(how_many_spreads(counts, pieces_of, cut.sizes))
            for spread in spreads(counts, pieces_of, cut.sizes):
                own = [tuple(spread[p] for p in pieces) for pieces in cut.pieces]
                options.append((own, self._above.of(colour, spread)))
            for _ in range(copies):
                found: dict[tuple[tuple[Slot, ...], Seen], int] = {}
                for (slots, seen), number in states.items():
                    for own, more in options:
                        dealt = self._dealt(slots, which, own)
                        if dealt is not None:
                            state = dealt, self._above.after(seen, more)
                            found[state] = found.get(state, 0) + number
                    self._budget.spend(len(options))
                states = found
        return states

    def _dealt(
        self, slots: tuple[Slot, ...], which: int, own: Sequence[tuple[int, ...]]
    ) -> tuple[Slot, ...] | None:
        """Parts after one more value, in a fixed order of those alike; None if there is no room."""
        by_kind: dict[int, list[Slot]] = {}
        for slot, counts, kind in zip(slots, own, self._cut.alike, strict=True):
            if any(counts):
                room = tuple(r - n for r, n in zip(slot[0], counts, strict=True))
                if min(room) < 0:
                    return None
                slot = room, tuple(sorted((*slot[1], (which, counts))))
            by_kind.setdefault(kind, []).append(slot)
        for alike in by_kind.values():
            alike.sort(reverse=True)
        return tuple(by_kind[kind].pop() for kind in self._cut.alike)

    def sums(self, weight_of: dict[Seen, int]) -> list[list[int]]:
        """See `Deals.sums`: for each way to cut the values, those of its parts."""
        cut = self._cut
        found = [[0] * len(self.block.sizes) for _ in self.classes]
        for number, upper, slots, chain in self._ways:
            rest = 0 if lost(upper) else weight_of.get((*self._unseen, *upper), 0)
            values = {end: weight_of.get((*end, *upper), 0) - rest for end in chain.ends}
            if not rest and not any(values.values()):
                continue
            # Those that no lower level can stop are all deals less the others.
            everything = rest * math.prod(deal.total for deal in chain.deals)
            for place, (deal, weights) in enumerate(
                zip(chain.deals, chain.weights(values.__getitem__), strict=True)
            ):
                kept = dict(zip(deal.classes, deal.sums(weights), strict=True))
                part = cut.parts[place]
                for which, counts in slots[place][1]:
                    own, row = kept[self.classes[which][0], counts], found[which]
                    for k, cell in enumerate(cut.cells[place]):
                        group = part.group_of[k]
                        row[cell] += number * (
                            own[k] + everything * counts[group] // part.group_sizes[group]
                        )
        return self._levelled(found)

    def _levelled(self, found: list[list[int]]) -> list[list[int]]:
        """The same for all parts that can be exchanged, for one value of each class."""
        cut = self._cut
        for kind in set(cut.alike):
            places = [place for place, other in enumerate(cut.alike) if other == kind]
            for row in found:
                for cells in zip(*(cut.cells[place] for place in places), strict=True):
                    mean = sum(row[cell] for cell in cells) // len(cells)
                    for cell in cells:
                        row[cell] = mean
        return [
            [number // copies for number in row]
            for row, copies in zip(found, self.copies, strict=True)
        ]
