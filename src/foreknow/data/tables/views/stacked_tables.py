"""Tables of several releases: one below the other, or made of what was counted of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from foreknow.data.arrays import IntArray
from foreknow.data.tables.columns import fetch
from foreknow.data.tables.rows import count_equal_rows
from foreknow.data.tables.table import Derived, Table, unshown
from foreknow.data.tables.tally import Tally


def bare_rows(
    table: Table,
    columns: Sequence[str],
    count: str,
    amount: str | None = None,
    *,
    lists: str | None = None,
) -> pa.Table:
    """Some columns of a table as they are read, and the number of people of each row if it has one.

    Parameters
    ----------
    table : Table
    columns : sequence of str
    count : str
        The name of the column with the number of people, if rows count people.
    amount : str, optional
        The column of the table that has this number; a `Tally` has it by itself.
    lists : str, optional
        The column that may hold lists.
    """
    arrays: dict[str, Any] = {}
    if amount is not None:
        rows = fetch(table, [*columns, amount])
        arrays[count] = rows.column(amount)
    elif isinstance(table, Tally):
        rows, arrays[count] = count_equal_rows(table, columns)
    else:
        rows = fetch(table, columns, lists=lists)
    arrays |= {name: rows.column(name).combine_chunks() for name in columns}
    return pa.table(arrays)


class Below(Derived):
    """The rows of several tables that were read alike, one table below the other."""

    def __init__(self, tables: Sequence[Table]) -> None:
        super().__init__(tables[0])
        in_all_tables = {*self.columns}.intersection(*(table.columns for table in tables[1:]))
        self.columns = [name for name in self.columns if name in in_all_tables]
        self.untyped = all(table.untyped for table in tables)
        self.is_stable = all(table.is_stable for table in tables)
        self._tables = tables

    @property
    def spelled(self) -> set[str]:
        """Columns of any of them with a spelling of what is missing."""
        return set[str]().union(*(getattr(table, "spelled", ()) for table in self._tables))

    @property
    def unshown(self) -> Table:
        """All of them, in which each row of a household has its values."""
        return Below([*map(unshown, self._tables)])

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns of all of them."""
        arrow_tables = []
        for table in self._tables:
            arrow_tables.append(table.arrow(columns).replace_schema_metadata(None))
        names = [table.name for table in self._tables]
        return stacked(arrow_tables, names, column=None, ids=None)

    def counted(self, columns: Sequence[str]) -> str:
        """Why no engine counts them."""
        return "they are rows of several tables"


def stacked(
    tables: Sequence[pa.Table], names: Sequence[str], column: str | None, ids: str | None
) -> pa.Table:
    """Tables one below the other; a column of different types becomes one of texts.

    Parameters
    ----------
    tables, names : sequences of the same length
    column : str or None
        A new column for the name of the table that each row is from.
    ids : str or None
        A column of ids of groups, which get the name of their table as well.
    """
    extended = []
    for number, (table, name) in enumerate(zip(tables, names, strict=True), start=1):
        if ids is not None:
            group_ids = [id_of(number, name, label) for label in table.column(ids).to_pylist()]
            index = table.column_names.index(ids)
            table = table.set_column(index, ids, pa.array(group_ids, pa.string()))
        if column is not None:
            table = table.append_column(column, pa.repeat(name, len(table)))
        extended.append(table)
    # The types that each column has in the tables.
    types_of: dict[str, set[pa.DataType]] = {}
    for table in extended:
        for schema_field in table.schema:
            types_of.setdefault(schema_field.name, set()).add(schema_field.type)
    mixed_columns = {name for name, types in types_of.items() if len(types) > 1}
    unified = [_with_texts_in(table, mixed_columns) for table in extended]
    return pa.concat_tables(unified, promote_options="default")


def with_texts(table: pa.Table, columns: Sequence[str], text: str | None) -> pa.Table:
    """A table with more columns, in which every row has one text, or none."""
    for name in columns:
        table = table.append_column(name, pa.repeat(pa.scalar(text, pa.string()), len(table)))
    return table


def _with_texts_in(table: pa.Table, names: set[str]) -> pa.Table:
    """A table in which some columns are of texts: their values as they print."""
    for position, name in enumerate(table.column_names):
        if name in names:
            texts = []
            for value in table.column(position).to_pylist():
                texts.append(None if value is None else str(value))
            table = table.set_column(position, name, pa.array(texts, pa.string()))
    return table


def id_of(number: int, name: str, label: Any) -> str:
    """The id of a group among the groups of several releases, which may have equal ids.

    It begins with the number of the release, since a name and an id may together look like those of
    another release.
    """
    return f"{number} {name} {label}"


def codes_of_names(name_lists: Sequence[Sequence[str]]) -> tuple[list[IntArray], int]:
    """Number the distinct names of several lists: the numbers of each list, and how many differ."""
    names = pa.chunked_array([pa.array([*name_list], pa.string()) for name_list in name_lists])
    encoded = names.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    ends = np.cumsum([len(name_list) for name_list in name_lists])
    return np.split(codes, ends[:-1]), len(encoded.dictionary)


def called(columns: Mapping[str, tuple[Sequence[str], IntArray]], absent: int) -> pa.Table:
    """A table of texts, each column given by its distinct texts and the code of each row.

    A row with the code `absent` is null.
    """
    arrays = {}
    for name, (texts, codes) in columns.items():
        arrays[name] = pa.array([*texts], pa.string()).take(pa.array(codes, mask=codes == absent))
    return pa.table(arrays)


def joined(
    table: pa.Table, rows: IntArray, columns: Mapping[str, Sequence[str | None]], **counts: IntArray
) -> pa.Table:
    """Some rows of a table, with further columns: `columns` of texts, and `counts` of numbers.

    `rows` are the positions of the rows; the further columns have a value for each of them.
    """
    extended = table.take(rows)
    for name, texts in columns.items():
        extended = extended.append_column(name, pa.array([*texts], pa.string()))
    for name, numbers in counts.items():
        extended = extended.append_column(name, pa.array(numbers))
    return extended
