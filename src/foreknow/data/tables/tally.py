"""Tally: a table of counts, read as the people whom it counts; and the query that makes one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from foreknow.data.arrays import IntArray, combine_encoded
from foreknow.data.tables.columns import codes_of, plain, plain_table
from foreknow.data.tables.table import Table, sql_name
from foreknow.errors import did_you_mean
from foreknow_judge.errors import DataError, InputError, UnsupportedError

_MOST = 2**53  # of an amount: what a float holds
# What stands around a name: in standard SQL, and in Spark, Databricks and BigQuery.
_QUOTES = {"standard": '"', "spark": "`"}
DIALECTS = tuple(_QUOTES)


class Tally:
    """A table whose rows each stand for a number of people.

    Parameters
    ----------
    table : Table
    amount : str
        The column that says how many.
    columns : sequence of str
        Those that are judged; of several readings they are read in one.
    """

    is_stable = in_order = True  # what is counted keeps the order of the rows

    def __init__(self, table: Table, amount: str, columns: Sequence[str]) -> None:
        self.name, self.untyped = table.name, table.untyped
        self.columns = [name for name in table.columns if name != amount]
        self._table, self._amount = table, amount
        self._judged = list(dict.fromkeys(columns))

    @property
    def two_empties(self) -> Any:
        """Columns of a file with empty fields of which some are in quotes."""
        return getattr(self._table, "two_empties", ())

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Raise `UnsupportedError`: rows of people are not known."""
        raise UnsupportedError(
            f"{self.name} counts people and does not tell them apart; for this, give the table "
            "that was counted"
        )

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, IntArray]:
        """The rows, some of which may now be equal, and how many people each is."""
        rows, amounts = self._read
        if not set(columns) <= set(self._judged):
            rows, amounts = self._fetch(columns)
        return rows.select(list(columns)), amounts

    @cached_property
    def _read(self) -> tuple[pa.Table, IntArray]:
        """The judged columns of all rows, and the number of people of each; read once."""
        rows, amounts = self._fetch(self._judged)
        # Rows that are equal in the judged columns may differ in others, and then are the counts of
        # two combinations. Of rows that are equal in all columns, one was written twice.
        stored_table = getattr(self._table, "as_written", self._table)
        if _first_repeat(rows, self._judged):
            refuse_repeated_rows(stored_table, self.name, self.columns, self._amount)
        return rows, amounts

    def _fetch(self, columns: Sequence[str]) -> tuple[pa.Table, IntArray]:
        """Some columns of all rows, and the number of people of each."""
        rows = self._table.arrow([*columns, self._amount])
        amounts = rows.column(len(columns))  # the last column
        return rows.select(list(columns)), amounts_of(self._table, self._amount, amounts)


def refuse_repeated_rows(table: Table, name: str, columns: Sequence[str], count: str) -> None:
    """Raise `DataError` for a table of counts with two rows that differ only in the count.

    `columns` are all of its columns but the one called `count`; `name` is the table's in messages.
    """
    equal_rows = _first_repeat(table.arrow(columns), columns)
    if equal_rows is not None:
        first_row, later_row = equal_rows
        raise DataError(
            f"{name}: rows {first_row + 1} and {later_row + 1} differ by nothing but the count, "
            "and GROUP BY gives each combination once; if it was written twice, keep one; if "
            f"these are parts of one count, add them up: SUM({sql_name(count)}) ... "
            "GROUP BY"
        )


def _first_repeat(rows: pa.Table, columns: Sequence[str]) -> tuple[int, int] | None:
    """The positions of an earlier row and of the first row that equals one; None if all differ."""
    if not len(rows):
        return None
    encoded = [codes_of(column) for column in plain_table(rows, columns).columns]
    keys, first_rows = combine_encoded(encoded)
    if len(first_rows) == len(keys):
        return None
    # The first row with each combination; any other row with it is a repeat.
    _, earliest = np.unique(keys, return_index=True)
    is_repeat = earliest[keys] != np.arange(len(keys))
    later_row = int(np.argmax(is_repeat))
    return int(earliest[keys[later_row]]), later_row


def amounts_of(table: Table, count: str, amounts: pa.ChunkedArray) -> IntArray:
    """How many people each row of a tally stands for, shape (rows,), from its count column.

    Raises `DataError` unless each count is a whole number from 1 to 2**53.
    """
    codes, distinct = codes_of(plain(count, amounts))
    # Each distinct count is checked once; 0 is one that is no such number.
    numbers = np.array([_whole_number(value) for value in distinct.to_pylist()], np.int64)
    wrong = (numbers < 1)[codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        text = repr(distinct[int(codes[row])].as_py())
        sign = "without a sign for thousands, " if re.search(r"\d[.,\s]\d{3}\b", text) else ""
        raise DataError(
            f"{table.name}: column {count!r} must hold a whole number from 1 to 2**53 in each row, "
            f"{sign}but row {row + 1} holds {text}"
        )
    weights: IntArray = numbers[codes]
    return weights


def _whole_number(value: Any) -> int:
    """The whole number up to `_MOST` that a number or text stands for; 0 for anything else."""
    if isinstance(value, str):  # 1.000 is refused: a thousand to some readers, and one to others
        digits = re.fullmatch(r"(?!\d{1,3}\.000$)(\d{1,19})(\.0*)?", value, re.ASCII)
        value = int(digits[1]) if digits else 0
    if type(value) not in (int, float, Decimal) or value != value // 1 or value > _MOST:
        return 0
    return int(value)


def counting_query(
    columns: Sequence[str], amount: str, table: str, dialect: str = "standard"
) -> str:
    """The query whose result is a tally of a table, or view, by some columns.

    >>> print(counting_query(["age", "order by"], "count", "clinic.release"))
    SELECT "age", "order by", COUNT(*) AS "count"
    FROM "clinic"."release"
    GROUP BY "age", "order by"
    """
    if dialect not in _QUOTES:
        raise InputError(f"dialect {dialect!r} is unknown{did_you_mean(dialect, DIALECTS)}")
    mark = _QUOTES[dialect]

    def quoted(name: str) -> str:
        """A name in the marks of the dialect, which are doubled inside."""
        if "\0" in name:
            raise InputError(f"{name!r} cannot be a name in a query")
        return mark + name.replace(mark, 2 * mark) + mark

    # A name of a schema and of a table, each perhaps in quotes; the parts must be the whole text.
    name_parts = [_unquoted(part) for part in re.findall(_PART, table)]
    if not name_parts or ".".join(re.findall(_PART, table)) != table:
        raise InputError(
            f"{table!r} is no name of a table; write it as the database has it, such as "
            'clinic.release, and a name with a point in it in quotes: clinic."release.2024"'
        )
    names = ", ".join(map(quoted, columns))
    return (
        f"SELECT {names}, COUNT(*) AS {quoted(amount)}\n"
        f"FROM {'.'.join(map(quoted, name_parts))}\n"
        f"GROUP BY {names}"
    )


_PART = r'"(?:[^"]|"")+"|`(?:[^`]|``)+`|[^."`]+'


def _unquoted(part: str) -> str:
    """A part of a name without the quotes around it, if there are any."""
    mark = part[0]
    return part[1:-1].replace(2 * mark, mark) if mark in _QUOTES.values() else part
