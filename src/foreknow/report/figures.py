"""Figures: what a little more knowledge would disclose, and how large the groups are.

Plain values for Plotly, whose own objects would check each of thousands of numbers.
"""

from __future__ import annotations

import textwrap
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Curve:
    """Breach probability of one value against k, with l and m held."""

    l: int  # noqa: E741
    m: int
    ks: tuple[int, ...]
    found: tuple[Disclosure, ...]


@dataclass(frozen=True)
class RankedGroup:
    """A group, and how sure an adversary could be with facts about this group alone."""

    group: Label
    people: int
    holders: int
    found: Disclosure


def curves_around(counts: GroupCounts, facts: Facts, value: Label) -> list[Curve]:
    """Curves of an adversary, of one who knows k only, and of two who know one fact more."""
    l, m = facts.l, facts.m  # noqa: E741
    points = dict.fromkeys([(l, m), (0, 0), (l + 1, m), (l, m + 1)])
    ks = steps(facts.k)
    small = {l: _deciding_groups(counts, l, value) for l in {l for l, _ in points}}  # noqa: E741
    return [
        Curve(l, m, ks, tuple(Facts(l, k, m).disclosure(small[l], value) for k in ks))
        for l, m in points  # noqa: E741
    ]


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


def withstands(counts: GroupCounts, facts: Facts, value: Label, limit: Fraction) -> int:
    """Count the other people that may be known, up to the end of the curve, below the limit."""
    small = _deciding_groups(counts, facts.l, value)

    def found(k: int) -> Disclosure:
        return Facts(facts.l, k, facts.m).disclosure(small, value)

    return last_below(found, limit, steps(facts.k)[-1])


def _deciding_groups(counts: GroupCounts, l: int, value: Label) -> GroupCounts:  # noqa: E741
    """The groups that decide the disclosure of a value, at this l and every k and m."""
    return counts.take(np.unique(front(counts, l, counts.code(value)).group))


def worst_groups(
    counts: GroupCounts, facts: Facts, value: Label, most: int = 5, named: int | None = None
) -> list[RankedGroup]:
    """Rank the groups that contain a value by what facts about one group alone disclose.

    Of equals, the group at the position `named`, of which a sentence speaks, is the first.
    """
    wanted = np.zeros(counts.n_values, dtype=bool)
    wanted[counts.code(value)] = True
    found = profiles(counts, facts.l, wanted)
    ratios = theorem2_terms(found, facts.k, facts.m).together
    first = np.lexsort((found.group, found.group != named, ratios))[:most]

    def judged(at: int) -> Disclosure:
        n, s, formulas = int(found.n[at]), int(found.s[at]), found.formulas

        def exact() -> Fraction:
            (slack,) = found.take(np.array([at])).exact_slack()
            odds = formulas.t_exact(n, s, slack, facts.k) * formulas.v_exact(
                n, s, facts.m, facts.k + 1
            )
            return 1 / (1 + odds)

        return Disclosure(value, float(1 / (1 + ratios[at])), exact)

    return [
        RankedGroup(
            counts.group_label(int(found.group[at])), int(found.n[at]), int(found.s[at]), judged(at)
        )
        for at in first.tolist()
    ]


def size_bins(sizes: Sequence[int], most: int = 40) -> tuple[list[int], list[int], int]:
    """Count groups by size: the least size of each bin, its groups, and the bins' whole width."""
    least, largest = int(min(sizes)), int(max(sizes))
    width = _round_up(-(-(largest - least + 1) // most))
    first = least // width * width
    tally = np.bincount((np.asarray(sizes) - first) // width)
    return [first + width * i for i in range(len(tally))], tally.tolist(), width


def _round_up(width: int) -> int:
    """Return the next of 1, 2, 5, 10, 20, 50, ..."""
    scale = int("1" + "0" * (len(str(width)) - 1))
    return next(step * scale for step in (1, 2, 5, 10) if step * scale >= width)


# ---- the figures ---------------------------------------------------------------------------

# Middle tones: at least 3:1 against white and against near-black. Dashes tell them apart in grey.
OWN, LIMIT, PAPER = "#2f7ed8", "#d64545", "rgba(255,255,255,0.8)"
_STYLES = ((OWN, "solid"), ("#7a8290", "dot"), ("#cf6a10", "dash"), ("#8a63d2", "dashdot"))
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
    around = curves_around(counts, facts, found.value)
    for place, (curve, (color, dash)) in enumerate(zip(around, _STYLES, strict=False)):
        name = terms.beside(curve.l, curve.m) or "nothing else known"
        lines.append(
            {
                "type": "scatter",
                "x": list(curve.ks),
                "y": [d.probability for d in curve.found],
                "text": [percent(d, limit, 1) for d in curve.found],
                "mode": "lines",
                "name": name if place else f"{name} (this requirement)",
                "line": {"color": color, "dash": dash, "width": 2 if place else 3.5},
                "hovertemplate": f"%{{x}} known: %{{text}}<extra>{name}</extra>",
            }
        )
    low, said = found.probability < 0.12, percent(found, limit, 1)
    marker = {"symbol": "diamond", "size": 13, "color": OWN, "line": {"width": 2}}
    layout = base_layout(
        escape(terms.k_axis, 2 * _LONGEST),
        f"how sure of {escape(named(found.value))}",
        percent=True,
    )
    return {
        "data": [*lines[::-1], mark_of_policy(facts.k, found, said, marker)],
        "layout": layout
        | {
            "shapes": [limit_line(limit)],
            "annotations": [
                note_beside(facts.k, found, said, above=low),
                limit_note(limit, left=False),
            ],
        },
    }


def mark_of_policy(k: int, found: Disclosure, said: str, marker: dict[str, Any]) -> dict[str, Any]:
    """The point of a requirement on its curve."""
    return {
        "type": "scatter",
        "x": [k],
        "y": [found.probability],
        "mode": "markers",
        "marker": marker,
        "hovertemplate": f"the policy's point: {said}<extra></extra>",
        "showlegend": False,
        "cliponaxis": False,
    }


def note_beside(k: int, found: Disclosure, said: str, above: bool) -> dict[str, Any]:
    """The probability of a point, beside it."""
    return {
        "x": k,
        "y": found.probability,
        "text": f"<b>{said}</b>",
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom" if above else "top",
        "xshift": 10,
        "yshift": 8 if above else -8,
        "bgcolor": PAPER,
    }


def limit_line(limit: Fraction) -> dict[str, Any]:
    """A limit, across the figure."""
    line = {"color": LIMIT, "dash": "dash", "width": 2}
    across = {"xref": "paper", "x0": 0, "x1": 1, "y0": float(limit), "y1": float(limit)}
    return {"type": "line", "line": line, **across}


def limit_note(limit: Fraction, left: bool) -> dict[str, Any]:
    """What the line is, at one of its ends."""
    return {
        "xref": "paper",
        "x": 0 if left else 1,
        "y": float(limit),
        "text": f"limit {limit_text(limit)}",
        "font": {"color": LIMIT},
        "showarrow": False,
        "xanchor": "left" if left else "right",
        "yanchor": "bottom" if limit < Fraction(9, 10) else "top",
    }


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
