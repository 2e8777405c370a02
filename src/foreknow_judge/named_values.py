"""Named values: which values in the files a requirement names.

A text names the value that is spelt the same; with an asterisk at its end, every value that begins
so. A range names the numbers or dates between its two ends, which are included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from fractions import Fraction
from typing import Any

from foreknow_judge.errors import CertificateError
from foreknow_judge.windows import place_of

_DAY = timedelta(days=1) // timedelta(microseconds=1)


def values_named(named_values: Any, names: Collection[str]) -> list[str]:
    """The values of a file that a list or a range of a requirement names."""
    if isinstance(named_values, Mapping):
        ends = range_ends(named_values)
        return [name for name in names if _within(name, *ends)]
    texts = [*map(str, named_values)]
    values = {*texts} & {*names}
    for text in texts:
        if text.endswith("*"):
            values |= values_starting(text, names)
    return sorted(values)


def range_ends(bounds: Mapping[str, Any]) -> tuple[Any, Any]:
    """The two ends of a range, None for an open end; refuse a range that cannot be read."""
    if not bounds or not {*bounds} <= {"from", "to"}:
        raise CertificateError("wrong-range", bounds)
    low, high = (_end(bounds[key]) if key in bounds else None for key in ("from", "to"))
    if low is not None and high is not None and (low[0] != high[0] or low[2] > high[2]):
        raise CertificateError("wrong-range", bounds)
    return low, high


def exempt_values(exempt: Iterable[Any], names: Collection[str]) -> set[str]:
    """The values that are exempt; a text that is itself a value is not taken for a pattern."""
    values: set[str] = set()
    for text in map(str, exempt):
        pattern = text.endswith("*") and text not in names
        values |= values_starting(text, names) if pattern else {text}
    return values


def values_starting(text: str, names: Iterable[str]) -> set[str]:
    """The values that match a text with an asterisk at its end."""
    stem = text[:-1]
    if not stem or stem[-1] == "*":
        raise CertificateError("wrong-pattern", text)
    return {name for name in names if name[: len(stem)] == stem}


def _end(bound: Any) -> tuple[bool, bool, Fraction]:
    """An end of a range: whether it is a date, whether a whole day, and where it lies."""
    place = None
    if isinstance(bound, (int, str)) and not isinstance(bound, bool):
        place = place_of(str(bound))
    if place is None:
        raise CertificateError("wrong-range", bound)
    dated, clocked, position = place
    return dated, dated and not clocked, position


def in_range(text: str, bounds: Mapping[str, Any]) -> bool | None:
    """Whether a text lies in a range; None if it cannot be compared."""
    ends = [_end(bounds[key]) if key in bounds else None for key in ("from", "to")]
    try:
        return _within(text, *ends) if place_of(text) is not None else None
    except CertificateError:
        return None


def _within(name: str, low: Any, high: Any) -> bool:
    place = place_of(name)
    if place is None and not any(letter.isnumeric() for letter in name):
        return False
    for end in (low, high):
        if end is not None and (place is None or place[0] != end[0]):
            raise CertificateError("not-comparable", "a range", value=name)
    assert place is not None
    position = place[2]
    if low is not None and position < low[2]:  # a day begins at its first moment
        return False
    if high is None:
        return True
    return bool(position < high[2] + _DAY if high[1] else position <= high[2])
