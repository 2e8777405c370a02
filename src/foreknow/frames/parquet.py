"""Parquet files and folders: fetched as dictionary codes, counted in DuckDB when too large."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from foreknow.errors import DataError
from foreknow.frames.sources import check_columns

# Up to here two columns of codes fit the memory of a small machine, and counting them is faster
# than a GROUP BY.
_ROWS_IN_MEMORY = 150_000_000


class ParquetTable:
    """One Parquet file, or all of a folder as one table."""

    untyped = False

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not self.files:
            raise DataError(f"the folder {str(path)!r} holds no .parquet file")
        self._schema = self._read(lambda: pq.read_schema(self.files[0]))
        self.columns: list[str] = check_columns(self._schema.names, self.name)

    @cached_property
    def _rows(self) -> int:
        return sum(self._read(lambda f=f: pq.read_metadata(f).num_rows) for f in self.files)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns; texts come dictionary-encoded."""
        names = list(columns)
        texts = [c for c in names if _is_text(self._schema.field(c).type)]

        def read() -> pa.Table:
            parts = [
                pq.ParquetFile(file, read_dictionary=texts).read(columns=names).select(names)
                for file in self.files
            ]
            return pa.concat_tables(parts).unify_dictionaries()

        return self._read(read)

    def tally(self, columns: Sequence[str]) -> pa.Table | None:
        """Count in DuckDB where the rows are too many to hold."""
        if self._rows <= _ROWS_IN_MEMORY:
            return None
        from foreknow.frames.duck import DuckTable

        return DuckTable.of_parquet(self.files, self.name).tally(columns)

    def _read(self, step: Any) -> Any:
        try:
            return step()
        except (pa.ArrowException, OSError, KeyError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(f"{self.name} cannot be read as Parquet: {first}") from None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
