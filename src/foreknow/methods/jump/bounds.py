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
from typing import TYPE_CHECKING

import numpy as np

from foreknow.methods.jump.properties import survives

if TYPE_CHECKING:
    from foreknow.methods.jump.blocks import Block
    from foreknow.methods.jump.disclosure_set import Column, Exact, Part

WORK = 400_000_000  # products: less than a second, where counting on takes many
ENOUGH = Fraction(1, 10**4)
# Far above all rounding errors (lgamma of ten thousands, to the last digit, is wrong by 1e-10).
MARGIN = Fraction(1, 10**6)


def surely_safe(exact: Exact, parts: Sequence[Part], levels: Sequence[int]) -> bool:
    """True if the disclosure set surely has the property, by a bound; False says nothing.

    `levels` are the earlier functions that may stop a table.
    """
    loss = most_lost(exact, parts, levels)
    if loss >= 1:
        return False
    for block, columns in parts:
        for group, size in enumerate(block.group_sizes):
            row = []
            for c, counts in columns:
                if counts[group]:
                    row.append((exact.palette[c], counts[group]))
            if not survives(exact.strategy.property, row, size, size, loss):
                return False
    return True


def most_lost(exact: Exact, parts: Sequence[Part], levels: Sequence[int]) -> Fraction:
    """An upper bound of the share of tables that are safe at one of these lower levels."""
    lost = Fraction(0)
    for j in levels:
        share_of: dict[Part, Fraction] = {}
        share = Fraction(1)
        for part in parts:
            if share > ENOUGH:
                if part not in share_of:
                    share_of[part] = _most_safe(exact, j, *part)
                share *= share_of[part]
        lost += share
    return min(lost, Fraction(1))


def _most_safe(exact: Exact, j: int, block: Block, columns: Sequence[Column]) -> Fraction:
    """An upper bound of the share of a block's tables that are safe at level j.

    In a safe one, no group of level j has more of a value than it may. The bound looks at as many
    of these groups as there is time for, the smallest first. `columns` has, for each value, its
    colour and how often it occurs in each group.
    """
    group_at_j = [(-1, -1)] * len(block.sizes)  # the group of each cell at level j
    for lower_block, below in enumerate(block.below[j]):
        for cell, group in enumerate(below.group_of):
            if group >= 0:
                group_at_j[cell] = (lower_block, group)
    people: Counter[tuple[int, tuple[int, int]]] = Counter()
    for group, lower_group, size in zip(block.group_of, group_at_j, block.sizes, strict=True):
        people[group, lower_group] += size
    sizes = dict.fromkeys(group_at_j, 0)
    for (_, lower_group), size in people.items():
        sizes[lower_group] += size
    order = sorted(sizes, key=lambda lower_group: (sizes[lower_group], lower_group))
    values = Counter(columns)
    best_bound = None
    for n in range(1, len(order) + 1):
        number_of_group = {lower_group: k for k, lower_group in enumerate(order[:n])}
        room = _room(block, people, number_of_group)
        limits: dict[int, list[int]] = {}
        n_steps = 0
        for (colour, counts), copies in values.items():
            limits[colour] = [
                exact.limit(sizes[lower_group], colour) for lower_group in number_of_group
            ]
            if min(limits[colour]) < 0:
                return Fraction(0)
            n_steps += room.work(counts, limits[colour]) * copies
        if n_steps > WORK:
            break
        best_bound = room, limits
    if best_bound is None:
        return Fraction(1)
    room, limits = best_bound
    share = Fraction(room.share([(c, limits[colour]) for colour, c in columns]))
    return min(share * (1 + MARGIN) + MARGIN**2, Fraction(1))


def _room(
    block: Block,
    people: Counter[tuple[int, tuple[int, int]]],
    number_of_group: dict[tuple[int, int], int],
) -> _Room:
    """The cells of a block's groups by chosen group of a lower level, and who is in none.

    ``people[g, h]`` is how many people of group g of the block are in group h of the lower level.
    """
    cells: list[tuple[int, int, int]] = []
    remainder: list[tuple[int, int | None]] = []
    for own_group, size in enumerate(block.group_sizes):
        chosen_cells = []
        for (group, lower_group), n_people in people.items():
            number = number_of_group.get(lower_group)
            if group == own_group and number is not None:
                chosen_cells.append((n_people, own_group, number))
        remaining = size - sum(n_people for n_people, _, _ in chosen_cells)
        if remaining:
            remainder.append((remaining, None))
        else:  # the largest cell follows from the others
            n_people, _, number = chosen_cells.pop(chosen_cells.index(max(chosen_cells)))
            remainder.append((n_people, number))
        cells += chosen_cells
    return _Room(block.group_sizes, cells, remainder)


@dataclass(frozen=True)
class _Room:
    """People of some chosen groups of a lower level, in each group of a block."""

    sizes: Sequence[int]
    # people, their group of the block, the place of their chosen group
    cells: list[tuple[int, int, int]]
    # people left in each group of the block, the place of their chosen group, if it is one
    rest: list[tuple[int, int | None]]

    def work(self, counts: Sequence[int], limits: Sequence[int]) -> int:
        """How many products `share` takes for one value."""
        return math.prod((n + 1) * (min(n, counts[g], limits[k]) + 1) for n, g, k in self.cells)

    def share(self, values: Sequence[tuple[Sequence[int], Sequence[int]]]) -> float:
        """The share of tables in which no value is more frequent in a chosen group than its limit.

        Each of `values` is given as (how often it occurs in each group of the block, its limit in
        each chosen group).
        """
        state = np.zeros([n + 1 for n, _, _ in self.cells])
        state[(0,) * len(self.cells)] = 1
        for counts, limits in values:
            next_state = np.zeros_like(state)
            for numbers, chance in self._possible_numbers(counts, limits):
                target, source = [], []
                for number, (n, _, _) in zip(numbers, self.cells, strict=True):
                    target.append(slice(number, None))
                    source.append(slice(0, n + 1 - number))
                next_state[tuple(target)] += chance * state[tuple(source)]
            state = next_state
        everybody = [n for n, _, _ in self.cells]
        return min(1.0, float(state[tuple(everybody)]) / self._chance(self.sizes, everybody))

    def _possible_numbers(
        self, counts: Sequence[int], limits: Sequence[int]
    ) -> Iterator[tuple[tuple[int, ...], float]]:
        """Yield the ways to give a value to people of the cells within limits, with their chances.

        A way says how many people of each cell have the value, which occurs ``counts[g]`` times in
        group g of the block.
        """
        for numbers in product(
            *(range(min(n, counts[group], limits[k]) + 1) for n, group, k in self.cells)
        ):
            remaining, n_in_group = list(counts), [0] * len(limits)
            for number, (_, group, position) in zip(numbers, self.cells, strict=True):
                remaining[group] -= number
                n_in_group[position] += number
            for n_rest, (n, rest_group) in zip(remaining, self.rest, strict=True):
                if rest_group is not None:
                    n_in_group[rest_group] += n_rest
                if not 0 <= n_rest <= n:
                    break
            else:
                if all(map(int.__le__, n_in_group, limits)):
                    yield numbers, self._chance(counts, numbers)

    def _chance(self, counts: Sequence[int], numbers: Sequence[int]) -> float:
        """The chance that a value is dealt to so many people of each cell.

        `counts` is how often each group of the block has it, and `numbers` how many people of each
        cell do, if values are dealt to the people of a group at random.
        """
        remaining, log = list(counts), 0.0
        for number, (n, group, _) in zip(numbers, self.cells, strict=True):
            remaining[group] -= number
            log += number * math.log(n / self.sizes[group]) - math.lgamma(number + 1)
        for count, n_rest, (n, _), total in zip(
            counts, remaining, self.rest, self.sizes, strict=True
        ):
            log += n_rest * math.log(n / total) - math.lgamma(n_rest + 1) + math.lgamma(count + 1)
        return math.exp(log)
