"""Count groups by sensitive value: one GROUP BY, in the engine that holds the data.

Where a person may have several values or none, two shapes of a table say who has what: one row per
person and value, or one row per person with a list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine, count_pairs
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.engines.columns import (
    Missing,
    coded,
    codes_of,
    fetch,
    plain,
    plain_table,
    ranked,
    refuse_two_empties,
    to_python,
)
from foreknow.data.engines.combinations import Combinations
from foreknow.data.engines.missing import Settled, Shown, drops, settle
from foreknow.data.engines.table import Table, is_listed, is_text, require
from foreknow.data.engines.tally import amounts_of, refuse_repeated_rows
from foreknow.data.labels import GroupLabels, Label, Labels, Part
from foreknow.data.people import Members, Signatures, refuse_two_spellings
from foreknow.errors import SchemaError
from foreknow_judge.errors import DataError, InputError

# ---- people ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class People:
    """Everybody once, in order of first appearance."""

    table: str  # what messages call the table
    of_row: NDArray[Any]  # who each row is about
    first: IntArray  # the first row about each of them, ascending
    column: str | None = None  # which names people; None where each row is someone
    names: pa.Array | None = None

    @classmethod
    def named(cls, table: str, column: str, names: pa.ChunkedArray) -> People:
        """Tell people apart by a column; a row that names nobody is an error."""
        codes, distinct = codes_of(names)
        if distinct.null_count:
            row = int(np.argmax(codes == len(distinct) - 1)) + 1
            raise DataError(f"{table}: the column of people {column!r} is missing in row {row}")
        first = first_rows(codes, len(distinct))
        if np.all(first[1:] > first[:-1]):
            return cls(table, codes, first, column, distinct)
        order = np.argsort(first)
        place = np.empty(len(distinct), dtype=codes.dtype)
        place[order] = np.arange(len(distinct), dtype=codes.dtype)
        return cls(table, place[codes], first[order], column, distinct.take(pa.array(order)))

    @classmethod
    def of_rows(cls, table: str, rows: int) -> People:
        """Take each row for someone."""
        everybody = np.arange(rows)
        return cls(table, everybody, everybody)

    def __len__(self) -> int:
        return len(self.first)

    def called(self, person: int) -> str:
        """The name of a person in messages."""
        if self.names is None:
            return f"row {self.first[person] + 1}"
        return f"{self.column} {self.names[person].as_py()!r}"

    def refuse_two_spellings(self) -> None:
        """Raise `SchemaError` if two are one but for how they are written."""
        if self.names is not None and is_text(self.names.type):
            refuse_two_spellings(self.names.to_pylist(), repr(self.column))

    def refuse_repeats(self, advice: str) -> None:
        """Raise `DataError` if someone has two rows."""
        if len(self.first) == len(self.of_row):
            return
        row = int(np.argmax(self.first[self.of_row] != np.arange(len(self.of_row))))
        who = int(self.of_row[row])
        raise DataError(
            f"{self.table}: {self.called(who)} is in rows {self.first[who] + 1} and {row + 1}; "
            f"{advice}"
        )

    def agreed(
        self,
        column: str,
        codes: NDArray[Any],
        value: Callable[[int], Any],
        advice: str = "everybody has one published value",
    ) -> NDArray[Any]:
        """Return the code of everybody; two in the rows of one person are a `DataError`."""
        person_codes: NDArray[Any] = codes[self.first]
        if len(self.first) == len(self.of_row):
            return person_codes
        differs = codes != person_codes[self.of_row]
        if differs.any():
            row = int(np.argmax(differs))
            who = int(self.of_row[row])
            first_value, later_value = (
                _told(value(int(code))) for code in (person_codes[who], codes[row])
            )
            raise DataError(
                f"{self.table}: {self.called(who)} has {column} {first_value} in row "
                f"{self.first[who] + 1}, but {later_value} in row {row + 1}; {advice}"
            )
        return person_codes


def _told(value: Any) -> str:
    """A value as a message has it: texts in quotes, the rest as printed."""
    return repr(value) if isinstance(value, str) else str(value)


def refuse_repeats(table: Table, person: str, rows: pa.Table | None = None) -> None:
    """Raise `DataError` if someone stands in two rows, or a row names nobody."""
    names = (fetch(table, [person]) if rows is None else rows).column(person)
    if not names.null_count and len(codes_of(names)[1]) == len(names):
        return
    People.named(table.name, person, names).refuse_repeats(
        "under semantics 'single' everyone has one row; where someone has several values, say "
        'semantics = "set" or "multiset"'
    )


def first_rows(codes: NDArray[Any], size: int) -> IntArray:
    """First row that holds each code; every code occurs."""
    first = np.empty(size, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the last that is written stays
    return first


# ---- several values per person -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Holdings:
    """One entry per occurrence of a sensitive value."""

    people: NDArray[Any]  # position of the person who has it
    values: NDArray[np.unsignedinteger[Any]]  # code of the value

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
        """One number for each person and value, of the codes of the occurrences."""
        keys: IntArray = self.holders.astype(np.int64) * (int(codes.max(initial=0)) + 1) + codes
        return keys

    def refuse_twice(
        self, sensitive: str, codes: NDArray[Any], value: Callable[[int], Any]
    ) -> None:
        """Raise `DataError` if someone has a value twice, which a set cannot hold."""
        keys = self.keys(codes)
        _, first_of, kind = np.unique(keys, return_index=True, return_inverse=True)
        repeats = first_of[kind] != np.arange(len(keys))
        if not repeats.any():
            return
        later = int(np.argmax(repeats))
        first, last = self.sources[first_of[kind[later]]] + 1, self.sources[later] + 1
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
) -> PersonValues:
    """Read people and their values under ``set`` or ``multiset``."""
    names = list(dict.fromkeys([*columns, *([] if person is None else [person])]))
    rows = fetch(table, [*names, sensitive], groups, lists=sensitive)
    column = rows.column(sensitive)
    if not is_listed(column.type):
        require_person(table, sensitive, person, semantics, listed=False)
    if not len(column):
        raise DataError(f"{table.name} has no rows")
    if person is None:
        people = People.of_rows(table.name, len(column))
    else:
        people = People.named(table.name, person, rows.column(person))
        people.refuse_two_spellings()
    reader = _lists if is_listed(column.type) else _long
    return PersonValues(people, rows, *reader(people, sensitive, column))


def held_beside(
    table: Table,
    columns: Sequence[str],
    sensitive: str,
    person: str | None,
    several: Mapping[str, str],
) -> tuple[PersonValues, NDArray[Any], pa.Array]:
    """Read who has what of one of the columns of which a person may have `several` values.

    Also the code of each occurrence, and what codes stand for. Rows then repeat values, so that of
    sets each value counts once, and of bags nobody can tell.
    """
    person_values = read_held(table, columns, sensitive, person, several[sensitive])
    rows = person_values.people.of_row
    if len(several) > 1 and len(person_values.people) < len(rows):
        if "multiset" in several.values():
            raise SchemaError(
                f"{table.name}: where rows repeat people, it cannot be told whether a value of "
                f"{' or '.join(several)} stands in several rows since a person has it several "
                'times; give lists, one row per person, or semantics "set" for each of them'
            )
        codes, _ = codes_of(person_values.values)
        once = np.sort(np.unique(person_values.keys(codes), return_index=True)[1])
        values = person_values.values.take(pa.array(once))
        person_values = replace(
            person_values,
            values=values,
            holders=person_values.holders[once],
            sources=person_values.sources[once],
        )
    codes, distinct = codes_of(person_values.values)
    if several[sensitive] == "set":
        person_values.refuse_twice(sensitive, codes, to_python(sensitive, distinct).__getitem__)
    return person_values, codes, distinct


def require_person(
    table: Table, sensitive: str, person: str | None, semantics: str, *, listed: bool
) -> None:
    """Raise `SchemaError` if people with several rows cannot be told apart."""
    if person is None and not listed:
        raise SchemaError(
            f"semantics {semantics!r} needs person = the column that tells people apart, since "
            f"{table.name} has one value of {sensitive!r} per row (only a column of lists, or one "
            "with separators in the reading, holds all values of a person in one row)"
        )


def _long(
    people: People, sensitive: str, column: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, NDArray[Any], IntArray]:
    """Read one value per row."""
    values = plain(sensitive, column)
    if not values.null_count:
        return values, people.of_row, np.arange(len(values))
    sources = np.flatnonzero(pc.is_valid(values).to_numpy())
    return values.drop_null(), people.of_row[sources], sources


def _lists(
    people: People, sensitive: str, column: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, NDArray[Any], IntArray]:
    """Read one list per person."""
    people.refuse_repeats(
        f"where {sensitive!r} holds lists, everybody has one row with all their values"
    )
    if pa.types.is_nested(column.type.value_type):
        raise DataError(
            f"{people.table}: the lists of column {sensitive!r} hold {column.type.value_type}; "
            "give lists of plain values"
        )
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
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


class PersonRows(Table):
    """A table as one row per person: the values of one column as lists, of others as one text.

    Columns of which people may have several values are named with their semantics. What somebody
    has in such a column makes one text, so that people who differ in it can be told apart.
    """

    def __init__(
        self, table: Table, person: str | None, several: Mapping[str, str], lists: str
    ) -> None:
        self.name, self.columns, self.untyped = table.name, table.columns, table.untyped
        self._table, self._person, self._several, self._lists = table, person, several, lists

    @classmethod
    def of_texts(cls, table: Table, person: str | None, name: str, semantics: str) -> PersonRows:
        """A table in which all that a person has is one text; of one such column where not said."""
        if isinstance(table, PersonRows):
            return cls(table._table, table._person, table._several, "")
        return cls(table, person, {name: semantics}, "")

    @property
    def two_empties(self) -> Any:
        """Columns of a file with empty fields of which some are in quotes."""
        return getattr(self._table, "two_empties", ())

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns, people in the order of their first rows."""
        single_columns = [name for name in columns if name not in self._several]
        person = [] if self._person is None else [self._person]
        rows = fetch(self._table, list(dict.fromkeys([*single_columns, *person])))
        people = People.of_rows(self.name, len(rows))
        for name in person:
            people = People.named(self.name, name, rows.column(name))
        arrays: dict[str, Any] = {}
        for name in single_columns:
            codes, distinct = codes_of(rows.column(name))
            people.agreed(name, codes, to_python(name, distinct).__getitem__, _advice(name))
            arrays[name] = rows.column(name).take(pa.array(people.first))
        arrays |= {name: self._bags(name) for name in columns if name in self._several}
        return pa.table({name: arrays[name] for name in columns})

    def _bags(self, name: str) -> pa.Array:
        person_values, codes, values = held_beside(
            self._table, [], name, self._person, self._several
        )
        order = np.lexsort((codes, person_values.holders))
        counts = np.bincount(person_values.holders, minlength=len(person_values.people))
        ends = np.concatenate(([0], np.cumsum(counts)))
        if name == self._lists:
            return pa.ListArray.from_arrays(
                pa.array(ends, pa.int32()), values.take(pa.array(codes[order].astype(np.int64)))
            )
        texts = [str(label) for label in to_python(name, values)]
        ordered_texts = [texts[code] for code in codes[order].tolist()]
        bags = (sorted(ordered_texts[a:b]) for a, b in pairwise(ends.tolist()))
        return pa.array([json.dumps(bag, ensure_ascii=False) for bag in bags], pa.string())


def _advice(name: str) -> str:
    return (
        f'if a person may have several, say semantics = {{ {name} = "set" }}; else make them '
        f"agree, or leave {name} out of what is known (knowing = [...])"
    )


# ---- where a release comes from ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PeopleTable:
    """A table with rows about people, and the columns that make their groups."""

    table: Table
    groups: Sequence[str]
    null_groups: bool  # a null makes a group of its own; labels of groups are then tuples
    person: str | None

    @property
    def needed(self) -> Sequence[str]:
        """Columns: without a value of any, people are left out; nobody is, where there are none."""
        return ()

    @property
    def by_person(self) -> PeopleTable | None:
        """The table with rows about people: itself."""
        return self

    def members(self, counts: GroupCounts) -> Members:
        """Find the group of everybody."""
        person = named(self.table, self.person)
        rows = fetch(self.table, self._columns(person, *self.groups))
        if self.needed:
            rows = rows.filter(pa.array(Shown.of(rows, self.needed).of_any))
        people = People.named(self.table.name, person, rows.column(person))
        positions = self._positions(rows, counts)
        return Members(Labels(to_python(person, people.names)), positions[people.first])

    def signatures(self, counts: GroupCounts, attributes: Sequence[str]) -> Signatures:
        """Count people with one row each, by group and signature."""
        rows, weights = self._tallied([*self.groups, *attributes, *self.tied])
        positions = self._positions(rows, counts)
        if not self._as_counted(counts, positions, rows, weights):
            raise changed(self.table)
        codes, signatures = group_codes(rows, attributes, as_tuples=True)
        # Labels are compared as they print: 1 and "1" are one signature.
        texts: list[Any] = list(map(_text, signatures))
        distinct = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        one_of = np.array([distinct[text] for text in texts], dtype=np.int64)
        pairs = count_pairs(positions, one_of[codes], counts.n_groups, len(distinct), weights)
        return Signatures(tuple(attributes), tuple(distinct), *pairs)

    @property
    def tied(self) -> list[str]:
        """A column that is read again, too, to see whether the table is still the same."""
        return []

    def _as_counted(
        self, counts: GroupCounts, positions: IntArray, rows: pa.Table, weights: IntArray | None
    ) -> bool:
        """True if rows that are read again are those that were counted."""
        sizes = np.bincount(positions, weights=weights, minlength=counts.n_groups)
        return np.array_equal(sizes, counts.sizes)

    def combinations(self) -> Combinations:
        """Count people with one row each, by the columns of their groups."""
        rows, weights = self._tallied(self.groups, self.groups)
        if not self.null_groups:
            in_order = self._in_order(weights)
            refuse_null_groups(self.table.name, rows, self.groups, in_order=in_order)
        return combinations_in(self.table, rows, self.groups, weights)

    def _tallied(
        self, columns: Sequence[str], groups: Sequence[str] = ()
    ) -> tuple[pa.Table, IntArray | None]:
        """The result of `tallied`, without people who are left out."""
        rows, weights = tallied(self.table, self._columns(*columns), groups)
        presence = Shown.of(rows, self.needed)
        if presence.complete:
            return rows, weights
        kept_rows = presence.of_any
        return rows.filter(pa.array(kept_rows)), None if weights is None else weights[kept_rows]

    def _in_order(self, weights: IntArray | None) -> bool:
        """True if what was read has the numbers of the rows."""
        return weights is None or getattr(self.table, "in_order", False)

    def _columns(self, *names: str) -> list[str]:
        return list(dict.fromkeys([*names, *self.needed]))

    def _positions(self, rows: pa.Table, counts: GroupCounts) -> IntArray:
        """The place of each row's group among those that were counted."""
        of_row, labels = group_codes(rows, self.groups, as_tuples=self.null_groups)
        place = Labels(counts.groups or ()).codes
        if not all(label in place for label in labels):
            raise changed(self.table)
        positions: IntArray = np.array([place[label] for label in labels], dtype=np.int64)[of_row]
        return positions


@dataclass(eq=False)
class ReadOnce:
    """Columns that are read once for several sights, and what was read; see `Release.reading`."""

    columns: Sequence[str] = ()
    groups: Sequence[str] = ()
    read: tuple[pa.Table, IntArray | None] | None = None

    def rows(self, table: Table, columns: Sequence[str]) -> tuple[pa.Table, IntArray | None] | None:
        """Equal rows and how often each occurs, or all; columns of groups as codes.

        None where the columns are not among these, or some other column is refused.
        """
        if not set(columns) <= set(self.columns):
            return None
        if self.read is None:
            try:
                rows, weights = tallied(table, self.columns, self.groups)
            except DataError:
                if not table.settled:
                    raise
                self.columns = ()  # each sight reads its own, and says what is wrong with them
                return None
            for place, name in enumerate(self.columns):
                column = rows.column(place)
                if name in self.groups or pa.types.is_string(column.type):
                    rows = rows.set_column(place, name, coded(column))
            self.read = rows, weights
        rows, weights = self.read
        return rows.select(columns), weights


@dataclass(frozen=True, eq=False)
class ValuesTable(PeopleTable):
    """A table of one row for each person, with their group and their one value."""

    sensitive: str
    semantics: Semantics
    missing: Missing
    read_once: ReadOnce = field(default_factory=ReadOnce)  # shared by all sights
    # where people are counted whatever their values: other columns of which one is enough
    or_else: Sequence[str] = ()
    linked: ClassVar[bool] = False  # whether rows show which of several values are of one person

    @property
    def needed(self) -> Sequence[str]:
        """The sensitive column, where people without a value are dropped."""
        return (self.sensitive, *self.or_else) if drops(self.missing) else ()

    @property
    def listed(self) -> str | None:
        """The column that may hold lists, if any."""
        return None

    @property
    def seen(self) -> list[str]:
        """Columns that are judged."""
        return [*self.groups, self.sensitive, *self.or_else]

    def of_texts(self) -> ValuesTable:
        """The same with all that a person has as one value."""
        return self

    def read_at_once(self, columns: Iterable[str]) -> bool:
        """Have columns read once, for all sights; True if these are more than it sees itself."""
        columns_read, read_once = dict.fromkeys((*self.groups, *columns)), self.read_once
        read_once.columns = [name for name in columns_read if name in self.table.columns]
        read_once.groups = [name for name in columns_read if name != self.sensitive]
        return not {*read_once.columns} <= {*self.seen}

    def forget_rows(self) -> None:
        """Forget what was read at once."""
        self.read_once.columns, self.read_once.groups, self.read_once.read = (), (), None

    def rows_of(self, columns: Sequence[str]) -> tuple[pa.Table, IntArray | None]:
        """Equal rows of some columns and how often each occurs; those that were read at once."""
        read = self.read_once.read and self.read_once.rows(self.table, columns)
        return read or tallied(self.table, columns, self.groups)

    def prepared(self, columns: Sequence[str]) -> tuple[pa.Table, IntArray | None]:
        """The same without people who are left out, and with a label for what is missing."""
        rows, weights = self.rows_of(list(dict.fromkeys([*columns, *self.needed])))
        if not self.or_else and self.sensitive not in rows.column_names:
            return rows, weights
        rows, kept_rows, _ = self._settled(rows, weights, in_order=False)
        return rows, weights if kept_rows is None or weights is None else weights[kept_rows]

    def of_anybody(self, sensitives: Sequence[str]) -> ValuesTable:
        """The same, counting people with a value in any of these columns."""
        return replace(self, or_else=[name for name in sensitives if name != self.sensitive])

    def seen_as(self, sensitive: str, known_columns: Sequence[str]) -> ValuesTable:
        """The same for one sensitive column, in groups that known columns divide."""
        groups, nulls = [*self.groups, *known_columns], self.null_groups or bool(known_columns)
        return replace(self, groups=groups, null_groups=nulls, sensitive=sensitive)

    def count(self) -> GroupCounts:
        """Count people by group, and their values by group and value."""
        return self._found[0]

    @property
    def tied(self) -> list[str]:
        """The sensitive column, where the table may change while it is read."""
        return [] if self.table.settled else [self.sensitive, *self.or_else]

    def _as_counted(
        self, counts: GroupCounts, positions: IntArray, rows: pa.Table, weights: IntArray | None
    ) -> bool:
        """True if rows that are read again are those that were counted, with their values."""
        if not super()._as_counted(counts, positions, rows, weights):
            return False
        if not self.tied:  # the table cannot change while it is read
            return True
        rows = self._settled(rows, weights, in_order=False).rows
        codes, values = self._values_of(rows)
        bags = count_pairs(positions, codes, counts.n_groups, len(values), weights)
        bags_before = counts.offsets, counts.codes, counts.counts
        return values == counts.values and all(map(np.array_equal, bags, bags_before))

    def refuse_changed(self, counts: GroupCounts) -> None:
        """Refuse a table that was counted, and is another one in what is read at once now."""
        if not {*self.seen} <= {*self.read_once.columns}:
            return
        recount, _ = self._count_rows()
        if recount != counts or not _same_labels(recount, counts):
            raise changed(self.table)

    def values_shown(self, sensitives: Sequence[str]) -> Shown | None:
        """Which rows show a value of which of some columns; None where no row is left out."""
        if not self.needed:
            return None
        if [*sensitives] == [self.sensitive]:
            return self._found[1]
        rows, weights = self.rows_of(sensitives)
        return Shown.of(rows, sensitives, weights, numbered=weights is None)

    @cached_property
    def _found(self) -> tuple[GroupCounts, Shown]:
        return self._count_rows()

    def _count_rows(self) -> tuple[GroupCounts, Shown]:
        name, columns = self.table.name, list(dict.fromkeys(self.seen))
        read = self.read_once.rows(self.table, columns)
        rows, weights = read or tallied(self.table, columns, self.groups)
        refused = [*self.groups] if not self.null_groups else []
        refused += [self.sensitive] if self.missing == "error" else []
        in_order = self._in_order(weights)
        if not in_order and self.table.untyped and any(rows[name].null_count for name in refused):
            # A count by the engine forgets rows; where they have numbers, the message has one.
            rows, weights, in_order = fetch(self.table, columns, self.groups), None, True
        rows, kept_rows, presence = self._settled(rows, weights, in_order=in_order)
        if kept_rows is not None and weights is not None:
            weights = weights[kept_rows]
        if not len(rows):
            raise DataError(f"{name} has no rows")
        codes, values = self._values_of(rows)
        if not self.null_groups:
            refuse_null_groups(name, rows, self.groups, kept_rows, in_order=in_order)
        of_row, labels = group_codes(rows, self.groups, as_tuples=self.null_groups)
        counts = GroupCounts.from_pairs(
            of_row, codes, values=values, n_groups=len(labels), groups=labels, weights=weights
        )
        return counts, presence

    def _settled(self, rows: pa.Table, weights: IntArray | None, *, in_order: bool) -> Settled:
        """Rows of people who are counted, and which they are, if some are left out."""
        how: dict[str, Any] = {"times": weights, "numbered": in_order}
        if not self.or_else:
            return settle(self.table.name, rows, [self.sensitive], self.missing, **how)
        presence = Shown.of(rows, self.needed, **how)
        kept_rows = np.flatnonzero(presence.of_any)
        return Settled(rows.take(pa.array(kept_rows)), kept_rows, presence)

    def _values_of(self, rows: pa.Table) -> tuple[NDArray[Any], Labels]:
        """Codes of their values, which are in order; or one value, whatever it is."""
        if self.or_else:
            return np.zeros(len(rows), dtype=np.int64), Labels(["a value"])
        return _values(self.sensitive, rows.column(self.sensitive))

    def holdings(self, counts: GroupCounts) -> Holdings:
        """Find who has what."""
        person = named(self.table, self.person)
        rows = fetch(self.table, [person, self.sensitive])
        rows = settle(self.table.name, rows, [self.sensitive], self.missing).rows
        holders = People.named(self.table.name, person, rows.column(person)).of_row
        return self._held_by(holders, rows.column(self.sensitive), counts)

    def _held_by(self, holders: NDArray[Any], column: pa.ChunkedArray, counts: Any) -> Holdings:
        codes, distinct = codes_of(column)
        values = to_python(self.sensitive, distinct)
        place = np.array([counts.values.codes[value] for value in values], codes.dtype)
        return Holdings(holders, place[codes])


@dataclass(frozen=True, eq=False)
class HeldTable(ValuesTable):
    """A table of which a person may have several values: a row for each of them, or a list."""

    linked: ClassVar[bool] = True

    @property
    def listed(self) -> str | None:
        """The column that may hold lists."""
        return self.sensitive

    def of_texts(self) -> ValuesTable:
        """The same with all that a person has as one value."""
        rows = PersonRows.of_texts(self.table, self.person, self.sensitive, self.semantics)
        everybody = rows, self.groups, self.null_groups, self.person
        return ValuesTable(*everybody, self.sensitive, "single", self.missing)

    def read_at_once(self, columns: Iterable[str]) -> bool:
        """Say that nothing is read at once: each sight reads people and their values."""
        return False

    @cached_property
    def _found(self) -> tuple[GroupCounts, Shown]:
        return self._count_held(), Shown({}, 0, None, numbered=True)

    def _count_held(self) -> GroupCounts:
        person_values = self._held(self.groups)
        of_person, labels = self._groups_of_people(person_values)
        codes, values = _values(self.sensitive, person_values.values)
        if self.semantics == "set":
            person_values.refuse_twice(self.sensitive, codes, values.__getitem__)
        return GroupCounts.from_pairs(
            of_person[person_values.holders],
            codes,
            values=values,
            n_groups=len(labels),
            groups=labels,
            sizes=np.bincount(of_person, minlength=len(labels)),
            semantics=self.semantics,
        )

    def _groups_of_people(
        self, person_values: PersonValues
    ) -> tuple[NDArray[Any], Sequence[Label]]:
        if not self.null_groups:
            refuse_null_groups(self.table.name, person_values.rows, self.groups)
        return joined(self.groups, self._encoded(person_values), as_tuples=self.null_groups)

    def _encoded(self, person_values: PersonValues) -> list[tuple[NDArray[Any], pa.Array]]:
        encoded = []
        for name in self.groups:
            codes, distinct = codes_of(person_values.rows.column(name))
            labels = to_python(name, distinct)
            person_codes = person_values.people.agreed(
                name, codes, labels.__getitem__, "everybody is in one group"
            )
            encoded.append((person_codes, distinct))
        return encoded

    def combinations(self) -> Combinations:
        """Count people by the columns of their groups."""
        person_values = self._held(self.groups)
        if not self.null_groups:
            refuse_null_groups(self.table.name, person_values.rows, self.groups)
        return Combinations.of(self.groups, self._encoded(person_values))

    def _held(self, groups: Sequence[str]) -> PersonValues:
        return read_held(self.table, groups, self.sensitive, self.person, self.semantics, groups)

    def holdings(self, counts: GroupCounts) -> Holdings:
        """Find who has what."""
        named(self.table, self.person)
        person_values = self._held([])
        return self._held_by(person_values.holders, person_values.values, counts)

    def signatures(self, counts: GroupCounts, attributes: Sequence[str]) -> Signatures:
        """Say that no row has all of a person."""
        raise no_signatures(self.table, attributes)


@dataclass(frozen=True, eq=False)
class TallyTable:
    """The (group, value, count) table of a release, and perhaps the one of its people."""

    table: Table
    groups: Sequence[str]
    null_groups: bool
    sensitive: str
    amount: str  # the column of counts
    semantics: Semantics
    people: PeopleTable | None
    linked = False  # whether rows show which of several values are of one person
    needed: ClassVar[Sequence[str]] = ()

    @property
    def by_person(self) -> PeopleTable | None:
        """The table with rows about people, where there is one."""
        return self.people

    @property
    def seen(self) -> list[str]:
        """Columns that are judged."""
        return list(dict.fromkeys([*self.groups, self.sensitive, self.amount]))

    def seen_as(self, sensitive: str, known_columns: Sequence[str]) -> TallyTable:
        """The same for one sensitive column, in groups that known columns divide."""
        if not known_columns:
            return replace(self, sensitive=sensitive)
        groups = [*self.groups, *known_columns]
        return replace(self, groups=groups, null_groups=True, sensitive=sensitive, people=None)

    def values_shown(self, sensitives: Sequence[str]) -> None:
        """No row is left out."""

    def of_texts(self) -> TallyTable:
        """The same: nobody knows who has what."""
        return self

    def read_at_once(self, columns: Iterable[str]) -> bool:
        """Say that nothing is read at once."""
        return False

    def forget_rows(self) -> None:
        """Forget nothing: nothing was read at once."""

    def count(self) -> GroupCounts:
        """Read how often each value occurs in each group; how many people it has, if they say."""
        table, people = self.table, self.people
        rows = fetch(table, self.seen, self.groups)
        weights = amounts_of(table, self.amount, rows.column(self.amount))
        rows = settle(table.name, rows, [self.sensitive], "error").rows
        if not len(rows) and (people is None or self.semantics == "single"):
            raise DataError(f"{table.name} has no rows")
        of_row, labels = self._groups_of(table, rows)
        sizes: IntArray | None = None
        if people is not None:
            members = fetch(people.table, self.groups, self.groups)
            if not len(members):
                raise DataError(f"{people.table.name} has no rows")
            of_member, people_labels = self._groups_of(people.table, members)
            sizes = np.bincount(of_member, minlength=len(people_labels))
            of_row = _places(table, labels, people.table, people_labels, of_row)[of_row]
            labels = people_labels
        codes, values = _values(self.sensitive, rows.column(self.sensitive))
        counts = GroupCounts.from_pairs(
            of_row,
            codes,
            values=values,
            n_groups=len(labels),
            groups=labels,
            weights=weights,
            sizes=sizes,
            semantics=self.semantics,
        )
        if len(counts.codes) < len(rows):  # several rows of one group and value
            other_columns = [name for name in table.columns if name != self.amount]
            refuse_repeated_rows(table, table.name, other_columns, self.amount)
        return counts

    def combinations(self) -> Combinations:
        """Count people by the columns of their groups."""
        if self.people is not None:
            return self.people.combinations()
        rows = fetch(self.table, [*self.groups, self.amount], self.groups)
        if not self.null_groups:
            refuse_null_groups(self.table.name, rows, self.groups)
        weights = amounts_of(self.table, self.amount, rows.column(self.amount))
        return combinations_in(self.table, rows, self.groups, weights)

    def _groups_of(self, table: Table, rows: pa.Table) -> tuple[NDArray[Any], Sequence[Label]]:
        if not self.null_groups:
            refuse_null_groups(table.name, rows, self.groups)
        return group_codes(rows, self.groups, as_tuples=self.null_groups)

    def members(self, counts: GroupCounts) -> Members:
        """Find the group of everybody."""
        if self.people is None:
            named(self.table, None)
        assert self.people is not None
        return self.people.members(counts)

    def holdings(self, counts: GroupCounts) -> Holdings:
        """Say that nobody knows who has what."""
        named(self.table, None if self.people is None else self.people.person)
        raise InputError(
            f"{self.table.name}: a bucketized release does not tell who has what; take the table "
            "that it was made from, with a column of groups"
        )

    def signatures(self, counts: GroupCounts, attributes: Sequence[str]) -> Signatures:
        """Count people by group and signature, in their own table."""
        if self.people is None:
            raise no_signatures(self.table, attributes)
        return self.people.signatures(counts, attributes)


def named(table: Table, person: str | None) -> str:
    """The column that names people; an `InputError` where there is none."""
    if person is None:
        raise InputError(
            f"{table.name}: nobody is named; say which column names people, "
            'such as Release.from_groups(..., person="name")'
        )
    return person


def no_signatures(table: Table, attributes: Sequence[str]) -> InputError:
    """The error where no table has one row for each person."""
    return InputError(
        f"{table.name}: {', '.join(attributes)} of each person are unavailable; give a "
        "table of people and their one value, as from_bucketized(..., people=...) does"
    )


def combinations_in(
    table: Table, rows: pa.Table, columns: Sequence[str], people: IntArray | None
) -> Combinations:
    """Count equal rows of a table by some columns; each is so many people, or one."""
    if not len(rows):
        raise DataError(f"{table.name} has no rows")
    return Combinations.of(columns, [codes_of(rows.column(name)) for name in columns], people)


def combinations_of(table: Table, columns: Sequence[str]) -> Combinations:
    """Count a table of one row for each person by some columns, where it lives."""
    rows, people = tallied(table, list(columns), columns)
    return combinations_in(table, rows, columns, people)


def tallied(
    table: Table, columns: Sequence[str], groups: Sequence[str] = ()
) -> tuple[pa.Table, IntArray | None]:
    """Equal rows of some columns, and how often each occurs; or all rows, if that is faster."""
    require(table, columns)
    tally = table.tally(columns)
    if tally is None:
        return fetch(table, columns, groups), None
    refuse_two_empties(table, groups)
    return plain_table(tally[0], columns, groups), tally[1].astype(np.int64)


def changed(table: Table) -> DataError:
    """The error of a table that is another one when it is read again."""
    return DataError(
        f"{table.name} gave other rows when it was read again: it changed since it was counted, or "
        "is drawn anew each time; collect it into a frame or a file first"
    )


def _same_labels(counts: GroupCounts, recount: GroupCounts) -> bool:
    """True if groups in order are called the same."""
    if not (counts.group_columns and recount.group_columns):
        return bool(counts.groups == recount.groups)
    return all(
        labels == other_labels and np.array_equal(codes, other_codes)
        for (labels, codes), (other_labels, other_codes) in zip(
            counts.group_parts, recount.group_parts, strict=True
        )
    )


def refuse_null_groups(
    name: str,
    rows: pa.Table,
    groups: Sequence[str],
    kept_rows: IntArray | None = None,
    *,
    in_order: bool = True,
) -> None:
    """Raise `DataError` that names the first row without a group."""
    for group in groups:
        if rows.column(group).null_count:
            row = int(np.argmax(pc.is_null(rows.column(group)).to_numpy()))
            where = (
                f" (row {(row if kept_rows is None else int(kept_rows[row])) + 1})"
                if in_order
                else ""
            )
            raise DataError(
                f"{name}: the group column {group!r} is missing{where}; every row needs a group"
            )


def _values(sensitive: str, column: pa.ChunkedArray) -> tuple[NDArray[Any], Labels]:
    """Codes of a column into its distinct values, which are in order."""
    codes, distinct = ranked(*codes_of(column))
    return codes, Labels(to_python(sensitive, distinct))


def group_codes(
    rows: pa.Table, groups: Sequence[str], *, as_tuples: bool
) -> tuple[NDArray[Any], Sequence[Label]]:
    """Code and label of each row's group."""
    encoded = [codes_of(rows.column(column)) for column in groups]
    return joined(groups, encoded, as_tuples=as_tuples)


def joined(
    groups: Sequence[str],
    encoded: Sequence[tuple[NDArray[Any], pa.Array]],
    *,
    as_tuples: bool,
) -> tuple[NDArray[Any], Sequence[Label]]:
    """Code and label of each group, from the codes and distinct values of its columns.

    Groups are in the order of their labels, whatever the order of rows: a null, then numbers by
    value, texts by character. So the first of several is the same in each engine.
    """
    encoded = [ranked(codes, distinct) for codes, distinct in encoded]
    if len(groups) == 1:
        codes, distinct = encoded[0]
        labels = to_python(groups[0], distinct)
        if not as_tuples:
            return codes, labels
        return codes, GroupLabels.of([(label,) for label in labels], groups)
    keys, first = combine(
        [codes for codes, _ in encoded], [len(distinct) for _, distinct in encoded]
    )

    def parts() -> list[Part]:
        encoded_groups = zip(groups, encoded, strict=True)
        return [
            (to_python(name, distinct), codes[first]) for name, (codes, distinct) in encoded_groups
        ]

    return keys, GroupLabels(parts, len(first), groups)


def _places(
    table: Table,
    labels: Sequence[Label],
    people: Table,
    people_labels: Sequence[Label],
    of_row: NDArray[Any],
) -> IntArray:
    """Where each group of the tally is among those of the people."""
    as_texts = table.untyped != people.untyped  # a CSV file beside one that knows types
    place = {_text(label) if as_texts else label: i for i, label in enumerate(people_labels)}
    places = np.array(
        [place.get(_text(label) if as_texts else label, -1) for label in labels], dtype=np.int64
    )
    if len(places) and places.min() < 0:
        row = int(np.argmax(places[of_row] < 0))
        raise DataError(
            f"{table.name}: row {row + 1}: group {labels[int(of_row[row])]!r} has no people in "
            f"{people.name}"
        )
    return places


def _text(label: Label) -> Label:
    if isinstance(label, tuple):
        return tuple(_text(part) for part in label)
    return None if label is None else str(label)
