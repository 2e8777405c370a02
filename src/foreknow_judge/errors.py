"""One family of exceptions; each message says what is wrong and what would be right.

`InputError` and its kin are a user's mistakes: the command line prints them in one line and
exits with 2. `NotEnoughMemory` is neither a mistake nor a verdict (exit 2).
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

# Messages of engines and the linker that mean out of memory, if the type of the error does not.
_NO_MEMORY = (
    "bad_alloc",
    "bad allocation",
    "cannot allocate memory",
    "failed to allocate",
    "failed to map segment",
    "failed to launch worker thread",
    "can't start new thread",
    "out of memory",
    "partially initialized module 'pandas'",  # PyArrow's import of it broke off
)


class ForeknowError(Exception):
    """Root of everything that Foreknow raises on purpose.

    `code` names the kind of error; that of a combination which is refused is listed in
    ``docs/reference/support.md``.
    """

    code = "error"

    def __init__(self, *args: object, code: str | None = None) -> None:
        super().__init__(*args)
        if code is not None:
            self.code = code


class InputError(ForeknowError, ValueError):
    """Something that the caller gave cannot be used; the message names it."""

    code = "input"


class DataError(InputError):
    """A table, file or column is missing, malformed or inconsistent."""

    code = "data"


class PolicyError(InputError):
    """A policy file or requirement is invalid or contradictory."""

    code = "policy"


class CertificateError(InputError):
    """A certificate cannot be read, or does not describe the given release."""

    code = "certificate"


class UnsupportedError(InputError):
    """A well-formed combination that this version does not support."""

    code = "unsupported"


class NotEnoughMemory(ForeknowError, MemoryError):
    """The machine, or a limit on the process, has too little memory; no verdict was reached."""

    code = "memory"

    def __init__(self, needed_for: str) -> None:
        super().__init__(
            f"not enough memory for {needed_for}; use a machine with more, raise the limit on this "
            "process if it has one (ulimit -v, --memory), or give fewer columns or rows, Parquet "
            "rather than CSV"
        )


def short_of_memory(error: BaseException) -> bool:
    """True if an error of Python or of an engine means out of memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    if isinstance(error, ForeknowError):  # its message may quote data
        return False
    said = str(error).lower()
    return any(words in said for words in _NO_MEMORY)


@contextmanager
def memory_for(what: str) -> Iterator[None]:
    """Turn every out-of-memory error into `NotEnoughMemory`; also a decorator."""
    try:
        yield
    except NotEnoughMemory:
        raise
    except Exception as error:
        if short_of_memory(error):
            raise NotEnoughMemory(what) from error
        raise


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to `name`, or None.

    >>> nearest("Z12", ["B20", "Z21"]), nearest("flu", ["B20", "Z21"])
    ('Z21', None)
    """
    lower = {option.lower(): option for option in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    return lower[near[0]] if near else None
