"""Count groups by sensitive value: one GROUP BY, in the engine that holds the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts
from foreknow.data.engines.columns import (
    codes_of,
    fetch,
    plain_table,
    refuse_two_empties,
    to_python,
)
from foreknow.data.engines.missing import Missing, settle_missing
from foreknow.data.engines.people import People
from foreknow.data.engines.sources import Table, require
from foreknow.data.labels import Label, Labels, in_order
from foreknow.data.people import Signatures
from foreknow.data.sparse import IntArray, combine, count_pairs
from foreknow.errors import DataError


def count_groups(
    table: Table,
    groups: Sequence[str],
    sensitive: str,
    *,
    missing: Missing = "error",
    null_groups: bool = False,
) -> GroupCounts:
    """Count one row per person by group and sensitive value."""
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
    """Find where some groups are among those that were counted."""
    place = Labels(known).codes
    for label in labels:
        if label not in place:
            raise DataError(f"{name}: nobody was counted in group {label!r}")
    return np.array([place[label] for label in labels], dtype=np.int64)


def count_signatures(
    table: Table,
    groups: Sequence[str],
    known: Sequence[Label],
    attributes: Sequence[str],
    *,
    sizes: IntArray,
    as_tuples: bool,
    needed: str | None = None,
) -> Signatures:
    """Count one row per person by group and signature, where the data lives."""
    extra = [] if needed is None else [needed]
    columns = list(dict.fromkeys([*groups, *attributes, *extra]))
    require(table, columns)
    tallied = table.tally(columns)
    weights: IntArray | None = None
    if tallied is None:
        rows = fetch(table, columns)
    else:
        rows, weights = plain_table(tallied[0], columns), tallied[1].astype(np.int64)
    if needed is not None and rows.column(needed).null_count:
        kept = pc.is_valid(rows.column(needed))
        rows = rows.filter(kept)
        weights = None if weights is None else weights[kept.to_numpy()]
    of_row, labels = group_codes(rows, groups, as_tuples=as_tuples)
    positions = places_of(table.name, labels, known)
    own = np.bincount(positions[of_row], weights=weights, minlength=len(known))
    if not np.array_equal(own, sizes):
        raise DataError(
            f"{table.name} gave other rows when it was read again; collect it into a frame or a "
            "file first"
        )
    codes, signatures = group_codes(rows, attributes, as_tuples=True)
    # Labels are compared as they print: 1 and "1" are one signature.
    texts = [tuple(None if part is None else str(part) for part in label) for label in signatures]  # type: ignore[attr-defined]
    distinct = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    one_of = np.array([distinct[text] for text in texts], dtype=np.int64)
    found = count_pairs(positions[of_row], one_of[codes], len(known), len(distinct), weights)
    return Signatures(tuple(attributes), tuple(distinct), *found)


def place_people(
    table: Table,
    person: str,
    groups: Sequence[str],
    known: Sequence[Label],
    *,
    as_tuples: bool,
    needed: str | None = None,
) -> tuple[Labels, IntArray]:
    """Find the group of everybody."""
    columns = [person, *groups, *([] if needed is None else [needed])]
    rows = fetch(table, list(dict.fromkeys(columns)))
    if needed is not None and rows.column(needed).null_count:
        rows = rows.filter(pc.is_valid(rows.column(needed)))
    people = People.named(table.name, person, rows.column(person))
    of_row, labels = group_codes(rows, groups, as_tuples=as_tuples)
    positions = places_of(table.name, labels, known)
    return Labels(to_python(person, people.names)), positions[of_row[people.first]]
