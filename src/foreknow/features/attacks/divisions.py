"""Divisions: the ways to give the values of a bag to cells of people; all, how many, at random.

A *table* says how many people of each cell have each value, and stands for as many assignments to
people as `ways` counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.possible_worlds import taken_at_random

# Shape (ways, cells, values).
Tables: TypeAlias = NDArray[np.int32]


# Numbers of tables that are in memory at once.
_NUMBERS = 1 << 25


# Products below it are exact in 64 bits.
_EXACT = 2**62


def assignments(bag: Sequence[int]) -> int:
    """The number of ways to give a bag to distinguishable people.

    >>> assignments([2, 1])
    3
    """
    return math.factorial(sum(bag)) // math.prod(map(math.factorial, bag))


def n_taken(bag: IntArray, size: int) -> float:
    """How many ways there are to take `size` values out of a bag (value counts).

    >>> n_taken(np.array([2, 1]), 2)
    2.0
    """
    # Entry i: the ways to take i values of the kinds seen so far. One more kind of value, of which
    # 0 to `count` are taken, is a convolution with ones.
    ways = np.ones(1)  # by how many values were taken so far
    for count in bag.tolist():
        ways = np.convolve(ways, np.ones(min(count, size) + 1))[: size + 1]
    return float(ways[size])


def ways_to_take(bag: IntArray, size: int) -> NDArray[np.int32]:
    """Every way to take `size` values out of a bag (value counts), shape (ways, values).

    >>> ways_to_take(np.array([2, 1]), 2).tolist()
    [[1, 1], [2, 0]]
    """
    # Values are added one by one; `remaining` is how many each way still has to take.
    ways = np.zeros((1, 0), dtype=np.int32)
    remaining = np.array([size])
    for value, count in enumerate(bag.tolist()):
        # At least as many that the later values suffice for the rest.
        n_rest = int(bag[value + 1 :].sum())
        lowest, highest = np.maximum(remaining - n_rest, 0), np.minimum(remaining, count)
        n_ways = highest - lowest + 1
        # Each way so far becomes several: with the lowest number of this value, one more and so on.
        way_before = np.repeat(np.arange(len(remaining)), n_ways)
        first_of_way = np.repeat(np.cumsum(n_ways) - n_ways, n_ways)
        n_of_value = lowest[way_before] + np.arange(len(way_before)) - first_of_way
        ways = np.concatenate((ways[way_before], n_of_value[:, None].astype(np.int32)), axis=1)
        remaining = remaining[way_before] - n_of_value
    return ways


def with_next_cell(
    tables: Tables, remaining: IntArray, size: int, max_tables: float
) -> tuple[Tables, IntArray] | None:
    """Every table with one more cell of `size` people, and the values that each then leaves.

    Tables have the shape (tables, cells, values) and say how many people of a cell have a value;
    `remaining`, (tables, values), has the values that each leaves over. None if there would be more
    than `max_tables`, or more than fit into memory.
    """
    # Tables that leave the same values go on in the same ways, which are listed once.
    kinds, kind_of_table = np.unique(remaining, axis=0, return_inverse=True)
    kind_of_table = kind_of_table.reshape(-1)
    n_ways = np.array([n_taken(bag, size) for bag in kinds])
    n_tables = n_ways[kind_of_table].sum()
    if n_tables > max_tables or n_tables * max(tables[0].size, 1) > _NUMBERS:
        return None
    ways_by_kind = [ways_to_take(bag, size) for bag in kinds]
    table_before = np.repeat(np.arange(len(remaining)), n_ways[kind_of_table].astype(np.int64))
    new_cell = np.concatenate([ways_by_kind[number] for number in kind_of_table.tolist()])
    return np.concatenate((tables[table_before], new_cell[:, None]), axis=1), remaining[
        table_before
    ] - new_cell


def divided(bag: IntArray, sizes: Sequence[int], max_tables: float) -> Tables | None:
    """Every way to divide a bag over cells of such sizes; None for more than `max_tables`.

    >>> divided(np.array([2, 1]), [1, 2], max_tables=5).tolist()
    [[[0, 1], [2, 0]], [[1, 0], [1, 1]]]
    """
    if len(bag) == 1:
        return np.array(sizes, dtype=np.int32)[None, :, None]
    tables, remaining = np.zeros((1, 0, len(bag)), dtype=np.int32), bag[None].astype(np.int64)
    # Cells choose one after another; the last takes what is left.
    for size in sizes[:-1]:
        extended = with_next_cell(tables, remaining, size, max_tables)
        if extended is None:
            return None
        tables, remaining = extended
    all_tables = np.concatenate((tables, remaining[:, None].astype(np.int32)), axis=1)
    return all_tables if len(remaining) <= max_tables else None


def paired(first: Tables, second: Tables) -> Tables:
    """Every pair of a table of the first and a table of the second, their cells side by side."""
    rows, partner = np.divmod(np.arange(len(first) * len(second)), len(second))
    return np.concatenate((first[rows], second[partner]), axis=1)


def assignments_of_tables(tables: Tables) -> NDArray[Any]:
    """How many assignments to people each table stands for, as exact whole numbers.

    Tables, (tables, cells, values), divide the same bag over the same cells. The result is of 64
    bits where these suffice, else of Python's numbers.
    """
    largest = int(tables[0].sum(axis=1).max())
    largest_number = assignments(tables[0].sum(axis=0).tolist()) * largest
    kind: Any = np.int64 if largest_number < _EXACT else object
    # In each cell they are a product over values: comb(people with it or one before, with it). A
    # pair of these numbers is one number in base `base`; few pairs occur, each often.
    base, sums = largest + 1, tables.cumsum(axis=2, dtype=np.int64)
    pairs, pair_of_entry = np.unique(sums * base + tables, return_inverse=True)
    numbers_of_pairs = [math.comb(*divmod(pair, base)) for pair in pairs.tolist()]
    factors: NDArray[Any] = np.array(numbers_of_pairs, dtype=kind)[
        pair_of_entry.reshape(len(tables), -1)
    ]
    return np.asarray(factors.prod(axis=1))


def drawn_tables(
    bag: IntArray, sizes: Sequence[int], n_tables: int, random: np.random.Generator
) -> Tables:
    """Random tables (tables, cells, values) that divide a bag over cells of such sizes.

    A table is as likely as the share of assignments to people that it stands for.
    """
    remaining = np.repeat(bag[None], n_tables, axis=0)
    tables = np.empty((n_tables, len(sizes), len(bag)), dtype=np.int32)
    for cell, size in enumerate(sizes):
        # Each cell draws without replacement from what the cells before it left.
        tables[:, cell] = cells = taken_at_random(remaining, np.full(n_tables, size), random)
        remaining = remaining - cells
    return tables
