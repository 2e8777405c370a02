"""Audit: hold a release against a policy; a verdict with its witness for each requirement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from html import escape
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.attacks.learned import SURE, learned_beside, learned_trial
from foreknow.attacks.trial import Trial
from foreknow.auditing.exposed import Exposed, exposed_by
from foreknow.auditing.opening import release_of
from foreknow.auditing.scope import Scope, unprotected_codes
from foreknow.criteria.protocol import Attained
from foreknow.data.counts import GroupCounts
from foreknow.data.engines import frame_of
from foreknow.data.engines.advice import refuse_misread
from foreknow.data.labels import Label
from foreknow.data.layout import Layout
from foreknow.data.release import Release
from foreknow.data.sights import Sight, seen_with
from foreknow.errors import DataError, InputError, PolicyError, UnsupportedError, hinted, memory_for
from foreknow.methods.fulldomain.lattice import LatticeResult
from foreknow.output import write_whole
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Point, Requirement
from foreknow.policy.sets import written
from foreknow.result import Result, page_of
from foreknow.utility.utility import Utility, utility_of


@dataclass(frozen=True, repr=False)
class Verdict:
    """What came of one requirement at one of its points.

    Attributes
    ----------
    requirement : Requirement
    point : Point
        The adversary, and its limit.
    disclosure : Disclosure
        The worst over the requirement's values; relative to priors if the limit is.
    safe : bool
        Settled exactly.
    others : tuple of Disclosure
        The other values of the requirement, worst first.
    counts : GroupCounts, optional
        What was counted for it.
    known : tuple of str
        Columns that the adversary is taken to know of everybody, beyond the quasi-identifiers.
    """

    requirement: Requirement
    point: Point
    disclosure: Disclosure
    safe: bool
    others: tuple[Disclosure, ...]
    counts: GroupCounts | None = None
    known: tuple[str, ...] = ()

    @property
    def value(self) -> Label:
        """The value that can be found out best."""
        return self.disclosure.value

    @property
    def probability(self) -> float:
        """How sure of it an adversary can be."""
        return self.disclosure.probability

    @property
    def idle(self) -> bool:
        """Whether it asks nothing of the table: nobody has a value that it is about."""
        return not self.disclosure.probability

    def __bool__(self) -> bool:
        raise _neither("a verdict")

    @property
    def limit(self) -> Fraction:
        """The confidence that the disclosure must stay below, or must not exceed."""
        return self.point.limit(self.disclosure)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **_asked(self.requirement, self.point, self.known),
            **({"limit": str(self.limit)} if self.point.relative else {}),
            "safe": self.safe,
            "worst": self.disclosure.to_dict(),
        }

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def __repr__(self) -> str:
        if self.idle:
            return f"Verdict(asks nothing: {self.point.adversary}, nobody has a value)"
        word = "safe" if self.safe else "UNSAFE"
        chance, limit = self.point.said(self.disclosure)
        return (
            f"Verdict({word}: {self.point.adversary} reaches {chance} for {self.value!r}, "
            f"limit {limit})"
        )


def _asked(requirement: Requirement, point: Point, known: Sequence[str]) -> dict[str, Any]:
    """What a requirement asks at one of its points, for JSON."""
    about, within = requirement.values, requirement.within
    return {
        "requirement": requirement.name,
        "values": None if about is None else [str(v) for v in about],
        "except": [str(v) for v in requirement.excluded],
        **(written(requirement, None) if requirement.about_sets else {}),
        **({} if within is None else {"within": within.given}),
        **_sight_of(requirement, known),
        "adversary": point.adversary.to_dict(),
        point.key: str(point.below),
    }


def _sight_of(requirement: Requirement, known: Sequence[str]) -> dict[str, Any]:
    """Of which column it is, and what is known beside, where that was said or matters."""
    sensitive, knowing = requirement.sensitive, requirement.knowing
    return {
        **({} if sensitive is None else {"sensitive": sensitive}),
        **({"knowing": list(known)} if known or knowing is not None else {}),
    }


def _neither(what: str) -> InputError:
    return InputError(f"{what} is neither true nor false by itself; ask .safe")


@dataclass(frozen=True)
class CriterionVerdict:
    """What came of a requirement that is a criterion."""

    requirement: Requirement
    attained: Attained  # what the release attains, and where
    safe: bool  # whether it holds, by all that the criterion says
    # columns that divide the groups it is about, beyond the quasi-identifiers
    known: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        assert self.requirement.criterion is not None
        return {
            "requirement": self.requirement.name,
            "criterion": self.requirement.criterion.to_dict(),
            **_sight_of(self.requirement, self.known),
            "attained": str(self.attained.amount),
            "group": self.attained.group,
            "safe": self.safe,
        }


Judged: TypeAlias = tuple[tuple[Requirement, HasCounts], ...]


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """Every verdict on one release.

    Attributes
    ----------
    verdicts : tuple of Verdict
        One per requirement and point, in the policy's order.
    criteria : tuple of CriterionVerdict
        One per requirement that is a criterion, in the policy's order.
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
    counted : tuple
        What each requirement was judged by, in the policy's order: its secrets, each with what
        was counted for it.
    """

    format = "foreknow audit"

    policy: Policy
    counts: GroupCounts
    verdicts: tuple[Verdict, ...]
    utility: Utility
    name: str
    lattice: LatticeResult | None = None
    criteria: tuple[CriterionVerdict, ...] = ()
    scope: Scope = field(default_factory=Scope)
    trials: tuple[Trial, ...] | None = ()
    counted: tuple[Judged, ...] = ()

    def __bool__(self) -> bool:
        raise _neither("an audit")

    def __getitem__(self, name: str) -> Any:
        raise InputError(f"an audit has attributes, such as .safe and .verdicts, and no [{name!r}]")

    @property
    def safe(self) -> bool:
        """Whether every requirement holds."""
        return all(each.safe for each in self._every)

    @property
    def idle(self) -> bool:
        """Whether nothing is asked of the table: nobody has a value that is to be hidden."""
        return not self.criteria and all(each.idle for each in self.verdicts)

    @property
    def in_cases(self) -> bool:
        """Whether a row is a case, of which a person may have several."""
        return self.scope.cases

    @property
    def _every(self) -> tuple[Verdict | CriterionVerdict, ...]:
        return *self.verdicts, *self.criteria

    @cached_property
    def unprotected(self) -> tuple[Label, ...]:
        """Sensitive values that no requirement is about: the release may tell them outright."""
        first = None if self.policy.schema is None else self.policy.schema.sensitive
        own = [of for of in self.policy.requirements if of.sensitive in (None, first)]
        free = unprotected_codes(self.counts, own)
        return tuple(self.counts.values[code] for code in free.tolist())

    @cached_property
    def exposed(self) -> tuple[Exposed, ...]:
        """How many people are over each limit, in the policy's order; for the owner only.

        Everybody is the target in turn, with the worst facts about them. Counted on first use.

        Examples
        --------
        >>> from foreknow.adversaries.facts.facts import Facts
        >>> counts = GroupCounts.from_bags([["Flu", "Flu", "AIDS"], ["Flu", "Cold", "AIDS"]])
        >>> (found,) = audit(counts, Policy([Requirement(Facts(l=1), below="2/3")])).exposed
        >>> found.over.people, found.over.groups, found.certain.people
        (3, 1, 3)
        """
        each = zip(self.policy.requirements, self.counted, strict=False)
        return tuple(one for requirement, own in each for one in exposed_by(requirement, own))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the verdicts did not look at, a sentence each, the most important first."""
        return tuple(page_of(self).notes)

    @cached_property
    def failures(self) -> tuple[Verdict, ...]:
        """The verdicts on adversaries that are not safe."""
        return tuple(verdict for verdict in self.verdicts if not verdict.safe)

    def _content(self) -> dict[str, Any]:
        return {
            "release": self.name,
            "safe": self.safe,
            "unprotected": [str(value) for value in self.unprotected],
            "scope": self.scope.to_dict(),
            "notes": list(self.notes),
            "trials": [trial.to_dict() for trial in self.trials or ()],
            "policy": self.policy.to_dict(),
            "verdicts": [{**v.to_dict(), **self._sets(v.requirement)} for v in self.verdicts],
            **({"criteria": [each.to_dict() for each in self.criteria]} if self.criteria else {}),
            "exposed": [each.to_dict() for each in self.exposed],
            "utility": self.utility.to_dict(),
        }

    def _sets(self, requirement: Requirement) -> dict[str, Any]:
        """What the labels of a requirement stand for."""
        if not requirement.about_sets or isinstance(requirement.any_of, tuple):
            return {}
        return {"sets": {name: list(own) for name, own in requirement.counted_sets.items()}}

    def to_frame(self, library: str = "pandas") -> Any:
        """The verdicts as a frame of "pandas", "polars" or "arrow", a row each."""
        rows = [
            {
                "requirement": verdict.requirement.name,
                "safe": verdict.safe,
                "adversary": str(verdict.point.adversary),
                "value": None if verdict.value is None else str(verdict.value),
                "probability": verdict.probability,
                "limit": float(verdict.limit),
            }
            for verdict in self.verdicts
        ]
        rows += [
            {
                "requirement": each.requirement.name,
                "safe": each.safe,
                "criterion": str(each.requirement.criterion),
                "attained": str(each.attained.amount),
            }
            for each in self.criteria
        ]
        return frame_of(rows, library)

    def to_html(self, path: str | Path, *, published: bool = False) -> None:
        """Write a report, one HTML file that opens offline, whole or not at all.

        Parameters
        ----------
        path : path
        published : bool
            Whether it goes with a release: then findings by learned priors are not shown.
        """
        write_whole(path, page_of(self).html(published=published), private=not published)

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
        many = len(self.policy.requirements)
        noun = "requirement" if many == 1 else "requirements"
        if self.idle:
            return f"Audit({self.name}: {many} {noun}, and nothing is asked of the table)"
        if self.safe:
            return f"Audit({self.name}: safe, {many} {noun})"
        odd = [each.requirement for each in self._every if not each.safe]
        failing = len({id(requirement) for requirement in odd})
        return f"Audit({self.name}: UNSAFE in {failing} of {many} {noun})"


@memory_for("the audit")
@hinted
def audit(
    release: Any,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    utility: Utility | None = None,
    name: str | None = None,
    group: str | None = None,
    people: Any = None,
    learned: bool = True,
) -> Audit:
    """Judge a release by a policy.

    Parameters
    ----------
    release : Release, GroupCounts, Publication, path or frame
        One GROUP BY is made of it, if it was not counted before. Of a table, published or raw, the
        policy's schema says what makes a group: rows with equal quasi-identifiers, if it names no
        group column. A folder that `publish` wrote says so itself.
    policy : Policy, path or mapping
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

    Raises
    ------
    SchemaError
        If it is a table, and the policy has no schema.
    PolicyError
        If a set of the policy is every sensitive value of the release.

    Examples
    --------
    >>> from foreknow.adversaries.facts.facts import Facts
    >>> counts = GroupCounts.from_bags([["Flu", "Cancer", "Flu", "AIDS"]])
    >>> audit(counts, Policy([Requirement(Facts(l=1), below=0.5, values=["AIDS"])]))
    Audit(release: UNSAFE in 1 of 1 requirement)
    """
    if isinstance(release, Policy):
        raise InputError("the release comes first, then the policy: audit(release, policy)")
    policy = Policy.of(policy)
    release = release_of(release, policy, group)
    counts = _counted_at_once(release, policy)
    how = getattr(release, "semantics", counts.semantics)
    if policy.schema is not None and policy.schema.semantics != how:
        raise UnsupportedError(
            f"the policy is for semantics {policy.schema.semantics!r}, but the release was counted "
            f"under {how!r}"
        )
    if not counts.n_groups:
        raise DataError("the release has no groups")
    if isinstance(release, GroupCounts):
        _refuse_other_columns(policy)
    _refuse_misread(release, counts, policy)
    seen = _seen(release, policy, people)
    layout = release.layout if isinstance(release, Release) else Layout()
    known: dict[Any, Any] = {}
    verdicts, criteria, judged = [], [], []
    for requirement in policy.requirements:
        beside = requirement.sight(layout).known
        judged.append(requirement.counted_each(release))
        if requirement.criterion is not None:
            counted = requirement.counted(release)
            attained = requirement.criterion.attained(counted)
            safe = attained.holds and requirement.criterion.holds(counted)
            criteria.append(CriterionVerdict(requirement, attained, safe, beside))
            continue
        each = requirement.disclosures(release, known)
        for point, found in zip(requirement.points, each, strict=True):
            top = point.worst(found)
            others = point.ranked(d for d in found if d is not top)
            holds, of = point.holds(top), requirement.counted_for(release, top.value)
            verdicts.append(Verdict(requirement, point, top, holds, tuple(others), of, beside))
    return Audit(
        policy,
        counts,
        tuple(verdicts),
        utility or utility_of(counts),
        name or str(getattr(release, "name", "release")),
        criteria=tuple(criteria),
        scope=Scope.of(release, policy),
        trials=_trials(seen, policy) if learned else None,
        counted=tuple(judged),
    )


def _counted_at_once(release: HasCounts, policy: Policy) -> GroupCounts:
    """Count a release, and what requirements see of it, with one reading where one sees most."""
    if not isinstance(release, Release):
        return counts_of(release)
    sights: list[set[str]] = [
        {*requirement.sight(release.layout).known, requirement.sensitive or release.sensitive}
        for requirement in policy.requirements
        if requirement.sensitive in (None, *release.sensitives)
    ]
    widest = max(sights, key=lambda sight: len(sight), default=set())
    with release.reading(sorted(widest)):
        counts = release.counts
        for requirement in policy.requirements:
            counts_of(requirement.seen(release))
    return counts


def _trials(seen: HasCounts, policy: Policy) -> tuple[Trial, ...]:
    """What the policy tries, or else what the columns of people teach, where these are known."""
    if policy.schema is None:
        return ()
    if policy.tries:
        tried = []
        for each, column in product(policy.tries, policy.schema.sensitives):
            limit = SURE if each.limit is None else float(each.limit)
            with suppress(DataError, UnsupportedError):  # said as not run
                of: Any = seen.seen(column, []) if isinstance(seen, (Release, Sight)) else seen
                tried.append(learned_trial(of, each.attack.by, limit=limit))
        return tuple(tried)
    if len(policy.schema.sensitives) > 1:
        return ()
    counts = counts_of(seen)
    free = set(unprotected_codes(counts, policy.requirements).tolist())
    about = [value for code, value in enumerate(counts.values) if code not in free]
    found = learned_beside(seen, policy.schema.quasi_identifiers, about or None)
    return () if found is None else (found,)


def _refuse_other_columns(policy: Policy) -> None:
    """Raise `PolicyError` for a requirement on a column of which counts may not be."""
    named = [None if policy.schema is None else policy.schema.sensitive]
    named += [requirement.sensitive for requirement in policy.requirements]
    own = next((name for name in named if name is not None), None)
    for requirement in policy.requirements:
        if requirement.sensitive not in (None, own):
            raise PolicyError(
                f"{requirement.name}: it is about {requirement.sensitive!r}, and bare counts are "
                f"taken for {own!r}; give the release itself, or leave sensitive out"
            )


def _refuse_misread(release: Any, counts: GroupCounts, policy: Policy) -> None:
    """Refuse a raw table with a column of dates or numbers that a few texts make one of texts."""
    schema = policy.schema
    columns = release.group_columns if isinstance(release, Release) else ()
    if schema is None or not set(columns) <= set(schema.quasi_identifiers):
        return
    labels, sizes = [*(counts.groups or ())], counts.sizes.tolist()
    for place, name in enumerate(columns):
        if name in schema.types or name in schema.hierarchies:
            continue
        people: dict[str, int] = {}
        for label, size in zip(labels, sizes, strict=False):
            own = label[place] if isinstance(label, tuple) else label
            if isinstance(own, str):
                people[own] = people.get(own, 0) + size
        refuse_misread(name, [*people], [*people.values()], labels=True)


def _seen(release: HasCounts, policy: Policy, people: Any) -> HasCounts:
    """The release as somebody sees it who knows these people's columns."""
    if people is None or isinstance(people, Sight):
        return release if people is None else people
    return seen_with(release, people, [])
