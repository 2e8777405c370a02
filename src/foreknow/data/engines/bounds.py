"""Bounds of what DuckDB does not read: texts of Parquet files, and workbooks."""

from __future__ import annotations

from foreknow_judge.bounds import VALUE_BYTES
from foreknow_judge.errors import DataError

# Excel has 1,048,576 rows; with 47 columns, all filled, a sheet takes 2 GB when it is read.
MOST_CELLS = 50_000_000


def check_text(longest: int | None, what: str) -> None:
    """Raise `DataError` for a text of too many bytes."""
    if longest is not None and longest > VALUE_BYTES:
        raise DataError(
            f"{what} holds a text of {longest:,} bytes, and {VALUE_BYTES:,} are the most; shorten "
            "it, or leave the column out"
        )
