"""Arrays: their types, and counting in plain NumPy: pairs, rows, ranges, combinations of codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    """Count equal (row, column) pairs into compressed sparse rows.

    Dense counting where the whole table is not much larger than the pairs themselves; sorting
    otherwise. So memory stays in proportion to the number of pairs.
    """
    cells_in_all, n_pairs = n_rows * n_columns, len(rows)
    largest_table = max(n_pairs // 4, min(2 * n_pairs, _TABLE)) if weights is None else 4 * n_pairs
    if cells_in_all <= max(largest_table, DENSE_LIMIT):
        table = np.zeros(cells_in_all, dtype=np.int64)
        for block in blocks(n_pairs, max(BLOCK, cells_in_all)):
            keys = _pair_keys(rows[block], columns[block], n_rows, n_columns)
            block_weights = None if weights is None else weights[block]
            counted = np.bincount(keys, block_weights, minlength=cells_in_all)
            table += counted.astype(np.int64, copy=False)
        cells = np.flatnonzero(table > 0)  # of truths: much faster than of numbers
        counts = table[cells]
    else:
        cells, counts = _tally(_pair_keys(rows, columns, n_rows, n_columns), weights)
    cells, counts = (part.astype(np.int64, copy=False) for part in (cells, counts))
    row_of = cells // n_columns if n_columns else cells
    offsets = np.concatenate(([0], np.cumsum(np.bincount(row_of, minlength=n_rows))))
    return offsets, cells - row_of * n_columns, counts


def _pair_keys(
    rows: NDArray[Any], columns: NDArray[Any], n_rows: int, n_columns: int
) -> NDArray[Any]:
    """Each pair as one number."""
    keys: NDArray[Any] = rows.astype(np.int32 if n_rows * n_columns < 2**31 else np.int64)
    keys *= n_columns
    keys += columns.astype(keys.dtype, copy=False)
    return keys


def _tally(keys: NDArray[Any], weights: NDArray[Any] | None) -> tuple[IntArray, IntArray]:
    """Distinct keys in order, and how often each occurs; `keys` is consumed."""
    if (keys[1:] < keys[:-1]).any():
        bits = 0 if weights is None else int(weights.max(initial=0)).bit_length()
        if weights is None:
            keys.sort()
        elif int(keys.max(initial=0)).bit_length() + bits < 63:  # argsort takes longer
            keys = (keys.astype(np.int64) << bits) | weights
            keys.sort()
            keys, weights = keys >> bits, keys & ((1 << bits) - 1)
        else:
            order = np.argsort(keys)
            keys, weights = keys[order], weights[order]
    if not len(keys):
        return keys, keys
    starts = starts_of(keys)
    if weights is None:
        return keys[starts], np.diff(starts, append=len(keys))
    return keys[starts], np.add.reduceat(weights, starts).astype(np.int64, copy=False)


def joined(parts: Iterable[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """Append arrays place by place: the first ones of all parts, the second ones, and so on.

    >>> joined([(np.array([1]), np.array([5])), (np.array([2]), np.array([6]))])
    [array([1, 2]), array([5, 6])]
    """
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def row_sums(amounts: IntArray, offsets: IntArray) -> IntArray:
    """Sum of each compressed row; 0 for an empty one."""
    running = np.concatenate(([0], np.cumsum(amounts, dtype=np.int64)))
    return running[offsets[1:]] - running[offsets[:-1]]


def order_of(codes: NDArray[Any]) -> IntArray:
    """The order of codes from 0; equal ones stay in theirs."""
    return sorted_with_rows(codes, copy=True)[1].astype(np.int64, copy=False)


def ranges(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Concatenate the index ranges ``starts[i]:ends[i]``; also their offsets in the result.

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
    """Number the distinct combinations of several columns of codes."""
    # Half the memory where it will do.
    narrow = prod(sizes) < 2**31 and len(columns[0]) < 2**31
    dtype: type = np.int32 if narrow else np.int64
    keys: NDArray[Any] = columns[0].astype(dtype)
    span = sizes[0]
    for codes, size in zip(columns[1:], sizes[1:], strict=True):
        if span * size >= 2**62:
            distinct, keys = np.unique(keys, return_inverse=True)
            span = len(distinct)
        keys *= size
        np.add(keys, codes, out=keys, casting="unsafe")
        span *= size
    if span <= max(2 * len(keys), DENSE_LIMIT):
        row_of: NDArray[Any] = np.full(span, -1, dtype=dtype)
        row_of[keys] = np.arange(len(keys), dtype=dtype)
        present = np.flatnonzero(row_of >= 0)
        place = np.empty(span, dtype=np.int64)
        place[present] = np.arange(len(present))
        return place[keys], row_of[present].astype(np.int64)
    order = np.argsort(keys)  # in any order among equals, which NumPy finds several times as fast
    keys = keys[order]
    new = np.empty(len(keys), dtype=bool)
    new[:1] = False
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    first = order[np.concatenate(([True], new[1:]))]
    keys[order] = np.cumsum(new, dtype=dtype)
    return keys, first


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Runs of rows, few enough to stay near at hand while something is done to them."""
    return (slice(start, start + size) for start in range(0, n, size))


def starts_of(ordered: NDArray[Any]) -> IntArray:
    """Where runs of equal keys begin."""
    new = np.empty(len(ordered), dtype=bool)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def sorted_with_rows(keys: NDArray[Any], *, copy: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Keys from 0 in order, and the row of each; without a `copy`, `keys` may be consumed."""
    n_rows = len(keys)
    bits = n_rows.bit_length()
    width = int(keys.max(initial=0)).bit_length() + bits
    if width > 62:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    # Rows in the lower bits: several times as fast as to sort what points to them.
    keys = keys.astype(np.uint32 if width <= 32 else np.int64, copy=copy)
    rows = np.empty(n_rows, dtype=np.uint32 if bits <= 32 else np.int64)
    for block in blocks(n_rows):
        keys[block] <<= bits
        keys[block] += np.arange(block.start, block.start + len(keys[block]), dtype=keys.dtype)
    keys.sort()
    for block in blocks(n_rows):
        rows[block] = keys[block] & ((1 << bits) - 1)
        keys[block] >>= bits
    return keys, rows
