"""One family of exceptions; each message says what is wrong and what would be right.

`InputError` and its kin are a user's mistakes: the command line prints them in one line and
exits with 2. `NoSafeRelease` and `NotSettled` are answers, not mistakes (exit 1).
`NotEnoughMemory` is neither a mistake nor a verdict (exit 2). `InternalError` is our own bug.
"""

from __future__ import annotations

import difflib
import errno
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from foreknow_judge.messages import MESSAGES

# How much of a long text is shown before and after a caret.
_BESIDE = 60

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

    Raised with a code of `MESSAGES` and its fields (the first by its place, others by their
    names), or with a sentence of one's own.

    Attributes
    ----------
    code : str
        The kind of mistake, such as ``"unknown-column"``; that of the class for a sentence of
        one's own. Combinations that are refused are listed in ``docs/reference/support.md``.
    title : str
        The same in words.
    fields : dict
        What the sentence is about, such as `column`, `file`, `key` and `value`.
    """

    code = "error"

    def __init__(self, *args: Any, code: str | None = None, **fields: Any) -> None:
        if args and args[0] in MESSAGES:
            code, *subject = args
            message = MESSAGES[code]
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

    @classmethod
    def unknown_column(cls, name: str, known: Iterable[str], where: str = "the table") -> Self:
        """The error for a column that does not exist; it suggests the nearest name."""
        hint = did_you_mean(name, map(str, known))
        return cls("unknown-column", where, column=name, hint=hint)


class DataError(InputError):
    """A table, file or column is missing, malformed or inconsistent."""

    code = "data"


class SchemaError(InputError):
    """Roles of columns contradict each other or the table."""

    code = "schema"


class HierarchyError(InputError):
    """A hierarchy is malformed, or a value lies outside it."""

    code = "hierarchy"


class PolicyError(InputError):
    """A policy file or requirement is invalid or contradictory."""

    code = "policy"


class OutputError(InputError):
    """The place to write to cannot be used; nothing was written there."""

    code = "output"


class CertificateError(InputError):
    """A certificate cannot be read, or does not describe the given release."""

    code = "certificate"


class UnsupportedError(InputError):
    """A well-formed combination that this version does not support."""

    code = "unsupported"


class CallError(InputError, TypeError):
    """A function has no such parameter, or lacks one."""

    code = "call"


class StatementError(InputError):
    """A statement cannot be read, or names someone or something that is not in the release.

    `said` is the message without the caret, which points to `position` of `text`, if given.
    """

    code = "statement"

    def __init__(self, said: str, text: str | None = None, position: int | None = None) -> None:
        self.said, self.text, self.position = said, text, position
        if text is not None and position is not None:
            said += _pointing(text, position)
        super().__init__(said)

    def placed(self, where: str) -> StatementError:
        """The same error, with `where` in front of its message."""
        return StatementError(f"{where}: {self.said}", self.text, self.position)


class ContradictionError(StatementError):
    """No world satisfies the statements; those at positions `together` contradict each other."""

    code = "contradiction"

    def __init__(self, message: str, together: tuple[int, ...] = ()) -> None:
        self.together = together
        super().__init__(message)


class NoSafeRelease(ForeknowError):
    """Not even one group of everybody is safe; the message says which requirement fails.

    Attributes
    ----------
    said : str
        The message without the way out.
    way_out : tuple of str
        What to change, line by line; lines that begin with two blanks can be pasted into a policy.
    """

    code = "no-safe-release"

    def __init__(self, said: str, way_out: Iterable[str] = ()) -> None:
        self.said, self.way_out = said, tuple(way_out)
        super().__init__("\n".join([said, *self.way_out]))


class NotSettled(ForeknowError):
    """Groups of several releases overlap in a way that allows no joint verdict on them.

    This is an answer, not a mistake: neither safe nor unsafe.
    """

    code = "not-settled"


class NotEnoughMemory(ForeknowError, MemoryError):
    """The machine, or a limit on the process, has too little memory; no verdict was reached."""

    code = "memory"

    def __init__(self, needed_for: str) -> None:
        super().__init__("not-enough-memory", needed_for)


class InternalError(ForeknowError):
    """An invariant of Foreknow itself is broken; please report it (exit 3)."""

    code = "internal"

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}. This is probably a bug in Foreknow; please report it.")


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


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest known name, or all of them when they are few.

    >>> did_you_mean("diseas", ["disease", "age"])
    "; did you mean 'disease'?"
    """
    options = list(known)
    lower = {option.lower(): option for option in options}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    near = near or [each for each in lower if name.lower() == _initials(each)]
    if near:
        return f"; did you mean {lower[near[0]]!r}?"
    if not options:
        return ""
    shown = ", ".join(repr(o) for o in options[:8])
    return f"; known: {shown}" + (", ..." if len(options) > 8 else "")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to `name`, or None.

    >>> nearest("Z12", ["B20", "Z21"]), nearest("flu", ["B20", "Z21"])
    ('Z21', None)
    """
    lower = {option.lower(): option for option in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    return lower[near[0]] if near else None


def _initials(name: str) -> str:
    return "".join(word[:1] for word in name.split("_") if "_" in name)


def _pointing(text: str, position: int) -> str:
    """The line of a text that contains a position, with a caret below it."""
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].split("\n")[0]
    at = position - start
    first = max(0, at - _BESIDE)
    shown = "".join(char if char.isprintable() else " " for char in line[first : at + _BESIDE])
    width = sum(map(_cells, shown[: at - first]))
    return f"\n  {shown}\n  {' ' * width}^"


def _cells(char: str) -> int:
    """How many columns of a terminal a character takes."""
    return 0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
