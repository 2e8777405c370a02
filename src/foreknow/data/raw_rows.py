"""A raw table as it was read, everybody in it once, its columns encoded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from foreknow.data.arrays import IntArray
from foreknow.data.columns.hierarchy import DateLevels, Hierarchy, Intervals, Ordered, Tree
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.impossible.rules_in_force import (
    RuleClasses,
    classify_by_rules,
    excluded_values,
    refuse_unfit,
)
from foreknow.data.labels.labels import Labels, text_of
from foreknow.data.people.missing_values import LeftOut, resolve_missing
from foreknow.data.people.person_rows import read_distinct_person_values
from foreknow.data.people.persons import People
from foreknow.data.people.units import request_hashes
from foreknow.data.people.values_of_people import Holdings
from foreknow.data.prepare import Prepared
from foreknow.data.schema import Schema
from foreknow.data.tables.columns import (
    Column,
    Missing,
    codes_of,
    encode,
    fetch,
)
from foreknow.data.tables.profile.column_advice import refuse_misread
from foreknow.data.tables.table import first_row_of
from foreknow.data.tables.views.missing_spellings import is_untyped
from foreknow.errors import InternalError
from foreknow_judge.errors import DataError
from foreknow_judge.policy.grammar import Kind


@dataclass(frozen=True, eq=False)
class RowsRead:
    """A table as it was read."""

    columns: list[Column]  # one code per person
    sensitive: Column  # one per occurrence
    n_rows: int
    source_rows: IntArray | None  # None where row i is person i
    other_columns: pa.Table  # of everybody
    people: People | None = None  # these two where a person may have several values
    holdings: Mapping[str, Holdings] = field(default_factory=dict)  # of each such column
    # the other sensitive columns, one code per person or occurrence
    further_sensitive: tuple[Column, ...] = ()
    times: IntArray | None = None  # how many people each entry is; None where each is one
    n_entries: int = 0  # of the table as it was read; left out ones included
    # to which class each person belongs, by the rules that concern them; None without rules
    rule_classes: RuleClasses | None = None
    # of everybody the columns of conditions; none where these were not kept
    condition_columns: pa.Table = field(default_factory=lambda: pa.table({}))
    left_out: tuple[LeftOut, ...] = ()  # rows without a value; those with any are not published

    @property
    def sensitives(self) -> tuple[Column, ...]:
        """The sensitive columns."""
        return (self.sensitive, *self.further_sensitive)

    def of_some(self, people: IntArray) -> RowsRead:
        """The rows of some people, by their numbers, of a table with one value for each person."""
        if self.people is not None or self.holdings:
            raise InternalError("people of several values are all counted, or none")
        sensitive, *further_sensitive = (_column_of(column, people) for column in self.sensitives)
        rule_classes = self.rule_classes
        if rule_classes is not None:
            rule_classes = replace(rule_classes, codes=rule_classes.codes[people])
        return RowsRead(
            columns=[_column_of(column, people) for column in self.columns],
            sensitive=sensitive,
            n_rows=len(people),
            source_rows=None,
            other_columns=self.other_columns.take(pa.array(people)),
            further_sensitive=tuple(further_sensitive),
            rule_classes=rule_classes,
        )


class RowsReader(NamedTuple):
    """Reads a prepared table by its schema, everybody once."""

    prepared: Prepared
    schema: Schema
    reading: Reading

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        return self.prepared.source.name

    def read(self) -> RowsRead:
        """Read all rows."""
        return self._read_several() if self.schema.several else self._read_single()

    def _read_single(self) -> RowsRead:
        """Read a table of which people have one value in each column, a row for each person."""
        request_hashes(self.prepared.source, self.schema)
        names = dict.fromkeys([*counted_by(self.schema), *self.schema.persons])
        fetched = fetch(self.prepared.table, [*names])
        self.prepared.refuse_repeats(fetched)
        return self.read_rows(fetched.select(counted_by(self.schema)))

    def read_rows(self, rows: pa.Table, times: IntArray | None = None) -> RowsRead:
        """Encode rows of people with one value each.

        `times` is how many people each row stands for; None: one.
        """
        schema, n_entries = self.schema, len(rows)
        n_rows = n_entries if times is None else int(times.sum())
        rows, source_rows, presence = resolve_missing(
            self.name,
            rows,
            schema.sensitives,
            cast("Missing", schema.missing),
            times=times,
            # Entries that stand for several equal rows have no row numbers for messages.
            numbered=times is None,
            first_row=first_row_of(self.prepared.source),
        )
        # Some entries were left out for a missing value.
        if source_rows is not None and times is not None:
            times = times[source_rows]
        if not len(rows):
            raise DataError(f"{self.name} has no rows")
        sensitive, *further_sensitive = (
            encode(name, rows.column(name)) for name in schema.sensitives
        )
        rule_classes = self._classify_by_rules(
            rows, [sensitive, *further_sensitive], None if times is not None else source_rows
        )
        names = schema.quasi_identifiers
        columns = [self._encode(name, rows.column(name), source_rows, times) for name in names]
        return RowsRead(
            columns=columns,
            sensitive=sensitive,
            n_rows=n_rows,
            source_rows=source_rows,
            other_columns=self._published_beside(rows),
            further_sensitive=tuple(further_sensitive),
            times=times,
            n_entries=n_entries,
            rule_classes=rule_classes,
            condition_columns=rows.select(schema.conditions),
            left_out=() if source_rows is None else presence.left_out,
        )

    def _classify_by_rules(
        self, rows: pa.Table, sensitive: Sequence[Column], source_rows: IntArray | None
    ) -> RuleClasses | None:
        """The class of each person by the `impossible` rules about them; None without rules.

        Raises `DataError` if somebody has a value that a rule excludes. `source_rows` says where
        the rows are in the table, for the message; None: these are all of its rows.
        """
        rules = self.schema.impossible
        if not rules:
            return None
        columns = {}
        for name in self.schema.conditions:
            codes, values = codes_of(rows.column(name))
            texts = []
            for value in values.to_pylist():
                texts.append(None if value is None else text_of(value))
            if not self.prepared.is_part:  # the rules were met by the whole table
                refuse_unfit(rules, name, texts, self.schema.hierarchies.get(name))
            columns[name] = codes, texts
        texts_of = {name: texts for name, (_, texts) in columns.items()}
        rule_classes = classify_by_rules(
            rules, columns, len(rows), hierarchies_with_nodes(self.schema, texts_of)
        )
        # Which values each rule excludes, as a mask over the codes of its column.
        labels_of = {column.name: Labels(column.domain) for column in sensitive}
        excluded = excluded_values(rules, labels_of)
        for column in sensitive:
            for position, is_excluded in enumerate(excluded.get(column.name, ())):
                # Rows that the rule surely concerns, and that have a value which it excludes.
                is_concerned = rule_classes.surely[rule_classes.codes, position]
                wrong = is_concerned & is_excluded[column.codes]
                if not wrong.any():
                    continue
                entry = int(np.argmax(wrong))
                row = entry if source_rows is None else int(source_rows[entry])
                conditions = []
                for name in columns:
                    if name in rules[position].where:
                        codes, texts = columns[name]
                        conditions.append(f"{name} {texts[int(codes[entry])]}")
                raise DataError(
                    f"{self.name}: row {row + 1} has "
                    f"{text_of(column.domain[int(column.codes[entry])])!r} in {column.name!r}, "
                    "which is impossible by the schema where somebody has "
                    f"{', '.join(conditions)}; correct the row or the rule"
                )
        return rule_classes.merged(excluded.values())

    def _read_several(self) -> RowsRead:
        """Read a table of which people may have several values; a person has a code per column.

        Raises `DataError` if the rows of a person differ in a column of which they have one value.
        """
        schema = self.schema
        self.prepared.refuse_repeats()
        names = [*schema.quasi_identifiers, *schema.other, *schema.single]
        encoded: dict[str, Column] = {}
        holdings: dict[str, Holdings] = {}
        # The rows of each column with several values come with the single-valued columns beside
        # them.
        for name in schema.several:
            column_holdings, _, _ = read_distinct_person_values(
                self.prepared.table, names, name, schema.person, schema.several
            )
            people, rows = column_holdings.people, column_holdings.rows
            if not len(column_holdings.values):
                raise DataError(
                    f"{self.name}: nobody has a value of {name!r}; there is nothing to hide"
                )
            encoded[name] = encode(name, column_holdings.values)
            holdings[name] = Holdings(column_holdings.holders, encoded[name].codes)
        # All rows of a person must repeat the value, so each person has one code.
        for name in schema.single:
            resolve_missing(self.name, rows, [name], "error")  # raises an error for a null
            column = encode(name, rows.column(name))
            person_codes = people.agreed_codes(name, column.codes, column.domain.__getitem__)
            encoded[name] = replace(column, codes=person_codes)
        sensitive, *further_sensitive = (encoded[name] for name in schema.sensitives)
        columns = []
        for name in schema.quasi_identifiers:
            column = self._encode(name, rows.column(name), source_rows=None)
            person_codes = people.agreed_codes(name, column.codes, column.domain.__getitem__)
            columns.append(replace(column, codes=person_codes))
        for name in schema.other:
            codes, values = codes_of(rows.column(name))
            # Only checked: a person's values come from the first row of the person.
            people.agreed_codes(name, codes, lambda code, values=values: values[code].as_py())  # type: ignore[misc]
        other_columns = self._published_beside(rows).take(pa.array(people.first))
        return RowsRead(
            columns=columns,
            sensitive=sensitive,
            n_rows=len(people.of_row),
            source_rows=people.first,
            other_columns=other_columns,
            people=people,
            holdings=holdings,
            further_sensitive=tuple(further_sensitive),
        )

    def _published_beside(self, rows: pa.Table) -> pa.Table:
        """The columns that are published unchanged; 0 for weights, until groups have theirs.

        Nothing that is made of the rows may show, or depend on, the weight of a single one.
        """
        name = self.schema.published_weights
        if name is not None:
            zeros = pa.chunked_array([pa.array(np.zeros(len(rows)))])
            rows = rows.set_column(rows.column_names.index(name), name, zeros)
        return rows.select(self.schema.other)

    def _encode(
        self,
        name: str,
        rows: pa.ChunkedArray,
        source_rows: IntArray | None,
        times: IntArray | None = None,
    ) -> Column:
        """Encode a quasi-identifier.

        `source_rows` says where the rows are in the table, and `times` how many people each stands
        for; None: all rows, one person each. Raises `DataError` for texts that nearly all read as
        numbers or dates, if no type is declared.
        """
        positions = source_rows
        offset = first_row_of(self.prepared.source) - 1
        if offset:  # in a sheet, names of columns stand above the rows
            positions = (np.arange(len(rows)) if source_rows is None else source_rows) + offset
        column = encode(
            name,
            rows,
            untyped=is_untyped(self.prepared.source, name),
            declared=self._declared(name),
            positions=positions,
            reading=self.reading,
        )
        is_declared = name in self.schema.types or name in self.schema.hierarchies
        if column.kind == "text" and not is_declared and not column.categories:
            people = np.bincount(column.codes, times, len(column.domain))
            codes = column.codes if times is None else None  # an entry is no row of the table
            refuse_misread(name, column.domain, people.tolist(), codes, positions)
        return column

    def _declared(self, name: str) -> Kind | None:
        """The type that the schema gives a column, or its hierarchy needs; None: not declared."""
        declared = self.schema.types.get(name)
        hierarchy = self.schema.hierarchies.get(name)
        if declared is None and is_untyped(self.prepared.source, name):
            if isinstance(hierarchy, Intervals):
                return "number"
            if isinstance(hierarchy, DateLevels):
                return "date"
        return declared


def counted_by(schema: Schema) -> list[str]:
    """The columns by which equal rows are counted: published ones, and those of rules."""
    columns = (*schema.quasi_identifiers, *schema.sensitives, *schema.other, *schema.conditions)
    return list(dict.fromkeys(columns))


def hierarchies_with_nodes(
    schema: Schema, texts_of: Mapping[str, Sequence[str | None]]
) -> dict[str, Hierarchy]:
    """The hierarchies of columns in which some text is none of the values that they list.

    Such a text may name a node of the hierarchy, which stands for a group of values. `texts_of` has
    the distinct texts of each column; None is a missing one.
    """
    hierarchies: dict[str, Hierarchy] = {}
    for name, texts in texts_of.items():
        hierarchy: Any = schema.hierarchies.get(name)
        if isinstance(hierarchy, Tree):
            listed = {str(row[0]) for row in hierarchy.rows}
        elif isinstance(hierarchy, Ordered):
            listed = {*map(str, hierarchy.values)}
        else:
            continue
        if not {text for text in texts if text is not None} <= listed:
            hierarchies[name] = hierarchy
    return hierarchies


def _column_of(column: Column, people: IntArray) -> Column:
    """A column with only some people, by their numbers."""
    return replace(column, codes=column.codes[people])
