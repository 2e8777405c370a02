"""Labels: which numbers, days and other values a text stands for; here alone it is parsed."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from math import inf, lcm
from typing import Any, NamedTuple, TypeAlias

from foreknow_judge.numbers import is_code, read_number

# Where a span begins or ends: at a number or a moment, 0 for just before it, 1 for just after it.
Cut: TypeAlias = tuple[Any, int]

FIRST, LAST = (-inf, 0), (inf, 0)
MISSING, OR_MISSING, AMONG, TO = "missing", " or missing", " | ", " to "
# Moments are counted in microseconds since the year 1.
MOMENT = timedelta(microseconds=1)
DAY = timedelta(days=1) // MOMENT
_HOUR = "[01][0-9]|2[0-3]"
SIZES = {"day": DAY, "hour": DAY // 24}
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_PERIOD = re.compile(
    r"(?P<year>\d{4})(?:(?<=0)(?P<decade>s)|-Q(?P<quarter>[1-4])|-(?P<month>0[1-9]|1[0-2])"
    rf"(?:-(?P<day>\d\d)(?: (?P<hour>{_HOUR})h"
    r"|(?P<moment>[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?)?)?",
    re.ASCII,
)
# An hour of any day.
HOUR_OF_DAY = re.compile(f"({_HOUR})h")
_EVERYTHING = re.compile(r"[*]+( [(]level [0-9]+[)])?[+]*")
_OF_LEVEL = re.compile(r"(.*) [(]level ([0-9]{1,3})[)]", re.DOTALL)
_QUOTED = r'"(?:[^"]|"")*"'


class Span(NamedTuple):
    """All numbers, or all moments, from one to another; one of them alone is both."""

    unit: str  # "number"; of moments, the period from "moment" to "decade", or "range"
    low: Cut
    high: Cut

    @property
    def dated(self) -> bool:
        """True if it has moments, and not numbers."""
        return self.unit != "number"

    def holds(self, value: Span) -> bool:
        """True if a number, a moment or the beginning of a day lies in it."""
        return self.low <= value.low < self.high


def number_of(text: str) -> Span | None:
    """A number; None for any other text."""
    number = read_number(text)
    if number is None:
        return None
    at = Fraction(number)
    return Span("number", (at, 0), (at, 1))


def as_whole(numbers: Collection[Any]) -> list[int]:
    """Numbers times what makes all of them whole: in the same order, and soon compared.

    >>> as_whole([Fraction("1.5"), Fraction("0.25"), 2])
    [6, 1, 8]
    """
    times = lcm(*{number.denominator for number in numbers})
    return [number.numerator * (times // number.denominator) for number in numbers]


def period_of(text: str) -> Span | None:
    """The span of a decade, year, quarter, month, day, hour or moment; None for any other text.

    Its ends are microseconds since the year 1: (x, 0) is just before x, and (x, 1) just after.
    """
    match = _PERIOD.fullmatch(text)
    if match is None:
        return None
    # The first month of a quarter q is 3q - 2; without a quarter, it is 1, for January.
    unit, month = str(match.lastgroup), int(match["month"] or 3 * int(match["quarter"] or 1) - 2)
    try:
        if match["day"]:
            start = datetime.fromisoformat(text.removesuffix("h"))
        else:
            start = datetime(int(match["year"]), month, 1)
    except ValueError:  # such as the 30th of February
        return None
    low = (start - datetime.min) // MOMENT
    if unit == "moment":
        return Span(unit, (low, 0), (low, 1))
    if unit in SIZES:
        return Span(unit, (low, 0), (low + SIZES[unit], 0))
    # The last month of the period, counted from 0; the period ends a day after its last day begins.
    # The first day of the next month would not do: after 9999 there is none.
    year, month = divmod(12 * start.year + month - 2 + MONTHS[unit], 12)
    last = datetime(year, month + 1, monthrange(year, month + 1)[1])
    return Span(unit, (low, 0), ((last - datetime.min) // MOMENT + DAY, 0))


def value_of(text: str) -> Span | None:
    """A number, a day or a moment; None for any other text."""
    value = number_of(text) or period_of(text)
    return value if value is not None and value.unit in ("number", "day", "moment") else None


def between(low: str, high: str) -> Iterator[Span]:
    """The numbers, and the moments, from one text to another, such as ``<30``."""
    first, last = number_of(low), number_of(high.removeprefix("<"))
    if first is not None and last is not None:
        yield Span("number", first.low, last.low if high.startswith("<") else last.high)
    first, last = period_of(low), period_of(high)
    if first is not None and last is not None:
        yield Span("range", first.low, last.high)


def spans_of(label: str) -> list[Span]:
    """The numbers, and the moments, that a label stands for; none if it reads like neither.

    A label such as 2020 has two spans: it is a number and a year. A span ends just before a value
    (value, 0), or just after it (value, 1).

    >>> [span.low for span in spans_of("20 to 29")], spans_of("Divorced")
    ([(Fraction(20, 1), 0)], [])
    """
    low, to, high = label.partition(TO)
    if to:
        return [*between(low, high)]
    # "5 or more", "2020 or later", "<5", or a single number or period.
    end, _, word = label.rpartition(" or ")
    if word in ("more", "less"):
        span = number_of(end)
    elif word in ("later", "earlier"):
        span = period_of(end)
    elif label.startswith("<"):
        span = number_of(label[1:])
        return [] if span is None else [Span("number", FIRST, span.low)]
    else:
        number = None if is_code(label) else number_of(label)
        return [span for span in (number, period_of(label)) if span is not None]
    if span is None:
        return []
    return [span._replace(high=LAST) if word in ("more", "later") else span._replace(low=FIRST)]


def is_everything(label: str) -> bool:
    """True if a label stands for all values."""
    return _EVERYTHING.fullmatch(label) is not None


def name_and_level(label: str) -> tuple[str, int | None]:
    """A label without the level that it says, such as ``1** (level 2)``, and this level."""
    match = _OF_LEVEL.fullmatch(label)
    return (label, None) if match is None else (match[1], int(match[2]))


def in_quotes(label: str, joint: str) -> list[str] | None:
    """The parts of a label, without their quotes, if each part is in quotes; else None."""
    if not re.fullmatch(f"{_QUOTED}(?:{re.escape(joint)}{_QUOTED})*", label):
        return None
    return [quoted[1:-1].replace('""', '"') for quoted in re.findall(_QUOTED, label)]
