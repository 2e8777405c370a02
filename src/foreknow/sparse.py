"""Compressed sparse rows in plain NumPy: count pairs, sum rows, concatenate ranges."""

from __future__ import annotations

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

    Dense counting where the whole table is not larger than the pairs themselves, sorting
    otherwise; so memory stays in proportion to the number of pairs.

    Returns
    -------
    offsets, columns, counts : int64 arrays
        As in `GroupCounts`.
    """
    keys = rows.astype(np.int64)
    keys *= n_columns
    keys += columns
    if n_rows * n_columns <= max(2 * len(keys), _DENSE_LIMIT):
        table = np.bincount(keys, weights=weights, minlength=n_rows * n_columns)
        cells = np.flatnonzero(table)
        counts = table[cells].astype(np.int64)
    else:
        cells, counts = _tally(keys, weights)
    row_of = cells // n_columns if n_columns else cells
    offsets = np.searchsorted(row_of, np.arange(n_rows + 1)).astype(np.int64)
    return offsets, cells - row_of * n_columns, counts


def _tally(keys: IntArray, weights: NDArray[Any] | None) -> tuple[IntArray, IntArray]:
    """Distinct keys in order, and how often each occurs; `keys` is consumed."""
    if weights is None:
        keys.sort()
    else:
        order = np.argsort(keys, kind="stable")
        keys, weights = keys[order], weights[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    if weights is None:
        return keys[starts], np.diff(starts, append=len(keys))
    return keys[starts], np.add.reduceat(weights, starts).astype(np.int64)


def row_sums(amounts: IntArray, offsets: IntArray) -> IntArray:
    """Sum of each compressed row; 0 for an empty one."""
    running = np.concatenate(([0], np.cumsum(amounts, dtype=np.int64)))
    return running[offsets[1:]] - running[offsets[:-1]]


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
