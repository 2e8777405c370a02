"""Tables that Python reads: workbooks, SQLite, and files of SPSS, Stata and SAS."""

from __future__ import annotations

import datetime as dt
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.compute as pc

from foreknow.data.columns.reading_rules import UTF8, Dialect, Reading, to_add
from foreknow.data.tables.formats.databases import machine_memory
from foreknow.data.tables.formats.workbook_bounds import check_workbook
from foreknow.data.tables.table import Table, check_columns, choose, sql_name, sql_text, unreadable
from foreknow.workers import Failure, side_by_side
from foreknow_judge.errors import DataError
from foreknow_judge.files.duckdb_files import Stamp

# A function that fetches some columns, in the order given: each an array, or a list of values.
_Fetch: TypeAlias = "Callable[[Sequence[str]], list[Any]]"

_NUMBERS, _MOMENTS = {int, float}, {dt.date, dt.datetime}
_ROWS = 1 << 14
_DAY = 86_400  # seconds
_EXACT = 1 << 53  # floats hold whole numbers up to here
_TYPE_NAMES = {str: "a text", bool: "yes or no", int: "a number", float: "a number", bytes: "bytes"}


class FileTable(Table):
    """A table of which some columns are fetched at once."""

    dialect = Dialect()  # how its file is written

    def __init__(
        self,
        name: str,
        columns: Sequence[str],
        fetch: _Fetch,
        *,
        has_order: bool = True,
        first_row: int = 1,
        floats_only: bool = False,
    ) -> None:
        """Take the names of columns, and a function that fetches some of them.

        Parameters
        ----------
        name : str
            The table in messages.
        columns : sequence of str
        fetch : function of names of columns
        has_order : bool
            Whether rows come in one order each time.
        first_row : int
            The number of the first row in the file.
        floats_only : bool
            Whether its program has no other numbers than floats.
        """
        # `fetch` returns the columns in the order in which they are asked for.
        self.name = name
        self.columns = check_columns(columns, name)
        self.is_stable = has_order
        self.notes: dict[str, str] = {}  # how some columns were read
        self.titles: dict[str, str] = {}  # what some are called, besides
        self._fetch = fetch
        self.first_row = first_row  # what the file calls it
        self._floats_only = floats_only  # whether its program has no other numbers than floats

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns."""
        return self.arrow_of_values(columns, {})

    def arrow_of_values(
        self, columns: Sequence[str], readers: Mapping[str, Callable[[Any], Any]]
    ) -> pa.Table:
        """Fetch some columns; `readers` are functions that change the values of some of them.

        Such a function returns None for a missing value. Columns that are Arrow arrays already
        stay.
        """
        arrays = []
        for name, values in zip(columns, self._fetch(columns), strict=True):
            if isinstance(values, pa.Array):
                arrays.append(values)
                continue
            if name in readers:
                values = [*map(readers[name], values)]
            arrays.append(self._as_array(name, values))
        return pa.table(arrays, names=list(columns))

    def _as_array(self, column: str, values: list[Any]) -> Any:
        """The values of a column as an array of one type; `DataError` if they have several types.

        Whole numbers beside floats, and dates beside times, count as one type.
        """
        types = Counter(map(type, values))
        types.pop(type(None), None)
        if len(types) > 1 and types.keys() not in (_NUMBERS, _MOMENTS):
            # The rarest type is most likely the mistake.
            usual, *_, rarest = (kind for kind, _ in types.most_common())
            row = next(row for row, value in enumerate(values) if type(value) is rarest)
            usual_text, rarest_text = (
                _TYPE_NAMES.get(kind, f"a {kind.__name__}") for kind in (usual, rarest)
            )
            raise DataError(
                f"{self.name}: column {column!r} holds {rarest_text} in row "
                f"{row + self.first_row} ({values[row]!r}) and {usual_text} in others; make it "
                "one type there"
            )
        if types.keys() == _MOMENTS:
            values = [
                dt.datetime.combine(value, dt.time()) if type(value) is dt.date else value
                for value in values
            ]
        try:
            array = pa.array(values)
        except pa.ArrowException as error:  # a float beside a whole number that no float is
            raise DataError(f"{self.name}: column {column!r}: {error}") from None
        return _as_whole_numbers(array) if self._floats_only else array


def _as_whole_numbers(array: pa.Array) -> pa.Array:
    """An array of floats as whole numbers, if all of them are whole; any other array unchanged."""
    # Larger floats need not be the number that was written.
    largest = pc.max(pc.abs(array)).as_py() if pa.types.is_floating(array.type) else None
    if largest is None or largest >= _EXACT:
        return array
    with suppress(pa.ArrowInvalid):
        return array.cast(pa.int64())
    return array


def needs_extra(name: str, what: str) -> DataError:
    """The error that names what to install to read such a file."""
    return DataError(f'{name} needs {what}: pip install ".[files]" in a clone')


# ---- SQLite ------------------------------------------------------------------------------------

_TABLES = """
SELECT name FROM sqlite_master
WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY name
"""


def sqlite_tables(path: Path, name: str, reading: Reading) -> list[str]:
    """The tables and views of a SQLite file."""
    return _sqlite_columns(path, name, reading, _TABLES)["name"]


def _sqlite_columns(path: Path, name: str, reading: Reading, query: str) -> dict[str, list[Any]]:
    """The answer of a SQLite file to a query: the list of values of each column, by its name."""
    import sqlite3

    encoding = reading.encoding or UTF8
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        with (
            closing(sqlite3.connect(uri, uri=True)) as connection,
            closing(connection.execute("PRAGMA trusted_schema = OFF")) as cursor,  # no program
        ):
            connection.text_factory = partial(str, encoding=encoding)
            cursor.execute(query)
            columns: dict[str, list[Any]] = {field[0]: [] for field in cursor.description}
            while rows := cursor.fetchmany(_ROWS):  # Python is slow with millions at once
                for column, values in zip(columns.values(), zip(*rows, strict=True), strict=True):
                    column += values
            return columns
    except UnicodeDecodeError:
        reason = f"a text is not {encoding.upper()}; {to_add('encoding', 'latin-1')}"
        raise DataError(f"{name}: {reason}") from None
    except sqlite3.Error as error:
        raise unreadable(name, error, kind=" as SQLite") from None


def of_sqlite(path: Path, name: str, table_asked: str | None, reading: Reading) -> FileTable:
    """Open a table or view of a SQLite file; nothing is written to it."""
    ask = partial(_sqlite_columns, path, name, reading)
    table = choose(name, "table", sqlite_tables(path, name, reading), table_asked)
    # Hidden columns of virtual tables (1) are not selected by SELECT *.
    fields = ask(f"SELECT name, type FROM pragma_table_xinfo({sql_text(table)}) WHERE hidden <> 1")
    declared = dict(zip(fields["name"], fields["type"], strict=True))

    def fetch(names: Sequence[str]) -> list[Any]:
        """The columns of these names; those declared as dates or times as such."""
        columns = ask(f"SELECT {', '.join(map(sql_name, names))} FROM {sql_name(table)}")
        return [
            _as_moments(values) if re.search("DATE|TIME", declared[column].upper()) else values
            for column, values in columns.items()
        ]

    return FileTable(f"{name}, table {table}", fields["name"], fetch, has_order=False)


def _as_moments(values: list[Any]) -> Any:
    """Texts of SQLite as an array of dates or times, if all are; else the values unchanged.

    SQLite has no type for dates, only declarations of columns.
    """
    for kind in (pa.date32(), pa.timestamp("us")):
        with suppress(pa.ArrowException):
            return pa.array(values, pa.string()).cast(kind)
    return values


# ---- workbooks ---------------------------------------------------------------------------------


def of_workbook(path: Path, name: str, sheet_asked: str | None) -> FileTable:
    """Open a sheet of a workbook of Excel.

    Its first row must name the columns, and no row may be empty; `sheet_asked` names the sheet,
    which may be left out where there is one. Raises `DataError` for anything that is no plain
    table.
    """
    try:
        import python_calamine as calamine
    except ImportError:
        raise needs_extra(name, "python-calamine") from None
    stamp = Stamp([path])
    try:
        check_workbook(path, name)
        # In a process of its own, since a crafted file may take all memory or end it.
        arguments = str(path), name, sheet_asked
        title, top, rows, merged = _in_worker(_read_sheet, arguments, name)
        _refuse_cells(path, name, title)
    except calamine.PasswordError:
        raise DataError(f"{name} has a password; save it without one") from None
    except (calamine.CalamineError, zipfile.BadZipFile, OSError, LookupError, SyntaxError) as error:
        raise DataError(f"{name} cannot be read as a workbook: {error}") from None
    stamp.check()
    rows = [[None if cell == "" else cell for cell in row] for row in rows]
    # Rows at the end that have no values are formatted, and were never filled.
    while rows and set(map(type, rows[-1])) <= {type(None)}:
        rows.pop()
    where = f"{name}, sheet {title}"
    problem = _problem_with(rows, top, merged)
    if problem is not None:
        raise DataError(f"{where}{problem}")
    header, *body = rows
    names = [cell.strip() for cell in header]
    columns = dict(zip(names, map(list, zip(*body, strict=True)), strict=False))

    def fetch(names: Sequence[str]) -> list[Any]:
        """The columns of these names; without rows they are empty."""
        return [columns.get(column, []) for column in names]

    return FileTable(where, names, fetch, first_row=top + 1, floats_only=True)


def _problem_with(rows: list[Any], top: int, merged: list[Any]) -> str | None:
    """Why the rows of a sheet are no table, as the rest of a sentence; None if they are one.

    `top` is the number of the first row, and `merged` has the ranges of merged cells.
    """
    if not rows:
        return " is empty; its first row must name the columns"
    if merged:
        return (
            f": row {min(merged)[0][0] + 1} has cells that are merged; unmerge them, so that each "
            "column has one name and each row its own values"
        )
    # Every column must have a name, which is a text.
    not_texts = [cell for cell in rows[0] if not isinstance(cell, str)]
    if not_texts:
        return (
            f": row {top} must be the one with the names of all {len(rows[0])} columns, and "
            f"{'no name' if not_texts[0] is None else repr(not_texts[0])} is there: delete a title "
            "above it, and fill or delete columns without a name"
        )
    for number, row in enumerate(rows, top):
        if set(map(type, row)) == {type(None)}:
            return f": row {number} is empty and others follow; delete it"
    return None


def sheets_of(path: Path) -> list[str]:
    """The sheets of a workbook that are not hidden."""
    check_workbook(path, path.name)
    sheets: list[str] = _in_worker(_visible_sheets, (str(path),), path.name)
    return sheets


def _visible_sheets(path: str) -> list[str]:
    """The titles of the sheets of a workbook that are not hidden."""
    import python_calamine as calamine

    book = calamine.CalamineWorkbook.from_path(path)
    visible = calamine.SheetVisibleEnum.Visible
    return [sheet.name for sheet in book.sheets_metadata if sheet.visible == visible]


def _read_sheet(
    path: str, name: str, sheet_asked: str | None
) -> tuple[str, int, list[Any], list[Any]]:
    """A sheet of a workbook: its title, the number of its first row, its rows and merged cells.

    `sheet_asked` is the title that is wanted; None: the only sheet that is not hidden.
    """
    import python_calamine as calamine

    book = calamine.CalamineWorkbook.from_path(path)
    # A hidden sheet may be asked for by its name.
    titles = _visible_sheets(path) if sheet_asked is None else book.sheet_names
    title = choose(name, "sheet", titles, sheet_asked)
    sheet = book.get_sheet_by_name(title)
    top, _ = sheet.start or (0, 0)
    return title, top + 1, sheet.to_python(), sheet.merged_cell_ranges or []


def _in_worker(reader: Callable[..., Any], arguments: tuple[Any, ...], name: str) -> Any:
    """The result of `reader`, called with `arguments` in a process of its own.

    Raises what it raised, and `DataError` if the process ended. `name` is the file's in messages.
    """
    ((_, outcome),) = side_by_side(_call_and_catch, (reader, machine_memory()), [arguments], 1)
    if isinstance(outcome, Failure):
        raise DataError(f"{name} cannot be read: {outcome.why}; save it again, or as CSV")
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _call_and_catch(shared: tuple[Callable[..., Any], int], arguments: tuple[Any, ...]) -> Any:
    """The result of a reader, or the error that it raised.

    Parameters
    ----------
    shared : (reader, memory)
        A function, and the bytes that this process may use from now on.
    arguments : tuple
        What the reader is called with.
    """
    reader, memory = shared
    with suppress(ImportError, ValueError, OSError):
        import resource

        # A file that unpacks to more memory then fails here, and does not bring down the machine.
        soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
        if hard_limit == resource.RLIM_INFINITY:
            is_unlimited = soft_limit == resource.RLIM_INFINITY
            new_limit = memory if is_unlimited else min(memory, soft_limit)
            resource.setrlimit(resource.RLIMIT_AS, (new_limit, hard_limit))
    try:
        return reader(*arguments)
    except Exception as error:  # returned, since the process that waits raises it
        return error


# What may be in a sheet that has an error, or a formula.
_SUSPECT = re.compile(rb"""<(?:\w+:)?f[\s/>]|\st=["']e["']""")


_ROW_TAG, _CELL_TAG = "row", "c"


def _refuse_cells(path: Path, name: str, title: str) -> None:
    """Raise `DataError` for a cell that would be read as empty, though it is not.

    Such cells are errors, as #DIV/0!, and formulas that nothing computed yet.
    """
    with zipfile.ZipFile(path) as archive:
        content = archive.read(_path_of_sheet(archive, title))
    # Parsing is slow: most sheets hold neither formulas nor errors.
    if not _SUSPECT.search(content):
        return
    for _, element in ElementTree.iterparse(BytesIO(content)):
        # The cells of a row that was read are no longer needed in memory.
        if _tag(element) == _ROW_TAG:
            element.clear()
        if _tag(element) != _CELL_TAG:
            continue
        text_of_part = {_tag(part): part.text for part in element}
        kind = element.get("t")
        if kind == "e":
            what = "is an error, such as #DIV/0!; correct it or make it empty"
        # "f" is the formula of a cell, and "v" its value.
        elif "f" in text_of_part and kind != "str" and not text_of_part.get("v"):
            what = "is a formula without a value; open and save the workbook in Excel first"
        else:
            continue
        raise DataError(f"{name}, sheet {title}: {element.get('r', 'a cell')} {what}")


def _tag(element: Any) -> str:
    """The name of an XML element, without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _path_of_sheet(archive: zipfile.ZipFile, title: str) -> str:
    """The path, inside a workbook, of the file that holds the sheet with a title."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    # The workbook lists titles with ids, and another file has the path of each id.
    path_of_id = {link.get("Id"): link.get("Target", "") for link in links}
    for element in book.iter():
        if _tag(element) == "sheet" and element.get("name") == title:
            # The name of the attribute begins with a namespace in braces.
            sheet_id = next((v for key, v in element.attrib.items() if key.endswith("}id")), "")
            return posixpath.join("xl", path_of_id[sheet_id]).removeprefix("/")
    raise DataError(f"sheet {title!r} is not in the list of the workbook")


# ---- SPSS, Stata, SAS --------------------------------------------------------------------------

STATISTICS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


# What the formats of days, moments and periods look like, in the three programs.
_FORMATS = {
    "day": r"%-?t?d.*|WORDDATX?\d*|NLDATE\d*",
    "moment": r"%-?t[cC](?!HH).*",
    "month": r"%-?tm.*|MOYR\d*|MONYY\d*|YYMON\d*|YYMM[CDNPS]?\d*|MMYY[CDNPS]?\d*",
    "quarter": r"%-?tq.*|QYR\d*|YYQ[CDNPRSZ]*\d*",
    "half year": r"%-?th.*",
    "week": r"%-?tw.*|WKYR\d*",
}
_PER_YEAR = {"month": 12, "quarter": 4, "half year": 2, "week": 52}  # of Stata
_FIRST_YEAR = 1960


def of_statistics(path: Path, name: str, reading: Reading) -> FileTable:
    """Open a file of SPSS, Stata or SAS; a column of codes that all have labels becomes labels.

    What its program calls missing is a null. What it shows as months, quarters, half years or weeks
    becomes their first days. `name` is what messages call the file.
    """
    try:
        import pyreadstat
    except ImportError:
        raise needs_extra(name, "pyreadstat") from None
    reader = getattr(pyreadstat, STATISTICS[path.suffix.lower()])
    stamp = Stamp([path])

    def read(**how: Any) -> tuple[Any, Any]:
        """The values of the file, by column, and its metadata; `how` are options of the reader."""
        try:
            contents = reader(str(path), output_format="dict", encoding=reading.encoding, **how)
        except Exception as error:  # a broken file makes it fail in many ways
            is_of_encoding = isinstance(error, UnicodeError) or "invalid byte sequence" in str(
                error
            )
            reason = f"{error}; {to_add('encoding', 'latin-1')}" if is_of_encoding else ""
            raise unreadable(name, error, reason) from None
        stamp.check()
        values, metadata = contents
        return values, metadata

    _, metadata = read(metadataonly=True)
    periods = {}
    formats: dict[str, set[str]] = {"day": set(), "moment": set()}  # which the reader is to know
    for column, text in metadata.original_variable_types.items():
        text = (text or "").rstrip(".")  # SAS may give none, or one such as MONYY7.
        periods[column] = _period_of(text)
        if text.startswith("%") and periods[column] in _PER_YEAR:
            continue  # in Stata they are numbers of periods
        if periods[column] is not None:
            formats["moment" if periods[column] == "moment" else "day"].add(text)
    as_dates = {
        "extra_date_formats": [*formats["day"]],
        "extra_datetime_formats": [*formats["moment"]],
    }

    def fetch(names: Sequence[str]) -> list[Any]:
        """The columns of these names: codes as their labels, if all have one."""
        values, _ = read(usecols=list(names), **as_dates)
        # Durations are read as times of day: only their seconds tell them apart.
        with_times = [n for n in names if any(isinstance(value, dt.time) for value in values[n])]
        if with_times:
            seconds, _ = read(usecols=with_times, disable_datetime_conversion=True)
            for column in with_times:
                _refuse_durations(name, column, seconds[column])
        arrays = []
        for column in names:
            array = _as_whole_numbers(pa.array(values[column], from_pandas=True))
            period = periods.get(column)
            if period in _PER_YEAR:
                array = _first_days(name, column, array, period)
                table.notes[column] = f"the first day of each {period}"
            arrays.append(_with_labels(table, metadata, column, array))
        return arrays

    table = FileTable(name, metadata.column_names, fetch)
    titles = metadata.column_names_to_labels
    table.titles = {column: title for column, title in titles.items() if title}
    return table


def _period_of(text: str) -> str | None:
    """The kind of time that a format of SPSS, Stata or SAS shows: a key of `_FORMATS`, or None."""
    for kind, pattern in _FORMATS.items():
        if re.fullmatch(pattern, text):
            return kind
    return None


def _first_days(name: str, column: str, array: pa.Array, period: str) -> pa.Array:
    """The first day of the month, quarter, half year or week of each date.

    Numbers are those of periods since 1960, as Stata counts. A year begins with its first week.
    Raises `DataError` for a number of no year.
    """
    days: dict[Any, dt.date | None] = {None: None}
    n_months = 12 // _PER_YEAR[period]
    for value in array.unique().drop_null().to_pylist():
        if isinstance(value, dt.date):
            year, months = value.year, value.month - 1
            weeks = (value.timetuple().tm_yday - 1) // 7
        else:
            years, weeks = divmod(int(value), _PER_YEAR[period])
            year, months = _FIRST_YEAR + years, n_months * weeks
        if not 1 <= year <= 9999:
            raise DataError(
                f"{name}: column {column!r} holds {value} as a {period} since {_FIRST_YEAR}, which "
                "is no year from 1 to 9999; make it a number there"
            )
        if period == "week":
            days[value] = dt.date(year, 1, 1) + dt.timedelta(weeks=weeks)
        else:
            days[value] = dt.date(year, months // n_months * n_months + 1, 1)
    return pa.array(map(days.__getitem__, array.to_pylist()), pa.date32())


def _refuse_durations(name: str, column: str, seconds: Sequence[float | None]) -> None:
    """Raise `DataError` for seconds that are no time of day: 25 hours would be read as 1 hour."""
    for row, value in enumerate(seconds, 1):
        if value is not None and (value < 0 or value >= _DAY):
            raise DataError(
                f"{name}: column {column!r} holds durations of a day or more, as in row {row} "
                f"({value / 3600:g} hours), which cannot be told from times of day; make it a "
                "number there, such as of hours"
            )


def _with_labels(table: FileTable, metadata: Any, column: str, array: pa.Array) -> pa.Array:
    """A column with the labels of its codes, if each code that occurs has one; else unchanged.

    Labels of an ordinal variable are in the order of their codes. The notes of the table say how
    the column was read.
    """
    label_of = metadata.variable_value_labels.get(column)
    if not label_of:
        return array
    codes = sorted(array.drop_null().unique().to_pylist())
    unlabelled = [code for code in codes if code not in label_of]
    if unlabelled or not codes:
        if len(unlabelled) < len(codes):  # some have one
            table.notes[column] = f"codes, since {unlabelled[0]} has no label"
        return array
    table.notes[column] = "labels of codes"
    times = Counter(label_of[code] for code in codes)
    # Two codes with one label stay two values, told apart by their codes.
    texts = []
    for code in codes:
        label = label_of[code]
        texts.append(label if times[label] == 1 else f"{label} ({code})")
    if len({*texts}) < len(texts):  # such as A, A and "A (1)"
        texts = [f"{label_of[code]} ({code})" for code in codes]
    indices = pc.index_in(array, pa.array(codes, array.type))
    ordinal = metadata.variable_measure.get(column) == "ordinal"
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()), ordered=ordinal)
