"""A table of a file as a frame, in which codes keep the zeros that they begin with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from foreknow.call_hints import hinted
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.views.plain_columns import bare, frame_of


@hinted
def read_table(
    path: str | Path,
    library: str = "pandas",
    *,
    reading: Reading | Mapping[str, str] | None = None,
) -> Any:
    """Read a file as a frame in which codes keep their leading zeros.

    You rarely need this: every function that takes a table also takes its path.

    Parameters
    ----------
    path : path
        A file that `audit` takes: CSV, Parquet, a workbook, SQLite, DuckDB, SPSS, ...
    library : {"pandas", "polars", "arrow"}
        The library of the frame.
    reading : Reading or mapping of its parts, optional
        The format of a CSV file.

    Examples
    --------
    >>> from foreknow import sample
    >>> table = read_table(sample.table_path(), "arrow").select(["age", "zip"])
    >>> [str(kind) for kind in table.schema.types], table["zip"][1].as_py()
    (['int64', 'string'], '02149')
    """
    source = open_table(path, None if reading is None else Reading.of(reading))
    table = bare(source.arrow(list(source.columns)))
    # A file of texts does not say which columns hold numbers.
    columns = [_as_numbers(table.column(name)) for name in table.column_names]
    return frame_of(pa.table(dict(zip(table.column_names, columns, strict=True))), library)


def _as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as numbers, if all are numbers; else unchanged.

    It stays as it is, too, if one begins with a zero, as codes do. Whole numbers must be written as
    they print, so that +7 stays a text.
    """
    if not pa.types.is_string(column.type):
        return column
    try:
        integers = column.cast(pa.int64())
        return integers if integers.cast(pa.string()).equals(column) else column
    except pa.ArrowInvalid:
        pass
    # Codes, such as 007, must keep their zeros: then the whole column stays text.
    texts = [text for text in column.unique().to_pylist() if text]
    if any(text[0] == "0" and text[1:2].isdigit() for text in texts):
        return column
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        return column
