"""Mondrian: divide the table top-down, along any quasi-identifier, as long as it stays safe.

SkylineAnonymize of "Privacy Skyline" (section 5.2, figure 6) for any monotone ledger.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.anonymizers.cuts import Cuts, cuts_of
from foreknow.anonymizers.points import Points
from foreknow.counts import GroupCounts
from foreknow.errors import InputError, NoSafeRelease, UnsupportedError
from foreknow.labels import Labels
from foreknow.microdata import Attribute, Microdata
from foreknow.policy import Policy
from foreknow.policy_ledger import PolicyLedger
from foreknow.sparse import IntArray, count_pairs, row_sums

_log = logging.getLogger(__name__)
_BLOCK = 1 << 20  # rows
_CELLS = 1 << 16  # of counts weighed at once


@dataclass(frozen=True)
class Mondrian:
    """Multidimensional top-down partitioning.

    All groups of a level are handled at once. Each proposes its best candidate cut; the policy's
    ledger accepts proposals in order as long as the release stays safe; a group whose proposal is
    refused proposes its next candidate, along another attribute, until it has none left and is
    final. Since minima only fall, a refused cut stays unsafe: **the result is minimal**, no group
    of it has a candidate cut that is still safe.

    Parameters
    ----------
    cuts : int
        How many cuts per attribute and group are candidates: those that divide it most evenly.
        More of them give more groups and take longer.

    Notes
    -----
    Candidates are ordered by gain (see `foreknow.anonymizers.cuts`). Nothing is random; a seed is
    accepted and ignored.
    """

    cuts: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.cuts, bool) or not isinstance(self.cuts, int) or self.cuts < 1:
            raise InputError(f"Mondrian: cuts must be a whole number from 1, not {self.cuts!r}")

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group the rows of a table.

        Parameters
        ----------
        microdata : Microdata
        policy : Policy
            Its adversaries must be monotone.
        seed : int, optional
            Ignored: the method is deterministic.

        Returns
        -------
        int64 array, shape (rows,)
            The group of each row in the source's order, from 0; -1 for a row that is left out
            because its sensitive value is missing.

        Raises
        ------
        NoSafeRelease
            If not even one group of everybody is safe.
        """
        if policy is None:
            raise InputError("Mondrian needs a policy: what must the groups withstand?")
        if not policy.monotone():
            raise UnsupportedError(
                "Mondrian needs adversaries that gain nothing when groups are merged"
            )
        points = Points.of(microdata)
        search = _Search(points, microdata.attributes, microdata.values, self.cuts)
        everyone = search.everyone()
        ledger = policy.ledger(microdata.values)
        if not ledger.admits(None, everyone):
            raise NoSafeRelease(
                f"not even one group of all {microdata.n_people} people is safe: "
                + "; ".join(policy.failures(everyone))
            )
        ledger.commit(None, everyone)
        while search.n_groups:
            search.divide(ledger)
        groups = points.spread(search.final)
        if microdata.n_people == microdata.n_rows:
            return groups
        everything = np.full(microdata.n_rows, -1, dtype=np.int64)
        everything[microdata.kept] = groups
        return everything


class _Search:
    """The groups of one level, and the points that belong to them."""

    def __init__(
        self, points: Points, attributes: list[Attribute], values: Labels, cuts: int
    ) -> None:
        self.attributes = attributes
        self.labels = values
        self.cuts = cuts
        self.final = np.empty(len(points), dtype=np.int64)
        self.n_final = 0
        self.n_groups = 1
        self.index = np.arange(len(points), dtype=np.uint32 if len(points) < 2**32 else np.int64)
        self.node = np.zeros(len(points), dtype=np.int64)
        self.codes = points.codes
        self.weights = points.weights
        self.values = points.values

    def everyone(self) -> GroupCounts:
        """Count one group of everybody."""
        return self._tally(np.zeros(len(self.node), dtype=np.int64), 1).part(0, 1)

    def divide(self, ledger: PolicyLedger) -> None:
        """Divide every group of the level that can be; the others become final."""
        candidates = [
            cuts_of(attribute, codes, self.node, self.weights, self.n_groups, self.cuts)
            for attribute, codes in zip(self.attributes, self.codes, strict=True)
        ]
        ranking = _Ranking(candidates)
        divided = np.full(len(self.node), -1, dtype=np.int64)
        n_divided = 0
        waiting = np.ones(self.n_groups, dtype=bool)
        for turn in range(ranking.turns):
            waiting &= ranking.has(turn)
            if not waiting.any():
                break
            child, owner = self._children(ranking, turn, waiting)
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

    def _children(self, ranking: _Ranking, turn: int, waiting: Any) -> tuple[IntArray, IntArray]:
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
        """Ask the ledger, some proposals at a time; which are accepted."""
        tally = self._tally(child, len(owner))
        accepted = []
        ends: IntArray = np.append(np.flatnonzero(owner[1:] != owner[:-1]) + 1, len(owner))
        start = 0
        while start < len(owner):
            cells = tally.cells_before(ends) - tally.cells_before(start)
            within = int(np.searchsorted(cells, _CELLS, side="right")) - 1
            one = int(np.searchsorted(ends, start, side="right"))  # at least one proposal
            stop = int(ends[max(within, one)])
            part = owner[start:stop] - owner[start]
            accepted.append(ledger.weigh(None, tally.part(start, stop), part).settle())
            start = stop
        return np.concatenate(accepted)

    def _tally(self, child: IntArray, n_children: int) -> _Tally:
        """Count the sensitive values of each child; points of child -1 are left out."""
        n_values = len(self.labels)
        size = n_children * n_values
        if size > max(2 * len(self.values), 1 << 16):
            rows = np.repeat(child, self.weights)
            inside = rows >= 0
            found = count_pairs(rows[inside], self.values[inside], n_children, n_values)
            return _Tally(self.labels, *found)
        base = np.where(child >= 0, child, n_children) * n_values
        table = np.zeros(size, dtype=np.int64)
        for part, rows in self._blocks():
            keys = np.repeat(base[part], self.weights[part])
            keys += self.values[rows]
            table += np.bincount(keys, minlength=size)[:size]
        return _Tally.of_table(self.labels, table.reshape(n_children, n_values))

    def _blocks(self) -> Any:
        """Runs of points, and of their rows, small enough to hold a key per row."""
        ends = np.cumsum(self.weights)
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
        if done.any():
            kept = ~done
            self.values = self.values[np.repeat(kept, self.weights)]
            self.index, self.weights = self.index[kept], self.weights[kept]
            self.codes = [codes[kept] for codes in self.codes]
            divided = divided[kept]
        self.node = divided


class _Tally:
    """Counts of many groups, handed out a part at a time to spare memory."""

    def __init__(
        self, labels: Labels, offsets: IntArray, codes: IntArray, counts: IntArray
    ) -> None:
        self.labels = labels
        self.offsets = offsets
        self.codes = codes
        self.counts = counts
        self.table: IntArray | None = None

    @classmethod
    def of_table(cls, labels: Labels, table: IntArray) -> _Tally:
        """Keep a dense table as it is."""
        none = np.empty(0, dtype=np.int64)
        tally = cls(labels, np.arange(len(table) + 1) * table.shape[1], none, none)
        tally.table = table
        return tally

    def cells_before(self, group: Any) -> Any:
        """Cells of the groups before a group."""
        return self.offsets[group]

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
        return GroupCounts(row_sums(counts, offsets), offsets, codes, counts, self.labels)


class _Ranking:
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
