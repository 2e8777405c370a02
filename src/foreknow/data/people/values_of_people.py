"""Who has which values, where a person may have several or none.

Two shapes of a table say it: one row per person and value, or one row per person with a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.people.persons import People, require_person
from foreknow.data.tables.columns import (
    codes_of,
    fetch,
    plain,
    to_python,
)
from foreknow.data.tables.rows import ValuesRows, refuse_null_groups
from foreknow.data.tables.table import Table, first_row_of, is_listed
from foreknow_judge.errors import DataError


@dataclass(frozen=True, eq=False)
class Holdings:
    """Who has which value: one entry for each occurrence of a sensitive value."""

    people: NDArray[Any]  # the position of the person who has it
    values: NDArray[np.unsignedinteger[Any]]  # the code of the value

    def __len__(self) -> int:
        return len(self.people)


@dataclass(frozen=True, eq=False)
class PersonValues:
    """The people of a table and their values."""

    people: People
    rows: pa.Table  # the other columns, plain
    values: pa.ChunkedArray  # one plain value per occurrence, in the order of rows; no nulls
    holders: NDArray[Any]  # the person of each occurrence
    sources: IntArray  # the row of each occurrence

    def keys(self, codes: NDArray[Any]) -> IntArray:
        """A number for each occurrence: equal numbers mean the same person with the same value.

        `codes` are the codes of the values.
        """
        keys: IntArray = self.holders.astype(np.int64) * (int(codes.max(initial=0)) + 1) + codes
        return keys

    def coded(self, sensitive: str, semantics: str) -> tuple[NDArray[Any], pa.Array]:
        """The code of each occurrence's value, and the distinct values.

        Raises `DataError` under the `semantics` "set" if somebody has a value twice.
        """
        codes, distinct = codes_of(self.values)
        refuse = _REFUSING.get(semantics)
        if refuse is not None:
            refuse(self, sensitive, codes, to_python(sensitive, distinct).__getitem__)
        return codes, distinct

    def refuse_twice(
        self, sensitive: str, codes: NDArray[Any], value: Callable[[int], Any]
    ) -> None:
        """Raise `DataError` if someone has a value twice, which a set cannot hold."""
        # An occurrence repeats if it is not the first one with its person and value.
        keys = self.keys(codes)
        _, first_of_key, key_number = np.unique(keys, return_index=True, return_inverse=True)
        repeats = first_of_key[key_number] != np.arange(len(keys))
        if not repeats.any():
            return
        repeated = int(np.argmax(repeats))
        first = self.sources[first_of_key[key_number[repeated]]] + 1
        last = self.sources[repeated] + 1
        where = f"rows {first} and {last}" if first != last else f"the list of row {first}"
        person_name = self.people.called(int(self.holders[repeated]))
        raise DataError(
            f"{self.people.table}: {person_name} has {sensitive} {value(int(codes[repeated]))!r} "
            f"twice, in {where}; under semantics 'set' nobody has a value twice: use semantics "
            "multiset or remove repeats"
        )


# What is refused of the values that somebody has, by the semantics.
_REFUSING = {"set": PersonValues.refuse_twice}


def read_person_values(
    table: Table,
    columns: Sequence[str],
    sensitive: str,
    person: str | None,
    semantics: str,
    groups: Sequence[str] = (),
) -> PersonValues:
    """Read the people of a table, and all values that each of them has of one column.

    Parameters
    ----------
    table : Table
    columns : sequence of str
        Other columns to read.
    sensitive : str
        The column of values: one in each row, or lists.
    person : str or None
        The column that tells people apart; None where each row with a list is a person.
    semantics : {"set", "multiset"}
    groups : sequence of str
        Those of the columns that make groups.
    """
    names = list(dict.fromkeys([*columns, *filter(None, [person])]))
    rows = fetch(table, [*names, sensitive], groups, lists=sensitive)
    column = rows.column(sensitive)
    if not is_listed(column.type):
        require_person(table, sensitive, person, semantics, listed=False)
    if not len(column):
        raise DataError(f"{table.name} has no rows")
    people = People.of(table.name, person, rows, first_row_of(table))
    # One person in two spellings would count as two.
    people.refuse_two_spellings()
    read_values = _values_in_lists if is_listed(column.type) else _values_in_rows
    values, holders, sources = read_values(people, sensitive, column)
    return PersonValues(people, rows, values, holders, sources)


def _values_in_rows(
    people: People, sensitive: str, column: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, NDArray[Any], IntArray]:
    """The values of a column with one in each row; the person of each value; and its row.

    A null adds no value.
    """
    values = plain(sensitive, column)
    if not values.null_count:
        return values, people.of_row, np.arange(len(values))
    sources = np.flatnonzero(pc.is_valid(values).to_numpy())
    return values.drop_null(), people.of_row[sources], sources


def _values_in_lists(
    people: People, sensitive: str, column: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, NDArray[Any], IntArray]:
    """The values in a column of lists; the person of each value; and its row.

    Raises `DataError` for people with several rows, and lists that hold lists or nulls.
    """
    people.refuse_repeats(
        f"where {sensitive!r} holds lists, everybody has one row with all their values"
    )
    if pa.types.is_nested(column.type.value_type):
        raise DataError(
            f"{people.table}: the lists of column {sensitive!r} hold {column.type.value_type}; "
            "give lists of plain values"
        )
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()  # a null is an empty list
    sources = np.repeat(np.arange(len(column)), lengths)
    values = plain(sensitive, pc.list_flatten(column))
    if values.null_count:
        row = int(sources[np.argmin(pc.is_valid(values).to_numpy())])
        raise DataError(
            f"{people.table}: the list of {sensitive!r} in row {row + 1}"
            f"{'' if people.names is None else f' ({people.called(int(people.of_row[row]))})'} "
            "holds a null; leave it out of the list (an empty list means no value)"
        )
    return values, people.of_row[sources], sources


class ValuesOfPeople(NamedTuple):
    """Who is in which group, and has which values."""

    # for each column that makes groups: the code of each person, and the distinct values
    groups: list[tuple[NDArray[Any], pa.Array]]
    holders: NDArray[Any]  # the person of each occurrence of a value
    codes: NDArray[Any]  # of each occurrence
    distinct: pa.Array  # the values


@dataclass(frozen=True, eq=False)
class HeldRows(ValuesRows):
    """A table of which a person may have several values: a row for each of them, or a list."""

    linked: ClassVar[bool] = True

    def read_at_once(self, columns: Iterable[str]) -> bool:
        """Have `values_of_people` keep its results, until `forget_rows`; returns False.

        False says that no further `columns` are read at once.
        """
        self.read_once.of_people = {}
        return False

    def values_of_people(self) -> ValuesOfPeople:
        """Read who is in which group, and who has which values.

        If `read_at_once` was called, the result is kept for further calls.
        """
        key, cache = (self.sensitive, *self.groups), self.read_once.of_people
        if cache is not None and key in cache:
            remembered: ValuesOfPeople = cache[key]
            return remembered
        person_values = read_person_values(
            self.table, self.groups, self.sensitive, self.person, self.semantics, self.groups
        )
        if not self.null_groups:
            refuse_null_groups(self.table.name, person_values.rows, self.groups)
        # All rows of a person must be in one group.
        groups = []
        for name in self.groups:
            codes, distinct = codes_of(person_values.rows.column(name))
            label_of = to_python(name, distinct).__getitem__
            advice = "everybody is in one group"
            groups.append(
                (person_values.people.agreed_codes(name, codes, label_of, advice), distinct)
            )
        codes, distinct = person_values.coded(self.sensitive, self.semantics)
        values = ValuesOfPeople(groups, person_values.holders, codes, distinct)
        if cache is not None:
            cache[key] = values
        return values
