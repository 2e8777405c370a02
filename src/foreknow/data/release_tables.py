"""Release tables: which column of a release plays which role, and who sees what of it.

Nothing is counted here. Rows of these tables are counted by a `Release`, and again for verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from foreknow.data.layout import Layout, RowLayout, columns_except
from foreknow.data.semantics import semantics_of_each
from foreknow.data.tables.rows import TallyRows, ValuesRows
from foreknow.errors import SchemaError, did_you_mean

if TYPE_CHECKING:
    from foreknow.data.schema import Schema

_NO_COLUMNS = "; bare counts have none: give the release itself"
COUNT = "count"  # of each value in each group: a column of what is bucketized


class ReleaseTables:
    """A release by its tables, with the roles of their columns; see `Release`."""

    tables: ValuesRows | TallyRows
    releases: tuple[tuple[str, int], ...] = ()  # where several are judged as one

    def __init__(
        self,
        tables: ValuesRows | TallyRows,
        *,
        sensitives: Sequence[str] = (),
        beside: Sequence[str] = (),
        unlinked: Sequence[str] = (),
        apart: Mapping[str, ValuesRows | TallyRows] = MappingProxyType({}),
        recognized: Sequence[str] = (),
        other: Sequence[str] = (),
        schema: Schema | None = None,
        cohort: str = "",
        knows: Sequence[str] = (),
        whole_release: Self | None = None,
    ) -> None:
        """Take the tables of a release; `Release` says what the other parameters are.

        `apart` has the table of each sensitive column, if they have tables of their own.
        """
        self.tables = tables
        # The table with a row for each person, if there is one, and whether values stand in it.
        self._people, self.in_rows = tables.by_person, tables.by_person is tables
        self._apart: dict[str, Any] = dict(apart)
        self._seen: dict[tuple[str, ...], Self] = {}
        self._whole = whole_release  # the release that this is a sight of
        self.schema, self.cohort, self.knows = schema, cohort, tuple(knows)
        self.sensitives = tuple(sensitives or [tables.sensitive])
        self.beside, self.unlinked = tuple(beside), tuple(unlinked)
        self.other, self.recognized = tuple(other), tuple(recognized)
        self.group_columns = tuple(tables.groups)
        self.semantics: Any = tables.semantics
        if self._apart:
            # Columns with tables of their own may differ in semantics.
            semantics_of_column = {}
            for name in self.sensitives:
                semantics_of_column[name] = self._apart.get(name, tables).semantics
            self.semantics = semantics_of_each(semantics_of_column, self.sensitives)
        self.linked = any(table.linked for table in (tables, *self._apart.values()))

    def described(self, **fields: Any) -> Self:
        """A copy of the release with other fields, such as its `schema`."""
        release = copy(self)
        vars(release).update(_seen={}, **fields)
        return release

    def table_of(self, sensitive: str) -> Any:
        """The table of one sensitive column."""
        return self._apart.get(sensitive, self.tables)

    def without_cohort(self, columns: Iterable[str]) -> list[str]:
        """Some columns, without the one that says which of several releases shows somebody."""
        return [*columns_except(columns, [self.cohort])]

    def recognizing(self, columns: Sequence[str]) -> Self:
        """The release in which people can be recognized by those of `columns` that it publishes.

        This concerns only groups with ids; otherwise people are recognized by the group columns.
        """
        published = {*self.people_columns} - {*self.group_columns}
        recognized = tuple(name for name in (self.cohort, *columns) if name in published)
        if self.by_values or not recognized or recognized == self.recognized:
            return self
        return self.described(recognized=recognized)

    def seen(
        self,
        sensitive: str | None = None,
        knowing: Sequence[str] | None = None,
    ) -> Self:
        """The release as an adversary sees it who asks for one column and knows others.

        The known columns divide each group into groups of people with equal values. A column that
        is published apart from the sensitive one divides nothing.

        Parameters
        ----------
        sensitive : str, optional
            The sensitive column in question; default: the first.
        knowing : sequence of str, optional
            Columns whose values the adversary knows of everybody; default: all that stand `beside`
            the sensitive one.

        Raises
        ------
        SchemaError
            If it is no sensitive column, or a column that is known is not published.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from foreknow.data.release import Release
        >>> rows = {"age": ["30 to 39"] * 3, "job": ["Cook", "Nurse", "Cook"]}
        >>> table = pa.table({**rows, "disease": ["Flu", "AIDS", "Flu"]})
        >>> release = Release.from_generalized(
        ...     table, quasi_identifiers=["age"], sensitive="disease", other=["job"]
        ... )
        >>> release.seen().counts.n_groups, release.seen(knowing=[]).counts.n_groups
        (2, 1)
        """
        name = self.sensitive if sensitive is None else sensitive
        if name not in self.sensitives:
            hint = did_you_mean(name, self.sensitives)
            raise SchemaError(f"{self.name}: {name!r} is no sensitive column{hint}")
        if isinstance(knowing, str):
            raise SchemaError(f"knowing must be a list of columns, such as [{knowing!r}]")
        for column in knowing or ():
            self._refuse_unknown(column, name)
        name, known_columns, _ = self.layout.seen(sensitive, knowing)
        return self._sight(name, known_columns, counts_anybody=False)

    def people_seen(
        self, sensitive: str | None = None, knowing: Sequence[str] | None = None
    ) -> Self:
        """The release as `seen` gives it, but for counting people, whatever their values.

        In one table, known columns then divide groups even if the sensitive one is shuffled.
        """
        for column in knowing or ():
            self._refuse_unknown(column, None)
        name, known_columns, _ = self.layout.people_seen(sensitive, knowing)
        # Rows without a value of this column may show one of another, and are people, too.
        return self._sight(name, known_columns, counts_anybody=self._leaves_out)

    def _sight(self, name: str, known_columns: Sequence[str], *, counts_anybody: bool) -> Self:
        """The release for the sensitive column `name`, in groups that the known columns divide.

        If it `counts_anybody`, people without a value of this column count, too. The result is
        kept.
        """
        tables = self._apart.get(name, self.tables)
        if name == self.sensitive and not known_columns and len(self.sensitives) == 1:
            return self
        key = (name, *known_columns, *([""] if counts_anybody else []))
        if key not in self._seen:
            # Knowing the column itself makes sense only where people are counted: all values of a
            # person are then one text, by which groups can be divided.
            if name in known_columns:
                tables = tables.with_values_as_text()
            if known_columns or name != tables.sensitive:
                tables = tables.seen_as(name, known_columns)
            if counts_anybody:
                tables = self._counting_anybody(tables)
            self._seen[key] = self._make_sight(tables, name, known_columns)
        return self._seen[key]

    def _make_sight(self, tables: Any, name: str, known_columns: Sequence[str]) -> Self:
        """The release that `tables` make, as seen for the sensitive column `name`.

        The `known_columns` divide its groups. It keeps this release as its whole.
        """
        return type(self)(
            tables,
            unlinked=[column for column in self.unlinked if column != name],
            recognized=self.recognized,
            schema=self.schema,
            cohort=self.cohort,
            knows=known_columns,
            whole_release=self,
        )

    @property
    def _leaves_out(self) -> bool:
        """True if a row without a value in one sensitive column is left out for that one only."""
        return len(self.sensitives) > 1 and bool(self.tables.needed)

    @property
    def of_anybody(self) -> Self:
        """The release that counts people with a value in any sensitive column."""
        return self.people_seen(None, []) if self._leaves_out else self

    def _counting_anybody(self, tables: Any) -> Any:
        """A table that counts people with a value in any sensitive column."""
        return tables.of_anybody(self.sensitives) if self._leaves_out else tables

    def seen_by(self, columns: Iterable[str], sensitive: str | None = None) -> Self:
        """The release as an adversary sees it who knows some columns, published or not.

        Those of the columns that stand in one row with the sensitive one divide its groups, even
        without a role.
        """
        main = sensitive or self.sensitive
        in_rows = {*self.layout.row_of(main)}
        # One row for each person has all columns, even those without a role.
        if self.by_values:
            in_rows |= {*self.layout.of_whole_rows(self.people_columns)}
        # Group columns divide nothing further, and what is shuffled is not in the secret's row.
        not_linked = {main, *self.unlinked, *self.group_columns}
        return self.seen(main, [name for name in columns if name in in_rows - not_linked])

    @property
    def layout(self) -> Layout:
        """Which columns stand in one row, so that one is seen beside another.

        It is a `RowLayout` if the rows of the release are people, else a `Layout`.
        """
        judged_columns = (*self.group_columns, *self.recognized, *self.sensitives)
        other_columns = columns_except(self.people_columns, judged_columns)
        if self.in_rows:
            kind: type[Layout] = RowLayout
            others = columns_except(self.other, self.unlinked)
        else:
            kind = Layout
            others = columns_except(other_columns, [self.person])
        return kind(
            main=self.sensitive,
            linked=self.beside,
            apart=self.unlinked,
            # None: people are not recognized by exact columns, but by the columns of their groups.
            people=other_columns if self.recognized else None,
            others=others,
        )

    def _refuse_unknown(self, column: str, sensitive: str | None) -> None:
        """Raise `SchemaError` for a column that cannot be known beside a secret.

        `sensitive` is the secret, for which a known column would leave nothing to hide; None where
        people are counted.
        """
        if column == sensitive:
            raise SchemaError(
                f"{self.name}: {column!r} cannot be both known and what must stay hidden"
            )
        # All that is published, each once.
        published = dict.fromkeys((*self.beside, *self.sensitives, *self._published))
        if column in self.group_columns:
            raise SchemaError(
                f"{self.name}: {column!r} makes its groups, so it is known of everybody anyway; "
                "leave it out"
            )
        if column not in published:
            hint = did_you_mean(column, filter(None, published)) or _NO_COLUMNS
            secret = repr(sensitive or self.sensitive) if self.sensitive else "its values"
            raise SchemaError(f"{self.name}: {column!r} is not published beside {secret}{hint}")

    @property
    def _published(self) -> tuple[str, ...]:
        """All columns that are published."""
        return *self.tables.table.columns, *self.people_columns

    @property
    def by_values(self) -> bool:
        """True if equal values in `group_columns` make a group; False if a column names it."""
        return self.tables.null_groups

    @property
    def person(self) -> str | None:
        """The column that names people; None where the release has none."""
        return None if self._people is None else self._people.person

    @property
    def is_stable(self) -> bool:
        """True if the table has the same rows each time it is read."""
        return self.tables.table.is_stable

    @property
    def sensitive(self) -> str:
        """The column of sensitive values."""
        return self.tables.sensitive

    @property
    def people_columns(self) -> tuple[str, ...]:
        """The columns of the table with a row for each person; empty without such a table."""
        return () if self._people is None else tuple(self._people.table.columns)

    @property
    def beside_groups(self) -> tuple[str, ...]:
        """The columns of people that are shown beside their groups."""
        left_out = {*self.group_columns, self.sensitive}
        return columns_except(self.people_columns, left_out)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that are known of people."""
        return self.people_columns

    @property
    def name(self) -> str:
        """The name of the table (or tables) in messages."""
        if self.releases:
            return " and ".join(name for name, _ in self.releases)
        names = {table.table.name for table in (self.tables, *self._apart.values())}
        return " and ".join(sorted(names))
