"""Reads hierarchy files: value; level 1; level 2; ...; * with any of three delimiters."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from foreknow.errors import HierarchyError


def read_rows(path: Path) -> tuple[list[list[str]], list[int]]:
    """Read the cells of a hierarchy file, and the line that each row starts in.

    The delimiter (``;``, tab or ``,``, the first of them that the first line has outside quotes)
    is found, not asked for. Cells may be quoted, spaces around them do not count, and blank lines
    are skipped.

    Parameters
    ----------
    path : Path
        A UTF-8 file, with or without a byte order mark.

    Raises
    ------
    HierarchyError
        If the file cannot be read, is empty, is not UTF-8, or has a quote out of place.
    """
    shown = f"hierarchy file '{path}'"
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise HierarchyError(f"{shown} does not exist") from None
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            line = error.object.count(b"\n", 0, error.start) + 1
            raise HierarchyError(f"{shown}, line {line}: not UTF-8; save it as UTF-8") from None
        reason = getattr(error, "strerror", None) or error
        raise HierarchyError(f"{shown} cannot be read: {reason}") from None
    first = next((line for line in text.splitlines() if line.strip()), None)
    if first is None:
        raise HierarchyError(f"{shown} is empty; it needs rows like 'value;level 1;*'")
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=_delimiter(first),
        skipinitialspace=True,
        strict=True,  # otherwise a quote that is never closed would swallow the rest in silence
    )
    rows: list[list[str]] = []
    lines: list[int] = []
    start = 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if len(cells) > 1 or any(cells):
                rows.append(cells)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise HierarchyError(f"{shown}, line {start}: {error}; check its quotes") from None
    return rows, lines


def _delimiter(line: str) -> str:
    """The delimiter that a line uses.

    >>> _delimiter('"a;b",c,*')
    ','
    """
    outside = "".join(line.split('"')[::2])  # a doubled quote leaves an empty piece: no harm
    return next((mark for mark in ";\t," if mark in outside), ",")
