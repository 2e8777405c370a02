"""Tables in DuckDB: CSV files, Parquet, relations and its own files; fetched, counted, looked up.

Rows never become objects of Python: texts come as codes, and what is looked up of each row passes
through in batches.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import count
from pathlib import Path
from typing import Any, Self, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from foreknow.data.arrays import IntArray
from foreknow.data.columns.reading_rules import Dialect, to_add
from foreknow.data.tables.formats.csv_files import RawCsvFile
from foreknow.data.tables.formats.databases import connect_to
from foreknow.data.tables.table import (
    check_columns,
    place_of,
    sql_name,
    with_signs,
)
from foreknow.data.tables.views.missing_spellings import is_spelled
from foreknow_judge.errors import DataError, NotEnoughMemory, short_of_memory
from foreknow_judge.files.duckdb_files import bounded, connect, read_parquet

# Of each column: how many rows have a value, and how many values there are.
Distinct: TypeAlias = dict[str, tuple[int, int]]

_BATCH = 1 << 20
# Columns of one question: its time grows with the square of the conditions that it has.
_ASKED_AT_ONCE = 32
_SMALL = 1 << 24  # bytes of a CSV file of which what was read is held
_numbers = count(1)
_FLOATS = {"FLOAT", "DOUBLE"}
# Types that come out of the engine as they do when they are read into memory.
_PLAIN = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER")}
_PLAIN |= _FLOATS | {"BIGINT", "UBIGINT", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP"}
_WITHOUT_ARROW = {"TIME WITH TIME ZONE", "TIMETZ", "INTERVAL"}
_TABLES = """
SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? AND NOT internal
UNION ALL
SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal
ORDER BY ALL
"""


class OutOfOrder(DataError):
    """Rows that were looked up do not come in the order of the table."""


def tables_of(path: Path) -> list[str]:
    """The tables and views of a DuckDB file; those of its usual schema `main` without its name."""
    with clear_errors(path.name):
        connection, database = connect_to(path)
        try:
            tables = connection.execute(_TABLES, [database, database]).fetchall()
        finally:
            connection.close()
    return [name if schema == "main" else f"{schema}.{name}" for schema, name in tables]


class DuckTable:
    """A relation of DuckDB.

    Its `file`, a `CsvFile` or a `ParquetTable`, says whether what was read is all of it, unchanged.
    """

    dialect = Dialect()  # how its file is written
    rows_numbered = True  # its rows may be read into memory, where each has a number
    rows_per_part: int | None = None  # a release of it is one file, where nothing is said
    untyped = is_stable = False
    row_size = 1  # how much of `size` a row is
    # Columns whose hashes the next reading gathers; and by column, the sorted hashes of values
    # without capitals and the blanks around them.
    beside: tuple[str, ...] = ()
    hashes: dict[str, IntArray]

    def __init__(
        self,
        relation: Any,
        name: str,
        columns: Sequence[str],
        *,
        file: Any = None,
        connection: Any = None,
    ) -> None:
        """Take a relation of DuckDB, what messages call it, and the names of its columns in order.

        `file` says whether all of it was read; None if it is no file. `connection` is ours; None if
        the relation is a caller's.
        """
        self.relation = relation
        self.connection = connection  # where it is one of ours
        self.name = name
        self.file = file
        # If this is a view of another table: that table, and each column of this one as SQL of it.
        self._whole: DuckTable | None = None
        self._projected: dict[str, str] = {}
        # Its different rows, and how often each occurs, where whoever wrote it counted them.
        self.known: tuple[pa.Table, IntArray] | None = None
        self.two_empties: set[str] = set()  # columns of a file with empty fields, quoted and not
        self.columns: list[str] = check_columns(columns, name)
        # DuckDB takes names that differ in case for one: its own are used by position.
        self._inner = dict(zip(columns, relation.columns, strict=True))
        self._kinds = dict(zip(columns, map(str, relation.types), strict=True))

    @classmethod
    def of_relation(cls, relation: Any) -> DuckTable:
        """Wrap a relation that the caller made."""
        # Connections and statements come from the same library.
        if type(relation).__name__ != "DuckDBPyRelation":
            raise DataError(
                f"expected a DuckDB relation, not {type(relation).__name__}; "
                "see duckdb.connect().table(...) or .sql(...)"
            )
        name = "the DuckDB relation"
        with clear_errors(name):
            return cls(relation, name, relation.columns)

    @classmethod
    def of_parquet(cls, paths: Sequence[Path], name: str, file: Any = None) -> DuckTable:
        """Open Parquet files."""
        with clear_errors(name):
            connection = connect()
            relation = read_parquet(connection, paths)
            with pa.OSFile(os.path.realpath(paths[0])) as first:
                names = pq.ParquetFile(first).schema_arrow.names
            return cls(relation, name, names, file=file, connection=connection)

    @classmethod
    def of_database(cls, path: Path, name: str, table_asked: str | None) -> DuckTable:
        """Open a table or view of a DuckDB file; nothing is written to it."""
        with clear_errors(name):
            try:
                connection, database = connect_to(path)
            except duckdb.Error as error:
                if "handle conflict" not in str(error):  # another error
                    raise
                raise DataError(
                    f"{name} is open in this process already; give connection.table(...) of that "
                    "connection, or close it first"
                ) from None
            try:
                tables = connection.execute(_TABLES, [database, database]).fetchall()
                table, schema = place_of(name, tables, "main", table_asked)
                # From here on, errors name the table as well.
                full_name = f"{name}, table {table}"
                with clear_errors(full_name):
                    address = ".".join(map(sql_name, (database, *schema)))
                    relation = bounded(connection.table(address))
                duck_table = cls(relation, full_name, relation.columns, connection=connection)
            except BaseException:
                connection.close()
                raise
        weakref.finalize(duck_table, connection.close)
        return duck_table

    # ---- rows, and how often each is ------------------------------------------------------------

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns; texts come dictionary-encoded.

        The same reading gathers the hashes of the columns named in `beside`, once.
        """
        hashed_columns, self.beside = self.beside, ()
        n_columns = len(columns)
        hash_batches: list[list[Any]] = [[] for _ in hashed_columns]  # for each of these columns
        # Equal values have equal hashes, whatever their capitals and the blanks around them.
        texts = map(self._raw, hashed_columns)
        hash_sql = [f"if({text} = '', NULL, hash(lower(trim({text}))))" for text in texts]

        def gathering_hashes(reader: Any) -> Iterator[pa.RecordBatch]:
            """Yield the batches of a reader, and put their hashes into `hash_batches`."""
            for batch in reader:
                for hashes, array in zip(hash_batches, batch.columns[n_columns:], strict=True):
                    hashes.append(array.drop_null().to_numpy().view(np.int64))
                yield batch

        with clear_errors(self.name):
            expressions = ", ".join([*map(self._fetched, columns), *hash_sql])
            reader = self.relation.project(expressions).to_arrow_reader(_BATCH)
            rows = _encoded(gathering_hashes(reader), reader.schema)
        rows = rows.select(range(n_columns)).rename_columns(list(columns))
        # A file must not have changed while it was read, and no row may be lost.
        self.check(len(rows))
        for name, hashes in zip(hashed_columns, hash_batches, strict=True):
            self.hashes[name] = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *hashes]))
        return self._merge_empties(rows)

    def tally(self, columns: Sequence[str], *, signs: bool = True) -> tuple[pa.Table, IntArray]:
        """The different rows of some columns, and how often each occurs, by one GROUP BY.

        A null is a value of its own. With `signs`, -0.0 is another value than 0.0; without, both
        are 0.0.
        """
        # Whoever wrote the table has counted its rows.
        if self.known is not None:
            rows, times = self.known
            if {*columns} == {*rows.column_names}:
                return rows.select(columns), times
        floats = [name for name in columns if self._kinds[name] in _FLOATS]
        # The engine takes both zeros for one; a column of signs beside each float divides them.
        sign_sql = [f"signbit({self._raw(name)})" for name in floats] if signs else []
        keys = ", ".join([*map(self._fetched, columns), *sign_sql])
        with clear_errors(self.name):
            reader = self.relation.aggregate(f"{keys}, count(*)", keys).to_arrow_reader(_BATCH)
            grouped = _encoded(reader, reader.schema)
        times = grouped.column(grouped.num_columns - 1).to_numpy().astype(np.int64)
        rows = grouped.select(range(len(columns))).rename_columns(list(columns))
        # The counts must add up to all rows of the file.
        self.check(int(times.sum()))
        is_negative = grouped.columns[len(columns) : -1]
        rows = with_signs(rows, floats, is_negative if signs else None)
        return self._merge_empties(rows), times

    def _merge_empties(self, rows: pa.Table) -> pa.Table:
        """Rows in which what is empty is a null: as they are, since types tell them apart."""
        return rows

    def check(self, n_rows: int) -> None:
        """Raise `DataError` unless a file has `n_rows` rows and has not changed since."""
        if self.file is not None:
            self.file.check(n_rows)

    # ---- what is asked of it where it lies ------------------------------------------------------

    def counted(self, columns: Sequence[str]) -> DuckTable | str:
        """The table itself, if the engine can count its equal rows; else why not, as text."""
        for name in columns:
            if name not in self.columns:
                return f"column {name!r} differs from another by upper and lower case only"
            kind = self._kinds[name]
            if kind not in _PLAIN and not kind.startswith("DECIMAL"):
                return f"column {name!r} is of type {kind}"
        return self

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self._aggregates(["count(*)"])[0])

    def distinct(self, columns: Sequence[str]) -> tuple[int, Distinct]:
        """The number of rows; for each column, how many rows have a value, and how many values."""
        expressions = [f"count({v}), count(DISTINCT {v})" for v in map(self._value, columns)]
        return distinct_from(self._aggregates(["count(*)", *expressions], columns), columns)

    def head(self, columns: Sequence[str], rows: int) -> pa.Table:
        """Some first rows of some columns; they may be other rows for other columns."""
        first_rows: dict[str, pa.ChunkedArray] = {}
        with clear_errors(self.name):
            # Few columns for each question: its time grows with the square of their number.
            for start in range(0, len(columns), _ASKED_AT_ONCE):
                names = columns[start : start + _ASKED_AT_ONCE]
                head_rows = self._narrowed(names).limit(rows)
                chosen = head_rows.project(", ".join(map(self._value, names))).to_arrow_table()
                first_rows |= zip(names, chosen.columns, strict=True)
        return pa.table(first_rows)

    def sampled(self, column: str, share: int) -> tuple[pa.Array, IntArray]:
        """A sample of one in `share` values, chosen by their hash, and how often each occurs."""
        value = self._value(column)
        with clear_errors(self.name):
            rows = self._narrowed([column])
            sample = rows.filter(f"{value} IS NOT NULL AND hash({value}) % {share} = 0")
            return values_of(sample.aggregate(f"{value}, count(*)", value).to_arrow_table())

    def is_text(self, column: str) -> bool:
        """True if a column is of texts."""
        return self._kinds[column] == "VARCHAR"

    def holding(self, columns: Sequence[str], spellings: Collection[str]) -> list[str]:
        """The columns, of some with texts, in which a spelling of a missing value occurs."""
        expressions = [f"bool_or({is_spelled(self._raw(name), spellings)})" for name in columns]
        holds = self._aggregates(expressions) if expressions else ()
        return [name for name, has_spelling in zip(columns, holds, strict=True) if has_spelling]

    def without(self, columns: Sequence[str], spellings: Collection[str]) -> Self:
        """The table with nulls in place of some spellings, in some columns of texts."""
        projected = {name: self._raw(name) for name in self.columns}
        for name in columns:
            raw = projected[name]
            cleared_sql = f"CASE WHEN {is_spelled(raw, spellings)} THEN NULL ELSE {raw} END"
            projected[name] = f"{cleared_sql} AS {raw}"
        cleared = copy(self)
        cleared.relation = self.relation.project(", ".join(projected.values()))
        # The whole table is kept, so that a question about few columns projects only these.
        cleared._whole, cleared._projected = self, projected
        return cleared

    def _narrowed(self, columns: Sequence[str]) -> Any:
        """The relation with some columns, and perhaps others."""
        if self._whole is None or not columns:
            return self.relation
        names = dict.fromkeys(columns)
        return self._whole.relation.project(", ".join(self._projected[name] for name in names))

    def _aggregates(self, expressions: Iterable[str], columns: Sequence[str] = ()) -> Any:
        """The values of some SQL aggregates.

        `columns` are those that the expressions use; (): the whole table.
        """
        with clear_errors(self.name):
            rows = self._narrowed(columns)
            return rows.aggregate(", ".join(expressions)).fetchall()[0]

    # ---- rows found again -----------------------------------------------------------------------

    def looked_up(
        self,
        keys: pa.Table,
        of_key: IntArray,
        needed: Sequence[str],
        shown_columns: Sequence[str],
        *,
        in_order: bool = False,
    ) -> Iterator[tuple[pa.RecordBatch, IntArray]]:
        """Yield all rows in the order of the table, in batches, with the number of each row's key.

        Parameters
        ----------
        keys : table
            Combinations of values of some columns of the table; the key of a row is the one that it
            has.
        of_key : integer array, shape (keys,)
            The number of each key. A row without a key has the number -1.
        needed : sequence of str
            Rows in which one of these columns is missing have the number -1, too.
        shown_columns : sequence of str
            The columns to give.
        in_order : bool
            Whether to sort the rows, which takes longer; otherwise rows that come in another order
            are an `OutOfOrder` error.
        """
        # Each look-up has its own names, so that several may run at the same time.
        number = next(_numbers)
        source, keys_name = f"rows{number}", f"keys{number}"  # the tables of rows and of keys
        used = list(dict.fromkeys([*keys.column_names, *needed]))
        # Unlike "=", this condition holds for two nulls.
        on = " AND ".join(
            f"{self._value(name)} IS NOT DISTINCT FROM {keys_name}.k{i}"
            for i, name in enumerate(keys.column_names)
        )
        # g is the number of a row's key; a left join has none for rows without a key.
        missing = map(self._is_missing, needed)
        group_sql = f"CASE WHEN {' OR '.join(['FALSE', *missing])} THEN -1 ELSE coalesce(g, -1) END"
        columns = [f"{self._raw(name)} AS c{i}" for i, name in enumerate(shown_columns)]
        columns += [f"row_number() OVER () AS {source}", *map(self._raw, used)]
        numbered_keys = pa.table(keys.columns, names=[f"k{i}" for i in range(keys.num_columns)])
        numbered_keys = numbered_keys.append_column("g", pa.array(of_key))
        n_shown = len(shown_columns)
        with clear_errors(self.name):
            connection, rows = self._opened([*dict.fromkeys([*shown_columns, *used])])
            connection.register(f"given{keys_name}", numbered_keys)
            # Copied into a table of the engine, which can look up nothing in columns of Arrow.
            connection.execute(f"CREATE TEMP TABLE {keys_name} AS FROM given{keys_name}")
            try:
                rows = rows.project(", ".join(dict.fromkeys(columns))).set_alias(source)
                joined = rows.join(connection.table(keys_name), on, how="left")
                names = [f"c{i}" for i in range(n_shown)]
                query = joined.project(", ".join([*names, source, f"{group_sql} AS g"]))
                query = query.order(source) if in_order else query
                n_rows = 0
                for batch in query.to_arrow_reader(_BATCH):
                    # Rows must come numbered 1, 2, ..., as they stand in the table.
                    row_numbers = np.asarray(batch.column(n_shown))
                    if not np.array_equal(row_numbers, n_rows + 1 + np.arange(len(row_numbers))):
                        raise OutOfOrder(f"{self.name} gave its rows in another order")
                    n_rows += len(row_numbers)
                    shown_batch = pa.RecordBatch.from_arrays(
                        batch.columns[:n_shown], [*shown_columns]
                    )
                    yield shown_batch, np.asarray(batch.column(n_shown + 1), dtype=np.int64)
            finally:
                connection.execute(f"DROP TABLE IF EXISTS {keys_name}")
                connection.unregister(f"given{keys_name}")
        self.check(n_rows)

    def _opened(self, columns: Sequence[str]) -> tuple[Any, Any]:
        """A connection of ours, and the relation with some columns there.

        The rows of a caller's relation come into a new connection as a stream.
        """
        if self.connection is not None:
            return self.connection, self.relation
        connection = connect()
        chosen = self.relation.project(", ".join(map(self._raw, columns)))
        return connection, connection.from_arrow(chosen.to_arrow_reader(_BATCH))

    # ---- columns in queries ---------------------------------------------------------------------

    def _raw(self, name: str) -> str:
        """The SQL of a column, as the engine has it."""
        return sql_name(self._inner[name])

    def _fetched(self, name: str) -> str:
        """The SQL of a column to fetch; `DataError` for a type that Arrow does not have."""
        if self._kinds[name].upper() in _WITHOUT_ARROW:
            raise DataError(f"column {name!r} is of type {self._kinds[name]}; cast it to text")
        return self._raw(name)

    def _value(self, name: str) -> str:
        """The SQL of a column as it is counted."""
        return self._raw(name)

    def _is_missing(self, name: str) -> str:
        """The SQL condition for a missing value; by text, since file statistics know no NaN."""
        value = self._value(name)
        nan = f" OR {value}::VARCHAR = 'nan'" if self._kinds[name] in _FLOATS else ""
        return f"{value} IS NULL{nan}"


class CsvTable(DuckTable):
    """A CSV file; every column is read as text, and its type is decided later."""

    untyped = is_stable = True
    row_size = 16  # bytes, roughly

    def __init__(self, *args: Any, **fields: Any) -> None:
        """Take the relation of a file; nothing was read, and no hashes were gathered."""
        super().__init__(*args, **fields)
        self.hashes = {}
        # The columns and first rows that were read of a small file.
        self._held: dict[str, pa.ChunkedArray] = {}
        self._first_rows: dict[tuple[Any, ...], pa.Table] = {}

    @classmethod
    def of_csv(cls, path: Path, name: str, delimiters: str) -> CsvTable:
        """Open a CSV file.

        The first line must name the columns; the delimiter is whichever of some signs occurs most
        in it. Empty fields are nulls. An error is: something between a
        quoted field and its delimiters, such as a space; a quote in a field that has none around
        it; a line with a field too many.
        """
        file = RawCsvFile(path, delimiters, name)
        # Columns are read under names by position; these are the names of the header.
        columns = check_columns([column.strip() for column in file.header], name)
        with clear_errors(name):
            connection = connect()
            relation = file.relation(connection)
            return cls(relation, name, columns, file=file, connection=connection)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns; those of a small file are read once, and checked each time."""
        if columns and not self.beside and self._held.keys() >= {*columns}:
            rows = pa.table([self._held[name] for name in columns], list(columns))
            self.check(len(rows))
            return rows
        rows = super().arrow(columns)
        if self.is_small:
            self._held |= zip(columns, rows.columns, strict=True)
        return rows

    def head(self, columns: Sequence[str], rows: int) -> pa.Table:
        """Some first rows of some columns; those of a small file are read once."""
        first_rows = self._first_rows.get((*columns, rows))
        if first_rows is None:
            first_rows = super().head(columns, rows)
            if self.is_small:
                self._first_rows[*columns, rows] = first_rows
        return first_rows

    def without(self, columns: Sequence[str], spellings: Collection[str]) -> Self:
        """The table with nulls in place of some spellings; of it nothing was read."""
        cleared = super().without(columns, spellings)
        cleared._held, cleared._first_rows = {}, {}
        return cleared

    @property
    def is_small(self) -> bool:
        """True if what is read of it is held."""
        return self.size <= _SMALL

    @property
    def size(self) -> int:
        """Bytes, since its rows are known once it is read."""
        size: int = self.file.path.stat().st_size
        return size

    def _merge_empties(self, rows: pa.Table) -> pa.Table:
        """Rows in which every empty field is a null, whether it is in quotes or not.

        Columns that have empty fields of both kinds are added to `two_empties`.
        """
        for i, name in enumerate(rows.column_names):
            column = rows.column(i)
            # An empty text among the values? By lengths, since comparing texts imports pandas,
            # for which memory may be short.
            if pc.min(pc.binary_length(column.chunk(0).dictionary)).as_py() != 0:
                continue
            if column.null_count:
                self.two_empties.add(name)
            column = column.cast(pa.string())
            with_nulls = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            rows = rows.set_column(i, name, with_nulls.dictionary_encode())
        return rows

    def holding(self, columns: Sequence[str], spellings: Collection[str]) -> list[str]:
        """No column: with spellings or without, all may hold numbers."""
        return []

    def _value(self, name: str) -> str:
        """The SQL of a column as it is counted: an empty field is a null."""
        return f"nullif({self._raw(name)}, '')"


def values_of(rows: pa.Table) -> tuple[pa.Array, IntArray]:
    """Values, and how often each occurs, of a table with these two columns."""
    values = rows.column(0).combine_chunks()
    return values, rows.column(1).to_numpy().astype(np.int64)


def distinct_from(numbers: Sequence[Any], columns: Sequence[str]) -> tuple[int, Distinct]:
    """The result of `DuckTable.distinct`: from the number of rows, and two numbers per column."""
    pairs = zip(map(int, numbers[1::2]), map(int, numbers[2::2]), strict=True)
    return int(numbers[0]), dict(zip(columns, pairs, strict=True))


def _encoded(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """All batches as one table with columns called 0, 1, ..., its texts as dictionaries."""
    names = [str(number) for number in range(len(schema))]
    no_rows = [_coded(pa.nulls(0, kind)) for kind in schema.types]
    # An empty batch first, so that a table without rows has columns, too.
    batches_encoded = [pa.RecordBatch.from_arrays(no_rows, names)]
    for b in batches:
        batches_encoded.append(pa.RecordBatch.from_arrays([*map(_coded, b.columns)], names))
    return pa.Table.from_batches(batches_encoded).unify_dictionaries()


def _coded(column: pa.Array) -> pa.Array:
    """A column of texts as codes into a dictionary; others unchanged."""
    return column.dictionary_encode() if pa.types.is_string(column.type) else column


# A pattern in a message of DuckDB, and the words that replace the message.
_SAID = {
    r"\A[^\n]*quote|unterminated": "a quote is not closed",
    r"state machine": "mixed line ends; save the file with one kind",
    r"max(imum |_)line.size": "a line of over 2 MB; is a quote not closed?",
    r"unicode|utf-8": f"not UTF-8; save it again as UTF-8, or {to_add('encoding', 'cp1252')}",
}


@contextmanager
def clear_errors(name: str) -> Iterator[None]:
    """Turn errors of DuckDB and Arrow into a `DataError` of one line; `name` is the table's."""
    try:
        yield
    # Arrow passes on, as an error of its own, what DuckDB meets while rows are fetched.
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if short_of_memory(error):
            raise NotEnoughMemory(f"reading {name}") from error
        raise DataError(_in_one_line(error, name)) from None


def _in_one_line(error: BaseException, name: str) -> str:
    """The message of an error of DuckDB, with the line of the file and without its advice."""
    text, first_line = str(error), str(error).splitlines()[0]
    if "holds a text of over" in text:
        return f"{name}: {first_line.removeprefix('Invalid Input Error: ')}"
    if isinstance(error, duckdb.PermissionException):
        return (
            f"{name} is a view that reaches out of its file, which is refused "
            f"({first_line.removeprefix('Permission Error: ')}); make a table of it there"
        )
    # Advice of DuckDB is about its own functions, so only the place and the fault are kept.
    line = re.search(r"on Line: (\d+)", text)
    where = f"{name}, line {line[1]}" if line else name
    shape = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if shape:
        fields = "1 field" if shape[2] == "1" else f"{shape[2]} fields"
        return f"{where}: {fields} where the header has {shape[1]}"
    if "gzip" in text.lower():
        return f"{name} cannot be read: {first_line}"
    for message, explanation in _SAID.items():
        if re.search(message, text, re.IGNORECASE):
            return f"{where}: {explanation}"
    return f"{where}: {first_line}"
