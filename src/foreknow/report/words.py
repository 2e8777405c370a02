"""Words: labels, lists and amounts as they stand in a sentence, whatever a table may contain."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from foreknow.auditing import group_name
from foreknow.labels import Label

# Marks that reverse the order of what follows them, so that a text reads as another one.
_REVERSING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HIDDEN = frozenset(("Cc", "Cs", "Zl", "Zp"))
_PLAIN_NAME = re.compile(r"[\w.+*-]+")
_COMMON_NOUN = re.compile(r"[A-Za-z]?[a-z]+(?:[ _-][a-z]+)*")


def visible(label: object) -> str:
    r"""Write a label as one line in which nothing is hidden: control characters as escapes.

    >>> visible("Flu\x1b[31m"), visible(None)
    ('Flu\\x1b[31m', 'missing')
    """
    if label is None:
        return "missing"
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if char in _REVERSING or unicodedata.category(char) in _HIDDEN
        else char
        for char in str(label)
    )


def named(label: Label) -> str:
    """Write a value inside a sentence, in quotes where its end would not be seen.

    >>> named("Flu"), named("Flu, or worse"), named("")
    ('Flu', '“Flu, or worse”', '“”')
    """
    text = visible(label)
    clear = text and text == text.strip() and not set(",;“”") & set(text)
    return text if clear else f"“{text}”"


def group_text(label: Label) -> str:
    """Write the label of a group by itself, as in a table."""
    return visible(group_name(label))


def group_words(label: Label) -> str:
    """Write the label of a group inside a sentence.

    >>> group_words(17), group_words(("20 to 37", "M"))
    ('group 17', 'group “20 to 37, M”')
    """
    text = group_text(label)
    return f"group {text}" if _PLAIN_NAME.fullmatch(text) else f"group “{text}”"


def listing(parts: Sequence[str], last: str = "and", most: int = 6) -> str:
    """Join the parts of a list; where there are more than `most`, the rest only as a number.

    >>> listing(["A", "B", "C"]), listing(list("ABCDE"), "or", most=3)
    ('A, B and C', 'A, B, C or 2 others')
    """
    if len(parts) > most + 1:
        parts = [*parts[:most], f"{number(len(parts) - most)} others"]
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def number(amount: int) -> str:
    """Write a whole number with its thousands apart."""
    return f"{amount:,}"


def average_text(average: float) -> str:
    """Write an average with one decimal, where there is one.

    >>> average_text(1400.0), average_text(2.26)
    ('1,400', '2.3')
    """
    return f"{average:,.1f}".removesuffix(".0")


def some(amount: int, one: str, several: str) -> str:
    """Write an amount of something: "one relative", "2 relatives"."""
    return f"one {one}" if amount == 1 else f"{number(amount)} {several}"


def noun_of(column: str) -> str:
    """Write the name of a column as a noun: "Blood_type" as "blood type", "ICD10" as it is.

    >>> noun_of("Blood_type"), noun_of("ICD10")
    ('blood type', 'ICD10')
    """
    text = visible(column)
    return text.replace("_", " ").lower() if _COMMON_NOUN.fullmatch(text) else text


def plural(noun: str) -> str:
    """Write a noun in the plural; what is no common English noun as "values of" it.

    >>> plural("diagnosis"), plural("salary"), plural("disease"), plural("ICD10")
    ('diagnoses', 'salaries', 'diseases', 'values of ICD10')
    """
    if not _COMMON_NOUN.fullmatch(noun):
        return f"values of {noun}"
    if noun.endswith("is"):
        return f"{noun[:-2]}es"
    if noun.endswith(("ss", "us", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("s"):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"
