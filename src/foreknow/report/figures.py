"""Figures of an audit: how large the groups are, what they keep, and priors beside posteriors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.priors.disclosure import ReleasePosteriors, judged_before
from foreknow.adversaries.priors.priors import Priors
from foreknow.data.counts import GroupCounts
from foreknow.data.utility import Utility, optimal_discernibility
from foreknow.figures import percentage
from foreknow.report.blocks import Cell, Figure, Row, Table, bar_cell, mood_of
from foreknow.report.chart import LIMIT, STYLES, Bar, Chart, Series, amounts, bar_table, shares
from foreknow.report.knowledge import Terms
from foreknow.report.words import (
    average_text,
    measure_text,
    named,
    number,
    percent,
    required_text,
    signature_words,
    some,
    visible,
)
from foreknow_judge.verdict import Limit, Verdict


def size_bins(sizes: Sequence[int], n_bins: int = 40) -> tuple[list[int], list[int], int]:
    """Count groups by size: the least size of each bin, its groups, and the bins' whole width."""
    smallest, largest = int(min(sizes)), int(max(sizes))
    needed = -(-(largest - smallest + 1) // n_bins)
    width = next(step * 10**e for e in range(19) for step in (1, 2, 5) if step * 10**e >= needed)
    first = smallest // width * width
    tally = np.bincount((np.asarray(sizes) - first) // width)
    return [first + width * i for i in range(len(tally))], tally.tolist(), width


def worst_cell(disclosure: Disclosure, required: Limit, limits: bool = True) -> Cell:
    """A probability beside its limit; `limits`: whether that limits any inference."""
    limit, safe = required.at(disclosure.prior), disclosure.keeps(required)
    chance = percent(disclosure, limit, 1, "up" if safe or disclosure.bounded else "nearest")
    chance = f"at most {chance}" if disclosure.bounded else chance
    return bar_cell(chance, disclosure.probability, mood_of(safe, limits), limit)


def sizes_figure(counts: GroupCounts) -> Chart:
    """Draw how many groups have which size."""
    starts, groups, step = size_bins(counts.sizes.tolist())
    middles = [start + (step - 1) / 2 for start in starts]
    names = [str(s) if step == 1 else f"{s:,} to {s + step - 1:,}" for s in starts]
    bars = [
        Bar(
            middle - 0.45 * step,
            middle + 0.45 * step,
            n_groups,
            f"{some(n_groups, 'group', 'groups')} of {name}",
        )
        for middle, n_groups, name in zip(middles, groups, names, strict=True)
    ]
    across = amounts("people in the group", starts[-1] + step - 1, starts[0], 0.6 * step)
    head = ("people in the group", "groups")
    table = bar_table(head, zip(names, groups, strict=True))
    return Chart(across, amounts("groups", max(groups)), bars=bars, height=200, table=table)


# ---- priors beside posteriors -------------------------------------------------------------------

_MOST, _LISTED = 1_000, 20  # marks, and of these in the table


def priors_figure(counts: GroupCounts, verdict: Verdict, anchor: str) -> Iterator[Figure]:
    """Draw priors beside posteriors for a requirement on priors, if they are known."""
    priors, required = verdict.judged, verdict.required
    all_posteriors = _judged_before(counts, verdict)
    if not any(all_posteriors):
        return
    is_secret = verdict.requirement.meant(counts.values).about
    clouds = [
        _cloud(posteriors, is_secret, *STYLES[place % len(STYLES)][:2])
        for place, posteriors in enumerate(all_posteriors)
        if posteriors is not None
    ]
    if not any(cloud.x for cloud in clouds):
        return
    same = Series((0, 1), (0, 1), "nothing learned", "#7a8290", dash="2 4")
    below = float(required.amount or 0)
    if required.relative:
        limit = Series((0, 1 / below, 1), (0, 1, 1), "the limit", LIMIT, dash="8 5")
    else:
        limit = Series((0, 1), (below, below), "the limit", LIMIT, dash="8 5")
    widest = max(x or 0 for cloud in clouds for x in cloud.x)
    # The likeliest of each table, as the figure has them.
    listed = [text for cloud in clouds for text in cloud.texts[:_LISTED]]
    chart = Chart(
        shares("how likely before the release", min(1.0, 1.1 * widest)),
        shares("how likely at worst after it"),
        [same, limit, *clouds],
        table=Table(
            ("who, and which value", "before and after"),
            [text.split("\n", 1) for text in listed],
            left=(0, 1),
        ),
    )
    columns = list(dict.fromkeys(name for table in priors.tables for name in table.attributes))
    caption = (
        f"Each mark is a {' or '.join(map(visible, columns[:4]))} and a value: across, how likely "
        "the value was before the release; up, how likely it is after it in the group where it is "
        f"likeliest. The limit is {required_text(required, 'times as likely as before')}."
    )
    yield Figure(anchor, "Before and after the release", chart, caption, level=3)


def _cloud(
    posteriors: ReleasePosteriors, is_secret: np.ndarray[Any, Any], color: str, symbol: str
) -> Series:
    who, what, prior, after = posteriors.surest()
    cells = np.flatnonzero(is_secret[what])
    cells = cells[np.argsort(-after[cells], kind="stable")][:_MOST]
    names = posteriors.table.attributes
    texts = []
    for cell in cells.tolist():
        kind = ", ".join(signature_words(names, posteriors.signatures[who[cell]]))
        value = named(posteriors.counts.values[what[cell]])
        before, then = (percentage(float(x), 2) for x in (prior[cell], after[cell]))
        texts.append(f"{kind}: {value}\n{before} before, {then} after")
    name = f"by {', '.join(map(visible, names))}: {number(len(cells))}"
    x, y = prior[cells].tolist(), after[cells].tolist()
    return Series(x, y, name, color, texts, symbol, size=0.8)


# ---- facts on top of priors ---------------------------------------------------------------------


def _judged_before(counts: GroupCounts, verdict: Verdict) -> list[ReleasePosteriors | None]:
    """The posteriors for each table of priors; none if the requirement is about sets."""
    priors = verdict.judged
    if not isinstance(priors, Priors) or verdict.requirement.about_sets:
        return []
    how = priors.semantics, priors.amounts
    return [judged_before(counts, table, *how) for table in priors.tables]


_MORE, _MOST_CELLS = range(6), 100_000


def more_known_figure(counts: GroupCounts, verdict: Verdict, anchor: str) -> Iterator[Figure]:
    """Draw how sure somebody becomes who knows more of each kind of facts on top of priors."""
    priors, disclosure = verdict.judged, verdict.found
    judges = _judged_before(counts, verdict)
    all_posteriors = [judge for judge in judges if judge is not None]
    if not all_posteriors or len(all_posteriors) < len(judges) or disclosure.value is None:
        return
    if sum(judge.n_cells for judge in all_posteriors) > _MOST_CELLS:
        return
    code, terms, lines, rows = counts.code(disclosure.value), Terms(), [], []
    kinds = zip(terms.axes, STYLES, strict=False)
    for place, (kind, (color, symbol, dash)) in enumerate(kinds):
        sure, texts = [], []
        for n_facts in _MORE:
            l, k, m = (
                judge + n_facts * (changed == place) for changed, judge in enumerate(priors.amounts)
            )
            surest = worst(
                judge.with_facts((l, k, m)).of_set([code], disclosure.value)
                for judge in all_posteriors
            )
            bound = "at most " if surest.bounded else ""
            words = f"{bound}{percent(surest, Fraction(1), 1, 'up' if bound else 'nearest')}"
            sure.append(surest.probability)
            texts.append(f"{kind}: {n_facts} more\n{words}")
            rows.append((kind, number(n_facts), words))
        lines.append(Series(tuple(_MORE), sure, kind, color, texts, symbol, dash, 3))
    chart = Chart(
        amounts("more of a kind", _MORE[-1], room=0.1),
        shares(f"how sure of {named(disclosure.value)}, at worst"),
        lines,
        table=Table(("kind of facts", "more", "how sure"), rows, left=(0,)),
    )
    caption = (
        "Each line adds facts of one kind to what the requirement allows. For known people and "
        "links it is an upper bound."
    )
    yield Figure(anchor, "If more were known", chart, caption, level=3)


def measures(utility: Utility) -> Table:
    """Each measure: its name, its value, and what to compare it with."""
    smallest = number(utility.smallest_group)
    optimum = optimal_discernibility(utility.people, utility.smallest_group)
    times = f"{utility.discernibility / optimum:,.2f} times the least"
    rows: list[Row] = [
        ("people", number(utility.people), ""),
        (
            "groups",
            number(utility.groups),
            f"of {smallest} to {some(utility.largest_group, 'person', 'people')}",
        ),
        ("average group size", average_text(utility.average_group_size), ""),
        (
            "sum of squared group sizes",
            number(utility.discernibility),
            f"{times} for groups of {smallest} or more (discernibility)",
        ),
    ]
    if utility.average_ncp is not None:
        wide = "how wide labels are: 0% is exact, 100% is suppressed (NCP)"
        rows.append(("detail lost", measure_text(utility.average_ncp), wide))
        for name, loss in utility.ncp.items():
            rows.append((f"detail lost: {visible(name)}", bar_cell(measure_text(loss), loss), ""))
    return Table(("measure", "value", ""), rows, left=(0, 2))
