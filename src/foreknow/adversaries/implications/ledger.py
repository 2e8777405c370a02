"""The ledger of Implications: 2k + 1 minima, of which k + 1 for each value that is asked about.

By Theorem 15 children are never better than their parent, so the minima over all groups there ever
were are those over the groups there are, as for facts. Where a ratio is too close to the limit for
floats to say, it counts as unsafe: what is admitted is safe, surely.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.facts.ratios import FloatArray
from foreknow.adversaries.implications.minima import Cells, atoms_and_odds, ratio, spread
from foreknow.adversaries.protocol import Mask
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError, InternalError, UnsupportedError

# Relative distance from the limit within which a ratio counts as unsafe.
_CLOSE = 1e-9


@dataclass(eq=False)
class ImplicationsLedger:
    """Minima over all groups there ever were.

    Parameters
    ----------
    k : int
    threshold : Fraction
        Safe while every breach probability is strictly below.
    wanted : bool array, shape (values,), optional
        Which sensitive values count; all when left out, in which case the most frequent value of
        each group is all that matters.
    """

    k: int
    threshold: Fraction
    wanted: Mask | None = None
    _values: Labels | None = field(default=None, init=False)
    _atoms: FloatArray = field(init=False)
    _odds: FloatArray = field(init=False)

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """Whether the release stays safe when `added` replaces `removed`."""
        return bool(self.weigh(removed, added, np.zeros(added.n_groups, dtype=np.int64)).alone()[0])

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note that `added` replaced `removed`."""
        owner = np.zeros(added.n_groups, dtype=np.int64)
        self.weigh(removed, added, owner).commit(np.ones(1, dtype=bool))

    def weigh(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> ImplicationsWeighing:
        """Measure many proposals; added group g belongs to proposal ``owner[g]``, ascending."""
        self._bind(added)
        return ImplicationsWeighing(self, added, np.asarray(owner, dtype=np.int64))

    def _bind(self, counts: GroupCounts) -> None:
        if counts.semantics != "single":
            raise UnsupportedError(
                f"a search with Implications needs 'single' semantics, not {counts.semantics!r}"
            )
        if self._values is None:
            self._values = counts.values
            if self.wanted is not None:
                wanted = np.asarray(self.wanted)
                if wanted.dtype != bool or wanted.shape != (counts.n_values,):
                    raise InputError(f"values= must be a bool array of {counts.n_values} entries")
                self.wanted = None if wanted.all() else wanted
            self._atoms = np.ones(self.most + 1)
            self._odds = np.full((self.most + 1, self.n_targets), np.inf)
        elif self._values is not counts.values and self._values != counts.values:
            raise InternalError("a ledger was shown counts with other value labels than before")

    @cached_property
    def most(self) -> int:
        """Implications that matter: no group has more values than there are."""
        return min(self.k, len(self._values or ()))

    @cached_property
    def n_targets(self) -> int:
        """Values whose odds are kept apart; one for all where every value counts."""
        return 1 if self.wanted is None else int(np.count_nonzero(self.wanted))

    def cells_of(self, counts: GroupCounts) -> tuple[Cells, IntArray]:
        """The cells that can be targets, and which target each is."""
        if self.wanted is None:
            cells = Cells.most_frequent(counts)
            return cells, np.zeros(len(cells.group), dtype=np.int64)
        cells = Cells.of(counts, self.wanted)
        return cells, (np.cumsum(self.wanted) - 1)[cells.code]

    def minima(self) -> tuple[FloatArray, FloatArray]:
        """M(h) and, for each target, W(x), for 0 to k atoms."""
        return self._atoms, self._odds

    def safe(self, atoms: FloatArray, odds: FloatArray) -> Mask:
        """Whether each of some releases is surely safe.

        Parameters
        ----------
        atoms : float64 array, shape (k + 1, releases)
        odds : float64 array, shape (k + 1, releases, targets)
        """
        bar = float((1 - self.threshold) / self.threshold)
        # At bar 0 a float of 0 is exact.
        safe: Mask = self.least(atoms, odds) > bar * (1 + _CLOSE)
        return safe

    def least(self, atoms: FloatArray, odds: FloatArray) -> FloatArray:
        """Least odds against any target, of each of some releases, as in `safe`."""
        found: FloatArray = ratio(odds, spread(atoms)[:, :, None]).min(axis=1, initial=np.inf)
        return found

    def note(self, atoms: FloatArray, odds: FloatArray) -> None:
        """Fold minima into those that are kept."""
        self._atoms = np.minimum(self._atoms, atoms)
        self._odds = np.minimum(self._odds, odds)


@dataclass(eq=False)
class ImplicationsWeighing:
    """Proposals measured against one ledger."""

    ledger: ImplicationsLedger
    added: GroupCounts
    owner: IntArray

    @cached_property
    def n_proposals(self) -> int:
        """Number of proposals."""
        return int(self.owner.max(initial=-1)) + 1

    @cached_property
    def _minima(self) -> tuple[FloatArray, FloatArray]:
        """M(h) of each proposal, and W(x) of each proposal and target."""
        ledger = self.ledger
        cells, target = ledger.cells_of(self.added)
        chances, against = atoms_and_odds(self.added, ledger.most, cells)
        odds = np.full((ledger.most + 1, self.n_proposals * ledger.n_targets), np.inf)
        place = self.owner[cells.group] * ledger.n_targets + target
        for row, found in zip(odds, against, strict=True):
            np.minimum.at(row, place, found)
        starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        atoms = np.minimum.reduceat(chances, starts, axis=1)
        return atoms, odds.reshape(ledger.most + 1, self.n_proposals, ledger.n_targets)

    def alone(self) -> Mask:
        """Whether the release stays safe with each proposal by itself."""
        return self.ledger.safe(*self._beside())

    def _beside(self) -> tuple[FloatArray, FloatArray]:
        """Minima of each proposal by itself, with what stands."""
        atoms, odds = self._minima
        standing, against = self.ledger.minima()
        return np.minimum(atoms, standing[:, None]), np.minimum(odds, against[:, None, :])

    def together(self, chosen: Mask) -> bool:
        """Whether the release stays safe with all the chosen proposals."""
        atoms, odds = self._of(chosen)
        standing, against = self.ledger.minima()
        joint = np.minimum(atoms, standing)[:, None], np.minimum(odds, against)[:, None, :]
        return bool(self.ledger.safe(*joint)[0])

    def commit(self, chosen: Mask) -> None:
        """Fold the chosen proposals into the ledger."""
        self.ledger.note(*self._of(chosen))

    def reach(self) -> FloatArray:
        """Worst disclosure with each proposal by itself, as a share of the threshold."""
        found: FloatArray = 1 / (1 + self.ledger.least(*self._beside()))
        return found / float(self.ledger.threshold)

    def _of(self, chosen: Mask) -> tuple[FloatArray, FloatArray]:
        atoms, odds = self._minima
        return (
            atoms[:, chosen].min(axis=1, initial=1.0),
            odds[:, chosen].min(axis=1, initial=np.inf),
        )
