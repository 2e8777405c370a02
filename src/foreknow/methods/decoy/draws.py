"""Draws: bags of a group given to the parts of a cut at random."""

from __future__ import annotations

import numpy as np

from foreknow.data.sparse import IntArray
from foreknow.worlds import taken_at_random


def drawn(
    bags: IntArray, part_sizes: IntArray, bag_of_part: IntArray, random: np.random.Generator
) -> IntArray:
    """Give every bag to parts of so many people, in any way at random: what each part has.

    `bag_of_part` is ascending.
    """
    n_parts = np.bincount(bag_of_part, minlength=len(bags))
    ends = np.cumsum(n_parts)
    part_bags = np.zeros((len(part_sizes), bags.shape[1]), dtype=np.int64)
    left = bags.copy()
    for nth in range(int(n_parts.max(initial=0))):
        last = np.flatnonzero(n_parts == nth + 1)
        part_bags[ends[last] - 1] = left[last]  # the last part takes what is left
        more = np.flatnonzero(n_parts > nth + 1)
        if not len(more):
            break
        part = ends[more] - n_parts[more] + nth
        part_bags[part] = taken_at_random(left[more], part_sizes[part], random)
        left[more] -= part_bags[part]
    return part_bags
