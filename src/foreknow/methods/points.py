"""Points: the distinct combinations of quasi-identifiers of a table, and the values there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts
from foreknow.data.engines.columns import Codes, narrowest
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray, combine, count_pairs

_BLOCK = 1 << 20  # rows


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct combinations, and the sensitive values of the people at each."""

    codes: list[NDArray[Any]]  # of each attribute, the value at each point
    weights: IntArray  # how many people are at each point
    cells: IntArray  # how many different values they have
    values: Codes  # sensitive codes, in order of point and code
    times: IntArray  # how often each occurs at its point
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
        read = _single if microdata.semantics == "single" else _several
        found, weights, cells, values, times = read(columns, sizes, microdata)
        if first is not None:
            codes = [column[first] for column in original]
        else:
            codes = _decode(found, sizes, [column.dtype for column in columns])
        return cls(codes, weights, cells, values, times, found, columns, sizes)

    def __len__(self) -> int:
        return len(self.weights)

    def counts(self, microdata: Microdata) -> GroupCounts:
        """Count the values of each point, of the same table."""
        return GroupCounts(
            self.weights,
            np.concatenate(([0], np.cumsum(self.cells))),
            self.values.astype(np.int64),
            self.times,
            microdata.values,
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


_Found: TypeAlias = "tuple[NDArray[Any], IntArray, IntArray, Codes, IntArray]"


def _single(columns: Sequence[Codes], sizes: Sequence[int], microdata: Microdata) -> _Found:
    """Key, people and cells of each point; the value and the people of each cell."""
    columns, sizes = [*columns, microdata.sensitive_codes], [*sizes, len(microdata.values)]
    n_values, span, weights = sizes[-1], math.prod(sizes), microdata.times
    if span <= max(len(columns[0]), 1 << 16):
        table = np.zeros(span, dtype=np.int64)
        for block in _blocks(len(columns[0])):
            keys = _keys([column[block] for column in columns], sizes)
            own = None if weights is None else weights[block]
            table += np.bincount(keys, own, minlength=span).astype(np.int64, copy=False)
        cells = np.flatnonzero(table)
        times = table[cells]
    else:
        cells = _keys(columns, sizes)
        if weights is None:
            cells.sort()
            starts = _firsts(cells)
            times = np.diff(starts, append=len(cells))
        else:
            order = np.argsort(cells)
            cells = cells[order]
            starts = _firsts(cells)
            times = np.add.reduceat(weights[order], starts)
        cells = cells[starts]
    return *_points_of(cells, n_values, times), times


def _several(columns: Sequence[NDArray[Any]], sizes: Sequence[int], microdata: Microdata) -> _Found:
    """The same where a person may have several values, or none."""
    found, point, weights = np.unique(
        _keys(columns, sizes), return_inverse=True, return_counts=True
    )
    held, n_values = microdata.holdings, len(microdata.values)
    offsets, values, times = count_pairs(point[held.people], held.values, len(found), n_values)
    return found, weights, np.diff(offsets), values.astype(narrowest(n_values)), times


def _firsts(ordered: NDArray[Any]) -> IntArray:
    """Where runs of equal keys begin."""
    new = np.empty(len(ordered), dtype=bool)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def _points_of(
    cells: NDArray[Any], n_values: int, times: IntArray
) -> tuple[NDArray[Any], IntArray, IntArray, Codes]:
    """Key, people and number of cells of each point, and the value of each cell."""
    values = np.empty(len(cells), dtype=narrowest(n_values))
    points = np.empty_like(cells)
    for block in _blocks(len(cells)):
        points[block] = cells[block] // n_values
        values[block] = cells[block] - points[block] * n_values
    starts = _firsts(points)
    weights = np.add.reduceat(times, starts) if len(starts) else times
    return points[starts], weights, np.diff(starts, append=len(cells)), values


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
