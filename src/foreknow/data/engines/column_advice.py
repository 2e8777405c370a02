"""Column advice: what the values of a column are taken for, and what they look like besides."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from decimal import Decimal
from functools import partial
from heapq import nlargest
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.engines.ways_to_read import (
    COMMA,
    POINT,
    amount_marks,
    as_reading,
    comma_ways,
    date_formats,
    has_decimal_commas,
    is_date,
)
from foreknow.data.reading import to_add
from foreknow_judge.errors import DataError

_ISO = re.compile(
    r"\d{4}-(0\d|1[0-2])-[0-3]\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII
)
_CODE = re.compile(r"0\d+", re.ASCII)
# Labels of a generalized column: ranges, sets, periods, masked codes.
_LABEL = re.compile(r"[*|<>()\[\]+~]| to |missing|other|\d ?[-–] ?\d|^\d{3,4}s?$")


# What stands between several answers of one cell, the surest first.
_SEPARATORS = ("|", ";", ", ", ",")
_SHARE = 20  # of the people, one in so many has several answers at least


def separator_of(values: Sequence[Any], people: Sequence[int]) -> str:
    """The separator of several answers in texts; empty if each text is one answer.

    Nearly all parts must be whole values, too, or recur; between commas, which stand in sentences,
    both first and later.

    >>> separator_of(["flu|cold", "flu", "cold|hiv", "hiv"], [5, 3, 2, 4])
    '|'
    >>> separator_of(["Diabetes, type 2", "Diabetes, type 1", "Asthma"], [5, 3, 2])
    ''
    """
    times = zip(values, people, strict=True)
    people_of = {value: n for value, n in times if isinstance(value, str) and n}
    n_people = sum(people_of.values())
    for separator in _SEPARATORS:
        several = [text for text in people_of if separator in text]
        between = any(separator in text.strip(separator) for text in several)
        n_several = sum(people_of[text] for text in several)
        if between and n_several * _SHARE >= n_people and _divides(several, separator, people_of):
            return separator
    return ""


def _divides(several: Sequence[str], separator: str, wholes: Collection[str]) -> bool:
    """True if nearly all parts between separators are whole values, or parts that recur."""
    times: Counter[str] = Counter()
    first_parts, later_parts = set[str](), set[str]()
    for text in several:
        first, *later = map(str.strip, text.split(separator))
        times.update({first, *later})
        first_parts.add(first)
        later_parts.update(later)
    comma = "," in separator
    if comma and any(map(str.isdigit, times)):
        return False
    n_answers = 0
    for part, n in times.items():
        is_whole = part in wholes or (part in first_parts and part in later_parts)
        if is_whole or (n > 1 and not comma):
            n_answers += n
    return n_answers * 10 >= times.total() * 9


def nearly_all_read(
    domain: Sequence[Any], people: Sequence[int]
) -> tuple[str, str | None, list[bool]] | None:
    """Whether nearly all texts read as dates, or as numbers: which, a format, and which texts do.

    None of codes: digits alone, or with a 0 before others. Texts that all are numbers are codes,
    too, in a table that could have said that they are numbers.

    >>> nearly_all_read(["00.00.1961", "03.01.1976", "04.01.1976"], [1, 98, 1])
    ('dates', 'dd.mm.yyyy', [False, True, True])
    """
    texts = [value if isinstance(value, str) else None for value in domain]
    n_people = sum(n for text, n in zip(texts, people, strict=True) if text is not None)
    if not n_people or None in texts[1:] or all(t is None or t.isdigit() for t in texts):
        return None
    often = nlargest(3, ((n, text) for text, n in zip(texts, people, strict=True) if text))[::-1]
    ways: list[tuple[str, str | None, Any]] = [("dates", None, _ISO.fullmatch)]
    formats = dict.fromkeys(chain(*(date_formats(texts, text) for _, text in often)))
    ways += [("dates", way, partial(is_date, way)) for way in formats]
    if not any(text and _CODE.fullmatch(text) for text in texts):
        ways += [("numbers", None, COMMA.fullmatch), ("numbers", None, POINT.fullmatch)]
    best: tuple[int, str, str | None, list[bool]] = (0, "", None, [])
    for what, way, reads in ways:
        fits, odd = list[bool](), 0
        for text, n in zip(texts, people, strict=True):
            fits.append(text is not None and bool(reads(text)))
            odd += n if text is not None and not fits[-1] else 0
            if odd * 20 > n_people:
                break
        else:
            if n_people - odd > best[0]:
                best = n_people - odd, what, way, fits
    n_fitting, what, way, fits = best
    if not n_fitting or (n_fitting == n_people and what == "numbers"):
        return None
    return what, way, fits


def refuse_misread(
    name: str,
    domain: Sequence[Any],
    people: Sequence[int],
    codes: NDArray[Any] | None = None,
    positions: NDArray[Any] | None = None,
    *,
    labels: bool = False,
) -> None:
    """Raise `DataError` for a column of texts that is one of dates or numbers but for a few.

    With the `codes` of rows it names the first of them. In a release there may be `labels`.
    """
    guess = nearly_all_read(domain, people)
    if guess is None:
        return
    what, _, fits = guess
    text = f'types = {{ {json.dumps(name)} = "text" }}'
    odd = [code for code, fit in enumerate(fits) if not fit and domain[code] is not None]
    if not odd or (labels and any(_LABEL.search(domain[code]) for code in odd)):
        return
    examples = [repr(domain[code]) for code in odd[:3]]
    if codes is not None:
        rows = np.flatnonzero(np.isin(codes, odd))[:3].tolist()
        places = rows if positions is None else positions[rows].tolist()
        examples = [
            f"row {place + 1} ({domain[int(codes[row])]!r})"
            for row, place in zip(rows, places, strict=True)
        ]
    spelled = json.dumps(domain[max(odd, key=people.__getitem__)], ensure_ascii=False)
    raise DataError(
        f"column {name!r}: nearly all values read as {what}, but not {', '.join(examples)}"
        f"{' ...' if len(odd) > 3 else ''}; mend them, or say what stands for a missing value, "
        f"such as reading = {{ missing = [{spelled}] }}; where they are to stay texts, add {text} "
        "to the schema"
    )


def refuse_dates(name: str, domain: Sequence[Any]) -> None:
    """Raise `DataError` for a column of texts that all read as dates."""
    guess = nearly_all_read(domain, [1] * len(domain))
    if guess is None or guess[0] != "dates" or not all(guess[2][int(domain[0] is None) :]):
        return
    declared = f'types = {{ {json.dumps(name)} = "date" }} to the schema'
    if guess[1] is not None:
        declared = to_add("date_format", guess[1]).removeprefix("add ")
    raise DataError(
        f"column {name!r} is text, and all of its values read as dates; if they are, add "
        f'{declared}; if not, types = {{ {json.dumps(name)} = "text" }}'
    )


def described(domain: Sequence[Any], *, ordered: bool = False) -> str:
    """Say what distinct values were taken for.

    >>> described([None, 17, 90]), described(["F", "M"])
    ('numbers 17 to 90, some missing', 'text, 2 values')
    """
    values = [value for value in domain if value is not None]
    missing_note = ", some missing" if len(values) < len(domain) else ""
    if not values:
        return "nothing but missing values"
    if all(type(value) in (int, float, Decimal) for value in values):
        return f"{_span('number', values)}{missing_note}"
    if all(isinstance(value, (dt.date, dt.time)) for value in values):
        return f"{_span('date', values)}{missing_note}"
    count_text = f"{len(values):,} value{'s' if len(values) > 1 else ''}"
    return f"{'text in an order' if ordered else 'text'}, {count_text}{missing_note}"


def _span(kind: str, values: Sequence[Any]) -> str:
    return f"{kind}s {values[0]} to {values[-1]}" if len(values) > 1 else f"one {kind}, {values[0]}"


def _is_whole_with_decimals(value: Any) -> bool:
    if isinstance(value, Decimal):
        return int(value.as_tuple().exponent) < 0 and value == value.to_integral_value()
    return isinstance(value, float) and value.is_integer()


def doubts(name: str, domain: Sequence[Any]) -> str | None:
    """A doubt about how a column was read, and what to do about it."""
    values = [value for value in domain if value is not None]
    if not values:
        return None
    if all(isinstance(value, str) for value in values):
        if fitting := date_formats(values, values[0]):
            return f"looks like dates; if it is, {to_add('date_format', *fitting)}"
        if has_decimal_commas(values):
            return f"looks like numbers with a decimal comma; if it is, {comma_ways(values)}"
        if marks := amount_marks(values):
            return f"looks like amounts; if it is, {as_reading(marks)}"
    elif all(map(_is_whole_with_decimals, values)):
        return (
            "holds whole numbers with decimals, as pandas makes of codes where one is missing; if "
            f'they are codes, add types = {{ {json.dumps(name)} = "text" }} to the schema'
        )
    return None
