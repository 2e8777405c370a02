"""Spellings: values that differ only in how they are written, and those that look misspelt."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fractions import Fraction
from functools import lru_cache

from foreknow.data.labels.labels import is_pattern
from foreknow_judge.numbers import read_number
from foreknow_judge.text import plain_spelling

# Words of so many letters may be misspelt; so many, if only one of the two is in capitals; in words
# of so many letters, two may be wrong.
_WORD, _SHORT, _LONG = 4, 6, 8
# Cyrillic and Greek letters that look like Latin ones.
_LATIN = str.maketrans("авекмнорстухіαβεζηικμνορτυχ", "abekmhopctyxiabezhikmnoptyx")
_ALIKE = {frozenset(pair) for pair in ("o0", "i1", "l1")}
_AS_DIGITS = str.maketrans("oil", "011")
_COMMAS = re.compile(r"-?[0-9]{1,3}(\.[0-9]{3})*(,[0-9]+)?|-?[0-9]+,[0-9]+")
_THOUSANDS = re.compile(r"-?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")
# A day is written so where it is a time.
_MIDNIGHT = re.compile(r"(?<=\d-\d\d)[ t]00:00(:00(\.0+)?)?(z|\+00(:?00)?)?$")
_FROM_HERE = "\u2e80"  # signs that are words, not letters
_ROMAN = re.compile(r"[ivxlc]+")
_KEPT = 100_000


class Spellings:
    """Values of a column, among which one can be found that a text looks like.

    Numbers are alike if they are one number, codes and words if they differ by case, spaces, dots,
    hyphens, zeros before digits and letters that look alike. Words are alike, too, if they begin
    with the same letter, and one letter is wrong, lacking, too many or exchanged with the next; two
    in words of eight letters and more. Short words of which one is in capitals never are, nor codes
    with other digits.

    Examples
    --------
    >>> known = Spellings(["AIDS", "B20", "1200,50", "Hepatitis B", "male", "Cold"])
    >>> [known.near(text) for text in ("AIDZ", "b 20", "B2O", "1.200,50", "Heptitis B", "B20.*")]
    ['AIDS', 'B20', 'B20', '1200,50', 'Hepatitis B', None]
    >>> [known.near(text) for text in ("B24", "Hepatitis A", "female", "120050", "COPD")]
    [None, None, None, None, None]
    """

    def __init__(self, values: Iterable[str]) -> None:
        """Index values by what two that look alike have in common, so that `near` compares few.

        That is a key (the text without what spellings differ in), a number, or the first letter and
        the number of words.
        """
        self.values = tuple(values)
        self._by_key: dict[str, list[str]] = {}
        self._by_start: dict[tuple[str, int], list[str]] = {}
        for value in self.values:
            for key in (_key(value).translate(_AS_DIGITS), *map(str, _numbers(value))):
                self._by_key.setdefault(key, []).append(value)
            words = _words_of(value)
            if words:
                self._by_start.setdefault((words[0][0], len(words)), []).append(value)

    def near(self, text: str, but: Collection[str] = ()) -> str | None:
        """The first value that a text resembles; None if there is none.

        A pattern, which ends with an asterisk, resembles a value that begins like it. Values in
        `but` are passed over.
        """
        if is_pattern(text):
            return self._beginning_like(text[:-1], but)
        # Only values with the same key, number or first letter can look like the text.
        candidates: list[str] = []
        for key in (_key(text).translate(_AS_DIGITS), *map(str, _numbers(text))):
            candidates += self._by_key.get(key, ())
        words = _words_of(text)
        if words:
            candidates += self._by_start.get((words[0][0], len(words)), ())
        for value in candidates:
            if value not in but and value != text and look_alike(text, value):
                return value
        return None

    def written_otherwise(self, text: str, but: Collection[str] = ()) -> str | None:
        """The first value that differs from a text only by case, spaces and the like; else None.

        Values in `but` are passed over.

        >>> Spellings(["B20", "AIDS"]).written_otherwise("b 20")
        'B20'
        >>> Spellings(["B20", "AIDS"]).written_otherwise("AIDZ")
        """
        # Keys are compared as they are; the index has letters such as O as digits, and is coarser.
        keys = {_key(text), *_numbers(text)} - {""}
        candidates: list[str] = [*self._by_key.get(_key(text).translate(_AS_DIGITS), ())]
        for number in _numbers(text):
            candidates += self._by_key.get(str(number), ())
        for value in candidates:
            if value in but or value == text:
                continue
            if not keys.isdisjoint({_key(value), *_numbers(value)}):
                return value
        return None

    def _beginning_like(self, start: str, but: Collection[str]) -> str | None:
        """The first value whose beginning looks like a text; None if none does.

        Values in `but` are passed over. In a word, one letter may be too many or lacking.
        """
        differences = (-1, 0, 1) if start.isalpha() else (0,)
        for value in self.values:
            if value in but:
                continue
            for difference in differences:
                length = len(start) + difference
                if 0 < length <= len(value) and look_alike(start, value[:length]):
                    return value
        return None


def look_alike(first: str, second: str) -> bool:
    """True if two texts look like one value; see `Spellings`."""
    numbers, other_numbers = _numbers(first), _numbers(second)
    # Two numbers are alike only if they are one number.
    if numbers and other_numbers:
        return not numbers.isdisjoint(other_numbers)
    if _same_signs(_key(first), _key(second)):
        return True
    if _signs(first) != _signs(second):  # such as A+ and A-
        return False
    words, other_words = _words_of(first), _words_of(second)
    if len(words) != len(other_words) or not words:
        return False
    min_letters = _WORD if first.isupper() == second.isupper() else _SHORT
    pairs = zip(words, other_words, strict=True)
    return all(_same_word(word, other_word, min_letters) for word, other_word in pairs)


def without_midnight(text: str) -> str:
    """A midnight in small letters as its day; any other text as it is.

    >>> without_midnight("2024-01-31 00:00:00"), without_midnight("2024-01-31t08:00")
    ('2024-01-31', '2024-01-31t08:00')
    """
    return _MIDNIGHT.sub("", text)


@lru_cache(_KEPT)
def _key(text: str) -> str:
    """A text without all in which spellings of one value may differ."""
    key = without_midnight(plain_spelling(text)).translate(_LATIN).strip(".")
    # Separators beside a letter go; between two digits they may mean something.
    key = re.sub(r"(?<=[^\W\d_])[\s._-]+(?=\w)|(?<=\w)[\s._-]+(?=[^\W\d_])", "", key)
    if key[:1].isalpha():  # in a code, dots between digits say nothing
        key = re.sub(r"(?<=\d)[\s.]+(?=\d)", "", key)
    return re.sub(r"(?<![\d.,])0+(?=\d)", "", key)


@lru_cache(_KEPT)
def _words_of(text: str) -> tuple[str, ...]:
    """The words of a text, in small letters."""
    return tuple(re.findall(r"[^\W_]+", plain_spelling(text)))


@lru_cache(_KEPT)
def _signs(text: str) -> str:
    """The signs of a text other than separators."""
    return re.sub(r"[\w\s]|(?<=\w)[.-](?=\w)|\.$", "", plain_spelling(text))


@lru_cache(_KEPT)
def _numbers(text: str) -> frozenset[int | Fraction]:
    """The numbers that a text may be: with a decimal point, a decimal comma, or thousands."""
    stripped = text.strip()
    ways = [stripped]
    if _COMMAS.fullmatch(stripped):
        ways.append(stripped.replace(".", "").replace(",", "."))
    if _THOUSANDS.fullmatch(stripped):
        ways.append(stripped.replace(",", ""))
    numbers = (read_number(way) for way in ways)
    return frozenset(Fraction(number) for number in numbers if number is not None)


def _same_signs(first: str, second: str) -> bool:
    """True if two texts have the same signs; a letter may stand for a digit like it."""
    return (
        len(first) == len(second) > 0
        and any(map(str.isalnum, first))
        and all(a == b or {a, b} in _ALIKE for a, b in zip(first, second, strict=True))
    )


def _same_word(first: str, second: str, min_letters: int) -> bool:
    """True if two words are one, or one may misspell the other.

    Words of fewer than `min_letters` letters never misspell each other.
    """
    if _same_signs(_key(first), _key(second)):
        return True
    letters = first + second
    # Codes with other digits, and words of signs (Chinese, say), are different values.
    if first[0] != second[0] or any(map(str.isdigit, letters)) or max(letters) >= _FROM_HERE:
        return False
    if max(len(first), len(second)) < min_letters or (
        _ROMAN.fullmatch(first) and _ROMAN.fullmatch(second)
    ):
        return False
    max_wrong = 2 if min(len(first), len(second)) >= _LONG else 1
    return abs(len(first) - len(second)) <= max_wrong and _wrong_letters(first, second) <= max_wrong


def _wrong_letters(first: str, second: str) -> int:
    """The number of letters that are wrong, lacking, too many, or exchanged with the next one.

    It is the edit distance of the two words, in which an exchange counts as one.
    """
    # Rows of the table of distances: the last one, and the one before, which an exchange needs.
    before: list[int] = []
    row: list[int] = [*range(len(second) + 1)]
    for i, letter in enumerate(first, 1):
        earlier, before, row = before, row, [i]
        for j, other_letter in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other_letter))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other_letter:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1]
