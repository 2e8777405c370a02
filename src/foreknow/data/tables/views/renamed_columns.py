"""Renamed: a table whose columns are called otherwise, and one without what marks formulas."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.tables.table import Derived, Table, check_columns, is_text

# Texts that a spreadsheet runs; with apostrophes before, so that one more can be taken off again.
_FORMULA = r"^('*[=+\-@\t\r])"
_REARM = re.compile(r"'('*[=+\-@\t\r])")


def disarmed(texts: Any) -> Any:
    """Texts of Arrow with an apostrophe before those that a spreadsheet would run."""
    return pc.replace_substring_regex(texts, _FORMULA, r"'\1")


def has_formula(texts: Any) -> bool:
    """True if `disarmed` would change a text, or one begins with an apostrophe already."""
    return bool(pc.any(pc.match_substring_regex(texts, r"^['=+\-@\t\r]")).as_py())


def disarm_name(name: str) -> str:
    """Write a column's name as `write_csv` does when formulas are escaped."""
    return str(disarmed(pa.scalar(name)).as_py())


def rearmed(text: str) -> str:
    """Take off the apostrophe that `write_csv` put before a text.

    >>> rearmed("'=1+1"), rearmed("plain")
    ('=1+1', 'plain')
    """
    return text[1:] if _REARM.match(text) else text


class Renamed(Derived):
    """The table, some of whose columns have other names.

    Parameters
    ----------
    table : Table
    names : mapping of str to str
        The new name of each column that gets one.
    """

    def __init__(self, table: Table, names: Mapping[str, str]) -> None:
        super().__init__(table)
        self.is_stable = table.is_stable
        columns = [names.get(name, name) for name in table.columns]
        self.columns = check_columns(columns, self.name)
        self._inner = dict(zip(self.columns, table.columns, strict=True))  # the names there

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns."""
        return self._read(self._table.arrow([self._inner[name] for name in columns]), columns)

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any] | None:
        """Count equal rows where the data lives; None if rows are in memory."""
        tally = self._table.tally([self._inner[name] for name in columns])
        if tally is None:
            return None
        rows, times = tally
        return self._read(rows, columns), times

    def counted(self, columns: Sequence[str]) -> str:
        """Why no engine counts them."""
        return f"columns of {self.name} have other names"

    @property
    def two_empties(self) -> Collection[str]:
        """Columns of a file with empty fields of which some are in quotes."""
        inner_names = getattr(self._table, "two_empties", ())
        return {name for name in self.columns if self._inner[name] in inner_names}

    def _read(self, rows: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Rows of the other table, with these names of columns."""
        return rows.rename_columns([*columns])


class Rearmed(Renamed):
    """The table without the apostrophes that `escape_formulas` put before names and texts."""

    def __init__(self, table: Table) -> None:
        super().__init__(table, {name: rearmed(name) for name in table.columns})

    def _read(self, rows: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Rows of the other table, with names and texts as they are here."""
        arrays = {}
        for position, name in enumerate(columns):
            arrays[name] = _without_apostrophes(rows.column(position))
        return pa.table(arrays)


def _without_apostrophes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts without their apostrophes; other columns as they are."""
    if not is_text(column.type):
        return column
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    array = coded.unify_dictionaries().combine_chunks()
    texts = [text and rearmed(text) for text in array.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string()).take(array.indices)])
