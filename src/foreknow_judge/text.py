"""Text: numbers of things in words, and how texts are compared."""

from __future__ import annotations

import re
from unicodedata import ucd_3_2_0 as ucd

_MARKS = 200  # combining marks from this class on are diacritics
# Invisible characters besides those of category Cf: joiners, selectors of variants, fillers.
_UNSEEN = re.compile(
    "[\u00ad\u200b\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\uffa0\U000e0000-\U000e0fff]"
)


def number(amount: int) -> str:
    """A whole number with commas between thousands."""
    return f"{amount:,}"


def some(amount: int, singular: str, several: str) -> str:
    """An amount with its noun, in the singular if the amount is one.

    >>> some(1, "link", "links"), some(2000, "link", "links")
    ('one link', '2,000 links')
    """
    return f"one {singular}" if amount == 1 else f"{number(amount)} {several}"


def plain_spelling(text: str) -> str:
    """A text without differences of case, spaces, Unicode form and diacritics.

    Texts that look alike to a reader, such as "Crème" and "creme ", get the same spelling.
    """
    # `ucd` is a fixed version of the Unicode database, so that every version of Python agrees.
    # Decomposed again after the change of case, which may give characters that have parts.
    characters = ucd.normalize("NFKD", ucd.normalize("NFKD", text).casefold())
    if not characters.isascii() or not characters.isprintable():
        # Control and format characters are not seen; of these, tabs and newlines count as spaces.
        unseen = ("Cc", "Cf")
        seen = (c for c in characters if c.isspace() or ucd.category(c) not in unseen)
        visible = (c for c in seen if not _UNSEEN.match(c))
        # Only marks above and below letters go; in many scripts, other marks are vowels.
        characters = "".join(c for c in visible if ucd.combining(c) < _MARKS)
    return " ".join(characters.split())
