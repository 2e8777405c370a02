"""Sparse counting in plain NumPy: pairs, rows, ranges, combinations of codes."""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]

_DENSE_LIMIT = 1 << 16


def count_pairs(
    rows: NDArray[Any],
    columns: NDArray[Any],
    n_rows: int,
    n_columns: int,
    weights: NDArray[Any] | None = None,
) -> tuple[IntArray, IntArray, IntArray]:
    """Count equal (row, column) pairs into compressed sparse rows.

    Dense counting where the whole table is far smaller than the pairs themselves, or not much
    larger and there are weights; sorting otherwise, which is as fast for keys of 32 bits. So memory
    stays in proportion to the number of pairs.
    """
    cells_in_all = n_rows * n_columns
    small = weights is None and cells_in_all < 2**31
    keys: NDArray[Any] = rows.astype(np.int32 if small else np.int64)
    keys *= n_columns
    keys += columns.astype(keys.dtype, copy=False)
    most = len(keys) // 4 if weights is None else 4 * len(keys)
    if cells_in_all <= max(most, _DENSE_LIMIT):
        table = np.bincount(keys, weights=weights, minlength=n_rows * n_columns)
        cells = np.flatnonzero(table > 0)  # of truths: much faster than of floats
        counts = table[cells].astype(np.int64)
    else:
        cells, counts = _tally(keys, weights)
    cells, counts = (part.astype(np.int64, copy=False) for part in (cells, counts))
    row_of = cells // n_columns if n_columns else cells
    offsets = np.concatenate(([0], np.cumsum(np.bincount(row_of, minlength=n_rows))))
    return offsets, cells - row_of * n_columns, counts


def _tally(keys: NDArray[Any], weights: NDArray[Any] | None) -> tuple[IntArray, IntArray]:
    """Distinct keys in order, and how often each occurs; `keys` is consumed."""
    if weights is None:
        keys.sort()
    else:
        order = np.argsort(keys)
        keys, weights = keys[order], weights[order]
    if not len(keys):
        return keys, keys
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    if weights is None:
        return keys[starts], np.diff(starts, append=len(keys))
    return keys[starts], np.add.reduceat(weights, starts).astype(np.int64)


def row_sums(amounts: IntArray, offsets: IntArray) -> IntArray:
    """Sum of each compressed row; 0 for an empty one."""
    running = np.concatenate(([0], np.cumsum(amounts, dtype=np.int64)))
    return running[offsets[1:]] - running[offsets[:-1]]


def order_of(codes: IntArray) -> IntArray:
    """The order of codes; 16 bits of them at a time, which NumPy sorts in linear time."""
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    for shift in range(16, int(codes.max(initial=0)).bit_length(), 16):
        high = (codes[order] >> shift).astype(np.uint16)
        order = order[np.argsort(high, kind="stable")]
    return order


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
    kept: type = np.int32 if narrow else np.int64
    keys: NDArray[Any] = columns[0].astype(kept)
    span = sizes[0]
    for codes, size in zip(columns[1:], sizes[1:], strict=True):
        if span * size >= 2**62:
            distinct, keys = np.unique(keys, return_inverse=True)
            span = len(distinct)
        keys *= size
        np.add(keys, codes, out=keys, casting="unsafe")
        span *= size
    if span <= max(2 * len(keys), _DENSE_LIMIT):
        row_of: NDArray[Any] = np.full(span, -1, dtype=kept)
        row_of[keys] = np.arange(len(keys), dtype=kept)
        present = np.flatnonzero(row_of >= 0)
        place = np.empty(span, dtype=np.int64)
        place[present] = np.arange(len(present))
        return place[keys], row_of[present].astype(np.int64)
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    return codes, first


def distinct(keys: IntArray) -> tuple[IntArray, IntArray]:
    """The first place of each distinct key, ascending by key, and which of them each place has.

    Small keys are looked up in a table, which takes no sorting.

    >>> [each.tolist() for each in distinct(np.array([7, 3, 7, 3]))]
    [[1, 0], [1, 0, 1, 0]]
    """
    most = int(keys.max(initial=-1)) + 1
    if most > max(4 * len(keys), 1 << 20):
        _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        return first, kind.reshape(-1)
    place = np.full(most, -1, dtype=np.int64)
    place[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # what is written last stays
    present = np.flatnonzero(place >= 0)
    first = place[present]
    place[present] = np.arange(len(present))
    return first, place[keys]
