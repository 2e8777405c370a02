"""Open whatever holds a table: a file, a folder of Parquet files, a frame of some library."""

from __future__ import annotations

import weakref
from collections.abc import Collection
from pathlib import Path
from typing import Any

from foreknow.data.address import spoken
from foreknow.data.engines.spelled import Spelled
from foreknow.data.engines.table import Table
from foreknow.data.reading import STDIN, Reading, is_address, named_part, to_add
from foreknow.errors import DataError

_CSV = (".csv", ".tsv", ".txt")
_DATABASES = (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db", ".db3")
_WORKBOOKS = (".xlsx", ".xlsm")
_TO_SAVE = {
    **dict.fromkeys((".xls", ".xlsb", ".ods"), "; save it as .xlsx or CSV"),
    **dict.fromkeys((".zip", ".7z", ".bz2", ".zst"), "; unpack it"),
    **dict.fromkeys((".json", ".jsonl", ".feather", ".arrow"), "; give a frame of it, in Python"),
}


def open_table(
    source: Any, reading: Reading | None = None, only: Collection[str | None] | None = None
) -> Table:
    """Open a table of any supported kind; `reading` says what a file leaves open.

    Its spellings of what is missing count in all columns, or in `only` some.
    """
    opened = _opened(source, reading)
    if reading is None or not reading.missing or isinstance(opened, Spelled):
        return opened
    return Spelled(opened, reading.missing, only)


def _opened(source: Any, reading: Reading | None) -> Table:
    if hasattr(type(source), "tally"):  # it is one, of ours or of another engine
        table: Table = source
        return table
    if isinstance(source, (str, Path)):
        if is_address(source):
            from foreknow.data.engines.database import DatabaseTable

            return DatabaseTable(source)
        return _open_path(Path(source), reading or Reading())
    if type(source).__module__.split(".")[0] in {"duckdb", "_duckdb"}:
        from foreknow.data.engines.duckdb_table import DuckTable

        return DuckTable.of_relation(source)
    if type(source).__module__.startswith("pyspark.sql.") and hasattr(source, "toArrow"):
        from foreknow.data.engines.spark_table import SparkTable

        return SparkTable(source)
    from foreknow.data.engines.narwhals_table import NarwhalsTable

    return NarwhalsTable(source)


def _open_path(given: Path, reading: Reading) -> Table:
    try:
        path, key, part = named_part(given)
        standard = str(path) == STDIN
        if standard or path.is_fifo():  # such as of <(command)
            from foreknow.data.engines.spool import from_pipe

            name = "standard input" if standard else path.name
            path = from_pipe(None if standard else path, name)
            try:
                opened = _open_file(path, name, key, part, reading)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
            weakref.finalize(opened, path.unlink, missing_ok=True)
            return opened
        exists = path.exists()
    except OSError as error:
        raise DataError(f"{spoken(given)!r} cannot be opened: {error.strerror}") from None
    if not exists:
        raise DataError(f"there is no file or folder {spoken(path)!r}")
    return _open_file(path, path.name, key, part, reading)


def _open_file(path: Path, name: str, key: str | None, part: str, reading: Reading) -> Table:
    ending = path.suffix.lower()
    wanted = part if key == {_DATABASES: "table", _WORKBOOKS: "sheet"}.get(_kind(ending)) else None
    if key is not None and wanted is None:
        raise DataError(
            f"{name}?{key}={part}: databases have ?table=, workbooks ?sheet=, others neither"
        )
    if path.is_dir() or ending in (".parquet", ".pq"):
        from foreknow.data.engines.parquet_table import ParquetTable

        table = ParquetTable(path)
        table.name = name
        return table
    if path.name.lower().removesuffix(".gz").endswith(_CSV):
        return _open_csv(path, name, reading)
    if ending in _DATABASES:
        return _open_database(path, name, wanted, reading)
    from foreknow.data.engines import file_table

    if ending in _WORKBOOKS:
        return file_table.of_workbook(path, name, wanted)
    if ending in file_table.STATISTICS:
        return file_table.of_statistics(path, name, reading)
    raise DataError(
        f"{spoken(path)!r} is neither CSV (.csv, .tsv, .txt) nor Parquet (.parquet, or a folder), "
        "nor a workbook (.xlsx), a database (.duckdb, .sqlite) or a file of SPSS, Stata or SAS "
        f"(.sav, .dta, .sas7bdat, .xpt){_TO_SAVE.get(ending, '')}"
    )


def _kind(ending: str) -> tuple[str, ...]:
    return next((kind for kind in (_DATABASES, _WORKBOOKS) if ending in kind), ())


def _open_csv(path: Path, name: str, reading: Reading) -> Table:
    from foreknow.data.engines.duckdb_table import DuckTable
    from foreknow.data.engines.spool import as_utf8
    from foreknow.engine import CsvFile

    readable = as_utf8(path, name, reading)
    try:
        table = DuckTable.of_csv(readable, name, reading.delimiter)
        if reading.delimiter is not None and len(table.columns) == 1:
            other = CsvFile(readable, name=name)
            if len(other.header) > 1:
                better = other.delimiter.replace("\t", "tab")
                raise DataError(
                    f"{name} has one column with the delimiter {reading.delimiter!r}, and "
                    f"{len(other.header)} with {better!r}; {to_add('delimiter', better)}"
                )
    except BaseException:
        if readable != path:
            readable.unlink(missing_ok=True)
        raise
    if readable != path:
        weakref.finalize(table, readable.unlink, missing_ok=True)
    return table


def _open_database(path: Path, name: str, part: str | None, reading: Reading) -> Table:
    from foreknow.data.engines.file_table import of_sqlite
    from foreknow.data.engines.spool import content_of

    with path.open("rb") as file:
        found = content_of(file.read(16))
    if found is not None and found[1] == ".duckdb":
        from foreknow.data.engines.duckdb_table import DuckTable

        return DuckTable.of_database(path, name, part)
    if found is not None and found[1] == ".sqlite":
        return of_sqlite(path, name, part, reading)
    raise DataError(f"{name} is a database neither of DuckDB nor of SQLite")
