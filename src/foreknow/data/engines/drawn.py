"""Drawn: rows of a release from the counts of its groups, here or by the workers of a cluster.

What is drawn, and the seed, lie in a file of the plan; rows of the source are not looked at. A
cluster is sent this module as it is, so it imports nothing of ours.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_SEED = 32  # bytes


class Bag(NamedTuple):
    """What some groups have of some columns: different entries, in order of the groups."""

    columns: pa.Table
    groups: Any  # of each entry, its place in the run
    times: Any  # how many rows each is


class Run(NamedTuple):
    """Groups in order: what all rows of each have, and what is drawn at random among them."""

    labels: pa.Table
    people: Any  # rows of each group
    bags: Sequence[Bag]

    def drawn(self, columns: Sequence[str], random: np.random.Generator) -> pa.Table:
        """The rows: each entry of a bag as often as it is there, mixed within each group."""
        of_row = pa.array(np.repeat(np.arange(len(self.people)), self.people))
        made = dict(zip(self.labels.column_names, self.labels.take(of_row).columns, strict=True))
        for bag in self.bags:
            mixed = random.permutation(
                np.repeat(np.arange(len(bag.times), dtype=np.int32), bag.times)
            )
            mixed = mixed[np.argsort(bag.groups[mixed], kind="stable")]
            for name in bag.columns.column_names:
                made[name] = bag.columns.column(name).take(pa.array(mixed))
        return pa.table({name: made[name] for name in columns})


class Drawing(NamedTuple):
    """A table that is to be drawn, some rows at a time."""

    columns: Sequence[str]
    runs: Iterator[Run]
    random: np.random.Generator

    def tables(self) -> Iterator[pa.Table]:
        """The rows, drawn here."""
        return (run.drawn(self.columns, self.random) for run in self.runs)


def write_plan(runs: Iterable[Run], path: Path, seed: bytes) -> None:
    """Write what is to be drawn into one file of the release."""
    with path.open("xb") as file:
        file.write(seed)
        for run in runs:
            for table, *numbers in ((run.labels, run.people), *run.bags):
                whole = [*map(_undone, table.columns), *map(pa.array, numbers)]
                named = pa.table(whole, names=[*table.column_names, *map(str, range(len(numbers)))])
                with pa.ipc.new_stream(file, named.schema) as stream:
                    stream.write_table(named)


def _undone(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without its dictionary, which may be that of the whole table."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def _read_plan(path: Path, n_bags: int) -> Iterator[Any]:
    """The seed, then run after run."""
    with pa.OSFile(str(path), "rb") as file:
        yield file.read(_SEED)
        end = os.path.getsize(path)
        while file.tell() < end:
            labels, people = _parted(file, 1)
            yield Run(labels, people, [Bag(*_parted(file, 2)) for _ in range(n_bags)])


def _parted(file: Any, many: int) -> tuple[Any, ...]:
    table = pa.ipc.open_stream(file).read_all()
    numbers = [column.to_numpy() for column in table.columns[-many:]]
    kept = [
        column.dictionary_encode() if pa.types.is_string(column.type) else column
        for column in table.columns[:-many]
    ]
    return pa.table(kept, names=table.column_names[:-many]), *numbers


def draw(plan: Path, columns: Sequence[str], n_bags: int) -> tuple[str, int, str]:
    """Write a file of the release beside its plan; give its name, its rows and its SHA-256.

    Somebody may draw the same once more, such as after a crash, so each time the name is new.
    """
    runs = _read_plan(plan, n_bags)
    random = np.random.default_rng(int.from_bytes(next(runs), "little"))
    path = plan.with_name(f"{uuid4().hex}.drawn")
    parts = (run.drawn(columns, random) for run in runs)
    first, rows = next(parts), 0
    with pq.ParquetWriter(str(path), first.schema, store_schema=False) as writer:
        for part in chain([first], parts):
            writer.write_table(part)
            rows += len(part)
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return path.name, rows, hashlib.file_digest(file, "sha256").hexdigest()
