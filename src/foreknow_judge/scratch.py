"""Scratch: temporary folders of ours, with a lock that shows whether their process is alive.

The system releases a lock when its process dies, however that happens. So the next process that
works in the same place recognizes what a dead process left, and removes it. Without locks (Windows,
some network disks) it stays.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Settle: TypeAlias = Mapping[str, Callable[[Path], None]]
_NO_NOTES: Settle = {}
PREFIX, _NAME = ".foreknow-", re.compile(r"\.foreknow-[a-z0-9_]{8}")
LOCK, CONTENT = "lock", "whole"
_MARK = b"written aside by foreknow\n"
_LONG = 60  # seconds, after which a living process has put its lock into its folder


def scratch_folder(parent: Path, settle: Settle = _NO_NOTES) -> tuple[Path, int]:
    """Make a private folder for one entry `CONTENT`, with a lock, after a `sweep`."""
    sweep(parent, settle)
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


def sweep(parent: Path, settle: Settle = _NO_NOTES) -> None:
    """Remove what dead processes left in a folder, if it is surely ours.

    A folder of theirs may hold notes, too: `settle` has, by the name of a note, what to do about
    the folder before it is removed. A folder with any other file stays.
    """
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _sweep_one(Path(entry.path), settle)


def _sweep_one(folder: Path, settle: Settle) -> None:
    about = folder.lstat()
    if about.st_mode & 0o777 != 0o700 or about.st_uid != os.geteuid():
        return
    held = {path.name for path in folder.iterdir()}
    if not held and time.time() - about.st_mtime > _LONG:
        folder.rmdir()
    if LOCK not in held or held - {LOCK, CONTENT, *settle}:
        return
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(lock).st_mode) and _hold(lock):
            mark = os.read(lock, len(_MARK) + 1)
            if mark == _MARK or (not mark and CONTENT not in held):
                for note in held & settle.keys():
                    settle[note](folder)
                shutil.rmtree(folder)
    finally:
        os.close(lock)


def create(path: Path, mode: int) -> int:
    """Create a new file; the umask restricts its mode."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
