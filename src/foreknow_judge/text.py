"""Text: names and labels of anybody's file, written so that nothing in them hides or steers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Marks that reverse the order of what follows them, so that a text reads as another one.
_REVERSING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HIDDEN = frozenset(("Cc", "Cs", "Zl", "Zp"))
# What stands for our own signs where a terminal's encoding lacks them.
_PLAIN = str.maketrans({"✓": "", "✗": "", "“": '"', "”": '"', "×": "x", "–": "-", "…": "..."})
# A file may hold a text of any length; what is said of it is to be read.
_MOST_OF_A_LINE = 3000


def visible(label: object) -> str:
    r"""Write a label as one line in which nothing is hidden: control characters as escapes.

    >>> visible("Flu\x1b[31m"), visible(None)
    ('Flu\\x1b[31m', 'missing')
    """
    if label is None:
        return "missing"
    return "".join(
        _escape(char) if char in _REVERSING or unicodedata.category(char) in _HIDDEN else char
        for char in str(label)
    )


def number(amount: int) -> str:
    """Write a whole number with its thousands apart."""
    return f"{amount:,}"


def some(amount: int, one: str, several: str) -> str:
    """Write an amount of something, in the singular where it is one.

    >>> some(1, "link", "links"), some(2000, "link", "links")
    ('one link', '2,000 links')
    """
    return f"one {one}" if amount == 1 else f"{number(amount)} {several}"


def people_text(amount: int, of: str = "") -> str:
    """Write how many people there are.

    >>> people_text(12), people_text(1), people_text(12, "all"), people_text(1, "all")
    ('12 people', 'one person', 'all 12 people', 'the only person')
    """
    if of:
        return "the only person" if amount == 1 else f"{of} {number(amount)} people"
    return some(amount, "person", "people")


# Where rows are cases, and not people: what is written in place of a word, the longer ones first.
_OF_CASES = {
    "may be of one person": "may be of one person",  # and stays that
    "people who": "cases that",
    "people whom": "cases that",
    "people whose": "cases whose",
    "person who": "case that",
    "people's": "cases'",
    "people&#39;s": "cases&#39;",
    "person's": "case's",
    "of everybody": "of every case",
    "of anybody": "of any case",
    "people": "cases",
    "persons": "cases",
    "person": "case",
}
_OF_PEOPLE = re.compile(rf"(?<![\w-])(?:{'|'.join(_OF_CASES)})\b(?![=-])", re.IGNORECASE)


def in_cases(text: str, kept: Iterable[str] = ()) -> str:
    """Say of cases what is said of people: the one place where the noun is chosen.

    Texts that are `kept`, such as the labels of a table, stay as they are.

    >>> in_cases("People who have it: 3. One person is alone.")
    'Cases that have it: 3. One case is alone.'
    >>> in_cases("2 people have Sick person", ["Sick person"])
    '2 cases have Sick person'
    """
    odd = sorted((own for own in set(kept) if _OF_PEOPLE.search(own)), key=len, reverse=True)
    if not odd:
        return _OF_PEOPLE.sub(_of_cases, text)
    parts = re.split(f"({'|'.join(map(re.escape, odd))})", text)
    # What is kept stands at the odd places.
    return "".join(x if at % 2 else _OF_PEOPLE.sub(_of_cases, x) for at, x in enumerate(parts))


def _of_cases(found: re.Match[str]) -> str:
    said = _OF_CASES[found[0].lower()]
    return said.capitalize() if found[0][0].isupper() else said


def one_line(text: object, kept: str = "") -> str:
    r"""Write a message that may quote a file: cut, and what is not printable as escapes.

    >>> one_line("no column 'a\x1b[2Jb'\nVerified")
    "no column 'a\\x1b[2Jb'\\nVerified"
    """
    said = str(text)
    if len(said) > _MOST_OF_A_LINE:
        said = f"{said[:_MOST_OF_A_LINE]}..."
    return "".join(char if char.isprintable() or char in kept else _escape(char) for char in said)


def encodable(text: str, encoding: str) -> str:
    r"""Write a text with the characters that an encoding has; others plainly, or as escapes.

    >>> encodable("✗ “Grüße 中”", "latin-1")
    '"Grüße \\u4e2d"'
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.translate(_PLAIN).lstrip()
        return plain.encode(encoding, "backslashreplace").decode(encoding)
    return text


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
