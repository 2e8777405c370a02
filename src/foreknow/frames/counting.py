"""Count groups by sensitive value: one GROUP BY, in the engine that holds the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.counts import GroupCounts
from foreknow.errors import DataError
from foreknow.frames.columns import distinct
from foreknow.frames.missing import Missing, settle_missing
from foreknow.frames.sources import Table, require
from foreknow.labels import Label, Labels, in_order
from foreknow.sparse import combine


def count_groups(
    table: Table, groups: Sequence[str], sensitive: str, *, missing: Missing = "error"
) -> GroupCounts:
    """Count one row per person by group and sensitive value.

    Parameters
    ----------
    table : Table
    groups : sequence of column names
        One column with a group id, in which a null is an error; or the published
        quasi-identifiers, whose every combination is a group and a null a value of its own.
    sensitive : str
        The column of sensitive values.
    missing : "error", "drop" or Relabel
        What to do with null sensitive values.

    Returns
    -------
    GroupCounts
        Under ``single``. The groups are labelled by their id, or by the tuple of their published
        values.
    """
    require(table, [*groups, sensitive])
    columns = list(dict.fromkeys([*groups, sensitive]))
    cells = table.tally(columns)
    rows = table.arrow(columns) if cells is None else cells
    weights = None if cells is None else cells.column("n").to_numpy().astype(np.int64)
    return _count(table.name, rows, groups, sensitive, missing, weights, in_rows=cells is None)


def count_tally(table: Table, group: str, sensitive: str, count: str) -> GroupCounts:
    """Read the (group, value, count) table of a bucketized release.

    Parameters
    ----------
    table : Table
    group, sensitive, count : str
        Columns of the group id, the value, and how often it occurs in the group.
    """
    require(table, [group, sensitive, count])
    rows = table.arrow([group, sensitive, count])
    amounts = rows.column(count)
    if table.untyped:
        try:
            amounts = pc.cast(amounts.cast(pa.string()), pa.int64())
        except pa.ArrowInvalid as error:
            raise DataError(f"{table.name}: column {count!r}: {error}") from None
    if amounts.null_count or not pa.types.is_integer(amounts.type):
        raise DataError(f"{table.name}: column {count!r} must hold a whole number in each row")
    weights = amounts.to_numpy().astype(np.int64)
    if len(weights) and weights.min() < 1:
        row = int(np.argmin(weights)) + 1
        raise DataError(f"{table.name}: row {row}: the count {weights.min()} is below 1")
    return _count(table.name, rows, [group], sensitive, "error", weights, in_rows=True)


def _count(
    name: str,
    rows: pa.Table,
    groups: Sequence[str],
    sensitive: str,
    missing: Missing,
    weights: NDArray[np.int64] | None,
    *,
    in_rows: bool,
) -> GroupCounts:
    rows, kept = settle_missing(name, rows, sensitive, missing, weights=weights, in_order=in_rows)
    if kept is not None and weights is not None:
        weights = weights[kept]
    if not len(rows):
        raise DataError(f"{name} has no rows")
    value_codes, found = distinct(sensitive, rows.column(sensitive))
    labels = Labels(in_order(found.to_pylist()))
    place = np.array([labels.codes[v] for v in found.to_pylist()], dtype=value_codes.dtype)
    group_codes, group_labels = _group_codes(name, rows, groups, in_rows=in_rows)
    return GroupCounts.from_pairs(
        group_codes,
        place[value_codes],
        values=labels,
        n_groups=len(group_labels),
        groups=group_labels,
        weights=weights,
    )


def _group_codes(
    name: str, rows: pa.Table, groups: Sequence[str], *, in_rows: bool
) -> tuple[NDArray[Any], list[Label]]:
    """Code and label of each row's group."""
    encoded = [distinct(column, rows.column(column)) for column in groups]
    if len(groups) == 1:
        codes, found = encoded[0]
        if found.null_count:
            row = int(np.argmax(codes == len(found) - 1)) + 1
            where = f" (row {row})" if in_rows else ""
            raise DataError(
                f"{name}: the group column {groups[0]!r} is missing{where}; every row needs a group"
            )
        return codes, found.to_pylist()
    keys, first = combine([codes for codes, _ in encoded], [len(found) for _, found in encoded])
    columns = [found.take(pa.array(codes[first])).to_pylist() for codes, found in encoded]
    return keys, list(zip(*columns, strict=True))
