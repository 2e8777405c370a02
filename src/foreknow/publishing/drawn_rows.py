"""Drawn: rows of a release from the counts of its groups; rows of the source are not looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa


class Bag(NamedTuple):
    """The distinct entries of some groups, in order of the groups."""

    columns: pa.Table
    groups: Any  # of each entry, its place in the run
    times: Any  # how many rows each is


class Run(NamedTuple):
    """Groups in order: what all rows of each have, and what is drawn at random among them."""

    labels: pa.Table
    people: Any  # rows of each group
    bags: Sequence[Bag]

    def drawn(self, columns: Sequence[str], random: np.random.Generator) -> pa.Table:
        """The rows of a drawn table, with these columns in this order.

        Each group has bags of values (entries, and how often each occurs): everybody gets an entry
        of their group's bag, at random.
        """
        of_row = pa.array(np.repeat(np.arange(len(self.people)), self.people))  # the group of a row
        arrays = dict(zip(self.labels.column_names, self.labels.take(of_row).columns, strict=True))
        for bag in self.bags:
            # All entries in random order; then sorted by group, which keeps this order in a group.
            mixed = random.permutation(
                np.repeat(np.arange(len(bag.times), dtype=np.int32), bag.times)
            )
            mixed = mixed[np.argsort(bag.groups[mixed], kind="stable")]
            for name in bag.columns.column_names:
                arrays[name] = bag.columns.column(name).take(pa.array(mixed))
        return pa.table({name: arrays[name] for name in columns})


class Drawing(NamedTuple):
    """A table that is to be drawn, some rows at a time."""

    columns: Sequence[str]
    runs: Iterator[Run]
    random: np.random.Generator
    tally: tuple[pa.Table, Any] | None = None  # its different rows, and how many of each there are

    def tables(self) -> Iterator[pa.Table]:
        """The rows."""
        return (run.drawn(self.columns, self.random) for run in self.runs)
