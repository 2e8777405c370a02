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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Protocol, TypeAlias

from foreknow.errors import UnsupportedError
from foreknow.methods.jump.blocks import Below, Block, Layout
from foreknow.methods.jump.functions import renumber
from foreknow.methods.jump.strategy import Need

# (colour, how often in each group)
Column: TypeAlias = tuple[int, tuple[int, ...]]
Seen: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Rules:
    """What decides about permutation sets, and what is needed of each lower level.

    Attributes
    ----------
    limit : callable
        From (size of a group, colour) to how often a value may occur there.
    allows : callable
        From (values of a group as (colour, count), its size) to whether it has the property.
    complete : bool
        Whether limits decide alone.
    needs : tuple of Need
        Of each lower level.
    """

    limit: Callable[[int, int], int]
    allows: Callable[[Sequence[tuple[int, int]], int], bool]
    complete: bool
    needs: tuple[Need, ...]

    @property
    def keep_all(self) -> bool:
        """Whether tables matter though no permutation set of theirs is safe."""
        return Need.ALWAYS in self.needs

    @property
    def light(self) -> bool:
        """Whether what is seen is never more than one bit for each level."""
        return not {Need.GATED, Need.ALWAYS} & set(self.needs) and (
            self.complete or Need.PERMUTATION not in self.needs
        )

    def needing(self, needs: tuple[Need, ...]) -> Rules:
        """The same rules with other needs."""
        return Rules(self.limit, self.allows, self.complete, needs)

    def first(self, levels: int) -> Rules:
        """The same rules for the lowest levels."""
        return self.needing(self.needs[:levels])


class Sight:
    """What some lower levels see of values that are dealt one after another.

    Parameters
    ----------
    levels : sequence of tuples of Below
        The blocks of each level.
    needs : sequence of Need
        Of each of these levels.
    rules : Rules
    """

    def __init__(
        self, levels: Sequence[tuple[Below, ...]], needs: Sequence[Need], rules: Rules
    ) -> None:
        self._levels = list(zip(levels, needs, strict=True))
        self._rules = rules
        self._limits: dict[tuple[int, int], int] = {}

    def start(self) -> Seen:
        """What is seen of no values at all."""
        return tuple(self._start(blocks, need) for blocks, need in self._levels)

    def of(self, colour: int, cells: Sequence[int]) -> Seen:
        """What is seen of one value that occurs so often in each cell."""
        return tuple(self._of(blocks, need, colour, cells) for blocks, need in self._levels)

    def after(self, seen: Seen, more: Seen) -> Seen:
        """What is seen after one more value."""
        return tuple(
            None
            if old is None or new is None
            else True
            if old is True
            else tuple(
                have if one is None else tuple(sorted((*have, one)))
                for have, one in zip(old, new, strict=True)
            )
            for old, new in zip(seen, more, strict=True)
        )

    def done(self, seen: Seen) -> Seen:
        """What is seen of all values, with verdicts on permutation sets."""
        return tuple(
            self._done(blocks, need, one)
            for (blocks, need), one in zip(self._levels, seen, strict=True)
        )

    def _start(self, blocks: tuple[Below, ...], need: Need) -> Any:
        if need is Need.NOTHING:
            return None
        if need is not Need.PERMUTATION:
            return tuple(() for _ in blocks)
        sizes = [size for below in blocks for size in below.block.group_sizes]
        if self._rules.complete:
            return True if all(self._limit(size, 0) >= 0 for size in sizes) else None
        return tuple(() for _ in sizes)

    def _of(self, blocks: tuple[Below, ...], need: Need, colour: int, cells: Sequence[int]) -> Any:
        if need is Need.NOTHING:
            return None
        found: list[Any] = []
        for below in blocks:
            sums = [0] * len(below.block.group_sizes)
            for group, n in zip(below.group_of, cells, strict=True):
                if n and group >= 0:
                    sums[group] += n
            if need is not Need.ALWAYS and any(
                n > self._limit(size, colour)
                for n, size in zip(sums, below.block.group_sizes, strict=True)
            ):
                return None
            if need is Need.PERMUTATION:
                found += [(colour, n) if n else None for n in sums]
            else:
                found.append((colour, tuple(sums)) if any(sums) else None)
        return True if need is Need.PERMUTATION and self._rules.complete else tuple(found)

    def _done(self, blocks: tuple[Below, ...], need: Need, seen: Any) -> Any:
        if seen is None or seen is True:
            return seen
        allows = self._rules.allows
        if need is Need.PERMUTATION:
            sizes = [size for below in blocks for size in below.block.group_sizes]
            return True if all(map(allows, seen, sizes)) else None
        if need is Need.GATED and not self._rules.complete:
            for below, columns in zip(blocks, seen, strict=True):
                for g, size in enumerate(below.block.group_sizes):
                    if not allows([(c, row[g]) for c, row in columns if row[g]], size):
                        return None
        return tuple(
            sorted((below.block.number, cols) for below, cols in zip(blocks, seen, strict=True))
        )

    def _limit(self, size: int, colour: int) -> int:
        key = (size, colour)
        if key not in self._limits:
            self._limits[key] = self._rules.limit(size, colour)
        return self._limits[key]


def lost(seen: Seen) -> bool:
    """Whether no level has a safe permutation set."""
    return all(one is None for one in seen)


def together(one: Seen, other: Seen) -> Seen | None:
    """What is seen of two sets of blocks; None if no permutation set is safe any more."""
    both = tuple(
        None if a is None or b is None else True if a is True else tuple(sorted((*a, *b)))
        for a, b in zip(one, other, strict=True)
    )
    return None if lost(both) else both


def nobody(needs: Sequence[Need]) -> Seen:
    """What is seen of no blocks."""
    none: dict[Need, Any] = {Need.PERMUTATION: True, Need.NOTHING: None}
    return tuple(none.get(need, ()) for need in needs)


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


Part: TypeAlias = tuple[Block, tuple[Column, ...]]
Parts: TypeAlias = Sequence[Part]


@dataclass(frozen=True)
class CountedPart:
    """A block in a disclosure set.

    Attributes
    ----------
    block : Block
    classes : tuple of (Column, int)
        Values with equal counts in all groups, and how many there are.
    tables : tuple of tuples of int
        For each class and cell: tables of the set in which a person of the cell has one particular
        value of the class.
    """

    block: Block
    classes: tuple[tuple[Column, int], ...]
    tables: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Counted:
    """A disclosure set by its counts.

    Attributes
    ----------
    size : int
        Number of tables.
    total : int
        Number of tables of the permutation set.
    parts : tuple of CountedPart
    """

    size: int
    total: int
    parts: tuple[CountedPart, ...]


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


class Chain:
    """Deals of independent pieces, by what the lower levels see of all of them.

    Parameters
    ----------
    start : Seen
        What is seen before the first piece.
    deals : sequence of Deals
    budget : Budget

    Attributes
    ----------
    ends : dict of Seen to int
        Deals of all pieces together, without those that nobody can stop.
    """

    def __init__(self, start: Seen, deals: Sequence[Deals], budget: Budget) -> None:
        self.deals = deals
        self._ahead: list[dict[Seen, int]] = [{start: 1}]
        self._steps: list[dict[tuple[Seen, Seen], Seen]] = []
        for deal in deals:
            reached: dict[Seen, int] = {}
            step: dict[tuple[Seen, Seen], Seen] = {}
            for before, weight in self._ahead[-1].items():
                for end, ways in deal.ends.items():
                    both = together(before, end)
                    if both is not None:
                        step[before, end] = both
                        reached[both] = reached.get(both, 0) + weight * ways
            budget.spend(len(step) + 1)
            self._steps.append(step)
            self._ahead.append(reached)
        self.ends = self._ahead[-1]

    def weights(self, value_of: Callable[[Seen], int]) -> list[dict[Seen, int]]:
        """For each piece, the weight of each of its ends: summed over the other pieces."""
        values = {seen: value_of(seen) for seen in self.ends}
        found: list[dict[Seen, int]] = [{} for _ in self.deals]
        for place in range(len(self.deals) - 1, -1, -1):
            own, ahead, ends = found[place], self._ahead[place], self.deals[place].ends
            earlier = dict.fromkeys(ahead, 0)
            for (before, end), both in self._steps[place].items():
                value = values[both]
                if value:
                    own[end] = own.get(end, 0) + ahead[before] * value
                    earlier[before] += ends[end] * value
            values = earlier
        return found
