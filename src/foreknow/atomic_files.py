"""Write texts, files and folders whole or not at all: aside first, then renamed.

Aside is a folder of ours, with a lock that shows whether its process is alive. The system releases
a lock when its process dies, however that happens. So the next process that works in the same place
recognizes what a dead process left, and removes it. Without locks (Windows, some network disks) it
stays.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from foreknow.errors import OutputError
from foreknow_judge.files.temporary_folder import CONTENT, PREFIX, make_private

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Settle: TypeAlias = Mapping[str, Callable[[Path], None]]
_NO_NOTES: Settle = {}
LOCK, _NAME = "lock", re.compile(re.escape(PREFIX) + "[a-z0-9_]{8}")
_MARK = b"written aside by foreknow\n"
_LONG = 60  # seconds, after which a living process has put its lock into its folder

# What JSON begins with that only the owner may see, also where all that it says is "safe".
OWNERS_FILE = {"this_file_is": "for the owner only"}
BESIDE, UNFINISHED = "beside", ".unfinished"
_NONCE = re.compile(r"[0-9a-f]{32}")
_MOST_BYTES = 1 << 14
# What tables and pages are called, and no folder is.
_FILES = (".csv", ".parquet", ".xlsx", ".json", ".html", ".zip", ".tsv", ".txt")


def write_whole(path: str | Path, text: str, *, private: bool = False) -> None:
    """Write a text file; an existing one is replaced only by the complete new one.

    If it is `private`, only we can read it.
    """
    target = Path(path)
    with _clear_errors(target):
        if target.is_dir():
            raise OutputError(f"cannot write {str(path)!r}: Is a directory; nothing was written")
        # A pipe or a device cannot be replaced, so it is written to directly. Of a link, the file
        # that it leads to is replaced.
        piped = target.exists() and not target.is_file()
        target = target if piped else Path(os.path.realpath(target))
        if piped:
            with target.open("wb") as stream:
                stream.write(text.encode("utf-8", "backslashreplace"))
            return
        with _aside(target.parent) as complete:
            _fill(complete, text, 0o600 if private else 0o666)
            if target.exists() and not private:  # keep who may read it
                complete.chmod(stat.S_IMODE(target.stat().st_mode))
            complete.replace(target)


@contextmanager
def replaced(path: str | Path, *, private: bool = True) -> Iterator[Path]:
    """A context with a temporary path to write a file at; in the end it takes the place of `path`.

    If anything fails, `path` is as before. If it is private, only we can look in.
    """
    target = Path(path)
    with _clear_errors(target), _aside(Path(os.path.realpath(target)).parent) as complete:
        yield complete
        if private:
            complete.chmod(0o600)
        complete.replace(Path(os.path.realpath(target)))


def write_new(path: str | Path, text: str) -> None:
    """Write a text file that does not exist yet, whole or not at all; only we can look into it."""
    target = Path(path)
    with _clear_errors(target):
        if target.exists() or target.is_symlink():
            raise OutputError(f"{str(path)!r} exists already; name a new file, or remove it first")
        with _aside(target.absolute().parent) as complete:
            _fill(complete, text, 0o600)
            try:
                # A link fails if the name exists by now; to rename would replace that file.
                os.link(complete, target)
            except FileExistsError:
                raise OutputError(
                    f"{str(path)!r} appeared meanwhile; nothing was written"
                ) from None


def _fill(path: Path, text: str, mode: int) -> None:
    with os.fdopen(create(path, mode), "wb") as file:
        file.write(text.encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def whole_folders(path: str | Path, owner_path: str | Path) -> Iterator[tuple[Path, Path]]:
    """A context with two temporary folders to fill; both get their names at the end, or neither.

    The second is the owner's: only we can look into it.
    """
    target, own_target = Path(path), Path(owner_path)
    require_new(target, own_target)
    with _clear_errors(target), ExitStack() as stack:
        release_folder = stack.enter_context(_aside(target.absolute().parent))
        with _clear_errors(own_target):
            owner_folder = stack.enter_context(_aside(own_target.absolute().parent))
        release_folder.mkdir()
        # we must look into it, whatever the umask says
        release_folder.chmod(release_folder.stat().st_mode | 0o700)
        make_private(owner_folder)
        yield release_folder, owner_folder
        for file in owner_folder.rglob("*"):
            file.chmod(0o700 if file.is_dir() else 0o600)
        # On the disk before the folders get their names, so that no crash leaves empty files.
        for file in (*release_folder.rglob("*"), *owner_folder.rglob("*")):
            if file.is_file():
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
        name_both(release_folder.parent, (release_folder, target), (owner_folder, own_target))


def name_both(folder: Path, release: tuple[Path, Path], owner_folders: tuple[Path, Path]) -> None:
    """Give two folders their names: both or neither.

    `release` and `owner_folders` are pairs of where a folder is now and its name; the release lies
    in the scratch folder `folder`. The owner's folder is named first: if the process is killed in
    between, the next sweep finds a note in the scratch folder and removes it.
    """
    (release_folder, target), (owner_folder, own_target) = release, owner_folders
    try:
        note_beside(folder, release_folder, owner_folder, own_target)
        for folder_path in (target, own_target):
            if folder_path.exists() or folder_path.is_symlink():
                raise OutputError(f"{str(folder_path)!r} appeared meanwhile; nothing was written")
        owner_folder.rename(own_target)
        release_folder.rename(target)
    except BaseException:  # an interrupt, too
        if release_folder.exists() and not owner_folder.exists():  # only one got its name
            own_target.rename(owner_folder)
        raise
    finally:
        ((owner_folder if owner_folder.exists() else own_target) / UNFINISHED).unlink(
            missing_ok=True
        )


def note_beside(folder: Path, release_folder: Path, moved: Path, target: Path) -> None:
    """Note in `folder` that `moved` becomes `target` just before its `release_folder` is moved.

    If we die in between, `target` is removed. It is recognized by a nonce, which is written into it
    and into the note.
    """
    nonce = secrets.token_hex(16)  # a random text that nothing else has
    (moved / UNFINISHED).write_text(nonce, "utf-8")
    note = f"{nonce}\n{release_folder.relative_to(folder).as_posix()}\n{target.absolute()}"
    (folder / BESIDE).write_text(note, "utf-8")


def _settle_beside(folder: Path) -> None:
    """Remove a folder that got its name, if what belongs to it did not.

    An archive that somebody else packed can bring a note and its nonce, so these are not enough:
    the folder must lie beside ours, and everything in it must date from between our lock and the
    note, when it was filled. What was there before an archive was unpacked is older, and what came
    later is newer; a hard link to it, which an archive may bring, renews only its change time.
    """
    with suppress(OSError, ValueError):  # in any doubt, nothing is removed
        note, noted = _read_own(folder / BESIDE)  # its text, and when it was written
        nonce, release_name, path = note.split("\n", 2)
        target = Path(path)
        carried, _ = _read_own(target / UNFINISHED)
        if _NONCE.fullmatch(nonce) is None or carried != nonce or target.is_symlink():
            return
        if not target.is_absolute() or not target.parent.samefile(folder.parent):
            return
        if not (folder / release_name).exists():
            (target / UNFINISHED).unlink()  # both were moved
            return
        began = (folder / LOCK).lstat().st_ctime_ns
        stats = [entry.lstat() for entry in target.rglob("*")]
        times = [entry.st_mtime_ns for entry in stats] + [entry.st_ctime_ns for entry in stats]
        if all(began <= time <= noted for time in times):
            shutil.rmtree(target)


def _read_own(path: Path) -> tuple[str, int]:
    """The text of a small file of ours, and its change time in nanoseconds.

    A link, or a file of another user, raises an error; to open a pipe does not block.
    """
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise ValueError(f"{str(path)!r} is no file of ours")
        return os.read(file, _MOST_BYTES).decode("utf-8"), status.st_ctime_ns
    finally:
        os.close(file)


_NOTES = {BESIDE: _settle_beside}


def scratch_folder(parent: Path) -> tuple[Path, int]:
    """Make a private folder for one entry `CONTENT`, with a lock, after a sweep."""
    return locked_folder(parent, _NOTES)


@contextmanager
def _aside(parent: Path) -> Iterator[Path]:
    """A context with a path in a scratch folder in `parent`, which only we can look into.

    It lies on the same disk as the target, so that it can get the target's name in one step.
    """
    folder, lock = scratch_folder(parent)
    try:
        yield folder / CONTENT
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)
        os.close(lock)


def require_new(path: str | Path, owner_path: str | Path) -> None:
    """Raise `OutputError` unless both paths can be new folders: the release's and the owner's."""
    if os.path.realpath(path) == os.path.realpath(owner_path):
        raise OutputError(
            f"{str(path)!r} is to be published, and cannot be the owner's folder too; name another"
        )
    if str(path) == "-":
        raise OutputError("a release is a folder, which no pipe takes: name a new one, not '-'")
    ends = Path(path).suffix.lower()
    if ends in _FILES:
        name = Path(path).with_suffix("")
        table = ""
        if ends in (".csv", ".parquet"):
            table = f"; the table is then {str(name / f'release{ends}')!r}"
        raise OutputError(
            f"{str(path)!r} is a file, and a release is a folder, with its certificate: name it "
            f"{str(name)!r}{table}"
        )
    for folder_path in (Path(path), Path(owner_path)):
        try:
            str(folder_path).encode()
        except UnicodeEncodeError:
            raise OutputError(
                f"{str(folder_path)!r}: the name is not UTF-8; choose another"
            ) from None
        with _clear_errors(folder_path):
            os.stat(folder_path.absolute().parent)  # raises if the folder around it is missing
            sweep(folder_path.absolute().parent, _NOTES)  # a killed run may have left the name
            if folder_path.exists() or folder_path.is_symlink():
                raise OutputError(
                    f"{str(folder_path)!r} exists already; name a new folder, or remove it first"
                )


@contextmanager
def _clear_errors(target: Path) -> Iterator[None]:
    """A context that turns an `OSError` into an `OutputError` with the target and the reason."""
    try:
        yield
    except OSError as error:
        folder = str(target.absolute().parent)
        if not target.absolute().parent.exists():
            reason = f"the folder {folder!r} does not exist"
        else:
            reason = error.strerror or str(error)
        raise OutputError(f"cannot write {str(target)!r}: {reason}; nothing was written") from None


def as_json(table: dict[str, Any]) -> str:
    """JSON of plain values; labels of other types as they print."""
    finite_table = _finite(table)
    return (
        json.dumps(finite_table, indent=2, ensure_ascii=False, default=str, allow_nan=False) + "\n"
    )


def write_json_for_owner(path: str | Path, table: dict[str, Any]) -> None:
    """Write plain values as JSON that only the owner may read, and that says so."""
    write_whole(path, json_for_owner(table), private=True)


def json_for_owner(table: dict[str, Any]) -> str:
    """Plain values as JSON that says that it is for the owner only."""
    return as_json({**OWNERS_FILE, **table})


def _finite(value: Any) -> Any:
    """A value of JSON, with texts in place of NaN and infinity, which JSON lacks."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(_finite, value))
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


# ---- folders with locks --------------------------------------------------------------------------


def locked_folder(parent: Path, settle: Settle = _NO_NOTES) -> tuple[Path, int]:
    """Make a private folder for one entry `CONTENT`; return it and its lock, an open file.

    The lock says that the process lives: another process sweeps folders whose lock nobody holds.
    `settle` says how to treat notes that dead processes left.
    """
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
            is_locked = _hold(lock)
            # Another process may have swept the folder before it was locked: then try again.
            if is_locked and (folder / LOCK).exists():
                (folder / LOCK).chmod(0o600)
                os.write(lock, _MARK)
                return folder, lock
            if is_locked is None:  # no locks here: without our mark nobody sweeps it
                return folder, lock
        except BaseException:
            os.close(lock)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        os.close(lock)


def _hold(lock: int) -> bool | None:
    """Take a lock on an open file: True if we have it, False if somebody else does.

    None if the system, or this disk, has no locks.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def sweep(parent: Path, settle: Settle = _NO_NOTES) -> None:
    """Remove scratch folders that dead processes left in `parent`, if they are surely ours.

    A folder of theirs may hold notes, too: `settle` has, by the name of a note, what to do about
    the folder before it is removed. A folder with any other file stays.
    """
    if fcntl is None:  # without locks nobody can say that a process is dead
        return
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _sweep_one(Path(entry.path), settle)


def _sweep_one(folder: Path, settle: Settle) -> None:
    """Remove a scratch folder that a process left behind; one that is in use is locked.

    It must have the form that we give to such folders: private, with a lock and our mark in it.
    """
    status = folder.lstat()
    if status.st_mode & 0o777 != 0o700 or status.st_uid != os.geteuid():
        return
    entries = {path.name for path in folder.iterdir()}
    if not entries and time.time() - status.st_mtime > _LONG:  # killed before it made its lock
        folder.rmdir()
    if LOCK not in entries or entries - {LOCK, CONTENT, *settle}:
        return
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(lock).st_mode) and _hold(lock):
            mark = os.read(lock, len(_MARK) + 1)
            # Our mark; or none yet, and nothing was written.
            if mark == _MARK or (not mark and CONTENT not in entries):
                for note in entries & settle.keys():
                    settle[note](folder)
                shutil.rmtree(folder)
    finally:
        os.close(lock)


def create(path: Path, mode: int) -> int:
    """Create a new file; the umask restricts its mode."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
