"""Read the columns of a population that the labels of groups are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from foreknow.data.engines.columns import Codes, codes_of, fetch, to_python
from foreknow.data.engines.sources import open_table
from foreknow.errors import DataError, did_you_mean


def read_everybody(source: Any, columns: Sequence[str], name: str) -> list[tuple[Codes, list[Any]]]:
    """By column, the code of everybody and the distinct values; None is the missing one."""
    table = open_table(source)
    for column in columns:
        if column not in table.columns:
            hint = did_you_mean(column, list(table.columns))
            raise DataError(f"the population {name} has no column {column!r}{hint}")
    rows = fetch(table, list(columns))
    if not len(rows):
        raise DataError(f"the population {name} has no rows")
    found = []
    for column in columns:
        codes, distinct = codes_of(rows.column(column))
        values = list(to_python(column, distinct))
        values += [None] * (int(codes.max()) + 1 - len(values))  # a null has the last code
        found.append((codes, values))
    return found


def texts_of_everybody(columns: Sequence[tuple[str, Codes, Sequence[str | None]]]) -> pa.Table:
    """A table of texts, from the code of everybody and the distinct texts of each column."""
    return pa.table(
        {name: pa.array(texts, pa.string()).take(pa.array(codes)) for name, codes, texts in columns}
    )
