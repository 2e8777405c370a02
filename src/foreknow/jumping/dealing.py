"""Dealing: all ways to spread a block's values over its cells, counted by what verdicts depend on.

Values are dealt one after another. Two partial deals are the same state when they leave the same
room in every cell and show the same to every earlier function that may still stop the table: so a
state is (values of the class left, room, what lower levels see). Values with equal counts in every
group are one class. A deal of which no lower level can stop the table is dropped at once; what was
dropped is the total less what was kept.

Room vectors number at most the product of (size + 1) over the cells. What lower levels see adds
nothing for functions of which only the permutation set matters under a highest ratio.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Protocol

from foreknow.errors import UnsupportedError
from foreknow.jumping.blocks import Block
from foreknow.jumping.sight import Column, Rules, Seen, Sight, lost
from foreknow.jumping.strategy import Need

BEYOND = "exact counting takes more than {:,} steps; allow more, or see `estimate`"


class BeyondReach(UnsupportedError):
    """Exact counting would take more steps than allowed."""


class Budget:
    """Steps that may still be taken."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.used = 0

    def spend(self, steps: int) -> None:
        """Take some steps.

        Raises
        ------
        BeyondReach
            If there are not so many left.
        """
        self.used += steps
        if self.used > self.steps:
            raise BeyondReach(BEYOND.format(self.steps))


class Deals(Protocol):
    """All deals of a block's values.

    Attributes
    ----------
    block : Block
    classes : list of Column
        Values with equal counts in every group.
    copies : list of int
        How many values each class has.
    total : int
        Number of deals: tables of the block's people.
    ends : dict of Seen to int
        Deals by what the lower levels see; those that nobody can stop are left out.
    """

    block: Block
    classes: list[Column]
    copies: list[int]
    total: int
    ends: dict[Seen, int]

    def sums(self, weight_of: dict[Seen, int]) -> list[list[int]]:
        """Weighted tables in which a person of a cell has a value of a class.

        Parameters
        ----------
        weight_of : dict of Seen to int
            Weight of each end.

        Returns
        -------
        list of lists of int
            For each class and cell: any one value of the class, any one person of the cell.
        """


@lru_cache(maxsize=1 << 14)
def splits(count: int, room: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """All ways to split a number among cells with limited room.

    >>> splits(2, (1, 2))
    ((0, 2), (1, 1))
    """
    if len(room) == 1:
        return ((count,),) if count <= room[0] else ()
    return tuple(
        (first, *rest)
        for first in range(min(count, room[0]) + 1)
        for rest in splits(count - first, room[1:])
    )


def how_many_spreads(
    counts: Sequence[int], cells_of: Sequence[Sequence[int]], sizes: Sequence[int]
) -> int:
    """How many `spreads` there are.

    >>> how_many_spreads((1, 1), ((0, 2), (1,)), (1, 1, 1))
    2
    """
    number = 1
    for count, cells in zip(counts, cells_of, strict=True):
        ways = [1] + [0] * count
        for c in cells:
            ways = [sum(ways[max(0, n - sizes[c]) : n + 1]) for n in range(count + 1)]
        number *= ways[count]
    return number


def spreads(
    counts: Sequence[int], cells_of: Sequence[Sequence[int]], sizes: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """All ways to give one value's occurrences in each group to the group's cells.

    >>> list(spreads((1, 1), ((0, 2), (1,)), (1, 1, 1)))
    [(0, 1, 1), (1, 1, 0)]
    """
    for chosen in product(
        *(
            splits(count, tuple(sizes[c] for c in cells))
            for count, cells in zip(counts, cells_of, strict=True)
        )
    ):
        found = [0] * len(sizes)
        for cells, numbers in zip(cells_of, chosen, strict=True):
            for c, n in zip(cells, numbers, strict=True):
                found[c] = n
        yield tuple(found)


def classed(columns: Sequence[Column]) -> tuple[list[Column], list[int]]:
    """Distinct columns and how often each occurs; frequent values first, as they break limits."""
    counted = Counter(columns)
    classes = sorted(counted, key=lambda column: (-sum(column[1]), column))
    return classes, [counted[column] for column in classes]


def tables(block: Block, classes: Sequence[Column], copies: Sequence[int]) -> int:
    """Number of tables with these values in the groups."""
    orders = math.prod(map(math.factorial, block.group_sizes))
    return orders // math.prod(
        int(math.factorial(count) ** times)
        for (_, counts), times in zip(classes, copies, strict=True)
        for count in counts
    )


class Deal:
    """All deals of a block, value by value over its cells (see `Deals`).

    Parameters
    ----------
    block : Block
    columns : sequence of Column
        How often each value occurs in each group of the block's own function.
    rules : Rules
    budget : Budget
    """

    def __init__(
        self, block: Block, columns: Sequence[Column], rules: Rules, budget: Budget
    ) -> None:
        self.block = block
        self.classes, self.copies = classed(columns)
        self.total = tables(block, self.classes, self.copies)
        self.ends: dict[Seen, int] = {}
        self._keep_all, self._budget = rules.keep_all, budget
        self._sight = Sight(block.below, rules.needs, rules)
        # Cells that can be exchanged without anybody seeing it, where little is seen at all.
        self._alike = _alike(block, rules.needs) if rules.light else []
        # For each layer: (source, target, ways, copies) of each edge; class and cells; weights.
        self._layers: list[list[tuple[int, int, int, int]]] = []
        self._class_of_layer: list[int] = []
        self._cells_of_layer: list[tuple[int, ...]] = []
        self._ends: list[Seen | None] = []
        self._forward()

    def _forward(self) -> None:
        block, start = self.block, self._sight.start()
        states: dict[Any, int] = {}
        if self._keep_all or not lost(start):
            states[0, block.sizes, start] = 1
        self._weights: list[list[int]] = [list(states.values())]
        for which, (colour, counts) in enumerate(self.classes if states else ()):
            self._budget.spend(how_many_spreads(counts, block.cells_of, block.sizes))
            options = list(spreads(counts, block.cells_of, block.sizes))
            states = {
                (self.copies[which], room, seen): weight
                for (_, room, seen), weight in states.items()
            }
            if self._alike:
                states = self._ordered(states)
                self._class_of_layer.append(which)
                self._cells_of_layer.append(())
            for r, cells in enumerate(options):
                more = self._sight.of(colour, cells)
                states = self._one_layer(states, cells, more, last=r == len(options) - 1)
                self._class_of_layer.append(which)
                self._cells_of_layer.append(cells)
        for (_, _, seen), weight in states.items():
            done = self._sight.done(seen)
            if not self._keep_all and lost(done):
                self._ends.append(None)
            else:
                self._ends.append(done)
                self.ends[done] = self.ends.get(done, 0) + weight

    def _one_layer(
        self, states: dict[Any, int], cells: tuple[int, ...], more: Seen, *, last: bool
    ) -> dict[Any, int]:
        """Give these cells to some of a class's values, as many as can be."""
        places: dict[Any, int] = {}
        weights: list[int] = []
        edges: list[tuple[int, int, int, int]] = []
        used = [(c, n) for c, n in enumerate(cells) if n]
        for source, ((left, room, seen), weight) in enumerate(states.items()):
            ways, k = 1, 0
            while True:
                if k == left or not last:
                    state = (left - k, room, seen)
                    place = places.get(state)
                    if place is None:
                        place = places[state] = len(weights)
                        weights.append(0)
                    factor = ways * math.comb(left, k)
                    weights[place] += weight * factor
                    edges.append((source, place, factor, k))
                if k == left:
                    break
                k += 1
                new_room = list(room)
                for c, n in used:
                    ways *= math.comb(room[c], n)
                    new_room[c] -= n
                if not ways:
                    break
                room = tuple(new_room)
                seen = self._sight.after(seen, more)
                if not self._keep_all and lost(seen):
                    break
        self._budget.spend(len(edges) + 1)
        self._layers.append(edges)
        self._weights.append(weights)
        return dict(zip(places, weights, strict=True))

    def _ordered(self, states: dict[Any, int]) -> dict[Any, int]:
        """Unite states that differ only by an exchange of cells."""
        places: dict[Any, int] = {}
        weights: list[int] = []
        edges: list[tuple[int, int, int, int]] = []
        for source, ((left, room, seen), weight) in enumerate(states.items()):
            ordered = list(room)
            for alike in self._alike:
                for c, n in zip(alike, sorted(room[c] for c in alike), strict=True):
                    ordered[c] = n
            place = places.setdefault((left, tuple(ordered), seen), len(weights))
            if place == len(weights):
                weights.append(0)
            weights[place] += weight
            edges.append((source, place, 1, 0))
        self._layers.append(edges)
        self._weights.append(weights)
        return dict(zip(places, weights, strict=True))

    def sums(self, weight_of: dict[Seen, int]) -> list[list[int]]:
        """See `Deals.sums`: backwards along the same steps."""
        values = [0 if seen is None else weight_of.get(seen, 0) for seen in self._ends]
        found = [[0] * len(self.block.sizes) for _ in self.classes]
        for layer in range(len(self._layers) - 1, -1, -1):
            sources = self._weights[layer]
            before = [0] * len(sources)
            flow = 0
            for source, target, factor, k in self._layers[layer]:
                value = values[target]
                if value:
                    value *= factor
                    before[source] += value
                    if k:
                        flow += k * value * sources[source]
            if flow:
                own = found[self._class_of_layer[layer]]
                for c, n in enumerate(self._cells_of_layer[layer]):
                    own[c] += n * flow
            values = before
        for row in found:
            for alike in self._alike:
                mean = sum(row[c] for c in alike) // len(alike)
                for c in alike:
                    row[c] = mean
        return [
            [number // (size * copies) for number, size in zip(row, self.block.sizes, strict=True)]
            for row, copies in zip(found, self.copies, strict=True)
        ]


def _alike(block: Block, needs: Sequence[Need]) -> list[tuple[int, ...]]:
    """Cells of one group and size that are, at every level that matters, in one or single."""
    kinds: dict[Any, list[int]] = {}
    for cell, (size, group) in enumerate(zip(block.sizes, block.group_of, strict=True)):
        homes: list[Any] = []
        for blocks, need in zip(block.below, needs, strict=True):
            if need is Need.NOTHING:
                continue
            for place, below in enumerate(blocks):
                home = below.group_of[cell]
                if home >= 0:
                    single = below.group_of.count(home) == 1
                    homes.append("single" if single else (place, home))
        kinds.setdefault((group, size, tuple(homes)), []).append(cell)
    return [tuple(cells) for cells in kinds.values() if len(cells) > 1]
