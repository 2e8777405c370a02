"""The distinct rows of a table and how often each occurs, to publish it by.

They are counted in memory, where the table fits, else by the engine in which it lies, and then its
rows never come into memory. The method groups entries, the release is drawn from the counts of its
groups, and only the owner's file of members looks at each row again.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from foreknow.certificates import Certificate
from foreknow.data.arrays import IntArray, combine
from foreknow.data.counts import GroupCounts
from foreknow.data.digests import digest_of_counts, digest_of_rows
from foreknow.data.microdata import Microdata
from foreknow.data.raw_rows import counted_by
from foreknow.data.tables.columns import codes_of, plain_table
from foreknow.data.tables.formats.databases import machine_memory, memory_limit
from foreknow.data.tables.formats.duckdb_table import DuckTable, OutOfOrder
from foreknow.data.tables.sources import Source, counted_where_it_lives, open_table
from foreknow.data.tables.table import Table, free_name
from foreknow.data.tables.writers import parts_of_parquet, write_in_parts, write_parts
from foreknow.errors import InternalError, OutputError, refuse_other
from foreknow.methods.protocol import traits_of
from foreknow.policy.options import PublishOptions
from foreknow.policy.policy import Policy
from foreknow.publishing.drawn_rows import Drawing
from foreknow.publishing.formats import Parquet, format_of
from foreknow.publishing.tables import ROW
from foreknow.written_releases.members import KEYED, OF_COUNTS
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import DataError, InputError, UnsupportedError, short_of_memory
from foreknow_judge.files.duckdb_files import new_folder

_log = logging.getLogger(__name__)
ENGINES = "auto", "memory", "duckdb"
# Bytes of memory that it takes at the peak to publish a row, and a byte of a CSV file.
_PER_ROW, _PER_CSV_BYTE = 100, 4
_BATCH, _FEW = 1 << 20, 1 << 17  # rows


@dataclass(frozen=True, eq=False)
class Entries:
    """A table by its equal rows, which were counted in memory."""

    microdata: Microdata  # of entries; see `Microdata.counted`
    rows: Any  # the table as it was read; see `Counted` for others
    digest_kind: ClassVar[str] = KEYED

    @property
    def digest(self) -> Callable[[bytes], str]:
        """The function from a key to the digest of the source."""
        return partial(digest_of_rows, self.rows)

    def rows_per_part(self, options: PublishOptions) -> int | None:
        """How many rows a file of the release has at most; None where it is one file."""
        return options.rows_per_part

    def kept(self, tables: Mapping[str, Drawing | pa.Table], policy: Policy) -> InMemory | Stored:
        """The tables of a release: in memory, or in files where they are large."""
        # What is judged is a file of Parquet, or one of CSV that is written of them.
        fewest = _FEW if format_of(policy.options).typed else _BATCH
        if self.microdata.schema.several or self.microdata.n_people <= fewest:
            return InMemory({name: whole(table) for name, table in tables.items()})
        return Stored(tables, self.rows_per_part(policy.options))

    def write_members(
        self,
        groups: IntArray,
        published: Mapping[str, pa.Array],
        path: Path,
        files: Mapping[str, str],
    ) -> None:
        """Write a file for the owner that says who is in which group of the release.

        `published` has the label of each group by column; `files` are the digests of the release.
        """
        write_parts(self.members(groups, published), path, _note(files))

    def members(
        self, groups: IntArray, published: Mapping[str, pa.Array], *, in_order: bool = False
    ) -> Iterator[pa.Table]:
        """Yield the rows of the source with the labels of their groups; null if left out.

        Raises an error if the source now has other rows than were counted.
        """
        group_sizes = np.bincount(groups, self.microdata.times).astype(np.int64)
        source_columns, (row_column, *id_columns) = self._named(published)
        labels = {}  # of the groups, by column
        for name, array in published.items():
            labels[name] = array.dictionary_encode() if pa.types.is_string(array.type) else array
        people_met, n_rows_done = np.zeros(len(group_sizes), dtype=np.int64), 0
        rows = self._rows_and_groups(groups, source_columns, in_order=in_order)
        for batch, group_of_row in rows:
            is_published = group_of_row >= 0
            people_met += np.bincount(group_of_row[is_published], minlength=len(group_sizes))
            indices = pa.array(group_of_row, mask=~is_published)
            members = {
                row_column: pa.array(
                    np.arange(n_rows_done + 1, n_rows_done + 1 + len(group_of_row))
                )
            }
            members |= dict(zip(id_columns, batch.columns, strict=True))
            yield pa.table(members | {name: array.take(indices) for name, array in labels.items()})
            n_rows_done += len(group_of_row)
        if self.microdata.schema.several:  # whose entries are people, whatever rows they have
            people_met = group_sizes
        if n_rows_done != self.microdata.n_rows or not np.array_equal(people_met, group_sizes):
            raise self._read_otherwise()

    def of_rows(self, groups: IntArray) -> IntArray:
        """The group of each row of the source, by that of each entry; -1 if it is left out."""
        rows = self.rows
        of_row: IntArray = rows.rows_of(groups) if self.microdata is rows else rows.of_rows(groups)
        return of_row

    def _read_otherwise(self) -> DataError:
        return DataError(
            f"{self.microdata.name} gave other rows when it was read again, and a source is read "
            'once; write it to a file first, or publish with engine = "memory"'
        )

    def _named(self, published: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """The columns that name people; and names for the number of a row, and for these columns.

        The names differ from those of the `published` columns, beside which they will stand.
        """
        schema = self.microdata.schema
        naming_columns = dict.fromkeys(filter(None, [schema.person, *schema.identifiers]))
        names = [name for name in naming_columns if name not in schema.quasi_identifiers]
        names_of_rows: list[str] = []
        for name in names:
            names_of_rows.append(free_name(name, {*published, *names_of_rows}))
        return names, [free_name(ROW, {*published, *names_of_rows}), *names_of_rows]

    def _rows_and_groups(
        self, groups: IntArray, names: list[str], *, in_order: bool
    ) -> Iterator[tuple[Any, IntArray]]:
        """Yield some columns of the rows, a batch at a time in their order, and the group of each.

        `groups` is the group of each entry; -1 is that of a row which is left out.
        """
        of_row = self.of_rows(groups)
        columns = self.rows.source.arrow(names) if names else pa.table({})
        for start in range(0, len(of_row), _BATCH):
            batch = of_row[start : start + _BATCH]
            yield columns.slice(start, len(batch)), batch


@dataclass(frozen=True, eq=False)
class CountedEntries(Entries):
    """Entries counted by the engine in which the table lies; `rows` is its table of them."""

    counted_table: pa.Table
    times: IntArray
    digest_kind = OF_COUNTS

    @property
    def digest(self) -> Callable[[bytes], str]:
        """The function from a key to the digest of the counts."""
        return partial(digest_of_counts, self.microdata)

    def rows_per_part(self, options: PublishOptions) -> int | None:
        """How many rows a file has at most, by the engine where nothing is said."""
        of_engine: int | None = self.rows.rows_per_part if format_of(options).typed else None
        return options.rows_per_part or of_engine

    def kept(self, tables: Mapping[str, Drawing | pa.Table], policy: Policy) -> InMemory | Stored:
        """The tables of a release in files."""
        return Stored(tables, self.rows_per_part(policy.options))

    def write_members(
        self,
        groups: IntArray,
        published: Mapping[str, pa.Array],
        path: Path,
        files: Mapping[str, str],
    ) -> None:
        """Let the engine that counted the table write who is in which group.

        The engine finds for each row its entry (equal rows are one), and so its group.
        """
        source_columns, (row_column, *id_columns) = self._named(published)
        group_of_entry = np.full(len(self.counted_table), -1, dtype=np.int64)  # -1: left out
        group_of_entry[self.microdata.kept] = groups
        counted_groups = (self.counted_table, self.times, group_of_entry, pa.table(dict(published)))
        new_names = dict(zip(source_columns, id_columns, strict=True))
        if not self.rows.write_rows(*counted_groups, new_names, row_column, path, _note(files)):
            raise self._read_otherwise()

    def _rows_and_groups(
        self, groups: IntArray, names: list[str], *, in_order: bool
    ) -> Iterator[tuple[Any, IntArray]]:
        raise UnsupportedError(
            "only the cluster knows who is in which group; write the release, and give its folder"
        )


class DuckEntries(CountedEntries):
    """Entries of a table that DuckDB reads, and can read again."""

    def write_members(
        self,
        groups: IntArray,
        published: Mapping[str, pa.Array],
        path: Path,
        files: Mapping[str, str],
    ) -> None:
        """Write who is in which group; in order of rows if DuckDB returned them out of order."""
        try:
            write_parts(self.members(groups, published), path, _note(files))
        except OutOfOrder:
            write_parts(self.members(groups, published, in_order=True), path, _note(files))

    def _rows_and_groups(
        self, groups: IntArray, names: list[str], *, in_order: bool
    ) -> Iterator[tuple[Any, IntArray]]:
        schema = self.microdata.schema
        needed = schema.sensitives if self.microdata.left_out else ()
        keys, of_key = self._group_of_signatures(list(schema.quasi_identifiers), groups)
        yield from self.rows.looked_up(keys, of_key, needed, names, in_order=in_order)

    def _group_of_signatures(self, names: list[str], groups: IntArray) -> tuple[pa.Table, IntArray]:
        """The distinct rows of quasi-identifiers in the table as it stands, and the group of each.

        -1 is the group of rows of which nobody is published.
        """
        coded = [codes_of(self.counted_table.column(name)) for name in names]
        # The number of each entry's quasi-identifiers, and the first entry with these.
        signature, first_entry = combine(
            [codes for codes, _ in coded], [len(values) for _, values in coded]
        )
        group_of_signature = np.full(len(first_entry), -1, dtype=np.int64)
        kept_signatures = signature[self.microdata.kept]
        group_of_signature[kept_signatures] = groups
        if not np.array_equal(group_of_signature[kept_signatures], groups):
            raise InternalError("people with the same quasi-identifiers were put into two groups")
        columns = []
        for codes, values in coded:
            columns.append(values.take(pa.array(codes[first_entry])))
        return pa.table(columns, names=names), group_of_signature


def _note(files: Mapping[str, str]) -> str:
    return json.dumps(dict(files), sort_keys=True)


def entries_of(microdata: Microdata, policy: Policy, method: Any, engine: str) -> Entries:
    """The entries to publish: equal rows counted, or every row if something needs each.

    An `engine` outside memory counts the table if it can; else it is read, and the log says why.
    """
    refuse_other("engine is", engine, ENGINES)
    why_every_row = _why_every_row(microdata, policy, method)
    if engine != "memory":
        automatic = engine == "auto"
        entries_or_reason = why_every_row or _counted_by_engine(
            microdata, policy, automatic=automatic
        )
        if isinstance(entries_or_reason, Entries):
            return entries_or_reason
        level = logging.INFO if automatic else logging.WARNING
        _log.log(level, "the table is read into memory: %s", entries_or_reason)
    return Entries(microdata if why_every_row else microdata.merged, microdata)


def _counted_by_engine(microdata: Microdata, policy: Policy, *, automatic: bool) -> Entries | str:
    """Entries as an engine outside memory counts them, or a text that says why it does not.

    `automatic` says that nobody asked for the engine, so a small table is read.
    """
    source, names = _countable_source(microdata, policy), counted_by(microdata.schema)
    if isinstance(source, str):
        return source
    if automatic and _is_small(source):
        return f"{microdata.name} is small"
    _log.info("counting equal rows of %s", microdata.name)
    rows, times = source.tally(names, signs=False)
    try:
        merged = microdata.counted(plain_table(rows, names), times)
    except InputError as error:  # where it names a row, that is another one in the table
        if not source.rows_numbered:
            raise
        return f"an error is to name its row ({error})"
    _log.info("%d rows are %d different ones", merged.n_rows, len(times))
    kind = DuckEntries if isinstance(source, DuckTable) else CountedEntries
    return kind(merged, source, rows, times)


def whole(table: Drawing | pa.Table) -> pa.Table:
    """All rows of a table, drawn if they are to be."""
    return pa.concat_tables(table.tables()) if isinstance(table, Drawing) else table


@dataclass(frozen=True, eq=False)
class Placed:
    """Entries, the group of each, and how each group is called in the release, by column."""

    entries: Entries
    groups: IntArray
    published: Mapping[str, pa.Array]

    def group_of_entries_in(self, counts: GroupCounts) -> IntArray:
        """The position in `counts` of each entry's group; groups are matched by their labels."""
        columns = [labels.to_pylist() for labels in self.published.values()]
        group_labels: Any = counts.groups
        position = {}
        for i, label in enumerate(group_labels):
            position[label if isinstance(label, tuple) else (label,)] = i
        position_of_group = [position[label] for label in zip(*columns, strict=True)]
        return np.array(position_of_group, dtype=np.int64)[self.groups]

    def of_people(self, counts: GroupCounts) -> IntArray:
        """The position of each person's group in the counts; needs the rows in memory."""
        rows, among = self.entries.rows, self.group_of_entries_in(counts)
        merged = self.entries.microdata is not rows
        of_row = rows.of_rows(among) if merged else rows.rows_of(among)
        groups: IntArray = of_row[rows.kept]
        return groups

    def members(self) -> Iterator[pa.Table]:
        """A row for each of the source, in its order, with the labels of its group."""
        return self.entries.members(self.groups, self.published, in_order=True)

    def write(self, path: Path, files: Mapping[str, str]) -> None:
        """Write the owner's file of who is in which group of these files."""
        self.entries.write_members(self.groups, self.published, path, files)


class Aside:
    """The files of a release in a private folder, as they are published once they are judged.

    Attributes
    ----------
    paths : dict of str to list of Path
        The files of each table.
    digests : list of str
        SHA-256 of each file.
    """

    def __init__(self, names: Iterable[str], write: Callable[[str, Path], list[Path]]) -> None:
        # `write` writes the files of the table of a name into a folder, and returns their paths.
        try:
            folder = new_folder()
            weakref.finalize(self, _remove, folder, os.getpid())  # with this object it is removed
            self.paths = {name: write(name, folder) for name in names}
        except OSError as error:
            if short_of_memory(error):
                raise
            raise OutputError(
                f"cannot write temporary files in {tempfile.gettempdir()!r}: "
                f"{error.strerror or error}; nothing was written. Set TMPDIR to a folder with room"
            ) from error
        self.digests = [*map(digest_of, chain(*self.paths.values()))]

    @classmethod
    def of(cls, tables: InMemory | Stored, files: Parquet, certificate: Certificate) -> Aside:
        """Write tables as files of a format, spelled as a certificate says."""

        def write(name: str, folder: Path) -> list[Path]:
            path = folder / f"{name}.{certificate.format}"
            return files.write(certificate, tables.parts(name), path)

        return Aside(tables, write)

    def copy(self, name: str, path: Path) -> list[Path]:
        """Copy the files of a table to a path, and return the paths of the copies.

        Several files, the parts of a table, go into a folder at this path.
        """
        table_paths = self.paths[name]
        gone = [file for file in table_paths if not file.is_file()]
        if gone:
            raise DataError(
                f"{gone[0]}, which was judged and is to be published, was removed meanwhile; "
                "publish again"
            )
        if len(table_paths) == 1 and table_paths[0].name == path.name:
            shutil.copyfile(table_paths[0], path)
            return [path]
        path.mkdir()
        return [Path(shutil.copyfile(file, path / file.name)) for file in table_paths]


def _remove(folder: Path, process: int) -> None:
    """Remove a folder; not in a fork of the process that made it, which still has it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


class InMemory(dict[str, pa.Table]):
    """The tables of a release in memory."""

    def opened(self, files: Parquet) -> dict[str, Table]:
        """The tables where they can be counted."""
        files.refuse_rows(self)
        return {name: open_table(table) for name, table in self.items()}

    def parts(self, name: str) -> Iterator[pa.Table]:
        """A table, all of its rows at once."""
        yield self[name]

    def filed(self, files: Parquet, certificate: Certificate) -> Aside:
        """The files that are published."""
        return Aside.of(self, files, certificate)


class Stored(Aside, Mapping[str, pa.Table]):
    """The tables of a release in files of Parquet; read when they are asked for."""

    def __init__(self, tables: Mapping[str, Drawing | pa.Table], rows_per_file: int | None) -> None:
        def write(name: str, folder: Path) -> list[Path]:
            table = tables[name]
            parts = table.tables() if isinstance(table, Drawing) else [table]
            return write_in_parts(parts, folder / f"{name}.parquet", rows_per_file)

        super().__init__(tables, write)
        self.tallies = {name: getattr(table, "tally", None) for name, table in tables.items()}

    def filed(self, files: Parquet, certificate: Certificate) -> Aside:
        """The files that are published."""
        return self if files.typed else Aside.of(self, files, certificate)

    def opened(self, files: Parquet) -> dict[str, Table]:
        """The tables where they can be counted; a verifier counts what was written."""
        release_tables: dict[str, Any] = {}
        for name, paths in self.paths.items():
            release_tables[name] = DuckTable.of_parquet(paths, "the release")
            release_tables[name].kept = self
            release_tables[name].known = self.tallies[name]
        return release_tables

    def parts(self, name: str) -> Iterator[pa.Table]:
        """A table, some rows at a time."""
        return chain.from_iterable(map(parts_of_parquet, self.paths[name]))

    def __getitem__(self, name: str) -> pa.Table:
        return pa.concat_tables(self.parts(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def _why_every_row(microdata: Microdata, policy: Policy, method: Any) -> str | None:
    """The reason why every row is needed, and not only how often each occurs; None without one."""
    reasons = {
        f"{type(method).__name__} looks at each row": not traits_of(method).counted,
        "a person may have several values": microdata.schema.several,
        "the weights of rows become weights of groups": microdata.schema.published_weights,
        "the owner counts people, or columns that are not published": policy.by_row,
        "priors are compared with people": policy.attributes,
    }
    return next(compress(reasons, reasons.values()), None)


def _countable_source(microdata: Microdata, policy: Policy) -> Source | str:
    """The table if an engine can count it outside memory, or a text that says why not.

    A column that may be known must be a text in files without types: an engine may print its
    values otherwise than Python.
    """
    if microdata.was_read:
        return "it was read already"
    source = counted_where_it_lives(microdata.source, counted_by(microdata.schema))
    if not isinstance(source, str) and not format_of(policy.options).typed:
        untyped_columns = [name for name in policy.known_other if not source.is_text(name)]
        if untyped_columns:
            name = untyped_columns[0]
            return f"column {name!r}, which may be known, is no text, and is written as one"
    return source


def _is_small(source: Source) -> bool:
    """True if a table fits into the allowed memory, so that reading it is faster."""
    limit = memory_limit()
    if limit is None:
        limit = machine_memory() // 4
    size = source.size
    return size is not None and size * (_PER_CSV_BYTE if source.untyped else _PER_ROW) < limit
