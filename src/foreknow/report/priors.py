"""Priors in a report: the figure of what was likely before the release and is after it.

The figure is made of plain values, since Plotly's own objects check each of thousands of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from foreknow.adversaries.priors.disclosure import Judged, judged_before
from foreknow.adversaries.priors.priors import Priors
from foreknow.auditing.audit import Verdict
from foreknow.data.counts import GroupCounts
from foreknow.numbers import percentage
from foreknow.report.figures import LIMIT, base_layout, escape
from foreknow.report.page import script_json
from foreknow.report.words import (
    limit_text,
    named,
    number,
    times_text,
    visible,
)

_MOST = 2_000
_SETS = (
    ("#2f7ed8", "circle"),
    ("#cf6a10", "square"),
    ("#1f8a70", "diamond"),
    ("#8a63d2", "triangle-up"),
)


def priors_section(counts: GroupCounts, verdict: Verdict) -> tuple[Markup | None, str]:
    """Draw priors beside posteriors for a requirement about priors, with a caption.

    None where no posterior is known.
    """
    priors, point = verdict.point.adversary, verdict.point
    assert isinstance(priors, Priors)
    if verdict.requirement.about_sets:  # of single values this would say nothing
        return None, ""
    about = verdict.requirement.mask(counts.values)
    known = [judged_before(counts, table, priors.semantics) for table in priors.tables]
    clouds = [
        _cloud(found, about, *_SETS[place % len(_SETS)])
        for place, found in enumerate(known)
        if found is not None
    ]
    if not clouds or not any(cloud["x"] for cloud in clouds):
        return None, ""
    same = _line("nothing learned", (0, 1), (0, 1), {"color": "#7a8290", "dash": "dot"})
    dash, below = {"color": LIMIT, "dash": "dash"}, float(point.below)
    if point.relative:
        limit = _line("the limit", (0, 1 / below, 1), (0, 1, 1), dash)
        said = f"is {times_text(point.below)} times as likely as before"
    else:
        limit = _line("the limit", (0, 1), (below, below), dash)
        said = f"is {limit_text(point.below)}"
    return script_json({"data": [same, limit, *clouds], "layout": _layout(clouds)}), (
        f"Each mark is a {_kind(priors)} and a value: across, how likely the value was before the "
        "release; up, how likely it is after it in the group where it is likeliest. The limit "
        f"{said}."
    )


def _line(
    name: str, x: Sequence[float], y: Sequence[float], line: dict[str, str]
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "name": name,
        "line": {**line, "width": 2},
        "hoverinfo": "skip",
    }


def _kind(priors: Priors) -> str:
    columns = list(dict.fromkeys(name for table in priors.tables for name in table.attributes))
    return " or ".join(visible(name) for name in columns[:4])


def _cloud(found: Judged, about: np.ndarray[Any, Any], color: str, symbol: str) -> dict[str, Any]:
    who, what, prior, after = found.surest()
    kept = np.flatnonzero(about[what])
    kept = kept[np.argsort(-after[kept], kind="stable")][:_MOST]
    names = found.table.attributes
    texts = []
    for cell in kept.tolist():
        label = found.signatures[who[cell]]
        kind = ", ".join(
            f"{escape(visible(name))} {escape('missing' if part is None else visible(part))}"
            for name, part in zip(names, label, strict=True)
        )
        value = escape(named(found.counts.values[what[cell]]))
        texts.append(f"{kind}<br><b>{value}</b>")
    return {
        "type": "scatter",
        "mode": "markers",
        "customdata": [
            [percentage(float(x), 2) for x in (prior[cell], after[cell])] for cell in kept
        ],
        "x": prior[kept].tolist(),
        "y": after[kept].tolist(),
        "text": texts,
        "name": f"by {escape(', '.join(visible(name) for name in names))}: {number(len(kept))}",
        "hovertemplate": "%{text}<br>%{customdata[0]} before, %{customdata[1]} after"
        "<extra></extra>",
        "marker": {"color": color, "symbol": symbol, "size": 7, "opacity": 0.7},
        "cliponaxis": False,
    }


def _layout(clouds: list[dict[str, Any]]) -> dict[str, Any]:
    layout = base_layout()
    widest = max((x for cloud in clouds for x in cloud["x"]), default=1.0)
    for axis, text, top in (
        ("xaxis", "how likely before the release", min(1.0, 1.15 * widest)),
        ("yaxis", "at worst after it", 1.04),
    ):
        layout[axis] = layout[axis] | {
            "title": layout[axis]["title"] | {"text": text},
            "tickformat": ".0%",
            "range": [0, top],
        }
    layout["legend"] |= {"traceorder": "normal"}
    return layout
