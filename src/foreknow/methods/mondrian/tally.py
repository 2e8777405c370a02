"""Tally: the sensitive counts of many proposed groups, handed out a part at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import Labels
from foreknow.data.sparse import IntArray, row_sums


class Tally:
    """Counts of many groups; only those of a part are laid out at once, to spare memory.

    Parameters
    ----------
    labels : Labels
        The sensitive values.
    semantics : {"single", "set", "multiset"}
    people : int64 array, shape (groups,), optional
        People per group; the values of each, under ``single``, when left out.
    offsets, codes, counts : int64 arrays
        As in `GroupCounts`.
    """

    def __init__(
        self,
        labels: Labels,
        semantics: Semantics,
        people: IntArray | None,
        offsets: IntArray,
        codes: IntArray,
        counts: IntArray,
    ) -> None:
        self.labels = labels
        self.semantics = semantics
        self.people = people
        self.offsets = offsets
        self.codes = codes
        self.counts = counts
        self.table: IntArray | None = None

    @classmethod
    def of_table(
        cls, labels: Labels, semantics: Semantics, people: IntArray | None, table: IntArray
    ) -> Tally:
        """Keep a dense table of groups by values as it is."""
        none = np.empty(0, dtype=np.int64)
        offsets = np.arange(len(table) + 1) * table.shape[1]
        tally = cls(labels, semantics, people, offsets, none, none)
        tally.table = table
        return tally

    def cells_before(self, group: Any) -> Any:
        """Cells of the groups before a group."""
        return self.offsets[group]

    def part(self, start: int, stop: int) -> GroupCounts:
        """Counts of a run of groups."""
        if self.table is None:
            cells = slice(self.offsets[start], self.offsets[stop])
            offsets = self.offsets[start : stop + 1] - self.offsets[start]
            codes, counts = self.codes[cells], self.counts[cells]
        else:
            table = self.table[start:stop]
            group, codes = np.nonzero(table)
            counts = table[group, codes]
            offsets = np.searchsorted(group, np.arange(stop - start + 1))
        sizes = row_sums(counts, offsets) if self.people is None else self.people[start:stop]
        return GroupCounts(sizes, offsets, codes, counts, self.labels, None, self.semantics)
