"""Exact disclosure sets: which tables agree with a release and get to it, counted by blocks.

A disclosure set depends on the generalization, not on the table (section 3.2: the adversary sees
no more), so verdicts are kept by generalization; and only up to exchanging values of one colour
within a block, and blocks of one shape, since no verdict tells those apart. That removes the
exponent n/k of Theorem 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from foreknow.jumping.blocks import Block, Layout
from foreknow.jumping.dealing import Budget, Column, Deal, Rules, Seen
from foreknow.jumping.strategy import Need, Strategy

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


class Exact:
    """Exact verdicts of one public algorithm on one set of people.

    Parameters
    ----------
    layout : Layout
    strategy : Strategy
    palette : list
        The property's colours; columns name them by place.
    budget : Budget
    """

    def __init__(
        self, layout: Layout, strategy: Strategy, palette: Sequence[Any], budget: Budget
    ) -> None:
        self.layout, self.strategy, self.budget = layout, strategy, budget
        self._palette = palette
        self._limits: dict[tuple[int, int], int] = {}
        self._rules: dict[int, Rules] = {}
        self._shapes: dict[int, Block] = {}
        self._deals: dict[tuple[int, tuple[Column, ...]], Deal] = {}
        self._verdicts: dict[tuple[int, Any], bool] = {}

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
        """Whether the disclosure set of a generalization has the property."""
        key = tuple(sorted((block.number, columns) for block, columns in parts))
        for block, _ in parts:
            self._shapes[block.number] = block
        return self._verdict(i, key)

    def count(self, i: int, parts: Parts) -> Counted:
        """The disclosure set of a generalization under function i."""
        deals = [self._deal(block, columns) for block, columns in parts]
        total = math.prod(deal.total for deal in deals)
        lost, weights = self._stopped(i, deals)
        made: dict[int, CountedPart] = {}
        for deal, weight_of in zip(deals, weights, strict=True):
            if id(deal) not in made:
                made[id(deal)] = _counted(deal, total, weight_of)
        return Counted(total - lost, total, tuple(made[id(deal)] for deal in deals))

    def _deal(self, block: Block, columns: tuple[Column, ...]) -> Deal:
        self._shapes[block.number] = block
        for level in block.below:
            for below in level:
                self._shapes[below.block.number] = below.block
        key = (block.number, columns)
        if key not in self._deals:
            self._deals[key] = Deal(block, columns, self._rules_of(block.level), self.budget)
        return self._deals[key]

    def _rules_of(self, i: int) -> Rules:
        if i not in self._rules:
            needs = tuple(self.strategy.need(j, i) for j in range(i))
            self._rules[i] = Rules(
                self._limit,
                self._group_allows,
                self.strategy.property.complete,
                needs,
                keep_all=Need.ALWAYS in needs,
            )
        return self._rules[i]

    def _limit(self, size: int, colour: int) -> int:
        key = (size, colour)
        if key not in self._limits:
            self._limits[key] = self.strategy.property.limit(size, self._palette[colour])
        return self._limits[key]

    def _group_allows(self, row: Sequence[tuple[int, int]], size: int) -> bool:
        named = [(self._palette[colour], count) for colour, count in row]
        return self.strategy.property.allows(named, size, size)

    def _stopped(self, i: int, deals: Sequence[Deal]) -> tuple[int, list[dict[Seen, int]]]:
        """How many tables do not get to i; and for each block and end, how many of the others'.

        Blocks are put together one after another, as the values within a block are.
        """
        none: Seen = tuple(
            True if need is Need.PERMUTATION else () for need in self._rules_of(i).needs
        )
        ahead: list[dict[Seen, int]] = [{none: 1}]
        steps: list[dict[tuple[Seen, Seen], Seen]] = []
        for deal in deals:
            reached: dict[Seen, int] = {}
            step: dict[tuple[Seen, Seen], Seen] = {}
            for before, weight in ahead[-1].items():
                for end, ways in deal.ends.items():
                    both = _together(before, end)
                    if both is not None:
                        step[before, end] = both
                        reached[both] = reached.get(both, 0) + weight * ways
            self.budget.spend(len(step) + 1)
            steps.append(step)
            ahead.append(reached)
        values = {seen: 0 if self._gets_to(i, seen) else 1 for seen in ahead[-1]}
        lost = sum(weight * values[seen] for seen, weight in ahead[-1].items())
        weights: list[dict[Seen, int]] = [{} for _ in deals]
        for place in range(len(deals) - 1, -1, -1):
            own, earlier = weights[place], dict.fromkeys(ahead[place], 0)
            for (before, end), both in steps[place].items():
                value = values[both]
                if value:
                    own[end] = own.get(end, 0) + ahead[place][before] * value
                    earlier[before] += deals[place].ends[end] * value
            values = earlier
        return lost, weights

    def _gets_to(self, i: int, seen: Seen) -> bool:
        """Whether the algorithm evaluates function i on such a table (Definition 2)."""
        j = 0
        while j < i:
            need, one = self.strategy.need(j, i), seen[j]
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
            parts = [(self._shapes[number], columns) for number, columns in key]
            self._verdicts[j, key] = self._judged(self.count(j, parts))
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
                    (self._palette[colour], tables[cell])
                    for ((colour, _), copies), tables in zip(
                        part.classes, part.tables, strict=True
                    )
                    if tables[cell]
                    for _ in range(copies)
                ]
                if not allows(row, counted.size, group_sizes[group]):
                    return False
        return True


def _counted(deal: Deal, total: int, weight_of: dict[Seen, int]) -> CountedPart:
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


def _together(one: Seen, other: Seen) -> Seen | None:
    """What is seen of two sets of blocks; None if no level can stop the table any more."""
    both = tuple(
        None
        if a is None or b is None
        else True
        if a is True
        else tuple(sorted((*a, *b)))
        for a, b in zip(one, other, strict=True)
    )
    return None if all(seen is None for seen in both) else both
