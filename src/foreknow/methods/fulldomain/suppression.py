"""Outliers: whether a node of the lattice is safe, perhaps with some people suppressed.

Suppressed people are put together in one group that keeps nothing of their quasi-identifiers. It is
a group like the others: it is judged with them, and published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts
from foreknow.errors import NoSafeRelease
from foreknow.methods.fulldomain.losses import joined, together
from foreknow.methods.fulldomain.rollup import View
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.policy import Policy
from foreknow.policy.way_out import no_safe_release

# How far above the limit a ledger may put what is safe.
_CLOSE = 1e-6


class NodeVerdict(NamedTuple):
    """What was found about a node; the last two count where merging never hurts."""

    safe: bool
    outliers: BoolArray | None = None  # groups that are suppressed
    hopeless: bool = False  # nodes below are unsafe, too
    fewest: int = 0  # people suppressed at this node and any below, at least


class Judge:
    """Asks a policy about whole releases, in which up to `most` people may be suppressed.

    A part of a release never reveals more than the whole. So what is unsafe by itself makes any
    release unsafe that it is a part of; most unsafe nodes show by their smallest groups.
    """

    def __init__(self, policy: Policy, everyone: GroupCounts, most: int) -> None:
        self.monotone = policy.monotone()
        self.limits_inference = policy.limits_inference_of(everyone)
        self.most, self._policy = most, policy
        # Nothing is committed to it: for it, every release is the first one.
        self._ledger: PolicyLedger = policy.ledger(everyone.values, everyone)
        self._settled: dict[bytes, bool] = {}

    def failures(self, view: View) -> str:
        """Which requirements the groups of a view fail, in words."""
        return "; ".join(self._policy.failures(view.counts))

    def no_release(self, problem: str, view: View) -> NoSafeRelease:
        """The error for a lattice whose top is not safe, with the ways out."""
        return no_safe_release(problem, self._policy, view.counts)

    @property
    def at_once(self) -> bool:
        """Whether many nodes take less to judge together than one by one."""
        return self.most > 0

    def judge(self, view: View) -> NodeVerdict:
        """Judge the groups at a node."""
        return self.judge_each([view])[0]

    def judge_each(self, views: Sequence[View]) -> list[NodeVerdict]:
        """Judge the groups at each of some nodes."""
        if not self.most:
            safe_each = (self._safe(view.counts) for view in views)
            return [NodeVerdict(safe, hopeless=not safe) for safe in safe_each]
        found = []
        for view, (unsafe, leaving) in zip(views, self.leaving(views), strict=True):
            found.append(self._with_outliers(view, unsafe, int(leaving.sum())))
        return found

    def leaving(self, views: Sequence[View]) -> list[tuple[BoolArray, IntArray]]:
        """Which groups at each node are unsafe by themselves, and how many leave each at least.

        Where merging never hurts they leave at any node below, too: what is kept of a group is a
        union of groups of a safe release, so it is safe by itself. If too many must leave, only
        their groups are marked unsafe.
        """
        least = [self._least(view.counts) for view in views]
        unsafe = [own > 0 for own in least]
        undecided = [at for at, own in enumerate(least) if own.sum() <= self.most]
        # Where nobody may leave, whoever is unsafe alone may be safe in a release, on average.
        if undecided and self.most:
            counts = [views[at].counts for at in undecided]
            ends = np.cumsum([own.n_groups for own in counts])[:-1]
            for at, own in zip(
                undecided, np.split(~self._alone(joined(counts)), ends), strict=True
            ):
                unsafe[at], least[at] = own, np.maximum(least[at], own)
        return [*zip(unsafe, least, strict=True)]

    def _least(self, counts: GroupCounts) -> IntArray:
        if not self.monotone:
            return np.zeros(counts.n_groups, dtype=np.int64)
        return self._ledger.fewest_leaving(counts)

    def _safe(self, counts: GroupCounts) -> bool:
        """Whether a release is safe, to the last digit."""
        weighed = self._ledger.evaluate(None, counts, np.zeros(counts.n_groups, dtype=np.int64))
        if weighed.safe_jointly(np.ones(1, dtype=bool)):
            return True
        # A ledger may refuse what is safe but close to the limit.
        if self._ledger.exact or weighed.risk_ratio()[0] > 1 + _CLOSE:
            return False
        return not self._policy.failures(counts)

    def _alone(self, counts: GroupCounts) -> BoolArray:
        """Whether each group is safe by itself, to the last digit."""
        if self._ledger.exact:
            return self._ledger.alone(counts)
        weighed = self._ledger.evaluate(None, counts, np.arange(counts.n_groups))
        alone = weighed.safe_each()
        close = np.flatnonzero(~alone & (weighed.risk_ratio() <= 1 + _CLOSE))
        for group in close.tolist():
            one = counts.take(np.array([group]))
            bag = np.concatenate((one.sizes, one.codes, one.counts)).tobytes()
            if bag not in self._settled:
                self._settled[bag] = not self._policy.failures(one)
            alone[group] = self._settled[bag]
        return alone

    # ---- with some people suppressed ------------------------------------------------------

    def _with_outliers(self, view: View, unsafe: BoolArray, found: int) -> NodeVerdict:
        """Suppress what is unsafe by itself; then the smallest groups, until the rest is safe."""
        suppressed = int(view.people[unsafe].sum())
        if found > self.most:
            return NodeVerdict(False, hopeless=True)
        if suppressed > self.most:
            return NodeVerdict(False, fewest=found)
        if not found and self._safe(view.counts):
            return NodeVerdict(True)
        others = np.argsort(view.people, kind="stable")
        others = others[~unsafe[others]]
        room = np.cumsum(view.people[others]) <= self.most - suppressed
        others = others[: int(np.count_nonzero(room))]
        n_joining = self._fewest(view.counts, unsafe, others)
        if n_joining is None:
            return NodeVerdict(False, fewest=found)
        unsafe[others[:n_joining]] = True
        return NodeVerdict(True, outliers=unsafe, fewest=found)

    def _fewest(self, counts: GroupCounts, unsafe: BoolArray, others: IntArray) -> int | None:
        """How many other groups, in order, must join the unsafe ones; None where all do not help.

        Where merging never hurts, one more never hurts: the number is found by bisection.
        """
        if not self.monotone:
            possible = (  # any of them may help, more may not
                n for n in range(len(others) + 1) if self._helps(counts, unsafe, others[:n])
            )
            return next(possible, None)
        if self._helps(counts, unsafe, others[:0]):
            return 0
        low, high = 0, len(others)
        if not high or not self._helps(counts, unsafe, others):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._helps(counts, unsafe, others[:middle]):
                high = middle
            else:
                low = middle
        return high

    def _helps(self, counts: GroupCounts, unsafe: BoolArray, joining: IntArray) -> bool:
        """Whether the release is safe once the unsafe groups and some more are suppressed."""
        outliers = unsafe.copy()
        outliers[joining] = True
        members = np.flatnonzero(outliers)
        if not len(members):
            return self._safe(counts)
        one = counts.take(members).merge(np.zeros(len(members), dtype=np.int64))
        return self._safe(one) and self._safe(together(counts, outliers))
