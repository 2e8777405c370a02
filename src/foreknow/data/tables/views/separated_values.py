"""A table in which one text holds several values of a person, with a sign between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from foreknow.data.columns.reading_rules import BLANKS
from foreknow.data.tables.columns import codes_of, plain
from foreknow.data.tables.table import Derived, Table, is_listed, is_text, require
from foreknow_judge.errors import DataError


class Divided(Derived):
    """A table in which texts of some columns are lists: of what stands between separators.

    Parameters
    ----------
    table : Table
    separators : mapping of column to str
        As `Reading.separators` has them.
    """

    arrow_of_values: Any = None  # not passed on: it would give the other table's texts undivided

    def __init__(self, table: Table, separators: Mapping[str, str]) -> None:
        super().__init__(table)
        require(table, [*separators])
        self.is_stable = table.is_stable
        self.divided = dict(separators)

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns; of those that are divided, lists."""
        rows = self._table.arrow(columns)
        for position, name in enumerate(rows.column_names):
            if name in self.divided:
                rows = rows.set_column(position, name, self._divide(name, rows.column(name)))
        return rows

    def counted(self, columns: Sequence[str]) -> str:
        """Why no engine counts them."""
        return f"a cell of {', '.join(self.divided)} holds several values"

    def _divide(self, name: str, column: pa.ChunkedArray) -> pa.Array:
        """The list of values in each cell of a column of texts; a null stays null."""
        if is_listed(column.type) or not is_text(column.type):
            raise DataError(
                f"{self.name}: the column {name!r} holds no texts; take it out of separators in "
                "the reading"
            )
        codes, texts = codes_of(plain(name, column))
        cells = []
        for text in texts.to_pylist():
            cells.append(None if text is None else self._parts(name, text))
        return pa.array(cells, pa.large_list(pa.string())).take(pa.array(codes.astype(np.int64)))

    def _parts(self, name: str, text: str) -> list[str]:
        """The values in one text of a column, without blanks around; empty ones are left out."""
        parts = [part.strip(BLANKS) for part in text.split(self.divided[name])]
        return [part for part in parts if part]
