"""Counted: equal rows of a table counted where it lives, and each row with what belongs to it.

Rows never become objects of Python: counts come as narrow codes, and what is written of each row
passes through in batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.engines.duckdb_table import DuckTable, clear_errors
from foreknow.data.engines.parquet_table import ParquetTable
from foreknow.data.engines.table import Snapshot, Table, sql_name
from foreknow.data.sparse import IntArray
from foreknow.engine import connect
from foreknow.errors import DataError

_BATCH = 1 << 20
_numbers = count(1)
# Types that come out of the engine as they do when they are read into memory.
_WHOLE = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER")}
_FLOATS = {"FLOAT", "DOUBLE"}
_KINDS = _WHOLE | _FLOATS | {"BIGINT", "UBIGINT", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP"}


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

    def __init__(self, table: Table, duck: DuckTable, columns: Sequence[str]) -> None:
        self.table, self.duck, self._columns = table, duck, list(columns)

    @classmethod
    def of(cls, table: Table, columns: Sequence[str]) -> Counted | str:
        """Take a table, or say why it is to be read into memory."""
        inner = getattr(table, "_table", table) if isinstance(table, Snapshot) else table
        if isinstance(inner, DuckTable):
            duck = inner
        elif isinstance(inner, ParquetTable):
            odd = inner.odd_for_engines(columns)
            if odd is not None:
                return odd
            duck = DuckTable.of_parquet(inner.files, inner.name)
        else:
            return f"{table.name} is neither CSV nor Parquet, nor a relation or file of DuckDB"
        for name in columns:
            if name not in duck.columns:
                return f"column {name!r} differs from another by upper and lower case only"
            kind = duck.kind(name)
            if kind not in _KINDS and not kind.startswith("DECIMAL"):
                return f"column {name!r} is of type {kind}"
        return cls(inner, duck, columns)

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
        gathered, times = [_Codes() for _ in columns], []
        keys = ", ".join(map(self._value, columns))
        with clear_errors(self.duck.name):
            grouped = self.duck.relation.aggregate(f"{keys}, count(*)", keys)
            for batch in grouped.to_arrow_reader(_BATCH):
                for own, array in zip(gathered, batch.columns, strict=False):
                    own.add(array)
                times.append(np.asarray(batch.column(len(columns)), dtype=np.int64))
        found: IntArray = np.concatenate(times) if times else np.empty(0, dtype=np.int64)
        self._check(int(found.sum()))
        arrays = [own.array() for own in gathered]
        return pa.table(arrays, names=list(columns)), found

    def names_each_row(self, person: str) -> bool:
        """Whether a column names somebody in each row, and nobody twice."""
        value = self._value(person)
        query = f"count(*), count({value}), count(DISTINCT {value})"
        with clear_errors(self.duck.name):
            ((rows, named, people),) = self.duck.relation.aggregate(query).fetchall()
        return bool(rows == named == people)

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
            connection, rows = self._opened()
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

    def _opened(self) -> tuple[Any, Any]:
        """A connection of ours, and the rows in it; those of somebody's own come as a stream."""
        if self.duck.connection is not None:
            return self.duck.connection, self.duck.relation
        connection = connect()
        stream = self.duck.relation.to_arrow_reader(_BATCH)
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


class OutOfOrder(DataError):
    """Rows that were looked up do not come in the order of the table."""


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
