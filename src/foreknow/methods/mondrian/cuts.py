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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, count_pairs, joined, row_sums
from foreknow.data.columns.attribute import Attribute
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels.labels import Labels


@dataclass(frozen=True, eq=False)
class Cuts:
    """For every group, its candidate cuts along one attribute; shape (groups, candidates)."""

    # higher is better; minus infinity where a group has no such candidate
    gain: NDArray[np.float64]
    # a threshold: the largest code that goes left; one value apart: -1 less that value; levels:
    # that of the children, plus (node + 1) times the number of levels where one child is apart
    cut_code: IntArray

    def times(self, factor: Any) -> Cuts:
        """The cuts with their gains multiplied."""
        return Cuts(self.gain * factor, self.cut_code)


def sides(attribute: Attribute, codes: NDArray[Any], cut_code: IntArray) -> NDArray[Any]:
    """Side of each point by its cut: 0 or 1 for a threshold, the node of the child for levels."""
    if not attribute.ancestors:
        beyond: NDArray[np.bool_] = codes > cut_code
        return (
            beyond
            if attribute.order == "ordered"
            else np.where(cut_code < 0, codes != -1 - cut_code, beyond)
        )
    table = np.stack(_nodes_by_level(attribute))
    child_apart, level = np.divmod(cut_code, len(table))
    child: IntArray = table[level, codes]
    return np.where(child_apart > 0, child != child_apart - 1, child)


def cuts_of(
    attribute: Attribute,
    codes: NDArray[Any],
    node: IntArray,
    people: IntArray | None,
    n_groups: int,
    n_candidates: int,
) -> Cuts:
    """The candidate cuts of every group along one attribute, the most even ones.

    Row i is a point with the code ``codes[i]`` in group ``node[i]``, of ``people[i]`` people (of
    one, if None).
    """
    cells = _Cells(*count_pairs(node, codes, n_groups, len(attribute.domain), people))
    if attribute.ancestors:
        return _cuts_along_hierarchy(attribute, cells, n_candidates)
    candidates = [halves.by_evenness() for halves in _two_way_cuts(attribute, cells, n_candidates)]
    return _best_of_all(candidates, n_groups, n_candidates)


def outlying_cuts(
    attribute: Attribute,
    codes: NDArray[Any],
    node: IntArray,
    weights: IntArray,
    loss: NDArray[np.float64],
    n_candidates: int,
    room: int,
) -> Cuts:
    """The best cuts of which one side, of up to `room` people, is suppressed.

    Parameters
    ----------
    attribute : Attribute
    codes, node, weights : arrays, shape (points,)
        The code of each point in the attribute, its group, and how many people it is.
    loss : float array, shape (groups,)
        What is lost for each person who is suppressed.
    n_candidates : int
        How many cuts of each group are kept.
    room : int
    """
    n_groups = len(loss)
    cells = _Cells(*count_pairs(node, codes, n_groups, len(attribute.domain), weights))
    halves = (
        _cuts_of_one_child(attribute, cells)
        if attribute.ancestors
        else _two_way_cuts(attribute, cells)
    )
    candidates = [half_cuts.suppressing_one_side(loss, room) for half_cuts in halves]
    for half_cuts in halves:
        if half_cuts.of_levels:
            candidates.append(half_cuts.suppressing_one_child(loss, len(attribute.ancestors) + 1))
    return _best_of_all(candidates, n_groups, n_candidates)


def widths(
    attribute: Attribute, codes: NDArray[Any], node: IntArray, n_groups: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The NCP of every group along one attribute, and whether the group covers all its values.

    `node` is the group of each row, and `codes` its value of the attribute.
    """
    ones = np.ones(len(codes), dtype=np.int64)
    cells = _Cells(*count_pairs(node, codes, n_groups, len(attribute.domain), ones))
    size = len(attribute.domain)
    if attribute.ancestors:
        levels = _nodes_by_level(attribute)
        # A group is as wide as the lowest node that holds it: by how many values are below that.
        members = np.zeros(n_groups, dtype=np.int64)
        level_of_group = _level_of_lowest_node(levels, cells)
        for level, nodes in enumerate(levels):
            on_level = level_of_group == level
            members[on_level] = np.bincount(nodes)[nodes[cells.low[on_level]]]
    elif attribute.order == "ordered":
        wide = (attribute.ends[cells.high] - attribute.positions[cells.low]) / attribute.span
        return np.asarray(wide), (cells.low == 0) & (cells.high == size - 1)
    else:
        members = cells.kinds
    return np.asarray((members - 1.0) / max(size - 1.0, 1.0)), members == size


class _Cells:
    """How many people of each group have each value of an attribute, sparse.

    A cell is a group and a value that occurs in it; those of a group are from ``offsets[group]`` to
    ``offsets[group + 1]``, in order of value.
    """

    def __init__(self, offsets: IntArray, values: IntArray, counts: IntArray) -> None:
        self.offsets, self.values, self.counts = offsets, values, counts
        self.n_groups = len(offsets) - 1
        self.kinds = np.diff(offsets)  # (groups,): how many values occur
        self.group = np.repeat(np.arange(self.n_groups), self.kinds)  # (cells,)
        self.running = np.concatenate(([0], np.cumsum(counts)))  # people of all cells before each
        # (groups,): people, and the lowest and the highest value.
        self.total = self.running[offsets[1:]] - self.running[offsets[:-1]]
        self.low, self.high = values[offsets[:-1]], values[offsets[1:] - 1]


class _Candidates(NamedTuple):
    """Candidate cuts of many groups; arrays of one shape."""

    group: IntArray
    rank: NDArray[Any]  # lowest first
    gain: NDArray[np.float64]
    cut_code: IntArray

    def first(self, n_first: int) -> tuple[IntArray, IntArray]:
        """Index of the first candidates of each group, and their rank within it."""
        order = np.lexsort((self.rank, self.group))
        ordered_groups = self.group[order]
        start_of_group = np.searchsorted(ordered_groups, ordered_groups)
        rank = np.arange(len(order)) - start_of_group
        return order[rank < n_first], rank[rank < n_first]


def _best_of_all(several: list[_Candidates], n_groups: int, n_candidates: int) -> Cuts:
    """The first candidates of every group, of several kinds."""
    candidates = _Candidates(*joined(several))
    chosen, rank = candidates.first(n_candidates)
    gains = np.full((n_groups, n_candidates), -np.inf)
    cut_codes = np.zeros((n_groups, n_candidates), dtype=np.int64)
    gains[candidates.group[chosen], rank] = candidates.gain[chosen]
    cut_codes[candidates.group[chosen], rank] = candidates.cut_code[chosen]
    return Cuts(gains, cut_codes)


@dataclass(frozen=True, eq=False)
class _TwoWayCuts:
    """Cuts of groups into two sides; arrays have an entry for each cut."""

    group: IntArray
    cut_code: IntArray  # as in `Cuts`
    people_left: IntArray
    total: IntArray  # people of the group
    wide: NDArray[Any]  # the width of the group, and of each side
    wide_left: NDArray[Any]
    wide_right: NDArray[Any]
    scale: float  # the width of the whole attribute
    of_levels: bool = False  # the left side is a child of the lowest node

    @property
    def saved(self) -> NDArray[np.float64]:
        """How much the widths of people fall who go left, over all of them, as NCP."""
        return np.asarray(self.people_left * (self.wide - self.wide_left) / self.scale)

    def by_evenness(self) -> _Candidates:
        """Candidates that keep both sides of a cut; the most even first."""
        right = self.total - self.people_left
        gain = self.total * self.wide - self.people_left * self.wide_left - right * self.wide_right
        unevenness = np.abs(2 * self.people_left - self.total)
        return _Candidates(self.group, unevenness, gain / self.scale, self.cut_code)

    def suppressing_one_side(self, loss: NDArray[np.float64], room: int) -> _Candidates:
        """Candidates that suppress one side of a cut, if that gains something; the best first."""
        people_right, loss_each = self.total - self.people_left, loss[self.group]
        gain = np.full(len(self.cut_code), -np.inf)
        for n_suppressed, n_staying, wide_after in (
            (self.people_left, people_right, self.wide_right),
            (people_right, self.people_left, self.wide_left),
        ):
            saved = n_staying * (self.wide - wide_after) / self.scale
            net_gain = saved - n_suppressed * loss_each
            gain = np.where((n_suppressed <= room) & (net_gain > gain), net_gain, gain)
        gains_something = gain > 0
        gain = gain[gains_something]
        return _Candidates(self.group[gains_something], -gain, gain, self.cut_code[gains_something])

    def suppressing_one_child(self, loss: NDArray[np.float64], n_levels: int) -> _Candidates:
        """Candidates that divide a group into three children or more, and suppress the cheapest."""
        saved = self.saved
        # What it costs to suppress a child: what it would have saved, and the loss of its people.
        least_cost = np.full(len(loss), np.inf)  # (groups,)
        np.minimum.at(least_cost, self.group, saved + self.people_left * loss[self.group])
        net_gain = np.bincount(self.group, weights=saved, minlength=len(loss)) - least_cost
        # One candidate for each group, with the code of the cut into all children: the rest that
        # `% n_levels` leaves, as `Cuts` says.
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        n_children = np.bincount(self.group, minlength=len(loss))[self.group[first]]
        first = first[(n_children > 2) & (net_gain[self.group[first]] > 0)]
        gain = net_gain[self.group[first]]
        return _Candidates(self.group[first], -gain, gain, self.cut_code[first] % n_levels)


def _two_way_cuts(
    attribute: Attribute, cells: _Cells, n_nearest: int | None = None
) -> list[_TwoWayCuts]:
    """The cuts of an attribute without levels; of thresholds, perhaps only the most even."""
    halves = [_thresholds(attribute, cells, n_nearest)]
    return [*halves, _single_values(attribute, cells)] if attribute.order == "nominal" else halves


def _thresholds(attribute: Attribute, cells: _Cells, n_nearest: int | None) -> _TwoWayCuts:
    """The cuts of each group that put lower values left and higher ones right.

    After each value of the group but its last; with `n_nearest`, only after so many values on each
    side of its middle person.
    """
    if n_nearest is None:
        after = np.flatnonzero(cells.group[1:] == cells.group[:-1])
    else:
        # The further from the value that the middle person has, the less even.
        middle_person = cells.running[cells.offsets[:-1]] + (cells.total + 1) // 2
        middle_cell = np.searchsorted(cells.running, middle_person) - 1
        candidates = middle_cell[:, None] + np.arange(-n_nearest, n_nearest)
        first_cell, last_cell = cells.offsets[:-1, None], cells.offsets[1:, None] - 1
        after = candidates[(candidates >= first_cell) & (candidates < last_cell)]
    # `after` has the cells after which a group is cut.
    group = cells.group[after]
    if attribute.order == "ordered":
        position, ends = attribute.positions, attribute.ends
        low, high = position[cells.low][group], ends[cells.high][group]
        wide, wide_left = high - low, ends[cells.values[after]] - low
        wide_right, scale = high - position[cells.values[after + 1]], attribute.span
    else:  # a set of values is as wide as it has members, less one
        wide = cells.kinds[group] - 1.0
        wide_left = (after - cells.offsets[group]).astype(np.float64)
        wide_right = wide - wide_left - 1.0
        scale = len(attribute.domain) - 1.0
    return _TwoWayCuts(
        group=group,
        cut_code=cells.values[after],
        people_left=cells.running[after + 1] - cells.running[cells.offsets[group]],
        total=cells.total[group],
        wide=wide,
        wide_left=wide_left,
        wide_right=wide_right,
        scale=scale,
    )


def _single_values(attribute: Attribute, cells: _Cells) -> _TwoWayCuts:
    """The cuts of each group that put the people of one value left and all others right.

    Of groups with two values there are none: a threshold does that already.
    """
    apart = np.flatnonzero(cells.kinds[cells.group] > 2)  # the cells that are set apart
    group = cells.group[apart]
    wide = cells.kinds[group] - 1.0
    return _TwoWayCuts(
        group=group,
        cut_code=-1 - cells.values[apart],
        people_left=cells.counts[apart],
        total=cells.total[group],
        wide=wide,
        wide_left=np.zeros(len(group)),
        wide_right=wide - 1.0,
        scale=max(len(attribute.domain) - 1.0, 1.0),
    )


def _cuts_of_one_child(attribute: Attribute, cells: _Cells) -> list[_TwoWayCuts]:
    """Cuts of one child of a group's lowest node from the others, one result for each level.

    The lowest node is the one in the hierarchy that covers all values of the group. The other part
    keeps its width.
    """
    levels = _nodes_by_level(attribute)
    level_of_group, halves = _level_of_lowest_node(levels, cells), []
    for level in range(1, len(levels)):
        on_level = (level_of_group == level)[cells.group]  # (cells,)
        if level > 1 and not on_level.any():
            continue
        nodes, nodes_below = levels[level], levels[level - 1]  # of each value
        width, width_below = np.bincount(nodes) - 1.0, np.bincount(nodes_below) - 1.0
        # The people of each group in each child.
        starts, children, people = count_pairs(
            cells.group[on_level],
            nodes_below[cells.values[on_level]],
            cells.n_groups,
            len(width_below),
            cells.counts[on_level],
        )
        group = np.repeat(np.arange(cells.n_groups), np.diff(starts))
        width_of_group = width[nodes[cells.low[group]]]
        halves.append(
            _TwoWayCuts(
                group=group,
                cut_code=(level - 1) + (children + 1) * len(levels),
                people_left=people,
                total=cells.total[group],
                wide=width_of_group,
                wide_left=width_below[children],
                wide_right=width_of_group,
                scale=max(len(attribute.domain) - 1.0, 1.0),
                of_levels=True,
            )
        )
    return halves


def _level_of_lowest_node(levels: list[IntArray], cells: _Cells) -> IntArray:
    """The level of the lowest node of a hierarchy that holds all values of a group, by group.

    A hierarchy keeps values in order, so a node that holds the lowest and the highest holds all.
    """
    level = np.zeros(cells.n_groups, dtype=np.int64)
    for nodes in levels[:-1]:
        level += nodes[cells.low] != nodes[cells.high]
    return level


def _nodes_by_level(attribute: Attribute) -> list[IntArray]:
    return [np.arange(len(attribute.domain)), *attribute.ancestors]


def _cuts_along_hierarchy(attribute: Attribute, cells: _Cells, n_candidates: int) -> Cuts:
    """Cuts along a hierarchy: into all children of a node, or one child from the rest.

    The first column has the cut into all children, the others the best cuts of one child. The gain
    is -inf where there is no such cut.
    """
    levels, n_groups = _nodes_by_level(attribute), cells.n_groups
    gains = np.full((n_groups, 1 + n_candidates), -np.inf)
    cut_codes = np.zeros((n_groups, 1 + n_candidates), dtype=np.int64)
    cut_codes[:, 0] = _level_of_lowest_node(levels, cells) - 1
    for halves in _cuts_of_one_child(attribute, cells):
        saved, n_children = halves.saved, np.bincount(halves.group, minlength=n_groups)
        on_level = n_children > 0  # groups whose lowest node is on the level of these cuts
        gains[on_level, 0] = np.bincount(halves.group, weights=saved, minlength=n_groups)[on_level]
        several = n_children[halves.group] > 2  # of two children, one apart is all apart
        group = halves.group[several]
        unevenness = np.abs(2 * halves.people_left - halves.total)[several]
        single = _Candidates(group, unevenness, saved[several], halves.cut_code[several])
        chosen, rank = single.first(n_candidates)
        gains[group[chosen], 1 + rank] = single.gain[chosen]
        cut_codes[group[chosen], 1 + rank] = single.cut_code[chosen]
    return Cuts(gains, cut_codes)


@dataclass(frozen=True, eq=False)
class PartedCounts:
    """Counts of many groups; only those of a part are laid out at once, to spare memory."""

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
    ) -> PartedCounts:
        """Keep a dense table of groups by values as it is."""
        none = np.empty(0, dtype=np.int64)
        offsets = np.arange(len(table) + 1) * table.shape[1]
        return cls(labels, semantics, people, offsets, none, none, table)

    def part(self, start: int, stop: int) -> GroupCounts:
        """The counts of the groups from `start` up to `stop`, as `GroupCounts`."""
        if self.table is None:
            cells = slice(self.offsets[start], self.offsets[stop])
            offsets = self.offsets[start : stop + 1] - self.offsets[start]
            codes, counts = self.codes[cells], self.counts[cells]
        else:
            table = self.table[start:stop]
            occurs = table > 0
            positions, n_cells = np.flatnonzero(occurs), np.count_nonzero(occurs, axis=1)
            codes = positions - np.repeat(np.arange(len(table)) * table.shape[1], n_cells)
            counts = table.reshape(-1)[positions]
            offsets = np.concatenate(([0], np.cumsum(n_cells)))
        sizes = row_sums(counts, offsets) if self.people is None else self.people[start:stop]
        return GroupCounts(sizes, offsets, codes, counts, self.labels, None, self.semantics)


def counts_of_table(labels: Labels, table: IntArray) -> GroupCounts:
    """Counts of groups of people with one value each, of a dense table of groups by values."""
    return PartedCounts.of_table(labels, "single", None, table).part(0, len(table))


def whole_proposals(
    owner: IntArray, offsets: IntArray, most_cells: int
) -> Iterator[tuple[int, int]]:
    """Runs of groups: whole proposals of at most `most_cells` cells together, or a single one."""
    ends: IntArray = np.append(np.flatnonzero(owner[1:] != owner[:-1]) + 1, len(owner))
    start = 0
    while start < len(owner):
        fitting = int(np.searchsorted(offsets[ends] - offsets[start], most_cells, side="right")) - 1
        next_end = int(np.searchsorted(ends, start, side="right"))
        stop = int(ends[max(fitting, next_end)])
        yield start, stop
        start = stop
