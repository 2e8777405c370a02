"""Drawn: rows of a release from the counts of its groups, here or by the workers of a cluster.

What is drawn, and the seed, lie in a file of the plan; rows of the source are not looked at. A
cluster is sent this module as it is, and the two that it uses, `foreknow.randomness` and
`foreknow_judge.parquet_layout`; it imports nothing else of ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from foreknow.randomness import KEY, SecretGenerator
from foreknow_judge.parquet_layout import write

SAID = "number long, rows long, file string"  # what workers say of what they wrote


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
    tally: tuple[pa.Table, Any] | None = None  # its different rows, and how many of each there are

    def tables(self) -> Iterator[pa.Table]:
        """The rows, drawn here."""
        return (run.drawn(self.columns, self.random) for run in self.runs)


def write_plan(runs: Iterable[Run], path: Path, random: np.random.Generator) -> None:
    """Write what is to be drawn into one file of the release."""
    with path.open("xb") as file:
        file.write(b"k" if isinstance(random, SecretGenerator) else b"s")
        file.write(random.bytes(KEY))
        for run in runs:
            for table, *numbers in ((run.labels, run.people), *run.bags):
                whole = [*map(undone, table.columns), *map(pa.array, numbers)]
                named = pa.table(whole, names=[*table.column_names, *map(str, range(len(numbers)))])
                with pa.ipc.new_stream(file, named.schema) as stream:
                    stream.write_table(named)


def undone(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without its dictionary, which may be that of the whole table."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def coded(labels: pa.Table) -> pa.Table:
    """Labels of which texts have a dictionary, since many rows have the same."""
    columns = [
        column.dictionary_encode() if pa.types.is_string(column.type) else column
        for column in labels.columns
    ]
    return pa.table(columns, names=labels.column_names)


def _read_plan(path: Path, n_bags: int) -> Iterator[Any]:
    """What is drawn from, then run after run."""
    with pa.OSFile(str(path), "rb") as file:
        secret, key = file.read(1) == b"k", file.read(KEY)
        seed = int.from_bytes(key, "little")
        yield SecretGenerator(key) if secret else np.random.default_rng(seed)
        end = os.path.getsize(path)
        while file.tell() < end:
            labels, people = _parted(file, 1)
            # Dictionaries of bags would tell in which order entries were counted.
            yield Run(coded(labels), people, [Bag(*_parted(file, 2)) for _ in range(n_bags)])


def _parted(file: Any, many: int) -> tuple[Any, ...]:
    table = pa.ipc.open_stream(file).read_all()
    numbers = [column.to_numpy() for column in table.columns[-many:]]
    return pa.table(table.columns[:-many], names=table.column_names[:-many]), *numbers


def draw(plan: Path, columns: Sequence[str], n_bags: int) -> tuple[str, int]:
    """Write a file of the release beside its plan; give its name and its rows.

    Somebody may draw the same once more, such as after a crash, so each time the name is new.
    """
    runs = _read_plan(plan, n_bags)
    random = next(runs)
    path = plan.with_name(f"{uuid4().hex}.drawn")
    return path.name, write((run.drawn(columns, random) for run in runs), path)


def by_part(folder: Path, draw: Callable[[Path], tuple[str, int]]) -> Callable[..., Any]:
    """What a worker does with numbers of parts: it draws each."""

    def work(batches: Iterable[Any], token: str) -> Iterator[Any]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                check(folder, token)
                name, rows = draw(folder / f"{part}.plan")
                yield said(part, rows, name)

    return work


def check(folder: Path, token: str) -> None:
    """Raise unless a folder is the one that was meant, and not one of its name elsewhere."""
    known = folder / "token"
    if not known.is_file() or known.read_text() != token:
        raise OSError("they do not see that folder")


def said(number: int, rows: int, name: str) -> Any:
    """What a worker says of a file, as `SAID` names it."""
    columns = [pa.array([number]), pa.array([rows]), pa.array([name])]
    return pa.RecordBatch.from_arrays(columns, names=["number", "rows", "file"])
