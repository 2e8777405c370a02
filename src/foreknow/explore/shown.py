"""Shown: results, tables and sentences of the report as plain values, from which the page is built.

The page makes elements of them and sets their texts, so nothing in a table can be read as HTML.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from foreknow.report.page import Block, Cell, Grid, Page


def page_values(page: Page[Any]) -> dict[str, Any]:
    """What a page says in a terminal."""
    return {
        "headline": page.headline,
        "name": page.name,
        "mood": page.mood or "plain",
        "notes": page.notes,
        "blocks": block_values(page.brief()),
    }


def block_values(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Sentences and tables."""
    return [
        {"grid": grid_values(block)}
        if isinstance(block, Grid)
        else {"text": block.text, "mood": block.mood}
        for block in blocks
    ]


def grid_values(grid: Grid) -> dict[str, Any]:
    """A table."""
    rows = [[_cell(cell) for cell in row] for row in grid.rows]
    return {"head": list(grid.head), "rows": rows, "left": list(grid.left), "note": grid.note}


def _cell(cell: str | Cell) -> Any:
    if not isinstance(cell, Cell):
        return cell
    return {"text": cell.text, "mood": cell.mood, "width": cell.width, "mark": cell.mark}
