"""Parquet files and folders: fetched as dictionary codes, counted in DuckDB when too large."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from foreknow.data.tables.table import (
    Table,
    check_columns,
    is_text,
    most_rows_in_memory,
    unreadable,
)
from foreknow.errors import unknown_column
from foreknow_judge.errors import DataError
from foreknow_judge.files.bounds import VALUE_BYTES
from foreknow_judge.files.duckdb_files import Stamp, refuse_large_files

if TYPE_CHECKING:
    from foreknow.data.tables.formats.duckdb_table import DuckTable

_CODED = pa.dictionary(pa.int32(), pa.string())
# Times that DuckDB reads as they are: without a zone, and not finer than microseconds.
_TIMESTAMPS = [pa.timestamp(unit) for unit in ("s", "ms", "us")]


class ParquetTable(Table):
    """One Parquet file, or all of a folder as one table."""

    def __init__(self, path: Path) -> None:
        """Look up the files and their columns; `DataError` for a folder without any file."""
        self.name = path.name
        self._path = path
        self.files = self._listed()
        if not self.files:
            raise DataError(f"the folder {str(path)!r} holds no .parquet file")
        self.stamp = Stamp(self.files)
        refuse_large_files(self.files)
        self._schema = self._schema_of(self.files[0])
        # Some files may lack a column, which is an error only where it is asked for.
        names = [check_columns(self._schema_of(file).names, self.name) for file in self.files]
        self.columns = [*dict.fromkeys(chain.from_iterable(names))]

    @cached_property
    def n_rows(self) -> int:
        """The number of rows of all files, by their metadata."""
        return sum(self._read(lambda f=f: _opened(f).metadata.num_rows) for f in self.files)

    def _listed(self) -> list[Path]:
        """The files that are there now."""
        return _files_in(self._path) if self._path.is_dir() else [self._path]

    def _schema_of(self, file: Path) -> pa.Schema:
        """The columns of a file, with their types."""
        schema: pa.Schema = self._read(lambda: _opened(file).schema_arrow)
        return schema

    def check(self, n_rows: int | None = None) -> None:
        """Raise `DataError` if the files are not those that were opened; `n_rows` is not needed."""
        if self._listed() != self.files:
            raise DataError(f"{self.name}: files came or went while it was read; run again")
        self.stamp.check()

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns; texts come dictionary-encoded."""
        names = list(columns)
        tables = [self._fetch_from(file, names) for file in self.files]
        for table, file in zip(tables, self.files, strict=True):
            for name in names:
                # Types may differ in size, but not in kind: a number is no text.
                first_type, kind = tables[0].schema.field(name).type, table.schema.field(name).type
                if _comparable_kind(first_type) != _comparable_kind(kind):
                    raise DataError(
                        f"{file.name}: column {name!r} is of type {kind}, but of type {first_type} "
                        f"in {self.files[0].name}"
                    )
        joined = self._read(lambda: pa.concat_tables(tables, promote_options="permissive"))
        self.check()
        return joined.unify_dictionaries()

    def _fetch_from(self, file: Path, names: list[str]) -> pa.Table:
        """Some columns of one file, texts as codes.

        Raises `DataError` if the file lacks a column, or a text is too long.
        """
        schema = self._schema_of(file)
        for name in names:
            if name not in schema.names:
                raise unknown_column(name, schema.names, file.name)
        texts = [name for name in names if is_text(schema.field(name).type)]
        rows = self._read(lambda: _read_valid(_opened(file, read_dictionary=texts), names))
        for name in texts:
            # Texts of all kinds, large ones and views, become codes of plain texts.
            column = rows.column(name).cast(_CODED)
            for chunk in column.chunks:
                longest = pc.max(pc.binary_length(chunk.dictionary)).as_py()
                if longest is not None and longest > VALUE_BYTES:
                    raise DataError(
                        f"{file.name}: column {name!r} holds a text of {longest:,} bytes, and "
                        f"{VALUE_BYTES:,} are the most; shorten it, or leave the column out"
                    )
            rows = rows.set_column(rows.column_names.index(name), name, column)
        return rows

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any] | None:
        """Count in DuckDB where the rows are too many to hold."""
        if self.n_rows <= most_rows_in_memory():
            return None
        return self._in_duckdb().tally(columns)

    def counted(self, columns: Sequence[str]) -> DuckTable | str:
        """The same table in DuckDB; or why DuckDB would read a column otherwise, as text."""
        schemas = [self._schema_of(file) for file in self.files]
        for name in columns:
            kind = self._schema.field(name).type
            for schema in schemas:
                if name not in schema.names or schema.field(name).type != kind:
                    return f"the files of {self.name} have different types of column {name!r}"
            if pa.types.is_dictionary(kind) and (kind.ordered or not is_text(kind)):
                return f"column {name!r} is categorical"
            if pa.types.is_timestamp(kind) and kind not in _TIMESTAMPS:
                return f"column {name!r} is of type {kind}"
        return self._in_duckdb().counted(columns)

    def _in_duckdb(self) -> DuckTable:
        """The same table in DuckDB."""
        from foreknow.data.tables.formats.duckdb_table import DuckTable

        return DuckTable.of_parquet(self.files, self.name, self)

    def _read(self, step: Callable[..., Any]) -> Any:
        """The result of a step that reads a file; what fails in it is a `DataError`."""
        try:
            return step()
        except (pa.ArrowException, OSError, KeyError) as error:
            raise unreadable(self.name, error, kind=" as Parquet") from None


def _opened(file: Path, **how: Any) -> pq.ParquetFile:
    """Open one file by its literal name; a name that looks like an address is none."""
    return pq.ParquetFile(pa.OSFile(os.path.realpath(file)), **how)


def _read_valid(file: pq.ParquetFile, names: list[str]) -> pa.Table:
    """Read some columns; what is broken in them, such as a code without an entry, is an error."""
    rows = file.read(columns=names).select(names)
    rows.validate(full=True)
    return rows


def _files_in(folder: Path) -> list[Path]:
    """The Parquet files in a folder and the folders in it, sorted.

    Hidden files, whose names begin with a dot or underscore, are passed over. Anything else is a
    `DataError`, as is a hidden file that is a table: other readers would read more or less of the
    folder.
    """
    files = []
    for directory, folders, names in os.walk(folder, onerror=_raise):
        for name in sorted([*folders, *names]):
            path = Path(directory, name)
            # What lies in a hidden folder is hidden, too.
            is_hidden = any(part[0] in "._" for part in path.relative_to(folder).parts)
            problem = _problem_with(path, is_hidden)
            if problem is not None:
                raise DataError(
                    f"the folder {str(folder)!r} holds {name!r}, which {problem}; "
                    "name one file, or a folder of Parquet files only"
                )
            if path.is_file() and not is_hidden:
                files.append(path)
    return sorted(files)


def _raise(error: OSError) -> None:
    """Raise `DataError` for a folder that cannot be read."""
    raise DataError(f"the folder {str(error.filename)!r} cannot be read: {error.strerror}")


def _problem_with(path: Path, is_hidden: bool) -> str | None:
    """Why a folder of Parquet files must not hold an entry, as words after "which"; or None.

    `is_hidden` says if its name, or a folder's above it, begins with a dot or underscore.
    """
    if path.name in ("_delta_log", ".hoodie"):
        return "says which rows of the files are still in the table (Delta Lake, Hudi)"
    if is_hidden:
        has_rows = path.is_file() and _begins_as_parquet(path) and not _is_summary(path)
        return "is Parquet but hidden, so that some readers pass it over" if has_rows else None
    if path.is_dir():
        return "is a link to a folder" if path.is_symlink() else None
    if not path.is_file():
        return "is no file (a broken link, a pipe or a device)"
    return None if path.suffix.lower() in (".parquet", ".pq") else "is not Parquet"


def _is_summary(path: Path) -> bool:
    """True if a file only says what others hold, as ``_metadata`` does."""
    with suppress(pa.ArrowException, OSError):
        metadata = pq.read_metadata(path)
        row_groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
        return all(group.num_columns and group.column(0).file_path for group in row_groups)
    return False


def _begins_as_parquet(path: Path) -> bool:
    """True if the first bytes of a file are those of Parquet."""
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PAR1", b"PARE")
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror}") from None


def _comparable_kind(kind: pa.DataType) -> str:
    """The kind of a type that must be the same in all files: "text", "whole number" or its name."""
    if is_text(kind):
        return "text"
    return "whole number" if pa.types.is_integer(kind) else str(kind)
