"""Writing whole or not at all: whatever goes wrong, nothing is left behind."""

import errno
import json
import os
import stat
import subprocess
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
