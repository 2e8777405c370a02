"""HTML: what a search of a lattice found, as a page, as a section of one, and as a fragment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from foreknow.methods.fulldomain.lattice import Lattice, Node
from foreknow.methods.fulldomain.result import LatticeResult
from foreknow.policy.policy import Form
from foreknow.report.figures import base_layout, escape
from foreknow.report.page import fragment, page, script_json
from foreknow.report.pages.lattice_words import chosen_sentence, lattice_caption, search_sentences
from foreknow.report.words import number, some, visible

# The most nodes that are drawn one by one, and those with lines between them.
MOST_NODES = 5_000
_MOST_LINES = 800
# kind, name, color, symbol, size: told apart in grey by their symbols, too.
_KINDS = (
    ("unknown", "never asked about", "#9aa1ab", "circle-open", 6),
    ("unsafe", "not safe", "#d64545", "x-thin-open", 7),
    ("safe", "safe", "#2f9150", "circle", 8),
    ("suppressing", "safe with people suppressed", "#2f9150", "circle-open", 8),
    ("minimal", "safe, none below is", "#2f7ed8", "diamond", 11),
    ("chosen", "chosen", "#cf6a10", "star", 19),
)


def lattice_figure(found: LatticeResult) -> dict[str, Any]:
    """Draw the nodes of a lattice; of a very large one, how many of each height are what.

    Parameters
    ----------
    found : LatticeResult

    Returns
    -------
    dict
        What ``plotly.graph_objects.Figure`` takes.
    """
    lattice = Lattice(found.tops)
    if len(lattice) > MOST_NODES:
        return {"data": _bars(found, lattice), "layout": _layout("nodes")}
    x, y = _places(lattice)
    data = [_lines(lattice, x, y)] if len(lattice) <= _MOST_LINES else []
    nodes = [lattice.node(i) for i in range(len(lattice))]
    kinds = [kind_of(found, node) for node in nodes]
    for kind, name, color, symbol, size in _KINDS:
        own = [i for i, other in enumerate(kinds) if other == kind]
        if not own:
            continue
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": x[own].tolist(),
                "y": y[own].tolist(),
                "name": f"{name}: {number(len(own))}" if kind != "chosen" else name,
                "text": [node_text(found, nodes[i]) for i in own],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {
                    "color": color,
                    "symbol": symbol,
                    "size": size if len(nodes) <= _MOST_LINES or size > 9 else size - 3,
                    "line": {"color": color, "width": 1.5},
                },
                "cliponaxis": False,
            }
        )
    layout = _layout("")
    layout["xaxis"] |= {"visible": False}
    return {"data": data, "layout": layout}


def kind_of(found: LatticeResult, node: Node) -> str:
    """What a node is, for a reader: the most that can be said of it."""
    if node == found.chosen:
        return "chosen"
    if node in found.minimal_set:
        return "minimal"
    status = found.status_of(node)
    return "suppressing" if status == "safe" and node in found.suppressed else status


def node_text(found: LatticeResult, node: Node) -> str:
    """What a pointer on a node shows."""
    words = found.in_words(node)
    lines = [f"{escape(visible(name))}: {escape(word)}" for name, word in words.items()]
    said = found.status_of(node)
    if said != "unknown":
        said += ", judged" if found.was_judged(node) else ", follows from another"
    lines.append(f"<b>{said}</b>")
    if node in found.suppressed:
        lines.append(f"{number(found.suppressed[node])} people suppressed")
    loss = found.loss_of(node)
    if loss is not None:
        lines.append(f"{found.objective}: {loss:.4g}")
    return "<br>".join(lines)


def _places(lattice: Lattice) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Where each node stands: at its height, beside the others of it, in order of their levels."""
    heights = lattice.heights
    x = np.empty(len(lattice))
    for height in range(int(heights.max()) + 1):
        own = np.flatnonzero(heights == height)
        x[own] = np.arange(len(own)) - (len(own) - 1) / 2
    return x, heights.astype(float)


def _lines(lattice: Lattice, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> dict[str, Any]:
    """From each node to those directly above."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for low in range(len(lattice)):
        for high in lattice.parents(low):
            xs += [float(x[low]), float(x[high]), None]
            ys += [float(y[low]), float(y[high]), None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": {"color": "rgba(128,136,148,0.35)", "width": 0.7},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _bars(found: LatticeResult, lattice: Lattice) -> list[dict[str, Any]]:
    heights = lattice.heights
    n_heights = int(heights.max()) + 1
    data = []
    for status, (_, name, color, _, _) in enumerate(_KINDS[:3]):
        code = {0: 0, 1: 2, 2: 1}[status]  # of the result: 0 unknown, 1 safe, 2 unsafe
        amounts = np.bincount(heights[found.status == code], minlength=n_heights)
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "x": amounts.tolist(),
                "y": list(range(n_heights)),
                "name": f"{name}: {number(int(amounts.sum()))}",
                "marker": {"color": color},
                "hovertemplate": "%{x:,} nodes of height %{y}<extra>" + name + "</extra>",
            }
        )
    return data


def _layout(title: str) -> dict[str, Any]:
    layout = base_layout()
    layout["xaxis"] = layout["xaxis"] | {
        "title": layout["xaxis"]["title"] | {"text": title},
        "rangemode": "normal",
    }
    layout["yaxis"] = layout["yaxis"] | {
        "title": layout["yaxis"]["title"] | {"text": "height: levels climbed"},
        "rangemode": "normal",
        "tickformat": "d",
    }
    layout |= {"height": 520, "barmode": "stack"}
    layout["legend"] |= {"traceorder": "normal"}
    return layout


_MOST_ROWS = 60
_BRIEF = 8


@dataclass(frozen=True)
class LatticePart:
    """What a page shows of a lattice."""

    sentence: str
    explanation: str
    figure: Markup
    caption: str
    columns: list[str]
    rows: list[LatticeRow]
    more: str


@dataclass(frozen=True)
class LatticeRow:
    """A minimal node, or the chosen one."""

    chosen: bool
    levels: list[str]
    suppressed: str
    loss: str


def lattice_part(
    found: LatticeResult, form: Form = "generalized", most: int = _MOST_ROWS
) -> LatticePart:
    """Say what was found, as a release of a form has it."""
    listed = [found.chosen, *(node for node in found.minimal if node != found.chosen)]
    return LatticePart(
        sentence=chosen_sentence(found, form),
        explanation=search_sentences(found, form),
        figure=script_json(lattice_figure(found)),
        caption=lattice_caption(found, drawn=found.n_nodes <= MOST_NODES),
        columns=[visible(name) for name in found.attributes],
        rows=[_row(found, node) for node in listed[:most]],
        more=some(len(listed) - most, "other", "others") if len(listed) > most else "",
    )


def lattice_page(found: LatticeResult, form: Form = "generalized") -> str:
    """Write what was found as one HTML page that asks nothing of any network.

    It is for the owner of the table: what was safe and what was not tells more of it.

    Parameters
    ----------
    found : LatticeResult
    form : "generalized" or "bucketized"
        Of the release that was made.

    Returns
    -------
    str
        The same text for the same result. Its tables need no scripts.
    """
    title = f"{number(found.n_nodes)} generalizations, one chosen"
    return page(
        "lattice.html.j2",
        "page.js",
        kept="what is safe and what is not tells more of the table than the release does",
        title=title,
        heading=title,
        lattice=lattice_part(found, form),
    )


def lattice_summary(found: LatticeResult) -> str:
    """Write what was found as a small HTML fragment, for notebooks."""
    return fragment("lattice_summary.html.j2", lattice=lattice_part(found, most=_BRIEF))


def _row(found: LatticeResult, node: Node) -> LatticeRow:
    loss = found.loss_of(node)
    return LatticeRow(
        chosen=node == found.chosen,
        levels=[visible(word) for word in found.in_words(node).values()],
        suppressed=number(found.suppressed.get(node, 0)),
        loss="" if loss is None else f"{loss:.4g}",
    )
