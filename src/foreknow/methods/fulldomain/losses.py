"""Losses: what a node of the lattice costs, from 0 (exact) to 1 (everything suppressed)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.counts import GroupCounts
from foreknow.methods.fulldomain.lattice import Lattice, Node
from foreknow.methods.fulldomain.rollup import Rollup, View

OBJECTIVES = ("ncp", "height")


class Loss:
    """A loss that each value contributes to by its own node, whatever else is published.

    "ncp", normalized certainty penalty: how much of the domain the published node covers.
    "height": levels that were climbed. Averaged over people, relative to suppressing everything. Of
    suppressed people, everything is lost; or if cells are suppressed (`by_cell`), one at least.
    """

    def __init__(
        self,
        rollup: Rollup,
        lattice: Lattice | None,
        kind: str,
        weights: FloatArray | None = None,
        *,
        by_cell: bool = False,
    ) -> None:
        """Work out what one person loses at each node of each level of each column.

        Parameters
        ----------
        rollup : Rollup
            The table and the levels of its columns.
        lattice : Lattice or None
            Without it, nothing is kept of its nodes.
        kind : str
            The measure of loss.
        weights : float array, optional
            What each column counts; 1 if left out.
        by_cell : bool
            Whether single cells of suppressed people are hidden, and not all.
        """
        finest, totals, costs_by_column = rollup.finest, [], []
        weights_of_columns = np.ones(len(rollup.levels)) if weights is None else weights
        for codes, levels, weight in zip(
            finest.codes, rollup.levels, weights_of_columns, strict=True
        ):
            people = np.bincount(codes, finest.people, len(levels[0])).astype(np.float64)
            # By level: the loss of one person at each node, and of all people together.
            costs = [weight * cost for cost in _COSTS[kind](levels, people)]
            total = [
                (people * cost[nodes]).sum() for cost, nodes in zip(costs, levels, strict=True)
            ]
            totals.append(np.array(total))
            costs_by_column.append(costs)
        highest_loss = sum(float(total[-1]) for total in totals) or 1.0
        # Of each quasi-identifier, what each of its levels loses.
        self.steps = [total / highest_loss for total in totals]
        # By column and level, what is lost in addition by suppressing one person of a node.
        self._more: list[list[FloatArray]] = []
        for costs in costs_by_column:
            (cost_of_suppressed,) = costs[-1]
            self._more.append([(cost_of_suppressed - cost) / highest_loss for cost in costs])
        self._levels, self._by_cell = rollup.levels, by_cell
        self._least_of: dict[tuple[int, int, int], FloatArray] = {}
        # By node: what is lost with nobody suppressed; what suppressing one person adds, at least.
        self.bounds = self.each = np.empty(0)
        if lattice is not None:
            self.bounds = np.minimum(lattice.sums(self.steps), 1.0)
            least_added = []
            for extra_by_level in self._more:
                least_added.append(np.array([extra.min() for extra in extra_by_level]))
            self.each = lattice.least_part(least_added) if by_cell else lattice.sums(least_added)

    def floor(self, node: Node) -> float:
        """The loss of a node with nobody suppressed."""
        return min(1.0, sum(float(x[level]) for x, level in zip(self.steps, node, strict=True)))

    def least_by_level(self, view: View, leaving: IntArray) -> list[FloatArray]:
        """Lower bounds of the loss at each level up to a view's, if `leaving` people of a group go.

        There is an array for each quasi-identifier. Those who lose least by leaving are taken to
        leave.
        """
        if self._by_cell:  # in one column, and it is not known in which
            return [steps[: top + 1] for steps, top in zip(self.steps, view.levels, strict=True)]
        leaving_groups, lowest = np.flatnonzero(leaving), []
        for column, (top, codes) in enumerate(zip(view.levels, view.codes, strict=True)):
            # People who leave, by their node at the view's level.
            people = np.bincount(codes[leaving_groups], leaving[leaving_groups])
            extra_costs = []
            for level in range(top + 1):
                extra_costs.append(self._least_more(column, level, top)[: len(people)])
            lowest.append(self.steps[column][: top + 1] + np.array(extra_costs) @ people)
        return lowest

    def _least_more(self, column: int, low: int, high: int) -> FloatArray:
        """The least that suppressing a person adds to the loss of a column at level `low`.

        An entry for each node of level `high`: the least of the nodes of level `low` below it.
        """
        key = column, low, high
        if key not in self._least_of:
            levels, extra_costs = self._levels[column], self._more[column]
            lowest = np.full(len(extra_costs[high]), np.inf)
            np.minimum.at(lowest, levels[high], extra_costs[low][levels[low]])
            self._least_of[key] = lowest
        return self._least_of[key]

    def of(self, view: View, is_suppressed: BoolArray | None) -> float:
        """The loss of a node; suppressed are groups, or cells in the shape (groups, attributes)."""
        loss = self.floor(view.levels)
        if is_suppressed is None:
            return loss
        are_cells = is_suppressed.ndim == 2
        groups = np.flatnonzero(is_suppressed.any(axis=1) if are_cells else is_suppressed)
        costs = self.of_cells(view, groups)
        if are_cells:
            costs = costs * is_suppressed[groups]
        return loss + float((view.people[groups] * costs.T).sum(axis=1).sum())

    def of_cells(self, view: View, groups: IntArray) -> FloatArray:
        """The loss added by each cell of a person of some groups; shape (groups, attributes)."""
        columns = zip(self._more, view.levels, view.codes, strict=True)
        return np.stack([extra[level][codes[groups]] for extra, level, codes in columns], axis=1)


def _penalties(levels: list[IntArray], people: FloatArray) -> list[FloatArray]:
    """The loss of each node as the share of the domain below it, less one value."""
    return [(np.bincount(nodes) - 1.0) / max(len(people) - 1, 1) for nodes in levels]


def _steps(levels: list[IntArray], people: FloatArray) -> list[FloatArray]:
    """The loss of each node as the number of levels that were climbed."""
    return [np.full(int(nodes[-1]) + 1, float(level)) for level, nodes in enumerate(levels)]


_COSTS = {"ncp": _penalties, "height": _steps}


def together(counts: GroupCounts, outliers: BoolArray) -> GroupCounts:
    """Unite the outliers into one group, the last."""
    is_kept = ~outliers
    into: Any = np.where(is_kept, np.cumsum(is_kept) - 1, np.count_nonzero(is_kept))
    return counts.merge(into)


def joined(parts: Sequence[GroupCounts]) -> GroupCounts:
    """The groups of several counts of the same values, one after the other."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.concatenate([part.sizes for part in parts])
    codes = np.concatenate([part.codes for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    values, semantics = parts[0].values, parts[0].semantics
    return GroupCounts.counted(sizes, offsets, codes, counts, values=values, semantics=semantics)
