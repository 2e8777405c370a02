"""Units: in which columns a few rows share a value, as households do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from foreknow.data.arrays import IntArray
from foreknow.data.people.repeated_people import (
    HEAD_ROWS,
    SAMPLE_VALUES,
    countable,
    csv_file_of,
    known_values,
)
from foreknow.data.tables.columns import codes_of, fetch
from foreknow.data.tables.profile.column_words import WORDS, split
from foreknow.data.tables.table import Snapshot, Table
from foreknow_judge.errors import DataError

if TYPE_CHECKING:
    from foreknow.data.schema import Schema

# ---- in the reading of a file that is made anyway -----------------------------------------------

# A CSV file of more bytes is counted by its engine, which may put them on disk.
_MOST_BYTES = 1 << 32


def request_hashes(table: Table, schema: Schema) -> None:
    """Have the next reading of a large CSV file gather hashes of some columns as well.

    The columns are identifiers, and those that households may share. The hashes are then in
    `CsvTable.hashes` of the file.
    """
    file = csv_file_of(table)
    if file is None:
        return
    source = countable(table, table.columns)
    # Small files are read fast enough a second time, and the hashes of huge ones would not fit into
    # memory.
    if source is not None and _LARGE * source.row_size < (source.size or 0) < _MOST_BYTES:
        names = _perhaps_shared(table, schema)
        shared_columns = _may_share(source.head(names, HEAD_ROWS), names) if names else []
        file.beside = tuple(
            dict.fromkeys([*schema.unique_identifiers(schema.person), *shared_columns])
        )


# ---- households ---------------------------------------------------------------------------------

# So many rows are a household; of values that look like one there are so many at least.
_LEAST, _MOST, _SEVERAL = 2, 9, 20
# Where most rows are in such households, there are at most so many rows for each value.
_MOST_EACH = 18
# Of a table that is larger than so many rows, or bytes, one of so many values is looked at.
_LARGE, _OF_LARGE = 1 << 18, 64
# What is measured of a household or a home, and names none.
_MEASURED = """
    income einkommen revenu size grosse members personen score value wert wage rent miete price
    preis team type typ count goals status
"""
_OFTEN_SHARED = "lastname surname nachname familienname"
_MANY_SHARE = "firstname vorname forename givenname prenom"
# Numbers with a fraction; dates with letters of their months or times.
_FRACTION = re.compile(r"-?\d*[.,]0*[1-9]\d*")
_DATE = re.compile(r"\d{1,4}[-/. ]\w+[-/. ]\d|\d{4}[-/. ]\w{1,3}\b")
# As many households as people have, for each of these, where a few have moved.
_MOVED = 1.05


def shared(table: Table, schema: Schema) -> tuple[str, ...]:
    """The columns in which most rows share their value with one to eight other rows.

    Such values number households, addresses or families. Columns whose name says so are looked at,
    and also columns without a role whose values are codes of letters and digits: other numbers may
    be measured, and other words may name places. If people may have several rows, people are
    counted instead of rows, each in one household.
    """
    person = next(iter(schema.repeated_persons), None)
    if isinstance(table, Snapshot):  # each column of one reading, in whatever order
        table = table.inner or table
    # Columns that the schema declares to number people or households need not be found.
    declared = schema.person, getattr(schema.shared, "by", None)
    names = [name for name in _perhaps_shared(table, schema) if name not in declared]
    counted_table = None if person else countable(table, names)
    if counted_table is None:
        return tuple(n for n in names if _is_shared(n, *_count_values(table, n, person)))
    hashes = getattr(csv_file_of(table), "hashes", {})
    # From here on counting is dear: leave out what a look at some rows or hashes excludes.
    if hashes:
        names = [name for name in names if name in hashes]
    else:
        first_rows = counted_table.head(names, HEAD_ROWS) if names else pa.table({})
        if len(first_rows) < HEAD_ROWS:  # all of the table, in one question for all columns
            return tuple(n for n in names if _is_shared(n, *_value_counts(first_rows.column(n))))
        names = _may_share(first_rows, names)
    size = counted_table.size if names else 0
    is_large = size is None or size > _LARGE * counted_table.row_size
    share = _OF_LARGE if is_large else 1
    return tuple(
        name for name in names if _is_shared_in(counted_table, name, share, hashes.get(name))
    )


def _is_shared_in(engine: Any, name: str, share: int, hashes: IntArray | None) -> bool:
    """True if most rows of a column share their value with a few others.

    One in `share` values is looked at: by the hashes of all rows, if there are any and they
    suffice, else in the engine.
    """
    if hashes is not None:
        sample = hashes[hashes.view(np.uint64) % np.uint64(share) == 0]
        _, times = np.unique(sample, return_counts=True)
        # A value of many rows perhaps stands for a missing one, which only the engine can tell.
        if not len(times) or times.max() <= _MOST:
            are_few = _are_few(times)
            # Hashes do not show values, which must look like codes if the name says nothing.
            if _is_named_so(name) or not are_few:
                return are_few
    return _is_shared(name, *engine.sampled(name, share), share=share)


def largest(table: Table, name: str, person: str | None = None) -> tuple[int, int]:
    """The size of the largest household, and of the largest with at most nine members.

    `name` is the column of households; `person` is that of people, if people are counted, and not
    rows.
    """
    _, times = _count_values(table, name, person)
    return int(times.max(initial=1)), int(times[times <= _MOST].max(initial=1))


def agrees(table: Table, name: str, column: str) -> bool:
    """True if all rows of each household, which `name` numbers, have one value of `column`."""
    homes_column, values_column = fetch(table, [name, column]).columns
    homes, distinct_homes = codes_of(homes_column)
    values, distinct_values = codes_of(values_column)
    n_homes = len(distinct_homes) - distinct_homes.null_count
    has_home = homes < n_homes
    # One pair of household and value for each household.
    pairs = homes[has_home].astype(np.int64) * len(distinct_values) + values[has_home]
    return bool(len(np.unique(pairs)) == n_homes)


def _perhaps_shared(table: Table, schema: Schema) -> list[str]:
    """The columns that households may share: by their name, or since they have no role.

    Columns of first names are left out, which many people share.
    """
    names = []
    for name in table.columns:
        is_first_name = not _name_words(name).isdisjoint(_MANY_SHARE.split())
        if is_household(name) or (schema.role(name) is None and not is_first_name):
            names.append(name)
    return names


def _may_share(first_rows: pa.Table, names: Sequence[str]) -> list[str]:
    """Those of some columns whose first rows look as if households shared their values."""
    return [name for name in names if _looks_shared(first_rows.column(name), _is_named_so(name))]


def _value_counts(column: pa.ChunkedArray) -> tuple[pa.Array, IntArray]:
    """The values of a column, and how many rows have each."""
    codes, distinct, _ = known_values(column)
    return distinct, np.bincount(codes, minlength=len(distinct))


def _is_named_so(name: str) -> bool:
    """True if the name of a column says that relatives, or people who live together, share it."""
    return is_household(name) or not _name_words(name).isdisjoint(_OFTEN_SHARED.split())


def is_household(name: str) -> bool:
    """True if the name of a column says that people who live together share its values."""
    words = _name_words(name)
    return bool(words & WORDS["household"].keys()) and words.isdisjoint(_MEASURED.split())


def _name_words(name: str) -> set[str]:
    """The words of a name, and all of them as one."""
    split_name = split(re.sub(r"\d", " ", name))
    return {*split_name, "".join(split_name)}


def _looks_shared(first_rows: pa.ChunkedArray, is_named: bool) -> bool:
    """True if the first rows have as many different values as rows of households would have.

    The values must also look like those of households; see `_may_be_shared` for `is_named`.
    """
    codes, distinct, _ = known_values(first_rows)
    is_varied = bool(len(codes)) and len(codes) <= _MOST_EACH * len(distinct)
    return is_varied and _may_be_shared(distinct, is_named)


def _count_values(table: Table, name: str, person: str | None) -> tuple[pa.Array, IntArray]:
    """The values of a column, and how many rows, or people, have each.

    `person` is the column of people, who then count once; None: rows count. Empty if the column
    cannot be read, or varies within the rows of a person.
    """
    nobody = np.zeros(0, dtype=np.int64)
    try:
        rows = fetch(table, [name, *filter(None, [person])])
    except DataError:
        return pa.array([], pa.string()), nobody
    codes, distinct, known_rows = known_values(rows.column(name))
    if person is not None:
        person_of_row, people = codes_of(rows.column(person))
        persons = person_of_row[known_rows]
        # Each person once for each household; a few may have moved, so that they have two.
        pairs = np.unique(codes.astype(np.int64) * len(people) + persons)
        if len(pairs) > _MOVED * len(np.unique(persons)):
            return distinct.slice(0, 0), nobody
        # The code of the household, once for each person.
        codes = pairs // len(people)
    return distinct, np.bincount(codes, minlength=len(distinct))


def _is_shared(name: str, values: pa.Array, times: IntArray, *, share: int = 1) -> bool:
    """True if most rows of a column share their value with a few others.

    `times` is how many rows have each of the `values`, which are one in `share` of all values.
    """
    if not _are_few(times):
        return False
    is_few = (times >= _LEAST) & (times <= _MOST)
    is_named = _is_named_so(name)
    # Without a name that says so, many values must be shared, by an estimate for all values.
    is_likely = is_named or share * int(is_few.sum()) >= _SEVERAL
    return is_likely and _may_be_shared(values, is_named)


def _are_few(times: IntArray) -> bool:
    """True if most rows have a value that a few rows have."""
    is_few = (times >= _LEAST) & (times <= _MOST)
    return 2 * int(times[is_few].sum()) > int(times.sum())


def _may_be_shared(values: pa.Array, is_named: bool) -> bool:
    """True if values may name households.

    If `is_named`, the name of the column says so, and any values may but fractions, which are
    measured. Otherwise most must be codes of letters and digits.
    """
    sample = values.slice(0, SAMPLE_VALUES).drop_null().to_pylist()
    if is_named:
        return not any(map(_has_fraction, sample))
    return 2 * sum(map(_is_mixed_code, sample)) > len(sample)


def _is_mixed_code(value: Any) -> bool:
    """True for a text with letters and digits that is no date."""
    if not isinstance(value, str) or _DATE.match(value):
        return False
    return any(map(str.isalpha, value)) and any(map(str.isdigit, value))


def _has_fraction(value: Any) -> bool:
    """True for a number, or the text of one, that is not whole."""
    if isinstance(value, str):
        return _FRACTION.fullmatch(value) is not None
    return isinstance(value, (float, Decimal)) and value != value // 1
