"""Draws: bags of a group given to the parts of a cut at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.worlds import taken_at_random

# Up to so many people for each value, they are shuffled; of more, values are counted out.
_FEW = 2


def drawn(
    bags: IntArray, part_sizes: IntArray, bag_of_part: IntArray, random: np.random.Generator
) -> IntArray:
    """Give every bag to parts of so many people, in any way at random: what each part has.

    `bag_of_part` is ascending.
    """
    part_bags = np.empty((len(part_sizes), bags.shape[1]), dtype=np.int64)
    is_small = bags.sum(axis=1) <= _FEW * bags.shape[1]
    parts = is_small[bag_of_part]
    part_bags[parts] = _by_person(bags[is_small], part_sizes[parts], random)
    n_parts = np.bincount(bag_of_part, minlength=len(bags))[~is_small]
    part_bags[~parts] = _by_value(bags[~is_small], part_sizes[~parts], n_parts, random)
    return part_bags


def rising(bags: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """The values of each bag, the rarest first, in order where as rare; how many have each."""
    n_values = bags.shape[1]
    keys = bags.astype(np.int64) * n_values + np.arange(n_values)
    keys.sort(axis=1)  # of different numbers, ten times as fast as to find an order of equal ones
    counts = keys // n_values
    return keys - counts * n_values, counts


def ranks(bags: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """The place of each value of each bag, the most frequent first; how many come before it."""
    order, less = rising(-bags)
    place, starts = np.empty((2, *bags.shape), dtype=np.int64)
    np.put_along_axis(place, order, np.arange(bags.shape[1])[None], axis=1)
    np.put_along_axis(starts, order, less - np.cumsum(less, axis=1), axis=1)
    return place, starts


@dataclass(frozen=True, eq=False)
class Strayed:
    """The bags of groups, from which those of parts that are unlike them are made.

    Attributes
    ----------
    people : int64 array, shape (groups,)
        How many people each has.
    place : int64 array, shape (groups, values)
        The place of each value, the most frequent first.
    share, spread : float32 arrays, shape (groups, values)
        The share of the most frequent values, so many of them; its standard deviation, but for what
        depends on the part.
    """

    people: IntArray
    place: IntArray
    share: NDArray[np.float32]
    spread: NDArray[np.float32]

    @classmethod
    def of(cls, bags: IntArray) -> Strayed:
        """Add up each bag from its most frequent value on, as shares of its people.

        For the bag a, a, a, b, c: 3/5, 4/5, 1. The spread of a share p is the root of
        p (1 - p) / (people - 1), as where a part is drawn without replacement.
        """
        people = bags.sum(axis=1)
        place, n_before = ranks(bags)
        share = np.empty(bags.shape)
        np.put_along_axis(share, place, (n_before + bags) / people[:, None], axis=1)
        spread = np.sqrt(share * (1 - share) / np.maximum(people - 1, 1)[:, None])
        return cls(people, place, share.astype(np.float32), spread.astype(np.float32))

    def bags(self, group: IntArray, size: IntArray, far: NDArray[np.float64]) -> NDArray[Any]:
        """The bag of a part of so many people of each group, as unlike the group as draws come.

        In place of what is drawn: the most frequent values, however many of them are added up, are
        by so many standard deviations more than their share.
        """
        far = far * np.sqrt(size * (self.people[group] - size))
        upto = self.share[group]
        upto *= size.astype(np.float32)[:, None]
        upto += self.spread[group] * far.astype(np.float32)[:, None]
        np.minimum(np.rint(upto, out=upto), size[:, None], out=upto, casting="same_kind")
        counts: NDArray[Any] = upto.astype(np.int32)
        counts[:, 1:] -= counts[:, :-1].copy()
        return np.take_along_axis(counts, self.place[group], axis=1)


def _by_person(bags: IntArray, part_sizes: IntArray, random: np.random.Generator) -> IntArray:
    """Put the people of each bag in any order; parts take theirs one after the other."""
    n_values = bags.shape[1]
    values = np.repeat(np.tile(np.arange(n_values), len(bags)), bags.reshape(-1))
    keys = np.repeat(np.arange(len(part_sizes)) * n_values, part_sizes)
    keys += shuffled_runs(values, bags.sum(axis=1), random)
    counts = np.bincount(keys, minlength=len(part_sizes) * n_values)
    return counts.reshape(-1, n_values)


def shuffled_runs(codes: IntArray, lengths: IntArray, random: np.random.Generator) -> IntArray:
    """Put runs of so many codes, one after the other, in any order, each by itself."""
    shuffled = np.empty_like(codes)
    size = np.frexp(lengths)[1]
    for exponent in np.unique(size).tolist():  # those of about the same length side by side
        mine = size == exponent
        inside, run_lengths = np.repeat(mine, lengths), lengths[mine]
        is_filled = np.arange(run_lengths.max(initial=0)) < run_lengths[:, None]
        rows = np.full(is_filled.shape, -1, dtype=np.int64)
        rows[is_filled] = codes[inside]
        random.permuted(rows, axis=1, out=rows)
        shuffled[inside] = rows[rows >= 0]
    return shuffled


def _by_value(
    bags: IntArray, part_sizes: IntArray, n_parts: IntArray, random: np.random.Generator
) -> IntArray:
    """Draw how many people of each value each part has."""
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
