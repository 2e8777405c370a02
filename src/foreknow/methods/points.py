"""Points: the distinct combinations of quasi-identifiers of a table, and the values there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts
from foreknow.data.engines.columns import Codes, narrowest
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray, combine

_BLOCK = 1 << 20  # rows


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
        Sensitive codes, in order of point and code.
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
        """Find the points of a table, in lexicographic order; memory of one key per row."""
        columns = [attribute.codes for attribute in microdata.attributes]
        sizes = [len(attribute.domain) for attribute in microdata.attributes]
        original = columns
        first: IntArray | None = None
        if math.prod(sizes) * len(microdata.values) >= 2**62:
            joint, first = combine(columns, sizes)
            columns, sizes = [joint], [len(first)]
        if microdata.semantics == "single":
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

    def counts(self, microdata: Microdata) -> GroupCounts:
        """Count the values of each point, of the same table."""
        offsets, labels = self.offsets, microdata.values
        new = np.ones(len(self.values), dtype=bool)
        new[1:] = self.values[1:] != self.values[:-1]
        new[offsets[offsets < len(new)]] = True
        cells = np.flatnonzero(new)
        return GroupCounts(
            self.weights,
            np.searchsorted(cells, offsets),
            self.values[cells].astype(np.int64),
            np.diff(cells, append=len(new)),
            labels,
            None,
            microdata.semantics,
        )

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
        for block in _blocks(n_people):
            keys = _keys([column[block] for column in self._columns], self._sizes)
            result[block] = of_point[np.searchsorted(found, keys)] if table is None else table[keys]
        return result


def _single(
    columns: Sequence[Codes], sizes: Sequence[int], microdata: Microdata
) -> tuple[NDArray[Any], IntArray, Codes]:
    """Key and people of each point, and the values there."""
    columns, sizes = [*columns, microdata.sensitive_codes], [*sizes, len(microdata.values)]
    n_values, span = sizes[-1], math.prod(sizes)
    if span <= max(len(columns[0]), 1 << 16):
        table = np.zeros(span, dtype=np.int64)
        for block in _blocks(len(columns[0])):
            keys = _keys([column[block] for column in columns], sizes)
            table += np.bincount(keys, minlength=span)
        cells = np.flatnonzero(table)
        values = np.repeat((cells % n_values).astype(narrowest(n_values)), table[cells])
        weights = table.reshape(-1, n_values).sum(axis=1)
        points = np.flatnonzero(weights)
        return points, weights[points], values
    keys = _keys(columns, sizes)
    keys.sort()
    values = np.empty(len(keys), dtype=narrowest(n_values))
    for block in _blocks(len(keys)):
        point = keys[block] // n_values
        values[block] = keys[block] - point * n_values
        keys[block] = point
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


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, n, _BLOCK))


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
