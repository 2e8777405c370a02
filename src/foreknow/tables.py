"""Tables: a grouping of the microdata as the tables that are published, in either form.

Rows are shuffled before they are put in order of their groups, and nothing of the source but the
published columns is carried over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.errors import SchemaError
from foreknow.labelling import labels_of, style_of, text_of
from foreknow.microdata import Attribute, Microdata
from foreknow.sparse import IntArray, count_pairs

GROUP = "group"
COUNT = "count"


def generalized(
    microdata: Microdata,
    groups: IntArray,
    n_groups: int,
    styles: Mapping[str, str],
    random: np.random.Generator,
) -> pa.Table:
    """Make one table of coarsened quasi-identifiers, other columns and the sensitive value.

    Parameters
    ----------
    microdata : Microdata
    groups : int64 array, shape (people,)
        The group of each published row.
    n_groups : int
    styles : mapping of column to "range", "hierarchy" or "set"
    random : numpy Generator
        For the order of rows within groups.
    """
    labels, keys = {}, []
    for attribute in microdata.attributes:
        style = style_of(attribute, styles.get(attribute.name))
        labels[attribute.name], places = labels_of(attribute, groups, n_groups, style)
        keys += [places[:, 0], places[:, 1], in_text_order(labels[attribute.name])]
    # Groups with the same labels are one group to a reader: they get one rank, and are mixed.
    _, rank = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    order = _shuffled(rank.reshape(-1)[groups], random)
    of_row = pa.array(groups[order])
    columns = {
        name: pa.array(texts, pa.string()).dictionary_encode().take(of_row)
        for name, texts in labels.items()
    }
    return _with_values(microdata, columns, order)


def in_text_order(labels: list[str | None]) -> IntArray:
    """Place of each label among all in the order of texts; equal ones have one place."""
    place = {label: i for i, label in enumerate(sorted(set(labels), key=lambda x: x or ""))}
    return np.array([place[label] for label in labels], dtype=np.int64)


def bucketized(
    microdata: Microdata, groups: IntArray, n_groups: int, random: np.random.Generator
) -> tuple[pa.Table, pa.Table]:
    """Make the table of people with exact quasi-identifiers, and that of (group, value, count).

    Group ids are drawn at random, so that their order tells nothing.
    """
    for column in (*microdata.schema.quasi_identifiers, *microdata.schema.other):
        if column == GROUP:
            raise SchemaError(f"a bucketized release names its groups {GROUP!r}; rename the column")
    if microdata.schema.sensitive in (GROUP, COUNT):
        raise SchemaError(f"the sensitive column must not be called {GROUP!r} or {COUNT!r}")
    ids = random.permutation(n_groups) + 1
    order = _shuffled(ids[groups], random)
    people: dict[str, Any] = {
        attribute.name: _exact(attribute).take(pa.array(attribute.codes[order]))
        for attribute in microdata.attributes
    }
    people.update(_other(microdata, order))
    people[GROUP] = pa.array(ids[groups][order])
    offsets, codes, counts = count_pairs(
        ids[groups] - 1, microdata.sensitive_codes, n_groups, len(microdata.values)
    )
    values = pa.array([str(v) for v in microdata.values], pa.string())
    tally = {
        GROUP: pa.array(np.repeat(np.arange(n_groups), np.diff(offsets)) + 1),
        microdata.schema.sensitive: values.take(pa.array(codes)),
        COUNT: pa.array(counts),
    }
    return pa.table(people), pa.table(tally)


def _with_values(microdata: Microdata, columns: dict[str, Any], order: IntArray) -> pa.Table:
    columns.update(_other(microdata, order))
    values = pa.array([str(v) for v in microdata.values], pa.string())
    columns[microdata.schema.sensitive] = pa.DictionaryArray.from_arrays(
        pa.array(microdata.sensitive_codes[order]), values
    )
    return pa.table(columns)


def _other(microdata: Microdata, order: IntArray) -> dict[str, Any]:
    if not microdata.schema.other:
        return {}
    rows = microdata.other()
    return {name: rows.column(name).take(pa.array(order)) for name in rows.column_names}


def _exact(attribute: Attribute) -> pa.Array:
    return pa.array(
        [None if value is None else text_of(value) for value in attribute.domain], pa.string()
    )


def _shuffled(rank: NDArray[Any], random: np.random.Generator) -> IntArray:
    """Row positions in order of rank, at random among equals."""
    mixed = random.permutation(len(rank))
    return mixed[np.argsort(rank[mixed], kind="stable")]
