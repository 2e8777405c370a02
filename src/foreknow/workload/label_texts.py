"""Reading published labels back: which part of an attribute's line a text stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from foreknow.errors import DataError, InternalError
from foreknow.labelling import Style, Wording, exact_labels, spans_of_nodes
from foreknow.microdata import Attribute
from foreknow.sparse import IntArray
from foreknow.workload.covers import Covers
from foreknow.workload.lines import Line, Stretches

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
# How `foreknow.labelling` tells nodes of one label apart.
_LEVEL = re.compile(r" \(level \d+\)\+*$")
_Reader: TypeAlias = Callable[[str], Stretches | None]


def codes_of_texts(attribute: Attribute, texts: Iterable[Any]) -> IntArray:
    """The code of each exact value that was published; None is a null.

    Raises
    ------
    DataError
        If the attribute has no such value.
    """
    known = _exact(attribute)
    found = []
    for text in texts:
        code = known.get(None if text is None else str(text))
        if code is None:
            raise DataError(f"column {attribute.name!r}: the original table has no {text!r} in it")
        found.append(code)
    return np.array(found, dtype=np.int64)


def covers_of_texts(attribute: Attribute, line: Line, texts: Iterable[Any], style: Style) -> Covers:
    """What the published label of each group covers.

    Parameters
    ----------
    attribute : Attribute
    line : Line
        That of the attribute.
    texts : iterable of str or None
    style : "range", "hierarchy" or "set"

    Raises
    ------
    DataError
        If a label cannot be read.
    """
    read = _READERS[style](attribute, line)
    exact = _exact(attribute)
    seen: dict[Any, Stretches] = {}

    def meaning(text: Any) -> Stretches:
        if text is not None and not isinstance(text, str):
            text = str(text)
        if text in exact:
            return (_between(line, exact[text], exact[text]),)
        if text is None:
            raise DataError(
                f"column {attribute.name!r}: a label is missing, but no value of the table is"
            )
        found = read(text)
        if found is None:
            raise DataError(
                f"column {attribute.name!r}: the label {text!r} cannot be read as a {style}"
            )
        return found

    labels = []
    for text in texts:
        if text not in seen:
            seen[text] = meaning(text)
        labels.append(seen[text])
    return Covers.of(line, labels)


def _between(line: Line, low: int, high: int) -> tuple[int, int]:
    """From a value to another, by their codes."""
    return int(line.cells[low]), int(line.cells[high]) + 1


def _exact(attribute: Attribute) -> dict[str | None, int]:
    """The code of each value by how it is published."""
    texts = exact_labels(attribute)
    known = {text: code for code, text in enumerate(texts)}
    if len(known) < len(texts):
        raise InternalError(f"column {attribute.name!r}: two values are written alike")
    return known


def _parts_of(wording: Wording, text: str, joint: str) -> list[str] | None:
    """The values that a text joins."""
    if not wording.quoted:
        return text.split(joint)
    parts = [match[0] for match in _QUOTED.finditer(text)]
    if joint.join(parts) != text:
        return None
    return [part[1:-1].replace('""', '"') for part in parts]


def _range_reader(attribute: Attribute, line: Line) -> _Reader:
    wording, known = Wording(attribute, "range"), _exact(attribute)
    or_null = " or missing" if None in known else ""

    def read(text: str) -> Stretches | None:
        if text == wording.everything:
            return line.everything
        body = text.rstrip("+") if wording.quoted else text
        null_too = bool(or_null) and body.endswith(or_null)
        ends = _parts_of(wording, body.removesuffix(or_null), " to ")
        codes = [known[end] for end in ends or () if end in known]
        # A label is read as what is written so.
        if not codes or codes[0] > codes[-1]:
            return None
        if wording.range_of(null_too, codes[0], codes[-1]) != text:
            return None
        null = (_between(line, 0, 0),) if null_too else ()
        return (*null, _between(line, codes[0], codes[-1]))

    return read


def _set_reader(attribute: Attribute, line: Line) -> _Reader:
    wording, known = Wording(attribute, "set"), _exact(attribute)
    null = "missing | " if None in known else ""

    def read(text: str) -> Stretches | None:
        if text == wording.everything:
            return line.everything
        body = text.rstrip("+") if wording.quoted else text
        null_too = bool(null) and body.startswith(null)
        parts = _parts_of(wording, body.removeprefix(null), " | ")
        codes = [0] * null_too + [known[part] for part in parts or () if part in known]
        if any(a >= b for a, b in pairwise(codes)) or not codes:
            return None
        return line.of_values(np.array(codes)) if wording.set_of(codes) == text else None

    return read


def _node_reader(attribute: Attribute, line: Line) -> _Reader:
    spans = spans_of_nodes(attribute)

    def read(text: str) -> Stretches | None:
        if text not in spans:
            return None
        first, last = spans[text]
        names = (text, _LEVEL.sub("", text))
        keys = [(name, first, last + 1) for name in names]
        return (next(line.by_name[key] for key in keys if key in line.by_name),)

    return read


_READERS: dict[Style, Callable[[Attribute, Line], _Reader]] = {
    "range": _range_reader,
    "set": _set_reader,
    "hierarchy": _node_reader,
}
