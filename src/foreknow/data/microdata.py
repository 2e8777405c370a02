"""Microdata: the raw table, everybody in it once, its columns encoded once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.data.arrays import FloatArray, IntArray, combine_encoded
from foreknow.data.columns.attribute import Attribute
from foreknow.data.columns.column_layout import attribute_of, grids_of, in_cells
from foreknow.data.columns.grids import Grid
from foreknow.data.columns.level_limits import Level
from foreknow.data.columns.rare_values import (
    ends_at_values,
    lists_values,
    refuse_rare_ends,
    without_rare,
)
from foreknow.data.columns.reading_rules import Dialect, Reading
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.equal_rows import by_equal_rows
from foreknow.data.impossible.rules_in_force import RuleClasses
from foreknow.data.keys import RowKeys
from foreknow.data.labels.labels import GroupLabels, Labels, text_of
from foreknow.data.people.missing_values import LeftOut
from foreknow.data.people.person_numbers import Coded, coded_values, people_of
from foreknow.data.people.survey_weights import weights_of_groups, weights_of_rows
from foreknow.data.people.units import shared
from foreknow.data.people.values_of_people import Holdings
from foreknow.data.prepare import Prepared, prepare
from foreknow.data.raw_rows import RowsRead, RowsReader, hierarchies_with_nodes
from foreknow.data.schema import Schema
from foreknow.data.semantics import refuse_several
from foreknow.data.tables.columns import (
    Codes,
    Column,
    codes_of,
    fetch,
)
from foreknow.data.tables.profile.column_advice import described, doubts, refuse_dates
from foreknow.data.tables.table import Snapshot, Table, first_row_of, require
from foreknow.data.tables.views.typed_columns import read_as
from foreknow.errors import InternalError, SchemaError, refuse_other_type
from foreknow.needs import Lacks
from foreknow.result_pages import page_of
from foreknow_judge.errors import DataError, UnsupportedError


class Microdata:
    """A raw table about people and the roles of its columns, for `publish`.

    Parameters
    ----------
    source : path, frame or Prepared
        The table; see `foreknow.data.tables.open_table`. Rows keep the order of the source; the
        index of a pandas frame is never used. Under ``single``, one row per person; under ``set``
        and ``multiset``, one row per person and value, or one per person with a list of values.
    schema : Schema
        The roles of the columns.
    reading : Reading, optional
        How the file is written; it overrules the schema's `reading`.
    beside : sequence of str
        Further columns that are not published, but by which the owner counts: columns that a policy
        says are known, or that number units, such as households.
    **roles
        The parameters of a schema in its place: ``quasi_identifiers=["age"], sensitive="disease"``.

    Raises
    ------
    DataError
        If a column is missing, the table is empty, sensitive values are null under ``single``
        (unless the schema says what to do with them), or rows of one person contradict each other.
        Raised when the columns are first read.

    Examples
    --------
    >>> schema = Schema(
    ...     quasi_identifiers=["age"], sensitive="disease", semantics="set", person="pid"
    ... )
    >>> names, values = ["Ann", "Ann", "Bob"], ["Flu", "AIDS", None]
    >>> rows = pa.table({"pid": names, "age": [30, 30, 41], "disease": values})
    >>> Microdata(rows, schema).counts(np.array([0, 0]))
    GroupCounts(1 groups, 2 people, 2 values, set)
    """

    may_have_changed = False  # since a release of it was made

    def __init__(
        self,
        source: Any,
        schema: Schema | None = None,
        reading: Reading | None = None,
        *,
        beside: Sequence[str] = (),
        **roles: Any,
    ) -> None:
        """Take a table and its schema; rows are read when they are first asked for.

        Raises an error if a column is missing, or if both a schema and `roles` are given.
        """
        if schema is None:
            schema = source.schema if isinstance(source, Prepared) else Schema(**roles)
        elif roles:
            raise SchemaError(f"the schema says what the columns are; leave out {', '.join(roles)}")
        refuse_other_type(schema, Schema, "a Schema", "; see fk.Schema", SchemaError)
        prepared = prepare(source, schema, reading)
        # A missing column is an error now, before anything is read.
        prepared.require_roles(beside)
        self.schema, self.reading, self.beside = schema, prepared.reading, tuple(beside)
        self._names = prepared.roles(beside)
        self.prepared = prepared.read_once(self._names)
        # What is worked out once, on first use.
        self._table_read: RowsRead | None = None
        self._attributes: list[Attribute] | None = None
        self._values: Labels | None = None
        self._by_engine: Microdata | None = None
        self._merged: Microdata | None = None
        self._keys: RowKeys | None = None  # by which rows were merged
        self._cells: dict[str, Attribute] = {}
        self._beside_codes: dict[str, tuple[NDArray[Any], pa.Array]] = {}

    @classmethod
    def of(cls, table: Any, schema: Schema, beside: Sequence[str] = ()) -> Microdata:
        """A table as it is if it was read before, or else read by a schema."""
        return table if isinstance(table, cls) else cls(table, schema, beside=beside)

    def __getstate__(self) -> dict[str, Any]:
        """Go into another process with what was read, and nothing that is open."""
        return {**vars(self), "prepared": self.prepared.holding(self._names)}

    def _with_rows(
        self, rows: RowsRead, attributes: list[Attribute] | None, values: Labels | None
    ) -> Microdata:
        """The same table with other rows, and with their attributes and values.

        None stands for attributes or values that are made when they are first asked for.
        """
        microdata = copy(self)
        microdata._table_read, microdata._attributes, microdata._values = rows, attributes, values
        # What was worked out from the old rows does not hold for the new ones.
        microdata._by_engine = microdata._merged = microdata._keys = None
        microdata._cells = {} if attributes is None else self._cells
        return microdata

    def with_values(self, rows: RowsRead, values: Labels | None = None) -> Microdata:
        """The table with other sensitive values of the same people; its attributes stay."""
        return self._with_rows(rows, self._attributes, self._values if values is None else values)

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        return self.source.name

    @property
    def source(self) -> Table:
        """The table as it was opened, with all of its columns and rows."""
        return self.prepared.source

    def rules_of_people(self) -> Lacks:
        """The schema's rules about people that counts do not take in."""
        return self.schema.rules_of_people()

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """The columns whose values a few rows each share, such as a household's number."""
        return shared(self.source, self.schema)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The columns with a role that look like ids of people; empty if a column names the person.

        Only the entries that were read are looked at.
        """
        table_read, schema = self.rows_read, self.schema
        if schema.person is not None or schema.several:
            return ()
        times, other_columns = table_read.times, table_read.other_columns
        columns = [*table_read.columns, *self.sensitives]
        coded = [coded_values(c.name, c.codes, c.domain, times) for c in columns]
        for name in other_columns.column_names:
            coded.append(replace(Coded.of(name, other_columns.column(name)), times=times))
        return tuple(people_of(coded))

    def counted(self, rows: pa.Table, times: IntArray) -> Microdata:
        """The table with one entry for equal rows, which an engine counted; `times` says how many.

        Codes, `kept` and groups are then of entries, and not of people. An error that should name a
        row is raised here, and names an entry: the caller then reads the table itself.
        """
        self.prepared.refuse_repeats(in_place=True)
        entries = self._reader.read_rows(self.prepared.read(rows), times)
        # Attributes and values of entries may differ from those of people: they are made anew.
        by_entries = self._with_rows(entries, attributes=None, values=None)
        _ = by_entries.attributes, by_entries.values  # errors in them are raised here
        self._by_engine = by_entries
        return by_entries

    @property
    def merged(self) -> Microdata:
        """The table with one entry for all equal rows, which saves time and memory.

        For one value per person only. It is the table itself if nearly all rows differ. `of_rows`
        leads back to rows; see also `counted`.
        """
        if self._merged is None:
            _ = self.attributes  # their errors name a row, which entries no longer have
            by_rows = by_equal_rows(self.rows_read)
            if by_rows is None:
                self._merged = self
            else:
                self._keys, merged = by_rows
                self._merged = self._with_rows(merged, attributes=None, values=self._values)
        return self._merged

    def of_rows(self, groups: IntArray) -> IntArray:
        """The group of each row of the source, from the group of each entry of `merged`.

        An entry stands for all equal rows, which are therefore in one group.
        """
        if self._keys is None:
            raise InternalError("groups of entries that were not made of this table")
        return self.rows_of(self._keys.spread(groups))

    def read_as(self) -> dict[str, str]:
        """How each column was read, such as "numbers 17 to 90" or "text, 2 values"."""
        notes = getattr(self.source, "notes", {})
        # `notes` says what a file of SPSS or Stata tells about a column.
        rows = self._rows_as_known
        descriptions = {}
        for column in (*rows.columns, *rows.sensitives):
            description = described(column.domain, ordered=bool(column.categories))
            note = notes.get(column.name)
            descriptions[column.name] = description if note is None else f"{description} ({note})"
        return descriptions

    @property
    def titles(self) -> dict[str, str]:
        """The titles of columns in a file of SPSS or Stata."""
        return dict(getattr(self.source, "titles", {}))

    @property
    def dialect(self) -> Dialect:
        """How the file of the table is written, such as its delimiter."""
        return getattr(self.source, "dialect", Dialect())

    @property
    def numeric(self) -> tuple[str, ...]:
        """The published columns that hold numbers, and may hold decimals."""
        table_read = self._rows_as_known
        numbers = [column.name for column in table_read.columns if column.kind == "number"]
        # Sensitive values may be texts: see how they would read, unless the schema says text.
        for column in (table_read.sensitive, *table_read.further_sensitive):
            kind = read_as(None if x is None else text_of(x) for x in column.domain)
            if kind in ("integer", "number") and self.schema.types.get(column.name) != "text":
                numbers.append(column.name)
        for field in self.other().schema:
            if pa.types.is_floating(field.type) or pa.types.is_decimal(field.type):
                numbers.append(field.name)
        return tuple(numbers)

    def doubts(self) -> dict[str, str]:
        """A warning, with a way out, for each quasi-identifier that may have been read wrongly."""
        declared = set(self.schema.types) | set(self.schema.hierarchies)
        doubt_of = {}
        for column in self._rows_as_known.columns:
            # Whoever declares a type or a hierarchy has looked at the column.
            doubt = None if column.name in declared else doubts(column.name, column.domain)
            if doubt is not None:
                doubt_of[column.name] = doubt
        return doubt_of

    @property
    def _rows_as_known(self) -> RowsRead:
        """The table as it was read, or counted by an engine."""
        by_engine = None if self._table_read else self._by_engine
        return self.rows_read if by_engine is None else by_engine.rows_read

    @property
    def rows_read(self) -> RowsRead:
        """The table as it was read."""
        if self._table_read is None:
            self._table_read = self._reader.read()
        return self._table_read

    @property
    def _reader(self) -> RowsReader:
        return RowsReader(self.prepared, self.schema, self.reading)

    @property
    def n_rows(self) -> int:
        """The number of rows of the source, with dropped ones."""
        return self.rows_read.n_rows

    @property
    def n_people(self) -> int:
        """The number of people who are published."""
        times = self.rows_read.times
        return len(self.rows_read.columns[0].codes) if times is None else int(times.sum())

    @property
    def left_out(self) -> int:
        """The number of rows that are not published because their sensitive value is missing."""
        return self.n_rows - self.n_people if self.rows_read.people is None else 0

    @property
    def rows_left_out(self) -> tuple[LeftOut, ...]:
        """For each sensitive column, its rows without a value, which are not published."""
        return self.rows_read.left_out

    @property
    def n_entries(self) -> int:
        """The number of entries that were read; below `n_rows` if an engine counted equal rows."""
        return self.rows_read.n_entries or self.n_rows

    @property
    def times(self) -> IntArray | None:
        """The number of people of each entry; None unless an engine counted equal rows."""
        return self.rows_read.times

    @property
    def kept(self) -> IntArray:
        """The position in the source of each person's row, or of the first of several."""
        source_rows = self.rows_read.source_rows
        return np.arange(self.n_entries) if source_rows is None else source_rows

    @property
    def sensitive_codes(self) -> Codes:
        """The sensitive value of each person under ``single``, as a code into `values`."""
        refuse_several(
            self.semantics,
            f"under semantics {self.semantics!r} a person has no single value; see "
            "Microdata.holdings",
            UnsupportedError,
        )
        return self.rows_read.sensitive.codes

    @property
    def holdings(self) -> Holdings:
        """The sensitive values of people: one entry per occurrence, codes into `values`."""
        column_holdings = self.rows_read.holdings.get(self.schema.sensitive)
        return column_holdings or Holdings(np.arange(self.n_people), self.sensitive_codes)

    def holders_of(self, column: str) -> NDArray[Any]:
        """The person who has each occurrence of a value of one sensitive column."""
        holdings = self.rows_read.holdings.get(column)
        return np.arange(self.n_people) if holdings is None else holdings.people

    @property
    def semantics(self) -> Semantics:
        """Whether a person has one of the `values`, a set or a multiset of them."""
        return (
            self.schema.semantics_of()
            if self.schema.sensitive in self.rows_read.holdings
            else "single"
        )

    @property
    def values(self) -> Labels:
        """The sensitive values."""
        if self._values is None:
            self._values = Labels(self.rows_read.sensitive.domain)
        return self._values

    @property
    def attributes(self) -> list[Attribute]:
        """The quasi-identifiers of all people, in the schema's order."""
        if self._attributes is None:
            self._attributes = [
                attribute_of(column, self.schema, partial(self._row_of, column))
                for column in self.rows_read.columns
            ]
        return self._attributes

    def _row_of(self, column: Column, code: int) -> int:
        """The first row of the source, from 1, with a value of a column."""
        position = int(self.kept[column.first_row(code) - 1])
        return position + first_row_of(self.prepared.source)

    def rounded(
        self,
        styles: Mapping[str, str] | None = None,
        exact: Collection[str] = (),
        least: int | None = None,
    ) -> Microdata:
        """The same people, with numbers and dates in the cells in which ranges are written.

        The cells of a column that is written as ranges are those of the first level of its
        intervals or dates; without a hierarchy, those of the finest readable grid that hides its
        values.

        Parameters
        ----------
        styles : mapping of column to style, optional
            How columns are written, as in ``[publish.labels]`` of a policy.
        exact : collection of str
            Columns that stay as they are.
        least : int, optional
            In columns that are written as sets, values of fewer people than this become one value,
            `other`; see `without_rare`. None: they stay as they are.

        Raises
        ------
        InputError
            If most values of a column that is written as sets are rare, or all read as dates; or if
            some are rare in a column that stays as it is, or has a hierarchy.

        Examples
        --------
        >>> rows = pa.table({"age": range(20, 60), "disease": ["Flu", "AIDS"] * 20})
        >>> people = Microdata(rows, Schema(quasi_identifiers=["age"], sensitive="disease"))
        >>> people.rounded().attributes[0].domain[:2], people.rounded().grids
        (['20 to 24', '25 to 29'], {'age': 'in steps of 5'})
        """
        styles_of_cells = {**(styles or {}), **dict.fromkeys(exact, "exact")}
        attributes = []
        for attribute, column in zip(self.attributes, self.rows_read.columns, strict=True):
            attributes.append(self._in_cells(attribute, column, styles_of_cells))
        if least is not None:
            attributes = self._without_rare(attributes, styles or {}, exact, least)
        return self._with_rows(self.rows_read, attributes, self._values)

    def _without_rare(
        self,
        attributes: Sequence[Attribute],
        styles: Mapping[str, str],
        unrounded: Collection[str],
        least: int,
    ) -> list[Attribute]:
        """Attributes in which values of fewer than `least` people are one, where labels list them.

        Other columns with such values, and texts that all read as dates, are a `SchemaError`.
        """
        for attribute in attributes:
            if attribute.order == "nominal" and attribute.name not in self.schema.types:
                # As texts, dates would be listed and united like names; they should be ranges.
                refuse_dates(attribute.name, attribute.domain)
        noun = self.schema.noun
        for attribute in attributes:
            # A range that ends at a rare value would show that value.
            style = styles.get(attribute.name)
            if attribute.name not in unrounded and ends_at_values(attribute, style):
                refuse_rare_ends(attribute, least, self.times, noun)
        shown_attributes = []
        for attribute in attributes:
            if lists_values(attribute, styles.get(attribute.name)):
                may_merge = attribute.name not in unrounded
                attribute = without_rare(attribute, least, self.times, may_merge, noun)
            shown_attributes.append(attribute)
        return shown_attributes

    @property
    def grids(self) -> dict[str, str]:
        """The grid of each rounded column, as text."""
        return grids_of(self.attributes)

    def _in_cells(
        self, attribute: Attribute, column: Column, styles: Mapping[str, str]
    ) -> Attribute:
        """An attribute in cells of a grid, such as 20 to 24, if it is written as ranges.

        Other attributes are returned unchanged.
        """
        name, hierarchy = attribute.name, self.schema.hierarchies.get(attribute.name)
        style = styles.get(name, "range" if hierarchy is None else "hierarchy")
        # Only numbers and dates have a grid: a readable one, or that of their hierarchy.
        has_grid = column.kind != "text" if hierarchy is None else isinstance(hierarchy, Grid)
        if style != "range" or not has_grid or attribute.cells is not None:
            return attribute
        if name not in self._cells:
            grid = cast("Grid | None", hierarchy)
            self._cells[name] = in_cells(attribute, grid, self.times)
        return self._cells[name]

    @property
    def sensitives(self) -> tuple[Column, ...]:
        """The sensitive columns: the code of each person (or occurrence), and the values."""
        return (self.rows_read.sensitive, *self.rows_read.further_sensitive)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The columns of conditions whose texts may name nodes of a hierarchy instead of values."""
        texts = {}
        for name in self.schema.conditions:
            _, texts[name] = self.unchanged(name)
        return tuple(hierarchies_with_nodes(self.schema, texts))

    def about_rule(self, position: int) -> tuple[NDArray[Any], list[str | None]]:
        """Whether a rule concerns each person: a code of each, and the answer of each code.

        An answer is "yes", "no" or None, if what is known of the person leaves it open. `position`
        is the index of the rule in the schema's `impossible`.
        """
        rule_classes = self.rows_read.rule_classes
        if rule_classes is None:  # there are no rules: all people have one code
            return np.zeros(self.n_people, np.int64), ["no"]
        answers: list[str | None] = []
        for perhaps, surely in zip(
            rule_classes.perhaps[:, position], rule_classes.surely[:, position], strict=True
        ):
            if surely:
                answers.append("yes")
            else:
                answers.append(None if perhaps else "no")
        return rule_classes.codes, answers

    def unchanged(self, name: str) -> tuple[NDArray[Any], list[Any]]:
        """A column that is not sensitive, as it stands: the code of each person, and its values."""
        codes, distinct = self.as_read(name)
        if pa.types.is_integer(distinct.type):  # Arrow writes them as Python does
            return codes, distinct.cast(pa.string()).to_pylist()
        return codes, [None if value is None else text_of(value) for value in distinct.to_pylist()]

    def as_read(self, name: str) -> tuple[NDArray[Any], pa.Array]:
        """A column that is not sensitive: the code of each person, and its distinct values."""
        for rows in (self.rows_read.other_columns, self.rows_read.condition_columns):
            if name in rows.column_names:
                return codes_of(rows.column(name))
        return self.as_it_stands(name)

    def rule_classes(self, columns: Collection[str]) -> RuleClasses | None:
        """The class of each person by the rules about them.

        None if no rule is about any of these sensitive columns.
        """
        is_ruled = any(rule.sensitive in columns for rule in self.schema.impossible)
        return self.rows_read.rule_classes if is_ruled else None

    def as_it_stands(self, name: str) -> tuple[NDArray[Any], pa.Array]:
        """A column, published or not, of the source: the code of each person, and its values.

        Rows that are left out have no code. The result is kept.
        """
        if self.times is not None:  # an entry is several rows, which may differ in this column
            raise InternalError("equal rows were counted, and a column beside them is asked for")
        require(self.source, [name])
        # A table without an order of rows was read once, and cannot be read again beside that.
        if isinstance(self.source, Snapshot) and name not in self.source.held:
            raise DataError(
                f"{self.name}: column {name!r} was not read with the others; give the table itself "
                f"in place of this Microdata, or make that with beside = [{name!r}]"
            )
        if name not in self._beside_codes:
            codes, distinct = codes_of(fetch(self.source, [name]).column(name))
            source_rows = self.rows_read.source_rows
            self._beside_codes[name] = (
                codes if source_rows is None else codes[source_rows],
                distinct,
            )
        return self._beside_codes[name]

    def grouped(self, columns: Sequence[str]) -> tuple[IntArray, GroupLabels]:
        """The group of each person by their values in some columns, and the groups' labels."""
        coded_columns = [self.as_it_stands(name) for name in columns]
        groups, first_rows = combine_encoded(coded_columns)
        # The first row of each group has the values that its label shows.
        labels = []
        for codes, values in coded_columns:
            labels.append(values.take(pa.array(codes[first_rows])).to_pylist())
        return groups, GroupLabels.of(zip(*labels, strict=True), columns)

    @cached_property
    def persons(self) -> IntArray:
        """The person of each case, as a number from 0.

        Raises
        ------
        DataError
            If a row names no person.
        """
        person = cast("str", self.schema.person)
        codes, distinct = self.as_it_stands(person)
        if distinct.null_count:
            # A null is the last code.
            row = int(self.kept[np.argmax(codes == len(distinct) - 1)]) + 1
            raise DataError(
                f"{self.name}: row {row} names nobody in {person!r}, so whose case it is is not "
                "known; name a person in each row, or leave person out of the schema"
            )
        return codes.astype(np.int64)

    @property
    def units(self) -> tuple[IntArray | None, str | None]:
        """The number of each case's person, or row's household, and the column; None: each row."""
        if self.schema.case_persons:
            return self.persons, self.schema.person
        household = next(iter(self.schema.unit_columns), None)
        if household is None:
            return None, None
        codes, names = self.as_it_stands(household)
        units = codes.astype(np.int64)
        # A row without a household, which has the last code, is one by itself.
        is_unnamed = units >= len(names) - names.null_count
        return np.where(is_unnamed, len(names) + np.arange(len(units)), units), household

    @property
    def who_knows_weights(self) -> tuple[IntArray | None, str | None]:
        """The units that know their weights; refused if rows are cases of unknown people."""
        if self.schema.unit == "row" and not self.schema.persons:
            name = self.schema.weights
            raise SchemaError(
                f"{name!r} is published as weights of groups, and rows are cases of which it "
                "is not known whose they are, so a weight could be that of one person: say "
                f"person = COLUMN in [schema], or take {name!r} out of other"
            )
        return self.units

    def shows_units(self, name: str) -> bool:
        """True if a column shows which rows are of one person or household.

        It does if all rows of each person or household have the same value, and others another.
        The schema names these units.
        """
        units, _ = self.units
        assert units is not None
        codes, _ = self.column(name)
        _, unit_of_row = np.unique(units, return_inverse=True)
        n_units = int(unit_of_row.max(initial=-1)) + 1
        if n_units == len(units) or codes.min() == codes.max():
            return False
        pairs = np.unique(unit_of_row.astype(np.int64) * (int(codes.max()) + 1) + codes)
        return len(pairs) == n_units

    def column(self, name: str) -> tuple[NDArray[Any], list[Any]]:
        """A published column: the code of each person (or occurrence), and its values."""
        columns: list[Attribute | Column] = [*self.attributes, *self.sensitives]
        for column in columns:
            if column.name == name:
                return column.codes, column.domain
        codes, distinct = codes_of(self.other().column(name))
        return codes, distinct.to_pylist()

    def other(self) -> pa.Table:
        """The columns that are published unchanged, one row per person."""
        return self.rows_read.other_columns

    @property
    def weights(self) -> FloatArray:
        """The survey weight of each person, by the column that the schema names."""
        if self.times is not None:  # an entry is several rows, which may differ in their weights
            raise InternalError("equal rows were counted, and the weights of rows are asked for")
        weight_of_row = weights_of_rows(self.source, str(self.schema.weights), self.reading)
        return weight_of_row[self.kept]

    def with_weights_of_groups(self, groups: IntArray) -> Microdata:
        """The same people, each with the weight that is published of their group.

        `groups` has the group of each person; people who look alike in the release are in one.
        """
        name = str(self.schema.published_weights)
        weights = weights_of_groups(
            self.weights, groups, self.schema.rounding.get(name), *self.who_knows_weights
        )
        other_columns = self.other()
        position = other_columns.column_names.index(name)
        other_columns = other_columns.set_column(position, name, pa.array(weights[groups]))
        return self.with_values(replace(self.rows_read, other_columns=other_columns))

    def counts(self, groups: NDArray[Any]) -> GroupCounts:
        """Count the sensitive values of each group.

        `groups` has the group of each person, from 0; or of each row of the source, as
        `partition` returns it, with -1 for rows that are left out.
        """
        if len(groups) > len(self.kept):
            # There is a group for each row of the source: keep those of published people.
            groups = groups[self.kept]
        n_groups = int(groups.max()) + 1
        counts = _COUNTING[self.semantics](self, groups, n_groups)
        return counts.of_rows(self.schema, self.schema.sensitive)

    def everyone(self) -> GroupCounts:
        """Count the sensitive values of everybody as one group."""
        return self.counts(np.zeros(len(self.rows_read.columns[0].codes), dtype=np.int64))

    def with_sensitive(self, codes: NDArray[Any]) -> Microdata:
        """The table of the same people with other sensitive values, one each; reads nothing again.

        `codes` has the value of each person, as a code into `values`.

        Examples
        --------
        >>> rows = pa.table({"age": [30, 41], "disease": ["Flu", "AIDS"]})
        >>> people = Microdata(rows, Schema(quasi_identifiers=["age"], sensitive="disease"))
        >>> other = people.with_sensitive(people.sensitive_codes[::-1])
        >>> [people.values[code] for code in other.sensitive_codes.tolist()]
        ['AIDS', 'Flu']
        """
        narrow = codes.astype(self.sensitive_codes.dtype, copy=False)
        sensitive = replace(self.rows_read.sensitive, codes=narrow)
        return self.with_values(replace(self.rows_read, sensitive=sensitive))

    def only(self, rows: NDArray[np.bool_]) -> Microdata:
        """A table of the given rows of this one, which are read anew."""
        return Microdata(self.prepared.only(rows), self.schema, beside=self.beside)

    def above(self, tables: Sequence[Microdata]) -> Microdata:
        """A table of these rows and those of other tables below; all are read anew."""
        prepared = self.prepared.above([table.prepared for table in tables])
        return Microdata(prepared, self.schema, beside=self.beside)

    def part(self, columns: Collection[str], people: IntArray | None = None) -> Microdata:
        """The same people, or some of them, with some of the quasi-identifiers, as coarse as here.

        `people` needs a table with one value per person, and no columns beyond those read.

        Parameters
        ----------
        columns : collection of str
            The quasi-identifiers that stay.
        people : integer array, optional
            The numbers of the people who stay; the default is all.
        """
        table_read, schema = self.rows_read, self.schema
        attributes = [a for a in self.attributes if a.name in columns]
        if people is not None:
            attributes = [replace(a, codes=a.codes[people]) for a in attributes]
            table_read = table_read.of_some(people)
        rows_columns = [column for column in table_read.columns if column.name in columns]
        rows = replace(table_read, columns=rows_columns)
        microdata = self._with_rows(rows, attributes, self._values)
        names = [name for name in schema.quasi_identifiers if name in columns]
        # The schema must name no column that is no longer there.
        gone = set(schema.quasi_identifiers).difference(names)
        hierarchies, types = dict(schema.hierarchies), dict(schema.types)
        for name in gone:
            hierarchies.pop(name, None)
            types.pop(name, None)
        microdata.schema = replace(
            schema, quasi_identifiers=names, hierarchies=hierarchies, types=types
        )
        return microdata

    def laid(self, hierarchies: Mapping[str, Any]) -> Microdata:
        """The same people, with other hierarchies of quasi-identifiers."""
        microdata = self._with_rows(self.rows_read, attributes=None, values=self._values)
        microdata.schema = replace(self.schema, hierarchies=hierarchies)
        return microdata

    def rows_of(self, groups: NDArray[Any]) -> IntArray:
        """The group of each row of the source, from the groups of people; -1 for rows left out.

        Examples
        --------
        >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease", missing="drop")
        >>> rows = pa.table({"age": [30, 41, 50], "disease": ["Flu", None, "AIDS"]})
        >>> Microdata(rows, schema).rows_of(np.array([0, 1]))
        array([ 0, -1,  1])
        """
        groups_of_people: IntArray = groups.astype(np.int64, copy=False)
        # A person may have several rows.
        if self.rows_read.people is not None:
            spread: IntArray = groups_of_people[self.rows_read.people.of_row]
            return spread
        # No row was left out: row i is person i.
        if self.rows_read.source_rows is None:
            return groups_of_people
        # Some rows were left out: put the groups of the others at their places.
        everything = np.full(self.n_entries, -1, dtype=np.int64)
        everything[self.rows_read.source_rows] = groups_of_people
        return everything

    def __len__(self) -> int:
        return self.n_people

    def __repr__(self) -> str:
        return f"Microdata({self.name}, {len(self.schema.quasi_identifiers)} quasi-identifiers)"

    @property
    def was_read(self) -> bool:
        """True if the rows were read already."""
        return self._table_read is not None

    def _repr_html_(self) -> str:
        return page_of(self).summary()

    def with_rounding(self, steps: Mapping[str, int | float]) -> Microdata:
        """The same people, with the numbers of some columns rounded to multiples of `steps`."""
        if dict(self.schema.rounding) == dict(steps):
            return self
        schema = replace(self.schema, rounding=steps)
        return Microdata(self.prepared, schema, beside=self.beside)

    def leveled(self, levels: Mapping[str, Level]) -> Microdata:
        """The same people, with columns that are no finer than `levels` allow."""
        if dict(self.schema.levels) == dict(levels):
            return self
        # The rows that were read stay; what was worked out from them by the old levels goes.
        microdata = copy(self)
        microdata.schema = replace(self.schema, levels=levels)
        microdata._attributes = microdata._by_engine = microdata._merged = microdata._keys = None
        microdata._cells = {}
        return microdata


def _count_single(microdata: Microdata, groups: NDArray[Any], n_groups: int) -> GroupCounts:
    """Count the values of people with one value each, who may be entries for several."""
    return GroupCounts.from_pairs(
        groups,
        microdata.sensitive_codes,
        values=microdata.values,
        n_groups=n_groups,
        weights=microdata.times,
    )


def _count_several(microdata: Microdata, groups: NDArray[Any], n_groups: int) -> GroupCounts:
    """Count the values of people who may have several: sizes are numbers of people."""
    holdings = microdata.holdings
    return GroupCounts.from_pairs(
        groups[holdings.people],
        holdings.values,
        values=microdata.values,
        n_groups=n_groups,
        sizes=np.bincount(groups, minlength=n_groups),
        semantics=microdata.semantics,
    )


_COUNTING = {"single": _count_single, "set": _count_several, "multiset": _count_several}
