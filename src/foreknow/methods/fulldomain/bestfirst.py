"""Best-first search of a lattice that is too large to judge every node.

A box is all nodes between a lowest and a highest one. Where merging never hurts, people who must
leave a group at the highest node must leave at every other node, too: if they are more than may be
suppressed, all nodes are unsafe. If not, these people lose everything, and the rest lose no less
than at its lowest. The box that might lose least is looked at first, and divided; so the least of
what is left bounds what any node that was not judged can lose.
"""

from __future__ import annotations

import heapq
import time
from typing import NamedTuple

import numpy as np

from foreknow.data.arrays import FloatArray
from foreknow.methods.fulldomain.lattice import SAFE, UNSAFE, Node
from foreknow.methods.fulldomain.losses import Loss
from foreknow.methods.fulldomain.rollup import Rollup, View
from foreknow.methods.fulldomain.suppression import Judge, NodeVerdict

# How far sums of losses, which lie between 0 and 1, may be off.
_ROUNDING = 1e-12
# How many nodes are judged at most, if only by who must leave, where no time is given; and boxes
# looked at for each.
_MOST_JUDGED, _BOXES = 10_000, 50


class _Box(NamedTuple):
    """The nodes between two nodes; boxes are ordered by a lower bound of their losses."""

    floor: float
    height: int
    low: Node
    high: Node
    losses: list[FloatArray]  # of each quasi-identifier, what each level loses at least


class BestFirst:
    """The status of judged nodes, and how far the best one is from any other.

    `status`, `losses` and `suppressed` are by node; `gap` is how much less a safe node might lose
    than `best`: 0 where the search was finished.
    """

    def __init__(self, rollup: Rollup, judge: Judge, loss: Loss, until: float | None) -> None:
        self.status: dict[Node, int] = {}
        self.losses: dict[Node, float] = {}
        self.suppressed: dict[Node, int] = {}
        self.best: Node | None = None
        self.gap = 0.0
        self._rollup, self._judge, self._loss, self._until = rollup, judge, loss, until
        self._hopeless = np.empty((0, len(rollup.tops)), dtype=np.int16)  # levels, a node each
        self._least: dict[Node, list[FloatArray]] = {}  # of nodes that were counted

    @property
    def complete(self) -> bool:
        """True if nothing can be better than the best."""
        return not self.gap

    def judged(self, node: Node) -> tuple[View, NodeVerdict]:
        """The groups at a node, and what the judge says of them."""
        view = self._rollup.view(node)
        return view, self._judge.judge(view)

    def check(self, node: Node) -> bool:
        """Judge a node of the lattice, unless its status is known; True if it is safe.

        What follows for other nodes is noted, and the node is kept if it is the best so far.
        """
        if node not in self.status and (not self._judge.monotone or self._count(node)):
            view, node_verdict = self.judged(node)
            self.status[node] = SAFE if node_verdict.safe else UNSAFE
            if self._judge.monotone and node_verdict.hopeless:
                self._note_hopeless(node)
            if node_verdict.safe:
                if node_verdict.outliers is not None:
                    self.suppressed[node] = node_verdict.n_suppressed(view)
                self.losses[node] = self._loss.of(view, node_verdict.lost)
                if self.best is None or self._place(node) < self._place(self.best):
                    self.best = node
        return self.status.get(node) == SAFE

    def _count(self, node: Node) -> bool:
        """Count the groups of a node, unless that was done; False if it cannot be safe."""
        if node not in self._least and not self._is_hopeless(node):
            view = self._rollup.view(node)
            self._rollup.cache.add(view)
            _, leaving = self._judge.leaving([view])[0]
            self._least[node] = self._loss.least_by_level(view, leaving)
            if leaving.sum() > self._judge.most:
                self.status[node] = UNSAFE
                self._note_hopeless(node)
        return not self._is_hopeless(node)

    def _note_hopeless(self, node: Node) -> None:
        self._hopeless = np.vstack((self._hopeless, np.array(node, np.int16)))

    def _is_hopeless(self, node: Node) -> bool:
        """True if a node is unsafe since one at or above it is, by too many people."""
        return bool((self._hopeless >= np.array(node)).all(axis=1).any())

    def search(self) -> None:
        """Find the safe node that loses least, by dividing boxes of nodes, the best ones first.

        A box is all nodes between a lowest and a highest one. If the time runs out, `best` is the
        best node so far, and `gap` how much less another one may lose.
        """
        lowest, highest = (0,) * len(self._rollup.tops), self._rollup.tops
        self.check(highest)
        if self.best is not None:
            self._climb_down()
        open_boxes, n_looked_at = [self._box(lowest, highest, 0.0, self._loss.steps)], 0
        while open_boxes:
            box = heapq.heappop(open_boxes)
            if not self._may_be_best(box):
                return
            n_looked_at += 1
            if self._is_out_of_budget(n_looked_at):
                lowest_loss = np.inf if self.best is None else self.losses[self.best]
                self.gap = float(lowest_loss) - min(box.floor, float(lowest_loss))
                return
            self._look_into(box, open_boxes)

    def _look_into(self, box: _Box, waiting: list[_Box]) -> None:
        """Judge the highest node of a box if that tells something, and halve the box.

        Halves that may contain a better node than the best so far are added to `waiting`.
        """
        low, high, losses, judge = box.low, box.high, box.losses, self._judge
        if judge.monotone and self._count(high):
            losses = self._least[high]
        is_single_node = low == high
        is_judged_now = is_single_node
        if judge.monotone and not self._is_hopeless(high):
            # Its verdict settles nodes below if nobody may be suppressed; else it may be the best.
            highest_alone = self._box(high, high, 0.0, losses)
            is_judged_now |= not judge.most or self._may_be_best(highest_alone)
        if is_judged_now:
            self.check(high)
        if is_single_node or self._is_hopeless(high):
            return
        # Halve the box along the column whose levels differ most in what they lose.
        ranks = []
        for column_losses, level, top in zip(losses, low, high, strict=True):
            n_steps, span = top - level, float(column_losses[top] - column_losses[level])
            ranks.append((n_steps > 0, span, n_steps))
        column = ranks.index(max(ranks))
        middle = (low[column] + high[column]) // 2
        high_of_lower_half = (*high[:column], middle, *high[column + 1 :])
        low_of_upper_half = (*low[:column], middle + 1, *low[column + 1 :])
        for half in (
            self._box(low, high_of_lower_half, box.floor, losses),
            self._box(low_of_upper_half, high, box.floor, losses),
        ):
            if self._may_be_best(half):
                heapq.heappush(waiting, half)

    def _box(self, low: Node, high: Node, floor: float, losses: list[FloatArray]) -> _Box:
        """A box of nodes, with the least that its nodes can lose."""
        lowest = 0.0
        for column_losses, level in zip(losses, low, strict=True):
            lowest += float(column_losses[level])
        lowest -= _ROUNDING
        return _Box(floor=max(floor, lowest), height=sum(low), low=low, high=high, losses=losses)

    def _may_be_best(self, box: _Box) -> bool:
        """True if a node of a box may lose less than the best, or come before it."""
        return self.best is None or (box.floor, box.height, box.low) <= self._place(self.best)

    def _climb_down(self) -> None:
        """Go down from the best node by the safe step that saves most, until no step is safe.

        A step is to a node with one attribute a level lower. It stops early if the search has spent
        its time.
        """
        while True:
            current = self.best
            assert current is not None
            for node in sorted(_children(current), key=lambda n: self._loss.floor(n)):
                if self._is_out_of_budget(0) or self.check(node):
                    break
            if self.best == current:
                return

    def _place(self, node: Node) -> tuple[float, int, Node]:
        """The key by which nodes are ordered, the best first."""
        return self.losses[node], sum(node), node

    def _is_out_of_budget(self, looked_at: int) -> bool:
        """True if the time is over; without a time, if too many nodes or boxes were looked at."""
        if self._until is not None:
            return time.monotonic() > self._until
        return len(self._least) >= _MOST_JUDGED or looked_at >= _BOXES * _MOST_JUDGED


def _children(node: Node) -> list[Node]:
    """The nodes with one level less in one column."""
    children = []
    for column, level in enumerate(node):
        if level > 0:
            children.append((*node[:column], level - 1, *node[column + 1 :]))
    return children
