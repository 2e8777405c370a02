"""Search of the lattice: which nodes to judge, and what follows about the others.

Where merging never hurts, a safe node makes all above it safe, and an unsafe one all below it
unsafe. That holds Incognito's pruning by subsets of the quasi-identifiers, too: its projection on a
subset is the node at which all others are suppressed.
"""

from __future__ import annotations

import time
from operator import le
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.methods.fulldomain.lattice import SAFE, UNKNOWN, UNSAFE, Lattice
from foreknow.methods.fulldomain.losses import Loss
from foreknow.methods.fulldomain.rollup import Rollup, View
from foreknow.methods.fulldomain.suppression import Judge, NodeVerdict

# How many nodes are weighed exactly before one is chosen.
_TRIES = 2
# Settling twice as many nodes is worth a little less than twice as much; found by trying.
_WEIGHT = 0.8
# How many nodes are judged at once, and how many cells they may have together.
_AT_ONCE, _CELLS_AT_ONCE = 8, 1 << 20
# Counts are made anew when fewer than this share of the open nodes is still open.
_STALE = 0.8


class Order:
    """Guesses how likely nodes are to be safe, and weighs what either answer would settle.

    The fewer groups a node can have (`sizes`: nodes of each level of each quasi-identifier), the
    likelier it is to be safe: as likely as the nodes that were judged make it. A guess decides
    what is judged first, never what is safe.
    """

    def __init__(self, lattice: Lattice, sizes: list[list[int]]) -> None:
        self._lattice = lattice
        fewness = lattice.sums([-np.log(of_level) for of_level in sizes])
        distinct, self._rank = np.unique(fewness, return_inverse=True)
        # (2, ranks), of the nodes that were judged. A safe node tells of its rank and all higher
        # ones, an unsafe node of its rank and all lower ones: row 0 counts the safe ones that tell
        # of a rank, row 1 the unsafe ones.
        self._safe = np.full((2, len(distinct)), 0.5)
        # Likewise, the other way round: row 0 counts the nodes below which all are unsafe.
        self._hopeless = np.full((2, len(distinct)), 0.5)
        # Open nodes at or below, and above, each: as many as when they were last counted.
        self._below: NDArray[Any] = np.empty(0)
        self._above: NDArray[Any] = np.empty(0)
        self._counted = 2 * len(lattice)

    def learn_from(self, number: int, safe: bool, hopeless: bool) -> None:
        """Learn from a node that was judged."""
        rank = self._rank[number]
        higher, lower = slice(rank, None), slice(None, rank + 1)
        self._safe[(0, higher) if safe else (1, lower)] += 1
        self._hopeless[(0, lower) if hopeless else (1, higher)] += 1

    def first(
        self,
        marks: BoolArray,
        may_refute: BoolArray | None,
        order: _Bounds | None = None,
        n_nodes: int = 1,
    ) -> list[int]:
        """The node to judge next, or the `n_nodes` next ones; the most promising first.

        Parameters
        ----------
        marks : bool array, shape (nodes,)
            The open nodes.
        may_refute : bool array, shape (nodes,), or None
            Nodes that would settle open ones below them by being unsafe; None if nothing follows
            from an unsafe node.
        order : optional
            A safe node settles those that come no earlier in this order; without it, all above it.
        n_nodes : int
        """
        has_consequences = may_refute is not None
        nodes = np.flatnonzero(marks if may_refute is None else marks | may_refute)
        self._recount_if_stale(marks, above=order is None)
        gain, hopeless = self._gains(nodes, marks, order)
        n_below = self._below[nodes] if has_consequences else np.ones(len(nodes))
        score = gain + hopeless * n_below**_WEIGHT
        # Numbers of nodes below may be stale, but only too high: count those of the best anew.
        best_node, best_score = -1, -1.0
        for _ in range(_TRIES if has_consequences else 1):
            position = int(score.argmax())
            if score[position] <= best_score:
                break
            number = int(nodes[position])
            if has_consequences:
                n_open_below = int(np.count_nonzero(self._lattice.below(marks, number)))
                self._below[number] = n_open_below
                score[position] = gain[position] + hopeless[position] * n_open_below**_WEIGHT
            if score[position] > best_score:
                best_node, best_score = number, float(score[position])
        if n_nodes == 1:
            return [best_node]
        likely_nodes = np.argpartition(-score, min(4 * n_nodes, len(score)) - 1)[: 4 * n_nodes]
        likely_nodes = nodes[likely_nodes[np.argsort(-score[likely_nodes], kind="stable")]]
        if not has_consequences:
            return [best_node, *likely_nodes[likely_nodes != best_node][: n_nodes - 1].tolist()]
        return self._with_independent_nodes(best_node, likely_nodes.tolist(), marks, n_nodes)

    def _gains(
        self, nodes: IntArray, marks: BoolArray, order: _Bounds | None
    ) -> tuple[FloatArray, FloatArray]:
        """The expected gain of each node if it is safe, and the chance that it is hopeless.

        A node is as likely to be safe as nodes of its rank were. If it is, it settles others. Below
        a hopeless node all are unsafe.
        """
        if order is None:
            n_settled = self._above[nodes]
        else:
            n_before = np.cumsum(marks[order.nodes])
            n_settled = n_before[-1] + 1 - n_before[order.places[nodes]]
        rank = self._rank[nodes]
        safe_chance = (self._safe[0] / self._safe.sum(axis=0))[rank]
        hopeless = (self._hopeless[0] / self._hopeless.sum(axis=0))[rank]
        return safe_chance * np.where(marks[nodes], n_settled, 0) ** _WEIGHT, hopeless

    def _with_independent_nodes(
        self, best_node: int, likely: list[int], marks: BoolArray, n_nodes: int
    ) -> list[int]:
        """The best node, and other likely nodes that can be judged at once.

        None of them is such that its answer would follow from another's.
        """
        lattice, chosen, remaining = self._lattice, [best_node], marks.copy()
        lattice.below(remaining, best_node)[...] = False
        for number in likely:
            if len(chosen) == n_nodes:
                break
            levels = lattice.node(number)
            # Above a chosen node: if that is safe, so is this.
            is_implied = any(all(map(le, lattice.node(earlier), levels)) for earlier in chosen)
            # At least half of the open nodes below it are below no chosen one.
            n_new = np.count_nonzero(lattice.below(remaining, number))
            n_open = np.count_nonzero(lattice.below(marks, number))
            if n_new and not is_implied and 2 * n_new >= n_open:
                chosen.append(number)
                lattice.below(remaining, number)[...] = False
        return chosen

    def _recount_if_stale(self, marks: BoolArray, above: bool) -> None:
        """Count the open nodes below each anew, and above, if many were settled since."""
        n_open = np.count_nonzero(marks)
        if n_open < _STALE * self._counted or (above and not len(self._above)):
            self._below = self._lattice.count_below(marks)
            if above:
                self._above = self._lattice.count_above(marks)
            self._counted = int(n_open)


class _Bounds(NamedTuple):
    """The nodes in ascending order of their lower bound of loss, and the place of each there."""

    nodes: IntArray
    places: IntArray

    @classmethod
    def of(cls, bounds: NDArray[np.float64]) -> _Bounds:
        nodes = np.argsort(bounds, kind="stable")
        positions = np.empty(len(nodes), dtype=np.int64)
        positions[nodes] = np.arange(len(nodes))
        return cls(nodes, positions)


# How far sums of losses, which lie between 0 and 1, may be off.
_ROUNDING = 1e-12


class OutOfTime(Exception):
    """The time budget is used up; what is known by then is kept."""


class LatticeSearch:
    """The status of the nodes of a lattice, and the search for more.

    Arrays are as in `LatticeResult`; `suppressed` is by number, and `best` the safe node that
    loses least of those whose loss is known. It stops at `until` on `time.monotonic`'s clock.
    """

    def __init__(
        self, lattice: Lattice, rollup: Rollup, judge: Judge, loss: Loss, until: float | None = None
    ) -> None:
        self.lattice = lattice
        self.status = np.zeros(len(lattice), dtype=np.int8)
        self.checked = np.zeros(len(lattice), dtype=bool)
        self.losses = np.full(len(lattice), np.nan)
        self.suppressed: dict[int, int] = {}
        self.best: int | None = None
        self._rollup, self._judge, self._loss, self._until = rollup, judge, loss, until
        self._order = Order(lattice, rollup.sizes)
        self._fewest = np.zeros(len(lattice), dtype=np.int64)  # people who must be suppressed
        self._covered = np.zeros(len(lattice), dtype=bool)  # at or above a safe node
        # Of nodes that lose the same: the lower one, then the first in order.
        self._tie = lattice.heights * len(lattice) + np.arange(len(lattice))
        max_views = max(1, _CELLS_AT_ONCE // max(1, rollup.finest.n_cells))
        self._at_once = min(_AT_ONCE, max_views) if judge.at_once else 1

    # ---- one node -------------------------------------------------------------------------

    def check(self, number: int) -> bool:
        """Judge one node, unless its status is known, and note what follows."""
        if self.status[number] == UNKNOWN:
            self._judge_nodes([number])
        return bool(self.status[number] == SAFE)

    def _judge_nodes(self, numbers: list[int]) -> None:
        """Judge these nodes, and note what follows from each verdict."""
        self._stop_in_time()
        views = []
        for number in numbers:
            views.append(self._rollup.view(self.lattice.node(number)))
            self._rollup.cache.add(views[-1])
        for number, view, node_verdict in zip(
            numbers, views, self._judge.judge_each(views), strict=True
        ):
            self._note(number, view, node_verdict)

    def judged(self, number: int) -> tuple[View, NodeVerdict]:
        """The groups at a node, and what the judge says of them."""
        view = self._rollup.view(self.lattice.node(number))
        return view, self._judge.judge(view)

    def minimal(self) -> list[int]:
        """The safe nodes below which all are unsafe, as far as that is known."""
        n_open_below = self.lattice.count_below(self.status != UNSAFE)
        return np.flatnonzero((self.status == SAFE) & (n_open_below == 1)).tolist()

    def least_lossy(self, numbers: list[int]) -> int:
        """The node that loses least."""
        return min(numbers, key=self._place)

    def _note(self, number: int, view: View, node_verdict: NodeVerdict) -> None:
        """Note the verdict on a node, and what follows from it for nodes above and below.

        If merging groups is never worse (`monotone`), all nodes above a safe one are safe.
        """
        lattice, monotone = self.lattice, self._judge.monotone
        self.checked[number] = True
        self._order.learn_from(number, node_verdict.safe, node_verdict.hopeless)
        if node_verdict.safe:
            self.status[number] = SAFE
            if node_verdict.outliers is not None:
                self.suppressed[number] = node_verdict.n_suppressed(view)
            elif monotone:
                lattice.above(self.status, number)[...] = SAFE
            lattice.above(self._covered, number)[...] = True
            self._note_loss(number, view, node_verdict.lost)
        elif monotone and node_verdict.hopeless:
            lattice.below(self.status, number)[...] = UNSAFE
        else:
            self.status[number] = UNSAFE
        if monotone and node_verdict.fewest:
            fewest_below = lattice.below(self._fewest, number)
            np.maximum(fewest_below, node_verdict.fewest, out=fewest_below)

    def _note_loss(self, number: int, view: View, lost: BoolArray | None) -> None:
        self.losses[number] = self._loss.of(view, lost)
        if self.best is None or self._place(number) < self._place(self.best):
            self.best = number

    def _place(self, number: int) -> tuple[float, int]:
        """The key by which safe nodes are ordered, the best first."""
        return float(self.losses[number]), int(self._tie[number])

    def _stop_in_time(self) -> None:
        if self._until is not None and time.monotonic() > self._until and self.checked.any():
            raise OutOfTime

    # ---- all nodes that matter ------------------------------------------------------------

    def find_all_minimal(self) -> None:
        """Find every safe node below which there is none."""
        self.check(0)
        while (marks := (self.status == UNKNOWN) & ~self._covered).any():
            self._check_first(marks, n_nodes=self._at_once)

    def check_all(self) -> None:
        """Find the status of every node."""
        for number in range(len(self.lattice)):
            self.check(number)

    def find_best(self) -> None:
        """Find the safe node that loses least."""
        order = _Bounds.of(self._loss.bounds)
        if self._until is not None:  # something to show for it, should the time be short
            self._lowest_on_chain()
        self.check(0)
        while (may_be_best := self._may_be_best()).any():
            self._check_first(may_be_best, order, self._at_once)

    def _may_be_best(self) -> BoolArray:
        """True for each node of unknown status that could lose less than the best so far."""
        is_candidate: BoolArray = self.status == UNKNOWN
        if self.best is not None:
            lowest_loss, bounds = self.losses[self.best], self._loss.bounds
            is_tied = (bounds == lowest_loss) & (self._tie < self._tie[self.best])
            is_candidate &= (bounds < lowest_loss) | is_tied
            # People who must be suppressed lose more.
            at_least = bounds + self._fewest * self._loss.each
            is_candidate &= at_least <= lowest_loss + _ROUNDING
        return is_candidate

    def find_one_minimal(self) -> int | None:
        """A safe node below which no node is safe; None if no node is safe.

        The first one is sought on a chain from the bottom to the top.
        """
        safe_node = self._lowest_on_chain()
        while safe_node is not None:
            lower = np.zeros(len(self.lattice), dtype=bool)
            self.lattice.below(lower, safe_node)[...] = True
            lower[safe_node] = False
            while (marks := lower & (self.status == UNKNOWN)).any():
                number = self._check_first(marks)
                if self.status[number] == SAFE and lower[number]:
                    safe_node = number
                    break
            else:
                return safe_node
        return None

    def _check_first(self, marks: BoolArray, order: _Bounds | None = None, n_nodes: int = 1) -> int:
        """Judge the node that tells most about the marked ones, and up to `n_nodes` in all.

        Return its number.
        """
        may_refute = None
        if self._judge.monotone:
            # Above a safe node there is none that makes all below it unsafe.
            may_refute = (self.status == UNKNOWN) & ~self._covered
        numbers = self._order.first(marks, may_refute, order, n_nodes)
        self._judge_nodes(numbers)
        return numbers[0]

    def _lowest_on_chain(self) -> int | None:
        """A safe node whose predecessor on the chain is unsafe, by bisection.

        If the top of the chain is unsafe, any safe node of the lattice; None if no node is safe.
        """
        chain = self._chain()
        if not self.check(chain[-1]):
            all_numbers = np.argsort(-self._tie).tolist()
            return next(filter(self.check, [*chain[::-1], *all_numbers]), None)
        last_unsafe, lowest_safe = -1, len(chain) - 1
        while lowest_safe - last_unsafe > 1:
            middle = (last_unsafe + lowest_safe) // 2
            if self.check(chain[middle]):
                lowest_safe = middle
            else:
                last_unsafe = middle
        return chain[lowest_safe]

    def _chain(self) -> list[int]:
        """The nodes from the bottom to the top, each step the one that loses least, if known."""
        bounds, tops = self._loss.bounds, self.lattice.tops

        def place(number: int) -> tuple[float, float, int]:
            levels = np.array(self.lattice.node(number))
            climbed = float(((levels / np.maximum(tops, 1)) ** 2).sum())
            return float(bounds[number]), climbed, number

        chain = [0]
        while chain[-1] != self.lattice.top:
            chain.append(min(self.lattice.parents(chain[-1]), key=place))
        return chain
