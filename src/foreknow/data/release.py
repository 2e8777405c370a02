"""Release: a published table with its groups; counted once, where the data lives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import Any, NamedTuple, Self, cast

from foreknow.call_hints import Plain, hinted
from foreknow.data.arrays import IntArray, combine_encoded
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels.labels import GroupLabels, Label, in_order
from foreknow.data.layout import columns_except
from foreknow.data.members import Members, Signatures
from foreknow.data.people.missing_values import LeftOut, Presence
from foreknow.data.people.person_numbers import coded_values, people_of
from foreknow.data.people.person_rows import PersonRows
from foreknow.data.people.persons import refuse_repeats
from foreknow.data.people.units import shared
from foreknow.data.people.values_of_people import Holdings
from foreknow.data.prepare import Prepared, header_of_shuffled, prepare
from foreknow.data.release_tables import COUNT, ReleaseTables
from foreknow.data.schema import PLAIN, Schema
from foreknow.data.semantics import check_semantics, refuse_several
from foreknow.data.tables.columns import (
    Missing,
    codes_of,
    fetch,
)
from foreknow.data.tables.combinations import Combinations
from foreknow.data.tables.given_counts import GivenCounts
from foreknow.data.tables.group_counts import HeldTable, PeopleTable, TallyTable, ValuesTable
from foreknow.data.tables.profile.column_advice import described
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.table import Table, require, stable
from foreknow.data.tables.tally import Tally
from foreknow.data.tables.views.renamed_columns import Renamed
from foreknow.data.tables.views.stacked_tables import bare_rows
from foreknow.errors import SchemaError, did_you_mean, listing
from foreknow.needs import Need
from foreknow.needs import require as require_needs
from foreknow_judge.errors import UnsupportedError, nearest

# How a table is counted of which a person has one value, a set, or a bag of values.
_TABLES: Mapping[Semantics, type[ValuesTable]] = {
    "single": ValuesTable,
    "set": HeldTable,
    "multiset": HeldTable,
}


class Parts(NamedTuple):
    """The tables of a release as they are read, all of Arrow."""

    people: Any  # the table of people, where values have tables of their own; else None
    values: Mapping[tuple[str, ...], Any]  # the tables of values, by the sensitive columns in each
    has_counts: bool  # whether `COUNT` says how often each row of these occurs
    person: str | None = None  # the column that names people


class Release(ReleaseTables, Plain):
    """A release to audit: the group of each person, and the sensitive values of each group.

    Make one with `from_groups`, `from_generalized` or `from_bucketized`. Nothing is counted
    until `counts` is used, which costs one GROUP BY.

    Attributes
    ----------
    semantics : {"single", "set", "multiset"}
        Whether a person has one value, a set, or a bag of values; a mapping of column to these
        if the sensitive columns differ.
    group_columns : tuple of str
        The columns that make the groups.
    sensitives : tuple of str
        All sensitive columns; `counts` counts the first.
    beside : tuple of str
        Sensitive and other columns that stand in one row: an adversary who knows a person's value
        in one of them learns more about the others; see `seen`.
    other : tuple of str
        Columns that are published unchanged, and that an adversary may know.
    unlinked : tuple of str
        Columns that are declared to be shuffled within each group. The table may name such a
        column ``income_shuffled`` instead of ``income``.
    knows : tuple of str
        Columns that divide the groups because an adversary knows them of everybody; see `seen`.
    recognized : tuple of str
        If groups have ids: the columns that are published unchanged for everybody, and by which
        people can be recognized; see `alike`.
    schema : Schema or None
        The schema by which the release, or its original table, was read; it says who is counted.
    cohort : str
        The column that says which of several releases shows a person.
    owners : (Microdata, int64 array) or None
        The original table and the group of each of its rows; only the owner has them.
    releases : tuple of (str, int)
        If several releases of the same people are judged as one: the name of each release, and
        the number of people that it shows.
    written : mapping of str to str
        The day on which each of `releases` was written, if the owner's folder has it.
    names_alike : tuple of (str, str)
        Names of people in two of `releases` that differ only by hyphens and other marks.
    unsettled : Unsettled or None
        Why `releases` cannot be judged as one; see `foreknow.together`.
    has_earlier : bool
        Whether the certificate says that earlier releases show the same people.
    linked : bool
        Whether the table shows which values belong to the same person. The release is judged by
        the counts of its groups alone; the table itself would reveal more.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"gid": [1, 1, 2], "disease": ["Flu", "AIDS", "Flu"]})
    >>> Release.from_groups(table, group="gid", sensitive="disease").counts
    GroupCounts(2 groups, 3 people, 2 values, single)
    """

    _json_fields = (
        "name group_columns people=counts.n_people groups=counts.n_groups semantics "
        "values=counts.n_values"
    )

    tables: ValuesTable | TallyTable
    written: Mapping[str, str] = MappingProxyType({})
    names_alike: tuple[tuple[str, str], ...] = ()
    unsettled: Any = None
    has_earlier: bool = False
    owners: tuple[Any, IntArray] | None = None
    raw: Prepared | None = None  # the prepared raw table, where this release is one

    def __init__(
        self,
        tables: ValuesTable | TallyTable,
        *,
        group_counts: GroupCounts | None = None,
        **roles: Any,
    ) -> None:
        """Take the tables of a release and the roles of their columns; see `from_groups` for users.

        `group_counts` are its counts, if they are known already; `roles` are the parameters of
        `ReleaseTables`.
        """
        if not isinstance(tables, (ValuesTable, TallyTable)):
            raise SchemaError(
                "say what makes a group: Release.from_generalized(table, quasi_identifiers=[...], "
                "sensitive=...), or Release.from_groups(table, group=..., sensitive=...)"
            )
        super().__init__(tables, **roles)
        self._members_of_owner: Members | None = None
        # Counted or read on first use, and then kept.
        self._group_counts = group_counts
        self._members: Members | None = None
        self._holdings: Holdings | None = None
        self._by_policy: Self | None = None

    @classmethod
    @hinted
    def from_groups(
        cls,
        frame: Any,
        *,
        group: str,
        sensitive: str | Sequence[str],
        person: str | None = None,
        semantics: Semantics | Mapping[str, Semantics] = "single",
        missing: Missing | Mapping[str, str] = "error",
        reading: Reading | None = None,
        other: Sequence[str] = (),
        unlinked: Sequence[str] = (),
    ) -> Release:
        """Make a release of a table with a group column.

        Parameters
        ----------
        frame : path or frame
            A table that `foreknow.data.tables.open_table` reads. Under ``single`` it has one row
            per person; under ``set`` and ``multiset``, one row per person and value, or one row per
            person with a list.
        group : str
            The column with the group of each row; a null in it is an error.
        sensitive : str or sequence of str
            The column of sensitive values, or several. Under ``set`` and ``multiset`` a null in it
            adds no value.
        person : str, optional
            The column that names people. `members` needs it, and so do ``set`` and ``multiset``
            unless `sensitive` holds lists. Under ``single`` a person may have only one row.
        semantics : {"single", "set", "multiset"}, or mapping of column to one of these
            Whether a person has one value, a set, or a bag of values. Columns that the mapping does
            not name have one value per person, which all rows of the person must repeat.
        missing : "error", "drop" or {"label": ...}
            How null sensitive values are handled under ``single``.
        reading : Reading, optional
            The encoding and delimiter of a CSV file. Values are compared as they are written.
        other : sequence of str
            Columns that are published beside the sensitive ones, and that an adversary may know.
        unlinked : sequence of str
            Sensitive and other columns that are shuffled within each group, so that they reveal
            nothing about the other columns of their row. The table may name such a column
            ``income_shuffled`` instead of ``income``, as `publish` does.

        Examples
        --------
        >>> import pyarrow as pa
        >>> names, values = ["Ann", "Ann", "Bob"], ["Flu", "AIDS", None]
        >>> table = pa.table({"gid": [1, 1, 1], "pid": names, "disease": values})
        >>> Release.from_groups(
        ...     table, group="gid", sensitive="disease", person="pid", semantics="set"
        ... ).counts
        GroupCounts(1 groups, 2 people, 2 values, set)
        """
        if not isinstance(group, str):
            raise SchemaError(f"group must be the name of one column, not {group!r}")
        schema = _named_schema(
            group=group,
            sensitive=sensitive,
            person=person,
            semantics=semantics,
            missing=missing,
            other=other,
        )
        return cls._from_named_columns(frame, schema, [group], reading, unlinked)

    @classmethod
    @hinted
    def from_generalized(
        cls,
        frame: Any,
        *,
        quasi_identifiers: Sequence[str],
        sensitive: str | Sequence[str],
        person: str | None = None,
        semantics: Semantics | Mapping[str, Semantics] = "single",
        missing: Missing | Mapping[str, str] = "error",
        reading: Reading | None = None,
        other: Sequence[str] = (),
        unlinked: Sequence[str] = (),
    ) -> Release:
        """Make a release of a table whose rows with equal quasi-identifiers form a group.

        Parameters
        ----------
        frame : path or frame
            See `from_groups`.
        quasi_identifiers : sequence of str
            The published columns that make the groups; a null is a value of its own.
        sensitive, person, semantics, missing, reading, other, unlinked
            See `from_groups`.
        """
        if isinstance(quasi_identifiers, str) or not quasi_identifiers:
            raise SchemaError("quasi_identifiers must be a list of at least one column")
        groups = list(quasi_identifiers)
        schema = _named_schema(
            quasi_identifiers=groups,
            sensitive=sensitive,
            person=person,
            semantics=semantics,
            missing=missing,
            other=other,
        )
        return cls._from_named_columns(frame, schema, groups, reading, unlinked)

    @classmethod
    @hinted
    def from_bucketized(
        cls,
        tally: Any,
        *,
        group: str | Sequence[str] = "group",
        sensitive: str | Sequence[str],
        count: str = COUNT,
        semantics: Semantics = "single",
        people: Any = None,
        person: str | None = None,
        reading: Reading | None = None,
        quasi_identifiers: Sequence[str] | None = None,
    ) -> Release:
        """Make a release of the table of counts, (group, value, count), of a bucketized release.

        Parameters
        ----------
        tally : path or frame
            The table of counts, with one row for each value, or combination of values, that occurs
            in a group.
        group : str or sequence of str
            The column with the group id, in which a null is an error; or the published
            quasi-identifiers that make a group, in which a null is a value of its own.
        sensitive, count : str
            The column of sensitive values (or a list of several), and the column of counts.
        semantics : {"single", "set", "multiset"}
            Whether a person has one value, a set, or a bag of values.
        people : path or frame, optional
            The other table of the release: one row per person, with the columns of `group`.
            ``set`` and ``multiset`` need it, because only this table has the size of each group.
        person : str, optional
            The column of `people` that names people; `members` needs it.
        reading : Reading, optional
            See `from_groups`.
        quasi_identifiers : sequence of str, optional
            The columns of `people` by which people can be recognized, if groups have ids; default:
            all of its columns.

        Examples
        --------
        >>> import pyarrow as pa
        >>> tally = pa.table({"group": [1, 1], "disease": ["Flu", "AIDS"], "count": [2, 1]})
        >>> people = pa.table({"group": [1, 1, 2], "age": [30, 31, 45]})
        >>> release = Release.from_bucketized(
        ...     tally, sensitive="disease", semantics="set", people=people
        ... )
        >>> release.counts.sizes
        array([2, 1])
        """
        groups = [group] if isinstance(group, str) else list(group)
        if not groups:
            raise SchemaError("group must be a column, or a list of at least one")
        sensitives = _sensitive_names(sensitive, semantics)
        _refuse_repeated([*groups, *sensitives, count])
        check_semantics(semantics)
        if people is None:
            refuse_several(
                semantics,
                f"semantics {semantics!r} needs people = the table with one row per person: "
                "people without values are not in the table of counts",
            )
        if people is None and person is not None:
            raise SchemaError(f"person = {person!r} needs people = the table that has this column")
        table = open_table(tally, reading, sensitives)
        by_values = not isinstance(group, str)
        require(table, [*groups, *sensitives, count])
        table = stable(table, [*groups, *sensitives, count])
        members: PeopleTable | None = None
        recognized: list[str] = []
        if people is not None:
            people_table = open_table(people, reading, (person,))
            require(people_table, groups)
            if not by_values:
                # Groups have ids: people are recognized by exact columns of their table.
                known_columns = (
                    people_table.columns if quasi_identifiers is None else quasi_identifiers
                )
                require(people_table, known_columns)
                recognized = [name for name in known_columns if name not in (group, person)]
            if person is not None:
                _refuse_repeated([*groups, person])
                people_table = stable(people_table, [*groups, person])
                refuse_repeats(people_table, person)
            members = PeopleTable(people_table, groups, null_groups=by_values, person=person)
        return cls(
            TallyTable(
                table,
                groups,
                null_groups=by_values,
                sensitive=sensitives[0],
                amount=count,
                semantics=semantics,
                people=members,
            ),
            sensitives=sensitives,
            beside=sensitives if len(sensitives) > 1 else (),
            recognized=recognized,
        )

    @classmethod
    @hinted
    def from_tally(
        cls,
        frame: Any,
        *,
        group: str | Sequence[str],
        sensitive: str | Sequence[str],
        count: str = COUNT,
        other: Sequence[str] = (),
        missing: Missing | Mapping[str, str] = "error",
        reading: Reading | None = None,
    ) -> Release:
        """Make a release of a tally: the number of people with each combination of values.

        It is judged like the table that was counted, in which each row is one person with one
        value in each sensitive column. The tally must count combinations of all columns named
        here, so that each requirement sees the values beside its secret; further columns are not
        judged. `foreknow sql` prints the query that makes a tally in a warehouse.

        Parameters
        ----------
        frame : path or frame
            The tally, with one row for each combination that occurs. Two rows must differ in some
            column other than the count.
        group : str or sequence of str
            See `from_bucketized`.
        sensitive : str or sequence of str
            The column of sensitive values, or several.
        count : str
            The column with the number of people: whole numbers from 1.
        other, missing, reading
            See `from_groups`.

        Raises
        ------
        DataError
            If a column is missing, a count is no whole number from 1, or a combination repeats.

        Examples
        --------
        >>> import pyarrow as pa
        >>> tally = pa.table(
        ...     {
        ...         "age": ["30 to 39"] * 3,
        ...         "job": ["cook", "cook", "nurse"],
        ...         "disease": ["Flu", "AIDS", "Flu"],
        ...         "count": [12, 3, 7],
        ...     }
        ... )
        >>> release = Release.from_tally(tally, group=["age"], sensitive="disease", other=["job"])
        >>> release.counts, release.seen().counts.sizes
        (GroupCounts(1 groups, 22 people, 2 values, single), array([15,  7]))
        """
        table = open_table(frame, reading, _sensitive_names(sensitive))
        columns = [group] if isinstance(group, str) else group
        if not columns:
            raise SchemaError("group must be a column, or a list of at least one")
        schema = _named_schema(
            group=group if isinstance(group, str) else None,
            quasi_identifiers=() if isinstance(group, str) else columns,
            sensitive=sensitive,
            missing=missing,
            other=other,
        )
        judged_columns = [*columns, *schema.sensitives, *other]
        require(table, [*judged_columns, count])
        _refuse_repeated([*judged_columns, count])
        return cls._from_named_columns(Tally(table, count, judged_columns), schema, columns)

    @classmethod
    def of_counts(cls, counts: GroupCounts, sensitive: str = "") -> Release:
        """Make a release of counts alone: the number of people with each value in each group.

        It has no table of people, and so no names and no columns beside the sensitive one.

        Parameters
        ----------
        counts : GroupCounts
        sensitive : str
            The name of the column that was counted; "" if it has none.

        Examples
        --------
        >>> counts = GroupCounts.from_bags([["Flu", "Flu", "AIDS"], ["Flu", "Cold"]])
        >>> Release.of_counts(counts, "disease").counts
        GroupCounts(2 groups, 5 people, 3 values, single)
        """
        schema, column = getattr(counts, "schema", None), getattr(counts, "sensitive", None)
        return cls(GivenCounts.of(counts.by_policy, column or sensitive), schema=schema)

    @classmethod
    def from_schema(
        cls,
        frame: Any,
        schema: Schema,
        group: str | None = None,
        unlinked: Sequence[str] = (),
        written: Reading | None = None,
    ) -> Release:
        """Make a release of a table by a schema, which names the group column or quasi-identifiers.

        Parameters
        ----------
        frame : path, frame or Prepared
            See `from_groups`.
        schema : Schema
        group : str, optional
            The column with the group of each row; default: the schema's. Quasi-identifiers in the
            same rows are then known columns beside the secret, like `other`.
        unlinked : sequence of str
            Columns that are declared to be shuffled. A column counts as shuffled only if the table
            names it so, such as ``income_shuffled``.
        written : Reading, optional
            How this table writes numbers and dates. None: the table is either raw, and written as
            the schema's `reading` says, or a release, whose values were read before; a table that
            could be either is refused.
        """
        # A table that was prepared, or whose writing is given, is surely not a release whose values
        # were read and written anew.
        is_raw = isinstance(frame, Prepared) or written is not None
        prepared = prepare(frame, schema, written, raw=is_raw, as_written=True)
        columns, group = {*prepared.source.columns}, group or schema.group
        # A column counts as shuffled only if its header says so.
        shuffled = [name for name in unlinked if header_of_shuffled(name, columns) != name]
        group_columns = list(schema.quasi_identifiers) if group is None else [group]
        shown_columns = columns.union(shuffled)
        other_columns = [name for name in schema.other if name in shown_columns]
        if group is not None:
            # Quasi-identifiers stand in one row with the secret, so whoever knows them learns
            # about it.
            for name in schema.quasi_identifiers:
                if name in columns and name != group:
                    other_columns.append(name)
        roles = {*group_columns, *schema.sensitives, *other_columns}
        _refuse_misspelt_columns(prepared.source, schema, roles.union(shuffled))
        _refuse_counts(prepared.source, roles)
        release = cls._from_prepared(
            prepared, group_columns, other_columns, shuffled, null_groups=group is None
        )
        release = release.described(schema=schema, raw=prepared)
        return release.recognizing(schema.quasi_identifiers)

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Columns in which a few rows share each value; none unless a schema read a raw table."""
        return () if self.raw is None else shared(self.raw.source, self.raw.schema)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Columns whose values look like ids of people, if no column is declared to name them.

        Only group columns and the first sensitive column are looked at, by their counts.
        """
        schema, counts = self.schema, self._counted
        persons = {(schema or PLAIN).person, self.person} - {None}
        if persons or self.semantics != "single":
            return ()
        # Each column as a code for each cell (a value in a group), which is some number of rows.
        values, times = list(map(str, counts.values)), counts.counts
        columns = [coded_values(self.sensitive, counts.codes, values, times)]
        if self.by_values:
            parts = zip(self.group_columns, self.group_labels.parts, strict=False)
            for name, (labels, code_of_group) in parts:
                cell_codes = code_of_group[counts.cell_groups]
                columns.append(coded_values(name, cell_codes, labels, times))
        return tuple(people_of(columns))

    @classmethod
    def _from_named_columns(
        cls,
        frame: Any,
        schema: Schema,
        groups: Sequence[str],
        reading: Reading | None = None,
        unlinked: Sequence[str] = (),
    ) -> Release:
        """A release of which the caller named all columns; values are compared as they are written.

        `groups` are the columns that make groups. With a group id in the schema, a null in it is an
        error; otherwise a null is a value like others.
        """
        prepared = prepare(frame, schema, reading, as_written=True, plainly=False)
        require(prepared.source, schema.persons, schema.key_of)
        return cls._from_prepared(
            prepared, groups, schema.other, unlinked, null_groups=schema.group is None
        )

    @classmethod
    def _from_prepared(
        cls,
        prepared: Prepared,
        groups: Sequence[str],
        other_columns: Sequence[str],
        unlinked: Sequence[str],
        *,
        null_groups: bool,
    ) -> Release:
        """The release of a prepared table.

        Parameters
        ----------
        prepared : Prepared
        groups : sequence of str
            The columns that make its groups.
        other_columns : sequence of str
            Columns that are published beside the sensitive ones.
        unlinked : sequence of str
            Columns that are shuffled within each group.
        null_groups : bool
            Whether a null makes a group of its own.
        """
        schema, columns = prepared.schema, prepared.source.columns
        # The table may name a shuffled column "pay_shuffled"; from here on it is "pay".
        headers = {name: header_of_shuffled(name, columns) for name in unlinked}
        sensitives, several = schema.sensitives, schema.several
        judged_columns = [*groups, *sensitives, *other_columns]
        read_columns = [headers.get(name, name) for name in judged_columns]
        read_columns += prepared.persons
        require(prepared.source, read_columns, schema.key_of)
        _refuse_two_roles(groups, sensitives, other_columns, prepared.persons)
        for name in unlinked:
            if name not in (*sensitives, *other_columns):
                hint = did_you_mean(str(name), [*sensitives, *other_columns])
                raise SchemaError(f"unlinked: {name!r} is no sensitive or other column{hint}")
        linked_columns = columns_except((*sensitives, *other_columns), unlinked)
        people = prepared.of_people(read_columns)
        table = people.table
        new_names = {header: name for name, header in headers.items() if header != name}
        if new_names:
            table = Renamed(table, new_names)
        missing = cast("Missing", schema.missing)
        table_of: dict[str, ValuesTable] = {}
        for name in sensitives:
            rows, semantics = table, schema.semantics_of(name)
            # Other columns repeat in each row of a person: make one row of each person, in which
            # the values of `name` are a list.
            if several and len(linked_columns) > 1:
                rows = PersonRows(table, people.person, several, lists=name)
            kind_of_table = _TABLES[semantics]
            table_of[name] = kind_of_table(
                table=rows,
                groups=groups,
                null_groups=null_groups,
                person=people.person,
                sensitive=name,
                semantics=semantics,
                missing=missing,
            )
        return cls(
            table_of[schema.sensitive],
            sensitives=sensitives,
            beside=linked_columns if len(linked_columns) > 1 else (),
            unlinked=unlinked,
            apart=table_of if several else {},
            other=other_columns,
        )

    def parts(self) -> Parts:
        """The tables of the release, without the marks that protect spreadsheets from formulas."""
        tables = self.tables
        if isinstance(tables, ValuesTable):
            if self._apart and len(self.sensitives) > 1:
                raise UnsupportedError(
                    f"{self.name}: a table of people with several values each cannot be joined "
                    "with others; give counts, or what publish wrote"
                )
            # Values stand in the rows of people: there is one table.
            rows = bare_rows(tables.table, tables.table.columns, COUNT, lists=tables.listed)
            return Parts(
                people=None,
                values={self.sensitives: rows},
                has_counts=self.tallied,
                person=tables.person,
            )
        # One table may have the counts of several sensitive columns.
        names_of_table: dict[int, list[str]] = {}
        tallies: dict[int, TallyTable] = {}
        for name in self.sensitives:
            tally = cast("TallyTable", self._apart.get(name, tables))
            names_of_table.setdefault(id(tally.table), []).append(name)
            tallies[id(tally.table)] = tally
        values = {}
        for key, names in names_of_table.items():
            tally = tallies[key]
            # Columns that share a table are one entry, whose key has all of their names.
            columns = [*tables.groups, *names]
            values[tuple(names)] = bare_rows(tally.table, columns, COUNT, tally.amount)
        people = None
        if tables.people is not None:
            people_table = tables.people.table
            people = bare_rows(people_table, people_table.columns, COUNT)
        return Parts(people, values, has_counts=True)

    def joined(self, releases: Sequence[Release], names: Sequence[str]) -> Release:
        """Join the release with releases of other sensitive columns of the same groups.

        Parameters
        ----------
        releases : sequence of Release
            The releases of the other columns.
        names : sequence of str
            All sensitive columns, in order; the first belongs to this release.
        """
        table_of: dict[str, Any] = {}
        for release in releases:
            table_of |= dict.fromkeys(release.sensitives, release.tables)
        # At most one of the releases has columns that stand in one row.
        linked = (release.beside for release in (self, *releases) if release.beside)
        return Release(
            self.tables,
            sensitives=names,
            beside=next(linked, ()),
            apart=table_of,
            recognized=self.recognized,
        )

    def described(self, **fields: Any) -> Self:
        """A copy of the release with other fields, such as its `schema`; the counts are kept."""
        release = super().described(_by_policy=None, **fields)
        # `counts` is cached, and depends on the schema.
        vars(release).pop("counts", None)
        return release

    def _make_sight(self, tables: Any, name: str, known_columns: Sequence[str]) -> Self:
        """The release that `tables` make, as seen for the sensitive column `name`.

        The `known_columns` divide its groups. If the owner named the people of this release, it
        names them, too; `UnsupportedError` if known columns divide them.
        """
        if known_columns and not self.by_values:
            # Group ids must not be missing, which counting checks. Divided groups may have nulls.
            self._counted  # noqa: B018
        sight = super()._make_sight(tables, name, known_columns)
        if self._members_of_owner is None:
            return sight
        shown = self.schema.shared_columns if self.schema is not None else ()
        require_needs("naming people", {Need.NO_HOUSEHOLDS: not {*shown}.isdisjoint(known_columns)})
        # The owner's list says who is in which group, but not who is in which part of it.
        if known_columns:
            raise UnsupportedError(
                f"{self.name}: it is known who is in which group, and not who has which "
                f"{' and '.join(known_columns)}; leave them out: "
                '--knowing "" (knowing=[])'
            )
        return sight.naming(self._members_of_owner)

    def alike(self, knowing: Sequence[str] = ()) -> Self:
        """The release in groups of people who look alike by the columns that are published of them.

        That is the release itself if these columns make its groups, or are not published. Otherwise
        (in the bucketized form, where they are exact) each combination of values of `recognized`
        is a group.

        Parameters
        ----------
        knowing : sequence of str
            Further columns of people that are known of everybody.

        Examples
        --------
        >>> import pyarrow as pa
        >>> people = pa.table({"group": [1, 1, 2, 2], "age": [30, 41, 30, 41]})
        >>> tally = pa.table({"group": [1, 2], "disease": ["Flu", "AIDS"], "count": [2, 2]})
        >>> release = Release.from_bucketized(tally, sensitive="disease", people=people)
        >>> release.alike().counts.sizes, release.alike().counts.groups
        (array([2, 2]), [(30,), (41,)])
        """
        if not self.recognized:
            return self.of_anybody
        # If this is a sight of another release, columns known there do not matter: ask that one.
        if self._whole is not None:
            whole_release = self._whole if self.schema is not None else self._whole.by_policy
            return whole_release.alike(knowing)
        for name in knowing:
            self._refuse_unknown(name, None)
            if name not in (self.layout.people or ()):
                raise UnsupportedError(
                    f"{self.name}: exact columns of people do not say who has which {name}, so who "
                    "look alike by it cannot be counted: leave it out of knowing, or publish with "
                    'form = "generalized"'
                )
        # No column is called "", so this is no key of another sight.
        key = ("", *knowing)
        if key not in self._seen:
            columns = [*self.recognized, *knowing]
            # Count people by these columns, in their own table if there is one.
            if not self.in_rows:
                people = self._people
                assert people is not None
                by_person = ValuesTable(
                    table=people.table,
                    groups=columns,
                    null_groups=True,
                    person=None,
                    sensitive=people.groups[0],  # some column must be counted: the group's id
                    semantics="single",
                    missing="error",
                )
            else:
                by_person = replace(
                    self._counting_anybody(self.tables), groups=columns, null_groups=True
                )
            counts = by_person.count()
            groups = GroupLabels.of(counts.groups or (), columns, exact=True)
            self._seen[key] = type(self)(
                by_person,
                group_counts=replace(counts, groups=groups),
                schema=self.schema,
                cohort=self.cohort,
            )
        return self._seen[key]

    @contextmanager
    def reading(self, columns: Iterable[str]) -> Iterator[None]:
        """Read some columns and the group columns once, for everything counted in this context.

        If the table changes between readings, and counts made before no longer fit, an error is
        raised at the end.
        """
        tables = [self.tables, *(table for table in self._apart.values() if table.linked)]
        reads_more = False
        for table in tables:
            reads_more |= table.read_at_once(columns)
        # What is counted now must fit what was counted of an earlier reading.
        counted_before: list[Release] = []
        if reads_more and not self.is_stable:
            sights: list[Release] = [self, *self._seen.values()]
            counted_before = [sight for sight in sights if sight._group_counts is not None]
        try:
            yield
            # Of a table that may change, see which rows are left out while the others are at hand.
            if not self.is_stable:
                _ = self.values_shown
            for sight in counted_before:
                cast("ValuesTable", sight.tables).refuse_changed(sight._counted)
        finally:
            for table in tables:
                table.forget_rows()

    @property
    def sight_entry(self) -> dict[str, Any]:
        """The known columns, as a policy file states them; empty if there are none."""
        return {"knowing": list(self.knows)} if self.knows else {}

    def read_as(self) -> dict[str, str]:
        """How the labels of groups and the sensitive values were read, in words, by column."""
        label_tuples = [g if isinstance(g, tuple) else (g,) for g in self.counts.groups or ()]
        # The labels of each group column, and the sensitive values.
        columns = dict(zip(self.group_columns, zip(*label_tuples, strict=True), strict=False))
        columns[self.tables.sensitive] = tuple(self.counts.values)
        return {name: described(in_order(list(set(labels)))) for name, labels in columns.items()}

    def naming(self, members: Members, holdings: Holdings | None = None) -> Self:
        """The release as its owner knows it, with the group and the values of each person."""
        return self.described(_members_of_owner=members, _holdings=holdings or self._holdings)

    @property
    def cases(self) -> bool:
        """True if rows are cases, and a person may have several."""
        return (self.schema or PLAIN).unit == "row"

    @property
    def by_policy(self) -> Self:
        """The release without a schema, so that a policy's schema can describe it."""
        if self._by_policy is None:
            self._by_policy = self.described(schema=None)
        return self._by_policy

    @property
    def _counted(self) -> GroupCounts:
        """The counts without a schema, counted on first use."""
        if self._group_counts is None:
            self._group_counts = self.tables.count()
        return self._group_counts

    @cached_property
    def counts(self) -> GroupCounts:
        """The number of people with each value in each group, counted on first use."""
        counts, labels = self._counted, cast("Any", self._counted.groups)
        if counts.group_columns:
            labels.cohort = self.cohort
        return counts.of_rows(self.schema or PLAIN, self.sensitive)

    @property
    def person(self) -> str | None:
        """The column that names people; None if the release has no such column."""
        return None if self._members_of_owner is not None else super().person

    @property
    def members(self) -> Members:
        """The name of each person, and the position of their group in `counts`; read on first use.

        Raises `InputError` if the release was made without ``person=``.
        """
        if self._members_of_owner is not None:
            return self._members_of_owner
        if self._members is None:
            self._members = self.tables.members(self._counted)
        return self._members

    @property
    def holdings(self) -> Holdings:
        """The values of each person: positions in `members` with codes of values in `counts`.

        Raises `InputError` if the table does not show this, or does not name people.
        """
        if self._holdings is None:
            self._holdings = self.tables.holdings(self._counted)
        return self._holdings

    def signatures(self, attributes: Sequence[str]) -> Signatures:
        """Count the people of each group by their values in some columns; one GROUP BY.

        Parameters
        ----------
        attributes : sequence of str
            Columns of the table with one row per person.

        Raises
        ------
        InputError
            If there is no such table: the release has counts alone, or people have several values.
        """
        return self.tables.signatures(self._counted, attributes)

    @property
    def case_persons(self) -> list[str]:
        """The column of a raw table that names the person of each case; empty if there is none."""
        if self.raw is None:
            return []
        return [name for name in self.raw.schema.case_persons if name in self.raw.source.columns]

    def held(self, attributes: Sequence[str]) -> None:
        """None, since a release does not say who has which value beside which columns."""

    def combinations(self) -> Combinations:
        """Count the people with each combination of values that makes them look `alike`.

        It costs one GROUP BY. In a raw table of cases with a column of persons, a person counts
        once per combination.
        """
        if self.raw is None or not self.case_persons:
            return self.alike().tables.combinations()
        # Cases of one person that look alike are one: keep one row of each person and combination.
        rows = fetch(self.raw.source, [*self.group_columns, *self.case_persons])
        encoded = [codes_of(column) for column in rows.columns]
        _, first_rows = combine_encoded(encoded)
        *group_columns, _ = encoded  # the last column is that of persons
        kept_columns = [(codes[first_rows], distinct) for codes, distinct in group_columns]
        return Combinations.of(self.group_columns, kept_columns)

    @property
    def is_bare(self) -> bool:
        """True if the release was made of counts, without a table."""
        return isinstance(self.tables, GivenCounts)

    @property
    def tallied(self) -> bool:
        """True if the table is a tally, with a number of people in each row."""
        return isinstance(self.tables.table, Tally) and not self.releases

    @property
    def groups(self) -> dict[Label, int]:
        """The number of people in each group, by the group's label."""
        sizes = self.counts.sizes.tolist()
        return {self.counts.group_label(group): size for group, size in enumerate(sizes)}

    def __len__(self) -> int:
        return self.counts.n_people

    def unseen(
        self, known_columns: Sequence[str] = (), quasi_identifiers: Sequence[str] | None = None
    ) -> list[str]:
        """Columns of the table that are not judged: no group, sensitive or known columns.

        They may tell members of a group apart. If people have a table of their own, its columns
        other than `quasi_identifiers` are listed, too, but none of them if these are not given.
        """
        tables = self.tables
        judged_columns = {*tables.seen, *self.sensitives, *self.unlinked}
        unjudged = [name for name in tables.table.columns if name not in judged_columns]
        if quasi_identifiers is not None and not self.in_rows:
            # People have a table of their own, whose other columns are shown, too.
            judged_of_people = (*self.group_columns, *quasi_identifiers)
            unjudged += [name for name in self.people_columns if name not in judged_of_people]
        return [name for name in unjudged if name not in (*known_columns, self.cohort)]

    def by_column(self) -> dict[str, GroupCounts]:
        """The counts of each sensitive column, for an adversary who knows no column beside it."""
        return {name: self.seen(name, []).counts for name in self.sensitives}

    @property
    def left_out(self) -> int:
        """The number of rows that lack a sensitive value, which was therefore not counted."""
        return 0 if self.values_shown is None else self.values_shown.incomplete

    @cached_property
    def values_shown(self) -> Presence | None:
        """Which sensitive columns have a value in which rows; None if no row is left out."""
        return self.tables.values_shown(self.sensitives)

    @property
    def rows_left_out(self) -> tuple[LeftOut, ...]:
        """The rows without a value in a sensitive column, which that column's counts leave out."""
        return () if self.values_shown is None else self.values_shown.left_out

    @property
    def partly_left_out(self) -> bool:
        """True if some rows are left out for one sensitive column and counted for another."""
        return self.values_shown is not None and self.values_shown.partly

    def refuse_partly_left_out(self, why: str) -> None:
        """Raise `UnsupportedError` if rows are `partly_left_out`; `why` ends the message."""
        if self.partly_left_out:
            raise UnsupportedError(
                f"{self.name}: some rows have no {' or '.join(self.sensitives)} and show another "
                f'of these, and missing = "drop" leaves out what is missing; {why}'
            )

    @property
    def group_labels(self) -> GroupLabels:
        """The labels of the groups, column by column."""
        labels: Any = self._counted.groups or ()
        if self._counted.group_columns:
            return cast("GroupLabels", labels)
        tuples = (label if isinstance(label, tuple) else (label,) for label in labels)
        return GroupLabels.of(tuples, self.group_columns)

    @property
    def suppressed(self) -> tuple[str, ...]:
        """Group columns that are fully suppressed: every label is ``*`` or ``***``."""
        if not self.tables.null_groups:
            return ()
        columns_with_labels = zip(self.group_columns, self.group_labels.parts, strict=False)
        return tuple(
            name for name, (labels, _) in columns_with_labels if all(map(_stands_for_any, labels))
        )

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def __repr__(self) -> str:
        if self._group_counts is None:
            return f"Release({self.name}, not counted yet)"
        counts = self._counted
        return f"Release({self.name}: {counts.n_groups} groups, {counts.n_people} people)"


def _stands_for_any(label: Any) -> bool:
    """True if a label stands for any value: ``*`` or ``***``."""
    return isinstance(label, str) and bool(label) and not label.strip("*")


def _sensitive_names(sensitive: str | Sequence[str], semantics: str = "single") -> list[str]:
    """The names of the sensitive columns as a list.

    `semantics` is that of one table of counts, which can have several columns only if people have
    one value in each.
    """
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    if not names or not all(isinstance(name, str) for name in names):
        raise SchemaError(
            f"sensitive must be the name of a column, or of several, not {sensitive!r}"
        )
    if len(names) > 1:
        refuse_several(
            semantics,
            f"several sensitive columns in one table of counts are for people with one value in "
            f"each, not for semantics {semantics!r}; each such column has a table of its own: open "
            "them one by one",
        )
    return names


def _named_schema(*, sensitive: Any, other: Sequence[str], **settings: Any) -> Schema:
    """The schema of a release of which the caller named all columns, from keywords of `Schema`."""
    if isinstance(other, str):
        raise SchemaError(f"other must be a list of columns, such as [{other!r}]")
    return Schema(sensitive=_sensitive_names(sensitive), other=other, **settings)


def _refuse_misspelt_columns(table: Table, schema: Schema, used_names: set[str]) -> None:
    """Raise `SchemaError` for a column of the schema that the table has by a similar name.

    A release may leave columns out, so those without a similar name are no error. `used_names` are
    the columns of the schema that the table has.
    """
    columns = {*table.columns}
    lacking = {*schema.quasi_identifiers, *schema.other} - columns - used_names
    for name in sorted(lacking):
        similar = nearest(name, columns - used_names - {*schema.identifiers, schema.person})
        if similar:
            raise SchemaError(
                f"{table.name} has no column {name!r}; did you mean {similar!r}? known: "
                f"{listing(table.columns)}; {schema.key_of(name)} names it"
            )


def _refuse_counts(table: Table, roles: set[str]) -> None:
    """Raise `SchemaError` for a table of counts: one with a column of counts beside its `roles`."""
    if COUNT not in roles and {*roles, COUNT} == {*table.columns}:
        raise SchemaError(
            f"{table.name!r} says in {COUNT!r} how often each value occurs, so its rows are "
            "not people; name the folder with its certificate.json, or say --counts, in Python "
            f"Release.from_tally; if {COUNT!r} means something else, rename it"
        )


def _refuse_two_roles(
    groups: Sequence[str],
    sensitives: Sequence[str],
    other_columns: Sequence[str],
    persons: Sequence[str],
) -> None:
    """Raise `SchemaError` for a column with two roles.

    A person's column may make groups, but not be sensitive; a group column may be neither sensitive
    nor another one.
    """
    for name in sensitives:
        if name in groups:
            raise SchemaError(f"column {name!r} cannot be both sensitive and the group")
    _refuse_repeated([*sensitives, *persons])
    _refuse_repeated([*groups, *sensitives, *other_columns])


def _refuse_repeated(columns: Sequence[str]) -> None:
    """Raise `SchemaError` if one of the columns, which have different roles, is named twice."""
    if len(set(columns)) < len(columns):
        raise SchemaError(f"{', '.join(map(repr, columns))}: one column plays two roles")
