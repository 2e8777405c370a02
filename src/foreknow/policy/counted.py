"""Requirement counts: what a requirement asks of groups, and these groups as it counts them.

This is the one place that turns a release and a requirement into what is counted. Of several
sensitive columns one is counted, in groups that the columns divide which the adversary knows of
everybody. Where the secret is each value by itself that is all; any of a set is counted as one
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
from foreknow.criteria.size import UNITS
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics, refuse_sets
from foreknow.data.labels import JointLabels, Label, Labels
from foreknow.data.people import CASES
from foreknow.data.release import Release
from foreknow.data.sights import Sight
from foreknow.data.windows import Window, Windows
from foreknow.needs import require
from foreknow.policy.ledger import Part
from foreknow.policy.people import (
    MOST_CASES,
    CaseOwners,
    OwnersCounts,
    ledger_of_people,
    of_most_cases,
)
from foreknow.policy.sets import TargetValues, meant, refuse_unheld
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.layout import Layout, Seen
from foreknow_judge.verdict import Limit, Verdict

if TYPE_CHECKING:
    from foreknow.policy.requirement import Point, Requirement


class _Merged(NamedTuple):
    """What is counted with sets of values as one, and who looks alike in the release."""

    counts: GroupCounts
    alike: Any


@dataclass(frozen=True, eq=False)
class RequirementCounts:
    """What a requirement asks of groups: secret, sight, labels and counts.

    It is made once of a release, by `Requirement.count`; a search makes it of nobody, and counts
    each lot of groups `again`.
    """

    requirement: Requirement
    sight: Seen  # the column that must stay hidden, and which divide groups
    seen: HasCounts  # the groups in this sight, each value by itself
    # where a limit is about people: how many cases the person of each combination of values has
    number_of_cases: IntArray | None = None
    # and whose cases are in which of these groups, if that is known
    people: CaseOwners | None = None

    @classmethod
    def of(cls, requirement: Requirement, release: HasCounts) -> RequirementCounts:
        """A release, or counts, as a requirement counts them."""
        if isinstance(release, Release):
            requirement.check_columns(release.sensitives)
            sight = requirement.sight(release.layout)
            if requirement.of_classes and release.recognized:
                known = sight.known if requirement.taken is None else requirement.known
                return cls(requirement, sight, release.alike(known))
            if release.able_of is not None and not requirement.of_people:
                counts = release.able_of(requirement.sensitive, requirement.knowing)
                return cls(requirement, sight, counts)
            seen = release.seen(
                requirement.sensitive, requirement.taken, of_people=requirement.of_people
            )
            return cls(requirement, sight, seen)
        if isinstance(release, Sight):
            own = release.seen(requirement.sensitive, requirement.knowing)
            return cls(requirement, requirement.sight(Layout()), own)
        counts = counts_of(release)
        joint = counts.values if isinstance(counts.values, JointLabels) else None
        sight = requirement.sight(Layout() if joint is None else joint.layout)
        made = cls(requirement, sight, counts)
        made = replace(made, seen=made._in_sight(counts))
        if joint is None or CASES not in joint.columns or not requirement.points:
            return made
        codes, numbers = joint.columns[CASES]
        made = replace(made, number_of_cases=np.array(numbers, dtype=np.int64)[codes])
        if not isinstance(release, OwnersCounts) or release.cases is None:
            return made
        parts = counts.parts(made.sight.secret, made.sight.known)[release.cases.cells]
        return replace(made, people=CaseOwners(release.cases.name, release.cases.people, parts))

    @classmethod
    def of_nobody(
        cls, requirement: Requirement, values: Labels, semantics: Semantics
    ) -> RequirementCounts:
        """The same of the values of a table before anybody is counted, for a search."""
        none, start = np.zeros(0, dtype=np.int64), np.zeros(1, np.int64)
        if requirement.about_sets:
            refuse_sets(semantics)
        return cls.of(requirement, GroupCounts(none, start, none, none, values, None, semantics))

    def again(self, groups: GroupCounts) -> HasCounts:
        """Other groups of the same table, as it counts them."""
        return self._as_one(self._in_sight(groups).by_policy)

    def by_most_cases(self, groups: GroupCounts) -> HasCounts:
        """The same, with the most cases that somebody with a case in each group has."""
        counts = counts_of(self.again(groups))
        number = self.number_of_cases
        assert number is not None
        parts = groups.parts(self.sight.secret, self.sight.known)
        most = np.zeros(counts.n_groups, dtype=np.int64)
        np.maximum.at(most, parts, number[groups.codes])
        counts.memory[MOST_CASES] = most
        return counts

    def _in_sight(self, groups: GroupCounts) -> GroupCounts:
        if self.requirement.unit is not None and isinstance(groups.values, JointLabels):
            seen = groups.seen(self.sight.secret, self.sight.known)
            seen.memory[UNITS] = True
            return seen
        if isinstance(groups.values, JointLabels):
            return groups.seen(self.sight.secret, self.sight.known)
        return groups.seen(self.requirement.sensitive, self.requirement.known)

    def _as_one(self, seen: HasCounts) -> HasCounts:
        """Values that are one secret, counted as one; numbers that are near, as windows."""
        if self.requirement.of_windows:
            return self._windows(counts_of(seen))
        if self.requirement.of_people:  # whatever their values
            return seen
        if self.meant.places is None:
            return seen
        merged = counts_of(seen).recoded(self.meant.places, self.meant.labels)
        if self.requirement.criterion is None or not isinstance(seen, Release):
            return merged
        return _Merged(merged, seen.alike)  # a criterion of values may ask who looks alike, too

    def _windows(self, counts: GroupCounts) -> Windows:
        try:
            return Windows.of(counts, self.requirement.secret.width)
        except InputError as error:
            raise PolicyError(f"{self.requirement.name}: {error}") from None

    # ---- what is counted ----------------------------------------------------------------------

    @cached_property
    def counts(self) -> HasCounts:
        """What it counts, which says to whoever has not got the policy that it counts cases."""
        return self._as_one(self.seen)

    @cached_property
    def counts_by_policy(self) -> HasCounts:
        """What the adversary's posterior is computed from, for audit and search alike."""
        return self._as_one(self._by_policy)

    @property
    def _by_policy(self) -> HasCounts:
        """What is seen, by rules that are counted already."""
        return self.seen.by_policy if isinstance(self.seen, (Release, GroupCounts)) else self.seen

    @cached_property
    def limits_inference(self) -> bool:
        """Whether it limits what is inferred of this table: whose values and priors are known."""
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
        """Whether one limit could be broken of somebody here who has one of some sets of values."""
        if not point.relative:
            return point.limit.limits
        assert isinstance(point.adversary, Gaining)
        least = point.adversary.least(self.seen, asked)
        return least is not None and point.limit.limits_from(least)

    @cached_property
    def meant(self) -> TargetValues:
        """Which values are meant, of those that are seen."""
        return meant(self.requirement, counts_of(self.seen).values)

    @property
    def labels(self) -> Labels:
        """What values are called as they are counted."""
        return self.meant.labels

    @property
    def asked(self) -> BoolArray | Windows:
        """Which values it is about as they are counted; or windows of them."""
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
        """Each of its sets by itself; itself, where it is about single values.

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
        """The one of its secrets that is called so; itself, where it is about single values."""
        first, *more = self.secrets
        return next((own for own in more if own.labels[-1] == name), first)

    def together(self, found: Disclosure) -> GroupCounts:
        """What is counted of a disclosure's secret; the values of its window as one."""
        counts = counts_of(self.called(found.value).counts)
        if not self.requirement.of_windows or not isinstance(found.value, Window):
            return counts
        return self._windows(counts).merged(found.value)

    # ---- what is asked of it ------------------------------------------------------------------

    def verdicts(self, known: dict[Any, Any] | None = None, place: int = 0) -> list[Verdict]:
        """What came of it, at its place in the policy: one for each point, or for the criterion.

        Of `known` see `disclosures`.
        """
        required, beside = self.requirement, self.sight.known
        if (criterion := required.criterion) is not None:
            attained = criterion.attained(self.counts_by_policy)
            holds = attained.holds and criterion.holds(self.counts_by_policy)
            return [Verdict(place, required, criterion, Limit(), attained, holds, beside)]
        made = []
        for point, found in zip(required.points, self.disclosures(known), strict=True):
            top, judged, limit = point.worst(found), point.adversary, point.limit
            others = tuple(point.ranked(d for d in found if d is not top))
            of, safe = counts_of(self.called(top.value).counts), top.keeps(limit)
            made.append(Verdict(place, required, judged, limit, top, safe, beside, others, of))
        return made

    def disclosures(self, known: dict[Any, Any] | None = None) -> list[list[Disclosure]]:
        """For each point, what is found out at worst of each secret that it is about.

        What is found of single values is kept in `known`, for other requirements.
        """
        known = {} if known is None else known
        found: list[list[Disclosure]] = [[] for _ in self.requirement.points]
        for own in self.secrets:
            for point, listed in zip(self.requirement.points, found, strict=True):
                listed += own.found_by(point, known)
        return found

    def found_by(self, point: Point, known: dict[Any, Any]) -> Iterable[Disclosure]:
        """What an adversary finds out at worst of its one set, or of each value."""
        if self.meant.places is not None:
            name = self.labels[-1]
            if not self.meant.about.any():  # of which nobody has a value
                return [Disclosure(name, 0.0, lambda: Fraction(0))]
            if self.number_of_cases is not None:
                return [self._of_people(point)[-1]]
            if isinstance(point.adversary, Summing):  # to whom its values stay apart
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
        if key not in known:  # what is counted is kept, or another could get its id
            known[key] = self.counts_by_policy, point.disclosures(self.counts_by_policy)
        each, asked = known[key][1], self.asked
        if isinstance(asked, Windows):
            return list(each)
        return [found for found, about in zip(each, asked.tolist(), strict=True) if about]

    def _of_people(self, point: Point) -> list[Disclosure]:
        """What is found out of somebody at most, for each value; by the most cases, if need be."""
        if self.people is not None:
            return self.people.disclosures(point, self.counts_by_policy)
        assert self.number_of_cases is not None
        return of_most_cases(point, self.counts_by_policy, int(self.number_of_cases.max()))

    @property
    def apart(self) -> bool:
        """Whether its values stay apart to some adversary, so that nothing is counted as one."""
        points = self.requirement.points
        return self.requirement.about_sets and any(isinstance(p.adversary, Gaining) for p in points)

    def parts(self, semantics: Semantics, everyone: GroupCounts | None = None) -> list[Part]:
        """What a search asks of it: each ledger, and what that counts of some groups."""
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
            ledgers.append(point.adversary.ledger(point.below, self.asked, semantics))
        return ledgers
