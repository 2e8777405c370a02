"""Scratch: folders of our own in somebody's folder, with a lock that says whether we live.

The system gives up a lock when its process dies, however that happens. So the next process that
works in the same place knows what a dead one left, and removes it. Without locks (Windows, some
network disks) it stays.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX, _NAME = ".foreknow-", re.compile(r"\.foreknow-[a-z0-9_]{8}")
LOCK, CONTENT, BESIDE = "lock", "whole", "beside"
_MARK = b"written aside by foreknow\n"
_LONG = 60  # seconds in which a process that lives has put its lock into its folder


def scratch_folder(parent: Path) -> tuple[Path, int]:
    """Make a private folder for one entry `CONTENT`, and its lock; first tidy after the dead."""
    sweep(parent)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).absolute()
        try:
            lock = create(folder / LOCK, 0o600)
        except FileNotFoundError:
            continue  # swept in this very moment, since it was empty and the clock was set
        try:
            held = _hold(lock)
            if held and (folder / LOCK).exists():
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
    """Whether we got a lock that nobody else holds; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def note_beside(content: Path, moved: Path, target: Path) -> None:
    """Note what gets its name just before `content` does: if we die between, it is removed."""
    about = moved.lstat()
    note = f"{about.st_dev} {about.st_ino} {target.absolute()}"
    (content.parent / BESIDE).write_text(note, "utf-8")


def sweep(parent: Path) -> None:
    """Remove what processes that are dead left in a folder; nothing that is not surely ours."""
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
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if _hold(lock):
            mark = os.read(lock, len(_MARK) + 1)
            if mark == _MARK or (not mark and CONTENT not in held):
                if {CONTENT, BESIDE} <= held:
                    _remove_beside(folder / BESIDE)
                shutil.rmtree(folder)
    finally:
        os.close(lock)


def _remove_beside(note: Path) -> None:
    """Remove the very folder that was given its name, though what belongs to it was not."""
    with suppress(OSError, ValueError):
        device, inode, path = note.read_text("utf-8").split(" ", 2)
        about = os.lstat(path)
        if (about.st_dev, about.st_ino, about.st_uid) == (int(device), int(inode), os.geteuid()):
            shutil.rmtree(path)


def create(path: Path, mode: int) -> int:
    """Make a new file; the system takes away from its mode what the umask says."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
