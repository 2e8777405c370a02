"""Microdata: the raw table, everybody in it once, its columns encoded once."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, blocks, combine
from foreknow.data.counts import GroupCounts, Semantics, bags_of
from foreknow.data.engines.column_advice import described, doubts, refuse_dates, refuse_misread
from foreknow.data.engines.columns import (
    Codes,
    Column,
    Missing,
    codes_of,
    dictionary_of,
    encode,
    fetch,
    narrowest,
)
from foreknow.data.engines.held_values import Holdings
from foreknow.data.engines.missing import LeftOut, settle
from foreknow.data.engines.person_numbers import Coded, coded_values, people_of
from foreknow.data.engines.person_rows import held_beside
from foreknow.data.engines.persons import People
from foreknow.data.engines.spelled import is_untyped
from foreknow.data.engines.table import Snapshot, Table, require
from foreknow.data.engines.typed import read_as
from foreknow.data.engines.units import look_beside, shared
from foreknow.data.fired_rules import OTHER, Fired, about_of, fired, refuse_unfit
from foreknow.data.grids import Grid, ends_of, grid_of, words_of
from foreknow.data.hierarchy import DateLevels, Hierarchy, Intervals, Ordered, Tree
from foreknow.data.joint_labels import Bags, JointLabels
from foreknow.data.keys import Keys, nearly_all_differ
from foreknow.data.labels import GroupLabels, Labels, text_of
from foreknow.data.layout import Layout
from foreknow.data.level_limits import Level
from foreknow.data.levels import coded_at_ends, from_level, opened, reached_ends, with_open_ends
from foreknow.data.people import CASES, numbered
from foreknow.data.possible_values import Classes
from foreknow.data.prepare import Prepared, prepare
from foreknow.data.reading import Dialect, Reading
from foreknow.data.schema import Schema
from foreknow.errors import InternalError, SchemaError
from foreknow.figures import days_of
from foreknow.needs import Lacks
from foreknow.pages import page_of
from foreknow_judge.errors import DataError, UnsupportedError
from foreknow_judge.grammar import Kind

Order: TypeAlias = Literal["ordered", "nominal"]


@dataclass(frozen=True, eq=False)
class Attribute:
    """A quasi-identifier as codes in leaf order, with the levels it coarsens through."""

    name: str
    codes: NDArray[np.unsignedinteger[Any]]  # of everybody
    domain: list[Any]  # distinct values in leaf order; None (a null) first where there is one
    order: Order  # whether a range of the domain means something, or only a set of values does
    ancestors: tuple[IntArray, ...]  # level 1 and up: the node of each leaf
    labels: tuple[tuple[str, ...], ...]  # level 1 and up: the label of each node
    positions: NDArray[np.float64]  # where each value lies, for widths: its number, or its rank
    listed: frozenset[str] = frozenset()  # values of the hierarchy, had by someone or not
    # where the domain is not of values, but of cells that they are in
    cells: GridCells | None = None
    # of numbers and days: those that stand for all from one on, and up to one (see `levels`)
    top: Any = None
    bottom: Any = None

    @property
    def ends(self) -> NDArray[np.float64]:
        """Where each value ends: a cell is wide, a value is not."""
        return self.positions if self.cells is None else self.cells.ends

    @property
    def many(self) -> IntArray:
        """How many values of the table each value of the domain stands for."""
        if self.cells is None:
            return np.ones(len(self.domain), dtype=np.int64)
        return np.bincount(self.cells.values.ancestors[0], minlength=len(self.domain))

    def values_in(self, codes: tuple[int, ...]) -> tuple[int, ...]:
        """The codes of the table's values that some values of the domain stand for."""
        if self.cells is None:
            return codes
        inside = np.isin(self.cells.values.ancestors[0], codes)
        return tuple(np.flatnonzero(inside).tolist())

    @property
    def span(self) -> float:
        """How wide the whole domain is, for shares of it; 1 where it is not wide at all."""
        return float(self.ends[-1] - self.positions[0]) or 1.0


@dataclass(frozen=True, eq=False)
class GridCells:
    """The cells of a grid that values of an attribute are in; or its rarer values as one."""

    grid: Grid | None  # None where rarer values are one
    values: Attribute  # the same with the values as they are; cells are its first level
    texts: tuple[tuple[str, str], ...]  # how each cell begins and ends in labels
    ends: NDArray[np.float64]  # where each cell ends, as `Attribute.positions` are where it begins


@dataclass(frozen=True, eq=False)
class _Read:
    """The table as it was read."""

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
    fired: Fired | None = None  # which rules say of everybody what they cannot have
    # of everybody the columns of conditions; none where these were not kept
    condition_columns: pa.Table = field(default_factory=lambda: pa.table({}))
    left_out: tuple[LeftOut, ...] = ()  # rows without a value; those with any are not published


class Microdata:
    """A raw table about people and the roles of its columns; what `publish` takes.

    Parameters
    ----------
    source : path, frame or Prepared
        See `foreknow.data.engines.open_table`. The order of rows is that of the source; an index of
        a pandas frame is never used. Under ``single`` one row per person; under ``set`` and
        ``multiset`` one row per person and value, or one row per person with a list of values.
    schema : Schema
    reading : Reading, optional
        How the file is written, where the schema's `reading` does not say so or is to be overruled.
    beside : sequence of str
        Further columns that the owner counts by, though they are not published: those that a policy
        says are known, or of which so many units are in each group.
    **roles
        In place of a schema, what makes one: ``quasi_identifiers=["age"], sensitive="disease"``.

    Raises
    ------
    DataError
        On a column that is missing, an empty table, null sensitive values under ``single``
        (unless the schema says what to do with them), or rows of one person that contradict each
        other. Raised when the columns are first read.

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

    def __init__(
        self,
        source: Any,
        schema: Schema | None = None,
        reading: Reading | None = None,
        *,
        beside: Sequence[str] = (),
        **roles: Any,
    ) -> None:
        if schema is None:
            schema = source.schema if isinstance(source, Prepared) else Schema(**roles)
        elif roles:
            raise SchemaError(f"the schema says what the columns are; leave out {', '.join(roles)}")
        if not isinstance(schema, Schema):
            raise SchemaError(f"expected a Schema, not {type(schema).__name__}; see fk.Schema")
        prepared = prepare(source, schema, reading)
        prepared.require_roles(beside)
        self.schema, self.reading, self.beside = schema, prepared.reading, tuple(beside)
        self._names = prepared.roles(beside)
        self.prepared = prepared.read_once(self._names)
        # What is worked out once, on first use.
        self._table_read: _Read | None = None
        self._attributes: list[Attribute] | None = None
        self._values: Labels | None = None
        self._by_engine: Microdata | None = None
        self._merged: Microdata | None = None
        self._keys: Keys | None = None  # by which rows were merged
        self._cells: dict[str, Attribute] = {}
        self._beside_codes: dict[str, tuple[NDArray[Any], pa.Array]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Go into another process with what was read, and nothing that is open."""
        return {**vars(self), "prepared": self.prepared.holding(self._names)}

    def _with_rows(
        self, rows: _Read, attributes: list[Attribute] | None, values: Labels | None
    ) -> Microdata:
        """The same table with other rows, and with attributes and values if these are known."""
        microdata = copy(self)
        microdata._table_read, microdata._attributes, microdata._values = rows, attributes, values
        microdata._by_engine = microdata._merged = microdata._keys = None
        microdata._cells = {} if attributes is None else self._cells
        return microdata

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        return self.source.name

    @property
    def source(self) -> Table:
        """The table as it was opened, with all of its columns and rows."""
        return self.prepared.source

    def rules_of_people(self) -> Lacks:
        """Rules of the schema about people that counts do not contain."""
        return self.schema.rules_of_people()

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Columns of which a few rows each share a value, such as a household's number."""
        return shared(self.source, self.schema)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Columns with a role that look like numbers of people, where nothing says whose rows are.

        Counted by the entries that were read.
        """
        table_read, schema = self._read, self.schema
        if schema.person is not None or schema.several:
            return ()
        columns = [*table_read.columns, *self.sensitives]
        coded = [coded_values(c.name, c.codes, c.domain, table_read.times) for c in columns]
        for name, column in zip(
            table_read.other_columns.column_names, table_read.other_columns.columns, strict=True
        ):
            coded.append(replace(Coded.of(name, column), times=table_read.times))
        return tuple(people_of(coded))

    @property
    def _read(self) -> _Read:
        if self._table_read is None:
            self._table_read = self._read_several() if self.schema.several else self._read_single()
        return self._table_read

    def _read_single(self) -> _Read:
        look_beside(self.source, self.schema)
        names = dict.fromkeys([*self.counted_by, *self.schema.persons])
        fetched = fetch(self.prepared.table, [*names])
        self.prepared.refuse_repeats(fetched)
        return self._read_rows(fetched.select(self.counted_by))

    def _read_rows(self, rows: pa.Table, times: IntArray | None = None) -> _Read:
        """Encode rows of one person each, or equal rows that stand for so many people."""
        schema, n_entries = self.schema, len(rows)
        n_rows = n_entries if times is None else int(times.sum())
        how: dict[str, Any] = {"times": times, "numbered": times is None}
        missing = cast("Missing", schema.missing)
        rows, source_rows, values_shown = settle(self.name, rows, schema.sensitives, missing, **how)
        if source_rows is not None and times is not None:
            times = times[source_rows]
        if not len(rows):
            raise DataError(f"{self.name} has no rows")
        sensitive, *further_sensitive = (
            encode(name, rows.column(name)) for name in schema.sensitives
        )
        rules_fired = self._fired(
            rows, [sensitive, *further_sensitive], None if times is not None else source_rows
        )
        names = schema.quasi_identifiers
        columns = [self._encode(name, rows.column(name), source_rows, times) for name in names]
        return _Read(
            *(columns, sensitive, n_rows, source_rows, rows.select(schema.other)),
            further_sensitive=tuple(further_sensitive),
            times=times,
            n_entries=n_entries,
            fired=rules_fired,
            condition_columns=rows.select(schema.conditions),
            left_out=() if source_rows is None else values_shown.left_out,
        )

    @property
    def counted_by(self) -> list[str]:
        """The columns by which equal rows are counted: published ones, and those of rules."""
        schema = self.schema
        columns = (*schema.quasi_identifiers, *schema.sensitives, *schema.other, *schema.conditions)
        return list(dict.fromkeys(columns))

    def _fired(
        self, rows: pa.Table, sensitive: Sequence[Column], source_rows: IntArray | None
    ) -> Fired | None:
        """Which rules are about whom; refuse a table in which somebody has what cannot be."""
        rules = self.schema.impossible
        if not rules:
            return None
        columns = {}
        for name in self.schema.conditions:
            codes, values = codes_of(rows.column(name))
            texts = [None if value is None else text_of(value) for value in values.to_pylist()]
            refuse_unfit(rules, name, texts)
            columns[name] = codes, texts
        texts_of = {name: texts for name, (_, texts) in columns.items()}
        rules_fired = fired(rules, columns, len(rows), self._with_nodes(texts_of))
        values_of_rules = about_of(
            rules, {column.name: Labels(column.domain) for column in sensitive}
        )
        for column in sensitive:
            for place, has_rule in enumerate(values_of_rules.get(column.name, ())):
                wrong = rules_fired.surely[rules_fired.codes, place] & has_rule[column.codes]
                if wrong.any():
                    row = int(np.argmax(wrong))
                    who = ", ".join(
                        f"{name} {texts[int(codes[row])]}"
                        for name, (codes, texts) in columns.items()
                        if name in rules[place].where
                    )
                    raise DataError(
                        f"{self.name}: row "
                        f"{int(row if source_rows is None else source_rows[row]) + 1} has "
                        f"{text_of(column.domain[int(column.codes[row])])!r} in {column.name!r}, "
                        f"which is impossible by the schema where somebody has {who}; correct the "
                        "row or the rule"
                    )
        return rules_fired.united(values_of_rules.values())

    def counted(self, rows: pa.Table, times: IntArray) -> Microdata:
        """The same table by its equal rows, each so often, as an engine counted them.

        What belongs to people is then of such entries: the codes, `kept`, groups. An error that
        would name a row is raised here, and is about an entry: the table itself is to be read then.
        """
        self.prepared.refuse_repeats(in_place=True)
        by_entries = self._with_rows(self._read_rows(self.prepared.read(rows), times), None, None)
        _ = by_entries.attributes, by_entries.values
        self._by_engine = by_entries
        return by_entries

    @property
    def merged(self) -> Microdata:
        """The same table by its equal rows, as `counted` gives it; of one value per person only.

        Itself, where next to no rows are equal.
        """
        if self._merged is not None:
            return self._merged
        table_read = self._read
        _ = self.attributes  # where an error in them names a row
        columns = [*table_read.columns, *self.sensitives]
        other_codes = [codes_of(column) for column in table_read.other_columns.columns]
        firings = [] if table_read.fired is None else [table_read.fired]
        row_codes = [column.codes for column in columns] + [codes for codes, _ in other_codes]
        if nearly_all_differ(row_codes):
            self._merged = self
            return self
        keys = Keys(
            [
                *(firing.codes for firing in firings),
                *row_codes,
            ],
            [
                *(len(firing.surely) for firing in firings),
                *(len(column.domain) for column in columns),
                *(len(values) for _, values in other_codes),
            ],
        )
        distinct_keys, times = keys.counted()
        codes = iter(keys.codes(distinct_keys))
        firings = [replace(firing, codes=next(codes)) for firing in firings]
        columns = [replace(column, codes=next(codes)) for column in columns]
        sensitive, *further_sensitive = columns[len(table_read.columns) :]
        merged = replace(
            table_read,
            columns=columns[: len(table_read.columns)],
            sensitive=sensitive,
            further_sensitive=tuple(further_sensitive),
            other_columns=pa.table(
                [
                    dictionary_of(code, values)
                    for code, (_, values) in zip(codes, other_codes, strict=True)
                ],
                names=table_read.other_columns.column_names,
            ),
            source_rows=None,
            times=times,
            n_entries=len(times),
            fired=next(iter(firings), None),
            condition_columns=pa.table({}),
        )
        self._keys, self._merged = keys, self._with_rows(merged, None, self._values)
        return self._merged

    def of_rows(self, groups: IntArray) -> IntArray:
        """The result of `rows_of` for groups of the entries of this `merged` table."""
        if self._keys is None:
            raise InternalError("groups of entries that were not made of this table")
        return self.rows_of(self._keys.spread(groups))

    def _read_several(self) -> _Read:
        schema = self.schema
        self.prepared.refuse_repeats()
        single = [name for name in schema.sensitives if name not in schema.several]
        names = [*schema.quasi_identifiers, *schema.other, *single]
        encoded: dict[str, Column] = {}
        holdings: dict[str, Holdings] = {}
        for name in schema.several:
            column_holdings, _, _ = held_beside(
                self.prepared.table, names, name, schema.person, schema.several
            )
            people, rows = column_holdings.people, column_holdings.rows
            if not len(column_holdings.values):
                raise DataError(
                    f"{self.name}: nobody has a value of {name!r}; there is nothing to hide"
                )
            encoded[name] = encode(name, column_holdings.values)
            holdings[name] = Holdings(column_holdings.holders, encoded[name].codes)
        for name in single:
            settle(self.name, rows, [name], "error")
            column = encode(name, rows.column(name))
            of_person = people.agreed(name, column.codes, column.domain.__getitem__)
            encoded[name] = replace(column, codes=of_person)
        sensitive, *further_sensitive = (encoded[name] for name in schema.sensitives)
        columns = []
        for name in schema.quasi_identifiers:
            column = self._encode(name, rows.column(name), None)
            of_person = people.agreed(name, column.codes, column.domain.__getitem__)
            columns.append(replace(column, codes=of_person))
        for name in schema.other:
            codes, values = codes_of(rows.column(name))
            people.agreed(name, codes, lambda code, values=values: values[code].as_py())  # type: ignore[misc]
        other_columns = rows.select(schema.other).take(pa.array(people.first))
        n_rows = len(people.of_row)
        return _Read(
            columns,
            sensitive,
            n_rows,
            people.first,
            other_columns,
            people,
            holdings,
            tuple(further_sensitive),
        )

    def _encode(
        self,
        name: str,
        rows: pa.ChunkedArray,
        source_rows: IntArray | None,
        times: IntArray | None = None,
    ) -> Column:
        column = encode(
            name,
            rows,
            untyped=is_untyped(self.source, name),
            declared=self._declared(name),
            positions=source_rows,
            reading=self.reading,
        )
        is_declared = name in self.schema.types or name in self.schema.hierarchies
        if column.kind == "text" and not is_declared and not column.categories:
            people = np.bincount(column.codes, times, len(column.domain))
            codes = column.codes if times is None else None  # an entry is no row of the table
            refuse_misread(name, column.domain, people.tolist(), codes, source_rows)
        return column

    def _declared(self, name: str) -> Kind | None:
        """Type that the schema gives a column, or that its hierarchy needs."""
        declared = self.schema.types.get(name)
        hierarchy = self.schema.hierarchies.get(name)
        if declared is None and is_untyped(self.source, name):
            if isinstance(hierarchy, Intervals):
                return "number"
            if isinstance(hierarchy, DateLevels):
                return "date"
        return declared

    def read_as(self) -> dict[str, str]:
        """How each column was read, such as numbers 17 to 90, or text, 2 values."""
        notes = getattr(self.source, "notes", {})
        descriptions = {}
        for column in (
            *self._rows_as_known.columns,
            self._rows_as_known.sensitive,
            *self._rows_as_known.further_sensitive,
        ):
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
        """How its file is written."""
        return getattr(self.source, "dialect", Dialect())

    @property
    def numeric(self) -> tuple[str, ...]:
        """Published columns that hold numbers, such as may have decimals."""
        table_read, other_columns = self._rows_as_known, self.other()
        numbers = [column.name for column in table_read.columns if column.kind == "number"]
        for column in (table_read.sensitive, *table_read.further_sensitive):
            kind = read_as(None if x is None else text_of(x) for x in column.domain)
            if kind in ("integer", "number") and self.schema.types.get(column.name) != "text":
                numbers.append(column.name)
        typed = zip(other_columns.column_names, other_columns.schema.types, strict=True)
        numbers += [
            n
            for n, arrow_type in typed
            if pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type)
        ]
        return tuple(numbers)

    def doubts(self) -> dict[str, str]:
        """Quasi-identifiers that look like something else than they were taken for; what to do."""
        declared = set(self.schema.types) | set(self.schema.hierarchies)
        doubt_texts = {
            column.name: doubts(column.name, column.domain)
            for column in self._rows_as_known.columns
            if column.name not in declared
        }
        return {name: doubt for name, doubt in doubt_texts.items() if doubt is not None}

    @property
    def _rows_as_known(self) -> _Read:
        """The table as it was read, or counted by an engine."""
        return self._read if self._table_read or not self._by_engine else self._by_engine._read

    @property
    def n_rows(self) -> int:
        """Rows of the source, dropped ones included."""
        return self._read.n_rows

    @property
    def n_people(self) -> int:
        """People who are published."""
        times = self._read.times
        return len(self._read.columns[0].codes) if times is None else int(times.sum())

    @property
    def left_out(self) -> int:
        """Rows that are not published, since their sensitive value is missing."""
        return self.n_rows - self.n_people if self._read.people is None else 0

    @property
    def rows_left_out(self) -> tuple[LeftOut, ...]:
        """Rows that show no value of a sensitive column; none of them is published."""
        return self._read.left_out

    @property
    def n_entries(self) -> int:
        """Rows that were read; fewer than `n_rows` where an engine counted equal ones."""
        return self._read.n_entries or self.n_rows

    @property
    def times(self) -> IntArray | None:
        """How many people each entry is, where an engine counted equal rows; else None."""
        return self._read.times

    @property
    def kept(self) -> IntArray:
        """Position in the source of everybody's row; of several, the first."""
        source_rows = self._read.source_rows
        return np.arange(self.n_entries) if source_rows is None else source_rows

    @property
    def sensitive_codes(self) -> Codes:
        """The sensitive value of each person under ``single``, as a code into `values`."""
        if self.semantics != "single":
            raise UnsupportedError(
                f"under semantics {self.semantics!r} a person has no single value; see "
                "Microdata.holdings"
            )
        return self._read.sensitive.codes

    @property
    def holdings(self) -> Holdings:
        """Who has which sensitive value: one entry per occurrence, codes into `values`."""
        column_holdings = self._read.holdings.get(self.schema.sensitive)
        return column_holdings or Holdings(np.arange(self.n_people), self.sensitive_codes)

    def holders_of(self, column: str) -> NDArray[Any]:
        """Who has each occurrence of a value of one sensitive column."""
        holdings = self._read.holdings.get(column)
        return np.arange(self.n_people) if holdings is None else holdings.people

    @property
    def semantics(self) -> Semantics:
        """How many of its `values` a person has."""
        return (
            self.schema.semantics_of() if self.schema.sensitive in self._read.holdings else "single"
        )

    @property
    def values(self) -> Labels:
        """The sensitive values."""
        if self._values is None:
            self._values = Labels(self._read.sensitive.domain)
        return self._values

    @property
    def attributes(self) -> list[Attribute]:
        """The quasi-identifiers of everybody, in the schema's order."""
        if self._attributes is None:
            self._attributes = [self._attribute(column) for column in self._read.columns]
        return self._attributes

    def rounded(
        self,
        styles: Mapping[str, str] | None = None,
        exact: Collection[str] = (),
        least: int | None = None,
    ) -> Microdata:
        """The same people, with numbers and dates in the cells in which ranges of them are written.

        Where a column has intervals or date levels and is to be written as ranges, its cells are
        those of the first level; where it has no hierarchy, those of the finest readable grid
        that hides its values.

        Parameters
        ----------
        styles : mapping of column to style, optional
            How columns are written where a policy's ``[publish.labels]`` says so.
        exact : collection of str
            Columns that stay as they are.
        least : int, optional
            Where columns are written as sets of values, those that fewer people have become one
            value, `other`; see `without_rare`. Left out, they stay as they are.

        Raises
        ------
        InputError
            If most values of such a column are that rare, or all read as dates; or if some are rare
            in a column that stays as it is, or has a hierarchy.

        Examples
        --------
        >>> rows = pa.table({"age": range(20, 60), "disease": ["Flu", "AIDS"] * 20})
        >>> people = Microdata(rows, Schema(quasi_identifiers=["age"], sensitive="disease"))
        >>> people.rounded().attributes[0].domain[:2], people.rounded().grids
        (['20 to 24', '25 to 29'], {'age': 'in steps of 5'})
        """
        attributes = [
            attribute if attribute.name in exact else self._in_cells(attribute, column, styles)
            for attribute, column in zip(self.attributes, self._read.columns, strict=True)
        ]
        if least is not None:
            for attribute in attributes:
                if attribute.order == "nominal" and attribute.name not in self.schema.types:
                    refuse_dates(attribute.name, attribute.domain)
            noun = self.schema.noun
            for attribute in attributes:
                style = (styles or {}).get(attribute.name)
                if attribute.name not in exact and _ends_at_values(attribute, style):
                    refuse_rare_ends(attribute, least, self.times, noun)
            attributes = [
                without_rare(attribute, least, self.times, attribute.name not in exact, noun)
                if lists_values(attribute, (styles or {}).get(attribute.name))
                else attribute
                for attribute in attributes
            ]
        return self._with_rows(self._read, attributes, self._values)

    @property
    def grids(self) -> dict[str, str]:
        """The grid of each column that is rounded, in words."""
        return grids_of(self.attributes)

    def _in_cells(
        self, attribute: Attribute, column: Column, styles: Mapping[str, str] | None
    ) -> Attribute:
        """An attribute in cells, where it is written as ranges of numbers or dates."""
        name, hierarchy = attribute.name, self.schema.hierarchies.get(attribute.name)
        style = (styles or {}).get(name, "range" if hierarchy is None else "hierarchy")
        laid = column.kind != "text" if hierarchy is None else isinstance(hierarchy, Grid)
        if style != "range" or not laid or attribute.cells is not None:
            return attribute
        if name not in self._cells:
            grid = cast("Grid | None", hierarchy)
            self._cells[name] = _in_cells(attribute, grid, self.times)
        return self._cells[name]

    @property
    def sensitives(self) -> tuple[Column, ...]:
        """The sensitive columns, as codes of everybody (of each occurrence) and their values."""
        return (self._read.sensitive, *self._read.further_sensitive)

    def combined(
        self, columns: Sequence[str], layout: Layout, units: int | None = None
    ) -> Microdata:
        """The same people, each with their combination of several columns as their one value.

        A search then counts combinations, and `GroupCounts.seen` what each requirement looks at.

        Parameters
        ----------
        columns : sequence of str
            Sensitive and other columns; the first is what is counted by default.
        layout : Layout
            How they are published.
        units : int, optional
            Persons, households and other units are told apart by so many numbers, which are fewer
            than the units: then no group has fewer different ones than it seems to have. Left out,
            each has a number of its own.
        """
        coded: dict[str, tuple[NDArray[Any], Labels]] = {}
        sensitive = {column.name: column for column in self.sensitives}
        bags: dict[str, Bags] = {}
        for name in columns:
            if name in self._read.holdings:
                column_holdings, how = self._read.holdings[name], self.schema.semantics_of(name)
                of_person, bags[name] = bags_of(
                    column_holdings.people,
                    column_holdings.values,
                    self.n_people,
                    Labels(sensitive[name].domain),
                    how,
                )
                coded[name] = of_person, Labels(range(len(bags[name].offsets) - 1))
            elif name in sensitive:
                coded[name] = sensitive[name].codes, Labels(sensitive[name].domain)
            else:
                coded[name] = self._beside(name, units)
        sizes = [len(labels) for _, labels in coded.values()]
        codes_of_person, rules_fired = [codes for codes, _ in coded.values()], self.fired(columns)
        if rules_fired is not None:
            codes_of_person, sizes = (
                [*codes_of_person, rules_fired.codes],
                [*sizes, len(rules_fired.perhaps)],
            )
        joint_of_person, first = combine(codes_of_person, sizes)
        columns_of_joint = {name: (codes[first], labels) for name, (codes, labels) in coded.items()}
        classes = Classes.none()
        if rules_fired is not None:
            values_of_rules = about_of(
                self.schema.impossible,
                {name: labels for name, (_, labels) in coded.items() if name in sensitive},
            )
            classes = Classes(
                rules_fired.codes[first], rules_fired.perhaps, rules_fired.surely, values_of_rules
            )
        layout = replace(layout, main=columns[0])
        values = JointLabels.of(columns_of_joint, layout, bags, classes)
        codes = joint_of_person.astype(narrowest(len(values)), copy=False)
        joint = Column(" and ".join(columns), codes, list(values), "text")
        return self._with_rows(
            replace(self._read, sensitive=joint, further_sensitive=(), holdings={}),
            self._attributes,
            values,
        )

    def _with_nodes(self, texts_of: Mapping[str, Sequence[str | None]]) -> dict[str, Hierarchy]:
        """The hierarchies of columns whose texts are not all values of it: some may be nodes."""
        with_nodes: dict[str, Hierarchy] = {}
        for name, texts in texts_of.items():
            hierarchy: Any = self.schema.hierarchies.get(name)
            if isinstance(hierarchy, Tree):
                listed = {str(row[0]) for row in hierarchy.rows}
            elif isinstance(hierarchy, Ordered):
                listed = {*map(str, hierarchy.values)}
            else:
                continue
            if not {text for text in texts if text is not None} <= listed:
                with_nodes[name] = hierarchy
        return with_nodes

    @property
    def nodes(self) -> tuple[str, ...]:
        """Columns of conditions whose texts may be nodes of a hierarchy, and not values."""
        texts = {name: self.unchanged(name)[1] for name in self.schema.conditions}
        return tuple(self._with_nodes(texts))

    def about_rule(self, place: int) -> tuple[NDArray[Any], list[str | None]]:
        """Whether a rule is about everybody: the code, and yes, no, or None where it is open."""
        fired = self._read.fired
        if fired is None:
            return np.zeros(self.n_people, np.int64), ["no"]
        certainties = zip(fired.perhaps[:, place], fired.surely[:, place], strict=True)
        return fired.codes, [
            "yes" if surely else None if perhaps else "no" for perhaps, surely in certainties
        ]

    def unchanged(self, name: str) -> tuple[NDArray[Any], list[Any]]:
        """A column that is no secret, as it stands: the code of everybody, and its values."""
        codes, distinct = self._unchanged(name)
        if pa.types.is_integer(distinct.type):  # Arrow writes them as Python does
            return codes, distinct.cast(pa.string()).to_pylist()
        return codes, [None if value is None else text_of(value) for value in distinct.to_pylist()]

    def _unchanged(self, name: str) -> tuple[NDArray[Any], pa.Array]:
        for rows in (self._read.other_columns, self._read.condition_columns):
            if name in rows.column_names:
                return codes_of(rows.column(name))
        return self.as_it_stands(name)

    def fired(self, columns: Collection[str]) -> Fired | None:
        """Which rules are about whom; None where none is about these sensitive columns."""
        rules = self.schema.impossible
        return self._read.fired if any(rule.sensitive in columns for rule in rules) else None

    def _beside(self, name: str, most_numbers: int | None) -> tuple[NDArray[Any], Labels]:
        """The code of everybody in a column that is no secret, whether it is published or not."""
        if name == CASES:
            people = self.persons
            cases, number = np.unique(np.bincount(people)[people], return_inverse=True)
            return number.reshape(-1), Labels(cases.tolist())
        if name not in self.schema.other and (column := numbered(name)) is not None:
            return self._units(column, most_numbers)
        codes, distinct = self._unchanged(name)
        return codes, Labels(range(len(distinct)))

    def as_it_stands(self, name: str) -> tuple[NDArray[Any], pa.Array]:
        """Any column of the table, published or not: the code of everybody, distinct values."""
        if self.times is not None:
            raise InternalError("equal rows were counted, and a column beside them is asked for")
        require(self.source, [name])
        if isinstance(self.source, Snapshot) and name not in self.source.held:
            raise DataError(
                f"{self.name}: column {name!r} was not read with the others; give the table itself "
                f"in place of this Microdata, or make that with beside = [{name!r}]"
            )
        if name not in self._beside_codes:
            codes, distinct = codes_of(fetch(self.source, [name]).column(name))
            source_rows = self._read.source_rows
            self._beside_codes[name] = (
                codes if source_rows is None else codes[source_rows],
                distinct,
            )
        return self._beside_codes[name]

    def grouped(self, columns: Sequence[str]) -> tuple[IntArray, GroupLabels]:
        """The group of everybody by columns that stand in the table, and what groups are called."""
        coded_columns = [self.as_it_stands(name) for name in columns]
        groups, first = combine(
            [codes for codes, _ in coded_columns], [len(values) for _, values in coded_columns]
        )
        texts = [values.take(pa.array(codes[first])).to_pylist() for codes, values in coded_columns]
        return groups, GroupLabels.of(zip(*texts, strict=True), columns)

    def _units(self, name: str, most_numbers: int | None) -> tuple[NDArray[Any], Labels]:
        """The unit of each row by a column; 0 for units of one row and for none.

        So a table in which few units have two rows has few different ones; at most
        `most_numbers`, where several may share a number.
        """
        codes, distinct = self.as_it_stands(name)
        is_shared = np.bincount(codes, minlength=len(distinct)) > 1
        is_shared[len(distinct) - distinct.null_count :] = False
        if name == self.schema.person and distinct.null_count:
            _ = self.persons  # a row that names nobody is of somebody
        number = np.cumsum(is_shared) - 1
        number = number if most_numbers is None else number % most_numbers
        place = np.where(is_shared, number + 1, 0)
        return place[codes], Labels(range(int(place.max(initial=0)) + 1))

    @cached_property
    def persons(self) -> IntArray:
        """The person of each case, as a number from 0.

        Raises
        ------
        DataError
            If a row names nobody.
        """
        person = cast("str", self.schema.person)
        codes, distinct = self.as_it_stands(person)
        if distinct.null_count:
            row = int(self.kept[np.argmax(codes == len(distinct) - 1)]) + 1
            raise DataError(
                f"{self.name}: row {row} names nobody in {person!r}, so whose case it is is not "
                "known; name a person in each row, or leave person out of the schema"
            )
        return codes.astype(np.int64)

    def column(self, name: str) -> tuple[NDArray[Any], list[Any]]:
        """The code of everybody (of each occurrence) in a column that is published; its values."""
        columns: list[Attribute | Column] = [*self.attributes, *self.sensitives]
        for column in columns:
            if column.name == name:
                return column.codes, column.domain
        codes, distinct = codes_of(self.other().column(name))
        return codes, distinct.to_pylist()

    def other(self) -> pa.Table:
        """The columns that are published as they are, one row per person."""
        return self._read.other_columns

    def counts(self, groups: NDArray[Any]) -> GroupCounts:
        """Count the sensitive values of a grouping, codes from 0.

        The grouping is of the people, or, as `partition` returns it, of the rows of the source
        with -1 for those that are left out.
        """
        if len(groups) > len(self.kept):
            groups = groups[self.kept]
        how: dict[str, Any] = {"values": self.values, "n_groups": int(groups.max()) + 1}
        if self.semantics == "single":
            codes = groups, self.sensitive_codes
            how["weights"] = self.times
        else:
            codes = groups[self.holdings.people], self.holdings.values
            how["sizes"] = np.bincount(groups, minlength=how["n_groups"])
        counts = GroupCounts.from_pairs(*codes, **how, semantics=self.semantics)
        return counts.of_rows(self.schema, self.schema.sensitive)

    def everyone(self) -> GroupCounts:
        """Count one group of everybody."""
        return self.counts(np.zeros(len(self._read.columns[0].codes), dtype=np.int64))

    def with_sensitive(self, codes: NDArray[Any]) -> Microdata:
        """The same people with other sensitive values, one each; nothing is read again.

        Examples
        --------
        >>> rows = pa.table({"age": [30, 41], "disease": ["Flu", "AIDS"]})
        >>> people = Microdata(rows, Schema(quasi_identifiers=["age"], sensitive="disease"))
        >>> other = people.with_sensitive(people.sensitive_codes[::-1])
        >>> [people.values[code] for code in other.sensitive_codes.tolist()]
        ['AIDS', 'Flu']
        """
        narrow = codes.astype(self.sensitive_codes.dtype, copy=False)
        sensitive = replace(self._read.sensitive, codes=narrow)
        return self._with_rows(
            replace(self._read, sensitive=sensitive), self._attributes, self._values
        )

    def only(self, rows: NDArray[np.bool_]) -> Microdata:
        """Some rows of the table, as another one; they are read anew."""
        return Microdata(self.prepared.only(rows), self.schema, beside=self.beside)

    def above(self, tables: Sequence[Microdata]) -> Microdata:
        """The same with the rows of other tables below; all are read anew."""
        prepared = self.prepared.above([table.prepared for table in tables])
        return Microdata(prepared, self.schema, beside=self.beside)

    def part(self, columns: Collection[str], people: IntArray | None = None) -> Microdata:
        """The same people, or some of them, by some of their quasi-identifiers, as coarse as here.

        Some of them, where each has one value and all is known by the columns that were read.
        """
        table_read, schema = self._read, self.schema
        names = [name for name in schema.quasi_identifiers if name in columns]
        attributes = [a for a in self.attributes if a.name in columns]
        kept_columns = [column for column in table_read.columns if column.name in columns]
        if people is not None:
            if table_read.people is not None or table_read.holdings:
                raise InternalError("people of several values are all counted, or none")
            attributes = [replace(a, codes=a.codes[people]) for a in attributes]
            kept_columns, further_sensitive = (
                [_column_of_people(c, people) for c in kept_columns],
                tuple(_column_of_people(c, people) for c in table_read.further_sensitive),
            )
            fired = table_read.fired and replace(
                table_read.fired, codes=table_read.fired.codes[people]
            )
            sensitive, other_columns = (
                _column_of_people(table_read.sensitive, people),
                table_read.other_columns.take(pa.array(people)),
            )
            table_read = _Read(
                kept_columns,
                sensitive,
                len(people),
                None,
                other_columns,
                further_sensitive=further_sensitive,
                fired=fired,
            )
        microdata = self._with_rows(
            replace(table_read, columns=kept_columns), attributes, self._values
        )
        gone = set(schema.quasi_identifiers).difference(names)
        laid = {
            name: hierarchy for name, hierarchy in schema.hierarchies.items() if name not in gone
        }
        types = {name: kind for name, kind in schema.types.items() if name not in gone}
        microdata.schema = replace(schema, quasi_identifiers=names, hierarchies=laid, types=types)
        return microdata

    def laid(self, hierarchies: Mapping[str, Any]) -> Microdata:
        """The same people, whose quasi-identifiers coarsen in another way."""
        microdata = self._with_rows(self._read, None, self._values)
        microdata.schema = replace(self.schema, hierarchies=hierarchies)
        return microdata

    def rows_of(self, groups: NDArray[Any]) -> IntArray:
        """Give each row of the source the group of its person; -1 to a row that is left out.

        Examples
        --------
        >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease", missing="drop")
        >>> rows = pa.table({"age": [30, 41, 50], "disease": ["Flu", None, "AIDS"]})
        >>> Microdata(rows, schema).rows_of(np.array([0, 1]))
        array([ 0, -1,  1])
        """
        groups_of_people: IntArray = groups.astype(np.int64, copy=False)
        if self._read.people is not None:
            spread: IntArray = groups_of_people[self._read.people.of_row]
            return spread
        if self._read.source_rows is None:
            return groups_of_people
        everything = np.full(self.n_entries, -1, dtype=np.int64)
        everything[self._read.source_rows] = groups_of_people
        return everything

    def __len__(self) -> int:
        return self.n_people

    def __repr__(self) -> str:
        return f"Microdata({self.name}, {len(self.schema.quasi_identifiers)} quasi-identifiers)"

    @property
    def was_read(self) -> bool:
        """True if its rows are at hand already."""
        return self._table_read is not None

    def _repr_html_(self) -> str:
        return page_of(self).summary()

    def digest(self, key: bytes) -> str:
        """Keyed BLAKE2b-256 of the published quasi-identifiers and sensitive values, as hex.

        Without the key nobody can test guesses of the table against it. It is the same whether
        numbers and dates came as such or as texts, from a file or in a frame.
        """
        state = hashlib.blake2b(key=key, digest_size=32)
        for column in (*self._read.columns, *self.sensitives):
            texts, ranks = _as_printed(column)
            state.update(repr((column.name, texts)).encode())
            if column.name in self._read.holdings:
                keys = self.holders_of(column.name).astype(np.int64) * len(texts)
                state.update(np.sort(keys + ranks[column.codes]).tobytes())
            else:
                for block in blocks(len(column.codes)):
                    state.update(ranks[column.codes[block]].tobytes())
        return state.hexdigest()

    def digest_of_counts(self, key: bytes) -> str:
        """The same of the table's equal rows and how often each occurs, whatever their order.

        Examples
        --------
        >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease")
        >>> one = pa.table({"age": [30, 41, 30], "disease": ["Flu", "AIDS", "Flu"]})
        >>> two = pa.table({"age": [30, 30, 41], "disease": ["Flu", "Flu", "AIDS"]})
        >>> len({Microdata(rows, schema).digest_of_counts(b"key") for rows in (one, two)})
        1
        """
        columns = [*self._read.columns, *self.sensitives]
        state = hashlib.blake2b(key=key, digest_size=32)
        printed_as = [(column, *_as_printed(column)) for column in columns]
        texts_and_codes = [(texts, ranks[column.codes]) for column, texts, ranks in printed_as]
        for column, (texts, _) in zip(columns, texts_and_codes, strict=True):
            state.update(repr((column.name, texts)).encode())
        of_entry, first = combine(
            [codes for _, codes in texts_and_codes], [len(texts) for texts, _ in texts_and_codes]
        )
        for _, codes in texts_and_codes:
            state.update(codes[first].tobytes())
        state.update(np.bincount(of_entry, self.times).astype(np.int64).tobytes())
        return state.hexdigest()

    def _attribute(self, column: Column) -> Attribute:
        level = self.schema.levels.get(column.name, Level())
        hierarchy = self.schema.hierarchies.get(column.name)
        if level.has_ends and not isinstance(hierarchy, (Intervals, type(None))):
            raise SchemaError(
                f"levels: top and bottom are for columns with intervals, or without a hierarchy, "
                f"and {column.name!r} has another one: say at_least, or leave that hierarchy out"
            )
        if level.has_ends:
            column, ends = coded_at_ends(column, level)
            attribute = with_open_ends(self._laid_out(column), ends)
        else:
            attribute = self._laid_out(column)
        return from_level(attribute, level.at_least, hierarchy) if level.at_least else attribute

    def with_rounding(self, steps: Mapping[str, int | float]) -> Microdata:
        """The same people, with numbers of some columns as multiples of these."""
        if dict(self.schema.rounding) == dict(steps):
            return self
        schema = replace(self.schema, rounding=steps)
        return Microdata(self.prepared, schema, beside=self.beside)

    def leveled(self, levels: Mapping[str, Level]) -> Microdata:
        """The same people, with columns no finer than may be published."""
        if dict(self.schema.levels) == dict(levels):
            return self
        microdata = copy(self)
        microdata.schema = replace(self.schema, levels=levels)
        microdata._attributes = microdata._by_engine = microdata._merged = microdata._keys = None
        microdata._cells = {}
        return microdata

    def _laid_out(self, column: Column) -> Attribute:
        hierarchy = cast("Hierarchy | None", self.schema.hierarchies.get(column.name))
        if hierarchy is None and column.categories:
            hierarchy = Ordered(column.categories)
        if hierarchy is None:
            order: Order = "nominal" if column.kind == "text" else "ordered"
            return Attribute(
                column.name, column.codes, column.domain, order, (), (), _positions(column)
            )

        def first_row(code: int) -> int:
            return int(self.kept[column.first_row(code) - 1]) + 1

        levels = hierarchy.levels(column.domain, column.name, first_row)
        place = np.empty(len(levels.order), dtype=column.codes.dtype)
        place[levels.order] = np.arange(len(levels.order), dtype=column.codes.dtype)
        return Attribute(
            column.name,
            place[column.codes],
            [column.domain[i] for i in levels.order.tolist()],
            "ordered",
            levels.ancestors,
            levels.labels,
            np.arange(len(column.domain), dtype=np.float64),
            getattr(hierarchy, "listed", frozenset()),
        )


def _column_of_people(column: Column, people: IntArray) -> Column:
    return replace(column, codes=column.codes[people])


def _as_printed(column: Column) -> tuple[list[str], IntArray]:
    """The values of a column as texts that do not depend on how they came; the rank of each."""
    texts = list(map(printed, column.domain))
    distinct = sorted(set(texts))
    place = {text: code for code, text in enumerate(distinct)}
    return distinct, np.array([place[text] for text in texts], dtype=np.int64)


def printed(value: Any) -> str:
    """A value in one way: 1.50, 1.5 and "1.5" are one number, and "01" is a text.

    >>> [printed(value) for value in (None, 5.0, "5.0", "05", Decimal("0.10"), 0.1, "flu")]
    ['-', '=5', '=5', '=05', '=0.1', '=0.1', '=flu']
    """
    if value is None:
        return "-"
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return f"={value.isoformat()}"
    text = str(value)
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        return f"={text}"
    plain, point, decimals = f"{Decimal(text):f}".partition(".")
    decimals = decimals.rstrip("0")
    return f"={plain}{point}{decimals}" if decimals else f"={'0' if plain == '-0' else plain}"


# A number as it is written without a zero before it.
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d{1,3})?")


def grids_of(attributes: Iterable[Attribute]) -> dict[str, str]:
    """The grid of each attribute that is in cells, in words."""
    return {a.name: words_of(a.cells.grid) for a in attributes if a.cells and a.cells.grid}


def lists_values(attribute: Attribute, style: str | None) -> bool:
    """True if labels of an attribute list its values, and nobody insists on all of them."""
    return style == "set" or (style is None and attribute.order == "nominal")


def without_rare(
    attribute: Attribute,
    limit: int,
    times: IntArray | None = None,
    merging: bool = True,
    noun: str = "people",
) -> Attribute:
    """The same with the values that fewer than `limit` people have as one value, `other`.

    >>> jobs = ["Cook"] * 5 + ["Nurse"] * 5 + ["Pope"]
    >>> rows = pa.table({"job": jobs, "disease": ["Flu"] * 11})
    >>> people = Microdata(rows, Schema(quasi_identifiers=["job"], sensitive="disease"))
    >>> without_rare(people.attributes[0], 5).domain
    ['Cook', 'Nurse', 'other']
    """
    domain = attribute.domain
    rare = np.bincount(attribute.codes, times, len(domain)) < limit
    first = int(domain[0] is None)  # that a value is missing is none of them
    n_rare = int(np.count_nonzero(rare[first:]))
    if not n_rare:
        return attribute
    if merging and not attribute.ancestors and 2 * n_rare <= len(rare) - first:
        return merged(attribute, rare)
    ways = 'a coarser column, or publish with form = "bucketized"'
    if attribute.ancestors:
        ways = 'labels by its hierarchy: leave out labels = "set"'
    elif attribute.order == "ordered":
        ways = 'ranges: leave out labels = "set"'
    elif merging:
        ways = "a hierarchy, its type, or make it one of the identifiers"
    looks = doubts(attribute.name, domain)
    error = _too_rare(attribute, rare[first:], f"{limit} {noun}", "labels would list them", ways)
    raise SchemaError(f"{error}{'' if looks is None else f'. It {looks}'}")


def _too_rare(
    attribute: Attribute, rare: NDArray[np.bool_], limit_text: str, what: str, ways: str
) -> SchemaError:
    """The error where values that few people have would be seen."""
    exact = f'labels = {{ {json.dumps(attribute.name)} = "exact" }}'
    return SchemaError(
        f"column {attribute.name!r}: {np.count_nonzero(rare):,} of its {len(rare):,} values are "
        f"had by fewer than {limit_text} each, and {what}; give it {ways}; or say {exact} in "
        "[publish] to show them all"
    )


def _ends_at_values(attribute: Attribute, style: str | None) -> bool:
    """True if its ranges begin and end at values of members, and nobody insists on that."""
    if attribute.cells is not None or attribute.order != "ordered":
        return False
    return style == "range" or (style is None and not attribute.ancestors)


def refuse_rare_ends(
    attribute: Attribute, limit: int, times: IntArray | None = None, noun: str = "people"
) -> None:
    """Raise `SchemaError` where ranges would end at values of which most are those of few people.

    No grid hides them: texts in an order, or numbers of which some are not finite.

    >>> rows = pa.table({"ward": ["A1", "B2", "C3"], "disease": ["Flu"] * 3})
    >>> people = Microdata(rows, quasi_identifiers=["ward"], sensitive="disease")
    >>> try:
    ...     refuse_rare_ends(people.attributes[0], 5)
    ... except SchemaError as error:
    ...     print(str(error)[:67])
    column 'ward': 3 of its 3 values are had by fewer than 5 people eac
    """
    domain = attribute.domain
    first = int(domain[0] is None)
    rare = np.bincount(attribute.codes, times, len(domain))[first:] < limit
    endless = any(isinstance(value, float) and not np.isfinite(value) for value in domain[first:])
    if not rare.any() or (2 * np.count_nonzero(rare) <= len(rare) and not endless):
        return
    ways = "coarser values first, or a hierarchy with levels"
    if endless:
        ways = "finite numbers in place of inf, or say that these are missing"
    elif attribute.ancestors:
        ways = 'labels by its hierarchy: leave out labels = "range"'
    raise _too_rare(attribute, rare, f"{limit} {noun}", "ranges would end at them", ways)


def merged(attribute: Attribute, rare: NDArray[np.bool_]) -> Attribute:
    """The same with some values, but not with a missing one, as one value, `other`; the last."""
    domain = attribute.domain
    kept_codes = np.flatnonzero(~rare | np.array([value is None for value in domain]))
    of_value = np.full(len(domain), len(kept_codes), dtype=np.int64)
    of_value[kept_codes] = np.arange(len(kept_codes))
    label, used_labels = OTHER, set(map(text_of, domain))
    while label in used_labels:
        label += "+"
    places = np.arange(len(kept_codes) + 1, dtype=np.float64)
    values = replace(attribute, ancestors=(of_value, np.zeros_like(of_value)))
    return replace(
        attribute,
        codes=of_value.astype(narrowest(len(kept_codes) + 1))[attribute.codes],
        domain=[*(domain[code] for code in kept_codes.tolist()), label],
        order="nominal",
        positions=places,
        cells=GridCells(None, values, (), places),
    )


def _in_cells(attribute: Attribute, grid: Grid | None, times: IntArray | None = None) -> Attribute:
    """Put the values of an attribute in the cells of a grid, or of the finest that serves."""
    domain, codes = attribute.domain, attribute.codes
    first = int(domain[0] is None)
    has_grid = grid is not None
    if grid is None:
        people = np.bincount(codes, times, len(domain))[first:].astype(np.int64)
        grid = grid_of(domain[first:], people) if len(people) else None
    if grid is None:
        return attribute
    levels = grid.levels(domain, attribute.name, lambda _: 0)
    of_value = np.empty(len(domain), dtype=np.int64)
    of_value[levels.order] = levels.ancestors[0]
    names = levels.labels[0]
    texts = [name.split(" to ") for name in names]
    is_bottom, is_top = reached_ends(attribute, names)
    if is_top:
        texts[-1] = [texts[-1][0], ""]  # it has no end
    if is_bottom:
        texts[first] = ["", texts[first][-1]]
    names = opened(attribute, names)
    places = ends_of(grid, levels, domain)
    if not np.isfinite(np.ptp(places)) or not np.isfinite(places).all():
        places = np.arange(len(names) - first)[:, None] + np.array([0.0, 1.0])
    if first:
        gap = (places[-1, 1] - places[0, 0]) / max(len(places), 1) if len(places) else 1.0
        places = _after_null(places, gap)
    ancestors = attribute.ancestors if has_grid else (of_value, np.zeros_like(of_value))
    leaf = np.searchsorted(of_value, np.arange(len(names)))
    labels = attribute.labels if has_grid else (names, ("*",))
    values = replace(attribute, ancestors=ancestors, labels=labels)
    return replace(
        attribute,
        codes=of_value.astype(narrowest(len(names)))[codes],
        domain=[*[None] * first, *names[first:]],
        ancestors=tuple(nodes[leaf] for nodes in ancestors) if has_grid else (),
        labels=labels if has_grid else (),
        positions=places[:, 0].copy(),
        cells=GridCells(grid, values, tuple((t[0], t[-1]) for t in texts), places[:, 1].copy()),
    )


def _positions(column: Column) -> NDArray[np.float64]:
    """Where values lie on a line: numbers and dates by size, others by rank."""
    values = [value for value in column.domain if value is not None]
    if column.kind == "number":
        lie = np.array([_float(v) for v in values])
    elif column.kind == "date" and values:
        lie = np.array([days_of(value) for value in values])
    else:
        lie = np.arange(len(values), dtype=np.float64)
    if len(lie) and not np.isfinite(2 * (lie[-1] / 2 - lie[0] / 2) + 2 * abs(lie).max()):
        lie = np.arange(len(values), dtype=np.float64)
    if not column.has_null:
        return lie
    gap = (lie[-1] - lie[0]) / max(len(lie) - 1, 1) if len(lie) else 1.0
    return _after_null(lie, gap or 1.0)


def _after_null(places: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Put a null first: a value of its own, as far from its neighbour as others are apart."""
    null = places[:1].min(initial=np.inf) - gap if len(places) else 0.0
    return np.concatenate((np.full((1, *places.shape[1:]), null), places))


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")
