"""Level: the groups of one level of a top-down search, and how they are divided.

All groups of a level are handled at once: each proposes a candidate cut, the ledger says which
proposals keep the release safe, and what was divided is the next level.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray, count_pairs
from foreknow.methods.mondrian.cuts import Cuts, PartedCounts, cuts_of
from foreknow.methods.points import Points
from foreknow.policy.ledger import PolicyEvaluation, PolicyLedger

_log = logging.getLogger(__name__)
_BLOCK = 1 << 18  # rows
_CELLS = 1 << 16  # of counts weighed at once


class Choice(NamedTuple):
    """How cuts are chosen: `cuts` candidates per attribute and group, the gain of each weighed."""

    cuts: int
    weights: NDArray[np.float64] | None = None  # what each attribute counts
    random: np.random.Generator | None = None  # shakes the gains, by `noise`
    noise: float = 0.0


class Level:
    """The groups of one level, and the points that belong to them; at first one of everybody."""

    def __init__(
        self,
        points: Points,
        microdata: Microdata,
        choice: Choice,
        groups: IntArray | None = None,
    ) -> None:
        self.attributes = microdata.attributes
        self.labels = microdata.values
        self.semantics = microdata.semantics
        self.choice = choice
        self.final = np.empty(len(points), dtype=np.int64)
        self.n_final = 0
        self.n_groups = 1 if groups is None else int(groups.max()) + 1
        self.index = np.arange(len(points), dtype=np.uint32 if len(points) < 2**32 else np.int64)
        self.node = np.zeros(len(points), dtype=np.int64) if groups is None else groups
        self.codes = points.codes
        self.weights = points.weights
        self.cells = points.cells
        self.values, self.times = points.values, points.times

    def everyone(self) -> GroupCounts:
        """Count one group of everybody."""
        return self.counts_of(np.zeros(len(self.node), dtype=np.int64), 1)

    def counts_of(self, child: IntArray, n_children: int | None = None) -> GroupCounts:
        """Count children, by the child of each point; points of child -1 are left out."""
        many = int(child.max()) + 1 if n_children is None else n_children
        return self._tally(child, many).part(0, many)

    def safe_alone(
        self, ledger: PolicyLedger, child: IntArray, n_children: int
    ) -> NDArray[np.bool_]:
        """Whether each child could be a group of the release by itself."""
        each = np.arange(n_children)
        found = [w.safe_each() for w in self._weighed(ledger, child, each, alone=True)]
        return np.concatenate(found)

    def divide(self, ledger: PolicyLedger) -> None:
        """Divide every group of the level that can be; the others become final."""
        ranking = self._ranking()
        divided = np.full(len(self.node), -1, dtype=np.int64)
        n_divided = 0
        waiting = np.ones(self.n_groups, dtype=bool)
        for turn in range(ranking.turns):
            waiting &= ranking.has(turn)
            if not waiting.any():
                break
            child, owner = self.children(ranking, turn, waiting)
            accepted = self._settle(ledger, child, owner)
            proposers = np.flatnonzero(waiting)
            taken = accepted[owner]
            place = np.cumsum(taken) - 1 + n_divided
            mine = child >= 0
            mine[mine] = taken[child[mine]]
            divided[mine] = place[child[mine]]
            n_divided += int(taken.sum())
            waiting[proposers[accepted]] = False
        _log.info("level done: %d groups final, %d divided further", self.n_final, n_divided)
        self._descend(divided, n_divided)

    def divide_one(self, ledger: PolicyLedger) -> tuple[bool, float] | None:
        """Divide one group, so that the release is safe, or as near to it as one cut leads."""
        ranking = self._ranking()
        best: tuple[bool, float, int, int] | None = None
        for turn in range(ranking.turns):
            waiting = ranking.has(turn)
            if not waiting.any():
                break
            child, owner = self.children(ranking, turn, waiting)
            parts = [(w.safe_each(), w.risk_ratio()) for w in self._weighed(ledger, child, owner)]
            safe, reach = (np.concatenate(column) for column in zip(*parts, strict=True))
            at = int(np.lexsort((reach, ~safe))[0])
            found = (not safe[at], float(reach[at]), turn, int(np.flatnonzero(waiting)[at]))
            best = found if best is None else min(best, found)
        if best is None:
            return None
        unsafe, reached, turn, group = best
        waiting = np.arange(self.n_groups) == group
        child, owner = self.children(ranking, turn, waiting)
        for weighing in self._weighed(ledger, child, owner):
            weighing.commit(np.ones(1, dtype=bool))
        others = np.cumsum(~waiting) - 1
        self.node = np.where(child >= 0, self.n_groups - 1 + child, others[self.node])
        self.n_groups += len(owner) - 1
        return not unsafe, reached

    def _ranking(self) -> Ranking:
        cuts, weights, random, noise = self.choice
        found = [
            cuts_of(attribute, codes, self.node, self.weights, self.n_groups, cuts)
            for attribute, codes in zip(self.attributes, self.codes, strict=True)
        ]
        if weights is not None:
            found = [own.times(weight) for own, weight in zip(found, weights, strict=True)]
        if random is not None:
            found = [own.times(np.exp(noise * random.normal(size=own.gain.shape))) for own in found]
        return Ranking(found)

    def children(self, ranking: Ranking, turn: int, waiting: Any) -> tuple[IntArray, IntArray]:
        """The child of each point (or -1), and the proposal of each child, both from 0."""
        which, at = ranking.choice(turn)
        side = np.zeros(len(self.node), dtype=np.int64)
        asking = waiting[self.node]
        for position, cuts in enumerate(ranking.candidates):
            mine = np.flatnonzero(asking & (which[self.node] == position))
            if len(mine):
                side[mine] = cuts.sides(self.codes[position][mine], at[self.node[mine]])
        widest = int(side.max(initial=0)) + 1
        if widest == 2:
            proposal = np.cumsum(waiting) - 1
            child = np.where(asking, 2 * proposal[self.node] + side, -1)
            return child, np.repeat(np.arange(int(waiting.sum())), 2)
        keys = self.node[asking] * widest + side[asking]
        found, numbered = np.unique(keys, return_inverse=True)
        child = np.full(len(self.node), -1, dtype=np.int64)
        child[asking] = numbered
        proposal = np.cumsum(waiting) - 1
        return child, proposal[found // widest]

    def _settle(self, ledger: PolicyLedger, child: IntArray, owner: IntArray) -> Any:
        """Ask the ledger which proposals it accepts, and carry them out."""
        return np.concatenate([w.accept_greedily() for w in self._weighed(ledger, child, owner)])

    def _weighed(
        self, ledger: PolicyLedger, child: IntArray, owner: IntArray, *, alone: bool = False
    ) -> Iterator[PolicyEvaluation]:
        """Weigh the proposals, some at a time; `alone`: as groups that replace nothing."""
        tally = self._tally(child, len(owner))
        ends: IntArray = np.append(np.flatnonzero(owner[1:] != owner[:-1]) + 1, len(owner))
        start = 0
        while start < len(owner):
            cells = tally.offsets[ends] - tally.offsets[start]
            fitting = int(np.searchsorted(cells, _CELLS, side="right")) - 1
            one = int(np.searchsorted(ends, start, side="right"))  # at least one proposal
            stop = int(ends[max(fitting, one)])
            part, own = tally.part(start, stop), owner[start:stop] - owner[start]
            # What a proposal replaces is what its children have together.
            whole = None if alone or not ledger.looks_back else part.merge(own)
            yield ledger.evaluate(whole, part, own)
            start = stop

    def _tally(self, child: IntArray, n_children: int) -> PartedCounts:
        """Count the sensitive values of each child; points of child -1 are left out."""
        n_values = len(self.labels)
        size = n_children * n_values
        people = None
        if self.semantics != "single":
            inside = child >= 0
            people = np.zeros(n_children, dtype=np.int64)
            np.add.at(people, child[inside], self.weights[inside])
        if size > max(2 * len(self.values), 1 << 16):
            rows = np.repeat(child, self.cells)
            inside = rows >= 0
            times = self.times[inside] if self.times.max(initial=1) > 1 else None
            found = count_pairs(rows[inside], self.values[inside], n_children, n_values, times)
            return PartedCounts(self.labels, self.semantics, people, *found)
        base = np.where(child >= 0, child, n_children) * n_values
        table = np.zeros(size + n_values, dtype=np.int64)
        for part, rows in self._blocks():
            keys = np.repeat(base[part], self.cells[part])
            keys += self.values[rows]
            np.add.at(table, keys, self.times[rows])
        dense = table[:size].reshape(n_children, n_values)
        return PartedCounts.of_table(self.labels, self.semantics, people, dense)

    def _blocks(self) -> Any:
        """Runs of points, and of their values, small enough to hold a key per value."""
        ends = np.cumsum(self.cells)
        start = row = 0
        while start < len(ends):
            stop = max(int(np.searchsorted(ends, row + _BLOCK, side="right")), start + 1)
            yield slice(start, stop), slice(row, int(ends[stop - 1]))
            start, row = stop, int(ends[stop - 1])

    def _descend(self, divided: IntArray, n_divided: int) -> None:
        """Make groups that were not divided final, and go on with the others."""
        done = divided < 0
        left = np.unique(self.node[done])
        number = np.zeros(self.n_groups, dtype=np.int64)
        number[left] = np.arange(len(left)) + self.n_final
        self.final[self.index[done]] = number[self.node[done]]
        self.n_final += len(left)
        self.n_groups = n_divided
        self.node = divided
        if done.any():
            self._keep(~done)

    def only(self, some: NDArray[np.bool_]) -> Level:
        """Leave out all groups but those of some points, and number these from 0."""
        self._keep(some)
        found, numbered = np.unique(self.node, return_inverse=True)
        self.node, self.n_groups = numbered.reshape(-1), len(found)
        return self

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        held = np.repeat(kept, self.cells)
        self.values, self.times = self.values[held], self.times[held]
        self.index, self.weights = self.index[kept], self.weights[kept]
        self.cells = self.cells[kept]
        self.codes = [codes[kept] for codes in self.codes]
        self.node = self.node[kept]


class Ranking:
    """Candidate cuts of all attributes, best first for every group."""

    def __init__(self, candidates: list[Cuts]) -> None:
        self.candidates = candidates
        gains = np.hstack([cuts.gain for cuts in candidates])
        self._order = np.argsort(-gains, axis=1, kind="stable")
        self._gain = np.take_along_axis(gains, self._order, axis=1)
        self._attribute = np.repeat(
            np.arange(len(candidates)), [cuts.gain.shape[1] for cuts in candidates]
        )
        self._at = np.hstack([cuts.at for cuts in candidates])
        self.turns = gains.shape[1]

    def has(self, turn: int) -> NDArray[np.bool_]:
        """Which groups have a candidate of this rank."""
        return np.isfinite(self._gain[:, turn])

    def choice(self, turn: int) -> tuple[IntArray, IntArray]:
        """Attribute and place of each group's candidate of this rank."""
        chosen = self._order[:, turn]
        at = np.take_along_axis(self._at, chosen[:, None], axis=1)[:, 0]
        return self._attribute[chosen], at
