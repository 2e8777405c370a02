"""Reading published labels back: which part of an attribute's line a text stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np

from foreknow.errors import DataError, InternalError
from foreknow.labelling import Style, spans_of_nodes, suppressed_label, text_of
from foreknow.microdata import Attribute
from foreknow.sparse import IntArray
from foreknow.workload.covers import Covers
from foreknow.workload.lines import Line, Stretches

_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?: \| |$)')
# How `foreknow.labelling` tells nodes of one label apart.
_LEVEL = re.compile(r" \(level \d+\)\+*$")
_Reader: TypeAlias = Callable[[str], Iterable[Stretches]]


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
        If a label cannot be read, or may mean two things.
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
        found = set(read(text))
        if style != "hierarchy" and text == suppressed_label(attribute):
            found.add(line.everything)
        if len(found) != 1:
            problem = "cannot be read as" if not found else "means two things as"
            raise DataError(f"column {attribute.name!r}: the label {text!r} {problem} a {style}")
        return found.pop()

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
    texts = [None if value is None else text_of(value) for value in attribute.domain]
    known = {text: code for code, text in enumerate(texts)}
    if len(known) < len(texts):
        raise InternalError(f"column {attribute.name!r}: two values are written alike")
    return known


def _range_reader(attribute: Attribute, line: Line) -> _Reader:
    known = _exact(attribute)

    def spans(text: str) -> Iterable[tuple[int, int]]:
        if text in known:
            yield _between(line, known[text], known[text])
        parts = text.split(" to ")
        for i in range(1, len(parts)):
            low, high = known.get(" to ".join(parts[:i])), known.get(" to ".join(parts[i:]))
            if low is not None and high is not None and low < high:
                yield _between(line, low, high)

    def read(text: str) -> Iterable[Stretches]:
        for span in spans(text):
            yield (span,)
        if None in known and text.endswith(" or missing"):
            for span in spans(text.removesuffix(" or missing")):
                yield (_between(line, 0, 0), span)

    return read


def _set_reader(attribute: Attribute, line: Line) -> _Reader:
    texts = [text_of(value) for value in attribute.domain]
    known: dict[str, list[int]] = {}
    for code, text in enumerate(texts):
        known.setdefault(text, []).append(code)
    quoted = any("|" in text for text in texts)

    def read(text: str) -> Iterable[Stretches]:
        if quoted:
            matches = list(_QUOTED.finditer(text))
            if "".join(match[0] for match in matches) != text:
                return
            parts = [match[1].replace('""', '"') for match in matches]
        else:
            parts = text.split(" | ")
        # A null is written "missing", which may be a value as well.
        for codes in product(*(known.get(part, ()) for part in parts)):
            if all(a < b for a, b in pairwise(codes)):
                yield line.of_values(np.array(codes))

    return read


def _node_reader(attribute: Attribute, line: Line) -> _Reader:
    spans = spans_of_nodes(attribute)

    def read(text: str) -> Iterable[Stretches]:
        if text in spans:
            first, last = spans[text]
            names = (text, _LEVEL.sub("", text))
            keys = [(name, first, last + 1) for name in names]
            yield (next(line.by_name[key] for key in keys if key in line.by_name),)

    return read


_READERS: dict[Style, Callable[[Attribute, Line], _Reader]] = {
    "range": _range_reader,
    "set": _set_reader,
    "hierarchy": _node_reader,
}
