"""Audit: hold a release against a policy; a verdict with its witness for each requirement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from foreknow.adversaries.protocol import counts_of
from foreknow.atomic_files import write_whole
from foreknow.auditing.audit_input import (
    OwnersTable,
    has_owner,
    owned_of_each,
    prepare,
    read_at_once,
    release_of,
)
from foreknow.auditing.exposed import Exposed, exposed_by
from foreknow.auditing.judged import judged
from foreknow.auditing.scope import scope_of, unprotected_codes
from foreknow.auditing.trial import Trial
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.bare import frame_of
from foreknow.data.engines.column_advice import refuse_misread
from foreknow.data.engines.households import Shared
from foreknow.data.labels import Label
from foreknow.data.microdata import Microdata
from foreknow.data.reading import BLANKS, Reading
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import Possible, Register, Sight, seen_with
from foreknow.data.utility import Utility, utility_of
from foreknow.leaves import is_installed, load
from foreknow.policy.counted import RequirementCounts
from foreknow.policy.explanation import Explanation
from foreknow.policy.from_call import Arguments, hinted_with_keys, policy_of
from foreknow.policy.policy import Policy
from foreknow.result import Result, page_of
from foreknow_judge.errors import DataError, InputError, PolicyError, UnsupportedError, memory_for
from foreknow_judge.scope import Scope
from foreknow_judge.verdict import Verdict, neither

if TYPE_CHECKING:
    from foreknow.methods.fulldomain.lattice import LatticeResult


def _told(verdict: Verdict, requirement_counts: RequirementCounts) -> dict[str, Any]:
    """A verdict for JSON: what was asked in full, and what is reached with its witness."""
    requirement = verdict.requirement
    sets = {}
    if requirement.about_sets and "" not in requirement.secret.sets:  # what its names stand for
        sets["sets"] = {
            name: list(members) for name, members in requirement_counts.meant.sets.items()
        }
    return {
        "requirement": requirement.name,
        **requirement.told(verdict.known),
        **sets,
        "judged": verdict.judged.to_dict(),
        **verdict.required.to_dict(),
        **({"limit": str(verdict.limit)} if verdict.required.relative else {}),
        "safe": verdict.safe,
        "worst": verdict.found.to_dict(),
    }


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """Every verdict on one release.

    Attributes
    ----------
    verdicts : tuple of Verdict
        One for each requirement and point, or criterion, in the policy's order.
    utility : Utility
    policy : Policy
    counts : GroupCounts
    name : str
        What the release is called in reports.
    lattice : LatticeResult, optional
        Among which generalizations the release was chosen, where the method searched a lattice;
        for the owner only, since it tells more of the table than the release.
    scope : Scope
        What the verdicts did not look at.
    trials : tuple of Trial, or None
        Attacks that were carried out beside the verdicts: what can be learned from the release by
        the quasi-identifiers that tell most. Empty where these are not known beside it, or the
        groups are few; None where that was not asked for.
    tried_together : bool
        Whether they were carried out on this release and earlier ones together, whose own audit
        has them.
    counted : tuple of RequirementCounts
        What each requirement was judged by, in the policy's order.
    too_large : tuple of str
        The requirements with groups that are too large for the judge: an upper bound that it did
        not check decides.
    """

    format = "foreknow audit"

    policy: Policy
    counts: GroupCounts
    verdicts: tuple[Verdict, ...]
    utility: Utility
    name: str
    lattice: LatticeResult | None = None
    scope: Scope = field(default_factory=Scope)
    trials: tuple[Trial, ...] | None = ()
    tried_together: bool = False
    counted: tuple[RequirementCounts, ...] = ()
    too_large: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        raise neither("an audit")

    def __getitem__(self, name: str) -> Any:
        raise InputError(f"an audit has attributes, such as .safe and .verdicts, and no [{name!r}]")

    def __len__(self) -> int:
        raise InputError("an audit has no length; see .people, .counts.n_groups and len(.verdicts)")

    @property
    def safe(self) -> bool:
        """True if every requirement holds, and some requirement asks something of the table."""
        return not self.idle and not self.failures

    @property
    def idle(self) -> bool:
        """True if nothing was judged: nobody has a value that is to be hidden."""
        return all(verdict.idle for verdict in self.verdicts)

    @property
    def people(self) -> int:
        """How many people, or cases, were counted."""
        return self.counts.n_people

    @property
    def worst(self) -> Verdict:
        """The verdict that fails, or that is nearest to its limit; the first of several."""
        return max(self.verdicts, key=lambda verdict: (not verdict.safe, _nearness(verdict)))

    @property
    def limits_inference(self) -> bool:
        """True if any requirement limits what is inferred, and not only who looks alike."""
        return any(map(self.limits_people, self.verdicts))

    @property
    def limits_cases(self) -> bool:
        """True if it is limited of each case alone, where people may have several."""
        return not self.limits_inference and any(map(self.limits, self.verdicts))

    def limits_people(self, verdict: Verdict) -> bool:
        """The same as `limits`, of people: where these are counted, not of their cases alone."""
        return self.limits(verdict) and not verdict.requirement.counts_cases

    def limits(self, verdict: Verdict) -> bool:
        """True if the requirement of a verdict limits what is inferred of anybody, or any case."""
        asks = verdict.required.limits and not verdict.idle
        return asks and self.counted_of(verdict).limits_inference

    @property
    def in_cases(self) -> bool:
        """True if a row is a case, of which a person may have several."""
        return self.scope.cases

    @property
    def criteria(self) -> tuple[Verdict, ...]:
        """The verdicts on criteria, which are about groups."""
        return tuple(verdict for verdict in self.verdicts if verdict.of_groups)

    @cached_property
    def unprotected(self) -> tuple[Label, ...]:
        """Sensitive values that no requirement is about: the release may tell them outright."""
        first = None if self.policy.schema is None else self.policy.schema.sensitive
        requirements = [
            requirement
            for requirement in self.policy.requirements
            if requirement.sensitive in (None, first)
        ]
        free = unprotected_codes(self.counts, requirements)
        return tuple(self.counts.values[code] for code in free.tolist())

    @cached_property
    def exposed(self) -> tuple[Exposed, ...]:
        """How many people are over each limit, in the policy's order; for the owner only.

        Everybody is the target in turn, with the worst facts about them. Counted on first use.

        Examples
        --------
        >>> from foreknow.adversaries.facts.facts import Facts
        >>> from foreknow.policy.requirement import Requirement
        >>> counts = GroupCounts.from_bags([["Flu", "Flu", "AIDS"], ["Flu", "Cold", "AIDS"]])
        >>> (found,) = audit(counts, Policy([Requirement(Facts(l=1), below="2/3")])).exposed
        >>> found.over.people, found.over.groups, found.certain.people
        (3, 1, 3)
        """
        by_place = groupby(self.verdicts, key=lambda verdict: verdict.place)
        verdicts = [(place, [*of_requirement]) for place, of_requirement in by_place]
        return tuple(
            exposed
            for place, of_requirement in verdicts
            for exposed in exposed_by(
                self.counted[place], of_requirement, any(map(self.limits_people, of_requirement))
            )
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about what the verdicts do not cover, the most important first."""
        page = page_of(self)
        return tuple(page.said(page.notes))

    @cached_property
    def failures(self) -> tuple[Verdict, ...]:
        """The verdicts that are not safe."""
        return tuple(verdict for verdict in self.verdicts if not verdict.safe)

    def _content(self) -> dict[str, Any]:
        return {
            "release": self.name,
            "safe": self.safe,
            "nothing_judged": self.idle,
            "limits_inference": self.limits_inference,
            "unprotected": [str(value) for value in self.unprotected],
            "scope": self.scope.to_dict(),
            "notes": list(self.notes),
            **({"too_large": list(self.too_large)} if self.too_large else {}),
            "trials": [trial.to_dict() for trial in self.trials or ()],
            "policy": self.policy.to_dict(),
            "verdicts": [_told(verdict, self.counted_of(verdict)) for verdict in self.verdicts],
            "exposed": [exposed.to_dict() for exposed in self.exposed],
            "utility": self.utility.to_dict(),
        }

    def counted_of(self, verdict: Verdict) -> RequirementCounts:
        """The counts that a verdict is about."""
        return self.counted[verdict.place]

    def to_frame(self, library: str = "pandas") -> Any:
        """The verdicts as a frame of "pandas", "polars" or "arrow", a row each."""
        rows = [
            {
                "requirement": verdict.requirement.name,
                "safe": verdict.safe,
                "judged": str(verdict.judged),
                "value": None if verdict.value is None else str(verdict.value),
                "probability": verdict.probability,
                "limit": None if verdict.of_groups else float(verdict.limit),
                "attained": None if verdict.reached is None else str(verdict.reached),
            }
            for verdict in self.verdicts
        ]
        return frame_of(rows, library)

    def to_html(self, path: str | Path | None = None, *, published: bool = False) -> str | None:
        """Write a report, one HTML file that opens offline, whole or not at all.

        Parameters
        ----------
        path : path, optional
            Without it, the page is returned.
        published : bool
            Whether it goes with a release: then findings by learned priors are not shown.
        """
        page = page_of(self, published=published).html()
        if path is not None:
            write_whole(path, page, private=not published)
        return page if path is None else None

    def exposed_to_csv(self, path: str | Path) -> None:
        """Write the groups with people over a limit as CSV, for the owner only.

        A row for each requirement and group, the worst first: ``requirement``, ``group`` (its
        label), ``people`` (its size), ``found_out`` and ``certain`` (how many of them, at most),
        ``value`` (of which somebody could be surest), ``how_sure`` and ``limit``. Of a criterion
        that fails, the last four are empty.
        """
        page: Any = page_of(self)
        write_whole(path, page.exposed_csv(), private=True)

    def __repr__(self) -> str:
        n_requirements = len(self.policy.requirements)
        noun = "requirement" if n_requirements == 1 else "requirements"
        if self.idle:
            return f"Audit({self.name}: nothing was judged, {n_requirements} {noun} about nobody)"
        if self.safe:
            word = "safe" if self.limits_inference else "holds, but nothing limits inference"
            if self.limits_cases:
                word = "holds of each case, but nothing limits inference of people"
            return f"Audit({self.name}: {word}, {n_requirements} {noun})"
        failing = len({verdict.place for verdict in self.failures})
        return f"Audit({self.name}: UNSAFE in {failing} of {n_requirements} {noun})"


@memory_for("the audit")
@hinted_with_keys
def audit(
    release: Any,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    *,
    utility: Utility | None = None,
    name: str | None = None,
    group: str | None = None,
    people: Any = None,
    learned: bool = True,
    **said: Unpack[Arguments],
) -> Audit:
    """Judge a release by a policy.

    Parameters
    ----------
    release : Release, GroupCounts, Publication, path or frame
        One GROUP BY is made of it, if it was not counted before. Of a table, published or raw, the
        policy's schema says what makes a group: rows with equal quasi-identifiers, if it names no
        group column. A folder that `publish` wrote says so itself.
    policy : Policy, path or mapping, optional
        A policy, the path of its file, or the tables of one.
    utility : Utility, optional
        Measures to report; those that follow from the counts when left out.
    name : str, optional
        What to call the release in reports.
    group : str, optional
        Of a table: the column with the group of each row.
    people : Microdata, path or frame, optional
        The quasi-identifiers of everybody, exact, where the release has them generalized: for
        adversaries who know these, and learn from the release.
    learned : bool
        Whether to carry out a trial beside the verdicts: what somebody learns from the release by
        the policy's quasi-identifiers, where it tells them of people; on a sample if it is large.
    **said
        In place of a policy, or beside one: its keys, as `quasi_identifiers`, `sensitive`,
        `identifiers`, `hierarchies`; `k_anonymity`, `l_diversity`, `t_closeness`, `facts` with
        `below`. Where nothing says what must hold, it is 5-anonymity,
        and that nobody who knows one fact is as sure as 1/2.

    Raises
    ------
    SchemaError
        If it is a table, and the policy has no schema.
    PolicyError
        If a set of the policy is every sensitive value of the release.

    Examples
    --------
    >>> from foreknow.adversaries.facts.facts import Facts
    >>> from foreknow.policy.requirement import Requirement
    >>> counts = GroupCounts.from_bags([["Flu", "Cancer", "Flu", "AIDS"]])
    >>> audit(counts, Policy([Requirement(Facts(l=1), below=0.5, values=["AIDS"])]))
    Audit(release: UNSAFE in 1 of 1 requirement)

    Without a policy:

    >>> import pyarrow as pa
    >>> rows = pa.table({"age": [30, 30, 41], "disease": ["Flu", "Cold", "Flu"]})
    >>> audit(rows, quasi_identifiers=["age"], sensitive="disease", k_anonymity=2).safe
    False
    """
    if isinstance(release, Policy):
        raise InputError("the release comes first, then the policy: audit(release, policy)")
    how: dict[str, Any] = {"utility": utility, "name": name, "people": people, "learned": learned}
    return _audit(release, policy_of(policy, said, release), group=group, **how, by_judge=True)


@memory_for("the audit")
def explained_audit(release: Release, policy: Policy, **how: Any) -> Audit:
    """The same with explanations in place of verdicts, unless only the owner can count something.

    It is for `publish`, whose files the judge counts afterwards. What files show of a policy that
    only the owner can judge is not all of it.
    """
    return _audit(release, policy, group=None, **how, by_judge=False)


def _audit(
    release: Any,
    policy: Policy,
    *,
    group: str | None,
    by_judge: bool,
    utility: Utility | None = None,
    name: str | None = None,
    people: Any = None,
    learned: bool = True,
) -> Audit:
    """A release is prepared, counted as its policy asks, and judged."""
    prepared, policy = prepare(release, policy, group)
    counting: Any = _counting if isinstance(prepared, Release) else _counts_at_hand
    with counting(prepared, policy, people) as question:
        scope = replace(
            scope_of(question.release, question.shown_policy),
            word=question.word,
            open=question.open,
        )
        by_judge = by_judge or question.policy.owned
        verdicts, too_large = _verdicts(question, cases=scope.cases, by_judge=by_judge)
    return Audit(
        question.policy,
        question.counts,
        verdicts,
        utility or utility_of(question.counts),
        name or question.name,
        scope=scope,
        trials=_trials(question.sight, question.policy) if learned else None,
        counted=question.counted,
        too_large=too_large,
    )


@dataclass(frozen=True)
class _Asked:
    """The questions to the judge: the groups that each requirement of a policy counts."""

    release: Release | GroupCounts
    policy: Policy
    counts: GroupCounts
    counted: tuple[RequirementCounts, ...]
    tables: Sequence[OwnersTable | None]  # of requirements that only the owner can judge
    shown_policy: Policy  # what the release shows of the policy
    sight: Release | Sight | None = None  # by an adversary who learns from it
    name: str = "release"
    word: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


@contextmanager
def _counting(release: Release, policy: Policy, people: Any) -> Iterator[_Asked]:
    """Count a release, or what its owner has, as each requirement asks; with one reading."""
    exact = people.rows[0] if isinstance(people, Sight) else people
    if isinstance(exact, (Microdata, Register)):
        of_people = policy.under(exact.schema, people=True)
        if of_people is not policy:
            release = cast("Release", release_of(release, of_people))
        policy = of_people
    if policy.schema is not None:
        policy = policy.for_layout(release.layout)
    if people is None and not has_owner(release, policy, release):
        _refuse_unshown(policy)  # before anything is counted
    table = read_at_once(release, policy)
    shown_policy = policy.shown
    with _counted_at_once(table, shown_policy) as counts:
        _refuse_uncounted(policy, table.semantics, counts)
        _refuse_misread(table, counts, policy)
        sight = _seen(table, policy, people)
        if table.releases and policy.schema is not None and policy.schema.shared:
            _refuse_split_households(table, policy.schema, sight)
        owned = owned_of_each(table, policy, sight)
        word = policy.word if any(owned) else ()
        if not word:
            _refuse_unshown(policy)
            policy, word = shown_policy, shown_policy.filed.word
        possible = Possible(table, policy.needed_schema) if _rules(policy) else None
        requirement_counts = tuple(
            requirement.count(table, possible)
            if by_owner is None
            else RequirementCounts.of_counts(requirement, by_owner.counts, by_owner.cases)
            for requirement, by_owner in zip(policy.requirements, owned, strict=True)
        )
        left_open = (
            policy.needed_schema.conditions if any(map(_is_open, requirement_counts)) else ()
        )
        tables = [by_owner and by_owner.table for by_owner in owned]
        what_is_counted = table, policy, counts, requirement_counts, tables, shown_policy
        yield _Asked(*what_is_counted, sight, table.name, word, tuple(left_open))


@contextmanager
def _counts_at_hand(counts: GroupCounts, policy: Policy, people: Any) -> Iterator[_Asked]:
    """Take bare counts, which do not say who is in which group."""
    if people is not None:
        raise InputError("people is for a Release, not GroupCounts, which has no labels")
    _refuse_unshown(policy)
    policy = policy.shown
    _refuse_uncounted(policy, counts.semantics, counts)
    _refuse_other_columns(policy)
    if counts.able is not None or _rules(policy):
        raise UnsupportedError(
            "the schema says what some people cannot have (impossible), and counts do not say who "
            "these are; give the release itself, or leave impossible out"
        )
    requirement_counts = tuple(requirement.count(counts) for requirement in policy.requirements)
    yield _Asked(
        counts, policy, counts, requirement_counts, [None] * len(requirement_counts), policy
    )


def _rules(policy: Policy) -> bool:
    """True if the schema says what some people cannot have."""
    return policy.schema is not None and bool(policy.schema.impossible)


def _refuse_uncounted(policy: Policy, semantics: Any, counts: GroupCounts) -> None:
    """Refuse a policy for other semantics, and what has no groups."""
    if policy.schema is not None and policy.schema.semantics != semantics:
        raise UnsupportedError(
            f"the policy is for semantics {policy.schema.semantics!r}, but the release was "
            f"counted under {semantics!r}"
        )
    if not counts.n_groups:
        raise DataError("the release has no groups")


def _verdicts(
    question: _Asked, *, cases: bool, by_judge: bool
) -> tuple[tuple[Verdict, ...], tuple[str, ...]]:
    """The judge's verdicts on each requirement; and the requirements that it found too large.

    In place of verdicts, explanations of what files show.
    """
    findings: dict[Any, Any] = {}
    memo: dict[Any, Any] = {}
    too_large: list[str] = []
    verdicts: list[Verdict] = []
    for place, (requirement_counts, table) in enumerate(
        zip(question.counted, question.tables, strict=True)
    ):
        explanations = requirement_counts.explanations(findings, place)
        if cases:
            explanations = [*map(_of_cases, explanations)]
        if not by_judge:
            # which `publish` replaces by verdicts on the files, before anybody sees them
            verdicts += cast("list[Verdict]", explanations)
            continue
        what_is_judged = question.release, question.policy, requirement_counts, explanations
        verdicts += judged(*what_is_judged, table, memo, too_large)
    return tuple(verdicts), tuple(too_large)


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
    if isinstance(sight, Sight) and isinstance(sight.rows[0], Microdata) and release.cohort:
        people, groups = sight.rows
        codes, distinct = people.as_it_stands(shared.by)
        place = release.group_columns.index(release.cohort)
        labels: Any = release.counts.groups
        cohorts = np.unique([str(label[place]) for label in labels], return_inverse=True)[1]
        named = codes < len(distinct) - distinct.null_count
        homes = np.unique(np.stack([codes[named], cohorts[groups][named]]), axis=1)[0]
        split = len(np.unique(homes)) < len(homes)
    if split:
        raise UnsupportedError(
            "what households share is not judged of several releases together where a household "
            "may be in two of them: publish the later one with --after, which sees to it"
        )


def _refuse_unshown(policy: Policy) -> None:
    """Refuse to judge by columns that a release does not show, or of people by their cases."""
    if not policy.owned:
        return
    schema = policy.needed_schema
    if schema.counts_people:
        raise PolicyError(
            f"the release does not show whose cases its rows are (person = {schema.person!r}), so "
            "only its owner can judge this policy: publish does it, and an audit of the table. "
            "Without person in the schema, cases are judged, and not people"
        )
    for requirement in policy.requirements:
        for name in requirement.owned(schema):
            raise PolicyError(
                f"{requirement.name}: {name!r} is not among the columns, so only the owner of the "
                "table can judge this: publish does it, and an audit of a table with this column"
            )


def _is_open(requirement_counts: RequirementCounts) -> bool:
    """True if it is open of somebody whether they can have a value."""
    able = counts_of(requirement_counts.seen).able
    return able is not None and bool((able.most > able.members).any())


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


def _trials(sight: Release | Sight | None, policy: Policy) -> tuple[Trial, ...]:
    """The trials that the policy asks for; else one by the known columns of people."""
    if sight is None or policy.schema is None:
        return ()
    if policy.learning:
        return _asked_trials(sight, policy, policy.schema.sensitives)
    if len(policy.schema.sensitives) > 1 or not is_installed("foreknow.trials"):
        return ()
    return _unasked_trial(sight, policy, policy.schema.quasi_identifiers)


def _asked_trials(
    sight: Release | Sight, policy: Policy, sensitives: Sequence[str]
) -> tuple[Trial, ...]:
    """The trials that the policy asks for, on each sensitive column."""
    learned, cohort, trials = load("foreknow.trials.learned"), _cohort_of(sight), list[Trial]()
    subjects = [(column, width) for column in sensitives for width in policy.widths_of(column)]
    for attempt, (column, width) in product(policy.learning, subjects):
        if attempt.sensitive not in (None, column):
            continue
        limit = learned.SURE if attempt.limit is None else float(attempt.limit)
        columns = attempt.by
        asked = {"limit": limit, "sensitive": column, "width": width, "effort": "policy"}
        with suppress(DataError, UnsupportedError):  # said as not run
            tried = [
                learned.learned_trial(sight, by, **asked)
                for by in dict.fromkeys([(*columns,), (*columns, *cohort)])
            ]
            surest = max(tried, key=lambda trial: trial.surest)
            trials.append(replace(surest, required=policy.least_limit(column)))
    return tuple(trials)


def _nearness(verdict: Verdict) -> float:
    """How near a verdict on inference is to its limit; of groups, 0."""
    limited = not verdict.of_groups and not verdict.idle
    return verdict.probability / float(verdict.limit) if limited else 0.0


def _unasked_trial(
    sight: Release | Sight, policy: Policy, columns: Sequence[str]
) -> tuple[Trial, ...]:
    """The trial of an attacker who learns from the release by some columns."""
    free = set(unprotected_codes(sight.counts, policy.requirements).tolist())
    limited_values = [value for code, value in enumerate(sight.counts.values) if code not in free]
    learned_beside = load("foreknow.trials.learned:learned_beside")
    trials = [
        learned_beside(sight, columns, limited_values or None, apart=_cohort_of(sight), width=width)
        for width in policy.widths_of(sight.sensitive)
    ]
    required = policy.least_limit()
    return tuple(replace(trial, required=required) for trial in trials if trial is not None)


def _cohort_of(sight: Release | Sight) -> tuple[str, ...]:
    """The column by which it is known of everybody which of several releases shows them."""
    columns = sight.attributes if isinstance(sight, Sight) else sight.people_columns
    return tuple(name for name in columns if name == sight.cohort)


def _refuse_other_columns(policy: Policy) -> None:
    """Raise `PolicyError` for a requirement on a column of which counts may not be."""
    columns = [None if policy.schema is None else policy.schema.sensitive]
    columns += [requirement.sensitive for requirement in policy.requirements]
    column = next((name for name in columns if name is not None), None)
    for requirement in policy.requirements:
        if requirement.sensitive not in (None, column):
            raise PolicyError(
                f"{requirement.name}: it is about {requirement.sensitive!r}, and bare counts are "
                f"taken for {column!r}; give the release itself, or leave sensitive out"
            )


def _refuse_misread(release: Release, counts: GroupCounts, policy: Policy) -> None:
    """Refuse a raw table with a column of dates or numbers that a few texts make one of texts.

    A text that stands for a missing value is not one of these.
    """
    schema = policy.schema
    columns = release.group_columns
    if schema is None or not set(columns) <= set(schema.quasi_identifiers):
        return
    spellings = cast("Reading", schema.reading).missing
    for name, (names, of_group) in zip(columns, release.group_labels.parts, strict=False):
        if name in schema.types or name in schema.hierarchies:
            continue
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
