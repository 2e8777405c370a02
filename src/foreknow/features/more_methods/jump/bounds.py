"""Bounds: verdicts that are certain though a disclosure set is too large to count.

A table gets to function i unless the permutation set of an earlier function is safe. So the
disclosure set lacks no more than those tables of the permutation set, and a property that survives
the loss of so many tables holds. Blocks are independent: one block in which an earlier function
can hardly be safe is enough.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from foreknow.features.more_methods.jump.properties import survives

if TYPE_CHECKING:
    from foreknow.features.more_methods.jump.blocks import Block
    from foreknow.features.more_methods.jump.disclosure_set import Column, Exact, Part

WORK = 400_000_000  # products: less than a second, where counting on takes many
ENOUGH = Fraction(1, 10**4)
# Far above all rounding errors (lgamma of ten thousands, to the last digit, is wrong by 1e-10).
MARGIN = Fraction(1, 10**6)


def surely_safe(exact: Exact, parts: Sequence[Part], levels: Sequence[int]) -> bool:
    """True if the disclosure set surely has the property, by a bound; False says nothing.

    The disclosure set is the tables that agree with a release and reach its function. `parts` is
    the release, block by block: people who are connected by groups, with their values. `levels` are
    the earlier functions that may stop a table.
    """
    # All tables of the release agree with it, but at most this share of them stops earlier.
    loss = most_lost(exact, parts, levels)
    if loss >= 1:
        return False
    for block, columns in parts:
        for group, size in enumerate(block.group_sizes):
            row = []  # the values of the group, by colour, and how often each occurs
            for colour, counts in columns:
                if counts[group]:
                    row.append((exact.palette[colour], counts[group]))
            # If all tables were in the set, the group's shares would be the chances. Allow for the
            # loss.
            if not survives(exact.strategy.property, row, total=size, size=size, loss=loss):
                return False
    return True


def most_lost(exact: Exact, parts: Sequence[Part], levels: Sequence[int]) -> Fraction:
    """An upper bound of the share of tables that are safe at one of these lower levels.

    A level is an earlier function. The shares of the levels are added up. A table is safe at a
    level only if each of its blocks is, and blocks are independent, so the shares of blocks are
    multiplied, until the product is small.
    """
    lost = Fraction(0)
    for level in levels:
        safe_share_of: dict[Part, Fraction] = {}  # parts may be equal
        safe_share = Fraction(1)
        for part in parts:
            # Further factors only lower a product that is small enough already.
            if safe_share > ENOUGH:
                if part not in safe_share_of:
                    safe_share_of[part] = _most_safe(exact, level, part.block, part.columns)
                safe_share *= safe_share_of[part]
        lost += safe_share
    return min(lost, Fraction(1))


def _most_safe(exact: Exact, level: int, block: Block, columns: Sequence[Column]) -> Fraction:
    """An upper bound of the share of a block's tables that are safe at a lower level.

    In a safe one, no group of that level has more of a value than it may. The bound looks at as
    many of these groups as there is time for, the smallest first: with more groups it is lower.
    `columns` has, for each value, its colour (class of values) and how often it occurs in each
    group.
    """
    # For each cell its group at the lower level: the number of the lower block, the group in it.
    lower_groups = [(-1, -1)] * len(block.sizes)
    for lower_block, below in enumerate(block.below[level]):
        for cell, group in enumerate(below.group_of):
            if group >= 0:
                lower_groups[cell] = (lower_block, group)
    # How many people each pair of a group here and a group of the lower level shares.
    people: Counter[tuple[int, tuple[int, int]]] = Counter()
    for group, lower_group, size in zip(block.group_of, lower_groups, block.sizes, strict=True):
        people[group, lower_group] += size
    sizes = dict.fromkeys(lower_groups, 0)  # people of each lower group
    for (_, lower_group), size in people.items():
        sizes[lower_group] += size
    order = sorted(sizes, key=lambda lower_group: (sizes[lower_group], lower_group))
    # Equal values take the same work: count them once.
    values = Counter(columns)
    best_bound = None  # with the most groups for which there is time
    for n_looked_at in range(1, len(order) + 1):
        number_of_group = {group: number for number, group in enumerate(order[:n_looked_at])}
        room = _room(block, people, number_of_group)
        limits: dict[int, list[int]] = {}
        n_steps = 0
        for (colour, counts), copies in values.items():
            limits[colour] = [
                exact.limit(sizes[lower_group], colour) for lower_group in number_of_group
            ]
            # A negative limit: this group is never safe, so no table is lost.
            if min(limits[colour]) < 0:
                return Fraction(0)
            n_steps += room.work(counts, limits[colour]) * copies
        if n_steps > WORK:
            break
        best_bound = room, limits
    if best_bound is None:
        return Fraction(1)
    room, limits = best_bound
    share = Fraction(room.share([(counts, limits[colour]) for colour, counts in columns]))
    # Raised by more than any rounding error, so that it stays an upper bound.
    return min(share * (1 + MARGIN) + MARGIN**2, Fraction(1))


def _room(
    block: Block,
    people: Counter[tuple[int, tuple[int, int]]],
    number_of_group: dict[tuple[int, int], int],
) -> _Room:
    """The cells of a block's groups by chosen group of a lower level, and who is in none.

    ``people[g, h]`` is how many people of group g of the block are in group h of the lower level;
    `number_of_group` has the chosen groups h only, numbered from 0.
    """
    cells: list[_RoomCell] = []
    remainder: list[tuple[int, int | None]] = []
    for group, size in enumerate(block.group_sizes):
        cells_of_group = []
        for (group_of_people, lower_group), n_people in people.items():
            number = number_of_group.get(lower_group)
            if group_of_people == group and number is not None:
                cells_of_group.append(_RoomCell(n_people, group, number))
        n_remaining = size - sum(cell.people for cell in cells_of_group)
        if n_remaining:
            remainder.append((n_remaining, None))
        else:  # all are in some cell, so the largest cell follows from the others
            largest = max(cells_of_group)
            cells_of_group.remove(largest)
            remainder.append((largest.people, largest.chosen))
        cells += cells_of_group
    return _Room(block.group_sizes, cells, remainder)


class _RoomCell(NamedTuple):
    """People of one group of a block who are in one chosen group of a lower level."""

    people: int
    group: int
    chosen: int  # the place of the chosen group


@dataclass(frozen=True)
class _Room:
    """People of some chosen groups of a lower level, in each group of a block."""

    sizes: Sequence[int]  # of the groups of the block
    cells: list[_RoomCell]
    # The people of each group of the block who are in no cell; and the place of the chosen group
    # that they are in, None if they are in none.
    rest: list[tuple[int, int | None]]

    def work(self, counts: Sequence[int], limits: Sequence[int]) -> int:
        """How many products `share` takes for one value."""
        n_products = 1
        for people, group, chosen in self.cells:
            # Every entry of the array of chances, times every way to place the value.
            n_products *= (people + 1) * (min(people, counts[group], limits[chosen]) + 1)
        return n_products

    def share(self, values: Sequence[tuple[Sequence[int], Sequence[int]]]) -> float:
        """The share of tables in which no value is more frequent in a chosen group than its limit.

        Each of `values` is a pair: how often it occurs in each group of the block, and its limit in
        each chosen group. If values are dealt to the people of a group at random, that share is a
        chance.
        """
        # One axis for each cell: how many of its people have some value by now. An entry is the
        # chance of that, within the limits.
        chances = np.zeros([cell.people + 1 for cell in self.cells])
        chances[(0,) * len(self.cells)] = 1
        for counts, limits in values:
            chances_after = np.zeros_like(chances)
            for numbers, chance in self._possible_numbers(counts, limits):
                # To add so many holders to a cell is to shift its axis by that number.
                after, before = [], []
                for number, cell in zip(numbers, self.cells, strict=True):
                    after.append(slice(number, None))
                    before.append(slice(0, cell.people + 1 - number))
                chances_after[tuple(after)] += chance * chances[tuple(before)]
            chances = chances_after
        # So far a person may get several values or none. Divide by the chance that everybody gets
        # one, which is worked out as if all values were the same.
        everybody = [cell.people for cell in self.cells]
        return min(1.0, float(chances[tuple(everybody)]) / self._chance(self.sizes, everybody))

    def _possible_numbers(
        self, counts: Sequence[int], limits: Sequence[int]
    ) -> Iterator[tuple[tuple[int, ...], float]]:
        """Yield the ways to give a value to people of the cells within limits, with their chances.

        A way says how many people of each cell have the value. The value occurs ``counts[g]`` times
        in group g of the block, and at most ``limits[h]`` times in chosen group h.
        """
        ranges = []
        for people, group, chosen in self.cells:
            ranges.append(range(min(people, counts[group], limits[chosen]) + 1))
        for numbers in product(*ranges):
            # Holders in each group who are in no cell; holders in each chosen group.
            remaining, n_in_chosen = list(counts), [0] * len(limits)
            for number, (_, group, chosen) in zip(numbers, self.cells, strict=True):
                remaining[group] -= number
                n_in_chosen[chosen] += number
            # The remaining holders of each group must be among its people in no cell.
            for n_holders, (n_people, chosen_of_rest) in zip(remaining, self.rest, strict=True):
                if chosen_of_rest is not None:
                    n_in_chosen[chosen_of_rest] += n_holders
                if not 0 <= n_holders <= n_people:
                    break
            else:
                if all(map(int.__le__, n_in_chosen, limits)):
                    yield numbers, self._chance(counts, numbers)

    def _chance(self, counts: Sequence[int], numbers: Sequence[int]) -> float:
        """The chance that a value is dealt to so many people of each cell.

        `counts` is how many people of each group of the block have it, and `numbers` how many
        people of each cell do, if each holder is a random person of the group, whoever the others
        are.
        """
        # Multinomial, group by group: count! * product of share**number / number!; as logarithms.
        remaining, log = list(counts), 0.0
        for number, (n_people, group, _) in zip(numbers, self.cells, strict=True):
            remaining[group] -= number
            log += number * math.log(n_people / self.sizes[group]) - math.lgamma(number + 1)
        # The people of a group who are in no cell are one more class of the multinomial.
        for count, n_rest, (n_people, _), size in zip(
            counts, remaining, self.rest, self.sizes, strict=True
        ):
            log += n_rest * math.log(n_people / size) - math.lgamma(n_rest + 1)
            log += math.lgamma(count + 1)
        return math.exp(log)
