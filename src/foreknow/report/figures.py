"""Figures of an audit: how large the groups are, what they keep, and priors beside posteriors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, cycle, product
from typing import TYPE_CHECKING, Any

import numpy as np

from foreknow.adversaries.adversary import prior_tables
from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.data.counts import GroupCounts
from foreknow.data.utility import Utility, optimal_discernibility
from foreknow.report.blocks import Cell, Figure, Row, Table, bar_cell, mood_of
from foreknow.report.chart import LIMIT, STYLES, Bar, Chart, Series, amounts, bar_table, shares
from foreknow.report.knowledge import Terms
from foreknow.report.words import (
    average_text,
    measure_text,
    named,
    percent,
    required_text,
    signature_words,
)
from foreknow.shown_numbers import percentage
from foreknow_judge.files.printable import visible
from foreknow_judge.text import number, some
from foreknow_judge.verdict import Limit, Verdict

if TYPE_CHECKING:
    from foreknow.adversaries.priors.disclosure import ReleasePosteriors


def size_bins(sizes: Sequence[int], n_bins: int = 40) -> tuple[list[int], list[int], int]:
    """The least size of each bin of group sizes, the groups in each, and the width of a bin.

    The width is the smallest round number (1, 2 or 5 times a power of ten) with at most `n_bins`
    bins.
    """
    smallest, largest = int(min(sizes)), int(max(sizes))
    # -(-a // b) rounds up.
    needed = -(-(largest - smallest + 1) // n_bins)
    round_widths = (factor * 10**power for power, factor in product(range(19), (1, 2, 5)))
    width = next(width for width in round_widths if width >= needed)
    first = smallest // width * width
    tally = np.bincount((np.asarray(sizes) - first) // width)
    return [first + width * i for i in range(len(tally))], tally.tolist(), width


def worst_cell(disclosure: Disclosure, required: Limit, limits: bool = True) -> Cell:
    """A probability beside its limit; `limits`: whether the requirement limits inference."""
    limit, safe = required.at(disclosure.prior), disclosure.keeps(required)
    # Rounding up never shows a chance as lower than it is; a chance over its limit needs no care.
    chance = percent(disclosure, limit, 1, "up" if safe or disclosure.bounded else "nearest")
    chance = f"at most {chance}" if disclosure.bounded else chance
    return bar_cell(chance, disclosure.probability, mood_of(safe, limits), limit)


def sizes_figure(counts: GroupCounts) -> Chart:
    """A bar chart of the groups by how many people they have."""
    starts, groups, step = size_bins(counts.sizes.tolist())
    names, bars = [], []
    # A bar stands in the middle of its sizes, and fills most of them.
    for start, n_groups in zip(starts, groups, strict=True):
        last = start + step - 1
        center = (start + last) / 2
        name = str(start) if step == 1 else f"{start:,} to {last:,}"
        label = f"{some(n_groups, 'group', 'groups')} of {name}"
        names.append(name)
        bars.append(Bar(center - 0.45 * step, center + 0.45 * step, n_groups, label))
    size_axis = amounts("people in the group", starts[-1] + step - 1, starts[0], 0.6 * step)
    titles = ("people in the group", "groups")
    table = bar_table(titles, zip(names, groups, strict=True))
    return Chart(size_axis, amounts("groups", max(groups)), bars=bars, height=200, table=table)


# ---- priors beside posteriors -------------------------------------------------------------------

_MOST, _LISTED = 1_000, 20  # marks, and of these in the table


def priors_figure(counts: GroupCounts, verdict: Verdict, anchor: str) -> Iterator[Figure]:
    """A chart of priors beside posteriors, if the requirement is on priors and they are known.

    Nothing otherwise. Each mark is a kind of people and a value: across the prior, up the highest
    posterior in any group.
    """
    judged, required = verdict.judged, verdict.required
    all_posteriors = _judged_before(counts, verdict)
    if not any(all_posteriors):
        return
    # Only values that the requirement protects.
    is_secret = verdict.requirement.meant(counts.values).about
    clouds = []
    for posteriors, (color, symbol, _) in zip(all_posteriors, cycle(STYLES), strict=False):
        if posteriors is not None:
            clouds.append(_cloud(posteriors, is_secret, color, symbol))
    before = [*chain.from_iterable(cloud.x for cloud in clouds)]
    if not before:
        return
    same = Series((0, 1), (0, 1), "nothing learned", "#7a8290", dash="2 4")
    # The limit as a line: a constant, or so many times the prior, up to 1.
    below = float(required.amount or 0)
    if required.relative:
        limit = Series((0, 1 / below, 1), (0, 1, 1), "the limit", LIMIT, dash="8 5")
    else:
        limit = Series((0, 1), (below, below), "the limit", LIMIT, dash="8 5")
    widest = max(x or 0 for x in before)
    # The likeliest of each table, as the figure has them.
    listed = chain.from_iterable(cloud.texts[:_LISTED] for cloud in clouds)
    rows = [text.split("\n", 1) for text in listed]
    chart = Chart(
        shares("how likely before the release", min(1.0, 1.1 * widest)),
        shares("how likely at worst after it"),
        [same, limit, *clouds],
        table=Table(("who, and which value", "before and after"), rows, left=(0, 1)),
    )
    attributes = chain.from_iterable(table.attributes for table in judged.tables)
    columns = list(dict.fromkeys(attributes))
    caption = (
        f"Each mark is a {' or '.join(map(visible, columns[:4]))} and a value: across, how likely "
        "the value was before the release; up, how likely it is after it in the group where it is "
        f"likeliest. The limit is {required_text(required, 'times as likely as before')}."
    )
    yield Figure(anchor, "Before and after the release", chart, caption, level=3)


def _cloud(
    posteriors: ReleasePosteriors, is_secret: np.ndarray[Any, Any], color: str, symbol: str
) -> Series:
    """The points of one table of priors: for each kind of people and value, prior and posterior.

    The posterior is the highest in any group. `is_secret` is a mask of the values that are shown.
    """
    # Four arrays with an entry for each point.
    signature_of_point, value_of_point, prior, after = posteriors.surest()
    cells = np.flatnonzero(is_secret[value_of_point])
    # The highest posteriors first, and only so many.
    cells = cells[np.argsort(-after[cells], kind="stable")][:_MOST]
    names = posteriors.table.attributes
    texts = []
    for cell in cells.tolist():
        kind = ", ".join(signature_words(names, posteriors.signatures[signature_of_point[cell]]))
        value = named(posteriors.counts.values[value_of_point[cell]])
        chance_before = percentage(float(prior[cell]), 2)
        chance_after = percentage(float(after[cell]), 2)
        texts.append(f"{kind}: {value}\n{chance_before} before, {chance_after} after")
    name = f"by {', '.join(map(visible, names))}: {number(len(cells))}"
    x, y = prior[cells].tolist(), after[cells].tolist()
    return Series(x, y, name, color, texts, symbol, size=0.8)


# ---- facts on top of priors ---------------------------------------------------------------------


def _judged_before(counts: GroupCounts, verdict: Verdict) -> list[ReleasePosteriors | None]:
    """The posteriors by each table of priors, as the verdict had them; None where not kept.

    Empty if the requirement is not on priors, or is about sets of values.
    """
    judged = verdict.judged
    if not prior_tables(judged) or verdict.requirement.about_sets:
        return []
    from foreknow.adversaries.priors.disclosure import cached_posteriors

    how = judged.semantics, judged.amounts
    return [cached_posteriors(counts, table, *how) for table in judged.tables]


_MORE, _MOST_CELLS = range(6), 100_000


def more_known_figure(counts: GroupCounts, verdict: Verdict, anchor: str) -> Iterator[Figure]:
    """A chart of how sure an adversary with priors becomes with more facts of each kind.

    Nothing if posteriors were not kept, or there are too many to work out again.
    """
    judged, disclosure = verdict.judged, verdict.found
    judges = _judged_before(counts, verdict)
    all_posteriors = [judge for judge in judges if judge is not None]
    if not all_posteriors or len(all_posteriors) < len(judges) or disclosure.value is None:
        return
    if sum(judge.n_cells for judge in all_posteriors) > _MOST_CELLS:
        return
    code, terms, lines, rows = counts.code(disclosure.value), Terms(), [], []
    kinds = zip(terms.axes, STYLES, strict=False)
    for position, (kind, (color, symbol, dash)) in enumerate(kinds):
        chances, texts = [], []
        for n_facts in _MORE:
            n_known = list(judged.amounts)
            # One kind gets more facts, the others stay as the requirement has them.
            n_known[position] += n_facts
            l, k, m = n_known
            # Each table of priors is an adversary: the surest of them counts.
            informed = [judge.with_facts((l, k, m)) for judge in all_posteriors]
            surest = worst(judge.of_set([code], disclosure.value) for judge in informed)
            bound = "at most " if surest.bounded else ""
            text = f"{bound}{percent(surest, Fraction(1), 1, 'up' if bound else 'nearest')}"
            chances.append(surest.probability)
            texts.append(f"{kind}: {n_facts} more\n{text}")
            rows.append((kind, number(n_facts), text))
        lines.append(Series(tuple(_MORE), chances, kind, color, texts, symbol, dash, 3))
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
    """A table of measures of groups and labels: name, value, and what to compare it with.

    NCP, the detail lost, is left out where labels are exact or the figure is the owner's.
    """
    smallest = number(utility.smallest_group)
    least_discernibility = optimal_discernibility(utility.people, utility.smallest_group)
    ratio_text = f"{utility.discernibility / least_discernibility:,.2f} times the least"
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
            f"{ratio_text} for groups of {smallest} or more (discernibility)",
        ),
    ]
    if utility.average_ncp is not None:
        explanation = "how wide labels are: 0% is exact, 100% is suppressed (NCP)"
        rows.append(("detail lost", measure_text(utility.average_ncp), explanation))
        for name, loss in utility.ncp.items():
            rows.append((f"detail lost: {visible(name)}", bar_cell(measure_text(loss), loss), ""))
    return Table(("measure", "value", ""), rows, left=(0, 2))
