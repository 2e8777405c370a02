"""Scope: what the verdicts on a release do not cover, worked out from its counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.auditing.exposed import exposed_by
from foreknow.auditing.named_values import near_values, refuse_misspelt
from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.column_advice import amount_marks, has_decimal_commas, separator_of
from foreknow.data.engines.households import ELSEWHERE
from foreknow.data.labels import Labels
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.windows import Range
from foreknow.methods.proof import NOT_JUDGED
from foreknow.plugins import foreign
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow_judge.counting import Column, GroupBags
from foreknow_judge.errors import InputError
from foreknow_judge.grammar import Secret
from foreknow_judge.remarks import Question, remarks_on_values
from foreknow_judge.scope import Scope


def scope_of(release: HasCounts, policy: Policy | None = None) -> Scope:
    """The scope of a release; without a policy, nothing is known about which values are judged."""
    counts, schema = counts_of(release), None if policy is None else policy.schema
    table = release if isinstance(release, Release) else None
    if table is None:
        columns = {"": counts}
    else:
        columns = {name: table.seen(name, []).counts for name in table.sensitives}
    requirements = () if policy is None else policy.requirements
    there = {
        name: [own.values[code] for code in np.flatnonzero(own.totals)]
        for name, own in columns.items()
    }
    refuse_misspelt(there, requirements)
    about = _about(requirements, columns)
    questions = [_question_of(own, columns[name].values) for name in about for own in about[name]]
    texts = [] if schema is None else [n for n, kind in schema.types.items() if kind == "text"]
    answers, amounts = _written_oddly(columns, about)
    scope = Scope(
        near=_near_each_other(columns, about, texts),
        several_answers=answers,
        amounts=amounts,
        method=None if policy is None else NOT_JUDGED,
        **remarks_on_values(
            {name: _bags_of(own) for name, own in columns.items()},
            None if policy is None else questions,
        ),
        cases=schema is not None and schema.unit == "row",
        # by class, since a class of another package may have one of Foreknow's keys
        foreign=foreign(type(own) for of in requirements for own in of.judged),
    )
    return scope if table is None else _of_table(scope, table, policy)


def _of_table(scope: Scope, table: Release, policy: Policy | None) -> Scope:
    """The scope with what a table shows besides its counts."""
    layout, known = table.layout, [] if policy is None else sorted(policy.attributes)
    beside: list[str] = []
    assumed: dict[str, tuple[str, ...]] = {}
    if policy is not None:
        sights = [of.sight(layout) for of in policy.requirements if not of.of_people]
        of_people = [of.sight(layout).known for of in policy.requirements if of.of_people]
        looked = layout.looked_at(sights, of_people)
        assumed = layout.assumed(sights)
        known += looked
        stand = [name for name in table.sensitives if name in table.beside]
        beside = [n for n in stand if stand[1:] and sights and n not in looked]
    schema = None if policy is None else policy.schema
    unseen = table.unseen(known, None if schema is None else schema.quasi_identifiers)
    lacking = table.rows_left_out if len(table.sensitives) > 1 else ()
    return replace(
        scope,
        left_out=table.left_out,
        lacking={rows.column: rows.number for rows in lacking},
        beside=(*unseen, *beside),
        suppressed=table.suppressed,
        exact=tuple(n for n in table.recognized if n != table.cohort),
        linked=table.linked,
        assumed=assumed,
        if_known=_if_known(table, () if policy is None else policy.requirements),
        shuffled=table.unlinked,
        known=table.knows,
        identifiers=tuple(n for n in unseen if schema is not None and n in schema.identifiers),
        tallied=table.tallied,
        cases=scope.cases or table.cases,
        releases=table.releases,
        written=table.written,
        names_alike=table.names_alike,
        shared=table.shared,
        numbers=table.numbers,
    )


def _about(
    requirements: Iterable[Requirement], columns: Iterable[str]
) -> dict[str, list[Requirement]]:
    """The requirements on the values of each sensitive column."""
    main, *others = columns
    about: dict[str, list[Requirement]] = {name: [] for name in columns}
    for required in requirements:
        column = (required.sensitive or main) if others else main
        if not required.of_people and column in about:
            about[column].append(required)
    return about


def _if_known(release: Release, requirements: Iterable[Requirement]) -> dict[str, tuple[int, int]]:
    """People at a limit on each sensitive column, and all people, if assumed columns were known."""
    reached: dict[str, tuple[int, int]] = {}
    for required in requirements:
        # A remark: where the stricter requirement cannot be judged, there is none.
        with suppress(InputError):
            if (all_known := required.knowing_all(release.layout)) is None:
                continue
            counted = all_known.count(release)
            every = exposed_by(counted, counted.explanations(), limits=True)
            over = [exposed.over.people for exposed in every if exposed.over is not None]
            if over:
                most, _ = reached.get(counted.sight.secret, (0, 0))
                people = counts_of(counted.seen).n_people
                reached[counted.sight.secret] = max(most, *over), people
    return reached


def _written_oddly(
    columns: Mapping[str, GroupCounts], about: Mapping[str, Sequence[Requirement]]
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Judged columns whose values hold several answers, with separators; and amounts as text."""
    answers, amounts = list[tuple[str, str]](), list[str]()
    for column, counts in columns.items():
        required = [own for own in about[column] if own.points]
        name = column if len(columns) > 1 else ""
        if separator := _separator(counts, required):
            answers.append((name, separator))
        if _are_amounts(counts, required):
            amounts.append(name)
    return tuple(answers), tuple(amounts)


def _near_each_other(
    columns: Mapping[str, GroupCounts],
    about: Mapping[str, Sequence[Requirement]],
    texts: Collection[str],
) -> tuple[tuple[str, str, str, int, int], ...]:
    """Columns whose numbers are judged by themselves, with the groups where they are nearest.

    Numbers in columns of `texts` are codes.
    """
    nearest = list[tuple[str, str, str, int, int]]()
    for column, counts in columns.items():
        judged = column not in texts and any(own.secret.singly for own in about[column])
        if not judged or any(own.of_windows for own in about[column]):
            continue
        if (ends := near_values(counts)) is not None:
            nearest.append((column if len(columns) > 1 else "", *ends))
    return tuple(sorted(nearest))


def _separator(counts: GroupCounts, required: Sequence[Requirement]) -> str:
    """The separator of several answers in values that are judged as a whole; or ""."""
    if counts.semantics != "single" or not required:
        return ""
    return separator_of([*map(str, counts.values)], counts.totals.tolist())


def _are_amounts(counts: GroupCounts, required: Sequence[Requirement]) -> bool:
    """Whether values are amounts as text, whose nearness was not judged."""
    if not required or any(own.of_windows for own in required):
        return False
    texts = [str(counts.values[code]) for code in np.flatnonzero(counts.totals)]
    return bool(amount_marks(texts)) or has_decimal_commas(texts)


def _question_of(required: Requirement, values: Labels) -> Question:
    """A requirement on the values of a table, as a question for the judge."""
    secret = Secret(*required.secret[:4])
    if required.about_sets:
        members = required.sets(values)  # this refuses values that cannot be compared with a range
        ranges = {
            name: own.to_dict() if isinstance(own, Range) else own
            for name, own in (secret.sets or members).items()
        }
        excluded = () if required.secret.level is not None else secret.excluded
        secret = Secret(secret.values, excluded, ranges)
    absent = tuple(map(str, required.absent))
    return Question(required.name, required.sensitive, secret, bool(required.points), absent)


def _bags_of(counts: GroupCounts) -> GroupBags:
    """Counts in the judge's form; values that print alike are merged."""
    names, code_of = np.unique([str(value) for value in counts.values], return_inverse=True)
    unnamed = Column((), np.zeros(len(counts.sizes), np.int64))
    codes = code_of[counts.codes]
    bags = GroupBags([unnamed], names.tolist(), counts.cell_groups, codes, counts.counts)
    bags.people = counts.sizes
    return bags


def unprotected_codes(counts: GroupCounts, requirements: Iterable[Requirement]) -> IntArray:
    """Sensitive values that no requirement is about, neither by themselves nor among others."""
    free = np.ones(counts.n_values, dtype=bool)
    for requirement in requirements:
        if not requirement.points:
            continue
        free &= ~requirement.meant(counts.values).about
        if ELSEWHERE in requirement.excluded:  # a marker, not a value
            free &= np.array([str(value) != ELSEWHERE for value in counts.values])
    return np.flatnonzero(free)


def for_readers(scope: Scope, schema: Schema) -> Scope:
    """The scope as published: without the names of columns that the policy does not name."""
    names = (name if schema.role(name) else "" for name in scope.shared)
    return replace(scope, shared=tuple(dict.fromkeys(names)), open=())
