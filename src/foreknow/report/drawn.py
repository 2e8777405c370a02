"""What is drawn beside a verdict, by kind of knowledge: how it would be with more or less of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foreknow.adversaries.facts.facts import Facts, FactsWitness
from foreknow.adversaries.priors.disclosure import Judged, judged_before
from foreknow.adversaries.priors.priors import Priors
from foreknow.data.counts import GroupCounts
from foreknow.numbers import percentage
from foreknow.report.blocks import Block, Figure, Heading, Table
from foreknow.report.chart import LIMIT, STYLES, Chart, Series, shares
from foreknow.report.figures import (
    knowledge_figure,
    limit_holds,
    steps,
    withstands,
    worst_cell,
    worst_groups,
)
from foreknow.report.knowledge import Terms
from foreknow.report.pages.curves import curves_section
from foreknow.report.words import group_text, named, number, required_text, signature_words, visible
from foreknow.verdict import Verdict

_MOST_GROUPS = 5


def beside(counts: GroupCounts, verdict: Verdict, noun: str, anchor: str) -> Iterator[Block]:
    """A figure, if there is one for this kind of knowledge, and the groups most exposed to it."""
    title, facts = "If more were known, or less", True
    if isinstance(verdict.judged, Priors):
        title, facts = "Before and after the release", False
        figure, caption = priors_section(counts, verdict)
    elif (figure := knowledge_figure(counts, verdict, noun)) is not None:
        caption = _caption(counts, verdict, noun)
    else:
        figure, caption = curves_section(counts, verdict, noun)
    if figure is not None:
        yield Figure(anchor, title, figure, caption, level=3)
    groups = _groups(counts, verdict) if facts else None
    if groups is not None:
        yield Heading(f"The groups most exposed to {visible(verdict.value)}", level=3)
        yield groups


def _groups(counts: GroupCounts, verdict: Verdict) -> Table | None:
    facts, found = verdict.judged, verdict.found
    if not isinstance(facts, Facts) or not isinstance(found.witness, FactsWitness):
        return None
    ranked = worst_groups(counts, facts, found.value, _MOST_GROUPS, found.witness.target_position)
    rows = [
        (
            group_text(counts.group_label(group)),
            number(int(counts.sizes[group])),
            number(counts.bag(group)[found.value]),
            worst_cell(alone, verdict.required),
        )
        for group, alone in ranked
    ]
    have = "occurrences" if counts.semantics == "multiset" else "have it"
    head = ("group", "people", have, "worst case within the group")
    return Table(head, rows, title="The most exposed groups")


def _caption(counts: GroupCounts, verdict: Verdict, noun: str) -> str:
    """Say how far the release is from its limit."""
    facts, value = verdict.judged, verdict.value
    assert isinstance(facts, Facts)
    most = withstands(counts, facts, value, verdict.limit)
    terms = Terms(noun, counts.semantics, named(value))
    beside = terms.short(facts.l, 0, facts.m).replace(", ", " and ") or "nothing else known"
    holds = limit_holds(most, steps(facts.k)[-1], terms.are_known)
    return f"With {beside}, the limit {holds}; the policy asks for {number(facts.k)}."


# ---- priors beside posteriors -------------------------------------------------------------------


_MOST, _LISTED = 1_000, 20


def priors_section(counts: GroupCounts, verdict: Verdict) -> tuple[Chart | None, str]:
    """Draw priors beside posteriors for a requirement on priors, with a caption, if known."""
    priors, required = verdict.judged, verdict.required
    assert isinstance(priors, Priors)
    if verdict.requirement.about_sets:  # of single values this would say nothing
        return None, ""
    about = verdict.requirement.meant(counts.values).about
    known = [judged_before(counts, table, priors.semantics) for table in priors.tables]
    clouds = [
        _cloud(found, about, *STYLES[place % len(STYLES)][:2])
        for place, found in enumerate(known)
        if found is not None
    ]
    if not any(cloud.x for cloud in clouds):
        return None, ""
    same = Series((0, 1), (0, 1), "nothing learned", "#7a8290", dash="2 4")
    below = float(required.amount or 0)
    if required.relative:
        limit = Series((0, 1 / below, 1), (0, 1, 1), "the limit", LIMIT, dash="8 5")
        said = f"is {required_text(required, 'times as likely as before')}"
    else:
        limit = Series((0, 1), (below, below), "the limit", LIMIT, dash="8 5")
        said = f"is {required_text(required)}"
    widest = max(x or 0 for cloud in clouds for x in cloud.x)
    across = shares("how likely before the release", min(1.0, 1.1 * widest))
    # The likeliest of each table, as the figure has them.
    listed = [text for cloud in clouds for text in cloud.texts[:_LISTED]]
    rows = [text.split("\n", 1) for text in listed]
    chart = Chart(
        across,
        shares("how likely at worst after it"),
        [same, limit, *clouds],
        table=Table(("who, and which value", "before and after"), rows, left=(0, 1)),
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
        kind = ", ".join(signature_words(names, found.signatures[who[cell]]))
        value = named(found.counts.values[what[cell]])
        before, then = (percentage(float(x), 2) for x in (prior[cell], after[cell]))
        texts.append(f"{kind}: {value}\n{before} before, {then} after")
    name = f"by {', '.join(visible(name) for name in names)}: {number(len(kept))}"
    x, y = prior[kept].tolist(), after[kept].tolist()
    return Series(x, y, name, color, texts, symbol, size=0.8)
