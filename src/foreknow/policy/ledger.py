"""One ledger for all requirements of a policy: a change is admitted if each of them admits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.protocol import (
    Evaluation,
    FloatArray,
    HasCounts,
    Ledger,
    Mask,
    counts_of,
)
from foreknow.data.counts import GroupCounts


class Part(NamedTuple):
    """A requirement in a search: what it counts of some groups, and its ledger over that."""

    counted: Callable[[HasCounts], HasCounts]
    ledger: Ledger

    def of(
        self, removed: GroupCounts | None, added: GroupCounts
    ) -> tuple[GroupCounts | None, GroupCounts]:
        """What is counted of groups that leave, and of those that replace them."""
        leaving = None if removed is None else counts_of(self.counted(removed))
        return leaving, counts_of(self.counted(added))


@dataclass(frozen=True, eq=False)
class PolicyLedger:
    """The ledgers of all requirements of a policy, asked as one.

    Attributes
    ----------
    parts : sequence of Part
    monotone : bool
        Whether merging groups can never hurt, for each of them.
    """

    parts: Sequence[Part]
    monotone: bool = True

    @property
    def exact(self) -> bool:
        """Whether it decides what is close to a limit, rather than refuse it."""
        return all(getattr(part.ledger, "exact", False) for part in self.parts)

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """Whether every requirement still holds when `added` replaces `removed`."""
        return all(part.ledger.admits(*part.of(removed, added)) for part in self.parts)

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note the replacement everywhere."""
        for part in self.parts:
            part.ledger.commit(*part.of(removed, added))

    def evaluate(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> PolicyEvaluation:
        """Measure many proposals; see `Ledger.evaluate`."""
        parts = [part.ledger.evaluate(*part.of(removed, added), owner) for part in self.parts]
        return PolicyEvaluation(parts, self.monotone)


@dataclass(frozen=True, eq=False)
class PolicyEvaluation:
    """Proposals measured against all requirements."""

    parts: Sequence[Evaluation]
    monotone: bool = True

    def safe_each(self) -> Mask:
        """Whether everything holds with each proposal by itself."""
        alone: Mask = np.logical_and.reduce([part.safe_each() for part in self.parts])
        return alone

    def safe_jointly(self, chosen: Mask) -> bool:
        """Whether everything holds with all the chosen proposals."""
        return all(part.safe_jointly(chosen) for part in self.parts)

    def commit(self, chosen: Mask) -> None:
        """Carry the chosen proposals out."""
        for part in self.parts:
            part.commit(chosen)

    def risk_ratio(self) -> FloatArray:
        """Worst share of any threshold that each proposal by itself leaves."""
        worst: FloatArray = np.maximum.reduce([part.risk_ratio() for part in self.parts])
        return worst

    def accept_greedily(self) -> Mask:
        """Accept proposals, each if everything holds beside those accepted before it.

        Where minima only fall, the result is that of asking one by one, in order: a proposal that
        is refused once stays refused, and the proposals that are safe together form a prefix,
        found by bisection. Where they can rise again, those that are safe by themselves are tried
        together, and by halves where that fails.
        """
        possible = self.safe_each()
        accepted = np.zeros(len(possible), dtype=bool)
        waiting = np.flatnonzero(possible)
        if not self.monotone:
            self._accept_by_halves(waiting, accepted)
            return accepted
        while len(waiting):
            safe = self._longest_safe(waiting, len(possible))
            batch = _mask(waiting[:safe], len(possible))
            self.commit(batch)
            accepted |= batch
            rest = waiting[safe + 1 :]
            waiting = rest[self.safe_each()[rest]] if len(rest) else rest
        return accepted

    def _accept_by_halves(self, waiting: NDArray[np.int64], accepted: Mask) -> None:
        if not len(waiting):
            return
        batch = _mask(waiting, len(accepted))
        if self.safe_jointly(batch):
            self.commit(batch)
            accepted |= batch
        elif len(waiting) > 1:
            middle = len(waiting) // 2
            self._accept_by_halves(waiting[:middle], accepted)
            self._accept_by_halves(waiting[middle:], accepted)

    def _longest_safe(self, waiting: NDArray[np.int64], size: int) -> int:
        """How many of the first waiting proposals are safe together; each is alone."""
        if self.safe_jointly(_mask(waiting, size)):
            return len(waiting)
        low, high = 1, len(waiting)
        while high - low > 1:
            middle = (low + high) // 2
            if self.safe_jointly(_mask(waiting[:middle], size)):
                low = middle
            else:
                high = middle
        return low


def _mask(index: NDArray[np.int64], size: int) -> Mask:
    mask = np.zeros(size, dtype=bool)
    mask[index] = True
    return mask
