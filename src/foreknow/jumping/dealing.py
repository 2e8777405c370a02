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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

from foreknow.errors import UnsupportedError
from foreknow.jumping.blocks import Block
from foreknow.jumping.strategy import Need

# (colour, how often in each group)
Column: TypeAlias = tuple[int, tuple[int, ...]]
# For each lower level: None (its permutation set is not safe), True (it is), or the values of
# each of its blocks, as the shape's number and sorted columns.
Seen: TypeAlias = tuple[Any, ...]


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
            raise BeyondReach(f"exact counting takes more than {self.steps:,} steps")


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


@dataclass(frozen=True)
class Rules:
    """What decides about permutation sets, and what is needed of each lower level.

    Attributes
    ----------
    limits : callable from (size, colour) to int
    allows : callable from (counts of a group as (colour, count), size) to bool
    complete : bool
        Whether limits decide alone.
    needs : tuple of Need
        Of each lower level.
    keep_all : bool
        Whether deals must be kept though no lower level can stop the table.
    """

    limits: Any
    allows: Any
    complete: bool
    needs: tuple[Need, ...]
    keep_all: bool = False


class Deal:
    """All deals of a block.

    Parameters
    ----------
    block : Block
    columns : sequence of Column
        How often each value occurs in each group of the block's own function.
    rules : Rules
    budget : Budget

    Attributes
    ----------
    total : int
        Number of deals: tables of the block's people.
    ends : dict of Seen to int
        Deals by what the lower levels see; those that nobody can stop are left out.
    """

    def __init__(
        self, block: Block, columns: Sequence[Column], rules: Rules, budget: Budget
    ) -> None:
        self.block, self.rules = block, rules
        counted = Counter(columns)
        # Frequent values first: they exceed limits early.
        self.classes = sorted(counted, key=lambda column: (-sum(column[1]), column))
        self.copies = [counted[column] for column in self.classes]
        self.total = math.prod(map(math.factorial, block.group_sizes)) // math.prod(
            math.factorial(count) ** copies
            for (_, counts), copies in zip(self.classes, self.copies, strict=True)
            for count in counts
        )
        self._layers: list[list[tuple[int, int, int, int, tuple[int, ...]]]] = []
        self._class_of_layer: list[int] = []
        self._ends: list[Seen | None] = []
        self.ends: dict[Seen, int] = {}
        self._forward(budget)

    def _forward(self, budget: Budget) -> None:
        start = tuple(self._start(j) for j in range(self.block.level))
        states: dict[Any, int] = {}
        if self.rules.keep_all or any(seen is not None for seen in start):
            states[(0, self.block.sizes, start)] = 1
        self._weights: list[list[int]] = [list(states.values())]
        for which, column in enumerate(self.classes):
            options = self._options(column)
            states = {
                (self.copies[which], room, seen): weight
                for (_, room, seen), weight in states.items()
            }
            for r, (cells, sight) in enumerate(options):
                states = self._one_layer(
                    states, cells, sight, r == len(options) - 1, budget
                )
                self._class_of_layer.append(which)
        for state, weight in states.items():
            seen = self._finished(state[2])
            self._ends.append(seen)
            if seen is not None:
                self.ends[seen] = self.ends.get(seen, 0) + weight

    def _one_layer(
        self, states: dict[Any, int], cells: tuple[int, ...], sight: Seen, last: bool, budget: Budget
    ) -> dict[Any, int]:
        """Give some copies of a value to these cells, as many as can be."""
        places: dict[Any, int] = {}
        weights: list[int] = []
        edges: list[tuple[int, int, int, int, tuple[int, ...]]] = []
        used = [(c, n) for c, n in enumerate(cells) if n]
        for source, ((left, room, seen), weight) in enumerate(states.items()):
            ways = 1
            k = 0
            while True:
                if k == left or not last:
                    state = (left - k, room, seen)
                    place = places.get(state)
                    if place is None:
                        place = places[state] = len(weights)
                        weights.append(0)
                    factor = ways * math.comb(left, k)
                    weights[place] += weight * factor
                    edges.append((source, place, factor, k, cells))
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
                seen = self._looked(seen, sight)
                if not self.rules.keep_all and all(one is None for one in seen):
                    break
        budget.spend(len(edges) + 1)
        self._layers.append(edges)
        self._weights.append(weights)
        return dict(zip(places, weights, strict=True))

    def _start(self, j: int) -> Any:
        """What a lower level sees of no values."""
        below = self.block.below[j]
        if self.rules.needs[j] is Need.PERMUTATION:
            if self.rules.complete:
                return True if all(self._possible(b.block) for b in below) else None
            return tuple(() for b in below for _ in b.block.group_sizes)
        return tuple(() for _ in below)

    def _possible(self, block: Block) -> bool:
        return all(self.rules.limits(size, 0) >= 0 for size in block.group_sizes)

    def _options(self, column: Column) -> list[tuple[tuple[int, ...], Seen]]:
        """Ways to give one value's occurrences to cells, and what lower levels see of each."""
        colour, counts = column
        sizes, parts = self.block.sizes, self.block.cells_of
        options = []
        for chosen in product(
            *(
                splits(count, tuple(sizes[c] for c in cells))
                for count, cells in zip(counts, parts, strict=True)
            )
        ):
            cells = [0] * len(sizes)
            for group, numbers in zip(parts, chosen, strict=True):
                for c, n in zip(group, numbers, strict=True):
                    cells[c] = n
            options.append(
                (
                    tuple(cells),
                    tuple(self._sight(j, colour, cells) for j in range(self.block.level)),
                )
            )
        return options

    def _sight(self, j: int, colour: int, cells: Sequence[int]) -> Any:
        """What level j sees of one value: None if it breaks a limit there."""
        need, found = self.rules.needs[j], []
        for below in self.block.below[j]:
            sums = [0] * len(below.block.group_sizes)
            for group, n in zip(below.group_of, cells, strict=True):
                if group >= 0:
                    sums[group] += n
            if need is not Need.ALWAYS and any(
                n > self.rules.limits(size, colour)
                for n, size in zip(sums, below.block.group_sizes, strict=True)
            ):
                return None
            if need is Need.PERMUTATION:
                found += [(colour, n) if n else None for n in sums]
            else:
                found.append((colour, tuple(sums)) if any(sums) else None)
        if need is Need.PERMUTATION and self.rules.complete:
            return True
        return tuple(found)

    def _looked(self, seen: Seen, sight: Seen) -> Seen:
        """What lower levels see after one more value."""
        return tuple(
            None
            if old is None or new is None
            else True
            if old is True
            else tuple(
                have if more is None else _inserted(have, more)
                for have, more in zip(old, new, strict=True)
            )
            for old, new in zip(seen, sight, strict=True)
        )

    def _finished(self, seen: Seen) -> Seen | None:
        """The final form of what is seen, after judging permutation sets; None if all is lost."""
        done = tuple(self._judged(j, one) for j, one in enumerate(seen))
        if not self.rules.keep_all and all(one is None for one in done):
            return None
        return done

    def _judged(self, j: int, seen: Any) -> Any:
        if seen is None or seen is True:
            return seen
        below, need = self.block.below[j], self.rules.needs[j]
        if need is Need.PERMUTATION:
            sizes = [size for b in below for size in b.block.group_sizes]
            if not all(map(self.rules.allows, seen, sizes)):
                return None
            return True
        if need is Need.GATED and not self.rules.complete:
            for b, columns in zip(below, seen, strict=True):
                for g, size in enumerate(b.block.group_sizes):
                    row = [(colour, counts[g]) for colour, counts in columns if counts[g]]
                    if not self.rules.allows(row, size):
                        return None
        return tuple(sorted((b.block.number, cols) for b, cols in zip(below, seen, strict=True)))

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
        values = [0 if seen is None else weight_of.get(seen, 0) for seen in self._ends]
        found = [[0] * len(self.block.sizes) for _ in self.classes]
        for layer in range(len(self._layers) - 1, -1, -1):
            sources = self._weights[layer]
            before = [0] * len(sources)
            own = found[self._class_of_layer[layer]]
            flow = 0
            for source, target, factor, k, cells in self._layers[layer]:
                value = values[target]
                if value:
                    value *= factor
                    before[source] += value
                    if k:
                        flow += k * value * sources[source]
            if flow:
                for c, n in enumerate(self._layers[layer][0][4]):
                    if n:
                        own[c] += n * flow
            values = before
        return [
            [number // (size * copies) for number, size in zip(row, self.block.sizes, strict=True)]
            for row, copies in zip(found, self.copies, strict=True)
        ]


def _inserted(have: tuple[Any, ...], more: Any) -> tuple[Any, ...]:
    return tuple(sorted((*have, more)))
