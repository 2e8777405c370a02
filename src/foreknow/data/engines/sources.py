"""Open whatever holds a table: a file, a folder of Parquet files, a frame of some library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foreknow.data.engines.table import Table
from foreknow.errors import DataError


def open_table(source: Any) -> Table:
    """Open a table of any supported kind."""
    if hasattr(type(source), "tally"):  # it is one, of ours or of another engine
        table: Table = source
        return table
    if isinstance(source, (str, Path)):
        return _open_path(Path(source))
    if type(source).__module__.split(".")[0] in {"duckdb", "_duckdb"}:
        from foreknow.data.engines.duckdb_table import DuckTable

        return DuckTable.of_relation(source)
    from foreknow.data.engines.narwhals_table import NarwhalsTable

    return NarwhalsTable(source)


def _open_path(path: Path) -> Table:
    try:
        exists = path.exists()
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be opened: {error.strerror}") from None
    if not exists:
        raise DataError(f"there is no file or folder {str(path)!r}")
    name = path.name.lower()
    if path.is_dir() or name.endswith((".parquet", ".pq")):
        from foreknow.data.engines.parquet_table import ParquetTable

        return ParquetTable(path)
    if name.removesuffix(".gz").endswith((".csv", ".tsv", ".txt")):
        from foreknow.data.engines.duckdb_table import DuckTable

        return DuckTable.of_csv(path)
    raise DataError(
        f"{str(path)!r} is neither CSV (.csv, .tsv, .txt) nor Parquet (.parquet, or a folder)"
    )
