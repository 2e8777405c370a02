"""Values: blocks as plain values, of which the explorer builds its page.

It makes elements of them and sets their texts, so nothing in them can be read as HTML.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from foreknow.report.blocks import Block, Cell, Figure, Folded, Table
from foreknow.report.chart import Chart, HeatMap


def block_values(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Each block by its kind and its fields."""
    return [{"kind": block.kind, **_fields(block)} for block in blocks]


def _fields(block: Block) -> dict[str, Any]:
    """The fields of a block as plain values; charts and tables have rules of their own."""
    match block:
        case Table():
            return table_values(block)
        case Figure(drawn=Chart() as chart):
            return {**_texts(block), "chart": _chart(chart)}
        case Figure(drawn=HeatMap() as heat):
            return {**_texts(block), "heat": _heat(heat)}
        case Folded():
            return {"title": block.title, "blocks": block_values(block.blocks)}
    return asdict(block)


def _texts(figure: Figure) -> dict[str, str]:
    return {"id": figure.id, "title": figure.title, "caption": figure.caption}


def table_values(table: Table) -> dict[str, Any]:
    """The parts of a table as plain values, by their names."""
    return {
        "title": table.title,
        "style": table.style,
        "head": list(table.head),
        "rows": [list(map(_cell_values, row)) for row in table.rows],
        "left": list(table.left),
        "note": table.remark,
    }


def _cell_values(cell: str | Cell) -> Any:
    """A cell as a text, or as its parts by name."""
    if not isinstance(cell, Cell):
        return cell
    return {
        "text": str(cell),
        "mood": cell.mood,
        "width": cell.width,
        "mark": cell.mark,
        "below": cell.below,
    }


def _chart(chart: Chart) -> dict[str, Any]:
    """A chart: its axes and bars."""
    return {**asdict(replace(chart, series=(), table=None)), "margin": chart.margin}


def _heat(heat: HeatMap) -> dict[str, Any]:
    """A heat map as plain values: its squares in rows from the bottom, and a line around some."""
    panels = []
    for panel in heat.panels:
        outline = heat.outline(panel) if any(panel.edge) else ""
        panels.append({**asdict(panel), "edge": outline})
    sizes = {"wide": heat.wide, "high": heat.high, "beside": heat.beside, "size": heat.size}
    return {**asdict(heat), **sizes, "panels": panels}
