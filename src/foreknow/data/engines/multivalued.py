"""Holding: who has which sensitive values, where a person may have several or none.

Two shapes of a table say it: one row per person and value, or one row per person with a list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.engines.columns import (
    Missing,
    codes_of,
    fetch,
    is_listed,
    plain,
    refuse_twins,
    refuse_two_empties,
    settle_missing,
    to_python,
)
from foreknow.data.engines.group_counts import joined, refuse_null_group
from foreknow.data.engines.people import People
from foreknow.data.engines.sources import Table, require
from foreknow.data.labels import Label, Labels, in_order
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError, SchemaError


@dataclass(frozen=True, eq=False)
class Holdings:
    """One entry per occurrence of a sensitive value.

    Attributes
    ----------
    people : integer array, shape (occurrences,)
        Position of the person who has it.
    values : unsigned integer array, shape (occurrences,)
        Code of the value.
    """

    people: NDArray[Any]
    values: NDArray[np.unsignedinteger[Any]]

    def __len__(self) -> int:
        return len(self.people)


@dataclass(frozen=True, eq=False)
class Held:
    """What the rows of a table say about people and their values.

    Attributes
    ----------
    people : People
    rows : pyarrow.Table
        The other columns, plain.
    values : pyarrow.ChunkedArray
        One plain value per occurrence, in the order of rows; no nulls.
    holders : integer array, shape (occurrences,)
        The person of each occurrence.
    sources : int64 array, shape (occurrences,)
        The row of each occurrence.
    """

    people: People
    rows: pa.Table
    values: pa.ChunkedArray
    holders: NDArray[Any]
    sources: IntArray

    def refuse_twice(
        self, sensitive: str, codes: NDArray[Any], value: Callable[[int], Any]
    ) -> None:
        """Raise `DataError` if somebody has a value twice, which a set cannot hold."""
        keys = self.holders.astype(np.int64)
        keys *= int(codes.max(initial=0)) + 1
        keys += codes
        ordered = np.sort(keys)
        if not np.any(ordered[1:] == ordered[:-1]):
            return
        order = np.argsort(keys, kind="stable")
        again = order[1:][keys[order[1:]] == keys[order[:-1]]]
        later = int(again.min())
        first, last = self.sources[np.argmax(keys == keys[later])] + 1, self.sources[later] + 1
        where = f"rows {first} and {last}" if first != last else f"the list of row {first}"
        who = self.people.called(int(self.holders[later]))
        raise DataError(
            f"{self.people.table}: {who} has {sensitive} {value(int(codes[later]))!r} twice, in "
            f"{where}; under semantics 'set' nobody has a value twice: use semantics multiset or "
            "remove repeats"
        )


def read_held(
    table: Table,
    columns: Sequence[str],
    sensitive: str,
    person: str | None,
    semantics: str,
    groups: Sequence[str] = (),
) -> Held:
    """Read people and their values under ``set`` or ``multiset``."""
    names = list(dict.fromkeys([*columns, *([] if person is None else [person])]))
    require(table, [*names, sensitive])
    require_person(table, sensitive, person, semantics, listed=not table.untyped)
    fetched = table.arrow([*names, sensitive])
    given = fetched.column(len(names))
    if not is_listed(given.type):
        require_person(table, sensitive, person, semantics, listed=False)
    refuse_two_empties(table, groups)
    for name in groups:
        refuse_twins(name, fetched.column(names.index(name)))
    rows = (
        pa.table([plain(name, fetched.column(i)) for i, name in enumerate(names)], names=names)
        if names
        else pa.table({})
    )
    if not len(given):
        raise DataError(f"{table.name} has no rows")
    if person is None:
        people = People.of_rows(table.name, len(given))
    else:
        people = People.named(table.name, person, rows.column(person))
    read = _lists if is_listed(given.type) else _long
    return Held(people, rows, *read(people, sensitive, given))


def require_person(
    table: Table, sensitive: str, person: str | None, semantics: str, *, listed: bool
) -> None:
    """Raise `SchemaError` if people with several rows cannot be told apart."""
    if person is None and not listed:
        raise SchemaError(
            f"semantics {semantics!r} needs person = the column that tells people apart, since "
            f"{table.name} has one value of {sensitive!r} per row (only a column of lists holds "
            "all values of a person in one row)"
        )


def _long(
    people: People, sensitive: str, given: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, NDArray[Any], IntArray]:
    """Read one value per row."""
    values = plain(sensitive, given)
    if not values.null_count:
        return values, people.of_row, np.arange(len(values))
    sources = np.flatnonzero(pc.is_valid(values).to_numpy())
    return values.drop_null(), people.of_row[sources], sources


def _lists(
    people: People, sensitive: str, given: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, NDArray[Any], IntArray]:
    """Read one list per person."""
    people.refuse_repeats(
        f"where {sensitive!r} holds lists, everybody has one row with all their values"
    )
    if pa.types.is_nested(given.type.value_type):
        raise DataError(
            f"{people.table}: the lists of column {sensitive!r} hold {given.type.value_type}; "
            "give lists of plain values"
        )
    lengths = pc.fill_null(pc.list_value_length(given), 0).to_numpy()
    sources = np.repeat(np.arange(len(given)), lengths)
    values = plain(sensitive, pc.list_flatten(given))
    if values.null_count:
        row = int(sources[np.argmin(pc.is_valid(values).to_numpy())])
        raise DataError(
            f"{people.table}: the list of {sensitive!r} in row {row + 1}"
            f"{'' if people.names is None else f' ({people.called(int(people.of_row[row]))})'} "
            "holds a null; leave it out of the list (an empty list means no value)"
        )
    return values, people.of_row[sources], sources


def count_held(
    table: Table,
    groups: Sequence[str],
    sensitive: str,
    *,
    person: str | None,
    semantics: Semantics,
    null_groups: bool = False,
) -> GroupCounts:
    """Count people by group, and their values by group and value."""
    held = read_held(table, groups, sensitive, person, semantics, groups=groups)
    of_person, labels = people_groups(held.people, held.rows, groups, null_groups=null_groups)
    codes, found = codes_of(held.values)
    given = to_python(sensitive, found)
    if semantics == "set":
        held.refuse_twice(sensitive, codes, given.__getitem__)
    values = Labels(in_order(given))
    place = np.array([values.codes[v] for v in given], dtype=codes.dtype)
    return GroupCounts.from_pairs(
        of_person[held.holders],
        place[codes],
        values=values,
        n_groups=len(labels),
        groups=labels,
        sizes=np.bincount(of_person, minlength=len(labels)),
        semantics=semantics,
    )


def people_groups(
    people: People, rows: pa.Table, groups: Sequence[str], *, null_groups: bool
) -> tuple[NDArray[Any], list[Label]]:
    """Code of everybody's group, and the label of each group."""
    encoded = []
    for name in groups:
        column = rows.column(name)
        if not null_groups and column.null_count:
            refuse_null_group(people.table, name, column, None)
        codes, found = codes_of(column)
        labels = to_python(name, found)
        own = people.agreed(name, codes, labels.__getitem__, "everybody is in one group")
        encoded.append((own, found))
    return joined(groups, encoded, as_tuples=null_groups)


def hold_values(
    table: Table,
    person: str,
    sensitive: str,
    semantics: str,
    missing: Missing,
    known: Labels,
) -> Holdings:
    """Find who has what."""
    if semantics == "single":
        rows = fetch(table, [person, sensitive])
        rows, _ = settle_missing(table.name, rows, sensitive, missing)
        holders = People.named(table.name, person, rows.column(person)).of_row
        column = rows.column(sensitive)
    else:
        held = read_held(table, [], sensitive, person, semantics)
        holders, column = held.holders, held.values
    codes, found = codes_of(column)
    place = np.array([known.codes[value] for value in to_python(sensitive, found)], codes.dtype)
    return Holdings(holders, place[codes])
