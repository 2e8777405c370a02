"""The judge's verdicts on one requirement, compared with its explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from foreknow.adversaries.release_counts import counts_of
from foreknow.auditing.audit_input import OwnersTable
from foreknow.auditing.bare_counts import of_counts
from foreknow.auditing.questions import (
    rows_of_owner,
    rows_of_release,
    rows_of_several_values,
    share_rows,
    verdicts_on,
)
from foreknow.data.counts import refuse_values_written_alike
from foreknow.data.labels.labels import Labels
from foreknow.data.layout import Layout
from foreknow.data.release import Release
from foreknow.data.tables.rows import changed_table_error
from foreknow.errors import InternalError
from foreknow.needs import Need
from foreknow.policy.explanation import Explanation
from foreknow.policy.kinds import keys_of_kinds, kind_of, registered_kinds
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow_judge.counts.owner_counts import Counted
from foreknow_judge.errors import CertificateError
from foreknow_judge.registry import Kinds
from foreknow_judge.remarks.explanations import explained, unjudged
from foreknow_judge.verdict import Verdict


def verdicts_of_requirement(
    release: Release,
    policy: Policy,
    requirement_counts: RequirementCounts,
    explanations: Sequence[Explanation],
    owners: OwnersTable | None = None,
    memo: dict[Any, Any] | None = None,
    too_large: list[str] | None = None,
) -> list[Verdict]:
    """The verdicts on one requirement, each with the witness of its explanation.

    Explanations decide where the judge does not know the kind of knowledge, and where groups are
    too large for it and all explanations are upper bounds.

    Parameters
    ----------
    release : Release
    policy : Policy
    requirement_counts : RequirementCounts
        What the requirement counts of the release.
    explanations : sequence of Explanation
        What its adversaries or its criterion find of these counts.
    owners : tuple, optional
        The table of the owner, where only that shows what is asked.
    memo : dict, optional
        What was counted for other requirements on the same release.
    too_large : list, optional
        Gets the name of the requirement if its groups are too large for the judge: then the upper
        bound of its explanation decides.

    Raises
    ------
    InternalError
        If an explanation has another figure than the judge.
    """
    requirement = requirement_counts.requirement
    kinds = registered_kinds()
    if not all(_is_known(kind, kinds) for kind in requirement.judged):
        return [unjudged(explanation) for explanation in explanations]
    try:
        findings = findings_of(release, policy, requirement, explanations[0].place, owners, memo)
    except CertificateError as error:
        # An upper bound is safe to rely on without the judge; an exact figure is not.
        if error.code != "too-large" or not all(
            explanation.bounded for explanation in explanations
        ):
            raise
        if too_large is not None:
            too_large.append(requirement.name)
        return [unjudged(explanation) for explanation in explanations]
    try:
        return with_witnesses(findings, explanations)
    except InternalError:
        # They differ: the table changed, or two values are written alike. Else it is our fault.
        if not release.is_stable:
            raise changed_table_error(release.tables.table) from None
        refuse_values_written_alike(counts_of(requirement_counts.seen).values)
        raise


def findings_of(
    release: Release,
    policy: Policy,
    requirement: Requirement,
    position: int,
    owners: OwnersTable | None = None,
    memo: dict[Any, Any] | None = None,
) -> list[Verdict]:
    """The judge's verdicts on one requirement, without explanations.

    `position` is its place in the policy. `owners` is the owner's table, where only that shows what
    is asked; `memo` keeps what was counted for other requirements.
    """
    counted_rows, values, layout = _input_of_judge(release, policy, requirement, owners)
    columns = counted_rows.exact or counted_rows.groups
    counted_rows = replace(counted_rows, populations=_populations(requirement, columns))
    if memo is not None:
        share_rows(counted_rows, memo)
    table = requirement.subject.asked(values, policy.schema, layout)
    # Where people have several values, these stand apart from all other columns.
    in_rows = counted_rows.for_sensitive(counted_rows.sensitive).semantics == "single"
    table = {**table, "knowing": list(requirement.seen_columns(layout).known) if in_rows else []}
    return verdicts_on(counted_rows, table, registered_kinds(), position)


def with_witnesses(
    findings: Sequence[Verdict], explanations: Sequence[Verdict | Explanation]
) -> list[Verdict]:
    """The judge's findings in the order of their explanations, each with its witness.

    Findings are in the order of a policy file, which has points of one kind beside each other. If a
    finding and its explanation disagree, it is an internal error: one of the two has a mistake.
    """
    # Findings of one requirement and kind of knowledge are beside each other.
    kinds = [(explanation.place, explanation.judged.key) for explanation in explanations]
    distinct_kinds = list(dict.fromkeys(kinds))
    order = sorted(range(len(kinds)), key=lambda position: distinct_kinds.index(kinds[position]))
    if len(order) != len(findings):
        raise InternalError(f"the judge has {len(findings)} findings, the audit {len(order)}")
    verdicts: dict[int, Verdict] = {}
    for position, finding in zip(order, findings, strict=True):
        explanation = explanations[position]
        verdict = explained(finding, explanation)
        if verdict is None:
            raise InternalError(
                f"the judge and the audit disagree: {finding.to_dict()} and {explanation}"
            )
        verdicts[position] = verdict
    return [verdicts[position] for position in range(len(explanations))]


def _is_known(kind: Any, kinds: Kinds) -> bool:
    """True if the judge knows an adversary or a criterion; else its own word is all there is."""
    key = getattr(kind, "key", None)
    is_registered = key in keys_of_kinds() and type(kind) is kind_of(key)
    return is_registered and key in {*kinds.judges, *kinds.gauges}


def _populations(requirement: Requirement, columns: Sequence[str]) -> dict[str, Any]:
    """The populations that a requirement compares groups with, by digest.

    `columns` are the columns that they are compared by.
    """
    populations = []
    for criterion in requirement.judged:
        if Need.POPULATION in criterion.needs:
            populations.append(criterion.population)
    for population in populations:
        population.columns = population.columns or tuple(columns)  # of a policy without a schema
    return {population.digest(): population.written() for population in populations}


def _input_of_judge(
    release: Release, policy: Policy, requirement: Requirement, owners: OwnersTable | None
) -> tuple[Counted, Any, Layout]:
    """The input of the judge for a requirement: counted rows, values of columns, and the layout.

    The rows are those of the owner's table, if it is at hand (`owners`: the table, the group of
    each row, and labels), or else of the release as the requirement's adversary sees it.
    """
    of_people = requirement.of_people
    if owners is not None:
        people, groups, _ = owners
        schema, layout = policy.needed_schema, release.layout
        domains = {column.name: Labels(column.domain) for column in people.sensitives}
        by_owner = rows_of_owner(
            people,
            groups,
            schema.to_dict(),
            requirement.sensitive or schema.sensitive,
            requirement.known,
            linked=layout.linked,
            person=requirement.persons if requirement.points else "",
            by=requirement.unit,
        )
        return by_owner, domains, layout
    visible, layout = requirement.subject.rows(release), release.layout
    if release.is_bare:  # counts without a table, whose columns have no names
        secret = requirement.sensitive or "value"
        by_counts = of_counts(visible.counts, secret, of_people=of_people)
        return by_counts, visible.counts.values, layout
    domains = {name: counts.values for name, counts in release.by_column().items()}
    if visible.linked:  # people may have several values
        exact = requirement.subject.exact(release)
        return rows_of_several_values(visible, exact), domains, layout
    rules = {} if policy.schema is None else policy.to_dict()["schema"]
    return rows_of_release(release, visible, rules, of_people=of_people), domains, layout
