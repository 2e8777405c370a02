"""Console: texts that a terminal can show, and the look of our tables."""

from __future__ import annotations

from typing import Protocol

from rich import box
from rich.table import Table
from rich.text import Text

from foreknow.report.words import visible

# What stands for our own signs where a terminal's encoding lacks them.
_PLAIN = str.maketrans({"✓": "", "✗": "", "“": '"', "”": '"', "×": "x", "–": "-", "…": "..."})


# A file may hold a text of any length; what is said of it is to be read.
_MOST_OF_A_LINE = 3000


class Writer(Protocol):
    """Makes a text of a style that a console can show; markup in it has no effect."""

    def __call__(self, said: str, style: str = "") -> Text:
        """Make the text."""
        ...


def writer(encoding: str) -> Writer:
    """Make a writer for a console of an encoding."""

    def text(said: str, style: str = "") -> Text:
        return Text(encodable(said, encoding), style)

    return text


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


def one_line(text: str, encoding: str) -> str:
    r"""Write a text that may quote anybody's file: one line, and nothing in it steers a terminal.

    >>> one_line("no column 'a\x1b[2Jb'\nVerified", "utf-8")
    "no column 'a\\x1b[2Jb'\\nVerified"
    """
    short = text if len(text) <= _MOST_OF_A_LINE else f"{text[:_MOST_OF_A_LINE]}..."
    return encodable(visible(short), encoding)


def plain_table() -> Table:
    """A table without frame, that fits 80 columns."""
    return Table(box=box.SIMPLE_HEAD, expand=False, padding=(0, 1), pad_edge=False)
