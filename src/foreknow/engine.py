"""Engine: the one door to DuckDB, and to files by their literal names.

Every file is opened by way of this module, by the verifier too: a path is one file and never a
pattern, what DuckDB writes to disk lies in a private folder, and a file that changes between two
reads is an error. Nothing here knows what a table means.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from foreknow.errors import DataError

try:
    import fcntl
except ImportError:  # Windows: a folder that a killed process left stays
    fcntl = None  # type: ignore[assignment]
try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

_PREFIX = "foreknow-spill-"
_LOCK = "lock"
_HOUR = 3600
_PATTERN = re.compile(r"[*?\[]")

_connections: weakref.WeakSet[Any] = weakref.WeakSet()
_scratch: tuple[int, Path, Any] | None = None  # process, folder, its locked file
_databases: dict[tuple[int, Path], Any] = {}  # a fork keeps its parent's, which it cannot close


def connect() -> Any:
    """Open a connection to a DuckDB of our own; what it writes aside lies in a private folder.

    A process has one database, since starting one takes longer than counting a small table.
    """
    folder = scratch()
    place = os.getpid(), folder
    if place not in _databases:
        _databases[place] = duckdb.connect(
            config={
                "temp_directory": str(folder),
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                **_within_limit(),
            }
        )
    connection = _databases[place].cursor()
    _connections.add(connection)
    return connection


def _within_limit() -> dict[str, str]:
    """Where the address space is limited, which DuckDB does not look at, it may use a third."""
    if resource is None:
        return {}
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return {} if soft == resource.RLIM_INFINITY else {"memory_limit": f"{soft // 3}B"}


def scratch() -> Path:
    """Folder for what DuckDB writes aside: ours alone, removed at exit.

    It lies in the system's temporary directory (``TMPDIR``). What a killed process left there is
    removed first.
    """
    global _scratch
    if _scratch is None or _scratch[0] != os.getpid() or not _scratch[1].is_dir():
        _sweep()
        _scratch = _new_scratch()
    return _scratch[1]


def _new_scratch() -> tuple[int, Path, Any]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).absolute()  # mode 0700
        lock = (folder / _LOCK).open("wb")
        if fcntl is None:
            return os.getpid(), folder, lock
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _LOCK).exists():  # else another process took it for a dead one's
            return os.getpid(), folder, lock
        lock.close()


def _sweep() -> None:
    """Remove the folders of processes that are dead: nobody holds their locks."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            if not (folder / _LOCK).is_file():
                if time.time() - folder.stat().st_mtime > _HOUR:
                    folder.rmdir()  # only if it is empty
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


@atexit.register
def _close() -> None:
    """Close what is open, and remove the folder; not in a fork of the process that made it."""
    if _scratch is None or _scratch[0] != os.getpid():
        return
    for connection in [*_connections, *_databases.values()]:
        with suppress(Exception):
            connection.close()
    shutil.rmtree(_scratch[1], ignore_errors=True)


def literal(path: Path) -> str:
    """Name a file so that DuckDB opens this one and no other.

    DuckDB reads ``* ? [ ]`` as a pattern, and a name may look like an address; an absolute path
    with each of these characters in brackets is neither.

    Raises
    ------
    DataError
        If DuckDB cannot be given the name.
    """
    name = Path(os.path.realpath(path)).as_posix()  # abspath takes ".." off a link, too
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DataError(f"{str(path)!r}: the name is not UTF-8; rename the file") from None
    if not _PATTERN.search(name):
        return name
    if "\\" in name:
        raise DataError(
            f"{str(path)!r}: the name has a backslash beside one of * ? [ and cannot be opened; "
            "rename it"
        )
    return _PATTERN.sub(lambda found: f"[{found[0]}]", name)


def read_parquet(connection: Any, paths: Sequence[Path]) -> Any:
    """Open Parquet files as one relation; the names of folders are no columns."""
    return connection.read_parquet([literal(path) for path in paths], hive_partitioning=False)


class Stamp:
    """What tells that files are still those that were opened: which they are, size and times.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age")
    >>> stamp = Stamp([path])
    >>> stamp.check()
    >>> _ = path.write_text("age,sex")
    >>> stamp.check()
    Traceback (most recent call last):
    foreknow.errors.DataError: people.csv changed while it was read; run again when it is complete
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._known = {path: _status(path) for path in paths}

    def check(self, n_rows: int | None = None) -> None:
        """Raise `DataError` for the first file that changed; a number of rows tells nothing."""
        for path, known in self._known.items():
            if _status(path) != known:
                raise DataError(
                    f"{path.name} changed while it was read; run again when it is complete"
                )


def _status(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
