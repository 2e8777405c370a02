"""Ways to read: as which dates, numbers or amounts texts can be read, by what they look like."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any

from foreknow.data.columns.reading_rules import Reading, to_add

_FORMATS = (
    *(
        "yyyy-mm-dd",
        "dd.mm.yyyy",
        "dd/mm/yyyy",
        "mm/dd/yyyy",
        "dd-mm-yyyy",
        "mm-dd-yyyy",
        "yyyy/mm/dd",
    ),
    *("yyyy.mm.dd", "yyyymmdd", "dd.mm.yy", "dd/mm/yy", "mm/dd/yy", "dd.mm.yyyy hh:mm"),
    *("dd/mm/yyyy hh:mm", "mm/dd/yyyy hh:mm"),
    *("dd-mmm-yyyy", "dd mmm yyyy", "ddmmmyyyy", "mmm dd, yyyy", "dd-mmm-yy", "ddmmmyy"),
    "ddmmmyyyy:hh:mm:ss",
)
COMMA = re.compile(r"-?\d{1,3}(\.\d{3})+(,\d+)?|-?\d+(,\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2},\d{3}", re.ASCII)
POINT = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?", re.ASCII)
ENOUGH = 2000  # values, to see what all of them look like


def date_formats(values: Sequence[Any], example: str) -> list[str]:
    """The formats that the text `example` and most other texts fit; of these, the most fitting.

    For speed, only the first values are looked at.
    """
    if not re.search(r"\d", example):
        return []
    texts = [*islice((value for value in values if isinstance(value, str)), ENOUGH)]
    n_fitting = {}
    for date_format in filter(partial(_may_fit, example), _FORMATS):
        if is_date(date_format, example):
            n_fitting[date_format] = sum(is_date(date_format, text) for text in texts)
    most_fitting = max(n_fitting.values(), default=0)
    if 2 * most_fitting < len(texts):
        return []
    return [date_format for date_format, n in n_fitting.items() if n == most_fitting]


def _may_fit(text: str, date_format: str) -> bool:
    """False if a text lacks a sign or the letters of a format, or has letters of no month.

    It is much faster than to make a reader of the format.

    >>> [_may_fit("31 Jan 2024", f) for f in ("dd mmm yyyy", "dd-mmm-yyyy", "dd.mm.yyyy")]
    [True, False, False]
    """
    signs = set(re.sub(r"[a-z\s]", "", date_format))
    return signs <= {*text} and ("mmm" in date_format) == any(map(str.isalpha, text))


@cache
def _date_reader(date_format: str) -> Any:
    """A function that reads dates of a format, or raises `ValueError`."""
    return Reading(date_format=date_format).as_date  # in whichever century


def is_date(date_format: str, value: str) -> bool:
    """True if a text is a date of a format."""
    try:
        _date_reader(date_format)(value)
    except ValueError:
        return False
    return True


def has_decimal_commas(values: Sequence[Any]) -> bool:
    """True if all texts are numbers, some with a decimal comma."""
    texts = [value for value in values if isinstance(value, str)][:ENOUGH]
    return any("," in value for value in texts) and all(map(COMMA.fullmatch, texts))


def comma_ways(values: Sequence[Any]) -> str:
    """How to read texts with commas: before decimals, or between thousands where they may be."""
    decimals = to_add("decimal", ",")
    if not has_unclear_commas(values):
        return decimals
    return f"{decimals}; if commas stand between thousands, {as_reading({'thousands': ','})}"


def has_unclear_commas(values: Sequence[Any]) -> bool:
    """True if all commas of numbers may stand between thousands, as well as before decimals."""
    texts = []
    for value in values:
        if isinstance(value, str) and "," in value:
            texts.append(value)
    return bool(texts) and all(map(_THOUSANDS.fullmatch, texts))


def way_out(values: Sequence[Any], kind: str, example: Any) -> str:
    """The end of a message on values that should be of a kind, "number" or "date", and are not.

    It says what to declare, such as "; add decimal = ...", or is "". `example` is one such value.
    """
    if kind == "date" and isinstance(example, str):
        fitting = date_formats(values, example)
        return f"; {to_add('date_format', *fitting)}" if fitting else ""
    if kind != "number":
        return ""
    if has_decimal_commas(values):
        return f"; {comma_ways(values)}"
    marks = amount_marks(values)
    if marks:
        return f"; {as_reading(marks)}"
    if isinstance(example, str) and not re.search(r"\d", example):
        return "; name it under missing in [schema.reading] if it stands for a missing value"
    return ""


# How amounts are written: what stands before decimals, and between thousands.
_MARKS = ((".", None), (".", ","), (".", " "), (".", "'"), (",", None), (",", " "))


# Signs and letters of currencies, and of a hundredth.
_SIGN = re.compile(
    r"[A-Z]{0,2}\$|[€£¥₹₽₩₺₴₪₫฿%]|zł|Kč|(?<![^\W\d_])(?:kr|Ft|lei|Rs|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|"
    r"AUD|NZD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|RUB|UAH|TRY|ILS|ZAR|BRL|MXN|KRW|SGD|HKD)(?![^\W\d_])"
)
# Three digits after a point, and two before it at least: no cents, but thousands.
_POINTED = re.compile(r"(?<![\d.])[1-9]\d{0,2}(\.\d{3})+(?![\d.,])", re.ASCII)


def amount_marks(values: Sequence[Any]) -> dict[str, str]:
    """The settings of a reading with which all texts are amounts; empty if some are not.

    Without a sign of a currency, only marks between thousands are recognized, and blanks only
    where texts have different numbers of digits: telephone numbers have the same.

    >>> amount_marks(["$11,310.00 ", "$950.00"])
    {'thousands': ',', 'currency': '$'}
    >>> amount_marks(["1,234", "950"]), amount_marks(["1.234,50 €"])
    ({}, {'decimal': ',', 'currency': '€'})
    >>> amount_marks(["12.345 €"]), amount_marks(["1.359 €"])
    ({'decimal': ',', 'currency': '€'}, {'currency': '€'})
    """
    texts = [value for value in values if isinstance(value, str)][:ENOUGH]
    signs = set(_SIGN.findall("".join(texts)))
    if not texts or len(signs) > 1 or all(map(POINT.fullmatch, texts)):
        return {}
    if not signs and has_decimal_commas(texts):
        return {}  # nothing says what their commas are
    # Groups of digits with blanks between look like telephone numbers if all are of one length.
    may_be_telephones = len({*map(_count_digits, texts)}) == 1
    # In 34.063 the point must stand between thousands, so decimals would have a comma.
    first_marks = [(",", None)] if has_pointed_thousands(texts) else []
    for decimal, thousands in (*first_marks, *_MARKS):
        # Without a currency, these marks do not show that texts are amounts.
        if not signs and (thousands is None or (thousands == " " and may_be_telephones)):
            continue
        reading = Reading(
            decimal=decimal if decimal == "," else None,
            thousands=thousands,
            currency=next(iter(signs), None),
        )
        if _all_amounts(reading, texts):
            return reading.to_dict()
    return {}


def has_pointed_thousands(texts: Sequence[str]) -> bool:
    """True if all points of numbers stand before three digits, and some after two.

    >>> has_pointed_thousands(["34.063", "950"]), has_pointed_thousands(["34.06", "950.000"])
    (True, False)
    """
    matches = [_POINTED.search(text) for text in texts if "." in text]
    if None in matches:
        return False
    # Two digits or more before the point: 1.234 may be a decimal with three places.
    return any(match and match[0].index(".") > 1 for match in matches)


def _all_amounts(reading: Reading, texts: Sequence[str]) -> bool:
    """True if a reading can read all texts as amounts, and there are any."""
    as_amount = reading.as_amount
    try:
        return as_amount is not None and len([*map(as_amount, texts)]) > 0
    except ValueError:
        return False


def _count_digits(text: str) -> int:
    """The number of digits in a text."""
    return sum(map(str.isdigit, text))


def as_reading(marks: Mapping[str, str]) -> str:
    """Say how to add to the reading of a schema.

    >>> as_reading({"thousands": ",", "currency": "$"})
    'add reading = { thousands = ",", currency = "$" } to the schema'
    """
    settings = ", ".join(f'{name} = "{mark}"' for name, mark in marks.items())
    return f"add reading = {{ {settings} }} to the schema"
