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
from foreknow.frames.columns import codes_of
from foreknow.frames.missing import Missing, settle_missing
from foreknow.frames.plain import fetch, plain_table, refuse_two_empties, to_python
from foreknow.frames.sources import Table, require
from foreknow.labels import Label, Labels, in_order
from foreknow.sparse import IntArray, combine


def count_groups(
    table: Table,
    groups: Sequence[str],
    sensitive: str,
    *,
    missing: Missing = "error",
    null_groups: bool = False,
) -> GroupCounts:
    """Count one row per person by group and sensitive value.

    Parameters
    ----------
    table : Table
    groups : sequence of column names
        One column with a group id; or the published quasi-identifiers, whose every combination
        is a group.
    sensitive : str
        The column of sensitive values.
    missing : "error", "drop" or Relabel
        What to do with null sensitive values.
    null_groups : bool
        Whether a null in a group column is a value of its own (for quasi-identifiers), or an
        error (for a group id).

    Returns
    -------
    GroupCounts
        Under ``single``. The groups are labelled by their id, or by the tuple of their published
        values.
    """
    columns = list(dict.fromkeys([*groups, sensitive]))
    require(table, columns)
    tallied = table.tally(columns)
    if tallied is None:
        rows, weights = fetch(table, columns, groups), None
        positions: IntArray | None = np.arange(len(rows))
    else:
        refuse_two_empties(table, groups)
        rows, weights = plain_table(tallied[0], columns, groups), tallied[1].astype(np.int64)
        positions = None
        _name_first_null(table, rows, sensitive, missing, [] if null_groups else groups)
    return _count(table.name, rows, groups, sensitive, missing, weights, positions, null_groups)


def _name_first_null(
    table: Table, rows: pa.Table, sensitive: str, missing: Missing, groups: Sequence[str]
) -> None:
    """A count by the engine forgets rows; where they have numbers, look them up for the message."""
    if not table.untyped:
        return
    if rows.column(sensitive).null_count and missing == "error":
        settle_missing(table.name, fetch(table, [sensitive]), sensitive, missing)
    for group in groups:
        if rows.column(group).null_count:
            refuse_null_group(table.name, group, fetch(table, [group]).column(group), None)


def _count(
    name: str,
    rows: pa.Table,
    groups: Sequence[str],
    sensitive: str,
    missing: Missing,
    weights: IntArray | None,
    positions: IntArray | None,
    null_groups: bool,
) -> GroupCounts:
    rows, kept = settle_missing(
        name, rows, sensitive, missing, weights=weights, in_order=positions is not None
    )
    if kept is not None:
        weights = None if weights is None else weights[kept]
        positions = None if positions is None else positions[kept]
    if not len(rows):
        raise DataError(f"{name} has no rows")
    value_codes, found = codes_of(rows.column(sensitive))
    values = to_python(sensitive, found)
    labels = Labels(in_order(values))
    place = np.array([labels.codes[v] for v in values], dtype=value_codes.dtype)
    if not null_groups and rows.column(groups[0]).null_count:
        refuse_null_group(name, groups[0], rows.column(groups[0]), positions)
    of_row, group_labels = group_codes(rows, groups, as_tuples=null_groups)
    return GroupCounts.from_pairs(
        of_row,
        place[value_codes],
        values=labels,
        n_groups=len(group_labels),
        groups=group_labels,
        weights=weights,
    )


def refuse_null_group(
    name: str, group: str, column: pa.ChunkedArray, positions: IntArray | None
) -> None:
    """Raise `DataError` that names the first row without a group."""
    first = int(np.argmax(pc.is_null(column).to_numpy()))
    row = first if positions is None else int(positions[first])
    raise DataError(
        f"{name}: the group column {group!r} is missing (row {row + 1}); every row needs a group"
    )


def group_codes(
    rows: pa.Table, groups: Sequence[str], *, as_tuples: bool
) -> tuple[NDArray[Any], list[Label]]:
    """Code and label of each row's group."""
    encoded = [codes_of(rows.column(column)) for column in groups]
    return joined(groups, encoded, as_tuples=as_tuples)


def joined(
    groups: Sequence[str],
    encoded: Sequence[tuple[NDArray[Any], pa.Array]],
    *,
    as_tuples: bool,
) -> tuple[NDArray[Any], list[Label]]:
    """Code and label of each group, from the codes and distinct values of its columns.

    Groups are in the order of their labels, whatever the order of rows: a null, then numbers by
    value, texts by character. So the first of several is the same in each engine.
    """
    encoded = [_ranked(codes, found) for codes, found in encoded]
    if len(groups) == 1:
        codes, found = encoded[0]
        labels = to_python(groups[0], found)
        return codes, [(label,) for label in labels] if as_tuples else labels
    keys, first = combine([codes for codes, _ in encoded], [len(found) for _, found in encoded])
    columns = [
        to_python(name, found.take(pa.array(codes[first])))
        for name, (codes, found) in zip(groups, encoded, strict=True)
    ]
    return keys, list(zip(*columns, strict=True))


def _ranked(codes: NDArray[Any], found: pa.Array) -> tuple[NDArray[Any], pa.Array]:
    """Codes into the distinct values of a column in ascending order."""
    if pa.types.is_integer(found.type) and not found.null_count:
        order = np.argsort(found.to_numpy())  # several times as fast as Arrow here
    else:
        order = pc.array_sort_indices(found, null_placement="at_start").to_numpy()
    place = np.empty(len(order), dtype=codes.dtype)
    place[order] = np.arange(len(order), dtype=codes.dtype)
    return place[codes], found.take(pa.array(order))


def places_of(name: str, labels: Sequence[Label], known: Sequence[Label]) -> IntArray:
    """Find where some groups are among those that were counted.

    Raises
    ------
    DataError
        If one of them is not: the table was changed since.
    """
    place = Labels(known).codes
    for label in labels:
        if label not in place:
            raise DataError(f"{name}: nobody was counted in group {label!r}")
    return np.array([place[label] for label in labels], dtype=np.int64)
