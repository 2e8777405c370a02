"""Count groups by sensitive value: one GROUP BY, in the engine that holds the data.

Where a person may have several values or none, two shapes of a table say who has what: one row per
person and value, or one row per person with a list.
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
    plain_table,
    refuse_twins,
    refuse_two_empties,
    settle_missing,
    to_python,
)
from foreknow.data.engines.table import Table, require
from foreknow.data.labels import Label, Labels, in_order
from foreknow.data.people import Members, Signatures
from foreknow.data.sparse import IntArray, combine, count_pairs
from foreknow.errors import DataError, SchemaError

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
        codes, found = codes_of(names)
        if found.null_count:
            row = int(np.argmax(codes == len(found) - 1)) + 1
            raise DataError(f"{table}: the column of people {column!r} is missing in row {row}")
        first = first_rows(codes, len(found))
        if np.all(first[1:] > first[:-1]):
            return cls(table, codes, first, column, found)
        order = np.argsort(first)
        place = np.empty(len(found), dtype=codes.dtype)
        place[order] = np.arange(len(found), dtype=codes.dtype)
        return cls(table, place[codes], first[order], column, found.take(pa.array(order)))

    @classmethod
    def of_rows(cls, table: str, rows: int) -> People:
        """Take each row for someone."""
        everybody = np.arange(rows)
        return cls(table, everybody, everybody)

    def __len__(self) -> int:
        return len(self.first)

    def called(self, person: int) -> str:
        """What messages call someone."""
        if self.names is None:
            return f"row {self.first[person] + 1}"
        return f"{self.column} {self.names[person].as_py()!r}"

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
        own: NDArray[Any] = codes[self.first]
        if len(self.first) == len(self.of_row):
            return own
        differs = codes != own[self.of_row]
        if differs.any():
            row = int(np.argmax(differs))
            who = int(self.of_row[row])
            raise DataError(
                f"{self.table}: {self.called(who)} has {column} {value(int(own[who]))!r} in row "
                f"{self.first[who] + 1}, but {value(int(codes[row]))!r} in row {row + 1}; {advice}"
            )
        return own


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


# ---- one value per person ----------------------------------------------------------------


def count_groups(
    table: Table,
    groups: Sequence[str],
    sensitive: str,
    *,
    missing: Missing = "error",
    null_groups: bool = False,
) -> GroupCounts:
    """Count one row per person by group and sensitive value."""
    columns = list(dict.fromkeys([*groups, sensitive]))
    require(table, columns)
    tallied = table.tally(columns)
    if tallied is None:
        rows, weights = fetch(table, columns, groups), None
        positions: IntArray | None = np.arange(len(rows))
    else:
        refuse_two_empties(table, groups)
        rows, weights = plain_table(tallied[0], columns, groups), tallied[1].astype(np.int64)
        positions = None
        _name_first_null(table, rows, sensitive, missing, [] if null_groups else groups)
    return _count(table.name, rows, groups, sensitive, missing, weights, positions, null_groups)


def _name_first_null(
    table: Table, rows: pa.Table, sensitive: str, missing: Missing, groups: Sequence[str]
) -> None:
    """A count by the engine forgets rows; where they have numbers, look them up for the message."""
    if not table.untyped:
        return
    if rows.column(sensitive).null_count and missing == "error":
        settle_missing(table.name, fetch(table, [sensitive]), sensitive, missing)
    for group in groups:
        if rows.column(group).null_count:
            refuse_null_group(table.name, group, fetch(table, [group]).column(group), None)


def _count(
    name: str,
    rows: pa.Table,
    groups: Sequence[str],
    sensitive: str,
    missing: Missing,
    weights: IntArray | None,
    positions: IntArray | None,
    null_groups: bool,
) -> GroupCounts:
    rows, kept = settle_missing(
        name, rows, sensitive, missing, weights=weights, in_order=positions is not None
    )
    if kept is not None:
        weights = None if weights is None else weights[kept]
        positions = None if positions is None else positions[kept]
    if not len(rows):
        raise DataError(f"{name} has no rows")
    codes, values = _values(sensitive, rows.column(sensitive))
    if not null_groups and rows.column(groups[0]).null_count:
        refuse_null_group(name, groups[0], rows.column(groups[0]), positions)
    of_row, group_labels = group_codes(rows, groups, as_tuples=null_groups)
    return GroupCounts.from_pairs(
        of_row,
        codes,
        values=values,
        n_groups=len(group_labels),
        groups=group_labels,
        weights=weights,
    )


def _values(sensitive: str, column: pa.ChunkedArray) -> tuple[NDArray[Any], Labels]:
    """Codes of a column into its distinct values, which are in order."""
    codes, found = codes_of(column)
    given = to_python(sensitive, found)
    values = Labels(in_order(given))
    place = np.array([values.codes[value] for value in given], dtype=codes.dtype)
    return place[codes], values


def refuse_null_group(
    name: str, group: str, column: pa.ChunkedArray, positions: IntArray | None
) -> None:
    """Raise `DataError` that names the first row without a group."""
    first = int(np.argmax(pc.is_null(column).to_numpy()))
    row = first if positions is None else int(positions[first])
    raise DataError(
        f"{name}: the group column {group!r} is missing (row {row + 1}); every row needs a group"
    )


def group_codes(
    rows: pa.Table, groups: Sequence[str], *, as_tuples: bool
) -> tuple[NDArray[Any], list[Label]]:
    """Code and label of each row's group."""
    encoded = [codes_of(rows.column(column)) for column in groups]
    return joined(groups, encoded, as_tuples=as_tuples)


def joined(
    groups: Sequence[str],
    encoded: Sequence[tuple[NDArray[Any], pa.Array]],
    *,
    as_tuples: bool,
) -> tuple[NDArray[Any], list[Label]]:
    """Code and label of each group, from the codes and distinct values of its columns.

    Groups are in the order of their labels, whatever the order of rows: a null, then numbers by
    value, texts by character. So the first of several is the same in each engine.
    """
    encoded = [_ranked(codes, found) for codes, found in encoded]
    if len(groups) == 1:
        codes, found = encoded[0]
        labels = to_python(groups[0], found)
        return codes, [(label,) for label in labels] if as_tuples else labels
    keys, first = combine([codes for codes, _ in encoded], [len(found) for _, found in encoded])
    columns = [
        to_python(name, found.take(pa.array(codes[first])))
        for name, (codes, found) in zip(groups, encoded, strict=True)
    ]
    return keys, list(zip(*columns, strict=True))


def _ranked(codes: NDArray[Any], found: pa.Array) -> tuple[NDArray[Any], pa.Array]:
    """Codes into the distinct values of a column in ascending order."""
    if pa.types.is_integer(found.type) and not found.null_count:
        order = np.argsort(found.to_numpy())  # several times as fast as Arrow here
    else:
        order = pc.array_sort_indices(found, null_placement="at_start").to_numpy()
    place = np.empty(len(order), dtype=codes.dtype)
    place[order] = np.arange(len(order), dtype=codes.dtype)
    return place[codes], found.take(pa.array(order))


def places_of(name: str, labels: Sequence[Label], known: Sequence[Label]) -> IntArray:
    """Find where some groups are among those that were counted."""
    place = Labels(known).codes
    for label in labels:
        if label not in place:
            raise DataError(f"{name}: nobody was counted in group {label!r}")
    return np.array([place[label] for label in labels], dtype=np.int64)


def count_signatures(
    counts: GroupCounts,
    attributes: Sequence[str],
    *,
    table: Table,
    groups: Sequence[str],
    as_tuples: bool,
    needed: str | None = None,
) -> Signatures:
    """Count one row per person by group and signature, where the data lives."""
    known = counts.groups or ()
    extra = [] if needed is None else [needed]
    columns = list(dict.fromkeys([*groups, *attributes, *extra]))
    require(table, columns)
    tallied = table.tally(columns)
    weights: IntArray | None = None
    if tallied is None:
        rows = fetch(table, columns)
    else:
        rows, weights = plain_table(tallied[0], columns), tallied[1].astype(np.int64)
    if needed is not None and rows.column(needed).null_count:
        kept = pc.is_valid(rows.column(needed))
        rows = rows.filter(kept)
        weights = None if weights is None else weights[kept.to_numpy()]
    of_row, labels = group_codes(rows, groups, as_tuples=as_tuples)
    positions = places_of(table.name, labels, known)
    own = np.bincount(positions[of_row], weights=weights, minlength=len(known))
    if not np.array_equal(own, counts.sizes):
        raise DataError(
            f"{table.name} gave other rows when it was read again; collect it into a frame or a "
            "file first"
        )
    codes, signatures = group_codes(rows, attributes, as_tuples=True)
    # Labels are compared as they print: 1 and "1" are one signature.
    texts = [tuple(None if part is None else str(part) for part in label) for label in signatures]  # type: ignore[attr-defined]
    distinct = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    one_of = np.array([distinct[text] for text in texts], dtype=np.int64)
    found = count_pairs(positions[of_row], one_of[codes], len(known), len(distinct), weights)
    return Signatures(tuple(attributes), tuple(distinct), *found)


def place_people(
    counts: GroupCounts,
    *,
    table: Table,
    person: str,
    groups: Sequence[str],
    as_tuples: bool,
    needed: str | None = None,
) -> Members:
    """Find the group of everybody."""
    columns = [person, *groups, *([] if needed is None else [needed])]
    rows = fetch(table, list(dict.fromkeys(columns)))
    if needed is not None and rows.column(needed).null_count:
        rows = rows.filter(pc.is_valid(rows.column(needed)))
    people = People.named(table.name, person, rows.column(person))
    of_row, labels = group_codes(rows, groups, as_tuples=as_tuples)
    positions = places_of(table.name, labels, counts.groups or ())
    return Members(Labels(to_python(person, people.names)), positions[of_row[people.first]])


def count_tally(
    table: Table,
    groups: Sequence[str],
    sensitive: str,
    count: str,
    *,
    people: Table | None = None,
    semantics: Semantics = "single",
    null_groups: bool = False,
) -> GroupCounts:
    """Read the (group, value, count) table of a release."""
    rows = fetch(table, [*groups, sensitive, count], groups)
    weights = _amounts(table, count, rows.column(count))
    rows, _ = settle_missing(table.name, rows, sensitive, "error")
    if not len(rows) and (people is None or semantics == "single"):
        raise DataError(f"{table.name} has no rows")
    of_row, labels = _groups_of(table, rows, groups, null_groups)
    sizes: IntArray | None = None
    if people is not None:
        members = fetch(people, groups, groups)
        if not len(members):
            raise DataError(f"{people.name} has no rows")
        of_member, known = _groups_of(people, members, groups, null_groups)
        sizes = np.bincount(of_member, minlength=len(known))
        of_row = _places(table, labels, people, known, of_row)[of_row]
        labels = known
    codes, values = _values(sensitive, rows.column(sensitive))
    return GroupCounts.from_pairs(
        of_row,
        codes,
        values=values,
        n_groups=len(labels),
        groups=labels,
        weights=weights,
        sizes=sizes,
        semantics=semantics,
    )


def _groups_of(
    table: Table, rows: pa.Table, groups: Sequence[str], null_groups: bool
) -> tuple[NDArray[Any], list[Label]]:
    for group in groups:
        if not null_groups and rows.column(group).null_count:
            refuse_null_group(table.name, group, rows.column(group), None)
    return group_codes(rows, groups, as_tuples=null_groups)


def _places(
    table: Table, labels: list[Label], people: Table, known: list[Label], of_row: NDArray[Any]
) -> IntArray:
    """Where each group of the tally is among those of the people."""
    as_texts = table.untyped != people.untyped  # a CSV file beside one that knows types
    place = {_text(label) if as_texts else label: i for i, label in enumerate(known)}
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


def _amounts(table: Table, count: str, amounts: pa.ChunkedArray) -> IntArray:
    """Read how often each value occurs."""
    if table.untyped:
        amounts = _whole_numbers(table.name, count, amounts)
    try:
        if pa.types.is_decimal(amounts.type) or pa.types.is_unsigned_integer(amounts.type):
            amounts = amounts.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise DataError(f"{table.name}: column {count!r}: {error}") from None
    if amounts.null_count or not pa.types.is_integer(amounts.type):
        raise DataError(f"{table.name}: column {count!r} must hold a whole number in each row")
    weights: IntArray = amounts.to_numpy().astype(np.int64)
    if len(weights) and weights.min() < 1:
        row = int(np.argmin(weights)) + 1
        raise DataError(f"{table.name}: row {row}: the count {weights.min()} is below 1")
    return weights


def _whole_numbers(name: str, column: str, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = texts.cast(pa.string())
    good = pc.fill_null(pc.match_substring_regex(texts, r"^\d{1,18}$"), False).to_numpy()
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(
            f"{name}: column {column!r}: row {row + 1} holds {texts[row].as_py()!r}, "
            "not a whole number"
        )
    return texts.cast(pa.int64())


# ---- several values per person -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Holdings:
    """One entry per occurrence of a sensitive value."""

    people: NDArray[Any]  # position of the person who has it
    values: NDArray[np.unsignedinteger[Any]]  # code of the value

    def __len__(self) -> int:
        return len(self.people)


@dataclass(frozen=True, eq=False)
class Held:
    """What the rows of a table say about people and their values."""

    people: People
    rows: pa.Table  # the other columns, plain
    values: pa.ChunkedArray  # one plain value per occurrence, in the order of rows; no nulls
    holders: NDArray[Any]  # the person of each occurrence
    sources: IntArray  # the row of each occurrence

    def refuse_twice(
        self, sensitive: str, codes: NDArray[Any], value: Callable[[int], Any]
    ) -> None:
        """Raise `DataError` if someone has a value twice, which a set cannot hold."""
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
    codes, values = _values(sensitive, held.values)
    if semantics == "set":
        held.refuse_twice(sensitive, codes, values.__getitem__)
    return GroupCounts.from_pairs(
        of_person[held.holders],
        codes,
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
    counts: GroupCounts,
    *,
    table: Table,
    person: str,
    sensitive: str,
    semantics: str,
    missing: Missing,
) -> Holdings:
    """Find who has what."""
    known = counts.values
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
