"""One ledger for all requirements of a policy: a change is admitted if each of them admits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.adversary import Evaluation, HasCounts, Ledger
from foreknow.adversaries.release_counts import counts_of
from foreknow.data.arrays import BoolArray, FloatArray
from foreknow.data.counts import GroupCounts


class Part(NamedTuple):
    """A requirement in a search: the function that counts groups for it, and its ledger."""

    counter: Callable[[GroupCounts], HasCounts]
    ledger: Ledger

    def counts_for_ledger(
        self, removed: GroupCounts | None, added: GroupCounts
    ) -> tuple[GroupCounts | None, GroupCounts]:
        """Groups that are removed, and those that replace them, as the requirement counts them."""
        leaving = None if removed is None else counts_of(self.counter(removed))
        return leaving, counts_of(self.counter(added))


@dataclass(frozen=True, eq=False)
class PolicyLedger:
    """The ledgers of all requirements of a policy, asked as one."""

    parts: Sequence[Part]
    monotone: bool = True

    @property
    def is_exact(self) -> bool:
        """True if it decides cases close to a limit exactly instead of refusing them."""
        return all(getattr(part.ledger, "is_exact", False) for part in self.parts)

    @property
    def looks_back(self) -> bool:
        """True if the groups that a proposal replaces matter: a refused one may be safe later.

        False if merging never hurts, or if every group is judged by itself and none fails; but
        always True if something is added up over all groups (`sums_up`).
        """
        if any(getattr(part.ledger, "sums_up", False) for part in self.parts):
            return True
        return not self.monotone and any(
            getattr(part.ledger, "looks_back", True) for part in self.parts
        )

    def copy(self) -> PolicyLedger:
        """A copy in the present state; later changes affect only one of the two."""
        parts = [Part(part.counter, deepcopy(part.ledger)) for part in self.parts]
        return PolicyLedger(parts, self.monotone)

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """True if every requirement still holds when `added` replaces `removed`."""
        return all(
            part.ledger.admits(*part.counts_for_ledger(removed, added)) for part in self.parts
        )

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Record the replacement in every ledger."""
        for part in self.parts:
            part.ledger.commit(*part.counts_for_ledger(removed, added))

    def evaluate(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> PolicyEvaluation:
        """Measure many proposals, each to replace some groups by others.

        `removed` are the groups that go (None: none) and `added` those that come; `owner` says
        which proposal each added group belongs to.
        """
        evaluations = []
        for part in self.parts:
            leaving, coming = part.counts_for_ledger(removed, added)
            # A requirement may divide groups by columns that are known: `origin` says of which
            # group each part is.
            owner_of_part = owner if coming.origin is None else owner[coming.origin]
            evaluations.append(part.ledger.evaluate(leaving, coming, owner_of_part))
        return PolicyEvaluation(evaluations)

    def alone(self, counts: GroupCounts) -> BoolArray:
        """Whether each group is safe by itself, as an array of bools: before anything is committed.

        A group that a requirement divides, by columns that are known, is safe if all its parts are.
        """
        is_safe = np.ones(counts.n_groups, dtype=bool)
        for part in self.parts:
            part_counts = counts_of(part.counter(counts))
            origin = part_counts.origin  # the group of each part
            if origin is None:
                origin = np.arange(counts.n_groups)
            safe_alone = getattr(part.ledger, "alone", None)
            if safe_alone is None:
                # Each group is a proposal: all its parts together.
                is_safe &= part.ledger.evaluate(None, part_counts, origin).safe_each()
            else:
                is_safe[origin[~safe_alone(part_counts)]] = False
        return is_safe

    def divisible(self, counts: GroupCounts) -> BoolArray:
        """Whether each group may be divided into safe parts; True where that is not known."""
        is_divisible = np.ones(counts.n_groups, dtype=bool)
        for part in self.parts:
            may_divide = getattr(part.ledger, "divisible", None)
            if may_divide is not None:
                part_counts = counts_of(part.counter(counts))
                # Where known columns divide groups already, the answer would be about those parts.
                if part_counts.origin is None:
                    is_divisible &= may_divide(part_counts)
        return is_divisible

    def fewest_leaving(self, counts: GroupCounts) -> NDArray[np.int64]:
        """A lower bound of how many people must leave each group until it is safe or empty."""
        fewest = np.zeros(counts.n_groups, dtype=np.int64)
        for part in self.parts:
            lower_bound = getattr(part.ledger, "fewest_leaving", None)
            if lower_bound is not None:
                part_counts = counts_of(part.counter(counts))
                leaving: NDArray[np.int64] = lower_bound(part_counts)
                if part_counts.origin is not None:  # add up the parts of each group
                    sums = np.bincount(part_counts.origin, leaving, counts.n_groups)
                    leaving = sums.astype(np.int64)
                fewest = np.maximum(fewest, leaving)  # all requirements need to hold
        return fewest


@dataclass(frozen=True, eq=False)
class PolicyEvaluation:
    """Proposals measured against all requirements."""

    parts: Sequence[Evaluation]

    def safe_each(self) -> BoolArray:
        """For each proposal, whether all requirements hold if it alone is carried out."""
        first, *remaining = self.parts
        safe = first.safe_each()
        for evaluation in remaining:
            if not safe.any():  # to ask further would only take time
                break
            safe = safe & evaluation.safe_each()
        return safe

    def safe_jointly(self, chosen: BoolArray) -> bool:
        """True if all requirements hold if the chosen proposals are all carried out."""
        return all(evaluation.safe_jointly(chosen) for evaluation in self.parts)

    def commit(self, chosen: BoolArray) -> None:
        """Carry the chosen proposals out."""
        for evaluation in self.parts:
            evaluation.commit(chosen)

    def risk_ratio(self) -> FloatArray:
        """For each proposal by itself, the highest ratio of a risk to its threshold."""
        return np.asarray(np.maximum.reduce([evaluation.risk_ratio() for evaluation in self.parts]))

    def accept_greedily(self) -> BoolArray:
        """Accept proposals that are safe by themselves: a whole batch at once, else by halves.

        If merging can never hurt, a refused proposal stays refused, so the result is the same as
        when asking for one after the other, in order.
        """
        possible = self.safe_each()  # others cannot be accepted in any batch
        accepted = np.zeros(len(possible), dtype=bool)
        self._accept(np.flatnonzero(possible), accepted)
        return accepted

    def _accept(self, waiting: NDArray[np.int64], accepted: BoolArray) -> None:
        """Accept as many of the waiting proposals as are safe together; mark them in `accepted`.

        `waiting` are numbers of proposals. If all of them are not safe together, each half is tried
        by itself, the second on top of what was accepted of the first.
        """
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
