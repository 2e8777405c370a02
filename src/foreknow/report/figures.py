"""Figures: what a little more knowledge would disclose, and how large the groups are (Plotly).

Plotly is imported only when a figure is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreknow.adversaries.facts import Facts
from foreknow.auditing import Verdict
from foreknow.counts import GroupCounts
from foreknow.report.curves import Curve, curves_around, size_bins
from foreknow.report.percent import limit_text, percent
from foreknow.report.terms import NOUN, Terms
from foreknow.report.words import named

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Middle tones: at least 3:1 against white and against near-black. Dashes tell them apart in grey.
_OWN, LIMIT, _BARS = "#2f7ed8", "#d64545", "#2f7ed8"
_OTHERS = (("#7a8290", "dot"), ("#cf6a10", "dash"), ("#8a63d2", "dashdot"))
_INK, _GRID = "#5b6470", "rgba(128,136,148,0.28)"
PAPER = "rgba(255,255,255,0.8)"
_SIZE = 14
_LONGEST = 40


def escape(text: str, longest: int = _LONGEST) -> str:
    """Disarm the tags that Plotly would read in a text, such as <b> and <a href=...>.

    >>> escape("<b>AIDS</b>")
    '&lt;b&gt;AIDS&lt;/b&gt;'
    """
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def knowledge_figure(counts: GroupCounts, verdict: Verdict, noun: str = NOUN) -> Figure | None:
    """Draw the breach probability of a verdict's worst value against k.

    Parameters
    ----------
    counts : GroupCounts
    verdict : Verdict
    noun : str
        What a sensitive value is called.

    Returns
    -------
    Figure or None
        None for a kind of knowledge without a k, and where no value is disclosed at all.
    """
    facts, found, limit = verdict.point.adversary, verdict.disclosure, verdict.limit
    if not isinstance(facts, Facts) or found.value is None or found.witness is None:
        return None
    from plotly.graph_objects import Figure, Scatter

    terms = Terms(noun, counts.semantics, named(found.value))
    curves = curves_around(counts, facts, found.value)
    styles = [(_OWN, "solid"), *_OTHERS]
    lines = [
        Scatter(
            x=list(curve.ks),
            y=[d.probability for d in curve.found],
            text=[percent(d, limit, 1) for d in curve.found],
            mode="lines",
            name=_legend(curve, terms, own=place == 0),
            line={"color": color, "dash": dash, "width": 3.5 if place == 0 else 2},
            hovertemplate=f"%{{x}} known: %{{text}}<extra>{_legend(curve, terms, False)}</extra>",
        )
        for place, (curve, (color, dash)) in enumerate(zip(curves, styles, strict=False))
    ]
    point = Scatter(
        x=[facts.k],
        y=[found.probability],
        mode="markers",
        marker={"symbol": "diamond", "size": 13, "color": _OWN, "line": {"width": 2}},
        text=[percent(found, limit, 1)],
        hovertemplate="the policy's point: %{text}<extra></extra>",
        showlegend=False,
        cliponaxis=False,
    )
    figure = Figure([*lines[::-1], point], layout=base_layout())
    low = found.probability < 0.12
    figure.add_annotation(
        x=facts.k,
        y=found.probability,
        text=f"<b>{percent(found, limit, 1)}</b>",
        showarrow=False,
        xanchor="left",
        yanchor="bottom" if low else "top",
        xshift=9,
        yshift=7 if low else -7,
        bgcolor=PAPER,
    )
    figure.add_hline(
        y=float(limit),
        line={"color": LIMIT, "dash": "dash", "width": 2},
        annotation={
            "text": f"limit {limit_text(limit)}",
            "font": {"color": LIMIT},
            "x": 1,
            "xanchor": "right",
            "yanchor": "bottom" if limit < 0.9 else "top",
        },
    )
    figure.update_xaxes(title_text=escape(terms.k_axis, 2 * _LONGEST))
    figure.update_yaxes(
        title_text=f"how sure of {escape(named(found.value))}", range=[0, 1.04], tickformat=".0%"
    )
    return figure


def sizes_figure(counts: GroupCounts) -> Figure:
    """Draw how many groups have which size."""
    from plotly.graph_objects import Bar, Figure

    starts, groups, width = size_bins(counts.sizes.tolist())
    spans = [str(s) if width == 1 else f"{s:,} to {s + width - 1:,}" for s in starts]
    bars = Bar(
        x=[start + (width - 1) / 2 for start in starts],
        y=groups,
        width=[width * 0.9] * len(starts),
        text=spans,
        textposition="none",
        marker={"color": _BARS},
        hovertemplate="%{y} groups of %{text}<extra></extra>",
    )
    figure = Figure([bars], layout=base_layout())
    figure.update_xaxes(title_text="people in the group")
    figure.update_yaxes(title_text="groups", rangemode="tozero", tickformat=",d")
    if max(groups) < 5:
        figure.update_yaxes(dtick=1)
    figure.update_layout(height=260, showlegend=False)
    return figure


def _legend(curve: Curve, terms: Terms, own: bool) -> str:
    known = ", ".join(terms.beside(curve.l, curve.m)) or "nothing else known"
    return f"{known} (this requirement)" if own else known


def base_layout() -> dict[str, Any]:
    """What the figures of a page have in common; page.js adapts it to the reader's screen."""
    axis = {
        "gridcolor": _GRID,
        "linecolor": _INK,
        "zeroline": False,
        "fixedrange": True,
        "automargin": True,
        "title": {"font": {"size": _SIZE}, "standoff": 14},
        "rangemode": "tozero",
    }
    return {
        "template": "none",
        "height": 380,
        "margin": {"l": 10, "r": 16, "t": 16, "b": 10},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": _SIZE, "color": _INK},
        "xaxis": axis,
        "yaxis": axis,
        "dragmode": False,
        "hovermode": "closest",
        "showlegend": True,
        "legend": {
            "orientation": "h",
            "yanchor": "bottom",
            "y": 1.02,
            "x": 0,
            "traceorder": "reversed",
        },
    }
