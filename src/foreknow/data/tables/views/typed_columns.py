"""Typed: columns of texts that are all numbers, or all dates, as these."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

# As a Table Schema names them.
Type: TypeAlias = Literal["integer", "number", "date", "string"]

# Digits after a leading 0 are a code. More than 18 do not fit into 64 bits.
_TYPES: tuple[tuple[Type, str], ...] = (
    ("integer", r"^[-+]?(0|[1-9][0-9]{0,17})$"),
    (
        "number",
        r"^[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?([0-9]{1,2}|[12][0-9]{2}))?$",
    ),
    ("date", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
)
_ARROW = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32()}


def type_of(texts: pa.Array) -> Type:
    """The type that any program reads in all of the texts; "string" if there are none.

    >>> type_of(pa.array(["1", "-20", None])), type_of(pa.array(["01", "2"]))
    ('integer', 'string')
    """
    if texts.null_count == len(texts):
        return "string"
    # From narrow to wide: the first type that fits all texts.
    for kind, pattern in _TYPES:
        if pc.all(pc.match_substring_regex(texts, pattern)).as_py():
            return "string" if kind == "date" and not _are_days(texts) else kind
    return "string"


def read_as(texts: Iterable[str | None]) -> Type:
    """The type of some texts."""
    return type_of(pa.array(texts, pa.string()))


def typed(texts: pa.Array) -> pa.Array:
    """A column of texts as what all of them are."""
    kind = type_of(texts)
    if kind == "string":
        return texts
    if kind != "date":
        texts = pc.replace_substring_regex(texts, r"^\+", "")
    return texts.cast(_ARROW[kind])


def _are_days(texts: pa.Array) -> bool:
    """True if all texts, which look like 2024-01-31, are days of the calendar."""
    try:
        return bool([date.fromisoformat(text) for text in pc.unique(texts.drop_null()).to_pylist()])
    except ValueError:
        return False
