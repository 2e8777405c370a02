"""Priors in a report: the figure of what was likely before the release and is after it."""

from __future__ import annotations

from typing import Any

import numpy as np

from foreknow.adversaries.priors.disclosure import Judged, judged_before
from foreknow.adversaries.priors.priors import Priors
from foreknow.auditing.audit import Verdict
from foreknow.data.counts import GroupCounts
from foreknow.numbers import percentage
from foreknow.report.chart import LIMIT, STYLES, Chart, Series, shares
from foreknow.report.page import Grid
from foreknow.report.words import limit_text, named, number, times_text, visible

_MOST, _LISTED = 1_000, 20


def priors_section(counts: GroupCounts, verdict: Verdict) -> tuple[Chart | None, str]:
    """Draw priors beside posteriors for a requirement on priors, with a caption, if known."""
    priors, point = verdict.point.adversary, verdict.point
    assert isinstance(priors, Priors)
    if verdict.requirement.about_sets:  # of single values this would say nothing
        return None, ""
    about = verdict.requirement.mask(counts.values)
    known = [judged_before(counts, table, priors.semantics) for table in priors.tables]
    clouds = [
        _cloud(found, about, *STYLES[place % len(STYLES)][:2])
        for place, found in enumerate(known)
        if found is not None
    ]
    if not any(cloud.x for cloud in clouds):
        return None, ""
    same = Series((0, 1), (0, 1), "nothing learned", "#7a8290", dash="2 4")
    below = float(point.below)
    if point.relative:
        limit = Series((0, 1 / below, 1), (0, 1, 1), "the limit", LIMIT, dash="8 5")
        said = f"is {times_text(point.below)} times as likely as before"
    else:
        limit = Series((0, 1), (below, below), "the limit", LIMIT, dash="8 5")
        said = f"is {limit_text(point.below)}"
    widest = max(x or 0 for cloud in clouds for x in cloud.x)
    across = shares("how likely before the release", min(1.0, 1.1 * widest))
    # The likeliest of each table, as the figure has them.
    listed = [text for cloud in clouds for text in cloud.texts[:_LISTED]]
    rows = [text.split("\n", 1) for text in listed]
    chart = Chart(
        across,
        shares("how likely at worst after it"),
        [same, limit, *clouds],
        table=Grid(("who, and which value", "before and after"), rows, left=(0, 1)),
    )
    return chart, (
        f"Each mark is a {_kind(priors)} and a value: across, how likely the value was before the "
        "release; up, how likely it is after it in the group where it is likeliest. The limit "
        f"{said}."
    )


def _kind(priors: Priors) -> str:
    columns = list(dict.fromkeys(name for table in priors.tables for name in table.attributes))
    return " or ".join(visible(name) for name in columns[:4])


def _cloud(found: Judged, about: np.ndarray[Any, Any], color: str, symbol: str) -> Series:
    who, what, prior, after = found.surest()
    kept = np.flatnonzero(about[what])
    kept = kept[np.argsort(-after[kept], kind="stable")][:_MOST]
    names = found.table.attributes
    texts = []
    for cell in kept.tolist():
        label = found.signatures[who[cell]]
        kind = ", ".join(
            f"{visible(name)} {'missing' if part is None else visible(part)}"
            for name, part in zip(names, label, strict=True)
        )
        value = named(found.counts.values[what[cell]])
        before, then = (percentage(float(x), 2) for x in (prior[cell], after[cell]))
        texts.append(f"{kind}: {value}\n{before} before, {then} after")
    name = f"by {', '.join(visible(name) for name in names)}: {number(len(kept))}"
    x, y = prior[kept].tolist(), after[kept].tolist()
    return Series(x, y, name, color, texts, symbol, size=0.8)
