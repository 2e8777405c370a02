"""Writers of workbooks and of files of SPSS and Stata.

A column whose texts are all numbers, as these print, is written as numbers. A missing value is an
empty cell, a missing number, or an empty text.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from textwrap import wrap
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.tables.views.plain_columns import frame_of, simple
from foreknow.data.tables.views.typed_columns import type_of
from foreknow.errors import OutputError
from foreknow_judge.errors import InputError

_EXACT = 1 << 53  # floats hold whole numbers up to here
LONGEST_TITLE = 80  # characters; what Stata holds
_MOST_ROWS, _MOST_COLUMNS, _MOST_OF_A_CELL = 1 << 20, 1 << 14, 32767  # of a sheet
_OTHERWISE = "; the release itself, CSV or Parquet, holds it"
_ABOUT = "About this file"
_NEVER = datetime(1980, 1, 1)  # when it was made is nobody's business


def write_workbook(
    tables: Mapping[str, pa.Table], path: Path, note: str, *, file_name: str
) -> None:
    """Write tables as sheets of one workbook, and a last sheet with a note.

    Texts stay texts: none is taken for a formula, a link or a date.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise OutputError(
            f'{file_name} takes XlsxWriter: pip install ".[files]" in a clone{_OTHERWISE}'
        ) from None
    for table in tables.values():
        _refuse_too_large(table, file_name)
        _refuse_merged(table, file_name)
    # Rows go to the file one by one, so that memory stays small.
    with xlsxwriter.Workbook(str(path), {"constant_memory": True}) as book:
        book.set_properties({"created": _NEVER, "comments": note})
        for name, table in tables.items():
            columns = [_as_cells(column).to_pylist() for column in simple(table)]
            sheet = book.add_worksheet(name)
            for column_number, title in enumerate(table.column_names):
                sheet.write_string(0, column_number, title)
            for row, cells in enumerate(zip(*columns, strict=True), start=1):
                for column_number, cell in enumerate(cells):
                    if isinstance(cell, str):
                        sheet.write_string(row, column_number, cell)
                    elif cell is not None:
                        sheet.write_number(row, column_number, cell)
        book.add_worksheet(_ABOUT).write_string(0, 0, note)


def _refuse_too_large(table: pa.Table, file_name: str) -> None:
    """Raise `OutputError` for a table with more rows, columns or signs than a workbook holds."""
    if len(table) >= _MOST_ROWS or table.num_columns > _MOST_COLUMNS:
        raise OutputError(
            f"{file_name}: a sheet has at most {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} "
            f"columns{_OTHERWISE}"
        )
    for name, column in zip(table.column_names, simple(table), strict=True):
        if pa.types.is_string(column.type):
            longest = pc.max(pc.utf8_length(column)).as_py() or 0
            if longest > _MOST_OF_A_CELL:
                raise OutputError(
                    f"{file_name}: a text of column {name!r} has {longest:,} characters, and a "
                    "cell "
                    f"holds {_MOST_OF_A_CELL:,}{_OTHERWISE}"
                )


def _refuse_merged(table: pa.Table, file_name: str, ignored: str = "") -> None:
    """Refuse texts that are one in such a file: empty and missing, or but for ends of `ignored`."""
    for name, column in zip(table.column_names, simple(table), strict=True):
        if pa.types.is_string(column.type):
            values = pc.unique(column)
            written = pc.utf8_rtrim(pc.fill_null(values, ""), ignored)
            if len(pc.unique(written)) < len(values):
                raise OutputError(
                    f"{file_name}: values of column {name!r} that differ by blanks at their end, "
                    f"or empty and missing ones, would be one value{_OTHERWISE}"
                )


def write_statistics(
    table: pa.Table, path: Path, titles: Mapping[str, str], note: str, *, file_name: str
) -> None:
    """Write one table for SPSS or Stata, by the name of its file; `titles` label its columns."""
    try:
        import pyreadstat
    except ImportError:
        raise OutputError(
            f'{file_name} takes pyreadstat: pip install ".[files]" in a clone{_OTHERWISE}'
        ) from None
    # Names that differ by case are one name to SPSS; blanks at the end of texts are lost there.
    of_spss = file_name.lower().endswith(".sav")
    names = [name.lower() for name in table.column_names]
    if of_spss and len({*names}) < len(names):
        raise OutputError(
            f"{file_name}: names of columns differ by capital letters alone, which are one name to "
            f"SPSS{_OTHERWISE}"
        )
    _refuse_merged(table, file_name, " " if of_spss else "")
    columns = list(map(_as_numbers, simple(table)))
    frame = _frame(pa.table(columns, names=table.column_names), file_name)
    titled = [name for name in table.column_names if name in titles]
    labelled: dict[str, str | None] = {name: titles[name] for name in titled}
    try:
        if of_spss:
            pyreadstat.write_sav(
                frame, str(path), column_labels=labelled or None, note=wrap(note, 80)
            )
        else:
            label = "Export; the certificate does not cover this file"
            pyreadstat.write_dta(frame, str(path), column_labels=labelled or None, file_label=label)
    except (pyreadstat.PyreadstatError, pyreadstat.ReadstatError) as error:
        raise OutputError(f"{file_name} cannot be written: {error}{_OTHERWISE}") from None


def _as_cells(column: Any) -> Any:
    """Same as `_as_numbers`, but texts where two numbers are one in a cell, of 16 digits."""
    numbers = _as_numbers(column)
    if not pa.types.is_floating(numbers.type):
        return numbers
    different = pc.unique(numbers.drop_null()).to_pylist()
    are_apart = len({f"{number:.16G}" for number in different}) == len(different)
    return numbers if are_apart else column.cast(pa.string())


def _as_numbers(column: Any) -> Any:
    """A column as numbers if all its texts are numbers that print as they did; else as texts.

    Numbers too large for a float stay texts, as do texts such as "007", "1.50" or "-0".
    """
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        numbers = pc.cast(column, pa.float64(), safe=False)
        all_fit = pc.all(pc.less_equal(pc.abs(numbers), _EXACT)).as_py()
        return numbers if all_fit is not False else column.cast(pa.string())
    texts = column.cast(pa.string())
    if type_of(texts) not in ("integer", "number"):
        return texts
    numbers = pc.cast(texts, pa.float64())
    if pc.any(pc.match_substring_regex(texts, r"^-0(\.0*)?$")).as_py():
        return texts  # programs print it as 0
    return numbers if _print_numbers(numbers) == texts.to_pylist() else texts


def _print_numbers(numbers: Any) -> list[str | None]:
    """Numbers as programs print them: without decimals if all are whole; None stays None."""
    values = numbers.to_pylist()
    present = [x for x in values if x is not None]
    are_whole = all(x.is_integer() and abs(x) < _EXACT for x in present)
    if are_whole:
        return [None if x is None else str(int(x)) for x in values]
    return [None if x is None else repr(x) for x in values]


def _frame(table: pa.Table, file_name: str) -> Any:
    """A frame of the library that is installed, as pyreadstat takes it."""
    for library in ("polars", "pandas"):
        with suppress(InputError):
            return frame_of(table, library)
    raise OutputError(f"{file_name} takes pandas or Polars, and neither is there{_OTHERWISE}")
