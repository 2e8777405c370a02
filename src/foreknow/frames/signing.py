"""Count people by group and signature: a few quasi-identifiers that an adversary knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from foreknow.errors import DataError
from foreknow.frames.counting import group_codes, places_of
from foreknow.frames.plain import fetch, plain_table
from foreknow.frames.sources import Table, require
from foreknow.labels import Label
from foreknow.signatures import Signatures
from foreknow.sparse import IntArray, count_pairs


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
    """Count one row per person by group and signature, where the data lives.

    Parameters
    ----------
    table : Table
    groups : sequence of str
        The columns that make a group.
    known : sequence of labels
        The groups by position, as they were counted.
    attributes : sequence of str
        The columns of the signature.
    sizes : int64 array, shape (groups,)
        How many people each group had when it was counted.
    as_tuples : bool
        Whether a group is labelled by the tuple of its columns.
    needed : str, optional
        A column without which a row was not counted.

    Raises
    ------
    DataError
        If a column does not exist, or the groups have other people than were counted.
    """
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
