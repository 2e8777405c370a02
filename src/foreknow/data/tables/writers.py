"""Write tables: CSV or Parquet, without anything of the input but the columns given."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from foreknow.atomic_files import replaced
from foreknow.data.tables.views import renamed_columns
from foreknow.data.tables.views.plain_columns import simple, with_commas
from foreknow_judge.errors import DataError
from foreknow_judge.files.parquet_layout import ROWS, layout

_NOTE = b"foreknow"


def write_csv(
    table_parts: Iterable[pa.Table],
    path: Path,
    *,
    escape_formulas: bool = False,
    delimiter: str = ",",
    commas: Collection[str] = (),
    bom: bool = False,
) -> None:
    """Write the parts of a table, one after the other, as a CSV file with a header.

    Nulls are empty fields.

    Parameters
    ----------
    table_parts : iterable of tables
    path : Path
    escape_formulas : bool
        Whether an apostrophe marks texts that a spreadsheet would run.
    delimiter : str
    commas : collection of str
        The columns whose numbers have a decimal comma.
    bom : bool
        Whether the file begins with a byte order mark, by which Excel knows UTF-8.
    """
    options = pyarrow.csv.WriteOptions(quoting_style="needed", delimiter=delimiter)
    with path.open("wb") as file, ExitStack() as stack:
        file.write(BOM_UTF8 if bom else b"")
        writer = None
        for table_part in table_parts:
            table_part = with_commas(table_part, commas)
            if escape_formulas:
                rows = disarmed(table_part)
            else:
                rows = pa.table(simple(table_part), table_part.column_names)
            # The first part gives the names and types of the columns.
            if writer is None:
                writer = pyarrow.csv.CSVWriter(file, rows.schema, write_options=options)
                stack.enter_context(writer)
            writer.write_table(rows)


def disarmed(table: pa.Table) -> pa.Table:
    """A table in which an apostrophe marks texts, and names, that a spreadsheet would run."""
    columns = []
    for c in simple(table):
        columns.append(renamed_columns.disarmed(c) if pa.types.is_string(c.type) else c)
    return pa.table(columns, [*map(renamed_columns.disarm_name, table.column_names)])


def write_parts(table_parts: Iterable[pa.Table], path: Path, note: str | None = None) -> None:
    """Write parts of a table as one Parquet file that is not published, with a note.

    `read_noted` reads it. Dictionaries are written as they are, so each entry must occur. There are
    no statistics, which take as long as all the rest.
    """
    writer = None
    try:
        for table_part in table_parts:
            if note is not None:
                table_part = table_part.replace_schema_metadata({_NOTE: note})
            writer = writer or pq.ParquetWriter(
                path, table_part.schema, store_schema=note is not None, write_statistics=False
            )
            writer.write_table(table_part)
    finally:
        if writer is not None:
            writer.close()


def write_changed(
    table: pa.Table, path: Path, changed: Mapping[str, Mapping[int, str | None]]
) -> None:
    """Write a table over the file that it was read from, with new texts in some rows.

    `changed` has, by column, the new text of each row that changes, by its position; None: missing.
    """
    note = (table.schema.metadata or {}).get(_NOTE)
    for name, texts in changed.items():
        # A new text may not fit the column's type, so all of its values become texts.
        new_texts = []
        for value in table.column(name).to_pylist():
            new_texts.append(None if value is None else str(value))
        for row, text in texts.items():
            new_texts[row] = text
        position = table.column_names.index(name)
        table = table.set_column(position, name, pa.array(new_texts, pa.string()))
    with replaced(path) as new_path:
        write_parts([table], new_path, None if note is None else note.decode("utf-8", "replace"))


def write_in_parts(tables: Iterable[pa.Table], path: Path, max_rows: int | None) -> list[Path]:
    """Write a release as one Parquet file, or as a folder of files; return the paths of the files.

    Each file has at most `max_rows` rows; None: there is one file. Files are laid out as a verifier
    wants them, with nothing in them but rows.
    """
    try:
        if max_rows is None:
            write(tables, path)
            return [path]
        path.mkdir()
        files = []
        for number, pieces in groupby(_pieces(tables, max_rows), key=itemgetter(0)):
            files.append(part_of(path, number))
            write((piece for _, piece in pieces), files[-1])
    except (pa.ArrowNotImplementedError, pa.ArrowCapacityError) as error:
        raise DataError(str(error)) from None
    return files


def write(table_parts: Iterable[pa.Table], path: Path) -> int:
    """Write tables of one schema as one Parquet file of a release; return their number of rows."""
    rows = 0

    def counting_rows() -> Iterator[pa.Table]:
        """Yield the tables, and add up their rows."""
        nonlocal rows
        for table_part in table_parts:
            rows += len(table_part)
            yield table_part

    with path.open("wb") as file:
        file.writelines(layout(_batches(counting_rows())))
    return rows


def _batches(table_parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield an empty table, then all rows in batches of exactly `ROWS` rows.

    The last batch may be smaller. Batches do not depend on the parts in which rows came.
    """
    no_rows: pa.Table | None = None
    waiting: list[pa.Table] = []  # rows that do not fill a batch yet
    n_waiting = 0
    for table_part in table_parts:
        if no_rows is None:
            no_rows = table_part.slice(0, 0)
            waiting.append(no_rows)
            yield no_rows
        start = 0
        # Fill up the rows that wait to full batches.
        while len(table_part) - start >= ROWS - n_waiting:
            yield pa.concat_tables([*waiting, table_part.slice(start, ROWS - n_waiting)])
            start += ROWS - n_waiting
            waiting, n_waiting = [no_rows], 0
        waiting.append(table_part.slice(start))
        n_waiting += len(table_part) - start
    if n_waiting:
        yield pa.concat_tables(waiting)


def _pieces(tables: Iterable[pa.Table], max_rows: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield pieces of tables, each with the number of the file that it goes into.

    Each file has `max_rows` rows, but for the last. Without any rows, an empty table goes into the
    first file.
    """
    n_yielded = 0  # rows so far
    for table in tables:
        if not len(table) and not n_yielded:
            yield 0, table
        start = 0
        while start < len(table):
            # As many rows as still fit into the file.
            piece = table.slice(start, max_rows - n_yielded % max_rows)
            yield n_yielded // max_rows, piece
            start, n_yielded = start + len(piece), n_yielded + len(piece)


def part_of(folder: Path, number: int) -> Path:
    """A file of a table in parts, by its number from 0."""
    return folder / f"part-{number:05}.parquet"


def parts_of_parquet(path: Path) -> Iterator[pa.Table]:
    """Read a Parquet file of ours, a row group at a time; first of all its columns."""
    with path.open("rb") as file:
        parquet = pq.ParquetFile(file)
        yield parquet.schema_arrow.empty_table()
        for i in range(parquet.num_row_groups):
            yield parquet.read_row_group(i)


def read_noted(path: Path) -> tuple[pa.Table, str | None]:
    """Read a Parquet file, or a folder of its parts, and the note in its metadata.

    The note is None if there is none.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    try:
        tables = []
        for part_file in files:
            with part_file.open("rb") as file:
                tables.append(pq.read_table(file))
        table = pa.concat_tables(tables)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{str(path)!r} cannot be read as Parquet: {error}") from None
    note = (table.schema.metadata or {}).get(_NOTE)
    return table, None if note is None else note.decode("utf-8", "replace")
