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
from xml.etree import ElementTree

import pyarrow as pa

from foreknow.engine import Stamp, refuse_huge
from foreknow.errors import DataError

_EXACT = 1 << 53  # floats hold whole numbers up to here
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEET = "xl/worksheets/sheet1.xml"
# The members of an archive, with the elements that they may have, as many times at most.
_MEMBERS = {
    "[Content_Types].xml": {"Types": 1, "Default": 1, "Override": 2},
    "_rels/.rels": {"Relationships": 1, "Relationship": 1},
    "xl/workbook.xml": {"workbook": 1, "sheets": 1, "sheet": 1},
    "xl/_rels/workbook.xml.rels": {"Relationships": 1, "Relationship": 1},
}
_MOST_BYTES = 2000  # of each of them
_PLACE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")


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
    """The only sheet of a workbook that has nothing but texts and numbers."""
    refuse_huge([path])
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_others(archive, path)
            with archive.open(_SHEET) as sheet:
                rows = list(_rows(sheet, path.name))
    except (zipfile.BadZipFile, ElementTree.ParseError, UnicodeError, EOFError) as error:
        raise DataError(f"{path.name} is no workbook: {error}") from None
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
    strange = [own.filename for own in members if own.filename not in (*_MEMBERS, _SHEET)]
    if strange or archive.comment or len(members) != len(_MEMBERS) + 1:
        raise DataError(f"{path.name} holds more than one sheet: {(strange or ['a comment'])[0]!r}")
    for own in members:
        if own.date_time != (1980, 1, 1, 0, 0, 0) or own.comment or own.extra:
            raise DataError(f"{path.name} says of {own.filename!r} when it was written, or more")
        if own.filename == _SHEET:
            continue
        content = archive.read(own) if own.file_size <= _MOST_BYTES else b"<!"
        if b"<!" in content:
            raise DataError(f"{path.name}: {own.filename!r} holds more than it must")
        found: dict[str, int] = {}
        for element in ElementTree.fromstring(content).iter():
            tag = element.tag.rpartition("}")[2]
            found[tag] = found.get(tag, 0) + 1
            if element.text or element.tail:
                raise DataError(f"{path.name}: {own.filename!r} holds a text")
            if tag == "sheet" and (element.get("name"), len(element.attrib)) != (path.stem, 3):
                raise DataError(f"{path.name}: its sheet is not called {path.stem!r}")
        if found != _MEMBERS[own.filename]:
            raise DataError(f"{path.name}: {own.filename!r} holds more than it must")


def _rows(sheet: Any, file: str) -> Iterator[dict[int, Any]]:
    """The cells of each row, by their places; anything but a text or a number is refused."""
    known = {f"{_MAIN}{tag}" for tag in ("worksheet", "sheetData", "row", "c", "is", "t", "v")}
    number = 0
    for event, element in ElementTree.iterparse(sheet, ("start", "end")):
        if element.tag not in known:
            raise DataError(f"{file} has an element {element.tag!r}, which no release has")
        if event == "start" or element.tag != f"{_MAIN}row":
            continue
        number += 1
        if element.attrib != {"r": str(number)}:
            raise DataError(f"{file}: row {number} is hidden, out of order or has a form")
        row: dict[int, Any] = {}
        for cell in element:
            place, value = _cell(cell, number, file)
            if place in row or (row and place < max(row)):
                raise DataError(f"{file}: row {number} has cells out of order")
            row[place] = value
        yield row
        element.clear()


def _cell(cell: Any, row: int, file: str) -> tuple[int, Any]:
    """The place of a cell, and the text or number that it is."""
    place = _PLACE.fullmatch(cell.get("r", ""))
    tags = [own.tag.removeprefix(_MAIN) for own in cell.iter()]
    attributes = {key: value for key, value in cell.attrib.items() if key != "r"}
    if place and place[2] == str(row):
        column = 0
        for letter in place[1]:
            column = column * 26 + ord(letter) - 64
        if tags == ["c", "v"] and not attributes:
            return column - 1, float(cell[0].text)
        if tags == ["c", "is", "t"] and attributes == {"t": "inlineStr"}:
            return column - 1, cell[0][0].text or ""
    raise DataError(f"{file}: a cell of row {row} is neither a text nor a number")


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
