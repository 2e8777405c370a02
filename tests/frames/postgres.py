"""A PostgreSQL server of the tests' own, on a socket in a folder that they remove."""

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest

_numbers = count()


def programs():
    """The folder of the server's programs, or None."""
    result = shutil.which("initdb")
    known = [Path(result)] if result else sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return known[-1].parent if known else None


@cache
def server():
    """Start it once; its address without a table."""
    place = programs()
    if place is None:
        pytest.skip("there is no PostgreSQL server (Debian's package postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    as_other = []
    if os.getuid() == 0:  # which the server refuses to be
        shutil.chown(folder, "postgres", "postgres")
        as_other = ["runuser", "-u", "postgres", "--"]

    def run(*command):
        subprocess.run(
            [*as_other, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=60
        )

    data = folder / "data"
    run(place / "initdb", "-D", data, "-A", "trust", "-U", "tester", "-N", "-E", "UTF8")
    options = f"-c listen_addresses='' -c fsync=off -k {folder}"
    run(place / "pg_ctl", "-D", data, "-o", options, "-w", "-l", folder / "log", "start")
    atexit.register(run, place / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    return f"postgresql:///postgres?host={quote(str(folder), safe='')}&user=tester"


def connection():
    """Connect to it with ADBC."""
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    return dbapi.connect(server())


def hold(table):
    """Put an Arrow table into it; the name."""
    name = f"people{next(_numbers)}"
    with connection() as opened:
        with opened.cursor() as cursor:
            cursor.adbc_ingest(name, table)
        opened.commit()
    return name
