"""Counted release: a release, or what its owner has, counted as each requirement asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from foreknow.adversaries.release_counts import counts_of
from foreknow.auditing.audit_input import (
    OwnersTable,
    has_owner,
    owned_of_each,
    part_of,
    prepare,
    read_at_once,
    release_of,
)
from foreknow.auditing.judged import judged
from foreknow.auditing.named_values import held_by, refuse_misspelt
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.column_advice import refuse_misread
from foreknow.data.engines.households import Shared
from foreknow.data.microdata import Microdata
from foreknow.data.reading import BLANKS, Reading
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import Possible, Sight, seen_with
from foreknow.policy.counted import RequirementCounts
from foreknow.policy.explanation import Explanation
from foreknow.policy.policy import Policy
from foreknow_judge.errors import DataError, InputError, UnsupportedError
from foreknow_judge.verdict import Verdict


@dataclass(frozen=True)
class CountedRelease:
    """A release, and the groups that each requirement of a policy counts of it."""

    release: Release
    policy: Policy
    counts: GroupCounts
    requirement_counts: tuple[RequirementCounts, ...]
    tables: Sequence[OwnersTable | None]  # of requirements that only the owner can judge
    shown_policy: Policy  # what the release shows of the policy
    sight: Release | Sight | None = None  # by an adversary who learns from it
    name: str = "release"
    word: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    has_earlier: bool = False

    @property
    def cases(self) -> bool:
        """True if rows are cases, of which a person may have several."""
        return self.policy.rules.unit == "row"

    def verdicts(self, *, by_judge: bool) -> tuple[tuple[Verdict, ...], tuple[str, ...]]:
        """The judge's verdicts on each requirement; and the requirements that it found too large.

        In place of verdicts, explanations of what files show.
        """
        findings: dict[Any, Any] = {}
        memo: dict[Any, Any] = {}
        too_large: list[str] = []
        verdicts: list[Verdict] = []
        by_judge = by_judge or self.policy.owned
        for place, (of_requirement, table) in enumerate(
            zip(self.requirement_counts, self.tables, strict=True)
        ):
            explanations = of_requirement.explanations(findings, place)
            if self.cases:
                explanations = [*map(_of_cases, explanations)]
            if not by_judge:
                # which `publish` replaces by verdicts on the files, before anybody sees them
                verdicts += cast("list[Verdict]", explanations)
                continue
            what_is_judged = self.release, self.policy, of_requirement, explanations
            verdicts += judged(*what_is_judged, table, memo, too_large)
        return tuple(verdicts), tuple(too_large)


@contextmanager
def counted_release(
    release: Any, policy: Policy, group: str | None = None, people: Any = None
) -> Iterator[CountedRelease]:
    """Prepare a release, and count it as its policy asks; see `audit`."""
    prepared, policy = prepare(release, policy, group)
    with _counting(prepared, policy, people) as release_counts:
        counts_of_columns = release_counts.release.by_column()  # as judged, and not read once more
        values = {name: held_by(counts) for name, counts in counts_of_columns.items()}
        refuse_misspelt(values, release_counts.shown_policy.requirements)
        yield release_counts


@contextmanager
def _counting(release: Release, policy: Policy, people: Any) -> Iterator[CountedRelease]:
    """Count a release, or what its owner has, as each requirement asks; with one reading."""
    schema = part_of(people, "schema", Schema)
    if schema is not None:
        of_people = policy.under(schema, people=True)
        if of_people is not policy:
            release = release_of(release, of_people)
        policy = of_people
    if policy.schema is not None:
        policy = policy.for_layout(release.layout)
    if people is None:
        _refuse_unshown(policy, release)  # before anything is counted
    table = read_at_once(release, policy)
    shown_policy = policy.shown
    with _counted_at_once(table, shown_policy) as counts:
        _refuse_uncounted(policy, table, counts)
        _refuse_misread(table, counts, policy)
        sight = _seen(table, policy, people)
        if table.releases and policy.rules.shared:
            _refuse_split_households(table, policy.rules, sight)
        owned = owned_of_each(table, policy, sight)
        word = policy.word if any(owned) else ()
        if not word:
            _refuse_unshown(policy)
            policy, word = shown_policy, shown_policy.filed.word
        rules = policy.rules
        possible = Possible(table, rules) if rules.impossible else None
        requirement_counts = tuple(
            requirement.count(table, possible)
            if by_owner is None
            else RequirementCounts.of_counts(requirement, by_owner.counts, by_owner.cases)
            for requirement, by_owner in zip(policy.requirements, owned, strict=True)
        )
        is_open = any(counts_of(counted.seen).able.is_open for counted in requirement_counts)
        left_open = policy.needed_schema.conditions if is_open else ()
        tables = [by_owner and by_owner.table for by_owner in owned]
        what_is_counted = table, policy, counts, requirement_counts, tables, shown_policy
        how = sight, table.name, word, tuple(left_open), table.has_earlier
        yield CountedRelease(*what_is_counted, *how)


def _refuse_uncounted(policy: Policy, release: Release, counts: GroupCounts) -> None:
    """Refuse a policy for other semantics, what has no groups, and rules on bare counts."""
    stated = release.semantics if policy.schema is None else policy.schema.semantics
    if stated != release.semantics:
        raise UnsupportedError(
            f"the policy is for semantics {stated!r}, but the release was counted under "
            f"{release.semantics!r}"
        )
    if release.is_bare and (counts.able.restricts or policy.rules.impossible):
        raise UnsupportedError(
            "the schema says what some people cannot have (impossible), and counts do not say who "
            "these are; give the release itself, or leave impossible out"
        )
    if not counts.n_groups:
        raise DataError("the release has no groups")


def _of_cases(explanation: Explanation) -> Explanation:
    """The explanation of a criterion of values, with a remark that it counted cases."""
    if not explanation.of_groups or explanation.requirement.of_people:
        return explanation
    remark = "counted are cases, and all of them may be of one person"
    words = f"{explanation.found.words}; {remark}"
    return replace(explanation, found=replace(explanation.found, words=words))


def _refuse_split_households(release: Release, schema: Schema, sight: Release | Sight) -> None:
    """Refuse several releases of which a household may be in two, so that both show its value."""
    shared, split = cast("Shared", schema.shared), True
    people, groups = sight.owners or (None, None)
    if isinstance(people, Microdata) and release.cohort:
        codes, distinct = people.as_it_stands(shared.by)
        place = release.group_columns.index(release.cohort)
        labels: Any = release.counts.groups
        cohorts = np.unique([str(label[place]) for label in labels], return_inverse=True)[1]
        has_home = codes < len(distinct) - distinct.null_count
        homes = np.unique(np.stack([codes[has_home], cohorts[groups][has_home]]), axis=1)[0]
        split = len(np.unique(homes)) < len(homes)
    if split:
        raise UnsupportedError(
            "what households share is not judged of several releases together where a household "
            "may be in two of them: publish the later one with --after, which sees to it"
        )


def _refuse_unshown(policy: Policy, release: Release | None = None) -> None:
    """Refuse to judge by columns that a release does not show, or of people by their cases.

    Not where the release is a table of its owner, which has them.
    """
    if policy.owned and (release is None or not has_owner(release, policy, release)):
        policy.refuse_unshown()


@contextmanager
def _counted_at_once(release: Release, policy: Policy) -> Iterator[GroupCounts]:
    """Count a release, and what requirements see of it, with one reading where one sees most.

    A table that may change while it is read is read once, whatever they see.
    """
    shown_requirements = [
        required
        for required in policy.requirements
        if required.sensitive in (None, *release.sensitives)
    ]
    knowing_all = [
        all_known
        for required in shown_requirements
        if (all_known := required.knowing_all(release.layout))
    ]
    sights: list[set[str]] = [
        {*requirement.sight(release.layout).known, requirement.sensitive or release.sensitive}
        for requirement in (*shown_requirements, *knowing_all)
    ]
    widest = max(sights, key=lambda sight: len(sight), default=set())
    if not release.settled:
        widest = {*release.sensitives, *release.recognized}.union(*sights)
    with release.reading(sorted(widest)):
        counts = release.counts
        for requirement in policy.requirements:
            counts_of(requirement.count(release).seen)
        for requirement in knowing_all:
            with suppress(InputError):  # then it is not said how many people it would reach
                counts_of(requirement.count(release).seen)
        yield counts


def _refuse_misread(release: Release, counts: GroupCounts, policy: Policy) -> None:
    """Refuse a raw table with a column of dates or numbers that a few texts make one of texts.

    A text that stands for a missing value is not one of these.
    """
    schema = policy.schema
    columns = release.group_columns
    if schema is None or not set(columns) <= set(schema.quasi_identifiers):
        return
    reading = cast("Reading", schema.reading)
    for name, (names, of_group) in zip(columns, release.group_labels.parts, strict=False):
        if name in schema.types or name in schema.hierarchies:
            continue
        spellings = reading.spellings_of(name)
        people = np.bincount(of_group, counts.sizes, len(names)).astype(np.int64).tolist()
        texts = {
            label: n
            for label, n in zip(names, people, strict=True)
            if isinstance(label, str) and label.strip(BLANKS) not in spellings
        }
        refuse_misread(name, [*texts], [*texts.values()], labels=True)


def _seen(release: Release, policy: Policy, people: Any) -> Release | Sight:
    """The release as somebody sees it who knows these people's columns."""
    if people is None or isinstance(people, Sight):
        return release if people is None else people
    if policy.owned and not isinstance(people, Microdata):
        people = Microdata(people, policy.needed_schema, beside=policy.owned_columns)
    return seen_with(release, people, [])
