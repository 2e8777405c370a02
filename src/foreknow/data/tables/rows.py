"""Rows: what is counted of a release, equal rows once, without people who are left out.

Counts of groups are made of these rows, and so are the files that verdicts are about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.arrays import IntArray
from foreknow.data.people.missing_values import Presence, Resolved, drops, resolve_missing
from foreknow.data.tables.columns import (
    Missing,
    coded,
    fetch,
    plain_table,
    refuse_two_empties,
)
from foreknow.data.tables.table import Table, require
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.policy.grammar import Semantics


def count_equal_rows(
    table: Table, columns: Sequence[str], groups: Sequence[str] = ()
) -> tuple[pa.Table, IntArray | None]:
    """The different rows of some columns, and how often each occurs; or all rows, and None.

    The latter is returned if the rows are in memory anyway, so that no engine has to count them.
    `groups` are the columns that make groups, in which values that print differently must differ.
    """
    require(table, columns)
    tally = table.tally(columns)
    if tally is None:
        return fetch(table, columns, groups), None
    refuse_two_empties(table, groups)
    return plain_table(tally[0], columns, groups), tally[1].astype(np.int64)


def changed_table_error(table: Table) -> DataError:
    """The error of a table that has other rows when it is read again."""
    return DataError(
        f"{table.name} gave other rows when it was read again: it changed since it was counted, or "
        "is drawn anew each time; collect it into a frame or a file first"
    )


@dataclass(frozen=True, eq=False)
class PeopleRows:
    """A table with rows about people, and the columns that make their groups."""

    table: Table
    groups: Sequence[str]
    null_groups: bool  # a null makes a group of its own; labels of groups are then tuples
    person: str | None

    @property
    def needed(self) -> Sequence[str]:
        """Columns: whoever has a value in none of them is left out. None here: all people count."""
        return ()

    @property
    def by_person(self) -> PeopleRows:
        """The table with rows about people: itself."""
        return self


@dataclass(eq=False)
class ReadOnce:
    """Columns that are read once for several counts, and what was read; see `Release.reading`."""

    columns: Sequence[str] = ()
    groups: Sequence[str] = ()
    read: tuple[pa.Table, IntArray | None] | None = None
    # where people may have several values, the `ValuesOfPeople` that were read
    of_people: dict[Any, Any] | None = None

    def rows(self, table: Table, columns: Sequence[str]) -> tuple[pa.Table, IntArray | None] | None:
        """The rows of some columns, and how often each occurs, from one reading for all callers.

        The second result is None if each row occurs once. The whole result is None if the columns
        are not among those that are read once, or one of these is refused: the caller then reads
        the table itself. Columns of groups come as codes.
        """
        if not set(columns) <= set(self.columns):
            return None
        if self.read is None:
            try:
                rows, weights = count_equal_rows(table, self.columns, self.groups)
            except DataError:
                if not table.is_stable:
                    raise
                # The column that is refused may be one that this caller did not ask for: each
                # caller reads the table itself, and has the error if it is one of its columns.
                self.columns = ()
                return None
            for position, name in enumerate(self.columns):
                column = rows.column(position)
                # Encode once what each caller would encode again.
                if name in self.groups or pa.types.is_string(column.type):
                    rows = rows.set_column(position, name, coded(column))
            self.read = rows, weights
        rows, weights = self.read
        return rows.select(columns), weights


@dataclass(frozen=True, eq=False)
class ValuesRows(PeopleRows):
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
    def seen(self) -> list[str]:
        """Columns that are judged."""
        return [*self.groups, self.sensitive, *self.or_else]

    def with_values_as_text(self) -> ValuesRows:
        """The table in which all values that a person has are one text: itself, as each has one."""
        return self

    def read_at_once(self, columns: Iterable[str]) -> bool:
        """Have columns read once for all callers; True if more than those that are judged."""
        columns_read, read_once = dict.fromkeys((*self.groups, *columns)), self.read_once
        read_once.columns = [name for name in columns_read if name in self.table.columns]
        read_once.groups = [name for name in columns_read if name != self.sensitive]
        return not {*read_once.columns} <= {*self.seen}

    def forget_rows(self) -> None:
        """Forget what was read at once."""
        self.read_once.columns, self.read_once.groups, self.read_once.read = (), (), None
        self.read_once.of_people = None

    def rows_of(self, columns: Sequence[str]) -> tuple[pa.Table, IntArray | None]:
        """Equal rows of some columns and how often each occurs; those that were read at once."""
        rows_read = self.read_once.read and self.read_once.rows(self.table, columns)
        return rows_read or count_equal_rows(self.table, columns, self.groups)

    def has_counted(self, columns: Sequence[str]) -> bool:
        """True if equal rows of just these columns are counted where the table is."""
        columns_counted = self.read_once.columns if self.read_once.read else columns
        return {*columns_counted, *self.needed} <= {*columns}

    def prepared(self, columns: Sequence[str]) -> tuple[pa.Table, IntArray | None]:
        """Rows of people who are counted, missing values labelled; and how often each occurs."""
        rows, weights = self.rows_of(list(dict.fromkeys([*columns, *self.needed])))
        if not self.or_else and self.sensitive not in rows.column_names:
            return rows, weights
        rows, kept_rows, _ = self._resolve_missing(rows, weights, in_order=False)
        if weights is not None and kept_rows is not None:
            weights = weights[kept_rows]
        return rows, weights

    def of_anybody(self, sensitives: Sequence[str]) -> Self:
        """The table with people counted who have a value in any of these columns."""
        return replace(self, or_else=[name for name in sensitives if name != self.sensitive])

    def seen_as(self, sensitive: str, known_columns: Sequence[str]) -> Self:
        """The table for one sensitive column, in groups that known columns divide."""
        groups, nulls = [*self.groups, *known_columns], self.null_groups or bool(known_columns)
        return replace(self, groups=groups, null_groups=nulls, sensitive=sensitive)

    def _resolve_missing(
        self, rows: pa.Table, weights: IntArray | None, *, in_order: bool
    ) -> Resolved:
        """The rows of people who are counted, without missing values.

        `weights` are how often each row occurs; None: once. `in_order` says if rows are in the
        order of the table, so that a message may name one.
        """
        if not self.or_else:
            return resolve_missing(
                self.table.name,
                rows,
                [self.sensitive],
                self.missing,
                times=weights,
                numbered=in_order,
            )
        # People count whatever their values: whoever has a value in any of the columns.
        presence = Presence.of(rows, self.needed, weights, numbered=in_order)
        kept_rows = np.flatnonzero(presence.shows_any)
        return Resolved(rows.take(pa.array(kept_rows)), kept_rows, presence)


@dataclass(frozen=True, eq=False)
class TallyRows:
    """The (group, value, count) table of a release, and perhaps the one of its people."""

    table: Table
    groups: Sequence[str]
    null_groups: bool
    sensitive: str
    amount: str  # the column of counts
    semantics: Semantics
    people: PeopleRows | None
    linked = False  # whether rows show which of several values are of one person
    needed: ClassVar[Sequence[str]] = ()

    @property
    def by_person(self) -> PeopleRows | None:
        """The table with rows about people, where there is one."""
        return self.people

    def with_values_as_text(self) -> TallyRows:
        """The same table: it does not show who has which values."""
        return self

    @property
    def seen(self) -> list[str]:
        """Columns that are judged."""
        return list(dict.fromkeys([*self.groups, self.sensitive, self.amount]))

    def seen_as(self, sensitive: str, known_columns: Sequence[str]) -> Self:
        """The table for one sensitive column, in groups that known columns divide."""
        if not known_columns:
            return replace(self, sensitive=sensitive)
        groups = [*self.groups, *known_columns]
        return replace(self, groups=groups, null_groups=True, sensitive=sensitive, people=None)


def no_signatures(table: Table, attributes: Sequence[str]) -> InputError:
    """The error where no table has one row for each person."""
    return InputError(
        f"{table.name}: {', '.join(attributes)} of each person are unavailable; give a "
        "table of people and their one value, as from_bucketized(..., people=...) does"
    )


def refuse_null_groups(
    name: str,
    rows: pa.Table,
    groups: Sequence[str],
    kept_rows: IntArray | None = None,
    *,
    in_order: bool = True,
) -> None:
    """Raise `DataError` for the first row in which a column of groups is missing.

    Parameters
    ----------
    name : str
        The table, in messages.
    rows : table
    groups : sequence of str
        The columns of groups.
    kept_rows : integer array, optional
        Where these rows are in the table; left out, they are all of its rows.
    in_order : bool
        Whether rows are in the order of the table, so that the message can name one.
    """
    for column in groups:
        if not rows.column(column).null_count:
            continue
        row = int(np.argmax(pc.is_null(rows.column(column)).to_numpy()))
        if kept_rows is not None:
            # From its position among these rows to that in the table.
            row = int(kept_rows[row])
        where = f" (row {row + 1})" if in_order else ""
        raise DataError(
            f"{name}: the group column {column!r} is missing{where}; every row needs a group"
        )
