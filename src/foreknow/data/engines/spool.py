"""Copies in our private folder of what cannot be read where it is: pipes, other encodings."""

from __future__ import annotations

import codecs
import gzip
import re
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from foreknow.data.reading import UTF8, Reading, to_add
from foreknow.engine import Stamp, new_file
from foreknow.errors import DataError

_BLOCK = 1 << 20
_ONE_BYTE = re.compile(r"iso8859|cp125|cp437|cp850|mac|koi8")
_CONTROL = re.compile(r"[\x80-\x9f]")

_OR = "save it again as UTF-8, or "

# How files of some kinds begin: from where, with what, what they are, and how they are called.
_MAGIC = (
    (0, b"PAR1", "Parquet", ".parquet"),
    (0, b"PK\x03\x04", "a workbook or an archive", ".xlsx"),
    (0, b"SQLite format 3\0", "a database of SQLite", ".sqlite"),
    (8, b"DUCK", "a database of DuckDB", ".duckdb"),
    (0, b"$FL2", "a file of SPSS", ".sav"),
    (0, b"$FL3", "a file of SPSS", ".zsav"),
    (0, b"<stata_dta>", "a file of Stata", ".dta"),
    (0, b"HEADER RECORD*******LIB", "a file of SAS", ".xpt"),
    (0, b"\xd0\xcf\x11\xe0", "a workbook of Excel before 2007", ".xls"),
)
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def content_of(first: bytes) -> tuple[str, str] | None:
    """What a file that begins so is, and how it would be called; None for a text."""
    for start, magic, what, suffix in _MAGIC:
        if first[start:].startswith(magic):
            return what, suffix
    return None


def from_pipe(pipe: Path | None, name: str) -> Path:
    """Copy a pipe, which can be read once, to a file with the extension of its kind.

    Without a path it is standard input.
    """
    if pipe is None and (sys.stdin is None or sys.stdin.closed):
        raise DataError("standard input is closed; give the name of a file instead of -")
    try:
        with nullcontext(sys.stdin.buffer) if pipe is None else pipe.open("rb") as given:
            return _copied(given, name)
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error}") from None


def _copied(given: IO[bytes], name: str) -> Path:
    first = given.read(_BLOCK)
    if not first:
        raise DataError(f"{name} is empty, or was read before")
    zipped = first.startswith(b"\x1f\x8b")
    path = new_file(".csv.gz" if zipped else (content_of(first) or ("", ".csv"))[1])
    with path.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(given, file, _BLOCK)
    return path


def as_utf8(path: Path, name: str, reading: Reading) -> Path:
    """Give a CSV file in UTF-8: itself, or a copy; what is not in the given encoding is refused."""
    zipped = path.suffix.lower() == ".gz"
    opened: Any = gzip.open if zipped else open
    try:
        with opened(path, "rb") as file:
            first = file.read(_BLOCK)
        if reading.encoding in (None, UTF8, "utf-8-sig"):
            _refuse_others(first, name)
            return path
        stamp = Stamp([path])
        copy = new_file(".csv")
        with opened(path, "rb") as file, copy.open("w", encoding=UTF8, newline="") as made:
            _copy(file, made, name, reading.encoding)
        stamp.check()
    except (OSError, EOFError) as error:
        raise DataError(f"{name} cannot be read: {error}") from None
    return copy


def _refuse_others(first: bytes, name: str) -> None:
    found = content_of(first)
    if found is not None:
        raise DataError(f"{name} is not CSV but {found[0]}; rename it to end in {found[1]}")
    for mark, encoding in _MARKS:
        if first.startswith(mark):
            found_out = f"{name} is not UTF-8 but {encoding.upper()}"
            raise DataError(f"{found_out}; {_OR}{to_add('encoding', encoding)}")
    if first[1:2] == b"\0" or first[:1] == b"\0":
        wanted = "utf-16-le" if first[1:2] == b"\0" else "utf-16-be"
        raise DataError(f"{name} is not UTF-8 but UTF-16; {_OR}{to_add('encoding', wanted)}")
    try:
        codecs.getincrementaldecoder(UTF8)().decode(first)
    except UnicodeDecodeError as error:
        line = first.count(b"\n", 0, error.start) + 1
        windows = any(0x80 <= byte < 0xA0 for byte in first)
        raise DataError(
            f"{name} is not UTF-8 (line {line}, byte {error.start + 1}); "
            f"{_OR}{to_add('encoding', 'cp1252' if windows else 'latin-1')}"
        ) from None


def _copy(file: Any, made: Any, name: str, encoding: str) -> None:
    """Decode a file, and refuse what the encoding cannot be."""
    one_byte = _ONE_BYTE.match(encoding) is not None
    decoder = codecs.getincrementaldecoder(encoding)()
    other: Any = codecs.getincrementaldecoder(UTF8)() if one_byte else None
    done, beyond_ascii = 0, False
    while True:
        block = file.read(_BLOCK)
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeError as error:
            at = done + getattr(error, "start", 0) + 1
            raise DataError(
                f"{name} is not {encoding} (about byte {at}); name the encoding that it was "
                "saved in, or save it again as UTF-8"
            ) from None
        if encoding.startswith("iso8859") and _CONTROL.search(text):
            raise DataError(
                f"{name} holds control characters if it is {encoding}; it may be that of Windows: "
                f"{to_add('encoding', 'cp1252')}"
            )
        if other is not None:
            beyond_ascii |= not block.isascii()
            try:
                other.decode(block, final=not block)
            except UnicodeDecodeError:
                other = None
        made.write(text)
        done += len(block)
        if not block:
            break
    if other is not None and beyond_ascii:
        raise DataError(f"{name} is UTF-8, not {encoding}; {to_add('encoding', UTF8)}")
