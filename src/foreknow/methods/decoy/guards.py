"""Guards: the limits of a policy, asked of groups, of decoys, and of what a refusal leaves.

That a cut was refused tells something of who has which value: at most what the page on the method
proves (docs/research/decoys.md). Beside K decoys, nothing that concerns as many people as an
adversary of the policy knows of becomes likelier by more than 1 + 1/K. So what a refusal leaves is
judged by limits that are lowered for that. And decoys are judged as if the values of so many people
had been exchanged with the worst ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow.adversaries.protocol import Evaluation, Ledger, Mask, counts_of
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels
from foreknow.data.sparse import IntArray
from foreknow.errors import PolicyError
from foreknow.policy.ledger import PolicyEvaluation
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement

# How many decoys there may be; the one amount where groups bear on one another.
AMOUNTS, COUPLED = (3, 10, 30, 100), 30
# For decoys and estimates, limits are lowered by so little that a tie is surely above one.
_STRICTER = 1 - Fraction(1, 10**6)


@dataclass(frozen=True, eq=False)
class Guard:
    """One limit: what it counts, its ledgers, which values it is about.

    `others`: how many other people's values the adversary knows, and how many are linked to the
    target; None for what only asks which values a group has, and of how many people. `refused` has
    a ledger for each amount of decoys, with the limit that holds for what a refusal leaves.
    """

    requirement: Requirement
    ledger: Ledger
    rough: Ledger
    refused: dict[int, Ledger]
    others: tuple[int, int] | None
    wanted: Mask

    def counted(self, groups: GroupCounts) -> GroupCounts:
        """What it counts of groups."""
        return counts_of(self.requirement.counted(groups))

    def exchanged(self, groups: GroupCounts, swaps: int) -> tuple[GroupCounts, IntArray]:
        """Groups of which so many people have got the value that matters, in place of rare ones.

        As bad as they can be after so many exchanges with other groups; and whose each is.
        """
        counted = self.counted(groups)
        bags = np.zeros((counted.n_groups, counted.n_values), dtype=np.int64)
        bags[counted.cell_groups, counted.codes] = counted.counts
        own = np.arange(counted.n_groups)
        if self.others is None:
            value = bags.argmax(axis=1)
        elif not self.others[1]:
            # Groups do not bear on one another, and the most frequent value that matters is worst.
            value = np.where(self.wanted, bags, -1).argmax(axis=1)
        else:  # each that matters, also if nobody of the group has it
            asked = np.flatnonzero(self.wanted)
            own, value = np.repeat(own, len(asked)), np.tile(asked, len(own))
        bags, row = bags[own], np.arange(len(own))
        many = bags[row, value]
        bags[row, value] = 0
        rising = np.argsort(bags, axis=1, kind="stable")
        rare = np.take_along_axis(bags, rising, axis=1)
        taken = np.clip(swaps - (np.cumsum(rare, axis=1) - rare), 0, rare)
        np.put_along_axis(bags, rising, rare - taken, axis=1)
        bags[row, value] = many + taken.sum(axis=1)
        group, codes = np.nonzero(bags)
        offsets = np.searchsorted(group, np.arange(len(own) + 1))
        made = GroupCounts.counted(
            counted.sizes[own],
            *(offsets, codes, bags[group, codes]),
            values=counted.values,
            semantics=counted.semantics,
        )
        return made, own


@dataclass(frozen=True, eq=False)
class Guards:
    """All limits of a policy."""

    each: Sequence[Guard]

    @classmethod
    def of(
        cls, policy: Policy, values: Labels, everyone: GroupCounts, decoys: int | None = None
    ) -> Guards:
        """Start the ledgers of a policy; refuse limits that are not worked out.

        `decoys`: all limits are those that hold for what a refusal leaves beside so many.
        """
        found = []
        for requirement in policy.requirements:
            others, how = others_of(requirement), policy.semantics_of(requirement)
            for secret in requirement.secrets(values):
                labels = secret.labels(values)
                if secret.criterion is not None:
                    rule: Any = secret.criterion
                    wanted = np.ones(len(labels), dtype=bool)

                    def of_rule(amount: int | None, rule: Any = rule, how: Any = how) -> Ledger:
                        lower = amount and getattr(rule, "c", None) is not None
                        asked = replace(rule, c=rule.c * _kept(amount, 1)) if lower else rule
                        made: Ledger = asked.ledger(how)
                        return made

                    of_amount = {n: of_rule(n) for n in AMOUNTS}
                    plain = of_rule(decoys)
                    found.append(Guard(secret, plain, plain, of_amount, others[0], wanted))
                wanted = secret.mask(labels) if secret.criterion is None else wanted
                for point, other in zip(secret.points, others, strict=False):
                    power = 1 + (other[1] if other else 0)

                    def of_point(
                        amount: int | None,
                        times: Fraction = Fraction(1),
                        point: Any = point,
                        wanted: Mask = wanted,
                        power: int = power,
                        how: Any = how,
                    ) -> Ledger:
                        odds = 1 / Fraction(point.below) - 1
                        below = 1 / (1 + odds / _kept(amount, power))
                        made: Ledger = point.adversary.ledger(below * times, wanted, how)
                        return made

                    of_amount = {n: of_point(n, _STRICTER) for n in AMOUNTS}
                    plain, rough = of_point(decoys), of_point(decoys, _STRICTER)
                    found.append(Guard(secret, plain, rough, of_amount, other, wanted))
        made = cls(found)
        made.commit(everyone)
        return made

    @property
    def coupled(self) -> bool:
        """Whether it matters to one group which others there are."""
        return any(guard.others is not None and guard.others[1] for guard in self.each)

    @property
    def swaps(self) -> int:
        """Of how many people's values adversaries of the policy speak, the target's among them."""
        asked = [guard.others for guard in self.each if guard.others is not None]
        return max((max(1 + known, known + linked) for known, linked in asked), default=0)

    def copy(self) -> Guards:
        """The same as they stand now, apart from what is noted later."""
        return Guards([replace(guard, ledger=deepcopy(guard.ledger)) for guard in self.each])

    def evaluate(self, groups: GroupCounts, owner: IntArray) -> PolicyEvaluation:
        """Measure proposals; group g belongs to proposal ``owner[g]``."""
        return PolicyEvaluation(
            [guard.ledger.evaluate(None, guard.counted(groups), owner) for guard in self.each]
        )

    def roughly(self, groups: GroupCounts, owner: IntArray) -> PolicyEvaluation:
        """The same for estimates, a little more strictly."""
        if self.coupled:
            return self.evaluate(groups, owner)
        return PolicyEvaluation(
            [guard.rough.evaluate(None, guard.counted(groups), owner) for guard in self.each]
        )

    def exchanged(self, groups: GroupCounts, owner: IntArray) -> PolicyEvaluation:
        """Measure decoys: whether none is unsafe that is so few exchanges away."""
        parts, many = [], int(owner.max(initial=-1)) + 1
        for guard in self.each:
            made, group = guard.exchanged(groups, self.swaps)
            ledger = guard.ledger if self.coupled else guard.rough
            parts.append(_Padded(ledger.evaluate(None, made, owner[group]), many))
        return PolicyEvaluation(parts)

    def left(self, groups: GroupCounts, owner: IntArray, decoys: int) -> PolicyEvaluation:
        """Measure what refusals leave, beside so many decoys."""
        if self.coupled:  # by the limits of what a refusal leaves, all of them
            return self.evaluate(groups, owner)
        return PolicyEvaluation(
            [
                guard.refused[decoys].evaluate(None, guard.counted(groups), owner)
                for guard in self.each
            ]
        )

    def commit(self, groups: GroupCounts) -> None:
        """Note groups, where these bear on one another."""
        for guard in self.each:
            guard.ledger.commit(None, guard.counted(groups))


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


def _kept(decoys: int | None, power: int) -> Fraction:
    """What is left of odds that may fall by 1 + 1/K, so many times."""
    return Fraction(1) if decoys is None else Fraction(decoys, decoys + 1) ** power


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
