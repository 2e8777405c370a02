"""Best first: the search of a lattice that is too large to say something of every node.

A box is all nodes between a lowest and a highest one. No node of a box loses less than its lowest
does with nobody suppressed, and if its highest is unsafe by more people than may be suppressed, so
are all others (where merging never hurts). The box that might lose least is looked at first, and
divided; so the least of what is left bounds what any node that was not judged can lose.
"""

from __future__ import annotations

import heapq
import time
from typing import NamedTuple

import numpy as np

from foreknow.methods.fulldomain.lattice import SAFE, UNSAFE, Node
from foreknow.methods.fulldomain.losses import Loss
from foreknow.methods.fulldomain.rollup import Rollup, View
from foreknow.methods.fulldomain.suppression import Judge, Judged

# How many nodes are judged at most where no time is given, and boxes looked at for each.
_MOST_JUDGED, _BOXES = 3_000, 50


class _Box(NamedTuple):
    """Nodes between two; in order of what they lose at least."""

    floor: float
    height: int
    low: Node
    high: Node


class BestFirst:
    """What is known about the nodes that were judged, and how far the best is from any other.

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
        self._fewest: dict[Node, int] = {}

    @property
    def complete(self) -> bool:
        """Whether nothing can be better than the best."""
        return not self.gap

    def judged(self, node: Node) -> tuple[View, Judged]:
        """The groups at a node, and what the judge says of them."""
        view = self._rollup.view(node)
        return view, self._judge.judge(view)

    def check(self, node: Node) -> bool:
        """Judge one node, unless its status is known or follows, and note what follows."""
        if node not in self.status and not self._is_hopeless(node):
            view, found = self.judged(node)
            self._rollup.cache.add(view)
            self.status[node] = SAFE if found.safe else UNSAFE
            if self._judge.monotone:
                self._fewest[node] = found.fewest
                if found.hopeless:
                    self._hopeless = np.vstack((self._hopeless, np.array(node, np.int16)))
            if found.safe:
                if found.outliers is not None:
                    self.suppressed[node] = int(view.people[found.outliers].sum())
                self.losses[node] = self._loss.of(view, found.outliers)
                if self.best is None or self._place(node) < self._place(self.best):
                    self.best = node
        return self.status.get(node) == SAFE

    def _is_hopeless(self, node: Node) -> bool:
        """Whether it is unsafe, since a node at or above it is, by too many people."""
        return bool((self._hopeless >= np.array(node)).all(axis=1).any())

    def search(self) -> None:
        """Find the safe node that loses least, or a good one, and how far it is from the least."""
        bottom, top = (0,) * len(self._rollup.tops), self._rollup.tops
        self.check(top)
        if self.best is not None:
            self._climb_down()
        waiting, looked_at = [self._box(bottom, top, 0.0)], 0
        while waiting:
            box = heapq.heappop(waiting)
            if self.best is not None and box[:3] > self._place(self.best):
                return
            looked_at += 1
            if self._spent(looked_at):
                floor = min(box.floor, float(self.losses[self.best])) if self.best else box.floor
                best = np.inf if self.best is None else self.losses[self.best]
                self.gap = float(best) - floor
                return
            self._look_into(box, waiting)

    def _look_into(self, box: _Box, waiting: list[_Box]) -> None:
        """Judge the highest node of a box, and divide it, unless nothing in it can be better."""
        if box.low == box.high or self._judge.monotone:
            self.check(box.high)
        if box.low == box.high or self._is_hopeless(box.high):
            return
        least = self._loss.floor(box.low)
        least += self._fewest.get(box.high, 0) * self._loss.least_each(box.low)
        floor = max(box.floor, least - 1e-12)
        levels = self._loss.steps
        spread = [
            float(levels[a][high] - levels[a][low])
            for a, (low, high) in enumerate(zip(box.low, box.high, strict=True))
        ]
        able = [high > low for low, high in zip(box.low, box.high, strict=True)]
        a = max(range(len(spread)), key=lambda i: (able[i], spread[i], box.high[i] - box.low[i]))
        middle = (box.low[a] + box.high[a]) // 2
        high = (*box.high[:a], middle, *box.high[a + 1 :])
        low = (*box.low[:a], middle + 1, *box.low[a + 1 :])
        for part in (self._box(box.low, high, floor), self._box(low, box.high, floor)):
            if self.best is None or part[:3] <= self._place(self.best):
                heapq.heappush(waiting, part)

    def _box(self, low: Node, high: Node, floor: float) -> _Box:
        return _Box(max(floor, self._loss.floor(low)), sum(low), low, high)

    def _climb_down(self) -> None:
        """From the top, the step that saves most and is safe, until none is."""
        while True:
            at = self.best
            assert at is not None
            for node in sorted(_children(at), key=lambda n: self._loss.floor(n)):
                if self._spent(0) or self.check(node):
                    break
            if self.best == at:
                return

    def _place(self, node: Node) -> tuple[float, int, Node]:
        return self.losses[node], sum(node), node

    def _spent(self, looked_at: int) -> bool:
        if self._until is not None:
            return time.monotonic() > self._until
        return len(self.status) >= _MOST_JUDGED or looked_at >= _BOXES * _MOST_JUDGED


def _children(node: Node) -> list[Node]:
    return [(*node[:a], x - 1, *node[a + 1 :]) for a, x in enumerate(node) if x]
