"""Requirement counts: the groups of a release, counted as a requirement needs them.

This is the only place that turns a release and a requirement into counts. Of several sensitive
columns, one is counted, in groups that are divided by the columns that the adversary knows of
everybody. If each value is a secret by itself, that is all; a set of values is counted as one
value, and numbers that are near each other as windows. So every kind of knowledge serves every
secret and every sight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from foreknow.adversaries.adversary import HasCounts, Ledger, Searchable, Summing
from foreknow.adversaries.counts_cache import remembered
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.release_counts import counts_of
from foreknow.criteria.group_criterion import EachGroup
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.impossible.possible_values import JointMembers
from foreknow.data.labels.joint_labels import JointLabels
from foreknow.data.labels.labels import Label, Labels
from foreknow.data.labels.windows import Windows
from foreknow.data.release import Release
from foreknow.data.sights import Possible
from foreknow.needs import Need, require
from foreknow.policy.explanation import Explanation
from foreknow.policy.ledger import Part
from foreknow.policy.person_limits import (
    CaseOwners,
    CountsOfCases,
    ledger_of_people,
    numbers_of_cases,
    of_most_cases,
)
from foreknow.policy.targets import TargetValues
from foreknow_judge.counts.layout import Seen
from foreknow_judge.verdict import Limit

if TYPE_CHECKING:
    from foreknow.policy.requirement import Point, Requirement


@dataclass(frozen=True, eq=False)
class RequirementCounts:
    """The secret, sight, labels and counts of one requirement.

    `Requirement.count` makes it once for a release. A search makes it without people, and calls
    `count_groups` for each batch of groups.
    """

    requirement: Requirement
    seen_columns: Seen  # the column that must stay hidden, and the columns that divide groups
    seen: Release | GroupCounts  # the groups in this sight, each value by itself
    # for limits about people: for each combination of values, the number of cases of its person
    number_of_cases: IntArray | None = None
    # and the person and group of each case, if known
    people: CaseOwners | None = None

    @classmethod
    def of(
        cls, requirement: Requirement, release: HasCounts, possible: Possible | None = None
    ) -> RequirementCounts:
        """The counts that a requirement needs, from a release or from counts of one.

        `possible` says who can have which values, if the schema has rules on this.
        """
        if not isinstance(release, Release):
            return cls.of_counts(requirement, counts_of(release))
        requirement.check_columns(release.sensitives)
        seen_columns = requirement.seen_columns(release.layout)
        return cls(requirement, seen_columns, requirement.subject.groups(release, possible))

    @classmethod
    def of_counts(
        cls, requirement: Requirement, counts: GroupCounts, cases: CaseOwners | None = None
    ) -> RequirementCounts:
        """The counts that a requirement needs, from counts of a whole table.

        These may be of combinations of values of several columns. With `cases`, they are of cases,
        and it says of which person each case is; only the owner knows.
        """
        seen_columns = requirement.seen_columns(counts.values.layout)
        seen_groups = _divided_as_seen(requirement, seen_columns, counts)
        numbers = numbers_of_cases(counts)
        if numbers is None or not requirement.points:
            return cls(requirement, seen_columns, seen_groups)
        if cases is not None:
            # Known columns divide the groups: a case is then counted in a part of its group.
            part_of_cell = counts.parts(seen_columns.secret, seen_columns.known)
            cases = replace(cases, groups=part_of_cell[cases.groups])
        return CaseCounts(requirement, seen_columns, seen_groups, numbers, cases)

    @classmethod
    def of_nobody(
        cls, requirement: Requirement, values: Labels, semantics: Semantics
    ) -> RequirementCounts:
        """The counts of no groups, but with the values of a table: a search starts with them."""
        requirement.target.check(semantics)
        none = np.zeros(0, dtype=np.int64)
        nobody = GroupCounts(
            sizes=none,
            offsets=np.zeros(1, dtype=np.int64),
            codes=none,
            counts=none,
            values=values,
            groups=None,
            semantics=semantics,
        )
        return cls.of_counts(requirement, nobody)

    def count_groups(self, groups: GroupCounts) -> HasCounts:
        """The counts of other groups of the same table; made once, however often a search asks."""
        return remembered(
            groups,
            ("count_groups", self),
            lambda: self._as_counted(
                _divided_as_seen(self.requirement, self.seen_columns, groups).by_policy
            ),
        )

    def _as_counted(self, seen_groups: Release | GroupCounts) -> HasCounts:
        """The counts with each set of values as one value, or with windows of near numbers."""
        counts: HasCounts = self.requirement.target.as_counted(self, seen_groups)
        return counts

    # ---- what is counted ----------------------------------------------------------------------

    @cached_property
    def counts(self) -> HasCounts:
        """The counts for callers without the policy, who still have to check the schema's rules."""
        return self._as_counted(self.seen)

    @cached_property
    def counts_by_policy(self) -> HasCounts:
        """The counts from which posteriors are computed, for audit and search alike."""
        return self._as_counted(self._by_policy)

    @property
    def _by_policy(self) -> Release | GroupCounts:
        """The groups in this sight, without the schema: the policy counts by its rules already."""
        return self.seen.by_policy

    @cached_property
    def limits_inference(self) -> bool:
        """True if it limits what can be inferred about this table, given its values and priors."""
        requirement, criterion = self.requirement, self.requirement.criterion
        if not requirement.limits_inference:
            return False
        if criterion is not None:
            return criterion.limits_values(counts_of(self.counts_by_policy))
        return self.requirement.target.limits(self)

    @cached_property
    def meant(self) -> TargetValues:
        """The values that the requirement is about."""
        return self.requirement.target.meant(counts_of(self.seen).values)

    def about_one_set(self, name: str, members: tuple[str, ...]) -> RequirementCounts:
        """The same of one of its sets."""
        return replace(self, requirement=self.requirement.about_one_set(name, members))

    @property
    def labels(self) -> Labels:
        """The labels of the counted values."""
        return self.meant.labels

    @property
    def asked(self) -> BoolArray | Windows:
        """Which of the counted values it is about; or their windows."""
        return self.requirement.target.asked(self)

    @cached_property
    def secrets(self) -> tuple[RequirementCounts, ...]:
        """One for each of its sets; only itself if it is about single values.

        A criterion counts all sets at once.
        """
        return tuple(self.requirement.target.secrets(self))

    def secret_called(self, name: Label) -> RequirementCounts:
        """The counts of its secret with this name; itself if it is about single values."""
        first, *following = self.secrets
        return next((secret for secret in following if secret.labels[-1] == name), first)

    def counts_of_secret(self, disclosure: Disclosure) -> GroupCounts:
        """The counts for the secret of a disclosure; the values of a window are merged into one."""
        value = disclosure.value
        return self.requirement.target.of_value(
            self, value, counts_of(self.secret_called(value).counts)
        )

    # ---- what is asked of it ------------------------------------------------------------------

    def explanations(
        self, cached: dict[Any, Any] | None = None, position: int = 0
    ) -> list[Explanation]:
        """The explanations of its adversaries or criterion: one for each point, or one.

        `position` is the position in the policy; for `cached` see `disclosures`.
        """
        required, known_columns = self.requirement, self.seen_columns.known
        criterion = required.criterion
        if criterion is not None:
            attained = criterion.attained(self.counts_by_policy)
            holds = attained.holds and criterion.holds(self.counts_by_policy)
            fields = position, required, criterion, Limit(), attained, known_columns
            return [Explanation(*fields, safe=holds)]
        explanations = []
        for point, disclosures in zip(required.points, self.disclosures(cached), strict=True):
            worst = point.worst(disclosures)
            runners_up = tuple(point.ranked(d for d in disclosures if d is not worst))
            counts_of_worst = counts_of(self.secret_called(worst.value).counts)
            explanations.append(
                Explanation(
                    *(position, required, point.adversary, point.limit, worst, known_columns),
                    *(runners_up, counts_of_worst),
                    safe=worst.keeps(point.limit),
                )
            )
        return explanations

    def disclosures(self, cached: dict[Any, Any] | None = None) -> list[list[Disclosure]]:
        """For each point of the requirement, the worst disclosures, secret by secret.

        A point is an amount of knowledge with its limit. `cached` holds results for single values,
        and may be shared by requirements.
        """
        cached = {} if cached is None else cached
        disclosures: list[list[Disclosure]] = [[] for _ in self.requirement.points]
        for secret in self.secrets:
            for point, listed in zip(self.requirement.points, disclosures, strict=True):
                listed += secret.worst_disclosures(point, cached)
        return disclosures

    def worst_disclosures(self, point: Point, cached: dict[Any, Any]) -> Iterable[Disclosure]:
        """The worst disclosure of its only set, or of each value."""
        return self.requirement.target.worst(self, point, cached)

    def of_values(self, point: Point, cached: dict[Any, Any]) -> list[Disclosure]:
        """The worst disclosure of each counted value."""
        key = point.adversary, point.relative, id(self.counts_by_policy)
        if key not in cached:  # the counts are kept, too, so that no others get their id
            cached[key] = self.counts_by_policy, point.disclosures(self.counts_by_policy)
        return list(cached[key][1])

    def of_set(self, point: Point, name: Label) -> Disclosure:
        """The worst disclosure of its only set."""
        if isinstance(point.adversary, Summing):  # who needs the values of the set kept apart
            ((_, members),) = self.meant.sets.items()
            find = point.adversary.disclosure_of_set
            return find(self._by_policy, members, name, relative=point.relative)
        return point.adversary.disclosure(self.counts_by_policy, name)

    @property
    def tells_people(self) -> bool:
        """True if it is counted how many people are over a limit.

        They are not for windows, nor for sets whose values stay apart.
        """
        return self.requirement.target.tells_people()

    def parts(self, semantics: Semantics, everyone: GroupCounts | None = None) -> list[Part]:
        """The ledgers for a search, each with the function that counts groups for it."""
        return [Part(self.count_groups, ledger) for ledger in self.ledgers(semantics, everyone)]

    def ledgers(self, semantics: Semantics, everyone: GroupCounts | None = None) -> list[Ledger]:
        """Start its ledgers: one for each point, or the criterion's.

        A ledger answers a search: does the release stay safe if these groups replace those?
        `everyone` is the whole table, for a criterion that compares groups with it.
        """
        requirement = self.requirement
        if requirement.criterion is not None:
            table_counts = (
                None if everyone is None else counts_of(self.count_groups(everyone)).totals
            )
            return [requirement.criterion.ledger(semantics, table_counts)]
        ledgers = []
        for point in requirement.points:
            require(point.adversary, {Need.FINISHED: True}, subject=requirement.name)
            ledgers.append(self._ledger(point, semantics))
        return ledgers

    def _ledger(self, point: Point, semantics: Semantics) -> Ledger:
        assert isinstance(point.adversary, Searchable)
        if isinstance(counts_of(self.seen).possible, JointMembers):
            return self._by_group(point)
        return point.adversary.ledger(point.below, self.asked, semantics)

    def _by_group(self, point: Point) -> Ledger:
        """A ledger that asks of each group by itself how sure somebody may become."""

        def fails(counts: GroupCounts) -> BoolArray:
            chances = point.adversary.chances(counts)
            # A chance is of a group (`case`) and a value; only some values are asked about.
            cells = np.flatnonzero(np.asarray(self.asked)[chances.value])
            cells_over = cells[chances.reaching(point.below, cells)]
            failing = np.zeros(counts.n_groups, dtype=bool)
            failing[chances.case[cells_over]] = True
            return failing

        return EachGroup(fails)


class CaseCounts(RequirementCounts):
    """The same for limits about people whose rows are their cases."""

    number_of_cases: IntArray

    def of_values(self, point: Point, cached: dict[Any, Any]) -> list[Disclosure]:
        """Upper bounds for people, for each value; from the most cases, if persons are unknown."""
        if self.people is not None:
            return self.people.disclosures(point, self.counts_by_policy)
        return of_most_cases(point, self.counts_by_policy, int(self.number_of_cases.max()))

    def of_set(self, point: Point, name: Label) -> Disclosure:
        """An upper bound for people, of its only set."""
        return self.of_values(point, {})[-1]

    def parts(self, semantics: Semantics, everyone: GroupCounts | None = None) -> list[Part]:
        """The ledgers for a search, which counts the most cases of each group for them."""
        return [Part(self.by_most_cases, ledger) for ledger in self.ledgers(semantics, everyone)]

    def by_most_cases(self, groups: GroupCounts) -> CountsOfCases:
        """Same as `count_groups`, and for each group, the most cases that any person in it has."""
        counts = counts_of(self.count_groups(groups))
        part_of_cell = groups.parts(self.seen_columns.secret, self.seen_columns.known)
        most_cases = np.zeros(counts.n_groups, dtype=np.int64)
        np.maximum.at(most_cases, part_of_cell, self.number_of_cases[groups.codes])
        return counts.as_kind(CountsOfCases, most_cases=most_cases)

    def _ledger(self, point: Point, semantics: Semantics) -> Ledger:
        return ledger_of_people(point, self.asked, semantics, int(self.number_of_cases.max()))


def _divided_as_seen(
    requirement: Requirement, seen_columns: Seen, groups: GroupCounts
) -> GroupCounts:
    """The groups as they are seen: one column counted, and divided by what is known."""
    if not isinstance(groups.values, JointLabels):
        return groups.seen(requirement.sensitive, requirement.known)
    return requirement.subject.counted(groups.seen(seen_columns.secret, seen_columns.known))
