"""HTML: disclosure curves as one page that opens offline, and as a fragment for notebooks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.auditing.audit import Verdict
from foreknow.auditing.curves import DisclosureCurves, curves_at, telling_groups
from foreknow.data.counts import GroupCounts
from foreknow.report.figures import LIMIT, PAPER, base_layout, escape, steps
from foreknow.report.page import fragment, page, script_json
from foreknow.report.pages.curves_terminal import (
    chance_text,
    curves_title,
    fraction_text,
    key_sentence,
    known_text,
    noun_for,
    pieces_explained,
    target_text,
)
from foreknow.report.pages.skyline import hover_text
from foreknow.report.words import limit_text, named, number, percent, some, visible

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
        shown = [_curving_figure_hover(name, k, d) for k, d in zip(curves.ks, found, strict=True)]
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


def _curving_figure_hover(kind: str, k: int, found: Disclosure) -> str:
    return f"{k} {kind if k != 1 else kind[:-1]}: {chance_text(found)}"


def _some(noun: str) -> str:
    return f"some {noun}"


def _span(ks: Sequence[int]) -> list[float]:
    """A little room at both ends, for the marks."""
    room = max(ks[-1], 1) / 40
    return [-room, ks[-1] + room]


def curves_page(curves: DisclosureCurves) -> str:
    """Write disclosure curves as one HTML page that asks nothing of any network.

    Parameters
    ----------
    curves : DisclosureCurves

    Returns
    -------
    str
        The same text for the same curves. Its table needs no scripts.
    """
    counts, rows = curves.counts, _rows(curves)
    texts = [
        [
            _hover("implication", row.k, found, row.target, row.worst)
            for row, found in zip(rows, curves.implications, strict=True)
        ],
        [
            _hover("negation", row.k, found, row.mild_target, row.mild)
            for row, found in zip(rows, curves.negations, strict=True)
        ],
    ]
    return page(
        "curves.html.j2",
        "page.js",
        kept="it says who is found out first, and by which knowledge",
        title=f"{curves_title(curves)} – {visible(curves.name)}",
        heading=curves_title(curves),
        name=visible(curves.name),
        scope=f"{some(counts.n_people, 'person', 'people')} in "
        f"{some(counts.n_groups, 'group', 'groups')}",
        key=key_sentence(curves),
        explanation=pieces_explained(noun_for(curves.sensitive)),
        figure=script_json(curves_figure(curves, texts)),
        caption="Point at a mark to read what somebody knows there.",
        rows=rows,
    )


def curves_summary(curves: DisclosureCurves) -> str:
    """Write disclosure curves as a small HTML fragment, for notebooks."""
    return fragment(
        "curves_summary.html.j2",
        heading=curves_title(curves),
        name=visible(curves.name),
        key=key_sentence(curves),
        rows=_rows(curves),
    )


# ---- what the templates show --------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """What so many pieces disclose, as a table shows it."""

    k: int
    pieces: str
    implications: str
    negations: str
    width: str
    mild_width: str
    fractions: tuple[str, str]
    target: str
    worst: str
    mild_target: str
    mild: str


def _rows(curves: DisclosureCurves) -> list[_Row]:
    return [
        _Row(
            k,
            number(k),
            chance_text(worst),
            chance_text(mild),
            f"{100 * worst.probability:.2f}",
            f"{100 * mild.probability:.2f}",
            (fraction_text(worst), fraction_text(mild)),
            target_text(worst),
            known_text(worst),
            target_text(mild),
            known_text(mild),
        )
        for k, worst, mild in zip(curves.ks, curves.implications, curves.negations, strict=True)
    ]


def _hover(kind: str, k: int, found: Disclosure, target: str, known: str) -> str:
    head = f"{some(k, kind, f'{kind}s')}: {chance_text(found)} = {fraction_text(found)}"
    return hover_text(head, f"Found out: {target}", known)


# As far as the paper's figure goes; and twice as far as a small requirement.
_LEAST = 12


def curves_section(counts: GroupCounts, verdict: Verdict, noun: str) -> tuple[Markup | None, str]:
    """Draw both curves of a verdict's worst value, with its point and its limit.

    Parameters
    ----------
    counts : GroupCounts
    verdict : Verdict
    noun : str
        What a sensitive value is called.

    Returns
    -------
    figure : Markup or None
        What the page's script draws; None for another kind of knowledge, and where no value is
        disclosed at all.
    caption : str
        How far the release is from its limit.
    """
    adversary, found = verdict.point.adversary, verdict.disclosure
    known = isinstance(adversary, (Implications, Negations))
    if not known or found.value is None or found.witness is None:
        return None, ""
    assert isinstance(adversary, (Implications, Negations))
    curves = curves_at(counts, _pieces(adversary.k), found.value, sensitive=noun)
    figure = with_limit(curves_figure(curves), adversary.k, found, verdict.limit)
    return script_json(figure), _caption(counts, verdict, adversary, curves.ks[-1])


def _pieces(k: int) -> tuple[int, ...]:
    return tuple(range(max(2 * k, _LEAST) + 1)) if k <= _LEAST else steps(k)


def _caption(
    counts: GroupCounts, verdict: Verdict, adversary: Implications | Negations, last: int
) -> str:
    kind = "implication" if isinstance(adversary, Implications) else "negation"
    value, limit = verdict.disclosure.value, verdict.limit
    few = counts
    if isinstance(adversary, Implications):
        few = telling_groups(counts, min(last, counts.n_values), counts.code(value))

    def found(k: int) -> Disclosure:
        return type(adversary)(k).disclosure(few, value)

    # More knowledge is never less disclosure, so the first k that fails is found by halving.
    most = bisect_left(range(last + 1), True, key=lambda k: not found(k).below(limit)) - 1
    asked = f"the policy asks for {some(adversary.k, kind, f'{kind}s')}"
    if most < 0:
        return f"The limit for {named(value)} is reached without any knowledge; {asked}."
    if most == 0:
        return f"The limit for {named(value)} holds only while no {kind} is known; {asked}."
    verb = "is" if most == 1 else "are"
    held = f"{some(most, kind, f'{kind}s')} {verb} known"
    if most == last:
        return f"The limit for {named(value)} still holds when {held}; {asked}."
    return f"The limit for {named(value)} holds while at most {held}; {asked}."
