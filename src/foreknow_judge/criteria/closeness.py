"""Closeness: how far the distribution of values in each group is from that of all people.

This shares no code with the criteria that the search uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Any, Literal

import numpy as np

from foreknow_judge.counts.group_bags import GroupBags, Ints, Measured, distinct, highest, wide
from foreknow_judge.criteria.gauge import AsFraction, Gauge
from foreknow_judge.errors import CertificateError
from foreknow_judge.numbers import as_fraction
from foreknow_judge.policy.settings import Settings

Distance = Literal["equal", "ordered", "hierarchical"]


class TClosenessSettings(Settings):
    """``t_closeness`` in a policy file."""

    t: AsFraction
    distance: Distance = "equal"
    order: list[Any] | None = None
    tree: list[list[Any]] | None = None


class BetaLikenessSettings(Settings):
    """``beta_likeness`` in a policy file."""

    beta: AsFraction
    enhanced: bool = False


class DeltaDisclosureSettings(Settings):
    """``delta_disclosure`` in a policy file."""

    delta: AsFraction


def gauge_t_closeness(groups: GroupBags, settings: TClosenessSettings) -> Measured:
    """Measure t-closeness: the group whose values are farthest from those of all people.

    The distance is the earth mover's distance, with the costs that the settings say: the work to
    move people's values until the group has the shares of all people, over the longest way. `work`
    is a whole number for each group.
    """
    limit, distance = settings.t, settings.distance
    if not 0 <= limit <= 1:
        raise CertificateError("wrong-setting", "t_closeness")
    if distance == "ordered" and settings.tree is None:
        order = _order(groups.names, settings.order)
        work, steps = _work_along_line(groups, order), max(1, len(order) - 1)
    elif distance == "hierarchical" and settings.order is None:
        above = _branches(groups.names, settings.tree or [])
        work, steps = _work_in_tree(groups, above), len(above)
    elif distance == "equal" and settings.order is None and settings.tree is None:
        work, steps = _work_of_moving(groups), 1
    else:
        raise CertificateError("wrong-setting", "t_closeness")
    # Work counts people times all people times steps: divided by all three, it lies in [0, 1].
    worst, group = highest(work, groups.people)
    worst /= int(groups.totals.sum()) * steps
    return Measured(worst, groups.group(group), worst <= limit)


def gauge_beta_likeness(groups: GroupBags, settings: BetaLikenessSettings) -> Measured:
    """Measure beta-likeness: how much more frequent a value is in a group than among all.

    The figure is the highest such ratio, less 1, of any value and group.
    """
    beta, total = settings.beta, int(groups.totals.sum())
    if beta <= 0:
        raise CertificateError("wrong-setting", "beta_likeness")
    # For each cell (value of a group): two numbers whose ratio is its share over that of all.
    share, of_all = _shares(groups)
    times, worst_cell = highest(share, of_all)
    # If no group has a larger share of a value than all people, the first group is as bad as any.
    worst, group = (times - 1, int(groups.of_group[worst_cell])) if times > 1 else (Fraction(0), 0)
    keeps = worst <= beta
    if settings.enhanced and keeps:
        # Enhanced beta-likeness: the gain is also at most -ln(the share among all).
        keeps = all(
            share <= of_all or _exceeds(1 / of_all, share / of_all - 1)
            for share, of_all in _highest_shares(groups, total)
        )
    return Measured(worst, groups.group(group), keeps)


def _highest_shares(groups: GroupBags, total: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield for each value its highest share in any group, and its share among all people.

    `total` is the number of all people.
    """
    people = groups.people[groups.of_group]  # of the group of each cell
    # One of each set of equal cells (value, holders, people of the group), in the order of values.
    cells, _ = distinct(groups.codes, groups.counts, people)
    for code, cells_of_value in groupby(cells.tolist(), key=lambda cell: int(groups.codes[cell])):
        same_value = list(cells_of_value)
        share, _ = highest(groups.counts[same_value], people[same_value])
        yield share, Fraction(int(groups.totals[code]), total)


def gauge_delta_disclosure(groups: GroupBags, settings: DeltaDisclosureSettings) -> Measured:
    """Measure delta-disclosure: the group with a share that differs from that of all by most.

    The figure is the largest factor by which a share is higher or lower; None if a group lacks a
    value that somebody else has.
    """
    delta = settings.delta
    if not 0 < delta <= 500:
        raise CertificateError("wrong-setting", "delta_disclosure")
    lacks = groups.n_values < len(groups.names)
    if lacks.any():
        return Measured(None, groups.group(int(np.argmax(lacks))), False)
    share, of_all = _shares(groups)
    worst, worst_cell = highest(np.maximum(share, of_all), np.minimum(share, of_all))
    # The logarithm of the factor must be at most delta. Of 1 it is 0, which `_exceeds` excludes.
    keeps = worst == 1 or not _exceeds(worst, delta)
    return Measured(worst, groups.group(int(groups.of_group[worst_cell])), keeps)


def _shares(groups: GroupBags) -> tuple[Ints, Ints]:
    """For each cell, the value's share in the group and overall, times group size and total."""
    total = int(groups.totals.sum())
    counts, all_of = wide(groups.counts, total**2), wide(groups.totals, total**2)
    return counts * total, all_of[groups.codes] * groups.people[groups.of_group]


# ---- how far groups are: work, times the people of the group and of all ------------------------


def _work_of_moving(groups: GroupBags) -> Ints:
    """Work if values are equally far apart: the part of a group above the shares of all."""
    share, of_all = _shares(groups)
    return np.asarray(groups.sum_by_group(np.maximum(share - of_all, 0)))


def _work_along_line(groups: GroupBags, order: Sequence[str]) -> Ints:
    """Work for each group along a line of values: what moves over each step, added up.

    At a step, | have - would have | people move. `have` is how many of the group have a value up to
    there; if the group were like all people, it would have its part of all who do (times all
    people, so that numbers are whole). Between two values that occur in the group, `have` stays and
    the other grows, so the two cross once at most, at `turn`:

        have        ------------      the work is the area between the two lines
        would have  ____----^^^^
        place       first  turn  after
    """
    n, total = len(order), int(groups.totals.sum())
    position_of = {name: position for position, name in enumerate(order)}
    positions = np.array([position_of[name] for name in groups.names], np.int64)
    line = GroupBags(
        groups.labels, list(order), groups.of_group, positions[groups.codes], groups.counts
    )
    # How many of all people have a value up to each place, in a type that holds all results.
    up_to = wide(np.cumsum(line.totals), 4 * n * total**2)
    area = np.concatenate([up_to[:1] * 0, np.cumsum(up_to)])  # sum of `up_to` left of each place
    before = np.cumsum(line.people) - line.people  # people of earlier groups
    # From here on an entry for each cell (value of a group), sorted by group and place.
    have = wide(np.cumsum(line.counts) - before[line.of_group], 4 * n * total**2) * up_to[-1]
    people = line.people[line.of_group]
    # From the place of a value to that of the group's next one, or to the end of the line.
    first, after = line.codes, np.append(line.codes[1:], n)
    after[line.starts[1:] - 1] = n
    # The first place at which people * up_to is above `have`, the part of all people.
    turn = np.clip(np.searchsorted(up_to, have // people, "right"), first, after)
    # Up to `turn` the group has more than it would have, and after it less.
    work = have * (turn - first) - people * (area[turn] - area[first])
    work += people * (area[after] - area[turn]) - have * (after - turn)
    nobody = area[first[line.starts[:-1]]] * line.people  # where the group has nobody yet
    return np.asarray(line.sum_by_group(work) + nobody)


def _work_in_tree(groups: GroupBags, above: Sequence[Mapping[str, str]]) -> Ints:
    """Work for each group through a tree: what moves between the nodes of each level, added up.

    Two values are as far apart as the level at which they meet: what moves from one to the other
    moves once at each level below. `above` has the node of each value, level by level; at the root,
    the last one, nothing moves.
    """
    people = int(groups.totals.sum())
    work = wide(_work_of_moving(groups), len(above) * people**2)
    for node_of in above[:-1]:
        work = work + _work_of_moving(groups.merged(node_of))
    return work


def _order(values: Sequence[str], listed: Sequence[Any] | None) -> list[str]:
    """The values of the release in their order: as `listed`, or as numbers if that is None."""
    if listed is None:
        number_of = dict(zip(map(as_fraction, values), values, strict=True))
        if len(number_of) < len(values):  # "1" and "1.0" would have one place
            raise CertificateError("spelt-twice", "t_closeness")
        return [number_of[number] for number in sorted(number_of)]
    position_of = {str(value): position for position, value in enumerate(listed)}
    if len(position_of) < len(listed):
        raise CertificateError("wrong-setting", "the order of t_closeness")
    _require_listed(values, position_of, "the order of t_closeness")
    return sorted(values, key=lambda value: position_of[value])


def _require_listed(values: Sequence[str], listed: Collection[str], where: str) -> None:
    for value in values:
        if value not in listed:
            raise CertificateError("not-listed", where, value=value)


def _branches(values: Sequence[str], tree: Sequence[Sequence[Any]]) -> list[dict[str, str]]:
    """For each level of a tree, from the lowest up to its root, the node of each value.

    Each row of `tree` is a value and the nodes above it. A tree in which a value or a node lies
    below two others is refused.
    """
    above: dict[str, list[str]] = {}  # the nodes of each value
    parents: dict[tuple[int, str], str] = {}  # by level and node, the node above it
    for row in tree:
        if not 2 <= len(row) == len(tree[0]):
            raise CertificateError("malformed-tree")
        value, *nodes = map(str, row)
        links = enumerate(pairwise(nodes))
        has_two_parents = any(
            parents.setdefault((level, low), high) != high for level, (low, high) in links
        )
        if has_two_parents or above.setdefault(value, nodes) != nodes:
            raise CertificateError("malformed-tree")
    _require_listed(values, above, "the tree of t_closeness")
    levels = [dict(zip(above, nodes, strict=True)) for nodes in zip(*above.values(), strict=True)]
    if len({*levels[-1].values()}) > 1:  # several nodes at the top: add a root above them
        levels.append(dict.fromkeys(above, "root"))
    return levels


def _exceeds(number: Fraction, limit: Fraction) -> bool:
    """True if the natural logarithm of a number other than 1 is above a limit.

    The two are never equal, since the logarithm of such a fraction is no fraction. Each decimal is
    off by less than one in its last digit, so ten thousand times as much, 10^(5 - digits) of all
    that is added up, decides. Where the gap is smaller than this, more digits are taken.
    """
    for digits in (50, 200, 1000):
        with localcontext() as context:
            context.prec = digits
            top, bottom = Decimal(number.numerator).ln(), Decimal(number.denominator).ln()
            gap = top - bottom - Decimal(limit.numerator) / Decimal(limit.denominator)
            if abs(gap) > (top + bottom + abs(gap) + 1) * Decimal(10) ** (5 - digits):
                return gap > 0
    raise CertificateError("too-close", "a logarithm")


GAUGES = {
    "t_closeness": Gauge(
        gauge_t_closeness,
        settings=TClosenessSettings,
        of_sets=lambda settings: settings.distance == "equal",
    ),
    "beta_likeness": Gauge(
        gauge_beta_likeness, settings=BetaLikenessSettings, of_sets=lambda settings: True
    ),
    "delta_disclosure": Gauge(
        gauge_delta_disclosure, settings=DeltaDisclosureSettings, of_sets=lambda settings: True
    ),
}
