"""Verdicts: a release as written, judged by each requirement of a policy.

Only this module makes a `Verdict`. The tests check the theorems by enumeration (`tests/oracle`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from foreknow_judge.counting import GroupBags, Measured
from foreknow_judge.criteria import GAUGES, Gauge, limits_values
from foreknow_judge.errors import CertificateError, UnsupportedError
from foreknow_judge.facts import Worst
from foreknow_judge.grammar import AskedTable
from foreknow_judge.kinds import settings_of
from foreknow_judge.knowledge import VERIFIERS, Judge, Question
from foreknow_judge.named_values import exempt_values, values_named
from foreknow_judge.settings import Table, checked
from foreknow_judge.verdict import Figure, Limit, Seal, Verdict, WorstCase
from foreknow_judge.written import Written, group_name, population_of


def verdicts(
    whole: Written,
    requirements: Sequence[Table],
    judges: Mapping[str, Judge] | None = None,
    gauges: Mapping[str, Gauge] | None = None,
    first: int = 0,
) -> list[Verdict]:
    """Judge a written release by the ``[[require]]`` tables of its policy.

    Parameters
    ----------
    whole : Written
    requirements : sequence of mappings
        As `Policy.to_dict` gives them.
    judges, gauges : mapping of key to Judge or Gauge, optional
        For kinds of knowledge and criteria that are not in `VERIFIERS` and `GAUGES`.
    first : int
        The position of the first requirement in the policy.

    Returns
    -------
    list of Verdict
        One for each requirement and point.
    """
    results: list[Verdict] = []
    judges, gauges = {**(judges or {}), **VERIFIERS}, {**(gauges or {}), **GAUGES}
    tables = read_requirements(requirements)
    whole.prepare(tables)
    for place, (table, required) in enumerate(zip(tables, requirements, strict=True), first):
        written = whole.for_sensitive(table.sensitive or whole.sensitive)
        key = next((key for key in table.kinds if key in gauges), None)
        if key is None:
            results += _verdicts_on_knowledge(written, place, required, table, judges)
        else:
            results.append(_verdict_on_criterion(written, place, required, table, key, gauges[key]))
        if not results or results[-1].place != place:
            problem = "it names no adversary and no criterion"
            raise CertificateError("wrong-table", f"require[{place}]", problem=problem)
    return results


def _verdict_on_criterion(
    written: Written,
    place: int,
    required: Table,
    table: AskedTable,
    key: str,
    gauge: Gauge,
) -> Verdict:
    if len(table.kinds) > 1 or not table.of_whole_groups:
        raise CertificateError("not-by-itself", key)
    if written.semantics != "single" and not gauge.of_people:
        raise CertificateError("one-value-only", key)
    settings, more = settings_of(key, table.kinds[key]), list[Any]()
    if gauge.of_population:
        more = [population_of(written, settings)]
    exact = written.form == "bucketized" and gauge.of_classes
    if exact and gauge.of_people:
        held = written.look_alikes(table.known)
    else:
        held = written.groups_of(*sensitive_and_known(written, table, gauge.of_people))
    if gauge.of_classes and not gauge.of_people:
        more.append(written.look_alikes(()) if exact else held)
    if gauge.of_columns:
        columns = written.exact if exact else written.groups
        more.append(list(dict.fromkeys([*columns, *table.known])))
    if gauge.of_releases:
        more.append(written.cohort)
    if not len(held):
        raise CertificateError("no-rows")
    if table.secret.sets:
        held = _of_sets(written, held, key, gauge.of_sets(settings), table)
    attained, group, holds, each = Measured(*gauge.measure(held, settings, *more))
    alike = tuple(written.exact) if exact and gauge.of_people else ()
    limits = limits_values(gauge, settings, held, more)
    found = WorstCase(None, group_name(group), attained, each=each, limits_values=limits)
    judged = {key: table.kinds[key]}
    figure = Figure(place, required, judged, Limit(), found, table.known, alike=alike)
    return decided(figure, holds)


def decided(figure: Figure, safe: bool) -> Verdict:
    """The verdict on a figure: the only place that makes one.

    It is never safe with a figure that does not keep its limit.
    """
    reached = getattr(figure.found, "settled", None)
    if figure.required.amount is not None and reached is not None:
        safe = safe and figure.required.holds(reached, figure.found.prior)
    about = {own.name: getattr(figure, own.name) for own in fields(Figure)}
    return Verdict(**about, safe=safe, seal=Seal)


def read_requirements(requirements: Sequence[Table]) -> list[AskedTable]:
    """Read ``[[require]]`` tables."""
    tables = enumerate(requirements)
    return [checked(AskedTable, table, f"require[{place}]") for place, table in tables]


def _verdicts_on_knowledge(
    written: Written,
    position: int,
    required: Table,
    table: AskedTable,
    judges: Mapping[str, Judge],
) -> Iterator[Verdict]:
    relative = table.at_most_times is not None
    asked, sight = questions_of(written, table, relative), sensitive_and_known(written, table)
    for kind, given, amount in table.points:
        if kind not in judges:
            raise UnsupportedError("unknown-kind", kind)
        judge, settings = judges[kind], settings_of(kind, given)
        if written.semantics != "single" and not judge.of_several:
            raise CertificateError("one-value-only", kind)
        if table.secret.width is not None and not judge.of_windows:
            raise CertificateError("no-windows", kind)
        ruled = written.rules.positions_for(sight[0]) or written.ruled_beside(sight[1])
        if ruled and not judge.of_rules:
            raise CertificateError("no-rules", kind)
        if table.below is None and table.limits and not judge.relative:
            raise CertificateError("limit-of-priors", next(iter(table.limits)))
        worst = Worst.among((Worst(*judge.judge(own, settings)) for own in asked), relative)
        worst = written.worst_of_people(worst, kind, settings, asked, sight)
        value, group, chance, before = worst
        limit = Limit(amount, table.below is None and bool(table.limits), relative)
        prior = before if relative else None
        bounded = judge.bounded(settings)
        limits = True
        if relative:  # and `amount` times somebody's prior is below 1
            priors = [judge.least(own, settings) for own in asked]
            limits = any(own is not None and own * amount < 1 for own in priors)
        whose = None if group is None else group_name(group)
        found = WorstCase(value, whose, chance, prior, bounded, limits_values=limits)
        safe = limit.holds(chance, prior)
        figure = Figure(position, required, {kind: given}, limit, found, table.known)
        yield decided(figure, safe)


def questions_of(written: Written, table: AskedTable, relative: bool) -> list[Question]:
    """What a requirement counts: the one place where secrets and sights enter the verifier."""
    sensitive, known = sensitive_and_known(written, table)
    secret = table.secret
    whole, columns = written.groups_of(sensitive, known), (*written.groups, *known)
    about = set(whole.names)
    of: dict[str, Any] = {"relative": relative, "columns": columns, "seal": Seal}
    if secret.sets:
        asked = []
        for name, members in sorted(_sets(written, table, about).items()):
            if not members:  # which nobody has
                continue
            held = _merged(whole, {name: members}, about)
            one = _unused_name(name, about - set(members))
            spec = secret.sets[name if name in secret.sets else ""]
            of_set = Question(held, {one}, written, **of, members=members, apart=whole, spec=spec)
            asked.append(of_set)
        return asked
    if secret.width is not None:
        if written.semantics != "single":
            raise CertificateError("one-value-only", "within")
        return [Question(whole, about, written, **of, width=secret.width)]
    if secret.values is not None:
        about = set(values_named(secret.values, about))
    about -= exempt_values(secret.excluded, whole.names)
    return [Question(whole, about, written, **of)]


def sensitive_and_known(
    written: Written, table: AskedTable, of_people: bool = False
) -> tuple[str, tuple[str, ...]]:
    """The sensitive column of a requirement, and the columns that are known of everybody."""
    sensitive, known = table.sensitive or written.sensitive, table.known
    if sensitive in known and not of_people:
        raise CertificateError("known-and-hidden", sensitive)
    if written.semantics != "single" and (known or sensitive != written.sensitive):
        raise CertificateError("one-value-only", "knowing")
    return sensitive, known


def _sets(written: Written, table: AskedTable, about: Collection[str]) -> dict[str, list[str]]:
    """The values of each set, by its name."""
    each = table.secret.sets.items()
    sets = {name or " or ".join(map(str, own)): values_named(own, about) for name, own in each}
    if written.semantics == "set" or any(set(own) >= set(about) for own in sets.values()):
        raise CertificateError("set-of-all")
    return sets


def _of_sets(
    written: Written, held: GroupBags, key: str, allowed: bool, table: AskedTable
) -> GroupBags:
    """The groups with each set counted as one value, for a criterion."""
    about = set(held.names)
    sets = _sets(written, table, about)
    every = [value for own in sets.values() for value in own]
    if not allowed or len(set(every)) < len(every):
        raise CertificateError("wrong-sets", key)
    return _merged(held, sets, about)


def _merged(
    held: GroupBags, sets: Mapping[str, Sequence[str]], about: Collection[str]
) -> GroupBags:
    """The same groups, with the values of each set merged into one."""
    one_of: dict[str, str] = {}
    rest = set(about).difference(*sets.values())
    for name, members in sets.items():
        one = _unused_name(name, rest)
        rest.add(one)
        one_of |= dict.fromkeys(members, one)
    return held.merged(one_of)


def _unused_name(name: str, others: Collection[str]) -> str:
    """A name for a set that none of the other values has."""
    while name in others:
        name += "+"
    return name
