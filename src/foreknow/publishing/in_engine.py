"""In the engine: publish a table by the counts of its equal rows, which never come into memory.

An engine counts the combinations of all published columns where the data lives. The method groups
these, the release is drawn from the counts of its groups, and only the owner's file of members
looks at each row again.
"""

from __future__ import annotations

import json
import logging
import shutil
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foreknow.data.engines.columns import codes_of, plain_table
from foreknow.data.engines.counted import Counted, OutOfOrder, Source, counted_where_it_lives
from foreknow.data.engines.drawn import Drawing
from foreknow.data.engines.duckdb_table import DuckTable
from foreknow.data.engines.table import free_name
from foreknow.data.engines.write import parts_of_parquet, write_in_parts, write_parts
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray, combine
from foreknow.engine import memory_limit, new_folder
from foreknow.errors import DataError, InputError, InternalError, did_you_mean
from foreknow.methods.protocol import traits_of
from foreknow.policy.policy import Policy, PublishOptions
from foreknow.publishing.certificate import digest_of
from foreknow.publishing.tables import ROW

_log = logging.getLogger(__name__)
ENGINES = "auto", "memory", "duckdb"
# From here on a table is counted: rows, or bytes of a CSV file. What is smaller is read as fast.
LARGE_ROWS, LARGE_BYTES = 10_000_000, 400_000_000
# So much memory it takes to publish a row, or a byte of CSV, that was read; at the peak.
_PER_ROW, _PER_BYTE = 160, 8


@dataclass(frozen=True, eq=False)
class InEngine:
    """A table that an engine counted: its entries as microdata, and how its rows are found again.

    Attributes
    ----------
    microdata : Microdata
        Of entries; see `Microdata.counted`.
    """

    microdata: Microdata
    _source: Source
    _rows: pa.Table  # the entries as they were counted
    _times: IntArray

    @classmethod
    def of(cls, microdata: Microdata, policy: Policy, method: Any, engine: str) -> InEngine | None:
        """Count a table in its engine; None where it is to be read into memory."""
        if engine not in ENGINES:
            raise InputError(f"engine is {engine!r}{did_you_mean(str(engine), ENGINES)}")
        if engine == "memory":
            return None
        source = _source(microdata, policy, method)
        if not isinstance(source, str) and engine == "auto" and _is_small(source):
            source = f"{microdata.name} is small"
        found = source if isinstance(source, str) else cls._counted(microdata, source)
        if isinstance(found, InEngine):
            return found
        level = logging.INFO if engine == "auto" else logging.WARNING
        _log.log(level, "the table is read into memory: %s", found)
        return None

    @classmethod
    def _counted(cls, microdata: Microdata, source: Source) -> InEngine | str:
        schema = microdata.schema
        names = dict.fromkeys([*schema.quasi_identifiers, *schema.sensitives, *schema.other])
        _log.info("counting equal rows of %s", microdata.name)
        if schema.person is not None and not source.names_each_row(schema.person):
            found = f"somebody is in two rows by {schema.person!r}, or a row names nobody"
            if not source.in_order:
                raise DataError(f"{microdata.name}: {found}")
            return found
        rows, times = source.tally(list(names))
        try:
            counted = microdata.counted(plain_table(rows, list(names)), times)
        except InputError as error:
            if not source.in_order:
                raise
            return f"an error is to name its row ({error})"
        _log.info("%d rows are %d different ones", counted.n_rows, len(times))
        return cls(counted, source, rows, times)

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self.microdata.name

    def write_members(
        self,
        groups: IntArray,
        published: Mapping[str, pa.Array],
        path: Path,
        files: Mapping[str, str],
    ) -> None:
        """Write who is in which group, as `foreknow.publishing.members.write_members` does."""
        people = np.bincount(groups, self.microdata.times).astype(np.int64)
        note = json.dumps(dict(files), sort_keys=True)
        if not isinstance(self._source, Counted):
            self._write_there(self._source, groups, published, path, note)
            return
        try:
            write_parts(self._members(groups, published, people), path, note)
        except OutOfOrder:
            write_parts(self._members(groups, published, people, in_order=True), path, note)

    def _members(
        self,
        groups: IntArray,
        published: Mapping[str, pa.Array],
        people: IntArray,
        *,
        in_order: bool = False,
    ) -> Iterator[pa.Table]:
        names = list(self.microdata.schema.quasi_identifiers)
        own, (row, *who) = self._named(published)
        labels = {
            name: array.dictionary_encode() if pa.types.is_string(array.type) else array
            for name, array in published.items()
        }
        needed = self.microdata.schema.sensitives if self.microdata.left_out else ()
        keys, of_key = self._keys(names, groups)
        found, done = np.zeros(len(people), dtype=np.int64), 0
        assert isinstance(self._source, Counted)
        rows = self._source.looked_up(keys, of_key, needed, own, in_order=in_order)
        for batch, of_row in rows:
            inside = of_row >= 0
            found += np.bincount(of_row[inside], minlength=len(people))
            at = pa.array(of_row, mask=~inside)
            made = {row: pa.array(np.arange(done + 1, done + 1 + len(of_row)))}
            made |= dict(zip(who, batch.columns, strict=True))
            yield pa.table(made | {name: array.take(at) for name, array in labels.items()})
            done += len(of_row)
        if done != self.microdata.n_rows or not np.array_equal(found, people):
            raise self._read_otherwise()

    def _read_otherwise(self) -> DataError:
        return DataError(
            f"{self.name} gave other rows when it was read again, and a source is read once; write "
            'it to a file first, or publish with engine = "memory"'
        )

    def _named(self, published: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Columns that name people; and how the number of a row, and these, are called."""
        schema = self.microdata.schema
        given = dict.fromkeys(filter(None, [schema.person, *schema.identifiers]))
        own = [name for name in given if name not in schema.quasi_identifiers]
        who: list[str] = []
        for name in own:
            who.append(free_name(name, {*published, *who}))
        return own, [free_name(ROW, {*published, *who}), *who]

    def _write_there(
        self,
        source: Any,
        groups: IntArray,
        published: Mapping[str, pa.Array],
        path: Path,
        note: str,
    ) -> None:
        """Let the engine write who is in which group, by what was counted."""
        own, (row, *who) = self._named(published)
        of_entry = np.full(len(self._rows), -1, dtype=np.int64)
        of_entry[self.microdata.kept] = groups
        at = pa.array(of_entry, mask=of_entry < 0)
        labels = pa.table({name: array.take(at) for name, array in published.items()})
        named = dict(zip(own, who, strict=True))
        if not source.write_rows(self._rows, self._times, labels, named, row, path, note):
            raise self._read_otherwise()

    def rows_per_part(self, options: PublishOptions) -> int | None:
        """How many rows a file of the release has at most; None where it is one file."""
        own = None if options.format == "csv" else self._source.rows_per_part
        return options.rows_per_part or own

    def stored(self, tables: Mapping[str, Drawing | pa.Table], most: int | None) -> Stored:
        """Write the tables of a release, drawn where the data lives if that can be."""
        return Stored(tables, most, self._source)

    def _keys(self, names: list[str], groups: IntArray) -> tuple[pa.Table, IntArray]:
        """The distinct quasi-identifiers as they stand in the table, and the group of each."""
        coded = [codes_of(self._rows.column(name)) for name in names]
        key, first = combine([codes for codes, _ in coded], [len(found) for _, found in coded])
        of_key = np.full(len(first), -1, dtype=np.int64)
        own = key[self.microdata.kept]
        of_key[own] = groups
        if not np.array_equal(of_key[own], groups):
            raise InternalError("people with the same quasi-identifiers were put into two groups")
        columns = [found.take(pa.array(codes[first])) for codes, found in coded]
        return pa.table(columns, names=names), of_key


class Stored(Mapping[str, pa.Table]):
    """The tables of a release in files of our private folder; read when they are asked for.

    Attributes
    ----------
    paths : dict of str to list of Path
        The files of each table.
    digests : list of str
        SHA-256 of each file.
    """

    def __init__(
        self, tables: Mapping[str, Drawing | pa.Table], most: int | None, source: Source
    ) -> None:
        self.paths: dict[str, list[Path]] = {}
        folder = new_folder()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        for name, table in tables.items():
            path = folder / f"{name}.parquet"
            drawn = source.drawn(table, path, most) if isinstance(table, Drawing) else None
            if drawn is None:
                parts = table.tables() if isinstance(table, Drawing) else [table]
                drawn = write_in_parts(parts, path, most)
            self.paths[name] = drawn
        self.digests = [digest_of(path) for own in self.paths.values() for path in own]

    def opened(self) -> dict[str, DuckTable]:
        """The tables where they can be counted."""
        found = {}
        for name, paths in self.paths.items():
            found[name] = DuckTable.of_parquet(paths, "the release")
            found[name].kept = self  # type: ignore[attr-defined]
        return found

    def parts(self, name: str) -> Iterator[pa.Table]:
        """A table, some rows at a time."""
        return (part for path in self.paths[name] for part in parts_of_parquet(path))

    def copy(self, name: str, path: Path) -> list[Path]:
        """Write the files of a table elsewhere."""
        known = self.paths[name]
        if len(known) == 1 and known[0].name == path.name:
            shutil.copyfile(known[0], path)
            return [path]
        path.mkdir()
        return [Path(shutil.copyfile(file, path / file.name)) for file in known]

    def __getitem__(self, name: str) -> pa.Table:
        return pa.concat_tables(self.parts(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def _source(microdata: Microdata, policy: Policy, method: Any) -> Source | str:
    """The table where an engine can count it, or why it is to be read."""
    schema, options = microdata.schema, policy.options
    if not traits_of(method).counted:
        return f"{type(method).__name__} looks at each row"
    if schema.semantics != "single":
        return "a person may have several values"
    if policy.attributes:
        return "priors are compared with people"
    if microdata.was_read:
        return "it was read already"
    names = [*schema.quasi_identifiers, *schema.sensitives, *schema.other]
    found = counted_where_it_lives(microdata.source, names)
    if not isinstance(found, str) and options.format == "csv":
        odd = [name for name in policy.known_other if not found.is_text(name)]
        if odd:
            return f"column {odd[0]!r}, which may be known, is no text, and CSV has only texts"
    return found


def _is_small(source: Source) -> bool:
    """Whether to read it is as fast, and it fits in what memory is allowed."""
    csv, limit = source.untyped, memory_limit()
    large = LARGE_BYTES if csv else LARGE_ROWS
    if limit is not None:
        large = min(large, limit // (_PER_BYTE if csv else _PER_ROW))
    return source.size is not None and source.size < large
