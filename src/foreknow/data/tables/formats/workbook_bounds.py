"""How much a workbook may hold, before a reader sees it."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

from foreknow_judge.errors import DataError
from foreknow_judge.files.bounds import _BLOCK, check_unpacked

# Excel has 1,048,576 rows; with 47 columns, all filled, a sheet takes 2 GB when it is read.
MOST_CELLS = 50_000_000
_OVERLAP = 100


_PLACE = re.compile(rb'<(?:\w+:)?c\s[^<>]{0,40}?\br="([A-Z]{1,3})(\d{1,7})"')


_ROW = re.compile(rb'<(?:\w+:)?row\s[^<>]{0,40}?\br="(\d{1,7})"')


_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")


def check_workbook(path: Path, name: str) -> None:
    """Raise `DataError` for a workbook that unpacks to too many bytes, or has too many cells."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        check_unpacked(name, path.stat().st_size, sum(entry.file_size for entry in entries))
        for entry in entries:
            if re.search(r"worksheets?/[^/]*\.xml$", entry.filename, re.IGNORECASE):
                with archive.open(entry) as sheet:
                    _check_cells(sheet, name, entry.filename)


def _check_cells(sheet: Any, name: str, sheet_part: str) -> None:
    """Raise `DataError` if the rectangle that the cells of a sheet span is too large.

    A reader fills the whole rectangle, up to the last row and column. Cells name their places, such
    as B7; all cells without a place might stand in one row. `sheet` is an open file, `name` the
    workbook, and `sheet_part` the sheet's name in it.
    """
    last_row = last_column = n_cells = n_with_place = n_rows = 0
    incomplete = b""  # the end of a block, which may be a part of a tag
    while block := sheet.read(_BLOCK):
        text = incomplete + block
        end = len(text)
        if len(block) == _BLOCK:  # a tag that may go on in the next block is left for it
            end = max(text.rfind(b"<", 0, max(end - _OVERLAP, 0)), 0)
        text, incomplete = text[:end], text[end:]
        cell_references = _PLACE.findall(text)
        n_with_place += len(cell_references)
        n_cells += len(_CELL.findall(text))
        n_rows += text.count(b"<row") + text.count(b":row")
        # The last column and row that any cell names so far.
        for letters in {letters for letters, _ in cell_references}:
            last_column = max(last_column, _number(letters))
        row_numbers = [*(row for _, row in cell_references), *_ROW.findall(text)]
        last_row = max([last_row, *map(int, row_numbers)])
    # Cells without a place follow each other; a sheet has at most 2**14 columns.
    last_column = max(last_column, min(n_cells - n_with_place, 1 << 14))
    # Rows without a number count only if some cells have no place.
    height = max(last_row, n_rows if n_with_place < n_cells else 0)
    if height * last_column > MOST_CELLS:
        raise DataError(
            f"{name}: {sheet_part} reaches to row {max(last_row, n_rows):,} and column "
            f"{last_column:,}, and {MOST_CELLS:,} cells are the most; delete what lies far from "
            "the table, or save it as CSV"
        )


def _number(letters: bytes) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
