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


def test_two_folders_appear_with_all_their_files(tmp_path):
    seen = []
    fill(tmp_path / "out", then=lambda: seen.extend(tmp_path.glob("out*")))
    assert seen == []
    assert listing(tmp_path) == BOTH
    assert (tmp_path / "out" / "table.csv").read_text() == "a\n1\n"
    assert listing(tmp_path / "out") == ["table.csv"]
    assert listing(tmp_path / "out.owner") == ["owner.json"]


def test_others_may_read_what_the_umask_lets_them(tmp_path):
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


def test_relative_paths_start_where_we_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_whole("a.json", "text")
    fill("out")
    assert listing(tmp_path) == ["a.json", *BOTH]


@pytest.mark.parametrize(
    "make", [Path.mkdir, Path.touch, lambda path: path.symlink_to(path.with_name("nowhere"))]
)
@pytest.mark.parametrize("name", BOTH)
def test_neither_folder_is_ever_written_over(tmp_path, make, name):
    make(tmp_path / name)
    with pytest.raises(OutputError, match=f"{name}' exists already; name a new folder, or remove"):
        fill(tmp_path / "out")
    assert listing(tmp_path) == [name]


def test_what_is_published_and_what_is_kept_are_never_one_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="'out' is to be published, and cannot be the owner's"):
        require_new("out", tmp_path / "out")
    with pytest.raises(OutputError, match=r"'out/own'.*'.*out'"):
        require_new("out", "out/own")


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
    [(0, "replace"), (0, "chmod"), (0, "fsync"), *((1, s) for s in ("rename", "mkdir", "fsync"))],
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
def test_a_folder_that_appears_meanwhile_is_left_alone(tmp_path, name):
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
        aside = next(small_disk.iterdir())
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
KILLED = """
import os, signal
from pathlib import Path
rename = Path.rename
def second(path, target):
    if Path(target).name == "out":
        os.kill(os.getpid(), signal.SIGKILL)
    rename(path, target)
Path.rename = second
from foreknow.atomic_files import whole_folders
with whole_folders("out", "out.owner") as (aside, own):
    (own / "owner.json").write_text("key")
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
def test_what_a_killed_process_left_is_removed_at_the_next_start(slow, tmp_path, way):
    assert {stat.S_IMODE(left.stat().st_mode) for left in tmp_path.iterdir()} == {0o700}
    slow.kill()
    slow.wait()
    assert [path.name for path in tmp_path.rglob("owner.json")]
    way(tmp_path / "next")
    assert [name for name in listing(tmp_path) if name != "next.owner"] == ["next"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("again", ["out", "next"])
def test_a_process_killed_between_the_names_leaves_neither_at_the_next_start(tmp_path, way, again):
    run = python(KILLED, tmp_path)
    assert run.wait() == -signal.SIGKILL
    assert [name for name in listing(tmp_path) if not name.startswith(".")] == ["out.owner"]
    way(tmp_path / again)
    assert [name for name in listing(tmp_path) if name != f"{again}.owner"] == [again]


def test_what_replaced_a_folder_of_a_killed_process_is_left_alone(tmp_path):
    python(KILLED, tmp_path).wait()
    (tmp_path / "out.owner").rename(tmp_path / "moved")
    (tmp_path / "out.owner").mkdir()
    write_whole(tmp_path / "next", "text")
    assert listing(tmp_path) == ["moved", "next", "out.owner"]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_living_process_writes_is_left_alone(slow, tmp_path, way):
    way(tmp_path / "next")
    slow.communicate(b"\n")
    assert slow.returncode == 0
    assert [name for name in listing(tmp_path) if name != "next.owner"] == ["next", *BOTH]
    assert listing(tmp_path / "out.owner") == ["owner.json"]


def test_what_is_not_surely_ours_is_left_alone(slow, tmp_path):
    left, other = tmp_path.iterdir()
    slow.kill()
    slow.wait()
    subprocess.run(["rm", "-r", str(other)], check=True)
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


@pytest.mark.parametrize("note", ["{device} {inode} {path}", "{nonce}\nwhole\n{path}"])
def test_an_archive_makes_us_remove_nothing_elsewhere(tmp_path, note):
    """Five hundred notes as we write or wrote them, about a folder elsewhere, by all its marks."""
    victim = tmp_path / "home" / "photos"
    victim.mkdir(parents=True, mode=0o700)
    (victim / "one.jpg").write_bytes(b"dear")
    about = victim.lstat()
    marked = {"lock": b"written aside by foreknow\n", "whole": b""}
    folders = {
        f".foreknow-{place:08d}": {
            **marked,
            "beside": note.format(
                device=about.st_dev,
                inode=about.st_ino + place - 250,
                path=victim,
                nonce=f"{place:032x}",
            ).encode(),
        }
        for place in range(500)
    }
    (tmp_path / "data").mkdir()
    unpacked(tmp_path / "data", folders)
    write_whole(tmp_path / "data" / "next", "text")
    assert (victim / "one.jpg").read_bytes() == b"dear"


@pytest.mark.parametrize("noted", ["photos", ".", "{place}/photos", "{place}"])
def test_an_archive_that_brings_note_and_nonce_removes_nothing_older(tmp_path, noted):
    """Unpacked over a folder that was there, whose files are older than the note says."""
    (tmp_path / "photos" / "2023").mkdir(parents=True, mode=0o700)
    (tmp_path / "photos" / "2023" / "one.jpg").write_bytes(b"dear")
    time.sleep(0.02)  # as coarse as the clock of a disk may be
    nonce = b"0" * 32
    brought = {
        "photos": {".unfinished": nonce},
        ".": {".unfinished": nonce},
        ".foreknow-abcdefgh": {
            "lock": b"written aside by foreknow\n",
            "whole": b"",
            "beside": nonce + b"\nwhole\n" + noted.format(place=tmp_path).encode(),
        },
    }
    unpacked(tmp_path, brought)
    at = Path.cwd()
    os.chdir(tmp_path)
    try:
        write_whole("next", "text")
    finally:
        os.chdir(at)
    assert (tmp_path / "photos" / "2023" / "one.jpg").read_bytes() == b"dear"


def test_an_archive_that_brings_hard_links_to_what_was_there_removes_nothing(tmp_path):
    """A link makes the change of state of a file new; its last content stays as old as it is."""
    (tmp_path / "photos").mkdir(mode=0o700)
    (tmp_path / "photos" / "one.jpg").write_bytes(b"dear")
    time.sleep(0.02)  # as coarse as the clock of a disk may be
    nonce, ours = b"0" * 32, ".foreknow-abcdefgh"
    files = [
        (ours, {"lock": b"written aside by foreknow\n", "whole": b""}),
        ("a", {"one": "photos/one.jpg"}),
        ("photos", {".unfinished": nonce}),
        (ours, {"beside": nonce + b"\nwhole\n" + os.fsencode(tmp_path / "photos")}),
    ]
    for name, held in files:
        unpacked(tmp_path, {name: held})
    (tmp_path / "a" / "one").unlink()
    write_whole(tmp_path / "next", "text")
    assert (tmp_path / "photos" / "one.jpg").read_bytes() == b"dear"


def test_what_somebody_puts_into_an_unpacked_folder_stays(tmp_path):
    """The archive brings the nonce along, too: nobody has put anything there when it was noted."""
    nonce = b"0" * 32
    brought = {
        "mine": {".unfinished": nonce, "readme": b"put your tables here"},
        ".foreknow-abcdefgh": {
            "lock": b"written aside by foreknow\n",
            "whole": b"",
            "beside": nonce + b"\nwhole\n" + os.fsencode(tmp_path / "mine"),
        },
    }
    unpacked(tmp_path, brought)
    time.sleep(0.02)  # as coarse as the clock of a disk may be
    (tmp_path / "mine" / "table.csv").write_text("a\n1\n")
    write_whole(tmp_path / "next", "text")
    assert (tmp_path / "mine" / "table.csv").exists()


@pytest.mark.parametrize("name", ["lock", "beside"])
def test_a_pipe_where_a_file_should_be_is_not_waited_for(tmp_path, name):
    folder = tmp_path / ".foreknow-abcdefgh"
    folder.mkdir(mode=0o700)
    (folder / "whole").touch()
    if name == "beside":
        (folder / "lock").write_bytes(b"written aside by foreknow\n")
    os.mkfifo(folder / name)
    code = "from foreknow.atomic_files import write_whole; write_whole('next', 'text')"
    assert python(code, tmp_path).wait(60) == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_umask_that_takes_all_away_leaves_nothing(way):
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
    assert listing(tmp_path) == BOTH


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
        write_whole(tmp_path / "next", "text")
        both = [name for name in BOTH if (tmp_path / name).exists()]
        assert both in ([], BOTH)
        for name, files in zip(both, (PUBLISHED, ["members.parquet", "owner.json"]), strict=False):
            assert listing(tmp_path / name) == files
            subprocess.run(["rm", "-r", str(tmp_path / name)], check=True)
        assert listing(tmp_path) == ["next"]
    assert moments > 20
