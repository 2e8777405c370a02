"""A table in which some texts, such as "NA", stand for what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.columns.reading_rules import BLANKS, Reading
from foreknow.data.tables.table import Table, is_listed, is_text, sql_text
from foreknow_judge.numbers import is_code, read_number

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Spelled:
    """A table with nulls in place of texts that stand for a missing value; lists lose such values.

    Parameters
    ----------
    table : Table
    reading : Reading
        It lists such texts (spellings): of every column, and of single columns. The latter, called
        codes, may also be numbers and dates.
    only : collection of str, optional
        The columns that are read so; all where left out.

    Attributes
    ----------
    found : dict of str to set of str
        The spellings that were met, by column.
    as_written : Table
        The table with all that is written in it.
    """

    def __init__(
        self, table: Table, reading: Reading, only: Collection[str | None] | None = None
    ) -> None:
        """Take a table, and the texts that stand for a missing value in its columns."""
        self.as_written = table
        self.name, self.columns = table.name, table.columns
        self.untyped, self.is_stable = table.untyped, table.is_stable
        # Filled while rows are read.
        self.found: dict[str, set[str]] = {}
        self._engines: tuple[Any, Any] = None, None  # the last one that was asked, and as this view
        self._spellings, self._only = frozenset(reading.spellings), only
        self.of_columns = reading.missing_of  # the codes of single columns
        # For each of these columns, a pattern of all texts that are the same number or day.
        self._patterns = {
            name: _pattern_of(codes, reading) for name, codes in self.of_columns.items()
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "as_written":
            raise AttributeError(name)
        return getattr(self.as_written, name)

    @property
    def spelled(self) -> set[str]:
        """The columns in which a spelling was met; their other texts may be numbers or dates."""
        return {name for name, spellings in self.found.items() if spellings}

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns."""
        arrow_of_values = getattr(self.as_written, "arrow_of_values", None)
        if arrow_of_values is None:
            return self._cleared(self.as_written.arrow(columns))
        # The table fetches values of Python, which can be cleared before a column gets its type.
        readers = {name: self._value_reader(name) for name in self._columns_to_clear(columns)}
        return self._cleared(arrow_of_values(columns, readers))

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any] | None:
        """Count equal rows where the data lives; None if rows are in memory.

        Some rows may become equal only by nulls in place of spellings; they are not united here.
        """
        tally = self.as_written.tally(columns)
        if tally is None:
            return None
        rows, times = tally
        return self._cleared(rows), times

    def in_engine(self, table: Any, columns: Sequence[str]) -> Any:
        """The table of an engine with nulls in place of spellings of missing values.

        Only the `columns` that will be asked for are searched for spellings, to note them in
        `found`.
        """
        texts = [name for name in self._columns_to_clear(table.columns) if table.is_text(name)]
        texts_asked = [name for name in texts if name in columns]
        for name in table.holding(texts_asked, self._spellings):
            self.found.setdefault(name, set()).update(self._spellings)
        if self._engines[0] is not table:
            self._engines = table, table.without(texts, self._spellings)
        return self._engines[1]

    def _spellings_of(self, name: str) -> frozenset[str]:
        """The spellings of a missing value in a column."""
        return self._spellings.union(self.of_columns.get(name, ()))

    def _columns_to_clear(self, columns: Sequence[str]) -> list[str]:
        """Those of some columns whose spellings become nulls."""
        return [name for name in columns if self._only is None or name in self._only]

    def _value_reader(self, name: str) -> Callable[[Any], Any]:
        """A function that returns None for a missing value of a column, and others unchanged.

        The spellings that it meets are added to `found`.
        """
        spellings_met, spellings = self.found.setdefault(name, set()), self._spellings_of(name)
        same_number = re.compile(self._patterns.get(name) or "(?!)")  # "(?!)" fits nothing

        def read(value: Any) -> Any:
            """The value; None if it is spelled as missing."""
            if type(value) is not str:
                return value
            text = value.strip(BLANKS)
            if text not in spellings and not same_number.search(text):
                return value
            spellings_met.add(text)
            return None

        return read

    def _cleared(self, rows: pa.Table) -> pa.Table:
        """Rows in which what is spelled as missing is null."""
        for name in self._columns_to_clear(rows.column_names):
            position, column = rows.column_names.index(name), rows.column(name)
            kind = column.type.value_type if is_listed(column.type) else column.type
            if column.num_chunks and (is_text(kind) or name in self.of_columns):
                rows = rows.set_column(position, name, self._clear_column(name, column))
        return rows

    def _clear_column(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """A column with nulls for missing values; lists lose such values."""
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.string())
        return pa.chunked_array([self._clear(name, chunk) for chunk in column.chunks])

    def _clear(self, name: str, array: Any) -> Any:
        """An array of a column with nulls for missing values; lists lose such values."""
        kind = array.type
        if is_listed(kind):
            return self._clear_lists(name, array)
        if pa.types.is_dictionary(kind):
            is_missing = self._are_missing(name, array.dictionary)
            if not is_missing.any():
                return array
            # Other entries of the dictionary move up; codes of missing ones become nulls.
            new_codes = np.cumsum(~is_missing) - 1
            indices = pa.array(new_codes.astype(np.int32), mask=is_missing).take(array.indices)
            entries = array.dictionary.filter(pa.array(~is_missing))
            return pa.DictionaryArray.from_arrays(indices, entries, ordered=kind.ordered)
        is_missing = self._are_missing(name, array)
        if not is_missing.any():
            return array
        # A missing index makes a null. (`if_else` makes broken texts of a slice, with PyArrow 22.)
        return array.take(pa.array(np.arange(len(array)), mask=is_missing))

    def _are_missing(self, name: str, values: Any) -> Any:
        """Which values of a column are spelled as missing, as a mask.

        The spellings of texts that are met are noted in `found`.
        """
        if not is_text(values.type):
            if values.type == pa.float16():
                values = values.cast(pa.float32())
            # Numbers and dates have no spelling, but may be codes of a missing value.
            codes = _codes_of(values.type, self.of_columns.get(name, ()))
            if not len(codes):
                return np.zeros(len(values), dtype=bool)
            return pc.is_in(values, value_set=codes).to_numpy(zero_copy_only=False)
        texts = pc.utf8_trim(values.cast(pa.string()), characters=BLANKS)
        spellings = pa.array(sorted(self._spellings_of(name)), pa.string())
        is_missing = pc.is_in(texts, value_set=spellings)
        # The same number or day in another spelling counts as the code, too.
        pattern = self._patterns.get(name)
        if pattern:
            is_same_number = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
            is_missing = pc.or_(is_missing, is_same_number)
        if pc.any(is_missing).as_py():
            met = pc.unique(texts.filter(is_missing)).to_pylist()
            self.found.setdefault(name, set()).update(met)
        return is_missing.to_numpy(zero_copy_only=False)

    def _clear_lists(self, name: str, lists: Any) -> Any:
        """Lists without the values that are spelled as missing; a missing list stays missing."""
        values = pc.list_flatten(lists)
        is_kept = ~self._are_missing(name, values)
        # The new length of each list is the number of its values that stay.
        list_of_value = np.asarray(pc.list_parent_indices(lists))[is_kept]
        lengths = np.bincount(list_of_value, minlength=len(lists))
        ends = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int64())
        kept_values = values.filter(pa.array(is_kept))
        return pa.LargeListArray.from_arrays(ends, kept_values, mask=pc.is_null(lists))


def _pattern_of(codes: Collection[str], reading: Reading) -> str:
    """A pattern for all texts that are the same number or day as one of the codes; "" if none is.

    >>> _pattern_of(["-1", "0.50", "007", "NA"], Reading(decimal=","))
    '^(-1([,]0*)?|0[,]50*)$'
    >>> _pattern_of(["1000"], Reading(decimal=","))
    '^((1000|1[.]000)([,]0*)?)$'
    >>> _pattern_of(["1900-01-31"], Reading(date_format="dd.mm.yyyy"))
    '^(1900-01-31([ T]00:00(:00([.]0*)?)?)?|31[.]01[.]1900)$'
    """
    patterns = []
    for code in codes:
        # 1.0 and 1.00 are one number, and a day may be written with its midnight.
        number = _number_of(code, reading)
        if number is not None:
            patterns.append(_pattern_of_number(f"{number:f}", reading))
        elif _DAY.fullmatch(code):
            patterns.append(f"{code}([ T]00:00(:00([.]0*)?)?)?")
            if reading.date_format is not None:
                with suppress(ValueError):  # there is no such day
                    day = date.fromisoformat(code).strftime(reading.date_format)
                    patterns.append(re.sub(r"(\W)", r"[\1]", day))
    return f"^({'|'.join(patterns)})$" if patterns else ""


def _number_of(code: str, reading: Reading) -> Decimal | int | None:
    """The number that a code is by a reading, as in the file, or as a policy writes numbers.

    >>> [_number_of(code, Reading(decimal=",")) for code in ("1.000", "99.0", "99,0", "007")]
    [Decimal('1000'), Decimal('99.0'), Decimal('99.0'), None]
    """
    with suppress(ValueError):
        # A code is written as the file writes numbers, or as Python does.
        return reading.amounts(code)
    return None if is_code(code) else read_number(code)


def _pattern_of_number(number: str, reading: Reading) -> str:
    """A pattern for all texts that a reading takes for a number, which is given in digits.

    >>> pattern = re.compile(_pattern_of_number("-9999.5", Reading(thousands=",", currency="$")))
    >>> texts = ("-9999.50", "$-9,999.5", "-$ 9999.5", "-9,999.5 $", "-99,99.5", "9999.5")
    >>> [pattern.fullmatch(text) is not None for text in texts]
    [True, True, True, True, False, False]
    """
    in_plain_digits = _pattern_in_digits(number, reading)
    patterns = [in_plain_digits] if in_plain_digits else []
    for unit, factor in reading.units.items():
        # Division may round, so multiply back to see that the number can be written with this unit.
        share = Decimal(number) / factor
        if share * factor == Decimal(number):
            patterns.append(_pattern_in_digits(f"{share.normalize():f}", reading, unit))
    return "|".join(patterns)


def _pattern_in_digits(number: str, reading: Reading, suffix: str = "") -> str:
    """A pattern for all texts of a number before a unit, or in brackets if it is negative.

    Brackets count only if the reading says so; marks, decimals and currency are the reading's.

    >>> pattern = re.compile(_pattern_in_digits("-9", Reading(negative="()"), "k"))
    >>> [pattern.fullmatch(text) is not None for text in ("-9k", "(9 k)", "9k", "-9")]
    [True, True, False, False]
    """
    if reading.negative and number.startswith("-"):
        # With a minus, or in brackets without one.
        plain = _pattern_in_digits(number, replace(reading, negative=None), suffix)
        positive = _pattern_in_digits(number[1:], replace(reading, negative=None), suffix)
        return f"({plain}|[(]{positive}[)])"
    whole, _, decimals = number.removeprefix("-").partition(".")
    decimals = decimals.rstrip("0")
    # With a decimal comma, points may stand between thousands even if the reading does not say so.
    marks = reading.thousands or ("." if reading.decimal == "," else "")
    # A mark in any of the forms in which it is written.
    signs = {" ": " \u00a0\u202f", "'": "'\u2019"}.get(marks, marks)
    if signs and len(whole) > 3:
        # Groups of three digits from the right, with a mark between.
        first = len(whole) % 3 or 3
        groups = [whole[:first], *(whole[i : i + 3] for i in range(first, len(whole), 3))]
        whole = f"({whole}|{f'[{signs}]'.join(groups)})"
    # Zeros may follow the decimals; a whole number may have zeros alone, or no decimals.
    after = f"[{reading.decimal or '.'}]{decimals}0*"
    text = whole + (after if decimals else f"({after})?")
    if suffix:
        # Signs go into brackets, so that they have no meaning in a pattern; a blank may stand
        # before.
        spelled_unit = re.sub(r"(\W)", r"[\1]", suffix)
        text += f"[\\s\u00a0\u202f]?{spelled_unit}"
    minus = "-" if number.startswith("-") else ""
    if reading.currency is None:
        return minus + text
    # The sign of a currency may stand before or after, and a minus on either side of it.
    sign, blank = re.escape(reading.currency), "[\\s\u00a0\u202f]?"
    before = f"({minus}({sign}{blank})?|{sign}{blank}{minus})" if minus else f"({sign}{blank})?"
    return f"{before}{text}({blank}{sign})?"


def _codes_of(kind: pa.DataType, spellings: Collection[str]) -> pa.Array:
    """The spellings that are values of a type, such as a number or a day, as an array of it.

    >>> _codes_of(pa.int8(), ["-1", "99.0", "0.5", "1000", "NA"]).to_pylist()
    [-1, 99]
    >>> _codes_of(pa.date32(), ["1900-01-01", "NA"]).to_pylist()
    [datetime.date(1900, 1, 1)]
    """
    codes: list[pa.Scalar] = []
    for spelling in spellings:
        number, text = read_number(spelling), spelling
        if is_number(kind) and number is None:
            continue
        if pa.types.is_integer(kind) and number is not None and number == int(number):
            # 99.0 is the whole number 99.
            text = str(int(number))
        with suppress(ValueError, pa.ArrowNotImplementedError):  # it is no value of this kind
            if pa.types.is_decimal(kind):
                codes.append(pa.scalar(Decimal(number or 0), kind))
            elif pa.types.is_time(kind):
                codes.append(pa.scalar(time.fromisoformat(text), kind))
            elif pa.types.is_timestamp(kind) and kind.tz is not None:
                moments = pa.array([text]).cast(pa.timestamp(kind.unit))
                codes += pc.assume_timezone(moments, kind.tz)
            else:
                codes += pa.array([text]).cast(kind)
    return pa.array(codes, kind)


def is_number(kind: pa.DataType) -> bool:
    """True if a column of Arrow holds numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_untyped(table: Table, column: str) -> bool:
    """True if the texts of a column may be numbers or dates.

    So they may in a file of texts, and in a column with a spelling of a missing value: without it,
    the column might be one of numbers.
    """
    return table.untyped or column in getattr(table, "spelled", ())


def is_spelled(column: str, spellings: Collection[str]) -> str:
    """The condition, in the SQL of DuckDB, that a text of a column spells a missing value."""
    blanks = " || ".join(f"chr({ord(blank)})" for blank in BLANKS)
    return f"trim({column}, {blanks}) IN ({', '.join(map(sql_text, sorted(spellings)))})"
