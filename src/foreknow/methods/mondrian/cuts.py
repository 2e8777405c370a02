"""Candidate cuts: the ways in which a group of points may be divided along one attribute.

A cut of an ordered attribute is a threshold. A cut of a nominal one is a threshold in the order of
its labels, or one value and the rest. A cut of one with levels takes the lowest node that holds the
whole group and divides it into that node's children, or into one child and the rest, which keeps
the node's label. Labels of different groups then differ.
Cuts are ranked by gain: by how much they lower the group's normalized certainty penalty (NCP)
along that attribute, weighted by people. Among equally even ones, thresholds come before single
values, lower ones first; among equal gains, the schema's first attribute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import Labels
from foreknow.data.microdata import Attribute
from foreknow.data.sparse import IntArray, count_pairs, row_sums


@dataclass(frozen=True, eq=False)
class Cuts:
    """For every group, its candidate cuts along one attribute.

    Attributes
    ----------
    gain : float64 array, shape (groups, candidates)
        Higher is better; minus infinity where a group has no such candidate.
    at : int64 array, shape (groups, candidates)
        For a threshold: the largest code that goes left; for one value apart: -1 less that value.
        For levels: the level of the children
        (all of them apart), or that plus (node + 1) times the number of levels (one child apart).
    """

    attribute: Attribute
    gain: NDArray[np.float64]
    at: IntArray

    def sides(self, codes: NDArray[Any], at: IntArray) -> IntArray:
        """Side of each point: 0 or 1 for a threshold, the node of the child for levels."""
        if not self.attribute.ancestors:
            return np.where(at < 0, codes != -1 - at, codes > at).astype(np.int64)
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
    """Find the candidate cuts of every group along one attribute."""
    cells = _Cells(*count_pairs(node, codes, n_groups, len(attribute.domain), weights))
    if attribute.ancestors:
        return _level_cuts(attribute, cells, most)
    found = _thresholds(attribute, cells)
    if attribute.order == "nominal":
        found = found.join(_apart(attribute, cells))
    chosen, rank = found.most_even(most)
    width = int(rank.max(initial=-1)) + 1
    gains = np.full((n_groups, width), -np.inf)
    at = np.zeros((n_groups, width), dtype=np.int64)
    gains[found.group[chosen], rank] = found.gain[chosen]
    at[found.group[chosen], rank] = found.at[chosen]
    return Cuts(attribute, gains, at)


class _Cells:
    """How many people of each group have each value of an attribute, sparse."""

    def __init__(self, offsets: IntArray, values: IntArray, counts: IntArray) -> None:
        self.offsets, self.values, self.counts = offsets, values, counts
        self.n_groups = len(offsets) - 1
        self.kinds = np.diff(offsets)
        self.group = np.repeat(np.arange(self.n_groups), self.kinds)
        self.running = np.concatenate(([0], np.cumsum(counts)))
        self.total = self.running[offsets[1:]] - self.running[offsets[:-1]]
        self.low, self.high = values[offsets[:-1]], values[offsets[1:] - 1]


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Candidate cuts of many groups; arrays of one shape."""

    group: IntArray
    unevenness: IntArray
    gain: NDArray[np.float64]
    at: IntArray

    def join(self, other: _Candidates) -> _Candidates:
        return _Candidates(
            np.append(self.group, other.group),
            np.append(self.unevenness, other.unevenness),
            np.append(self.gain, other.gain),
            np.append(self.at, other.at),
        )

    def most_even(self, most: int) -> tuple[IntArray, IntArray]:
        """Index of the most even candidates of each group, and their rank within it."""
        order = np.lexsort((self.unevenness, self.group))
        ordered = self.group[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return order[rank < most], rank[rank < most]


def _thresholds(attribute: Attribute, cells: _Cells) -> _Candidates:
    """Cut after any value of a group but its last."""
    after = np.flatnonzero(cells.group[1:] == cells.group[:-1])
    g = cells.group[after]
    left = cells.running[after + 1] - cells.running[cells.offsets[g]]
    total = cells.total[g]
    if attribute.order == "ordered":
        place, ends = attribute.positions, attribute.ends
        low, high = place[cells.low][g], ends[cells.high][g]
        wide, wide_left = high - low, ends[cells.values[after]] - low
        wide_right, scale = high - place[cells.values[after + 1]], attribute.span
    else:  # a set of values is as wide as it has members, less one
        wide = cells.kinds[g] - 1.0
        wide_left = (after - cells.offsets[g]).astype(np.float64)
        wide_right = wide - wide_left - 1.0
        scale = len(attribute.domain) - 1.0
    gain = total * wide - left * wide_left - (total - left) * wide_right
    return _Candidates(g, np.abs(2 * left - total), gain / scale, cells.values[after])


def _apart(attribute: Attribute, cells: _Cells) -> _Candidates:
    """Set one value apart; of two values, a threshold does that already."""
    cell = np.flatnonzero(cells.kinds[cells.group] > 2)
    g, own = cells.group[cell], cells.counts[cell]
    total = cells.total[g]
    gain = total * (cells.kinds[g] - 1.0) - (total - own) * (cells.kinds[g] - 2.0)
    scale = max(len(attribute.domain) - 1.0, 1.0)
    return _Candidates(g, np.abs(2 * own - total), gain / scale, -1 - cells.values[cell])


def _levels(attribute: Attribute) -> list[IntArray]:
    return [np.arange(len(attribute.domain)), *attribute.ancestors]


def _level_cuts(attribute: Attribute, cells: _Cells, most: int) -> Cuts:
    n_groups = cells.n_groups
    scale = max(len(attribute.domain) - 1.0, 1.0)
    levels = _levels(attribute)
    level = np.zeros(n_groups, dtype=np.int64)
    for nodes in levels[:-1]:
        level += nodes[cells.low] != nodes[cells.high]
    gains = np.full((n_groups, 1 + most), -np.inf)
    at = np.zeros((n_groups, 1 + most), dtype=np.int64)
    at[:, 0] = level - 1
    for j in range(1, len(levels)):
        here = level == j
        inside = here[cells.group]
        if not inside.any():
            continue
        wide = np.bincount(levels[j]) - 1.0
        narrow = np.bincount(levels[j - 1]) - 1.0
        starts, nodes, people = count_pairs(
            cells.group[inside],
            levels[j - 1][cells.values[inside]],
            n_groups,
            len(narrow),
            cells.counts[inside],
        )
        g = np.repeat(np.arange(n_groups), np.diff(starts))
        saved = people * (wide[levels[j][cells.low]][g] - narrow[nodes]) / scale
        gains[here, 0] = np.bincount(g, weights=saved, minlength=n_groups)[here]
        several = np.diff(starts)[g] > 2  # of two children, one apart is all apart
        g, nodes, people, saved = g[several], nodes[several], people[several], saved[several]
        single = _Candidates(g, np.abs(2 * people - cells.total[g]), saved, nodes)
        chosen, rank = single.most_even(most)
        gains[g[chosen], 1 + rank] = saved[chosen]
        at[g[chosen], 1 + rank] = (j - 1) + (nodes[chosen] + 1) * len(levels)
    return Cuts(attribute, gains, at)


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of many groups; only those of a part are laid out at once, to spare memory.

    `people` of each group are the values they have, under ``single``, where left out; arrays are as
    in `GroupCounts`, or a dense table of groups by values.
    """

    labels: Labels
    semantics: Semantics
    people: IntArray | None
    offsets: IntArray
    codes: IntArray
    counts: IntArray
    table: IntArray | None = None

    @classmethod
    def of_table(
        cls, labels: Labels, semantics: Semantics, people: IntArray | None, table: IntArray
    ) -> Tally:
        """Keep a dense table of groups by values as it is."""
        none = np.empty(0, dtype=np.int64)
        offsets = np.arange(len(table) + 1) * table.shape[1]
        return cls(labels, semantics, people, offsets, none, none, table)

    def part(self, start: int, stop: int) -> GroupCounts:
        """Counts of a run of groups."""
        if self.table is None:
            cells = slice(self.offsets[start], self.offsets[stop])
            offsets = self.offsets[start : stop + 1] - self.offsets[start]
            codes, counts = self.codes[cells], self.counts[cells]
        else:
            table = self.table[start:stop]
            group, codes = np.nonzero(table)
            counts = table[group, codes]
            offsets = np.searchsorted(group, np.arange(stop - start + 1))
        sizes = row_sums(counts, offsets) if self.people is None else self.people[start:stop]
        return GroupCounts(sizes, offsets, codes, counts, self.labels, None, self.semantics)
