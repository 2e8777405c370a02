"""Tables in DuckDB: CSV files, relations, and Parquet that is larger than memory."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from foreknow.data.engines.spelled import is_spelled
from foreknow.data.engines.table import check_columns, place_of, sql_name, with_signs
from foreknow.data.reading import to_add
from foreknow.data.sparse import IntArray
from foreknow.engine import DELIMITERS, CsvFile, bounded, connect, connect_to, read_parquet
from foreknow.errors import DataError, NotEnoughMemory, short_of_memory

_BATCH = 1 << 20
_TABLES = """
SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? AND NOT internal
UNION ALL
SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal
ORDER BY ALL
"""


class DuckTable:
    """A DuckDB relation; columns are fetched in batches and texts encoded on the way."""

    def __init__(
        self,
        relation: Any,
        name: str,
        columns: Sequence[str],
        *,
        file: CsvFile | None = None,
        connection: Any = None,
    ) -> None:
        self.relation = relation
        self.connection = connection  # where it is one of ours
        self.name = name
        self.file = file
        self.untyped = self.settled = file is not None
        self._whole: DuckTable | None = None  # what this one is made of, which keeps files open
        self.two_empties: set[str] = set()  # columns of a file with empty fields, quoted and not
        # Columns of a file whose hashes the next reading gathers, and the sorted hashes of values.
        self.beside: tuple[str, ...] = ()
        self.hashes: dict[str, IntArray] = {}
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
        with clear_errors(name):
            return cls(relation, name, relation.columns)

    @classmethod
    def of_csv(cls, path: Path, name: str | None = None, delimiter: str | None = None) -> DuckTable:
        """Open a CSV file; every column is read as text, its type is decided later.

        The first line must name the columns; unless given, the delimiter is whichever of
        ``, ; tab |`` occurs most in it. Empty fields are nulls. An error is: something between a
        quoted field and its delimiters, such as a space; a quote in a field that has none around
        it; a line with a field too many.
        """
        file = CsvFile(path, delimiter or DELIMITERS, name)
        name = file.name
        columns = check_columns([column.strip() for column in file.header], name)
        with clear_errors(name):
            connection = connect()
            relation = file.relation(connection)
            return cls(relation, name, columns, file=file, connection=connection)

    @classmethod
    def of_parquet(cls, paths: Sequence[Path], name: str) -> DuckTable:
        """Open Parquet files."""
        with clear_errors(name):
            connection = connect()
            relation = read_parquet(connection, paths)
            with pa.OSFile(os.path.realpath(paths[0])) as file:
                names = pq.ParquetFile(file).schema_arrow.names
            return cls(relation, name, names, connection=connection)

    @classmethod
    def of_database(cls, path: Path, name: str, part: str | None) -> DuckTable:
        """Open a table or view of a DuckDB file; nothing is written to it."""
        with clear_errors(name):
            try:
                connection, database = connect_to(path)
            except duckdb.Error as error:
                if "handle conflict" not in str(error):
                    raise
                raise DataError(
                    f"{name} is open in this process already; give connection.table(...) of that "
                    "connection, or close it first"
                ) from None
            try:
                known = connection.execute(_TABLES, [database, database]).fetchall()
                table, place = place_of(name, known, "main", part)
                called = f"{name}, table {table}"
                with clear_errors(called):
                    address = ".".join(map(sql_name, (database, *place)))
                    relation = bounded(connection.table(address))
                made = cls(relation, called, relation.columns, connection=connection)
            except BaseException:
                connection.close()
                raise
        weakref.finalize(made, connection.close)
        return made

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns; texts come dictionary-encoded."""
        self._refuse_zones(columns)
        beside, self.beside = self.beside, ()
        size, gathered = len(columns), [list[Any]() for _ in beside]
        hashed = [f"if({v} = '', NULL, hash({v}))" for v in (self._keys([n]) for n in beside)]
        with clear_errors(self.name):
            chosen = self.relation.project(", ".join([self._keys(columns), *hashed]))
            reader = chosen.to_arrow_reader(_BATCH)
            batches = []
            for batch in reader:
                for own, array in zip(gathered, batch.columns[size:], strict=True):
                    own.append(array.drop_null().to_numpy().view(np.int64))
                batches.append(_encode_texts(batch.select(range(size))))
            schema = pa.schema([reader.schema.field(i) for i in range(size)])
            empty = _encode_texts(pa.RecordBatch.from_pylist([], schema=schema))
            found = pa.Table.from_batches(batches or [empty]).unify_dictionaries()
        found = found.rename_columns(list(columns))
        self.check(len(found))
        for name, own in zip(beside, gathered, strict=True):
            self.hashes[name] = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *own]))
        if self.file is not None:
            found = self._merge_empties(found)
        return found

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any]:
        """One GROUP BY; a null is a value of its own."""
        self._refuse_zones(columns)
        kinds = dict(zip(self.columns, map(str, self.relation.types), strict=True))
        floats = [name for name in columns if kinds[name] in ("FLOAT", "DOUBLE")]
        signs = [f"signbit({sql_name(self._inner[name])})" for name in floats]
        keys = ", ".join([self._keys(columns), *signs])
        with clear_errors(self.name):
            grouped = self.relation.aggregate(f"{keys}, count(*)", keys).to_arrow_table()
        found = pa.table(grouped.columns[: len(columns)], names=list(columns))
        minus = grouped.columns[len(columns) : len(columns) + len(floats)]
        found = with_signs(found, dict(zip(floats, minus, strict=True)))
        times = grouped.column(grouped.num_columns - 1).to_numpy()
        self.check(int(times.sum()))
        if self.file is not None:
            found = self._merge_empties(found)
        return found, times

    def _merge_empties(self, rows: pa.Table) -> pa.Table:
        """An empty field of a file is a null, in quotes or not."""
        for i, name in enumerate(rows.column_names):
            column = rows.column(i)
            texts = column.chunk(0).dictionary if pa.types.is_dictionary(column.type) else column
            if not pc.any(pc.equal(texts, "")).as_py():
                continue
            if column.null_count:
                self.two_empties.add(name)
            column = column.cast(pa.string())
            known = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            rows = rows.set_column(i, name, known.dictionary_encode())
        return rows

    def kind(self, column: str) -> str:
        """The type of a column, as DuckDB calls it."""
        return str(self.relation.types[self.columns.index(column)])

    def is_text(self, column: str) -> bool:
        """Whether a column is of texts."""
        return self.kind(column) == "VARCHAR"

    def holding(self, columns: Sequence[str], spellings: Collection[str]) -> list[str]:
        """Those of some columns of texts in which a value is missing by one of these spellings."""
        if not columns:
            return []
        asked = (f"bool_or({is_spelled(self._keys([name]), spellings)})" for name in columns)
        with clear_errors(self.name):
            (found,) = self.relation.aggregate(", ".join(asked)).fetchall()
        return [name for name, holds in zip(columns, found, strict=True) if holds]

    def without(self, columns: Sequence[str], spellings: Collection[str]) -> DuckTable:
        """The same where such values of some columns of texts are nulls."""
        keys = {name: self._keys([name]) for name in self.columns}
        for name in columns:
            own = keys[name]
            keys[name] = f"CASE WHEN {is_spelled(own, spellings)} THEN NULL ELSE {own} END AS {own}"
        made = copy(self)
        made.relation, made._whole = self.relation.project(", ".join(keys.values())), self
        return made

    def inner(self, column: str) -> str:
        """What DuckDB calls a column."""
        return str(self._inner[column])

    def check(self, n_rows: int) -> None:
        """Raise `DataError` unless so many rows are all of a file, unchanged since."""
        if self.file is not None:
            self.file.check(n_rows)

    def _refuse_zones(self, columns: Sequence[str]) -> None:
        kinds = dict(zip(self.columns, self.relation.types, strict=True))
        for column in columns:
            if str(kinds[column]).upper() in ("TIME WITH TIME ZONE", "TIMETZ", "INTERVAL"):
                raise DataError(f"column {column!r} is of type {kinds[column]}; cast it to text")

    def _keys(self, columns: Sequence[str]) -> str:
        return ", ".join(sql_name(self._inner[column]) for column in columns)


def _encode_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    arrays = [
        array.dictionary_encode() if pa.types.is_string(array.type) else array
        for array in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


@contextmanager
def clear_errors(name: str) -> Iterator[None]:
    """Say in one line what DuckDB says in twenty."""
    try:
        yield
    # Arrow passes on, as an error of its own, what DuckDB meets while rows are fetched.
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if short_of_memory(error):
            raise NotEnoughMemory(f"reading {name}") from error
        text = str(error)
        if "holds a text of over" in text:
            said = text.splitlines()[0].removeprefix("Invalid Input Error: ")
            raise DataError(f"{name}: {said}") from None
        if isinstance(error, duckdb.PermissionException):
            said = text.splitlines()[0].removeprefix("Permission Error: ")
            raise DataError(
                f"{name} is a view that reaches out of its file, which is refused ({said}); "
                "make a table of it there"
            ) from None
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
        if "gzip" in text.lower():
            raise DataError(f"{name} cannot be read: {text.splitlines()[0]}") from None
        if "unicode" in text.lower() or "utf-8" in text.lower():
            raise DataError(
                f"{where}: not UTF-8; save it again as UTF-8, or {to_add('encoding', 'cp1252')}"
            ) from None
        raise DataError(f"{where}: {text.splitlines()[0]}") from None
