"""Bounding: verdicts that are certain though a disclosure set is too large to count.

A table gets to function i unless the permutation set of an earlier function is safe. So the
disclosure set lacks no more than those tables of the permutation set, and a property that survives
the loss of so many tables holds. Blocks are independent: one block in which an earlier function
can hardly be safe is enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from foreknow.criteria.properties import survives
from foreknow.methods.jump.block_counts import BeyondReach, Budget, Column, Deal, Parts
from foreknow.methods.jump.blocks import Below, Block
from foreknow.methods.jump.strategy import Need

if TYPE_CHECKING:
    from foreknow.methods.jump.exact import Exact
if TYPE_CHECKING:
    from foreknow.methods.jump.exact import Exact


_STEPS_PER_BLOCK = 20_000
_GROUPS = 4


def most_lost(exact: Exact, i: int, parts: Parts) -> Fraction:
    """An upper bound of the share of the permutation set that does not get to function i."""
    needs = exact.rules_of(i, parts).needs
    if Need.ALWAYS in needs:
        return Fraction(1)
    lost = sum(
        (_safe_at_most(exact, j, parts) for j in range(i) if needs[j] is not Need.NOTHING),
        Fraction(0),
    )
    return min(lost, Fraction(1))


def surely_safe(exact: Exact, i: int, parts: Parts) -> bool:
    """Whether the disclosure set has the property for certain; False tells nothing."""
    loss = most_lost(exact, i, parts)
    if loss >= 1:
        return False
    return all(
        survives(
            exact.strategy.property,
            [(exact.palette[c], counts[g]) for c, counts in columns if counts[g]],
            size,
            size,
            loss,
        )
        for block, columns in parts
        for g, size in enumerate(block.group_sizes)
    )


def _safe_at_most(exact: Exact, j: int, parts: Parts) -> Fraction:
    """An upper bound of the share of tables whose permutation set at j is safe."""
    share = Fraction(1)
    known: dict[tuple[int, tuple[Column, ...]], Fraction] = {}
    for block, columns in parts:
        key = block.number, columns
        if key not in known:
            known[key] = _block_safe_at_most(exact, j, block, columns)
        share *= known[key]
    return share


def _block_safe_at_most(
    exact: Exact, j: int, block: Block, columns: tuple[Column, ...]
) -> Fraction:
    """The same in one block: some groups of level j, where all of them are too many."""
    groups = sum(len(below.block.group_sizes) for below in block.below[j])
    for most in sorted({groups, min(groups, _GROUPS), 1}, reverse=True):
        part = _some_groups(exact, j, block, most)
        needs = (Need.NOTHING,) * j + (Need.PERMUTATION,)
        rules = exact.rules.needing(needs)
        if math.prod(size + 1 for size in part.sizes) > 100 * _STEPS_PER_BLOCK:
            continue
        try:
            deal = Deal(part, columns, rules, Budget(_STEPS_PER_BLOCK))
        except BeyondReach:
            continue
        return Fraction(sum(deal.ends.values()), deal.total)
    return Fraction(1)


def _some_groups(exact: Exact, j: int, block: Block, most: int) -> Block:
    """The block with only some groups of level j to see, and other people as large cells."""
    home: list[tuple[int, int]] = [(-1, -1)] * len(block.sizes)
    for place, below in enumerate(block.below[j]):
        for cell, group in enumerate(below.group_of):
            if group >= 0:
                home[cell] = (place, group)
    # Small groups are safe least often.
    sizes = {
        (place, group): size
        for place, below in enumerate(block.below[j])
        for group, size in enumerate(below.block.group_sizes)
    }
    chosen = set(sorted(sizes, key=lambda one: (sizes[one], one))[:most])
    kind_of = [
        (group, home[cell] if home[cell] in chosen else None)
        for cell, group in enumerate(block.group_of)
    ]
    kinds = list(dict.fromkeys(kind_of))
    cell_sizes = [0] * len(kinds)
    for cell, kind in enumerate(kind_of):
        cell_sizes[kinds.index(kind)] += block.sizes[cell]
    seen = []
    for one in sorted(chosen):
        alone = exact.layout.shape((sizes[one],), (0,), ())
        seen.append(Below(alone, tuple(0 if kind[1] == one else -1 for kind in kinds)))
    return exact.layout.shape(
        tuple(cell_sizes), tuple(kind[0] for kind in kinds), (*([()] * j), tuple(seen))
    )


ONE = 1 << 60  # shares are rounded up to a multiple of one over this


@dataclass(frozen=True)
class Cluster:
    """One group of function i: its groups at level j, and theirs at the level before.

    Attributes
    ----------
    homes : tuple of (int, int)
        Place of the block at level j and its group there, of each group.
    sizes : tuple of int
        People of each group.
    inner : tuple of tuples of int
        People of the groups of the level before, inside each group; empty if there is none.
    values : tuple of (int, int)
        Colour and number of occurrences of each value.
    """

    homes: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    inner: tuple[tuple[int, ...], ...]
    values: tuple[tuple[int, int], ...]


def most_safe(exact: Exact, cluster: Cluster) -> int:
    """An upper bound of the share of deals inside groups that are safe at the level before.

    In multiples of one over `ONE`, for the best way to spread the values over the groups, within
    their limits there.
    """
    return min(_of_one(exact, cluster, *value) for value in set(cluster.values))


def _of_one(exact: Exact, cluster: Cluster, colour: int, count: int) -> int:
    best = [ONE] + [0] * count
    for size, parts in zip(cluster.sizes, cluster.inner, strict=True):
        ways = [1]
        for part in parts:
            most = min(part, exact.limit(part, colour))
            row = [math.comb(part, a) for a in range(most + 1)]
            ways = [
                sum(ways[n - a] * row[a] for a in range(len(row)) if 0 <= n - a < len(ways))
                for n in range(len(ways) + max(len(row), 1) - 1)
            ]
        top = min(len(ways) - 1, exact.limit(size, colour), count)
        share = [-(-ways[n] * ONE // math.comb(size, n)) for n in range(top + 1)]
        best = [
            max((-(-best[n - a] * x // ONE) for a, x in enumerate(share) if a <= n), default=0)
            for n in range(count + 1)
        ]
    return best[count]
