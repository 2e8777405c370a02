"""People: everybody once, the rows that are about them, and what must agree in all of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.data.engines.columns import codes_of, fetch
from foreknow.data.engines.table import Table
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError


@dataclass(frozen=True, eq=False)
class People:
    """Everybody once, in order of first appearance.

    Attributes
    ----------
    table : str
        What messages call the table.
    of_row : integer array, shape (rows,)
        Who each row is about.
    first : int64 array, shape (people,)
        The first row about each of them, ascending.
    column : str or None
        The column that names people; None where each row is somebody.
    names : pyarrow.Array or None
    """

    table: str
    of_row: NDArray[Any]
    first: IntArray
    column: str | None = None
    names: pa.Array | None = None

    @classmethod
    def named(cls, table: str, column: str, names: pa.ChunkedArray) -> People:
        """Tell people apart by a column; a row that names nobody is an error."""
        codes, found = codes_of(names)
        if found.null_count:
            row = int(np.argmax(codes == len(found) - 1)) + 1
            raise DataError(f"{table}: the column of people {column!r} is missing in row {row}")
        first = first_rows(codes, len(found))
        if np.all(first[1:] > first[:-1]):
            return cls(table, codes, first, column, found)
        order = np.argsort(first)
        place = np.empty(len(found), dtype=codes.dtype)
        place[order] = np.arange(len(found), dtype=codes.dtype)
        return cls(table, place[codes], first[order], column, found.take(pa.array(order)))

    @classmethod
    def of_rows(cls, table: str, rows: int) -> People:
        """Take each row for somebody."""
        everybody = np.arange(rows)
        return cls(table, everybody, everybody)

    def __len__(self) -> int:
        return len(self.first)

    def called(self, person: int) -> str:
        """What messages call somebody."""
        if self.names is None:
            return f"row {self.first[person] + 1}"
        return f"{self.column} {self.names[person].as_py()!r}"

    def refuse_repeats(self, advice: str) -> None:
        """Raise `DataError` if somebody has two rows."""
        if len(self.first) == len(self.of_row):
            return
        row = int(np.argmax(self.first[self.of_row] != np.arange(len(self.of_row))))
        who = int(self.of_row[row])
        raise DataError(
            f"{self.table}: {self.called(who)} is in rows {self.first[who] + 1} and {row + 1}; "
            f"{advice}"
        )

    def agreed(
        self,
        column: str,
        codes: NDArray[Any],
        value: Callable[[int], Any],
        advice: str = "everybody has one published value",
    ) -> NDArray[Any]:
        """Return the code of everybody; two in the rows of one person are a `DataError`."""
        own: NDArray[Any] = codes[self.first]
        if len(self.first) == len(self.of_row):
            return own
        differs = codes != own[self.of_row]
        if differs.any():
            row = int(np.argmax(differs))
            who = int(self.of_row[row])
            raise DataError(
                f"{self.table}: {self.called(who)} has {column} {value(int(own[who]))!r} in row "
                f"{self.first[who] + 1}, but {value(int(codes[row]))!r} in row {row + 1}; {advice}"
            )
        return own


def refuse_repeats(table: Table, person: str, rows: pa.Table | None = None) -> None:
    """Raise `DataError` if somebody stands in two rows, or a row names nobody."""
    names = (fetch(table, [person]) if rows is None else rows).column(person)
    if not names.null_count and len(codes_of(names)[1]) == len(names):
        return
    People.named(table.name, person, names).refuse_repeats(
        "under semantics 'single' everyone has one row; where somebody has several values, say "
        'semantics = "set" or "multiset"'
    )


def first_rows(codes: NDArray[Any], size: int) -> IntArray:
    """First row that holds each code; every code occurs."""
    first = np.empty(size, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the last that is written stays
    return first
