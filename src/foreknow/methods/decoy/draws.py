"""Draws: bags of a group given to the parts of a cut at random."""

from __future__ import annotations

import numpy as np

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
    few = bags.sum(axis=1) <= _FEW * bags.shape[1]
    parts = few[bag_of_part]
    part_bags[parts] = _by_person(bags[few], part_sizes[parts], random)
    n_parts = np.bincount(bag_of_part, minlength=len(bags))[~few]
    part_bags[~parts] = _by_value(bags[~few], part_sizes[~parts], n_parts, random)
    return part_bags


def typical(bags: IntArray, part_sizes: IntArray) -> IntArray:
    """The bag of a part of so many people in proportion to its whole bag, rounded."""
    people = bags.sum(axis=1)[:, None]
    ends = (2 * np.cumsum(bags, axis=1) * part_sizes[:, None] + people - 1) // (2 * people)
    return np.asarray(np.diff(ends, axis=1, prepend=0))


def _by_person(bags: IntArray, part_sizes: IntArray, random: np.random.Generator) -> IntArray:
    """Put the people of each bag in any order; parts take theirs one after the other."""
    n_values = bags.shape[1]
    values = np.repeat(np.tile(np.arange(n_values), len(bags)), bags.reshape(-1))
    keys = np.repeat(np.arange(len(part_sizes)) * n_values, part_sizes)
    keys += shuffled_runs(values, bags.sum(axis=1), random)
    found = np.bincount(keys, minlength=len(part_sizes) * n_values)
    return found.reshape(-1, n_values)


def shuffled_runs(codes: IntArray, lengths: IntArray, random: np.random.Generator) -> IntArray:
    """Put runs of so many codes, one after the other, in any order, each by itself."""
    found = np.empty_like(codes)
    size = np.frexp(lengths)[1]
    for some in np.unique(size).tolist():  # those of about the same length side by side
        mine = size == some
        inside, own = np.repeat(mine, lengths), lengths[mine]
        there = np.arange(own.max(initial=0)) < own[:, None]
        rows = np.full(there.shape, -1, dtype=np.int64)
        rows[there] = codes[inside]
        random.permuted(rows, axis=1, out=rows)
        found[inside] = rows[rows >= 0]
    return found


def _by_value(
    bags: IntArray, part_sizes: IntArray, n_parts: IntArray, random: np.random.Generator
) -> IntArray:
    """Draw how many people of each value each part has."""
    part_bags = np.empty((len(part_sizes), bags.shape[1]), dtype=np.int64)
    ends = np.cumsum(n_parts)
    left, part = bags, ends - n_parts
    while len(left):
        last = part == ends - 1
        part_bags[part[last]] = left[last]  # the last part takes what is left
        if last.any():
            left, part, ends = left[~last], part[~last], ends[~last]
        taken = taken_at_random(left, part_sizes[part], random)
        part_bags[part] = taken
        left, part = left - taken, part + 1
    return part_bags
