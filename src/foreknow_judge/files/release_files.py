"""Files of a written release: opened by their literal names, counted as another reader would."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from foreknow_judge.counts.group_bags import Column, Ints
from foreknow_judge.errors import CertificateError, DataError
from foreknow_judge.files.duckdb_files import (
    CsvFile,
    Stamp,
    in_threads,
    literal,
    read_parquet,
    refuse_large_files,
)

File: TypeAlias = CsvFile | Stamp

# Types whose different values print differently. Not so nanoseconds, which are cut off on the way
# to Python, and intervals, since a month is thirty days to DuckDB.
_PLAIN = re.compile(
    r"VARCHAR|BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(.*|DATE|TIME"
    r"|TIMESTAMP(_S|_MS)?|UUID|ENUM\(.*|\"?NULL\"?",
    re.DOTALL,
)
# Types that DuckDB prints as Python does.
_AS_TEXT = re.compile(r"VARCHAR|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|ENUM\(.*|\"?NULL\"?")
# Types of which only the distinct values are turned into texts.
_WHOLE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)")
# How `escape_formulas` marks texts; taking one apostrophe off undoes it.
_DISARMED = re.compile(r"'('*[=+\-@\t\r])")
_EXCHANGED = str.maketrans(".,", ",.")
_SMALL = 1 << 20  # bytes
_ARMED = re.compile(r"[=+\-@\t\r]")


def files_of(tables: Mapping[str, Any], delimiter: str = ",") -> dict[str, File]:
    """A `CsvFile` or, for Parquet, a `Stamp` for each table that is a file, as the file is now.

    Both notice if the file changes. Tables in memory are left out.
    """
    paths = {name: paths_of(table) for name, table in tables.items()}
    files: dict[str, File] = {}
    for name, table_paths in paths.items():
        if table_paths and table_paths[0].suffix == ".csv":
            files[name] = CsvFile(table_paths[0], delimiter)
        elif table_paths:
            files[name] = Stamp(table_paths)
    return files


def paths_of(table: Any) -> list[Path]:
    """The files of a table: one, or its parts; none for a table in memory."""
    return [table] if isinstance(table, Path) else [*table] if isinstance(table, list) else []


def open_written(connection: Any, table: Any, file: File | None) -> tuple[list[str], Any]:
    """The names of a table's columns, and a relation of DuckDB in which they are c0, c1, ...

    `table` is an Arrow table, or the paths of its files; `file` is what `files_of` has of it.
    """
    if isinstance(file, CsvFile):
        return file.header, file.relation(connection)
    if paths := paths_of(table):
        refuse_large_files(paths)
        rows = _columns_of(connection, paths[0])
        header = [name for name, *_ in rows]
        if any(kind == "INT96" for _, kind, *_ in rows):  # DuckDB cuts its nanoseconds off
            raise DataError("ambiguous-type", "INT96")
        for path in paths[1:]:  # or DuckDB would cast them
            if _columns_of(connection, path) != rows:
                raise DataError("other-columns", f"{path.name} and {paths[0].name}")
        relation = read_parquet(connection, paths)
        inner = ['"' + column.replace('"', '""') + '"' for column in relation.columns]
        return header, relation.project(", ".join(f"{c} AS c{i}" for i, c in enumerate(inner)))
    header = table.column_names
    return header, connection.from_arrow(
        table.rename_columns([f"c{i}" for i in range(len(header))])
    )


def _columns_of(connection: Any, path: Path) -> list[tuple[Any, ...]]:
    """Each column of a Parquet file: its name, and how it is stored."""
    query = (
        "SELECT name, type, converted_type, logical_type::VARCHAR, type_length, precision, scale "
        "FROM parquet_schema(?) WHERE coalesce(num_children, 0) = 0"
    )
    columns: list[tuple[Any, ...]] = connection.execute(query, [literal(path)]).fetchall()
    return columns


def holds_rows_alone(connection: Any, path: Path) -> bool:
    """True if a Parquet file has the layout of a release, and so holds nothing but its rows."""
    from foreknow_judge.files.parquet_layout import ROWS, is_ours

    # How many row groups are compressed or too large: only without these is it safe to read them.
    query = (
        "SELECT count(*) FROM parquet_metadata(?) WHERE compression <> 'UNCOMPRESSED' "
        f"OR row_group_num_rows > {ROWS} OR num_values > {ROWS}"
    )
    ((large,),) = connection.execute(query, [literal(path)]).fetchall()
    return not large and is_ours(path)


def count_rows(
    connection: Any,
    relation: Any,
    column_sets: Sequence[Sequence[str]],
    has_few_texts: bool = False,
) -> list[tuple[list[Column], Ints]]:
    """For each set of columns, the distinct rows as they print, and how often each occurs.

    All are counted in one scan of the table. With `has_few_texts`, the results are taken without
    Arrow, since importing it takes longer than all the rest.
    """
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    keys = [*dict.fromkeys(chain(*column_sets))]  # all columns, each once
    converted, texts = list[str](), list[str]()  # SQL to group by, and to return
    for key in keys:
        if not _PLAIN.fullmatch(types[key]):  # different values of such a type may print alike
            raise DataError("ambiguous-type", types[key])
        as_text = f"CAST({key} AS VARCHAR)"
        # Floats are grouped as texts, so that 0.0 and -0.0 differ.
        converted.append(f"{as_text} AS {key}" if types[key] in ("FLOAT", "DOUBLE") else key)
        texts.append(key if _WHOLE.fullmatch(types[key]) else as_text)
    which, by = "0", ", ".join(keys)
    if len(column_sets) > 1:
        # GROUPING has a bit for each column, from the last one on, set where a row leaves it out:
        # so it says which set of columns the row belongs to.
        which = f"GROUPING({by})"
        grouping_sets = [f"({', '.join(column_set)})" for column_set in column_sets]
        by = f"GROUPING SETS ({', '.join(grouping_sets)})"
    # A query of SQL would take three times as long for a small table: it makes a view first.
    counts = relation.project(", ".join(converted)).aggregate(
        f"{', '.join(texts)}, count(*) AS n, {which} AS which", by
    )
    rows_of_sights: Any = counts.fetchall() if has_few_texts else counts.to_arrow_table()
    counted = []
    for column_set in column_sets:
        # The result of GROUPING for rows of this set.
        mask = sum((key not in column_set) << bit for bit, key in enumerate(reversed(keys)))
        positions = [*map(keys.index, column_set)]
        if has_few_texts:  # rows are tuples: values, count, mask
            rows = [row for row in rows_of_sights if row[-1] == mask]
            each_row = np.arange(len(rows))
            columns = []
            for position in positions:
                columns.append(Column.of([row[position] for row in rows], each_row))
            counted.append((columns, np.array([row[-2] for row in rows], np.int64)))
            continue
        rows = rows_of_sights
        if len(column_sets) > 1:
            rows = rows.filter(rows["which"].to_numpy() == mask)
        columns = [
            _as_printed(connection, column, types[key])
            for key, column in zip(
                column_set, _encoded([*map(rows.column, positions)]), strict=True
            )
        ]
        counted.append((columns, rows["n"].to_numpy()))
    return counted


def has_few_texts(file: File | None) -> bool:
    """True if a file is a CSV file of so few bytes that its texts are soon read without Arrow."""
    return isinstance(file, CsvFile) and file.path.stat().st_size <= _SMALL


def _encoded(columns: Sequence[Any]) -> list[Any]:
    """Columns with the distinct values of each once, and codes."""
    calls = [partial(column.dictionary_encode, "encode") for column in columns]
    return [encoded() for encoded in in_threads(calls)]


def _as_printed(connection: Any, encoded: Any, kind: str) -> Column:
    """A column of distinct values and codes, as Arrow has it, with the texts that Python prints.

    `kind` is the column's type in DuckDB. Each distinct value is converted once.
    """
    chunks = encoded.chunks
    if not chunks:
        return Column((), np.zeros(0, np.int32))
    texts = chunks[0].dictionary  # all chunks have the same
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
    if _WHOLE.fullmatch(kind):
        texts = texts.cast("string")
    elif not _AS_TEXT.fullmatch(kind):
        return Column.of(_as_python(connection, texts, kind), codes)
    return Column.of(texts.to_pylist(), codes)


def _as_python(connection: Any, texts: Any, kind: str) -> list[str | None]:
    """Texts of DuckDB as Python prints the same values of type `kind`.

    Infinite moments stay as they are, since Python has none.
    """
    import pyarrow as pa

    endless = "NULL"
    if kind.startswith(("DATE", "TIMESTAMP")):
        moment = f"CAST(t AS {kind})"
        # Types such as TIMESTAMP_NS have no test of their own for infinity.
        moment = f"CAST({moment} AS TIMESTAMP)" if "_" in kind else moment
        endless = f"CASE WHEN NOT isfinite({moment}) THEN t END"
    rows = connection.from_arrow(pa.table({"t": texts})).project(
        f"t, {endless} AS endless, CAST(t AS {kind}) AS value"
    )
    printed = {
        text: None if text is None else str(value) if endless is None else endless
        for text, endless, value in rows.fetchall()
    }
    return [printed[text] for text in texts.to_pylist()]


def merge_empties(column: Column) -> Column:
    """A column of a CSV file with empty fields, in quotes or not, as missing texts."""
    empty = [text for text in column.texts[:2] if not text]
    if len(empty) > 1:
        raise DataError("two-empties")
    if empty != [""]:
        return column
    return Column([None, *column.texts[1:]], column.codes)


def swap_commas_and_points(column: Column) -> Column:
    """The column with commas and points swapped."""
    texts = [text and text.translate(_EXCHANGED) for text in column.texts]
    return Column.of(texts, column.codes)


def unescape_formulas(column: Column, surely: bool) -> Column:
    """The column without apostrophes that mark formulas; `surely`: refuse unmarked formulas."""
    texts = [unescape_formula(text, surely) for text in column.texts]
    if texts == column.texts:
        return column
    if len(set(texts)) < len(texts):
        raise CertificateError("mixed-formulas")
    return Column.of(texts, column.codes)


def unescape_formula(text: str | None, surely: bool) -> str | None:
    """Same as `unescape_formulas`, for one text."""
    if text is None:
        return None
    if surely and _ARMED.match(text):  # or two texts of the file would be one to us
        raise CertificateError("bare-formula", text)
    return text[1:] if _DISARMED.match(text) else text
