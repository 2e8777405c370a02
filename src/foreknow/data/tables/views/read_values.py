"""Read values: a table whose sensitive numbers and dates are read by a schema, as publish does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.columns.reading_rules import Reading
from foreknow.data.labels.labels import text_of
from foreknow.data.people.households import ELSEWHERE
from foreknow.data.tables.columns import (
    as_plain_texts,
    codes_of,
    days_of,
    is_zoned,
    plain,
    plainly_written,
)
from foreknow.data.tables.table import Derived, Table, is_listed, is_text
from foreknow.numbers import nearest_multiple
from foreknow_judge.errors import DataError
from foreknow_judge.numbers import read_number
from foreknow_judge.policy.grammar import Kind

_MOST_OF_INTEGERS, _MOST_OF_FLOATS = 2**63, 10**308


class ReadValues(Derived):
    """A table whose sensitive numbers and dates are texts that anybody reads alike.

    It is made of a raw table, or of a release of one, whose numbers and dates were read already.

    Parameters
    ----------
    table : Table
    kinds : mapping of str to str or None
        The sensitive columns, each with the type that the schema gives it.
    reading : Reading
        How numbers and dates are written in the raw table.
    label : str
        The text for a missing value in a release; "" where there is none.
    raw : bool
        Whether the table is surely the raw one. Otherwise it is taken for a release if it has
        values that the reading cannot have written; values that could be of either are refused.
    rounding : mapping of str to number, optional
        For columns whose numbers are rounded: to multiples of what.
    """

    def __init__(
        self,
        table: Table,
        kinds: Mapping[str, Kind | None],
        reading: Reading,
        *,
        label: str = "",
        raw: bool = False,
        rounding: Mapping[str, int | float] | None = None,
    ) -> None:
        """Take the table, and how its sensitive values are read; see the class."""
        super().__init__(table)
        self.is_stable = table.is_stable
        self._kinds, self._reading, self._is_raw = kinds, reading, raw
        self._rounding = rounding or {}
        # The texts that a release may have in place of a number or date.
        self._labels = pa.array([label, ELSEWHERE], pa.string())

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns."""
        return self.read(self._table.arrow(list(columns)))

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any] | None:
        """Count equal rows where the data lives, and read their values; None if rows are in memory.

        Some rows may become equal only by reading; they are not united here.
        """
        tally = self._table.tally(columns)
        if tally is None:
            return None
        rows, times = tally
        try:
            return self.read(rows), times
        except DataError:
            # Counted rows have no numbers: reading all rows raises an error that names one.
            self.arrow(columns)
            raise

    def counted(self, columns: Sequence[str]) -> str:
        """Why no engine counts them."""
        return f"values of {self.name} are read by a schema"

    def read(self, rows: pa.Table) -> pa.Table:
        """Some rows of the table, of whatever columns, with their sensitive values read.

        Numbers are rounded, too, in columns for which that is asked.
        """
        for position, name in enumerate(rows.column_names):
            column = rows.column(name)
            values = days_of(rows.column(name))
            if name in self._kinds:
                values = self._read_column(name, values)
                if name in self._rounding:
                    values = rounded(self.name, name, values, self._rounding[name])
            if values is not column:
                rows = rows.set_column(position, name, values)
        return rows

    def _read_column(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """A sensitive column, or the values in its lists, as the schema reads them."""
        if is_listed(column.type):
            return self._read_lists(name, column.combine_chunks())
        kind, has_zones = self._kinds[name], is_zoned(column)
        if kind is None and not self._reading.converts and not has_zones:
            return column
        # It is surely raw if it is not of texts, or has times with zones: these are not published.
        if self._is_raw or not is_text(column.type) or has_zones:
            return as_plain_texts(name, column, self._reading, kind)
        # If it is of a release, labels may stand in place of numbers: set them aside.
        texts = column.cast(pa.string())
        is_label = pc.is_in(texts, value_set=self._labels)
        if not pc.any(is_label).as_py():
            return self._read_raw_or_released(name, column)
        without_labels = pc.if_else(is_label, pa.scalar(None, pa.string()), texts)
        converted = self._read_raw_or_released(name, without_labels)
        return pc.if_else(is_label, texts, converted.cast(pa.string()))

    def _read_lists(self, name: str, lists: pa.Array) -> pa.ChunkedArray:
        """A column of lists whose values are read by the schema; a missing list stays missing."""
        flat = days_of(pa.chunked_array([pc.list_flatten(lists)]))
        values = self._read_column(name, flat).combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        ends = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int64())
        return pa.chunked_array(
            [pa.LargeListArray.from_arrays(ends, values, mask=pc.is_null(lists))]
        )

    def _read_raw_or_released(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Read texts of a raw table, or of a release, as numbers or dates.

        The schema's reading says how the raw table writes them; a release writes them plainly. If
        the reading fails and all texts are plain, they are of a release. If both ways give results
        that differ, that is a `DataError`.
        """
        kind = self._kinds[name]
        _, distinct = codes_of(plain(name, column))
        texts = distinct.drop_null()
        try:
            converted = as_plain_texts(name, column, self._reading, kind)
        except DataError:
            # `plainly_written` is None for a text that is no plain number or date: no release.
            if None in map(plainly_written, texts.to_pylist()):
                raise
            return as_plain_texts(name, column, Reading(), kind)
        plain_texts = as_plain_texts(name, pa.chunked_array([texts]), self._reading, kind)
        # The texts that mean something else if they are plain.
        changed = read_otherwise(texts.to_pylist(), plain_texts.to_pylist())
        if changed and None not in map(plainly_written, changed):
            first_text = next(iter(changed))
            raise self._ambiguity_error(name, first_text, changed[first_text])
        return converted

    def _ambiguity_error(self, name: str, text: str, number: str) -> DataError:
        """The error of a text that means one number in a raw table and another in a release."""
        # The option that says which of the two is meant.
        raw, released = "--decimal ,", "--decimal ."
        if isinstance(plainly_written(text), dt.date):
            raw, released = f"--date-format {self._reading.date_format}", "--date-format %Y-%m-%d"
        return DataError(
            f"{self.name}: {text!r} in {name!r} is {number} in a raw table, by the schema's "
            "reading, and as it stands in a release, where numbers and dates were read already. Of "
            f"a raw table, add {raw}, or give fk.Microdata(table, schema) in Python; of a release, "
            f"name its folder, or add {released}, in Python the same to the schema's reading"
        )


def rounded(
    table_name: str, name: str, column: pa.ChunkedArray, step: int | float
) -> pa.ChunkedArray:
    """The column with each number as the nearest multiple of a step, halves away from 0.

    >>> rounded("table", "pay", pa.chunked_array([[149, 150, None, -150]]), 100).to_pylist()
    [100, 200, None, -200]
    >>> rounded("table", "pay", pa.chunked_array([["1.12", "1.13"]]), 0.05).to_pylist()
    ['1.1', '1.15']
    """
    if is_listed(column.type):
        raise DataError(f"{table_name}: {name!r} has lists, whose numbers are not rounded")
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    array = coded.unify_dictionaries().combine_chunks()
    texts = []  # of each distinct value, rounded
    for value in array.dictionary.to_pylist():
        number = read_number(text_of(value))
        if number is None:
            is_named = isinstance(value, str)
            way_out = "name it under missing in [schema.reading]" if is_named else "leave it empty"
            raise DataError(
                f"{table_name}: {value!r} in {name!r} is no number, and the policy rounds it; "
                f"{way_out} if it stands for a missing value"
            )
        texts.append(nearest_multiple(number, step))
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    values: list[Any] = texts
    # Numbers too large for the column's type stay texts, so that none is cut off.
    largest = max((abs(Decimal(text)) for text in texts), default=Decimal(0))
    if pa.types.is_floating(kind) and largest < _MOST_OF_FLOATS:
        values, kind = [*map(float, texts)], pa.float64()
    elif pa.types.is_integer(kind) and isinstance(step, int) and largest < _MOST_OF_INTEGERS:
        values, kind = [*map(int, texts)], pa.int64()
    else:
        kind = pa.string()
    return pa.chunked_array([pa.array(values, kind).take(array.indices)])


def read_otherwise(texts: Sequence[str], plain_texts: Sequence[str]) -> dict[str, str]:
    """The texts that a reading takes for another number or date than somebody without it would.

    `plain_texts` are the texts as the reading writes them plainly; the result maps text to plain
    text.

    >>> read_otherwise(["1.200", "1,5", "20"], ["1200", "1.5", "20"])
    {'1.200': '1200', '1,5': '1.5'}
    """
    plain_text_of = dict(zip(texts, plain_texts, strict=True))
    return {
        text: plain_text
        for text, plain_text in plain_text_of.items()
        if plainly_written(text) != plainly_written(plain_text)
    }
