"""Missing values: which rows lack one in which sensitive column, and what is done with these."""

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
from foreknow.data.labels.labels import text_of
from foreknow.data.tables.columns import Missing, Relabel, codes_of, to_python
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
class Presence:
    """Which rows show a value in which sensitive columns; all decisions to leave out rows use it.

    Only rows with a value in each column are published. An audit of a table counts a row for each
    column in which it shows a value, and as one of the people if it shows a value in any.

    Examples
    --------
    >>> rows = pa.table({"ill": ["flu", None, None], "pay": ["1", "2", None]})
    >>> presence = Presence.of(rows, ["ill", "pay"])
    >>> presence.shows_each.tolist(), presence.shows_any.tolist()
    ([True, False, False], [True, True, False])
    >>> [(left_out.column, left_out.rows.tolist()) for left_out in presence.left_out]
    [('ill', [1, 2]), ('pay', [2])]
    """

    # for each column, the rows without a value in it, as a mask; None where each row has one
    lacking: Mapping[str, NDArray[np.bool_] | None]
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
    ) -> Presence:
        """Look up which rows show a value in which of some columns.

        `times` are how often each row occurs; None: once. `numbered` says if rows are in the order
        of the table.
        """
        lacking = {}
        for name in columns:
            column = rows.column(name)
            lacking[name] = pc.is_null(column).to_numpy() if column.null_count else None
        return cls(lacking, len(rows), times, numbered)

    @cached_property
    def shows_each(self) -> NDArray[np.bool_]:
        """Which rows show a value in each column, as a mask."""
        is_shown = np.ones(self.n_rows, dtype=bool)
        for lacks in self.lacking.values():
            if lacks is not None:
                is_shown &= ~lacks
        return is_shown

    @cached_property
    def shows_any(self) -> NDArray[np.bool_]:
        """Which rows show a value in any column, as a mask; all rows if there are no columns."""
        lacks_all = np.ones(self.n_rows, dtype=bool)
        if not self.lacking:
            return lacks_all
        for lacks in self.lacking.values():
            lacks_all &= False if lacks is None else lacks
        return ~lacks_all

    @property
    def complete(self) -> bool:
        """True if each row shows a value in each column."""
        return all(lacks is None for lacks in self.lacking.values())

    @property
    def partly(self) -> bool:
        """True if some rows show values in some columns, and not in all."""
        return not self.complete and not np.array_equal(self.shows_each, self.shows_any)

    @property
    def incomplete(self) -> int:
        """The number of rows of the table that lack some value, so that they are not published."""
        return 0 if self.complete else self._count(~self.shows_each)

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """For each column in which rows lack a value, these rows."""
        left_out = []
        for name, lacks in self.lacking.items():
            if lacks is not None:
                positions = np.flatnonzero(lacks) if self.numbered else None
                left_out.append(LeftOut(name, self._count(lacks), rows=positions))
        return tuple(left_out)

    def _count(self, rows: NDArray[np.bool_]) -> int:
        """The number of rows of the table that some rows, given as a mask, stand for."""
        return int(rows.sum() if self.times is None else self.times[rows].sum())


class Resolved(NamedTuple):
    """Rows that are counted, without missing values in sensitive columns."""

    rows: pa.Table
    kept: IntArray | None  # the positions that these rows had; None where none is left out
    presence: Presence  # of all rows, as they were


def resolve_missing(
    name: str,
    rows: pa.Table,
    columns: Sequence[str],
    missing: Missing,
    *,
    times: NDArray[Any] | None = None,
    numbered: bool = True,
    first_row: int = 1,
) -> Resolved:
    """The rows, without those that lack a sensitive value, or with a label in place of the value.

    Raises `DataError` instead if that is what `missing` says, or if no row is left.

    Parameters
    ----------
    name : str
        The table, in messages.
    rows : table
        Its rows, plain.
    columns : sequence of str
        The sensitive columns.
    missing : "error", "drop" or Relabel
        What is to be done, as the schema says.
    times : integer array, optional
        How often each row occurs, where equal rows were counted.
    numbered : bool
        Whether rows are in the order of the table, so that a message may name one.
    first_row : int
        What the message calls the first row.
    """
    presence = Presence.of(rows, columns, times, numbered=numbered)
    if presence.complete:
        return Resolved(rows, None, presence)
    if isinstance(missing, Relabel):
        for column, lacks in presence.lacking.items():
            if lacks is not None:
                index = rows.column_names.index(column)
                labelled = _labelled(column, rows.column(column), missing)
                rows = rows.set_column(index, column, labelled)
        return Resolved(rows, None, presence)
    if not drops(missing):
        raise _missing_error(name, presence.left_out[0], first_row)
    kept_rows = np.flatnonzero(presence.shows_each)
    if not len(kept_rows):
        raise DataError(
            f'{name} has no rows with {_column_nobody_shows(presence)!r}, and missing = "drop" '
            "leaves all others out"
        )
    # The dictionary of a column of codes would keep values of rows that are left out: undo codes.
    for column, lacks in presence.lacking.items():
        if lacks is not None and pa.types.is_dictionary(rows.schema.field(column).type):
            values = rows.column(column)
            rows = rows.set_column(
                rows.column_names.index(column), column, values.cast(values.type.value_type)
            )
    return Resolved(rows.take(pa.array(kept_rows)), kept_rows, presence)


def _labelled(name: str, column: pa.ChunkedArray, label: str) -> pa.ChunkedArray:
    """A column as texts, with a label in place of missing values."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    codes, distinct = codes_of(column)
    texts = pa.array([text_of(value) for value in to_python(name, distinct)], pa.string())
    return pc.if_else(pc.is_null(column), str(label), texts.take(pa.array(codes)))


def _column_nobody_shows(presence: Presence) -> str:
    """The first column of which nobody shows a value who shows one in each column before it.

    A message names it where no row shows a value in each column.
    """
    lacking = {name: lacks for name, lacks in presence.lacking.items() if lacks is not None}
    shows_all_so_far = np.ones(presence.n_rows, dtype=bool)
    for name, lacks in lacking.items():
        shows_all_so_far &= ~lacks
        if not shows_all_so_far.any():
            return name
    return next(iter(lacking))


def _missing_error(name: str, left_out: LeftOut, first_row: int) -> DataError:
    """The error of rows without a value, if the schema does not say what is done with them."""
    where = "" if left_out.rows is None else f", first in row {int(left_out.rows[0]) + first_row}"
    return DataError(
        f"{name}: the sensitive column {left_out.column!r} is missing in {left_out.number} "
        f"row{'s' if left_out.number > 1 else ''}{where}; fill it, or say "
        'missing = "drop" or missing = { label = "unknown" } in the schema; without a policy file, '
        f"foreknow init TABLE --sensitive {quote(left_out.column)} writes one that says it"
    )
