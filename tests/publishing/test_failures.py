"""Writing whole or not at all: whatever fails or is killed, nothing of a release is left behind."""

import errno
import gc
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.common import heeded
from tests.people import made, people, schema

import foreknow as fk
from foreknow.adversaries.facts.facts import Facts
from foreknow.atomic_files import require_new, whole_folders, write_whole
from foreknow.errors import InternalError, NoSafeRelease, OutputError
from foreknow.methods.protocol import Traits
from foreknow.publishing import formats
from foreknow.publishing import publish as publishing
from foreknow_judge.errors import CertificateError, NotEnoughMemory
from foreknow_judge.files import duckdb_files
from foreknow_judge.files.temporary_folder import CONTENT


def raising(error):
    """A step that leaves something half-written and fails."""

    def step(*given, **named):
        for argument in given:
            if isinstance(argument, Path):
                argument.write_text("half")
        raise error

    return step


def three_groups(form="generalized", fmt="csv"):
    """Groups s t, s t, s t t; the worst is 2/3 for t, in the third."""
    table = pa.table({"age": [1, 1, 2, 2, 3, 3, 3], "disease": list("ststst") + ["t"]})
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", values=["t"])])
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    return made(form, fmt, table=table, policy=policy, roles=roles, labels={"age": "exact"})


FULL = OSError(28, "No space left on device")
# What fails, and what is said of it: too little memory and the disk are explained.
ERRORS = [
    (ValueError("x"), ValueError, None),
    (KeyboardInterrupt(), KeyboardInterrupt, None),
    (SystemExit(3), SystemExit, None),
    (CertificateError("no"), CertificateError, None),
    (InternalError("no"), InternalError, None),
    (MemoryError(), NotEnoughMemory, "use a machine with more"),
    (FULL, OutputError, "out': No space left on device; nothing"),
]


ASIDE = {"write": (formats, "write_csv"), "judge": (publishing, "findings_of")}
NO_MEMORY = (OSError(12, "Cannot allocate memory"), NotEnoughMemory, "use a machine with more")
# Of files that are written and judged aside something else is said.
OTHERWISE = {
    ("write", FULL): (OutputError, r"temporary files .*: No space left on device; nothing"),
    ("judge", ERRORS[3][0]): (NoSafeRelease, "cannot be verified: no"),
    ("judge", FULL): (OSError, "No space left on device"),
}


def aside():
    """What lies in the private folder of this process."""
    return {*(duckdb_files.scratch() / CONTENT).rglob("*")}


@pytest.mark.parametrize(
    ("error", "kind", "message"), [*ERRORS, NO_MEMORY], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("step", ASIDE)
def test_failures_aside(step, error, kind, message, monkeypatch):
    kind, message = OTHERWISE.get((step, error), (kind, message))
    before = aside()
    monkeypatch.setattr(*ASIDE[step], raising(error))
    with pytest.raises(kind, match=message) as caught:
        three_groups()
    assert type(caught.value) is kind
    error.with_traceback(None)  # whose frames hold the files
    del caught
    gc.collect()
    assert aside() <= before


def harmless(table):
    rows = table.to_pylist()
    rows.remove({"age": "1", "disease": "t"})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("form", "keep", "message"),
    [
        ("generalized", lambda table: table.slice(0, 6), "differs from what was written"),
        ("generalized", harmless, None),
        ("bucketized", lambda table: table[1 - ("count" in table.column_names) :], "do not match"),
    ],
)
def test_tables_that_read_back_otherwise(form, keep, message, fmt, monkeypatch):
    """A writer that writes other rows than it was given."""
    name = {"csv": "write_csv", "parquet": "write_in_parts"}[fmt]
    write = getattr(formats, name)

    def other_rows(given, path, *most, **options):
        return write(map(keep, given), path, *most, **options)

    monkeypatch.setattr(formats, name, other_rows)
    kinds = InternalError if form == "generalized" else (InternalError, NoSafeRelease)
    with pytest.raises(kinds, match=message):
        three_groups(form, fmt)


def test_removed_files_are_named(tmp_path):
    publication = made(seed=3)
    first, second = (publication.write(str(tmp_path / name)) for name in "ab")
    assert first.files == second.files
    with pytest.raises(OutputError, match="exists already"):
        publication.write(tmp_path / "a")
    ((path,),) = publication._files.paths.values()
    path.unlink()
    with pytest.raises(fk.InputError, match=r"release.csv.* was removed meanwhile; publish again"):
        publication.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---- a search that is wrong --------------------------------------------------------------------


class Wrong:
    """An anonymizer that pays no heed to the policy."""

    def __init__(self, groups):
        self.groups = groups

    def partition(self, microdata, policy=None, seed=None):
        return np.asarray(self.groups)


class Lying(Wrong):
    """One that says that it asks the policy, and does not."""

    traits = Traits(consults_policy=True)


ALONE = np.arange(60)
MICRODATA = fk.Microdata(people(), schema())
CERTAIN = fk.Policy([fk.Requirement(fk.Facts(), 1, knowing=[])])
QUARTER = fk.Policy([fk.Requirement(fk.Facts(), "1/4", knowing=[])])
PAIRS = fk.Policy([fk.Requirement(fk.KAnonymity(2), knowing=[])])


def test_a_sunny_audit_is_caught(monkeypatch):
    """As if the audit had a bug and called everything safe."""
    honest = Facts.disclosures

    def sunny(self, release):
        counts = release if isinstance(release, fk.GroupCounts) else release.counts
        return honest(self, counts.merge(np.zeros(counts.n_groups, dtype=np.int64)))

    monkeypatch.setattr(Facts, "disclosures", sunny)
    with pytest.raises(InternalError, match="disagree"):
        fk.publish(MICRODATA, CERTAIN, method=Wrong(ALONE))


@pytest.mark.parametrize(
    ("policy", "form"),
    [(QUARTER, "generalized"), (QUARTER, "bucketized"), (PAIRS, "generalized")],
)
def test_lying_methods_publish_nothing(policy, form, tmp_path):
    with pytest.raises(InternalError, match="disagree"):
        fk.publish(MICRODATA, policy, method=Lying(ALONE), form=form, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("policy", [QUARTER, PAIRS], ids=["facts", "k_anonymity"])
def test_mild_ledgers_publish_nothing(policy, method, tmp_path, monkeypatch):
    """As if a ledger had a bug, and admitted what is over the limit."""
    facts, sizes = fk.Facts.ledger, fk.KAnonymity.ledger
    monkeypatch.setattr(fk.Facts, "ledger", lambda kind, limit, *more: facts(kind, 1, *more))
    mild = fk.KAnonymity(1)
    monkeypatch.setattr(fk.KAnonymity, "ledger", lambda kind, *more: sizes(mild, *more))
    with pytest.raises(InternalError, match="disagree"):
        fk.publish(MICRODATA, policy, method=method, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("limit", "searched"), [("1/2", 1), ("625000000001/1000000000000", None)])
def test_what_owners_find_unsafe(limit, searched, tmp_path, monkeypatch):
    """Files do not show the column of a rule: of them the judge finds less."""
    facts = fk.Facts.ledger
    monkeypatch.setattr(
        fk.Facts, "ledger", lambda kind, below, *more: facts(kind, searched or below, *more)
    )
    ill = ["Ovary", "Ovary", "Fever", "Fever", "Gout", "Gout", "Fever", "Ovary", "Fever"]
    table = pa.table({"zip": ["02139"] * 9, "sex": list("ffmfmfffm"), "ill": ill})
    rules = [{"values": ["Ovary"], "where": {"sex": ["m"]}}]
    roles = {"quasi_identifiers": ["zip"], "sensitive": "ill", "impossible": rules}
    required = [{"values": ["Gout"], "facts": {"l": 0, "k": 0, "m": 2}, "below": limit}]
    with pytest.raises(NoSafeRelease, match="as they are judged"):
        fk.publish(table, {"schema": roles, "require": required}, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_grouping_with_a_gap():
    with pytest.raises(InternalError):
        fk.publish(MICRODATA, CERTAIN, method=Wrong([0] * 30 + [2] * 30))


# ---- writing whole or not at all: whatever goes wrong, or is killed, nothing is left behind ------


BOTH = ["out", "out.owner"]


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def fill(path, *, then=None):
    """Write two folders of one file each; `then` happens before they get their names."""
    with whole_folders(path, f"{path}.owner") as (aside, own):
        (aside / "table.csv").write_text("a\n1\n")
        (own / "owner.json").write_text("key")
        if then is not None:
            then()


def failing(error):
    def fail(*args, **kwargs):
        raise error

    return fail


WAYS = [
    pytest.param(lambda path: write_whole(path, "text"), id="file"),
    pytest.param(fill, id="folder"),
]


def test_a_file_holds_its_text(tmp_path):
    path = tmp_path / "a.json"
    write_whole(path, "é\r\n\n")
    assert path.read_bytes() == "é\r\n\n".encode()
    # UTF-8 has no bytes for half a character; in JSON the escape means what it was.
    write_whole(str(path), '"x\udc80"')
    assert path.read_bytes() == b'"x\\udc80"'
    assert json.loads(path.read_text()) == "x\udc80"
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    write_whole(tmp_path / "link", "new")
    assert path.read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert listing(tmp_path) == ["a.json", "link"]
    pipe = tmp_path / "pipe"  # which is written to and not replaced
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "said")
    assert os.read(reader, 10) == b"said"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_folders_in_the_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="'out' is to be published, and cannot be the owner's"):
        require_new("out", tmp_path / "out")
    with pytest.raises(OutputError, match=r"'out/own'.*'.*out'"):
        require_new("out", "out/own")
    (tmp_path / "a").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*: Is a directory; nothing was written"):
        write_whole(tmp_path / "a", "text")
    with pytest.raises(OutputError, match="Is a directory"):
        write_whole(".", "said")
    assert listing(tmp_path) == ["a"]


DISK_FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), DISK_FULL, KeyboardInterrupt()])
@pytest.mark.parametrize(
    ("way", "step"),
    [(0, "replace"), (0, "chmod"), (0, "fsync"), *((1, s) for s in ("rename", "mkdir", "fsync"))],
)
def test_a_step_that_fails(tmp_path, monkeypatch, error, way, step):
    if way == 0:
        (tmp_path / "out").write_text("old")
    monkeypatch.setattr(os if step == "fsync" else Path, step, failing(error))
    interrupted = isinstance(error, KeyboardInterrupt)
    says = None if interrupted else f"{error.strerror}; nothing was written"
    with pytest.raises(KeyboardInterrupt if interrupted else OutputError, match=says):
        (lambda path: write_whole(path, "text"), fill)[way](tmp_path / "out")
    assert listing(tmp_path) == ["out"][way:]
    assert way or (tmp_path / "out").read_text() == "old"


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), KeyboardInterrupt()])
@pytest.mark.parametrize("done", [False, True])
def test_one_folder_alone_never_stays(tmp_path, monkeypatch, error, done):
    """The second name is given, or not, when something fails."""
    rename = Path.rename

    def second(path, target):
        if Path(target).name == "out":
            if done:
                rename(path, target)
            raise error
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", second)
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else OutputError):
        fill(tmp_path / "out")
    assert listing(tmp_path) == (BOTH if done else [])


@pytest.mark.parametrize("name", BOTH)
def test_folders_that_appear_meanwhile(tmp_path, name):
    def appear():
        (tmp_path / name).mkdir()
        (tmp_path / name / "theirs").touch()

    with pytest.raises(OutputError, match=f"{name}' appeared meanwhile; nothing was written"):
        fill(tmp_path / "out", then=appear)
    assert listing(tmp_path) == [name]
    assert listing(tmp_path / name) == ["theirs"]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root and a kernel that lets it")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_full_disks(small_disk):
    (small_disk / "a").write_text("old")
    with pytest.raises(OutputError, match="No space left on device; nothing was written"):
        write_whole(small_disk / "a", "x" * 200_000)
    assert (small_disk / "a").read_text() == "old"

    def overflow():
        (next(small_disk.glob(".*")) / "second").write_text("x" * 200_000)

    with pytest.raises(OutputError, match="No space left on device; nothing was written"):
        fill(small_disk / "out", then=overflow)
    assert listing(small_disk) == ["a"]


# ---- processes that are killed -----------------------------------------------------------------

# Writes two folders, says so, and waits for a line before it gives them their names.
SLOW = """
import sys
from foreknow.atomic_files import whole_folders
with whole_folders("out", "out.owner") as (aside, own):
    (own / "owner.json").write_text("key")
    print("written", flush=True)
    sys.stdin.readline()
"""
# The same, which is killed when the first of them has its name.
KILLED = (
    """
import os, signal, io, sys
from pathlib import Path
rename, sys.stdin = Path.rename, io.StringIO()
def second(path, target):
    if Path(target).name == "out":
        os.kill(os.getpid(), signal.SIGKILL)
    rename(path, target)
Path.rename = second
"""
    + SLOW
)
# The same, as a command that is told to end.
TOLD = """
import sys
from foreknow.cli.process import Interrupts
interrupts = Interrupts()
interrupts.watch()
try:
    exec(sys.argv[1])
except KeyboardInterrupt:
    sys.exit(interrupts.farewell())
"""


def python(code, folder, *arguments, **how):
    how = {"preexec_fn": heeded, **how}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=folder, **how)


@pytest.fixture
def slow(tmp_path):
    """A process that has written aside."""
    run = python(SLOW, tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"written\n"
    yield run
    run.kill()
    run.communicate()


@pytest.mark.parametrize(("way", "again"), [(WAYS[0].values[0], "next"), (fill, "out")])
def test_a_process_killed_between_names(tmp_path, way, again):
    run = python(KILLED, tmp_path)
    assert run.wait() == -signal.SIGKILL
    assert [name for name in listing(tmp_path) if not name.startswith(".")] == ["out.owner"]
    way(tmp_path / again)
    assert [name for name in listing(tmp_path) if name != f"{again}.owner"] == [again]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_living_process_writes(slow, tmp_path, way):
    way(tmp_path / "next")
    slow.communicate(b"\n")
    assert slow.returncode == 0
    assert [name for name in listing(tmp_path) if name != "next.owner"] == ["next", *BOTH]
    assert listing(tmp_path / "out.owner") == ["owner.json"]


def test_what_is_not_surely_ours(slow, tmp_path):
    left, other = tmp_path.iterdir()
    slow.kill()
    slow.wait()
    subprocess.run(["rm", "-r", str(other)], check=True)
    mark = (left / "lock").read_bytes()

    def make(name, mode=0o700, **files):
        folder = tmp_path / name
        folder.mkdir()
        for file, content in files.items():
            (folder / file).write_bytes(content)
        folder.chmod(mode)

    make(".foreknow-abcdefgh", notes=b"mine")
    make(".foreknow-abcdefgi", lock=mark, notes=b"mine")
    make(".foreknow-abcdefgj", lock=b"another", whole=b"mine")
    make(".foreknow-abcdefgk", lock=mark, whole=b"mine", mode=0o755)
    make(".foreknow-abcdefgl", lock=b"", whole=b"mine")
    make(".foreknow-abcdefgm")  # of a process that is about to put its lock there
    make(".foreknow-old", lock=mark, whole=b"mine")
    make("foreknow-abcdefgh", lock=mark, whole=b"mine")
    (tmp_path / ".foreknow-abcdefgn").write_bytes(mark)
    (tmp_path / "elsewhere").mkdir()
    left.rename(tmp_path / "elsewhere" / "left")
    (tmp_path / ".foreknow-abcdefgo").symlink_to(tmp_path / "elsewhere" / "left")
    before = sorted(map(str, tmp_path.rglob("*")))
    write_whole(tmp_path / "next", "text")
    (tmp_path / "next").unlink()
    assert sorted(map(str, tmp_path.rglob("*"))) == before
    os.utime(tmp_path / ".foreknow-abcdefgm", (time.time() - 100,) * 2)
    write_whole(tmp_path / "next", "text")
    assert ".foreknow-abcdefgm" not in listing(tmp_path)


# ---- what an archive brings --------------------------------------------------------------------


def unpacked(place, folders):
    """An archive of somebody else, unpacked: folders by name, each with its files or hard links."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, files in folders.items():
            about = tarfile.TarInfo(name)
            about.type, about.mode = tarfile.DIRTYPE, 0o700
            about.uid, about.gid = os.geteuid(), os.getegid()
            archive.addfile(about)
            for file, content in files.items():
                about = tarfile.TarInfo(f"{name}/{file}")
                if isinstance(content, str):
                    about.type, about.linkname = tarfile.LNKTYPE, content
                    archive.addfile(about)
                    continue
                about.size, about.mode, about.mtime = len(content), 0o600, time.time()
                about.uid, about.gid = os.geteuid(), os.getegid()
                archive.addfile(about, io.BytesIO(content))
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        archive.extractall(place)


OURS, NONCE = ".foreknow-abcdefgh", b"0" * 32
MARKED = {"lock": b"written aside by foreknow\n", "whole": b""}


def noting(place):
    """Our folder in an archive, with a note about a folder elsewhere."""
    return {**MARKED, "beside": NONCE + b"\nwhole\n" + os.fsencode(place)}


def test_what_somebody_put_there_stays(tmp_path):
    """The archive brings the nonce along, too: nobody has put anything there when it was noted."""
    brought = {".unfinished": NONCE, "readme": b"put your tables here"}
    unpacked(tmp_path, {"mine": brought, OURS: noting(tmp_path / "mine")})
    time.sleep(0.02)  # as coarse as the clock of a disk may be
    (tmp_path / "mine" / "table.csv").write_text("a\n1\n")
    write_whole(tmp_path / "next", "text")
    assert (tmp_path / "mine" / "table.csv").exists()


@pytest.mark.parametrize("name", ["lock", "beside"])
def test_pipes_are_not_waited_for(tmp_path, name):
    folder = tmp_path / ".foreknow-abcdefgh"
    folder.mkdir(mode=0o700)
    (folder / "whole").touch()
    if name == "beside":
        (folder / "lock").write_bytes(b"written aside by foreknow\n")
    os.mkfifo(folder / name)
    code = "from foreknow.atomic_files import write_whole; write_whole('next', 'text')"
    assert python(code, tmp_path).wait(60) == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_umask_that_takes_all(way):
    """As another user than root, whom modes do not stop; so in a place that others reach."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        child = os.fork()
        if not child:
            code = 1
            try:
                os.chdir(place)
                if os.geteuid() == 0:
                    os.setegid(65534)
                    os.seteuid(65534)
                os.umask(0o777)
                with suppress(OutputError):
                    way(Path("out"))
                code = 2 if [name for name in os.listdir() if name.startswith(".")] else 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ---- the command line --------------------------------------------------------------------------


def process_of(folder):
    return python(
        "from foreknow.cli import main; main()",
        folder,
        "demo",
        "out",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def when_aside(folder, run):
    """Wait until something is written aside."""
    while run.poll() is None and not any(folder.glob(".foreknow-*/whole/*")):
        time.sleep(0.002)


def test_a_command_told_to_end(tmp_path):
    run = process_of(tmp_path)
    when_aside(tmp_path, run)
    run.send_signal(signal.SIGTERM)
    text = run.communicate()[1].decode()
    assert run.returncode == 143, text
    assert listing(tmp_path) == []
    assert "nothing was left half-written" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("name", "first", "code", "left"),
    [
        ("SIGTERM", heeded, 143, []),
        ("SIGHUP", heeded, 129, []),
        # as nohup does
        ("SIGHUP", lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), 0, BOTH),
    ],
)
def test_signals_heeded_and_ignored(tmp_path, name, first, code, left):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "preexec_fn": first}
    run = python(TOLD, tmp_path, SLOW, **pipes)
    assert run.stdout.readline() == b"written\n"
    run.send_signal(getattr(signal, name))
    run.communicate(b"\n" if left else None)
    assert (run.returncode, listing(tmp_path)) == (code, left)
