"""Survey figure: least entropy against worst disclosure over a lattice, for Plotly.

Plain values, since Plotly's own objects check each of thousands of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foreknow.report.figures import base_layout, escape
from foreknow.report.survey_words import chance_of, node_text, pieces_text
from foreknow.report.words import noun_of, plural, some
from foreknow.surveying import LatticeSurvey

# Middle tones as in the other figures; marks and dashes tell the lines apart in grey.
_STYLES = (
    ("#2f7ed8", "circle", "solid"),
    ("#cf6a10", "square", "dash"),
    ("#1f8a70", "diamond", "dot"),
    ("#8a63d2", "triangle-up", "dashdot"),
    ("#c2549d", "x", "longdash"),
    ("#7a8290", "star", "longdashdot"),
)
_MOST = 400
_LONGEST = 160


def drawn_nodes(survey: LatticeSurvey) -> list[int]:
    """Choose the nodes to draw: all with some entropy; of very many, some from low to high."""
    shown = np.flatnonzero(survey.entropy > 0)
    shown = shown[np.argsort(survey.entropy[shown], kind="stable")]
    if len(shown) > _MOST:
        shown = shown[np.linspace(0, len(shown) - 1, _MOST).round().astype(int)]
    nodes: list[int] = shown.tolist()
    return nodes


def survey_figure(survey: LatticeSurvey) -> dict[str, Any]:
    """Draw a line for each number of pieces through the best nodes, and marks for all.

    Parameters
    ----------
    survey : LatticeSurvey

    Returns
    -------
    dict
        What ``plotly.graph_objects.Figure`` takes.
    """
    drawn = set(drawn_nodes(survey))
    data = []
    for place, k in enumerate(survey.knowledge):
        color, symbol, dash = _STYLES[place % len(_STYLES)]
        best = survey.best_numbers(k)
        best = [number for number in best if number in drawn]
        rest = sorted(drawn - set(best))
        name = pieces_text(survey, k)
        line = {
            **_marks(survey, best, place),
            "mode": "lines+markers",
            "name": name,
            "line": {"color": color, "dash": dash, "width": 1.5},
            "marker": {"color": color, "symbol": symbol, "size": 8},
            "legendgroup": name,
        }
        cloud = {
            **_marks(survey, rest, place),
            "mode": "markers",
            "name": name,
            "marker": {"color": color, "symbol": f"{symbol}-open", "size": 7},
            "legendgroup": name,
            "showlegend": False,
        }
        data += [line, cloud] if rest else [line]
    return {"data": data, "layout": _layout(survey)}


def _marks(survey: LatticeSurvey, numbers: Sequence[int], place: int) -> dict[str, Any]:
    at = list(numbers)
    return {
        "type": "scatter",
        "x": np.round(survey.entropy[at], 6).tolist(),
        "y": np.round(survey.disclosures[at, place], 6).tolist(),
        "text": [_hover(survey, number, place) for number in at],
        "hovertemplate": "%{text}<extra></extra>",
        "cliponaxis": False,
    }


def _hover(survey: LatticeSurvey, number: int, place: int) -> str:
    node = survey.nodes[number]
    chance = chance_of(node.disclosures[place])
    lines = [
        f"{pieces_text(survey, survey.knowledge[place])}: {chance}",
        node_text(survey.attributes, survey.tops, node.levels),
        f"{some(node.groups, 'group', 'groups')}, least entropy {node.entropy:.3f} bits",
    ]
    return "<br>".join(escape(line, _LONGEST) for line in lines)


def _layout(survey: LatticeSurvey) -> dict[str, Any]:
    layout = base_layout()
    nouns = escape(plural(noun_of(survey.sensitive)))
    x, y = dict(layout["xaxis"]), dict(layout["yaxis"])
    x["title"] = {**x["title"], "text": f"least entropy of a group's {nouns} (bits)"}
    x["rangemode"] = "normal"
    y["title"] = {**y["title"], "text": "how sure of some value, at worst"}
    y |= {"range": [0, 1.04], "tickformat": ".0%"}
    legend = {**layout["legend"], "traceorder": "normal"}
    return {**layout, "height": 520, "xaxis": x, "yaxis": y, "legend": legend}
