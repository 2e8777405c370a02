"""Disclosure sets, exactly: which tables agree with a release and get to it, counted by blocks.

All ways to deal a block's values to its cells are counted by what earlier functions see of them.
Two partial deals are one state if they leave the same room in every cell and look the same to every
function that may still stop the table: so a state is (values of a class left, room, what is seen),
where values with equal counts in every group are one class. A block that earlier functions do not
connect is dealt by its parts. Tables that nobody can stop are dropped at once: they are all tables
less the others.

A disclosure set depends on the generalization, not on the table (section 3.2 of "k-Jump Strategy
..."), so verdicts are kept by generalization; and only up to exchanging values of one colour within
a block, and blocks of one shape. That removes the exponent n/k of Theorem 7.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Literal, TypeAlias

from foreknow.criteria.properties import Property
from foreknow.errors import UnsupportedError
from foreknow.methods.jump.blocks import Below, Block, Cut, Layout, cut_of
from foreknow.methods.jump.bounds import surely_safe

Column: TypeAlias = tuple[int, tuple[int, ...]]  # a value: (colour, how often in each group)
Part: TypeAlias = tuple[Block, tuple[Column, ...]]  # a block and its values
Seen: TypeAlias = tuple[Any, ...]  # what each lower level sees
# Of a part of a cut: the room in its pieces; (class, how often in each piece) of each value.
Slot: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, tuple[int, ...]], ...]]

FIRST_STEPS = 20_000
# Blocks with more room vectors are dealt by their parts; where less is seen, that pays later.
AT_ONE_PIECE, LIGHT_AT_ONE_PIECE = 256, 10**7
BEYOND = "exact counting takes more than {:,} steps; allow more, or see `estimate`"


class BeyondReach(UnsupportedError):
    """Exact counting would take more steps than allowed."""


class Budget:
    """Steps that may be taken for one question, and those that were ever taken."""

    def __init__(self, steps: int) -> None:
        self.steps, self.used, self.ever = steps, 0, 0

    def spend(self, steps: int) -> None:
        """Take some steps, if there are so many left."""
        self.used += steps
        self.ever += steps
        if self.used > self.steps:
            raise BeyondReach(BEYOND.format(self.steps))


class Need(enum.Enum):
    """What must be known of an earlier function to say whether a table gets to a later one."""

    NOTHING = "its permutation set cannot be safe, nor its disclosure set"
    PERMUTATION = "only whether its permutation set is safe"
    GATED = "whether its disclosure set is safe, where its permutation set is"
    ALWAYS = "whether its disclosure set is safe, in any case"


Needs: TypeAlias = tuple[Need, ...]


@dataclass(frozen=True)
class Strategy:
    """Which sets are judged, and where a table goes from each verdict (Tables 6, 7 and 9).

    A jump from function j has distance k[j], where Table 13 prints k[i].
    """

    kind: Literal["naive", "safe", "jump"]
    property: Property
    distances: tuple[int, ...] = ()

    def need(self, j: int, i: int) -> Need:
        """What to know of function j to say whether a table gets to function i.

        Every table gets to the first function, so its disclosure set is its permutation set. A
        jump that passes i, or a release, keep a table from i alike (section 4.2.1). Where the
        property is convex, no disclosure set is safe whose permutation set is not (Lemma 3).
        """
        if self.kind == "naive" or j == 0:
            return Need.PERMUTATION
        if self.kind == "jump":
            return Need.PERMUTATION if self.after(j) > i else Need.GATED
        return Need.GATED if self.property.convex else Need.ALWAYS

    def after(self, j: int) -> int:
        """Where a table goes whose disclosure set at j is not safe though its permutation set is.

        A jump past the last function ends behind it, with nothing released.
        """
        return min(j + self.distances[j], len(self.distances)) if self.kind == "jump" else j + 1


@dataclass(frozen=True)
class CountedPart:
    """A block in a disclosure set.

    For each (class, copies) and cell: the tables of the set in which one person of the cell has one
    value of the class.
    """

    block: Block
    classes: tuple[tuple[Column, int], ...]
    tables: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Counted:
    """Number of tables of a disclosure set and of its permutation set, and its blocks."""

    size: int
    total: int
    parts: tuple[CountedPart, ...]


class Exact:
    """Exact verdicts of one public algorithm on one set of people.

    `palette` has the property's colours; columns name them by place.
    """

    def __init__(
        self,
        layout: Layout,
        strategy: Strategy,
        palette: Sequence[Any],
        budget: Budget,
        at_one_piece: int = AT_ONE_PIECE,
    ) -> None:
        self.layout, self.strategy, self.palette = layout, strategy, palette
        self.budget, self._at_one_piece = budget, at_one_piece
        self.complete = strategy.property.complete
        self._limits: dict[tuple[int, int], int] = {}
        self._fits: dict[tuple[int, tuple[Column, ...], int], bool] = {}
        self._deals: dict[tuple[int, tuple[Column, ...], Needs], Deals] = {}
        self._cuts: dict[int, Cut | None] = {}
        self._verdicts: dict[tuple[int, Any], bool] = {}

    def parts(self, i: int, codes: Sequence[int], colours: Sequence[int]) -> list[Part]:
        """The generalization under function i of a table of codes, block by block."""
        found: list[Part] = []
        for placed in self.layout.level(i):
            rows = rows_of(placed.groups, codes)
            columns = sorted((colours[value], row) for value, row in rows.items())
            found.append((placed.block, tuple(columns)))
        return found

    def limit(self, size: int, colour: int) -> int:
        """How often a value of a colour may occur in a group that has the property."""
        key = (size, colour)
        if key not in self._limits:
            self._limits[key] = self.strategy.property.limit(size, self.palette[colour])
        return self._limits[key]

    def allows(self, row: Sequence[tuple[int, int]], total: int, size: int) -> bool:
        """Whether someone in a group of that size may have such values in so many tables."""
        named = [(self.palette[colour], count) for colour, count in row if count]
        return self.strategy.property.allows(named, total, size)

    def permutation_safe(self, parts: Sequence[Part]) -> bool:
        """Whether the permutation set has the property: every group's average person does."""
        return all(
            self.allows([(colour, row[g]) for colour, row in columns], size, size)
            for block, columns in parts
            for g, size in enumerate(block.group_sizes)
        )

    def disclosure_safe(self, i: int, parts: Sequence[Part]) -> bool:
        """Whether the disclosure set of a generalization has the property.

        Counted where that is little work; else by a bound, where that is enough; else counted
        with all the steps that are allowed.
        """
        key = tuple(sorted((block.number, columns) for block, columns in parts))
        steps, self.budget.used = self.budget.steps, 0
        try:
            self.budget.steps = min(steps, FIRST_STEPS)
            return self._verdict(i, key)
        except BeyondReach:
            needs = self.needs(i, parts)
            levels = [j for j, need in enumerate(needs) if need is not Need.NOTHING]
            if Need.ALWAYS not in needs and surely_safe(self, parts, levels):
                self._verdicts[i, key] = True
                return True
        finally:
            self.budget.steps, self.budget.used = steps, 0
        if steps <= FIRST_STEPS:
            raise BeyondReach(BEYOND.format(steps))
        return self._verdict(i, key)

    def needs(self, i: int, parts: Sequence[Part]) -> Needs:
        """What is needed of lower levels; nothing of those that cannot stop any of the tables.

        Where no level before j can stop a table, the disclosure set at j is the permutation set,
        for all tables that have the block's values: so no more is needed than whether that is
        safe.
        """
        found: list[Need] = []
        for j in range(i):
            need = self.strategy.need(j, i)
            if all(before is Need.NOTHING for before in found):
                need = Need.PERMUTATION
            if need is not Need.ALWAYS and not all(self._fit(*part, j) for part in parts):
                need = Need.NOTHING
            found.append(need)
        return tuple(found)

    def _fit(self, block: Block, columns: tuple[Column, ...], j: int) -> bool:
        """Whether a deal of a block may leave level j a safe permutation set; never a false no.

        Every value must fit into the groups within the limits, and every group be filled.
        """
        key = (block.number, columns, j)
        if key not in self._fits:
            values = [(colour, sum(counts)) for colour, counts in columns]
            groups = [size for below in block.below[j] for size in below.block.group_sizes]
            room = [
                [min(total, max(self.limit(size, colour), 0)) for colour, total in values]
                for size in groups
            ]
            self._fits[key] = all(map(_at_least, map(sum, room), groups)) and all(
                map(_at_least, map(sum, zip(*room, strict=True)), (total for _, total in values))
            )
        return self._fits[key]

    def count(self, i: int, parts: Sequence[Part]) -> Counted:
        """The disclosure set of a generalization under function i."""
        needs = self.needs(i, parts)
        unneeded = [need is Need.NOTHING for need in needs]
        deals, cells = [], []
        for block, columns in parts:
            small, cell_of = self.layout.without(block, unneeded)
            deals.append(self._deal(small, columns, needs))
            cells.append(cell_of)
        total = math.prod(deal.total for deal in deals)
        chain = Chain(deals, needs, self.budget)
        stopped = {seen: int(not self._gets_to(i, seen, needs)) for seen in chain.ends}
        lost = sum(number * stopped[seen] for seen, number in chain.ends.items())
        weights = chain.weights(stopped.__getitem__)
        made: dict[Part, CountedPart] = {}
        for part, deal, cell_of, weight_of in zip(parts, deals, cells, weights, strict=True):
            if part not in made:
                made[part] = _counted(part[0], deal, cell_of, total, weight_of)
        return Counted(total - lost, total, tuple(made[part] for part in parts))

    def _deal(self, block: Block, columns: tuple[Column, ...], needs: Needs) -> Deals:
        """All deals of a block, at one piece where that is little, or else by its parts."""
        key = (block.number, columns, needs)
        if key not in self._deals:
            # Whether no more than one bit is ever seen of each level.
            light = not {Need.GATED, Need.ALWAYS} & set(needs)
            light = light and (self.complete or Need.PERMUTATION not in needs)
            most = max(LIGHT_AT_ONE_PIECE, self._at_one_piece) if light else self._at_one_piece
            cut = None
            if math.prod(size + 1 for size in block.sizes) > most:
                if block.number not in self._cuts:
                    self._cuts[block.number] = cut_of(block, self.layout)
                cut = self._cuts[block.number]
            self._deals[key] = (
                Deal(block, columns, needs, self)
                if cut is None
                else CutDeal(block, columns, needs, self, cut, self._deal)
            )
        return self._deals[key]

    def _gets_to(self, i: int, seen: Seen, needs: Needs) -> bool:
        """Whether the algorithm evaluates function i on such a table (Definition 2)."""
        j = 0
        while j < i:
            need, one = needs[j], seen[j]
            if need is Need.ALWAYS:
                if self._verdict(j, one):
                    return False
                j += 1
            elif one is None:
                j += 1
            elif need is Need.PERMUTATION or self._verdict(j, one):
                return False
            else:
                j = self.strategy.after(j)
        return j == i

    def _verdict(self, j: int, key: Any) -> bool:
        if (j, key) not in self._verdicts:
            parts = [(self.layout.blocks[number], columns) for number, columns in key]
            self._verdicts[j, key] = self._judged(self.count(j, parts))
        return self._verdicts[j, key]

    def _judged(self, counted: Counted) -> bool:
        """Whether everybody's values have the property; nobody's when there are no tables."""
        return counted.size > 0 and all(
            self.allows(
                [
                    (colour, tables[cell])
                    for ((colour, _), copies), tables in zip(part.classes, part.tables, strict=True)
                    for _ in range(copies)
                ],
                counted.size,
                part.block.group_sizes[group],
            )
            for part in {id(part): part for part in counted.parts}.values()
            for cell, group in enumerate(part.block.group_of)
        )


def rows_of(groups: Sequence[Sequence[int]], codes: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """How often each value occurs in each group of people."""
    counts: dict[int, list[int]] = {}
    for group, people in enumerate(groups):
        for person in people:
            counts.setdefault(codes[person], [0] * len(groups))[group] += 1
    return {code: tuple(row) for code, row in counts.items()}


def _at_least(one: int, other: int) -> bool:
    return one >= other


def _counted(
    block: Block, deal: Deals, cell_of: Sequence[int], total: int, weight_of: dict[Seen, int]
) -> CountedPart:
    """All tables less those that are stopped."""
    tables = tuple(
        tuple(
            total * counts[group] // block.group_sizes[group] - row[cell]
            for group, cell in zip(block.group_of, cell_of, strict=True)
        )
        for (_, counts), row in zip(deal.classes, deal.sums(weight_of), strict=True)
    )
    return CountedPart(block, tuple(zip(deal.classes, deal.copies, strict=True)), tables)


# ---- what lower levels see -----------------------------------------------------------------------


class Sight:
    """What some lower levels see of values that are dealt one after another.

    Of a level: None where its permutation set is not safe, so that it stops nothing; True where
    only that matters and limits decide; or each value's counts in its groups.
    """

    def __init__(self, levels: Sequence[tuple[Below, ...]], needs: Needs, exact: Exact) -> None:
        self._levels = list(zip(levels, needs, strict=True))
        self._exact, self._complete = exact, exact.complete

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
        if self._complete:
            return True if all(self._exact.limit(size, 0) >= 0 for size in sizes) else None
        return tuple(() for _ in sizes)

    def _of(self, blocks: tuple[Below, ...], need: Need, colour: int, cells: Sequence[int]) -> Any:
        if need is Need.NOTHING:
            return None
        limit = self._exact.limit
        found: list[Any] = []
        for below in blocks:
            sizes = below.block.group_sizes
            sums = [0] * len(sizes)
            for group, n in zip(below.group_of, cells, strict=True):
                if n and group >= 0:
                    sums[group] += n
            if need is not Need.ALWAYS and any(
                n > limit(size, colour) for n, size in zip(sums, sizes, strict=True)
            ):
                return None
            if need is Need.PERMUTATION:
                found += [(colour, n) if n else None for n in sums]
            else:
                found.append((colour, tuple(sums)) if any(sums) else None)
        return True if need is Need.PERMUTATION and self._complete else tuple(found)

    def _done(self, blocks: tuple[Below, ...], need: Need, seen: Any) -> Any:
        if seen is None or seen is True:
            return seen
        allows = self._exact.allows
        if need is Need.PERMUTATION:
            sizes = [size for below in blocks for size in below.block.group_sizes]
            return True if all(map(allows, seen, sizes, sizes)) else None
        found = [(below.block, columns) for below, columns in zip(blocks, seen, strict=True)]
        if need is Need.GATED and not (self._complete or self._exact.permutation_safe(found)):
            return None
        return tuple(sorted((block.number, columns) for block, columns in found))


def lost(seen: Seen) -> bool:
    """Whether no level has a safe permutation set."""
    return all(one is None for one in seen)


class Chain:
    """Deals of independent pieces, by what the lower levels see of all of them (`ends`)."""

    def __init__(self, deals: Sequence[Deals], needs: Needs, budget: Budget) -> None:
        none: dict[Need, Any] = {Need.PERMUTATION: True, Need.NOTHING: None}
        self.deals = deals
        self._ahead: list[dict[Seen, int]] = [{tuple(none.get(need, ()) for need in needs): 1}]
        self._steps: list[dict[tuple[Seen, Seen], Seen]] = []
        for deal in deals:
            reached: dict[Seen, int] = {}
            step: dict[tuple[Seen, Seen], Seen] = {}
            for before, weight in self._ahead[-1].items():
                for end, ways in deal.ends.items():
                    both = tuple(
                        None if a is None or b is None else a is True or tuple(sorted((*a, *b)))
                        for a, b in zip(before, end, strict=True)
                    )
                    if not lost(both):
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


# ---- deals of one block --------------------------------------------------------------------------


class Deals:
    """All deals of a block's values: `total` tables, and `ends`, how many look how.

    Those that nobody can stop are left out of `ends`. There are `copies` of each of `classes`;
    frequent values come first, as they break limits.
    """

    def __init__(self, block: Block, columns: Sequence[Column], needs: Needs, exact: Exact) -> None:
        self.block, self._budget = block, exact.budget
        counted = Counter(columns)
        self.classes = sorted(counted, key=lambda column: (-sum(column[1]), column))
        self.copies = [counted[column] for column in self.classes]
        self.total = math.prod(map(math.factorial, block.group_sizes)) // math.prod(
            math.factorial(count) for _, counts in columns for count in counts
        )
        self.ends: dict[Seen, int] = {}
        self._keep_all = Need.ALWAYS in needs

    def sums(self, weight_of: dict[Seen, int]) -> list[list[int]]:
        """For each class and cell: tables by their weight where one person has one such value."""
        raise NotImplementedError


class Deal(Deals):
    """All deals of a block, value by value over its cells."""

    def __init__(self, block: Block, columns: Sequence[Column], needs: Needs, exact: Exact) -> None:
        super().__init__(block, columns, needs, exact)
        self._sight = Sight(block.below, needs, exact)
        # For each layer: class and cells; (source, target, ways, copies) of each edge; weights.
        self._layers: list[tuple[int, tuple[int, ...], list[tuple[int, int, int, int]]]] = []
        start = self._sight.start()
        states: dict[Any, int] = {}
        if self._keep_all or not lost(start):
            states[0, block.sizes, start] = 1
        self._weights: list[list[int]] = [list(states.values())]
        for which, (colour, counts) in enumerate(self.classes if states else ()):
            options = spreads(counts, block.cells_of, block.sizes, self._budget)
            states = {(self.copies[which], *state[1:]): n for state, n in states.items()}
            for r, cells in enumerate(options):
                more = self._sight.of(colour, cells)
                states = self._layer(states, which, cells, more, last=r == len(options) - 1)
        self._done = [self._sight.done(seen) for _, _, seen in states]
        for end, weight in zip(self._done, states.values(), strict=True):
            if self._keep_all or not lost(end):
                self.ends[end] = self.ends.get(end, 0) + weight

    def _layer(
        self, states: dict[Any, int], which: int, cells: tuple[int, ...], more: Seen, *, last: bool
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
        self._layers.append((which, cells, edges))
        self._weights.append(weights)
        return dict(zip(places, weights, strict=True))

    def sums(self, weight_of: dict[Seen, int]) -> list[list[int]]:
        """Backwards along the same steps."""
        values = [weight_of.get(end, 0) for end in self._done]
        found = [[0] * len(self.block.sizes) for _ in self.classes]
        for layer in range(len(self._layers) - 1, -1, -1):
            which, cells, edges = self._layers[layer]
            sources, flow = self._weights[layer], 0
            before = [0] * len(sources)
            for source, target, factor, k in edges:
                value = values[target]
                if value:
                    value *= factor
                    before[source] += value
                    if k:
                        flow += k * value * sources[source]
            if flow:
                for c, n in enumerate(cells):
                    found[which][c] += n * flow
            values = before
        return [
            [number // (size * copies) for number, size in zip(row, self.block.sizes, strict=True)]
            for row, copies in zip(found, self.copies, strict=True)
        ]


class CutDeal(Deals):
    """All deals of a block by its parts.

    Values are dealt to the pieces of all parts, up to exchanging parts that are alike; then each
    part is dealt by itself, with what was found for equal values in parts of its shape.
    """

    def __init__(
        self,
        block: Block,
        columns: Sequence[Column],
        needs: Needs,
        exact: Exact,
        cut: Cut,
        deal: Callable[[Block, tuple[Column, ...], Needs], Deals],
    ) -> None:
        super().__init__(block, columns, needs, exact)
        self._cut = cut
        self._above = Sight(cut.above, needs[cut.level + 1 :], exact)
        lower = needs[: cut.level + 1]
        self._unseen: Seen = (None,) * len(lower)
        # How many such deals to pieces; what later levels see; the parts' values, and their deals.
        self._ways: list[tuple[int, Seen, tuple[Slot, ...], Chain]] = []
        for (slots, seen), number in self._slots().items():
            upper = self._above.done(seen)
            deals = [
                deal(part, tuple(sorted((self.classes[c][0], row) for c, row in slot[1])), lower)
                for part, slot in zip(cut.parts, slots, strict=True)
            ]
            chain = Chain(deals, lower, self._budget)
            if not chain.ends and lost(upper):
                continue
            self._ways.append((number, upper, slots, chain))
            ends = {(*end, *upper): ways for end, ways in chain.ends.items()}
            rest = math.prod(one.total for one in deals) - sum(ends.values())
            if rest and not lost(upper):
                ends[*self._unseen, *upper] = rest
            for both, ways in ends.items():
                self.ends[both] = self.ends.get(both, 0) + number * ways

    def _slots(self) -> dict[tuple[tuple[Slot, ...], Seen], int]:
        """Ways to deal the values to pieces, up to exchanging parts that are alike."""
        cut = self._cut
        empty: tuple[Slot, ...] = tuple(
            (tuple(cut.sizes[p] for p in pieces), ()) for pieces in cut.pieces
        )
        states = {(empty, self._above.start()): 1}
        for which, ((colour, counts), copies) in enumerate(
            zip(self.classes, self.copies, strict=True)
        ):
            options = [
                (
                    [tuple(row[p] for p in pieces) for pieces in cut.pieces],
                    self._above.of(colour, row),
                )
                for row in spreads(counts, cut.pieces_of, cut.sizes, self._budget)
            ]
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
        """For each way to deal the values to pieces, the sums of its parts."""
        cut = self._cut
        found = [[0] * len(self.block.sizes) for _ in self.classes]
        for number, upper, slots, chain in self._ways:
            rest = 0 if lost(upper) else weight_of.get((*self._unseen, *upper), 0)
            values = {end: weight_of.get((*end, *upper), 0) - rest for end in chain.ends}
            if not rest and not any(values.values()):
                continue
            # Those that no lower level can stop are all deals less the others.
            everything = rest * math.prod(deal.total for deal in chain.deals)
            for part, cells, slot, deal, weights in zip(
                cut.parts,
                cut.cells,
                slots,
                chain.deals,
                chain.weights(values.__getitem__),
                strict=True,
            ):
                kept = dict(zip(deal.classes, deal.sums(weights), strict=True))
                for which, counts in slot[1]:
                    own, row = kept[self.classes[which][0], counts], found[which]
                    for k, (cell, group) in enumerate(zip(cells, part.group_of, strict=True)):
                        row[cell] += number * (
                            own[k] + everything * counts[group] // part.group_sizes[group]
                        )
        # The same for all parts that can be exchanged, and for one value of each class.
        for kind in set(cut.alike):
            alike = [cells for cells, k in zip(cut.cells, cut.alike, strict=True) if k == kind]
            for row in found:
                for cells in zip(*alike, strict=True):
                    mean = sum(row[cell] for cell in cells) // len(cells)
                    for cell in cells:
                        row[cell] = mean
        return [
            [number // copies for number in row]
            for row, copies in zip(found, self.copies, strict=True)
        ]


@lru_cache(maxsize=1 << 14)
def _splits(count: int, room: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """All ways to split a number among cells with limited room.

    >>> _splits(2, (1, 2))
    ((0, 2), (1, 1))
    """
    if len(room) == 1:
        return ((count,),) if count <= room[0] else ()
    return tuple(
        (first, *rest)
        for first in range(min(count, room[0]) + 1)
        for rest in _splits(count - first, room[1:])
    )


def spreads(
    counts: Sequence[int],
    cells_of: Sequence[Sequence[int]],
    sizes: Sequence[int],
    budget: Budget,
) -> list[tuple[int, ...]]:
    """All ways to give one value's occurrences in each group to the group's cells.

    >>> spreads((1, 1), ((0, 2), (1,)), (1, 1, 1), Budget(2))
    [(0, 1, 1), (1, 1, 0)]
    """
    number = 1
    for count, cells in zip(counts, cells_of, strict=True):
        ways = [1] + [0] * count
        for c in cells:
            ways = [sum(ways[max(0, n - sizes[c]) : n + 1]) for n in range(count + 1)]
        number *= ways[count]
    budget.spend(number)
    return list(_spreads(counts, cells_of, sizes))


def _spreads(
    counts: Sequence[int], cells_of: Sequence[Sequence[int]], sizes: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    for chosen in product(
        *(
            _splits(count, tuple(sizes[c] for c in cells))
            for count, cells in zip(counts, cells_of, strict=True)
        )
    ):
        found = [0] * len(sizes)
        for cells, numbers in zip(cells_of, chosen, strict=True):
            for c, n in zip(cells, numbers, strict=True):
                found[c] = n
        yield tuple(found)
