"""Audit: hold a release against a policy; a verdict with its witness for each requirement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Literal

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.auditing.learning import Learnt, learnt_beside
from foreknow.auditing.opening import release_of
from foreknow.auditing.scope import Scope, unprotected_codes
from foreknow.criteria.protocol import Attained
from foreknow.data.counts import GroupCounts
from foreknow.data.engines import frame_of
from foreknow.data.labels import Label
from foreknow.data.sights import Sight, seen_with
from foreknow.errors import DataError, InputError, UnsupportedError, hinted, memory_for
from foreknow.methods.fulldomain.lattice import LatticeResult
from foreknow.output import write_whole
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Point, Requirement
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
    """

    requirement: Requirement
    point: Point
    disclosure: Disclosure
    safe: bool
    others: tuple[Disclosure, ...]

    @property
    def value(self) -> Label:
        """The value that can be found out best."""
        return self.disclosure.value

    @property
    def probability(self) -> float:
        """How sure of it an adversary can be."""
        return self.disclosure.probability

    def __bool__(self) -> bool:
        raise _neither("a verdict")

    @property
    def limit(self) -> Fraction:
        """The confidence that the disclosure must stay below, or must not exceed."""
        return self.point.limit(self.disclosure)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        about = self.requirement.values
        return {
            "requirement": self.requirement.name,
            "values": None if about is None else [str(v) for v in about],
            "except": [str(v) for v in self.requirement.excluded],
            **({"any_of": list(of)} if (of := self.requirement.any_of) is not None else {}),
            "adversary": self.point.adversary.to_dict(),
            self.point.key: str(self.point.below),
            **({"limit": str(self.limit)} if self.point.relative else {}),
            "safe": self.safe,
            "worst": self.disclosure.to_dict(),
        }

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def __repr__(self) -> str:
        word = "safe" if self.safe else "UNSAFE"
        chance, limit = self.point.said(self.disclosure)
        return (
            f"Verdict({word}: {self.point.adversary} reaches {chance} for {self.value!r}, "
            f"limit {limit})"
        )


def _neither(what: str) -> InputError:
    return InputError(f"{what} is neither true nor false by itself; ask .safe")


@dataclass(frozen=True)
class CriterionVerdict:
    """What came of a requirement that is a criterion.

    Attributes
    ----------
    requirement : Requirement
    attained : Attained
        What the release attains, and where.
    safe : bool
        Whether it holds, by all that the criterion says.
    """

    requirement: Requirement
    attained: Attained
    safe: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        assert self.requirement.criterion is not None
        return {
            "requirement": self.requirement.name,
            "criterion": self.requirement.criterion.to_dict(),
            "attained": str(self.attained.amount),
            "group": self.attained.group,
            "safe": self.safe,
        }


@dataclass(frozen=True)
class Estimate:
    """What came of a requirement whose adversary learns: an estimate, and no verdict.

    Attributes
    ----------
    requirement : Requirement
    point : Point
        The adversary, and its limit.
    disclosure : Disclosure
        The highest that was estimated; relative to what statistics alone say if the limit is.
    within : bool
        Whether it keeps the limit. That is not proven: another adversary may learn more.
    others : tuple of Disclosure
        The other values of the requirement, highest first.
    details : mapping
        How it was learned, and how many people are guessed right.
    """

    requirement: Requirement
    point: Point
    disclosure: Disclosure
    within: bool
    others: tuple[Disclosure, ...]
    details: Mapping[str, Any]

    @property
    def limit(self) -> Fraction:
        """The confidence that the disclosure must stay below, or must not exceed."""
        return self.point.limit(self.disclosure)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        about = self.requirement.values
        return {
            "requirement": self.requirement.name,
            "values": None if about is None else [str(v) for v in about],
            "except": [str(v) for v in self.requirement.excluded],
            "adversary": self.point.adversary.to_dict(),
            self.point.key: str(self.point.below),
            **({"limit": float(self.limit)} if self.point.relative else {}),
            "estimate": True,
            "within": self.within,
            "highest": self.disclosure.to_dict(),
            **self.details,
        }


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
    estimates : tuple of Estimate
        One per requirement and point of an adversary who learns, in the policy's order.
    learnt : Learnt, None or False
        What can be learned from the release by the quasi-identifiers that tell most: an estimate.
        None where they are not known beside it, or the groups are few; False where that was not
        asked for.
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
    estimates: tuple[Estimate, ...] = ()
    learnt: Learnt | Literal[False] | None = None

    def __bool__(self) -> bool:
        raise _neither("an audit")

    def __getitem__(self, name: str) -> Any:
        raise InputError(f"an audit has attributes, such as .safe and .verdicts, and no [{name!r}]")

    @property
    def safe(self) -> bool:
        """Whether every requirement holds; of those that are estimated, as estimated."""
        return all(each.safe for each in self._every) and all(e.within for e in self.estimates)

    @property
    def _every(self) -> tuple[Verdict | CriterionVerdict, ...]:
        return *self.verdicts, *self.criteria

    @cached_property
    def unprotected(self) -> tuple[Label, ...]:
        """Sensitive values that no requirement is about: the release may tell them outright."""
        free = unprotected_codes(self.counts, self.policy)
        return tuple(self.counts.values[code] for code in free.tolist())

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
            **({"learned": self.learnt and self.learnt.to_dict()} if self.learnt else {}),
            "policy": self.policy.to_dict(),
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            **({"criteria": [each.to_dict() for each in self.criteria]} if self.criteria else {}),
            **(
                {"estimates": [each.to_dict() for each in self.estimates]} if self.estimates else {}
            ),
            "utility": self.utility.to_dict(),
        }

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

    def __repr__(self) -> str:
        many = len(self.policy.requirements)
        noun = "requirement" if many == 1 else "requirements"
        if self.safe:
            about = " (by an estimate)" if self.estimates else ""
            word = "safe" if self._every else "within limits"
            return f"Audit({self.name}: {word}, {many} {noun}{about})"
        odd = [each.requirement for each in self._every if not each.safe]
        odd += [each.requirement for each in self.estimates if not each.within]
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
        Whether to estimate, beside the verdicts, what the policy's quasi-identifiers teach
        together with the release, where it tells them of people; on a sample where it is large.

    Raises
    ------
    SchemaError
        If it is a table, and the policy has no schema.
    PolicyError
        If the policy names a sensitive value that nobody in the release has.

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
    counts = counts_of(release)
    if policy.schema is not None and policy.schema.semantics != counts.semantics:
        raise UnsupportedError(
            f"the policy is for semantics {policy.schema.semantics!r}, but the release was counted "
            f"under {counts.semantics!r}"
        )
    if not counts.n_groups:
        raise DataError("the release has no groups")
    seen = _seen(release, policy, people)
    known: dict[Any, tuple[HasCounts, Sequence[Disclosure]]] = {}
    verdicts, criteria, estimates = [], [], []
    for requirement in policy.requirements:
        counted = requirement.counted(release)
        if requirement.criterion is not None:
            attained = requirement.criterion.attained(counted)
            safe = attained.holds and requirement.criterion.holds(counted)
            criteria.append(CriterionVerdict(requirement, attained, safe))
            continue
        mask = requirement.mask(counts_of(counted).values).tolist()
        for point in requirement.points:
            if point.estimated:
                estimates.append(_estimate(requirement, point, requirement.counted(seen), mask))
                continue
            key = point.adversary, point.relative, id(counted)
            if key not in known:  # what is counted is kept, or another could get its id
                known[key] = counted, point.disclosures(counted)
            found = [d for d, about in zip(known[key][1], mask, strict=True) if about]
            top = point.worst(found)
            others = point.ranked(d for d in found if d is not top)
            verdicts.append(Verdict(requirement, point, top, point.holds(top), tuple(others)))
    return Audit(
        policy,
        counts,
        tuple(verdicts),
        utility or utility_of(counts),
        name or str(getattr(release, "name", "release")),
        criteria=tuple(criteria),
        scope=Scope.of(release, policy),
        estimates=tuple(estimates),
        learnt=_learnt(seen, policy) if learned else False,
    )


def _learnt(seen: HasCounts, policy: Policy) -> Learnt | None:
    """What the columns of people teach, where they are known."""
    if policy.schema is None:
        return None
    counts = counts_of(seen)
    free = set(unprotected_codes(counts, policy).tolist())
    about = [value for code, value in enumerate(counts.values) if code not in free]
    return learnt_beside(seen, policy.schema.quasi_identifiers, about or None)


def _seen(release: HasCounts, policy: Policy, people: Any) -> HasCounts:
    """The release as somebody sees it who knows these people's columns."""
    if people is None or isinstance(people, Sight):
        return release if people is None else people
    adversaries: list[Any] = [point.adversary for point in policy.points if point.estimated]
    by = [name for adversary in adversaries for name in adversary.by]
    return seen_with(release, people, list(dict.fromkeys(by)))


def _estimate(
    requirement: Requirement, point: Point, counted: HasCounts, mask: Sequence[bool]
) -> Estimate:
    """Judge a requirement whose adversary learns."""
    each = zip(point.disclosures(counted), mask, strict=True)
    found = [disclosure for disclosure, about in each if about]
    top = point.worst(found)
    others = point.ranked(d for d in found if d is not top)
    adversary: Any = point.adversary
    details = adversary.learning(counted).to_dict()
    return Estimate(requirement, point, top, point.holds(top), tuple(others), details)
