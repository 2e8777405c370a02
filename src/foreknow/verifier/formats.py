"""Formats: workbooks and files of SPSS and Stata, as `publish` writes them and nothing else.

Numbers are read as any program prints them, and an empty text is a missing value.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from foreknow.engine import Stamp, refuse_huge
from foreknow.errors import DataError

_EXACT = 1 << 53  # floats hold whole numbers up to here
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
_ROW = re.compile(r'<row r="([1-9][0-9]*)">')
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
    whole = all(x is None or (x.is_integer() and abs(x) < _EXACT) for x in known)
    return [None if x is None else str(int(x)) if whole else repr(x) for x in known]


# ---- workbooks ---------------------------------------------------------------------------------


def _sheet(path: Path) -> pa.Table:
    """The only sheet of a workbook that has nothing but texts and numbers, as they are written."""
    refuse_huge([path])
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_others(archive, path)
            text = archive.read(_SHEET).decode("utf-8")
    except (zipfile.BadZipFile, UnicodeError, EOFError, OSError) as error:
        raise DataError(f"{path.name} is no workbook: {error}") from None
    rows = list(_rows(text, path.name))
    if not rows or not all(isinstance(name, str) for name in rows[0].values()):
        raise DataError(f"{path.name} does not name its columns in its first row")
    header = rows[0]
    if [*header] != list(range(len(header))) or any(not {*row} <= {*header} for row in rows):
        raise DataError(f"{path.name} has cells in columns without a name")
    columns = [[row.get(place) for row in rows[1:]] for place in header]
    return _columns([*header.values()], columns, path.name)


def _refuse_others(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse what else may lie in a workbook: other sheets, properties, comments, times."""
    members = archive.infolist()
    names = [own.filename for own in members]
    if archive.comment or sorted(names) != sorted((*_MEMBERS, _SHEET)):
        strange = next((name for name in names if name not in (*_MEMBERS, _SHEET)), "a comment")
        raise DataError(f"{path.name} holds more than one sheet: {strange!r}")
    for own in members:
        if own.date_time != (1980, 1, 1, 0, 0, 0) or own.comment or own.extra:
            raise DataError(f"{path.name} says of {own.filename!r} when it was written, or more")
        if own.filename == _SHEET:
            continue
        wanted = (_HEAD + _MEMBERS[own.filename].replace("NAME", path.stem)).encode()
        if own.file_size != len(wanted) or archive.read(own) != wanted:
            raise DataError(f"{path.name}: {own.filename!r} holds something else than it must")


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
            row[place] = _plain(cell[4]) if cell[3] is None else float(cell[3])
            at, last = cell.end(), place
        if not text.startswith("</row>", at):
            raise DataError(f"{file}: a cell of row {number} is neither a text nor a number")
        at += len("</row>")
        yield row


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


def _statistics(path: Path) -> pa.Table:
    columns, about = _asked(path)
    for name in _BESIDE:
        if getattr(about, name, None):
            raise DataError(f"{path.name} holds {name.replace('_', ' ')} beside its columns")
    values = [[float(x) if type(x) is int else x for x in own] for own in columns.values()]
    return _columns([*columns], values, path.name)


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
