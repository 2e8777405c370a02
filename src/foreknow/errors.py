"""Errors that the judge never raises: of calls, schemas, statements, and places to write to.

`NoSafeRelease` and `NotSettled` are answers, not mistakes (exit 1); `InternalError` is our own bug.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any

from foreknow_judge.errors import (
    DataError,
    ForeknowError,
    InputError,
    PolicyError,
    UnsupportedError,
)

# How much of a long text is shown before and after a caret.
_BESIDE = 60
# How many names are listed.
_LISTED = 8


class SchemaError(InputError):
    """Roles of columns contradict each other or the table."""

    code = "schema"


class HierarchyError(InputError):
    """A hierarchy is malformed, or a value lies outside it."""

    code = "hierarchy"


class OutputError(InputError):
    """The place to write to cannot be used; nothing was written there."""

    code = "output"


class CallError(InputError, TypeError):
    """A function has no such parameter, or lacks one."""

    code = "call"


class StatementError(InputError):
    """A statement cannot be read, or names someone or something that is not in the release.

    `said` is the message without the caret, which points to `position` of `text`, if given.
    """

    code = "statement"

    def __init__(self, message: str, text: str | None = None, position: int | None = None) -> None:
        self.said, self.text, self.position = message, text, position
        if text is not None and position is not None:
            message += _pointing(text, position)
        super().__init__(message)

    def placed(self, where: str) -> StatementError:
        """The same error, with `where` in front of its message."""
        return StatementError(f"{where}: {self.said}", self.text, self.position)


class ContradictionError(StatementError):
    """No world satisfies the statements; those at positions `together` contradict each other."""

    code = "contradiction"

    def __init__(self, message: str, statements: tuple[int, ...] = ()) -> None:
        self.together = statements
        super().__init__(message)


class NoSafeRelease(ForeknowError):
    """Even one group of everybody is unsafe; the message says which requirement fails.

    Attributes
    ----------
    said : str
        The message without the way out.
    way_out : tuple of str
        Lines that say what to change; those that begin with two blanks can be pasted into a policy.
    """

    code = "no-safe-release"

    def __init__(self, problem: str, way_out: Iterable[str] = ()) -> None:
        self.said, self.way_out = problem, tuple(way_out)
        super().__init__("\n".join([problem, *self.way_out]))


class NotSettled(ForeknowError):
    """Groups of several releases overlap in a way that allows no joint verdict on them.

    This is a result, not a mistake: the releases are neither known to be safe nor to be unsafe.
    """

    code = "not-settled"


class InternalError(ForeknowError):
    """An invariant of Foreknow itself is broken; please report it (exit 3)."""

    code = "internal"

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}. This is probably a bug in Foreknow; please report it.")


def _pointing(text: str, position: int) -> str:
    """The line of a text that contains a position, with a caret below the position.

    A long line is cut on both sides.
    """
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].split("\n")[0]
    offset = position - start
    first = max(0, offset - _BESIDE)
    chars = line[first : offset + _BESIDE]
    excerpt = "".join([char if char.isprintable() else " " for char in chars])
    width = sum(map(_cells, excerpt[: offset - first]))  # some characters are two columns wide
    return f"\n  {excerpt}\n  {' ' * width}^"


def _cells(char: str) -> int:
    """How many columns of a terminal a character takes."""
    return 0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")


def unknown_column(
    name: str, names: Iterable[str], where: str = "the table", key: str | None = None
) -> DataError:
    """The error for a column that does not exist; it suggests the nearest name.

    Where a `key` of a policy names it, it says so, and lists the columns that there are.
    """
    columns = list(map(str, names))
    hint = did_you_mean(name, columns)
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and {*parts} <= {*columns}:
        hint = f"; several columns are a list: {parts!r};"
    if key is not None:
        hint = hint if "known: " in hint else f"{hint} known: {listing(columns)}"
        hint = f"{hint}; {key} names it"
    return DataError(f"{where} has no column {name!r}{hint}")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint that names the nearest known name, or all of them when they are few.

    >>> did_you_mean("diseas", ["disease", "age"])
    "; did you mean 'disease'?"
    """
    options = list(names)
    lower = {option.lower(): option for option in options}
    matches = difflib.get_close_matches(name.lower(), lower, n=1)
    # "qi" may stand for "quasi_identifiers".
    matches = matches or [option for option in lower if name.lower() == _initials(option)]
    if matches:
        return f"; did you mean {lower[matches[0]]!r}?"
    if not options:
        return ""
    return f"; known: {listing(options)}"


def listing(names: Sequence[str]) -> str:
    """Some names in quotes, eight at most.

    >>> listing(["age", "sex"]), listing([*"abcdefghi"])[-8:]
    ("'age', 'sex'", "'h', ...")
    """
    return ", ".join(map(repr, names[:_LISTED])) + (", ..." if len(names) > _LISTED else "")


def refuse_other(
    what: str, choice: Any, choices: Collection[str], error: type[ForeknowError] = InputError
) -> None:
    """Raise an error if a choice is none of `choices`; `what` begins the message.

    The message names the choice that is nearest. `error` is the class of the error.

    >>> refuse_other("engine is", "memory", ["auto", "memory"])
    """
    if choice not in choices:
        raise error(f"{what} {choice!r}{did_you_mean(str(choice), choices)}")


def refuse_first(
    subject: str, faults: Mapping[str, Any], error: type[InputError] = PolicyError
) -> None:
    """Raise an error for the first of some faults, by its message, that there is."""
    for message in compress(faults, faults.values()):
        raise error(f"{subject}: {message}")


def refuse_other_type(
    value: Any,
    kinds: type | tuple[type, ...],
    what: str,
    way: str = "",
    error: type[ForeknowError] = InputError,
) -> None:
    """Raise an error if a value is of another type than `kinds`.

    `what` says in the message what is expected, and `way` ends it.

    >>> refuse_other_type("out", str, "a folder")
    """
    if not isinstance(value, kinds):
        raise error(f"expected {what}, not {type(value).__name__}{way}")


def _initials(name: str) -> str:
    return "".join(part[:1] for part in name.split("_") if "_" in name)


class BeyondReach(NoSafeRelease, UnsupportedError):
    """Exact counting would take more steps than allowed, so nothing is released."""
