"""Figures as Plotly takes them: small panels side by side, one line per method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plotly.graph_objects import Figure, Scatter
from plotly.subplots import make_subplots

from benchmarks.figures.results import Row

# Marks and dashes tell the lines apart in grey, too.
_STYLES = {
    "RDA": ("#2f7ed8", "circle", "solid"),
    "GDA": ("#cf6a10", "square", "dash"),
    "GSA": ("#1f8a70", "diamond", "solid"),
    "Anatomy": ("#8a63d2", "triangle-up", "dashdot"),
    "Mondrian": ("#c2549d", "x", "longdash"),
    "optimum": ("#7a8290", "line-ew-open", "dot"),
}
_INK, _GRID = "#3d4650", "#d9dde2"
# Errors below this are drawn here: a logarithm has no zero.
LEAST_ERROR = 1e-4


def of_times(rows: list[Row]) -> Figure:
    """Seconds against millions of rows: GSA on the right, where the scale is another."""
    figure = _grid(["all but GSA", "GSA"], 1, 2, shared=False)
    for name in _named(rows):
        for table, mark in (("occupation", None), ("income", "open")):
            kept = [row for row in rows if (row["method"], row["table"]) == (name, table)]
            x = [row["rows"] / 1e6 for row in kept]
            y = [row["seconds"] for row in kept]
            shown = f"{name}, {table}"
            figure.add_trace(_line(name, x, y, shown, mark), row=1, col=2 if name == "GSA" else 1)
    figure.update_xaxes(title_text="million rows", rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text="seconds of processor time", col=1)
    return _finished(figure, 900, 440, above=84)


def of_discernibility(rows: list[Row]) -> Figure:
    """Discernibility against l. Mondrian's is beyond the picture: tables tell it."""
    rows = [row for row in rows if row["method"] != "Mondrian"]
    tables = _values(rows, "table")
    figure = _grid([str(table) for table in tables], 1, len(tables), shared=True)
    for place, table in enumerate(tables, 1):
        for name in _named(rows):
            kept = [row for row in rows if (row["method"], row["table"]) == (name, table)]
            x, y = [row["l"] for row in kept], [row["discernibility"] for row in kept]
            figure.add_trace(_line(name, x, y, first=place == 1), row=1, col=place)
    figure.update_xaxes(title_text="l", dtick=1)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text="sum of squared group sizes", col=1)
    return _finished(figure, max(600, 450 * len(tables)), 440)


def of_errors(rows: list[Row]) -> Figure:
    """Average relative errors against what is asked: a panel per table and l."""
    tables, levels, asked = (_values(rows, name) for name in ("table", "l", "asked"))
    titles = [f"{table}, l = {l}" for table in tables for l in levels]  # noqa: E741
    figure = _grid(titles, len(tables), len(levels), shared=True)
    for down, table in enumerate(tables, 1):
        for across, level in enumerate(levels, 1):
            for name in _named(rows):
                key = (name, table, level)
                kept = [row for row in rows if (row["method"], row["table"], row["l"]) == key]
                x = [row["asked"].replace(" and ", "<br>and ") for row in kept]
                y = [max(row["average"], LEAST_ERROR) for row in kept]
                first = (down, across) == (1, 1)
                figure.add_trace(_line(name, x, y, first=first), row=down, col=across)
    order = [str(what).replace(" and ", "<br>and ") for what in asked]
    figure.update_xaxes(categoryorder="array", categoryarray=order, tickangle=0)
    figure.update_yaxes(type="log", range=[-4.15, 0.75], dtick=1, tickformat="~%")
    figure.update_yaxes(title_text="average relative error", col=1)
    return _finished(figure, 1180, 100 + 300 * len(tables))


def _line(
    name: str,
    x: Sequence[Any],
    y: Sequence[float],
    shown: str | None = None,
    mark: str | None = None,
    first: bool = True,
) -> Scatter:
    color, symbol, dash = _STYLES[name]
    return Scatter(
        x=list(x),
        y=list(y),
        mode="lines+markers",
        name=shown or name,
        legendgroup=shown or name,
        showlegend=first,
        line={"color": color, "dash": dash, "width": 1.8},
        marker={"color": color, "size": 8, "symbol": f"{symbol}-{mark}" if mark else symbol},
        cliponaxis=False,
    )


def _grid(titles: list[str], rows: int, columns: int, shared: bool) -> Figure:
    return make_subplots(
        rows,
        columns,
        subplot_titles=titles,
        shared_yaxes=shared,
        horizontal_spacing=0.02 if shared else 0.09,
        vertical_spacing=0.16,
    )


def _finished(figure: Figure, width: int, height: int, above: int = 62) -> Figure:
    axis = {"gridcolor": _GRID, "linecolor": _INK, "zeroline": False, "title_standoff": 8}
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    figure.update_annotations(font_size=14)
    return figure.update_layout(
        template="none",
        width=width,
        height=height,
        margin={"l": 66, "r": 16, "t": above, "b": 56},
        font={"family": "system-ui, sans-serif", "size": 12, "color": _INK},
        legend={"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top"},
    )


def _named(rows: list[Row]) -> list[str]:
    """The methods that occur, the same first in each figure."""
    return [name for name in _STYLES if any(row["method"] == name for row in rows)]


def _values(rows: list[Row], name: str) -> list[Any]:
    return list(dict.fromkeys(row[name] for row in rows))


FIGURES: dict[str, Callable[[list[Row]], Figure]] = {
    "times": of_times,
    "discernibility": of_discernibility,
    "queries": of_errors,
    "adult-discernibility": of_discernibility,
    "adult-queries": of_errors,
}
