"""Advice: what the values of a column are taken for, and what they look like besides."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from foreknow.data.reading import Reading, to_add

_FORMATS = (
    *("dd.mm.yyyy", "dd/mm/yyyy", "mm/dd/yyyy", "dd-mm-yyyy", "mm-dd-yyyy", "yyyy/mm/dd"),
    *("yyyy.mm.dd", "yyyymmdd", "dd.mm.yy", "dd/mm/yy", "mm/dd/yy", "dd.mm.yyyy hh:mm"),
    *("dd/mm/yyyy hh:mm", "mm/dd/yyyy hh:mm"),
)
_COMMA = re.compile(r"-?\d{1,3}(\.\d{3})+(,\d+)?|-?\d+(,\d+)?", re.ASCII)
_ENOUGH = 2000  # values, to see what all of them look like


def date_formats(values: Sequence[Any], like: str) -> list[str]:
    """Formats of dates that one text has, and most of the others have, too."""
    known = [value for value in values if isinstance(value, str)][:_ENOUGH]
    if not re.search(r"\d", like):
        return []
    fitting = {}
    for written in _FORMATS:
        read = Reading(date_format=written).as_date
        assert read is not None
        if _reads(read, like):
            fitting[written] = sum(_reads(read, value) for value in known)
    most = max(fitting.values(), default=0)
    return [each for each, n in fitting.items() if n == most and 2 * n >= len(known)]


def _reads(read: Any, value: str) -> bool:
    try:
        read(value)
    except ValueError:
        return False
    return True


def has_decimal_commas(values: Sequence[Any]) -> bool:
    """Whether all texts are numbers, some with a decimal comma."""
    known = [value for value in values if isinstance(value, str)][:_ENOUGH]
    return any("," in value for value in known) and all(map(_COMMA.fullmatch, known))


def way_out(values: Sequence[Any], kind: str, like: Any) -> str:
    """What to say of texts that were to be numbers or dates, and are neither as ISO has them."""
    if kind == "date" and isinstance(like, str) and (fitting := date_formats(values, like)):
        return f"; {to_add('date_format', *fitting)}"
    if kind == "number" and has_decimal_commas(values):
        return f"; {to_add('decimal', ',')}"
    return ""


def described(domain: Sequence[Any], *, ordered: bool = False) -> str:
    """Say what distinct values were taken for.

    >>> described([None, 17, 90]), described(["F", "M"])
    ('numbers 17 to 90, some missing', 'text, 2 values')
    """
    known = [value for value in domain if value is not None]
    some = ", some missing" if len(known) < len(domain) else ""
    if not known:
        return "nothing but missing values"
    if all(type(value) in (int, float, Decimal) for value in known):
        return f"{_span('number', known)}{some}"
    if all(isinstance(value, (dt.date, dt.time)) for value in known):
        return f"{_span('date', known)}{some}"
    many = f"{len(known):,} value{'s' if len(known) > 1 else ''}"
    return f"{'text in an order' if ordered else 'text'}, {many}{some}"


def _span(kind: str, known: Sequence[Any]) -> str:
    return f"{kind}s {known[0]} to {known[-1]}" if len(known) > 1 else f"one {kind}, {known[0]}"


def _is_whole_with_decimals(value: Any) -> bool:
    if isinstance(value, Decimal):
        return int(value.as_tuple().exponent) < 0 and value == value.to_integral_value()
    return isinstance(value, float) and value.is_integer()


def doubts(name: str, domain: Sequence[Any]) -> str | None:
    """What a column may be besides what it was taken for, and what to do then."""
    known = [value for value in domain if value is not None]
    if not known:
        return None
    if all(isinstance(value, str) for value in known):
        if fitting := date_formats(known, known[0]):
            return f"looks like dates; if it is, {to_add('date_format', *fitting)}"
        if has_decimal_commas(known):
            return f"looks like numbers with a decimal comma; if it is, {to_add('decimal', ',')}"
    elif all(map(_is_whole_with_decimals, known)):
        return (
            "holds whole numbers with decimals, as pandas makes of codes where one is missing; if "
            f'they are codes, add types = {{ {json.dumps(name)} = "text" }} to the schema'
        )
    return None
