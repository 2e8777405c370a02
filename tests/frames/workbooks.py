"""Workbooks of Excel, in which a cell may be an error or a formula without a value."""

import datetime as dt
from typing import NamedTuple

import pytest


class Formula(NamedTuple):
    """A cell that holds a formula, and what it came to."""

    text: str
    value: object


ERROR, UNCOMPUTED, COMPUTED = Formula("=1/0", "#DIV/0!"), Formula("=A2+1", ""), Formula("=1+1", 2)


def write_workbook(path, sheets, merged=None):
    """Write {name of a sheet: rows of cells}; of the first sheet a range may be merged."""
    library = pytest.importorskip("xlsxwriter")
    with library.Workbook(path, {"strings_to_formulas": False}) as book:
        date = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            if merged and sheet.index == 0:
                sheet.merge_range(merged, None)
            for r, row in enumerate(rows):
                for c, cell in enumerate(row):
                    if isinstance(cell, Formula):
                        sheet.write_formula(r, c, cell.text, None, cell.value)
                    elif cell is not None:
                        sheet.write(r, c, cell, *[date] * isinstance(cell, dt.date))
    return path
