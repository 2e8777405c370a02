"""`--engine` and `--memory`: a table that the engine counts, in the terminal."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests.cli.desk import TABLE
from tests.signals import heeded

import foreknow as fk
from foreknow.data.engines.databases import memory_limit
from foreknow.releases.members import OF_COUNTS

SOURCE = Path(fk.__file__).parents[1]


@pytest.fixture(autouse=True)
def _no_limit():
    yield
    fk.limit_memory(None)


@pytest.mark.parametrize("written", ["csv", "parquet"])
def test_a_counted_table_is_published_and_verified(desk, written):
    options = ("--engine", "duckdb", "--memory", "64MB", "--format", written, "--verbose")
    said = desk.says(*desk.publish(*options))
    assert "age: numbers 20 to 61" in said
    assert memory_limit() == 64_000_000
    assert desk.json("out/certificate.json")["source"]["digest_kind"] == OF_COUNTS
    desk.says("verify", "out")
    desk.says(*desk.audit("--memory", "1 GiB", release="out"))
    assert memory_limit() == 2**30
    asked = desk.folder / "out.owner" / "members.parquet"
    rows = duckdb.sql(f"SELECT row, name FROM '{asked}'").fetchall()
    assert rows == [(i, line.split(",")[0]) for i, line in enumerate(TABLE.splitlines())][1:]


def test_what_no_amount_or_engine_is_called_is_refused(desk):
    assert "did you mean 'duckdb'" in desk.refused(*desk.publish("--engine", "duckd"))
    for amount, why in [("lots", "such as"), ("4", "such as"), ("1MB", "at least 64MB")]:
        assert why in desk.refused(*desk.publish("--memory", amount))
        assert why in desk.refused(*desk.audit("--memory", amount))


def test_mistakes_are_named_as_in_memory(desk):
    desk.put("other.csv", TABLE.replace("sex", "gender"))
    desk.put("empty.csv", "")
    desk.put("header.csv", TABLE.splitlines()[0] + "\n")
    desk.put("odd.csv", TABLE + "Ida,62\n")
    desk.put("holes.csv", TABLE.replace("61,m,flu", "61,m,"))
    for table in ("other", "empty", "header", "odd", "holes"):
        one, other = (
            desk.refused(*desk.publish("--engine", engine, table=f"{table}.csv"))
            for engine in ("memory", "duckdb")
        )
        assert one == other


RUNNER = """
import os, signal, sys
from foreknow.publishing import entries
from foreknow.cli import main

writers, calls = [entries.write_in_parts, entries.write_parts], []

def ended(parts, path, more=None):
    found = writers[len(calls)](parts, path, more)
    calls.append(path)
    if len(calls) == {call}:
        print(oct(path.parent.parent.stat().st_mode & 0o777), oct(path.stat().st_mode & 0o777))
        sys.stdout.flush()
        os.kill(os.getpid(), signal.{name})
        signal.pause()
    return found

entries.write_in_parts = entries.write_parts = ended
sys.argv = ["foreknow", "publish", "table.csv", "-p", "policy.toml", "-o", "out"]
sys.argv += ["--engine", "duckdb"]
main()
"""


@pytest.mark.parametrize(("call", "name", "code"), [(1, "SIGINT", 130), (2, "SIGTERM", 143)])
def test_a_signal_while_a_counted_table_is_written_leaves_nothing(desk, call, name, code):
    aside = desk.folder / "aside"
    aside.mkdir()
    process = subprocess.run(
        [sys.executable, "-c", RUNNER.format(call=call, name=name)],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(aside)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=heeded,
    )
    assert process.returncode == code, process.stderr
    assert process.stdout.split()[0] == "0o700"
    assert "nothing was left half-written" in process.stderr
    assert list(aside.iterdir()) == []
    left = sorted(path.name for path in desk.folder.iterdir())
    assert left == ["aside", "policy.toml", "table.csv"]


def test_the_engine_holds_no_more_than_it_is_told(desk):
    fk.limit_memory("100MB")
    policy = {"schema": {"group": "sex", "sensitive": "disease"}}
    policy["require"] = [{"k_anonymity": 2}]
    assert fk.audit("table.csv", policy).safe
    from foreknow_judge.duckdb_files import connect

    ((said,),) = connect().execute("SELECT current_setting('memory_limit')").fetchall()
    assert said == "95.3 MiB"
    fk.limit_memory(None)
    ((said,),) = connect().execute("SELECT current_setting('memory_limit')").fetchall()
    assert "GiB" in said
