"""Tables that Python reads: workbooks, SQLite, and files of SPSS, Stata and SAS."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote
from xml.etree import ElementTree

import pyarrow as pa

from foreknow.bounds import check_workbook
from foreknow.data.engines.table import check_columns, choose, sql_name, sql_text
from foreknow.data.reading import Reading, to_add
from foreknow.engine import Stamp, memory_there_is
from foreknow.errors import DataError, NotEnoughMemory, short_of_memory
from foreknow.text import one_line
from foreknow.workers import Failure, side_by_side

# Fetches some columns, in the order given; an array stays, and values become one.
_Fetch: TypeAlias = "Callable[[Sequence[str]], list[Any]]"

_NUMBERS, _MOMENTS = {int, float}, {dt.date, dt.datetime}
_ROWS = 1 << 14
_EXACT = 1 << 53  # floats hold whole numbers up to here
_SAYS = {str: "a text", bool: "yes or no", int: "a number", float: "a number", bytes: "bytes"}


class FileTable:
    """A table of which some columns are fetched at once, as Python values of one type each."""

    untyped = False

    def __init__(
        self,
        name: str,
        columns: Sequence[str],
        fetch: _Fetch,
        *,
        settled: bool,
        first: int = 1,
        whole: bool = False,
    ) -> None:
        self.name = name
        self.columns = check_columns(columns, name)
        self.settled = settled
        self.notes: dict[str, str] = {}  # how some columns were read
        self.titles: dict[str, str] = {}  # what some are called, besides
        self._fetch = fetch
        self._first = first  # what the first row is called
        self._whole = whole  # whether its program has no other numbers than floats

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns."""
        return self.arrow_of_values(columns, {})

    def arrow_of_values(
        self, columns: Sequence[str], read: Mapping[str, Callable[[Any], Any]]
    ) -> pa.Table:
        """The same, with some values read anew: texts beside numbers may be nulls."""
        found = self._fetch(columns)
        for at, name in enumerate(columns):
            values = found[at]
            if name in read and not isinstance(values, pa.Array):
                values = list(map(read[name], values))
            found[at] = _whole(values) if self._whole else values
        made = [self._array(*each) for each in zip(columns, found, strict=True)]
        return pa.table(made, names=list(columns))

    def tally(self, columns: Sequence[str]) -> None:
        """Counting is faster here."""

    def _array(self, column: str, values: Any) -> Any:
        if isinstance(values, pa.Array):
            return values
        kinds = Counter(map(type, values))
        kinds.pop(type(None), None)
        if set(kinds) == _MOMENTS:
            values = [
                dt.datetime.combine(v, dt.time()) if type(v) is dt.date else v for v in values
            ]
        elif len(kinds) > 1 and set(kinds) != _NUMBERS:
            (usual, _), (odd, _) = kinds.most_common()[0], kinds.most_common()[-1]
            row = next(row for row, value in enumerate(values) if type(value) is odd)
            said = [_SAYS.get(kind, f"a {kind.__name__}") for kind in (odd, usual)]
            raise DataError(
                f"{self.name}: column {column!r} holds {said[0]} in row {row + self._first} "
                f"({values[row]!r}) and {said[1]} in others; make it one type there"
            )
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError) as error:
            raise DataError(f"{self.name}: column {column!r}: {error}") from None


def _whole(values: list[Any]) -> list[Any]:
    """Numbers of a program that has no other than floats: whole ones, if all are."""
    known = [value for value in values if value is not None]
    if not all(type(v) is float and v.is_integer() and abs(v) < _EXACT for v in known):
        return values
    return [None if value is None else int(value) for value in values]


def needs_extra(name: str, what: str) -> DataError:
    """What to install to read such a file."""
    return DataError(f'{name} needs {what}: pip install ".[files]" in a clone')


# ---- SQLite ------------------------------------------------------------------------------------


def of_sqlite(path: Path, name: str, part: str | None, reading: Reading) -> FileTable:
    """Open a table or view of a SQLite file; nothing is written to it."""
    import sqlite3

    def ask(query: str) -> dict[str, list[Any]]:
        """The columns of an answer; a few rows at a time, for Python is slow with millions."""
        try:
            place = f"file:{quote(str(path.resolve()))}?mode=ro"
            with closing(sqlite3.connect(place, uri=True)) as connection:
                connection.execute("PRAGMA trusted_schema = OFF")  # a file is no program
                if reading.encoding is not None:
                    connection.text_factory = lambda raw: raw.decode(reading.encoding)
                with closing(connection.execute(query)) as cursor:
                    found: list[list[Any]] = [[] for _ in cursor.description]
                    while rows := cursor.fetchmany(_ROWS):
                        for column, values in zip(found, zip(*rows, strict=True), strict=True):
                            column += values
                    names = [str(each[0]) for each in cursor.description]
                    return dict(zip(names, found, strict=True))
        except UnicodeDecodeError as error:
            raise DataError(f"{name}: a text is not {reading.encoding}: {error.reason}") from None
        except sqlite3.Error as error:
            if "decode to UTF-8" in str(error):
                raise DataError(
                    f"{name}: a text is not UTF-8; {to_add('encoding', 'latin-1')}"
                ) from None
            raise DataError(f"{name} cannot be read as SQLite: {error}") from None

    listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
    known = [each for each in ask(listed)["name"] if not each.startswith("sqlite_")]
    table = choose(name, "table", known, part)
    columns = ask(f"SELECT name, type FROM pragma_table_xinfo({sql_text(table)}) WHERE hidden <> 1")
    declared = dict(zip(*columns.values(), strict=True))

    def fetch(wanted: Sequence[str]) -> list[Any]:
        found = ask(f"SELECT {', '.join(map(sql_name, wanted))} FROM {sql_name(table)}")
        return [
            _moments(values) if re.search("DATE|TIME", str(declared[column]).upper()) else values
            for column, values in found.items()
        ]

    return FileTable(f"{name}, table {table}", columns["name"], fetch, settled=False)


def _moments(values: list[Any]) -> Any:
    """Texts of a column that is declared to hold dates or times; SQLite itself has neither."""
    if not all(value is None or isinstance(value, str) for value in values):
        return values
    for kind in (pa.date32(), pa.timestamp("us")):
        try:
            return pa.array(values, pa.string()).cast(kind)
        except pa.ArrowInvalid:
            continue
    return values


# ---- workbooks ---------------------------------------------------------------------------------


def of_workbook(path: Path, name: str, part: str | None) -> FileTable:
    """Open a sheet of a workbook of Excel: names of columns in its first row, and no empty row."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise needs_extra(name, "python-calamine") from None
    stamp = Stamp([path])
    try:
        check_workbook(path, name)
        title, first, rows, merged = _in_worker(_sheet, (str(path), name, part), name)
        _refuse_cells(path, name, title)
    except calamine.PasswordError:
        raise DataError(f"{name} has a password; save it without one") from None
    except (calamine.CalamineError, zipfile.BadZipFile, OSError, LookupError, SyntaxError) as error:
        raise DataError(f"{name} cannot be read as a workbook: {error}") from None
    stamp.check()
    where, top = f"{name}, sheet {title}", first + 1
    rows = [[None if cell == "" else cell for cell in row] for row in rows]
    empty = [at for at, row in enumerate(rows) if not any(cell is not None for cell in row)]
    while empty and empty[-1] == len(rows) - 1:
        empty.pop()
        rows.pop()
    if not rows:
        raise DataError(f"{where}, is empty; its first row must name the columns")
    if merged:
        raise DataError(
            f"{where}: row {min(merged)[0][0] + 1} has cells that are merged; unmerge them, so "
            "that each column has one name and each row its own values"
        )
    header, *body = rows
    odd = [cell for cell in header if not isinstance(cell, str)]
    if odd:
        raise DataError(
            f"{where}: row {top} must be the one with the names of all {len(header)} columns, and "
            f"{'no name' if odd[0] is None else repr(odd[0])} is there: delete a title above it, "
            "and fill or delete columns without a name"
        )
    if empty:
        raise DataError(f"{where}: row {top + empty[0]} is empty and others follow; delete it")
    names = [cell.strip() for cell in header]
    columns = dict(zip(names, map(list, zip(*body, strict=True)), strict=False))

    def fetch(wanted: Sequence[str]) -> list[Any]:
        return [columns.get(each, []) for each in wanted]

    return FileTable(where, names, fetch, settled=True, first=top + 1, whole=True)


def _sheet(path: str, name: str, part: str | None) -> tuple[str, int, list[Any], list[Any]]:
    """A sheet of a workbook: its title, the place of its first row, its rows and merged cells."""
    import python_calamine as calamine

    book = calamine.CalamineWorkbook.from_path(path)
    shown = [
        each.name
        for each in book.sheets_metadata
        if each.visible == calamine.SheetVisibleEnum.Visible
    ]
    title = choose(name, "sheet", shown if part is None else book.sheet_names, part)
    sheet = book.get_sheet_by_name(title)
    rows = sheet.to_python()
    return title, (sheet.start or (0, 0))[0], rows, sheet.merged_cell_ranges or []


def _in_worker(read: Callable[..., Any], given: tuple[Any, ...], name: str) -> Any:
    """What a reader gives that may end its process, or ask for all memory there is."""
    ((_, found),) = side_by_side(_caught, (read, memory_there_is()), [given], 1)
    if isinstance(found, Failure):
        raise DataError(f"{name} cannot be read: {found.why}; save it again, or as CSV")
    if isinstance(found, BaseException):
        raise found
    return found


def _caught(shared: tuple[Callable[..., Any], int], given: tuple[Any, ...]) -> Any:
    """What a reader gives, or its error, within the memory that the machine has."""
    read, memory = shared
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_AS, (memory, most))
    try:
        return read(*given)
    except Exception as error:
        return error


_CELL = re.compile(rb"<(?:\w+:)?c\s([^>]*[^/>])>(.*?)</(?:\w+:)?c>", re.DOTALL)
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s>/]")
_VALUE = re.compile(rb"<(?:\w+:)?(v|t)(\s[^>]*)?>[^<]")


def _refuse_cells(path: Path, name: str, title: str) -> None:
    """Errors such as #DIV/0!, and formulas that nothing computed yet, would be read as empty."""
    with zipfile.ZipFile(path) as archive:
        content = archive.read(_member(archive, title))
    if b't="e"' not in content and not _FORMULA.search(content):
        return
    for found in _CELL.finditer(content):
        about, inner = found.groups()
        broken = b't="e"' in about
        if broken or (
            b't="str"' not in about and _FORMULA.search(inner) and not _VALUE.search(inner)
        ):
            cell = re.search(rb'\br="(\w+)"', about)
            where = cell[1].decode() if cell else "a cell"
            what = (
                "is an error, such as #DIV/0!; correct it or make it empty"
                if broken
                else "is a formula without a value; open and save the workbook in Excel first"
            )
            raise DataError(f"{name}, sheet {title}: {where} {what}")


def _member(archive: zipfile.ZipFile, title: str) -> str:
    """The file in the archive of a workbook that holds a sheet."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    target = {link.get("Id"): link.get("Target", "") for link in links}
    for each in book.iter():
        if each.tag.endswith("}sheet") and each.get("name") == title:
            place = next((v for key, v in each.attrib.items() if key.endswith("}id")), "")
            inside = target[place]
            return inside[1:] if inside.startswith("/") else f"xl/{inside}"
    raise DataError(f"sheet {title!r} is not in the list of the workbook")


# ---- SPSS, Stata, SAS --------------------------------------------------------------------------

STATISTICS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def of_statistics(path: Path, name: str, reading: Reading) -> FileTable:
    """Open a file of SPSS, Stata or SAS; codes that all have labels are read as these.

    What a program calls missing is a null.
    """
    try:
        import pyreadstat
    except ImportError:
        raise needs_extra(name, "pyreadstat") from None
    reader = getattr(pyreadstat, STATISTICS[path.suffix.lower()])
    stamp = Stamp([path])

    def read(**how: Any) -> tuple[Any, Any]:
        try:
            found = reader(str(path), output_format="dict", encoding=reading.encoding, **how)
        except Exception as error:  # a broken file makes it fail in many ways
            if short_of_memory(error):
                raise NotEnoughMemory(f"reading {name}") from error
            encoded = isinstance(error, UnicodeError) or "invalid byte sequence" in str(error)
            more = f"; {to_add('encoding', 'latin-1')}" if encoded else ""
            said = one_line(error) or type(error).__name__
            raise DataError(f"{name} cannot be read: {said}{more}") from None
        stamp.check()
        values, about = found
        return values, about

    _, about = read(metadataonly=True)

    def fetch(wanted: Sequence[str]) -> list[Any]:
        values, _ = read(usecols=list(wanted))
        # Of pyreadstat 1.3.0 these are arrays, in which NaN is what is missing.
        bare = [getattr(values[each], "tolist", lambda own=values[each]: own)() for each in wanted]
        plain = [[v if v == v else None for v in own] for own in bare]
        return [_labelled(table, about, *each) for each in zip(wanted, plain, strict=True)]

    table = FileTable(name, about.column_names, fetch, settled=True)
    titles = about.column_names_to_labels
    table.titles = {column: title for column, title in titles.items() if title}
    return table


def _labelled(table: FileTable, about: Any, column: str, values: list[Any]) -> Any:
    """The labels of a column's codes where each has one; of an ordinal variable, in their order."""
    labels = about.variable_value_labels.get(column, {})
    codes = sorted({value for value in values if value is not None})
    given = [labels.get(code) for code in codes]
    shown = [f"{code:g}" if isinstance(code, float) else str(code) for code in codes]
    if None in given or not given:
        if any(given):
            table.notes[column] = f"codes, since {shown[given.index(None)]} has no label"
        return _whole(values)
    table.notes[column] = "labels of codes"
    times = Counter(given)
    texts = [
        label if times[label] == 1 else f"{label} ({code})"
        for label, code in zip(given, shown, strict=True)
    ]
    place = {code: at for at, code in enumerate(codes)}
    indices = pa.array([None if value is None else place[value] for value in values], pa.int32())
    ordinal = about.variable_measure.get(column) == "ordinal"
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()), ordered=ordinal)
