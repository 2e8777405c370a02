"""Draws: bags of a group given to the parts of a cut at random; and all ways to do so."""

from __future__ import annotations

from itertools import product
from math import comb, prod

import numpy as np

from foreknow.data.sparse import IntArray
from foreknow.errors import UnsupportedError
from foreknow.worlds import taken_at_random

# Ways to divide a bag among the parts of a cut that are looked at.
_MOST = 20_000


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


def every(bag: IntArray, parts: list[int]) -> tuple[list[tuple[tuple[int, ...], ...]], list[int]]:
    """Every way to give a bag to the parts, and how many ways to give it to people that stands for.

    Raises
    ------
    UnsupportedError
        If there are too many.
    """
    if prod(x + 1 for x in bag.tolist()) ** (len(parts) - 1) > _MOST:
        raise UnsupportedError(
            f"the chance that decoy refuses to divide {int(bag.sum()):,} people is not worked out; "
            "that what it makes keeps the policy is proved for any"
        )
    ways: list[tuple[tuple[tuple[int, ...], ...], tuple[int, ...], int]] = [
        ((), tuple(bag.tolist()), 1)
    ]
    for people in parts[:-1]:
        ways = [
            ((*given, own), tuple(a - b for a, b in zip(left, own, strict=True)), many * times)
            for given, left, many in ways
            for own in product(*(range(x + 1) for x in left))
            if sum(own) == people
            for times in [prod(map(comb, left, own))]
        ]
    return [(*given, left) for given, left, _ in ways], [many for _, _, many in ways]
