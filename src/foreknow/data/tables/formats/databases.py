"""Databases: DuckDB files of others, files in the private folder, and how much memory there is."""

from __future__ import annotations

import os
import re
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from foreknow_judge.errors import InputError
from foreknow_judge.files import duckdb_files, pandas_guard
from foreknow_judge.files.duckdb_files import opened_database, scratch, within_limit
from foreknow_judge.files.temporary_folder import CONTENT, make_private

# The connections that `connect_to` made and that are open: each can read one file only.
_single_file_connections: weakref.WeakSet[Any] = weakref.WeakSet()

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(i?))?B", re.IGNORECASE)


_LEAST = 64_000_000  # of memory, for DuckDB to count anything


def connect_to(path: Path) -> tuple[Any, str]:
    """Connect to a database that can read a DuckDB file and nothing else.

    Such a file is code: its views may name other files, addresses and variables of Python. Returns
    the connection, and the name by which queries find the file there.
    """
    database, name = duckdb_files.new_database(scratch()), "file"
    # The file is attached before access to any other is switched off for good.
    quoted_path = str(path.resolve()).replace("'", "''")
    database.execute(f"ATTACH '{quoted_path}' AS {name} (READ_ONLY)")
    database.execute("SET enable_external_access = false")
    database.execute("SET python_enable_replacements = false")
    connection = opened_database(database)
    _single_file_connections.add(connection)
    return connection, name


def admit_pandas() -> None:
    """Let PyArrow use pandas, so that it takes NaN in a series for a missing value.

    To save memory, pandas is hidden from PyArrow until a frame of pandas is read.
    """
    if not pandas_guard.spared:
        return
    import pyarrow

    pandas_guard.spared = False
    with suppress(ImportError):
        pyarrow.table({}).to_pandas()  # PyArrow looks for pandas now, and remembers it


def limit_memory(limit: str | None) -> None:
    """Limit how much memory DuckDB uses in this process from now on; it spills the rest to disk.

    The counts that Python receives take further memory. Relations of your own connections keep
    their limits.

    Parameters
    ----------
    limit : str or None
        An amount such as "4GB" or "500 MiB". None: DuckDB's default, 80% of the machine's memory.

    Raises
    ------
    InputError
        If `limit` is not an amount of memory, or is less than 64 MB.

    Examples
    --------
    >>> limit_memory("4GB")
    >>> memory_limit()
    4000000000
    >>> limit_memory(None)
    """
    duckdb_files.memory_limit = None if limit is None else _bytes_of(limit)
    # Databases that are open already get the limit, too; one that was closed is skipped.
    for database in [*duckdb_files.databases.values(), *_single_file_connections]:
        with suppress(duckdb.ConnectionException):
            amount = within_limit().get("memory_limit")
            query = "RESET memory_limit" if amount is None else f"SET memory_limit = '{amount}'"
            database.execute(query)


def memory_limit() -> int | None:
    """The limit set by `limit_memory`, in bytes; None: DuckDB's default."""
    return duckdb_files.memory_limit


def machine_memory() -> int:
    """The machine's memory in bytes; 8 GiB if that is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 33


def _bytes_of(amount: str) -> int:
    """The number of bytes of an amount such as "4GB" or "500 MiB"; `InputError` below 64 MB."""
    match = _AMOUNT.fullmatch(amount.strip()) if isinstance(amount, str) else None
    if match is None:
        raise InputError(f'memory is {amount!r}; give an amount such as "4GB" or "500MB"')
    # Powers of 1000, or of 1024 with an "i": K is the first, M the second, ...
    base, power = (1024 if match[3] else 1000), " KMGT".index((match[2] or " ").upper())
    n_bytes = int(float(match[1]) * base**power)
    if n_bytes < _LEAST:
        raise InputError(f"memory is {amount!r}; DuckDB needs at least 64MB")
    return n_bytes


def new_file(suffix: str) -> Path:
    """Make an empty file in the private folder, which is removed when the process ends."""
    folder = scratch() / CONTENT
    make_private(folder)
    handle, name = tempfile.mkstemp(suffix, "read-", folder)
    os.close(handle)
    return Path(name)
