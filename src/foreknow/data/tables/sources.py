"""Open whatever holds a table: a file, a folder of Parquet files, a frame of some library."""

from __future__ import annotations

import codecs
import difflib
import gzip
import re
import shutil
import sys
import weakref
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa

from foreknow.data.columns.reading_rules import (
    DELIMITERS,
    STDIN,
    UTF8,
    Dialect,
    Reading,
    is_address,
    named_part,
    to_add,
)
from foreknow.data.tables.formats.arrow_table import ArrowTable
from foreknow.data.tables.formats.csv_files import RawCsvFile
from foreknow.data.tables.formats.database_address import spoken
from foreknow.data.tables.formats.databases import new_file
from foreknow.data.tables.table import Snapshot, Table
from foreknow.data.tables.views.missing_spellings import Spelled
from foreknow.data.tables.views.separated_values import Divided
from foreknow.features import load
from foreknow_judge.errors import DataError
from foreknow_judge.files.documents import is_named_pipe
from foreknow_judge.files.duckdb_files import Stamp

if TYPE_CHECKING:
    from foreknow.data.tables.formats.duckdb_table import DuckTable
    from foreknow.features.spark.spark_table import SparkTable

# A table whose equal rows are counted where it lies, and whose rows can be found again.
Source: TypeAlias = "DuckTable | SparkTable"

_CSV = (".csv", ".tsv", ".txt")
_ALIKE = 0.75  # how much alike the name of a file and the one that is meant are, at least
_FAR = re.compile(r"(s3a?|gs|gcs|az|abfss?|hdfs|https?|ftp|sftp):/", re.IGNORECASE)
_DATABASES = (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db", ".db3")
_WORKBOOKS = (".xlsx", ".xlsm")
_TO_SAVE = {
    **dict.fromkeys((".xls", ".xlsb", ".ods"), "; save it as .xlsx or CSV"),
    ".toml": "; it is a policy, which is named beside a table: --policy, or in Python policy=",
    **dict.fromkeys((".zip", ".7z", ".bz2", ".zst"), "; unpack it"),
    **dict.fromkeys((".json", ".jsonl", ".feather", ".arrow"), "; give a frame of it, in Python"),
}


def open_table(
    source: Any, reading: Reading | None = None, only: Collection[str | None] | None = None
) -> Table:
    """Open a table of any supported kind.

    Parameters
    ----------
    source
        A path, an address, or a frame.
    reading : Reading, optional
        How it is written, as far as a file leaves that open.
    only : collection of str, optional
        The columns in which its spellings of a missing value count; all if left out.

    Raises
    ------
    DataError
        If it cannot be opened.
    """
    table = _opened(source, reading)
    # A table that was opened before may be divided already.
    if reading is not None and reading.separators and not getattr(table, "divided", {}):
        table = Divided(table, reading.separators)
    if reading is None or not reading.missing or isinstance(table, Spelled):
        return table
    return Spelled(table, reading, only)


def counted_where_it_lives(table: Table, columns: Sequence[str]) -> Source | str:
    """The engine that can count equal rows of a table; or why they are read, as a text."""
    inner: Any = (table.inner or table) if isinstance(table, Snapshot) else table
    # A view that only makes nulls of some texts is no obstacle: the engine can do that, too.
    stored_table = inner.as_written if isinstance(inner, Spelled) else inner
    if isinstance(inner, Spelled) and inner.of_columns:
        return f"{stored_table.name} has codes of missing values in some columns"
    if not hasattr(stored_table, "counted"):
        return f"{stored_table.name} is neither CSV nor Parquet, nor of DuckDB or Spark"
    source: Source | str = stored_table.counted(columns)
    if isinstance(inner, Spelled) and not isinstance(source, str):
        source = inner.in_engine(source, columns)
    return source


def _opened(source: Any, reading: Reading | None) -> Table:
    """The table of a path, an address, a frame or a relation; a table is returned as it is."""
    if hasattr(type(source), "tally"):  # it is one, of ours or of another engine
        table: Table = source
        return table
    if isinstance(source, (str, Path)):
        if is_address(source):
            from foreknow.data.tables.formats.database import DatabaseTable

            return DatabaseTable(source)
        return _open_path(Path(source), reading or Reading())
    # Libraries are told apart by name, so that none is imported that the caller does not use.
    if type(source).__module__.split(".")[0] in {"duckdb", "_duckdb"}:
        from foreknow.data.tables.formats.duckdb_table import DuckTable

        return DuckTable.of_relation(source)
    if type(source).__module__.startswith("pyspark.sql.") and hasattr(source, "toArrow"):
        return cast("Table", load("foreknow.features.spark.spark_table:SparkTable")(source))
    if is_records(source):
        return ArrowTable(_table_of_records(source))
    if isinstance(source, pa.Table):
        return ArrowTable(source)
    from foreknow.data.tables.formats.narwhals_table import NarwhalsTable

    return NarwhalsTable(source)


def is_records(source: Any) -> bool:
    """True if a table is a list of rows, each a mapping of columns to values."""
    return (
        isinstance(source, (list, tuple))
        and len(source) > 0
        and all(isinstance(row, Mapping) for row in source)
    )


def _table_of_records(rows: Sequence[Mapping[Any, Any]]) -> pa.Table:
    """The table of rows given as mappings; a key that a row lacks is missing, as is NaN."""
    names: dict[Any, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    columns: dict[str, list[Any]] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        # Only NaN differs from itself.
        columns[str(name)] = [
            None if isinstance(value, float) and value != value else value for value in values
        ]
    if len(columns) < len(names):
        raise DataError("two columns of the rows have the same name; rename one of them")
    try:
        return pa.table(columns)
    except pa.ArrowException as error:
        raise DataError(f"the rows are no table: {str(error).splitlines()[0]}") from None


def _open_path(address: Path, reading: Reading) -> Table:
    """Open a file, a folder, a pipe of the shell or standard input ("-").

    The address may end in the part that is meant, such as ``?sheet=2024``.
    """
    try:
        path, key, part_asked = named_part(address)
        is_standard_input = str(path) == STDIN
        if not is_standard_input:
            _refuse_no_file(path)
        if is_standard_input:
            return _open_pipe(None, "standard input", key, part_asked, reading)
        if path.is_fifo():  # such as of <(command)
            return _open_pipe(path, path.name, key, part_asked, reading)
        # Names may be too long, or of folders that nobody may read: an error of the system.
        exists = path.exists()
    except OSError as error:
        raise DataError(f"{spoken(address)!r} cannot be opened: {error.strerror}") from None
    if not exists:
        hint = ""
        if _FAR.match(str(address)):
            hint = (
                "; an address of the web or of a cloud is read by other programs: download it, or "
                "give a frame, such as pandas.read_csv(address)"
            )
        raise DataError(f"there is no file or folder {spoken(path)!r}{hint or _hint_of_name(path)}")
    return _open_file(path, path.name, key, part_asked, reading)


def _open_pipe(
    pipe: Path | None, name: str, key: str | None, part_asked: str, reading: Reading
) -> Table:
    """Open a copy of a pipe, or of standard input (None); the copy is deleted with the table.

    `key`, `part_asked` and `name` are as in `_open_file`.
    """
    path = from_pipe(pipe, name)
    try:
        table = _open_file(path, name, key, part_asked, reading)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    weakref.finalize(table, path.unlink, missing_ok=True)
    return table


def _hint_of_name(path: Path) -> str:
    """A hint that names the file most like a path that does not exist; "" if none is like it."""
    folder = path.parent
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    matches = difflib.get_close_matches(path.name, names, 1, _ALIKE)
    return f"; did you mean {spoken(folder / matches[0])!r}?" if matches else ""


def _refuse_no_file(path: Path) -> None:
    """Raise `DataError` for devices, sockets and named pipes, which may never begin or end.

    Pipes of the shell are allowed.
    """
    if not path.exists() or path.is_file() or path.is_dir():
        return
    if path.is_fifo() and not is_named_pipe(path):
        return
    what = "a named pipe" if path.is_fifo() else "a device or a socket"
    raise DataError(
        f"{spoken(path)!r} is {what}; give a file or a folder, or a pipe of the shell, such "
        "as <(command"
    )


def _open_file(path: Path, name: str, key: str | None, part_asked: str, reading: Reading) -> Table:
    """Open a file by its ending, or a folder of Parquet files.

    `name` is what messages call it. `key` is "table" or "sheet" where the address names one, and
    `part_asked` is its name.
    """
    ending = path.suffix.lower()
    key_of_kind = {_DATABASES: "table", _WORKBOOKS: "sheet"}.get(_endings_like(ending))
    # Only the key that fits the kind of file is accepted.
    part_name = part_asked if key == key_of_kind else None
    if key is not None and part_name is None:
        raise DataError(
            f"{name}?{key}={part_asked}: databases have ?table=, workbooks ?sheet=, others neither"
        )
    if path.is_dir() or ending in (".parquet", ".pq"):
        from foreknow.data.tables.formats.parquet_table import ParquetTable

        table = ParquetTable(path)
        table.name = name
        return table
    if path.name.lower().removesuffix(".gz").endswith(_CSV):
        return _open_csv(path, name, reading)
    if ending in _DATABASES:
        return _open_database(path, name, part_name, reading)
    from foreknow.data.tables.formats import file_table

    if ending in _WORKBOOKS:
        return file_table.of_workbook(path, name, part_name)
    if ending in file_table.STATISTICS:
        return file_table.of_statistics(path, name, reading)
    raise DataError(
        f"{spoken(path)!r} is neither CSV (.csv, .tsv, .txt) nor Parquet (.parquet, or a folder), "
        "nor a workbook (.xlsx), a database (.duckdb, .sqlite) or a file of SPSS, Stata or SAS "
        f"(.sav, .dta, .sas7bdat, .xpt){_TO_SAVE.get(ending, '')}"
    )


def _endings_like(ending: str) -> tuple[str, ...]:
    """The endings of all databases, or of all workbooks, if this is one of them; else ()."""
    return next((kind for kind in (_DATABASES, _WORKBOOKS) if ending in kind), ())


def _open_csv(path: Path, name: str, reading: Reading) -> Table:
    """Open a CSV file; one that is not in UTF-8 is copied, and the copy goes with the table."""
    from foreknow.data.tables.formats.duckdb_table import CsvTable

    utf8_path = as_utf8(path, name, reading)
    is_copy = utf8_path != path
    try:
        table = CsvTable.of_csv(utf8_path, name, reading.delimiter or DELIMITERS)
        if len(table.columns) == 1:
            _refuse_wrong_delimiter(utf8_path, name, table.file.delimiter)
    except BaseException:
        if is_copy:
            utf8_path.unlink(missing_ok=True)
        raise
    if is_copy:
        weakref.finalize(table, utf8_path.unlink, missing_ok=True)
    with utf8_path.open("rb") as file:
        # The mark by which Excel knows UTF-8; a release is written as its source was.
        is_marked = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    has_bom = is_marked or str(reading.encoding).startswith("utf-16")
    delimiter = table.file.delimiter if table.file.delimiter in DELIMITERS else ","
    table.dialect = Dialect(delimiter, reading.decimal or ".", has_bom)
    return table


def _refuse_wrong_delimiter(path: Path, name: str, delimiter: str) -> None:
    """Raise `DataError` if a file of one column by this delimiter has more by another one."""
    # Without a given delimiter, the one that gives the most columns is found.
    guessed_file = RawCsvFile(path, name=name)
    if len(guessed_file.header) > 1:
        better = guessed_file.delimiter.replace("\t", "tab")
        raise DataError(
            f"{name} has one column with the delimiter {delimiter!r}, and "
            f"{len(guessed_file.header)} with {better!r}; {to_add('delimiter', better)}"
        )


def _open_database(path: Path, name: str, part_asked: str | None, reading: Reading) -> Table:
    """Open a table of a file of DuckDB or SQLite, which its first bytes tell apart."""
    with path.open("rb") as file:
        _, suffix = content_of(file.read(16)) or ("", "")
    if suffix == ".duckdb":
        from foreknow.data.tables.formats.duckdb_table import DuckTable

        return DuckTable.of_database(path, name, part_asked)
    if suffix == ".sqlite":
        from foreknow.data.tables.formats.file_table import of_sqlite

        return of_sqlite(path, name, part_asked, reading)
    raise DataError(f"{name} is a database neither of DuckDB nor of SQLite")


def parts_of(path: Path) -> list[str]:
    """The names of a database's tables, or of a workbook's sheets; [] for another file."""
    _refuse_no_file(path)
    endings = _endings_like(path.suffix.lower())
    if endings == _WORKBOOKS:
        from foreknow.data.tables.formats.file_table import sheets_of

        return sheets_of(path)
    if endings != _DATABASES:
        return []
    with path.open("rb") as file:
        _, suffix = content_of(file.read(16)) or ("", "")
    if suffix == ".duckdb":
        from foreknow.data.tables.formats.duckdb_table import tables_of

        return tables_of(path)
    from foreknow.data.tables.formats.file_table import sqlite_tables

    return sqlite_tables(path, path.name, Reading())


_BLOCK = 1 << 20
_CONTROL = re.compile(r"[\x80-\x9f]")
# Bytes that texts hardly have, and how many of them a file has that is none, with zeros or without.
_CONTROLS = {*range(32)} - {*b"\t\n\v\f\r\x1a\x1b"}
_FEW_CONTROLS, _MANY_CONTROLS = 3, 8

_OR = "save it again as UTF-8, or "

# How files of some kinds begin: from where, with what, what they are, and how they are called.
_MAGIC = (
    (0, b"PAR1", "Parquet", ".parquet"),
    (0, b"PK\x03\x04", "a workbook or an archive", ".xlsx"),
    (0, b"SQLite format 3\0", "a database of SQLite", ".sqlite"),
    (8, b"DUCK", "a database of DuckDB", ".duckdb"),
    (0, b"$FL2", "a file of SPSS", ".sav"),
    (0, b"$FL3", "a file of SPSS", ".zsav"),
    (0, b"<stata_dta>", "a file of Stata", ".dta"),
    (0, b"HEADER RECORD*******LIB", "a file of SAS", ".xpt"),
    (0, b"\xd0\xcf\x11\xe0", "a workbook of Excel before 2007", ".xls"),
)
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def content_of(first: bytes) -> tuple[str, str] | None:
    """The kind of a file and its suffix, from its first bytes; None for text."""
    for start, magic, what, suffix in _MAGIC:
        if first[start:].startswith(magic):
            return what, suffix
    return None


def from_pipe(pipe: Path | None, name: str) -> Path:
    """Copy a pipe, which can be read only once, to a file with the suffix of its kind.

    `pipe` is None for standard input. `name` is what messages call it.
    """
    if pipe is None and (sys.stdin is None or sys.stdin.closed):
        raise DataError("standard input is closed; give the name of a file instead of -")
    try:
        with nullcontext(sys.stdin.buffer) if pipe is None else pipe.open("rb") as stream:
            first = stream.read(_BLOCK)
            if not first:
                raise DataError(f"{name} is empty, or was read before")
            # A pipe has no file name, so its first bytes tell what it holds; text is CSV.
            _, suffix = content_of(first) or ("text", ".csv")
            if suffix == ".csv" and first.startswith(b"\x1f\x8b"):
                suffix = ".csv.gz"
            path = new_file(suffix)
            with path.open("wb") as file:
                file.write(first)
                shutil.copyfileobj(stream, file, _BLOCK)
            return path
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error}") from None


def as_utf8(path: Path, name: str, reading: Reading) -> Path:
    """The path of a CSV file in UTF-8: the file itself, or a copy.

    Raises `DataError` for a file in another encoding than the reading says, and for one that is no
    text. `name` is what messages call it.
    """
    encoding = reading.encoding
    first = b""
    try:
        if encoding in (None, UTF8, "utf-8-sig"):
            with _unzipped(path, "rb") as file:
                _refuse_unless_utf8(file.read(_BLOCK), name)
            return path
        stamp = Stamp([path])
        with _unzipped(path, "rb") as file:
            first = file.read(_BLOCK)
        _refuse_known_kinds(first, name)
        copy = new_file(".csv")
        with (
            _unzipped(path, "rt", encoding=encoding, newline="") as file,
            copy.open("w", encoding=UTF8, newline="") as utf8_file,
        ):
            while text := file.read(_BLOCK):
                # Latin-1 reads any bytes; control characters tell that it is the wrong encoding.
                if encoding.startswith("iso8859") and _CONTROL.search(text):
                    if _is_binary(first):
                        raise _no_text(name)
                    raise DataError(
                        f"{name} holds control characters if it is {encoding}; it may be that of "
                        f"Windows: {to_add('encoding', 'cp1252')}"
                    )
                utf8_file.write(text)
        stamp.check()
    except UnicodeError:
        if not str(encoding).startswith(("utf-16", "utf-32")) and _is_binary(first):
            raise _no_text(name) from None  # texts in these have any bytes
        raise DataError(
            f"{name} is not {encoding}; name the encoding that it was saved in, or save it again "
            "as UTF-8"
        ) from None
    except (OSError, EOFError) as error:
        raise DataError(f"{name} cannot be read: {error}") from None
    return copy


def _unzipped(path: Path, mode: str, **how: Any) -> Any:
    """Open a file, or what is zipped in it."""
    return (gzip.open if path.suffix.lower() == ".gz" else open)(path, mode, **how)


def _is_binary(first: bytes) -> bool:
    """True if a file that begins so is no text: many control characters, or some and zeros."""
    controls = {*first} & _CONTROLS
    return len(controls) >= (_FEW_CONTROLS if 0 in controls else _MANY_CONTROLS)


def _no_text(name: str) -> DataError:
    """The error of a file that is no text."""
    return DataError(f"{name} is not a text file; save the table as CSV, in UTF-8")


def _refuse_known_kinds(first: bytes, name: str) -> None:
    """Raise `DataError` if a file begins as one of a kind other than CSV."""
    content = content_of(first)
    if content is not None:
        kind, suffix = content
        raise DataError(f"{name} is not CSV but {kind}; rename it to end in {suffix}")


def _refuse_unless_utf8(first: bytes, name: str) -> None:
    """Raise `DataError` unless a file may be CSV in UTF-8, by how it begins."""
    _refuse_known_kinds(first, name)
    for mark, encoding in _MARKS:
        if first.startswith(mark):
            raise DataError(
                f"{name} is not UTF-8 but {encoding.upper()}; {_OR}{to_add('encoding', encoding)}"
            )
    is_binary = _is_binary(first)
    # In UTF-16 every other byte of plain letters is a zero.
    if not is_binary and b"\0" in (first[:1], first[1:2]):
        utf16 = "utf-16-le" if first[1:2] == b"\0" else "utf-16-be"
        raise DataError(f"{name} is not UTF-8 but UTF-16; {_OR}{to_add('encoding', utf16)}")
    try:
        # Incremental, since the block may end inside a character.
        codecs.getincrementaldecoder(UTF8)().decode(first)
    except UnicodeDecodeError as error:
        if is_binary:
            raise _no_text(name) from None
        line = first.count(b"\n", 0, error.start) + 1
        # Latin-1 has only control characters there, and Windows has letters and quotes.
        has_windows_bytes = any(0x80 <= byte < 0xA0 for byte in first)
        likely = "cp1252" if has_windows_bytes else "latin-1"
        raise DataError(
            f"{name} is not UTF-8 (line {line}, byte {error.start + 1}); "
            f"{_OR}{to_add('encoding', likely)}"
        ) from None
