"""Questions to the judge: rows of a release, or of its owner's table, and what is asked of them.

Here it is decided which column is which, how values are spelt and who is left out. Secrets, sights,
formulas and limits are the judge's alone. Nothing here counts or explains.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from foreknow.data.arrays import IntArray, combine
from foreknow.data.layout import columns_except
from foreknow.data.people.values_of_people import HeldRows
from foreknow.data.release_tables import COUNT, ReleaseTables
from foreknow.data.tables.columns import codes_of, fetch, sorted_texts, to_python
from foreknow.data.tables.rows import TallyRows, ValuesRows, count_equal_rows, no_signatures
from foreknow.data.tables.table import Table, free_name
from foreknow.data.tables.tally import amounts_of
from foreknow_judge.counts.group_bags import Column, distinct
from foreknow_judge.counts.layout import multivalued_columns
from foreknow_judge.counts.owner_counts import Counted
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.knowledge.impossible_values import Rules
from foreknow_judge.policy.grammar import Form
from foreknow_judge.registry import Kinds
from foreknow_judge.verdict import Verdict
from foreknow_judge.verdicts import verdicts

# Columns of the rows that are handed over, and how often each row occurs.
Rows: TypeAlias = "tuple[list[Column], IntArray]"


def verdicts_on(
    release: Counted, table: Mapping[str, Any], kinds: Kinds, position: int = 0
) -> list[Verdict]:
    """The judge's verdicts on one ``[[require]]`` table, which has this place in its policy."""
    return verdicts(release, [encodable(table)], kinds.judges, kinds.gauges, position)


def printed_column(codes: Any, labels: Sequence[Any]) -> Column:
    """A column of labels as they print, for the judge: distinct texts in order, and codes of them.

    `codes` has the position of each row's label in `labels`. Labels that print alike become one.
    """
    texts = [None if label is None else str(label) for label in labels]
    try:
        distinct, position_of_text = sorted_texts(texts)
    except UnicodeEncodeError:  # half characters, which no file can hold, become escapes
        distinct, position_of_text = sorted_texts(encodable(texts))
    return Column(distinct, position_of_text[np.asarray(codes)])


def encodable(content: Any) -> Any:
    """Texts as files can hold them: half characters are written out."""
    if isinstance(content, str):
        return content.encode("utf-8", "backslashreplace").decode()
    if isinstance(content, Mapping):
        return {encodable(key): encodable(value) for key, value in content.items()}
    return [*map(encodable, content)] if isinstance(content, (list, tuple)) else content


def times_or_once(times: IntArray | None, n_rows: int) -> IntArray:
    """How often each row occurs: `times`, or once."""
    return np.ones(n_rows, np.int64) if times is None else times.astype(np.int64)


# ---- tables -------------------------------------------------------------------------------------


def rows_of_release(
    release: ReleaseTables,
    visible: ReleaseTables,
    rules: Mapping[str, Any],
    *,
    of_people: bool = False,
) -> Counted:
    """The release as the judge counts it: the table that holds each column, and a reader of rows.

    `visible` is the release as an adversary sees it, with the secret; `rules` is a schema's table,
    which may have rules on who cannot have which values. With `of_people`, people are asked about,
    and no values.
    """
    tables, secret = release.tables, visible.sensitive
    if isinstance(tables, ValuesRows):  # one table with a row for each person
        anything = free_name(_ANYTHING, {*tables.table.columns})
        if of_people and tables.missing != "error":
            secret = anything  # so that people without a value count, too
        table_of_column = dict.fromkeys((*release.sensitives, secret), "release")
        rows: Any = _TableReader(cast("ValuesRows", visible.tables), anything)
        names, semantics, other_columns = ["release"], "single", release.other
    else:  # a table of people, and tables of groups, values and counts
        name_of_table: dict[int, str] = {}
        table_of_column = {}
        for column in release.sensitives:
            next_name = f"sensitive{len(name_of_table) + 1}"
            table = id(release.table_of(column))  # columns of the same table get the same name
            table_of_column[column] = name_of_table.setdefault(table, next_name)
        rows = _TallyReader(release, {table: name for name, table in table_of_column.items()})
        names, semantics = ["people", *name_of_table.values()], release.semantics
        other_columns = release.people_columns
    return Counted(
        form=_form_of(() if release.by_values else release.recognized),
        groups=release.group_columns,
        sensitive=secret,
        tables=dict.fromkeys(names),
        semantics=semantics,
        parts=table_of_column,
        exact=tuple(release.recognized),
        beside=other_columns,
        rules=Rules.of(rules),
        shuffled=release.unlinked,
        cohort=release.cohort,
        rows=rows,
    )


def rows_of_several_values(visible: ReleaseTables, exact: Sequence[str] = ()) -> Counted:
    """A table whose people may have several values, as the judge counts it.

    `visible` is the table as one adversary sees it. With `exact` columns, people who look alike are
    counted by these, whichever group they are in.
    """
    rows = _HeldReader(cast("HeldRows", visible.tables))
    return Counted(
        form=_form_of(exact),
        groups=columns_except(visible.group_columns, exact),
        sensitive=visible.sensitive,
        tables={"people": None, "sensitive": None},
        semantics=visible.semantics,
        parts={visible.sensitive: "sensitive"},
        exact=exact,
        rows=rows,
    )


def _form_of(exact: Sequence[str]) -> Form:
    """The form of a table by the columns that it has exactly of people in groups."""
    return "bucketized" if exact else "generalized"


def share_rows(release: Counted, memo: dict[Any, Any]) -> None:
    """Let a release use the counts of others with equal rows, and let later ones use its own.

    `memo` has the memories of releases that were shared before, by a key of their rows.
    """
    if isinstance(rows := release.rows, (_TableReader, _HeldReader)):
        # The rows are kept, too, so that no other table gets their id.
        shared, _ = memo.setdefault((rows.key, *release.exact), (release.memory, rows))
        release.memory.counted, release.memory.held = shared.counted, shared.held


def _printed_columns(rows: Any, names: Sequence[str]) -> list[Column]:
    """Columns of a table as they print."""
    return [_printed(name, *codes_of(rows.column(name))) for name in names]


def _printed(name: str, codes: Any, distinct: Any) -> Column:
    return printed_column(codes, to_python(name, distinct))


# What people are counted by whose values do not matter.
_ANYTHING = "anything"


@dataclass(frozen=True, eq=False)
class _TableReader:
    """Reads a table with one row for each person; people without a value are left out."""

    visible: ValuesRows
    anything: str

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that is equal for sights that count equal rows alike."""
        visible = self.visible
        missing = (
            None if visible.missing == "error" else (visible.sensitive, tuple(visible.or_else))
        )
        return id(visible.table), missing, self.anything

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        """The distinct rows of some columns, and how often each occurs.

        The column `anything`, which the table does not have, stands for having any value: its one
        value is everybody's. `table` is the only one.
        """
        visible, anything = self.visible, self.anything
        counted_names = [name for name in names if name != anything]
        rows, weights = visible.prepared(counted_names)
        encoded = [codes_of(rows.column(name)) for name in counted_names]
        if weights is not None and visible.has_counted(counted_names):
            first, times = np.arange(len(rows)), weights
        else:  # equal rows are counted here, since most tables have few different ones
            codes = [of_row for of_row, _ in encoded]
            kind, first = combine(codes, [len(distinct) for _, distinct in encoded])
            times = np.bincount(kind, weights, len(first)).astype(np.int64)
        columns = {
            name: _printed(name, of_row[first], distinct)
            for name, (of_row, distinct) in zip(counted_names, encoded, strict=True)
        }
        columns[anything] = printed_column(np.zeros(len(first), np.int64), ["a value"])
        return [columns[name] for name in names], times


@dataclass(frozen=True, eq=False)
class _HeldReader:
    """Reads the people of a table, and how often each value occurs in each group."""

    visible: HeldRows

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that is equal for sights that count equal rows alike."""
        return id(self.visible.table), self.visible.sensitive, *self.visible.groups

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        """The distinct rows of these columns, and how many people each of them is.

        `table` is "people", or "sensitive", whose rows are (group, value, count).
        """
        values = self.visible.values_of_people()
        columns = {
            name: _printed(name, *coded)
            for name, coded in zip(self.visible.groups, values.groups, strict=True)
        }
        return {"people": self._people}.get(table, self._cells)(names, columns, values)

    def _people(self, names: Sequence[str], columns: Mapping[str, Column], _: Any) -> Rows:
        """A row for each group."""
        other_columns = [name for name in names if name not in columns]
        if other_columns:
            raise no_signatures(self.visible.table, other_columns)
        rows, amounts = _distinct_rows(columns)
        return [rows[name] for name in names], amounts

    def _cells(self, names: Sequence[str], columns: Mapping[str, Column], values: Any) -> Rows:
        """A row for each value that somebody has: the person's group, and the value.

        Equal rows are counted; then their number is a column of its own, as in a written table.
        """
        visible = self.visible
        columns = {name: column.take(values.holders) for name, column in columns.items()}
        columns[visible.sensitive] = _printed(visible.sensitive, values.codes, values.distinct)
        rows, amounts = _distinct_rows(columns)
        amount, position = np.unique(amounts, return_inverse=True)
        rows[COUNT] = printed_column(position, amount.tolist())
        return [rows[name] for name in names], times_or_once(None, len(amounts))


def _distinct_rows(columns: Mapping[str, Column]) -> tuple[dict[str, Column], IntArray]:
    """The different rows of some columns, and how often each occurs."""
    sizes = [len(column.texts) for column in columns.values()]
    of_row, first = combine([column.codes for column in columns.values()], sizes)
    amounts = np.bincount(of_row, minlength=len(first)).astype(np.int64)
    return {name: column.take(first) for name, column in columns.items()}, amounts


@dataclass(frozen=True, eq=False)
class _TallyReader:
    """Reads a table of people, and those of (group, value, count)."""

    release: ReleaseTables
    column_of: Mapping[str, str]

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        """The rows of these columns, and how many people each stands for.

        `table` is "people", or one of (group, value, count), whose rows stand for themselves.
        """
        release = self.release
        if table in self.column_of:
            tally = cast("TallyRows", release.table_of(self.column_of[table]))
            headers = [tally.amount if name == COUNT else name for name in names]
            rows = fetch(tally.table, headers, tally.groups)
            return _printed_columns(rows, headers), times_or_once(None, len(rows))
        tally = cast("TallyRows", release.tables)
        if tally.people is not None:
            rows, weights = count_equal_rows(tally.people.table, [*names], tally.groups)
            return _printed_columns(rows, names), times_or_once(weights, len(rows))
        # Without a table of people, everybody has one value, so the counts say how many there are.
        rows = fetch(tally.table, [*names, tally.amount], tally.groups)
        amounts = amounts_of(tally.table, tally.amount, rows.column(tally.amount))
        return _printed_columns(rows, names), amounts.astype(np.int64)


# ---- what only the owner has --------------------------------------------------------------------

_GROUP, _UNIT = "group", "unit"


class OwnersColumns(Protocol):
    """The columns of the owner's table, each with a code for each row; a `Microdata` has them."""

    @property
    def source(self) -> Table:
        """The table as it was opened."""

    @property
    def times(self) -> IntArray | None:
        """How many people each row is; None where each is one."""

    @property
    def nodes(self) -> Collection[str]:
        """Columns of rules whose values are nodes of their hierarchies."""

    @property
    def sensitives(self) -> Sequence[Any]:
        """The sensitive columns: their names, codes and domains."""

    def as_it_stands(self, name: str) -> tuple[Any, Any]:
        """A column of the table: the code of each row, distinct values."""

    def unchanged(self, name: str) -> tuple[Any, Sequence[Any]]:
        """A column that is no secret: the code of each row, and its values."""

    def about_rule(self, position: int) -> tuple[Any, Sequence[Any]]:
        """Whether a rule is about each of several rows that were counted."""


def rows_of_owner(
    people: OwnersColumns,
    groups: IntArray,
    schema: Mapping[str, Any],
    secret: str,
    known_columns: Sequence[str],
    *,
    linked: Collection[str] = (),
    person: str = "",
    by: str | None = None,
) -> Counted:
    """The owner's table with the group of each row: exact columns, persons and other units.

    Parameters
    ----------
    people : OwnersColumns
    groups : int64 array
        The group of each row in the release.
    schema : mapping
        What the columns are, as the ``[schema]`` table of the policy says it.
    secret : str
        The sensitive column.
    known_columns : sequence of str
        Columns that are known of everybody.
    linked : collection of str
        Sensitive columns that stand beside others in the release; the rest is shuffled.
    person : str
        Where rows are cases and people are counted, the column that says whose they are.
    by : str, optional
        The column whose values are counted as units, such as households; then nothing is secret.
    """
    # Names for two columns that the table does not have: the group, and the counted unit.
    column_names = {*people.source.columns}
    group, unit = free_name(_GROUP, column_names), free_name(_UNIT, column_names)
    rules = Rules.of(schema)
    # Where equal rows were put together (`times`), columns that rules ask for may be gone; instead,
    # a column for each rule says whether it applies.
    if people.times is None:
        rules = rules._replace(nodes=people.nodes, opaque=people.nodes)
    else:
        rules = Rules(_rules_by_row(rules))
    sensitive = schema["sensitive"]
    sensitives = [sensitive] if isinstance(sensitive, str) else sensitive
    for name in multivalued_columns(schema.get("semantics", "single"), sensitives):
        if name in known_columns:  # its codes are of values, and not of rows
            raise UnsupportedError(
                f"{name!r} is among knowing, and people may have several values of it: then the "
                "owner's table is not counted by it; leave it out of knowing"
            )
    other_columns = (*schema["quasi_identifiers"], *schema.get("other", ()), *known_columns)
    rows = _OwnersReader(people, groups, group=group, unit=unit, by=by, n_rules=len(rules.tables))
    return Counted(
        form="generalized",
        groups=[group],
        sensitive=secret if by is None else unit,
        tables={"release": None},
        parts=dict.fromkeys(sensitives if by is None else (unit,), "release"),
        beside=(*other_columns, *rules.columns()),
        rules=rules if by is None else Rules(),
        shuffled={*sensitives} - {*linked},
        rows=rows,
        person=person,
    )


def _rule_name(position: int) -> str:
    return f"rule {position}"


def _rules_by_row(rules: Rules) -> list[dict[str, Any]]:
    """Rules of equal rows that were counted, of which it is kept which rules are about them."""
    return [
        {**table, "where": {_rule_name(position): ["yes"]}}
        for position, table in enumerate(rules.tables)
    ]


@dataclass(frozen=True, eq=False)
class _OwnersReader:
    """Reads the owner's table, with the group of each row; of a unit, such as a household, once."""

    people: OwnersColumns
    groups: IntArray
    group: str  # what the column of groups is called
    unit: str  # what the column of units is called
    by: str | None  # whose rows are one unit
    n_rules: int  # on what some people cannot have

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        """The rows of these columns, and how many people or units each stands for."""
        columns = [self._printed(name) for name in names]
        if self.by is None:
            return columns, times_or_once(self.people.times, len(self.groups))
        # A unit, such as a household, counts once in each group, however many rows it has there.
        codes, labels = self.people.as_it_stands(self.by)
        unit = codes.astype(np.int64)
        # Rows without a number of their unit, whose code is the last one.
        nobody = np.flatnonzero(unit >= len(labels) - labels.null_count)
        unit[nobody] = len(labels) + np.arange(len(nobody))  # each is a unit by itself
        first, _ = distinct(unit, *(column.codes for column in columns))
        return [column.take(first) for column in columns], times_or_once(None, len(first))

    def _printed(self, name: str) -> Column:
        """A column of the table as the judge reads it: group, unit, sensitive, rule or other."""
        people = self.people
        if name == self.group:
            return printed_column(self.groups, range(int(self.groups.max(initial=-1)) + 1))
        if name == self.unit:  # nothing is secret where units are counted: all have one value
            return printed_column(np.zeros(len(self.groups), np.int64), ["1"])
        for column in people.sensitives:
            if column.name == name:
                return printed_column(column.codes, column.domain)
        if people.times is not None:
            for position in range(self.n_rules):
                if name == _rule_name(position):
                    return printed_column(*people.about_rule(position))
        return printed_column(*people.unchanged(name))
