"""Release: a published table with its groups; counted once, where the data lives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from html import escape
from typing import Any, TypeAlias

from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.engines import Holdings, Table, count_groups, count_held, count_tally, open_table
from foreknow.data.engines.columns import Missing, as_missing, refuse_missing
from foreknow.data.engines.group_counts import (
    count_signatures,
    hold_values,
    place_people,
    refuse_repeats,
    require_person,
)
from foreknow.data.engines.table import require, settled
from foreknow.data.engines.write import rearmed
from foreknow.data.labels import Labels
from foreknow.data.people import Members, Signatures
from foreknow.data.schema import check_semantics
from foreknow.errors import InputError, SchemaError

Placing: TypeAlias = Callable[[GroupCounts], Members]
Signing: TypeAlias = Callable[[GroupCounts, Sequence[str]], Signatures]


def rearming(sign: Signing) -> Signing:
    """How signatures are counted without the apostrophes of `escape_formulas`."""

    def bare(counts: GroupCounts, attributes: Sequence[str]) -> Signatures:
        found = sign(counts, attributes)
        labels = [tuple(part and rearmed(part) for part in label) for label in found.labels]
        return replace(found, labels=labels)

    return bare


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

    def __init__(
        self,
        table: Table,
        group_columns: Sequence[str],
        other_columns: Sequence[str],
        semantics: Semantics,
        count: Callable[[], GroupCounts],
        place: Placing | None,
        linked: bool = False,
        hold: Callable[[GroupCounts], Holdings] | None = None,
        sign: Signing | None = None,
    ) -> None:
        self._table = table
        self._columns = (*group_columns, *other_columns)
        self._count = count
        self._place = place
        self._hold = hold
        self._sign = sign
        self._counts: GroupCounts | None = None
        self.group_columns = tuple(group_columns)
        self.semantics: Semantics = semantics
        self.linked = linked

    @classmethod
    def from_groups(
        cls,
        frame: Any,
        *,
        group: str,
        sensitive: str,
        person: str | None = None,
        semantics: Semantics = "single",
        missing: Missing | Mapping[str, str] = "error",
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
        table = open_table(frame)
        return cls._of(table, [group], sensitive, person, semantics, missing, null_groups=False)

    @classmethod
    def from_generalized(
        cls,
        frame: Any,
        *,
        quasi_identifiers: Sequence[str],
        sensitive: str,
        person: str | None = None,
        semantics: Semantics = "single",
        missing: Missing | Mapping[str, str] = "error",
    ) -> Release:
        """Take a table whose rows with equal quasi-identifiers form a group.

        Parameters
        ----------
        frame : path or frame
            As in `from_groups`.
        quasi_identifiers : sequence of str
            The published columns; a null in them is a value of its own.
        sensitive, person, semantics, missing
            As in `from_groups`.
        """
        if isinstance(quasi_identifiers, str) or not quasi_identifiers:
            raise SchemaError("quasi_identifiers must be a list of at least one column")
        table, groups = open_table(frame), list(quasi_identifiers)
        return cls._of(table, groups, sensitive, person, semantics, missing, null_groups=True)

    @classmethod
    def from_bucketized(
        cls,
        tally: Any,
        *,
        group: str | Sequence[str] = "group",
        sensitive: str,
        count: str = "count",
        semantics: Semantics = "single",
        people: Any = None,
        person: str | None = None,
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
        table, members = open_table(tally), None if people is None else open_table(people)
        require(table, [*groups, sensitive, count])
        as_tuples = not isinstance(group, str)
        if members is not None:
            require(members, groups)
            if person is not None:
                _check_roles([*groups, person])
                members = settled(members, [*groups, person])
                refuse_repeats(members, person)

        counted = partial(
            count_tally,
            table,
            groups,
            sensitive,
            count,
            people=members,
            semantics=semantics,
            null_groups=as_tuples,
        )
        if members is None:
            return cls(table, groups, [sensitive, count], semantics, counted, None)
        where: Any = {"table": members, "groups": groups, "as_tuples": as_tuples}
        place = None if person is None else partial(place_people, person=person, **where)
        sign = partial(count_signatures, **where)
        return cls(table, groups, [sensitive, count], semantics, counted, place, sign=sign)

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

        shape: Any = {"null_groups": null_groups}
        counted: Callable[[], GroupCounts]
        if semantics == "single":
            counted = partial(count_groups, table, groups, sensitive, missing=how, **shape)
        else:
            shape |= {"person": person, "semantics": semantics}
            counted = partial(count_held, table, groups, sensitive, **shape)
        needed = sensitive if how == "drop" else None
        where: Any = {"groups": groups, "as_tuples": null_groups, "needed": needed}
        sign = partial(count_signatures, table=table, **where) if semantics == "single" else None
        place = hold = None
        if person is not None:
            who: Any = {"table": table, "person": person}
            place = partial(place_people, **who, **where)
            hold = partial(
                hold_values, **who, sensitive=sensitive, semantics=semantics, missing=how
            )
        linked, seen = semantics != "single", [sensitive, *people]
        return cls(table, groups, seen, semantics, counted, place, linked, hold, sign)

    def rearmed(self) -> Release:
        """The same release with the apostrophes off that `escape_formulas` put before texts."""

        def count() -> GroupCounts:
            counts = self.counts
            labels = [rearmed(v) if isinstance(v, str) else v for v in counts.values]
            return replace(counts, values=Labels(labels))

        return Release(
            self._table,
            self.group_columns,
            self._columns[len(self.group_columns) :],
            self.semantics,
            count,
            self._place,
            self.linked,
            None if self._hold is None else lambda _: self.holdings,
            None if self._sign is None else rearming(self._sign),
        )

    @property
    def counts(self) -> GroupCounts:
        """Counts per group and value, made on first use."""
        self._counts = self._counts or self._count()
        return self._counts

    @cached_property
    def members(self) -> Members:
        """Everybody by name, and the position of their group in `counts`; found on first use.

        An `InputError` if the release was made without ``person=``.
        """
        if self._place is None:
            raise self._nameless()
        return self._place(self.counts)

    @cached_property
    def holdings(self) -> Holdings:
        """Who has what: people by their position in `members`, values by their code in `counts`.

        An `InputError` if the table does not tell, or does not name people.
        """
        if self._hold is not None:
            return self._hold(self.counts)
        if self._place is None:
            raise self._nameless()
        raise InputError(
            f"{self.name}: a bucketized release does not tell who has what; take the table that "
            "it was made from, with a column of groups"
        )

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
        if self._sign is None:
            raise InputError(
                f"{self.name}: {', '.join(attributes)} of each person are unavailable; give a "
                "table of people and their one value, as from_bucketized(..., people=...) does"
            )
        return self._sign(self.counts, attributes)

    @property
    def sensitive(self) -> str:
        """The column of sensitive values."""
        return self._columns[len(self.group_columns)]

    def unseen(self, known: Sequence[str] = ()) -> list[str]:
        """Columns of the table that are neither groups, nor sensitive, nor among those known.

        They were not judged: they may tell members of a group apart.
        """
        looked_at = {*self._columns, *known}
        return [column for column in self._table.columns if column not in looked_at]

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self._table.name

    def _nameless(self) -> InputError:
        return InputError(
            f"{self.name}: nobody is named; say which column names people, "
            'such as Release.from_groups(..., person="name")'
        )

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
        if self._counts is None:
            return f"Release({self.name}, not counted yet)"
        return (
            f"Release({self.name}: {self._counts.n_groups} groups, {self._counts.n_people} people)"
        )


def _check_roles(columns: Sequence[str]) -> None:
    """Refuse a column with two roles."""
    if len(set(columns)) < len(columns):
        raise SchemaError(f"{', '.join(map(repr, columns))}: one column plays two roles")
