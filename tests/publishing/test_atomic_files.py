"""Writing whole or not at all: whatever goes wrong, or is killed, nothing is left behind."""

import errno
import io
import json
import os
import random
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.examples import NIGHTLY
from tests.signals import heeded

from foreknow.atomic_files import require_new, whole_folders, write_whole
from foreknow.errors import OutputError

BOTH = ["out", "out.owner"]
PUBLISHED = ["certificate.json", "datapackage.json", "release.csv", "report.html"]


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def fill(path, *, then=None):
    """Write two folders of one file each; `then` happens before they get their names."""
    with whole_folders(path, f"{path}.owner") as (aside, own):
        (aside / "table.csv").write_text("a\n1\n")
        (own / "owner.json").write_text("key")
        if then is not None:
            then()


def raising(error):
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


def test_two_folders_appear_together(tmp_path, monkeypatch):
    seen = []
    fill(tmp_path / "out", then=lambda: seen.extend(tmp_path.glob("out*")))
    assert seen == []
    assert listing(tmp_path) == BOTH
    assert (tmp_path / "out" / "table.csv").read_text() == "a\n1\n"
    assert listing(tmp_path / "out") == ["table.csv"]
    assert listing(tmp_path / "out.owner") == ["owner.json"]
    monkeypatch.chdir(tmp_path / "out")  # relative paths start where we are
    write_whole("a.json", "text")
    fill("in")
    assert listing(tmp_path / "out") == ["a.json", "in", "in.owner", "table.csv"]


def test_modes_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", "text")
        fill(tmp_path / "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o750
    own = tmp_path / "out.owner"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (own, own / "owner.json")]
    assert modes == [0o700, 0o600]
    assert os.umask(before) == before


@pytest.mark.parametrize(
    "make", [Path.mkdir, Path.touch, lambda path: path.symlink_to(path.with_name("nowhere"))]
)
@pytest.mark.parametrize("name", BOTH)
def test_folders_are_never_written_over(tmp_path, make, name):
    make(tmp_path / name)
    with pytest.raises(OutputError, match=f"{name}' exists already; name a new folder, or remove"):
        fill(tmp_path / "out")
    assert listing(tmp_path) == [name]


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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing/out", r"the folder '.*missing' does not exist; nothing was"),
        ("file/out", "cannot write"),
        ("n" * 300, "File name too long"),
    ],
)
def test_places_where_nothing_can_be(tmp_path, way, name, says):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match=says):
        way(tmp_path / name)
    assert listing(tmp_path) == ["file"]


@pytest.mark.parametrize("way", WAYS)
def test_places_without_permission(tmp_path, way, monkeypatch):
    # Root may write everywhere, so the refusal is played.
    denied = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr("tempfile.mkstemp", raising(denied))
    monkeypatch.setattr("tempfile.mkdtemp", raising(denied))
    with pytest.raises(OutputError, match="Permission denied; nothing was written"):
        way(tmp_path / "out")


@pytest.mark.parametrize("error", [ValueError("boom"), KeyboardInterrupt(), SystemExit(1)])
def test_a_block_that_fails(tmp_path, error):
    with pytest.raises(type(error)):
        fill(tmp_path / "out", then=raising(error))
    # Nor is an error of the block blamed on the folder above.
    with pytest.raises(OutputError, match="No such file or directory; nothing was written"):
        fill(tmp_path / "out", then=lambda: (tmp_path / "input.csv").read_text())
    assert listing(tmp_path) == []


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), FULL, KeyboardInterrupt()])
@pytest.mark.parametrize(
    ("way", "step"),
    [(0, "replace"), (0, "chmod"), (0, "fsync"), *((1, s) for s in ("rename", "mkdir", "fsync"))],
)
def test_a_step_that_fails(tmp_path, monkeypatch, error, way, step):
    if way == 0:
        (tmp_path / "out").write_text("old")
    monkeypatch.setattr(os if step == "fsync" else Path, step, raising(error))
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


@pytest.mark.parametrize("way", WAYS)
def test_what_killed_processes_left(slow, tmp_path, way):
    assert {stat.S_IMODE(left.stat().st_mode) for left in tmp_path.iterdir()} == {0o700}
    slow.kill()
    slow.wait()
    assert [path.name for path in tmp_path.rglob("owner.json")]
    way(tmp_path / "next")
    assert [name for name in listing(tmp_path) if name != "next.owner"] == ["next"]


@pytest.mark.parametrize(("way", "again"), [(WAYS[0].values[0], "next"), (fill, "out")])
def test_a_process_killed_between_names(tmp_path, way, again):
    run = python(KILLED, tmp_path)
    assert run.wait() == -signal.SIGKILL
    assert [name for name in listing(tmp_path) if not name.startswith(".")] == ["out.owner"]
    way(tmp_path / again)
    assert [name for name in listing(tmp_path) if name != f"{again}.owner"] == [again]


def test_what_replaced_a_folder(tmp_path):
    python(KILLED, tmp_path).wait()
    (tmp_path / "out.owner").rename(tmp_path / "moved")
    (tmp_path / "out.owner").mkdir()
    write_whole(tmp_path / "next", "text")
    assert listing(tmp_path) == ["moved", "next", "out.owner"]


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


@pytest.fixture
def photos(tmp_path):
    """A picture in a folder that was there before."""
    (tmp_path / "photos" / "2023").mkdir(parents=True, mode=0o700)
    dear = tmp_path / "photos" / "2023" / "one.jpg"
    dear.write_bytes(b"dear")
    time.sleep(0.02)  # as coarse as the clock of a disk may be
    return dear


@pytest.mark.parametrize("note", ["{device} {inode} {path}", "{nonce}\nwhole\n{path}"])
def test_notes_about_a_folder_elsewhere(tmp_path, photos, note):
    """Many notes as we write or wrote them, by all marks of the folder."""
    about = photos.parent.lstat()
    folders = {}
    for place in range(many := 500 if NIGHTLY else 60):
        marks = {"device": about.st_dev, "inode": about.st_ino + place - many // 2}
        beside = note.format(**marks, path=photos.parent, nonce=f"{place:032x}")
        folders[f".foreknow-{place:08d}"] = {**MARKED, "beside": beside.encode()}
    (tmp_path / "data").mkdir()
    unpacked(tmp_path / "data", folders)
    write_whole(tmp_path / "data" / "next", "text")
    assert photos.read_bytes() == b"dear"


@pytest.mark.parametrize("noted", ["photos", ".", "{place}/photos", "{place}"])
def test_archive_with_note_and_nonce(tmp_path, photos, noted, monkeypatch):
    """Unpacked over a folder that was there, whose files are older than the note says."""
    nonce = {".unfinished": NONCE}
    brought = {"photos": nonce, ".": nonce, OURS: noting(noted.format(place=tmp_path))}
    unpacked(tmp_path, brought)
    monkeypatch.chdir(tmp_path)
    write_whole("next", "text")
    assert photos.read_bytes() == b"dear"


def test_an_archive_with_hard_links(tmp_path, photos):
    """A link makes the change of state of a file new; its last content stays as old as it is."""
    unpacked(tmp_path, {OURS: MARKED})
    unpacked(tmp_path, {"a": {"one": "photos/2023/one.jpg"}})
    unpacked(tmp_path, {"photos": {".unfinished": NONCE}})
    unpacked(tmp_path, {OURS: noting(tmp_path / "photos")})
    (tmp_path / "a" / "one").unlink()
    write_whole(tmp_path / "next", "text")
    assert photos.read_bytes() == b"dear"


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


def publishing(folder):
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
    run = publishing(tmp_path)
    when_aside(tmp_path, run)
    run.send_signal(signal.SIGTERM)
    said = run.communicate()[1].decode()
    assert run.returncode == 143, said
    assert listing(tmp_path) == []
    assert "nothing was left half-written" in said
    assert "Traceback" not in said


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


@pytest.mark.slow
def test_kills_at_random_moments(tmp_path):
    draw = random.Random(132)
    moments = 0
    for name in ["SIGTERM", "SIGHUP", "SIGKILL"] * 44:
        run = publishing(tmp_path)
        if draw.random() < 0.7:
            when_aside(tmp_path, run)
            time.sleep(draw.uniform(0, 0.5))
        else:
            time.sleep(draw.uniform(0, 2))
        moments += any(tmp_path.glob(".foreknow-*"))
        run.send_signal(getattr(signal, name))
        run.communicate()
        hidden = {path for path in tmp_path.iterdir() if path.name.startswith(".")}
        assert name == "SIGKILL" or not hidden
        for left in hidden:
            assert stat.S_IMODE(left.stat().st_mode) & 0o077 == 0
        write_whole(tmp_path / "next", "text")
        both = [name for name in BOTH if (tmp_path / name).exists()]
        assert both in ([], BOTH)
        for name, files in zip(both, (PUBLISHED, ["members.parquet", "owner.json"]), strict=False):
            assert listing(tmp_path / name) == files
            subprocess.run(["rm", "-r", str(tmp_path / name)], check=True)
        assert listing(tmp_path) == ["next"]
    assert moments > 20
