"""Units: whether each row of a table is a person, and in which columns a few rows share a value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.engines.column_words import WORDS, split
from foreknow.data.engines.columns import codes_of, fetch
from foreknow.data.engines.group_counts import first_rows
from foreknow.data.engines.person_numbers import (
    are_codes,
    is_number_of_person,
    is_of_person,
    is_of_rows,
)
from foreknow.data.engines.sources import counted_where_it_lives
from foreknow.data.engines.table import Snapshot, Table, is_text
from foreknow.data.people import bare_name, refuse_two_spellings
from foreknow_judge.errors import DataError
from foreknow_judge.text import number

if TYPE_CHECKING:
    from foreknow.data.engines.duckdb_table import Distinct, DuckTable
    from foreknow.data.schema import Schema

# ---- in the reading of a file that is made anyway -----------------------------------------------

# A CSV file of more bytes is counted by its engine, which may put them on disk.
_MOST_BYTES = 1 << 32


def look_beside(table: Table, schema: Schema) -> None:
    """Have the next reading of a large CSV file look at identifiers and households as well."""
    file = _file_of(table)
    if file is None or schema.several:
        return
    source = _source(table, table.columns)
    if source is not None and _LARGE * 16 < (source.size or 0) < _MOST_BYTES:
        names = _perhaps_shared(table, schema)
        homes = _may_share(source.head(names, _HEAD), names) if names else []
        file.beside = tuple(dict.fromkeys([*_looked_at(schema), *homes]))


def _looked_at(schema: Schema) -> list[str]:
    """Identifiers that must not repeat."""
    return [n for n in schema.identifiers if schema.unit == "person" and n != schema.person]


def _unique(table: Table) -> set[str]:
    """Columns of which a reading saw that no value repeats: no two have the same hash."""
    hashed_columns = getattr(_file_of(table), "hashes", {}).items()
    return {name for name, hashes in hashed_columns if (hashes[1:] != hashes[:-1]).all()}


def _file_of(table: Table) -> DuckTable | None:
    """The CSV file that a table is; its reading can gather hashes."""
    inner: Any = getattr(table, "as_written", table)
    return inner if inner.untyped and "hashes" in vars(inner) else None


# ---- whoever stands in two rows -----------------------------------------------------------------


def refuse_repeated(table: Table, schema: Schema, columns: Sequence[str] | None = None) -> None:
    """Raise `DataError` if a row is to be a person, and an identifier repeats.

    A missing value names nobody, and repeats nothing. A name may be that of two people, where the
    number of a person is in each row and does not repeat; whatever it is called, where the schema
    says that number. Where people may have several rows, an identifier must not be that of two
    people. `columns` are those that the table has.
    """
    names = [n for n in _looked_at(schema) if n not in _unique(table)]
    names = [n for n in names if columns is None or n in columns]
    if schema.several and schema.person is not None:
        _refuse_of_two(table, names, schema.person)
        return
    odd = repeated(table, names)
    apart: list[str] = []
    if odd:
        unique = [n for n in (schema.person, *schema.identifiers) if n is not None and n not in odd]
        apart = [n for n in unique if columns is None or n in columns]
        apart = [n for n in dict.fromkeys(apart) if _is_in_each_row(table, n)]
        if schema.person in apart:
            odd = {n: counts for n, counts in odd.items() if _is_number(table, n)}
        elif any(map(is_of_person, apart)):
            odd = {n: counts for n, counts in odd.items() if is_of_person(n) or is_of_rows(n)}
    for name, counts in odd.items():
        if not getattr(_source(table, [name]), "rows_numbered", True):
            raise _not_people(table, name, "some are in several rows", *counts, apart)
        column = fetch(table, [name]).column(name)
        if where := _repeat(column, np.arange(len(column))):
            raise _not_people(table, name, where, *counts, apart)


# Names that are bare but for capitals and zeros at their start, as most are.
_PLAIN, _ZEROS = "^[0-9A-Za-z][0-9A-Za-z_-]*$", "^0+([0-9])"


def refuse_spelt_twice(table: Table, schema: Schema) -> None:
    """Raise `SchemaError` if a row is to be a person, and two are one but for their spelling.

    People are told apart by the person of a schema, or by what numbers them. Of a large CSV file
    it was seen while it was read that names differ by more than capitals and blanks around.
    """
    names = [schema.person] if schema.person else [*schema.identifiers]
    if len(names) > 1:
        names = [n for n in names if is_number_of_person(n) or is_of_rows(n)]
    for name in {*names}.intersection(table.columns) - _unique(table):
        distinct = _known_of(fetch(table, [name]).column(name))[1]
        if is_text(distinct.type) and _is_spelt_twice(distinct):
            refuse_two_spellings(distinct.to_pylist(), repr(name))


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
    codes, distinct, known_rows = _known_of(column)
    first, owner = first_rows(codes, len(distinct)), owner[known_rows]
    repeats = owner != owner[first[codes]]
    if not repeats.any():
        return ""
    later = int(np.argmax(repeats))
    earlier, value = int(first[codes[later]]), distinct[int(codes[later])].as_py()
    return f"{value!r} is in rows {known_rows[earlier] + 1} and {known_rows[later] + 1}"


def _known_of(column: pa.ChunkedArray) -> tuple[NDArray[Any], pa.Array, IntArray]:
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
    source = _source(table, columns)
    if source is not None:
        counts: tuple[int, Distinct] = source.distinct(columns)
        return counts
    rows, of_each = 0, {}
    for name in columns:
        column = fetch(table, [name]).column(name)
        codes, distinct, _ = _known_of(column)
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
    source = _source(table, [name])
    rows = fetch(table, [name]) if source is None else source.head([name], _HEAD)
    sample = _known_of(rows.column(name))[1].slice(0, _LOOK).to_pylist()
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


def _source(table: Table, columns: Sequence[str]) -> Any:
    """Where the columns can be counted without reading them; None where that is faster here."""
    if isinstance(table, Snapshot) and "_rows" in vars(table):
        return None
    source = counted_where_it_lives(table, columns)
    return None if isinstance(source, str) else source


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
_HEAD, _LOOK = 20_000, 1000
# Numbers with a fraction; dates with letters of their months or times.
_FRACTION, _DATE = (
    re.compile(r"-?\d*[.,]0*[1-9]\d*"),
    re.compile(r"\d{1,4}[-/. ]\w+[-/. ]\d|\d{4}[-/. ]\w{1,3}\b"),
)
# As many households as people have, for each of these, where a few have moved.
_MOVED = 1.05


def shared(table: Table, schema: Schema) -> tuple[str, ...]:
    """Columns in which most rows share their value with one to eight others.

    A household, an address, a family. Columns that others know, or that are hidden, are looked at
    if their name says so; those without a role also if their values are codes of letters and
    digits. Numbers may be measured, and words the names of places, without such a name.
    Where people may have several rows, people are counted, who are of one household each.
    """
    person = schema.person if schema.several or schema.counts_people else None
    if isinstance(table, Snapshot):  # each column of one reading, in whatever order
        table = table.inner or table
    named_columns = schema.person, getattr(schema.shared, "by", None)  # what is said already
    names = [name for name in _perhaps_shared(table, schema) if name not in named_columns]
    source = None if person else _source(table, names)
    if source is None:
        all_of = ((n, _counted(table, n, person)) for n in names)
        return tuple(n for n, counts in all_of if _is_shared(counts, 1, _is_named_so(n)))
    hashes = getattr(_file_of(table), "hashes", {})
    if not hashes:
        head = source.head(names, _HEAD) if names else pa.table({})
        if len(head) < _HEAD:  # all of the table, in one question for all columns
            all_of = ((name, _times(head.column(name))) for name in names)
            return tuple(n for n, counts in all_of if _is_shared(counts, 1, _is_named_so(n)))
    names = [n for n in names if n in hashes] if hashes else _may_share(head, names)
    size = source.size if names else 0
    share = _OF_LARGE if size is None or size > _LARGE * (16 if source.untyped else 1) else 1

    def found(name: str) -> bool:
        if name in hashes:
            sample = hashes[name][hashes[name].view(np.uint64) % np.uint64(share) == 0]
            times = np.unique(sample, return_counts=True)[1]
            if not len(times) or times.max() <= _MOST:  # else perhaps a spelling of what is missing
                are_few = _are_few(times)
                if _is_named_so(name) or not are_few:
                    return are_few
        return _is_shared(source.sampled(name, share), share, _is_named_so(name))

    return tuple(name for name in names if found(name))


def largest(table: Table, name: str, person: str | None = None) -> tuple[int, int]:
    """How many rows, or people, the largest household has, and the largest of nine at most."""
    _, times = _counted(table, name, person)
    return int(times.max(initial=1)), int(times[times <= _MOST].max(initial=1))


def agrees(table: Table, name: str, column: str) -> bool:
    """True if all rows of each household have one value of a column."""
    rows = fetch(table, [name, column])
    (homes, of_homes), (values, of_values) = map(codes_of, rows.columns)
    has_home = homes < len(of_homes) - of_homes.null_count
    pairs = homes[has_home].astype(np.int64) * len(of_values) + values[has_home]
    return bool(len(np.unique(pairs)) == len(of_homes) - of_homes.null_count)


def _perhaps_shared(table: Table, schema: Schema) -> list[str]:
    """Columns that households may share: by their name, or without a role."""
    odd = {*_MANY_SHARE.split()}
    free = {n for n in table.columns if schema.role(n) is None and not _words(n) & odd}
    return [name for name in table.columns if name in free or is_household(name)]


def _may_share(head: pa.Table, names: Sequence[str]) -> list[str]:
    """Those of some columns of which the first rows have as many values as households would."""
    return [name for name in names if _may_be(head.column(name), _is_named_so(name))]


def _times(column: pa.ChunkedArray) -> tuple[pa.Array, IntArray]:
    """Values of a column, and how many rows have each."""
    codes, distinct, _ = _known_of(column)
    return distinct, np.bincount(codes, minlength=len(distinct))


def _is_named_so(name: str) -> bool:
    """True if the name of a column says that relatives, or people who live together, share it."""
    return is_household(name) or not _words(name).isdisjoint(_OFTEN_SHARED.split())


def is_household(name: str) -> bool:
    """True if the name of a column says that people who live together share its values."""
    words = _words(name)
    return bool(words & WORDS["household"].keys()) and words.isdisjoint(_MEASURED.split())


def _words(name: str) -> set[str]:
    """The words of a name, and all of them as one."""
    split_name = split(re.sub(r"\d", " ", name))
    return {*split_name, "".join(split_name)}


def _may_be(head: pa.ChunkedArray, is_named: bool) -> bool:
    """True if the first rows have as many different values as households would have."""
    codes, distinct, _ = _known_of(head)
    is_varied = bool(len(codes)) and len(codes) <= _MOST_EACH * len(distinct)
    return is_varied and _may_be_shared(distinct, is_named)


def _counted(table: Table, name: str, person: str | None) -> tuple[pa.Array, IntArray]:
    """Values of a column, and how many rows, or people, have each."""
    try:
        rows = fetch(table, [name] if person is None else [name, person])
    except DataError:  # a column that cannot be read need not be
        return pa.array([], pa.string()), np.zeros(0, dtype=np.int64)
    codes, distinct, known_rows = _known_of(rows.column(name))
    if person is not None:
        who, people = codes_of(rows.column(person))
        codes = np.unique(codes.astype(np.int64) * len(people) + who[known_rows]) // len(people)
        if len(codes) > _MOVED * len(np.unique(who[known_rows])):  # it varies within a person
            return distinct.slice(0, 0), np.zeros(0, dtype=np.int64)
    return distinct, np.bincount(codes, minlength=len(distinct))


def _is_shared(counts: tuple[pa.Array, IntArray], share: int, is_named: bool) -> bool:
    """True if most rows share their value with a few others; one of so many values was found."""
    values, times = counts
    if not _are_few(times):
        return False
    is_few = (times >= _LEAST) & (times <= _MOST)
    return (is_named or share * int(is_few.sum()) >= _SEVERAL) and _may_be_shared(values, is_named)


def _are_few(times: IntArray) -> bool:
    """True if most rows have a value that a few rows have."""
    is_few = (times >= _LEAST) & (times <= _MOST)
    return 2 * int(times[is_few].sum()) > int(times.sum())


def _may_be_shared(values: pa.Array, is_named: bool) -> bool:
    """True if values may name households: codes of letters and digits; others by a name alone.

    A fraction is that of a measure, and names nobody.
    """
    sample = [value for value in values.slice(0, _LOOK).to_pylist() if value is not None]
    if is_named:
        return not any(map(_has_fraction, sample))
    texts = [value for value in sample if isinstance(value, str) and not _DATE.match(value)]
    coded = (any(map(str.isalpha, text)) and any(map(str.isdigit, text)) for text in texts)
    return 2 * sum(coded) > len(sample)


def _has_fraction(value: Any) -> bool:
    if isinstance(value, str):
        return _FRACTION.fullmatch(value) is not None
    return isinstance(value, (float, Decimal)) and value != value // 1
