"""Repeated: people who stand in two rows of a table whose rows are to be people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.engines.columns import codes_of, fetch
from foreknow.data.engines.number_names import (
    are_codes,
    is_number_of_person,
    is_of_person,
    is_of_rows,
)
from foreknow.data.engines.persons import first_rows
from foreknow.data.engines.sources import counted_where_it_lives
from foreknow.data.engines.table import Snapshot, Table, is_text
from foreknow.data.person_names import MARKED, NUMBERS, bare_name, refuse_two_spellings
from foreknow_judge.errors import DataError
from foreknow_judge.text import number

if TYPE_CHECKING:
    from foreknow.data.engines.duckdb_table import Distinct, DuckTable
    from foreknow.data.schema import Schema

# Of how many rows, and how many values, it is seen what a column holds.
HEAD_ROWS, SAMPLE_VALUES = 20_000, 1000


def unique_identifiers(schema: Schema) -> list[str]:
    """Identifiers that must not repeat."""
    return [n for n in schema.identifiers if schema.unit == "person" and n != schema.person]


def _unique(table: Table) -> set[str]:
    """Columns of which a reading saw that no value repeats: no two have the same hash."""
    hashed_columns = getattr(csv_file_of(table), "hashes", {}).items()
    return {name for name, hashes in hashed_columns if (hashes[1:] != hashes[:-1]).all()}


def csv_file_of(table: Table) -> DuckTable | None:
    """The CSV file that a table is; its reading can gather hashes."""
    inner: Any = getattr(table, "as_written", table)
    return inner if inner.untyped and "hashes" in vars(inner) else None


def refuse_repeated(table: Table, schema: Schema) -> None:
    """Raise `DataError` if a row is to be a person, and an identifier repeats.

    A missing value names nobody, and repeats nothing. A name may be that of two people, where the
    number of a person is in each row and does not repeat; whatever it is called, where the schema
    says that number. Where people may have several rows, an identifier must not be that of two
    people.
    """
    repeating = {*table.columns} - _unique(table)
    names = [n for n in unique_identifiers(schema) if n in repeating]
    if schema.several and schema.person is not None:
        _refuse_of_two(table, names, schema.person)
        return
    odd = repeated(table, names)
    apart: list[str] = []
    if odd:
        unique = {*table.columns} - odd.keys()
        listed = dict.fromkeys([*schema.persons, *schema.identifiers])
        apart = [n for n in listed if n in unique and _is_in_each_row(table, n)]
        if schema.person in apart:
            odd = {n: counts for n, counts in odd.items() if _is_number(table, n)}
        elif any(map(is_of_person, apart)):
            odd = {n: counts for n, counts in odd.items() if is_of_person(n) or is_of_rows(n)}
    for name, counts in odd.items():
        if not getattr(countable(table, [name]), "rows_numbered", True):
            raise _not_people(table, name, "some are in several rows", *counts, apart)
        column = fetch(table, [name]).column(name)
        if where := _repeat(column, np.arange(len(column))):
            raise _not_people(table, name, where, *counts, apart)


# Names that are bare but for capitals and zeros at their start, as most are.
_PLAIN, _ZEROS = "^[0-9A-Za-z][0-9A-Za-z_-]*$", "^0+([0-9])"


def refuse_spelt_twice(table: Table, names: Sequence[str]) -> None:
    """Raise `SchemaError` if a row is to be a person, and two are one but for their spelling.

    People are told apart by a column, or by those of several that number them. Of a large CSV file
    it was seen while it was read that names differ by more than capitals and blanks around.
    """
    if len(names) > 1:
        names = [n for n in names if is_number_of_person(n) or is_of_rows(n)]
    for name in {*names}.intersection(table.columns) - _unique(table):
        distinct = known_values(fetch(table, [name]).column(name))[1]
        if is_text(distinct.type) and (_is_spelt_twice(distinct) or _are_marked(distinct)):
            refuse_two_spellings(distinct.to_pylist(), repr(name))


def _are_marked(names: pa.Array) -> bool:
    """True if all names may be numbers, some of them with an exponent or marks."""
    some_marked = pc.any(pc.match_substring_regex(names, MARKED)).as_py()
    return bool(some_marked and pc.all(pc.match_substring_regex(names, NUMBERS)).as_py())


def _is_spelt_twice(names: pa.Array) -> bool:
    """True if two of some different names have the same bare name."""
    is_plain = pc.match_substring_regex(names, _PLAIN)
    bare_names = {*map(bare_name, names.filter(pc.invert(is_plain)).to_pylist())}
    shorter = pc.replace_substring_regex(names.filter(is_plain), _ZEROS, r"\1")
    plain_names = pc.ascii_lower(shorter).unique()
    if bare_names:
        bare_names -= {*plain_names.to_pylist()}
    return len(plain_names) + len(bare_names) < len(names)


def _refuse_of_two(table: Table, names: Sequence[str], person: str) -> None:
    """Raise `DataError` if an identifier is that of two people, who may have several rows."""
    for name in names:
        rows = fetch(table, [name, person])
        if where := _repeat(rows.column(name), codes_of(rows.column(person))[0]):
            raise DataError(
                f"{table.name}: the identifier {name!r} repeats: {where}, of two people by "
                f"{person!r}; say person = {name!r}, if it tells people apart, {_NO_NAME}"
            )


def _repeat(column: pa.ChunkedArray, owner: NDArray[Any]) -> str:
    """The first value that stands in rows of two owners, and in which rows; "" if none does."""
    codes, distinct, known_rows = known_values(column)
    first, owner = first_rows(codes, len(distinct)), owner[known_rows]
    repeats = owner != owner[first[codes]]
    if not repeats.any():
        return ""
    later = int(np.argmax(repeats))
    earlier, value = int(first[codes[later]]), distinct[int(codes[later])].as_py()
    return f"{value!r} is in rows {known_rows[earlier] + 1} and {known_rows[later] + 1}"


def known_values(column: pa.ChunkedArray) -> tuple[NDArray[Any], pa.Array, IntArray]:
    """Codes of the values that are not missing, the distinct ones, and the rows of the codes."""
    codes, values = codes_of(column)
    distinct = values.slice(0, len(values) - values.null_count)  # a null is last
    known_rows = np.flatnonzero(codes < len(distinct))
    return codes[known_rows], distinct, known_rows


_NO_NAME = (
    "or, if it names nobody by itself (a name that two people have, a household), leave it out of "
    "identifiers: a column without a role is not published either"
)


def _is_in_each_row(table: Table, name: str) -> bool:
    """True if each row has a value of a column, and none repeats."""
    rows, counts = _distinct(table, [name])
    return bool(counts[name] == (rows, rows))


def _distinct(table: Table, columns: Sequence[str]) -> tuple[int, Distinct]:
    """How many rows there are, how many have a value of each column, and how many values."""
    source = countable(table, columns)
    if source is not None:
        counts: tuple[int, Distinct] = source.distinct(columns)
        return counts
    rows, of_each = 0, {}
    for name in columns:
        column = fetch(table, [name]).column(name)
        codes, distinct, _ = known_values(column)
        rows, of_each[name] = len(column), (len(codes), len(distinct))
    return rows, of_each


def refuse_rows_of_one(table: Table, person: str) -> None:
    """Raise `DataError` if a table that is counted where it lies has not a row for each person."""
    if not _is_in_each_row(table, person):
        raise DataError(
            f"{table.name}: somebody is in two rows by {person!r}, or a row names nobody"
        )


def _is_number(table: Table, name: str) -> bool:
    """True if a column is the number of a person, or of what rows are about, and no name.

    One that is called as a person is, such as `patient`, is a number if most of its values are.
    """
    if is_number_of_person(name) or is_of_rows(name) or not is_of_person(name):
        return is_number_of_person(name) or is_of_rows(name)
    source = countable(table, [name])
    rows = fetch(table, [name]) if source is None else source.head([name], HEAD_ROWS)
    sample = known_values(rows.column(name))[1].slice(0, SAMPLE_VALUES).to_pylist()
    return 2 * sum(are_codes([value]) for value in sample) >= len(sample)


def _not_people(
    table: Table, name: str, where: str, rows: int, distinct: int, apart: Sequence[str]
) -> DataError:
    way = (
        f'say person = "{name}" with semantics = "set" or "multiset", where a person may have '
        "several sensitive values"
    )
    if not _is_number(table, name) and apart:
        way = f'say person = "{apart[0]}" in [schema], if each of these is another person'
    elif not _is_number(table, name):
        way = (
            'say person = "NUMBER" in [schema], if a column NUMBER has another value in each row, '
            f"and each is another person; or {way}"
        )
    return DataError(
        f"{table.name}: the identifier {name!r} repeats: {where}, and {number(rows)} rows have "
        f"{number(distinct)} different ones, so a row is not a person. Give one row for each "
        f'person; or {way}; or say unit = "row" in [schema]: then verdicts '
        f"are about cases, and not about people; {_NO_NAME}"
    )


def repeated(table: Table, columns: Sequence[str]) -> Distinct:
    """The columns in which a value repeats: their numbers of rows and of values."""
    of_each = _distinct(table, columns)[1] if columns else {}
    return {name: counts for name, counts in of_each.items() if counts[0] > counts[1]}


def countable(table: Table, columns: Sequence[str]) -> Any:
    """Where the columns can be counted without reading them; None where that is faster here."""
    if isinstance(table, Snapshot) and "_rows" in vars(table):
        return None
    source = counted_where_it_lives(table, columns)
    return None if isinstance(source, str) else source
