"""Sharing: the largest share of a permutation set that an earlier function can call safe.

For the best of all tables, not for one: whichever values the groups have. One value is looked at
alone; the others can only make the share smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foreknow.jumping.exact import Exact

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
