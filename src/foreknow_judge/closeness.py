"""Closeness: how far the distribution of values in each group is from that of all people.

This shares no code with the criteria that the search uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from foreknow_judge.counting import Group, GroupBags, Ints, distinct, highest, wide
from foreknow_judge.diversity import number_of, require_keys
from foreknow_judge.errors import CertificateError


def gauge_t_closeness(held: GroupBags, table: Any) -> tuple[Fraction, Group, bool]:
    """The group whose distribution is farthest from that of all, by earth mover's distance."""
    require_keys(table, "t_closeness", {"t"}, {"t", "distance", "order", "tree"})
    most, distance = number_of(table["t"]), table.get("distance", "equal")
    if distance == "ordered" and "tree" not in table:
        order = _order(held.names, table.get("order"))
        work, steps = _work_along_line(held, order), max(1, len(order) - 1)
    elif distance == "hierarchical" and "order" not in table:
        above, steps = _branches(held.names, table.get("tree"))
        work = _work_in_tree(held, above, steps)
    elif distance == "equal" and "order" not in table and "tree" not in table:
        work, steps = _work_of_moving(held), 1
    else:
        raise CertificateError("wrong-setting", "t_closeness")
    worst, at = highest(work, held.people)
    worst /= int(held.totals.sum()) * steps
    return worst, held.group(at), worst <= most


def t_closeness_limits(table: Any, held: GroupBags) -> bool:
    """Whether a group of a single value, which is as far as a group can be, exceeds the limit."""
    distance, many = table.get("distance", "equal"), held.totals.tolist()
    total, far = sum(many), 0
    if distance == "ordered":
        order = _order(held.names, table.get("order"))
        steps = max(1, len(order) - 1)
        there = dict(zip(held.names, many, strict=True))
        ups = sum(place * there[name] for place, name in enumerate(order))
        far = max(ups, (len(order) - 1) * total - ups)
    elif distance == "hierarchical":
        above, steps = _branches(held.names, table.get("tree"))
        paths = [[name, *above[name][: steps - 1]] for name in held.names]
        of_node = Counter[tuple[int, str]]()
        for path, own in zip(paths, many, strict=True):
            for node in enumerate(path):
                of_node[node] += own
        far = max(sum(total - of_node[node] for node in enumerate(path)) for path in paths)
    else:
        steps, far = 1, total - min(filter(None, many))
    return Fraction(far, total * steps) > number_of(table["t"])


def is_of_equal_distance(table: Any) -> bool:
    """Whether all values are equally far apart, so that a set of them can count as one value."""
    return isinstance(table, Mapping) and table.get("distance", "equal") == "equal"


def gauge_beta_likeness(held: GroupBags, table: Any) -> tuple[Fraction, Group, bool]:
    """The group in which the share of a value is most above its share among all people."""
    require_keys(table, "beta_likeness", {"beta"}, {"beta", "enhanced"})
    beta, total = number_of(table["beta"]), int(held.totals.sum())
    share, of_all = _shares(held)
    times, at = highest(share, of_all)
    # If no group has a larger share of a value than all people, the first group is as bad as any.
    worst, group = (times - 1, int(held.of_group[at])) if times > 1 else (Fraction(0), 0)
    keeps = worst <= beta
    if table.get("enhanced", False) and keeps:
        keeps = all(
            share <= of_all or _exceeds(1 / of_all, share / of_all - 1)
            for share, of_all in _tops(held, total)
        )
    return worst, held.group(group), keeps


def beta_likeness_limits(table: Any, held: GroupBags) -> bool:
    """Whether a group of only the rarest value, or if `enhanced` of any value, could fail."""
    had = held.totals[held.totals > 0]
    total, rarest = int(had.sum()), int(had.min())
    if table.get("enhanced", False):
        return rarest < total
    return Fraction(total - rarest, rarest) > number_of(table["beta"])


def _tops(held: GroupBags, total: int) -> Iterator[tuple[Fraction, Fraction]]:
    """For each value, its highest share in any group, and its share among all people."""
    people = held.people[held.of_group]
    cells, _ = distinct(held.codes, held.counts, people)
    for code, some in groupby(cells.tolist(), key=lambda cell: int(held.codes[cell])):
        own = list(some)
        yield highest(held.counts[own], people[own])[0], Fraction(int(held.totals[code]), total)


def gauge_delta_disclosure(held: GroupBags, table: Any) -> tuple[Fraction | None, Group, bool]:
    """The group in which the share of a value differs by the largest factor from that among all."""
    require_keys(table, "delta_disclosure", {"delta"}, {"delta"})
    delta = number_of(table["delta"])
    lacks = held.n_values < len(held.names)
    if lacks.any():
        return None, held.group(int(np.argmax(lacks))), False
    share, of_all = _shares(held)
    worst, at = highest(np.maximum(share, of_all), np.minimum(share, of_all))
    group = held.group(int(held.of_group[at]))
    if not 0 < delta <= 500:
        return worst, group, False
    return worst, group, worst == 1 or not _exceeds(worst, delta)


def delta_disclosure_limits(table: Any, held: GroupBags) -> bool:
    """Whether a group could fail, by lacking a value."""
    return len(held.names) > 1


def _shares(held: GroupBags) -> tuple[Ints, Ints]:
    """For each cell, the value's share in the group and overall, times group size and total."""
    total = int(held.totals.sum())
    own, all_of = wide(held.counts, total**2), wide(held.totals, total**2)
    return own * total, all_of[held.codes] * held.people[held.of_group]


# ---- how far groups are: work, times the people of the group and of all ------------------------


def _work_of_moving(held: GroupBags) -> Ints:
    """Work if values are equally far apart: the part of a group above the shares of all."""
    own, of_all = _shares(held)
    return np.asarray(held.sum_by_group(np.maximum(own - of_all, 0)))


def _work_along_line(held: GroupBags, order: Sequence[str]) -> Ints:
    """Work along a line; the two cumulative shares cross once between two values of the group."""
    place, n, total = (
        {name: at for at, name in enumerate(order)},
        len(order),
        int(held.totals.sum()),
    )
    at = np.array([place[name] for name in held.names], np.int64)
    among = np.empty(n, np.int64)
    among[at] = held.totals
    below = wide(np.cumsum(among), 4 * n * total**2)
    sums = np.concatenate([below[:1] * 0, np.cumsum(below)])
    line = GroupBags(held.labels, list(order), held.of_group, at[held.codes], held.counts)
    counts, starts = np.cumsum(line.counts), line.starts
    before = counts[starts[:-1]] - line.counts[starts[:-1]]
    have = (counts - before[line.of_group]) * below[-1]  # up to here, times all
    people = line.people[line.of_group]
    first, after = line.codes, np.append(line.codes[1:], n)
    after[starts[1:] - 1] = n
    # Before the turn the group has more below than all people; from it on it has not.
    turn = np.clip(np.searchsorted(below, have // people, "right"), first, after)
    work = have * (2 * turn - first - after)
    work += people * (sums[first] + sums[after] - 2 * sums[turn])
    nobody = sums[line.codes[starts[:-1]]] * line.people  # where the group has nobody yet
    return np.asarray(line.sum_by_group(work) + nobody)


def _work_in_tree(held: GroupBags, above: Mapping[str, Sequence[str]], height: int) -> Ints:
    """Work through a tree: at each node, what moves from children with too much to others."""
    group, codes, names = held.of_group, held.codes, held.names
    total, people = int(held.totals.sum()), held.people
    share = wide(held.counts, 4 * height * total**2) * total
    among = held.totals.astype(share.dtype)
    nodes = {name: name for name in names}
    work = np.zeros(len(held), share.dtype)
    for level in range(height):
        parents = {nodes[name]: above[name][level] for name in nodes}
        known = sorted(set(parents.values()))
        place = {name: at for at, name in enumerate(known)}
        parent = np.array([place[parents[name]] for name in names], np.int64)
        amount = np.zeros(len(known), share.dtype)
        np.add.at(amount, parent, among)
        first, into = distinct(group, parent[codes])
        sums = np.zeros((4, len(first)), share.dtype)
        of_all = among[codes] * people[group]
        extra = share - of_all
        each = share, np.maximum(extra, 0), np.maximum(-extra, 0), of_all
        for row, of in zip(sums, each, strict=True):
            np.add.at(row, into, of)
        group, codes, share = group[first], parent[codes][first], sums[0]
        # Children of which the group has nothing lack their whole share.
        lack = sums[2] + amount[codes] * people[group] - sums[3]
        np.add.at(work, group, (level + 1) * np.minimum(sums[1], lack))
        nodes = {name: above[name][level] for name in nodes}
        names, among = known, amount
    return work


def _order(values: Sequence[str], given: Any) -> list[str]:
    """The values of the release in order: as they are listed, or as numbers."""
    if given is None:
        return sorted(values, key=number_of)
    if not isinstance(given, (list, tuple)) or len(set(map(str, given))) < len(given):
        raise CertificateError("wrong-setting", "the order of t_closeness")
    places = {str(value): place for place, value in enumerate(given)}
    missing = [value for value in values if value not in places]
    if missing:
        raise CertificateError("not-listed", "the order of t_closeness", value=missing[0])
    return sorted(values, key=lambda value: places[value])


def _branches(values: Sequence[str], tree: Any) -> tuple[dict[str, list[str]], int]:
    """The nodes above each value of the release, up to the root, and how many levels there are."""
    if not isinstance(tree, (list, tuple)) or not tree:
        raise CertificateError("malformed-tree")
    above: dict[str, list[str]] = {}
    parents: dict[tuple[int, str], str] = {}
    for row in tree:
        if not isinstance(row, (list, tuple)) or not 2 <= len(row) == len(tree[0]):
            raise CertificateError("malformed-tree")
        value, *nodes = map(str, row)
        links = enumerate(pairwise(nodes))
        two = any(parents.setdefault((at, low), high) != high for at, (low, high) in links)
        if two or above.setdefault(value, nodes) != nodes:
            raise CertificateError("malformed-tree")
    if len({nodes[-1] for nodes in above.values()}) > 1:
        above = {value: [*nodes, "root"] for value, nodes in above.items()}
    missing = [value for value in values if value not in above]
    if missing:
        raise CertificateError("not-listed", "the tree of t_closeness", value=missing[0])
    return above, len(tree[0]) - 1 + (len(above[str(tree[0][0])]) == len(tree[0]))


def _exceeds(number: Fraction, limit: Fraction) -> bool:
    """Whether the logarithm of a number is above a limit; the two are never equal."""
    for digits in (50, 200, 1000):
        with localcontext() as context:
            context.prec = digits
            top, bottom = Decimal(number.numerator).ln(), Decimal(number.denominator).ln()
            gap = top - bottom - Decimal(limit.numerator) / Decimal(limit.denominator)
            if abs(gap) > (top + bottom + abs(gap) + 1) * Decimal(10) ** (5 - digits):
                return gap > 0
    raise CertificateError("too-close", "a logarithm")
