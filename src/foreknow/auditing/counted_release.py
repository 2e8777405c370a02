"""A release, counted as each requirement of a policy asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from foreknow.adversaries.release_counts import counts_of
from foreknow.auditing.audit_input import (
    Owned,
    OwnersTable,
    has_owners_table,
    owned_of_each,
    part_of,
    prepare,
    read_at_once,
    refuse_linked_households,
    release_of,
)
from foreknow.auditing.compared_verdicts import verdicts_of_requirement
from foreknow.auditing.named_values import held_by, refuse_misspelt
from foreknow.data.arrays import IntArray
from foreknow.data.columns.reading_rules import BLANKS, Reading
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.people.households import Shared
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import Possible, Sight, seen_with
from foreknow.data.tables.profile.column_advice import refuse_misread
from foreknow.policy.explanation import Explanation
from foreknow.policy.policy import Policy
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow.wording import unit_counted
from foreknow_judge.errors import DataError, InputError, UnsupportedError
from foreknow_judge.verdict import Verdict


@dataclass(frozen=True)
class CountedRelease:
    """A release, its policy, and what each requirement counts."""

    release: Release
    policy: Policy
    counts: GroupCounts
    requirement_counts: tuple[RequirementCounts, ...]
    tables: Sequence[OwnersTable | None]  # by requirement; None if the release shows enough
    shown_policy: Policy  # the part of the policy that the release itself shows
    sight: Release | Sight | None = None  # the release as an adversary sees it
    name: str = "release"
    word: tuple[str, ...] = ()  # what a reader has to take the publisher's word for
    open: tuple[str, ...] = ()  # columns of rules that do not settle who cannot have a value
    has_earlier: bool = False

    @property
    def cases(self) -> bool:
        """True if rows are cases, of which a person may have several."""
        return self.policy.rules.unit == "row"

    def verdicts(self, *, by_judge: bool) -> tuple[tuple[Verdict, ...], tuple[str, ...]]:
        """The verdicts on each requirement, and the names of those too large for the judge.

        Not `by_judge`: explanations in place of verdicts, for `publish`, which replaces them by
        the judge's verdicts on the files before anybody sees them.
        """
        # What requirements share: findings on single values, and counted rows of the release.
        findings: dict[Any, Any] = {}
        memo: dict[Any, Any] = {}
        too_large: list[str] = []
        verdicts: list[Verdict] = []
        by_judge = by_judge or self.policy.owned  # files do not show what only the owner counts
        counts_and_tables = zip(self.requirement_counts, self.tables, strict=True)
        for position, (requirement_counts, table) in enumerate(counts_and_tables):
            explanations = requirement_counts.explanations(findings, position)
            explanations = [*unit_counted(self.cases).said(explanations, partial(map, _of_cases))]
            if by_judge:
                verdicts += verdicts_of_requirement(
                    self.release,
                    self.policy,
                    requirement_counts,
                    explanations,
                    owners=table,
                    memo=memo,
                    too_large=too_large,
                )
            else:
                verdicts += cast("list[Verdict]", explanations)
        return tuple(verdicts), tuple(too_large)


@contextmanager
def counted_release(
    release: Any, policy: Policy, group: str | None = None, people: Any = None
) -> Iterator[CountedRelease]:
    """A context with a release, prepared and counted as its policy asks; see `audit`.

    Values that the policy misspells are refused.
    """
    prepared, policy = prepare(release, policy, group)
    refuse_linked_households(prepared, policy)
    with _counting(prepared, policy, people) as release_counts:
        counts_of_columns = release_counts.release.by_column()  # as judged, and not read once more
        values = {name: held_by(counts) for name, counts in counts_of_columns.items()}
        refuse_misspelt(values, release_counts.shown_policy.requirements)
        yield release_counts


@contextmanager
def _counting(release: Release, policy: Policy, people: Any) -> Iterator[CountedRelease]:
    """A context with a release counted as each requirement asks, from one reading of its table.

    What only the owner can count is counted from the owner's table: the release's, or `people`.
    Without that table, its part of the policy is refused or left out.
    """
    release, policy = _under_schema_of_people(release, policy, people)
    if people is None:
        _refuse_unshown(policy, release)  # before anything is counted
    release = read_at_once(release, policy)
    shown_policy = policy.shown
    with _counted_at_once(release, shown_policy) as counts:
        _refuse_uncounted(policy, release, counts)
        _refuse_misread(release, counts, policy)
        visible = _as_adversary_sees(release, policy, people)
        if release.releases and policy.rules.shared:
            _refuse_split_households(release, policy.rules, visible)
        owned = owned_of_each(release, policy, visible)
        # What the owner counted a reader has to believe; without that, only what is shown counts.
        taken_on_trust = policy.word if any(owned) else ()
        if not taken_on_trust:
            _refuse_unshown(policy)
            policy, taken_on_trust = shown_policy, shown_policy.filed.word
        requirement_counts = _counts_of_requirements(release, policy, owned)
        # Whether of somebody it stays open if a rule on impossible values applies.
        is_open = any(
            counts_of(requirement.seen).possible.is_open for requirement in requirement_counts
        )
        yield CountedRelease(
            release,
            policy,
            counts,
            requirement_counts,
            tables=[by_owner and by_owner.table for by_owner in owned],
            shown_policy=shown_policy,
            sight=visible,
            name=release.name,
            word=taken_on_trust,
            open=tuple(policy.needed_schema.conditions) if is_open else (),
            has_earlier=release.has_earlier,
        )


def _under_schema_of_people(
    release: Release, policy: Policy, people: Any
) -> tuple[Release, Policy]:
    """The release and its policy under the schema of the owner's table, if it has a schema.

    `people` is that table, or None.
    """
    schema = part_of(people, "schema", Schema)
    if schema is not None:
        policy_of_people = policy.under(schema, people=True)
        if policy_of_people is not policy:
            release = release_of(release, policy_of_people)
        policy = policy_of_people
    if policy.schema is not None:
        policy = policy.for_layout(release.layout)
    return release, policy


def _counts_of_requirements(
    release: Release, policy: Policy, owned: Sequence[Owned | None]
) -> tuple[RequirementCounts, ...]:
    """The counts for each requirement of the policy.

    They are those of the owner's table where it is at hand (`owned`, None elsewhere), or else what
    the release shows.
    """
    # Who can have which values, if the schema has rules on this.
    possible = Possible(release, policy.rules) if policy.rules.impossible else None
    counted: list[RequirementCounts] = []
    for requirement, by_owner in zip(policy.requirements, owned, strict=True):
        if by_owner is None:
            counted.append(requirement.count(release, possible))
        else:
            counted.append(
                RequirementCounts.of_counts(requirement, by_owner.counts, by_owner.cases)
            )
    return tuple(counted)


def _refuse_uncounted(policy: Policy, release: Release, counts: GroupCounts) -> None:
    """Raise an error if a release was not counted as its policy asks.

    Refused are other semantics (one value per person, or several), a release without groups, and
    rules on who cannot have which values if only counts are at hand.
    """
    stated = release.semantics if policy.schema is None else policy.schema.semantics
    if stated != release.semantics:
        raise UnsupportedError(
            f"the policy is for semantics {stated!r}, but the release was counted under "
            f"{release.semantics!r}"
        )
    if release.is_bare and (counts.possible.restricts or policy.rules.impossible):
        raise UnsupportedError(
            "the schema says what some people cannot have (impossible), and counts do not say who "
            "these are; give the release itself, or leave impossible out"
        )
    if not counts.n_groups:
        raise DataError("the release has no groups")


def _of_cases(explanation: Explanation) -> Explanation:
    """The explanation; of a criterion on values, with the remark that it counted cases."""
    remark = explanation.requirement.subject.on_cases
    if not explanation.of_groups or not remark:
        return explanation
    text = f"{explanation.found.words}; {remark}"
    return replace(explanation, found=replace(explanation.found, words=text))


def _refuse_split_households(release: Release, schema: Schema, visible: Release | Sight) -> None:
    """Refuse several releases if a household may be in two, so that both show its value.

    `visible` may have the owner's table: its people, and the group of each.
    """
    may_be_split = True  # unless the owner's table shows that none is
    match visible.owners:
        case (Microdata() as people, groups) if release.cohort:
            may_be_split = _is_split(people, groups, release, schema)
    if may_be_split:
        raise UnsupportedError(
            "what households share is not judged of several releases together where a household "
            "may be in two of them: publish the later one with --after, which sees to it"
        )


def _is_split(people: Microdata, groups: IntArray, release: Release, schema: Schema) -> bool:
    """True if people of one household are in groups of several releases."""
    households, names = people.as_it_stands(cast("Shared", schema.shared).by)
    # One of the group columns (cohort) says which release a group is from.
    cohort_position = release.group_columns.index(release.cohort)
    labels: Any = release.counts.groups
    release_of_group = np.unique(
        [str(label[cohort_position]) for label in labels], return_inverse=True
    )[1]
    is_named = households < len(names) - names.null_count
    # The distinct pairs of a household and a release: a household in two pairs is split.
    pairs = np.stack([households[is_named], release_of_group[groups][is_named]])
    household_of_pair, _ = np.unique(pairs, axis=1)
    return len(np.unique(household_of_pair)) < len(household_of_pair)


def _refuse_unshown(policy: Policy, release: Release | None = None) -> None:
    """Refuse to judge by columns that a release does not show, or of people by their cases.

    Not where the release is a table of its owner, which has them.
    """
    if policy.owned and (release is None or not has_owners_table(release, policy, release)):
        policy.refuse_unshown()


@contextmanager
def _counted_at_once(release: Release, policy: Policy) -> Iterator[GroupCounts]:
    """A context with the counts of a release, in which all its requirements were counted, too.

    The table is read once, with the most columns that some requirement sees; narrower counts follow
    from these. A table that may change while it is read is read with all columns at once.
    """
    layout = release.layout
    requirements = []
    knowing_all = []  # the same requirements, if the adversary knew every column beside
    for requirement in policy.requirements:
        if requirement.sensitive in (None, *release.sensitives):
            requirements.append(requirement)
            all_known = requirement.knowing_all(layout)
            if all_known is not None:
                knowing_all.append(all_known)
    columns_seen: list[set[str]] = []
    for requirement in (*requirements, *knowing_all):
        column = requirement.sensitive or release.sensitive
        columns_seen.append({*requirement.seen_columns(layout).known, column})
    to_read = max(columns_seen, key=len, default=set())
    if not release.is_stable:
        to_read = {*release.sensitives, *release.recognized}.union(*columns_seen)
    with release.reading(sorted(to_read)):
        counts = release.counts
        for requirement in policy.requirements:  # the release keeps the counts
            counts_of(requirement.count(release).seen)
        for requirement in knowing_all:
            with suppress(InputError):  # then no remark says how many people it would reach
                counts_of(requirement.count(release).seen)
        yield counts


def _refuse_misread(release: Release, counts: GroupCounts, policy: Policy) -> None:
    """Refuse a raw table where a few odd texts turn a column of numbers or dates into texts.

    Spellings of missing values are not odd.
    """
    schema = policy.schema
    columns = release.group_columns
    # In a published table there may be any labels.
    if schema is None or not set(columns) <= set(schema.quasi_identifiers):
        return
    reading = cast("Reading", schema.reading)
    for name, (names, of_group) in zip(columns, release.group_labels.parts, strict=False):
        if name in schema.types or name in schema.hierarchies:  # then it is said what they are
            continue
        missing_spellings = reading.spellings_of(name)
        people = np.bincount(of_group, counts.sizes, len(names)).astype(np.int64).tolist()
        people_by_text = {}
        for label, number_of_people in zip(names, people, strict=True):
            if isinstance(label, str) and label.strip(BLANKS) not in missing_spellings:
                people_by_text[label] = number_of_people
        refuse_misread(name, [*people_by_text], [*people_by_text.values()], labels=True)


def _as_adversary_sees(release: Release, policy: Policy, people: Any) -> Release | Sight:
    """The release, seen by an adversary who knows the columns of `people`."""
    match people:
        case None:
            return release
        case Sight():
            return people
    if policy.owned:
        people = policy.microdata(people)
    return seen_with(release, people, [])
