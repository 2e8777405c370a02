"""Draws: bags of a group given to the parts of a cut at random."""

from __future__ import annotations

import numpy as np

from foreknow.data.sparse import IntArray
from foreknow.worlds import taken_at_random


def drawn(
    bags: IntArray, parts: IntArray, owner: IntArray, random: np.random.Generator
) -> IntArray:
    """Give every bag to parts of so many people, in any way at random: the bag of each part.

    `owner`: the bag of each part, ascending.
    """
    n_parts = np.bincount(owner, minlength=len(bags))
    ends = np.cumsum(n_parts)
    found = np.zeros((len(parts), bags.shape[1]), dtype=np.int64)
    left = bags.copy()
    for place in range(int(n_parts.max(initial=0))):
        last = np.flatnonzero(n_parts == place + 1)
        found[ends[last] - 1] = left[last]
        more = np.flatnonzero(n_parts > place + 1)
        if not len(more):
            break
        at = ends[more] - n_parts[more] + place
        found[at] = taken_at_random(left[more], parts[at], random)
        left[more] -= found[at]
    return found
