"""Release: a published table with its groups; counted once, where the data lives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from foreknow.counts import GroupCounts
from foreknow.errors import SchemaError
from foreknow.frames import Table, count_groups, count_tally, open_table
from foreknow.frames.missing import Missing, as_missing
from foreknow.frames.people import refuse_repeats
from foreknow.frames.sources import require
from foreknow.frames.writing import rearmed
from foreknow.labels import Labels


class Release:
    """A release to be audited: who is in which group, and the sensitive values of each group.

    Make one with `from_groups`, `from_generalized` or `from_bucketized`. Nothing is counted
    before `counts` is asked for; then it costs one GROUP BY.

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
        count: Callable[[], GroupCounts],
    ) -> None:
        self._table = table
        self._columns = (*group_columns, *other_columns)
        self._count = count
        self._counts: GroupCounts | None = None
        self.group_columns = tuple(group_columns)

    @classmethod
    def from_groups(
        cls,
        frame: Any,
        *,
        group: str,
        sensitive: str,
        person: str | None = None,
        missing: Missing | Mapping[str, str] = "error",
    ) -> Release:
        """Take a table with a group column, one row per person.

        Parameters
        ----------
        frame : path or frame
            See `foreknow.frames.open_table`.
        group : str
            The column with the group of each row; a null in it is an error.
        sensitive : str
            The column of sensitive values.
        person : str, optional
            The column that names people; nobody may stand in two rows.
        missing : "error", "drop" or {"label": ...}
            What to do with null sensitive values.
        """
        if not isinstance(group, str):
            raise SchemaError(f"group must be the name of one column, not {group!r}")
        table = open_table(frame)
        if person is not None:
            refuse_repeats(table, person)
        return cls._of(table, [group], sensitive, missing, null_groups=False)

    @classmethod
    def from_generalized(
        cls,
        frame: Any,
        *,
        quasi_identifiers: Sequence[str],
        sensitive: str,
        missing: Missing | Mapping[str, str] = "error",
    ) -> Release:
        """Take a table whose rows with equal quasi-identifiers form a group.

        Parameters
        ----------
        frame : path or frame
        quasi_identifiers : sequence of str
            The published columns; a null in them is a value of its own.
        sensitive : str
        missing : "error", "drop" or {"label": ...}
        """
        if isinstance(quasi_identifiers, str) or not quasi_identifiers:
            raise SchemaError("quasi_identifiers must be a list of at least one column")
        return cls._of(open_table(frame), quasi_identifiers, sensitive, missing, null_groups=True)

    @classmethod
    def from_bucketized(
        cls, tally: Any, *, group: str = "group", sensitive: str, count: str = "count"
    ) -> Release:
        """Take the table of (group, value, count) of a bucketized release.

        Parameters
        ----------
        tally : path or frame
            One row per group and value that occurs in it.
        group, sensitive, count : str
            Its columns.
        """
        if len({group, sensitive, count}) < 3:
            raise SchemaError(f"{group!r}, {sensitive!r}, {count!r}: one column plays two roles")
        table = open_table(tally)
        require(table, [group, sensitive, count])
        columns = [sensitive, count]
        return cls(table, [group], columns, lambda: count_tally(table, group, sensitive, count))

    @classmethod
    def _of(
        cls,
        table: Table,
        groups: Sequence[str],
        sensitive: str,
        missing: Any,
        *,
        null_groups: bool,
    ) -> Release:
        require(table, [*groups, sensitive])
        if sensitive in groups:
            raise SchemaError(f"column {sensitive!r} cannot be both sensitive and the group")
        how = as_missing(missing)
        return cls(
            table,
            groups,
            [sensitive],
            lambda: count_groups(table, groups, sensitive, missing=how, null_groups=null_groups),
        )

    def rearmed(self) -> Release:
        """The same release with the apostrophes off that `escape_formulas` put before texts."""

        def count() -> GroupCounts:
            counts = self.counts
            labels = [rearmed(v) if isinstance(v, str) else v for v in counts.values]
            return replace(counts, values=Labels(labels))

        return Release(self._table, self.group_columns, self._columns, count)

    @property
    def counts(self) -> GroupCounts:
        """Counts per group and value, made on first use."""
        if self._counts is None:
            self._counts = self._count()
        return self._counts

    def unseen(self, known: Sequence[str] = ()) -> list[str]:
        """Columns of the table that are neither groups, nor sensitive, nor among those known.

        They were not judged: whoever knows them of a person may tell members of a group apart.
        """
        looked_at = {*self._columns, *known}
        return [column for column in self._table.columns if column not in looked_at]

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self._table.name

    def to_dict(self) -> dict[str, Any]:
        """What is known of the release without looking at people."""
        return {
            "name": self.name,
            "group_columns": list(self.group_columns),
            "people": self.counts.n_people,
            "groups": self.counts.n_groups,
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
