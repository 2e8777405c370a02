"""How far the values of the groups are from those of all people, written out group by group.

It shares nothing with the criteria that a search asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.errors import CertificateError
from foreknow.verifier.counts import NEAR, Bag, Group, Held, distinct, highest
from foreknow.verifier.diversity import number_of

Floats = NDArray[np.float64]


def gauge_t_closeness(held: Held, table: Any) -> tuple[Fraction, Group, bool]:
    """The group whose values are farthest from those of all, by the work of moving them."""
    _require(table, "t_closeness", {"t"}, {"t", "distance", "order", "tree"})
    most, distance = number_of(table["t"]), table.get("distance", "equal")
    everybody = dict(zip(held.names, held.everybody.tolist(), strict=True))
    order, branches, heights = None, None, _apart(held)
    if distance == "ordered" and "tree" not in table:
        order = _order(held.names, table.get("order"))
        heights = _along(held, order)
    elif distance == "hierarchical" and "order" not in table:
        branches = _branches(held.names, table.get("tree"))
        heights = _through(held, *branches)
    elif distance != "equal" or "order" in table or "tree" in table:
        raise CertificateError(f"t_closeness cannot be {dict(table)}")

    def far(bag: Bag) -> Fraction:
        own, total = sum(bag.values()), sum(everybody.values())
        gaps = {v: bag.get(v, 0) * total - n * own for v, n in everybody.items()}
        if branches is not None:
            return Fraction(_carried(gaps, *branches), own * total * branches[1])
        if order is None:
            return Fraction(sum(map(abs, gaps.values())), 2 * own * total)
        moved = carried = 0
        for value in order:
            carried += gaps[value]
            moved += abs(carried)
        return Fraction(moved, own * total * max(1, len(order) - 1))

    worst, group = _farthest(held, heights, far)
    return worst, group, worst <= most


def gauge_beta_likeness(held: Held, table: Any) -> tuple[Fraction, Group, bool]:
    """The group in which a value is most above its share of all."""
    _require(table, "beta_likeness", {"beta"}, {"beta", "enhanced"})
    beta, everybody = number_of(table["beta"]), held.everybody
    total = int(everybody.sum())
    gains = held.shares() * total / everybody[held.codes] - 1

    def gain(bag: Bag) -> Fraction:
        own = sum(bag.values())
        all_of = [Fraction(n * total, own * int(everybody[place[v]])) - 1 for v, n in bag.items()]
        return max(Fraction(0), *all_of)

    place = {name: code for code, name in enumerate(held.names)}
    worst, group = _farthest(held, np.maximum(held.most(gains), 0), gain)
    keeps = worst <= beta
    if table.get("enhanced", False) and keeps:
        keeps = all(
            gain <= 0 or _exceeds(Fraction(total, int(everybody[code])), gain)
            for code, gain in _tops(held, gains, total)
        )
    return worst, group, keeps


def _tops(held: Held, gains: Floats, total: int) -> Iterator[tuple[int, Fraction]]:
    """The highest gain of each value."""
    tops = np.full(len(held.names), -1.0)
    np.maximum.at(tops, held.codes, gains)
    near = np.flatnonzero(gains >= (tops - NEAR * np.maximum(1, tops))[held.codes])
    people = held.people[held.of_group]
    first, _ = distinct(held.codes[near], held.counts[near], people[near])
    for code, some in groupby(near[first].tolist(), key=lambda cell: int(held.codes[cell])):
        share = max(Fraction(int(held.counts[cell]), int(people[cell])) for cell in some)
        yield code, share * total / int(held.everybody[code]) - 1


def gauge_delta_disclosure(held: Held, table: Any) -> tuple[Fraction | None, Group, bool]:
    """The group in which the share of a value differs most from that among all."""
    _require(table, "delta_disclosure", {"delta"}, {"delta"})
    delta = number_of(table["delta"])
    lacks = held.kinds < len(held.names)
    if lacks.any():
        return None, held.group(int(np.argmax(lacks))), False
    everybody = dict(zip(held.names, held.everybody.tolist(), strict=True))
    total = sum(everybody.values())

    def differs(bag: Bag) -> Fraction:
        own = sum(bag.values())
        times = [Fraction(n * total, own * everybody[v]) for v, n in bag.items()]
        return max(*times, *(1 / x for x in times))

    times = held.shares() * total / held.everybody[held.codes]
    worst, group = _farthest(held, held.most(np.maximum(times, 1 / times)), differs)
    if not 0 < delta <= 500:
        return worst, group, False
    return worst, group, worst == 1 or not _exceeds(worst, delta)


def _require(table: Any, key: str, least: set[str], most: set[str]) -> None:
    if not isinstance(table, Mapping) or not least <= set(table) <= most:
        raise CertificateError(f"{key} must be a table of {', '.join(sorted(most))}, not {table!r}")


def _farthest(
    held: Held, heights: Floats, far: Callable[[Bag], Fraction]
) -> tuple[Fraction, Group]:
    """The first group that is farthest."""
    worst, at = highest(
        heights, lambda at: tuple(held.bag(at).items()), lambda items: far(dict(items))
    )
    return worst, held.group(at)


# ---- how far groups are, in floats, all at once ------------------------------------------------


def _among(held: Held) -> Floats:
    """The part of all people that has each value."""
    return np.asarray(held.everybody / held.everybody.sum())


def _apart(held: Held) -> Floats:
    """What a group has more of than all people."""
    more = np.maximum(held.shares() - _among(held)[held.codes], 0)
    return np.asarray(held.total(more))


def _along(held: Held, order: Sequence[str]) -> Floats:
    """Work along a line; the part of all below passes a group's once between two of its values."""
    place = {name: at for at, name in enumerate(order)}
    at = np.array([place[name] for name in held.names], np.int64)
    among = np.empty(len(at))
    among[at] = _among(held)
    below = np.cumsum(among)
    sums = np.concatenate([[0.0], np.cumsum(below)])
    lain = Held(held.labels, list(order), held.of_group, at[held.codes], held.counts)
    counts, starts = np.cumsum(lain.counts), lain.starts
    before = counts[starts[:-1]] - lain.counts[starts[:-1]]
    part = (counts - before[lain.of_group]) / lain.people[lain.of_group]
    first, after = lain.codes, np.append(lain.codes[1:], len(at))
    after[starts[1:] - 1] = len(at)
    turn = np.clip(np.searchsorted(below, part), first, after)
    work = part * (2 * turn - first - after) - 2 * sums[turn] + sums[first] + sums[after]
    nobody = sums[lain.codes[starts[:-1]]]  # where the group has nobody yet
    return np.asarray((lain.total(work) + nobody) / max(1, len(at) - 1))


def _through(held: Held, above: Mapping[str, Sequence[str]], height: int) -> Floats:
    """Work through a tree: at each node what some of its children have more and others less."""
    group, codes, names = held.of_group, held.codes, held.names
    share, among = held.shares(), _among(held)
    nodes = {name: name for name in names}
    work = np.zeros(len(held))
    for level in range(height):
        parents = {nodes[name]: above[name][level] for name in nodes}
        known = sorted(set(parents.values()))
        place = {name: at for at, name in enumerate(known)}
        parent = np.array([place[parents[name]] for name in names], np.int64)
        amount = np.zeros(len(known))
        np.add.at(amount, parent, among)
        first, into = distinct(group, parent[codes])
        sums = np.zeros((3, len(first)))
        extra = share - among[codes]
        for row, of in zip(sums, (share, np.maximum(extra, 0), among[codes]), strict=True):
            np.add.at(row, into, of)
        # Those of its children that the group does not have lack all that they should have.
        lack = np.minimum(extra, 0)
        own = np.zeros(len(first))
        np.add.at(own, into, -lack)
        group, codes, share = group[first], parent[codes][first], sums[0]
        own += amount[codes] - sums[2]
        np.add.at(work, group, (level + 1) * np.minimum(sums[1], own))
        nodes = {name: above[name][level] for name in nodes}
        names, among = known, amount
    return work / height


def _order(values: Sequence[str], given: Any) -> list[str]:
    """The values of the release from first to last: as they are listed, or by size."""
    if given is None:
        return sorted(values, key=number_of)
    if not isinstance(given, (list, tuple)) or len(set(map(str, given))) < len(given):
        raise CertificateError("the order of t_closeness must be a list of values, each once")
    places = {str(value): place for place, value in enumerate(given)}
    missing = [value for value in values if value not in places]
    if missing:
        raise CertificateError(f"the order of t_closeness does not name {missing[0]!r}")
    return sorted(values, key=lambda value: places[value])


def _branches(values: Sequence[str], tree: Any) -> tuple[dict[str, list[str]], int]:
    """The nodes above each value of the release, up to the root, and how many levels there are."""
    if not isinstance(tree, (list, tuple)) or not tree:
        raise CertificateError("t_closeness needs its tree: a row for each value")
    above: dict[str, list[str]] = {}
    parents: dict[tuple[int, str], str] = {}
    for row in tree:
        if not isinstance(row, (list, tuple)) or not 2 <= len(row) == len(tree[0]):
            raise CertificateError("the rows of a tree are lists of one length, from 2 on")
        value, *nodes = map(str, row)
        if above.setdefault(value, nodes) != nodes:
            raise CertificateError(f"the tree of t_closeness has {value!r} twice")
        for level, pair in enumerate(pairwise(nodes)):
            if parents.setdefault((level, pair[0]), pair[1]) != pair[1]:
                raise CertificateError(f"the tree of t_closeness has two nodes above {pair[0]!r}")
    if len({nodes[-1] for nodes in above.values()}) > 1:
        above = {value: [*nodes, "root"] for value, nodes in above.items()}
    missing = [value for value in values if value not in above]
    if missing:
        raise CertificateError(f"the tree of t_closeness does not list {missing[0]!r}")
    return above, len(tree[0]) - 1 + (len(above[str(tree[0][0])]) == len(tree[0]))


def _carried(gaps: Mapping[str, int], above: Mapping[str, Sequence[str]], height: int) -> int:
    """What is carried within each node, bottom up: all that can be, before the rest goes higher."""
    open_: dict[str, int] = dict(gaps)  # what is left at each node of a level
    upward: dict[str, str] = {value: value for value in gaps}
    work = 0
    for level in range(height):
        into: dict[str, list[int]] = {}
        for value, at in upward.items():
            parent = above[value][level]
            if at in open_:
                into.setdefault(parent, []).append(open_.pop(at))
            upward[value] = parent
        for parent, extras in into.items():
            surplus = sum(extra for extra in extras if extra > 0)
            lack = -sum(extra for extra in extras if extra < 0)
            work += (level + 1) * min(surplus, lack)
            open_[parent] = surplus - lack
    return work


def _exceeds(number: Fraction, limit: Fraction) -> bool:
    """Whether the logarithm of a number is above a limit; they are never equal."""
    for digits in (50, 200, 1000):
        with localcontext() as context:
            context.prec = digits
            top, bottom = Decimal(number.numerator).ln(), Decimal(number.denominator).ln()
            gap = top - bottom - Decimal(limit.numerator) / Decimal(limit.denominator)
            if abs(gap) > (top + bottom + abs(gap) + 1) * Decimal(10) ** (5 - digits):
                return gap > 0
    raise CertificateError("a logarithm is too close to its limit to be verified")
