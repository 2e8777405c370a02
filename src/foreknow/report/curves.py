"""Curves and ranks of Facts: how the breach probability grows with k, and in which groups."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts import Facts
from foreknow.adversaries.fronts import front
from foreknow.adversaries.minima import five
from foreknow.adversaries.profiles import profiles
from foreknow.adversaries.protocol import Mask
from foreknow.counts import GroupCounts
from foreknow.labels import Label

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
