"""Jump chain: a default order of lattice nodes to try, from specific to general.

It is chosen from quasi-identifiers and their hierarchies alone. Disclosure sets count the tables
that the method would have treated otherwise, with these functions. Had the functions been chosen
by sensitive values, other tables would have had other functions, which nothing would account for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreknow.anonymizers.jump.nodes import groups_at, tops_of
from foreknow.anonymizers.lattice import Node
from foreknow.jumping.properties import Property
from foreknow.microdata import Attribute


def default_nodes(attributes: Sequence[Attribute], least: int) -> list[Node]:
    """Nodes to try where none are given.

    From the top of the lattice, where everybody is one group, one quasi-identifier after another
    is made more specific by a level: the one that leaves the fewest groups, of equal ones the
    first in the schema. Nodes with a group of fewer people than `least` are not gone to. The way
    back is the order; nodes with more than half as many groups as the last are left out, since
    every further function makes sets harder to count.

    Parameters
    ----------
    attributes : sequence of Attribute
    least : int
        See `least_group`.

    Returns
    -------
    list of Node
        The last is the top.
    """
    tops = tops_of(attributes)
    way: list[tuple[Node, int]] = [(tops, 1)]
    while True:
        below = []
        for a, level in enumerate(way[-1][0]):
            if level:
                node = (*way[-1][0][:a], level - 1, *way[-1][0][a + 1 :])
                sizes = np.bincount(groups_at(attributes, node))
                if sizes.min() >= least:
                    below.append((len(sizes), a, node))
        if not below:
            break
        groups, _, node = min(below)
        way.append((node, groups))
    chosen: list[tuple[Node, int]] = []
    for node, groups in reversed(way):
        if not chosen or 2 * groups <= chosen[-1][1] or (node == tops and groups < chosen[-1][1]):
            chosen.append((node, groups))
    return [node for node, _ in chosen]


def least_group(property: Property, people: int) -> int:
    """People of the smallest group that may have a property, where everybody's value differs.

    A group of one tells its member's value, so it is 2 at least.

    >>> from foreknow.jumping.properties import MaxRatio
    >>> least_group(MaxRatio("1/2"), 10), least_group(MaxRatio("1/2", strict=True), 10)
    (2, 3)
    """
    if not property.convex:
        return 2  # of such a property, values that nobody has are not asked
    colour = property.colour(_Nobodys())
    for size in range(2, people + 1):
        if property.allows([(colour, 1)] * size, size, size):
            return size
    return people


class _Nobodys:
    """A value that no requirement names."""

    def __str__(self) -> str:
        return "\0nobody's"
