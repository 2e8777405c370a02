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
    floors: Mapping[str, IntArray] | None = None,
) -> dict[str, pa.Table]:
    """Make the tables of a release with coarsened quasi-identifiers.

    Parameters
    ----------
    microdata : Microdata
    groups : int64 array, shape (people,)
        The group of everybody.
    n_groups : int
    styles : mapping of column to "range", "hierarchy" or "set"
    random : numpy Generator
        For the order of rows within groups.
    floors : mapping of column to int64 array, shape (groups,), optional
        The least level of generalization that each group is written at.

    Returns
    -------
    dict of str to pyarrow.Table
        ``release``; where a person may have several values, ``people`` and ``sensitive``, which
        do not tell which values are of one person.
    """
    labels, keys = {}, []
    for attribute in microdata.attributes:
        style = style_of(attribute, styles.get(attribute.name))
        floor = (floors or {}).get(attribute.name)
        labels[attribute.name], places = labels_of(attribute, groups, n_groups, style, floor)
        keys += [places[:, 0], places[:, 1], in_text_order(labels[attribute.name])]
    # Groups with the same labels are one group to a reader: they get one rank, and are mixed.
    _, one_of, rank = np.unique(
        np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True
    )
    rank = rank.reshape(-1)
    order = _shuffled(rank[groups], random)
    written = {
        name: pa.array(texts, pa.string()).dictionary_encode() for name, texts in labels.items()
    }
    of_person = pa.array(groups[order])
    people = {name: column.take(of_person) for name, column in written.items()}
    people.update(_other(microdata, order))
    if microdata.schema.semantics == "single":
        values = pa.array(_texts_of_values(microdata), pa.string())
        codes = pa.array(microdata.sensitive_codes[order])
        people[microdata.schema.sensitive] = pa.DictionaryArray.from_arrays(codes, values)
        return {"release": pa.table(people)}
    for column in (*microdata.schema.quasi_identifiers, microdata.schema.sensitive):
        if column == COUNT:
            raise SchemaError(f"a release counts its values in {COUNT!r}; rename the column")
    of_cell, tally = _tally(microdata, rank[groups], len(one_of))
    of_group = pa.array(one_of[of_cell])
    published = {name: column.take(of_group) for name, column in written.items()}
    return {"people": pa.table(people), "sensitive": pa.table({**published, **tally})}


def in_text_order(labels: list[str | None]) -> IntArray:
    """Place of each label among all in the order of texts; equal ones have one place."""
    place = {label: i for i, label in enumerate(sorted(set(labels), key=lambda x: x or ""))}
    return np.array([place[label] for label in labels], dtype=np.int64)


def bucketized(
    microdata: Microdata, groups: IntArray, n_groups: int, random: np.random.Generator
) -> dict[str, pa.Table]:
    """Make the table ``people`` of exact quasi-identifiers, and ``sensitive``: group, value, count.

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
    of_cell, tally = _tally(microdata, ids[groups] - 1, n_groups)
    return {
        "people": pa.table(people),
        "sensitive": pa.table({GROUP: pa.array(of_cell + 1), **tally}),
    }


def _tally(
    microdata: Microdata, groups: NDArray[Any], n_groups: int
) -> tuple[IntArray, dict[str, Any]]:
    """The group of each cell, and its value and count; in order of groups and values."""
    held = microdata.holdings
    offsets, codes, counts = count_pairs(
        groups[held.people], held.values, n_groups, len(microdata.values)
    )
    values = pa.array(_texts_of_values(microdata), pa.string())
    of_cell = np.repeat(np.arange(n_groups), np.diff(offsets))
    return of_cell, {
        microdata.schema.sensitive: values.take(pa.array(codes)),
        COUNT: pa.array(counts),
    }


def _texts_of_values(microdata: Microdata) -> list[str]:
    return [str(value) for value in microdata.values]


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
