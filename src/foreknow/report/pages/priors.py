"""Priors in a report: their words, and the figure of what was likely before and is after.

The figure is made of plain values, since Plotly's own objects check each of thousands of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from markupsafe import Markup

from foreknow.adversaries.priors.disclosure import Judged, PriorsWitness, judged_before
from foreknow.adversaries.priors.priors import Priors
from foreknow.auditing.audit import Verdict
from foreknow.data.counts import GroupCounts
from foreknow.report.figures import LIMIT, base_layout, escape
from foreknow.report.page import script_json
from foreknow.report.words import (
    group_words,
    limit_text,
    listing,
    named,
    number,
    plural,
    some,
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


def known_priors(priors: Priors, noun: str) -> str:
    """Say which statistics the adversary knows, after "who"."""
    sets = [
        listing([visible(name) for name in table.attributes], most=8) for table in priors.tables
    ]
    beside = "each by itself, " if len(sets) > 1 else ""
    by = listing([f"by {columns}" for columns in sets], "or", most=8)
    each = " (each value by itself)" if priors.semantics == "binary" else ""
    return f"knows how likely {plural(noun)} are {by}, {beside}and these of everybody{each}"


def short_priors(priors: Priors) -> str:
    """The same for a narrow column: by which columns, and how they are read."""
    sets = [", ".join(visible(name) for name in table.attributes) for table in priors.tables]
    return f"priors by {'; '.join(sets)} ({priors.semantics})"


def used_prior(witness: PriorsWitness) -> str:
    """Say which probability the adversary used, after "who"."""
    who = _person(witness)
    return f"knows that people with {who} have it with probability {share_text(witness.prior)}"


def prior_details(witness: PriorsWitness) -> tuple[tuple[str, str], ...]:
    """The person, what was known before, and what the group alone says."""
    group = group_words(witness.group)
    alike = some(witness.people, "person there is", "people there are")
    alone = Fraction(witness.holders, witness.size)
    return (
        ("The target", f"in {group}, with {_person(witness)}; {alike} alike"),
        ("Before the release", f"{share_text(witness.prior)} sure of {named(witness.value)}"),
        (
            "By the group alone",
            f"{share_text(alone)}: {number(witness.holders)} of {number(witness.size)} have it",
        ),
    )


def _person(witness: PriorsWitness) -> str:
    parts = [
        f"{visible(name)} {'missing' if label is None else visible(label)}"
        for name, label in witness.signature.items()
    ]
    return listing(parts, most=8)


def share_text(chance: Fraction) -> str:
    """Write a probability in percent, with three digits that count; 100% only where it is 1."""
    for digits in range(3, 15):
        shown = f"{float(chance * 100):.{digits}g}"
        if shown != "100" or chance == 1:
            return f"{shown}%"
    return "almost 100%"


def priors_section(counts: GroupCounts, verdict: Verdict) -> tuple[Markup | None, str]:
    """Draw priors beside posteriors for a requirement about priors, with a caption.

    None where no posterior is known.
    """
    priors, point = verdict.point.adversary, verdict.point
    assert isinstance(priors, Priors)
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
        "x": prior[kept].tolist(),
        "y": after[kept].tolist(),
        "text": texts,
        "name": f"by {escape(', '.join(visible(name) for name in names))}: {number(len(kept))}",
        "hovertemplate": "%{text}<br>%{x:.2%} before, %{y:.2%} after<extra></extra>",
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
