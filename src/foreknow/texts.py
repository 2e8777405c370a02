"""Texts: small files that people write, such as hierarchies, read whole and never without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from foreknow.errors import InputError

# Where the system shows a process what it has open: pipes of the shell, such as <(command).
_OPEN_ALREADY = ("/proc/", "/dev/")


def read_text(path: Path, most: int, kind: type[InputError], what: str) -> str:
    """Read a UTF-8 text of at most so many bytes, with or without a byte order mark.

    Parameters
    ----------
    path : Path
        A file, a device, or a pipe that is open already; a named pipe, which may never end, is
        refused.
    most : int
        Bytes.
    kind : type
        Of the error.
    what : str
        How messages begin, such as ``"hierarchy file 'age.csv'"``.

    Raises
    ------
    InputError
        Of that kind, if there is no such file, or it cannot be read, is larger, or is no UTF-8.
    """
    try:
        pipe = stat.S_ISFIFO(path.stat().st_mode)
        if pipe and not os.path.realpath(path).startswith(_OPEN_ALREADY):
            raise kind(f"{what} cannot be read: it is a named pipe; give a file")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        raise kind(f"{what} does not exist") from None
    except kind:
        raise
    except (OSError, ValueError) as error:  # of a path that no system takes
        reason = getattr(error, "strerror", None) or error
        raise kind(f"{what} cannot be read: {reason}") from None
    if len(content) > most:
        raise kind(f"{what} is larger than {most >> 20} MB, more than such a file can need")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise kind(f"{what}, line {line}: not UTF-8; save the file as UTF-8") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise kind(f"{what}, line {line}: a null character; is it a text file?")
    return text
