"""How much a workbook may hold, before a reader sees it."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

from foreknow_judge.bounds import _BLOCK, check_unpacked
from foreknow_judge.errors import DataError

# Excel has 1,048,576 rows; with 47 columns, all filled, a sheet takes 2 GB when it is read.
MOST_CELLS = 50_000_000
_OVERLAP = 100


_PLACE = re.compile(rb'<(?:\w+:)?c\s[^<>]{0,40}?\br="([A-Z]{1,3})(\d{1,7})"')


_ROW = re.compile(rb'<(?:\w+:)?row\s[^<>]{0,40}?\br="(\d{1,7})"')


_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")


def check_workbook(path: Path, name: str) -> None:
    """Raise `DataError` for a workbook that unpacks to too much, or of too many cells."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        check_unpacked(name, path.stat().st_size, sum(entry.file_size for entry in entries))
        for entry in entries:
            if re.search(r"worksheets?/[^/]*\.xml$", entry.filename, re.IGNORECASE):
                with archive.open(entry) as sheet:
                    _check_cells(sheet, name, entry.filename)


def _check_cells(sheet: Any, name: str, part: str) -> None:
    """The rectangle that a sheet declares; where a cell says no place, as if all were in a row."""
    last = widest = cells = places = rows = 0
    before = b""
    while block := sheet.read(_BLOCK):
        text = before + block
        cut = len(text) - _OVERLAP if len(block) == _BLOCK else len(text)
        cut = max(text.rfind(b"<", 0, max(cut, 0)), 0) if len(block) == _BLOCK else cut
        now, before = text[:cut], text[cut:]
        references = _PLACE.findall(now)
        places += len(references)
        cells += len(_CELL.findall(now))
        for letters in {letters for letters, _ in references}:
            widest = max(widest, _number(letters))
        if references:
            last = max(last, *(int(row) for _, row in references))
        row_numbers = _ROW.findall(now)
        rows += now.count(b"<row") + now.count(b":row")
        last = max([last, *map(int, row_numbers)])
    widest = max(widest, min(cells - places, 1 << 14))
    declared = max(last, rows if places < cells else 0) * widest
    if declared > MOST_CELLS:
        raise DataError(
            f"{name}: {part} reaches to row {max(last, rows):,} and column {widest:,}, and "
            f"{MOST_CELLS:,} cells are the most; delete what lies far from the table, or save it "
            "as CSV"
        )


def _number(letters: bytes) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
