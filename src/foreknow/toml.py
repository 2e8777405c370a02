"""TOML: policy files, bounded before they are parsed, and values as they are written there."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from foreknow.numbers import decimal_text
from foreknow_judge.errors import InputError
from foreknow_judge.files.documents import decode_utf8, read_bytes, refuse_deep, refuse_texts
from foreknow_judge.numbers import MOST_DIGITS

_MOST_KEY_PARTS = 16
_TOML_TEXT = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*+(?:"{3,5})?'
    r"|'''(?:[^']|'{1,2}(?!'))*+(?:'{3,5})?"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+",
    re.DOTALL,
)
_BETWEEN_KEYS = re.compile(r"[=\[\]{},\n]")
_LONG_WORD = re.compile(rf"[^\s=\[\]{{}},]{{{2 * MOST_DIGITS}}}")


def from_toml(text: str, number: Callable[[str], Any] = Decimal) -> dict[str, Any]:
    """Parse TOML; `number` reads numbers with a point or an exponent.

    Refused before it is parsed is a text that would take very long, or overflow the parser.
    """
    bare = _TOML_TEXT.sub("s", text)  # without its texts, in which anything may stand
    refuse_deep(bare)
    if any(key.count(".") >= _MOST_KEY_PARTS for key in _BETWEEN_KEYS.split(bare)):
        raise ValueError(f"a key has more than {_MOST_KEY_PARTS} parts")
    if _LONG_WORD.search(bare):
        raise ValueError(f"a key or number has more than {2 * MOST_DIGITS:,} characters")
    try:
        table = tomllib.loads(text, parse_float=number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        # Python's own words on whole numbers that are too long tell how to allow them.
        message = (
            "a whole number has too many digits" if "int_max_str" in str(error) else str(error)
        )
        raise ValueError(message) from None
    refuse_texts(table)
    return table


def read_text(path: Path, max_bytes: int, kind: type[InputError], what: str) -> str:
    """Read a UTF-8 text of at most so many bytes, with or without a byte order mark."""
    return decode_utf8(read_bytes(path, max_bytes, kind, what), kind, what)


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: Any) -> str:
    r"""Write a value in one line of TOML; a fraction as a decimal, or a text such as "1/3".

    >>> toml_value({"l": 1, "k": [Fraction(1, 4), Fraction(1, 3)], "a b": "x\n"})
    '{ l = 1, k = [0.25, "1/3"], "a b" = "x\\n" }'
    """
    if isinstance(value, bool):  # before int, since True is one
        return str(value).lower()
    if isinstance(value, Fraction):
        # How many decimals the fraction needs; None if no few are enough.
        digits = next((n for n in range(13) if not 10**n % value.denominator), None)
        if digits is None:
            return f'"{value}"'
        return decimal_text(int(value * 10**digits), digits)
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{toml_key(key)} = {toml_value(x)}" for key, x in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    return _toml_text(str(value))


def toml_key(key: str) -> str:
    """Write a key of TOML: bare where it can be.

    >>> toml_key("zip"), toml_key("zip code")
    ('zip', '"zip code"')
    """
    return key if _BARE_KEY.fullmatch(key) else _toml_text(key)


def _toml_text(text: str) -> str:
    """A text of JSON is one of TOML, too; what nobody would see in it is escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    chars = []
    for char in quoted:
        chars.append(char if char.isprintable() else f"\\U{ord(char):08x}")
    return "".join(chars)
