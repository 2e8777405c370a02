"""Files of a written release: opened by their literal names, counted as another reader would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from foreknow.engine import Stamp, literal, read_parquet
from foreknow.engine_csv import CsvFile

File: TypeAlias = CsvFile | Stamp


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
            "SELECT name, num_children FROM parquet_schema(?)", [literal(table)]
        )
        header = [name for name, children in rows.fetchall() if not children]
        relation = read_parquet(connection, [table])
        inner = ['"' + column.replace('"', '""') + '"' for column in relation.columns]
        return header, relation.project(", ".join(f"{c} AS c{i}" for i, c in enumerate(inner)))
    header = table.column_names
    return header, connection.from_arrow(
        table.rename_columns([f"c{i}" for i in range(len(header))])
    )


def count_rows(relation: Any, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    """Equal rows and how many; 0.0 and -0.0 are two, as they are to a reader who prints them."""
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    floats = [i for i, key in enumerate(keys) if kinds[key] in ("FLOAT", "DOUBLE")]
    signs = [f"signbit({keys[i]})" for i in floats]
    groups = ", ".join([*keys, *signs])
    found = []
    for row in relation.aggregate(f"{groups}, count(*)", groups).fetchall():
        values = list(row[: len(keys)])
        for i, negative in zip(floats, row[len(keys) : -1], strict=True):
            values[i] = -0.0 if negative and values[i] == 0 else values[i]
        found.append((*values, row[-1]))
    return found
