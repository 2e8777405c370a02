"""Column advice: what the values of a column are taken for, and what they look like besides."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from functools import partial
from heapq import nlargest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.columns.reading_rules import Reading, to_add
from foreknow.data.tables.profile.reading_options import (
    COMMA,
    POINT,
    amount_marks,
    as_reading,
    comma_ways,
    date_formats,
    has_decimal_commas,
    is_date,
)
from foreknow_judge.errors import DataError

_ISO = re.compile(
    r"\d{4}-(0\d|1[0-2])-[0-3]\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?", re.ASCII
)
_CODE = re.compile(r"0\d+", re.ASCII)
# Labels of a generalized column: ranges, sets, periods, masked codes.
_LABEL = re.compile(r"[*|<>()\[\]+~]| to |missing|other|\d ?[-–] ?\d|^\d{3,4}s?$")


# A number in brackets where it is negative, or with a word for thousands or hundredths behind it.
_IN_WORDS = re.compile(
    r"(?P<sign>\()?-?[$€£]? ?\d[\d., ]*(?P<unit> ?[kKM%])?(?P<close>\))?", re.ASCII
)
_NEARLY_ALL = 0.9

# What stands between several answers of one cell, the surest first.
_SEPARATORS = ("|", ";", ", ", ",", "/", "+")
_CERTAIN = "|;"  # which stand between nothing else
_SHARE = 20  # of the people, one in so many has several answers at least


def separator_of(values: Sequence[Any], people: Sequence[int]) -> str:
    """The sign between several answers in texts, such as "|"; "" if each text is one answer.

    A sign counts if nearly all parts between such signs are also whole values, or occur in several
    texts. Commas, slashes and plus signs, which also stand in sentences, count if parts stand first
    in one text and later in another.

    Parameters
    ----------
    values : sequence
        The distinct values of a column.
    people : sequence of int
        How many people have each of them.

    Examples
    --------
    >>> separator_of(["flu|cold", "flu", "cold|hiv", "hiv"], [5, 3, 2, 4])
    '|'
    >>> separator_of(["Diabetes, type 2", "Diabetes, type 1", "Asthma"], [5, 3, 2])
    ''
    """
    people_of_text = {}
    for text, n in zip(values, people, strict=True):
        if isinstance(text, str) and n:
            people_of_text[text] = n
    least_people = sum(people_of_text.values()) / _SHARE
    for separator in _SEPARATORS:
        texts = [text for text in people_of_text if separator in text]
        # A sign at the start or end of a text separates nothing.
        is_inside = any(separator in text.strip(separator) for text in texts)
        is_frequent = sum(people_of_text[text] for text in texts) >= least_people
        if is_inside and is_frequent and _stands_between_answers(texts, separator, people_of_text):
            return separator
    return ""


def _stands_between_answers(texts: Sequence[str], separator: str, values: Collection[str]) -> bool:
    """True if 90% of the parts between separators are whole values, or parts that recur.

    Parameters
    ----------
    texts : sequence of str
        The values with the separator.
    separator : str
    values : collection of str
        All values, with the separator or without.
    """
    times: Counter[str] = Counter()  # in how many texts each part stands
    first_parts, later_parts = set[str](), set[str]()
    for text in texts:
        first, *later = map(str.strip, text.split(separator))
        times.update({first, *later})
        first_parts.add(first)
        later_parts.update(later)
    is_certain = separator in _CERTAIN
    # Digits between other signs are parts of numbers, dates or addresses.
    if not is_certain and any(map(str.isdigit, times)):
        return False
    n_answers = 0
    for part, n_texts in times.items():
        is_whole_value = part in values or (part in first_parts and part in later_parts)
        if is_whole_value or (n_texts > 1 and is_certain):
            n_answers += n_texts
    return n_answers * 10 >= times.total() * 9


class Guess(NamedTuple):
    """How nearly all values of a column can be read."""

    kind: str  # "dates" or "numbers"
    date_format: str | None  # None for numbers, and for dates such as 2024-01-31
    fits: list[bool]  # which of the distinct values can be read so


def nearly_all_read(domain: Sequence[Any], people: Sequence[int]) -> Guess | None:
    """How the texts of 95% of the people can be read: as dates of one format, or as numbers.

    Parameters
    ----------
    domain : sequence
        The distinct values; only the first one may be None.
    people : sequence of int
        How many people have each of them.

    Returns
    -------
    Guess or None
        None also for codes: digits alone, or with a 0 before others. Texts that all are numbers
        are codes, too, in a table that could have said that they are numbers.

    Examples
    --------
    >>> nearly_all_read(["00.00.1961", "03.01.1976", "04.01.1976"], [1, 98, 1])
    Guess(kind='dates', date_format='dd.mm.yyyy', fits=[False, True, True])
    """
    texts = [value if isinstance(value, str) else None for value in domain]
    people_of_text = []
    for text, n in zip(texts, people, strict=True):
        if text is not None:
            people_of_text.append((text, n))
    n_people = sum(n for _, n in people_of_text)
    if not n_people or None in texts[1:] or all(text.isdigit() for text, _ in people_of_text):
        return None
    best, most_people = None, 0
    for kind, date_format, can_read in _ways_to_read(people_of_text):
        n_fitting = _people_who_fit(people_of_text, can_read, n_people // 20)
        if n_fitting > most_people:
            most_people = n_fitting
            best = Guess(kind, date_format, [t is not None and bool(can_read(t)) for t in texts])
    # If all texts are numbers, their table could have said so, and did not: they are codes.
    is_all_numbers = best is not None and most_people == n_people and best.kind == "numbers"
    return None if is_all_numbers else best


def _ways_to_read(
    people_of_text: Sequence[tuple[str, int]],
) -> Iterator[tuple[str, str | None, Callable[[str], Any]]]:
    """Yield a kind ("dates" or "numbers"), a format of dates, and a test whether a text fits.

    The format is None for numbers and for dates such as 2024-01-31. Other formats are those that
    the three most frequent texts fit, from the rarest of these texts on.
    """
    yield "dates", None, _ISO.fullmatch
    texts = [text for text, _ in people_of_text]
    frequent = nlargest(3, ((n, text) for text, n in people_of_text if text))
    formats: dict[str, None] = {}
    for _, text in reversed(frequent):
        formats |= dict.fromkeys(date_formats(texts, text))
    for date_format in formats:
        yield "dates", date_format, partial(is_date, date_format)
    if not any(map(_CODE.fullmatch, texts)):
        yield "numbers", None, COMMA.fullmatch
        yield "numbers", None, POINT.fullmatch


def _people_who_fit(
    people_of_text: Sequence[tuple[str, int]], can_read: Callable[[str], Any], most_others: int
) -> int:
    """How many people have a text that can be read; 0 if over `most_others` have another text."""
    n_fitting = n_others = 0
    for text, n in people_of_text:
        if can_read(text):
            n_fitting += n
        else:
            n_others += n
        if n_others > most_others:
            return 0
    return n_fitting


def refuse_misread(
    name: str,
    domain: Sequence[Any],
    people: Sequence[int],
    codes: NDArray[Any] | None = None,
    positions: NDArray[Any] | None = None,
    *,
    labels: bool = False,
) -> None:
    """Raise `DataError` if nearly all texts of a column, but not all, are dates or numbers.

    Parameters
    ----------
    name : str
        The column.
    domain, people : sequences
        Its distinct values, and how many people have each.
    codes : integer array, optional
        The place of each row's value in the domain. With it the message names rows.
    positions : integer array, optional
        Where these rows are in the table; left out, these are all of its rows.
    labels : bool
        Whether the column may hold labels of a release, such as ranges, which are no mistakes.
    """
    guess = nearly_all_read(domain, people)
    if guess is None:
        return
    # The texts that do not fit: mistakes, or spellings of a missing value.
    odd_codes = []
    for code, fits in enumerate(guess.fits):
        if not fits and domain[code] is not None:
            odd_codes.append(code)
    if not odd_codes or (labels and any(_LABEL.search(domain[code]) for code in odd_codes)):
        return
    examples = [repr(domain[code]) for code in odd_codes[:3]]
    if codes is not None:
        rows = np.flatnonzero(np.isin(codes, odd_codes))[:3]
        row_numbers = rows if positions is None else positions[rows]
        examples = []
        for row, row_number in zip(rows.tolist(), row_numbers.tolist(), strict=True):
            examples.append(f"row {row_number + 1} ({domain[int(codes[row])]!r})")
    most_frequent = max(odd_codes, key=people.__getitem__)
    spelled = json.dumps(domain[most_frequent], ensure_ascii=False)
    raise DataError(
        f"column {name!r}: nearly all values read as {guess.kind}, but not {', '.join(examples)}"
        f"{' ...' if len(odd_codes) > 3 else ''}; correct them, or list what stands for a missing "
        f"value, such as reading = {{ missing = [{spelled}] }}; if they should stay text, add "
        f'types = {{ {json.dumps(name)} = "text" }} to the schema'
    )


def refuse_dates(name: str, domain: Sequence[Any]) -> None:
    """Raise `DataError` for a column of texts that all read as dates; `domain`: distinct values."""
    guess = nearly_all_read(domain, [1] * len(domain))
    if guess is None or guess.kind != "dates":
        return
    # A missing value, which comes first, is no date.
    texts_fit = guess.fits[1:] if domain[0] is None else guess.fits
    if not all(texts_fit):
        return
    declared = f'types = {{ {json.dumps(name)} = "date" }} to the schema'
    if guess.date_format is not None:
        declared = to_add("date_format", guess.date_format).removeprefix("add ")
    raise DataError(
        f"column {name!r} is text, and all of its values read as dates; if they are, add "
        f'{declared}; if not, types = {{ {json.dumps(name)} = "text" }}'
    )


def described(domain: Sequence[Any], *, ordered: bool = False) -> str:
    """The kind of distinct values in words, with their range or how many there are.

    `ordered` says that texts are in an order that means something.

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
    """The first and the last of ascending values, in words; `kind` is a noun for one of them."""
    return f"{kind}s {values[0]} to {values[-1]}" if len(values) > 1 else f"one {kind}, {values[0]}"


def _is_whole_with_decimals(value: Any) -> bool:
    """True for a whole number of a type with decimals, such as 7.0."""
    if isinstance(value, Decimal):
        return int(value.as_tuple().exponent) < 0 and value == value.to_integral_value()
    return isinstance(value, float) and value.is_integer()


def has_unread_numbers(values: Sequence[str]) -> bool:
    """True if nearly all texts are numbers, and some of these are written as no number is read.

    >>> has_unread_numbers(["1,200", "(300)", "45"]), has_unread_numbers(["30-39", "50+"])
    (True, False)
    """
    matches = [*filter(None, (_IN_WORDS.fullmatch(value.strip()) for value in values))]
    are_nearly_all = len(matches) >= _NEARLY_ALL * len(values) and len(values) > 2
    # Numbers in brackets or before a unit cannot be read as plain numbers.
    is_any_marked = any((match["sign"] and match["close"]) or match["unit"] for match in matches)
    return is_any_marked and are_nearly_all


# What each unit multiplies by; k stands for thousands, M may be anything.
_UNITS = {"k": "1000", "K": "1000", "%": "1"}


def _words_in_reading(values: Sequence[str]) -> str:
    """The settings of a reading that make numbers of texts such as (1,200) or 33k; "" if none."""
    matches = [*filter(None, (_IN_WORDS.fullmatch(value.strip()) for value in values))]
    units = {str(match["unit"]).strip() for match in matches if match["unit"]}
    brackets = any(match["sign"] and match["close"] for match in matches)
    # Without brackets and units: how are thousands and currencies written?
    plain = ["".join(re.findall(r"[\d.,' $€£-]", value)).strip() for value in values]
    marks = dict(amount_marks(plain))
    if not marks and any(re.search(r"\d,\d{3}\b", text) for text in plain):
        marks = {"thousands": ","}
    settings = [f'{key} = "{mark}"' for key, mark in marks.items()]
    if brackets:
        settings.append('negative = "()"')
    terms = [f"{json.dumps(unit)} = {_UNITS[unit]}" for unit in sorted(units & {*_UNITS})]
    if terms:
        settings.append(f"units = {{ {', '.join(terms)} }}")
    # Only whether texts can be read is tried out here, so any factor will do.
    known_units = dict.fromkeys(units & {*_UNITS}, 1)
    reading = Reading.of({**marks, "negative": "()" if brackets else None, "units": known_units})
    try:
        for value in values:
            reading.amounts(value)
    except ValueError:
        return ""
    return ", ".join(settings)


def doubts(name: str, domain: Sequence[Any]) -> str | None:
    """A warning that a column may have been read wrongly, and what to do about it, or None.

    Texts may be dates, numbers with a comma, or amounts; floats without decimals may be codes.
    """
    values = [value for value in domain if value is not None]
    if not values:
        return None
    if all(isinstance(value, str) for value in values):
        # Surer guesses come first.
        fitting_formats = date_formats(values, values[0])
        if fitting_formats:
            return f"looks like dates; if it is, {to_add('date_format', *fitting_formats)}"
        if has_decimal_commas(values):
            return f"looks like numbers with a decimal comma; if it is, {comma_ways(values)}"
        marks = amount_marks(values)
        if marks:
            return f"looks like amounts; if it is, {as_reading(marks)}"
        if has_unread_numbers(values):
            settings = _words_in_reading(values)
            advice = "write -1200, 33000 or 5 in the table"
            if settings:
                advice = f"to read them, add reading = {{ {settings} }} to the schema"
            return (
                "looks like numbers, some written as (1,200), 33k or 5%, and is taken for texts, "
                f"so that no value counts as near another; {advice}"
            )
    elif all(map(_is_whole_with_decimals, values)):
        return (
            "holds whole numbers with decimals, as pandas makes of codes where one is missing; if "
            f'they are codes, add types = {{ {json.dumps(name)} = "text" }} to the schema'
        )
    return None
