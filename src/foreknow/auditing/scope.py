"""Scope: what the verdicts on a release do not cover, worked out from its counts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from foreknow.auditing.remarks.remark import JudgedRelease
from foreknow.auditing.remarks.remarks import counted_of
from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow.data.people.households import ELSEWHERE
from foreknow.data.release import Release
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow_judge.counts.group_bags import Column, GroupBags
from foreknow_judge.remarks.remarks import Question, remarks_on_values
from foreknow_judge.remarks.scope import Scope


def scope_of(release: Release, policy: Policy | None = None) -> Scope:
    """The things that verdicts on a release do not cover, as a `Scope`.

    Without a policy, nothing is known about which values are judged.
    """
    # Some remarks are counted by the judge, who sees only the files, and the others here.
    judged_release = JudgedRelease(release, policy)
    columns = judged_release.columns
    questions: list[Question] = []
    for name, requirements in judged_release.about.items():
        for required in requirements:
            questions.append(_question_of(required, columns[name].values))
    by_judge = remarks_on_values(
        {name: _bags_of(counts) for name, counts in columns.items()},
        None if policy is None else questions,
    )
    return Scope(**by_judge, **counted_of(judged_release))


def _question_of(required: Requirement, values: Labels) -> Question:
    """A requirement on the values of a table, as a question for the judge."""
    secret, absent = required.target.secret_for_judge(values), tuple(map(str, required.absent))
    is_limit = bool(required.points)
    return Question(required.name, required.sensitive, secret, is_limit, absent)


def _bags_of(counts: GroupCounts) -> GroupBags:
    """Counts in the judge's form; values that print alike are merged."""
    texts, code_of_text = np.unique([str(value) for value in counts.values], return_inverse=True)
    unnamed = Column((), np.zeros(len(counts.sizes), np.int64))
    codes = code_of_text[counts.codes]
    bags = GroupBags([unnamed], texts.tolist(), counts.cell_groups, codes, counts.counts)
    bags.people = counts.sizes
    return bags


def unprotected_codes(counts: GroupCounts, requirements: Iterable[Requirement]) -> IntArray:
    """The codes of values that no requirement is about, neither by themselves nor in sets.

    A code is the position of a value in `counts.values`.
    """
    free = np.ones(counts.n_values, dtype=bool)
    for requirement in requirements:
        if not requirement.points:  # a criterion, which is about no single value
            continue
        free &= ~requirement.meant(counts.values).about
        if ELSEWHERE in requirement.excluded:  # a marker, not a value
            free &= np.array([str(value) != ELSEWHERE for value in counts.values])
    return np.flatnonzero(free)
