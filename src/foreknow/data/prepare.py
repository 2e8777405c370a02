"""Prepare: a raw table and a schema become what is counted, by audits and publications alike."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from foreknow.data.columns.reading_rules import BLANKS, Reading
from foreknow.data.people.households import Shared, ShownOnce
from foreknow.data.people.missing_values import Presence
from foreknow.data.people.persons import refuse_repeats, require_person
from foreknow.data.people.repeated_people import (
    refuse_repeated,
    refuse_rows_of_one,
    refuse_spelt_twice,
)
from foreknow.data.schema import Schema
from foreknow.data.tables.columns import Relabel, UnreadColumn, alike_texts, fetch
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.table import (
    Selected,
    Snapshot,
    Table,
    free_name,
    holds_lists,
    require,
    stable,
)
from foreknow.data.tables.views.read_values import ReadValues, read_otherwise
from foreknow.data.tables.views.stacked_tables import Below
from foreknow.errors import SchemaError
from foreknow_judge.policy.grammar import Kind

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
# What the name of a column ends with that was shuffled within each group: a reader must know.
SHUFFLED = "_shuffled"


def header_of_shuffled(name: str, headers: Collection[str] | None = None) -> str:
    """The header of a column that was shuffled, such as pay_shuffled for pay.

    With the `headers` of a table, it is the one of both that the table has.

    >>> header_of_shuffled("pay"), header_of_shuffled("pay", ["age", "pay"])
    ('pay_shuffled', 'pay')
    """
    header = f"{name}{SHUFFLED}"
    return header if headers is None or (name not in headers and header in headers) else name


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table as it is counted by a schema; made by `prepare`, and nowhere else.

    Attributes
    ----------
    source : Table
        All columns and rows, as they stand, except that texts for a missing value are nulls, and
        a value that a household shares is shown once.
    schema : Schema
    reading : Reading
        How numbers and dates are written in it.
    raw : bool
        Whether it is surely a raw table. Otherwise it may be a release, whose values were read
        before.
    kinds : mapping of str to str or None
        The columns whose numbers and dates `table` reads, with the types that the schema gives
        them.
    is_part : bool
        Whether it has only some rows of the raw table.
    """

    source: Table
    schema: Schema
    reading: Reading
    raw: bool
    kinds: Mapping[str, Kind | None]
    is_part: bool = False
    _checked: set[str] = field(default_factory=set, repr=False)  # "people", once these are checked

    @cached_property
    def table(self) -> Table:
        """The table, with sensitive numbers and dates written as everybody reads them alike."""
        if not self.kinds:
            return self.source
        missing = self.schema.missing
        label = str(missing) if isinstance(missing, Relabel) else ""
        return ReadValues(
            self.source,
            self.kinds,
            self.reading,
            label=label,
            raw=self.raw,
            rounding=self.schema.rounding if self.raw else {},
        )

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        return self.source.name

    @property
    def person(self) -> str | None:
        """The column that tells people apart; None for cases, and where a release lacks it."""
        return next(iter(self.persons), None)

    @property
    def persons(self) -> list[str]:
        """The column that tells people apart, as a list.

        It is empty for cases, and where a release lacks the column.
        """
        # With several values per person the column is needed, so that its absence is an error.
        columns = {*self.source.columns, *self.schema.repeated_persons}
        return [name for name in self.schema.row_persons if name in columns]

    def of_people(self, columns: Sequence[str]) -> Prepared:
        """The table, after checking that nobody with one value per person stands in two rows.

        `columns` are read once if the table may give rows in another order the next time, and it
        matters which rows stand beside or before each other.
        """
        self._require_persons()
        # Whether it matters which rows stand beside or before each other.
        order_matters = [*self.persons, *self.schema.several, *self.schema.households]
        prepared = self.read_once(columns) if order_matters else self
        prepared.refuse_repeats()
        return prepared

    def read_once(self, columns: Sequence[str]) -> Prepared:
        """The same; some columns are read only once if reading again may give another order."""
        source = stable(self.source, columns)
        return self if source is self.source else replace(self, source=source, _checked=set())

    def holding(self, columns: Sequence[str]) -> Prepared:
        """The same with some columns, which are read, for a process that can open nothing."""
        return replace(self, source=Snapshot(self.source, list(columns)))

    def only(self, rows: NDArray[np.bool_]) -> Prepared:
        """Some of its rows, as a mask; whether people stand in two of them is checked again."""
        return replace(self, source=Selected(self.source, rows), is_part=True, _checked=set())

    def above(self, tables: Sequence[Prepared]) -> Prepared:
        """The same with the rows of other tables below, which are read by the same schema."""
        sources = [self.source, *(table.source for table in tables)]
        return replace(self, source=Below(sources), _checked=set())

    def showing(self, column: str | None) -> Prepared:
        """The rows of people who show a value of one sensitive column, or of any.

        `column` is None for any: values are then those of the first column, and a label for none.
        """
        if column is not None:
            return replace(self, schema=self.schema.of_column(column))
        rows, first = fetch(self.source, self.schema.sensitives), self.schema.sensitive
        texts = {str(value) for value in rows.column(first).unique().to_pylist()}
        # This label, which is no value of the column, stands for a missing value.
        label = Relabel(free_name("missing", texts))
        restricted = self.only(Presence.of(rows, self.schema.sensitives).shows_any)
        schema = replace(self.schema.of_column(first), missing=label)
        return replace(restricted, schema=schema, is_part=self.is_part)

    def refuse_repeats(self, rows: Any = None, *, in_place: bool = False) -> None:
        """Raise `DataError` if rows are to be people, and somebody stands in two.

        Parameters
        ----------
        rows : Arrow table, optional
            Those of the table, where they were fetched.
        in_place : bool
            Whether its rows are counted where they lie, and never fetched.
        """
        # The check costs a reading; a stable table needs only one.
        if self._checked:
            return
        refuse_repeated(self.source, self.schema)
        if not self.schema.several:
            self._refuse_two_rows(rows, in_place)
        if self.source.is_stable:
            self._checked.add("people")

    def _refuse_two_rows(self, rows: Any, in_place: bool) -> None:
        """Raise `DataError` if somebody who has one value stands in two rows."""
        # The engine counts the rows where they lie, so it also looks for repeats.
        for person in self.persons if in_place else ():
            refuse_rows_of_one(self.source, person)
        if in_place:
            return
        # The rows are in memory: find the two rows, for the message.
        for person in self.persons:
            refuse_repeats(self.source, person, rows)
        refuse_spelt_twice(
            self.source, self.persons or self.schema.unique_identifiers(self.schema.person)
        )

    def roles(self, further_columns: Sequence[str] = ()) -> list[str]:
        """The columns by which people are published and counted, and further ones; each once."""
        schema = self.schema
        published = [
            *schema.quasi_identifiers,
            *schema.other,
            *schema.identifiers,
            *schema.conditions,
            *filter(None, [schema.weights]),
        ]
        return list(
            dict.fromkeys([*published, *schema.sensitives, *schema.persons, *further_columns])
        )

    def require_roles(self, further_columns: Sequence[str] = ()) -> None:
        """Raise an error for the first column that a raw table lacks."""
        if not self.schema.quasi_identifiers:
            raise SchemaError("quasi_identifiers is empty; name the columns that others may know")
        schema = self.schema
        names = self.roles(further_columns)
        key_of_further = dict.fromkeys(further_columns, "knowing of a requirement")
        require(self.source, names, lambda name: schema.key_of(name) or key_of_further.get(name))
        self._require_persons()

    def _require_persons(self) -> None:
        """Raise `SchemaError` if people may have several rows and no column tells them apart."""
        for name, semantics in self.schema.several.items():
            header = header_of_shuffled(name, self.source.columns)
            listed = holds_lists(self.source, header)
            require_person(self.source, header, self.schema.person, semantics, listed=listed)

    def read(self, rows: Any) -> Any:
        """Rows that an engine counted of `source`, with the values that `table` has."""
        return self.table.read(rows) if isinstance(self.table, ReadValues) else rows


def prepare(
    source: Any,
    schema: Schema,
    reading: Reading | None = None,
    *,
    raw: bool = True,
    as_written: bool = False,
    plainly: bool = True,
) -> Prepared:
    """Read a table as a schema describes it; audits and publications both begin here.

    Parameters
    ----------
    source : path, frame or Prepared
        See `foreknow.data.tables.open_table`.
    schema : Schema
    reading : Reading, optional
        How the file is written, where the schema's `reading` does not say so or is to be overruled.
    raw : bool
        Whether this is surely a raw table. It may be a release otherwise, whose values were read
        before; what could be either is refused.
    as_written : bool
        Whether texts for a missing value become nulls only in the columns of sensitive values and
        people. A reader of a table sees such a text, and not an empty cell.
    plainly : bool
        Whether sensitive numbers and dates are read. Otherwise they are compared as they are
        written.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"age": [30, 41, 50], "pay": ["1,5", "1,50", "NA"]})
    >>> reading = {"decimal": ",", "missing": ["NA"]}
    >>> schema = Schema(quasi_identifiers=["age"], sensitive="pay", reading=reading)
    >>> prepare(rows, schema).table.arrow(["pay"]).column("pay").to_pylist()
    ['1.5', '1.5', None]
    """
    if isinstance(source, Prepared):
        if schema is source.schema:
            return source
        # It was prepared by another schema: keep how it is read, and apply this one.
        table, file_reading, raw = source.source, source.reading, source.raw
    else:
        declared = cast("Reading", schema.reading)
        file_reading = declared if reading is None else Reading.of(reading).over(declared)
        spelled_columns = (*schema.sensitives, *schema.persons) if as_written else None
        table = open_table(source, file_reading, only=spelled_columns)
    table = _shown_once(table, schema, file_reading, raw=raw)
    kinds = {}
    for name in schema.sensitives if plainly else ():
        kinds[header_of_shuffled(name, table.columns)] = schema.types.get(name)
    # Values that households share were read when they were shown once.
    for name in _shared_values(table):
        kinds.pop(name, None)
    if raw:
        kinds |= dict.fromkeys(schema.rounding, "number")
    return Prepared(table, schema, reading=file_reading, raw=raw, kinds=kinds)


def refuse_as_written(name: str, texts: list[str], schema: Schema, *, by_hand: bool) -> None:
    """Raise `SchemaError` if values were counted as texts that mean something else by a schema.

    By the schema, a text may stand for a missing value, two texts for one value, or a text for a
    number that is written in another way.

    Parameters
    ----------
    name : str
        The sensitive column.
    texts : list of str
        Its distinct values.
    schema : Schema
    by_hand : bool
        Whether it was counted by no schema, so that numbers may not have been read at all.
    """
    reading = cast("Reading", schema.reading)
    for text in texts:
        if text.strip(BLANKS) in reading.spellings_of(name):
            raise SchemaError(
                f"by the policy's reading, {text!r} in {name!r} says that a value is missing, "
                "and here it is counted as a value: leave these people out, give the table "
                "itself, or take it out of missing of the reading"
            )
    first_text: dict[str, str] = {}  # the first text of each value
    texts = [text for text in texts if not _HALF_CHARACTER.search(text)]  # no file holds these
    kind = schema.types.get(name)
    try:
        plain_texts = alike_texts(name, texts, reading, kind)
    except UnreadColumn as error:
        raise SchemaError(
            f"by the schema {name!r} holds a {kind} for everybody, and here somebody has "
            f"{error.value!r}: if that stands for a missing value, say missing = {{ label = "
            f"{json.dumps(error.value, ensure_ascii=False)} }} in the schema; else take "
            f"{name!r} out of types"
        ) from None
    # Two texts that the schema reads as one value would be counted as two.
    for text, plain_text in zip(texts, plain_texts, strict=True):
        if first_text.setdefault(plain_text, text) != text:
            raise SchemaError(
                f"by the schema {first_text[plain_text]!r} and {text!r} in {name!r} are one value, "
                "and here they are counted as they are written: write them alike, as publish does"
            )
    number_of_text = read_otherwise(texts, plain_texts) if by_hand else {}
    for text, number in number_of_text.items():
        raise SchemaError(
            f"by the policy's reading {text!r} in {name!r} is {number}, and "
            "here it is counted as it is written: give the table itself; or, if numbers and "
            "dates were read before, take decimal and date_format out of the reading"
        )


def _shown_once(table: Table, schema: Schema, file_reading: Reading, *, raw: bool) -> Table:
    """A table in which values that a household shares are shown once, as they are in a release."""
    shared = schema.shared
    if not isinstance(shared, Shared) or _shared_values(table):
        return table
    # A release has the column that was added, and not the one that numbers households.
    may_be_release = not raw and shared.by not in table.columns
    if may_be_release:
        return table
    if shared.column in table.columns:
        raise SchemaError(
            f"{table.name} has a column {shared.column!r}, which is what the column is called "
            "that shared adds, and which says where a household's value is shown: rename it"
        )
    require(table, [shared.by], schema.key_of)
    return ShownOnce(table, schema, file_reading)


def _shared_values(table: Table) -> Collection[str]:
    """The columns of a table whose values are shown once for each household."""
    inner = table.inner if isinstance(table, Snapshot) else table
    columns: Collection[str] = getattr(inner, "shared_values", ())
    return columns
