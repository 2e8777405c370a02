"""One ledger for all requirements of a policy: a change is admitted if each of them admits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.protocol import Evaluation, HasCounts, Ledger, counts_of
from foreknow.data.arrays import BoolArray, FloatArray
from foreknow.data.counts import GroupCounts


class Part(NamedTuple):
    """A requirement in a search: what it counts of some groups, and its ledger over that."""

    counted: Callable[[GroupCounts], HasCounts]
    ledger: Ledger

    def of(
        self, removed: GroupCounts | None, added: GroupCounts
    ) -> tuple[GroupCounts | None, GroupCounts]:
        """What is counted of groups that leave, and of those that replace them."""
        leaving = None if removed is None else counts_of(self.counted(removed))
        return leaving, counts_of(self.counted(added))


@dataclass(frozen=True, eq=False)
class PolicyLedger:
    """The ledgers of all requirements of a policy, asked as one."""

    parts: Sequence[Part]
    monotone: bool = True

    @property
    def exact(self) -> bool:
        """Whether it decides what is close to a limit, rather than refuse it."""
        return all(getattr(part.ledger, "exact", False) for part in self.parts)

    @property
    def looks_back(self) -> bool:
        """Whether what a proposal replaces matters, so that one that is refused may be safe later.

        Not where merging never hurts, or every group is judged by itself and none fails; but
        always where something is added up over all groups (`sums_up`).
        """
        if any(getattr(part.ledger, "sums_up", False) for part in self.parts):
            return True
        return not self.monotone and any(
            getattr(part.ledger, "looks_back", True) for part in self.parts
        )

    def copy(self) -> PolicyLedger:
        """The same as it stands now, apart from what is noted later."""
        return PolicyLedger(
            [Part(p.counted, deepcopy(p.ledger)) for p in self.parts], self.monotone
        )

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
        found = []
        for part in self.parts:
            leaving, coming = part.of(removed, added)
            of = owner if coming.origin is None else owner[coming.origin]
            found.append(part.ledger.evaluate(leaving, coming, of))
        return PolicyEvaluation(found)

    def alone(self, counts: GroupCounts) -> BoolArray:
        """Whether each group is safe by itself; nothing was committed yet."""
        safe = np.ones(counts.n_groups, dtype=bool)
        for part in self.parts:
            seen = counts_of(part.counted(counts))
            own = seen.origin if seen.origin is not None else np.arange(counts.n_groups)
            found = getattr(part.ledger, "alone", None)
            if found is None:
                safe &= part.ledger.evaluate(None, seen, own).safe_each()
            else:
                safe[own[~found(seen)]] = False
        return safe

    def divisible(self, counts: GroupCounts) -> BoolArray:
        """Which groups may have parts that are all safe; true where that is not known."""
        found = np.ones(counts.n_groups, dtype=bool)
        for part in self.parts:
            own = getattr(part.ledger, "divisible", None)
            if own is not None:
                seen = counts_of(part.counted(counts))
                if seen.origin is None:  # what is known of people may divide a group already
                    found &= own(seen)
        return found

    def fewest_leaving(self, counts: GroupCounts) -> NDArray[np.int64]:
        """How many must leave each group at least until it is safe or empty; 0 where unknown."""
        fewest = np.zeros(counts.n_groups, dtype=np.int64)
        for part in self.parts:
            found = getattr(part.ledger, "fewest_leaving", None)
            if found is not None:
                seen = counts_of(part.counted(counts))
                own: NDArray[np.int64] = found(seen)
                if seen.origin is not None:  # of each group, by what is known of its people
                    own = np.bincount(seen.origin, own, counts.n_groups).astype(np.int64)
                fewest = np.maximum(fewest, own)
        return fewest


@dataclass(frozen=True, eq=False)
class PolicyEvaluation:
    """Proposals measured against all requirements."""

    parts: Sequence[Evaluation]

    def safe_each(self) -> BoolArray:
        """Whether everything holds with each proposal by itself."""
        alone: BoolArray = np.logical_and.reduce([part.safe_each() for part in self.parts])
        return alone

    def safe_jointly(self, chosen: BoolArray) -> bool:
        """Whether everything holds with all the chosen proposals."""
        return all(part.safe_jointly(chosen) for part in self.parts)

    def commit(self, chosen: BoolArray) -> None:
        """Carry the chosen proposals out."""
        for part in self.parts:
            part.commit(chosen)

    def risk_ratio(self) -> FloatArray:
        """Worst share of any threshold that each proposal by itself leaves."""
        worst: FloatArray = np.maximum.reduce([part.risk_ratio() for part in self.parts])
        return worst

    def accept_greedily(self) -> BoolArray:
        """Accept proposals that are safe by themselves: all of a batch together, or by halves.

        Where merging can never hurt, a proposal that is refused once stays refused, so the result
        is that of asking one by one, in order.
        """
        possible = self.safe_each()
        accepted = np.zeros(len(possible), dtype=bool)
        self._accept(np.flatnonzero(possible), accepted)
        return accepted

    def _accept(self, waiting: NDArray[np.int64], accepted: BoolArray) -> None:
        if not len(waiting):
            return
        batch = np.zeros_like(accepted)
        batch[waiting] = True
        if self.safe_jointly(batch):
            self.commit(batch)
            accepted |= batch
        elif len(waiting) > 1:
            middle = len(waiting) // 2
            self._accept(waiting[:middle], accepted)
            self._accept(waiting[middle:], accepted)
