"""Files that are verified: those that were named, nothing left aside, each byte from its rows."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from threading import Thread

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.common import NIGHTLY
from tests.frames.backends import bags
from tests.fuzz.test_releases import at, places

import foreknow as fk
from foreknow.data.tables.writers import write as encode
from foreknow.data.tables.writers import write_in_parts
from foreknow.publishing import verification
from foreknow_judge import verify
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError, DataError
from foreknow_judge.files import duckdb_files, release_folder
from foreknow_judge.files import parquet_layout as layout
from foreknow_judge.files import release_files as judge_files
from foreknow_judge.files import written_release as judge_written
from foreknow_judge.files.parquet_layout import ROWS, is_ours
from foreknow_judge.files.release_files import holds_rows_alone

SICK = pa.table({"gid": ["1"] * 3, "disease": ["HIV"] * 3})
WELL = pa.table({"gid": ["1"] * 3, "disease": ["Flu", "Cold", "Gout"]})
WRITTEN = Path(__file__).parents[1] / "certificates"
EVERY = sorted(path.name for path in WRITTEN.iterdir())
ONE = "facts-generalized-csv"
either = pytest.mark.parametrize("suffix", ["csv", "parquet"])


def write(path, table):
    path.parent.mkdir(parents=True, exist_ok=True)
    (pyarrow.csv.write_csv if path.suffix == ".csv" else pq.write_table)(table, path)
    return path


def counted(path):
    return bags(fk.Release.from_groups(path, group="gid", sensitive="disease").counts)


# ---- names are literal -------------------------------------------------------------------------

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
FOLDERS = {"d[1]": "d1", "a*": "ab", "year=2024": "d1", "disease=Flu": "d1", "gid=2": "d1"}


@either
def test_path_is_never_a_pattern(tmp_path, suffix):
    for name, other in NAMES.items():
        write(tmp_path / f"{other}.{suffix}", WELL)
        assert counted(write(tmp_path / f"{name}.{suffix}", SICK)) == {"1": {"HIV": 3}}, name
        (tmp_path / f"{name}.{suffix}").unlink()
    for folder, other in FOLDERS.items():
        write(tmp_path / other / f"t.{suffix}", WELL)
        path = write(tmp_path / folder / f"t.{suffix}", SICK)
        assert counted(path) == {"1": {"HIV": 3}}, folder
        if suffix == "parquet":
            assert counted(path.parent) == {"1": {"HIV": 3}}, folder
            assert len(duckdb_files.read_parquet(duckdb_files.connect(), [path]).columns) == 2


@either
@pytest.mark.parametrize("name", ["t", "t[1]"])
def test_dots_follow_links_like_systems(tmp_path, name, suffix):
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


def test_paths_may_look_like_addresses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "s3:" / "bucket" / "t.csv", SICK)
    assert counted("s3:/bucket/t.csv") == {"1": {"HIV": 3}}
    with pytest.raises(DataError, match=r"'s3://bucket/u\.csv'"):
        counted("s3://bucket/u.csv")


@pytest.mark.parametrize(
    ("name", "says"),
    [("a\\*.csv", "a backslash beside one of"), (b"caf\xe9.csv", "is not UTF-8")],
)
def test_ambiguous_names_are_refused(tmp_path, name, says):
    write(tmp_path / "ab.csv", WELL)
    path = tmp_path / os.fsdecode(name)
    try:
        path.write_bytes((tmp_path / "ab.csv").read_bytes())
    except OSError:
        pytest.skip("the file system has no such names")
    with pytest.raises(DataError, match=says):
        counted(path)


@either
def test_odd_names_are_published(tmp_path, suffix):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.9")], schema)
    other = {"age": [20, 30], "disease": ["Flu", "Cold"]}
    own = {"age": [50, 60], "disease": ["Gout", "Lues"]}
    for name, table in (("r1", other), ("r[1]", own)):
        publication = fk.publish(pa.table(table), policy, options=fk.PublishOptions(format=suffix))
        publication.write(tmp_path / name)
    folder = tmp_path / "r[1]"
    certificate = fk.Certificate.load(folder / "certificate.json")
    assert certificate.check(folder) == []
    table = pa.table({"age": ["50 to 60"] * 2, "disease": ["Gout", "Gout"]})
    write(folder / f"release.{suffix}", table)
    assert len(certificate.check(folder)) > 1  # not only the digest: the verifier saw this file


# ---- what is written aside is ours alone, and is removed ---------------------------------------

SPILL = """
import signal, sys
from foreknow_judge.files import duckdb_files
c = duckdb_files.connect()
c.execute("SET memory_limit = '40MB'; SET threads = 1; SET enable_progress_bar = false")
print(duckdb_files.scratch(), flush=True)
r = c.execute("SELECT md5(i::VARCHAR) AS a, i FROM range(700000) t(i) ORDER BY a")
r.fetchone()
print("spilled", flush=True)
if sys.argv[1] == "wait":
    signal.pause()
raise SystemExit(int(sys.argv[1]))
"""
ENDS = """
import sys
from foreknow_judge.files import duckdb_files
duckdb_files.connect()
raise SystemExit(int(sys.argv[1]))
"""


@pytest.fixture
def aside(tmp_path, monkeypatch):
    """An empty temporary directory for processes that are started."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def start(how, code=SPILL, before="import foreknow\n"):
    return subprocess.Popen([sys.executable, "-c", before + code, how], stdout=-1, text=True)


def spilled(before="import foreknow\n"):
    """A process that waits, and the folder in which it wrote."""
    process = start("wait", before=before)
    folder = Path(process.stdout.readline().strip())
    assert process.stdout.readline() == "spilled\n"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    return process, folder


def run(how, code=ENDS, before="import foreknow\n"):
    """Another process that ends with an exit code."""
    process = start(how, code, before)
    process.communicate()
    assert process.returncode == int(how)


def test_temporary_rows_are_private(aside, tmp_path):
    killed, folder = spilled()
    assert folder.parent == aside
    files = [path for path in aside.rglob("*") if path.is_file() and path.name != "lock"]
    assert files, "nothing was written aside; make the query larger"
    assert {path.relative_to(aside).parts[0] for path in files} == {folder.name}
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]
    run("0")  # another process leaves alone what a living one holds
    assert folder.is_dir()
    killed.kill()
    killed.wait()
    assert folder.is_dir()
    run("3")
    assert list(aside.iterdir()) == []
    run("0", SPILL)
    assert list(aside.iterdir()) == []


def test_the_judge_alone_spills_privately(aside):
    process, folder = spilled(before="import os; os.umask(0o277)\n")
    assert [*aside.iterdir()] == [folder]
    process.terminate()
    process.wait()
    run("0", SPILL, before="")
    assert [*aside.iterdir()] == [folder]


def test_forks_leave_the_folder():
    folder = duckdb_files.scratch()
    child = os.fork()
    if child == 0:
        duckdb_files._close()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.is_dir()


def test_no_other_place_opens_database():
    source = Path(duckdb_files.__file__).parent
    callers = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if "duckdb.connect(" in path.read_text().replace("see duckdb.connect()", "")
    }
    assert callers == {"duckdb_files.py"}


def test_database_that_ended_is_replaced(monkeypatch):
    class Ended:
        def cursor(self):
            return self

        def execute(self, query):
            raise duckdb.FatalException("database has been invalidated")

    duckdb_files.connect()
    place = next(key for key in duckdb_files.databases if key[0] == os.getpid())
    monkeypatch.setitem(duckdb_files.databases, place, Ended())
    assert duckdb_files.connect().execute("SELECT 2").fetchone() == (2,)


# ---- what was opened is what is verified -------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A copy of a stored release, for this test alone."""
    return Path(shutil.copytree(WRITTEN / ONE, tmp_path / "out"))


def edited(folder, change):
    path = folder / "certificate.json"
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))


@pytest.mark.parametrize("place", [1, -1])
def test_empty_lines_are_refused(folder, place):
    """They belong to no value: as many as a digit could tell something of each row."""
    path = folder / "release.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:place], "\n", *lines[place:]]))
    edited(folder, lambda table: table["release"]["files"].update({path.name: digest_of(path)}))
    with pytest.raises(CertificateError, match="empty line"):
        verify.verify(folder)


def pointed(link, folder):
    """Let a link lead to another folder, at once."""
    link.with_name("new").symlink_to(folder)
    link.with_name("new").replace(link)


@pytest.mark.parametrize("descriptors", [True, False])
def test_folders_replaced_while_hashed(descriptors, folder, tmp_path, monkeypatch):
    """The safe folder has the digest of the unsafe one, which a link leads to for that moment."""
    unsafe, link = Path(shutil.copytree(folder, tmp_path / "unsafe")), tmp_path / "link"
    header, *rows = (unsafe / "release.csv").read_text().splitlines()
    rows = [row.rpartition(",")[0] + ",HIV" for row in rows]
    (unsafe / "release.csv").write_text("\n".join([header, *rows, ""]))
    wrong = digest_of(unsafe / "release.csv")
    edited(folder, lambda table: table["release"]["files"].update({"release.csv": wrong}))
    link.symlink_to(folder)

    def digest(path):
        pointed(link, unsafe)
        try:
            return digest_of(path)
        finally:
            pointed(link, folder)

    monkeypatch.setattr(release_folder, "digest_of", digest)
    if not descriptors:
        monkeypatch.setattr(duckdb_files, "_DESCRIPTORS", tmp_path / "none")
    with pytest.raises(CertificateError, match="digest differs"):
        fk.verify(link)


@pytest.mark.parametrize("name", EVERY if NIGHTLY else EVERY[::3])
def test_opened_files_stay_the_same(name, tmp_path, monkeypatch):
    files = [path for path in (WRITTEN / name).iterdir() if path.suffix in (".csv", ".parquet")]
    folder = Path(shutil.copytree(WRITTEN / name, tmp_path / "out"))
    own = [folder / path.name for path in files]
    with duckdb_files.opened_once(own) as opened:
        for path in own:
            path.unlink()
            path.write_text("another")
        for path, file in zip(own, files, strict=True):
            assert (opened[path].name, digest_of(opened[path])) == (path.name, digest_of(file))
        folders = [place.parent for place in opened.values()]
    assert not any(place.exists() for place in folders)
    assert all(path.read_text() == "another" for path in own)
    # A system that names nothing open gets private copies.
    monkeypatch.setattr(duckdb_files, "_DESCRIPTORS", tmp_path / "none")
    assert fk.verify(WRITTEN / name).people == 16


def test_parts_are_opened_once(tmp_path):
    """As many as there are, though a process may have fewer files open."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = [tmp_path / f"part-{number:05}.parquet" for number in range(300)]
    for number, file in enumerate(files):
        file.write_text(str(number))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        with duckdb_files.opened_once(files) as opened:
            assert [path.read_text() for path in opened.values()] == list(map(str, range(300)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def limited_memory():
    """A limit on the address space, which is above all that is needed."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 45, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_limited_memory_has_no_threads(tmp_path, suffix, limited_memory, monkeypatch):
    """A thread that lacks memory while it starts dies, and is waited for without end."""
    monkeypatch.setattr(Thread, "start", lambda thread: pytest.fail("a thread was started"))
    table = pa.table({"zip": ["1", "2"] * 18, "disease": ["Flu", "Cold", "Gout"] * 12})
    policy = {
        "schema": {"quasi_identifiers": ["zip"], "sensitive": "disease"},
        "publish": {"format": suffix},
        "require": [{"facts": {}, "below": "3/4"}],
    }
    fk.publish(table, policy, seed=1).write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").people == 36


def test_own_mistakes_blame_no_certificate(monkeypatch):
    def mistaken(*_):
        raise KeyError("ours")

    monkeypatch.setattr(verify, "scope_differences", mistaken)
    with pytest.raises(KeyError, match="ours"):
        verify.verify(WRITTEN / "facts-generalized-csv")


def test_signed_bytes_are_read(folder, tmp_path, monkeypatch):
    pytest.importorskip("cryptography")
    from tests.evidence_page.test_evidence import keys

    from foreknow.publishing.signature import Signer

    private, public = keys(tmp_path)
    path = folder / "certificate.json"
    Signer(private).sign_file(path)
    signed = path.read_bytes()
    edited(folder, lambda table: table.update(notes=["Not what was signed"]))
    other = path.read_bytes()
    path.write_bytes(signed)
    check = verification.check_signature

    def checked(*given):
        path.write_bytes(signed)
        check(*given)
        path.write_bytes(other)

    monkeypatch.setattr(verification, "check_signature", checked)
    assert fk.verify(folder, key=public).claimed == ()


def test_foreign_owner_folders_are_ignored(folder, monkeypatch):
    ask = Path.is_file

    def is_file(path):
        if path.parent.name == "out.owner":
            raise PermissionError(13, "Permission denied", str(path))
        return ask(path)

    monkeypatch.setattr(Path, "is_file", is_file)
    assert fk.verify(folder).people == 16


def test_counting_at_exit_is_silent(folder):
    """An unclosed quote is an error at once, while the rest of the file is still counted."""
    with (folder / "release.csv").open("a") as file:
        file.write('a,b,"' + (30_000_000 if NIGHTLY else 15_000_000) * "x\n")
    asked = [sys.executable, "-m", "foreknow", "verify", folder]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 2, done.stderr


# ---- no number of a certificate does harm ------------------------------------------------------


@pytest.fixture(scope="module", params=["generalized", "bucketized"])
def release(request, tmp_path_factory):
    """A folder of either form."""
    rows = [
        {"name": i, "age": 20 + i % 6, "sex": "mf"[i % 2], "ill": f"d{i * i % 7 % 4}"}
        for i in range(240)
    ]
    more = [{"l_diversity": {"l": 2, "kind": "entropy"}}, {"k_anonymity": 2}]
    roles = {"identifiers": ["name"], "quasi_identifiers": ["age", "sex"], "sensitive": "ill"}
    policy = {
        "schema": roles,
        "publish": {"form": request.param},
        "require": [
            {"facts": {"l": 1, "k": 1}, "below": 0.98},
            *(more if request.param == "generalized" else []),
        ],
    }
    place = tmp_path_factory.mktemp("releases") / request.param
    fk.publish(pa.Table.from_pylist(rows), policy, seed=1).write(place)
    return place


# What a number, a text or a list may be instead; more of them nightly.
NOTHING = [0, "0"]
ODD = [-1, 1, 2, 1e308, 1e-320, 10**18, "1/0", "", "x", None, True, [], {}]


@pytest.mark.parametrize(
    "values", [NOTHING, pytest.param(ODD, marks=pytest.mark.slow)], ids=["nothing", "odd"]
)
def test_every_altered_leaf_is_judged(release, values, tmp_path):
    path = release / "certificate.json"
    text, before = path.read_text(), fk.verify(release)
    table = json.loads(text)
    leaves = [
        place for place in places(table) if place and not isinstance(at(table, place), (dict, list))
    ]
    try:
        # By day every third one in each form, and one value.
        for number, place in enumerate(leaves):
            if not NIGHTLY and number % 3 != (release.name == "generalized"):
                continue
            for value in values if NIGHTLY else [values[number // 3 % len(values)]]:
                changed = json.loads(text)
                at(changed, place[:-1])[place[-1]] = value
                path.write_text(json.dumps(changed))
                try:
                    verified = fk.verify(release)
                except fk.ForeknowError:
                    with pytest.raises(fk.ForeknowError):
                        fk.evidence_report(release)
                    continue
                said = {"claimed": (), "claimed_scope": before.claimed_scope, "requirements": ()}
                assert replace(verified, **said) == replace(before, **said), (place, value)
                fk.evidence_report(release).to_html(tmp_path / "page.html")
    finally:
        path.write_text(text)


@pytest.mark.parametrize("name", [[], {}, None, 0, ["Decoy"]])
def test_nameless_methods_do_no_harm(folder, name):
    def change(table):
        table["method"]["name"] = name
        table["scope"]["method"] = "as required"

    edited(folder, change)
    assert fk.verify(folder).claimed_scope.method == "as required"
    fk.evidence_report(folder)


# ---- each byte of a Parquet file of a release follows from its rows ----------------------------

SCHEMA = {
    "identifiers": ["id"],
    "quasi_identifiers": ["age"],
    "sensitive": "ill",
    "hierarchies": {"age": {"intervals": [10]}},
}
PEOPLE = pd.DataFrame(
    {"id": range(60), "age": [*range(20, 50)] * 2, "ill": ["flu", "cold", "gout"] * 20}
)
NAME = b"p17 has gout"
TEXT = layout._field(NAME)
PAIR = layout._list([layout._struct({1: TEXT, 2: TEXT})])
# What is described by such fields: the file, a column, what is stored of it, its pages.
FOOTER, ELEMENT = {1, 2, 3, 4, 6}, {1, 3, 4, 6, 10}
CHUNK, STORED, PAGE = {2, 3}, {1, 2, 3, 4, 5, 6, 7, 9, 11}, {1, 2, 3, 5}


@pytest.fixture(scope="module", params=[None, 25], ids=["one file", "parts"])
def published(request, tmp_path_factory):
    publish = {"format": "parquet"} | ({"rows_per_part": 25} if request.param else {})
    rules = {"schema": SCHEMA, "require": [{"k_anonymity": 4}], "publish": publish}
    place = tmp_path_factory.mktemp("published") / "out"
    fk.publish(PEOPLE, fk.Policy.from_dict(rules), seed=1).write(place)
    fk.verify(place)
    return place


@pytest.fixture
def refused(published, tmp_path, monkeypatch):
    """Writes the last file anew in some way, has a certificate name it, and says why it fails."""

    def verified(rewrite):
        release = tmp_path / "out"
        shutil.copytree(published, release, dirs_exist_ok=True)
        certificate = json.loads((release / "certificate.json").read_text())
        files = certificate["release"]["files"]
        path = release / [*files][-1]
        plain = path.read_bytes()
        with monkeypatch.context() as changed:
            rewrite(changed, path, pq.read_table(path))
        assert path.read_bytes() != plain
        files[[*files][-1]] = hashlib.sha256(path.read_bytes()).hexdigest()
        (release / "certificate.json").write_text(json.dumps(certificate))
        with pytest.raises(CertificateError) as error:
            fk.verify(release)
        return str(error.value)

    return verified


def described(fields, more):
    """What writes a table with further fields beside some."""

    def rewrite(changed, path, table):
        struct = layout._struct

        def hiding(described):
            return struct(described | more if described.keys() == fields else described)

        changed.setattr(layout, "_struct", hiding)
        encode([table], path)

    return rewrite


def entered(entry):
    """What writes a table with one more entry in the dictionaries of texts."""

    def rewrite(changed, path, table):
        coded = layout._coded

        def hiding(values):
            codes, entries = coded(values)
            hidden = pa.array([entry or entries[0].as_py()])
            return codes, pa.concat_arrays([entries, hidden])

        changed.setattr(layout, "_coded", hiding)
        encode([table], path)

    return rewrite


def padded(changed, path, table):
    runs = layout._runs
    changed.setattr(layout, "_runs", lambda *numbers: runs(*numbers) + NAME)
    encode([table], path)


def inserted(place):
    def rewrite(changed, path, table):
        content = path.read_bytes()
        at = len(content) - 8 - int.from_bytes(content[-8:-4], "little") if place is None else place
        path.write_bytes(content[:at] + NAME + content[at:])

    return rewrite


def otherwise(**how):
    how = {"store_schema": False, "write_statistics": False, "compression": "none", **how}
    return lambda changed, path, table: pq.write_table(table, path, **how)


STATISTICS = layout._struct({5: TEXT, 6: TEXT})
HIDDEN = {
    "maker": described(FOOTER, {6: TEXT}),
    "notes of the file": described(FOOTER, {5: PAIR}),
    "unknown of the file": described(FOOTER, {13: TEXT}),
    "fewer rows": described(FOOTER, {3: layout._int64(1)}),
    "number of a column": described(ELEMENT, {9: 77}),
    "path of a column": described(CHUNK, {1: TEXT}),
    "unknown of a column": described(CHUNK, {15: TEXT}),
    "notes of a column": described(STORED, {8: PAIR}),
    "statistics of a column": described(STORED, {12: STATISTICS}),
    "unknown of a page": described(PAGE, {14: TEXT}),
    "statistics of a page": described({1, 2, 3, 4}, {5: STATISTICS}),
    "an unused entry": entered("p17 has gout"),
    "an entry twice": entered(None),
    "the end of a page": padded,
    "before the footer": inserted(None),
    "before the columns": inserted(4),
    "after the end": inserted(10**6),
    "PyArrow's own": otherwise(),
    "without dictionaries": otherwise(use_dictionary=False),
    "small groups of rows": otherwise(row_group_size=7),
    "pages of version 2": otherwise(data_page_version="2.0"),
    "checksums": otherwise(write_page_checksum=True),
    **{codec: otherwise(compression=codec) for codec in ("snappy", "zstd", "gzip", "lz4")},
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("how", HIDDEN)
def test_what_is_hidden_is_refused(how, refused):
    why = refused(HIDDEN[how])
    assert "is not laid out as publish writes" in why or "cannot be read" in why
    assert how != "snappy" or "publish the table again" in why  # as of an earlier layout


def test_hidden_bytes_come_before_errors(monkeypatch, refused):
    def broken(*_):
        raise DataError("it cannot be counted")

    monkeypatch.setattr(judge_written, "count_rows", broken)
    assert "is not laid out as publish writes" in refused(HIDDEN["maker"])


@pytest.mark.parametrize("kind", ["VARCHAR", "INTEGER"])
def test_chunks_count_alike(kind):
    numbers = [30, 7, None, 7], [8, 30, 9], [None]
    parts = [[n if kind == "INTEGER" else n and f"v{n}" for n in part] for part in numbers]
    (encoded,) = judge_files._encoded([pa.chunked_array(parts)])
    column = judge_files._as_printed(None, encoded, kind)
    assert column.to_list() == [value and str(value) for part in parts for value in part]


def test_few_texts_count_alike():
    texts = pa.table({"c0": list("abbaa"), "c1": ["x", None, "y", "y", "x"]})
    assert counts_of(texts, few=True) == counts_of(texts, few=False)
    assert counts_of(texts, few=True)[0] == {("a",): 3, ("b",): 2}


def counts_of(texts, few):
    """How often each row occurs, for each of two sights."""
    with duckdb.connect() as connection:
        rows = connection.from_arrow(texts)
        counted = judge_files.count_rows(connection, rows, [["c0"], ["c0", "c1"]], few)
    listed = [([column.to_list() for column in columns], times) for columns, times in counted]
    return [dict(zip(zip(*rows, strict=True), times, strict=True)) for rows, times in listed]


def kinds(n, share):
    """A table with a column of each type, of which a share is missing."""
    random = np.random.default_rng(n)
    small = random.integers(0, 100, n)
    texts = pa.array([f"x{i} é" for i in small], pa.string())
    columns = {
        "text": texts,
        "many": pa.array(map(str, range(n)), pa.string()),
        "coded": texts.dictionary_encode(),
        "flag": pa.array(small < 50),
        "float": pa.array(random.random(n)),
        "short": pa.array(small / 8, pa.float32()),
        "day": pa.array(small.astype(np.int32)).cast(pa.date32()),
        "time": pa.array(small).cast(pa.time64("us")),
        "tick": pa.array(small.astype(np.int32)).cast(pa.time32("ms")),
        "moment": pa.array(small).cast(pa.timestamp("us")),
        "zoned": pa.array(small).cast(pa.timestamp("ms", "UTC")),
        "small decimal": pa.array([Decimal(int(i) - 50) / 100 for i in small], pa.decimal128(4, 2)),
        "decimal": pa.array([Decimal(int(i) - 50) for i in small], pa.decimal128(38, 0)),
        "runs": pa.array(np.sort(small)),
        "long runs": pa.array(np.arange(n) // 64),
        "wide": pa.array(random.integers(-(2**62), 2**62, n)),
    }
    for bits in (8, 16, 32, 64):
        columns[f"int{bits}"] = pa.array(small - 50).cast(f"int{bits}")
        columns[f"uint{bits}"] = pa.array(small).cast(f"uint{bits}")
    places = pa.array(np.arange(n), mask=random.random(n) < share)
    columns = {name: column.take(places) for name, column in columns.items()}
    return pa.table(columns | {"none": pa.nulls(n, pa.string())})


@pytest.mark.parametrize(
    ("n", "share"),
    [(0, 0), (1, 0), (1, 1), (9, 0.1), (600, 0), (600, 0.1), (600, 1), (ROWS + 1, 0.1)],
)
def test_every_reader_has_the_rows(n, share, tmp_path):
    path = tmp_path / "x.parquet"
    table = kinds(n, share)
    assert encode([table.slice(0, n // 3), table.slice(n // 3)], path) == n
    assert is_ours(path)
    coded = table.column_names.index("coded")
    plain = table.set_column(coded, "coded", table.column("coded").cast(pa.string()))
    assert pq.read_table(path).equals(plain)
    relation = duckdb.connect().read_parquet(str(path)).to_arrow_table()
    for read in (relation, pl.read_parquet(path).to_arrow()):
        assert read.cast(plain.schema).equals(plain)


def test_changed_bytes_hide_nothing(tmp_path):
    """Whatever byte is changed, a file that is taken holds what all readers have of it."""
    path = tmp_path / "x.parquet"
    sick = ["flu", None, "gout", "flu"] * 9
    encode([pa.table({"age": ["20 to 29", "30 to 39"] * 18, "ill": sick, "n": range(36)})], path)
    content, random = path.read_bytes(), np.random.default_rng(1)
    engine, taken = duckdb.connect(), 0
    for place in range(len(content)):
        before, byte, after = content[:place], content[place], content[place + 1 :]
        others = [before + bytes([byte ^ 1 << bit]) + after for bit in range(8)]
        others += [before + after, before + bytes([byte, random.integers(256)]) + after]
        for other in others if NIGHTLY else [others[random.integers(10)]][place % 2 :]:
            path.write_bytes(other)
            try:
                if other == content or not holds_rows_alone(engine, path):
                    continue
                rows = engine.read_parquet(str(path)).fetchall()
            except duckdb.Error:  # such as bytes that are no text
                continue
            taken += 1
            assert rows == pl.read_parquet(path).rows()
            assert rows == [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    assert taken  # such as another label


def test_nan_has_one_spelling(tmp_path):
    odd = np.array([0x7FF8_0000_0000_0000 | i for i in range(9)], np.uint64).view(np.float64)
    encode([pa.table({"x": odd})], tmp_path / "x.parquet")
    assert is_ours(tmp_path / "x.parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    assert content.count(odd[0].tobytes()) == 1
    assert odd[1].tobytes() not in content


def test_a_type_is_not_written(tmp_path):
    table = pa.table({"x": pa.array([b"a"])})
    with pytest.raises(DataError, match="'x' is of type binary"):
        write_in_parts([table], tmp_path / "x.parquet", None)
