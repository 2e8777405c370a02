"""Repeated: people who stand in two rows of a table whose rows are to be people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.people.number_names import (
    are_codes,
    is_number_of_person,
    is_of_person,
    is_of_rows,
)
from foreknow.data.people.persons import first_rows
from foreknow.data.person_names import MARKED, NUMBERS, bare_name, refuse_two_spellings
from foreknow.data.tables.columns import codes_of, fetch
from foreknow.data.tables.sources import counted_where_it_lives
from foreknow.data.tables.table import Snapshot, Table, is_text
from foreknow_judge.errors import DataError
from foreknow_judge.text import number

if TYPE_CHECKING:
    from foreknow.data.schema import Schema
    from foreknow.data.tables.formats.duckdb_table import CsvTable, Distinct

# Of how many rows, and how many values, it is seen what a column holds.
HEAD_ROWS, SAMPLE_VALUES = 20_000, 1000


def _columns_without_repeats(table: Table) -> set[str]:
    """The columns in which no value repeats, by the hashes that a reading of the file gathered.

    A column without hashes is not among them. Hashes are sorted, so equal ones would be neighbours.
    """
    hashed_columns = getattr(csv_file_of(table), "hashes", {}).items()
    return {name for name, hashes in hashed_columns if (hashes[1:] != hashes[:-1]).all()}


def csv_file_of(table: Table) -> CsvTable | None:
    """The table as a CSV file, whose reading can gather hashes; None if it is no such file."""
    inner: Any = getattr(table, "as_written", table)
    return inner if "hashes" in vars(inner) else None


def refuse_repeated(table: Table, schema: Schema) -> None:
    """Raise `DataError` if an identifier repeats, though each row is to be a person.

    A missing value names nobody, and repeats nothing. If another column numbers people (each row
    has a number, and none repeats), names may repeat, since two people may have one. Where people
    may have several rows, an identifier must not be that of two people.
    """
    may_repeat = {*table.columns} - _columns_without_repeats(table)
    names = [n for n in schema.unique_identifiers(schema.person) if n in may_repeat]
    for person in schema.repeated_persons:
        _refuse_of_two(table, names, person)
        return
    # Of each identifier that repeats: in how many rows it has a value, and how many values.
    counts_of = repeated(table, names)
    numbers: list[str] = []  # columns that tell people apart
    # Names may repeat if a number tells people apart: then only numbers that repeat are refused.
    if counts_of:
        for n in dict.fromkeys([*schema.persons, *schema.identifiers]):
            if n in table.columns and n not in counts_of and _is_in_each_row(table, n):
                numbers.append(n)
        # The declared person has a number in each row: names may repeat.
        if {*numbers}.intersection(schema.persons):
            counts_of = {n: counts for n, counts in counts_of.items() if _is_number(table, n)}
        elif any(map(is_of_person, numbers)):
            refused = [n for n in counts_of if is_of_person(n) or is_of_rows(n)]
            counts_of = {n: counts_of[n] for n in refused}
    for name, counts in counts_of.items():
        n_rows, n_values = counts
        # Rows of a cluster have no numbers that a message could name.
        where = "some are in several rows"
        if getattr(countable(table, [name]), "rows_numbered", True):
            column = fetch(table, [name]).column(name)
            where = _describe_repeat(column, np.arange(len(column)))
        if where:
            raise _repeats_error(table, name, where, n_rows, n_values, numbers)


# Names that are bare but for capitals and zeros at their start, as most are.
_PLAIN, _ZEROS = "^[0-9A-Za-z][0-9A-Za-z_-]*$", "^0+([0-9])"


def refuse_spelt_twice(table: Table, names: Sequence[str]) -> None:
    """Raise `SchemaError` if two names of people differ only in their spelling.

    `names` are the columns that name people; of several, only those that number them are looked at.
    A column is passed over if the reading of a large CSV file saw that all values differ even
    without capitals and blanks around.
    """
    if len(names) > 1:
        names = [n for n in names if is_number_of_person(n) or is_of_rows(n)]
    for name in {*names}.intersection(table.columns) - _columns_without_repeats(table):
        # A quick test in Arrow before names are compared one by one.
        _, distinct, _ = known_values(fetch(table, [name]).column(name))
        if is_text(distinct.type) and (_is_spelt_twice(distinct) or _are_marked(distinct)):
            refuse_two_spellings(distinct.to_pylist(), repr(name))


def _are_marked(names: pa.Array) -> bool:
    """True if all names may be numbers, some of them with an exponent or marks."""
    some_marked = pc.any(pc.match_substring_regex(names, MARKED)).as_py()
    return bool(some_marked and pc.all(pc.match_substring_regex(names, NUMBERS)).as_py())


def _is_spelt_twice(names: pa.Array) -> bool:
    """True if two of some different names have the same bare name; see `bare_name`."""
    # Most names are plain: their bare name (without capitals and zeros before) is made in Arrow,
    # which is fast.
    is_plain = pc.match_substring_regex(names, _PLAIN)
    shorter = pc.replace_substring_regex(names.filter(is_plain), _ZEROS, r"\1")
    bare_plain_names = pc.ascii_lower(shorter).unique()
    other_bare_names = {*map(bare_name, names.filter(pc.invert(is_plain)).to_pylist())}
    if other_bare_names:
        # Bare names that both kinds have are counted once.
        other_bare_names -= {*bare_plain_names.to_pylist()}
    return len(bare_plain_names) + len(other_bare_names) < len(names)


def _refuse_of_two(table: Table, names: Sequence[str], person: str) -> None:
    """Raise `DataError` if two people, who may have several rows, have one identifier."""
    for name in names:
        rows = fetch(table, [name, person])
        people, _ = codes_of(rows.column(person))
        where = _describe_repeat(rows.column(name), people)
        if where:
            raise DataError(
                f"{table.name}: the identifier {name!r} repeats: {where}, of two people by "
                f"{person!r}; say person = {name!r}, if it tells people apart, {_NO_NAME}"
            )


def _describe_repeat(column: pa.ChunkedArray, person_of_row: NDArray[Any]) -> str:
    """The rows of the first value that two people have, in words; "" if there is none.

    `person_of_row` is a number for each row: rows of one person may have the same value.
    """
    codes, distinct, known_rows = known_values(column)
    first, persons = first_rows(codes, len(distinct)), person_of_row[known_rows]
    # The first row with a value is of somebody else.
    is_repeat = persons != persons[first[codes]]
    if not is_repeat.any():
        return ""
    later = int(np.argmax(is_repeat))
    earlier, value = int(first[codes[later]]), distinct[int(codes[later])].as_py()
    return f"{value!r} is in rows {known_rows[earlier] + 1} and {known_rows[later] + 1}"


def known_values(column: pa.ChunkedArray) -> tuple[NDArray[Any], pa.Array, IntArray]:
    """Codes of the values that are not missing, the distinct values, and the row of each code."""
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
    n_rows, counts = _count_distinct(table, [name])
    return bool(counts[name] == (n_rows, n_rows))


def _count_distinct(table: Table, columns: Sequence[str]) -> tuple[int, Distinct]:
    """The number of rows; and for each column, how many rows have a value, and how many values."""
    # What is read of a small file is held, and need not be read later.
    file = csv_file_of(table)
    source = None if file is not None and file.is_small else countable(table, columns)
    if source is not None:
        counts: tuple[int, Distinct] = source.distinct(columns)
        return counts
    n_rows, counts_of = 0, {}
    for name in columns:
        column = fetch(table, [name]).column(name)
        codes, distinct, _ = known_values(column)
        n_rows, counts_of[name] = len(column), (len(codes), len(distinct))
    return n_rows, counts_of


def refuse_rows_of_one(table: Table, person: str) -> None:
    """Raise `DataError` if a table that is counted where it lies has not a row for each person."""
    if not _is_in_each_row(table, person):
        raise DataError(
            f"{table.name}: somebody is in two rows by {person!r}, or a row names nobody"
        )


def _is_number(table: Table, name: str) -> bool:
    """True if a column holds numbers of people or of rows, and no names.

    The name of the column may say so. A column that is called as a person is, such as `patient`,
    numbers people if at least half of its values are numbers or codes.
    """
    if is_number_of_person(name) or is_of_rows(name):
        return True
    if not is_of_person(name):
        return False
    source = countable(table, [name])
    rows = fetch(table, [name]) if source is None else source.head([name], HEAD_ROWS)
    _, distinct, _ = known_values(rows.column(name))
    sample = distinct.slice(0, SAMPLE_VALUES).to_pylist()
    return 2 * sum(are_codes([value]) for value in sample) >= len(sample)


def _repeats_error(
    table: Table, name: str, where: str, n_rows: int, n_values: int, numbers: Sequence[str]
) -> DataError:
    """The error of an identifier that repeats, so that a row is not a person; with a way out.

    `where` says in which rows one of its `n_values` values repeats; `n_rows` rows have a value.
    `numbers` are the columns that tell people apart, if there are any.
    """
    way_out = (
        f'say person = "{name}" with semantics = "set" or "multiset", where a person may have '
        "several sensitive values"
    )
    if not _is_number(table, name) and numbers:
        way_out = f'say person = "{numbers[0]}" in [schema], if each of these is another person'
    elif not _is_number(table, name):
        way_out = (
            'say person = "NUMBER" in [schema], if a column NUMBER has another value in each row, '
            f"and each is another person; or {way_out}"
        )
    return DataError(
        f"{table.name}: the identifier {name!r} repeats: {where}, and {number(n_rows)} rows have "
        f"{number(n_values)} different ones, so a row is not a person. Give one row for each "
        f'person; or {way_out}; or say unit = "row" in [schema]: then verdicts '
        f"are about cases, and not about people; {_NO_NAME}"
    )


def repeated(table: Table, columns: Sequence[str]) -> Distinct:
    """The columns in which a value repeats: their numbers of rows and of values."""
    if not columns:
        return {}
    _, counts_of = _count_distinct(table, columns)
    # More rows have a value than there are values.
    return {name: counts for name, counts in counts_of.items() if counts[0] > counts[1]}


def countable(table: Table, columns: Sequence[str]) -> Any:
    """The engine that can count columns where they lie; None if memory is faster."""
    # The rows were read already.
    if isinstance(table, Snapshot) and "_rows" in vars(table):
        return None
    source = counted_where_it_lives(table, columns)
    return None if isinstance(source, str) else source
