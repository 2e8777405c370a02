"""Outliers: whether a node of the lattice is safe, perhaps with some people suppressed.

Suppressed people are put together in one group that keeps nothing of their quasi-identifiers; or
they are divided by the cells that each must hide. These are groups like the others: they are judged
with them, and published.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts
from foreknow.errors import NoSafeRelease
from foreknow.methods.fulldomain.local_suppression import LocalSuppression
from foreknow.methods.fulldomain.losses import Loss, joined, together
from foreknow.methods.fulldomain.rollup import View
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.policy import Policy
from foreknow.policy.way_out import no_safe_release

# How far above the limit a ledger may put what is safe.
_CLOSE = 1e-6


class NodeVerdict(NamedTuple):
    """The verdict on a node; the last two fields count where merging never hurts."""

    safe: bool
    outliers: BoolArray | None = None  # groups that are suppressed
    hopeless: bool = False  # nodes below are unsafe, too
    fewest: int = 0  # people suppressed at this node and any below, at least
    cells: BoolArray | None = None  # the suppressed cells of each group, where some are shown

    @property
    def lost(self) -> BoolArray | None:
        """The groups or cells that are suppressed, as `Loss.of` takes them."""
        return self.outliers if self.cells is None else self.cells

    def n_suppressed(self, view: View) -> int:
        """How many people lose something."""
        if self.lost is None:
            return 0
        return int(view.people[self.lost if self.cells is None else self.cells.any(axis=1)].sum())


class Judge:
    """Asks a policy about whole releases, in which up to `most` people may be suppressed.

    Where the loss of cells is given, single cells of these people are suppressed.

    A part of a release never reveals more than the whole. So what is unsafe by itself makes any
    release unsafe that it is a part of; most unsafe nodes show by their smallest groups.
    """

    def __init__(
        self,
        policy: Policy,
        everyone: GroupCounts,
        most_suppressed: int,
        loss_of_cells: Loss | None = None,
    ) -> None:
        self.monotone = policy.monotone()
        self.limits_inference = policy.limits_inference_of(everyone)
        self.most, self._policy, self._loss = most_suppressed, policy, loss_of_cells
        # Nothing is committed to it: for it, every release is the first one.
        self._ledger: PolicyLedger = policy.ledger(everyone.values, everyone)
        self._safe_bags: dict[bytes, bool] = {}  # whether groups near the limit are safe, by bag

    def failures(self, view: View) -> str:
        """The requirements that the groups of a view fail, in words."""
        return "; ".join(self._policy.failures(view.counts))

    def no_release(self, problem: str, view: View) -> NoSafeRelease:
        """The error for a lattice whose top is not safe, with the ways out."""
        return no_safe_release(problem, self._policy, view.counts)

    @property
    def at_once(self) -> bool:
        """True if many nodes are judged faster together than one by one."""
        return self.most > 0

    def judge(self, view: View) -> NodeVerdict:
        """Judge the groups at a node."""
        return self.judge_each([view])[0]

    def judge_each(self, views: Sequence[View]) -> list[NodeVerdict]:
        """Judge the groups at each of some nodes."""
        if not self.most:
            safe_each = (self._safe(view.counts) for view in views)
            return [NodeVerdict(safe, hopeless=not safe) for safe in safe_each]
        verdicts = []
        for view, (unsafe, leaving) in zip(views, self.leaving(views), strict=True):
            verdicts.append(self._with_outliers(view, unsafe, int(leaving.sum())))
        return verdicts

    def leaving(self, views: Sequence[View]) -> list[tuple[BoolArray, IntArray]]:
        """For each view, a mask of groups that are unsafe alone, and how many people each loses.

        If merging groups never hurts, they must leave at any node below, too: what is kept of a
        group is a union of groups of a safe release, so it is safe by itself. If too many must
        leave, only their groups are marked.
        """
        fewest_leaving = [self._fewest_leaving(view.counts) for view in views]
        unsafe = [of_groups > 0 for of_groups in fewest_leaving]
        n_leaving = [of_groups.sum() for of_groups in fewest_leaving]
        undecided = [position for position, number in enumerate(n_leaving) if number <= self.most]
        # Where nobody may leave, whoever is unsafe alone may be safe in a release, on average.
        if undecided and self.most:
            counts = [views[position].counts for position in undecided]
            ends = np.cumsum([counts_of_view.n_groups for counts_of_view in counts])[:-1]
            unsafe_alone = np.split(~self._safe_alone(joined(counts)), ends)
            for position, is_unsafe in zip(undecided, unsafe_alone, strict=True):
                unsafe[position] = is_unsafe
                fewest_leaving[position] = np.maximum(fewest_leaving[position], is_unsafe)
        return [*zip(unsafe, fewest_leaving, strict=True)]

    def _fewest_leaving(self, counts: GroupCounts) -> IntArray:
        """How many people must leave each group at least; 0 where merging groups can hurt."""
        if not self.monotone:
            return np.zeros(counts.n_groups, dtype=np.int64)
        return self._ledger.fewest_leaving(counts)

    def _safe(self, counts: GroupCounts) -> bool:
        """True if a release is safe, to the last digit."""
        # All groups are one proposal.
        evaluation = self._ledger.evaluate(None, counts, np.zeros(counts.n_groups, dtype=np.int64))
        if evaluation.safe_jointly(np.ones(1, dtype=bool)):
            return True
        # A ledger may refuse what is safe but close to the limit.
        if self._ledger.is_exact:
            return False
        (risk_ratio,) = evaluation.risk_ratio()
        if risk_ratio > 1 + _CLOSE:
            return False
        return not self._policy.failures(counts)

    def _safe_alone(self, counts: GroupCounts) -> BoolArray:
        """For each group, whether it is safe by itself.

        Floats decide where they are clear, and the policy, exactly, where they are close.
        """
        if self._ledger.is_exact:
            return self._ledger.alone(counts)
        evaluation = self._ledger.evaluate(None, counts, np.arange(counts.n_groups))
        is_safe = evaluation.safe_each()
        nearly_safe = np.flatnonzero(~is_safe & (evaluation.risk_ratio() <= 1 + _CLOSE))
        for group in nearly_safe.tolist():
            group_counts = counts.take(np.array([group]))
            arrays = group_counts.sizes, group_counts.codes, group_counts.counts
            bag = np.concatenate(arrays).tobytes()
            if bag not in self._safe_bags:
                self._safe_bags[bag] = not self._policy.failures(group_counts)
            is_safe[group] = self._safe_bags[bag]
        return is_safe

    # ---- with some people suppressed ------------------------------------------------------

    def _with_outliers(
        self, view: View, is_suppressed: BoolArray, fewest_leaving: int
    ) -> NodeVerdict:
        """The verdict on a node if unsafe groups are suppressed, and then the smallest ones.

        Groups are suppressed until the rest is safe. `is_suppressed` are the unsafe groups, and
        `fewest_leaving` is a lower bound of how many people must be suppressed.
        """
        n_suppressed = int(view.people[is_suppressed].sum())
        if fewest_leaving > self.most:
            return NodeVerdict(safe=False, hopeless=True)
        if n_suppressed > self.most:
            return NodeVerdict(safe=False, fewest=fewest_leaving)
        if not fewest_leaving and self._safe(view.counts):
            return NodeVerdict(safe=True)
        # The smallest of the other groups, as many as may be suppressed as well.
        candidates = np.argsort(view.people, kind="stable")
        candidates = candidates[~is_suppressed[candidates]]
        has_room = np.cumsum(view.people[candidates]) <= self.most - n_suppressed
        candidates = candidates[: int(np.count_nonzero(has_room))]
        n_joining = self._fewest_joining(view.counts, is_suppressed, candidates)
        if n_joining is None:
            return NodeVerdict(safe=False, fewest=fewest_leaving)
        is_suppressed = is_suppressed.copy()
        is_suppressed[candidates[:n_joining]] = True
        cells = None if self._loss is None else self._cells(view, is_suppressed, self._loss)
        return NodeVerdict(safe=True, outliers=is_suppressed, fewest=fewest_leaving, cells=cells)

    def _cells(self, view: View, outliers: BoolArray, loss: Loss) -> BoolArray | None:
        """For each group and column, whether the suppressed group hides its label there.

        None if only whole groups can be suppressed safely.
        """
        members, codes = np.flatnonzero(outliers), np.stack(view.codes, axis=1)
        sizes = chain.from_iterable(view.sizes)
        # The ledger has the groups that keep everything.
        ledger = self._ledger.copy()
        if len(members) < view.counts.n_groups:
            ledger.commit(None, view.counts.take(~outliers))
        hidden = LocalSuppression(
            codes=codes[members],
            costs=loss.of_cells(view, members),
            counts=view.counts.take(members),
            columns=[column for column, size in enumerate(sizes) if size > 1],
            ledger=ledger,
        ).hidden()
        if hidden is None:
            return None
        suppressed_cells = np.zeros(codes.shape, dtype=bool)
        suppressed_cells[members] = hidden
        group_number, _ = numbered(codes, outliers, suppressed_cells)
        return suppressed_cells if self._safe(view.counts.merge(group_number)) else None

    def _fewest_joining(
        self, counts: GroupCounts, unsafe: BoolArray, candidates: IntArray
    ) -> int | None:
        """How many candidates, in order, must join the unsafe groups; None if even all do not help.

        If merging never hurts, one more never hurts: the number is found by bisection.
        """
        if not self.monotone:
            for n in range(len(candidates) + 1):  # any of them may help, more may not
                if self._is_safe_without(counts, unsafe, candidates[:n]):
                    return n
            return None
        if self._is_safe_without(counts, unsafe, candidates[:0]):
            return 0
        too_few, enough = 0, len(candidates)
        if not enough or not self._is_safe_without(counts, unsafe, candidates):
            return None
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            if self._is_safe_without(counts, unsafe, candidates[:middle]):
                enough = middle
            else:
                too_few = middle
        return enough

    def _is_safe_without(self, counts: GroupCounts, unsafe: BoolArray, joining: IntArray) -> bool:
        """True if the release is safe once the unsafe groups and some more are suppressed."""
        outliers = unsafe.copy()
        outliers[joining] = True
        members = np.flatnonzero(outliers)
        if not len(members):
            return self._safe(counts)
        united = counts.take(members).merge(np.zeros(len(members), dtype=np.int64))
        return self._safe(united) and self._safe(together(counts, outliers))


def numbered(
    codes: IntArray, outliers: BoolArray | None, suppressed_cells: BoolArray | None
) -> tuple[IntArray, int | None]:
    """The number of the published group of each group of a node, and that of the suppressed group.

    `outliers` are the groups that are suppressed, and `suppressed_cells` the columns that each
    group hides. The second number is None if no group hides everything.
    """
    if outliers is None:
        return np.arange(len(codes)), None
    hides_all = outliers if suppressed_cells is None else suppressed_cells.all(axis=1)
    if suppressed_cells is None:
        last_group = int(np.count_nonzero(~hides_all))
        return np.where(hides_all, last_group, np.cumsum(~hides_all) - 1), last_group
    rows = np.column_stack((hides_all, np.where(suppressed_cells, -1, codes)))
    group_number = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return group_number, int(group_number.max()) if hides_all.any() else None
