"""Release: a published table with its groups; counted once, where the data lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import Any, cast

from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.engines import Holdings, Table, open_table
from foreknow.data.engines.advice import described
from foreknow.data.engines.columns import Missing, as_missing, refuse_missing
from foreknow.data.engines.group_counts import (
    PeopleTable,
    TallyTable,
    ValuesTable,
    refuse_repeats,
    require_person,
)
from foreknow.data.engines.table import require, settled
from foreknow.data.engines.write import rearmed
from foreknow.data.labels import Label, Labels, in_order
from foreknow.data.people import Members, Signatures
from foreknow.data.reading import Reading
from foreknow.data.schema import Schema, check_semantics
from foreknow.errors import SchemaError, hinted

COUNT = "count"  # of each value in each group: a column of what is bucketized


class Release:
    """A release to be audited: who is in which group, and the sensitive values of each group.

    Make one with `from_groups`, `from_generalized` or `from_bucketized`. Nothing is counted
    before `counts` is asked for; then it costs one GROUP BY.

    Attributes
    ----------
    semantics : {"single", "set", "multiset"}
    group_columns : tuple of str
    linked : bool
        Whether the table shows which of several values are of one person. It is judged by the
        counts of its groups alone; published as it is, it would tell more.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"gid": [1, 1, 2], "disease": ["Flu", "AIDS", "Flu"]})
    >>> Release.from_groups(table, group="gid", sensitive="disease").counts
    GroupCounts(2 groups, 3 people, 2 values, single)
    """

    def __init__(self, tables: ValuesTable | TallyTable, *, escaped: bool = False) -> None:
        if not isinstance(tables, (ValuesTable, TallyTable)):
            raise SchemaError(
                "say what makes a group: Release.from_generalized(table, quasi_identifiers=[...], "
                "sensitive=...), or Release.from_groups(table, group=..., sensitive=...)"
            )
        self._tables = tables
        self._escaped = escaped
        self.group_columns = tuple(tables.groups)
        self.semantics: Semantics = tables.semantics
        self.linked = isinstance(tables, ValuesTable) and tables.semantics != "single"

    @classmethod
    @hinted
    def from_groups(
        cls,
        frame: Any,
        *,
        group: str,
        sensitive: str,
        person: str | None = None,
        semantics: Semantics = "single",
        missing: Missing | Mapping[str, str] = "error",
        reading: Reading | None = None,
    ) -> Release:
        """Take a table with a group column.

        Parameters
        ----------
        frame : path or frame
            See `foreknow.data.engines.open_table`. Under ``single`` one row per person. Under
            ``set`` and ``multiset`` one row per person and value, or one row per person with a
            list.
        group : str
            The column with the group of each row; a null in it is an error.
        sensitive : str
            The column of sensitive values. Under ``set`` and ``multiset`` a null adds no value.
        person : str, optional
            The column that names people; needed for `members`, and under ``set`` and ``multiset``
            where `sensitive` holds no lists. Under ``single`` nobody may stand in two rows.
        semantics : {"single", "set", "multiset"}
            Whether a person has one value, a set, or a bag of values.
        missing : "error", "drop" or {"label": ...}
            What to do with null sensitive values under ``single``.
        reading : Reading, optional
            The encoding and delimiter of a CSV file. Values are compared as they are written.

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
        table = open_table(frame, reading)
        return cls._of(table, [group], sensitive, person, semantics, missing, null_groups=False)

    @classmethod
    @hinted
    def from_generalized(
        cls,
        frame: Any,
        *,
        quasi_identifiers: Sequence[str],
        sensitive: str,
        person: str | None = None,
        semantics: Semantics = "single",
        missing: Missing | Mapping[str, str] = "error",
        reading: Reading | None = None,
    ) -> Release:
        """Take a table whose rows with equal quasi-identifiers form a group.

        Parameters
        ----------
        frame : path or frame
            As in `from_groups`.
        quasi_identifiers : sequence of str
            The published columns; a null in them is a value of its own.
        sensitive, person, semantics, missing, reading
            As in `from_groups`.
        """
        if isinstance(quasi_identifiers, str) or not quasi_identifiers:
            raise SchemaError("quasi_identifiers must be a list of at least one column")
        table, groups = open_table(frame, reading), list(quasi_identifiers)
        return cls._of(table, groups, sensitive, person, semantics, missing, null_groups=True)

    @classmethod
    @hinted
    def from_bucketized(
        cls,
        tally: Any,
        *,
        group: str | Sequence[str] = "group",
        sensitive: str,
        count: str = COUNT,
        semantics: Semantics = "single",
        people: Any = None,
        person: str | None = None,
        reading: Reading | None = None,
    ) -> Release:
        """Take the table of (group, value, count) of a bucketized release.

        Parameters
        ----------
        tally : path or frame
            One row per group and value that occurs in it.
        group : str or sequence of str
            The column with the group id, in which a null is an error; or the published
            quasi-identifiers that make a group, in which a null is a value of its own.
        sensitive, count : str
            Its other columns.
        semantics : {"single", "set", "multiset"}
            Whether a person has one value, a set, or a bag of values.
        people : path or frame, optional
            The other table of the release, one row per person with the columns of the group.
            Needed under ``set`` and ``multiset``: only it tells how many people a group has.
        person : str, optional
            The column of `people` that names them; needed for `members`.
        reading : Reading, optional
            As in `from_groups`.

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
        _check_roles([*groups, sensitive, count])
        check_semantics(semantics)
        if people is None and semantics != "single":
            raise SchemaError(
                f"semantics {semantics!r} needs people = the table with one row per person: "
                "people without values are not in the table of counts"
            )
        if people is None and person is not None:
            raise SchemaError(f"person = {person!r} needs people = the table that has this column")
        table, as_tuples = open_table(tally, reading), not isinstance(group, str)
        require(table, [*groups, sensitive, count])
        members: PeopleTable | None = None
        if people is not None:
            opened = open_table(people, reading)
            require(opened, groups)
            if person is not None:
                _check_roles([*groups, person])
                opened = settled(opened, [*groups, person])
                refuse_repeats(opened, person)
            members = PeopleTable(opened, groups, as_tuples, person)
        return cls(TallyTable(table, groups, as_tuples, sensitive, count, semantics, members))

    @classmethod
    def from_schema(cls, frame: Any, schema: Schema, group: str | None = None) -> Release:
        """Take a table as a schema describes it: by its group column, or its quasi-identifiers.

        Parameters
        ----------
        frame : path or frame
            As in `from_groups`.
        schema : Schema
        group : str, optional
            The column with the group of each row; the schema's when left out.
        """
        table = open_table(frame, cast("Reading", schema.reading))
        person, group = schema.person, group or schema.group
        if schema.semantics == "single" and person not in table.columns:
            person = None  # a release need not have it any more
        names = list(schema.quasi_identifiers) if group is None else [group]
        if COUNT not in (roles := {*names, schema.sensitive}) and {*roles, COUNT} == {
            *table.columns
        }:
            raise SchemaError(
                f"{table.name!r} says in {COUNT!r} how often each value occurs, so its rows are "
                "not people; name the folder with its certificate.json, or in Python see "
                f"Release.from_bucketized; if {COUNT!r} means something else, rename it"
            )
        how = schema.sensitive, person, schema.semantics, schema.missing
        return cls._of(table, names, *how, null_groups=group is None)

    @classmethod
    def _of(
        cls,
        table: Table,
        groups: Sequence[str],
        sensitive: str,
        person: str | None,
        semantics: Semantics,
        missing: Any,
        *,
        null_groups: bool,
    ) -> Release:
        people = [] if person is None else [person]
        require(table, [*groups, sensitive, *people])
        if sensitive in groups:
            raise SchemaError(f"column {sensitive!r} cannot be both sensitive and the group")
        _check_roles([sensitive, *people])
        check_semantics(semantics)
        how = as_missing(missing)
        refuse_missing(how, semantics)
        if semantics != "single":
            require_person(table, sensitive, person, semantics, listed=not table.untyped)
        if person is not None:
            table = settled(table, [*groups, sensitive, person])
            if semantics == "single":
                refuse_repeats(table, person)
        return cls(ValuesTable(table, groups, null_groups, person, sensitive, semantics, how))

    def read_as(self) -> dict[str, str]:
        """What the labels of each column of the groups, and the sensitive values, look like."""
        groups = [g if isinstance(g, tuple) else (g,) for g in self.counts.groups or ()]
        columns = dict(zip(self.group_columns, zip(*groups, strict=True), strict=False))
        columns[self.sensitive] = tuple(self.counts.values)
        return {name: described(in_order(list(set(of)))) for name, of in columns.items()}

    def rearmed(self) -> Release:
        """The same release with the apostrophes off that `escape_formulas` put before texts."""
        bare = Release(self._tables, escaped=True)
        bare.__dict__["_counted"] = self._counted
        return bare

    def naming(self, members: Members, holdings: Holdings | None = None) -> Release:
        """The same release for its owner, who knows who is in which group, and who has what."""
        own = copy(self)
        known = {"members": members, "holdings": holdings}
        own.__dict__.update((key, given) for key, given in known.items() if given is not None)
        return own

    @cached_property
    def _counted(self) -> GroupCounts:
        return self._tables.count()

    @cached_property
    def counts(self) -> GroupCounts:
        """Counts per group and value, made on first use."""
        counts = self._counted
        if not self._escaped:
            return counts
        labels = [rearmed(v) if isinstance(v, str) else v for v in counts.values]
        return replace(counts, values=Labels(labels))

    @cached_property
    def members(self) -> Members:
        """Everybody by name, and the position of their group in `counts`; found on first use.

        An `InputError` if the release was made without ``person=``.
        """
        return self._tables.members(self._counted)

    @cached_property
    def holdings(self) -> Holdings:
        """Who has what: people by their position in `members`, values by their code in `counts`.

        An `InputError` if the table does not tell, or does not name people.
        """
        return self._tables.holdings(self._counted)

    def signatures(self, attributes: Sequence[str]) -> Signatures:
        """How many people of each group have which values of some columns; one GROUP BY.

        Parameters
        ----------
        attributes : sequence of str
            Columns of the table with one row per person.

        Raises
        ------
        InputError
            If the release has no such table: one of counts alone, or people with several values.
        """
        found = self._tables.signatures(self._counted, attributes)
        if not self._escaped:
            return found
        labels = [tuple(part and rearmed(part) for part in label) for label in found.labels]
        return replace(found, labels=labels)

    @property
    def groups(self) -> dict[Label, int]:
        """How many people each group has, by its label."""
        sizes = self.counts.sizes.tolist()
        return {self.counts.group_label(group): size for group, size in enumerate(sizes)}

    def __len__(self) -> int:
        return self.counts.n_people

    @property
    def sensitive(self) -> str:
        """The column of sensitive values."""
        return self._tables.sensitive

    def unseen(
        self, known: Sequence[str] = (), quasi_identifiers: Sequence[str] | None = None
    ) -> list[str]:
        """Columns of the table that are neither groups, nor sensitive, nor among those known.

        They were not judged: they may tell members of a group apart. Where people have a table of
        their own, its columns only lead to a group if they are `quasi_identifiers`; where these are
        not said, none of its columns is named.
        """
        tables = self._tables
        found = [self._bare(name) for name in tables.table.columns if name not in tables.seen]
        if quasi_identifiers is not None and isinstance(tables, TallyTable) and tables.people:
            apart = [name for name in tables.people.table.columns if name not in tables.groups]
            found += [name for name in map(self._bare, apart) if name not in quasi_identifiers]
        return [name for name in found if name not in known]

    @property
    def people_columns(self) -> tuple[str, ...]:
        """The columns of the table with a row for each person; none where there is none."""
        tables = self._tables
        people = tables.people if isinstance(tables, TallyTable) else tables
        return () if people is None else tuple(map(self._bare, people.table.columns))

    @property
    def left_out(self) -> int:
        """How many rows were not counted, since their sensitive value is missing."""
        return self._tables.left_out

    @property
    def suppressed(self) -> tuple[str, ...]:
        """Columns that make groups, and of which nothing is published: ``*`` everywhere."""
        if not self._tables.null_groups:
            return ()
        labels: Any = self._counted.groups
        return tuple(
            self._bare(name)
            for place, name in enumerate(self.group_columns)
            if all(_is_blank(label[place]) for label in labels)
        )

    def _bare(self, name: str) -> str:
        return rearmed(name) if self._escaped else name

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self._tables.table.name

    def to_dict(self) -> dict[str, Any]:
        """What is known of the release."""
        return {
            "name": self.name,
            "group_columns": list(self.group_columns),
            "people": self.counts.n_people,
            "groups": self.counts.n_groups,
            "semantics": self.semantics,
            "values": self.counts.n_values,
        }

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def __repr__(self) -> str:
        if "_counted" not in self.__dict__:
            return f"Release({self.name}, not counted yet)"
        counts = self._counted
        return f"Release({self.name}: {counts.n_groups} groups, {counts.n_people} people)"


def _is_blank(label: Any) -> bool:
    """Whether a label is ``*``, or ``*****``, as other programs write it."""
    return isinstance(label, str) and label != "" and not label.strip("*")


def _check_roles(columns: Sequence[str]) -> None:
    """Refuse a column with two roles."""
    if len(set(columns)) < len(columns):
        raise SchemaError(f"{', '.join(map(repr, columns))}: one column plays two roles")
