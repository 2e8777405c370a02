"""Write texts, files and folders whole or not at all: aside first, then renamed."""

from __future__ import annotations

import json
import math
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from foreknow.errors import OutputError


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file; an existing one is replaced only by the complete new one.

    A link is followed. What is no file, such as a pipe or a terminal, is written to as it is.

    Raises
    ------
    OutputError
        If it cannot be written; nothing is left behind then.
    """
    target = Path(path)
    with _clear_errors(target):
        target = Path(os.path.realpath(target))
        if target.is_dir():
            raise OutputError(f"cannot write {str(path)!r}: Is a directory; nothing was written")
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                stream.write(text.encode("utf-8", "backslashreplace"))
            return
        handle, aside = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace"))
                file.flush()
                os.fsync(file.fileno())
            Path(aside).chmod(_mode(target))
            Path(aside).replace(target)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Fill a new folder aside; it gets its name when the block ends well, else it is removed.

    Raises
    ------
    OutputError
        If the folder exists already or cannot be written.
    """
    target = Path(path)
    with _clear_errors(target):
        require_new(target)
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.absolute().parent))
        try:
            yield aside
            for file in aside.iterdir():
                with file.open("rb") as written:
                    os.fsync(written.fileno())
            aside.chmod(0o777 & ~_umask())
            if target.exists():
                raise OutputError(f"{str(target)!r} appeared meanwhile; nothing was written")
            aside.rename(target)
        except BaseException:
            with suppress(OSError):
                shutil.rmtree(aside)
            raise


def require_new(path: str | Path) -> None:
    """Raise `OutputError` if something of that name exists."""
    if Path(path).exists() or Path(path).is_symlink():
        raise OutputError(f"{str(path)!r} exists already; name a new folder, or remove it first")


@contextmanager
def _clear_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        folder = str(target.absolute().parent)
        if not target.absolute().parent.exists():
            reason = f"the folder {folder!r} does not exist"
        else:
            reason = error.strerror or str(error)
        raise OutputError(f"cannot write {str(target)!r}: {reason}; nothing was written") from None


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced, or those of a new one."""
    return stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def as_json(table: dict[str, Any]) -> str:
    """JSON of plain values; labels of other types as they print."""
    plain = _finite(table)
    return json.dumps(plain, indent=2, ensure_ascii=False, default=str, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Write NaN and infinity, which JSON lacks, as texts."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
