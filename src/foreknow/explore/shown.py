"""Shown: results, tables and sentences of the report as plain values, from which the page is built.

The page makes elements of them and sets their texts, so nothing in a table can be read as HTML.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from foreknow.report.chart import Chart, HeatMap
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


def chart_values(chart: Chart) -> dict[str, Any]:
    """A chart of bars: places in percents of the plot."""
    return {
        "x": {"title": chart.x.title, "ticks": [(chart.left(at), t) for at, t in chart.x.ticks]},
        "y": {"title": chart.y.title, "ticks": [(chart.top(at), t) for at, t in chart.y.ticks]},
        "bars": [
            {
                "left": chart.x.at(bar.start),
                "width": chart.x.at(bar.end) - chart.x.at(bar.start),
                "height": chart.y.at(bar.height),
                "text": bar.text,
            }
            for bar in chart.bars
        ],
        "height": chart.height,
        "margin": chart.margin,
    }


def heat_values(heat: HeatMap) -> dict[str, Any]:
    """A heat map: its squares in rows from the bottom, and the line around those within."""
    return {
        "across": heat.across,
        "up": heat.up,
        "columns": list(heat.columns),
        "rows": list(heat.rows),
        "wide": heat.wide,
        "high": heat.high,
        "beside": heat.beside,
        "size": heat.size,
        "panels": [
            {
                "title": panel.title,
                "edge": heat.outline(panel) if any(panel.edge) else "",
                "rows": [
                    [
                        {"text": one.text, "share": one.share, "within": one.within, "at": one.at}
                        for one in row
                    ]
                    for row in panel.rows
                ],
            }
            for panel in heat.panels
        ],
    }
