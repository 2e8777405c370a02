"""Files of a written release: opened by their literal names, counted as another reader would."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foreknow_judge.counting import Column, Ints
from foreknow_judge.duckdb_files import CsvFile, Stamp, literal, read_parquet, refuse_large_files
from foreknow_judge.errors import CertificateError, DataError
from foreknow_judge.parquet_layout import ROWS, is_ours

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
_LONG = 1 << 17  # rows
_ARMED = re.compile(r"[=+\-@\t\r]")


def files_of(tables: Mapping[str, Any], delimiter: str = ",") -> dict[str, File]:
    """A `CsvFile` or a `Stamp` for each table that is a file, as the file is now."""
    paths = {name: paths_of(table) for name, table in tables.items()}
    found: dict[str, File] = {}
    for name, own in paths.items():
        if own and own[0].suffix == ".csv":
            found[name] = CsvFile(own[0], delimiter)
        elif own:
            found[name] = Stamp(own)
    return found


def paths_of(table: Any) -> list[Path]:
    """The files of a table: one, or its parts; none for a table in memory."""
    return [table] if isinstance(table, Path) else [*table] if isinstance(table, list) else []


def open_written(connection: Any, table: Any, file: File | None) -> tuple[list[str], Any]:
    """Names of columns, and a relation of DuckDB in which they are called c0, c1, ..."""
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
    asked = (
        "SELECT name, type, converted_type, logical_type::VARCHAR, type_length, precision, scale "
        "FROM parquet_schema(?) WHERE coalesce(num_children, 0) = 0"
    )
    found: list[tuple[Any, ...]] = connection.execute(asked, [literal(path)]).fetchall()
    return found


def holds_rows_alone(connection: Any, path: Path) -> bool:
    """Whether a Parquet file has the layout of a release, and so holds nothing but its rows."""
    asked = (
        "SELECT count(*) FROM parquet_metadata(?) WHERE compression <> 'UNCOMPRESSED' "
        f"OR row_group_num_rows > {ROWS} OR num_values > {ROWS}"
    )
    ((large,),) = connection.execute(asked, [literal(path)]).fetchall()
    return not large and is_ours(path)


def count_rows(
    connection: Any, relation: Any, sights: Sequence[Sequence[str]]
) -> list[tuple[list[Column], Ints]]:
    """For each sight (set of columns), distinct rows as they print, with counts; in one scan."""
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    keys = list(dict.fromkeys(key for sight in sights for key in sight))
    for key in keys:
        if not _PLAIN.fullmatch(kinds[key]):
            raise DataError("ambiguous-type", kinds[key])
    inner = [f"{_told_apart(key, kinds[key])} AS {key}" for key in keys]
    which, by = "0", ", ".join(keys)
    if len(sights) > 1:
        which = f"GROUPING({by})"
        by = f"GROUPING SETS ({', '.join('(' + ', '.join(sight) + ')' for sight in sights)})"
    texts = ", ".join(
        key if _WHOLE.fullmatch(kinds[key]) else f"CAST({key} AS VARCHAR)" for key in keys
    )
    # A query of SQL would take three times as long for a small table: it makes a view first.
    written = relation.project(", ".join(inner))
    found = written.aggregate(f"{texts}, count(*) AS n, {which} AS which", by).to_arrow_table()
    counted = []
    for sight in sights:
        rows = found
        if len(sights) > 1:
            mask = sum((key not in sight) << at for at, key in enumerate(reversed(keys)))
            rows = found.filter(pc.equal(found["which"], mask))
        encoded = _encoded([rows.column(keys.index(key)) for key in sight])
        columns = [
            _as_printed(connection, own, kinds[key])
            for key, own in zip(sight, encoded, strict=True)
        ]
        counted.append((columns, rows["n"].to_numpy()))
    return counted


def _told_apart(key: str, kind: str) -> str:
    """The SQL by which DuckDB groups a column: floats as texts, so that 0.0 and -0.0 differ."""
    return f"CAST({key} AS VARCHAR)" if kind in ("FLOAT", "DOUBLE") else key


def _encoded(columns: Sequence[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
    """Columns with the distinct values of each once, and codes; in threads if they are long."""
    if len(columns[0]) < _LONG:
        return [column.dictionary_encode("encode") for column in columns]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as threads:
        return [*threads.map(lambda column: column.dictionary_encode("encode"), columns)]


def _as_printed(connection: Any, encoded: pa.ChunkedArray, kind: str) -> Column:
    """A column of DuckDB, of texts or whole numbers, as the texts that Python prints."""
    chunks = encoded.chunks
    if not chunks:
        return Column(pa.array([], pa.string()), np.zeros(0, np.int32))
    known = chunks[0].dictionary
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
    if _WHOLE.fullmatch(kind):
        known = known.cast(pa.string())
    elif not _AS_TEXT.fullmatch(kind):
        known = _as_python(connection, known, kind)
    return Column.of(known, codes)


def _as_python(connection: Any, texts: pa.Array, kind: str) -> pa.Array:
    """Texts of DuckDB as Python prints the same values; infinite moments stay as they are."""
    endless = "NULL"
    if kind.startswith(("DATE", "TIMESTAMP")):
        moment = f"CAST(t AS {kind})"
        moment = f"CAST({moment} AS TIMESTAMP)" if "_" in kind else moment
        endless = f"CASE WHEN NOT isfinite({moment}) THEN t END"
    rows = connection.from_arrow(pa.table({"t": texts})).project(
        f"t, {endless} AS endless, CAST(t AS {kind}) AS value"
    )
    said = {
        text: None if text is None else str(value) if endless is None else endless
        for text, endless, value in rows.fetchall()
    }
    return pa.array([said[text] for text in texts.to_pylist()], pa.string())


def merge_empties(column: Column) -> Column:
    """A column of a CSV file with empty fields, in quotes or not, as missing texts."""
    empty = [text for text in column.texts[:2].to_pylist() if not text]
    if len(empty) > 1:
        raise DataError("two-empties")
    if empty != [""]:
        return column
    texts = pa.array([None, *column.texts[1:].to_pylist()], pa.string())
    return Column(texts, column.codes)


def swap_commas_and_points(column: Column) -> Column:
    """The column with commas and points swapped."""
    texts = [text and text.translate(_EXCHANGED) for text in column.texts.to_pylist()]
    return Column.of(pa.array(texts, pa.string()), column.codes)


def unescape_formulas(column: Column, surely: bool) -> Column:
    """The column without apostrophes that mark formulas; `surely`: refuse unmarked formulas."""
    marked = pc.match_substring_regex(column.texts, r"^'*[=+\-@\t\r]")
    if not pc.any(marked).as_py():
        return column
    texts = [unescape_formula(text, surely) for text in column.texts.to_pylist()]
    if len(set(texts)) < len(texts):
        raise CertificateError("mixed-formulas")
    return Column.of(pa.array(texts, pa.string()), column.codes)


def unescape_formula(text: str | None, surely: bool) -> str | None:
    """Same as `unescape_formulas`, for one text."""
    if text is None:
        return None
    if surely and _ARMED.match(text):  # or two texts of the file would be one to us
        raise CertificateError("bare-formula", text)
    return text[1:] if _DISARMED.match(text) else text
