"""Documents: untrusted JSON and TOML, bounded before they are parsed.

Refused are: nesting, texts, keys and numbers beyond what our documents need; a key that is given
twice; lone surrogates (half a character).
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foreknow_judge.errors import InputError
from foreknow_judge.numbers import MOST_DIGITS, is_long

MOST_DEPTH = 32
MOST_TEXT = 100_000

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^\[\]{}]+")
_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def from_json(text: str, longest: int = MOST_TEXT) -> Any:
    """Parse JSON; refuse deep nesting, repeated keys, and texts longer than `longest` in it."""
    # Before it is parsed, since deep nesting overflows the parser. Brackets in texts do not count.
    refuse_deep(_STRING.sub("", text))
    table = json.loads(
        text,
        object_pairs_hook=_each_once,
        parse_constant=_refuse_constant,
        parse_int=_parse_whole,
        parse_float=_finite,
    )
    # In a short document no text can be too long; without this escape none has half a character.
    if len(text) > longest or _LONE_SURROGATE.search(text):
        refuse_texts(table, longest)
    return table


def refuse_deep(bare: str) -> None:
    """Refuse deep nesting; `bare` is a document without its texts, which may hold brackets."""
    depth = 0
    for bracket in _NO_BRACKETS.sub("", bare):
        depth += 1 if bracket in "[{" else -1
        if depth > MOST_DEPTH:
            raise ValueError(f"it is nested more than {MOST_DEPTH} levels deep")


def refuse_texts(table: Any, longest: int = MOST_TEXT) -> None:
    """Raise an error for texts or keys that are long or cannot be written, and for large numbers.

    `table` is a value of JSON, such as nested tables and lists.
    """
    for value in _keys_and_values(table):
        if isinstance(value, str):
            if len(value) > longest:
                raise ValueError(f"a text has more than {longest:,} characters")
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError("a text holds half a character (a lone surrogate)") from None
        elif isinstance(value, int) and is_long(value):
            raise ValueError(f"a whole number has more than {MOST_DIGITS:,} digits")


def _keys_and_values(table: Any) -> Iterator[Any]:
    """Yield every key and every value of nested tables and lists, but not these themselves."""
    waiting = [table]  # a list instead of recursion, which has a limit of depth
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        else:
            yield value


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise ValueError(f"the key {twice!r} is given twice")
    return table


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _parse_whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number has {len(text):,} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError(f"{text[:40]} is too large")
    return number


# Where a process finds the files that it has open: pipes of the shell, such as <(command).
_OPEN_ALREADY = ("/proc/", "/dev/fd/")


def is_named_pipe(path: Path) -> bool:
    """True if a path is a pipe that a reader may wait for without an end; a shell's is none."""
    pipe = stat.S_ISFIFO(path.stat().st_mode)
    return pipe and not os.path.realpath(path).startswith(_OPEN_ALREADY)


def read_bytes(path: Path, limit: int, kind: type[InputError], what: str) -> bytes:
    """The bytes of a file; refuse one of more than `limit` bytes.

    Errors are of class `kind`; `what` names the file in their messages.
    """
    try:
        if is_named_pipe(path):  # to open it would wait for somebody who writes
            raise kind("not-a-file", what)
        with path.open("rb") as file:
            content = file.read(limit + 1)  # one more, to see that there is more
    except FileNotFoundError:
        raise kind("no-file", what) from None
    except kind:
        raise
    except (OSError, ValueError) as error:  # a path that the system does not accept
        reason = getattr(error, "strerror", None) or error
        raise kind("unreadable-file", what, problem=reason) from None
    if len(content) > limit:
        raise kind("large-file", what)
    return content


def decode_utf8(content: bytes, kind: type[InputError], what: str) -> str:
    """Decode a UTF-8 text, with or without a byte order mark; refuse null characters.

    Errors are of class `kind`; `what` names the text in their messages.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise kind("not-utf-8", what, place=f"line {line}") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise kind("null-character", what, line=line)
    return text
