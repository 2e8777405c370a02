"""Lookup: who is in which group, found row by row among what was counted.

Rows are looked up where they are read, here or by the workers of a cluster: nothing is joined,
sorted or sent from one worker to another. What is known lies in a file, which each worker maps. A
cluster is sent this module as it is; it imports nothing else of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SAID = "number long, rows long, file string"  # what workers say of what they wrote
_ROWS = 1 << 20  # that are looked up at once
_SPAN = 1 << 62
_FILE = "known"


class Lookup(NamedTuple):
    """Counted combinations in order of their keys; a key has the values' codes as digits.

    Where such numbers would grow too large, their place among those that occur stands for them.
    """

    values: Sequence[pa.ChunkedArray]  # of each column, those that occur
    keys: Sequence[Any]  # after each column, in order; none where numbers do not grow too large
    weights: Any
    groups: Any  # -1 of what is left out
    labels: pa.Table  # of the groups

    def labelled(self, rows: pa.Table, names: Sequence[str]) -> tuple[pa.Table, int]:
        """Rows with the labels of their groups in place of some columns; a sum of weights.

        The last columns of `rows` are looked up, the others stay; a row that is in no group has no
        labels. The sum is of the weights of all rows that were known.
        """
        width = rows.num_columns - len(self.values)
        entry_of_row = self._places(rows.columns[width:])
        is_known = entry_of_row >= 0
        group = np.where(is_known, self.groups[entry_of_row], -1)
        indices = pa.array(group, mask=group < 0)
        columns = [*rows.columns[:width], *(label.take(indices) for label in self.labels.columns)]
        return pa.table(columns, names=names), int(self.weights[entry_of_row[is_known]].sum())

    def _places(self, columns: Sequence[Any]) -> Any:
        """The place of each row among the entries that were counted; -1 if it is not there.

        A row's key is made of the codes of its values, as digits.
        """
        key: Any = np.zeros(len(columns[0]), np.int64)
        unknown = np.zeros(len(key), bool)
        for column, values, keys in zip(columns, self.values, self.keys, strict=True):
            codes = _codes(_comparable(column), values)
            unknown |= codes < 0
            # Keys that would grow too large give way to their place among those that occur.
            key = key * len(values) + codes
            if len(keys):
                order = np.argsort(key)  # neighbours are found several times as fast
                entry_of_row = np.empty_like(key)
                entry_of_row[order] = np.minimum(np.searchsorted(keys, key[order]), len(keys) - 1)
                unknown |= keys[entry_of_row] != key
                key = entry_of_row
        key[unknown] = -1
        return key


def write_lookup(
    entries: pa.Table, times: Any, groups: Any, labels: pa.Table, folder: Path
) -> tuple[int, int]:
    """Write what was counted into a folder; return the rows' sum of weights and their number.

    `entries` are the distinct combinations, `times` how often each occurs, `groups` the group of
    each (-1: left out), and `labels` those of the groups. Weights are random numbers of 64 bits:
    their sum tells whether each entry occurs as often when rows are looked up.
    """
    values: list[Any] = []
    keys: list[Any] = []
    # The codes of a row's values are the digits of its key; `span` is how many keys there can be.
    key, span = np.zeros(len(entries), np.int64), 1
    for column in map(_comparable, entries.columns):
        distinct = column.unique()
        if span * len(distinct) >= _SPAN:
            keys[-1], key = np.unique(key, return_inverse=True)
            span = len(keys[-1])
        key, span = key * len(distinct) + _codes(column, distinct), span * len(distinct)
        values.append(distinct)
        # No keys are listed for a column, unless numbers grow too large at the next one.
        keys.append(key[:0])
    # The last keys are always listed: they tell which combinations occur.
    order = np.argsort(key)
    keys[-1] = key[order]
    weights = np.random.default_rng().integers(1 << 64, size=len(order), dtype=np.uint64)
    key_tables = [pa.table([array], names=["0"]) for array in (*values, *keys)]
    entry_columns = [pa.array(weights), pa.array(groups[order].astype(np.int32))]
    label_table = pa.table([*map(_undone, labels.columns)], names=labels.column_names)
    with (folder / _FILE).open("xb") as file:
        for table in (*key_tables, pa.table(entry_columns, names=["0", "1"]), label_table):
            with pa.ipc.new_stream(file, table.schema) as stream:
                stream.write_table(table)
    # In 64 bits without sign, where sums wrap around.
    return int((times[order].astype(np.uint64) * weights).sum()), int(times.sum())


def read_lookup(folder: Path) -> Lookup:
    """The lookup in a folder; its arrays are mapped from the file, not read into memory."""
    tables = []
    with pa.memory_map(str(folder / _FILE)) as file:
        while file.tell() < file.size():
            tables.append(pa.ipc.open_stream(file).read_all())
    *key_tables, of_entry, labels = tables
    # First a column for each looked-up column's values, then as many lists of keys.
    columns = [table.column(0) for table in key_tables]
    width = len(columns) // 2
    keys = [column.to_numpy() for column in columns[width:]]
    weights, groups = (column.to_numpy() for column in of_entry.columns)
    return Lookup(columns[:width], keys, weights, groups, _coded(labels))


def labelled_parts(
    batches: Iterable[Any], lookup: Lookup, names: Sequence[str]
) -> Iterator[tuple[pa.Table, int]]:
    """Yield the results of `Lookup.labelled` for batches of rows, many batches at once."""
    pending: list[Any] = []
    for batch in batches:
        pending.append(batch)
        if sum(map(len, pending)) >= _ROWS:
            yield lookup.labelled(pa.Table.from_batches(pending), names)
            pending = []
    if pending:
        yield lookup.labelled(pa.Table.from_batches(pending), names)


def by_row(folder: Path, names: Sequence[str], note: str) -> Callable[..., Any]:
    """The function of a worker: it writes rows with labels, and reports a sum of weights.

    `names` are the columns that it writes, and `note` the metadata of the file. Its report is a
    number, how many rows there were, and the file's name.
    """

    def work(batches: Iterable[Any], token: str) -> Iterator[Any]:
        # The worker must see the very folder, not one of that name on its own machine.
        _check(folder, token)
        path, writer, total, rows = folder / f"{uuid4().hex}.rows", None, 0, 0
        for labelled_part, weight in labelled_parts(batches, read_lookup(folder), names):
            # A sum of random weights in 64 bits, which wraps around.
            total, rows = (total + weight) % (1 << 64), rows + len(labelled_part)
            labelled_part = labelled_part.replace_schema_metadata({b"foreknow": note})
            # The file is begun with the first rows: their columns are its columns.
            writer = writer or pq.ParquetWriter(
                str(path), labelled_part.schema, write_statistics=False
            )
            writer.write_table(labelled_part)
        if writer is not None:
            writer.close()
            # Spark has 64-bit numbers with sign only, so the sum is shifted into their range.
            summary = [[(total + (1 << 63)) % (1 << 64) - (1 << 63)], [rows], [path.name]]
            yield pa.RecordBatch.from_arrays([*map(pa.array, summary)], ["number", "rows", "file"])

    return work


def _codes(column: Any, values: Any) -> Any:
    """The place of each value among those that are known; -1 if it is not known.

    A null may be a known value.
    """
    positions = pc.index_in(column, value_set=values.cast(column.type))
    return positions.fill_null(-1).to_numpy().astype(np.int64)


def _comparable(column: Any) -> Any:
    """A plain column in which equal values have equal bits.

    -0.0 becomes 0.0, and every NaN the same one.
    """
    column, kind = _undone(column), column.type
    if not pa.types.is_floating(kind):
        return column
    one_zero = pc.add(column, pa.scalar(0.0, kind))
    return pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), kind), one_zero)


def _undone(column: Any) -> Any:
    """A column without its dictionary, which may be that of the whole table."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def _coded(labels: pa.Table) -> pa.Table:
    """The labels with texts as dictionaries, since many rows have the same text."""
    columns = []
    for column in labels.columns:
        columns.append(column.dictionary_encode() if pa.types.is_string(column.type) else column)
    return pa.table(columns, names=labels.column_names)


def _check(folder: Path, token: str) -> None:
    """Raise unless a folder is the one that was meant, and not one of its name elsewhere."""
    token_file = folder / "token"
    if not token_file.is_file() or token_file.read_text() != token:
        raise OSError("they do not see that folder")
