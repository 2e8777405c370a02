"""Households: values that all members of a household have, and that are shown once for each.

The value stands in the first row of a household that is published; the other rows say that it is
shown elsewhere. One more column says which rows are which. So households are counted as people are:
that column divides groups, as every column does that is known of everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.call_hints import Plain
from foreknow.data.arrays import IntArray
from foreknow.data.people.missing_values import Presence, drops
from foreknow.data.people.persons import first_rows
from foreknow.data.person_names import refuse_two_spellings
from foreknow.data.tables.columns import Missing, as_plain_texts, codes_of, plain_table
from foreknow.data.tables.table import Derived, Table
from foreknow.errors import SchemaError, did_you_mean
from foreknow.settings import read
from foreknow_judge.errors import DataError
from foreknow_judge.policy.grammar import SHOWN_ELSEWHERE, SharedTable

if TYPE_CHECKING:
    from foreknow.data.columns.reading_rules import Reading
    from foreknow.data.schema import Schema

# What stands in the other rows of a household, and in the column beside.
ELSEWHERE, HERE = SHOWN_ELSEWHERE, "here"


@dataclass(frozen=True)
class Shared(Plain):
    """Which sensitive columns all rows of a household share, and the column that numbers these."""

    _json_fields = "by values"
    by: str
    values: tuple[str, ...]

    @classmethod
    def of(cls, setting: Any, sensitives: Sequence[str]) -> Shared | None:
        """Read ``{ by = "household_id", values = ["income"] }``."""
        if setting is None or isinstance(setting, Shared):
            return setting
        table = read(SharedTable, setting, "shared", SchemaError)
        for name in table.values:
            if name not in sensitives:
                hint = did_you_mean(name, sensitives)
                raise SchemaError(f"shared: {name!r} is no sensitive column{hint}")
        return cls(table.by, table.values)

    @property
    def column(self) -> str:
        """The column that says in which row of a household its values are shown."""
        return f"{self.by}_shown"


class ShownOnce(Derived):
    """A table in which the values of a household stand in its first row that is published."""

    def __init__(self, table: Table, schema: Schema, reading: Reading) -> None:
        assert isinstance(schema.shared, Shared)
        super().__init__(table)
        self.is_stable = table.is_stable
        self.columns = [*table.columns, schema.shared.column]
        self._schema, self._shared, self._reading = schema, schema.shared, reading
        self.shared_values = schema.shared.values

    @property
    def unshown(self) -> Table:
        """The table in which each row of a household has its values."""
        return self._table

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns; shared ones show the value of a household in one of its rows."""
        shared = self._shared
        shared_columns = [name for name in columns if name in (*shared.values, shared.column)]
        table_columns = [name for name in columns if name != shared.column]
        needed_columns = [shared.by, *self._needed] if shared_columns else []
        rows = self._table.arrow(list(dict.fromkeys([*table_columns, *needed_columns])))
        if not shared_columns:
            return rows
        showing_row = self._showing_rows(rows)
        is_showing = showing_row == np.arange(len(showing_row))
        arrays = {}
        for name in columns:
            if name == shared.column:
                arrays[name] = pa.array(np.where(is_showing, HERE, ELSEWHERE))
            elif name in shared.values:
                arrays[name] = self._show_once(name, rows.column(name), showing_row, is_showing)
            else:
                arrays[name] = rows.column(name)
        return pa.table(arrays)

    @property
    def _needed(self) -> Sequence[str]:
        """The columns of which a row must show a value to be published; else it is left out."""
        dropped = drops(cast("Missing", self._schema.missing))
        return self._schema.sensitives if dropped else ()

    def _showing_rows(self, rows: pa.Table) -> IntArray:
        """For each row, the row of its household that shows the shared values; shape (rows,).

        It is the first row with all sensitive values, else the first at all; the row itself, if the
        row names no household.
        """
        homes, distinct = codes_of(rows.column(self._shared.by))
        refuse_two_spellings(distinct.to_pylist(), repr(self._shared.by), repeated=True)
        row_of_home = first_rows(homes, len(distinct))
        if self._needed:
            presence = Presence.of(
                plain_table(rows.select(self._needed), self._needed), self._needed
            )
            # Only complete rows are published. In reverse order, since the last assignment stays.
            complete_rows = np.flatnonzero(presence.shows_each)[::-1]
            row_of_home[homes[complete_rows]] = complete_rows
        showing_row = row_of_home[homes]
        if distinct.null_count:
            # A null, which has the last code, is no household.
            showing_row = np.where(homes == len(distinct) - 1, np.arange(len(homes)), showing_row)
        return showing_row

    def _show_once(
        self,
        name: str,
        values: pa.ChunkedArray,
        showing_row: IntArray,
        is_showing: NDArray[np.bool_],
    ) -> pa.Array:
        """A shared column with a household's value in one of its rows, `ELSEWHERE` in the others.

        Raises `DataError` if the rows of a household have two values. `showing_row` is, for each
        row, the row of its household that shows the value; `is_showing` marks these rows.
        """
        schema: Any = self._schema
        texts = as_plain_texts(name, values, self._reading, schema.types.get(name))
        codes, distinct = codes_of(texts)
        differs = codes != codes[showing_row]
        if differs.any():
            row = int(np.argmax(differs))
            other_row = int(showing_row[row])
            value, other_value = (distinct[int(codes[r])].as_py() for r in (row, other_row))
            raise DataError(
                f"{self.name}: rows {other_row + 1} and {row + 1} are of one "
                f"{self._shared.by}, and have {name} {other_value!r} and {value!r}; what a "
                "household shares is one value, so correct these, or take the column out of shared"
            )
        plain_texts = texts.cast(pa.string()).combine_chunks()
        if bool(pc.any(pc.equal(plain_texts, ELSEWHERE)).as_py()):
            raise DataError(f"{self.name}: {ELSEWHERE!r} is a value of {name!r}; call it otherwise")
        is_shown = pa.array(is_showing)
        # A row without a value is left out, so its value must not count as shown elsewhere.
        if self._needed:
            is_shown = pc.or_(is_shown, pc.is_null(plain_texts))
        return pc.if_else(is_shown, plain_texts, ELSEWHERE)

    def counted(self, columns: Sequence[str]) -> str:
        """Why no engine counts them."""
        return f"households share values of {', '.join(self._shared.values)}"
