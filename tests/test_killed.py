"""Processes that are killed: no folder of theirs with a release outlives the next start there."""

import os
import random
import signal
import stat
import subprocess
import sys
import time

import pytest

from foreknow.output import whole_folder, write_whole

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


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def fill(path):
    with whole_folder(path) as aside:
        (aside / "table.csv").write_text("a\n")


WAYS = {"file": lambda path: write_whole(path, "text"), "folder": fill}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_killed_process_left_is_removed_at_the_next_start(slow, tmp_path, way):
    (left,) = tmp_path.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    slow.kill()
    slow.wait()
    assert [path.name for path in left.rglob("owner.json")]
    WAYS[way](tmp_path / "next")
    assert listing(tmp_path) == ["next"]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_living_process_writes_is_left_alone(slow, tmp_path, way):
    WAYS[way](tmp_path / "next")
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
