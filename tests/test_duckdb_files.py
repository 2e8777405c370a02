"""The door to DuckDB: names are literal, and what it writes aside is ours alone and is removed."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.frames.backends import bags

import foreknow as fk
from foreknow_judge import duckdb_files
from foreknow_judge.errors import DataError

SICK = pa.table({"gid": ["1"] * 3, "disease": ["HIV"] * 3})
WELL = pa.table({"gid": ["1"] * 3, "disease": ["Flu", "Cold", "Gout"]})


def write(path, table):
    path.parent.mkdir(parents=True, exist_ok=True)
    (pyarrow.csv.write_csv if path.suffix == ".csv" else pq.write_table)(table, path)
    return path


def counted(path):
    return bags(fk.Release.from_groups(path, group="gid", sensitive="disease").counts)


NAMES = {  # a name, and that of a file which it means as a pattern
    "patients[1]": "patients1",
    "a*": "ab",
    "q?": "qq",
    "[!b]": "c",
    "**": "deep",
    "~": "home",
    "http:": "http",
    "back\\slash": "back",
    "a%2A": "a*",
    "{a,b}": "a",
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_one_file_and_never_a_pattern(tmp_path, name, suffix):
    write(tmp_path / f"{NAMES[name]}.{suffix}", WELL)
    path = write(tmp_path / f"{name}.{suffix}", SICK)
    assert counted(path) == {"1": {"HIV": 3}}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("folder", ["d[1]", "a*", "year=2024", "disease=Flu", "gid=2"])
def test_a_folder_of_a_path_is_no_pattern_and_no_column(tmp_path, folder, suffix):
    write(tmp_path / "d1" / f"t.{suffix}", WELL)
    write(tmp_path / "ab" / f"t.{suffix}", WELL)
    path = write(tmp_path / folder / f"t.{suffix}", SICK)
    assert counted(path) == {"1": {"HIV": 3}}
    if suffix == "parquet":
        assert counted(path.parent) == {"1": {"HIV": 3}}
        assert len(duckdb_files.read_parquet(duckdb_files.connect(), [path]).columns) == 2


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["t", "t[1]"])
def test_dots_after_a_link_lead_where_the_system_says(tmp_path, name, suffix):
    (tmp_path / "real" / "inner").mkdir(parents=True)
    write(tmp_path / "real" / f"{name}.{suffix}", SICK)
    write(tmp_path / "here" / f"{name}.{suffix}", WELL)
    link = tmp_path / "here" / "link"
    link.symlink_to(tmp_path / "real" / "inner")
    path = link / ".." / f"{name}.{suffix}"
    assert path.read_bytes() == (tmp_path / "real" / f"{name}.{suffix}").read_bytes()
    assert counted(path) == {"1": {"HIV": 3}}
    if suffix == "parquet":
        read = duckdb_files.read_parquet(duckdb_files.connect(), [path])
        assert read.fetchall() == [("1", "HIV")] * 3


def test_a_relative_path_that_looks_like_an_address_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "s3:" / "bucket" / "t.csv", SICK)
    assert counted("s3:/bucket/t.csv") == {"1": {"HIV": 3}}
    with pytest.raises(DataError, match=r"'s3://bucket/u\.csv'"):
        counted("s3://bucket/u.csv")


@pytest.mark.parametrize(
    ("name", "says"),
    [("a\\*.csv", "a backslash beside one of"), (b"caf\xe9.csv", "is not UTF-8")],
)
def test_a_name_that_cannot_be_told_or_read_is_refused(tmp_path, name, says):
    write(tmp_path / "ab.csv", WELL)
    path = tmp_path / os.fsdecode(name)
    try:
        path.write_bytes((tmp_path / "ab.csv").read_bytes())
    except OSError:
        pytest.skip("the file system has no such names")
    with pytest.raises(DataError, match=says):
        counted(path)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_published_and_verified_is_the_file_that_was_named(tmp_path, form):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.9")], schema)
    options = fk.PublishOptions(format=form)
    folder = tmp_path / "r[1]"
    other = pa.table({"age": [20, 30], "disease": ["Flu", "Cold"]})
    own = pa.table({"age": [50, 60], "disease": ["Gout", "Lues"]})
    fk.publish(fk.Microdata(other, schema), policy, options=options).write(tmp_path / "r1")
    fk.publish(fk.Microdata(own, schema), policy, options=options).write(folder)
    assert fk.Certificate.load(folder / "certificate.json").check(folder) == []
    release = folder / f"release.{form}"
    table = pa.table({"age": ["50 to 60"] * 2, "disease": ["Gout", "Gout"]})
    write(release, table)
    problems = fk.Certificate.load(folder / "certificate.json").check(folder)
    assert len(problems) > 1, problems  # not only the digest: the verifier saw this file


SPILL = """
import signal, sys
import foreknow
from foreknow_judge import duckdb_files
c = duckdb_files.connect()
c.execute("SET memory_limit = '40MB'; SET threads = 1; SET enable_progress_bar = false")
print(duckdb_files.scratch(), flush=True)
r = c.execute("SELECT md5(i::VARCHAR) AS a, i FROM range(700000) t(i) ORDER BY a")
r.fetchone()
print("spilled", flush=True)
if sys.argv[1] == "wait":
    signal.pause()
"""


@pytest.fixture
def aside(tmp_path, monkeypatch):
    """An empty temporary directory for processes that are started."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def start(how, spill=SPILL):
    return subprocess.Popen([sys.executable, "-c", spill, how], stdout=subprocess.PIPE, text=True)


def test_rows_that_are_written_aside_are_private_and_swept_after_a_kill(aside, tmp_path):
    killed = start("wait")
    folder = Path(killed.stdout.readline().strip())
    assert killed.stdout.readline() == "spilled\n"
    assert folder.parent == aside
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    spilled = [path for path in aside.rglob("*") if path.is_file() and path.name != "lock"]
    assert spilled, "nothing was written aside; make the query larger"
    assert {path.relative_to(aside).parts[0] for path in spilled} == {folder.name}
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]
    run(aside)  # another process leaves alone what a living one holds
    assert folder.is_dir()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert folder.is_dir()
    run(aside)
    assert list(aside.iterdir()) == []


def run(aside, code=0):
    """Connect in another process that ends with an exit code."""
    aside = (
        "import foreknow; from foreknow_judge import duckdb_files; duckdb_files.connect(); "
        f"raise SystemExit({code})"
    )
    done = subprocess.run([sys.executable, "-c", aside], check=False)
    assert done.returncode == code


def test_the_folder_goes_when_the_process_ends_also_with_an_error(aside):
    done = start("end")
    assert done.wait() == 0
    done.stdout.close()
    run(aside, code=3)
    assert list(aside.iterdir()) == []


def test_the_judge_alone_spills_privately(aside):
    alone = start("wait", "import os; os.umask(0o277)\n" + SPILL.replace("import foreknow\n", ""))
    folder = Path(alone.stdout.readline().strip())
    assert alone.stdout.readline() == "spilled\n"
    assert [*aside.iterdir()] == [folder]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    alone.send_signal(signal.SIGCONT)
    alone.terminate()
    alone.wait()
    alone = start("end", SPILL.replace("import foreknow\n", ""))
    assert alone.wait() == 0
    assert [*aside.iterdir()] == [folder]


def test_a_fork_that_ends_does_not_take_the_folder_along():
    folder = duckdb_files.scratch()
    child = os.fork()
    if child == 0:
        duckdb_files._close()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.is_dir()


def test_no_other_place_opens_a_database():
    source = Path(duckdb_files.__file__).parent
    callers = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if "duckdb.connect(" in path.read_text().replace("see duckdb.connect()", "")
    }
    assert callers == {"duckdb_files.py"}


def test_a_database_that_a_broken_file_ended_is_replaced():
    class Ended:
        def cursor(self):
            return self

        def execute(self, query):
            raise duckdb.FatalException("database has been invalidated")

    duckdb_files.connect()
    place = next(key for key in duckdb_files.databases if key[0] == os.getpid())
    before = duckdb_files.databases[place]
    duckdb_files.databases[place] = Ended()
    try:
        assert duckdb_files.connect().execute("SELECT 2").fetchone() == (2,)
    finally:
        duckdb_files.databases[place] = before
