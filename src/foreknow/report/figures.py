"""Figures: what a little more knowledge would disclose, and how large the groups are (Plotly).

Plotly is imported only when a figure is drawn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.minima import five
from foreknow.adversaries.facts.profiles import profiles
from foreknow.adversaries.facts.skyline import front
from foreknow.adversaries.protocol import Mask
from foreknow.auditing.audit import Verdict
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label
from foreknow.report.terms import NOUN, Terms
from foreknow.report.words import limit_text, named, percent

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_LEAST_K = 20
_MOST_POINTS = 41


@dataclass(frozen=True)
class Curve:
    """Breach probability of one value against k, with l and m held.

    Attributes
    ----------
    l, m : int
    ks : tuple of int
        Rising.
    found : tuple of Disclosure
        One per k.
    """

    l: int  # noqa: E741
    m: int
    ks: tuple[int, ...]
    found: tuple[Disclosure, ...]


@dataclass(frozen=True)
class RankedGroup:
    """A group, and how sure an adversary could be with facts about this group alone.

    Attributes
    ----------
    group : label
    people, holders : int
        Members, and how many of them have the value.
    found : Disclosure
    """

    group: Label
    people: int
    holders: int
    found: Disclosure


def curves_around(counts: GroupCounts, facts: Facts, value: Label) -> list[Curve]:
    """Curves of an adversary, of one who knows k only, and of two who know one fact more.

    Parameters
    ----------
    counts : GroupCounts
    facts : Facts
        The first curve is its own.
    value : label
        Must occur in some group.
    """
    points = [
        (facts.l, facts.m),
        (0, 0),
        (facts.l + 1, facts.m),
        (facts.l, facts.m + 1),
    ]
    ks = steps(facts.k)
    small = {l: telling_groups(counts, l, value) for l in {l for l, _ in points}}  # noqa: E741
    return [
        Curve(l, m, ks, tuple(Facts(l, k, m).disclosure(small[l], value) for k in ks))
        for l, m in dict.fromkeys(points)  # noqa: E741
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


def withstands(counts: GroupCounts, facts: Facts, value: Label, limit: Fraction) -> int:
    """Count the other people that may be known, up to the end of the curve, below the limit.

    Returns
    -------
    int
        The largest k at which the value stays below the limit; -1 where none does.
    """
    small = telling_groups(counts, facts.l, value)
    ks = range(steps(facts.k)[-1] + 1)
    # More knowledge is never less disclosure, so the first k that fails is found by halving.
    return (
        bisect_left(
            ks,
            True,
            key=lambda k: not Facts(facts.l, k, facts.m).disclosure(small, value).below(limit),
        )
        - 1
    )


def telling_groups(counts: GroupCounts, l: int, value: Label) -> GroupCounts:  # noqa: E741
    """Keep the groups that decide the disclosure of a value, at this l and every k and m."""
    found = front(counts, l, counts.code(value))
    return counts.take(np.unique(found.group))


def worst_groups(
    counts: GroupCounts, facts: Facts, value: Label, most: int = 5, named: int | None = None
) -> list[RankedGroup]:
    """Rank the groups that contain a value by what facts about one group alone disclose.

    Parameters
    ----------
    counts : GroupCounts
    facts : Facts
    value : label
    most : int
        How many groups to give, worst first; equals in the order of the counts.
    named : int, optional
        Position of a group that was named already; it goes before its equals.
    """
    found = profiles(counts, facts.l, _only(counts, value))
    ratios = five(found, facts.k, facts.m).together
    first = np.lexsort((found.group, found.group != named, ratios))[:most]

    def judged(at: int) -> Disclosure:
        n, s, law = int(found.n[at]), int(found.s[at]), found.law

        def exact() -> Fraction:
            (spare,) = found.take(np.array([at])).exact_spare()
            odds = law.t_exact(n, s, spare, facts.k) * law.v_exact(n, s, facts.m, facts.k + 1)
            return 1 / (1 + odds)

        return Disclosure(value, float(1 / (1 + ratios[at])), exact)

    return [
        RankedGroup(
            counts.group_label(int(found.group[at])), int(found.n[at]), int(found.s[at]), judged(at)
        )
        for at in first.tolist()
    ]


def _only(counts: GroupCounts, value: Label) -> Mask:
    mask = np.zeros(counts.n_values, dtype=bool)
    mask[counts.code(value)] = True
    return mask


def size_bins(sizes: Sequence[int], most: int = 40) -> tuple[list[int], list[int], int]:
    """Count groups by size, in bins of one whole width.

    Returns
    -------
    starts, groups : list of int
        The least size of each bin, and how many groups fall into it.
    width : int
    """
    least, largest = int(min(sizes)), int(max(sizes))
    width = _round_up(-(-(largest - least + 1) // most))
    first = least // width * width
    tally = np.bincount((np.asarray(sizes) - first) // width)
    return [first + width * i for i in range(len(tally))], tally.tolist(), width


def _round_up(width: int) -> int:
    """Return the next of 1, 2, 5, 10, 20, 50, ..."""
    scale = int("1" + "0" * (len(str(width)) - 1))
    return next(step * scale for step in (1, 2, 5, 10) if step * scale >= width)


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
