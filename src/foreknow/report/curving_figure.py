"""Curving figure: disclosure against pieces of knowledge, two lines with marks, for Plotly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from foreknow.adversaries.disclosure import Disclosure
from foreknow.curving import DisclosureCurves
from foreknow.report.curving_words import chance_text, noun_for
from foreknow.report.figures import LIMIT, PAPER, base_layout, escape
from foreknow.report.percent import limit_text, percent
from foreknow.report.words import named

# Middle tones as in the other figures; dashes and marks tell the lines apart in grey.
_STYLES = (
    ("implications", "#2f7ed8", "solid", "circle"),
    ("negations", "#cf6a10", "dash", "square"),
)
_SIZE = 9


def curves_figure(
    curves: DisclosureCurves, texts: Sequence[Sequence[str]] | None = None
) -> dict[str, Any]:
    """Draw both curves.

    Parameters
    ----------
    curves : DisclosureCurves
    texts : two sequences of str, optional
        What to show at each point of implications and of negations; percentages when left out.

    Returns
    -------
    dict
        What ``plotly.graph_objects.Figure`` takes.
    """
    both = curves.implications, curves.negations
    lines = []
    for place, ((name, color, dash, symbol), found) in enumerate(zip(_STYLES, both, strict=True)):
        shown = [_hover(name, k, d) for k, d in zip(curves.ks, found, strict=True)]
        lines.append(
            {
                "type": "scatter",
                "x": list(curves.ks),
                "y": [d.probability for d in found],
                "text": shown if texts is None else list(texts[place]),
                "mode": "lines+markers" if len(curves.ks) <= 60 else "lines",
                "name": name,
                "line": {"color": color, "dash": dash, "width": 3},
                "marker": {"color": color, "symbol": symbol, "size": _SIZE},
                "hovertemplate": "%{text}<extra></extra>",
                "cliponaxis": False,
            }
        )
    layout = base_layout()
    x, y = dict(layout["xaxis"]), dict(layout["yaxis"])
    x["title"] = {**x["title"], "text": "pieces of knowledge (k)"}
    few = curves.ks[-1] <= 24
    x |= {"range": _span(curves.ks), "dtick": (1 if curves.ks[-1] <= 14 else 2) if few else None}
    what = named(curves.value) if curves.value is not None else _some(noun_for(curves.sensitive))
    y["title"] = {**y["title"], "text": f"how sure of {escape(what)}, at worst"}
    y |= {"range": [0, 1.04], "tickformat": ".0%"}
    layout |= {"xaxis": x, "yaxis": y, "height": 430}
    layout["legend"] = {**layout["legend"], "traceorder": "normal"}
    return {"data": lines, "layout": layout}


def with_limit(
    figure: dict[str, Any], k: int, found: Disclosure, limit: Fraction
) -> dict[str, Any]:
    """Add a requirement's point and its limit to a figure of curves."""
    text = percent(found, limit, 1)
    point = {
        "type": "scatter",
        "x": [k],
        "y": [found.probability],
        "mode": "markers",
        "marker": {"symbol": "diamond-open", "size": 17, "color": LIMIT, "line": {"width": 3}},
        "hovertemplate": f"the policy's point: {text}<extra></extra>",
        "showlegend": False,
        "cliponaxis": False,
    }
    line = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": float(limit),
        "y1": float(limit),
    }
    high = found.probability > 0.85
    notes = [
        {
            "x": k,
            "y": found.probability,
            "text": f"<b>{text}</b>",
            "showarrow": False,
            "xanchor": "left",
            "yanchor": "top",
            "xshift": 10,
            "yshift": -8,
            "bgcolor": PAPER,
        },
        {
            "xref": "paper",
            "x": 0 if high else 1,
            "y": float(limit),
            "text": f"limit {limit_text(limit)}",
            "font": {"color": LIMIT},
            "showarrow": False,
            "xanchor": "left" if high else "right",
            "yanchor": "bottom" if limit < Fraction(9, 10) else "top",
        },
    ]
    shape = {**line, "line": {"color": LIMIT, "dash": "dash", "width": 2}}
    layout = {**figure["layout"], "shapes": [shape], "annotations": notes}
    return {"data": [*figure["data"], point], "layout": layout}


def _hover(kind: str, k: int, found: Disclosure) -> str:
    return f"{k} {kind if k != 1 else kind[:-1]}: {chance_text(found)}"


def _some(noun: str) -> str:
    return f"some {noun}"


def _span(ks: Sequence[int]) -> list[float]:
    """A little room at both ends, for the marks."""
    room = max(ks[-1], 1) / 40
    return [-room, ks[-1] + room]
