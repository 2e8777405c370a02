"""Tables: a grouping of the microdata as the tables that are published, in either form.

Rows are shuffled before they are put in order of their groups, and nothing of the source but the
published columns is carried over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine, count_pairs, order_of
from foreknow.data.columns.attribute import Attribute
from foreknow.data.labels.generalization import Coarsened, coarsened, exact_labels, style_of
from foreknow.data.microdata import Microdata
from foreknow.data.prepare import header_of_shuffled
from foreknow.data.release_tables import COUNT
from foreknow.data.tables.columns import Column, codes_of
from foreknow.errors import NoSafeRelease, SchemaError
from foreknow.publishing.drawn_rows import Bag, Drawing, Run
from foreknow_judge.certificate import parts_of_sensitive

if TYPE_CHECKING:
    from foreknow.adversaries.priors.table import PriorTable

GROUP = "group"
ROW = "row"
# Rows that are written at once, and groups among them: their numbers are sorted as 16 bits.
_PART, _MOST_GROUPS = 1 << 20, 1 << 16


def coarsened_columns(
    microdata: Microdata,
    groups: IntArray,
    n_groups: int,
    styles: Mapping[str, str],
    floors: Mapping[str, IntArray] | None,
) -> list[Coarsened]:
    """For each quasi-identifier, the label that covers all members of each group.

    `groups` is the group of each entry of the table. `styles` says how the labels of a column are
    written, and `floors` the least level of its hierarchy for each group.
    """
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
    unlinked: Sequence[str] = (),
    max_rows: int | None = None,
) -> dict[str, Drawing | pa.Table]:
    """The tables of a release with coarsened quasi-identifiers; rows are to be drawn.

    `groups` is the group of each entry of the table, and `columns` have the labels of each group. A
    column that is `unlinked` is shuffled within each group by itself, and its name says so. At most
    `max_rows` rows are drawn at once. The result is one table, or if people may have several
    values, a table of people and tables of groups, values and counts.
    """
    # Groups in the order of their labels (ranks), so that the order of rows tells nothing more.
    group_of_rank, rank_of_group = _ranks(columns)
    labels_by_column, by_rank = {}, {}
    for column in columns:
        labels_of_ranks = pa.array(column.labels, pa.string()).take(pa.array(group_of_rank))
        labels_by_column[column.attribute.name] = labels_of_ranks
        by_rank[column.attribute.name] = _encoded(labels_of_ranks)
    if microdata.schema.semantics == "single":
        columns_of_people, cells = _other_columns(microdata), None
        # With sensitive columns alone, the counts of their values are all there is: later steps
        # count these cells, and not the rows.
        if not columns_of_people and not unlinked and COUNT not in microdata.schema.sensitives:
            rank_of_cell, values = _tally(
                microdata, rank_of_group[groups], len(group_of_rank), microdata.sensitives
            )
            times = values.pop(COUNT).to_numpy()
            cells = pa.table({**_take_rows(by_rank, rank_of_cell), **values}), times
        for sensitive in microdata.sensitives:
            columns_of_people[sensitive.name] = sensitive.codes, _texts(sensitive.domain)
        drawn_runs = _runs(
            microdata,
            rank_of_group[groups],
            labels_by_column,
            columns_of_people,
            random,
            unlinked,
            max_rows,
        )
        headers = [*by_rank, *_headers(columns_of_people, unlinked).values()]
        return {"release": Drawing(headers, drawn_runs, random, cells)}
    for name in (*microdata.schema.quasi_identifiers, *microdata.schema.sensitives):
        if name == COUNT:
            raise SchemaError(f"a release counts its values in {COUNT!r}; rename the column")
    columns_of_people = _other_columns(microdata)
    people = _runs(
        microdata, rank_of_group[groups], labels_by_column, columns_of_people, random, (), max_rows
    )
    tables: dict[str, Drawing | pa.Table] = {
        "people": Drawing([*by_rank, *columns_of_people], people, random)
    }
    for table_name, columns_of in _sensitive_tables(microdata, unlinked):
        rank_of_cell, tally = _tally(
            microdata, rank_of_group[groups], len(group_of_rank), columns_of
        )
        tables[table_name] = pa.table({**_take_rows(by_rank, rank_of_cell), **tally})
    return tables


def _take_rows(columns: Mapping[str, pa.Array], rows: IntArray) -> dict[str, pa.Array]:
    """Some rows of some columns."""
    row_numbers = pa.array(rows)
    return {name: column.take(row_numbers) for name, column in columns.items()}


def _headers(names: Collection[str], unlinked: Sequence[str]) -> dict[str, str]:
    """The headers of columns; that of a shuffled column says so."""
    return dict(zip(names, names, strict=True)) | {n: header_of_shuffled(n) for n in unlinked}


def _sensitive_tables(
    microdata: Microdata, unlinked: Sequence[str]
) -> Iterator[tuple[str, list[Column]]]:
    """Each table of sensitive values, and its columns."""
    columns = {column.name: column for column in microdata.sensitives}
    not_linked = (*unlinked, *microdata.schema.several)
    for table_name, names in parts_of_sensitive(tuple(columns), not_linked).items():
        yield table_name, [columns[name] for name in names]


def _ranks(columns: Sequence[Coarsened]) -> tuple[IntArray, IntArray]:
    """One group of each rank, and the rank of each group by its labels.

    Groups with the same labels are one group to a reader: they get one rank, and are mixed.
    """
    keys = [rank_of_labels(column.labels, column.places) for column in columns]
    rank, one_of = combine(keys, [int(key.max(initial=0)) + 1 for key in keys])
    return one_of, rank.astype(np.int64)


def _other_columns(microdata: Microdata) -> dict[str, tuple[NDArray[Any], Any]]:
    """Codes and values of the columns that are published as they are."""
    other_table = microdata.other()
    return {name: codes_of(_one_zero(other_table.column(name))) for name in microdata.schema.other}


def _runs(
    microdata: Microdata,
    rank_of_entry: IntArray,
    by_rank: Mapping[str, pa.Array],
    columns_of_people: dict[str, tuple[NDArray[Any], Any]],
    random: np.random.Generator,
    unlinked: Sequence[str] = (),
    max_rows: int | None = None,
) -> Iterator[Run]:
    """Yield the groups in order, some rows at a time: their labels, people and bags of values.

    Groups are numbered by their order (ranks): `rank_of_entry` is that of each entry of the table,
    and `by_rank` has the labels. Linked columns come in one bag, as rows; each shuffled column has
    a bag of its own.
    """
    n_ranks = len(next(iter(by_rank.values())))
    times = np.ones(len(rank_of_entry), np.int64) if microdata.times is None else microdata.times
    headers = _headers(columns_of_people, unlinked)
    linked = tuple(name for name, header in headers.items() if header == name)
    bags = {}  # by columns: the bags of all ranks, and which entries of the columns they hold
    if linked:
        order = order_of(rank_of_entry)
        rank_offsets = np.concatenate(
            ([0], np.cumsum(np.bincount(rank_of_entry, minlength=n_ranks)))
        )
        bags[linked] = Bags(rank_offsets, times[order], random), order
    # For a shuffled column it is enough to know how many of each group have each value.
    for name in [name for name, header in headers.items() if header != name]:
        codes, values = columns_of_people[name]
        offsets, distinct_codes, cell_counts = count_pairs(
            rank_of_entry, codes, n_ranks, len(values), times
        )
        columns_of_people[name] = distinct_codes, values
        bags[(name,)] = Bags(offsets, cell_counts, random), np.arange(len(distinct_codes))
    people = np.bincount(rank_of_entry, times, n_ranks).astype(np.int64)
    for start, stop, n_people in runs(people, max_rows):
        labels = {
            name: _encoded(labels_of_ranks.slice(start, stop - start))
            for name, labels_of_ranks in by_rank.items()
        }
        bags_of_run = []
        for names, (bag, order) in bags.items():
            entries, group_in_run, cell_counts = bag.draw_entries(start, stop, n_people)
            columns = {}
            for name in names:
                codes, values = columns_of_people[name]
                own_codes = pa.array(codes[order[entries]])
                if name in microdata.schema.sensitives:
                    columns[headers[name]] = pa.DictionaryArray.from_arrays(own_codes, values)
                else:
                    columns[headers[name]] = values.take(own_codes)
            bags_of_run.append(Bag(pa.table(columns), group_in_run, cell_counts))
        # Whole groups, or `n_people` of one that is too large.
        yield Run(
            pa.table(labels),
            people[start:stop] if n_people is None else np.array([n_people]),
            bags_of_run,
        )


class GroupRange(NamedTuple):
    """Some groups in order, or a part of one large group."""

    start: int
    stop: int
    n_people: int | None  # how many people of one group; None for all people of these groups


def runs(sizes: IntArray, max_rows: int | None = None) -> Iterator[GroupRange]:
    """Divide groups of these sizes into ranges of up to `max_rows` people, or a million.

    A group that is larger is divided into several ranges.
    """
    max_rows = min(max_rows or _PART, _PART)
    size_ends = np.cumsum(sizes)
    start = n_people_done = 0
    while start < len(sizes):
        # As many whole groups as have at most `max_rows` people together.
        stop = int(np.searchsorted(size_ends, n_people_done + max_rows, side="right"))
        stop = min(stop, start + _MOST_GROUPS)
        if stop > start:
            yield GroupRange(start, stop, None)
        else:  # the next group alone has more
            stop = start + 1
            for n_done in range(0, int(sizes[start]), max_rows):
                yield GroupRange(start, stop, min(max_rows, int(sizes[start]) - n_done))
        start, n_people_done = stop, int(size_ends[stop - 1])


class DrawnEntries(NamedTuple):
    """Entries of some groups, each with its group and how often it is there."""

    entries: IntArray
    group: Any  # counted from the first of these groups
    times: IntArray


class Bags:
    """The entries of each group, drawn at random without replacement."""

    def __init__(self, offsets: IntArray, times: IntArray, random: np.random.Generator) -> None:
        self._offsets, self._times, self._random = offsets, times, random
        self._left: tuple[int, IntArray] | None = None

    def draw_entries(self, start: int, stop: int, n: int | None) -> DrawnEntries:
        """All entries of the groups from `start` to `stop`; or `n` of one group, drawn at random.

        What is drawn is not drawn again.
        """
        first = int(self._offsets[start])
        times = self._times[first : self._offsets[stop]]
        if n is not None:
            # What earlier draws left of this group, or all of it.
            remaining = self._left[1] if self._left and self._left[0] == start else times
            # As many of each entry as a random choice of so many people has.
            chosen = self._random.multivariate_hypergeometric(remaining, n, method="marginals")
            self._left = start, remaining - chosen
            entries = np.flatnonzero(chosen)
            return DrawnEntries(first + entries, np.zeros(len(entries), np.uint16), chosen[entries])
        group = np.repeat(
            np.arange(stop - start, dtype=np.uint16), np.diff(self._offsets[start : stop + 1])
        )
        return DrawnEntries(np.arange(first, first + len(times)), group, times)


def refuse_borrowed_priors(
    columns: Sequence[Coarsened], groups: IntArray, n_groups: int, priors: Iterable[PriorTable]
) -> None:
    """Refuse a coarse label that priors have as a signature: these priors are of other people.

    Labels without any prior are refused by the audit.
    """
    known_columns = {column.attribute.name: column for column in columns}
    for table in priors:
        names = [name for name in table.attributes if name in known_columns]
        # For each group, whether its labels are the exact values of all its members.
        labels, is_exact = [], np.ones(n_groups, dtype=bool)
        for name in names:
            column = known_columns[name]
            labels.append(column.labels)
            is_exact &= _are_exact(column.attribute, groups, column.labels)
        positions = [table.attributes.index(name) for name in names]
        # The signatures that priors have, without columns that are not coarsened.
        signatures = set()
        for known_signature in table.chances:
            signatures.add(tuple(known_signature[position] for position in positions))
        for group in np.flatnonzero(~is_exact).tolist():
            signature = tuple(texts[group] for texts in labels)
            if signature in signatures:
                labelled = ", ".join(
                    f"{column_name!r} {label!r}"
                    for column_name, label in zip(names, signature, strict=True)
                )
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
    """For each group, whether its label is the one value that all of its members have.

    `groups` is the group of each entry, and `labels` has the label of each group.
    """
    offsets, codes, _ = count_pairs(groups, attribute.codes, len(labels), len(attribute.domain))
    exact, first = exact_labels(attribute), codes[offsets[:-1]].tolist()
    is_uniform = (np.diff(offsets) == 1).tolist()  # the group has one value only
    rows = zip(is_uniform, first, labels, strict=True)
    return np.array([uniform and exact[code] == label for uniform, code, label in rows])


def rank_of_labels(labels: Sequence[str | None], positions: IntArray) -> IntArray:
    """Rank of each label by what it covers, then by its text; equal labels have one rank."""
    first_then_last = positions[:, 0] * (int(positions.max()) + 1) + positions[:, 1]
    place_of = dict(zip(labels, first_then_last.tolist(), strict=True))  # a label covers one thing
    order = sorted(place_of, key=lambda label: (place_of[label], label or ""))
    rank = {label: i for i, label in enumerate(order)}
    return np.array([rank[label] for label in labels], dtype=np.int64)


def group_ids(n_groups: int, random: np.random.Generator) -> IntArray:
    """Ids of groups, drawn at random, so that their order tells nothing."""
    return random.permutation(n_groups) + 1


def bucketized(
    microdata: Microdata,
    groups: IntArray,
    ids: IntArray,
    random: np.random.Generator,
    unlinked: Sequence[str] = (),
    max_rows: int | None = None,
) -> dict[str, Drawing | pa.Table]:
    """Make the table ``people`` of exact quasi-identifiers, and ``sensitive``: group, value, count.

    Rows of people are to be drawn, up to `max_rows` at once. Groups are called by their `ids`, see
    `group_ids`. A sensitive column that is `unlinked` has a table of its own, ``sensitive2`` and so
    on.
    """
    tallies = _tallies(microdata, groups, ids, unlinked)
    columns_of_people = {}
    for a in microdata.attributes:
        columns_of_people[a.name] = (a.codes, pa.array(exact_labels(a), pa.string()))
    # Groups stand in the order of their random numbers, so that the order tells nothing.
    by_rank = {GROUP: pa.array(np.arange(1, len(ids) + 1))}
    order = [*columns_of_people, *microdata.schema.other, GROUP]
    columns_of_people |= _other_columns(microdata)
    people = _runs(microdata, ids[groups] - 1, by_rank, columns_of_people, random, (), max_rows)
    return {"people": Drawing(order, people, random), **tallies}


def _tallies(
    microdata: Microdata, groups: IntArray, ids: IntArray, unlinked: Sequence[str]
) -> dict[str, pa.Table]:
    """The tables of sensitive values in the bucketized form, by their names.

    `groups` is the group of each entry, and `ids` what each group is called, from 1.
    """
    for column in (*microdata.schema.quasi_identifiers, *microdata.schema.other):
        if column == GROUP:
            raise SchemaError(f"a bucketized release names its groups {GROUP!r}; rename the column")
    for column in microdata.schema.sensitives:
        if column in (GROUP, COUNT):
            raise SchemaError(f"a sensitive column must not be called {GROUP!r} or {COUNT!r}")
    tables = {}
    for table_name, columns in _sensitive_tables(microdata, unlinked):
        of_cell, tally = _tally(microdata, ids[groups] - 1, len(ids), columns)
        tables[table_name] = pa.table({GROUP: pa.array(of_cell + 1), **tally})
    return tables


def _tally(
    microdata: Microdata, groups: NDArray[Any], n_groups: int, columns: Sequence[Column]
) -> tuple[IntArray, dict[str, Any]]:
    """The group of each cell, and its values and count by column; in order of groups and values.

    A cell is a value, or a combination of values of several columns, that occurs in a group.
    """
    if len(columns) == 1:
        (column,), people = columns, groups
        # If people may have several values, codes are of values, and not of people.
        if column.name in microdata.schema.several:
            people = groups[microdata.holders_of(column.name)]
        value_codes, first_entry = column.codes, np.arange(len(column.domain))
        codes_by_column: dict[str, NDArray[Any]] = {column.name: first_entry}
    else:  # number the combinations that occur; each has the codes of its first entry
        sizes = [len(column.domain) for column in columns]
        value_codes, first_entry = combine([column.codes for column in columns], sizes)
        people = groups
        codes_by_column = {column.name: column.codes[first_entry] for column in columns}
    offsets, codes, counts = count_pairs(
        people, value_codes, n_groups, len(first_entry), microdata.times
    )
    group_of_cell = np.repeat(np.arange(n_groups), np.diff(offsets))
    tally: dict[str, Any] = {}
    for column in columns:
        codes_of_cells = codes_by_column[column.name][codes]
        tally[column.name] = _texts(column.domain).take(pa.array(codes_of_cells))
    tally[COUNT] = pa.array(counts)
    return group_of_cell, tally


def _encoded(values: pa.Array) -> pa.Array:
    """The same with each text once: no more of them than are there, which are looked at often."""
    return values.dictionary_encode() if pa.types.is_string(values.type) else values


def _texts(values: Iterable[Any]) -> pa.Array:
    return pa.array([str(value) for value in values], pa.string())


def _one_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """0.0 for -0.0, which is as much and prints otherwise."""
    if not pa.types.is_floating(column.type) or pa.types.is_float16(column.type):
        return column
    return pc.add(column, pa.scalar(0.0, column.type))
