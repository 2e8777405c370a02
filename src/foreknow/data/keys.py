"""RowKeys: rows of several columns of codes as one whole number each."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import (
    BLOCK,
    DENSE_LIMIT,
    IntArray,
    blocks,
    combine,
    sorted_with_rows,
    starts_of,
)

# Numbers times the first are as if drawn at random; one number in 64 is below the second.
_MIXED, _SAMPLED = np.uint64(0x9E3779B97F4A7C15), np.uint64(1 << 58)


def nearly_all_differ(columns: Sequence[NDArray[Any]]) -> bool:
    """True if over 90% of the rows of a large table differ, by a sample of their combinations.

    `columns` are the codes of each row. All rows with a sampled combination are looked at, so that
    equal rows are in the sample together. False for small tables.

    >>> nearly_all_differ([np.arange(10**6) // 10]), nearly_all_differ([np.arange(10**6)])
    (False, True)
    """
    n_rows, samples = len(columns[0]), []
    if n_rows <= BLOCK:
        return False
    for block in blocks(n_rows):
        mixed = np.zeros(len(columns[0][block]), dtype=np.uint64)
        for codes in columns:
            # A hash of the row: equal rows have equal hashes.
            mixed += codes[block].astype(np.uint64)
            mixed *= _MIXED
        # About one combination in 64 has so small a hash.
        samples.append(mixed[mixed < _SAMPLED])
    sampled = np.concatenate(samples)
    return len(np.unique(sampled)) > 0.9 * len(sampled)


class RowKeys:
    """One whole number (a key) for each row of several columns of codes, in lexicographic order.

    Rows have equal keys if they have equal codes in all columns.

    >>> keys = RowKeys([np.array([1, 0, 1]), np.array([2, 0, 2])], [2, 3])
    >>> distinct_keys, times = keys.count()
    >>> [codes.tolist() for codes in keys.codes(distinct_keys)], times.tolist()
    ([[0, 1], [0, 2]], [1, 2])
    >>> keys.spread(np.array([7, 8])).tolist()
    [8, 7, 8]
    """

    def __init__(
        self, columns: Sequence[NDArray[Any]], sizes: Sequence[int], room: int = 1
    ) -> None:
        """Take columns of codes from 0, and for each how many codes it has.

        With `room`, a column of up to so many codes can be put `beside` them later.
        """
        self._given_columns = columns
        # If the keys would not fit into int64, the combinations that occur are numbered instead,
        # as one column. One row that has each combination then says its codes.
        self._row_of_combination: IntArray | None = None
        if prod(sizes) * room >= 2**62:
            numbers, self._row_of_combination = combine(list(columns), list(sizes))
            columns, sizes = [numbers], [len(self._row_of_combination)]
        self._columns, self._sizes = list(columns), list(sizes)
        # Set by `count`: the distinct keys if it used a table, else the place of each row's key
        # among them.
        self._distinct_keys: NDArray[Any] | None = None
        self._place_of_row: NDArray[Any] | None = None

    def beside(self, column: NDArray[Any], size: int) -> RowKeys:
        """The keys of the rows with one more column, which is the last."""
        return RowKeys([*self._columns, column], [*self._sizes, size])

    def numbers(self, rows: slice | None = None) -> NDArray[Any]:
        """The key of each row, or of some rows.

        The key of codes a, b, c in columns of sizes A, B, C is (a * B + b) * C + c.
        """
        columns = []
        for column in self._columns:
            columns.append(column if rows is None else column[rows])
        keys = np.empty(len(columns[0]), np.int32 if prod(self._sizes) < 2**31 else np.int64)
        # In blocks and in place, to stay in a processor's cache.
        for block in blocks(len(keys)):
            block_keys: NDArray[Any] = keys[block]
            block_keys[:] = columns[0][block]
            for codes, size in zip(columns[1:], self._sizes[1:], strict=True):
                np.multiply(block_keys, size, out=block_keys)
                np.add(block_keys, codes[block], out=block_keys, casting="unsafe")
        return keys

    def count(self, weights: NDArray[Any] | None = None) -> tuple[NDArray[Any], IntArray]:
        """The distinct keys in ascending order, and how often each occurs.

        `weights` are how often each row counts; None: once. The place of each row's key among the
        distinct ones is kept for `spread`.
        """
        n_rows, span = len(self._columns[0]), prod(self._sizes)
        if span <= max(n_rows // 2, DENSE_LIMIT):
            # Few possible keys: count in a table with a place for each, without sorting.
            table = np.zeros(span, dtype=np.int64)
            for block in blocks(n_rows, max(BLOCK, span)):
                block_weights = None if weights is None else weights[block]
                counts = np.bincount(self.numbers(block), block_weights, minlength=span)
                table += counts.astype(np.int64, copy=False)
            self._distinct_keys = np.flatnonzero(table)
            return self._distinct_keys, table[self._distinct_keys]
        keys, rows = sorted_with_rows(self.numbers(), copy=False)
        starts = starts_of(keys)
        # Equal keys are now side by side: a key's place is the number of its run.
        self._place_of_row = np.empty(n_rows, dtype=rows.dtype)
        self._place_of_row[rows] = np.repeat(np.arange(len(starts)), np.diff(starts, append=n_rows))
        if weights is None:
            return keys[starts], np.diff(starts, append=n_rows)
        times: IntArray = np.add.reduceat(weights[rows], starts) if n_rows else weights
        return keys[starts], times

    def codes(self, keys: NDArray[Any]) -> list[NDArray[Any]]:
        """The codes in each column that some keys stand for; the reverse of `numbers`."""
        if self._row_of_combination is not None:
            rows = self._row_of_combination[keys]
            return [column[rows] for column in self._given_columns]
        columns = [np.empty(len(keys), dtype=column.dtype) for column in self._columns]
        for block in blocks(len(keys)):
            # The last column is the remainder by its size, and so on from the last to the first.
            remaining = keys[block]
            for column, size in zip(reversed(columns), reversed(self._sizes), strict=True):
                quotients = remaining // size
                np.subtract(remaining, quotients * size, out=column[block], casting="unsafe")
                remaining = quotients
        return columns

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """The value of each row's key, shape (rows,); `values` are those of the distinct keys.

        `count` must have been called before.
        """
        if self._place_of_row is not None:
            placed: NDArray[Any] = values[self._place_of_row]
            return placed
        # RowKeys were counted in a table: look each row's key up in one.
        table: NDArray[Any] = np.empty(prod(self._sizes), dtype=values.dtype)
        table[self._distinct_keys] = values
        result = np.empty(len(self._columns[0]), dtype=values.dtype)
        for block in blocks(len(result)):
            result[block] = table[self.numbers(block)]
        return result
