"""Files of a written release: opened by their literal names, counted as another reader would."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from foreknow.engine import CsvFile, Stamp, literal, read_parquet
from foreknow.errors import DataError

File: TypeAlias = CsvFile | Stamp

# Types of which values that differ print otherwise. Nanoseconds are cut off on their way to Python,
# and a month is thirty days to DuckDB.
_PLAIN = re.compile(
    r"VARCHAR|BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(.*|DATE|TIME"
    r"|TIMESTAMP(_S|_MS)?|UUID|ENUM\(.*|\"?NULL\"?",
    re.DOTALL,
)


def files_of(tables: Mapping[str, Any]) -> dict[str, File]:
    """The tables that are files, as they are now."""
    paths = {name: table for name, table in tables.items() if isinstance(table, Path)}
    return {
        name: Stamp([path]) if path.suffix == ".parquet" else CsvFile(path, ",")
        for name, path in paths.items()
    }


def open_written(connection: Any, table: Any, file: File | None) -> tuple[list[str], Any]:
    """Names of columns, and a relation of DuckDB in which they are called c0, c1, ..."""
    if isinstance(file, CsvFile):
        return file.header, file.relation(connection)
    if isinstance(table, Path):
        rows = connection.execute(
            "SELECT name, type FROM parquet_schema(?) WHERE coalesce(num_children, 0) = 0",
            [literal(table)],
        ).fetchall()
        header = [name for name, _ in rows]
        if any(kind == "INT96" for _, kind in rows):  # DuckDB cuts its nanoseconds off
            raise DataError("a column is of type INT96, in which values may print alike")
        relation = read_parquet(connection, [table])
        inner = ['"' + column.replace('"', '""') + '"' for column in relation.columns]
        return header, relation.project(", ".join(f"{c} AS c{i}" for i, c in enumerate(inner)))
    header = table.column_names
    return header, connection.from_arrow(
        table.rename_columns([f"c{i}" for i in range(len(header))])
    )


def metadata_of(connection: Any, path: Path) -> list[str]:
    """Keys of what a Parquet file holds beside its columns."""
    rows = connection.execute("SELECT decode(key) FROM parquet_kv_metadata(?)", [literal(path)])
    return [key for (key,) in rows.fetchall()]


def count_rows(relation: Any, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    """Equal rows and how many; those that print otherwise are not equal, such as 0.0 and -0.0."""
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    marks: dict[int, str] = {}  # of a key, what Python would not tell
    for i, key in enumerate(keys):
        if not _PLAIN.fullmatch(kinds[key]):
            raise DataError(f"a column is of type {kinds[key]}, in which values may print alike")
        if kinds[key] in ("FLOAT", "DOUBLE"):
            marks[i] = f"CASE WHEN {key} = 0 AND signbit({key}) THEN '-0.0' END"
        elif kinds[key].startswith(("DATE", "TIMESTAMP")):
            moment = f"CAST({key} AS TIMESTAMP)" if "_" in kinds[key] else key
            marks[i] = f"CASE WHEN NOT isfinite({moment}) THEN CAST({key} AS VARCHAR) END"
    groups = ", ".join([*keys, *marks.values()])
    found = []
    for row in relation.aggregate(f"{groups}, count(*)", groups).fetchall():
        values = list(row[: len(keys)])
        for i, mark in zip(marks, row[len(keys) : -1], strict=True):
            values[i] = values[i] if mark is None else mark
        found.append((*values, row[-1]))
    return found


def merge_empties(rows: Sequence[tuple[Any, ...]], places: Sequence[int]) -> list[tuple[Any, ...]]:
    """Rows of a CSV file in which an empty field is missing, in quotes or not; both are refused."""
    for place in places:
        if {row[place] for row in rows} >= {None, ""}:
            raise DataError(
                'a column has empty fields and ""; some readers take these for two values'
            )
    return [
        tuple(None if i in places and x == "" else x for i, x in enumerate(row)) for row in rows
    ]
