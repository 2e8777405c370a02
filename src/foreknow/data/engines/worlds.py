"""Tables of possible worlds: the same rows with other sensitive values, and people from texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from foreknow.data.engines.narwhals_table import NarwhalsTable
from foreknow.data.engines.sources import Table
from foreknow.data.sparse import IntArray


def with_column_from(rows: pa.Table, column: str, at: IntArray) -> pa.Table:
    """Give every row the value of `column` that stands in another row; the type stays.

    >>> table = pa.table({"age": [20, 30], "disease": ["flu", "cold"]})
    >>> with_column_from(table, "disease", [1, 0]).to_pydict()
    {'age': [20, 30], 'disease': ['cold', 'flu']}
    """
    place = rows.column_names.index(column)
    return rows.set_column(place, column, rows.column(column).take(pa.array(at)))


def table_of_texts(columns: Mapping[str, Sequence[str | None]], name: str) -> Table:
    """Make a table of texts whose types are found as those of a CSV file are."""
    made: dict[str, Any] = {key: pa.array(texts, pa.string()) for key, texts in columns.items()}
    table = NarwhalsTable(pa.table(made))
    table.name, table.untyped = name, True
    return table
