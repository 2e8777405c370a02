"""One family of exceptions; each message says what is wrong and what would be right.

`InputError` and its kin are a user's mistakes: the command line prints them in one line and
exits with 2. `NotEnoughMemory` is neither a mistake nor a verdict (exit 2).
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from foreknow_judge.messages import MESSAGES

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
    """The base class of every error that Foreknow raises on purpose.

    It is raised with a code of `MESSAGES` and its fields (the first by position, others by name),
    or with a sentence.

    Attributes
    ----------
    code : str
        The kind of mistake, such as ``"unknown-column"``; for a sentence, the code of the class.
        Combinations that are refused are listed in ``docs/reference/support.md``.
    title : str
        The kind of mistake, in words.
    fields : dict
        What the message is about, such as `column`, `file`, `key` and `value`.
    """

    code = "error"

    def __init__(self, *args: Any, code: str | None = None, **fields: Any) -> None:
        # The first argument is a code of `MESSAGES`, which has a template, or else a sentence.
        if args and args[0] in MESSAGES:
            code, *subject = args
            message = MESSAGES[code]
            # The first field of the template is given by position, the others by name.
            fields = dict(zip(message.subject, subject, strict=True)) | fields
            args = (message.filled(fields),)
        self.fields = fields
        super().__init__(*args)
        self.code = code or self.code

    @property
    def title(self) -> str:
        """The kind of mistake, in words."""
        return MESSAGES[self.code].title if self.code in MESSAGES else self.code

    def __reduce__(self) -> Any:
        return type(self), self.args, {**vars(self), "args": self.args}


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
        super().__init__("not-enough-memory", needed_for)


class Problem(str):
    """A sentence on what is wrong with a release, with a code of `MESSAGES`."""

    code: str

    @classmethod
    def each(cls, code: str, sentences: Iterable[str]) -> Iterator[Problem]:
        """Give sentences a code, but for those that have one."""
        for sentence in sentences:
            problem = cls(sentence)
            problem.code = getattr(sentence, "code", code)
            yield problem


def short_of_memory(error: BaseException) -> bool:
    """True if an error of Python or of an engine, such as DuckDB, means out of memory."""
    # DuckDB's exception is known by its name, so that DuckDB need not be imported here.
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    # A message of Foreknow may quote a value of the data, such as "out of memory".
    if isinstance(error, ForeknowError):
        return False
    # Engines and the linker raise errors of other types, which only their messages tell.
    message = str(error).lower()
    return any(phrase in message for phrase in _NO_MEMORY)


@contextmanager
def memory_for(what: str) -> Iterator[None]:
    """A context, or a decorator, that turns every out-of-memory error into `NotEnoughMemory`.

    `what` needs the memory: words for the message, such as "judging the release".
    """
    try:
        yield
    except NotEnoughMemory:
        raise
    except Exception as error:
        if short_of_memory(error):
            raise NotEnoughMemory(what) from error
        raise


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that is most similar to `name`, whatever the case; None if none is similar.

    >>> nearest("Z12", ["B20", "Z21"]), nearest("flu", ["B20", "Z21"])
    ('Z21', None)
    """
    lower = {option.lower(): option for option in names}
    matches = difflib.get_close_matches(name.lower(), lower, n=1)
    return lower[matches[0]] if matches else None
