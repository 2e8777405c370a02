"""Exposed: how many people could be found out, by each requirement, and in which groups.

A person is *found out* if the adversary's highest posterior for a value that the person has reaches
the limit, with that person as the target and the worst facts about them. All such facts are true:
a person who has the value has no other value, has it like any relative who has it, and other people
have the values that they have. A person is *suspected* if the limit is reached for some value,
whether they have it or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np

from foreknow.adversaries.adversary import HasCounts
from foreknow.adversaries.chances import Chances
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.release_counts import counts_of
from foreknow.call_hints import Plain
from foreknow.criteria.group_criterion import classes_of
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Label
from foreknow.policy.explanation import Explanation
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow_judge.numbers import CLOSE
from foreknow_judge.verdict import Limit, Verdict

_TENTHS = 10
# Chances this close to the limit, or to 1, are worked out as fractions.
_NEAR = 1e-6

# What says which limit people are over: a verdict, or an explanation beside one.
Judged: TypeAlias = Verdict | Explanation


@dataclass(frozen=True)
class PeopleCount(Plain):
    """How many people and groups a limit is reached for."""

    people: int  # who have the value, and could be found out
    groups: int  # in how many groups
    suspected: int  # people for whom the limit is reached, whether they have the value or not
    # whether `people` is only an upper bound: if one person may have several values (then so is
    # `groups`, under ``multiset``), or if a release does not say who of the people with a prior
    # has the value
    at_most: bool = False


@dataclass(frozen=True)
class ExposedGroup:
    """A group in which the limit is reached; for the owner only."""

    label: Label
    size: int  # its people
    people: int  # how many at most could be found out; all of them if a criterion fails
    certain: int | None  # how many of these with certainty
    # for the value with the highest posterior; None for a criterion
    disclosure: Disclosure | None


@dataclass(frozen=True, eq=False, repr=False)
class Exposed:
    """How many people are over the limit of a verdict."""

    verdict: Judged
    # people over the limit, or in groups that fail the criterion; None if the adversary (or the
    # criterion) has no result for each group
    over: PeopleCount | None = None
    # people about whom an adversary could be certain; None also for a criterion
    certain: PeopleCount | None = None
    # numbers of people by posterior: less than 10%, from 10%, ... from 90% to less than 100%, and
    # certain: eleven numbers, or none; within 1e-9 of a step people count as above it
    by_chance: tuple[int, ...] = ()
    # what `by_chance` counts: people, by a value that they have; values, if one person may have
    # several; or all people, by the value with the highest posterior, if a release does not say
    # who of the people with a prior has it
    about: Literal["people", "values", "suspected"] = "people"
    # what is over the limit
    where: _ExposedCells | _FailingGroups | _ExposedBySecrets | None = field(
        default=None, repr=False
    )
    # the column of the units that are counted instead of rows: persons or households
    unit: str | None = None
    limits: bool = True  # whether the requirement limits what is inferred about this table

    @property
    def requirement(self) -> Any:
        """The requirement of the verdict."""
        return self.verdict.requirement

    @property
    def groups(self) -> Iterator[ExposedGroup]:
        """The groups over the limit, the worst first."""
        return iter(()) if self.where is None else self.where.groups(self.verdict.required)

    def __repr__(self) -> str:
        over, certain = self.over, self.certain
        if over is None:
            return f"Exposed({self.requirement.name}: not counted)"
        sure = "" if certain is None else f", certain: {certain.people}"
        amounts = f"people: {over.people}, groups: {over.groups}"
        return f"Exposed({self.requirement.name}, {amounts}{sure})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "requirement": self.requirement.name,
            "judged": self.verdict.judged.to_dict(),
            **self.verdict.required.to_dict(),
            "over": None if self.over is None else self.over.to_dict(),
            "certain": None if self.certain is None else self.certain.to_dict(),
            "by_chance": list(self.by_chance),
            "about": self.about,
        }


def exposed_by(
    requirement_counts: RequirementCounts, verdicts: Sequence[Judged], limits: bool
) -> list[Exposed]:
    """Count who is exposed, for each verdict on one requirement; see `Exposed.limits`."""
    return [
        replace(exposed, limits=limits)
        for exposed in _exposed_by_requirement(requirement_counts, verdicts)
    ]


def _exposed_by_requirement(
    requirement_counts: RequirementCounts, verdicts: Sequence[Judged]
) -> list[Exposed]:
    """How many people are over the limit of each verdict on one requirement.

    A requirement may have several secrets (sets of values): people are counted for each, and then
    put together.
    """
    if verdicts[0].of_groups:  # a criterion
        return [
            _exposed_by_criterion(verdict, requirement_counts.counts_by_policy)
            for verdict in verdicts
        ]
    if not requirement_counts.tells_people:
        return [Exposed(verdict) for verdict in verdicts]
    by_secret = [_exposed_by_secret(secret, verdicts) for secret in requirement_counts.secrets]
    by_verdict = zip(*by_secret, strict=True)
    return [_exposed_by_any(requirement_counts, of_secrets) for of_secrets in by_verdict]


def _exposed_by_any(requirement_counts: RequirementCounts, by_secret: Sequence[Exposed]) -> Exposed:
    """The people who are exposed by any secret of a requirement.

    `by_secret` are those exposed by each secret. A person who is exposed by two counts once.
    """
    first = by_secret[0]
    if len(by_secret) == 1 or any(exposed.over is None for exposed in by_secret):
        return first
    if requirement_counts.people is not None:  # who is over the limit for each secret is not kept
        return Exposed(first.verdict)
    # For each secret, which values belong to it.
    values_of_secrets = [secret.meant.about for secret in requirement_counts.secrets]
    where = _ExposedBySecrets(by_secret, values_of_secrets, counts_of(requirement_counts.seen))
    groups = list(where.groups(first.verdict.required))
    certain_groups = [group for group in groups if group.certain]
    members = [*chain(*requirement_counts.meant.sets.values())]
    by_chance: tuple[int, ...] = ()
    if len(set(members)) == len(members):  # else somebody may have a value of two sets
        of_secrets = [exposed.by_chance for exposed in by_secret]
        by_chance = tuple(map(sum, zip(*of_secrets, strict=True)))
    over_by_secret = [exposed.over for exposed in by_secret]
    certain_by_secret = [exposed.certain for exposed in by_secret]
    return Exposed(
        first.verdict,
        over=_united_count(where.people(sure=False), groups, over_by_secret),
        certain=_united_count(where.people(sure=True), certain_groups, certain_by_secret),
        by_chance=by_chance,
        about=first.about,
        where=where,
    )


def _united_count(
    people: int, groups: Sequence[ExposedGroup], by_secret: Sequence[PeopleCount | None]
) -> PeopleCount:
    """The count for several secrets together; `groups` may have a group once for each secret.

    It is only an upper bound if the count for some secret is.
    """
    sizes = {group.label: group.size for group in groups}
    at_most = any(count is not None and count.at_most for count in by_secret)
    suspected = sum(sizes.values())
    return PeopleCount(people, groups=len(sizes), suspected=suspected, at_most=at_most)


def _exposed_by_secret(secret: RequirementCounts, verdicts: Sequence[Judged]) -> list[Exposed]:
    """The people who are exposed by one secret, for each verdict on it."""
    counts_by_policy, asked_values = secret.counts_by_policy, secret.asked
    counts = counts_of(counts_by_policy)
    exposed = []
    if secret.people is not None:  # rows are cases, and it is known whose
        is_asked = np.asarray(asked_values)
        for verdict in verdicts:
            people, groups = secret.people.count_over(
                verdict.judged, verdict.required, counts_by_policy, is_asked
            )
            over = PeopleCount(people, groups, suspected=people, at_most=True)
            exposed.append(Exposed(verdict, over, unit=secret.people.name))
        return exposed
    by_adversary: dict[Any, Chances | None] = {}
    for verdict in verdicts:
        adversary, limit = verdict.judged, verdict.required
        if adversary not in by_adversary:
            by_adversary[adversary] = adversary.chances(counts_by_policy)
        chances = by_adversary[adversary]
        # The adversary only knows its worst case: then nothing is said about everybody.
        if chances is None or (limit.relative and chances.prior is None):
            exposed.append(Exposed(verdict))
            continue
        assert limit.amount is not None
        # A cell is the chance that the people of a group have a value: those of asked values.
        cells = np.flatnonzero(np.asarray(asked_values)[chances.value])
        if limit.relative:
            is_over = chances.gaining(limit.amount, cells)
        else:
            is_over = chances.reaching(limit.amount, cells, limit.inclusive)
        is_sure = chances.sure(cells)
        where = _ExposedCells(counts, chances, over=cells[is_over], certain=cells[is_sure])
        # People who have the value, or people who are suspected of it; where somebody may have
        # several values, each of them counts.
        about: Any = "people" if chances.have_it else "suspected"
        about = "values" if chances.overlap else about
        exposed.append(
            Exposed(
                verdict,
                over=where.count(where.over),
                certain=where.count(where.certain, certain=True),
                by_chance=_people_by_tenth(chances, cells, is_sure),
                about=about,
                where=where,
            )
        )
    return exposed


def _exposed_by_criterion(verdict: Judged, counts_by_policy: HasCounts) -> Exposed:
    """The groups that fail a criterion; none are named if it does not fail by single groups."""
    criterion: Any = verdict.judged
    counts, classes = counts_of(counts_by_policy), classes_of(counts_by_policy)
    names_no_group = Exposed(verdict)
    # With exact columns, who looks alike is another matter than who is in a group: such a criterion
    # fails by groups only if enough people look alike.
    if not criterion.of_people and classes.of_exact_groups:
        too_few_look_alike = int(classes.sizes.min()) < criterion.least
        if too_few_look_alike:
            return names_no_group
        criterion = criterion.of_groups or criterion
    # An average over all groups, for example, can fail without a group that is to blame.
    if criterion.beyond_groups(counts):
        return names_no_group
    fails_by_group = criterion.fails(counts)  # None if it is no matter of single groups
    if fails_by_group is None:
        return names_no_group
    failing = np.flatnonzero(fails_by_group)
    # It fails, but no single group does, so there is none to name.
    if not len(failing) and not criterion.holds(counts):
        return names_no_group
    where = _FailingGroups(counts, failing, counts.units)
    return Exposed(verdict, where.count(), where=where, unit=verdict.requirement.unit)


def _people_by_tenth(chances: Chances, cells: IntArray, sure: BoolArray) -> tuple[int, ...]:
    """How many people an adversary is sure of to 0-10%, 10-20%, ... 90-100%, and for certain.

    `cells` are positions in `chances`, and `sure` says which of them are certain.
    """
    # The tenth of each chance; CLOSE, so that a float just below 0.3 counts as 0.3.
    tenths = np.minimum(np.floor((chances.chance[cells] + CLOSE) * _TENTHS), _TENTHS - 1)
    tenths = np.where(sure, _TENTHS, tenths).astype(np.int64)
    # For people who cannot be told apart by their values, the value with the highest chance.
    kinds, kind_of_cell = np.unique(chances.kind[cells], return_inverse=True)
    kind_of_cell = kind_of_cell.reshape(-1)
    highest = np.zeros(len(kinds), dtype=np.int64)
    np.maximum.at(highest, kind_of_cell, tenths)
    # Equal groups were computed once (a case): their people count as often as there are such.
    n_groups = _groups_per_case(chances)[chances.case[cells]]
    people = np.zeros(len(kinds), dtype=np.int64)
    people[kind_of_cell] = chances.people[cells] * n_groups
    people_by_tenth = np.bincount(highest, weights=people, minlength=_TENTHS + 1)
    return tuple(people_by_tenth.astype(np.int64).tolist())


def _groups_per_case(chances: Chances) -> IntArray:
    """The number of groups of each case."""
    if chances.case_of is None:
        return np.ones(int(chances.case.max(initial=-1)) + 1, dtype=np.int64)
    return np.bincount(chances.case_of)


@dataclass(frozen=True, eq=False)
class _ExposedBySecrets:
    """Groups over the limit by any of several secrets; a group once for each."""

    by_secret: Sequence[Exposed]
    values_of_secrets: Sequence[BoolArray]  # which values each secret is about
    values: GroupCounts  # of which each is counted by itself

    def people(self, *, sure: bool) -> int:
        """How many people have a value over the limit in their group; with `sure`, a certain one.

        A person who has values of two secrets counts once.
        """
        values = self.values
        is_over = np.zeros(len(values.codes), dtype=bool)  # for each value that occurs in a group
        for exposed, values_of_secret in zip(self.by_secret, self.values_of_secrets, strict=True):
            cells = exposed.where
            assert isinstance(cells, _ExposedCells)
            over = cells.groups_with(cells.certain if sure else cells.over)
            is_over |= over[values.cell_groups] & values_of_secret[values.codes]
        people = _sums(values.cell_groups[is_over], values.counts[is_over], values.n_groups)
        # Where somebody may have several values, at most everybody in the group.
        return int(np.minimum(people, values.sizes).sum())

    def groups(self, limit: Limit) -> Iterator[ExposedGroup]:
        """All of them, the secrets in order."""
        return chain.from_iterable(exposed.groups for exposed in self.by_secret)


@dataclass(frozen=True, eq=False)
class _FailingGroups:
    """Groups that fail a criterion."""

    counts: GroupCounts
    failing: IntArray
    sizes: IntArray  # people of each group, or different units, who may be in several

    def count(self) -> PeopleCount:
        people = int(self.sizes[self.failing].sum())
        may_overlap = self.sizes is not self.counts.sizes
        n_groups = len(self.failing)
        return PeopleCount(people, groups=n_groups, suspected=people, at_most=may_overlap)

    def groups(self, limit: Limit) -> Iterator[ExposedGroup]:
        for group in self.failing.tolist():
            size = int(self.sizes[group])
            label = self.counts.group_label(group)
            yield ExposedGroup(label, size, people=size, certain=None, disclosure=None)


@dataclass(frozen=True, eq=False)
class _ExposedCells:
    """Cells over a limit, and those that are certain."""

    counts: GroupCounts
    chances: Chances
    over: IntArray
    certain: IntArray

    def count(self, cells: IntArray, certain: bool = False) -> PeopleCount:
        """Count the people, groups and suspects that some cells are about.

        A cell is the chance of a value in a group; with `certain`, it is 1. Equal groups were
        computed once, as a case, and are counted here one by one.
        """
        people, suspected, bounded = self._people_by_case(cells, certain)
        case_of = self.chances.case_of
        if case_of is not None:  # from cases to groups; else each group is a case
            people, suspected, bounded = people[case_of], suspected[case_of], bounded[case_of]
        is_touched = suspected > 0
        return PeopleCount(
            people=int(people[is_touched].sum()),
            groups=int(np.count_nonzero(is_touched)),
            suspected=int(suspected.sum()),
            at_most=bool(bounded[is_touched].any()),
        )

    def groups_with(self, cells: IntArray) -> BoolArray:
        """The groups that contain some of the cells."""
        cases = np.zeros(self._n_cases, dtype=bool)
        cases[self.chances.case[cells]] = True
        return cases if self.chances.case_of is None else cases[self.chances.case_of]

    def _people_by_case(
        self, cells: IntArray, certain: bool
    ) -> tuple[IntArray, IntArray, BoolArray]:
        """For each case, the people found out, the people suspected, and if the first is a bound.

        A case is a kind of equal groups. Who is found out has the value that is suspected. A cell
        is the chance of a value for people of a case; people who cannot be told apart are a kind.
        """
        chances, case = self.chances, self.chances.case
        n_cases = self._n_cases
        _, first = np.unique(chances.kind[cells], return_index=True)  # each kind of people once
        kinds = cells[first]
        people = _sums(case[kinds], chances.people[kinds], n_cases)
        touched = np.bincount(case[cells], minlength=n_cases) > 0  # cases with any of the cells
        if chances.have_it:  # each cell counts only people who have its value
            bounded = np.zeros(n_cases, dtype=bool)
            # Somebody may have several values and count for each: then it is only a bound.
            if chances.overlap:
                several = np.bincount(case[kinds], minlength=n_cases) > 1
                bounded = {"multiset": touched}.get(self.counts.semantics, several)
                people = np.minimum(people, self.counts.sizes)
            return people, np.where(touched, self.counts.sizes, 0), bounded
        if certain:  # certainty is only about people who have the value
            return people, people, np.zeros(n_cases, dtype=bool)
        suspected = people
        # Found out are at most as many as have one of the suspected values: each value once.
        case_and_value = case[cells] * self.counts.n_values + chances.value[cells]
        distinct, first = np.unique(case_and_value, return_index=True)
        holders = _sums(case[cells[first]], chances.holders[cells[first]], n_cases)
        people = np.minimum(suspected, holders)
        # If all people of a group are suspected of the same values, the number is exact.
        n_values = np.bincount(distinct // self.counts.n_values, minlength=n_cases)
        n_cells = np.bincount(case[cells], minlength=n_cases)
        is_exact = n_cells == self._kinds_of_case * n_values
        return people, suspected, touched & ~is_exact

    @cached_property
    def _n_cases(self) -> int:
        case_of = self.chances.case_of
        return self.counts.n_groups if case_of is None else int(case_of.max(initial=-1)) + 1

    @cached_property
    def _kinds_of_case(self) -> IntArray:
        chances = self.chances
        _, first = np.unique(chances.kind, return_index=True)
        return np.bincount(chances.case[first], minlength=self._n_cases)

    def groups(self, limit: Limit) -> Iterator[ExposedGroup]:
        """Yield the groups over the limit, the worst first.

        Near the limit chances are fractions.
        """
        chances = self.chances
        # For each case (kind of equal groups), the cell over the limit with the highest chance.
        order = np.lexsort((chances.chance[self.over] * -1, chances.case[self.over]))
        cases, first = np.unique(chances.case[self.over[order]], return_index=True)
        top = self.over[order[first]]
        if chances.case_of is None:
            groups, cell = cases, top
        else:
            worst = np.full(self._n_cases, -1, dtype=np.int64)  # -1: no cell is over the limit
            worst[cases] = top
            groups = np.flatnonzero(worst[chances.case_of] >= 0)
            cell = worst[chances.case_of[groups]]
        ranked = np.lexsort((groups, -chances.chance[cell]))  # the surest first, then by position
        groups, cell = groups[ranked], cell[ranked]
        people, _, _ = self._people_by_case(self.over, certain=False)
        certain, _, _ = self._people_by_case(self.certain, certain=True)
        fraction_of_cell = self._near_limit(np.unique(cell), limit)
        for group, worst_cell in zip(groups.tolist(), cell.tolist(), strict=True):
            case = int(chances.case[worst_cell])
            prior: Fraction | None = None
            if limit.relative and chances.prior is not None:
                (prior,) = chances.prior(np.array([worst_cell]))
            disclosure = Disclosure(
                self.counts.values[int(chances.value[worst_cell])],
                float(chances.chance[worst_cell]),
                partial(fraction_of_cell.get, worst_cell),
                prior=prior,
            )
            yield ExposedGroup(
                self.counts.group_label(group),
                size=int(self.counts.sizes[group]),
                people=int(people[case]),
                certain=int(certain[case]),
                disclosure=disclosure,
            )

    def _near_limit(self, cells: IntArray, limit: Limit) -> dict[int, Fraction | None]:
        """Chances near the limit or certainty, as fractions."""
        chance = self.chances.chance[cells]
        is_near = 1 - chance <= _NEAR
        is_near |= limit.relative | (np.abs(chance - float(limit.at(None))) <= _NEAR)
        return dict(
            zip(cells[is_near].tolist(), self.chances.fractions(cells[is_near]), strict=True)
        )


def _sums(positions: IntArray, amounts: IntArray, n_positions: int) -> IntArray:
    return np.bincount(positions, weights=amounts, minlength=n_positions).astype(np.int64)
