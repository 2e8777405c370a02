"""The columns of a table and nothing else, as they are written, and as frames."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.tables.columns import plain
from foreknow.errors import did_you_mean
from foreknow_judge.errors import InputError


def simple(table: pa.Table) -> list[pa.ChunkedArray]:
    """The columns of a table as a file has them: plain, and as values instead of codes."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = plain(name, column)
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        if pa.types.is_large_string(array.type):
            array = array.cast(pa.string())
        columns.append(array)
    return columns


def bare(table: pa.Table) -> pa.Table:
    """The columns of a table and nothing else.

    Dictionaries are undone: they would tell of values that are not published, and of the order of
    rows before.
    """
    return pa.table(simple(table), names=table.column_names)


def as_texts(table: pa.Table, columns: Collection[str]) -> pa.Table:
    """A table with some columns as the texts that `write_csv` makes of them."""
    for name in columns:
        if name in table.column_names:
            (column,) = simple(table.select([name]))
            plain_text = column if pa.types.is_null(column.type) else column.cast(pa.string())
            table = table.set_column(table.column_names.index(name), name, plain_text)
    return table


def with_commas(table: pa.Table, columns: Collection[str]) -> pa.Table:
    """A table with commas and points exchanged in the numbers of some columns.

    Doing it twice gives the table as it was.
    """
    for name in set(columns) & set(table.column_names):
        (texts,) = as_texts(table.select([name]), [name]).columns
        # The null character keeps the place of points, so that the two do not mix.
        for old, new in ((".", "\0"), (",", "."), ("\0", ",")):
            texts = pc.replace_substring(texts, old, new)
        table = table.set_column(table.column_names.index(name), name, texts)
    return table


def frame_of(table: pa.Table | list[dict[str, Any]], library: str) -> Any:
    """A table of Arrow, or rows given as mappings, as a frame of "pandas", "polars" or "arrow".

    Raises `InputError` for another library, or for one that is not installed.
    """
    rows = table if isinstance(table, pa.Table) else _table_of_mappings(table)
    if library in ("arrow", "pyarrow"):
        return rows
    if library not in ("pandas", "polars"):
        libraries = "pandas", "polars", "arrow"
        raise InputError(f"there is no library {library!r}{did_you_mean(str(library), libraries)}")
    try:
        module = import_module(library)
    except ImportError:
        raise InputError(
            f'{library} is not installed: pip install {library}, or ask for "arrow"'
        ) from None
    return rows.to_pandas() if library == "pandas" else module.from_arrow(rows)


def _table_of_mappings(rows: list[dict[str, Any]]) -> pa.Table:
    """A table with a column for each key of any row; null where a row lacks the key."""
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    columns = {}
    for name in names:
        columns[name] = [row.get(name) for row in rows]
    return pa.table(columns)
