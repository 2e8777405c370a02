"""Profile: what the columns of a table hold, before anybody has said what they are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from foreknow.data.arrays import IntArray
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.tables.columns import codes_of, encode, plain
from foreknow.data.tables.profile.column_advice import described
from foreknow.data.tables.profile.reading_options import (
    amount_marks,
    date_formats,
    has_decimal_commas,
    has_unclear_commas,
)
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.table import Table
from foreknow.data.tables.views.missing_spellings import is_untyped
from foreknow_judge.errors import DataError
from foreknow_judge.policy.grammar import Kind

# Columns that are held at once: so many are read in one pass.
_AT_ONCE = 64
# A text among so many distinct values makes the column one of texts: the others need no look.
_LOOK = 20_000
# What programs and people write for a missing value; never a number, nor what may be a category.
_USUAL = (
    *("NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "NULL", "null", "<NA>", "NaT"),
    *("k. A.", "k.A.", "k.a.", "k. a.", "keine Angabe", "unbekannt", "Unbekannt"),
    *("unknown", "Unknown", "UNKNOWN", "n. a.", "n.a.", "-", "--", ".", "?"),
)


@dataclass(frozen=True, eq=False)
class Profile:
    """A profile of a column.

    Attributes
    ----------
    name : str
    rows, nulls : int
    distinct : int
        How many values it has, without nulls.
    kind : "number", "date" or "text", or None
        None where it cannot be used at all; `problem` says why.
    domain : list
        Its values, ascending; of very many texts the first ones that were met.
    people : int64 array
        How many rows have each value of the domain.
    """

    name: str
    rows: int
    nulls: int = 0
    distinct: int = 0
    kind: Kind | None = None
    domain: Sequence[Any] = ()
    people: IntArray | None = None
    problem: str = ""

    @property
    def known(self) -> int:
        """Rows that have a value."""
        return self.rows - self.nulls

    @property
    def said(self) -> str:
        """How the column was read, in words: numbers 17 to 90, or text, 2 values."""
        if self.problem or self.kind == "text":
            return f"{self.distinct:,} value{'s' * (self.distinct != 1)}"
        return f"{self.distinct:,} values, {described(self.domain)}"


def profiles(table: Table, reading: Reading) -> list[Profile]:
    """Look at every column once; one that cannot be read is said to be so, and no error."""
    column_profiles: list[Profile] = []
    for start in range(0, len(table.columns), _AT_ONCE):
        names = table.columns[start : start + _AT_ONCE]
        column_profiles += _profiles_at_once(table, names, reading)
    return column_profiles


def looked_at(source: Any, declared: Reading) -> tuple[Table, list[Profile], Reading]:
    """Open a table, profile its columns, and recognize how its values are written.

    Parameters
    ----------
    source
        A table, or a path.
    declared : Reading
        What is known of how it is written. If it names no spellings of a missing value, the usual
        ones that occur are taken.

    Returns
    -------
    table : Table
    profiles : list of Profile
    reading : Reading
        What is declared, and what was recognized.
    """
    reading = declared if declared.missing else replace(declared, missing=_USUAL)
    table = open_table(source, reading)
    columns = profiles(table, reading)
    if not declared.missing and _has_plus_and_minus(table, columns):
        # Beside "+", "-" is a result: read again without it.
        reading = replace(declared, missing=[spelling for spelling in _USUAL if spelling != "-"])
        table = open_table(source, reading)
        columns = profiles(table, reading)
    spelled: Mapping[str, set[str]] = getattr(table, "found", {})
    delimiter = getattr(getattr(table, "dialect", None), "delimiter", "")
    full_reading = reading_of(columns, reading, delimiter)
    # Columns read otherwise have another kind and other values.
    if full_reading != reading:
        columns = profiles(table, full_reading)
    occurring: set[str] = set().union(*spelled.values())
    missing = declared.missing or [spelling for spelling in _USUAL if spelling in occurring]
    return table, columns, replace(full_reading, missing=missing)


def _has_plus_and_minus(table: Table, columns: Sequence[Profile]) -> bool:
    """True if a column holds both "+" and "-", which then does not stand for a missing value."""
    spelled: Mapping[str, set[str]] = getattr(table, "found", {})
    return any("-" in spelled.get(p.name, ()) and "+" in p.domain for p in columns)


def _profiles_at_once(table: Table, names: Sequence[str], reading: Reading) -> Iterator[Profile]:
    """Yield the profiles of some columns, which are read at once.

    If that fails, each column is read by itself; one that cannot be read has a profile that says
    why.
    """
    try:
        rows = table.arrow(list(names))
    except DataError as error:
        if len(names) > 1:
            for name in names:
                yield from _profiles_at_once(table, [name], reading)
            return
        if table.untyped:
            raise  # the file itself is broken
        yield Profile(names[0], 0, problem=str(error))
        return
    for position, name in enumerate(names):
        try:
            yield _profile(name, rows.column(position), reading, untyped=is_untyped(table, name))
        except DataError as error:
            yield Profile(name, len(rows), problem=str(error))


def _profile(name: str, array: pa.ChunkedArray, reading: Reading, *, untyped: bool) -> Profile:
    """The profile of one column; of many distinct texts, only the first are looked at.

    `untyped` says if texts may be numbers or dates. Raises `DataError` if values cannot be read.
    """
    array = plain(name, array)
    codes, values = codes_of(array)
    nulls = int(array.null_count)
    distinct = len(values) - (nulls > 0)
    # If there are so many texts, some of the first ones show if not all are numbers or dates.
    if distinct > _LOOK and pa.types.is_string(values.type):
        sample = values.slice(0, _LOOK)  # without the null, which is last
        if not untyped or encode(name, pa.chunked_array([sample]), untyped=True).kind == "text":
            people = np.bincount(codes, minlength=_LOOK)[:_LOOK]
            domain = sample.to_pylist()
            return Profile(name, len(array), nulls, distinct, "text", domain, people)
    column = encode(name, array, untyped=untyped, reading=reading)
    people = np.bincount(column.codes, minlength=len(column.domain))
    domain = column.domain
    if column.has_null:  # the first code
        domain, people = domain[1:], people[1:]
    return Profile(name, len(array), nulls, len(domain), column.kind, domain, people)


def reading_of(columns: Sequence[Profile], declared: Reading, delimiter: str = "") -> Reading:
    """The declared reading, and what all columns that show a way of writing agree on.

    That may be a decimal comma, a format of dates, marks of amounts, or commas between thousands:
    the latter only in a file with commas between its cells. `delimiter` is that of the file.
    """
    domains = [p.domain for p in columns if p.kind == "text" and p.distinct]
    settings: dict[str, Any] = {}
    has_comma = any(has_decimal_commas(d) and not has_unclear_commas(d) for d in domains)
    if has_comma and declared.decimal is None and not any(map(_has_point, columns)):
        settings["decimal"] = ","
    # The formats that fit the texts of each column; only a format common to all is sure.
    fitting_formats = [date_formats(domain, str(domain[0])) for domain in domains]
    formats_of_columns = [{*formats} for formats in fitting_formats if formats]
    common = set.intersection(*formats_of_columns) if formats_of_columns else set()
    if declared.date_format is None and len(common) == 1:
        settings["date_format"] = common.pop()
    marks = [*filter(None, map(amount_marks, domains))]
    if marks and not {"decimal", "thousands", "currency"} & declared.to_dict().keys():
        settings |= _agreed([settings, *marks])
    by_commas = delimiter == "," and declared.decimal is None and "decimal" not in settings
    if by_commas and declared.thousands is None and any(map(_are_unclear, domains)):
        settings["thousands"] = ","
    reading = declared.over(Reading(**settings))
    # With a fixed latest year, a policy of today is read alike in later years.
    if reading.guesses_century:
        return replace(reading, latest_year=dt.date.today().year)
    return reading


def _has_point(profile: Profile) -> bool:
    """True if a column is one of numbers, some of them with a decimal point."""
    return profile.kind == "number" and any("." in str(value) for value in profile.domain)


def _are_unclear(domain: Sequence[Any]) -> bool:
    """True if texts are numbers with commas that stand before three digits."""
    return has_decimal_commas(domain) and has_unclear_commas(domain)


def _agreed(marks_by_column: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The marks of several columns as one mapping; empty if two columns differ in a mark.

    Empty, too, if the same sign would stand before decimals and between thousands.
    """
    agreed: dict[str, str] = {}
    for marks in marks_by_column:
        for name, mark in marks.items():
            if agreed.setdefault(name, mark) != mark:
                return {}
    decimal, thousands = agreed.get("decimal", "."), agreed.get("thousands")
    return {} if decimal == thousands else agreed
