"""Named values: which values in the files a requirement names.

A text names the value that is spelt the same; with an asterisk at its end, every value that begins
so. A range names the numbers or dates between its two ends, which are included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from foreknow_judge.counts.labels import FIRST, LAST, Span, value_of
from foreknow_judge.errors import CertificateError
from foreknow_judge.numbers import is_code


def values_named(named_values: Any, names: Collection[str]) -> list[str]:
    """The values of a file that a list or a range of a requirement names.

    `names` are all values of the file. A text of the list may end in a star: it names all values
    that begin so.
    """
    if isinstance(named_values, Mapping):
        span = range_of(named_values)
        return [name for name in names if _within(name, span)]
    texts = [*map(str, named_values)]
    values = {*texts} & {*names}
    for text in texts:
        if text.endswith("*"):
            values |= values_starting(text, names)
    return sorted(values)


def range_of(bounds: Mapping[str, Any]) -> Span:
    """The numbers or moments of a range; refuse one that cannot be read.

    `bounds` has `from`, `to` or both, which belong to the range.
    """
    ends = list[Span]()
    for key in ("from", "to"):
        bound = bounds.get(key)
        value = value_of(str(bound)) if type(bound) in (int, str) else None
        if value is not None:
            ends.append(value)
    if not ends or len(ends) < len(bounds):  # a bound cannot be read, or has another key
        raise CertificateError("wrong-range", bounds)
    first, last = ends[0], ends[-1]  # the same, if only one end is given
    if first.dated != last.dated or first.low > last.low:
        raise CertificateError("wrong-range", bounds)
    low, high = first.low if "from" in bounds else FIRST, last.high if "to" in bounds else LAST
    return Span(first.unit, low, high)


def exempt_values(exempt: Iterable[Any], names: Collection[str]) -> set[str]:
    """The values that are exempt; a text that is itself a value is not taken for a pattern."""
    values: set[str] = set()
    for text in map(str, exempt):
        pattern = text.endswith("*") and text not in names
        values |= values_starting(text, names) if pattern else {text}
    return values


def same_values(text: str, names: Iterable[str]) -> Iterator[str]:
    """The values that are the same number or moment as a text, which may be spelt otherwise."""
    value = None if is_code(text) else value_of(text)
    if value is not None:
        yield from (name for name in names if not is_code(name) and value_of(name) == value)


def values_starting(text: str, names: Iterable[str]) -> set[str]:
    """The values that match a text with an asterisk at its end."""
    stem = text[:-1]
    if not stem or stem[-1] == "*":
        raise CertificateError("wrong-pattern", text)
    return {name for name in names if name[: len(stem)] == stem}


def _within(name: str, span: Span) -> bool:
    value = value_of(name)
    if value is None and not any(letter.isnumeric() for letter in name):
        return False
    if value is None or value.dated != span.dated:
        raise CertificateError("not-comparable", "a range", value=name)
    return span.holds(value)
