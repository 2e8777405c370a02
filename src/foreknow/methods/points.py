"""Points: the distinct combinations of quasi-identifiers of a table, and the values there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, blocks, count_pairs, starts_of
from foreknow.data.counts import GroupCounts
from foreknow.data.keys import RowKeys, nearly_all_differ
from foreknow.data.microdata import Microdata
from foreknow.data.tables.columns import Codes, narrowest


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct combinations, and the sensitive values of the people at each."""

    codes: list[NDArray[Any]]  # of each attribute, the value at each point
    weights: IntArray  # how many people are at each point
    cells: IntArray  # how many different values they have
    values: Codes  # sensitive codes, in order of point and code
    times: IntArray  # how often each occurs at its point
    _spread: Callable[[IntArray], IntArray]

    @classmethod
    def of(cls, microdata: Microdata) -> Points:
        """The points of a table, in lexicographic order of their quasi-identifiers."""
        columns = [attribute.codes for attribute in microdata.attributes]
        sizes = [len(attribute.domain) for attribute in microdata.attributes]
        keys = RowKeys(columns, sizes, room=len(microdata.values))
        return _FINDING[microdata.semantics](keys, microdata)

    @classmethod
    def each(cls, microdata: Microdata) -> Points:
        """A point for each person if nearly all differ; otherwise the same as `of`.

        A point is a combination of quasi-identifiers, with the people who have it. To look for
        equal people costs more than it saves if there are hardly any.
        """
        codes = [attribute.codes for attribute in microdata.attributes]
        has_one_row_each = microdata.semantics == "single" and microdata.times is None
        if not has_one_row_each or not nearly_all_differ(codes):
            return cls.of(microdata)
        ones = np.broadcast_to(np.int64(1), len(codes[0]))
        return cls(codes, ones, ones, microdata.sensitive_codes, ones, lambda numbers: numbers)

    @property
    def are_people(self) -> bool:
        """True if each is one person, with one value, once."""
        return all(bool((amounts == 1).all()) for amounts in (self.weights, self.cells, self.times))

    def __len__(self) -> int:
        return len(self.weights)

    def counts(self, microdata: Microdata) -> GroupCounts:
        """The values at each point as `GroupCounts`, as if each point were a group."""
        return GroupCounts(
            sizes=self.weights,
            offsets=np.concatenate(([0], np.cumsum(self.cells))),
            codes=self.values.astype(np.int64),
            counts=self.times,
            values=microdata.values,
            groups=None,
            semantics=microdata.semantics,
        )

    def spread(self, of_point: IntArray) -> IntArray:
        """Give each person, in the table's order, what `of_point` says of their point."""
        return self._spread(of_point)


def _single(keys: RowKeys, microdata: Microdata) -> Points:
    """The points of a table in which each person has one value.

    A point is a combination of quasi-identifiers; `keys` has one number per person for it.
    """
    n_values = len(microdata.values)
    # Count pairs of a point and a value; then combine the pairs of each point.
    pair_keys = keys.beside(microdata.sensitive_codes, n_values)
    cells, times = pair_keys.count(microdata.times)
    distinct_keys, weights, n_cells, values = _points_of(cells, n_values, times)

    def spread(numbers: IntArray) -> IntArray:
        """Give each person the entry of their point; `numbers` has one for each point."""
        return pair_keys.spread(np.repeat(numbers, n_cells))

    return Points(keys.codes(distinct_keys), weights, n_cells, values, times, spread)


def _several(keys: RowKeys, microdata: Microdata) -> Points:
    """The points of a table in which a person may have several values, or none.

    A point is a combination of quasi-identifiers; `keys` has one number per person for it.
    """
    distinct_keys, weights = keys.count()
    # The point of each person; then the values at each point are counted.
    point = keys.spread(np.arange(len(distinct_keys)))
    holdings, n_values = microdata.holdings, len(microdata.values)
    offsets, values, times = count_pairs(
        point[holdings.people], holdings.values, len(distinct_keys), n_values
    )
    value_codes = values.astype(narrowest(n_values))
    cells = np.diff(offsets)
    return Points(keys.codes(distinct_keys), weights, cells, value_codes, times, keys.spread)


_FINDING = {"single": _single, "set": _several, "multiset": _several}


def _points_of(
    cells: NDArray[Any], n_values: int, times: IntArray
) -> tuple[NDArray[Any], IntArray, IntArray, Codes]:
    """Combine cells (pairs of a point and a value) into points.

    Returned are the key, the people and the number of cells of each point, and the value of each
    cell. A cell is the number ``point * n_values + value``, in order, and `times` says how many
    people have it.
    """
    values = np.empty(len(cells), dtype=narrowest(n_values))
    points = np.empty_like(cells)
    # In blocks, so that no second array of that length is needed.
    for block in blocks(len(cells)):
        points[block] = cells[block] // n_values
        values[block] = cells[block] - points[block] * n_values
    # Cells are in order of point: a new point begins where the number changes.
    starts = starts_of(points)
    weights = np.add.reduceat(times, starts) if len(starts) else times
    return points[starts], weights, np.diff(starts, append=len(cells)), values
