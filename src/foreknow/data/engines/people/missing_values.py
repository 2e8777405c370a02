"""Missing: which rows show no value of which sensitive column, and who is counted without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.engines.columns import Missing, Relabel, codes_of, to_python
from foreknow.data.labels.labels import text_of
from foreknow_judge.errors import DataError


def drops(missing: Missing) -> bool:
    """True if people without a value are left out."""
    return missing == "drop" and not isinstance(missing, Relabel)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows that are not counted for a sensitive column, of which they show no value."""

    column: str
    number: int
    rows: IntArray | None  # where they are in the table; None where its equal rows were counted
    reason: str = "no value is shown"


@dataclass(frozen=True, eq=False)
class Shown:
    """Which rows show a value of which sensitive column: the one list by which rows are left out.

    What is published are rows with a value of each column. Who audits a table counts a row for
    each column of which it shows a value, and as one of the people if it shows a value of any.

    Examples
    --------
    >>> rows = pa.table({"ill": ["flu", None, None], "pay": ["1", "2", None]})
    >>> shown = Shown.of(rows, ["ill", "pay"])
    >>> shown.of_each.tolist(), shown.of_any.tolist()
    ([True, False, False], [True, True, False])
    >>> [(own.column, own.rows.tolist()) for own in shown.left_out]
    [('ill', [1, 2]), ('pay', [2])]
    """

    lacking: Mapping[str, NDArray[np.bool_] | None]  # of each column; None where each row shows it
    n_rows: int
    times: IntArray | None  # how often each row occurs, where equal ones were counted
    numbered: bool  # whether rows are in the order of the table

    @classmethod
    def of(
        cls,
        rows: pa.Table,
        columns: Sequence[str],
        times: IntArray | None = None,
        *,
        numbered: bool = True,
    ) -> Shown:
        """See which of some plain rows show a value of which of some columns.

        `times` are how often each row occurs; None: once. `numbered` says if rows are in the order
        of the table.
        """
        lacking = {}
        for name in columns:
            column = rows.column(name)
            lacking[name] = pc.is_null(column).to_numpy() if column.null_count else None
        return cls(lacking, len(rows), times, numbered)

    @cached_property
    def of_each(self) -> NDArray[np.bool_]:
        """Rows that show a value of each column."""
        is_shown = np.ones(self.n_rows, dtype=bool)
        for lacks in self.lacking.values():
            if lacks is not None:
                is_shown &= ~lacks
        return is_shown

    @cached_property
    def of_any(self) -> NDArray[np.bool_]:
        """Rows that show a value of any column; all, where there is no column."""
        nothing = np.ones(self.n_rows, dtype=bool)
        for lacks in self.lacking.values():
            nothing &= False if lacks is None else lacks
        return ~nothing if self.lacking else nothing

    @property
    def complete(self) -> bool:
        """True if each row shows all values."""
        return all(lacks is None for lacks in self.lacking.values())

    @property
    def partly(self) -> bool:
        """True if some rows show values of some columns, and not of all."""
        return not self.complete and not np.array_equal(self.of_each, self.of_any)

    @property
    def incomplete(self) -> int:
        """How many rows of the table lack some value, so that they are not published."""
        return 0 if self.complete else self._number(~self.of_each)

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The rows that are not counted, by column."""
        return tuple(
            LeftOut(name, self._number(lacks), np.flatnonzero(lacks) if self.numbered else None)
            for name, lacks in self.lacking.items()
            if lacks is not None
        )

    def _number(self, rows: NDArray[np.bool_]) -> int:
        return int(rows.sum() if self.times is None else self.times[rows].sum())


class Settled(NamedTuple):
    """Rows that are counted, once their missing values are dealt with."""

    rows: pa.Table
    kept: IntArray | None  # where they were before; None where none is left out
    shown: Shown  # of all rows


def settle(
    name: str,
    rows: pa.Table,
    columns: Sequence[str],
    missing: Missing,
    *,
    times: NDArray[Any] | None = None,
    numbered: bool = True,
) -> Settled:
    """Drop or label rows in which a sensitive value is missing, or raise `DataError` for them.

    Parameters
    ----------
    name : str
        The table, in messages.
    rows : table
        Its rows, plain.
    columns : sequence of str
        The sensitive columns.
    missing : "error", "drop" or Relabel
        What the schema says is done.
    times : integer array, optional
        How often each row occurs, where equal rows were counted.
    numbered : bool
        Whether rows are in the order of the table, so that a message may name one.
    """
    presence = Shown.of(rows, columns, times, numbered=numbered)
    if presence.complete:
        return Settled(rows, None, presence)
    if isinstance(missing, Relabel):
        for column, lacks in presence.lacking.items():
            if lacks is not None:
                index = rows.column_names.index(column)
                labelled = _labelled(column, rows.column(column), missing)
                rows = rows.set_column(index, column, labelled)
        return Settled(rows, None, presence)
    if not drops(missing):
        raise _lacking(name, presence.left_out[0])
    kept_rows = np.flatnonzero(presence.of_each)
    if not len(kept_rows):
        raise DataError(
            f'{name} has no rows with {_never_shown(presence)!r}, and missing = "drop" leaves all '
            "others out"
        )
    # Without codes, no dictionary keeps values of the rows that are left out.
    for column, lacks in presence.lacking.items():
        if lacks is not None and pa.types.is_dictionary(rows.schema.field(column).type):
            values = rows.column(column)
            rows = rows.set_column(
                rows.column_names.index(column), column, values.cast(values.type.value_type)
            )
    return Settled(rows.take(pa.array(kept_rows)), kept_rows, presence)


def _labelled(name: str, column: pa.ChunkedArray, label: str) -> pa.ChunkedArray:
    """A column as texts, with a label in place of missing values."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    codes, distinct = codes_of(column)
    texts = pa.array([text_of(value) for value in to_python(name, distinct)], pa.string())
    return pc.if_else(pc.is_null(column), str(label), texts.take(pa.array(codes)))


def _never_shown(presence: Shown) -> str:
    """The column to name if no row is complete: the one with which the last rows drop out.

    Columns are looked at in order; a row drops out at the first column whose value it lacks.
    """
    lacking = {name: lacks for name, lacks in presence.lacking.items() if lacks is not None}
    remaining = np.ones(presence.n_rows, dtype=bool)
    for name, lacks in lacking.items():
        remaining &= ~lacks
        if not remaining.any():
            return name
    return next(iter(lacking))


def _lacking(name: str, left_out: LeftOut) -> DataError:
    """The error of rows without a value, if the schema does not say what is done with them."""
    where = "" if left_out.rows is None else f", first in row {int(left_out.rows[0]) + 1}"
    return DataError(
        f"{name}: the sensitive column {left_out.column!r} is missing in {left_out.number} "
        f"row{'s' if left_out.number > 1 else ''}{where}; fill it, or say "
        'missing = "drop" or missing = { label = "unknown" } in the schema; without a policy file, '
        f"foreknow init TABLE --sensitive {quote(left_out.column)} writes one that says it"
    )
