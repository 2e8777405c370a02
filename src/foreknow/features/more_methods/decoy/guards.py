"""Guards: the limits of a policy, for groups, for decoys, and for groups after a refusal.

That a cut was refused tells something of who has which value: at most what the page on the method
proves (docs/research/decoys.md). Beside K decoys, nothing that concerns as many people as an
adversary of the policy knows of becomes likelier by more than 1 + 1/K. So what a refusal leaves is
judged by limits that are lowered for that. And decoys are judged as if the values of so many people
had been exchanged with the worst ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.adversary import Evaluation, KnowledgeReach, Ledger
from foreknow.adversaries.release_counts import counts_of
from foreknow.criteria.criterion import Criterion
from foreknow.criteria.group_criterion import EachGroup
from foreknow.data.arrays import BoolArray, IntArray, combine
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.joint_labels import JointLabels
from foreknow.data.labels.windows import Windows
from foreknow.features.more_methods.decoy.draws import values_from_rarest
from foreknow.policy.ledger import PolicyEvaluation
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow_judge.errors import PolicyError

# How many decoys there may be; the one amount where groups bear on one another.
AMOUNTS, DECOYS_IF_INTERACTING = (3, 10, 30, 100), 30
# For decoys and estimates, limits are lowered by so little that a tie is surely above one.
_STRICTER = 1 - Fraction(1, 10**6)


@dataclass(frozen=True, eq=False)
class Guard:
    """One limit of the policy, with the ledgers that judge groups by it.

    Attributes
    ----------
    secret : RequirementCounts
        The counts of the secret.
    ledger, rough : Ledger
        For groups; `rough` is a little stricter, for estimates.
    refused : dict
        By number of decoys, the ledger with the lowered limit for groups that a refusal leaves.
    speaks : KnowledgeReach
        How far the adversary's knowledge reaches: people, groups.
    is_asked : bool array
        For each value, whether the limit is about it.
    judge_of_decoys : callable, optional
        Given a number of exchanges, the ledger that judges decoys as if these had been made. None
        for limits that judge the worst result of the exchanges itself; see `exchanged`.
    windows : Windows, optional
        The windows of the whole table, if the secret is that a number lies in a window.
    """

    secret: RequirementCounts
    ledger: Ledger
    rough: Ledger
    refused: dict[int, Ledger]
    speaks: KnowledgeReach
    is_asked: BoolArray
    judge_of_decoys: Callable[[int], Ledger] | None = None
    windows: Windows | None = None

    @cached_property
    def alike(self) -> bool:
        """True if a group stays as safe however its values are renamed."""
        return _values_are_alike(self.secret, self.speaks)

    def counted(self, groups: GroupCounts) -> GroupCounts:
        """The counts of the secret; where values are alike, the most frequent comes first."""
        counts = counts_of(self.secret.count_groups(groups))
        return _rank_values(counts) if self.alike else counts

    def exchanged(self, groups: GroupCounts, swaps: int) -> tuple[GroupCounts, IntArray]:
        """The worst groups that `swaps` exchanges of values with other groups can lead to.

        An exchange gives a person of the group another value. In a result, `swaps` more people of a
        group have a value that the limit is about, in place of the rarest values. A group has a
        result for each value that may be worst. The array says which group each result comes from.
        """
        counts = self.counted(groups)
        # Alike values are numbered by rank in each group, so there may be fewer numbers.
        n_values = int(counts.codes.max(initial=0)) + 1 if self.alike else counts.n_values
        bags = np.zeros((counts.n_groups, n_values), dtype=np.int64)
        # From the values that occur in each group to a table (groups, values).
        bags[counts.cell_groups, counts.codes] = counts.counts
        # An entry for each result: its group, and the first and last of the values raised in it.
        group_of, first, last = self._values_raised(counts, bags)
        all_codes = np.arange(n_values)
        # Values that nobody gives up: those that are raised.
        is_kept = (all_codes >= first[:, None]) & (all_codes <= last[:, None])
        most_frequent = bags.argmax(axis=1)[group_of]
        # The raised value gets `swaps` people more, from the rarest of the others.
        bags = _move_value(bags[group_of], first, np.full(len(group_of), swaps), is_kept)
        if self.speaks.joined:  # so many more people have the most frequent value, too
            n_moved = np.where(most_frequent == first, 0, swaps)
            is_kept |= all_codes == most_frequent[:, None]
            bags = _move_value(bags, most_frequent, n_moved, is_kept)
        # Back from the table to the values that occur.
        group, codes = np.nonzero(bags)
        offsets = np.searchsorted(group, np.arange(len(group_of) + 1))
        exchanged = GroupCounts.counted(
            counts.sizes[group_of],
            offsets,
            codes,
            bags[group, codes],
            values=counts.values,
            semantics=counts.semantics,
        )
        return exchanged, group_of

    def _values_raised(
        self, counts: GroupCounts, bags: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Which values exchanges may make worst in which group: three arrays with an entry each.

        They are the group, and the first and the last value of a range, which differ if secrets are
        windows. ``bags[g, v]`` is how many people of group g have value v.
        """
        if self.windows is not None:  # each window that begins at a value of the group
            return counts.cell_groups, counts.codes, self.windows.last[counts.codes]
        matters = self.is_asked[: bags.shape[1]]  # all of them, where values are alike
        group_of, most_frequent = np.arange(counts.n_groups), bags.argmax(axis=1)
        value = most_frequent
        if self.speaks.groups:  # each that matters, also if nobody of the group has it
            codes = np.flatnonzero(matters)
            group_of, value = np.repeat(group_of, len(codes)), np.tile(codes, len(group_of))
        elif self.speaks.people:
            # Groups do not bear on one another, and the most frequent value that matters is worst.
            value = np.where(matters, bags, -1).argmax(axis=1)
        if self.speaks.joined:  # the most frequent value, too, whichever matters
            extra = np.flatnonzero(~matters[most_frequent])
            group_of, value = np.append(group_of, extra), np.append(value, most_frequent[extra])
        return group_of, value, value


def _values_are_alike(secret: RequirementCounts, speaks: KnowledgeReach) -> bool:
    """True if safety depends neither on the names of values nor on other groups."""
    criterion = secret.requirement.criterion
    if criterion is not None and criterion.of_people:  # it looks at no values
        return True
    # All values are asked about, one by one, and the adversary's knowledge treats all the same.
    return (
        speaks.alike
        and not speaks.groups
        and secret.requirement.target.singly
        and not isinstance(secret.labels, JointLabels)
        and bool(secret.meant.about.all())
    )


def _rank_values(counts: GroupCounts) -> GroupCounts:
    """Rename the values of each group by rank: 0 is its most frequent value."""
    # Cells are the values of each group, group after group: count them within the group.
    rank = np.arange(len(counts.codes)) - counts.offsets[:-1][counts.cell_groups]
    is_rising = (rank[1:] > 0) & (counts.counts[1:] > counts.counts[:-1])  # within a group
    descending = counts.counts
    # Sort only if some group is not yet in order.
    if is_rising.any():
        descending = descending[np.lexsort((-descending, counts.cell_groups))]
    return GroupCounts.counted(
        counts.sizes,
        counts.offsets,
        rank,
        descending.copy(),
        values=counts.values,
        semantics=counts.semantics,
    )


def _move_value(bags: IntArray, value: IntArray, n_moved: IntArray, is_kept: BoolArray) -> IntArray:
    """Give a value to `n_moved` more people of each bag, in place of the rarest values.

    ``bags[b, v]`` is how many people of bag b have value v, ``value[b]`` the value that grows.
    Values where `is_kept` is True lose nobody. If too few people are left, fewer are moved.
    """
    other_counts = np.where(is_kept, 0, bags)
    order, rarest_counts = values_from_rarest(other_counts)
    n_before = np.cumsum(rarest_counts, axis=1) - rarest_counts  # people with a rarer value
    # The rarest values lose all their people, until enough were moved.
    n_removed = np.clip(n_moved[:, None] - n_before, 0, rarest_counts)
    np.put_along_axis(other_counts, order, rarest_counts - n_removed, axis=1)
    moved = np.where(is_kept, bags, other_counts)
    moved[np.arange(len(bags)), value] += n_removed.sum(axis=1)
    return moved


class BagKinds(NamedTuple):
    """Bags by kind: no limit of the policy tells bags of a kind apart, so one is judged for all."""

    first: IntArray  # (kinds,): the first bag of each kind
    kind: IntArray  # (bags,): the kind of each bag
    forms: NDArray[Any]  # (kinds, values): a bag of each kind


@dataclass(frozen=True, eq=False)
class Guards:
    """All limits of a policy."""

    guards: Sequence[Guard]

    @classmethod
    def of(cls, policy: Policy, everyone: GroupCounts, decoys: int | None = None) -> Guards:
        """A guard for each secret and each limit of a policy, with its ledgers started.

        Parameters
        ----------
        policy : Policy
            Limits that are not worked out for this method are refused.
        everyone : GroupCounts
            All people in one group.
        decoys : int, optional
            With it, all limits are lowered to those that hold after a refusal beside so many.
        """
        guards = list[Guard]()
        for requirement in policy.requirements:
            reaches, semantics = reaches_of(requirement), policy.semantics_of(requirement)
            for secret in requirement.count(everyone).secrets:
                if requirement.criterion is not None:
                    guards.append(_guard_of_criterion(secret, reaches[0], semantics, decoys))
                    continue
                for point, reach in zip(requirement.points, reaches, strict=True):
                    guards.append(_guard_of_point(secret, point, reach, semantics, decoys))
        result = cls(guards)
        # The ledgers begin with the release as it is: everybody in one group.
        result.commit(everyone)
        return result

    @cached_property
    def groups_interact(self) -> bool:
        """True if the safety of a group depends on the others."""
        return any(guard.speaks.groups for guard in self.guards)

    @property
    def swaps(self) -> int:
        """The most people whose values an adversary knows about, including the target."""
        return max((guard.speaks.people for guard in self.guards), default=0)

    @cached_property
    def alike(self) -> bool:
        """True if it does not matter which value is which."""
        return all(guard.alike for guard in self.guards)

    def kinds(self, bags: IntArray) -> BagKinds:
        """The kinds of bags: bags of a kind are judged alike.

        `bags` has a row for each bag: how many people have each value. If it does not matter which
        value is which, the most frequent value of a form comes first.
        """
        # Narrow, but for bytes, which NumPy sorts slowly.
        forms: NDArray[Any] = bags.astype(np.int32 if bags.max(initial=0) < 2**31 else np.int64)
        # If values are alike, only the sorted counts matter.
        if self.alike:
            forms.sort(axis=1)
            forms = forms[:, ::-1]
        columns = np.ascontiguousarray(forms.T)
        sizes = columns.max(axis=1, initial=0) + 1
        # Values that nobody has cannot tell bags apart; but one column must remain.
        is_used = sizes > 1
        is_used[0] = True
        kind, first = combine([*columns[is_used]], sizes[is_used].tolist())
        distinct = forms[first][:, is_used] if self.alike else forms[first]
        return BagKinds(first, kind, distinct)

    def copy(self) -> Guards:
        """The limits as they stand now, apart from what is noted later."""
        return Guards([replace(guard, ledger=deepcopy(guard.ledger)) for guard in self.guards])

    def evaluate(self, groups: GroupCounts, owner: IntArray) -> PolicyEvaluation:
        """Measure proposals; group g belongs to proposal ``owner[g]``."""
        return PolicyEvaluation(
            [guard.ledger.evaluate(None, guard.counted(groups), owner) for guard in self.guards]
        )

    def roughly(self, groups: GroupCounts, owner: IntArray) -> PolicyEvaluation:
        """Evaluate for estimates, a little more strictly."""
        if self.groups_interact:
            return self.evaluate(groups, owner)
        return PolicyEvaluation(
            [guard.rough.evaluate(None, guard.counted(groups), owner) for guard in self.guards]
        )

    def exchanged(self, groups: GroupCounts, owner: IntArray) -> PolicyEvaluation:
        """Measure decoys as bad as `swaps` exchanges of values with other groups can make them.

        Group g of the decoys belongs to proposal ``owner[g]``.
        """
        evaluations = list[Evaluation]()
        n_proposals = int(owner.max(initial=-1)) + 1
        for guard in self.guards:
            if guard.judge_of_decoys is not None:
                ledger = guard.judge_of_decoys(self.swaps)
                evaluation = ledger.evaluate(None, guard.counted(groups), owner)
            else:
                ledger = guard.ledger if self.groups_interact else guard.rough
                exchanged, group = guard.exchanged(groups, self.swaps)
                evaluation = ledger.evaluate(None, exchanged, owner[group])
            # A limit may concern no group of the last proposals: fill up.
            evaluations.append(_PaddedEvaluation(evaluation, n_proposals))
        return PolicyEvaluation(evaluations)

    def evaluate_refused(
        self, groups: GroupCounts, owner: IntArray, decoys: int
    ) -> PolicyEvaluation:
        """Measure groups that refusals leave, with this number of decoys.

        Group g belongs to proposal ``owner[g]``. The limits are lower than for other groups, since
        a refusal may tell something.
        """
        if self.groups_interact:  # by the limits of what a refusal leaves, all of them
            return self.evaluate(groups, owner)
        evaluations = []
        for guard in self.guards:
            counts = guard.counted(groups)
            evaluations.append(guard.refused[decoys].evaluate(None, counts, owner))
        return PolicyEvaluation(evaluations)

    def commit(self, groups: GroupCounts) -> None:
        """Note groups, where these bear on one another."""
        for guard in self.guards:
            guard.ledger.commit(None, guard.counted(groups))


def _guard_of_criterion(
    secret: RequirementCounts, reach: KnowledgeReach, semantics: Any, decoys: int | None
) -> Guard:
    """The guard of a requirement's criterion, with a ledger for each number of decoys.

    With `decoys`, its limits are lowered to what holds after a refusal beside so many.
    """
    criterion: Any = secret.requirement.criterion
    table_counts = counts_of(secret.counts).totals
    ledger = _ledger_of_criterion(criterion, semantics, table_counts, decoys)
    refused = {n: _ledger_of_criterion(criterion, semantics, table_counts, n) for n in AMOUNTS}
    is_asked = np.ones(len(secret.labels), dtype=bool)
    return Guard(
        secret,
        ledger,
        rough=ledger,
        refused=refused,
        speaks=reach,
        is_asked=is_asked,
        judge_of_decoys=_judge_of_decoys(criterion, table_counts, decoys),
    )


def _guard_of_point(
    secret: RequirementCounts,
    point: Any,
    reach: KnowledgeReach,
    semantics: Any,
    decoys: int | None,
) -> Guard:
    """The guard of an adversary's knowledge with its limit, `point`; see `Guards.of`.

    `reach` says how far the knowledge reaches: people, other groups.
    """
    asked: Any = secret.asked
    windows, is_asked = None, asked
    if isinstance(asked, Windows):
        windows, is_asked = asked, np.ones(asked.counts.n_values, dtype=bool)
    if _values_are_alike(secret, reach):  # then the most frequent value is worst, which comes first
        asked = np.arange(len(is_asked)) < 1

    def ledger_for(n_decoys: int | None, times: Fraction = Fraction(1)) -> Ledger:
        """The ledger with the limit times `times`, lowered to what holds after a refusal."""
        # After a refusal odds may have risen by 1 + 1/K, so the limit's odds are lowered by that
        # factor.
        odds = 1 / Fraction(point.below) - 1
        limit = times / (1 + odds / _kept_factor(n_decoys, 1 + reach.groups))
        ledger: Ledger = point.adversary.ledger(limit, asked, semantics)
        return ledger

    ledger, rough = ledger_for(decoys), ledger_for(decoys, _STRICTER)
    refused = {n: ledger_for(n, _STRICTER) for n in AMOUNTS}
    return Guard(secret, ledger, rough, refused, speaks=reach, is_asked=is_asked, windows=windows)


@dataclass(frozen=True, eq=False)
class _PaddedEvaluation:
    """An evaluation filled up to so many proposals: the last may concern no group of a limit."""

    inner: Evaluation
    proposals: int

    def safe_each(self) -> BoolArray:
        inner_safe = self.inner.safe_each()
        return np.append(inner_safe, np.ones(self.proposals - len(inner_safe), dtype=bool))

    def safe_jointly(self, chosen: BoolArray) -> bool:
        return self.inner.safe_jointly(chosen[: len(self.inner.safe_each())])

    def commit(self, chosen: BoolArray) -> None:
        self.inner.commit(chosen[: len(self.inner.safe_each())])

    def risk_ratio(self) -> Any:
        return self.inner.risk_ratio()


def _kept_factor(decoys: int | None, power: int = 1) -> Fraction:
    """The factor of odds that fall by 1 + 1/K, `power` times; K is `decoys`, 1 without decoys."""
    return Fraction(1) if decoys is None else Fraction(decoys, decoys + 1) ** power


# ---- criteria ------------------------------------------------------------------------------------


def _ledger_of_criterion(
    criterion: Criterion, semantics: Any, table_counts: IntArray, decoys: int | None
) -> Ledger:
    """The ledger of a criterion; with decoys, one strict enough for what a refusal reveals."""
    judge_of_decoys = _judge_of_decoys(criterion, table_counts, decoys)
    if judge_of_decoys is not None and decoys is not None:
        return judge_of_decoys(0)  # as they are, without exchanges
    return criterion.stricter(_kept_factor(decoys), decoys).ledger(semantics, table_counts)


def _judge_of_decoys(
    criterion: Criterion, table_counts: IntArray, decoys: int | None
) -> Callable[[int], Ledger] | None:
    """For a criterion that compares groups with the whole table: see `Guard`; else None.

    What is returned takes a number of exchanges of values, and returns the ledger that judges
    decoys as if these had been made.
    """
    if not criterion.compares_table:
        return None
    times = 1 / _kept_factor(decoys)
    return lambda swaps: EachGroup(
        lambda counts: criterion.may_fail(counts, table_counts, times, swaps)
    )


def reaches_of(requirement: Requirement) -> list[KnowledgeReach]:
    """The reach of each adversary's knowledge; refused where it is not known."""
    reaches = []
    for adversary in requirement.judged:
        if adversary.speaks is None:
            raise PolicyError(
                f"{requirement.name}: what a refused cut tells of {adversary} is not worked out; "
                'publish by method = "mondrian", which an adversary who knows it may see through'
            )
        reaches.append(adversary.speaks)
    if not requirement.searched_exactly:
        raise PolicyError(
            f"{requirement.name}: method decoy does not look at windows of numbers (within) with "
            'linked people (m): leave m out, or publish by method = "mondrian"'
        )
    return reaches
