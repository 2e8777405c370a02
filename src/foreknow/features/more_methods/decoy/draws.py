"""Draws: the values of a group, dealt at random to the parts into which a cut divides it.

A bag is a row of counts: how many people have each value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.possible_worlds import taken_at_random

# Up to so many people for each value, people are shuffled; above that, counts are drawn.
_FEW = 2


def deal_bags(
    bags: IntArray, part_sizes: IntArray, bag_of_part: IntArray, random: np.random.Generator
) -> IntArray:
    """Deal each bag to its parts at random, each way with equal probability; the parts' bags.

    A bag is how many people have each value; shape (bags, values). Part p has ``part_sizes[p]``
    people of the bag ``bag_of_part[p]``, which is ascending.
    """
    part_bags = np.empty((len(part_sizes), bags.shape[1]), dtype=np.int64)
    # Few people: shuffle them. Many for each value: draw counts, which takes as long for any
    # number.
    is_small = bags.sum(axis=1) <= _FEW * bags.shape[1]
    small_parts = is_small[bag_of_part]
    part_bags[small_parts] = _deal_people(bags[is_small], part_sizes[small_parts], random)
    n_parts = np.bincount(bag_of_part, minlength=len(bags))[~is_small]
    part_bags[~small_parts] = _deal_counts(
        bags[~is_small], part_sizes[~small_parts], n_parts, random
    )
    return part_bags


def values_from_rarest(bags: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """The values of each bag, the rarest first (ties in order of value), and their counts."""
    n_values = bags.shape[1]
    keys = bags.astype(np.int64) * n_values + np.arange(n_values)
    keys.sort(axis=1)  # of different numbers, ten times as fast as to find an order of equal ones
    counts = keys // n_values
    return keys - counts * n_values, counts


def value_ranks(bags: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """The rank of each value of each bag, 0 for the most frequent, and the people before it.

    The people before a value are those with more frequent values. Both have the shape (bags,
    values).
    """
    # Sorted by minus the counts, so that the most frequent come first; `less` is minus their
    # counts.
    order, less = values_from_rarest(-bags)
    position, starts = np.empty((2, *bags.shape), dtype=np.int64)
    np.put_along_axis(position, order, np.arange(bags.shape[1])[None], axis=1)
    np.put_along_axis(starts, order, less - np.cumsum(less, axis=1), axis=1)
    return position, starts


@dataclass(frozen=True, eq=False)
class UnlikeParts:
    """The bags of groups, and bags of parts that are as unlike their group as draws come.

    Attributes
    ----------
    people : int64 array, shape (groups,)
        How many people each group has.
    place : int64 array, shape (groups, values)
        The rank of each value, 0 for the most frequent.
    share, spread : float32 arrays, shape (groups, values)
        At place i, the share of the i + 1 most frequent values together; and its standard deviation
        in a part, without the factor that depends on the size of the part.
    """

    people: IntArray
    place: IntArray
    share: NDArray[np.float32]
    spread: NDArray[np.float32]

    @classmethod
    def of(cls, bags: IntArray) -> UnlikeParts:
        """Add up the shares of each bag, from its most frequent value on.

        For the bag a, a, a, b, c: 3/5, 4/5, 1. The spread of a share p is the root of
        p (1 - p) / (people - 1), as where a part is drawn without replacement.
        """
        people = bags.sum(axis=1)
        position, n_before = value_ranks(bags)
        share = np.empty(bags.shape)
        np.put_along_axis(share, position, (n_before + bags) / people[:, None], axis=1)
        spread = np.sqrt(share * (1 - share) / np.maximum(people - 1, 1)[:, None])
        return cls(people, position, share.astype(np.float32), spread.astype(np.float32))

    def bags(self, group: IntArray, size: IntArray, far: NDArray[np.float64]) -> NDArray[Any]:
        """Bags of parts that are unlike their groups: frequent values are even more frequent.

        For each part, `group` is its group and `size` the number of its people. However many of the
        group's most frequent values are added up, the part has `far` standard deviations more of
        them than their share in the group.
        """
        # The rest of the standard deviation, which depends on the size of the part.
        far = far * np.sqrt(size * (self.people[group] - size))
        upto = self.share[group]
        upto *= size.astype(np.float32)[:, None]
        upto += self.spread[group] * far.astype(np.float32)[:, None]
        np.minimum(np.rint(upto, out=upto), size[:, None], out=upto, casting="same_kind")
        counts: NDArray[Any] = upto.astype(np.int32)
        # From sums over the most frequent values to the count of each; then back to the order of
        # values.
        counts[:, 1:] -= counts[:, :-1].copy()
        return np.take_along_axis(counts, self.place[group], axis=1)


def _deal_people(bags: IntArray, part_sizes: IntArray, random: np.random.Generator) -> IntArray:
    """Deal each bag to its parts by shuffling its people; the bag of each part.

    The parts of a bag take their people one after the other.
    """
    n_values = bags.shape[1]
    values = np.repeat(np.tile(np.arange(n_values), len(bags)), bags.reshape(-1))
    # A key stands for a part and a value: its number of people is the count of the key.
    keys = np.repeat(np.arange(len(part_sizes)) * n_values, part_sizes)
    keys += shuffled_runs(values, bags.sum(axis=1), random)
    counts = np.bincount(keys, minlength=len(part_sizes) * n_values)
    return counts.reshape(-1, n_values)


def shuffled_runs(codes: IntArray, lengths: IntArray, random: np.random.Generator) -> IntArray:
    """Shuffle each of some runs of `codes` by itself; run i has ``lengths[i]`` codes.

    The runs stand one after the other in `codes`, and so they do in the result.
    """
    shuffled = np.empty_like(codes)
    # Runs of about the same length become rows of one table, which are shuffled at once.
    size = np.frexp(lengths)[1]
    for exponent in np.unique(size).tolist():  # those of about the same length side by side
        of_size = size == exponent
        inside, run_lengths = np.repeat(of_size, lengths), lengths[of_size]
        is_filled = np.arange(run_lengths.max(initial=0)) < run_lengths[:, None]
        # Rows are filled up with -1, which is dropped afterwards.
        rows = np.full(is_filled.shape, -1, dtype=np.int64)
        rows[is_filled] = codes[inside]
        random.permuted(rows, axis=1, out=rows)
        shuffled[inside] = rows[rows >= 0]
    return shuffled


def _deal_counts(
    bags: IntArray, part_sizes: IntArray, n_parts: IntArray, random: np.random.Generator
) -> IntArray:
    """Deal the people of each bag into parts at random; the bag of each part.

    Parts stand one bag after the other: bag b has ``n_parts[b]`` of them, with ``part_sizes``
    people. For each part of a bag in turn, counts are drawn without replacement.
    """
    part_bags = np.empty((len(part_sizes), bags.shape[1]), dtype=np.int64)
    ends = np.cumsum(n_parts)
    remaining, part = bags, ends - n_parts
    while len(remaining):
        last = part == ends - 1
        part_bags[part[last]] = remaining[last]  # the last part takes what is left
        if last.any():
            remaining, part, ends = remaining[~last], part[~last], ends[~last]
        drawn_counts = taken_at_random(remaining, part_sizes[part], random)
        part_bags[part] = drawn_counts
        remaining, part = remaining - drawn_counts, part + 1
    return part_bags
