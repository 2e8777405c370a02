"""Exact disclosure sets: which tables agree with a release and get to it, counted by blocks.

A disclosure set depends on the generalization, not on the table (section 3.2: the adversary sees
no more), so verdicts are kept by generalization; and only up to exchanging values of one colour
within a block, and blocks of one shape, since no verdict tells those apart. That removes the
exponent n/k of Theorem 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from foreknow.methods.jump.block_counts import (
    BEYOND,
    BeyondReach,
    Budget,
    Chain,
    Column,
    Counted,
    CountedPart,
    Deal,
    Deals,
    MergedDeal,
    Part,
    Parts,
    Rules,
    Seen,
    merged,
    nobody,
)
from foreknow.methods.jump.blocks import Block, Layout
from foreknow.methods.jump.bounds import surely_safe
from foreknow.methods.jump.cutting import Cut, CutDeal, cut_of
from foreknow.methods.jump.enclosing import Enclosed, enclosed
from foreknow.methods.jump.residues import Within, within
from foreknow.methods.jump.strategy import Need, Strategy

FIRST_STEPS = 50_000
AT_ONE_PIECE, LIGHT_AT_ONE_PIECE = 256, 10**7
ENCLOSED_FROM = 500


class Exact:
    """Exact verdicts of one public algorithm on one set of people.

    Parameters
    ----------
    layout : Layout
    strategy : Strategy
    palette : list
        The property's colours; columns name them by place.
    budget : Budget
    at_one_piece : int
        Blocks with more room vectors are dealt by their parts. It changes the time, not results.
    """

    def __init__(
        self,
        layout: Layout,
        strategy: Strategy,
        palette: Sequence[Any],
        budget: Budget,
        at_one_piece: int = AT_ONE_PIECE,
    ) -> None:
        self.layout, self.strategy, self.budget = layout, strategy, budget
        self.palette = palette
        self._limits: dict[tuple[int, int], int] = {}
        self.rules = Rules(self.limit, self._group_allows, strategy.property.complete, ())
        self._fits: dict[tuple[int, tuple[Column, ...], int], bool] = {}
        self._deals: dict[tuple[int, tuple[Column, ...], tuple[Need, ...]], Deals] = {}
        self._cuts: dict[int, Cut | None] = {}
        self._at_one_piece = at_one_piece
        self._verdicts: dict[tuple[int, Any], bool] = {}
        self._enclosed: dict[tuple[int, tuple[Part, ...]], Enclosed | None] = {}
        self._within: dict[Any, Within | None] = {}

    def parts(self, i: int, codes: Sequence[int], colours: Sequence[int]) -> list[Part]:
        """The generalization of a table under function i, block by block.

        Parameters
        ----------
        i : int
        codes : sequence of int
            Value of each person.
        colours : sequence of int
            Colour of each value.
        """
        found: list[Part] = []
        for placed in self.layout.level(i):
            counts: dict[int, list[int]] = {}
            for group, people in enumerate(placed.groups):
                for person in people:
                    row = counts.setdefault(codes[person], [0] * len(placed.groups))
                    row[group] += 1
            columns = sorted((colours[value], tuple(row)) for value, row in counts.items())
            found.append((placed.block, tuple(columns)))
        return found

    def permutation_safe(self, parts: Parts) -> bool:
        """Whether the permutation set has the property: every group's average person does."""
        return all(
            self._group_allows([(c, row[g]) for c, row in columns if row[g]], size)
            for block, columns in parts
            for g, size in enumerate(block.group_sizes)
        )

    def disclosure_safe(self, i: int, parts: Parts) -> bool:
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
            if self.permutation_safe(parts) and surely_safe(self, i, parts):
                self._verdicts[i, key] = True
                return True
        finally:
            self.budget.steps, self.budget.used = steps, 0
        if steps <= FIRST_STEPS:
            raise BeyondReach(BEYOND.format(steps))
        return self._verdict(i, key)

    def count(self, i: int, parts: Parts) -> Counted:
        """The disclosure set of a generalization under function i."""
        if self._large(i, parts):
            around = self.enclosed(i, parts)
            if around is not None and not around.unsure:
                return around.counted(parts)
        rules = self.rules_of(i, parts)
        deals = [self._deal(block, columns, rules) for block, columns in parts]
        total = math.prod(deal.total for deal in deals)
        chain = Chain(nobody(rules.needs), deals, self.budget)
        stopped = {seen: int(not self._gets_to(i, seen, rules.needs)) for seen in chain.ends}
        lost = sum(number * stopped[seen] for seen, number in chain.ends.items())
        made: dict[int, CountedPart] = {}
        for deal, weight_of in zip(deals, chain.weights(stopped.__getitem__), strict=True):
            if id(deal) not in made:
                made[id(deal)] = _counted(deal, total, weight_of)
        return Counted(total - lost, total, tuple(made[id(deal)] for deal in deals))

    def _large(self, i: int, parts: Parts) -> bool:
        """Whether any block has more room vectors than are dealt at once without much work."""
        needs = self.rules_of(i, parts).needs
        blocks = {block.number: block for block, _ in parts}
        return any(
            math.prod(size + 1 for size in merged(block, needs, self.layout)[0].sizes)
            > ENCLOSED_FROM
            for block in blocks.values()
        )

    def enclosed(self, i: int, parts: Parts) -> Enclosed | None:
        """Sets between which the disclosure set lies, where functions are nested."""
        key = i, tuple(parts)
        if key not in self._enclosed:
            self._enclosed[key] = enclosed(self, i, parts)
        return self._enclosed[key]

    def within(
        self, sizes: tuple[int, ...], counts: tuple[int, ...], limits: tuple[tuple[int, ...], ...]
    ) -> Within | None:
        """Tables of some groups whose values keep limits; counted once."""
        key = sizes, counts, limits
        if key not in self._within:
            self._within[key] = within(sizes, counts, limits, self.budget)
        return self._within[key]

    def _deal(self, block: Block, columns: tuple[Column, ...], rules: Rules) -> Deals:
        """All deals of a block, at one piece where that is little, or else by its parts."""
        key = (block.number, columns, rules.needs)
        if key not in self._deals:
            small, cell_of = merged(block, rules.needs, self.layout)
            if small is not block:
                inner = self._deal(small, columns, rules)
                self._deals[key] = MergedDeal(block, inner, cell_of)
                return self._deals[key]
            cut = None
            room = math.prod(size + 1 for size in block.sizes)
            if room > (LIGHT_AT_ONE_PIECE if rules.light else self._at_one_piece):
                if block.number not in self._cuts:
                    self._cuts[block.number] = cut_of(block, self.layout)
                cut = self._cuts[block.number]
            self._deals[key] = (
                Deal(block, columns, rules, self.budget)
                if cut is None
                else CutDeal(block, columns, cut, rules, self.budget, self._deal)
            )
        return self._deals[key]

    def rules_of(self, i: int, parts: Parts) -> Rules:
        """What is needed of lower levels; nothing of those that cannot stop any of the tables.

        Where no level before j can stop a table, the disclosure set at j is the permutation set,
        for all tables that have the block's values: so no more is needed than whether that is
        safe.
        """
        needs: list[Need] = []
        for j in range(i):
            need = self.strategy.need(j, i)
            if all(before is Need.NOTHING for before in needs):
                need = Need.PERMUTATION
            if need is not Need.ALWAYS and not all(
                self._possible(block, columns, j) for block, columns in parts
            ):
                need = Need.NOTHING
            needs.append(need)
        return self.rules.needing(tuple(needs))

    def _possible(self, block: Block, columns: tuple[Column, ...], j: int) -> bool:
        """Whether a deal of a block may leave level j a safe permutation set; never a false no.

        Every value must fit into the groups within the limits, and every group be filled.
        """
        key = (block.number, columns, j)
        if key not in self._fits:
            colours = [colour for colour, _ in columns]
            totals = [sum(counts) for _, counts in columns]
            fits = True
            for below in block.below[j]:
                sizes = below.block.group_sizes
                inside = set(below.group_of) - {-1}
                for g in inside:
                    most = sum(
                        min(total, max(self.limit(sizes[g], colour), 0))
                        for colour, total in zip(colours, totals, strict=True)
                    )
                    fits = fits and most >= sizes[g]
            for colour, total in zip(colours, totals, strict=True):
                fits = fits and total <= sum(
                    max(self.limit(size, colour), 0)
                    for below in block.below[j]
                    for size in below.block.group_sizes
                )
            self._fits[key] = fits
        return self._fits[key]

    def limit(self, size: int, colour: int) -> int:
        """How often a value of a colour may occur in a group that has the property."""
        key = (size, colour)
        if key not in self._limits:
            self._limits[key] = self.strategy.property.limit(size, self.palette[colour])
        return self._limits[key]

    def _group_allows(self, row: Sequence[tuple[int, int]], size: int) -> bool:
        named = [(self.palette[colour], count) for colour, count in row]
        return self.strategy.property.allows(named, size, size)

    def _gets_to(self, i: int, seen: Seen, needs: Sequence[Need]) -> bool:
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
            verdict = None
            if self._large(j, parts):
                around = self.enclosed(j, parts)
                verdict = None if around is None else around.safe(self, parts)
            if verdict is None:
                verdict = self._judged(self.count(j, parts))
            self._verdicts[j, key] = verdict
        return self._verdicts[j, key]

    def _judged(self, counted: Counted) -> bool:
        """Whether everybody's values have the property; nobody's when there are no tables."""
        if not counted.size:
            return False
        allows = self.strategy.property.allows
        seen = set()
        for part in counted.parts:
            if id(part) in seen:
                continue
            seen.add(id(part))
            group_sizes = part.block.group_sizes
            for cell, group in enumerate(part.block.group_of):
                row = [
                    (self.palette[colour], tables[cell])
                    for ((colour, _), copies), tables in zip(part.classes, part.tables, strict=True)
                    if tables[cell]
                    for _ in range(copies)
                ]
                if not allows(row, counted.size, group_sizes[group]):
                    return False
        return True


def _counted(deal: Deals, total: int, weight_of: dict[Seen, int]) -> CountedPart:
    """All tables less those that are stopped."""
    block, stopped = deal.block, deal.sums(weight_of)
    tables = tuple(
        tuple(
            total * counts[group] // block.group_sizes[group] - lost
            for group, lost in zip(block.group_of, row, strict=True)
        )
        for (_, counts), row in zip(deal.classes, stopped, strict=True)
    )
    return CountedPart(block, tuple(zip(deal.classes, deal.copies, strict=True)), tables)
