"""The ledger of criteria that each group attains by itself: how many groups fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.protocol import FloatArray, Mask
from foreknow.data.counts import GroupCounts


@dataclass(eq=False)
class EachGroup:
    """Safe while no group `fails`; `leaving`: how many people must leave each at least."""

    fails: Callable[[GroupCounts], Mask]
    leaving: Callable[[GroupCounts], NDArray[np.int64]] | None = None
    exact: ClassVar[bool] = True
    failing: int = field(default=0, init=False)

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """Whether no group fails when `added` replaces `removed`."""
        return self.failing == self._many(removed) and not self._many(added)

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note that `added` replaced `removed`."""
        self.failing += self._many(added) - self._many(removed)

    def evaluate(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> EachGroupEvaluation:
        """Measure many proposals; see `Ledger.evaluate`."""
        n_proposals = int(owner.max(initial=-1)) + 1
        entering = np.bincount(owner[self.fails(added)], minlength=n_proposals)
        leaving = np.zeros(n_proposals, dtype=np.int64)
        if removed is not None:
            at = np.arange(removed.n_groups) if removed.origin is None else removed.origin
            leaving += np.bincount(at[self.fails(removed)], minlength=n_proposals)
        return EachGroupEvaluation(self, entering, leaving)

    def fewest_leaving(self, counts: GroupCounts) -> NDArray[np.int64]:
        """How many people must leave each group at least; see `PolicyLedger`."""
        if self.leaving is None:
            return np.zeros(counts.n_groups, dtype=np.int64)
        return self.leaving(counts)

    def alone(self, counts: GroupCounts) -> Mask:
        """Whether each group holds by itself."""
        holds: Mask = ~self.fails(counts)
        return holds

    def _many(self, counts: GroupCounts | None) -> int:
        return 0 if counts is None else int(self.fails(counts).sum())


@dataclass(frozen=True, eq=False)
class EachGroupEvaluation:
    """How many failing groups each proposal brings, and how many it takes away."""

    ledger: EachGroup
    entering: NDArray[np.int64]
    leaving: NDArray[np.int64]

    def safe_each(self) -> Mask:
        """Whether no group fails with each proposal by itself."""
        alone: Mask = (self.entering == 0) & (self.leaving == self.ledger.failing)
        return alone

    def safe_jointly(self, chosen: Mask) -> bool:
        """Whether no group fails with all the chosen proposals."""
        left = self.ledger.failing - self.leaving[chosen].sum()
        return not left and not self.entering[chosen].any()

    def risk_ratio(self) -> FloatArray:
        """0 for what holds, infinity for what does not."""
        return np.where(self.safe_each(), 0.0, np.inf)

    def commit(self, chosen: Mask) -> None:
        """Note that the chosen proposals were carried out."""
        self.ledger.failing += int((self.entering[chosen] - self.leaving[chosen]).sum())
