"""Counted: equal rows of a table counted where it lives, and each row with what belongs to it.

Rows never become objects of Python: counts come as narrow codes, and what is written of each row
passes through in batches.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.engines.duckdb_table import DuckTable, clear_errors
from foreknow.data.engines.parquet_table import ParquetTable
from foreknow.data.engines.spelled import Spelled
from foreknow.data.engines.table import Snapshot, Table, free_name, sql_name
from foreknow.data.sparse import IntArray
from foreknow.engine import connect
from foreknow.errors import DataError

if TYPE_CHECKING:
    from foreknow.data.engines.drawn import Drawing

_log = logging.getLogger(__name__)
_BATCH = 1 << 20
_numbers = count(1)
# Types that come out of the engine as they do when they are read into memory.
_WHOLE = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER")}
_FLOATS = {"FLOAT", "DOUBLE"}
# Of each column: how many rows have a value, and how many values there are.
Distinct: TypeAlias = dict[str, tuple[int, int]]
_KINDS = _WHOLE | _FLOATS | {"BIGINT", "UBIGINT", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP"}


class Source(Protocol):
    """A table whose equal rows are counted where it lives, and whose rows can be found again.

    Attributes
    ----------
    untyped : bool
        Whether all columns are texts whose types are to be found.
    in_order : bool
        Whether its rows may be read into memory, where each has a number.
    rows_per_part : int or None
        How many rows a file of a release has, where nothing is said; None where it is one file.
    """

    untyped: bool
    in_order: bool
    rows_per_part: int | None

    @property
    def size(self) -> int | None:
        """Rows, or of a CSV file bytes; None where it is counted, however small."""
        ...

    def is_text(self, column: str) -> bool:
        """Whether a column is of texts."""
        ...

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, IntArray]:
        """Count equal rows of some columns."""
        ...

    def distinct(self, columns: Sequence[str]) -> tuple[int, Distinct]:
        """How many rows there are, how many have a value of each column, and how many values."""
        ...

    def head(self, columns: Sequence[str], rows: int) -> pa.Table:
        """Some rows that are found at once."""
        ...

    def sampled(self, column: str, share: int) -> tuple[pa.Array, IntArray]:
        """One of so many values, at random but always the same, and how often each occurs."""
        ...

    def drawn(self, drawing: Drawing, path: Path, most: int | None) -> list[Path] | None:
        """Write rows of a release as files of a folder, where many can; None where it is for us."""
        ...


def counted_where_it_lives(table: Table, columns: Sequence[str]) -> Source | str:
    """Take a table whose equal rows can be counted, or say why it is to be read into memory."""
    inner: Any = (table.inner or table) if isinstance(table, Snapshot) else table
    spelled = inner if isinstance(inner, Spelled) else None
    if spelled is not None:
        inner = spelled.as_written
    if hasattr(inner, "without") and spelled is not None:
        inner, spelled = spelled.in_engine(inner, columns), None
    offered = getattr(inner, "counted", None)
    if offered is None:
        return Counted.of(inner, columns, spelled)
    found: Source | str = offered(columns)
    return found


class Counted:
    """A table in DuckDB, or one that it can read without Python.

    Parameters
    ----------
    table : Table
    duck : DuckTable
        The same in DuckDB.
    columns : sequence of str
        Those that are looked at.
    """

    in_order = True
    rows_per_part: int | None = None

    def __init__(self, table: Table, duck: DuckTable, columns: Sequence[str]) -> None:
        self.duck, self._columns = duck, list(columns)
        self.table: Any = table
        self.untyped = duck.untyped

    @classmethod
    def of(
        cls, inner: Table, columns: Sequence[str], spelled: Spelled | None = None
    ) -> Counted | str:
        """Take a table, or say why it is to be read into memory."""
        if isinstance(inner, DuckTable):
            duck = inner
        elif isinstance(inner, ParquetTable):
            odd = inner.odd_for_engines(columns)
            if odd is not None:
                return odd
            duck = DuckTable.of_parquet(inner.files, inner.name)
            if spelled is not None:
                duck = spelled.in_engine(duck, columns)
        else:
            return f"{inner.name} is neither CSV nor Parquet, nor a relation or file of DuckDB"
        return _odd_kind(duck, columns) or cls(inner, duck, columns)

    def is_text(self, column: str) -> bool:
        """Whether a column is of texts."""
        return self.duck.kind(column) == "VARCHAR"

    def drawn(self, drawing: Drawing, path: Path, most: int | None) -> None:
        """Nobody but us draws the release."""

    @property
    def size(self) -> int:
        """Rows; of a CSV file bytes, since its rows are known once it is read."""
        if isinstance(self.table, ParquetTable):
            return self.table.n_rows
        if self.duck.file is not None:
            return self.duck.file.path.stat().st_size
        with clear_errors(self.duck.name):
            ((rows,),) = self.duck.relation.aggregate("count(*)").fetchall()
        return int(rows)

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, IntArray]:
        """Count equal rows of some columns: their values as narrow codes, and how often each is."""
        keys = ", ".join(map(self._value, columns))
        with clear_errors(self.duck.name):
            grouped = self.duck.relation.aggregate(f"{keys}, count(*)", keys)
            found, times = in_codes(grouped.to_arrow_reader(_BATCH), columns)
        self._check(int(times.sum()))
        return found, times

    def distinct(self, columns: Sequence[str]) -> tuple[int, Distinct]:
        """How many rows there are, how many have a value of each column, and how many values."""
        asked = [f"count({v}), count(DISTINCT {v})" for v in map(self._value, columns)]
        with clear_errors(self.duck.name):
            found = self.duck.relation.aggregate(", ".join(["count(*)", *asked])).fetchall()
        return pairs_of(found[0], columns)

    def head(self, columns: Sequence[str], rows: int) -> pa.Table:
        """Some rows that are found at once."""
        with clear_errors(self.duck.name):
            chosen = self.duck.relation.limit(rows).project(", ".join(map(self._value, columns)))
            return chosen.to_arrow_table().rename_columns(list(columns))

    def sampled(self, column: str, share: int) -> tuple[pa.Array, IntArray]:
        """One of so many values, at random but always the same, and how often each occurs."""
        value = self._value(column)
        with clear_errors(self.duck.name):
            some = self.duck.relation.filter(f"{value} IS NOT NULL AND hash({value}) % {share} = 0")
            found = some.aggregate(f"{value}, count(*)", value).to_arrow_table()
        return values_of(found)

    def looked_up(
        self,
        keys: pa.Table,
        of_key: IntArray,
        needed: Sequence[str],
        own: Sequence[str],
        *,
        in_order: bool = False,
    ) -> Iterator[tuple[pa.RecordBatch, IntArray]]:
        """Rows in their order, a batch at a time: some columns, and what belongs to their key.

        That is -1 for a key that is not there, and where a needed column is missing. Rows in
        another order are an `OutOfOrder`, unless they are put in order, which takes longer.
        """
        number = next(_numbers)
        source, known = f"rows{number}", f"keys{number}"
        on = " AND ".join(
            f"{self._value(name)} IS NOT DISTINCT FROM {known}.k{i}"
            for i, name in enumerate(keys.column_names)
        )
        missing = map(self._is_missing, needed)
        found = f"CASE WHEN {' OR '.join(['FALSE', *missing])} THEN -1 ELSE coalesce(g, -1) END"
        columns = [f"{self._raw(name)} AS c{i}" for i, name in enumerate(own)]
        columns += [f"row_number() OVER () AS {source}", *map(self._raw, self._used(keys, needed))]
        shown = [f"c{i}" for i in range(len(own))]
        keyed = pa.table(keys.columns, names=[f"k{i}" for i in range(keys.num_columns)])
        keyed = keyed.append_column("g", pa.array(of_key))
        with clear_errors(self.duck.name):
            connection, rows = self._opened([*dict.fromkeys([*own, *self._used(keys, needed)])])
            connection.register(f"given{known}", keyed)
            # A table, since the engine looks up nothing in columns of Arrow.
            connection.execute(f"CREATE TEMP TABLE {known} AS FROM given{known}")
            try:
                rows = rows.project(", ".join(dict.fromkeys(columns))).set_alias(source)
                joined = rows.join(connection.table(known), on, how="left")
                asked = joined.project(", ".join([*shown, source, f"{found} AS g"]))
                asked = asked.order(source) if in_order else asked
                done = 0
                for batch in asked.to_arrow_reader(_BATCH):
                    at = np.asarray(batch.column(len(own)))
                    if len(at) and (at[0] != done + 1 or (np.diff(at) != 1).any()):
                        raise OutOfOrder(f"{self.duck.name} gave its rows in another order")
                    done += len(at)
                    given = pa.RecordBatch.from_arrays(batch.columns[: len(own)], list(own))
                    yield given, np.asarray(batch.column(len(own) + 1), dtype=np.int64)
            finally:
                connection.execute(f"DROP TABLE IF EXISTS {known}")
                connection.unregister(f"given{known}")
        self._check(done)

    def _opened(self, columns: Sequence[str]) -> tuple[Any, Any]:
        """A connection of ours, and rows with some columns; those of another come as a stream."""
        if self.duck.connection is not None:
            return self.duck.connection, self.duck.relation
        connection = connect()
        chosen = self.duck.relation.project(", ".join(dict.fromkeys(map(self._raw, columns))))
        stream = chosen.to_arrow_reader(_BATCH)
        return connection, connection.from_arrow(stream)

    def _used(self, keys: pa.Table, needed: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*keys.column_names, *needed]))

    def _check(self, n_rows: int) -> None:
        """Raise `DataError` if these are not all rows of a file, or it changed."""
        self.duck.check(n_rows)
        if isinstance(self.table, ParquetTable):
            self.table.check()

    def _raw(self, name: str) -> str:
        return sql_name(self.duck.inner(name))

    def _value(self, name: str) -> str:
        """A column as it is counted; of a CSV file, an empty field is a null."""
        raw = self._raw(name)
        return f"nullif({raw}, '')" if self.duck.untyped else raw

    def _is_missing(self, name: str) -> str:
        """Whether a value is missing; by its text, since statistics of a file know no NaN."""
        value = self._value(name)
        nan = f" OR {value}::VARCHAR = 'nan'" if self.duck.kind(name) in _FLOATS else ""
        return f"{value} IS NULL{nan}"


def _odd_kind(duck: DuckTable, columns: Sequence[str]) -> str | None:
    """Why some columns cannot be counted; None where they can."""
    for name in columns:
        if name not in duck.columns:
            return f"column {name!r} differs from another by upper and lower case only"
        kind = duck.kind(name)
        if kind not in _KINDS and not kind.startswith("DECIMAL"):
            return f"column {name!r} is of type {kind}"
    return None


class InFrame:
    """Equal rows of a lazy frame, counted by whatever holds it."""

    table: Any  # a NarwhalsTable

    def is_text(self, column: str) -> bool:
        """Whether a column is of texts."""
        return bool(self.table.is_text(column))

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, IntArray]:
        """Count equal rows of some columns."""
        import narwhals as nw  # no file needs it, and it takes as long as counting one

        keys = [*map(self.table.inner, columns)]
        grouped = self.table.frame.group_by(*keys, drop_null_keys=False)
        found = self.table.fetched(grouped.agg(nw.len().alias(free_name("n", keys))))
        _log.info("%.1f MB of counts came from %s", found.nbytes / 1e6, self.table.name)
        return in_codes(found.to_batches(), columns)

    def head(self, columns: Sequence[str], rows: int) -> pa.Table:
        """Some rows that are found at once."""
        chosen = self.table.frame.select(*map(self.table.inner, columns))
        found: pa.Table = self.table.fetched(chosen.head(rows))
        return found.rename_columns(list(columns))

    def sampled(self, column: str, share: int) -> tuple[pa.Array, IntArray]:
        """All values, and how often each occurs: not every engine has a hash."""
        import narwhals as nw

        known = self.table.frame.drop_nulls(self.table.inner(column))
        grouped = known.group_by(self.table.inner(column)).agg(nw.len().alias("n_"))
        return values_of(self.table.fetched(grouped))


class Streamed(InFrame, Counted):
    """A table of Ibis, counted there; rows come only to be looked up, in batches."""

    @classmethod
    def of_table(cls, table: Any, columns: Sequence[str]) -> Streamed | str:
        """Take a table, or say why it is to be read into memory."""
        schema = table.frame.to_native().schema().to_pyarrow()
        duck = DuckTable(connect().from_arrow(schema.empty_table()), table.name, table.columns)
        return _odd_kind(duck, columns) or cls(table, duck, columns)

    @property
    def size(self) -> int:
        """Rows."""
        import narwhals as nw

        return int(self.table.fetched(self.table.frame.select(n=nw.len()))["n"][0].as_py())

    def distinct(self, columns: Sequence[str]) -> tuple[int, Distinct]:
        """How many rows there are, how many have a value of each column, and how many values."""
        native = self.table.frame.to_native()  # PostgreSQL does not cast as Narwhals asks
        asked: list[Any] = [native.count()]
        for value in map(native.__getitem__, columns):
            asked += [value.count(), value.nunique()]
        named = {f"n{place}": each for place, each in enumerate(asked)}
        (row,) = native.aggregate(**named).to_pyarrow().select([*named]).to_pylist()
        return pairs_of([*row.values()], columns)

    def _opened(self, columns: Sequence[str]) -> tuple[Any, Any]:
        connection, native = connect(), self.table.frame.to_native()
        chosen = native.select(**{self.duck.inner(name): native[name] for name in columns})
        if native.get_backend().name == "duckdb":  # whose version 2 Ibis cannot ask for batches
            return connection, connection.from_arrow(chosen.to_pyarrow())
        return connection, connection.from_arrow(chosen.to_pyarrow_batches(chunk_size=_BATCH))


def values_of(found: pa.Table) -> tuple[pa.Array, IntArray]:
    """Values, and how often each occurs, of a table with these two columns."""
    values = found.column(0).combine_chunks()
    return values, found.column(1).to_numpy().astype(np.int64)


def pairs_of(found: Sequence[Any], columns: Sequence[str]) -> tuple[int, Distinct]:
    """What `Source.distinct` gives, of the numbers in one row."""
    each = zip(map(int, found[1::2]), map(int, found[2::2]), strict=True)
    return int(found[0]), dict(zip(columns, each, strict=True))


class OutOfOrder(DataError):
    """Rows that were looked up do not come in the order of the table."""


def in_codes(
    batches: Iterable[pa.RecordBatch], columns: Sequence[str]
) -> tuple[pa.Table, IntArray]:
    """Counted rows, whose last column says how often each is, with columns as narrow codes."""
    gathered, times = [_Codes() for _ in columns], []
    for batch in batches:
        for own, array in zip(gathered, batch.columns, strict=False):
            own.add(array)
        times.append(np.asarray(batch.column(len(columns)), dtype=np.int64))
    found: IntArray = np.concatenate(times) if times else np.empty(0, dtype=np.int64)
    return pa.table([own.array() for own in gathered], names=list(columns)), found


class _Codes:
    """A column of batches as codes into its distinct values, as narrow as these allow."""

    def __init__(self) -> None:
        self._values: pa.Array | None = None
        self._codes: list[Any] = []

    def add(self, array: pa.Array) -> None:
        """Add a batch, with one zero: engines group and join both as equal, and either may come."""
        if pa.types.is_floating(array.type):
            array = pc.add(array, pa.scalar(0.0, array.type))
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        own, known = coded.dictionary, self._values
        if known is None:
            self._values = own
            place = np.arange(len(own))
        else:
            place = pc.index_in(own, known).to_numpy(zero_copy_only=False)
            new = np.isnan(place) if place.dtype.kind == "f" else np.zeros(len(place), dtype=bool)
            place = np.where(new, len(known) - 1 + np.cumsum(new), place).astype(np.int64)
            if new.any():
                self._values = pa.concat_arrays([known, own.filter(pa.array(new))])
        assert self._values is not None
        kind = np.min_scalar_type(-max(len(self._values), 1))
        at = coded.indices.fill_null(len(own)) if coded.null_count else coded.indices
        self._codes.append(np.append(place, -1).astype(kind)[at.to_numpy(zero_copy_only=False)])

    def array(self) -> pa.Array:
        """The column."""
        values = pa.array([], pa.string()) if self._values is None else self._values
        codes = np.concatenate(self._codes) if self._codes else np.empty(0, dtype=np.int8)
        self._codes = []
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), values)
