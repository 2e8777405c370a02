"""Requirement counts: the groups of a release, counted as a requirement needs them.

This is the only place that turns a release and a requirement into counts. Of several sensitive
columns, one is counted, in groups that are divided by the columns that the adversary knows of
everybody. If each value is a secret by itself, that is all; a set of values is counted as one
value, and numbers that are near each other as windows. So every kind of knowledge serves every
secret and every sight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.protocol import (
    Gaining,
    HasCounts,
    Ledger,
    Searchable,
    Summing,
    counts_of,
)
from foreknow.criteria.protocol import EachGroup
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics, UnitCounts, refuse_sets
from foreknow.data.labels import JointLabels, Label, Labels
from foreknow.data.layout import Layout
from foreknow.data.people import CASES
from foreknow.data.possible_values import JointMembers
from foreknow.data.release import Release
from foreknow.data.sights import Possible
from foreknow.data.windows import Window, Windows
from foreknow.needs import require
from foreknow.policy.explanation import Explanation
from foreknow.policy.ledger import Part
from foreknow.policy.people import (
    CaseOwners,
    CountsOfCases,
    ledger_of_people,
    of_most_cases,
)
from foreknow.policy.sets import TargetValues, meant, refuse_unheld
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.layout import Seen
from foreknow_judge.verdict import Limit

if TYPE_CHECKING:
    from foreknow.policy.requirement import Point, Requirement


class _Merged(NamedTuple):
    """Counts in which each set of values is one value, and the people who look alike."""

    counts: GroupCounts
    alike: Any


@dataclass(frozen=True, eq=False)
class RequirementCounts:
    """The secret, sight, labels and counts of one requirement.

    `Requirement.count` makes it once for a release. A search makes it without people, and calls
    `again` for each batch of groups.
    """

    requirement: Requirement
    sight: Seen  # the column that must stay hidden, and the columns that divide groups
    seen: Release | GroupCounts  # the groups in this sight, each value by itself
    # for limits about people: for each combination of values, the number of cases of its person
    number_of_cases: IntArray | None = None
    # and the person and group of each case, if known
    people: CaseOwners | None = None

    @classmethod
    def of(
        cls, requirement: Requirement, release: HasCounts, possible: Possible | None = None
    ) -> RequirementCounts:
        """Count a release, or take counts, as a requirement needs them."""
        if not isinstance(release, Release):
            return cls.of_counts(requirement, counts_of(release))
        requirement.check_columns(release.sensitives)
        sight, of_people = requirement.sight(release.layout), requirement.of_people
        if requirement.of_classes and release.recognized:
            known = sight.known if requirement.taken is None else requirement.known
            return cls(requirement, sight, release.alike(known))
        if possible is not None and not of_people:
            counts = possible.counts(requirement.sensitive, requirement.knowing)
            return cls(requirement, sight, counts)
        seen = release.seen(requirement.sensitive, requirement.taken, of_people=of_people)
        return cls(requirement, sight, seen)

    @classmethod
    def of_counts(
        cls, requirement: Requirement, counts: GroupCounts, cases: CaseOwners | None = None
    ) -> RequirementCounts:
        """Take counts, which may be of combinations of values, and whose cases they are of."""
        if not isinstance(counts.values, JointLabels):
            seen = counts.seen(requirement.sensitive, requirement.known)
            return cls(requirement, requirement.sight(Layout()), seen)
        sight = requirement.sight(counts.values.layout)
        seen, columns = _in_sight(requirement, sight, counts), counts.values.columns
        if CASES not in columns or not requirement.points:
            return cls(requirement, sight, seen)
        codes, numbers = columns[CASES]
        number_of_cases = np.array(numbers, dtype=np.int64)[codes]
        if cases is None:
            return cls(requirement, sight, seen, number_of_cases)
        parts = counts.parts(sight.secret, sight.known)
        people = replace(cases, groups=parts[cases.groups])
        return cls(requirement, sight, seen, number_of_cases, people)

    @classmethod
    def of_nobody(
        cls, requirement: Requirement, values: Labels, semantics: Semantics
    ) -> RequirementCounts:
        """The same for the values of a table without any people, for a search."""
        none, start = np.zeros(0, dtype=np.int64), np.zeros(1, np.int64)
        if requirement.about_sets:
            refuse_sets(semantics)
        nobody = GroupCounts(none, start, none, none, values, None, semantics)
        return cls.of_counts(requirement, nobody)

    def again(self, groups: GroupCounts) -> HasCounts:
        """The counts of other groups of the same table."""
        return self._as_one(_in_sight(self.requirement, self.sight, groups).by_policy)

    def by_most_cases(self, groups: GroupCounts) -> CountsOfCases:
        """Same as `again`, and for each group, the most cases that any person in it has."""
        counts = counts_of(self.again(groups))
        number = self.number_of_cases
        assert number is not None
        parts = groups.parts(self.sight.secret, self.sight.known)
        most = np.zeros(counts.n_groups, dtype=np.int64)
        np.maximum.at(most, parts, number[groups.codes])
        return counts.as_kind(CountsOfCases, most=most)

    def _as_one(self, seen: Release | GroupCounts) -> HasCounts:
        """The counts with each set of values as one value, or with windows of near numbers."""
        if self.requirement.of_windows:
            return self._windows(counts_of(seen))
        if self.requirement.of_people:  # whatever their values
            return seen
        if self.meant.places is None:
            return seen
        merged = counts_of(seen).recoded(self.meant.places, self.meant.labels)
        if self.requirement.criterion is None or not isinstance(seen, Release):
            return merged
        return _Merged(merged, seen.alike)  # a criterion of values may need `alike`, too

    def _windows(self, counts: GroupCounts) -> Windows:
        try:
            return Windows.of(counts, self.requirement.secret.width)
        except InputError as error:
            raise PolicyError(f"{self.requirement.name}: {error}") from None

    # ---- what is counted ----------------------------------------------------------------------

    @cached_property
    def counts(self) -> HasCounts:
        """The counts for callers without the policy, who still have to check the schema's rules."""
        return self._as_one(self.seen)

    @cached_property
    def counts_by_policy(self) -> HasCounts:
        """The counts from which posteriors are computed, for audit and search alike."""
        return self._as_one(self._by_policy)

    @property
    def _by_policy(self) -> Release | GroupCounts:
        """The groups in this sight, without the schema: the policy counts by its rules already."""
        return self.seen.by_policy

    @cached_property
    def limits_inference(self) -> bool:
        """Whether it limits what can be inferred about this table, given its values and priors."""
        requirement, criterion = self.requirement, self.requirement.criterion
        if not requirement.limits_inference:
            return False
        if criterion is not None:
            return criterion.limits_values(counts_of(self.counts_by_policy))
        if requirement.of_windows:
            return True
        held = counts_of(self.seen).totals > 0
        values = [
            str(counts_of(self.seen).values[at]) for at in np.flatnonzero(self.meant.about & held)
        ]
        sets = [[v for v in values if v in members] for members in self.meant.sets.values()]
        targets = (
            [members for members in sets if members]
            if requirement.about_sets
            else [[value] for value in values]
        )
        return bool(targets) and any(self._limits(point, targets) for point in requirement.points)

    def _limits(self, point: Point, asked: Sequence[Sequence[str]]) -> bool:
        """Whether a limit could be broken for somebody here who has a value of one of the sets."""
        if not point.relative:
            return point.limit.limits
        assert isinstance(point.adversary, Gaining)
        least = point.adversary.least(self.seen, asked)
        return least is not None and point.limit.limits_from(least)

    @cached_property
    def meant(self) -> TargetValues:
        """The values that the requirement is about."""
        return meant(self.requirement, counts_of(self.seen).values)

    @property
    def labels(self) -> Labels:
        """The labels of the counted values."""
        return self.meant.labels

    @property
    def asked(self) -> BoolArray | Windows:
        """Which of the counted values it is about; or their windows."""
        if self.requirement.of_windows:
            found = self.counts_by_policy
            assert isinstance(found, Windows)
            return found
        if self.meant.places is None:
            return self.meant.about
        last = np.zeros(len(self.labels), dtype=bool)
        last[-len(self.meant.sets) :] = True
        return last

    @cached_property
    def secrets(self) -> tuple[RequirementCounts, ...]:
        """One for each of its sets; only itself if it is about single values.

        A criterion counts all sets at once.
        """
        if self.meant.places is None or self.requirement.criterion is not None:
            return (self,)
        for point in self.requirement.points:
            for name, members in self.meant.sets.items():
                refuse_unheld(self.requirement, point.adversary, name, members)
        return tuple(
            replace(self, requirement=self.requirement.only(name, own))
            for name, own in self.meant.sets.items()
        )

    def called(self, name: Label) -> RequirementCounts:
        """The counts of its secret with this name; itself if it is about single values."""
        first, *more = self.secrets
        return next((own for own in more if own.labels[-1] == name), first)

    def together(self, found: Disclosure) -> GroupCounts:
        """The counts for the secret of a disclosure; the values of a window are merged into one."""
        counts = counts_of(self.called(found.value).counts)
        if not self.requirement.of_windows or not isinstance(found.value, Window):
            return counts
        return self._windows(counts).merged(found.value)

    # ---- what is asked of it ------------------------------------------------------------------

    def explanations(
        self, known: dict[Any, Any] | None = None, place: int = 0
    ) -> list[Explanation]:
        """What its adversaries or its criterion find: one for each point, or for the criterion.

        `place` is the position in the policy; for `known` see `disclosures`.
        """
        required, beside = self.requirement, self.sight.known
        if (criterion := required.criterion) is not None:
            attained = criterion.attained(self.counts_by_policy)
            holds = attained.holds and criterion.holds(self.counts_by_policy)
            return [Explanation(place, required, criterion, Limit(), attained, beside, safe=holds)]
        made = []
        for point, found in zip(required.points, self.disclosures(known), strict=True):
            top = point.worst(found)
            others = tuple(point.ranked(d for d in found if d is not top))
            counts = counts_of(self.called(top.value).counts)
            about = place, required, point.adversary, point.limit, top, beside, others, counts
            made.append(Explanation(*about, safe=top.keeps(point.limit)))
        return made

    def disclosures(self, known: dict[Any, Any] | None = None) -> list[list[Disclosure]]:
        """For each point, the worst disclosure of each secret.

        Results for single values are cached in `known`, for other requirements.
        """
        known = {} if known is None else known
        found: list[list[Disclosure]] = [[] for _ in self.requirement.points]
        for own in self.secrets:
            for point, listed in zip(self.requirement.points, found, strict=True):
                listed += own.found_by(point, known)
        return found

    def found_by(self, point: Point, known: dict[Any, Any]) -> Iterable[Disclosure]:
        """The worst disclosure of its only set, or of each value."""
        if self.meant.places is not None:
            name = self.labels[-1]
            if not self.meant.about.any():  # nobody has a value of the set
                return [Disclosure(name, 0.0, lambda: Fraction(0))]
            if self.number_of_cases is not None:
                return [self._of_people(point)[-1]]
            if isinstance(point.adversary, Summing):  # who needs the values of the set kept apart
                ((_, members),) = self.meant.sets.items()
                relative = point.relative
                return [
                    point.adversary.disclosure_of_set(
                        self._by_policy, members, name, relative=relative
                    )
                ]
            return [point.adversary.disclosure(self.counts_by_policy, name)]
        if self.number_of_cases is not None:
            found = self._of_people(point)
            about = np.flatnonzero(np.asarray(self.asked)).tolist()
            return [found[code] for code in about]
        key = point.adversary, point.relative, id(self.counts_by_policy)
        if key not in known:  # the counts are kept, too, so that no others get their id
            known[key] = self.counts_by_policy, point.disclosures(self.counts_by_policy)
        each, asked = known[key][1], self.asked
        if isinstance(asked, Windows):
            return list(each)
        return [found for found, about in zip(each, asked.tolist(), strict=True) if about]

    def _of_people(self, point: Point) -> list[Disclosure]:
        """Upper bounds for people, for each value; from the most cases, if persons are unknown."""
        if self.people is not None:
            return self.people.disclosures(point, self.counts_by_policy)
        assert self.number_of_cases is not None
        return of_most_cases(point, self.counts_by_policy, int(self.number_of_cases.max()))

    @property
    def apart(self) -> bool:
        """Whether some adversary needs the values of its sets kept apart."""
        points = self.requirement.points
        return self.requirement.about_sets and any(isinstance(p.adversary, Gaining) for p in points)

    def parts(self, semantics: Semantics, everyone: GroupCounts | None = None) -> list[Part]:
        """The ledgers for a search, each with the function that counts groups for it."""
        counted = self.again if self.number_of_cases is None else self.by_most_cases
        return [Part(counted, ledger) for ledger in self.ledgers(semantics, everyone)]

    def ledgers(self, semantics: Semantics, everyone: GroupCounts | None = None) -> list[Ledger]:
        """Start its ledgers: one for each point, or the criterion's.

        `everyone` is the whole table, for a criterion that compares groups with it.
        """
        requirement, number = self.requirement, self.number_of_cases
        if requirement.criterion is not None:
            whole = None if everyone is None else counts_of(self.again(everyone)).totals
            return [requirement.criterion.ledger(semantics, whole)]
        ledgers = []
        for point in requirement.points:
            require(point.adversary, searched=True, of=requirement.name)
            assert isinstance(point.adversary, Searchable)
            if number is not None:
                ledgers.append(ledger_of_people(point, self.asked, semantics, int(number.max())))
                continue
            if isinstance(counts_of(self.seen).able, JointMembers):
                ledgers.append(self._by_group(point))
                continue
            ledgers.append(point.adversary.ledger(point.below, self.asked, semantics))
        return ledgers

    def _by_group(self, point: Point) -> Ledger:
        """A ledger that asks of each group by itself how sure somebody may become."""

        def fails(counts: GroupCounts) -> BoolArray:
            chances = point.adversary.chances(counts)
            failing = np.zeros(counts.n_groups, dtype=bool)
            cells = np.flatnonzero(np.asarray(self.asked)[chances.value])
            failing[chances.case[cells[chances.reaching(point.below, cells)]]] = True
            return failing

        return EachGroup(fails)


def _in_sight(requirement: Requirement, sight: Seen, groups: GroupCounts) -> GroupCounts:
    """The groups as they are seen: one column counted, and divided by what is known."""
    if not isinstance(groups.values, JointLabels):
        return groups.seen(requirement.sensitive, requirement.known)
    seen = groups.seen(sight.secret, sight.known)
    return seen if requirement.unit is None else seen.as_kind(UnitCounts)
