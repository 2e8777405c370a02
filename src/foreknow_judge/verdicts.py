"""Verdicts: a release as written, judged by each requirement of a policy.

Only this module makes a `Verdict`. The tests check the theorems by enumeration (`tests/oracle`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from foreknow_judge.counts.group_bags import GroupBags, Measured
from foreknow_judge.criteria.gauges import GAUGES, Gauge, limits_values
from foreknow_judge.errors import CertificateError, UnsupportedError
from foreknow_judge.files.written_release import Written, group_name, population_of
from foreknow_judge.knowledge.facts import Worst
from foreknow_judge.knowledge.verifiers import VERIFIERS, Judge, Question
from foreknow_judge.policy.grammar import RequireTable
from foreknow_judge.policy.named_values import exempt_values, values_named
from foreknow_judge.policy.settings import Table, checked
from foreknow_judge.registry import settings_of
from foreknow_judge.verdict import Figure, Limit, Seal, Verdict, WorstCase


def verdicts(
    release: Written,
    requirements: Sequence[Table],
    judges: Mapping[str, Judge] | None = None,
    gauges: Mapping[str, Gauge] | None = None,
    first: int = 0,
) -> list[Verdict]:
    """Judge a written release by the ``[[require]]`` tables of its policy.

    Parameters
    ----------
    release : Written
    requirements : sequence of mappings
        As `Policy.to_dict` gives them.
    judges, gauges : mapping of key to Judge or Gauge, optional
        For kinds of knowledge and criteria that are not in `VERIFIERS` and `GAUGES`, which win.
    first : int
        The position of the first requirement in the policy.

    Returns
    -------
    list of Verdict
        In the order of the policy: one for each limit of each requirement.
    """
    results: list[Verdict] = []
    # Foreknow's kinds come last, so that no other package can replace them.
    judges, gauges = {**(judges or {}), **VERIFIERS}, {**(gauges or {}), **GAUGES}
    tables = read_requirements(requirements)
    release.prepare(tables)
    for position, (table, required) in enumerate(zip(tables, requirements, strict=True), first):
        release_of_column = release.for_sensitive(table.sensitive or release.sensitive)
        criterion = next((key for key in table.kinds if key in gauges), None)
        if criterion is None:
            results += _verdicts_on_knowledge(release_of_column, position, required, table, judges)
        else:
            gauge = gauges[criterion]
            # A criterion on people counts all of them, also those without a value of the column.
            # A table of the column by itself may lack columns that are known.
            # So in a release of one table all its rows are counted, not those with a value.
            if gauge.of_people and release.main_table == "release":
                release_of_column = release
            results.append(
                _verdict_on_criterion(
                    release_of_column, position, required, table, criterion, gauge
                )
            )
        # A requirement without a verdict must not pass.
        if not results or results[-1].place != position:
            problem = "it names no adversary and no criterion"
            raise CertificateError("wrong-table", f"require[{position}]", problem=problem)
    return results


def _verdict_on_criterion(
    release: Written,
    position: int,
    required: Table,
    table: RequireTable,
    key: str,
    gauge: Gauge,
) -> Verdict:
    """The verdict on a criterion, such as k-anonymity.

    `key` is its name in the policy. Its `gauge` measures the groups, and says by its flags which
    further arguments it needs, such as a population. `required` is the requirement's table as
    written; `table` is the same, read.
    """
    if len(table.kinds) > 1 or not table.of_whole_groups:
        raise CertificateError("not-by-itself", key)
    if release.semantics != "single" and not gauge.of_people:
        raise CertificateError("one-value-only", key)
    settings, arguments = settings_of(key, table.kinds[key]), list[Any]()
    if gauge.of_population:
        arguments = [population_of(release, settings)]
    # In the bucketized form, people who look alike have equal exact columns, whatever their group:
    # a criterion on such classes is then measured by these columns.
    by_exact_columns = release.form == "bucketized" and gauge.of_classes
    if by_exact_columns and gauge.of_people:
        groups = release.look_alikes(table.known)
    else:
        sensitive, known_columns = sensitive_and_known(release, table, gauge.of_people)
        groups = release.groups_of(
            release.sensitive if gauge.of_people else sensitive, known_columns
        )
    # Some gauges look at values in groups and at numbers of people who look alike: both are given.
    if gauge.of_classes and not gauge.of_people:
        arguments.append(release.look_alikes(table.known) if by_exact_columns else groups)
    if gauge.of_columns:
        columns = release.exact if by_exact_columns else release.groups
        arguments.append(list(dict.fromkeys([*columns, *table.known])))
    if gauge.of_releases:
        arguments.append(release.cohort)
    if not len(groups):
        raise CertificateError("no-rows")
    if table.secret.sets:
        groups = _of_sets(release, groups, key, gauge.of_sets(settings), table)
    attained, group, holds, figures = Measured(*gauge.measure(groups, settings, *arguments))
    exact_columns = tuple(release.exact) if by_exact_columns and gauge.of_people else ()
    limits = limits_values(gauge, settings, groups, arguments)
    worst_case = WorstCase(None, group_name(group), attained, each=figures, limits_values=limits)
    judged = {key: table.kinds[key]}
    figure = Figure(
        position, required, judged, Limit(), worst_case, table.known, alike=exact_columns
    )
    return decided(figure, holds)


def decided(figure: Figure, safe: bool) -> Verdict:
    """Make the verdict on a figure; nothing else makes one.

    `safe` says whether the formula found the limit kept. If the requirement has a limit, the exact
    figure must keep it, too: two ways to decide, and both must agree that it is safe.
    """
    has_limit, reached = figure.required.amount is not None, getattr(figure.found, "settled", None)
    if has_limit and reached is not None:  # None: no exact figure is known
        safe = safe and figure.required.holds(reached, figure.found.prior)
    return Verdict(**{**vars(figure), "safe": safe}, seal=Seal)


def read_requirements(requirements: Sequence[Table]) -> list[RequireTable]:
    """Read ``[[require]]`` tables."""
    tables = enumerate(requirements)
    return [checked(RequireTable, table, f"require[{position}]") for position, table in tables]


def _verdicts_on_knowledge(
    release: Written,
    position: int,
    required: Table,
    table: RequireTable,
    judges: Mapping[str, Judge],
) -> Iterator[Verdict]:
    """Yield the verdict on each point of a requirement: so much knowledge, with its threshold.

    `required` is its table as written; `table` is the same, read.
    """
    is_relative = table.at_most_times is not None  # a threshold is then a factor of each prior
    # A limit is `below`, which must not be reached; or `at_most` or `at_most_times`, which may.
    may_be_reached = table.below is None and bool(table.limits)
    questions = questions_of(release, table, is_relative)
    secret_and_known = sensitive_and_known(release, table)
    for kind, knowledge, threshold in table.points:
        if kind not in judges:
            raise UnsupportedError("unknown-kind", kind)
        judge, settings = judges[kind], settings_of(kind, knowledge)
        _refuse_unsupported(kind, judge, release, table, secret_and_known)
        worst_cases = [Worst(*judge.judge(question, settings)) for question in questions]
        worst_row = Worst.among(worst_cases, is_relative)
        # A person may have several rows, which only the owner can count.
        worst = release.worst_of_people(worst_row, kind, settings, questions, secret_and_known)
        prior = worst.prior if is_relative else None
        # A limit of `threshold` times a prior that is at least 1 forbids nothing; it does only if
        # some person's prior is small enough.
        can_be_exceeded = not is_relative or any(
            least_prior is not None and least_prior * threshold < 1  # None: nobody has a prior
            for least_prior in (judge.least(question, settings) for question in questions)
        )
        worst_case = WorstCase(
            worst.value,
            None if worst.group is None else group_name(worst.group),
            worst.chance,
            prior,
            judge.bounded(settings),
            limits_values=can_be_exceeded,
        )
        limit = Limit(threshold, may_be_reached, is_relative)
        figure = Figure(position, required, {kind: knowledge}, limit, worst_case, table.known)
        yield decided(figure, limit.holds(worst.chance, prior))


def _refuse_unsupported(
    kind: str,
    judge: Judge,
    release: Written,
    table: RequireTable,
    secret_and_known: tuple[str, tuple[str, ...]],
) -> None:
    """Raise an error if the judge of a kind of knowledge has no formula for such a requirement.

    `secret_and_known` is the sensitive column, and the columns that are known of everybody.
    """
    secret_column, known_columns = secret_and_known
    if release.semantics != "single" and not judge.of_several:
        raise CertificateError("one-value-only", kind)
    if table.secret.width is not None and not judge.of_windows:
        raise CertificateError("no-windows", kind)
    has_impossible_values = release.rules.positions_for(secret_column)
    if (has_impossible_values or release.ruled_beside(known_columns)) and not judge.of_rules:
        raise CertificateError("no-rules", kind)
    if table.below is None and table.limits and not judge.relative:
        raise CertificateError("limit-of-priors", next(iter(table.limits)))


def questions_of(release: Written, table: RequireTable, relative: bool) -> list[Question]:
    """The questions of a requirement: which values must stay hidden, in which groups.

    Groups are divided by the columns that the adversary knows of everybody. Each set of values
    (`any_of`) is a question of its own, and counts as one value; all single values are one
    question. With `relative`, the limit is a multiple of each person's prior.
    """
    sensitive, known_columns = sensitive_and_known(release, table)
    secret = table.secret
    groups, columns = release.groups_of(sensitive, known_columns), (*release.groups, *known_columns)
    values = set(groups.names)
    shared_fields: dict[str, Any] = {"relative": relative, "columns": columns, "seal": Seal}
    if secret.sets:
        questions = []
        for name, members in sorted(_sets(release, table, values).items()):
            if not members:  # which nobody has
                continue
            merged_groups = _merged(groups, {name: members}, values)
            name_of_set = _unused_name(name, values - set(members))
            # A single set has no name in the policy, but the name "" there.
            spec = secret.sets[name if name in secret.sets else ""]
            of_set = Question(
                merged_groups,
                {name_of_set},
                release,
                **shared_fields,
                members=members,
                apart=groups,
                spec=spec,
            )
            questions.append(of_set)
        return questions
    if secret.width is not None:
        if release.semantics != "single":
            raise CertificateError("one-value-only", "within")
        return [Question(groups, values, release, **shared_fields, width=secret.width)]
    if secret.values is not None:  # else every value must stay hidden
        values = set(values_named(secret.values, values))
    values -= exempt_values(secret.excluded, groups.names)
    return [Question(groups, values, release, **shared_fields)]


def sensitive_and_known(
    release: Written, table: RequireTable, of_people: bool = False
) -> tuple[str, tuple[str, ...]]:
    """The sensitive column of a requirement, and the columns that are known of everybody.

    With `of_people`, values are not hidden from anybody: only people are counted.
    """
    sensitive, known_columns = table.sensitive or release.sensitive, table.known
    if sensitive in known_columns and not of_people:
        raise CertificateError("known-and-hidden", sensitive)
    # If people may have several values, rows cannot be divided by columns beside them.
    if release.semantics != "single" and (known_columns or sensitive != release.sensitive):
        raise CertificateError("one-value-only", "knowing")
    return sensitive, known_columns


def _sets(release: Written, table: RequireTable, values: Collection[str]) -> dict[str, list[str]]:
    """The values of each set that a requirement protects as one, by its name.

    `values` are all values of the release; the policy may name some by patterns. A set without a
    name is called by its values. A set of all values is refused: everybody has one of them.
    """
    named_sets = table.secret.sets.items()
    sets = {
        name or " or ".join(map(str, named_values)): values_named(named_values, values)
        for name, named_values in named_sets
    }
    if release.semantics == "set" or any(
        set(named_values) >= set(values) for named_values in sets.values()
    ):
        raise CertificateError("set-of-all")
    return sets


def _of_sets(
    release: Written, groups: GroupBags, key: str, allowed: bool, table: RequireTable
) -> GroupBags:
    """The groups with each set counted as one value, for a criterion.

    `key` is its name, and `allowed` says whether it can be measured like this.
    """
    values = set(groups.names)
    sets = _sets(release, table, values)
    # A value in two sets could not be counted as one of them.
    members = [*chain(*sets.values())]
    if not allowed or len(set(members)) < len(members):
        raise CertificateError("wrong-sets", key)
    return _merged(groups, sets, values)


def _merged(
    groups: GroupBags, sets: Mapping[str, Sequence[str]], values: Collection[str]
) -> GroupBags:
    """The same groups, with the values of each set merged into one, which has the set's name."""
    one_of: dict[str, str] = {}  # for each value of a set, the merged value
    used_names = set(values).difference(*sets.values())  # of the values that stay
    for name, members in sets.items():
        name_of_set = _unused_name(name, used_names)
        used_names.add(name_of_set)
        one_of |= dict.fromkeys(members, name_of_set)
    return groups.merged(one_of)


def _unused_name(name: str, used_names: Collection[str]) -> str:
    """A name for a set that none of the other values has."""
    while name in used_names:
        name += "+"
    return name
