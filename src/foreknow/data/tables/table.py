"""Table: what every engine gives of its rows, by column; a snapshot where reads may differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.tables.formats.databases import memory_limit
from foreknow.errors import unknown_column
from foreknow_judge.errors import DataError, ForeknowError, NotEnoughMemory, short_of_memory
from foreknow_judge.files.printable import one_line


class Table(Protocol):
    """A table somewhere: its columns are known, its rows are fetched only when asked for."""

    name: str
    columns: list[str]
    untyped: bool = False
    is_stable: bool = True  # whether its rows come in one order however often they are read

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns, rows in the table's own order."""
        ...

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any] | None:
        """Count equal rows of some columns where the data lives: the rows, and how often each.

        None where the rows are at hand, and are counted here.
        """
        return None


def check_columns(columns: Sequence[str], name: str) -> list[str]:
    """Return the columns; two of one name, or one without a name, are an error."""
    not_texts = [column for column in columns if not isinstance(column, str)]
    if not_texts:
        raise DataError(f"{name}: the column name {not_texts[0]!r} is no text; rename the columns")
    for position, column in enumerate(columns, 1):
        try:
            # Python can hold half of a surrogate pair, which no file can.
            column.encode()
        except UnicodeEncodeError:
            raise DataError(
                f"{name}: the name of column {position} holds half a character (a lone surrogate); "
                "rename it"
            ) from None
    twice = [column for column, times in Counter(columns).items() if times > 1]
    if twice:
        advice = "rename one of them"
        # Many repeats, or empty names: the first line is a title above the names.
        if not twice[0].strip() or 2 * len({*columns}) <= len(columns):
            advice = f"if the names stand in a line below, delete those above it; else {advice}"
        raise DataError(f"{name} has two columns named {twice[0]!r}; {advice}")
    if any(not column.strip() for column in columns):
        position = [column.strip() for column in columns].index("") + 1
        advice = "give it one"
        if position == 1:
            advice = "if it is the index that pandas wrote, write the table with index=False"
        elif columns[0] == "sep=":
            advice = "remove the first line, which is for Excel"
        raise DataError(f"{name}: column {position} has no name; {advice}")
    return list(columns)


# Up to here two columns of codes fit the memory of a small machine, and counting them is faster
# than a GROUP BY.
_ROWS_IN_MEMORY = 150_000_000
_BYTES_PER_ROW = 32


def most_rows_in_memory() -> int:
    """How many rows of a table may be held at once."""
    limit = memory_limit()
    return _ROWS_IN_MEMORY if limit is None else limit // _BYTES_PER_ROW


def unreadable(name: str, error: BaseException, reason: str = "", kind: str = "") -> ForeknowError:
    """The error of one line that says that a table cannot be read, and why."""
    if short_of_memory(error):
        return NotEnoughMemory(f"reading {name}")
    first = (str(error).splitlines() or [type(error).__name__])[0]
    return DataError(f"{name} cannot be read{kind}: {one_line(reason or first)}")


def first_row_of(table: Table) -> int:
    """The number that messages give the first row: 1, or its number in a sheet of a workbook."""
    number: int = getattr(table, "first_row", 1)
    return number


def choose(file: str, kind: str, names: Sequence[str], wanted_name: str | None) -> str:
    """The name of the part of a file to open: the wanted one, or the only one.

    `kind` is "table" or "sheet", and `names` are the parts of the file. Raises `DataError` if there
    is no such part, or if there are several and none is wanted.
    """
    listed = ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    if not names:
        raise DataError(f"{file} has no {kind}")
    if wanted_name is None and len(names) == 1:
        return names[0]
    if wanted_name is None:
        raise DataError(f"{file} has several {kind}s: {listed}; name one: {file}?{kind}={names[0]}")
    if wanted_name not in names:
        raise DataError(f"{file} has no {kind} {wanted_name!r}; it has {listed}")
    return wanted_name


def place_of(
    file: str, tables: Iterable[Sequence[str]], usual: str, wanted_name: str | None
) -> tuple[str, tuple[str, str]]:
    """The title, schema and name of the wanted table among `tables`, pairs of a schema and a name.

    The title is the name alone in the `usual` schema, else "schema.name". None as `wanted_name`:
    there must be only one table. `DataError` if a title is that of two tables.

    >>> place_of("a.db", [("clinic", "people"), ("main", "visits")], "main", "clinic.people")
    ('clinic.people', ('clinic', 'people'))
    """
    tables_of_title: dict[str, list[tuple[str, str]]] = {}
    for schema, table in tables:
        title = table if schema == usual else f"{schema}.{table}"
        tables_of_title.setdefault(title, []).append((schema, table))
    title = choose(file, "table", list(tables_of_title), wanted_name)
    first, *others = tables_of_title[title]
    if others:
        pair = " and ".join(f"{sql_name(s)}.{sql_name(t)}" for s, t in [first, *others])
        raise DataError(
            f"{file} has two tables that are called {title!r}: {pair}; rename one of them, or make "
            "a view of the one that is meant"
        )
    return title, first


def require(
    table: Table, columns: Sequence[str], key_of: Callable[[str], str | None] | None = None
) -> None:
    """Raise `DataError`, with a hint, for the first of some columns that the table lacks.

    `key_of` says which key of a policy names a column.
    """
    for column in columns:
        if column not in table.columns:
            if column in getattr(table, "index", ()):
                raise DataError(
                    f"{table.name} has no column {column!r}: it is in the index; give "
                    "frame.reset_index()"
                )
            # A CSV file of one column was perhaps divided by the wrong sign.
            if len(table.columns) > 1 or not table.untyped:
                key = None if key_of is None else key_of(column)
                raise unknown_column(column, table.columns, table.name, key)
            raise DataError(
                f"{table.name} has no column {column!r} but only {table.columns[0]!r}; if these "
                "are several, say what stands between them, such as --delimiter :"
            )


def free_name(name: str, used_names: Container[str]) -> str:
    """The name, with as many underscores after it as it takes to be no other column's."""
    while name in used_names:
        name += "_"
    return name


def sql_name(name: str) -> str:
    """A name in a query."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """A text in a query."""
    return "'" + text.replace("'", "''") + "'"


def with_signs(rows: pa.Table, floats: Sequence[str], minus: Sequence[Any] | None) -> pa.Table:
    """Rows in which floats have the signs that `minus` says; if it is None, all zeros are 0.0.

    Engines take 0.0 and -0.0 for one value and give either, but readers of what is published may
    not. `minus` says for each of the columns `floats` which rows are negative.
    """
    for i, name in enumerate(floats):
        column = rows.column(name)
        if minus is None:
            signed = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 + 0.0 is 0.0
        else:
            magnitude = pc.abs(column)
            signed = pc.if_else(minus[i], pc.negate(magnitude), magnitude)
        rows = rows.set_column(rows.column_names.index(name), name, signed)
    return rows


_LISTS: Any = (pa.ListType, pa.LargeListType, pa.FixedSizeListType)
_LISTS += (pa.ListViewType, pa.LargeListViewType)


def is_listed(kind: pa.DataType) -> bool:
    """True if a type is one of lists."""
    return isinstance(kind, _LISTS)


def holds_lists(table: Table, column: str) -> bool:
    """True if a column may hold lists: of a file of texts one with separators."""
    return not table.untyped or column in getattr(table, "divided", ())


def is_text(kind: pa.DataType) -> bool:
    """True if a type is one of texts, as they are or as codes."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


class Derived(Table):
    """A table that is made of another one, which is read anew each time; no engine counts it."""

    arrow_of_values: Any = None  # not passed on: it would give the other table's rows unchanged

    def __init__(self, table: Table) -> None:
        self.name, self.columns, self.untyped = table.name, table.columns, table.untyped
        self._table = table

    def __getattr__(self, name: str) -> Any:
        """Any other attribute is that of the other table."""
        if name.startswith("_"):  # `_table` itself is not there yet while this is copied
            raise AttributeError(name)
        return getattr(self._table, name)


class Selected(Derived):
    """Some of the rows of a table."""

    def __init__(self, table: Table, rows: NDArray[np.bool_]) -> None:
        super().__init__(table)
        self._rows = rows

    @property
    def unshown(self) -> Table:
        """These rows of the table in which each row of a household has its values."""
        return Selected(unshown(self._table), self._rows)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns of these rows."""
        return self._table.arrow(columns).filter(pa.array(self._rows))

    def counted(self, columns: Sequence[str]) -> str:
        """Why no engine counts them: it has all rows."""
        return f"only some rows of {self.name} are meant"


def unshown(table: Table) -> Table:
    """A table as it stands, in which the values of a household are not shown once."""
    as_it_stands: Table = getattr(table, "unshown", table)
    return as_it_stands


class Snapshot:
    """A table of which some columns are read once, on first use; others can only be counted."""

    is_stable = True

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self.name = table.name
        self.columns = table.columns
        self.untyped = table.untyped
        self._table = table
        self.held = list(dict.fromkeys(columns))

    @property
    def inner(self) -> Table | None:
        """The table itself; None in another process."""
        return self._table

    @cached_property
    def _rows(self) -> pa.Table:
        """The columns that are read once."""
        require(self._table, self.held)
        return self._table.arrow(self.held)

    @cached_property
    def spelled(self) -> Collection[str]:
        """The columns in which a text stands for a missing value; the rows are read for it."""
        # Snapshots may lie in each other: look at the table itself.
        inner: Any = self._table
        while isinstance(inner, Snapshot):
            inner = inner.inner
        if not hasattr(inner, "spelled"):  # rows of a cluster are not fetched to say so
            return frozenset()
        _ = self._rows  # such texts are noticed while rows are read
        return frozenset(inner.spelled)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes with which it goes into another process: only what was read."""
        return {
            "name": self.name,
            "columns": self.held,
            "untyped": self.untyped,
            "spelled": self.spelled,
            "held": self.held,
            "_rows": self._rows,
            "_table": None,
        }

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Some of the columns that were read once; `DataError` for another one.

        Another reading might give rows in another order.
        """
        for column in columns:
            if column not in self.held:
                raise DataError(
                    f"{self.name} has no order of rows, so column {column!r} cannot be read once "
                    "more beside the others; collect it into a frame first, such as "
                    ".to_arrow_table() or .collect()"
                )
        return self._rows.select(list(columns))

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any] | None:
        """Count equal rows: of the columns that were read here, else where the data lives."""
        return None if set(columns) <= set(self.held) else self._table.tally(columns)


def stable(table: Table, columns: Sequence[str]) -> Table:
    """Return the table itself if each read gives one order of rows, else a snapshot of it."""
    return table if table.is_stable else Snapshot(table, columns)
