"""Enclosing: disclosure sets of nested functions between two sets that can be counted.

Where each function unites groups of the one before, and limits alone decide, a table whose
permutation set is safe at one level is so at all later ones (a group's shares are a mean of its
parts'). So the tables that are stopped before function i are among those that are safe at the last
level that matters, call it j. And those are surely stopped of which (1) some value occurs so often
in a group of j that the level before cannot be safe, so that the disclosure set is the permutation
set; or (2) all values occur so seldom in the groups of j that whatever is stopped before j cannot
spoil the property, as it is at most the share of tables that are safe at the level before, in any
table. All three sets are given by how often values may occur in groups of j: so they are counted
by `residues`. Often they enclose the disclosure set so closely that they are it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from foreknow.criteria.properties import All, KAnonymity, MaxRatio
from foreknow.methods.jump.block_counts import Counted, CountedPart, Parts, classed
from foreknow.methods.jump.blocks import Block
from foreknow.methods.jump.bounds import ONE, Cluster, most_safe
from foreknow.methods.jump.residues import Within
from foreknow.methods.jump.strategy import Need

if TYPE_CHECKING:
    from foreknow.methods.jump.exact import Exact

# (group of function i, home, value's colour and count) to tables possibly stopped, and unsure
Having: TypeAlias = dict[tuple[int, tuple[int, int], tuple[int, int]], tuple[int, int]]


@dataclass(frozen=True)
class Enclosed:
    """Tables that are possibly stopped, and those of which that is not sure.

    Attributes
    ----------
    level : int
        The last one that matters.
    total : int
        Tables of the permutation set.
    possibly, unsure : int
        Number of tables.
    having : list of dict
        For each block: (group of function i, home, value's colour and count) to the tables in
        which one person there has one such value, among those possibly stopped and those unsure.
    """

    level: int
    total: int
    possibly: int
    unsure: int
    having: list[Having]

    def safe(self, exact: Exact, parts: Parts) -> bool | None:
        """Whether the property holds; None if that hangs on tables that are unsure."""
        if not _by_value(exact.strategy.property):
            return None
        allows, sure = exact.strategy.property.allows, True
        inside = self.total - self.possibly
        if not inside:
            return None if self.unsure else False
        for (block, _), found in zip(parts, self.having, strict=True):
            for (group, _, (colour, count)), (possibly, unsure) in found.items():
                size, name = block.group_sizes[group], exact.palette[colour]
                own = self.total * count // size - possibly
                others = inside + self.unsure - unsure
                if not allows([(name, own)] if own else [], others, size):
                    return False
                most = [(name, own + unsure)] if own + unsure else []
                sure = sure and allows(most, inside + unsure, size)
        return True if sure else None

    def counted(self, parts: Parts) -> Counted:
        """The disclosure set itself, where no table is unsure."""
        made = []
        for (block, columns), having in zip(parts, self.having, strict=True):
            homes = _homes(block, self.level)
            classes, copies = classed(columns)
            tables = tuple(
                tuple(
                    self.total * counts[group] // block.group_sizes[group]
                    - having[group, home, (colour, counts[group])][0]
                    if counts[group]
                    else 0
                    for group, home in zip(block.group_of, homes, strict=True)
                )
                for colour, counts in classes
            )
            made.append(CountedPart(block, tuple(zip(classes, copies, strict=True)), tables))
        return Counted(self.total - self.possibly, self.total, tuple(made))


@dataclass(frozen=True)
class Loss:
    """Tables that are stopped before level j, of any permutation set there.

    Attributes
    ----------
    share : Fraction
        No more than this share.
    even : bool
        Whether all that are safe at the level before are stopped there, so that people of one
        group of it have the same chances.
    """

    share: Fraction
    even: bool


def _by_value(given: object) -> bool:
    """Whether a property judges each value of a person by itself: the likelier, the worse."""
    if isinstance(given, All):
        return all(map(_by_value, given.parts))
    return isinstance(given, (MaxRatio, KAnonymity))


def enclosed(exact: Exact, i: int, parts: Parts) -> Enclosed | None:
    """Enclose the disclosure set of a generalization under function i; None where that fails.

    Raises
    ------
    BeyondReach
        If it takes more steps than are left.
    """
    needs = exact.rules_of(i, parts).needs
    levels = [j for j, need in enumerate(needs) if need is not Need.NOTHING]
    given = exact.strategy
    if not levels or not (given.property.complete and given.property.convex):
        return None
    j = levels[-1]
    for k in levels[:-1]:
        # Everybody who is not stopped before must come by j.
        if needs[k] is Need.ALWAYS or (needs[k] is Need.GATED and given.after(k) > j):
            return None
    if needs[j] is Need.ALWAYS or (needs[j] is Need.GATED and not _by_value(given.property)):
        return None
    clusters = [_clusters(block, columns, levels) for block, columns in parts]
    flat = [cluster for found in clusters if found for cluster in found]
    if not all(clusters):
        return None
    total = math.prod(
        math.factorial(sum(one.sizes)) // math.prod(math.factorial(n) for _, n in one.values)
        for one in flat
    )
    loss = Loss(Fraction(0), len(levels) == 2)
    if needs[j] is Need.GATED:
        share = math.prod(most_safe(exact, one) for one in flat)
        loss = Loss(Fraction(share, ONE ** len(flat)), loss.even)
    counts = [_counted(exact, one, needs[j], loss) for one in flat]
    if any(three is None for three in counts):
        return None
    events = list(zip(*(three for three in counts if three), strict=True))
    numbers = [[found.number for found in event] for event in events]
    products = [math.prod(row) for row in numbers]
    having: list[Having] = []
    place = 0
    for found in clusters:
        own: Having = {}
        for group, cluster in enumerate(found or ()):
            rest = [math.prod(row[:place] + row[place + 1 :]) for row in numbers]
            for v, value in enumerate(cluster.values):
                for h, home in enumerate(cluster.homes):
                    all_, able, seldom = (
                        event[place].having[v][h] * others
                        for event, others in zip(events, rest, strict=True)
                    )
                    own[group, home, value] = all_, able - seldom
            place += 1
        having.append(own)
    return Enclosed(j, total, products[0], products[1] - products[2], having)


def _clusters(
    block: Block, columns: Sequence[tuple[int, tuple[int, ...]]], levels: Sequence[int]
) -> tuple[Cluster, ...] | None:
    """The groups of a block; None if the levels are not nested."""
    homes = [_homes(block, j) for j in levels]
    coarser: list[Sequence[object]] = [*homes[1:], block.group_of]
    for fine, coarse in zip(homes, coarser, strict=True):
        if len(set(zip(fine, coarse, strict=True))) != len(set(fine)):
            return None
    found = []
    for group, cells in enumerate(block.cells_of):
        own = list(dict.fromkeys(homes[-1][c] for c in cells))
        inner = []
        for home in own:
            sizes: dict[tuple[int, int], int] = {}
            for c in cells if len(homes) > 1 else ():
                if homes[-1][c] == home:
                    sizes[homes[-2][c]] = sizes.get(homes[-2][c], 0) + block.sizes[c]
            inner.append(tuple(sorted(sizes.values())))
        people = tuple(sum(block.sizes[c] for c in cells if homes[-1][c] == home) for home in own)
        values = tuple((colour, counts[group]) for colour, counts in columns if counts[group])
        found.append(Cluster(tuple(own), people, tuple(inner), values))
    return tuple(found)


def _homes(block: Block, level: int) -> list[tuple[int, int]]:
    """For each cell, the place of its block at a level and its group there."""
    return [
        next((k, b.group_of[c]) for k, b in enumerate(block.below[level]) if b.group_of[c] >= 0)
        for c in range(len(block.sizes))
    ]


def _counted(
    exact: Exact, cluster: Cluster, need: Need, loss: Loss
) -> tuple[Within, Within, Within] | None:
    """Deals of a cluster that are safe at level j, and two parts of them.

    Those that may be safe at the level before; and of these, those in which values are so seldom
    that a loss cannot spoil the property.
    """
    safe = [
        tuple(exact.limit(size, colour) for size in cluster.sizes) for colour, _ in cluster.values
    ]
    able = seldom = safe
    if need is Need.GATED:
        able = _able_rows(exact, cluster)
        seldom = _seldom_rows(exact, cluster, loss)
    found = []
    for limits in (safe, able, seldom):
        one = exact.within(cluster.sizes, tuple(n for _, n in cluster.values), tuple(limits))
        if one is None:
            return None
        found.append(one)
    return found[0], found[1], found[2]


def _able_rows(exact: Exact, cluster: Cluster) -> list[tuple[int, ...]]:
    """How often each value may occur in each group that is safe, and may be so in its parts."""
    return [
        tuple(
            min(exact.limit(size, colour), sum(max(exact.limit(part, colour), 0) for part in parts))
            for size, parts in zip(cluster.sizes, cluster.inner, strict=True)
        )
        for colour, _ in cluster.values
    ]


def _seldom_rows(exact: Exact, cluster: Cluster, loss: Loss) -> list[tuple[int, ...]]:
    """Of these, how often it may occur that what is stopped before cannot spoil the property."""
    return [
        tuple(
            min(able, _seldom(exact, size, parts, colour, loss) if loss.share < 1 else -1)
            for able, size, parts in zip(row, cluster.sizes, cluster.inner, strict=True)
        )
        for row, (colour, _) in zip(_able_rows(exact, cluster), cluster.values, strict=True)
    ]


def _seldom(exact: Exact, size: int, parts: Sequence[int], colour: int, loss: Loss) -> int:
    """How often a value may occur in a group at most, that what is stopped before cannot spoil it.

    Of the stopped tables, a share of at most `loss.share`, those who are in a part have the value
    with some chance q at least: a part must have as many as the others have no room for. In the
    tables that are left, they have it with (m - share q) / (1 - share) at most.
    """
    name, room = exact.palette[colour], [max(exact.limit(part, colour), 0) for part in parts]
    most = -1
    for n in range(exact.limit(size, colour) + 1):
        for part, own in zip(parts, room, strict=True):
            inside = max(0, n - sum(room) + own) if loss.even else 0
            mean, least = Fraction(n, size), min(Fraction(inside, part), Fraction(n, size))
            worst = (mean - loss.share * least) / (1 - loss.share)
            row = [(name, worst.numerator)] if n else []
            if not exact.strategy.property.allows(row, worst.denominator, size):
                return most
        most = n
    return most
