"""Figures: what a little more knowledge would disclose, and how large the groups are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.minima import theorem2_terms
from foreknow.adversaries.facts.profiles import profiles
from foreknow.adversaries.facts.skyline import front
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label
from foreknow.report.blocks import Cell, Table, bar_cell, mood_of
from foreknow.report.chart import (
    LIMIT,
    STYLES,
    Bar,
    Chart,
    Rule,
    Series,
    amounts,
    bar_table,
    shares,
)
from foreknow.report.knowledge import NOUN, Terms
from foreknow.report.words import limit_text, named, number, percent, some
from foreknow.verdict import Limit, Verdict

_LEAST_K = 20
_MOST_POINTS = 41

# ---- what is drawn -------------------------------------------------------------------------


def curves_around(
    counts: GroupCounts, facts: Facts, value: Label
) -> dict[tuple[int, int], list[Disclosure]]:
    """By l and m, at each step of k: of an adversary, of one who knows k only or one fact more."""
    l, m = facts.l, facts.m
    points = dict.fromkeys([(l, m), (0, 0), (l + 1, m), (l, m + 1)])
    small = {l: _deciding_groups(counts, l, value) for l in {l for l, _ in points}}
    return {
        (l, m): [Facts(l, k, m).disclosure(small[l], value) for k in steps(facts.k)]
        for l, m in points
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
    """The most pieces of knowledge, up to an end, that disclose less than a limit; -1 if none."""
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


def _deciding_groups(counts: GroupCounts, l: int, value: Label) -> GroupCounts:
    """The groups that decide the disclosure of a value, at this l and every k and m."""
    return counts.take(np.unique(front(counts, l, counts.code(value)).group))


def worst_groups(
    counts: GroupCounts, facts: Facts, value: Label, most: int = 5, named: int | None = None
) -> list[tuple[int, Disclosure]]:
    """The groups most exposed by facts about one group alone; of equals, the named one first."""
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


def worst_cell(found: Disclosure, required: Limit) -> Cell:
    """A probability beside its limit."""
    limit, safe = required.at(found.prior), found.keeps(required)
    said = percent(found, limit, 1, "up" if safe or found.bounded else "nearest")
    return bar_cell(said, found.probability, mood_of(safe), limit)


# ---- the figures ---------------------------------------------------------------------------


def knowledge_figure(counts: GroupCounts, verdict: Verdict, noun: str = NOUN) -> Chart | None:
    """Draw the breach probability of a verdict's worst value against k; None without a k."""
    facts, found, limit = verdict.judged, verdict.found, verdict.limit
    if not isinstance(facts, Facts) or found.value is None or found.witness is None:
        return None
    terms = Terms(noun, counts.semantics, named(found.value))
    ks, lines, columns = steps(facts.k), [], []
    around = curves_around(counts, facts, found.value).items()
    for ((l, m), curve), (color, _, dash) in zip(around, STYLES, strict=False):
        name, own = terms.short(l, 0, m) or "nothing else known", (l, m) == (facts.l, facts.m)
        name = f"{name} (this requirement)" if own else name
        chances = [d.probability for d in curve]
        lines.append(Series(ks, chances, name, color, dash=dash, width=3.5 if own else 2))
        columns.append([percent(d, limit, 1, "up") for d in curve])
    x, y = terms.axes[1], f"how sure of {named(found.value)}"
    rows = [(number(k), *said) for k, *said in zip(ks, *columns, strict=True)]
    chart = Chart(
        amounts(x, ks[-1]),
        shares(y),
        lines[::-1],
        table=Table((x, *(line.name for line in lines)), rows),
    )
    return with_limit(chart, facts.k, found, limit)


def with_limit(chart: Chart, k: int, found: Disclosure, limit: Fraction) -> Chart:
    """Add a requirement's point and its limit to a figure of curves."""
    said, chance = percent(found, limit, 1, "up"), found.probability
    text = f"the policy's point: {said}"
    mark = Series([k], [chance], "", LIMIT, [text], "diamond", size=1.6, open=True)
    rule = Rule(float(limit), f"limit {limit_text(limit)}", left=chance > 0.85)
    return replace(chart, series=[*chart.series, mark], rule=rule, note=(k, chance, said))


def sizes_figure(counts: GroupCounts) -> Chart:
    """Draw how many groups have which size."""
    starts, groups, width = size_bins(counts.sizes.tolist())
    middles = [start + (width - 1) / 2 for start in starts]
    names = [str(s) if width == 1 else f"{s:,} to {s + width - 1:,}" for s in starts]
    bars = [
        Bar(
            middle - 0.45 * width,
            middle + 0.45 * width,
            many,
            f"{some(many, 'group', 'groups')} of {name}",
        )
        for middle, many, name in zip(middles, groups, names, strict=True)
    ]
    across = amounts("people in the group", starts[-1] + width - 1, starts[0], 0.6 * width)
    head = ("people in the group", "groups")
    table = bar_table(head, zip(names, groups, strict=True))
    return Chart(across, amounts("groups", max(groups)), bars=bars, height=200, table=table)
