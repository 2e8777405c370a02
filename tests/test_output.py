"""Writing whole or not at all: whatever goes wrong, or is killed, nothing is left behind."""

import errno
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foreknow.errors import OutputError
from foreknow.output import whole_folder, write_whole


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def fill(path, *, then=None):
    """Write a folder of one file; `then` happens before it gets its name."""
    with whole_folder(path) as aside:
        (aside / "table.csv").write_text("a\n1\n")
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


def test_a_file_holds_the_text_as_utf_8_with_unix_line_ends(tmp_path):
    write_whole(tmp_path / "a.json", "é\r\n\n")
    assert (tmp_path / "a.json").read_bytes() == "é\r\n\n".encode()
    # UTF-8 has no bytes for half a character; in JSON the escape means what it was.
    write_whole(str(tmp_path / "a.json"), '"x\udc80"')
    assert (tmp_path / "a.json").read_bytes() == b'"x\\udc80"'
    assert json.loads((tmp_path / "a.json").read_text()) == "x\udc80"
    (tmp_path / "a.json").chmod(0o600)
    write_whole(tmp_path / "a.json", "new")
    assert (tmp_path / "a.json").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o600
    assert listing(tmp_path) == ["a.json"]


def test_a_folder_appears_with_all_its_files(tmp_path):
    seen = []
    fill(tmp_path / "out", then=lambda: seen.append((tmp_path / "out").exists()))
    assert seen == [False]
    assert listing(tmp_path) == ["out"]
    assert (tmp_path / "out" / "table.csv").read_text() == "a\n1\n"


def test_others_may_read_what_the_umask_lets_them(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", "text")
        fill(tmp_path / "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o750
    assert os.umask(before) == before


def test_relative_paths_start_where_we_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_whole("a.json", "text")
    fill("out")
    assert listing(tmp_path) == ["a.json", "out"]


@pytest.mark.parametrize(
    "make", [Path.mkdir, Path.touch, lambda path: path.symlink_to(path.with_name("nowhere"))]
)
def test_a_folder_is_never_written_over(tmp_path, make):
    make(tmp_path / "out")
    with pytest.raises(OutputError, match="out' exists already; name a new folder, or remove it"):
        fill(tmp_path / "out")
    assert listing(tmp_path) == ["out"]


def test_a_folder_in_the_way_of_a_file_stays(tmp_path):
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
def test_a_place_where_nothing_can_be_is_named_and_not_made(tmp_path, way, name, says):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match=says):
        way(tmp_path / name)
    assert listing(tmp_path) == ["file"]


@pytest.mark.parametrize("way", WAYS)
def test_a_place_without_permission_is_refused(tmp_path, way, monkeypatch):
    # Root may write everywhere, so the refusal is played.
    denied = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr("tempfile.mkstemp", raising(denied))
    monkeypatch.setattr("tempfile.mkdtemp", raising(denied))
    with pytest.raises(OutputError, match="Permission denied; nothing was written"):
        way(tmp_path / "out")


@pytest.mark.parametrize("error", [ValueError("boom"), KeyboardInterrupt(), SystemExit(1)])
def test_a_folder_leaves_nothing_when_its_block_fails(tmp_path, error):
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
    [(0, "replace"), (0, "chmod"), (0, "fsync"), (1, "rename"), (1, "mkdir"), (1, "fsync")],
)
def test_what_was_there_is_whole_when_a_step_fails(tmp_path, monkeypatch, error, way, step):
    if way == 0:
        (tmp_path / "out").write_text("old")
    monkeypatch.setattr(os if step == "fsync" else Path, step, raising(error))
    interrupted = isinstance(error, KeyboardInterrupt)
    says = None if interrupted else f"{error.strerror}; nothing was written"
    with pytest.raises(KeyboardInterrupt if interrupted else OutputError, match=says):
        (lambda path: write_whole(path, "text"), fill)[way](tmp_path / "out")
    assert listing(tmp_path) == ["out"][way:]
    assert way or (tmp_path / "out").read_text() == "old"


def test_a_folder_that_appears_meanwhile_is_left_alone(tmp_path):
    def appear():
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").touch()

    with pytest.raises(OutputError, match="appeared meanwhile; nothing was written"):
        fill(tmp_path / "out", then=appear)
    assert listing(tmp_path) == ["out"]
    assert listing(tmp_path / "out") == ["theirs"]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)],
            capture_output=True,
            check=False,
        )
    except OSError:
        pytest.skip("there is no mount here")
    if made.returncode:
        pytest.skip("mounting a small disk needs root and a kernel that lets it")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_leaves_the_old_file_whole(small_disk):
    (small_disk / "a").write_text("old")
    with pytest.raises(OutputError, match="No space left on device; nothing was written"):
        write_whole(small_disk / "a", "x" * 200_000)
    assert (small_disk / "a").read_text() == "old"
    assert listing(small_disk) == ["a"]


def test_a_full_disk_leaves_no_folder(small_disk):
    def overflow():
        (aside,) = small_disk.iterdir()
        (aside / "second").write_text("x" * 200_000)

    with pytest.raises(OutputError, match="No space left on device; nothing was written"):
        fill(small_disk / "out", then=overflow)
    assert listing(small_disk) == []


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "said")
    assert os.read(reader, 10) == b"said"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "page.html"
    link = tmp_path / "link.html"
    link.symlink_to(target)
    write_whole(link, "said")
    assert link.is_symlink()
    assert target.read_text() == "said"


# ---- processes that are killed -----------------------------------------------------------------

# Writes a folder, says so, and waits for a line before it gives it its name.
SLOW = """
import sys
from foreknow.output import whole_folder
with whole_folder("out") as aside:
    (aside / "owner.json").write_text("key")
    print("written", flush=True)
    sys.stdin.readline()
"""
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
COMMAND = "from foreknow.cli import main; main()"


def python(code, folder, *arguments, **how):
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
def test_what_a_killed_process_left_is_removed_at_the_next_start(slow, tmp_path, way):
    (left,) = tmp_path.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    slow.kill()
    slow.wait()
    assert [path.name for path in left.rglob("owner.json")]
    way(tmp_path / "next")
    assert listing(tmp_path) == ["next"]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_living_process_writes_is_left_alone(slow, tmp_path, way):
    way(tmp_path / "next")
    slow.communicate(b"\n")
    assert slow.returncode == 0
    assert listing(tmp_path) == ["next", "out"]
    assert listing(tmp_path / "out") == ["owner.json"]


def test_what_is_not_surely_ours_is_left_alone(slow, tmp_path):
    (left,) = tmp_path.iterdir()
    slow.kill()
    slow.wait()
    mark = (left / "lock").read_bytes()

    def make(name, held, mode=0o700):
        folder = tmp_path / name
        folder.mkdir()
        for file, content in held.items():
            (folder / file).write_bytes(content)
        folder.chmod(mode)

    make(".foreknow-abcdefgh", {"notes.txt": b"mine"})
    make(".foreknow-abcdefgi", {"lock": mark, "notes.txt": b"mine"})
    make(".foreknow-abcdefgj", {"lock": b"another", "whole": b"mine"})
    make(".foreknow-abcdefgk", {"lock": mark, "whole": b"mine"}, mode=0o755)
    make(".foreknow-abcdefgl", {"lock": b"", "whole": b"mine"})
    make(".foreknow-abcdefgm", {})  # of a process that is about to put its lock there
    make(".foreknow-old", {"lock": mark, "whole": b"mine"})
    make("foreknow-abcdefgh", {"lock": mark, "whole": b"mine"})
    (tmp_path / ".foreknow-abcdefgn").write_bytes(mark)
    (tmp_path / "elsewhere").mkdir()
    left.rename(tmp_path / "elsewhere" / "left")
    (tmp_path / ".foreknow-abcdefgo").symlink_to(tmp_path / "elsewhere" / "left")
    before = sorted(map(str, tmp_path.rglob("*")))
    write_whole(tmp_path / "next", "text")
    (tmp_path / "next").unlink()
    assert sorted(map(str, tmp_path.rglob("*"))) == before


def test_an_empty_folder_is_removed_when_it_is_old(tmp_path):
    folder = tmp_path / ".foreknow-abcdefgh"
    folder.mkdir(mode=0o700)
    os.utime(folder, (time.time() - 100,) * 2)
    write_whole(tmp_path / "next", "text")
    assert listing(tmp_path) == ["next"]


# ---- the command line --------------------------------------------------------------------------


def publishing(folder):
    return python(COMMAND, folder, "demo", "out", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def when_aside(folder, run):
    """Wait until something is written aside."""
    while run.poll() is None and not any(folder.glob(".foreknow-*/whole/*")):
        time.sleep(0.002)


def test_a_command_that_is_told_to_end_leaves_nothing(tmp_path):
    run = publishing(tmp_path)
    when_aside(tmp_path, run)
    run.send_signal(signal.SIGTERM)
    said = run.communicate()[1].decode()
    assert run.returncode == 143, said
    assert listing(tmp_path) == []
    assert "nothing was left half-written" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_each_signal_that_ends_a_command_has_its_code(tmp_path, name):
    number = getattr(signal, name)
    run = python(TOLD, tmp_path, SLOW, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"written\n"
    run.send_signal(number)
    run.communicate()
    assert run.returncode == 128 + number
    assert listing(tmp_path) == []


def test_a_signal_that_is_ignored_stays_so(tmp_path):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does

    how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "preexec_fn": ignore}
    run = python(TOLD, tmp_path, SLOW, **how)
    assert run.stdout.readline() == b"written\n"
    run.send_signal(signal.SIGHUP)
    run.communicate(b"\n")
    assert run.returncode == 0
    assert listing(tmp_path) == ["out"]


@pytest.mark.slow
def test_kills_at_random_moments_leave_all_or_nothing(tmp_path):
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
        if (tmp_path / "out").exists():
            assert {"certificate.json", "owner.json", "report.html", "release.csv"} == set(
                listing(tmp_path / "out")
            )
            subprocess.run(["rm", "-r", str(tmp_path / "out")], check=True)
        write_whole(tmp_path / "next", "text")
        assert listing(tmp_path) == ["next"]
    assert moments > 20
