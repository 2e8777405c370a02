"""HTML: a survey of generalizations as one page that opens offline, and as a fragment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreknow.auditing.survey import LatticeSurvey, SurveyedNode
from foreknow.report.figures import base_layout, escape
from foreknow.report.page import fragment, page, script_json
from foreknow.report.pages.survey_terminal import (
    caption_of,
    chance_of,
    level_lines,
    level_text,
    node_text,
    pieces_text,
    plain_sentence,
    survey_explanation,
    survey_scope,
    survey_title,
)
from foreknow.report.words import noun_of, number, plural, some, visible

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


_MOST_ROWS = 400
_BRIEF = 12


def survey_page(survey: LatticeSurvey) -> str:
    """Write a survey as one HTML page that asks nothing of any network.

    Parameters
    ----------
    survey : LatticeSurvey

    Returns
    -------
    str
        The same text for the same survey. Its tables need no scripts.
    """
    drawn = drawn_nodes(survey)
    return page(
        "survey.html.j2",
        "page.js",
        kept="it is about the raw table, and about generalizations of it that are not published",
        title=f"{survey_title(survey)} – {visible(survey.name)}",
        heading=survey_title(survey),
        name=visible(survey.name),
        scope=survey_scope(survey),
        plain=plain_sentence(survey, "drawn"),
        explanation=survey_explanation(survey),
        figure=script_json(survey_figure(survey)) if drawn else None,
        caption=caption_of(survey, len(drawn)),
        attributes=[visible(name) for name in survey.attributes],
        kind=survey.kind,
        knowledge=[number(k) for k in survey.knowledge],
        levels=level_lines(survey),
        **_tables(survey),
    )


def survey_summary(survey: LatticeSurvey) -> str:
    """Write a survey as a small HTML fragment, for notebooks."""
    nodes = _by_entropy(survey)
    return fragment(
        "survey_summary.html.j2",
        heading=survey_title(survey),
        name=visible(survey.name),
        plain=plain_sentence(survey),
        attributes=[visible(name) for name in survey.attributes],
        kind=survey.kind,
        knowledge=[number(k) for k in survey.knowledge],
        rows=[_row(survey, node) for node in nodes[:_BRIEF]],
        more=_more(len(nodes), _BRIEF),
    )


# ---- what the templates show --------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """A node as a table shows it."""

    levels: list[str]
    groups: str
    entropy: str
    chances: list[str]


def _tables(survey: LatticeSurvey) -> dict[str, object]:
    even = _by_entropy(survey)
    plain = [node for node in survey.nodes if node.entropy == 0]
    return {
        "rows": [_row(survey, node) for node in even[:_MOST_ROWS]],
        "more_rows": _more(len(even), _MOST_ROWS),
        "plain_rows": [_row(survey, node) for node in plain[:_MOST_ROWS]],
        "more_plain": _more(len(plain), _MOST_ROWS),
    }


def _by_entropy(survey: LatticeSurvey) -> Sequence[SurveyedNode]:
    """Nodes with some entropy, the most first; then those that disclose least."""
    found = [node for node in survey.nodes if node.entropy > 0]
    return sorted(found, key=lambda node: (-node.entropy, node.disclosures, node.levels))


def _row(survey: LatticeSurvey, node: SurveyedNode) -> _Row:
    return _Row(
        [level_text(level, top) for level, top in zip(node.levels, survey.tops, strict=True)],
        number(node.groups),
        f"{node.entropy:.3f}",
        [chance_of(probability) for probability in node.disclosures],
    )


def _more(found: int, most: int) -> str:
    return some(found - most, "other", "others") if found > most else ""
