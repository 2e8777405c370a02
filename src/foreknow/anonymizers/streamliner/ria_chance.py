"""The chance that RIA makes some groups: exact, for tables of few people.

Everybody of a colour and their partners are a *star*. Stars of one colour have no member in common,
and those of different colours are drawn independently. Groups are what the stars join together.

Let R(c, π) be the chance that all stars of colour c lie within the blocks of a partition π. What
is joined is at least as fine as π with the product of R(c, π) over the colours; so it is just the
partition P with the sum, over all π at least as fine as P, of that product times the Möbius
function of partitions: for each group of P that π cuts into b blocks, (−1)^(b−1) (b−1)!. R is a
recursion over the draws of a colour. All of it depends on bags only, not on who is meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import factorial, prod
from typing import TypeAlias

import numpy as np

from foreknow.anonymizers.dealt_chance import Bag
from foreknow.errors import UnsupportedError
from foreknow.sparse import IntArray

# How many people of each colour are in a block; and of all blocks, in ascending order.
_Block: TypeAlias = tuple[int, ...]
_Blocks: TypeAlias = tuple[_Block, ...]
# Steps that may be taken.
_MOST = 100_000


def chance_of_ria(found: Counter[Bag], sizes: IntArray, l: int) -> Fraction:  # noqa: E741
    """How probable groups with these bags are, whatever they are called.

    Parameters
    ----------
    found : Counter of bags
        The colours of each group.
    sizes : int64 array, shape (colours,)
        Of an l-eligible table.
    l : int

    Raises
    ------
    UnsupportedError
        If the table is too large.

    Examples
    --------
    Of a, a, b, b each draws a partner; they stay in pairs if all four draw alike.

    >>> chance_of_ria(Counter({(0, 1): 2}), np.array([2, 2]), 2)
    Fraction(1, 4)
    """
    present = np.flatnonzero(sizes).tolist()
    groups = [tuple(bag.count(colour) for colour in present) for bag in found.elements()]
    return _chance(tuple(sorted(groups)), l)


@lru_cache(maxsize=4096)
def _chance(groups: _Blocks, l: int) -> Fraction:  # noqa: E741
    """The chance of the groups of people of certain colours."""
    steps = _Steps(_MOST)
    finer: dict[_Blocks, int] = {(): 1}
    for group in groups:
        cuts = list(_cuts(group, l, steps))
        more: dict[_Blocks, int] = {}
        for (blocks, many), (own, times) in product(finer.items(), cuts):
            steps.take()
            joined = tuple(sorted(blocks + own))
            more[joined] = more.get(joined, 0) + many * times
        finer = more
    draws = [_Draws(colour, l, steps) for colour in range(len(groups[0]))]
    found = Fraction(0)
    for blocks, many in finer.items():
        found += many * prod((d.within(blocks) for d in draws), start=Fraction(1))
    return found


class _Steps:
    """Steps that are left."""

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise UnsupportedError(
                "the table is too large for the exact chance of groups that ria makes; that the "
                "posterior is the frequency in the group is proved for any"
            )


def _cuts(group: _Block, l: int, steps: _Steps) -> Iterator[tuple[_Blocks, int]]:  # noqa: E741
    """Every way to cut a group into blocks that stars may lie in, and how much it counts.

    That is how many cuts of the people it stands for, times the Möbius function.
    """
    for blocks in _multisets(group, group, l, steps):
        ways = prod(
            factorial(many) // prod(factorial(block[colour]) for block in blocks)
            for colour, many in enumerate(group)
        )
        ways //= prod(map(factorial, Counter(blocks).values()))
        b = len(blocks)
        yield blocks, (-1) ** (b - 1) * factorial(b - 1) * ways


def _multisets(rest: _Block, most: _Block, l: int, steps: _Steps) -> Iterator[_Blocks]:  # noqa: E741
    """Every multiset of blocks that make up the rest, none of them above `most` in order."""
    if not any(rest):
        yield ()
        return
    for block in product(*(range(many + 1) for many in rest)):
        steps.take()
        if block <= most and any(block) and l * max(block) <= sum(block):
            left = tuple(a - b for a, b in zip(rest, block, strict=True))
            for others in _multisets(left, block, l, steps):
                yield (block, *others)


class _Draws:
    """The draws of one colour: the chance that partners are found within blocks."""

    def __init__(self, colour: int, l: int, steps: _Steps) -> None:  # noqa: E741
        self.colour, self.need = colour, l - 1
        self._steps = steps
        self._known: dict[_Blocks, Fraction] = {}

    def within(self, blocks: _Blocks) -> Fraction:
        """R: a block says how many members draw, at this colour, and who can be drawn, at others.

        One member after the other draws, by the rule of `partners`.
        """
        blocks = tuple(sorted(blocks))
        if blocks not in self._known:
            self._steps.take()
            self._known[blocks] = self._found(blocks)
        return self._known[blocks]

    def _found(self, blocks: _Blocks) -> Fraction:
        unused = [sum(block[colour] for block in blocks) for colour in range(len(blocks[0]))]
        left, unused[self.colour] = unused[self.colour], 0
        if not left:
            return Fraction(1)
        rows = list(self._rows(unused, left))
        found = sum((self._taken(row, blocks) for row in rows), Fraction(0))
        return found / (len(rows) * left)

    def _rows(self, unused: list[int], left: int) -> Iterator[tuple[int, ...]]:
        """The sets of colours that the next one may draw, each as likely."""
        pool = [colour for colour, many in enumerate(unused) if many]
        spare = sum(min(many, left) for many in unused) - self.need * left
        full = [colour for colour in pool if unused[colour] >= left]
        if spare >= len(pool):
            yield from combinations(pool, self.need)
        elif len(full) >= self.need:
            yield from combinations(full, self.need)
        else:
            others = [colour for colour in pool if unused[colour] < left]
            for more in combinations(others, self.need - len(full)):
                yield (*full, *more)

    def _taken(self, row: tuple[int, ...], blocks: _Blocks) -> Fraction:
        """Who draws, times the chance of a partner of each colour of the row, in the same block."""
        ways = Fraction(0)
        for block, alike in Counter(blocks).items():
            chances = block[self.colour] * alike * prod(block[colour] for colour in row)
            if chances:
                less = list(block)
                for colour in (self.colour, *row):
                    less[colour] -= 1
                rest = list(blocks)
                rest.remove(block)
                ways += chances * self.within((*rest, tuple(less)))
        return ways / prod(sum(block[colour] for block in blocks) for colour in row)
