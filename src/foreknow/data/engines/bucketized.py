"""Tallying: read the (group, value, count) table of a release, and the people beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.engines.columns import codes_of, fetch, to_python
from foreknow.data.engines.group_counts import group_codes, refuse_null_group
from foreknow.data.engines.missing import settle_missing
from foreknow.data.engines.sources import Table
from foreknow.data.labels import Label, Labels, in_order
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError


def count_tally(
    table: Table,
    groups: Sequence[str],
    sensitive: str,
    count: str,
    *,
    people: Table | None = None,
    semantics: Semantics = "single",
    null_groups: bool = False,
) -> GroupCounts:
    """Read the (group, value, count) table of a release."""
    rows = fetch(table, [*groups, sensitive, count], groups)
    weights = _amounts(table, count, rows.column(count))
    rows, _ = settle_missing(table.name, rows, sensitive, "error")
    if not len(rows) and (people is None or semantics == "single"):
        raise DataError(f"{table.name} has no rows")
    of_row, labels = _groups_of(table, rows, groups, null_groups)
    sizes: IntArray | None = None
    if people is not None:
        members = fetch(people, groups, groups)
        if not len(members):
            raise DataError(f"{people.name} has no rows")
        of_member, known = _groups_of(people, members, groups, null_groups)
        sizes = np.bincount(of_member, minlength=len(known))
        of_row = _places(table, labels, people, known, of_row)[of_row]
        labels = known
    codes, found = codes_of(rows.column(sensitive))
    given = to_python(sensitive, found)
    values = Labels(in_order(given))
    place = np.array([values.codes[v] for v in given], dtype=codes.dtype)
    return GroupCounts.from_pairs(
        of_row,
        place[codes],
        values=values,
        n_groups=len(labels),
        groups=labels,
        weights=weights,
        sizes=sizes,
        semantics=semantics,
    )


def _groups_of(
    table: Table, rows: pa.Table, groups: Sequence[str], null_groups: bool
) -> tuple[NDArray[Any], list[Label]]:
    for group in groups:
        if not null_groups and rows.column(group).null_count:
            refuse_null_group(table.name, group, rows.column(group), None)
    return group_codes(rows, groups, as_tuples=null_groups)


def _places(
    table: Table, labels: list[Label], people: Table, known: list[Label], of_row: NDArray[Any]
) -> IntArray:
    """Where each group of the tally is among those of the people."""
    as_texts = table.untyped != people.untyped  # a CSV file beside one that knows types
    place = {_text(label) if as_texts else label: i for i, label in enumerate(known)}
    places = np.array(
        [place.get(_text(label) if as_texts else label, -1) for label in labels], dtype=np.int64
    )
    if len(places) and places.min() < 0:
        row = int(np.argmax(places[of_row] < 0))
        raise DataError(
            f"{table.name}: row {row + 1}: group {labels[int(of_row[row])]!r} has no people in "
            f"{people.name}"
        )
    return places


def _text(label: Label) -> Label:
    if isinstance(label, tuple):
        return tuple(_text(part) for part in label)
    return None if label is None else str(label)


def _amounts(table: Table, count: str, amounts: pa.ChunkedArray) -> IntArray:
    """Read how often each value occurs."""
    if table.untyped:
        amounts = _whole_numbers(table.name, count, amounts)
    try:
        if pa.types.is_decimal(amounts.type) or pa.types.is_unsigned_integer(amounts.type):
            amounts = amounts.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise DataError(f"{table.name}: column {count!r}: {error}") from None
    if amounts.null_count or not pa.types.is_integer(amounts.type):
        raise DataError(f"{table.name}: column {count!r} must hold a whole number in each row")
    weights: IntArray = amounts.to_numpy().astype(np.int64)
    if len(weights) and weights.min() < 1:
        row = int(np.argmin(weights)) + 1
        raise DataError(f"{table.name}: row {row}: the count {weights.min()} is below 1")
    return weights


def _whole_numbers(name: str, column: str, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = texts.cast(pa.string())
    good = pc.fill_null(pc.match_substring_regex(texts, r"^\d{1,18}$"), False).to_numpy()
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(
            f"{name}: column {column!r}: row {row + 1} holds {texts[row].as_py()!r}, "
            "not a whole number"
        )
    return texts.cast(pa.int64())
