"""Answers to many count queries at once, from the table and from either form of release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray, combine, count_pairs
from foreknow.utility.label_spans import Covers
from foreknow.utility.queries import Queries

FloatArray = NDArray[np.float64]

# How many cells, and how many queries, are worked on at once: they stay in the cache.
_BLOCK, _QUERIES = 1024, 256


@dataclass(frozen=True, eq=False)
class Boxes:
    """A generalized release: what the groups cover, and how often each has each value.

    Attributes
    ----------
    covers : list of Covers
        One per attribute that is asked about.
    counts : GroupCounts
        Its values are those of the queries, by the same codes.
    """

    covers: list[Covers]
    counts: GroupCounts

    def answers(self, queries: Queries) -> FloatArray:
        """As if everybody in a group were equally likely to be anywhere in its box."""
        # Groups that cover the same are one box.
        labels = [cover.of_group for cover in self.covers]
        sizes = [len(cover) for cover in self.covers]
        box, first = combine(labels, sizes)
        counts = self.counts
        of_cell = np.repeat(box, np.diff(counts.offsets))
        offsets, values, weights = count_pairs(
            of_cell, counts.codes, len(first), counts.n_values, counts.counts
        )
        of_cell = np.repeat(np.arange(len(first)), np.diff(offsets))
        codes = [*(label[first][of_cell] for label in labels), values]

        def part(chosen: slice) -> FloatArray:
            shares = [
                cover.shares(asked[:, chosen])
                for cover, asked in zip(self.covers, queries.asked, strict=True)
            ]
            wanted = queries.values[:, chosen].astype(np.float64)
            return _weighed(codes, [*shares, wanted], weights)

        return _in_parts(part, len(queries))


@dataclass(frozen=True, eq=False)
class Buckets:
    """A bucketized release: who is in each group, and how often each has each value.

    Attributes
    ----------
    of_cell : int64 array, shape (cells,)
        The group of people with the same values of all attributes; in order.
    codes : list of int64 arrays, shape (cells,)
        Their value of each attribute that is asked about.
    people : int64 array, shape (cells,)
        How many they are.
    counts : GroupCounts
        As in `Boxes`.
    """

    of_cell: IntArray
    codes: list[IntArray]
    people: IntArray
    counts: GroupCounts

    def answers(self, queries: Queries) -> FloatArray:
        """As if everybody in a group were equally likely to have each value of its bag."""

        def part(chosen: slice) -> FloatArray:
            asked = [wanted[:, chosen] for wanted in queries.asked]
            wanted = queries.values[:, chosen].astype(np.float64)
            total = np.zeros(wanted.shape[1])
            for start in range(0, len(self.of_cell), _BLOCK):
                block = slice(start, start + _BLOCK)
                groups = self.of_cell[block]
                shares = self._shares(int(groups[0]), int(groups[-1]) + 1, wanted)
                found = shares[groups - groups[0]]
                found *= self.people[block, None]
                total += np.einsum("eq,eq->q", found, _matches(self.codes, asked, block))
            return total

        return _in_parts(part, len(queries))

    def _shares(self, first: int, end: int, wanted: FloatArray) -> FloatArray:
        """Occurrences of wanted values per person, of some groups in a row."""
        counts = self.counts
        offsets = counts.offsets[first : end + 1]
        cells = slice(int(offsets[0]), int(offsets[-1]))
        found = wanted[counts.codes[cells]]
        found *= counts.counts[cells, None]
        shares = np.zeros((end - first, wanted.shape[1]))
        some = np.diff(offsets) > 0
        if some.any():
            shares[some] = np.add.reduceat(found, offsets[:-1][some] - offsets[0], axis=0)
        shares /= counts.sizes[first:end, None]
        return shares


def true_answers(microdata: Microdata, queries: Queries) -> FloatArray:
    """How many people are asked for; where they may have several values, how many of these."""
    held = microdata.holdings
    several = microdata.schema.semantics != "single"
    columns: list[NDArray[Any]] = [
        attribute.codes[held.people] if several else attribute.codes
        for attribute in queries.attributes
    ]
    columns.append(held.values)
    sizes = [len(asked) for asked in [*queries.asked, queries.values]]
    cell, first = combine(columns, sizes)
    weights = np.bincount(cell)
    codes = [column[first] for column in columns]

    def part(chosen: slice) -> FloatArray:
        return _weighed(
            codes, [wanted[:, chosen] for wanted in [*queries.asked, queries.values]], weights
        )

    return _in_parts(part, len(queries))


def _in_parts(part: Any, n_queries: int) -> FloatArray:
    """Answer some queries at a time."""
    starts = range(0, n_queries, _QUERIES)
    return np.concatenate([part(slice(start, start + _QUERIES)) for start in starts])


def _weighed(codes: list[Any], tables: list[Any], weights: IntArray) -> FloatArray:
    """Sum the weights of cells, each times what its codes have in the tables."""
    total = np.zeros(tables[0].shape[1])
    for start in range(0, len(weights), _BLOCK):
        block = slice(start, start + _BLOCK)
        found = _matches(codes, tables, block)
        total += np.einsum("e,eq->q", weights[block].astype(np.float64), found)
    return total


def _matches(codes: list[Any], tables: list[Any], block: slice) -> NDArray[Any]:
    """The product, cell by cell, of what the codes have in the tables; for truths, both."""
    found: NDArray[Any] = tables[0][codes[0][block]]
    for code, table in zip(codes[1:], tables[1:], strict=True):
        found *= table[code[block]]
    return found.astype(np.float64, copy=False)
