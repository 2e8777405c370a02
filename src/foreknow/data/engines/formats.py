"""Formats: workbooks of Excel and files of SPSS and Stata, as a release is written.

They hold the texts that CSV would have. A column whose texts are all numbers, as these are printed
when they are read, is written as numbers. A missing value is an empty cell, a missing number, or
an empty text.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.engines.typed import type_of
from foreknow.data.engines.write import frame_of, simple
from foreknow_judge.errors import InputError, OutputError

_EXACT = 1 << 53  # floats hold whole numbers up to here
LONGEST_TITLE = 80  # characters; what Stata holds
WITH_TITLES = ("sav", "dta")


def printed(table: pa.Table, columns: Sequence[str] | None = None) -> pa.Table:
    """A table with columns as the texts that the files hold: whole numbers without decimals."""
    for at, name in enumerate(table.column_names):
        if columns is None or name in columns:
            (column,) = simple(table.select([name]))
            table = table.set_column(at, name, _texts(column))
    return table


def filled(table: pa.Table) -> pa.Table:
    """The same, read from such a file: an empty text is a missing value."""
    table = printed(table)
    columns = [pc.if_else(pc.equal(own, ""), None, own) for own in table.columns]
    return pa.table(columns, names=table.column_names)


def _texts(column: Any) -> Any:
    if pa.types.is_null(column.type) or not pa.types.is_floating(column.type):
        return column.cast(pa.string())
    numbers = column.cast(pa.float64()).to_pylist()
    whole = all(x is None or (x.is_integer() and abs(x) < _EXACT) for x in numbers)
    texts = [None if x is None else str(int(x)) if whole else repr(x) for x in numbers]
    return pa.array(texts, pa.string())


def _numbers(texts: Any) -> Any | None:
    """A column as numbers, if it prints as it did before."""
    if type_of(texts) not in ("integer", "number"):
        return None
    numbers = pc.cast(texts, pa.float64())
    if pc.any(pc.match_substring_regex(texts, r"^-0(\.0*)?$")).as_py():
        return None  # programs print it as 0
    return numbers if _texts(numbers).equals(pa.array(texts.to_pylist(), pa.string())) else None


def write_as(table: pa.Table, path: Path, titles: Mapping[str, str] | None = None) -> None:
    """Write a table in the format that the name of its file says.

    `titles` are what some columns are called besides, which SPSS and Stata show.
    """
    table = printed(table)
    _refuse_texts(pa.chunked_array([table.column_names], pa.string()), "a name", path)
    for name, column in zip(table.column_names, table.columns, strict=True):
        _refuse_texts(column, f"column {name!r}", path)
    columns = [numbers if (numbers := _numbers(own)) is not None else own for own in table.columns]
    table = pa.table(columns, names=table.column_names)
    if path.suffix == ".xlsx":
        try:
            _write_workbook(table, path)
        except (RuntimeError, zipfile.LargeZipFile):  # as the archive has it
            raise OutputError(
                f"{path.name}: a sheet of more than 2 GB fits into no workbook{_OTHERWISE}"
            ) from None
    else:
        _write_statistics(table, path, titles or {})


# What none of its texts may be: characters without a form in XML, and what stands for one there;
# SPSS takes blanks off the end of a text.
_UNWRITABLE = {
    ".xlsx": (
        r"[\x00-\x08\x0b-\x1f\x{fffe}\x{ffff}]|_x[0-9A-Fa-f]{4}_",
        "characters that a workbook cannot hold",
    ),
    ".sav": (r"\s$|\x00", "blanks at its end, which SPSS takes off"),
    ".dta": (r"\x00", "characters that Stata cannot hold"),
}
_LONGEST = {".xlsx": 32767, ".sav": 32767, ".dta": 1 << 30}
_OTHERWISE = '; publish as format = "csv" or "parquet" (--format)'


def _refuse_texts(column: Any, where: str, path: Path) -> None:
    wrong, why = _UNWRITABLE[path.suffix]
    texts = pc.drop_null(pc.unique(column))
    found = texts.filter(pc.match_substring_regex(texts, wrong))
    if len(found):
        text = found[0].as_py()[:80]
        raise OutputError(f"{path.name}: {text!r} of {where} has {why}{_OTHERWISE}")
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > _LONGEST[path.suffix]:
        raise OutputError(
            f"{path.name}: a text of {where} is longer than {_LONGEST[path.suffix]:,} "
            f"bytes, and a file of that kind holds no more{_OTHERWISE}"
        )


# ---- workbooks ---------------------------------------------------------------------------------

_NS = "http://schemas.openxmlformats.org/"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPES = (
    f'<Types xmlns="{_NS}package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
)
_LINK = (
    f'<Relationships xmlns="{_NS}package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_NS}officeDocument/2006/relationships/{{kind}}" Target="{{target}}"/></Relationships>'
)
_BOOK = (
    f'<workbook xmlns="{_NS}spreadsheetml/2006/main" '
    f'xmlns:r="{_NS}officeDocument/2006/relationships"><sheets>'
    '<sheet name="{name}" sheetId="1" r:id="rId1"/></sheets></workbook>'
)
_MOST_ROWS, _MOST_COLUMNS, _BATCH = 1 << 20, 1 << 14, 1 << 14
_ON_DISK = (1980, 1, 1, 0, 0, 0)  # the day from which archives count; nobody wrote it then


def _write_workbook(table: pa.Table, path: Path) -> None:
    """Write one sheet, of texts and numbers alone: no formula, no shared texts, no properties."""
    if len(table) >= _MOST_ROWS or table.num_columns > _MOST_COLUMNS:
        raise OutputError(
            f"{path.name}: a sheet has at most {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} "
            f"columns{_OTHERWISE}"
        )
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _LINK.format(kind="officeDocument", target="xl/workbook.xml"),
        "xl/workbook.xml": _BOOK.format(name=escape(path.stem)),
        "xl/_rels/workbook.xml.rels": _LINK.format(
            kind="worksheet", target="worksheets/sheet1.xml"
        ),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(_member(name), _HEAD + content)
        with archive.open(_member("xl/worksheets/sheet1.xml"), "w") as sheet:
            sheet.write(f'{_HEAD}<worksheet xmlns="{_NS}spreadsheetml/2006/main">'.encode())
            sheet.write(b"<sheetData>")
            sheet.write(_row(1, table.column_names))
            for start in range(0, len(table), _BATCH):
                columns = [own.to_pylist() for own in table.slice(start, _BATCH).columns]
                for at, cells in enumerate(zip(*columns, strict=True), start + 2):
                    if set(cells) == {None}:
                        raise OutputError(
                            f"{path.name}: a row would be empty, since all of it is missing, and "
                            f"readers of workbooks skip it{_OTHERWISE}"
                        )
                    sheet.write(_row(at, cells))
            sheet.write(b"</sheetData></worksheet>")


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _ON_DISK)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.create_system = 3  # whatever the system is
    return member


def _row(number: int, cells: Sequence[Any]) -> bytes:
    made = [_cell(f"{_letters(at)}{number}", own) for at, own in enumerate(cells)]
    return f'<row r="{number}">{"".join(made)}</row>'.encode()


def _cell(place: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        number = str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)
        return f'<c r="{place}"><v>{number}</v></c>'
    text = escape(value, quote=False)
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _letters(place: int) -> str:
    """How Excel calls a column.

    >>> _letters(0), _letters(27)
    ('A', 'AB')
    """
    rest, last = divmod(place, 26)
    return (_letters(rest - 1) if rest else "") + chr(65 + last)


# ---- SPSS, Stata -------------------------------------------------------------------------------

# Where a file says when it was made: from where on, and what is written there in its place.
_MADE = {
    ".sav": (re.compile(rb"(?s)(?<=\A.{92}).{17}"), b"01 Jan 7000:00:00"),
    ".dta": (re.compile(rb"(?<=<timestamp>\x11).{17}"), b"01 Jan 1970 00:00"),
}


def _write_statistics(table: pa.Table, path: Path, titles: Mapping[str, str]) -> None:
    try:
        import pyreadstat
    except ImportError:
        raise OutputError(
            f'{path.name} takes pyreadstat: pip install ".[files]" in a clone{_OTHERWISE}'
        ) from None
    write: Any = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta}[path.suffix]
    labels = {name: titles[name] for name in table.column_names if name in titles}
    if path.suffix == ".sav" and len({*map(str.lower, table.column_names)}) < table.num_columns:
        raise OutputError(
            f"{path.name}: names of columns differ by capital letters alone, which are one name to "
            f"SPSS{_OTHERWISE}"
        )
    try:
        write(_frame(table, path), str(path), column_labels=labels or None)
    except (pyreadstat.PyreadstatError, pyreadstat.ReadstatError) as error:
        raise OutputError(f"{path.name} cannot be written: {error}{_OTHERWISE}") from None
    where, when = _MADE[path.suffix]
    with path.open("r+b") as file:
        found = where.search(file.read(1 << 10))
        if found is None:
            raise OutputError(f"{path.name} would say when it was written{_OTHERWISE}")
        file.seek(found.start())
        file.write(when)


def _frame(table: pa.Table, path: Path) -> Any:
    """A frame of the library that is installed, as pyreadstat takes it."""
    for library in ("polars", "pandas"):
        with suppress(InputError):
            return frame_of(table, library)
    raise OutputError(f"{path.name} takes pandas or Polars, and neither is there{_OTHERWISE}")
