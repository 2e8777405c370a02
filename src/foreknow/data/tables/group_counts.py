"""Count groups by sensitive value: one GROUP BY, in the engine that holds the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine_encoded, count_pairs
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import GroupLabels, Label, Labels, Part
from foreknow.data.members import Members, Signatures
from foreknow.data.people.missing_values import Presence, resolve_missing
from foreknow.data.people.person_rows import PersonRows
from foreknow.data.people.persons import People
from foreknow.data.people.values_of_people import HeldRows, Holdings, read_person_values
from foreknow.data.tables.columns import (
    codes_of,
    fetch,
    ranked,
    to_python,
)
from foreknow.data.tables.combinations import Combinations
from foreknow.data.tables.rows import (
    PeopleRows,
    TallyRows,
    ValuesRows,
    changed_table_error,
    count_equal_rows,
    no_signatures,
    refuse_null_groups,
)
from foreknow.data.tables.table import Table
from foreknow.data.tables.tally import amounts_of, refuse_repeated_rows
from foreknow_judge.errors import DataError, InputError


@dataclass(frozen=True, eq=False)
class PeopleTable(PeopleRows):
    """A table with rows about people, and the columns that make their groups."""

    def members(self, counts: GroupCounts) -> Members:
        """The name of each person, and the position of their group in `counts`."""
        person = person_column(self.table, self.person)
        rows = fetch(self.table, self._with_needed(person, *self.groups))
        if self.needed:
            rows = rows.filter(pa.array(Presence.of(rows, self.needed).shows_any))
        # A person may have several rows, which all are in one group: that of the first.
        people = People.named(self.table.name, person, rows.column(person))
        positions = self._group_positions(rows, counts)
        return Members(Labels(to_python(person, people.names)), positions[people.first])

    def signatures(self, counts: GroupCounts, attributes: Sequence[str]) -> Signatures:
        """Count people with one row each, by group and by their values of some attributes.

        Raises an error if the table gives other rows than when it was counted.
        """
        columns = [*self.groups, *attributes, *self.columns_to_recount]
        rows, weights = self._count_equal_rows(columns)
        # The rows are read again, and a table that changed would mix two states.
        positions = self._group_positions(rows, counts)
        if not self._is_as_counted(counts, positions, rows, weights):
            raise changed_table_error(self.table)
        # A signature is the combination of a person's values in the attributes.
        codes, signatures = group_codes(rows, attributes, as_tuples=True)
        # Labels are compared as they print: 1 and "1" make one signature.
        texts: list[Any] = list(map(_as_text, signatures))
        number_of_text = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        text_numbers = np.array([number_of_text[text] for text in texts], dtype=np.int64)
        pairs = count_pairs(
            positions, text_numbers[codes], counts.n_groups, len(number_of_text), weights
        )
        return Signatures(tuple(attributes), tuple(number_of_text), *pairs)

    @property
    def columns_to_recount(self) -> list[str]:
        """Further columns to count again, to see whether the table is still the same: none."""
        return []

    def _is_as_counted(
        self, counts: GroupCounts, positions: IntArray, rows: pa.Table, weights: IntArray | None
    ) -> bool:
        """True if rows that are read again have as many people in each group as were counted.

        `positions` has the group of each row, and `weights` how many people it is; None: one.
        """
        sizes = np.bincount(positions, weights=weights, minlength=counts.n_groups)
        return np.array_equal(sizes, counts.sizes)

    def combinations(self) -> Combinations:
        """Count people with one row each, by the columns of their groups."""
        rows, weights = self._count_equal_rows(self.groups, self.groups)
        if not self.null_groups:
            in_order = self._has_row_numbers(weights)
            refuse_null_groups(self.table.name, rows, self.groups, in_order=in_order)
        return combinations_in(self.table, rows, self.groups, weights)

    def _count_equal_rows(
        self, columns: Sequence[str], groups: Sequence[str] = ()
    ) -> tuple[pa.Table, IntArray | None]:
        """Equal rows of people who are counted, and how often each occurs.

        The second result is None if each row occurs once. `groups` are those of the columns that
        make groups.
        """
        rows, weights = count_equal_rows(self.table, self._with_needed(*columns), groups)
        # People without any of the needed values are left out.
        presence = Presence.of(rows, self.needed)
        if presence.complete:
            return rows, weights
        kept_rows = presence.shows_any
        return rows.filter(pa.array(kept_rows)), None if weights is None else weights[kept_rows]

    def _has_row_numbers(self, weights: IntArray | None) -> bool:
        """True if rows that were read are in the order of the table, so that they have numbers.

        `weights` are how often each row occurs; None: equal rows were not counted.
        """
        return weights is None or getattr(self.table, "in_order", False)

    def _with_needed(self, *names: str) -> list[str]:
        """Some columns, and those without whose values people are left out; each once."""
        return list(dict.fromkeys([*names, *self.needed]))

    def _group_positions(self, rows: pa.Table, counts: GroupCounts) -> IntArray:
        """The position in `counts` of each row's group; an error if a group was not counted."""
        group_of_row, labels = group_codes(rows, self.groups, as_tuples=self.null_groups)
        position_of_label = Labels(counts.groups or ()).codes
        if not all(label in position_of_label for label in labels):
            raise changed_table_error(self.table)
        positions = np.array([position_of_label[label] for label in labels], dtype=np.int64)
        position_of_row: IntArray = positions[group_of_row]
        return position_of_row


@dataclass(frozen=True, eq=False)
class ValuesTable(PeopleTable, ValuesRows):
    """A table of one row for each person, with their group and their one value."""

    @property
    def listed(self) -> str | None:
        """The column that may hold lists, if any."""
        return None

    def count(self) -> GroupCounts:
        """Count people by group, and their values by group and value."""
        counts, _ = self._counts_and_presence
        return counts

    @property
    def columns_to_recount(self) -> list[str]:
        """The sensitive column (or those in its place) if the table may change while it is read."""
        return [] if self.table.is_stable else [self.sensitive, *self.or_else]

    def _is_as_counted(
        self, counts: GroupCounts, positions: IntArray, rows: pa.Table, weights: IntArray | None
    ) -> bool:
        """True if rows that are read again have the values, group by group, that were counted."""
        if not super()._is_as_counted(counts, positions, rows, weights):
            return False
        if not self.columns_to_recount:  # the table cannot have changed
            return True
        # Drop or label missing values as it was done before.
        rows = self._resolve_missing(rows, weights, in_order=False).rows
        codes, values = self._values_of(rows)
        bags = count_pairs(positions, codes, counts.n_groups, len(values), weights)
        bags_before = counts.offsets, counts.codes, counts.counts
        return values == counts.values and all(map(np.array_equal, bags, bags_before))

    def refuse_changed(self, counts: GroupCounts) -> None:
        """Raise `DataError` if what was read at once now gives counts other than `counts`."""
        # Not all columns of these counts were read at once, so nothing can be compared.
        if not {*self.seen} <= {*self.read_once.columns}:
            return
        recount, _ = self._count_rows()
        if recount != counts or not _same_labels(recount, counts):
            raise changed_table_error(self.table)

    def values_shown(self, sensitives: Sequence[str]) -> Presence | None:
        """Which rows show a value of which sensitive columns; None if no row may be left out."""
        if not self.needed:
            return None
        if [*sensitives] == [self.sensitive]:
            _, presence = self._counts_and_presence
            return presence
        rows, weights = self.rows_of(sensitives)
        return Presence.of(rows, sensitives, weights, numbered=weights is None)

    @cached_property
    def _counts_and_presence(self) -> tuple[GroupCounts, Presence]:
        """The result of `_count_rows`, which is kept."""
        return self._count_rows()

    def _count_rows(self) -> tuple[GroupCounts, Presence]:
        """Read the rows, and count people by group, and their values by group and value.

        The second result says which rows show a sensitive value.
        """
        name, columns = self.table.name, list(dict.fromkeys(self.seen))
        # These rows may have been read already, for several counts. `weights` is how many people
        # each row is; None: one.
        read_before = self.read_once.rows(self.table, columns)
        rows, weights = read_before or count_equal_rows(self.table, columns, self.groups)
        # Columns in which a null is an error.
        no_nulls = [*self.groups] if not self.null_groups else []
        no_nulls += [self.sensitive] if self.missing == "error" else []
        in_order = self._has_row_numbers(weights)
        has_null = any(rows[column].null_count for column in no_nulls)
        if not in_order and self.table.untyped and has_null:
            # The engine's count knows no row numbers: read all rows, so that the error names one.
            rows, weights, in_order = fetch(self.table, columns, self.groups), None, True
        rows, kept_rows, presence = self._resolve_missing(rows, weights, in_order=in_order)
        if kept_rows is not None and weights is not None:
            weights = weights[kept_rows]
        if not len(rows):
            raise DataError(f"{name} has no rows")
        codes, values = self._values_of(rows)
        if not self.null_groups:
            refuse_null_groups(name, rows, self.groups, kept_rows, in_order=in_order)
        group_of_row, labels = group_codes(rows, self.groups, as_tuples=self.null_groups)
        counts = GroupCounts.from_pairs(
            group_of_row, codes, values=values, n_groups=len(labels), groups=labels, weights=weights
        )
        return counts, presence

    def _values_of(self, rows: pa.Table) -> tuple[NDArray[Any], Labels]:
        """The code of each row's value, and the values in order.

        If people are counted whatever their values, all rows have one value.
        """
        if self.or_else:
            return np.zeros(len(rows), dtype=np.int64), Labels(["a value"])
        return _coded_values(self.sensitive, rows.column(self.sensitive))

    def holdings(self, counts: GroupCounts) -> Holdings:
        """Which person has which value, in the order of the rows."""
        person = person_column(self.table, self.person)
        rows = fetch(self.table, [person, self.sensitive])
        rows = resolve_missing(self.table.name, rows, [self.sensitive], self.missing).rows
        holders = People.named(self.table.name, person, rows.column(person)).of_row
        return self._as_holdings(holders, rows.column(self.sensitive), counts)

    def _as_holdings(
        self, holders: NDArray[Any], column: pa.ChunkedArray, counts: GroupCounts
    ) -> Holdings:
        """Who has which value, as codes of `counts`; `holders` has the person of each value."""
        codes, distinct = codes_of(column)
        values = to_python(self.sensitive, distinct)
        new_code = np.array([counts.values.codes[value] for value in values], codes.dtype)
        return Holdings(holders, new_code[codes])


@dataclass(frozen=True, eq=False)
class HeldTable(ValuesTable, HeldRows):
    """A table of which a person may have several values: a row for each of them, or a list."""

    @property
    def listed(self) -> str | None:
        """The column that may hold lists."""
        return self.sensitive

    def with_values_as_text(self) -> ValuesTable:
        """The table in which all values that a person has are one text."""
        rows = PersonRows.with_values_as_text(
            self.table, self.person, self.sensitive, self.semantics
        )
        return ValuesTable(
            table=rows,
            groups=self.groups,
            null_groups=self.null_groups,
            person=self.person,
            sensitive=self.sensitive,
            semantics="single",
            missing=self.missing,
        )

    @cached_property
    def _counts_and_presence(self) -> tuple[GroupCounts, Presence]:
        """The counts; no row is left out, since a null only adds no value."""
        return self._count_people(), Presence({}, n_rows=0, times=None, numbered=True)

    def _count_people(self) -> GroupCounts:
        """The number of people of each group, and how often each value occurs among them."""
        values = self.values_of_people()
        group_of_person, labels = groups_from_columns(
            self.groups, values.groups, as_tuples=self.null_groups
        )
        # Values in order, so that their codes do not depend on the order of rows.
        codes, distinct = ranked(values.codes, values.distinct)
        return GroupCounts.from_pairs(
            group_of_person[values.holders],
            codes,
            values=Labels(to_python(self.sensitive, distinct)),
            n_groups=len(labels),
            groups=labels,
            sizes=np.bincount(group_of_person, minlength=len(labels)),
            semantics=self.semantics,
        )

    def combinations(self) -> Combinations:
        """Count people by the columns of their groups."""
        return Combinations.of(self.groups, self.values_of_people().groups)

    def holdings(self, counts: GroupCounts) -> Holdings:
        """Which person has which value, in the order of the rows."""
        person_column(self.table, self.person)  # raises an error without such a column
        person_values = read_person_values(
            self.table, [], self.sensitive, self.person, self.semantics
        )
        return self._as_holdings(person_values.holders, person_values.values, counts)

    def signatures(self, counts: GroupCounts, attributes: Sequence[str]) -> Signatures:
        """Raise `InputError`: no row has all values of a person."""
        raise no_signatures(self.table, attributes)


@dataclass(frozen=True, eq=False)
class TallyTable(TallyRows):
    """The (group, value, count) table of a release, and perhaps the one of its people."""

    people: PeopleTable | None

    def values_shown(self, sensitives: Sequence[str]) -> None:
        """No row is left out."""

    def read_at_once(self, columns: Iterable[str]) -> bool:
        """False: nothing is read at once."""
        return False

    def forget_rows(self) -> None:
        """Forget nothing: nothing was read at once."""

    def count(self) -> GroupCounts:
        """Count how often each value occurs in each group, and how many people each group has.

        People are counted in their own table; without one, each occurrence of a value is a person.
        """
        table, people = self.table, self.people
        rows = fetch(table, self.seen, self.groups)
        weights = amounts_of(table, self.amount, rows.column(self.amount))
        rows = resolve_missing(table.name, rows, [self.sensitive], "error").rows
        if not len(rows) and people is None:
            raise DataError(f"{table.name} has no rows")
        group_of_row, labels = self._groups_of(table, rows)
        sizes: IntArray | None = None
        if people is not None:
            members = fetch(people.table, self.groups, self.groups)
            if not len(members):
                raise DataError(f"{people.table.name} has no rows")
            # Groups are those of the table of people: some may have no values at all.
            group_of_member, people_labels = self._groups_of(people.table, members)
            sizes = np.bincount(group_of_member, minlength=len(people_labels))
            # From groups of this table to those of people.
            new_group = _groups_among_people(
                table, labels, people.table, people_labels, group_of_row
            )
            group_of_row, labels = new_group[group_of_row], people_labels
        codes, values = _coded_values(self.sensitive, rows.column(self.sensitive))
        counts = GroupCounts.from_pairs(
            group_of_row,
            codes,
            values=values,
            n_groups=len(labels),
            groups=labels,
            weights=weights,
            sizes=sizes,
            semantics=self.semantics,
        )
        # Several rows of one group and value: only other columns may tell them apart.
        if len(counts.codes) < len(rows):
            other_columns = [name for name in table.columns if name != self.amount]
            refuse_repeated_rows(table, table.name, other_columns, self.amount)
        return counts

    def combinations(self) -> Combinations:
        """Count people by the columns of their groups, in their own table if there is one."""
        if self.people is not None:
            return self.people.combinations()
        rows = fetch(self.table, [*self.groups, self.amount], self.groups)
        if not self.null_groups:
            refuse_null_groups(self.table.name, rows, self.groups)
        weights = amounts_of(self.table, self.amount, rows.column(self.amount))
        return combinations_in(self.table, rows, self.groups, weights)

    def _groups_of(self, table: Table, rows: pa.Table) -> tuple[NDArray[Any], Sequence[Label]]:
        """The group of each row of a table, and the label of each group."""
        if not self.null_groups:
            refuse_null_groups(table.name, rows, self.groups)
        return group_codes(rows, self.groups, as_tuples=self.null_groups)

    def members(self, counts: GroupCounts) -> Members:
        """The name of each person, and the position of their group in `counts`."""
        if self.people is None:
            person_column(self.table, None)  # raises an error
        assert self.people is not None
        return self.people.members(counts)

    def holdings(self, counts: GroupCounts) -> Holdings:
        """Raise `InputError`: a bucketized release does not say who has what."""
        # Nobody may be named at all, which is another error.
        person_column(self.table, None if self.people is None else self.people.person)
        raise InputError(
            f"{self.table.name}: a bucketized release does not tell who has what; take the table "
            "that it was made from, with a column of groups"
        )

    def signatures(self, counts: GroupCounts, attributes: Sequence[str]) -> Signatures:
        """Count people by group and signature, in their own table."""
        if self.people is None:
            raise no_signatures(self.table, attributes)
        return self.people.signatures(counts, attributes)


def person_column(table: Table, person: str | None) -> str:
    """The column that names people, which is `person`; `InputError` if that is None."""
    if person is None:
        raise InputError(
            f"{table.name}: nobody is named; say which column names people, "
            'such as Release.from_groups(..., person="name")'
        )
    return person


def combinations_in(
    table: Table, rows: pa.Table, columns: Sequence[str], people: IntArray | None
) -> Combinations:
    """Count equal rows of a table by some columns; each is so many people, or one."""
    if not len(rows):
        raise DataError(f"{table.name} has no rows")
    return Combinations.of(columns, [codes_of(rows.column(name)) for name in columns], people)


def combinations_of(table: Table, columns: Sequence[str]) -> Combinations:
    """Count a table of one row for each person by some columns, where it lives."""
    rows, people = count_equal_rows(table, list(columns), columns)
    return combinations_in(table, rows, columns, people)


def _same_labels(counts: GroupCounts, recount: GroupCounts) -> bool:
    """True if the groups of two counts have the same labels, in the same order."""
    # Groups without columns have one name each.
    if not (counts.group_columns and recount.group_columns):
        return bool(counts.groups == recount.groups)
    # By column: the distinct labels, and the code of each group's label.
    parts_of_columns = zip(counts.group_parts, recount.group_parts, strict=True)
    for (distinct_labels, codes), (other_labels, other_codes) in parts_of_columns:
        if distinct_labels != other_labels or not np.array_equal(codes, other_codes):
            return False
    return True


def _coded_values(sensitive: str, column: pa.ChunkedArray) -> tuple[NDArray[Any], Labels]:
    """Codes of a column into its distinct values, which are in order."""
    codes, distinct = ranked(*codes_of(column))
    return codes, Labels(to_python(sensitive, distinct))


def group_codes(
    rows: pa.Table, groups: Sequence[str], *, as_tuples: bool
) -> tuple[NDArray[Any], Sequence[Label]]:
    """The group of each row, and the label of each group; see `groups_from_columns`.

    `groups` are the columns that make groups.
    """
    encoded = [codes_of(rows.column(column)) for column in groups]
    return groups_from_columns(groups, encoded, as_tuples=as_tuples)


def groups_from_columns(
    groups: Sequence[str],
    encoded: Sequence[tuple[NDArray[Any], pa.Array]],
    *,
    as_tuples: bool,
) -> tuple[NDArray[Any], Sequence[Label]]:
    """The group of each row, and the label of each group.

    Groups are in the order of their labels, whatever the order of rows: a null, then numbers by
    value, texts by character. So the first of several is the same in each engine.

    Parameters
    ----------
    groups : sequence of str
        The columns that make groups.
    encoded : sequence of (codes, distinct)
        Each column as `codes_of` gives it.
    as_tuples : bool
        Whether the label of a group is a tuple where one column makes the groups; of several
        columns it always is.
    """
    # Codes in the order of labels, so that groups are numbered in that order.
    encoded = [ranked(codes, distinct) for codes, distinct in encoded]
    if len(groups) == 1:
        codes, distinct = encoded[0]
        labels = to_python(groups[0], distinct)
        if not as_tuples:
            return codes, labels
        return codes, GroupLabels.of([(label,) for label in labels], groups)
    group_of_row, first_rows = combine_encoded(encoded)

    # Labels of many groups take time to make, so they are made when they are asked for.
    def parts() -> list[Part]:
        """The labels of each column, and for each group the code of its label."""
        columns = zip(groups, encoded, strict=True)
        return [(to_python(name, labels), codes[first_rows]) for name, (codes, labels) in columns]

    return group_of_row, GroupLabels(parts, len(first_rows), groups)


def _groups_among_people(
    table: Table,
    labels: Sequence[Label],
    people: Table,
    people_labels: Sequence[Label],
    group_of_row: NDArray[Any],
) -> IntArray:
    """The position of each group of a tally among the groups of the table of people.

    Raises `DataError`, with a row of the tally, for a group that has no people.

    Parameters
    ----------
    table, labels
        The tally, and the labels of its groups.
    people, people_labels
        The table of people, and the labels of their groups.
    group_of_row : integer array
        The group of each row of the tally.
    """
    keys, people_keys = labels, people_labels
    if table.untyped != people.untyped:  # a CSV file of texts beside a table with types
        keys, people_keys = [*map(_as_text, labels)], [*map(_as_text, people_labels)]
    place_of = {key: position for position, key in enumerate(people_keys)}
    positions = np.array([place_of.get(key, -1) for key in keys], dtype=np.int64)
    if len(positions) and positions.min() < 0:
        row = int(np.argmax(positions[group_of_row] < 0))
        raise DataError(
            f"{table.name}: row {row + 1}: group {labels[int(group_of_row[row])]!r} has no people "
            f"in {people.name}"
        )
    return positions


def _as_text(label: Label) -> Label:
    """A label, or each part of a tuple, as text; None stays None."""
    if isinstance(label, tuple):
        return tuple(_as_text(part) for part in label)
    return None if label is None else str(label)
