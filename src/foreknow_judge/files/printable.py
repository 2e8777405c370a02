"""Names and labels from untrusted files, so that nothing in them can mislead."""

from __future__ import annotations

import unicodedata

# Marks that reverse the direction of the text after them, so that it reads as another text.
_REVERSING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


_HIDDEN = frozenset(("Cc", "Cs", "Zl", "Zp"))


# Replacements for our own symbols where a terminal's encoding lacks them.
_PLAIN = str.maketrans({"✓": "", "✗": "", "“": '"', "”": '"', "×": "x", "–": "-", "…": "..."})


# A file may hold texts of any length; messages about them must stay readable.
_MOST_OF_A_LINE = 3000


def visible(label: object) -> str:
    r"""A label on one line with nothing hidden: control characters become escapes.

    >>> visible("Flu\x1b[31m"), visible(None)
    ('Flu\\x1b[31m', 'missing')
    """
    if label is None:
        return "missing"
    text = str(label)
    if text.isprintable():  # then no character is among those below
        return text
    return "".join(
        _escape(char) if char in _REVERSING or unicodedata.category(char) in _HIDDEN else char
        for char in text
    )


def quoted(label: object) -> str:
    """A label inside a sentence, in quotes if its end would not be seen.

    >>> quoted("Flu"), quoted("Flu, or worse"), quoted("")
    ('Flu', '“Flu, or worse”', '“”')
    """
    text = visible(label)
    clear = text and text == text.strip() and not set(",;“”") & set(text)
    return text if clear else f"“{text}”"


def one_line(text: object, unescaped: str = "") -> str:
    r"""A message that may quote a file, on one line: shortened, unprintable characters escaped.

    Characters in `unescaped` stay as they are.

    >>> one_line("no column 'a\x1b[2Jb'\nVerified")
    "no column 'a\\x1b[2Jb'\\nVerified"
    """
    message = str(text)
    if len(message) > _MOST_OF_A_LINE:
        message = f"{message[:_MOST_OF_A_LINE]}..."
    return "".join(
        char if char.isprintable() or char in unescaped else _escape(char) for char in message
    )


def encodable(text: str, encoding: str) -> str:
    r"""A text as an encoding can write it; other characters become plain ones or escapes.

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
