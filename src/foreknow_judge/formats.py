"""Formats: workbooks and files of SPSS and Stata, as `publish` writes them and nothing else.

Numbers are read as any program prints them, and an empty text is a missing value.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from math import copysign, isinf
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from foreknow_judge.duckdb_files import Stamp, refuse_huge
from foreknow_judge.errors import DataError

_EXACT = 1 << 53  # floats hold whole numbers up to here
_MOST_ROWS = 1 << 20  # of a sheet
_SHEET = "xl/worksheets/sheet1.xml"
_NS = "http://schemas.openxmlformats.org/"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_KIND = 'ContentType="application/vnd.openxmlformats-'
_LINK = (
    f'<Relationships xmlns="{_NS}package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_NS}officeDocument/2006/relationships/'
)
# The other members of an archive, to the letter; NAME is that of the sheet.
_MEMBERS = {
    "[Content_Types].xml": f'<Types xmlns="{_NS}package/2006/content-types"><Default '
    f'Extension="rels" {_KIND}package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
    f'{_KIND}officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/{_SHEET}" '
    f'{_KIND}officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": f'{_LINK}officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_NS}spreadsheetml/2006/main" '
    f'xmlns:r="{_NS}officeDocument/2006/relationships"><sheets>'
    '<sheet name="NAME" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{_LINK}worksheet" Target="worksheets/sheet1.xml"/>'
    "</Relationships>",
}
_BEGINS = f'{_HEAD}<worksheet xmlns="{_NS}spreadsheetml/2006/main"><sheetData>'
_ENDS = "</sheetData></worksheet>"
_ROW = re.compile(r'<row r="([1-9][0-9]{0,7})">')
_CELL = re.compile(
    r'<c r="([A-Z]{1,3})([1-9][0-9]*)"(?:><v>(-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)</v>'
    r'| t="inlineStr"><is><t xml:space="preserve">([^<>]*)</t></is>)</c>'
)
# What a reader of XML, or Excel, takes for something else than it is.
_OTHERWISE = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|&(?!(?:amp|lt|gt);)|_x[0-9A-Fa-f]{4}_")


def _columns(names: list[str], columns: list[list[Any]], file: str) -> pa.Table:
    """Columns of texts; numbers as they print."""
    made = []
    for name, values in zip(names, columns, strict=True):
        kinds = {type(value) for value in values} - {type(None)}
        if kinds == {float}:
            values = _as_texts(values)
        elif not kinds <= {str}:
            raise DataError(f"{file}: column {name!r} has texts and numbers")
        made.append(pa.array([value or None for value in values], pa.string()))
    return pa.table(made, names=names)


def _as_texts(numbers: list[float | None]) -> list[str | None]:
    known = [None if x is None or x != x else x for x in numbers]
    if any(x is not None and (isinf(x) or (x == 0 and copysign(1, x) < 0)) for x in known):
        raise DataError("a column has an infinite number, or a zero with a sign")
    whole = all(x is None or (x.is_integer() and abs(x) < _EXACT) for x in known)
    return [None if x is None else str(int(x)) if whole else repr(x) for x in known]


# ---- workbooks ---------------------------------------------------------------------------------


def _sheet(path: Path) -> pa.Table:
    """The only sheet of a workbook that has nothing but texts and numbers, as they are written."""
    refuse_huge([path])
    members = _members(path.read_bytes(), path.name)
    for name, own in _MEMBERS.items():
        if members[name] != (_HEAD + own.replace("NAME", path.stem)).encode():
            raise DataError(f"{path.name}: {name!r} holds something else than it must")
    try:
        text = members[_SHEET].decode("utf-8")
    except UnicodeError as error:
        raise DataError(f"{path.name} is no workbook: {error}") from None
    rows = list(_rows(text, path.name))
    if not rows or not all(isinstance(name, str) for name in rows[0].values()):
        raise DataError(f"{path.name} does not name its columns in its first row")
    header = rows[0]
    if [*header] != list(range(len(header))) or any(not {*row} <= {*header} for row in rows):
        raise DataError(f"{path.name} has cells in columns without a name")
    columns = [[row.get(place) for row in rows[1:]] for place in header]
    return _columns([*header.values()], columns, path.name)


def _members(content: bytes, file: str) -> dict[str, bytes]:
    """The members of an archive, of which each byte is accounted for.

    Programs differ in where they look for members: at their heads, or in the directory, and for
    that before its end or where this says. So there is one way to write all of these.
    """
    at, directory, found = 0, b"", dict[str, bytes]()
    for name in (*_MEMBERS, _SHEET):
        own, begin = name.encode(), at + 30 + len(name)
        if content[:4] != b"PK\3\4" or len(content) < begin:
            raise DataError(f"{file} is no workbook")
        packing, moment, day, check, packed, size = struct.unpack(
            "<3H3L", content[at + 8 : at + 26]
        )
        if content[at + 30 : begin] != own:
            raise DataError(f"{file} holds more than one sheet, or not {name!r} in its place")
        if (moment, day) != (0, 0x21):
            raise DataError(f"{file} says of {name!r} when it was written")
        head = struct.pack("<5H3L2H", 20, 0, packing, 0, 0x21, check, packed, size, len(own), 0)
        found[name] = _unpacked(content[begin : begin + packed], packing, file)
        if content[at : at + 30] != b"PK\3\4" + head or (len(found[name]), crc32(found[name])) != (
            size,
            check,
        ):
            raise DataError(f"{file}: {name!r} is not as it is said to be")
        directory += b"PK\1\2" + struct.pack("<2B", 20, 3) + head
        directory += struct.pack("<3H2L", 0, 0, 0, 0o600 << 16, at) + own
        at = begin + packed
    if content[at : at + 4] == b"PK\3\4":
        raise DataError(f"{file} holds more than one sheet")
    many = len(found)
    ends = struct.pack("<4H2LH", 0, 0, many, many, len(directory), at, 0)
    if content[at:] != directory + b"PK\5\6" + ends:
        raise DataError(f"{file} holds something else than its members")
    return found


def _unpacked(content: bytes, packing: int, file: str) -> bytes:
    if packing == 0:
        return content
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        made = inflate.decompress(content)
    except zlib.error as error:
        raise DataError(f"{file} is no workbook: {error}") from None
    if packing != zlib.DEFLATED or not inflate.eof or inflate.unused_data:
        raise DataError(f"{file} holds something else than its members")
    return made


def _rows(text: str, file: str) -> Iterator[dict[int, Any]]:
    """The cells of each row, by their places; anything but a text or a number is refused."""
    if not (text.startswith(_BEGINS) and text.endswith(_ENDS)) or _OTHERWISE.search(text):
        raise DataError(f"{file} holds something else than the cells of a sheet")
    at, end, number = len(_BEGINS), len(text) - len(_ENDS), 0
    while at < end:
        number += 1
        begun = _ROW.match(text, at)
        if begun is None or begun[1] != str(number):
            raise DataError(f"{file}: row {number} is hidden, out of order or has a form")
        at, last = begun.end(), -1
        row: dict[int, Any] = {}
        while (cell := _CELL.match(text, at)) is not None:
            place = _place(cell[1])
            if cell[2] != str(number) or place <= last:
                raise DataError(f"{file}: row {number} has cells out of order")
            row[place] = _plain(cell[4]) if cell[3] is None else _number(cell[3])
            if row[place] in ("", None):  # or a cell that is there would be as one that is not
                raise DataError(f"{file}: {cell[1]}{number} is empty, or no number as it prints")
            at, last = cell.end(), place
        if not text.startswith("</row>", at):
            raise DataError(f"{file}: a cell of row {number} is neither a text nor a number")
        at += len("</row>")
        if not row or number > _MOST_ROWS:
            raise DataError(f"{file}: row {number} is empty, or beyond what programs read")
        yield row


def _number(text: str) -> float | None:
    """A number, if it is written in the one way; others would tell equal numbers apart."""
    number = float(text)
    printed = str(int(number)) if number.is_integer() and abs(number) < _EXACT else repr(number)
    return number if printed == text else None


def _place(letters: str) -> int:
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - 64
    return column - 1


def _plain(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# ---- SPSS, Stata -------------------------------------------------------------------------------


def _asked(path: Path, **how: Any) -> tuple[Mapping[str, list[Any]], Any]:
    try:
        import pyreadstat
    except ImportError:
        raise DataError(
            f'{path.name} takes pyreadstat: pip install ".[files]" in a clone'
        ) from None
    read = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}[path.suffix]
    try:
        found: tuple[Mapping[str, list[Any]], Any] = read(
            str(path), output_format="dict", disable_datetime_conversion=True, **how
        )
    except Exception as error:  # a broken file makes it fail in many ways
        raise DataError(f"{path.name} cannot be read: {error}") from None
    return found


# What such a file may hold beside its columns; their titles are compared with the code book.
_BESIDE = ("notes", "file_label", "variable_value_labels", "value_labels", "missing_ranges",
           "missing_user_values", "mr_sets", "table_name")  # fmt: skip

# How columns are shown: no numbers as dates or without their decimals.
_SHOWN = {".sav": re.compile(r"A[0-9]+|F8\.2"), ".dta": re.compile(r"%-?[0-9]+s|%10\.0g")}
# What stands right before the rows, and what after them, up to the end.
_AROUND = {
    ".sav": (b"\xe7\x03\0\0\0\0\0\0", b""),
    ".dta": (
        b"<characteristics></characteristics><data>",
        b"</data><strls></strls><value_labels></value_labels></stata_dta>",
    ),
}


def _statistics(path: Path) -> pa.Table:
    refuse_huge([path])
    # What the owner declares missing is read, or it would be in the file and not be judged.
    columns, about = _asked(path, user_missing=True)
    for name in _BESIDE:
        if getattr(about, name, None):
            raise DataError(f"{path.name} holds {name.replace('_', ' ')} beside its columns")
    for name, shown in about.original_variable_types.items():
        if not _SHOWN[path.suffix].fullmatch(shown):
            raise DataError(f"{path.name} shows column {name!r} as {shown}, not as it is")
    _refuse_more(path, about)
    values = [[float(x) if type(x) is int else x for x in own] for own in columns.values()]
    return _columns([*columns], values, path.name)


def _refuse_more(path: Path, about: Any) -> None:
    """Refuse what is in the rows and no reader says, and rows beyond those that are counted."""
    content, of_spss = path.read_bytes(), path.suffix == ".sav"
    before, after = _AROUND[path.suffix]
    places, width = dict[str, slice](), 0
    for name, own in about.variable_storage_width.items():
        if of_spss:  # which parts long texts, and fills parts up
            whole, rest = divmod(own, 252) if own > 255 else (0, own)
            own = whole * 256 + -(-rest // 8) * 8
        elif about.readstat_variable_types[name] == "string":
            own -= 1  # for the end, which is not in the file
        places[name] = slice(width, width + own)
        width += own
    size = about.number_rows * width
    start = len(content) - len(after) - size
    if not content[:start].endswith(before) or not content.endswith(after):
        raise DataError(f"{path.name} holds something else than its rows")
    rows = np.frombuffer(content, np.uint8, size, start).reshape(about.number_rows, width)
    for name, kind in about.readstat_variable_types.items():
        own = np.ascontiguousarray(rows[:, places[name]])
        if kind == "double":
            numbers = own.view("<f8")
            most = np.finfo(float).max if of_spss else 2.0**1023  # what stands for missing
            odd = ~(numbers > -most if of_spss else numbers < most)
            wrong = odd & (numbers != (-most if of_spss else most))
        elif kind == "string":
            # Readers stop where a text ends.
            wrong = own == 0 if of_spss else (own[:, 1:] != 0) & (own[:, :-1] == 0)
        else:
            raise DataError(f"{path.name}: column {name!r} is stored as {kind}")
        if wrong.any():
            raise DataError(
                f"{path.name}: column {name!r} has several kinds of missing values, or more than "
                "its texts"
            )


READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".xlsx": _sheet,
    ".sav": _statistics,
    ".dta": _statistics,
}


class OtherFile(Stamp):
    """A file of another program, as it is now."""

    def __init__(self, path: Path) -> None:
        super().__init__([path])
        self._path = path

    @cached_property
    def rows(self) -> pa.Table:
        """What is in it, as texts."""
        return READERS[self._path.suffix](self._path)


def labels_of(table: Any) -> dict[str, str] | None:
    """What SPSS or Stata call the columns of a file besides; None where files have no such."""
    path = table[0] if isinstance(table, list) else table
    if not isinstance(path, Path) or READERS.get(path.suffix) is not _statistics:
        return None
    _, about = _asked(path, metadataonly=True)
    return {name: title for name, title in about.column_names_to_labels.items() if title}
