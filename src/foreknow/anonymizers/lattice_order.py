"""The order of a search: which node tells most about the others."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.anonymizers.lattice import Lattice
from foreknow.sparse import IntArray

Marks: TypeAlias = NDArray[np.bool_]

# How many nodes are weighed exactly before one is chosen.
_TRIES = 2
# Settling twice as many nodes is worth a little less than twice as much; found by trying.
_WEIGHT = 0.8
# Counts are made anew when fewer than this share of the open nodes is still open.
_STALE = 0.8


class Order:
    """Guesses how likely nodes are to be safe, and weighs what either answer would settle.

    The fewer groups a node can have, the likelier it is to be safe: as likely as the nodes that
    were judged make it. A guess decides what is judged first, never what is safe.

    Parameters
    ----------
    lattice : Lattice
    sizes : sequence of sequences of int
        How many nodes each level of each quasi-identifier has.
    """

    def __init__(self, lattice: Lattice, sizes: list[list[int]]) -> None:
        self._lattice = lattice
        fewness = lattice.sums([-np.log(of_level) for of_level in sizes])
        distinct, self._rank = np.unique(fewness, return_inverse=True)
        # Of each rank: safe nodes of at most it, and others of at least it, that were judged.
        self._safe = np.full((2, len(distinct)), 0.5)
        # Likewise: nodes of at least it below which all are unsafe, and others of at most it.
        self._hopeless = np.full((2, len(distinct)), 0.5)
        # Open nodes at or below, and above, each: as many as when they were last counted.
        self._below: NDArray[Any] = np.empty(0)
        self._above: NDArray[Any] = np.empty(0)
        self._counted = 2 * len(lattice)

    def saw(self, number: int, safe: bool, hopeless: bool) -> None:
        """Learn from a node that was judged."""
        rank = self._rank[number]
        up, down = slice(rank, None), slice(None, rank + 1)
        self._safe[(0, up) if safe else (1, down)] += 1
        self._hopeless[(0, down) if hopeless else (1, up)] += 1

    def first(self, marks: Marks, others: Marks | None, bounds: Bounds | None = None) -> int:
        """Choose the node to judge next.

        Parameters
        ----------
        marks : bool array, shape (nodes,)
            The open nodes.
        others : bool array, shape (nodes,), or None
            Nodes that would settle open ones below by being unsafe; None where nothing follows
            from an unsafe node.
        bounds : Bounds, optional
            A safe node settles what loses no less; all above it when left out.
        """
        follows = others is not None
        nodes = np.flatnonzero(marks if others is None else marks | others)
        self._count(marks, bounds is None)
        settled = self._above[nodes] if bounds is None else bounds.count(marks, nodes)
        below = self._below[nodes] if follows else np.ones(len(nodes))
        safe, hopeless = (
            (yes / (yes + no))[self._rank[nodes]] for yes, no in (self._safe, self._hopeless)
        )
        gain = safe * np.where(marks[nodes], settled, 0) ** _WEIGHT
        score = gain + hopeless * below**_WEIGHT
        best, most = -1, -1.0
        for _ in range(_TRIES if follows else 1):
            at = int(score.argmax())
            if score[at] <= most:
                break
            number = int(nodes[at])
            if follows:
                # What was counted before can only have become less.
                exact = int(np.count_nonzero(self._lattice.below(marks, number)))
                self._below[number] = exact
                score[at] = gain[at] + hopeless[at] * exact**_WEIGHT
            if score[at] > most:
                best, most = number, float(score[at])
        return best

    def _count(self, marks: Marks, above: bool) -> None:
        """Count open nodes anew where a good part of them was settled since."""
        n_open = np.count_nonzero(marks)
        if n_open < _STALE * self._counted or (above and not len(self._above)):
            self._below = self._lattice.count_below(marks)
            if above:
                self._above = self._lattice.count_above(marks)
            self._counted = int(n_open)


class Bounds:
    """Counts open nodes that lose as much at least."""

    def __init__(self, bounds: NDArray[np.float64]) -> None:
        self._order = np.argsort(bounds, kind="stable")
        self._place = np.empty(len(bounds), dtype=np.int64)
        self._place[self._order] = np.arange(len(bounds))

    def count(self, marks: Marks, nodes: IntArray) -> IntArray:
        """For each of some nodes, how many marked ones have a bound that is no lower."""
        before: IntArray = np.cumsum(marks[self._order])
        found: IntArray = before[-1] + 1 - before[self._place[nodes]]
        return found
