"""Points: the distinct quasi-identifier combinations of a table, and the values found at each.

People with equal quasi-identifiers are never told apart by a partition, so a search works on
points, of which there are often far fewer than rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.engines.columns import Codes, narrowest
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray, combine

_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct combinations, and the sensitive values of the people at each.

    Attributes
    ----------
    codes : list of integer arrays, shape (points,)
        The value of each attribute.
    weights : int64 array, shape (points,)
        How many people are at each point.
    occurrences : int64 array, shape (points,)
        How many values they have; the same as `weights` under ``single``.
    values : unsigned integer array, shape (occurrences,)
        Sensitive codes, grouped by point.
    """

    codes: list[NDArray[Any]]
    weights: IntArray
    occurrences: IntArray
    values: Codes
    _keys: NDArray[Any]
    _columns: Sequence[NDArray[Any]]
    _sizes: Sequence[int]

    @classmethod
    def of(cls, microdata: Microdata) -> Points:
        """Find the points of a table. O(rows log rows); memory of one key per row."""
        columns = [attribute.codes for attribute in microdata.attributes]
        sizes = [len(attribute.domain) for attribute in microdata.attributes]
        original = columns
        first: IntArray | None = None
        if math.prod(sizes) * len(microdata.values) >= 2**62:
            joint, first = combine(columns, sizes)
            columns, sizes = [joint], [len(first)]
        if microdata.schema.semantics == "single":
            found, weights, values = _single(columns, sizes, microdata)
            occurrences = weights
        else:
            found, weights, occurrences, values = _several(columns, sizes, microdata)
        if first is not None:
            codes = [column[first] for column in original]
        else:
            codes = _decode(found, sizes, [column.dtype for column in columns])
        return cls(codes, weights, occurrences, values, found, columns, sizes)

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def offsets(self) -> IntArray:
        """The values at point p are ``offsets[p]:offsets[p + 1]`` of `values`."""
        return np.concatenate(([0], np.cumsum(self.occurrences)))

    def spread(self, of_point: IntArray) -> IntArray:
        """Give each person, in the table's order, what belongs to their point."""
        found = self._keys
        n_people = len(self._columns[0])
        span = math.prod(self._sizes)
        table: NDArray[Any] | None = None
        if span <= 4 * n_people:
            table = np.empty(span, dtype=of_point.dtype)
            table[found] = of_point
        result = np.empty(n_people, dtype=of_point.dtype)
        for start in range(0, n_people, _BLOCK):
            block = slice(start, start + _BLOCK)
            keys = _keys([column[block] for column in self._columns], self._sizes)
            result[block] = of_point[np.searchsorted(found, keys)] if table is None else table[keys]
        return result


def _single(
    columns: Sequence[NDArray[Any]], sizes: Sequence[int], microdata: Microdata
) -> tuple[NDArray[Any], IntArray, Codes]:
    """Key and people of each point, and the values there: one sort of one key per row."""
    n_values = len(microdata.values)
    keys = _keys([*columns, microdata.sensitive_codes], [*sizes, n_values])
    keys.sort()
    values = np.empty(len(keys), dtype=narrowest(n_values))
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        point = block // n_values
        values[start : start + _BLOCK] = block - point * n_values
        block[:] = point
    new = np.empty(len(keys), dtype=bool)
    new[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    return keys[starts], np.diff(starts, append=len(keys)), values


def _several(
    columns: Sequence[NDArray[Any]], sizes: Sequence[int], microdata: Microdata
) -> tuple[NDArray[Any], IntArray, IntArray, Codes]:
    """Key, people and occurrences of each point, and the values there."""
    found, point, weights = np.unique(
        _keys(columns, sizes), return_inverse=True, return_counts=True
    )
    held, n_values = microdata.holdings, len(microdata.values)
    keys = point[held.people].astype(np.int64)
    occurrences = np.bincount(keys, minlength=len(found))
    keys *= n_values
    keys += held.values
    keys.sort()
    return found, weights, occurrences, (keys % n_values).astype(narrowest(n_values))


def _keys(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> NDArray[Any]:
    """One whole number per row that stands for its combination, in lexicographic order."""
    dtype = np.int32 if math.prod(sizes) < 2**31 else np.int64
    keys: NDArray[Any] = np.array(columns[0], dtype=dtype)
    for codes, size in zip(columns[1:], sizes[1:], strict=True):
        np.multiply(keys, size, out=keys)
        np.add(keys, codes, out=keys, casting="unsafe")
    return keys


def _decode(
    keys: NDArray[Any], sizes: Sequence[int], dtypes: Sequence[np.dtype[Any]]
) -> list[NDArray[Any]]:
    codes: list[NDArray[Any]] = []
    for size, dtype in zip(reversed(sizes), reversed(dtypes), strict=True):
        rest: NDArray[Any] = keys // size
        codes.append((keys - rest * size).astype(dtype))
        keys = rest
    return codes[::-1]
