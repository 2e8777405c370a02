"""Results as rows of a CSV file, shown as a Markdown table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def write(rows: list[Row], path: Path) -> None:
    """Write rows that have the same columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> list[Row]:
    """Read rows; what looks like a number is one."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(file)]


def markdown(
    rows: Iterable[Row], down: tuple[str, ...], across: str, show: Callable[[Row], str]
) -> str:
    """Lay out one cell per row: some columns name the line, another the column."""
    cells: dict[tuple[Any, ...], dict[Any, str]] = {}
    heads: dict[Any, None] = {}
    for row in rows:
        cells.setdefault(tuple(row[name] for name in down), {})[row[across]] = show(row)
        heads[row[across]] = None
    lines = [[*down, *heads], ["---"] * (len(down) + len(heads))]
    lines += [[*key, *(found.get(head, "") for head in heads)] for key, found in cells.items()]
    return "\n".join("| " + " | ".join(_text(cell) for cell in line) + " |" for line in lines)


def _text(cell: Any) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
