"""Persons: everybody of a table once, in however many rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.person_names import refuse_two_spellings
from foreknow.data.tables.columns import (
    codes_of,
    fetch,
)
from foreknow.data.tables.table import Table, first_row_of, is_text
from foreknow.errors import SchemaError
from foreknow_judge.errors import DataError


@dataclass(frozen=True, eq=False)
class People:
    """The people of a table, numbered in order of first appearance."""

    table: str  # what messages call the table
    of_row: NDArray[Any]  # the person of each row
    first: IntArray  # the first row of each person, ascending
    column: str | None = None  # which names people; None where each row is another person
    names: pa.Array | None = None  # the name of each person
    first_row: int = 1  # what messages call the first row of the table

    @classmethod
    def of(cls, table: str, column: str | None, rows: pa.Table, first_row: int = 1) -> People:
        """Tell people apart by a column of some rows; without one, each row is another person.

        `first_row` is what messages call the first row.
        """
        if column is not None:
            return cls.named(table, column, rows.column(column), first_row)
        everybody = np.arange(len(rows))
        return cls(table, everybody, everybody, first_row=first_row)

    @classmethod
    def named(cls, table: str, column: str, names: pa.ChunkedArray, first_row: int = 1) -> People:
        """Tell people apart by a column with their names; a row without a name is a `DataError`."""
        codes, distinct = codes_of(names)
        if distinct.null_count:
            # A null has the last code.
            row = int(np.argmax(codes == len(distinct) - 1)) + first_row
            raise DataError(f"{table}: the column of people {column!r} is missing in row {row}")
        first = first_rows(codes, len(distinct))
        # Number people in the order in which they appear first.
        if np.all(first[1:] > first[:-1]):
            return cls(table, codes, first, column, distinct, first_row)
        order = np.argsort(first)
        new_code = np.empty(len(distinct), dtype=codes.dtype)
        new_code[order] = np.arange(len(distinct), dtype=codes.dtype)
        return cls(
            table,
            of_row=new_code[codes],
            first=first[order],
            column=column,
            names=distinct.take(pa.array(order)),
            first_row=first_row,
        )

    def __len__(self) -> int:
        return len(self.first)

    def called(self, person: int) -> str:
        """The name of a person in messages."""
        if self.names is None:
            return f"row {self.first[person] + self.first_row}"
        return f"{self.column} {self.names[person].as_py()!r}"

    def refuse_two_spellings(self) -> None:
        """Raise `SchemaError` if two names of people differ only in how they are written."""
        if self.names is not None and is_text(self.names.type):
            refuse_two_spellings(self.names.to_pylist(), repr(self.column), repeated=True)

    def refuse_repeats(self, advice: str) -> None:
        """Raise `DataError` if someone has two rows."""
        if len(self.first) == len(self.of_row):
            return
        # The first row that is not the first one of its person.
        row = int(np.argmax(self.first[self.of_row] != np.arange(len(self.of_row))))
        person = int(self.of_row[row])
        raise DataError(
            f"{self.table}: {self.called(person)} is in rows "
            f"{self.first[person] + self.first_row} and {row + self.first_row}; {advice}"
        )

    def agreed_codes(
        self,
        column: str,
        codes: NDArray[Any],
        value: Callable[[int], Any],
        advice: str = "everybody has one published value",
    ) -> NDArray[Any]:
        """The code that all rows of a person have, shape (people,), from the code of each row.

        Raises `DataError` if the rows of a person have two codes; `value` returns the value of a
        code for the message, and `advice` ends it.
        """
        person_codes: NDArray[Any] = codes[self.first]
        # Each person has one row.
        if len(self.first) == len(self.of_row):
            return person_codes
        differs = codes != person_codes[self.of_row]
        if differs.any():
            row = int(np.argmax(differs))
            person = int(self.of_row[row])
            first_value, later_value = (
                _shown_value(value(int(code))) for code in (person_codes[person], codes[row])
            )
            raise DataError(
                f"{self.table}: {self.called(person)} has {column} {first_value} in row "
                f"{self.first[person] + self.first_row}, but {later_value} in row "
                f"{row + self.first_row}; {advice}"
            )
        return person_codes


def _shown_value(value: Any) -> str:
    """A value as a message has it: texts in quotes, the rest as printed."""
    return repr(value) if isinstance(value, str) else str(value)


def refuse_repeats(table: Table, person: str, rows: pa.Table | None = None) -> None:
    """Raise `DataError` if someone stands in two rows, or a row names nobody.

    `person` is the column that names people; `rows` are those of the table, where they were fetched
    already.
    """
    names = (fetch(table, [person]) if rows is None else rows).column(person)
    # If all names differ, nothing is wrong. Otherwise find the row, for the message.
    _, distinct = codes_of(names)
    if not names.null_count and len(distinct) == len(names):
        return
    People.named(table.name, person, names, first_row_of(table)).refuse_repeats(
        "under semantics 'single' everyone has one row; where someone has several values, say "
        'semantics = "set" or "multiset"'
    )


def first_rows(codes: NDArray[Any], size: int) -> IntArray:
    """The first row that has each code, shape (size,); every code from 0 to `size` - 1 occurs."""
    first = np.empty(size, dtype=np.int64)
    # Written from the last row to the first, so that the first row of each code stays.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def require_person(
    table: Table, sensitive: str, person: str | None, semantics: str, *, listed: bool
) -> None:
    """Raise `SchemaError` if people may have several rows and no column tells them apart.

    `listed` says that the column `sensitive` holds lists: then each row is a person.
    """
    if person is None and not listed:
        raise SchemaError(
            f"semantics {semantics!r} needs person = the column that tells people apart, since "
            f"{table.name} has one value of {sensitive!r} per row (only a column of lists, or one "
            "with separators in the reading, holds all values of a person in one row)"
        )
