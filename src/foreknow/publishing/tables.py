"""Tables: a grouping of the microdata as the tables that are published, in either form.

Rows are shuffled before they are put in order of their groups, and nothing of the source but the
published columns is carried over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.adversaries.priors.table import PriorTable
from foreknow.data.generalization import Coarsened, coarsened, exact_labels, style_of
from foreknow.data.microdata import Attribute, Microdata
from foreknow.data.sparse import IntArray, count_pairs
from foreknow.errors import NoSafeRelease, SchemaError

GROUP = "group"
COUNT = "count"
ROW = "row"


def coarsened_columns(
    microdata: Microdata,
    groups: IntArray,
    n_groups: int,
    styles: Mapping[str, str],
    floors: Mapping[str, IntArray] | None,
) -> list[Coarsened]:
    """What each group has in common along each quasi-identifier."""
    return [
        coarsened(
            attribute,
            groups,
            n_groups,
            style_of(attribute, styles.get(attribute.name)),
            (floors or {}).get(attribute.name),
        )
        for attribute in microdata.attributes
    ]


def generalized(
    microdata: Microdata,
    groups: IntArray,
    columns: Sequence[Coarsened],
    random: np.random.Generator,
) -> dict[str, pa.Table]:
    """The tables of a release with coarsened quasi-identifiers."""
    keys = [rank_of_labels(column.labels, column.places) for column in columns]
    # Groups with the same labels are one group to a reader: they get one rank, and are mixed.
    _, one_of, rank = np.unique(
        np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True
    )
    rank = rank.reshape(-1)
    order = _shuffled(rank[groups], random)
    written = {
        column.attribute.name: pa.array(column.labels, pa.string()).dictionary_encode()
        for column in columns
    }
    of_person = pa.array(groups[order])
    people = {name: column.take(of_person) for name, column in written.items()}
    people.update(_other(microdata, order))
    if microdata.schema.semantics == "single":
        codes = pa.array(microdata.sensitive_codes[order])
        values = pa.DictionaryArray.from_arrays(codes, _values(microdata))
        people[microdata.schema.sensitive] = values
        return {"release": pa.table(people)}
    for column in (*microdata.schema.quasi_identifiers, microdata.schema.sensitive):
        if column == COUNT:
            raise SchemaError(f"a release counts its values in {COUNT!r}; rename the column")
    of_cell, tally = _tally(microdata, rank[groups], len(one_of))
    of_group = pa.array(one_of[of_cell])
    published = {name: column.take(of_group) for name, column in written.items()}
    return {"people": pa.table(people), "sensitive": pa.table({**published, **tally})}


def refuse_borrowed_priors(
    columns: Sequence[Coarsened], groups: IntArray, n_groups: int, priors: Iterable[PriorTable]
) -> None:
    """Refuse a label that priors know as a signature, of a group whose members have another.

    Their priors would be those of other people. Labels without any prior are for the audit.
    """
    known_columns = {column.attribute.name: column for column in columns}
    for table in priors:
        own = [name for name in table.attributes if name in known_columns]
        labels, exact = [], np.ones(n_groups, dtype=bool)
        for name in own:
            column = known_columns[name]
            labels.append(column.labels)
            exact &= _are_exact(column.attribute, groups, column.labels)
        at = [table.attributes.index(name) for name in own]
        known = {tuple(signature[i] for i in at) for signature in table.chances}
        for g in np.flatnonzero(~exact).tolist():
            signature = tuple(written[g] for written in labels)
            if signature in known:
                labelled = ", ".join(f"{n!r} {x!r}" for n, x in zip(own, signature, strict=True))
                raise NoSafeRelease(
                    f"{table.name}: a group of people who differ, or are written less exactly, "
                    f"would be published with {labelled}. The priors have a "
                    "row for it, which is about other people. Publish with "
                    'form = "bucketized", which keeps these columns as they are; or by '
                    'method = "art", which keeps people with different priors apart'
                )


def _are_exact(
    attribute: Attribute, groups: IntArray, labels: Sequence[str | None]
) -> NDArray[np.bool_]:
    """Whether the label of each group is the one value that all of its members have."""
    offsets, codes, _ = count_pairs(groups, attribute.codes, len(labels), len(attribute.domain))
    exact, first = exact_labels(attribute), codes[offsets[:-1]].tolist()
    alone = (np.diff(offsets) == 1).tolist()
    rows = zip(alone, first, labels, strict=True)
    return np.array([one and exact[code] == label for one, code, label in rows])


def rank_of_labels(labels: Sequence[str | None], places: IntArray) -> IntArray:
    """Rank of each label by what it covers, then by its text; equal labels have one rank."""
    first_then_last = places[:, 0] * (int(places.max()) + 1) + places[:, 1]
    place_of = dict(zip(labels, first_then_last.tolist(), strict=True))  # a label covers one thing
    order = sorted(place_of, key=lambda label: (place_of[label], label or ""))
    rank = {label: i for i, label in enumerate(order)}
    return np.array([rank[label] for label in labels], dtype=np.int64)


def group_ids(n_groups: int, random: np.random.Generator) -> IntArray:
    """Ids of groups, drawn at random, so that their order tells nothing."""
    return random.permutation(n_groups) + 1


def bucketized(
    microdata: Microdata, groups: IntArray, ids: IntArray, random: np.random.Generator
) -> dict[str, pa.Table]:
    """Make the table ``people`` of exact quasi-identifiers, and ``sensitive``: group, value, count.

    The groups are called by their `ids`, see `group_ids`.
    """
    for column in (*microdata.schema.quasi_identifiers, *microdata.schema.other):
        if column == GROUP:
            raise SchemaError(f"a bucketized release names its groups {GROUP!r}; rename the column")
    if microdata.schema.sensitive in (GROUP, COUNT):
        raise SchemaError(f"the sensitive column must not be called {GROUP!r} or {COUNT!r}")
    order = _shuffled(ids[groups], random)
    people: dict[str, Any] = {
        attribute.name: pa.array(exact_labels(attribute), pa.string()).take(
            pa.array(attribute.codes[order])
        )
        for attribute in microdata.attributes
    }
    people.update(_other(microdata, order))
    people[GROUP] = pa.array(ids[groups][order])
    of_cell, tally = _tally(microdata, ids[groups] - 1, len(ids))
    return {
        "people": pa.table(people),
        "sensitive": pa.table({GROUP: pa.array(of_cell + 1), **tally}),
    }


def members_of(
    microdata: Microdata, groups: IntArray, published: Mapping[str, pa.Array]
) -> pa.Table:
    """Who is in which group, for the owner: a row for each of the source, null if left out.

    `published` is how each group is called in the release, by column.
    """
    schema, of_row = microdata.schema, microdata.rows_of(groups)
    given = dict.fromkeys(filter(None, [schema.person, *schema.identifiers]))
    names = [name for name in given if name not in schema.quasi_identifiers]
    own = microdata.source.arrow(names) if names else pa.table({})
    at = pa.array(of_row, mask=of_row < 0)
    made = {name: labels.take(at) for name, labels in published.items()}
    who: dict[str, Any] = {}
    for name in own.column_names:
        who[_free(name, {**made, **who})] = own.column(name)
    position = pa.array(np.arange(1, len(of_row) + 1))
    return pa.table({_free(ROW, {**made, **who}): position, **who, **made})


def _free(name: str, taken: Iterable[str]) -> str:
    """The name, with as many underscores after it as it takes to be no other column's."""
    while name in taken:
        name += "_"
    return name


def _tally(
    microdata: Microdata, groups: NDArray[Any], n_groups: int
) -> tuple[IntArray, dict[str, Any]]:
    """The group of each cell, and its value and count; in order of groups and values."""
    held = microdata.holdings
    offsets, codes, counts = count_pairs(
        groups[held.people], held.values, n_groups, len(microdata.values)
    )
    of_cell = np.repeat(np.arange(n_groups), np.diff(offsets))
    return of_cell, {
        microdata.schema.sensitive: _values(microdata).take(pa.array(codes)),
        COUNT: pa.array(counts),
    }


def _values(microdata: Microdata) -> pa.Array:
    return pa.array([str(value) for value in microdata.values], pa.string())


def _other(microdata: Microdata, order: IntArray) -> dict[str, Any]:
    if not microdata.schema.other:
        return {}
    rows = microdata.other()
    return {name: rows.column(name).take(pa.array(order)) for name in rows.column_names}


def _shuffled(rank: NDArray[Any], random: np.random.Generator) -> IntArray:
    """Row positions in order of rank, at random among equals."""
    mixed = random.permutation(len(rank))
    return mixed[np.argsort(rank[mixed], kind="stable")]
