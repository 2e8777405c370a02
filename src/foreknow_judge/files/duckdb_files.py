"""DuckDB and files: the only way to DuckDB, and to files by their literal names.

Every file is opened through this module, by the judge too: a path is one file and never a pattern,
DuckDB's temporary files lie in a private folder, and a file that changes between two reads is an
error. Nothing here knows what a table means.
"""

from __future__ import annotations

import atexit
import csv
import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

from foreknow_judge.errors import DataError
from foreknow_judge.files.bounds import (
    check_columns,
    check_parquet,
    short_lines,
    sql_with_length_check,
)
from foreknow_judge.files.temporary_folder import CONTENT, make_private, scratch_folder

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

memory_limit: int | None = None  # in bytes, as `foreknow` sets it; None for DuckDB's own
_PATTERN = re.compile(r"[*?\[]")

_connections: weakref.WeakSet[Any] = weakref.WeakSet()
_counting: weakref.WeakSet[Thread] = weakref.WeakSet()
_ending = Event()  # threads that still count a file when the process ends stop
_scratch: tuple[int, Path, int] | None = None  # process, folder, its lock
databases: dict[tuple[int, Path], Any] = {}  # a fork keeps its parent's, which it cannot close


def connect() -> Any:
    """Open a connection to a DuckDB database of our own, with temporary files in a private folder.

    A process has one database, since starting one takes longer than counting a small table.
    """
    folder = scratch()
    # A fork has its parent's databases in memory, but must not use them: hence the process.
    process_and_folder = os.getpid(), folder
    if process_and_folder in databases:
        with suppress(duckdb.FatalException):  # after a broken file, the database no longer works
            return opened_database(databases[process_and_folder])
    databases[process_and_folder] = new_database(folder)
    return opened_database(databases[process_and_folder])


def new_database(folder: Path) -> Any:
    """Start a database with its temporary files in a folder.

    It loads no extension: these would come from the network.
    """
    return duckdb.connect(
        config={
            "temp_directory": str(folder / CONTENT),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # Statistics of a file may be false; then numbers would be cut, and groups merged.
            "disabled_optimizers": "statistics_propagation,compressed_materialization",
            **within_limit(),
        }
    )


def opened_database(database: Any) -> Any:
    """A connection to a database, which is closed when the process ends."""
    connection = database.cursor()
    connection.execute("SELECT 1").fetchall()
    _connections.add(connection)
    return connection


def within_limit() -> dict[str, str]:
    """DuckDB's memory limit: as set, or a third of the address space if that is limited."""
    limit = memory_limit or address_space() // 3
    return {"memory_limit": f"{limit}B"} if limit else {}


def address_space() -> int:
    """The limit on the address space of the process, in bytes; 0 if there is none."""
    if resource is None:
        return 0
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return 0 if soft == resource.RLIM_INFINITY else soft


def in_threads(
    calls: Sequence[Callable[[], Any]], n_threads: int | None = None
) -> list[Callable[[], Any]]:
    """Begin calls in threads; return a function for each that waits for its result.

    At most `n_threads` run at a time; None leaves this to Python.

    If the address space is limited, a call runs when its result is asked for: a thread that lacks
    memory while it starts dies, and `Thread.start` waits for it without end.
    """
    if address_space():
        return [*map(cache, calls)]
    from concurrent.futures import ThreadPoolExecutor

    threads = ThreadPoolExecutor(n_threads)
    return [threads.submit(call).result for call in calls]


def scratch() -> Path:
    """A private folder in ``TMPDIR`` for temporary files of DuckDB, removed at exit or later."""
    global _scratch
    if _scratch is None or _scratch[0] != os.getpid() or not _scratch[1].is_dir():
        _scratch = os.getpid(), *scratch_folder(Path(tempfile.gettempdir()))
    return _scratch[1]


def new_folder() -> Path:
    """Make an empty folder in the private folder, which is removed when the process ends."""
    make_private(scratch() / CONTENT)
    folder = Path(tempfile.mkdtemp(prefix="table-", dir=scratch() / CONTENT))
    make_private(folder)
    return folder


@atexit.register
def _close() -> None:
    """Close all databases at the end of the process, and remove the folder of temporary files.

    A fork does neither: both belong to the process that made them.
    """
    _ending.set()  # threads that still count lines of a file stop
    for thread in [*_counting]:  # else the DuckDB objects that it holds are reported as leaks
        thread.join(timeout=5)
    if _scratch is None or _scratch[0] != os.getpid():
        return
    for connection in [*_connections, *databases.values()]:
        with suppress(Exception):
            connection.close()
    databases.clear()  # DuckDB objects that exist when the process ends are reported as leaks
    shutil.rmtree(_scratch[1], ignore_errors=True)


def literal(path: Path) -> str:
    """The name of a file by which DuckDB opens this one and no other.

    DuckDB reads ``* ? [ ]`` as a pattern, and a name as an address; an absolute path with each of
    these characters in brackets is neither.
    """
    # abspath would be wrong where ".." comes after a link. The last name is not resolved, since it
    # may be a link to a file that is open already.
    name = Path(os.path.realpath(path.parent), path.name).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DataError("unusable-name", str(path)) from None
    if not _PATTERN.search(name):
        return name
    if "\\" in name:  # in a pattern it would be an escape
        raise DataError("unusable-name", str(path))
    return _PATTERN.sub(lambda match: f"[{match[0]}]", name)


def read_parquet(connection: Any, paths: Sequence[Path]) -> Any:
    """Open Parquet files as one relation; names of folders do not become columns."""
    refuse_large_files(paths)
    relation = connection.read_parquet([literal(path) for path in paths], hive_partitioning=False)
    return bounded(relation)


def refuse_large_files(paths: Sequence[Path]) -> None:
    """Raise `DataError` for Parquet files beyond our bounds, before they are read."""
    for path in paths:
        check_parquet(path)


def bounded(relation: Any) -> Any:
    """The same relation, in which a text that is too long raises an error."""
    expressions = []
    for column, kind in zip(relation.columns, map(str, relation.types), strict=True):
        name = '"' + column.replace('"', '""') + '"'
        checked_text = sql_with_length_check(name, f"column {column!r}")
        expressions.append(f"{checked_text} AS {name}" if kind == "VARCHAR" else name)
    return relation.project(", ".join(expressions))


# Where the system lists the open files of a process; opening such a name opens the same file.
_DESCRIPTORS = Path("/proc/self/fd")
_OPEN_BESIDE = 512  # files that a process may have open beside those


@contextmanager
def opened_once(paths: Sequence[Path]) -> Iterator[dict[Path, Path]]:
    """Open each file once; yield for each a path that stays the file that was opened.

    Its own path may lead elsewhere later. The new paths are links to the open files, if the system
    supports that; otherwise each file is copied into the private folder.
    """
    _admit_files(len(paths))
    folder = new_folder()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        opened_paths = {}
        for number, path in enumerate(paths):
            try:
                file = stack.enter_context(open(path, "rb", opener=_without_waiting))
            except OSError as error:
                raise DataError("unreadable-file", path.name, problem=error.strerror) from None
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DataError("not-a-file", path.name)
            new_path = opened_paths[path] = folder / str(number) / path.name
            new_path.parent.mkdir()
            # Linux shows each open file under /proc: a link to this entry stays the open file.
            descriptor = _DESCRIPTORS / str(file.fileno())
            if descriptor.exists() and os.path.samestat(descriptor.stat(), os.fstat(file.fileno())):
                new_path.symlink_to(descriptor)
            else:
                with new_path.open("xb") as copy:
                    shutil.copyfileobj(file, copy, _BLOCK)
        yield opened_paths


def _admit_files(n_files: int) -> None:
    """Let the process open `n_files` more files, as far as the system allows."""
    if resource is None:  # on Windows
        return
    # The limit that holds, and how far a process may raise it.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_needed = n_files + _OPEN_BESIDE
    if soft != resource.RLIM_INFINITY and soft < n_needed:
        limit = n_needed if hard == resource.RLIM_INFINITY else min(n_needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting, as for the writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class Stamp:
    """The identity, size and times of files, to tell whether they changed since they were opened.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age")
    >>> stamp = Stamp([path])
    >>> stamp.check()
    >>> _ = path.write_text("age,sex")
    >>> stamp.check()
    Traceback (most recent call last):
    foreknow_judge.errors.DataError: people.csv changed while it was read; ...complete
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._known = {path: _status(path) for path in paths}

    def check(self, n_rows: int | None = None) -> None:
        """Raise `DataError` for the first file that changed; `n_rows` is ignored."""
        for path, status in self._known.items():
            if _status(path) != status:
                raise DataError("file-changed", path.name)


def _status(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


_BLOCK = 1 << 22
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'

_BOM = b"\xef\xbb\xbf"


class CsvFile:
    """A CSV file with a header line."""

    compression = "none"  # by DuckDB's name

    def __init__(self, path: Path, delimiter: str = ",", name: str | None = None) -> None:
        self.path, self.delimiter = path, delimiter
        self.name = name or path.name
        self.stamp = Stamp([path])
        self._wait: Callable[[], None] = self._count  # until records and fields are counted
        try:
            self.header = self.header_by(delimiter)
        except csv.Error as error:
            raise DataError("no-header", self.name, problem=f"cannot be read: {error}") from None
        check_columns(len(self.header), self.name)

    def opened(self, mode: str, **how: Any) -> Any:
        """The file, open for reading."""
        return open(self.path, mode, **how)

    def header_by(self, delimiter: str) -> list[str]:
        """The names of the columns, from the first line of the file, divided by a delimiter."""
        try:
            with self.opened("rt", encoding="utf-8-sig", newline="") as file:
                lines = short_lines(file, self.name, of_header=True)
                header = next(csv.reader(lines, delimiter=delimiter), None)
        except UnicodeDecodeError as error:
            raise DataError("not-utf-8", self.name, place=f"byte {error.start + 1}") from None
        except (OSError, EOFError) as error:
            raise DataError("unreadable-file", self.name, problem=error) from None
        if not header:
            problem = "is empty, or begins with an empty line"
            raise DataError("no-header", self.name, problem=problem)
        return header

    def relation(self, connection: Any) -> Any:
        """Open the file in DuckDB, as texts c0, c1, ...; an empty field is null, "" an empty text.

        Nothing is guessed: every setting that DuckDB would detect is given.
        """
        # Records and fields are counted in a thread, while the engine reads the same file. Later
        # both counts are compared (`check`), in case DuckDB skips or joins rows.
        if self._wait == self._count and not address_space():
            thread = Thread(target=self._count, daemon=True)
            thread.start()
            _counting.add(thread)
            self._wait = thread.join
        return connection.read_csv(
            literal(self.path),
            header=True,
            delimiter=self.delimiter,
            quotechar='"',
            escapechar='"',
            columns={f"c{i}": "VARCHAR" for i in range(len(self.header))},
            auto_detect=False,
            strict_mode=True,
            null_padding=False,
            allow_quoted_nulls=False,
            ignore_errors=False,
            hive_partitioning=False,
            compression=self.compression,
        )

    def check(self, n_rows: int) -> None:
        """Raise `DataError` unless the file has exactly `n_rows` rows and did not change.

        `n_rows` is how many DuckDB read; here they were counted in the bytes of the file.
        """
        self._wait()  # until the thread has counted them
        self.stamp.check()  # first: if the file changed, its counts mean nothing
        shape, name = self.shape, self.name
        if shape.fields != shape.records * len(self.header):
            line, fields = self._odd_line()
            raise DataError("uneven-row", name, line=line, cells=fields, columns=len(self.header))
        if shape.blank and len(self.header) == 1:  # it could be a row with an empty field
            raise DataError("empty-line", name)
        if shape.records - 1 != n_rows:  # the header is a record, too
            raise DataError("rows-lost", name)
        self.stamp.check()

    def _odd_line(self) -> tuple[int, int]:
        """The number of the first line with too many or too few fields, and how many it has.

        For a message only; if Python finds no such line, it is the first.
        """
        with self.opened("rt", encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(short_lines(file, self.name), delimiter=self.delimiter)
            try:
                for row in rows:
                    if row and len(row) != len(self.header):
                        return rows.line_num, len(row)
            except csv.Error as error:
                raise DataError(
                    "unreadable-file", self.name, problem=f"line {rows.line_num}: {error}"
                ) from None
        return 1, len(self.header)

    def _count(self) -> None:
        with suppress(Exception):  # raised again by `check`
            _ = self.shape

    @cached_property
    def shape(self) -> Shape:
        """Count records, fields and blank lines in one pass over the bytes.

        `DataError` for a null character, a quote out of place, or line ends of several kinds.
        """
        records = fields = blank = newlines = 0
        line, quoted, last = 1, False, _NEWLINE  # line number; within quotes; the byte before
        for before, block, after in self.blocks():
            # One byte more on each side, so that each byte can be compared with the one before.
            around = np.frombuffer(before + block + after, np.uint8)
            previous, text = around[:-2], around[1:-1]
            if b"\0" in block:  # at which some readers cut a text off
                where = line + _line_ends(text[: block.index(0)])
                raise DataError("null-character", self.name, line=where)
            ends, follows_end = text == _NEWLINE, previous == _NEWLINE
            if b"\r" in before + block:  # of \r\n, the first ends a line
                ends = (text == _RETURN) | (ends & (previous != _RETURN))
                follows_end |= previous == _RETURN
            # Where lines end, where blank ones do, newlines, delimiters; in quotes they are text.
            marks = [ends, ends & follows_end, text == _NEWLINE, text == ord(self.delimiter)]
            if quoted or b'"' in block:
                outside = self._outside_quotes(around, quoted, line)
                marks = [each_mark & outside for each_mark in marks]
                quoted = not outside[-1]
            n_ends, n_blank, n_newlines, n_delimiters = map(int, map(np.count_nonzero, marks))
            blank += n_blank
            newlines += n_newlines
            records += n_ends - n_blank
            fields += n_ends - n_blank + n_delimiters  # one more than delimiters in each record
            line += _line_ends(text)
            last = block[-1]
        if quoted:
            raise DataError("open-quote", self.name)
        if 0 < newlines < records + blank:  # DuckDB drops a space after the other ends
            raise DataError("mixed-lines", self.name)
        unfinished = last not in (_NEWLINE, _RETURN)  # a last record without an end of line
        return Shape(records + unfinished, fields + unfinished, blank)

    def _outside_quotes(self, around: NDArray[np.uint8], quoted: bool, line: int) -> Any:
        """For each byte of a block, whether it is outside quotes.

        `quoted`: the block begins within quotes. `around` has a byte more on each side: byte i of
        the block is between its bytes i and i + 2. `line` is the number of the block's first line.
        A quote that stands beside other text is refused: readers take it differently.
        """
        # What may stand before an opening quote and after a closing one, by the value of the byte.
        may_be_beside = np.zeros(256, dtype=bool)
        may_be_beside[[ord(self.delimiter), _QUOTE, _NEWLINE, _RETURN]] = True
        text = around[1:-1]
        quotes = text == _QUOTE
        positions = np.flatnonzero(quotes)
        # Opening and closing quotes alternate; a quote in a text is doubled, so closes and opens.
        opening, closing = positions[quoted::2], positions[1 - quoted :: 2]
        stray = [
            *opening[~may_be_beside[around[opening]]],
            *closing[~may_be_beside[around[closing + 2]]],
        ]
        if stray:
            where = line + _line_ends(text[: min(stray)])
            raise DataError("stray-quote", self.name, line=where)
        # An even number of quotes so far leaves the state in which the block began.
        return np.logical_xor.accumulate(quotes) == quoted

    def blocks(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Yield the bytes of the file in blocks, each as (byte before, block, byte after).

        Before the first and after the last block a newline stands for them. A byte order mark is
        left out.
        """
        try:
            with self.opened("rb") as file:
                before, block = b"\n", file.read(_BLOCK).removeprefix(_BOM)
                while block and not _ending.is_set():
                    later = file.read(_BLOCK)
                    yield before, block, later[:1] or b"\n"
                    before, block = block[-1:], later
        except (OSError, EOFError) as error:
            raise DataError("unreadable-file", self.name, problem=error) from None


class Shape(NamedTuple):
    """Numbers of records, their fields, and blank lines."""

    records: int
    fields: int
    blank: int  # lines


def _line_ends(text: NDArray[np.uint8]) -> int:
    return int(np.count_nonzero(text == _NEWLINE) or np.count_nonzero(text == _RETURN))
