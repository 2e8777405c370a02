"""Tables in DuckDB: CSV files, relations, and Parquet that is larger than memory."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from foreknow.errors import DataError
from foreknow.frames.sources import check_columns

_DELIMITERS = ",;\t|"
_BATCH = 1 << 20


class DuckTable:
    """A DuckDB relation; columns are fetched in batches and texts encoded on the way."""

    def __init__(
        self, relation: Any, name: str, columns: Sequence[str], *, untyped: bool = False
    ) -> None:
        self.relation = relation
        self.name = name
        self.untyped = untyped
        self.columns: list[str] = check_columns(columns, name)
        # DuckDB takes names that differ in case for one: its own are used by position.
        self._inner = dict(zip(columns, relation.columns, strict=True))

    @classmethod
    def of_relation(cls, relation: Any) -> DuckTable:
        """Wrap a relation that the caller made."""
        if type(relation).__name__ != "DuckDBPyRelation":
            raise DataError(
                f"expected a DuckDB relation, not {type(relation).__name__}; "
                "see duckdb.connect().table(...) or .sql(...)"
            )
        name = "the DuckDB relation"
        with _clear_errors(name):
            return cls(relation, name, relation.columns)

    @classmethod
    def of_csv(cls, path: Path) -> DuckTable:
        """Open a CSV file; every column is read as text, its type is decided later.

        The first line must name the columns; the delimiter is whichever of ``, ; tab |`` occurs
        most in it. Empty fields are nulls.
        """
        name = path.name
        header, delimiter = _header(path)
        columns = check_columns(header, name)
        with _clear_errors(name):
            relation = duckdb.connect().read_csv(
                str(path),
                header=True,
                delimiter=delimiter,
                quotechar='"',
                escapechar='"',
                columns={f"c{i}": "VARCHAR" for i in range(len(columns))},
                auto_detect=False,
                strict_mode=True,
                null_padding=False,
                ignore_errors=False,
            )
            return cls(relation, name, columns, untyped=True)

    @classmethod
    def of_parquet(cls, paths: Sequence[Path], name: str) -> DuckTable:
        """Open Parquet files."""
        with _clear_errors(name):
            relation = duckdb.connect().read_parquet([str(p) for p in paths])
            return cls(relation, name, relation.columns)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns; texts come dictionary-encoded."""
        self._refuse_zones(columns)
        with _clear_errors(self.name):
            chosen = self.relation.project(self._keys(columns))
            reader = chosen.to_arrow_reader(_BATCH)
            batches = [_encode_texts(batch) for batch in reader]
            empty = _encode_texts(pa.RecordBatch.from_pylist([], schema=reader.schema))
            found = pa.Table.from_batches(batches or [empty]).unify_dictionaries()
            return found.rename_columns(list(columns))

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any]:
        """One GROUP BY; a null is a value of its own."""
        self._refuse_zones(columns)
        keys = self._keys(columns)
        with _clear_errors(self.name):
            grouped = self.relation.aggregate(f"{keys}, count(*)", keys).to_arrow_table()
        found = pa.table(grouped.columns[:-1], names=list(columns))
        return found, grouped.column(len(columns)).to_numpy()

    def _refuse_zones(self, columns: Sequence[str]) -> None:
        kinds = dict(zip(self.columns, self.relation.types, strict=True))
        for column in columns:
            if str(kinds[column]).upper() in ("TIME WITH TIME ZONE", "TIMETZ", "INTERVAL"):
                raise DataError(f"column {column!r} is of type {kinds[column]}; cast it to text")

    def _keys(self, columns: Sequence[str]) -> str:
        return ", ".join(_quoted(self._inner[column]) for column in columns)


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _encode_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    arrays = [
        array.dictionary_encode() if pa.types.is_string(array.type) else array
        for array in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _header(path: Path) -> tuple[list[str], str]:
    """Column names and delimiter of a CSV file."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            start = file.read(1 << 16)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name} is not UTF-8 (byte {error.start + 1}); save it again as UTF-8"
        ) from None
    except (OSError, EOFError) as error:
        raise DataError(f"{path.name} cannot be read: {error}") from None
    if not start.strip():
        raise DataError(f"{path.name} is empty; its first line must name the columns")
    first = re.match(r'(?:"[^"]*"|[^"\r\n])*', start)
    line = first[0] if first else start.splitlines()[0]
    bare = re.sub(r'"[^"]*"', "", line)
    delimiter = max(_DELIMITERS, key=bare.count)
    header = next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))
    return [column.strip() for column in header], delimiter


@contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """Say in one line what DuckDB says in twenty."""
    try:
        yield
    # Arrow passes on, as an error of its own, what DuckDB meets while rows are fetched.
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        text = str(error)
        line = re.search(r"on Line: (\d+)", text)
        where = f"{name}, line {line[1]}" if line else name
        shape = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
        if shape:
            found = "1 field" if shape[2] == "1" else f"{shape[2]} fields"
            raise DataError(f"{where}: {found} where the header has {shape[1]}") from None
        if "quote" in text.splitlines()[0].lower() or "unterminated" in text.lower():
            raise DataError(f"{where}: a quote is not closed") from None
        if "state machine" in text.lower():
            raise DataError(f"{where}: mixed line ends; save the file with one kind") from None
        if "maximum line size" in text.lower() or "max_line_size" in text.lower():
            raise DataError(f"{where}: a line of over 2 MB; is a quote not closed?") from None
        if "unicode" in text.lower() or "utf-8" in text.lower():
            raise DataError(f"{where}: not UTF-8; save the file again as UTF-8") from None
        raise DataError(f"{where}: {text.splitlines()[0]}") from None
