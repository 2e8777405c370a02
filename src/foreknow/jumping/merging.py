"""Merging: a block with only the cells that the levels of interest tell apart.

Levels that cannot stop any of the tables need not be looked at, and people whom only such levels
tell apart have the same probabilities. So the cells are those of the other levels: a few where the
first of a chain of functions is too fine for any of the tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from foreknow.jumping.blocks import Below, Block, Layout
from foreknow.jumping.dealing import Deals
from foreknow.jumping.functions import renumber
from foreknow.jumping.sight import Column, Seen
from foreknow.jumping.strategy import Need


def merged(block: Block, needs: Sequence[Need], layout: Layout) -> tuple[Block, tuple[int, ...]]:
    """The block without levels of which nothing is needed, and the new cell of each cell.

    Examples
    --------
    >>> layout = Layout([(0, 0, 1, 1, 2, 2), (0, 0, 0, 1, 1, 1), (0, 0, 0, 0, 1, 1)])
    >>> block = layout.level(2)[0].block
    >>> small, cell_of = merged(block, (Need.NOTHING, Need.PERMUTATION), layout)
    >>> cell_of, small.sizes  # AB C D EF: only the second and third function are looked at
    ((0, 0, 1, 2), (3, 1, 2))
    """
    if not any(
        need is Need.NOTHING and below for need, below in zip(needs, block.below, strict=True)
    ):
        return block, tuple(range(len(block.sizes)))
    seen = [
        () if need is Need.NOTHING else below
        for below, need in zip(block.below, needs, strict=True)
    ]
    cell_of = renumber(
        (group, *((k, b.group_of[c]) for level in seen for k, b in enumerate(level)))
        for c, group in enumerate(block.group_of)
    )
    first = {new: old for old, new in reversed(list(enumerate(cell_of)))}
    sizes = [0] * len(first)
    for new, size in zip(cell_of, block.sizes, strict=True):
        sizes[new] += size
    old = [first[new] for new in range(len(sizes))]
    small = layout.shape(
        tuple(sizes),
        tuple(block.group_of[c] for c in old),
        tuple(
            tuple(Below(b.block, tuple(b.group_of[c] for c in old)) for b in level)
            for level in seen
        ),
    )
    return small, cell_of


class MergedDeal:
    """All deals of a block, by those of the block with fewer cells (see `Deals`).

    Parameters
    ----------
    block : Block
    deals : Deals
        Of the block with fewer cells.
    cell_of : tuple of int
        The new cell of each cell.
    """

    def __init__(self, block: Block, deals: Deals, cell_of: tuple[int, ...]) -> None:
        self.block, self._deals, self._cell_of = block, deals, cell_of
        self.classes: list[Column] = deals.classes
        self.copies: list[int] = deals.copies
        self.total: int = deals.total
        self.ends: dict[Seen, int] = deals.ends

    def sums(self, weight_of: dict[Seen, int]) -> list[list[int]]:
        """See `Deals.sums`: people of one new cell have the same."""
        return [[row[cell] for cell in self._cell_of] for row in self._deals.sums(weight_of)]
