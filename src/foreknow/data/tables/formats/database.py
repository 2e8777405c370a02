"""Tables in a PostgreSQL database, through ADBC; counting is the database's own GROUP BY."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.tables.formats.database_address import ADVICE, Address, read_address, spoken
from foreknow.data.tables.table import check_columns, place_of, sql_name, sql_text, unreadable
from foreknow_judge.errors import DataError

_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TABLES = """
SELECT n.nspname AS schema, c.relname AS name
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema'
  AND n.nspname NOT LIKE 'pg\\_%' AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, 2
"""
_COLUMNS = """
SELECT a.attname AS name, CASE t.typtype WHEN 'e' THEN 'text'
  WHEN 'd' THEN format_type(t.typbasetype, NULL) ELSE format_type(t.oid, NULL) END AS kind
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = {}::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_AS_IT_IS = {"smallint", "integer", "bigint", "boolean", "date", "timestamp without time zone"}
_AS_IT_IS |= {"timestamp with time zone", "real", "double precision"}
_FLOATS = {"real", "double precision"}
# Collations may take texts for equal that readers of what is published tell apart.
_AS_TEXT = {"text", "character varying", "character", '"char"', "name", "uuid", "citext"}


class DatabaseTable:
    """A table or view; all that is read of it is of one moment."""

    untyped = is_stable = False

    def __init__(self, source: str | Path) -> None:
        """Connect to the database, and look up the columns of the table that an address names."""
        server, slash, address, table_asked = _address_parts(source)
        self.name = f"postgresql://{slash}{server.place}"
        self._secrets = server.secrets
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise DataError(
                f'{self.name} needs the ADBC driver of PostgreSQL: pip install ".[sql]" in a clone'
            ) from None
        with self._clear_errors():
            connection = dbapi.connect(address)
            self._cursor = connection.cursor()
            weakref.finalize(self, _close, self._cursor, connection)
            # All later queries see the database as it is at this moment.
            self._cursor.execute(_SNAPSHOT)
            tables = [(row["schema"], row["name"]) for row in self._ask(_TABLES).to_pylist()]
            table, schema = place_of(self.name, tables, "public", table_asked)
            self._place = ".".join(map(sql_name, schema))
            columns = self._ask(_COLUMNS.format(sql_text(self._place))).to_pylist()
        self.name = f"{self.name}, table {table}"
        self._kinds: Mapping[str, str] = {row["name"]: row["kind"] for row in columns}
        self.columns = check_columns(list(self._kinds), self.name)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns."""
        with self._clear_errors():
            rows = self._ask(f"SELECT {self._select_list(columns)} FROM {self._place}")
        return self._with_decimals(rows)

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any] | None:
        """Count equal rows by one GROUP BY in the database; None if there are floats.

        The database takes 0.0 and -0.0 for one number, which readers of a release may not.
        """
        if any(self._kinds[column].removesuffix("[]") in _FLOATS for column in columns):
            return None
        positions = ", ".join(str(position) for position in range(1, len(columns) + 1))
        with self._clear_errors():
            counted_rows = self._ask(
                f"SELECT {self._select_list(columns)}, count(*) FROM {self._place} "
                f"GROUP BY {positions}"
            )
        last = counted_rows.num_columns - 1
        rows, times = counted_rows.select(range(last)), counted_rows.column(last)
        return self._with_decimals(rows), times.to_numpy()

    def _ask(self, query: str) -> pa.Table:
        """The result of a query."""
        self._cursor.execute(query)
        return self._cursor.fetch_arrow_table()

    def _select_list(self, columns: Sequence[str]) -> str:
        """The SQL expressions that read some columns, each under its name."""
        return ", ".join(f"{self._expression(column)} AS {sql_name(column)}" for column in columns)

    def _expression(self, column: str) -> str:
        """The SQL expression that reads a column; `DataError` for a type that cannot be read."""
        kind, name = self._kinds[column], sql_name(column)
        element_kind = kind.removesuffix("[]")
        if element_kind in _AS_IT_IS:
            return name
        if element_kind in _AS_TEXT:
            brackets = kind.removeprefix(element_kind)  # "[]" for a column of lists
            return f'{name}::text{brackets} COLLATE "C"'
        if kind == "numeric":  # 1.0 and 1.00 are one number, and two texts
            return f"trim_scale({name})::text"
        raise DataError(
            f"{self.name}: column {column!r} is of type {kind}; make a view that casts it to text, "
            "or to a number or date"
        )

    def _with_decimals(self, rows: pa.Table) -> pa.Table:
        """Rows in which numbers of any size, which come as texts, are decimals."""
        for position, column in enumerate(rows.column_names):
            if self._kinds[column] != "numeric":
                continue
            texts = rows.column(position)
            # As many decimal places as the number with the most of them has.
            decimal_parts = pc.replace_substring_regex(texts, r"^[^.]*\.?", "")
            n_decimals = pc.max(pc.utf8_length(decimal_parts)).as_py()
            try:
                decimals = texts.cast(pa.decimal128(38, n_decimals or 0))
            except pa.ArrowInvalid:
                raise DataError(
                    f"{self.name}: column {column!r} holds a number of over 38 digits, NaN or "
                    "infinity; make a view that casts it to double precision or to text"
                ) from None
            rows = rows.set_column(position, column, decimals)
        return rows

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn an error of the database into a `DataError` of one line, without any password."""
        from adbc_driver_manager import Error

        try:
            yield
        except Error as error:
            message = re.sub(r"^[A-Z_]+: (\[libpq\] )?", "", str(error)).splitlines()[0]
            for secret in reversed(self._secrets):
                message = message.replace(secret, "...")
            raise unreadable(self.name, error, message) from None


def _close(*handles: Any) -> None:
    """Close cursors and connections, in this order."""
    for handle in handles:
        handle.close()


def _address_parts(source: str | Path) -> tuple[Address, str, str, str | None]:
    """Take the address of a table in PostgreSQL apart.

    Returns
    -------
    address : Address
    slash : str
        "/" for a server of this machine, which the address names by three slashes; else "".
    for_libpq : str
        The address without the table, as the library of PostgreSQL reads it.
    table : str or None
        The table that the address names.
    """
    address = read_address(source)
    if address is None:
        raise DataError(f"the address {spoken(source)} cannot be read: {ADVICE}")
    slash = "/" if str(source).startswith(f"{address.scheme}:///") else ""
    # The part that names the table is ours; the library would refuse it.
    options = parse_qsl(address.query, keep_blank_values=True)
    query = urlencode([option for option in options if option[0] != "table"], quote_via=quote)
    user = f"{address.who}@" if address.who else ""
    for_libpq = f"postgresql://{user}{slash}{address.place}{f'?{query}' if query else ''}"
    return address, slash, for_libpq, dict(options).get("table")
