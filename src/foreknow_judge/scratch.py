"""Scratch: temporary folders of ours, with a lock that shows whether their process is alive.

The system releases a lock when its process dies, however that happens. So the next process that
works in the same place recognizes what a dead process left, and removes it. Without locks (Windows,
some network disks) it stays.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX, _NAME = ".foreknow-", re.compile(r"\.foreknow-[a-z0-9_]{8}")
LOCK, CONTENT, BESIDE, UNFINISHED = "lock", "whole", "beside", ".unfinished"
_MARK = b"written aside by foreknow\n"
_NONCE = re.compile(r"[0-9a-f]{32}")
_MOST_BYTES = 1 << 14
_LONG = 60  # seconds, after which a living process has put its lock into its folder


def scratch_folder(parent: Path) -> tuple[Path, int]:
    """Make a private folder for one entry `CONTENT`, with a lock, after a `sweep`."""
    sweep(parent)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).absolute()
        try:
            folder.chmod(0o700)  # whatever the umask takes away
            lock = create(folder / LOCK, 0o600)
        except FileNotFoundError:
            continue  # another process swept it while it was empty, since the clock was set
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        try:
            held = _hold(lock)
            if held and (folder / LOCK).exists():
                (folder / LOCK).chmod(0o600)
                os.write(lock, _MARK)
                return folder, lock
            if held is None:  # no locks here: without our mark nobody sweeps it
                return folder, lock
        except BaseException:
            os.close(lock)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        os.close(lock)


def _hold(lock: int) -> bool | None:
    """Whether we got the lock, which nobody else held; None if there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def make_private(folder: Path) -> None:
    """Make a folder, unless it exists, that only we can look into, whatever the umask."""
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def note_beside(folder: Path, whole: Path, moved: Path, target: Path) -> None:
    """Note in `folder` that `moved` becomes `target` just before `whole`, inside it, is moved.

    If we die in between, `target` is removed. It is recognized by a nonce, which is written into it
    and into the note.
    """
    nonce = secrets.token_hex(16)
    (moved / UNFINISHED).write_text(nonce, "utf-8")
    note = f"{nonce}\n{whole.relative_to(folder).as_posix()}\n{target.absolute()}"
    (folder / BESIDE).write_text(note, "utf-8")


def sweep(parent: Path) -> None:
    """Remove what dead processes left in a folder, if it is surely ours."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _sweep_one(Path(entry.path))


def _sweep_one(folder: Path) -> None:
    about = folder.lstat()
    if about.st_mode & 0o777 != 0o700 or about.st_uid != os.geteuid():
        return
    held = {path.name for path in folder.iterdir()}
    if not held and time.time() - about.st_mtime > _LONG:
        folder.rmdir()
    if LOCK not in held or held - {LOCK, CONTENT, BESIDE}:
        return
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(lock).st_mode) and _hold(lock):
            mark = os.read(lock, len(_MARK) + 1)
            if mark == _MARK or (not mark and CONTENT not in held):
                if BESIDE in held:
                    _settle_beside(folder)
                shutil.rmtree(folder)
    finally:
        os.close(lock)


def _settle_beside(folder: Path) -> None:
    """Remove a folder that got its name, if what belongs to it did not.

    An archive that somebody else packed can bring a note and its nonce, so these are not enough:
    the folder must lie beside ours, and everything in it must date from between our lock and the
    note, when it was filled. What was there before an archive was unpacked is older, and what came
    later is newer; a hard link to it, which an archive may bring, renews only its change time.
    """
    with suppress(OSError, ValueError):
        note, noted = _read_own(folder / BESIDE)
        nonce, whole, path = note.split("\n", 2)
        target = Path(path)
        carried, _ = _read_own(target / UNFINISHED)
        if _NONCE.fullmatch(nonce) is None or carried != nonce or target.is_symlink():
            return
        if not target.is_absolute() or not target.parent.samefile(folder.parent):
            return
        if not (folder / whole).exists():
            (target / UNFINISHED).unlink()  # both were moved
            return
        began = (folder / LOCK).lstat().st_ctime_ns
        held = [each.lstat() for each in target.rglob("*")]
        times = [time for each in held for time in (each.st_mtime_ns, each.st_ctime_ns)]
        if all(began <= time <= noted for time in times):
            shutil.rmtree(target)


def _read_own(path: Path) -> tuple[str, int]:
    """The text of a small file of ours, and its change time; opening a pipe does not block."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
            raise ValueError(f"{str(path)!r} is no file of ours")
        return os.read(file, _MOST_BYTES).decode("utf-8"), about.st_ctime_ns
    finally:
        os.close(file)


def create(path: Path, mode: int) -> int:
    """Create a new file; the umask restricts its mode."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
