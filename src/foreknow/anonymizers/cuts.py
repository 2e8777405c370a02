"""Candidate cuts: the ways in which a group of points may be divided along one attribute.

A cut of an attribute without levels is a threshold in its order. A cut of one with levels takes
the lowest node that holds the whole group and divides it into that node's children, or into one
child and the rest, which keeps the node's label. Either way no two groups get the same labels.
Cuts are ranked by gain: by how much they lower the group's normalized certainty penalty (NCP)
along that attribute, weighted by people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.microdata import Attribute
from foreknow.sparse import IntArray, count_pairs


@dataclass(frozen=True, eq=False)
class Cuts:
    """For every group, its candidate cuts along one attribute.

    Attributes
    ----------
    gain : float64 array, shape (groups, candidates)
        Higher is better; minus infinity where a group has no such candidate.
    at : int64 array, shape (groups, candidates)
        For a threshold: the largest code that goes left. For levels: the level of the children
        (all of them apart), or that plus (node + 1) times the number of levels (one child apart).
    """

    attribute: Attribute
    gain: NDArray[np.float64]
    at: IntArray

    def sides(self, codes: NDArray[Any], at: IntArray) -> IntArray:
        """Side of each point: 0 or 1 for a threshold, the node of the child for levels.

        Parameters
        ----------
        codes : integer array, shape (points,)
        at : int64 array, shape (points,)
            The chosen cut of each point's group.
        """
        if not self.attribute.ancestors:
            return (codes > at).astype(np.int64)
        table = np.stack(_levels(self.attribute))
        apart, level = np.divmod(at, len(table))
        child: IntArray = table[level, codes]
        return np.where(apart > 0, child != apart - 1, child).astype(np.int64)


def cuts_of(
    attribute: Attribute,
    codes: NDArray[Any],
    node: IntArray,
    weights: IntArray,
    n_groups: int,
    most: int,
) -> Cuts:
    """Find the candidate cuts of every group along one attribute.

    Parameters
    ----------
    attribute : Attribute
    codes, node, weights : arrays, shape (points,)
        Value, group and number of people of each point.
    n_groups : int
    most : int
        How many thresholds, or single children, per group: those that divide it most evenly.
    """
    offsets, values, counts = count_pairs(node, codes, n_groups, len(attribute.domain), weights)
    if attribute.ancestors:
        return _level_cuts(attribute, offsets, values, counts, most)
    return _threshold_cuts(attribute, offsets, values, counts, most)


def _threshold_cuts(
    attribute: Attribute, offsets: IntArray, values: IntArray, counts: IntArray, most: int
) -> Cuts:
    n_groups = len(offsets) - 1
    group = np.repeat(np.arange(n_groups), np.diff(offsets))
    running = np.cumsum(counts)
    before = np.concatenate(([0], running))[offsets[:-1]]
    total = np.concatenate(([0], running))[offsets[1:]] - before
    # A cut lies after any cell but the last of its group.
    cells = np.flatnonzero(np.append(group[1:] == group[:-1], False)) if len(group) else group
    g = group[cells]
    left = running[cells] - before[g]
    right = total[g] - left
    if attribute.order == "ordered":
        place = attribute.positions
        low, high = place[values[offsets[:-1]]][g], place[values[offsets[1:] - 1]][g]
        wide, narrow_left = high - low, place[values[cells]] - low
        narrow_right = high - place[values[cells + 1]]
        scale = float(place[-1] - place[0]) or 1.0
    else:  # a set of values is as wide as it has members
        wide = (np.diff(offsets) - 1.0)[g]
        narrow_left = (cells - offsets[:-1][g]).astype(np.float64)
        narrow_right = wide - narrow_left - 1.0
        scale = max(len(attribute.domain) - 1.0, 1.0)
    gain = (total[g] * wide - left * narrow_left - right * narrow_right) / scale
    chosen, rank = _most_even(np.abs(left - right), g, n_groups, most)
    width = int(rank.max(initial=-1)) + 1
    gains = np.full((n_groups, width), -np.inf)
    at = np.zeros((n_groups, width), dtype=np.int64)
    gains[g[chosen], rank] = gain[chosen]
    at[g[chosen], rank] = values[cells[chosen]]
    return Cuts(attribute, gains, at)


def _most_even(
    evenness: IntArray, g: IntArray, n_groups: int, most: int
) -> tuple[IntArray, IntArray]:
    """Index of the most even cuts of each group, and their rank within it."""
    order = np.lexsort((evenness, g)) if most > 1 else _first(evenness, g, n_groups)
    ordered = g[order]
    rank = np.arange(len(g[order])) - np.searchsorted(ordered, ordered)
    return order[rank < most], rank[rank < most]


def _first(evenness: IntArray, g: IntArray, n_groups: int) -> IntArray:
    """Index of the most even cut of each group that has one."""
    if not len(g):
        return g
    starts = np.flatnonzero(np.concatenate(([True], g[1:] != g[:-1])))
    best = np.minimum.reduceat(evenness, starts)
    ties = np.flatnonzero(evenness == np.repeat(best, np.diff(starts, append=len(g))))
    return ties[np.unique(g[ties], return_index=True)[1]]


def _levels(attribute: Attribute) -> list[IntArray]:
    return [np.arange(len(attribute.domain)), *attribute.ancestors]


def _level_cuts(
    attribute: Attribute, offsets: IntArray, values: IntArray, counts: IntArray, most: int
) -> Cuts:
    n_groups = len(offsets) - 1
    low, high = values[offsets[:-1]], values[offsets[1:] - 1]
    group = np.repeat(np.arange(n_groups), np.diff(offsets))
    total = np.add.reduceat(counts, offsets[:-1])
    scale = max(len(attribute.domain) - 1.0, 1.0)
    levels = _levels(attribute)
    level = np.zeros(n_groups, dtype=np.int64)
    for nodes in levels[:-1]:
        level += nodes[low] != nodes[high]
    gains = np.full((n_groups, 1 + most), -np.inf)
    at = np.zeros((n_groups, 1 + most), dtype=np.int64)
    at[:, 0] = level - 1
    for j in range(1, len(levels)):
        inside = level[group] == j
        if not inside.any():
            continue
        wide = np.bincount(levels[j]) - 1.0
        narrow = np.bincount(levels[j - 1]) - 1.0
        starts, nodes, people = count_pairs(
            group[inside], levels[j - 1][values[inside]], n_groups, len(narrow), counts[inside]
        )
        g = np.repeat(np.arange(n_groups), np.diff(starts))
        whole = wide[levels[j][low]]
        saved = people * (whole[g] - narrow[nodes]) / scale
        here = level == j
        gains[here, 0] = np.bincount(g, weights=saved, minlength=n_groups)[here]
        several = np.diff(starts)[g] > 2  # of two children, one apart is all apart
        g, nodes, people, saved = g[several], nodes[several], people[several], saved[several]
        chosen, rank = _most_even(np.abs(2 * people - total[g]), g, n_groups, most)
        gains[g[chosen], 1 + rank] = saved[chosen]
        at[g[chosen], 1 + rank] = (j - 1) + (nodes[chosen] + 1) * len(levels)
    return Cuts(attribute, gains, at)
