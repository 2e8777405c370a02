"""Disclosure sets, exactly: which tables agree with a release and get to it, counted by blocks.

All ways to give a block's values to its cells are counted by what earlier functions see of them.
Two partial ways are one state if they leave the same room in every cell and look the same to every
function that may still stop the table: so a state is (values of a class left, room, what is seen),
where values with equal counts in every group are one class. Tables that no function can stop are
dropped at once: they are all tables less the others.

A disclosure set depends on the generalization, not on the table (section 3.2 of "k-Jump Strategy
..."), so verdicts are kept by generalization; and only up to exchanging values of one colour within
a block, and blocks of one shape. That removes the exponent n/k of Theorem 7.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product
from operator import add
from typing import Any, Literal, NamedTuple, TypeAlias

from foreknow.errors import BeyondReach
from foreknow.features.more_methods.jump.blocks import Below, Block, BlockTree
from foreknow.features.more_methods.jump.bounds import surely_safe
from foreknow.features.more_methods.jump.properties import Property

Seen: TypeAlias = tuple[Any, ...]  # what each lower level sees; see `BlockTables`


class Column(NamedTuple):
    """A value of a block, up to its name."""

    colour: int  # which values the property treats alike: a number in the palette
    counts: tuple[int, ...]  # how often it occurs in each group of the block


class Part(NamedTuple):
    """A block of people, and the values that they have."""

    block: Block
    columns: tuple[Column, ...]


FIRST_STEPS = 20_000
BEYOND = "exact counting takes more than {:,} steps"


class Budget:
    """A limit on the steps for one question, with the steps that were taken."""

    def __init__(self, steps: int) -> None:
        self.steps, self.used, self.ever = steps, 0, 0

    def spend(self, steps: int) -> None:
        """Take some steps, if there are so many left."""
        self.used += steps
        self.ever += steps
        if self.used > self.steps:
            raise BeyondReach(BEYOND.format(self.steps))


class EarlierNeed(enum.Enum):
    """How much must be known of an earlier function to say whether a table reaches a later one."""

    NOTHING = "its permutation set cannot be safe, nor its disclosure set"
    PERMUTATION = "only whether its permutation set is safe"
    GATED = "whether its disclosure set is safe, where its permutation set is"
    ALWAYS = "whether its disclosure set is safe, in any case"


Needs: TypeAlias = tuple[EarlierNeed, ...]


@dataclass(frozen=True)
class Strategy:
    """The sets that are judged, and where a table goes from each verdict (Tables 6, 7 and 9).

    A jump from function j has distance k[j], where Table 13 prints k[i].
    """

    kind: Literal["naive", "safe", "jump"]
    property: Property
    distances: tuple[int, ...] = ()

    def need(self, j: int, i: int) -> EarlierNeed:
        """How much must be known of function j to say whether a table reaches a later function i.

        The permutation set of j is the tables with the same values in each group of j; its
        disclosure set is those of them that reach j. Every table gets to the first function, so
        there both are the same. A jump that passes i, or a release, keep a table from i alike
        (section 4.2.1). Where the property is convex, no disclosure set is safe whose permutation
        set is not (Lemma 3).
        """
        if self.kind == "naive" or j == 0 or (self.kind == "jump" and self.after(j) > i):
            return EarlierNeed.PERMUTATION
        # The disclosure set matters only behind a safe permutation set: because the jump method
        # looks at that one first, or because it cannot be safe otherwise.
        if self.kind == "jump" or self.property.convex:
            return EarlierNeed.GATED
        return EarlierNeed.ALWAYS

    def after(self, j: int) -> int:
        """Where a table goes whose permutation set at j is safe, but not its disclosure set."""
        return min(j + self.distances[j], len(self.distances)) if self.kind == "jump" else j + 1

    def gets_to(
        self,
        i: int,
        needs: Needs,
        permutation_safe: Callable[[int], bool],
        disclosure_safe: Callable[[int], bool],
    ) -> bool:
        """True if a table reaches function i, from what is known of the functions before.

        `needs` says for each earlier function what must be known of it. `permutation_safe` and
        `disclosure_safe` say whether these sets are safe at function j.
        """
        j = 0
        while j < i:
            # Not even the permutation set is safe: on to the next function.
            if needs[j] is not EarlierNeed.ALWAYS and not permutation_safe(j):
                j += 1
            # Safe where only that matters, or the disclosure set is safe: released at j.
            elif needs[j] is EarlierNeed.PERMUTATION or disclosure_safe(j):
                return False
            else:
                j = self.after(j)
        # A jump may have passed i.
        return j == i


@dataclass(frozen=True)
class CountedBlock:
    """A block, its values, and for each in how many tables one person of each cell has it.

    ``tables[column][cell]`` is that number, of all tables of the disclosure set.
    """

    block: Block
    columns: tuple[Column, ...]
    tables: dict[Column, tuple[int, ...]]


@dataclass(frozen=True)
class TableCounts:
    """Number of tables of a disclosure set and of its permutation set, and its blocks."""

    size: int
    total: int
    parts: tuple[CountedBlock, ...]


class Exact:
    """Exact verdicts of one public algorithm on one set of people; values are known by colour.

    `palette` has the colours: classes of values that the property treats alike.
    """

    def __init__(
        self, layout: BlockTree, strategy: Strategy, palette: Sequence[Any], budget: Budget
    ) -> None:
        """Prepare verdicts of an algorithm on people whose cells and blocks `layout` knows.

        `budget` limits the steps of counting.
        """
        self.layout, self.strategy, self.palette, self.budget = layout, strategy, palette, budget
        self.complete = strategy.property.complete
        self._limits: dict[tuple[int, int], int] = {}
        self._fits: dict[tuple[int, tuple[Column, ...], int], bool] = {}
        self._tables: dict[tuple[int, tuple[Column, ...], Needs], BlockTables] = {}
        self._verdicts: dict[tuple[int, Any], bool] = {}

    def parts(self, i: int, codes: Sequence[int], colours: Sequence[int]) -> list[Part]:
        """The generalization under function i of a table, block by block.

        `codes` has the value of each person, and `colours` the colour of each value. A block's
        values are sorted, so that blocks which differ only in names of values are equal.
        """
        parts: list[Part] = []
        for placed in self.layout.level(i):
            rows = rows_of(placed.groups, codes)
            columns = sorted(Column(colours[value], counts) for value, counts in rows.items())
            parts.append(Part(placed.block, tuple(columns)))
        return parts

    def limit(self, size: int, colour: int) -> int:
        """How often a value of a colour may occur in a group that has the property."""
        key = (size, colour)
        if key not in self._limits:
            self._limits[key] = self.strategy.property.limit(size, self.palette[colour])
        return self._limits[key]

    def allows(self, row: Sequence[tuple[int, int]], total: int, size: int) -> bool:
        """True if the property allows that a person has such values.

        The person is in a group of `size` people, and has a value of a colour in so many of `total`
        equally likely tables: `row` has pairs (colour, count).
        """
        values = []
        for colour, count in row:
            if count:
                values.append((self.palette[colour], count))
        return self.strategy.property.allows(values, total, size)

    def permutation_safe(self, parts: Sequence[Part]) -> bool:
        """True if the permutation set, all tables that agree with the groups, has the property.

        There, a person of a group has each value with its share of the group.
        """
        for block, columns in parts:
            for group, size in enumerate(block.group_sizes):
                row = [(column.colour, column.counts[group]) for column in columns]
                if not self.allows(row, size, size):
                    return False
        return True

    def disclosure_safe(self, i: int, parts: Sequence[Part]) -> bool:
        """True if the disclosure set of function i has the property.

        The set has the tables that agree with the generalization `parts` and reach function i. A
        short count decides, else a bound, else a full count; `BeyondReach` if that takes too many
        steps.
        """
        key = key_of(parts)
        steps, self.budget.used = self.budget.steps, 0
        try:
            self.budget.steps = min(steps, FIRST_STEPS)
            return self._verdict(i, key)
        except BeyondReach:
            needs = self.needs(i, parts)
            stopping = [j for j, need in enumerate(needs) if need is not EarlierNeed.NOTHING]
            # The bound assumes that a table stops only where its permutation set is safe.
            if EarlierNeed.ALWAYS not in needs and surely_safe(self, parts, stopping):
                self._verdicts[i, key] = True
                return True
        finally:
            self.budget.steps, self.budget.used = steps, 0
        # The short count already had all the steps that are allowed.
        if steps <= FIRST_STEPS:
            raise BeyondReach(BEYOND.format(steps))
        return self._verdict(i, key)

    def needs(self, i: int, parts: Sequence[Part]) -> Needs:
        """How much must be known of each function before i; NOTHING if it cannot stop a table."""
        needs: list[EarlierNeed] = []
        for j in range(i):
            need = self.strategy.need(j, i)
            # Nothing stops a table earlier, so all reach j: its disclosure set is its permutation
            # set.
            if set(needs) <= {EarlierNeed.NOTHING}:
                need = EarlierNeed.PERMUTATION
            # A block that can never fill the groups of level j safely keeps j from stopping tables.
            if need is not EarlierNeed.ALWAYS and not all(
                self._may_be_safe(block, columns, j) for block, columns in parts
            ):
                need = EarlierNeed.NOTHING
            needs.append(need)
        return tuple(needs)

    def _may_be_safe(self, block: Block, columns: tuple[Column, ...], j: int) -> bool:
        """False if a block's values surely cannot fill the groups of an earlier function j safely.

        In a safe group of it, a value is not more frequent than its limit. True says nothing for
        certain. For each group and each value, the room is compared with the need.
        """
        key = (block.number, columns, j)
        if key not in self._fits:
            totals = [sum(column.counts) for column in columns]
            room_for_values, fits = [0] * len(columns), True
            for size in chain.from_iterable(below.block.group_sizes for below in block.below[j]):
                room = []  # for each value, how many people of this group may have it
                for column, total in zip(columns, totals, strict=True):
                    room.append(min(total, max(self.limit(size, column.colour), 0)))
                # Each group of level j must be filled, and each value find enough people in all
                # groups.
                fits = fits and sum(room) >= size
                room_for_values = list(map(add, room_for_values, room))
            for room_for_value, total in zip(room_for_values, totals, strict=True):
                fits = fits and room_for_value >= total
            self._fits[key] = fits
        return self._fits[key]

    def count(self, i: int, parts: Sequence[Part]) -> TableCounts:
        """The number of tables in the disclosure set of function i, and of each value in each cell.

        `parts` is the generalization under function i: each block with its values. The set has all
        tables of the generalization, less those that stop before function i, which are counted.
        """
        needs = self.needs(i, parts)
        # Functions that stop nothing need not be seen, which leaves fewer cells to tell apart.
        unneeded = [need is EarlierNeed.NOTHING for need in needs]
        blocks, cells = [], []
        for block, columns in parts:
            smaller_block, cell_of = self.layout.without(block, unneeded)
            key = (smaller_block.number, columns, needs)
            if key not in self._tables:
                self._tables[key] = BlockTables(smaller_block, columns, needs, self)
            blocks.append(self._tables[key])
            cells.append(cell_of)
        total = math.prod(block.total for block in blocks)

        # A view is what a function sees of a table; None where its permutation set is unsafe.
        def stops(views: Seen) -> bool:
            return not self.strategy.gets_to(
                i, needs, lambda j: views[j] is not None, lambda j: self._verdict(j, views[j])
            )

        stopped, weights = _count_stopped(blocks, needs, self.budget, stops)
        # Equal blocks have equal counts.
        counted_blocks: dict[Part, CountedBlock] = {}
        for part, tables, cell_of, weight_of in zip(parts, blocks, cells, weights, strict=True):
            if part in counted_blocks:
                continue
            block = part.block
            rows: dict[Column, tuple[int, ...]] = {}
            for column, n_stopped in zip(tables.classes, tables.sums(weight_of), strict=True):
                numbers = []  # of tables in which one person of the cell has the value
                for group, cell in zip(block.group_of, cell_of, strict=True):
                    # In all tables, each person of a group is equally likely to have each of its
                    # values.
                    all_tables = total * column.counts[group] // block.group_sizes[group]
                    numbers.append(all_tables - n_stopped[cell])
                rows[column] = tuple(numbers)
            counted_blocks[part] = CountedBlock(block, part.columns, rows)
        return TableCounts(total - stopped, total, tuple([counted_blocks[part] for part in parts]))

    def _verdict(self, j: int, key: Any) -> bool:
        """True if the disclosure set of function j has the property; `key` is its generalization.

        The key is as `key_of` makes it.
        """
        if (j, key) not in self._verdicts:
            # Work out the verdict once for each generalization.
            parts = [Part(self.layout.blocks[number], columns) for number, columns in key]
            self._verdicts[j, key] = self._have_property(self.count(j, parts))
        return self._verdicts[j, key]

    def _have_property(self, counts: TableCounts) -> bool:
        """True if in these tables everybody's values have the property; False if there are none."""
        if not counts.size:
            return False
        distinct_blocks = {id(counted): counted for counted in counts.parts}
        for counted_block in distinct_blocks.values():
            for cell, group in enumerate(counted_block.block.group_of):
                # In how many of the tables a person of the cell has each value.
                row = []
                for column in counted_block.columns:
                    row.append((column.colour, counted_block.tables[column][cell]))
                if not self.allows(row, counts.size, counted_block.block.group_sizes[group]):
                    return False
        return True


def rows_of(groups: Sequence[Sequence[int]], codes: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """How often each value occurs in each group, by the value's code; groups list their people."""
    counts: dict[int, list[int]] = {}
    for group, people in enumerate(groups):
        for person in people:
            counts.setdefault(codes[person], [0] * len(groups))[group] += 1
    return {code: tuple(row) for code, row in counts.items()}


# ---- tables of blocks ----------------------------------------------------------------------------


def _count_stopped(
    blocks: Sequence[BlockTables], needs: Needs, budget: Budget, stops: Callable[[Seen], bool]
) -> tuple[int, list[dict[Seen, int]]]:
    """The number of tables that are stopped; and for each block, in how many by what is seen of it.

    A table is stopped by what is seen of all its blocks together (`Seen`: one view per earlier
    function). Going forwards, `ways_to_reach` counts the ways to fill the blocks so far, by what is
    seen of them. Going backwards, `ways_to_stop` counts the ways to fill the other blocks so that
    the table is stopped. The products of both are the second result.
    """
    # Before any block: where only safety matters, all is safe so far; else nothing is seen yet.
    views_at_first: dict[EarlierNeed, Any] = {
        EarlierNeed.PERMUTATION: True,
        EarlierNeed.NOTHING: None,
    }
    ways_to_reach: list[dict[Seen, int]] = [
        {tuple(views_at_first.get(need, ()) for need in needs): 1}
    ]
    steps: list[dict[tuple[Seen, Seen], Seen]] = []
    for block in blocks:
        ways_after: dict[Seen, int] = {}
        step: dict[tuple[Seen, Seen], Seen] = {}  # from what was seen before and of this block
        for views_before, ways_before in ways_to_reach[-1].items():
            for view_of_block, ways in block.ends.items():
                views_after = tuple(map(_joint_view, views_before, view_of_block))
                # If no function's permutation set is safe any more, none will stop the table: drop
                # it.
                if not _cannot_be_stopped(views_after):
                    step[views_before, view_of_block] = views_after
                    ways_after[views_after] = ways_after.get(views_after, 0) + ways_before * ways
        budget.spend(len(step) + 1)
        steps.append(step)
        ways_to_reach.append(ways_after)
    # With all blocks filled, each view either stops the table or does not.
    ways_to_stop = {views: int(stops(views)) for views in ways_to_reach[-1]}
    n_stopped = sum(ways * ways_to_stop[views] for views, ways in ways_to_reach[-1].items())
    # Back from the last block to the first.
    weights: list[dict[Seen, int]] = [{} for _ in blocks]
    for position in range(len(blocks) - 1, -1, -1):
        weight_of = weights[position]
        ways_to_stop_before = dict.fromkeys(ways_to_reach[position], 0)
        for (views_before, view_of_block), views_after in steps[position].items():
            n_stopping = ways_to_stop[views_after]
            if n_stopping:
                weight = ways_to_reach[position][views_before] * n_stopping
                weight_of[view_of_block] = weight_of.get(view_of_block, 0) + weight
                ways = blocks[position].ends[view_of_block]
                ways_to_stop_before[views_before] += ways * n_stopping
        ways_to_stop = ways_to_stop_before
    return n_stopped, weights


def _joint_view(first_view: Any, second_view: Any) -> Any:
    """The view of a level in two blocks together; None if it is not safe in one.

    Both are True where only safety matters, else what the level sees of the values.
    """
    if first_view is None or second_view is None:
        return None
    return first_view is True or tuple(sorted((*first_view, *second_view)))


def _cannot_be_stopped(views: Seen) -> bool:
    """True if no level has a safe permutation set, so that none of them stops the table."""
    return all(view is None for view in views)


class BlockTables:
    """The tables of one block, value by value: `total`, and how many look how (`ends`).

    Tables that no level can stop are left out of `ends`. Values with the same colour and counts are
    a class: there are `copies` of each of `classes`; frequent values come first, as they break
    limits.

    A level sees one of three things of a table: None where its permutation set is not safe, so that
    it stops nothing; True where only that matters and limits decide; or each value's counts in its
    groups.
    """

    def __init__(self, block: Block, columns: Sequence[Column], needs: Needs, exact: Exact) -> None:
        """Count the tables of a block by what each level sees of them, class of values by class.

        Parameters
        ----------
        block : Block
        columns : sequence of Column
            For each value its colour, and how often it occurs in each group.
        needs : Needs
            What each level needs to see.
        exact : Exact
            The limits, and the time that may be spent.
        """
        self.block, self._exact = block, exact
        self._levels = list(zip(block.below, needs, strict=True))
        n_copies = Counter(columns)
        self.classes = sorted(n_copies, key=lambda column: (-sum(column.counts), column))
        self.copies = [n_copies[column] for column in self.classes]
        counts_of_values = chain.from_iterable(column.counts for column in columns)
        # The multinomial of each group: size! / product of count!.
        self.total = math.prod(map(math.factorial, block.group_sizes))
        self.total //= math.prod(map(math.factorial, counts_of_values))
        self.ends: dict[Seen, int] = {}
        self._keep_all = EarlierNeed.ALWAYS in needs
        # For each layer: class and cells; (source, target, ways, copies) of each edge; weights.
        self._layers: list[tuple[int, tuple[int, ...], list[tuple[int, int, int, int]]]] = []
        # Go on only while some level can still stop the table, unless all must be known.
        start = tuple(self._view_at_first(*level) for level in self._levels)
        # A state: values left of a class, room in each cell, what is seen.
        states: dict[Any, int] = {}
        if self._keep_all or not _cannot_be_stopped(start):
            states[0, block.sizes, start] = 1
        self._weights: list[list[int]] = [list(states.values())]
        # Place the values of one class after another; a value can be spread over cells in several
        # ways.
        for class_number, (colour, counts) in enumerate(self.classes if states else ()):
            options = spreads(counts, block.cells_of, block.sizes, exact.budget)
            states = {(self.copies[class_number], *state[1:]): n for state, n in states.items()}
            for option, cells in enumerate(options):
                of_value = tuple(
                    [self._view_of_value(*level, colour, cells) for level in self._levels]
                )
                is_last = option == len(options) - 1
                states = self._layer(states, class_number, cells, of_value, is_last=is_last)
        # All values are placed: what each level sees in the end, and in how many tables.
        self._done: list[Seen] = []
        for (_, _, views), weight in states.items():
            levels = zip(self._levels, views, strict=True)
            end = tuple([self._view_of_all(*level, view) for level, view in levels])
            self._done.append(end)
            if self._keep_all or not _cannot_be_stopped(end):
                self.ends[end] = self.ends.get(end, 0) + weight

    def _layer(
        self,
        states: dict[Any, int],
        value_class: int,
        cells: tuple[int, ...],
        of_value: Seen,
        *,
        is_last: bool,
    ) -> dict[Any, int]:
        """The states after some values of a class get these cells, with the number of ways to each.

        A state is how many values of the class are left, the room in each cell, and what each level
        sees. One value gets ``cells[c]`` people of each cell c. How many values do is open, from
        none to all that are left; `is_last` says that all must. `of_value` is what each level sees
        of one.
        """
        state_numbers: dict[Any, int] = {}
        weights: list[int] = []
        edges: list[tuple[int, int, int, int]] = []
        filled_cells = [(cell, n_people) for cell, n_people in enumerate(cells) if n_people]
        for source, ((remaining, room, views), weight) in enumerate(states.items()):
            ways, n_placed = 1, 0
            while True:
                # One state more: `n_placed` of the values have got these cells, others will get
                # other cells.
                if n_placed == remaining or not is_last:
                    state_number = state_numbers.setdefault(
                        (remaining - n_placed, room, views), len(weights)
                    )
                    if state_number == len(weights):
                        weights.append(0)
                    factor = ways * math.comb(remaining, n_placed)
                    weights[state_number] += weight * factor
                    edges.append((source, state_number, factor, n_placed))
                if n_placed == remaining:
                    break
                # One value more: choose its holders among the people of each cell who are free.
                n_placed += 1
                new_room = list(room)
                for cell, n_people in filled_cells:
                    ways *= math.comb(room[cell], n_people)
                    new_room[cell] -= n_people
                if not ways:
                    break
                room, views = tuple(new_room), _views_after(views, of_value)
                if not self._keep_all and _cannot_be_stopped(views):
                    break
        # Kept for `sums`, which goes through the layers backwards.
        self._exact.budget.spend(len(edges) + 1)
        self._layers.append((value_class, cells, edges))
        self._weights.append(weights)
        return dict(zip(state_numbers, weights, strict=True))

    def sums(self, weight_of: dict[Seen, int]) -> list[list[int]]:
        """The weight of tables in which one person has a value, by class of values and by cell.

        `weight_of` weighs each final view; others weigh 0. Tables were counted layer by layer in
        `_layer`; here they are weighed from the last layer to the first.
        """
        # The weight of the tables that continue from each state behind the layer.
        value_of_state = [weight_of.get(end, 0) for end in self._done]
        totals = [[0] * len(self.block.sizes) for _ in self.classes]
        for layer in range(len(self._layers) - 1, -1, -1):
            value_class, cells, edges = self._layers[layer]
            sources, placed_weight = self._weights[layer], 0
            value_of_source = [0] * len(sources)
            # An edge gives these cells to k values of a class, in `factor` ways.
            for source, target, factor, n_placed in edges:
                if value_of_state[target]:
                    value = value_of_state[target] * factor
                    value_of_source[source] += value
                    placed_weight += n_placed * value * sources[source]
            if placed_weight:
                for cell, n_people in enumerate(cells):
                    totals[value_class][cell] += n_people * placed_weight
            value_of_state = value_of_source
        # From all people of a cell and all values of a class to one of each.
        sums: list[list[int]] = []
        for row, copies in zip(totals, self.copies, strict=True):
            pairs = zip(row, self.block.sizes, strict=True)
            sums.append([number // (size * copies) for number, size in pairs])
        return sums

    def _view_at_first(self, blocks: tuple[Below, ...], need: EarlierNeed) -> Any:
        """A level's view before any value is placed; None if it needs none, or is unsafe.

        The view has a part for each block below; where only the permutation set matters, one for
        each group, or it is True if limits alone decide.
        """
        if need is EarlierNeed.NOTHING:
            return None
        if need is not EarlierNeed.PERMUTATION:
            return ((),) * len(blocks)
        sizes = [*chain.from_iterable(below.block.group_sizes for below in blocks)]
        if not self._exact.complete:
            return ((),) * len(sizes)
        # A negative limit means that such a group is never safe.
        return True if all(self._exact.limit(size, 0) >= 0 for size in sizes) else None

    def _view_of_value(
        self, blocks: tuple[Below, ...], need: EarlierNeed, colour: int, cells: Sequence[int]
    ) -> Any:
        """The view that a level has of one value that ``cells[c]`` people of each cell c have.

        None if the level needs nothing, or if the value is more frequent in one of its groups than
        a safe group allows. True if only that matters. Else an entry for each group or block of the
        level.
        """
        if need is EarlierNeed.NOTHING:
            return None
        parts: list[Any] = []
        for below in blocks:
            sizes = below.block.group_sizes
            # How many people of each group of the lower block have the value.
            sums = [0] * len(sizes)
            for group, n in zip(below.group_of, cells, strict=True):
                if n and group >= 0:
                    sums[group] += n
            for n, size in zip(sums, sizes, strict=True):
                if need is not EarlierNeed.ALWAYS and n > self._exact.limit(size, colour):
                    return None
            if need is EarlierNeed.PERMUTATION:
                parts += [(colour, n) if n else None for n in sums]
            else:
                parts.append(Column(colour, tuple(sums)) if any(sums) else None)
        return True if need is EarlierNeed.PERMUTATION and self._exact.complete else tuple(parts)

    def _view_of_all(self, blocks: tuple[Below, ...], need: EarlierNeed, view: Any) -> Any:
        """A level's view when all values are placed; None if its permutation set is unsafe.

        `view` is what the level saw of all values; `need` is how much of it must be known.
        """
        if view is None or view is True:
            return view
        if need is EarlierNeed.PERMUTATION:
            sizes = [*chain.from_iterable(below.block.group_sizes for below in blocks)]
            return True if all(map(self._exact.allows, view, sizes, sizes)) else None
        # Its disclosure set will be judged by the generalization, which the key describes.
        parts = [Part(below.block, columns) for below, columns in zip(blocks, view, strict=True)]
        is_unsure = need is EarlierNeed.GATED and not self._exact.complete
        return None if is_unsure and not self._exact.permutation_safe(parts) else key_of(parts)


def _views_after(views: Seen, of_value: Seen) -> Seen:
    """The view after one more value."""
    return tuple(map(_level_after, views, of_value))


def _level_after(view: Any, of_value: Any) -> Any:
    """The view of a level after one more value; None if its permutation set is unsafe then.

    `view` has the values so far for each of its groups or blocks (True: nothing more needs to be
    known); `of_value` has the new one. Values are kept sorted, so that orders of placing them look
    the same.
    """
    if view is None or of_value is None:
        return None
    if view is True:
        return True
    groups = []
    for columns, column in zip(view, of_value, strict=True):
        if column is not None:
            columns = tuple(sorted((*columns, column)))
        groups.append(columns)
    return tuple(groups)


def key_of(parts: Sequence[Part]) -> tuple[tuple[int, tuple[Column, ...]], ...]:
    """The key of a generalization; equal where blocks of one shape are exchanged."""
    return tuple(sorted((block.number, columns) for block, columns in parts))


@lru_cache(maxsize=1 << 14)
def _splits(count: int, room: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """All ways to split a number among cells: the part of each cell, at most its room."""
    if len(room) == 1:
        return ((count,),) if count <= room[0] else ()
    splits = []
    for first in range(min(count, room[0]) + 1):
        for split in _splits(count - first, room[1:]):
            splits.append((first, *split))
    return tuple(splits)


def spreads(
    counts: Sequence[int], cells_of: Sequence[Sequence[int]], sizes: Sequence[int], budget: Budget
) -> list[tuple[int, ...]]:
    """All ways to give one value's occurrences in each group to the group's cells.

    Each way lists how many people of each cell have the value, which ``counts[g]`` people of group
    g have. ``cells_of[g]`` are the cells of group g, and ``sizes[c]`` the people of cell c.

    >>> spreads((1, 1), ((0, 2), (1,)), (1, 1, 1), Budget(2))
    [(0, 1, 1), (1, 1, 0)]
    """
    # First count the ways, since listing them could take too long.
    number = 1
    for count, cells in zip(counts, cells_of, strict=True):
        ways = [1] + [0] * count
        for c in cells:
            ways = [sum(ways[max(0, n - sizes[c]) : n + 1]) for n in range(count + 1)]
        number *= ways[count]
    budget.spend(number)
    splits_of_groups = []
    for count, cells in zip(counts, cells_of, strict=True):
        room = tuple([sizes[cell] for cell in cells])
        splits_of_groups.append(_splits(count, room))
    # Groups are independent: combine every split of one with every split of the others.
    rows = []
    for split in product(*splits_of_groups):
        row = [0] * len(sizes)
        for cells, numbers in zip(cells_of, split, strict=True):
            for c, n in zip(cells, numbers, strict=True):
                row[c] = n
        rows.append(tuple(row))
    return rows
