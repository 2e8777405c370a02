"""Arrays: their types, and counting in plain NumPy: pairs, rows, ranges, combinations of codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]

DENSE_LIMIT = 1 << 16
_TABLE = 1 << 26  # cells; counting in a larger table takes more memory than sorting
BLOCK = 1 << 18  # rows


def count_pairs(
    rows: NDArray[Any],
    columns: NDArray[Any],
    n_rows: int,
    n_columns: int,
    weights: NDArray[Any] | None = None,
) -> tuple[IntArray, IntArray, IntArray]:
    """Count equal (row, column) pairs of codes from 0, as a sparse table.

    Pairs that do not occur take no memory in the result.

    Parameters
    ----------
    rows, columns : integer arrays, shape (pairs,)
    n_rows, n_columns : int
        How many codes there are.
    weights : integer array, shape (pairs,), optional
        How often each pair counts; once if left out.

    Returns
    -------
    offsets : int64 array, shape (n_rows + 1,)
        The cells of row r are ``offsets[r]:offsets[r + 1]`` of the other arrays.
    columns : int64 array, shape (cells,)
        The column of each cell, ascending within a row.
    counts : int64 array, shape (cells,)
        How often the pair occurs; at least 1.
    """
    n_cells, n_pairs = n_rows * n_columns, len(rows)
    # Counting in a full table, with a place for each possible pair, is fast but takes memory for
    # all of them; otherwise the pairs are sorted.
    largest_table = max(n_pairs // 4, min(2 * n_pairs, _TABLE)) if weights is None else 4 * n_pairs
    if n_cells <= max(largest_table, DENSE_LIMIT):
        table = np.zeros(n_cells, dtype=np.int64)
        # Block by block, so that the keys of all pairs are never in memory at once.
        for block in blocks(n_pairs, max(BLOCK, n_cells)):
            keys = _pair_keys(rows[block], columns[block], n_rows, n_columns)
            block_weights = None if weights is None else weights[block]
            block_counts = np.bincount(keys, block_weights, minlength=n_cells)
            table += block_counts.astype(np.int64, copy=False)
        cells = np.flatnonzero(table > 0)  # NumPy searches booleans much faster than numbers
        counts = table[cells]
    else:
        cells, counts = _add_up(_pair_keys(rows, columns, n_rows, n_columns), weights)
    cells, counts = cells.astype(np.int64, copy=False), counts.astype(np.int64, copy=False)
    # A cell's key is row * n_columns + column.
    row_of_cell = cells // n_columns if n_columns else cells
    offsets = np.concatenate(([0], np.cumsum(np.bincount(row_of_cell, minlength=n_rows))))
    return offsets, cells - row_of_cell * n_columns, counts


def _pair_keys(
    rows: NDArray[Any], columns: NDArray[Any], n_rows: int, n_columns: int
) -> NDArray[Any]:
    """One number for each pair of codes: its place in the table of all pairs, row by row."""
    keys: NDArray[Any] = rows.astype(np.int32 if n_rows * n_columns < 2**31 else np.int64)
    keys *= n_columns
    keys += columns.astype(keys.dtype, copy=False)
    return keys


def _add_up(keys: NDArray[Any], weights: NDArray[Any] | None) -> tuple[IntArray, IntArray]:
    """The distinct keys in ascending order, and the sum of the weights of each.

    Without weights, how often each key occurs. The array `keys` may be overwritten.
    """
    # Equal keys must stand side by side, so sort them if they are not sorted yet.
    if (keys[1:] < keys[:-1]).any():
        bits = 0 if weights is None else int(weights.max(initial=0)).bit_length()
        if weights is None:
            keys.sort()
        elif int(keys.max(initial=0)).bit_length() + bits < 63:
            # The weight goes into the low bits of its key: one sort, faster than argsort.
            keys = (keys.astype(np.int64) << bits) | weights
            keys.sort()
            keys, weights = keys >> bits, keys & ((1 << bits) - 1)
        else:
            order = np.argsort(keys)
            keys, weights = keys[order], weights[order]
    if not len(keys):
        return keys, keys
    # Each run of equal keys is one distinct key.
    starts = starts_of(keys)
    if weights is None:
        return keys[starts], np.diff(starts, append=len(keys))
    return keys[starts], np.add.reduceat(weights, starts).astype(np.int64, copy=False)


def joined(parts: Iterable[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """The arrays of several parts, appended: the first ones of all parts, then the second ones.

    >>> joined([(np.array([1]), np.array([5])), (np.array([2]), np.array([6]))])
    [array([1, 2]), array([5, 6])]
    """
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def row_sums(amounts: IntArray, offsets: IntArray) -> IntArray:
    """Sum of each row of a sparse table; 0 for an empty one.

    The amounts of row r are ``amounts[offsets[r]:offsets[r + 1]]``.
    """
    running = np.concatenate(([0], np.cumsum(amounts, dtype=np.int64)))
    return running[offsets[1:]] - running[offsets[:-1]]


def order_of(codes: NDArray[Any]) -> IntArray:
    """The places of codes from 0 in ascending order; equal codes keep their order."""
    _, rows = sorted_with_rows(codes, copy=True)
    return rows.astype(np.int64, copy=False)


def ranges(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Concatenate the index ranges ``starts[i]:ends[i]``; also where each begins in the result.

    >>> ranges(np.array([5, 0]), np.array([7, 1]))[0]
    array([5, 6, 0])
    """
    lengths = ends - starts
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    index = np.repeat(starts - offsets[:-1], lengths)
    index += np.arange(offsets[-1])
    return index, offsets


def combine(
    columns: list[NDArray[Any]], sizes: list[int]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Number the distinct combinations of values in several columns of codes.

    Parameters
    ----------
    columns : list of integer arrays, shape (rows,)
    sizes : list of int
        How many codes each column has.

    Returns
    -------
    combination_of_row : integer array, shape (rows,)
        A number from 0; combinations in lexicographic order have ascending numbers.
    first_rows : int64 array, shape (combinations,)
        One row that has each combination.
    """
    # The key of a row is one number for its combination. int32 takes half the memory, where all
    # keys and row numbers fit into it.
    is_narrow = prod(sizes) < 2**31 and len(columns[0]) < 2**31
    dtype: type = np.int32 if is_narrow else np.int64
    keys: NDArray[Any] = columns[0].astype(dtype)
    span = sizes[0]
    for codes, size in zip(columns[1:], sizes[1:], strict=True):
        # Keys so far are below `span`. If the next product could overflow, number the keys anew.
        if span * size >= 2**62:
            distinct, keys = np.unique(keys, return_inverse=True)
            span = len(distinct)
        keys *= size
        np.add(keys, codes, out=keys, casting="unsafe")
        span *= size
    # Few possible keys: mark those that occur in a table, without sorting.
    if span <= max(2 * len(keys), DENSE_LIMIT):
        row_of_key: NDArray[Any] = np.full(span, -1, dtype=dtype)
        row_of_key[keys] = np.arange(len(keys), dtype=dtype)
        used_keys = np.flatnonzero(row_of_key >= 0)
        number_of_key = np.empty(span, dtype=np.int64)
        number_of_key[used_keys] = np.arange(len(used_keys))
        return number_of_key[keys], row_of_key[used_keys].astype(np.int64)
    order = np.argsort(keys)  # in any order among equals, which NumPy finds several times as fast
    keys = keys[order]
    differs = np.empty(len(keys), dtype=bool)  # whether a key differs from the one before it
    differs[:1] = False
    np.not_equal(keys[1:], keys[:-1], out=differs[1:])
    first_rows = order[np.concatenate(([True], differs[1:]))]
    # The number of a combination is how many new keys began before; back in the order of rows.
    keys[order] = np.cumsum(differs, dtype=dtype)
    return keys, first_rows


def combine_encoded(
    columns: Iterable[tuple[NDArray[Any], Sized]],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Number the distinct combinations of columns, each given by its codes and their values.

    Returns the number of each row's combination, and one row that has each combination; see
    `combine`.
    """
    column_codes, sizes = [], []
    for codes, values in columns:
        column_codes.append(codes)
        sizes.append(len(values))
    return combine(column_codes, sizes)


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that divide `n` rows into blocks of `size`, small enough for a processor's cache."""
    return (slice(start, start + size) for start in range(0, n, size))


def starts_of(ordered: NDArray[Any]) -> IntArray:
    """The positions where runs of equal keys begin; equal keys must stand side by side."""
    new = np.empty(len(ordered), dtype=bool)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def sorted_with_rows(keys: NDArray[Any], *, copy: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Keys from 0 in ascending order, and the row that each came from.

    Equal keys stay in the order of their rows. Without a `copy`, `keys` may be overwritten.
    """
    n_rows = len(keys)
    row_bits = n_rows.bit_length()
    all_bits = int(keys.max(initial=0)).bit_length() + row_bits
    if all_bits > 62:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    # Key in the upper bits, row in the lower ones: one plain sort orders by key, then by row, and
    # is several times as fast as argsort.
    keys = keys.astype(np.uint32 if all_bits <= 32 else np.int64, copy=copy)
    rows = np.empty(n_rows, dtype=np.uint32 if row_bits <= 32 else np.int64)
    for block in blocks(n_rows):
        keys[block] <<= row_bits
        keys[block] += np.arange(block.start, block.start + len(keys[block]), dtype=keys.dtype)
    keys.sort()
    for block in blocks(n_rows):
        # Take the two parts of each number apart again.
        rows[block] = keys[block] & ((1 << row_bits) - 1)
        keys[block] >>= row_bits
    return keys, rows
