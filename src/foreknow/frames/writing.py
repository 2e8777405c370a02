"""Write tables: CSV or Parquet, without anything of the input but the columns given."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

_FORMULA = r"^[=+\-@\t\r]"


def write_csv(table: pa.Table, path: Path, *, escape_formulas: bool = False) -> None:
    """Write a CSV file with a header; texts are quoted, nulls are empty.

    Parameters
    ----------
    table : pyarrow.Table
    path : Path
    escape_formulas : bool
        Put an apostrophe before texts that a spreadsheet would run as a formula. It changes the
        values, so it is only done when asked for.
    """
    plain = [_plain(column) for column in table.columns]
    if escape_formulas:
        plain = [
            pc.replace_substring_regex(c, _FORMULA, r"'\0") if pa.types.is_string(c.type) else c
            for c in plain
        ]
    options = pyarrow.csv.WriteOptions(quoting_style="needed")
    pyarrow.csv.write_csv(pa.table(plain, names=table.column_names), path, options)


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a Parquet file; no metadata of the source frame is kept."""
    pq.write_table(table.replace_schema_metadata(None), path, store_schema=False)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
