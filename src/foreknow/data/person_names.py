"""Person names: which of them are one but for how they are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from foreknow.errors import SchemaError, did_you_mean

_DIGIT = re.compile(r"\d")
# Numbers with an exponent or with marks between thousands; and all that may be numbers.
MARKED = r"^\s*\d+([.,]\d+)?[eE]\d\d?\s*$|^\s*\d{1,3}([., '’]\d{3})+\s*$"
NUMBERS = r"^\s*[\d.,'’ ]+([eE]\+?\d+)?\s*$"
# Marks between a letter and a digit, and zeros before a number that is no decimal.
_BETWEEN = re.compile(r"(?<=[^\W\d_])[-_./]+(?=\d)|(?<=\d)[-_./]+(?=[^\W\d_])")
_ZEROS = re.compile(r"(?<![\d.,])0+(?=\d)")


def bare_name(name: str) -> str:
    """A name without what programs add to it or leave out.

    That is capitals, blanks, signs that nobody sees, zeros before a number, decimals that are
    zero, the hour of a midnight, and a plus sign before.

    >>> bare_name(" 0042.0"), bare_name("A-7"), bare_name("+7"), bare_name("2020-01-01 00:00:00")
    ('42', 'a-7', '7', '2020-01-01')
    >>> bare_name("1.2e+16"), bare_name("1,2E6"), bare_name("3,0"), bare_name("1,000")
    ('12000000000000000', '1200000', '3', '1,000')
    """
    # The usual case, in which nothing has to be taken away, fast.
    if name.isascii() and name.isalnum() and name[0] != "0":
        return name.lower()
    text = "".join(unicodedata.normalize("NFKC", name).casefold().split())
    if not text.isascii():  # nobody sees joiners, or the mark at the start of a file
        text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    text = text.strip("+")
    if re.fullmatch(r"\d[.,]\d+e\d\d?|\d([.,]\d+)?e\+\d\d?", text, re.ASCII):  # large numbers
        text = f"{Decimal(text.replace(',', '.')):f}"
    # Zeros before a number; .0 or ,0 or ,00 after one; the midnight of a date.
    return re.sub(r"\A0+(?=\d)|\.0+\Z|(?<=\d),00?\Z|(?<=\d)t?00:00:00(\.0+)?\Z", "", text)


def same_name(name: str, names: Iterable[str]) -> str:
    """A hint that names the same name in another spelling, if there is one.

    >>> same_name("1000", ["00001000", "00010009"]), same_name("1001", ["00001000", "1000"])
    ("; did you mean '00001000'?", '')
    """
    bare = bare_name(name)
    same = []
    for candidate in dict.fromkeys(names):
        if bare_name(candidate) == bare:
            same.append(candidate)
    # Of several candidates, none can be the one that is meant.
    return f"; did you mean {same[0]!r}?" if len(same) == 1 else ""


def like_name(name: str, names: Sequence[str]) -> str:
    """A hint that names a similar name; "" if there is none.

    A number that is similar is another person, so for names with digits only other spellings of the
    same name are suggested.
    """
    known_names = []
    for candidate in names:
        if not _DIGIT.search(candidate):
            known_names.append(candidate)
    suggestion = "" if _DIGIT.search(name) or not known_names else did_you_mean(name, known_names)
    return same_name(name, names) or suggestion


def _as_number(name: str) -> str:
    """The digits of a number that is written with an exponent, or with marks between thousands.

    >>> _as_number("1e3"), _as_number("1.000"), _as_number("7")
    ('1000', '1000', '7')
    """
    if not re.match(MARKED, name, re.ASCII):
        return bare_name(name)
    text = name.strip().lower().replace(",", ".")
    return f"{Decimal(text):f}" if "e" in text else re.sub(r"\D", "", text)


def _without_marks(name: str) -> str:
    """A bare name without zeros before its numbers, and without marks between letters and digits.

    >>> [_without_marks(name) for name in ("X01", "a-1", "a-10 b", "1-11", "11-1", "1.05")]
    ['x1', 'a1', 'a10b', '1-11', '11-1', '1.05']
    """
    return _ZEROS.sub("", _BETWEEN.sub("", bare_name(name)))


def refuse_two_spellings(names: Iterable[Any], column: str, *, repeated: bool = False) -> None:
    """Raise `SchemaError` if two names are one but for how they are written.

    Where all names are numbers, 1e3 and 1.000 are 1000; else 1e3 may be a code beside 1f3.
    `column` is what messages call the column. With `repeated`, a name stands in several rows, such
    as that of a household, and x01 and x-1 are x1, too.
    """
    texts = [name for name in names if isinstance(name, str)]
    are_numbers = all(re.match(NUMBERS, text, re.ASCII) for text in texts)
    first_of: dict[str, str] = {}  # the first name with each bare name
    for name in texts:
        # Every form in which this name could be taken for another one.
        bare_names = [bare_name(name)]
        if are_numbers:
            bare_names.append(_as_number(name))
        if repeated:
            bare_names.append(_without_marks(name))
        for bare in bare_names:
            earlier = first_of.setdefault(bare, name)
            if earlier != name:
                raise SchemaError(
                    f"{name!r} and {earlier!r} of {column} look like one, and would be "
                    "counted as two: write them in one way; if they are two, number them"
                )
