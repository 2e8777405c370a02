"""Snapshot: columns of a table that were read once, for sources that have no order of rows.

A query of a database or a lazy frame may give its rows in another order each time. What is put
together by position must come from one read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from foreknow.data.engines.sources import Table, require
from foreknow.errors import DataError


class Snapshot:
    """A table of which some columns are read once, on first use; others can only be counted."""

    settled = True

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self.name = table.name
        self.columns = table.columns
        self.untyped = table.untyped
        self._table = table
        self._held = list(dict.fromkeys(columns))

    @cached_property
    def _rows(self) -> pa.Table:
        require(self._table, self._held)
        return self._table.arrow(self._held)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Give columns that were read."""
        for column in columns:
            if column not in self._held:
                raise DataError(
                    f"{self.name} has no order of rows, so column {column!r} cannot be read once "
                    "more beside the others; collect it into a frame first, such as "
                    ".to_arrow_table() or .collect()"
                )
        return self._rows.select(list(columns))

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any] | None:
        """Count equal rows: of the columns that were read here, else where the data lives."""
        return None if set(columns) <= set(self._held) else self._table.tally(columns)


def settled(table: Table, columns: Sequence[str]) -> Table:
    """Return the table itself if each read gives one order of rows, else a snapshot of it."""
    return table if table.settled else Snapshot(table, columns)
