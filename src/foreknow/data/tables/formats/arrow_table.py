"""Arrow tables, taken as they are: made here, or given by the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from foreknow.data.arrays import IntArray
from foreknow.data.tables.table import Table, check_columns


class ArrowTable(Table):
    """A table of Arrow, which no library of frames is needed for."""

    def __init__(self, rows: pa.Table) -> None:
        self.name = "the pyarrow frame"
        self.rows = rows
        self.columns: list[str] = check_columns(rows.column_names, self.name)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Some columns."""
        return self.rows.select(list(columns))


def with_column_from(rows: pa.Table, column: str, source_rows: IntArray) -> pa.Table:
    """Give every row the value of `column` that stands in another row; the type stays.

    >>> table = pa.table({"age": [20, 30], "disease": ["flu", "cold"]})
    >>> with_column_from(table, "disease", [1, 0]).to_pydict()
    {'age': [20, 30], 'disease': ['cold', 'flu']}
    """
    position = rows.column_names.index(column)
    return rows.set_column(position, column, rows.column(column).take(pa.array(source_rows)))


def table_of_texts(columns: Mapping[str, Sequence[str | None]], name: str) -> Table:
    """Make a table of texts whose types are found as those of a CSV file are."""
    arrays: dict[str, Any] = {key: pa.array(texts, pa.string()) for key, texts in columns.items()}
    table = ArrowTable(pa.table(arrays))
    table.name, table.untyped = name, True
    return table
