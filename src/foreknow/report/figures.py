"""Figures: what a little more knowledge would disclose, and how large the groups are.

Plain values for Plotly, whose own objects would check each of thousands of numbers.
"""

from __future__ import annotations

import textwrap
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.minima import theorem2_terms
from foreknow.adversaries.facts.profiles import profiles
from foreknow.adversaries.facts.skyline import front
from foreknow.auditing.audit import Verdict
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label
from foreknow.report.knowledge import NOUN, Terms
from foreknow.report.words import limit_text, named, percent

_LEAST_K = 20
_MOST_POINTS = 41

# ---- what is drawn -------------------------------------------------------------------------


def curves_around(
    counts: GroupCounts, facts: Facts, value: Label
) -> dict[tuple[int, int], list[Disclosure]]:
    """By l and m, at each step of k: of an adversary, of one who knows k only or one fact more."""
    l, m = facts.l, facts.m  # noqa: E741
    points = dict.fromkeys([(l, m), (0, 0), (l + 1, m), (l, m + 1)])
    small = {l: _deciding_groups(counts, l, value) for l in {l for l, _ in points}}  # noqa: E741
    return {
        (l, m): [Facts(l, k, m).disclosure(small[l], value) for k in steps(facts.k)]
        for l, m in points  # noqa: E741
    }


def steps(k: int) -> tuple[int, ...]:
    """Choose the k of a curve: 0 to twice the policy's, itself among them, few in all.

    >>> steps(2)[-1], len(steps(1000)), 1000 in steps(1000)
    (20, 41, True)
    """
    most = max(2 * k, _LEAST_K)
    if most < _MOST_POINTS:
        return tuple(range(most + 1))
    return tuple(sorted({most * i // (_MOST_POINTS - 1) for i in range(_MOST_POINTS)} | {k}))


def last_below(found: Callable[[int], Disclosure], limit: Fraction, end: int) -> int:
    """The most pieces of knowledge, up to an end, that disclose less than a limit; -1 if none.

    More knowledge is never less disclosure, so the first that fails is found by halving.
    """
    return bisect_left(range(end + 1), True, key=lambda k: not found(k).below(limit)) - 1


def limit_holds(most: int, end: int, known: Callable[[int], str]) -> str:
    """Say how far a limit holds: `most` pieces may be known, of up to `end` that were tried."""
    if most < 0:
        return f"is reached even when {known(0)}"
    if most == 0:
        return f"holds only while {known(0)}"
    return (
        f"still holds when {known(most)}" if most >= end else f"holds while at most {known(most)}"
    )


def withstands(counts: GroupCounts, facts: Facts, value: Label, limit: Fraction) -> int:
    """Count the other people that may be known, up to the end of the curve, below the limit."""
    small = _deciding_groups(counts, facts.l, value)
    end = steps(facts.k)[-1]
    return last_below(lambda k: replace(facts, k=k).disclosure(small, value), limit, end)


def _deciding_groups(counts: GroupCounts, l: int, value: Label) -> GroupCounts:  # noqa: E741
    """The groups that decide the disclosure of a value, at this l and every k and m."""
    return counts.take(np.unique(front(counts, l, counts.code(value)).group))


def worst_groups(
    counts: GroupCounts, facts: Facts, value: Label, most: int = 5, named: int | None = None
) -> list[tuple[int, Disclosure]]:
    """The groups in which a value is most exposed by facts about one group alone, worst first.

    Of equals, the group at the position `named`, of which a sentence speaks, is the first.
    """
    wanted = np.zeros(counts.n_values, dtype=bool)
    wanted[counts.code(value)] = True
    found = profiles(counts, facts.l, wanted)
    ratios = theorem2_terms(found, facts.k, facts.m).together
    first = np.lexsort((found.group, found.group != named, ratios))[:most]
    groups = found.group[first].tolist()
    return [(g, facts.disclosure(counts.take(np.array([g])), value)) for g in groups]


def size_bins(sizes: Sequence[int], most: int = 40) -> tuple[list[int], list[int], int]:
    """Count groups by size: the least size of each bin, its groups, and the bins' whole width."""
    least, largest = int(min(sizes)), int(max(sizes))
    needed = -(-(largest - least + 1) // most)
    width = next(step * 10**e for e in range(19) for step in (1, 2, 5) if step * 10**e >= needed)
    first = least // width * width
    tally = np.bincount((np.asarray(sizes) - first) // width)
    return [first + width * i for i in range(len(tally))], tally.tolist(), width


# ---- the figures ---------------------------------------------------------------------------

# Middle tones: at least 3:1 against white and against near-black. Symbols and dashes tell them
# apart in grey.
OWN, LIMIT = "#2f7ed8", "#d64545"
STYLES = (
    (OWN, "circle", "solid"),
    ("#cf6a10", "square", "dash"),
    ("#1f8a70", "diamond", "dot"),
    ("#8a63d2", "triangle-up", "dashdot"),
    ("#c2549d", "x", "longdash"),
    ("#7a8290", "star", "longdashdot"),
)
INK, _GRID, SIZE = "#5b6470", "rgba(128,136,148,0.28)", 14
_LONGEST, _WIDTH = 40, 56


def escape(text: str, longest: int = _LONGEST) -> str:
    """Disarm the tags that Plotly would read in a text, such as <b> and <a href=...>.

    >>> escape("<b>AIDS</b>")
    '&lt;b&gt;AIDS&lt;/b&gt;'
    """
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def hover_text(*sentences: str) -> str:
    """Lay out sentences for a hover box, and disarm their tags."""
    lines = [
        [escape(line, 2 * _WIDTH) for line in textwrap.wrap(sentence, _WIDTH)]
        for sentence in sentences
    ]
    return "<br>".join(line for part in lines for line in part)


def scatter(
    x: Iterable[float], y: Iterable[float], texts: Iterable[str], **more: Any
) -> dict[str, Any]:
    """Marks that show their texts."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(x),
        "y": list(y),
        "text": list(texts),
        "hovertemplate": "%{text}<extra></extra>",
        "cliponaxis": False,
        **more,
    }


def base_layout(
    x: str = "", y: str = "", *, height: int = 380, percent: bool = False, top_first: bool = True
) -> dict[str, Any]:
    """What the figures of a page have in common; page.js adapts it to the reader's screen.

    `percent` is for a vertical axis of probabilities; `top_first` reverses the legend.
    """
    axis = {
        "gridcolor": _GRID,
        "linecolor": INK,
        "zeroline": False,
        "fixedrange": True,
        "automargin": True,
        "rangemode": "tozero",
    }

    def titled(text: str) -> dict[str, Any]:
        title = {"font": {"size": SIZE}, "standoff": 14}
        return {**axis, "title": {**title, "text": text} if text else title}

    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0}
    return {
        "template": "none",
        "height": height,
        "margin": {"l": 10, "r": 16, "t": 16, "b": 10},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": SIZE, "color": INK},
        "xaxis": titled(x),
        "yaxis": titled(y) | ({"range": [0, 1.04], "tickformat": ".0%"} if percent else {}),
        "dragmode": False,
        "hovermode": "closest",
        "showlegend": True,
        "legend": {**legend, "traceorder": "reversed" if top_first else "normal"},
    }


def knowledge_figure(
    counts: GroupCounts, verdict: Verdict, noun: str = NOUN
) -> dict[str, Any] | None:
    """Draw the breach probability of a verdict's worst value against k; None without a k."""
    facts, found, limit = verdict.point.adversary, verdict.disclosure, verdict.limit
    if not isinstance(facts, Facts) or found.value is None or found.witness is None:
        return None
    terms = Terms(noun, counts.semantics, named(found.value))
    lines = []
    around = curves_around(counts, facts, found.value).items()
    for ((l, m), curve), (color, _, dash) in zip(around, STYLES, strict=False):  # noqa: E741
        name, own = terms.short(l, 0, m) or "nothing else known", (l, m) == (facts.l, facts.m)
        more = {
            "mode": "lines",
            "name": f"{name} (this requirement)" if own else name,
            "line": {"color": color, "dash": dash, "width": 3.5 if own else 2},
            "hovertemplate": f"%{{x}} known: %{{text}}<extra>{name}</extra>",
        }
        texts = (percent(d, limit, 1) for d in curve)
        lines.append(scatter(steps(facts.k), (d.probability for d in curve), texts, **more))
    x, y = terms.axes[1], f"how sure of {escape(named(found.value))}"
    figure = {"data": lines[::-1], "layout": base_layout(x, y, percent=True)}
    return with_limit(figure, facts.k, found, limit)


def with_limit(
    figure: dict[str, Any], k: int, found: Disclosure, limit: Fraction
) -> dict[str, Any]:
    """Add a requirement's point and its limit to a figure of curves."""
    said, left = percent(found, limit, 1), found.probability > 0.85
    where = "bottom" if found.probability < 0.12 else "top"
    marker = {"symbol": "diamond-open", "size": 17, "color": LIMIT, "line": {"width": 3}}
    point = {"marker": marker, "showlegend": False}
    line = {"color": LIMIT, "dash": "dash", "width": 2}
    across = {"xref": "paper", "x0": 0, "x1": 1, "y0": float(limit), "y1": float(limit)}
    beside = {
        "x": k,
        "y": found.probability,
        "text": f"<b>{said}</b>",
        "showarrow": False,
        "xanchor": "left",
        "yanchor": where,
        "xshift": 10,
        "yshift": 8 if where == "bottom" else -8,
        "bgcolor": "rgba(255,255,255,0.8)",
    }
    note = {
        "xref": "paper",
        "x": 0 if left else 1,
        "y": float(limit),
        "text": f"limit {limit_text(limit)}",
        "font": {"color": LIMIT},
        "showarrow": False,
        "xanchor": "left" if left else "right",
        "yanchor": "bottom" if limit < Fraction(9, 10) else "top",
    }
    mark = scatter([k], [found.probability], [f"the policy's point: {said}"], **point)
    drawn = {"shapes": [{"type": "line", "line": line, **across}], "annotations": [beside, note]}
    return {"data": [*figure["data"], mark], "layout": {**figure["layout"], **drawn}}


def sizes_figure(counts: GroupCounts) -> dict[str, Any]:
    """Draw how many groups have which size."""
    starts, groups, width = size_bins(counts.sizes.tolist())
    bars = {
        "type": "bar",
        "x": [start + (width - 1) / 2 for start in starts],
        "y": groups,
        "width": [width * 0.9] * len(starts),
        "text": [str(s) if width == 1 else f"{s:,} to {s + width - 1:,}" for s in starts],
        "textposition": "none",
        "marker": {"color": OWN},
        "hovertemplate": "%{y} groups of %{text}<extra></extra>",
    }
    layout = base_layout("people in the group", "groups", height=260)
    layout["showlegend"] = False
    layout["yaxis"] |= {"tickformat": ",d"} | ({"dtick": 1} if max(groups) < 5 else {})
    return {"data": [bars], "layout": layout}
