"""Missing codes: numbers that may stand for no value, such as 99 or -1, by the other values.

It is a guess that the owner is asked about, and nothing is read by it: 99 may be an age.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from foreknow.data.tables.profile.column_profile import Profile
from foreknow_judge.numbers import read_number
from foreknow_judge.text import some

# Codes that surveys use: negative numbers, and numbers beyond the others.
_NEGATIVE = re.compile(r"-([1-9]|(\d)\2+|9+[5-8])")
_BEYOND = re.compile(r"[7-9]|7{2,}|8{2,}|9+|9+[5-8]")
_OF_NINES = re.compile(r"9{3,}[5-9]")  # of a sum of money or the like
_IN_TEXTS = re.compile(r"7{2,}|8{2,}|9{2,}|9+[5-8]")
# A digit is a code where there are so few values; the most codes, the fewest other values, and the
# least distance between them.
_FEW_OF_ONE_DIGIT, _MOST_CODES, _LEAST_OTHERS, _LEAST_GAP = 10, 4, 2, 4


def missing_codes(profile: Profile) -> list[str]:
    """The numbers of a column that may stand for a missing value, as texts.

    These are a few numbers below 0, such as -1 and -99, and numbers beyond a gap that is wider than
    the span of all others, such as 999 among ages. If no number lies beyond such a gap, numbers of
    nines count that occur much more often than any other. None if too few others would remain. In a
    column of texts, these are codes among which no other number occurs.
    """
    if profile.kind == "text":
        return _among_texts(profile)
    if profile.kind != "number" or profile.distinct <= _LEAST_OTHERS:
        return []
    domain = list(profile.domain)  # ascending
    below = [value for value in domain if value < 0]
    other_values = domain[len(below) :]
    # Many numbers below 0, or others than codes usually are, are just numbers.
    if len(below) > _MOST_CODES or not all(_NEGATIVE.fullmatch(_text(v)) for v in below):
        below, other_values = [], domain
    beyond = _codes_beyond_gap(other_values) or _frequent_nines(other_values, profile)
    if len(other_values) - len(beyond) < _LEAST_OTHERS:
        return []
    return [_text(value) for value in (*below, *beyond)]


def _codes_beyond_gap(values: Sequence[Any]) -> list[Any]:
    """The highest of ascending values that look like codes of a missing value; [] if none do.

    They are farther from the other values than these from each other, and are written as such
    codes are, as 99.
    """
    # One code, or the last two, and so on: the fewest that leave such a gap.
    for number in range(1, min(_MOST_CODES, len(values) - _LEAST_OTHERS) + 1):
        codes, other_values = values[-number:], values[:-number]
        if not _BEYOND.fullmatch(_text(codes[0])):
            break
        is_far = codes[0] - other_values[-1] >= max(other_values[-1] - other_values[0], _LEAST_GAP)
        if codes[0] < 10:  # answers are numbered from 0 or 1
            are_answers = other_values[0] in (0, 1) and len(values) <= _FEW_OF_ONE_DIGIT
        else:
            are_answers = other_values[0] >= 0 and 2 * other_values[-1] < codes[0]
        if is_far and are_answers and all(map(_is_whole, other_values)):
            return list(codes)
    return []


def _frequent_nines(values: Sequence[Any], profile: Profile) -> list[Any]:
    """The last of ascending values, if they are nines that are twice as frequent as any other.

    Such as 9999 of an income; [] if there are none.
    """
    if profile.people is None:
        return []
    rows = dict(zip(profile.domain, profile.people.tolist(), strict=False))
    codes = []
    for value in values[-_MOST_CODES:]:
        if _OF_NINES.fullmatch(_text(value)):
            codes.append(value)
    other_values = [rows[value] for value in values if value not in codes]  # rows of each
    # The codes must be the highest values, with no other between.
    if not other_values or values[-len(codes) :] != codes:
        return []
    return codes if min(rows[code] for code in codes) >= 2 * max(other_values) else []


def _among_texts(profile: Profile) -> list[str]:
    """The texts that are such numbers, where the others are none."""
    texts = [str(value) for value in profile.domain]
    numbers = [text for text in texts if read_number(text) is not None]
    are_codes = all(_NEGATIVE.fullmatch(text) or _IN_TEXTS.fullmatch(text) for text in numbers)
    enough = len(texts) - len(numbers) >= _LEAST_OTHERS
    return numbers if are_codes and enough and len(numbers) <= _MOST_CODES else []


def _text(value: Any) -> str:
    """A whole number without decimals, as the code that it is."""
    return str(int(value)) if _is_whole(value) else str(value)


def _is_whole(value: Any) -> bool:
    try:
        return bool(value == int(value))
    except (OverflowError, ValueError):  # it is not finite
        return False


def codes_by_column(columns: Iterable[Profile]) -> dict[str, list[str]]:
    """The codes of each column that has some, as a reading may declare them."""
    codes = {column.name: missing_codes(column) for column in columns}
    return {name: listed for name, listed in codes.items() if listed}


def question_of(profile: Profile) -> str:
    """The question whether codes of a column, such as 999, stand for no value; "" without codes."""
    codes = missing_codes(profile)
    if not codes:
        return ""
    people = [] if profile.people is None else profile.people.tolist()
    counts = dict(zip(map(_spelled, profile.domain), people, strict=False))
    other_values = []
    for text in map(_spelled, profile.domain):
        if text not in codes:
            other_values.append(text)
    codes_with_rows = " and ".join(
        f"{code} in {some(counts[code], 'row', 'rows')}" for code in codes
    )
    span = "texts" if profile.kind == "text" else f"{other_values[0]} to {other_values[-1]}"
    return (
        f"does {codes_with_rows} stand for no value? The others are {span}. If so, uncomment "
        "missing in [schema.reading]"
    )


def _spelled(value: Any) -> str:
    return _text(value) if isinstance(value, (int, float, Decimal)) else str(value)
