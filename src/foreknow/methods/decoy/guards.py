"""Guards: the limits of a policy, asked of groups, and of groups that a cut was refused of.

That a cut was refused tells something of who has which value in its group: at most what the page
on the method proves (docs/research/decoys.md). Nothing that concerns j people of the group becomes
likelier by more than 1 + rho/K: K is the number of decoys, and rho says how much likelier j people
can have any j values once it is known how many of each part have each. So the group is judged as if
some more of its people had the value in question. That covers facts about the target, about k other
people and about m people linked to the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.protocol import Evaluation, Ledger, Mask, counts_of
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels
from foreknow.data.sparse import IntArray
from foreknow.errors import PolicyError
from foreknow.policy.ledger import PolicyEvaluation
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement

# What is computed in floats is rounded up by so much.
_UP = 1e-9
# For estimates, limits are lowered by so little that a tie is surely above one.
_STRICTER = 1 - Fraction(1, 10**6)
# Where more people than this would be added, nothing is tried.
_MANY = 1 << 24


@dataclass(frozen=True, eq=False)
class Guard:
    """One limit: what it counts, its ledger, which values it is about.

    `others`: how many other people's values the adversary knows, and how many are linked to the
    target; None for what only asks which values a group has, and of how many people.
    """

    requirement: Requirement
    ledger: Ledger
    others: tuple[int, int] | None
    wanted: Mask

    def evaluate(self, groups: GroupCounts, owner: IntArray) -> Evaluation:
        """Measure proposals."""
        return self.ledger.evaluate(None, counts_of(self.requirement.counted(groups)), owner)

    def refused(self, groups: GroupCounts, least: IntArray, decoys: IntArray) -> Any:
        """Groups as they are judged if a cut of them is refused, and whose each is.

        `least`: people of the smallest part of the cut. Also says which groups surely fail.
        """
        counted = counts_of(self.requirement.counted(groups))
        everybody = np.arange(counted.n_groups)
        if self.others is None:
            return counted, everybody, np.zeros(counted.n_groups, dtype=bool)
        known, linked = self.others
        people, cells = counted.sizes, np.flatnonzero(self.wanted[counted.codes])
        group = counted.cell_groups[cells]
        if not linked:  # groups do not bear on one another, and the most frequent value is worst
            order = np.lexsort((-counted.counts[cells], group))
            first = np.ones(len(order), dtype=bool)
            first[1:] = group[order][1:] != group[order][:-1]
            cells = cells[order[first]]
            group = counted.cell_groups[cells]
        n, have = people[group].astype(float), counted.counts[cells].astype(float)
        ratio = likelier(n, least[group], max(1 + known, known + linked)) / decoys[group]
        more = have * ratio
        if not known and not linked:  # no probability exceeds 1
            more = np.minimum(more, n / decoys[group])
        hopeless = np.zeros(counted.n_groups, dtype=bool)
        if linked:
            left = n - known - linked + 1
            room = left - (1 + ratio) * have
            hopeless[group[room <= _UP * n]] = True
            more *= left / np.maximum(room, _UP * n)
        hopeless[group[more > _MANY]] = True
        added = np.ceil(np.minimum(more, _MANY) * (1 + _UP) + _UP).astype(np.int64)
        chosen = counted.take(group)
        counts = chosen.counts.copy()
        at = chosen.codes == np.repeat(counted.codes[cells], np.diff(chosen.offsets))
        counts[at] += added
        return replace(chosen, sizes=chosen.sizes + added, counts=counts), group, hopeless


@dataclass(frozen=True, eq=False)
class Guards:
    """All limits of a policy; `rough` ones are a little stricter: ties need no fractions there."""

    each: Sequence[Guard]
    rough: Sequence[Guard] = ()

    @classmethod
    def of(cls, policy: Policy, values: Labels, everyone: GroupCounts) -> Guards:
        """Start the ledgers of a policy; refuse limits that are not worked out."""
        found, rough = [], []
        for requirement in policy.requirements:
            others, how = others_of(requirement), policy.semantics_of(requirement)
            for secret in requirement.secrets(values):
                ledgers = secret.ledgers(values, how, everyone)
                labels = secret.labels(values)
                wanted = np.ones(len(labels), dtype=bool)
                if secret.criterion is None:
                    wanted = secret.mask(labels)
                for ledger, other in zip(ledgers, others, strict=True):
                    found.append(Guard(secret, ledger, other, wanted))
                if secret.criterion is not None:
                    rough.append(found[-1])
                for point, other in zip(secret.points, others, strict=False):
                    adversary: Any = point.adversary
                    ledger = adversary.ledger(
                        point.below * _STRICTER, wanted, policy.semantics_of(requirement)
                    )
                    rough.append(Guard(secret, ledger, other, wanted))
        made = cls(found, rough)
        made.commit(everyone)
        return made

    @property
    def coupled(self) -> bool:
        """Whether it matters to one group which others there are."""
        return any(guard.others is not None and guard.others[1] for guard in self.each)

    def copy(self) -> Guards:
        """The same as they stand now, apart from what is noted later."""
        return Guards(
            [replace(guard, ledger=deepcopy(guard.ledger)) for guard in self.each], self.rough
        )

    def evaluate(
        self, groups: GroupCounts, owner: IntArray, roughly: bool = False
    ) -> PolicyEvaluation:
        """Measure proposals; group g belongs to proposal ``owner[g]``."""
        asked = self.rough if roughly else self.each
        return PolicyEvaluation([guard.evaluate(groups, owner) for guard in asked])

    def commit(self, groups: GroupCounts) -> None:
        """Note groups."""
        for guard in self.each:
            guard.ledger.commit(None, counts_of(guard.requirement.counted(groups)))

    def withstands(self, groups: GroupCounts, least: IntArray, decoys: IntArray) -> Mask:
        """Which groups keep every limit if a cut of them is refused, each by itself."""
        safe = np.ones(groups.n_groups, dtype=bool)
        for guard in self.each if self.coupled else self.rough:
            judged, owner, hopeless = guard.refused(groups, least, decoys)
            safe &= ~hopeless
            found = guard.ledger.evaluate(None, judged, owner).safe_each()
            safe[: len(found)] &= found
        return safe

    def reserve(self, groups: GroupCounts, least: IntArray, decoys: IntArray) -> Mask:
        """Note groups as they are judged if a cut is refused, as many as stay safe together."""
        parts = []
        for guard in self.each:
            judged, owner, _ = guard.refused(groups, least, decoys)
            parts.append(_Padded(guard.ledger.evaluate(None, judged, owner), groups.n_groups))
        return PolicyEvaluation(parts).accept_greedily()


@dataclass(frozen=True, eq=False)
class _Padded:
    """Proposals of which the last may concern nothing that one limit is about."""

    inner: Evaluation
    proposals: int

    def safe_each(self) -> Mask:
        found = self.inner.safe_each()
        return np.append(found, np.ones(self.proposals - len(found), dtype=bool))

    def safe_jointly(self, chosen: Mask) -> bool:
        return self.inner.safe_jointly(chosen[: len(self.inner.safe_each())])

    def commit(self, chosen: Mask) -> None:
        self.inner.commit(chosen[: len(self.inner.safe_each())])

    def risk_ratio(self) -> Any:
        return self.inner.risk_ratio()


def likelier(people: NDArray[Any], least: NDArray[Any], j: int) -> NDArray[np.float64]:
    """How much likelier j people can have some values once the bags of parts are known, at most.

    They are all in the smallest part, `least`.
    """
    found = np.ones(len(people))
    for i in range(j):
        found *= np.maximum(people - i, 1) / np.maximum(least - i, 1)
    return found


def others_of(requirement: Requirement) -> list[tuple[int, int] | None]:
    """How many people beside the target each limit concerns; refused where that is not known."""
    if requirement.within is not None:
        raise PolicyError(
            f"{requirement.name}: method decoy does not look at windows of numbers (within); "
            'publish by method = "mondrian"'
        )
    asked: list[Any] = [point.adversary for point in requirement.points]
    found: list[Any] = []
    for one in asked or [requirement.criterion]:
        found.append(getattr(one, "others", NotImplemented))
        if found[-1] is NotImplemented:
            raise PolicyError(
                f"{requirement.name}: what a refused cut tells of {one} is not worked out; decoy "
                "keeps facts, negations, k_anonymity and l_diversity that is distinct or "
                'recursive. Publish by method = "mondrian", which an adversary who knows it may '
                "see through"
            )
    return found
