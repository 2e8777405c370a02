"""Audit: hold a release against a policy; a verdict with its witness for each requirement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from foreknow.atomic_files import write_whole
from foreknow.auditing.counted_release import counted_release
from foreknow.auditing.scope import scope_of, unprotected_codes
from foreknow.auditing.trial import Trial, trials_beside
from foreknow.call_hints import Listed
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Label
from foreknow.data.release import Release
from foreknow.data.tables.views.plain_columns import frame_of
from foreknow.data.utility import Utility, utility_of
from foreknow.plugins import package_of
from foreknow.policy.call_arguments import Arguments, hinted_with_keys, policy_of
from foreknow.policy.policy import Policy
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow.result import Result
from foreknow.result_pages import page_of
from foreknow_judge.errors import InputError, memory_for
from foreknow_judge.numbers import as_fraction, read_number
from foreknow_judge.remarks.scope import Scope
from foreknow_judge.remarks.sentences import OF_EACH_CASE, OF_PEOPLE_OPEN, without_limit
from foreknow_judge.verdict import Verdict, neither

if TYPE_CHECKING:
    from foreknow.auditing.exposed_people import Exposed
    from foreknow.methods.fulldomain.lattice import LatticeResult

APART_OPEN = "; together with the releases published before it was not judged here"


def _verdict_content(verdict: Verdict, requirement_counts: RequirementCounts) -> dict[str, Any]:
    """A verdict for JSON: what was asked in full, and what is reached with its witness.

    `requirement_counts` has what the requirement counts of the release.
    """
    requirement = verdict.requirement
    sets = {}
    if requirement.target.names_sets:  # the values that the names of its sets stand for
        sets["sets"] = {
            name: list(members) for name, members in requirement_counts.meant.sets.items()
        }
    return {
        "requirement": requirement.name,
        **requirement.secret_and_sight(verdict.known),
        **sets,
        "judged": verdict.judged.to_dict(),
        **verdict.required.to_dict(),
        **({"limit": str(verdict.limit)} if verdict.required.relative else {}),
        "safe": verdict.safe,
        "worst": verdict.found.to_dict(),
    }


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """The verdicts on one release.

    Attributes
    ----------
    verdicts : tuple of Verdict
        One for each requirement and point, or criterion, in the policy's order.
    utility : Utility
        How much the release keeps of the table.
    policy : Policy
        The policy by which the release was judged.
    counts : GroupCounts
        The counts of the release.
    name : str
        The name of the release in reports.
    lattice : LatticeResult, optional
        The generalizations from which the release was chosen, if the method searched a lattice;
        else None. For the owner only: it says more about the table than the release does.
    scope : Scope
        What the verdicts do not cover.
    trials : tuple of Trial, or None
        Attacks that were carried out in addition to the verdicts: what can be learned from the
        release by the most informative quasi-identifiers. Empty if nobody's exact values of these
        are available, or if the release has few groups; None if no trial was asked for.
    tried_together : bool
        Whether the trials were carried out on this release together with earlier ones. Their
        results are then in the joint audit.
    counted : tuple of RequirementCounts
        The counts by which each requirement was judged, in the policy's order.
    too_large : tuple of str
        The requirements with groups that are too large for the judge. An upper bound, which the
        judge did not check, decides these.
    has_earlier : bool
        Whether the release's certificate names earlier releases, which are not judged here.
    rounding : mapping of column to text or None
        The columns that the policy rounds, as far as the table shows them: a number that is no
        multiple of the step, or None if there is none.
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
    has_earlier: bool = False
    rounding: Mapping[str, str | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        raise neither("an audit")

    def __getitem__(self, name: str) -> Any:
        raise InputError(f"an audit has attributes, such as .safe and .verdicts, and no [{name!r}]")

    def __len__(self) -> int:
        raise InputError("an audit has no length; see .people, .counts.n_groups and len(.verdicts)")

    @property
    def safe(self) -> bool:
        """True if every requirement holds and at least one applies to the table."""
        return not self.idle and not self.failures

    @property
    def idle(self) -> bool:
        """True if nothing was judged, because nobody has a value that is to be protected."""
        return all(verdict.idle for verdict in self.verdicts)

    @property
    def unrounded(self) -> dict[str, str]:
        """The columns that the policy rounds and the audited table does not.

        Each with one of its numbers that is no multiple of the step.
        """
        return {name: number for name, number in self.rounding.items() if number is not None}

    @property
    def people(self) -> int:
        """The number of people, or cases, that were counted."""
        return self.counts.n_people

    @property
    def worst(self) -> Verdict:
        """The verdict that fails or is nearest to its limit; the first if there are several."""
        return max(self.verdicts, key=lambda verdict: (not verdict.safe, _nearness(verdict)))

    @property
    def limits_inference(self) -> bool:
        """True if a requirement limits what is inferred about people, not only who looks alike."""
        return any(map(self.limits_people, self.verdicts))

    @property
    def limits_cases(self) -> bool:
        """True if inference is limited for single cases only, where a person may have several."""
        return not self.limits_inference and any(map(self.limits, self.verdicts))

    def limits_people(self, verdict: Verdict) -> bool:
        """True if a verdict's requirement limits inference about people, not only about cases."""
        return self.limits(verdict) and verdict.requirement.limits_people

    def limits(self, verdict: Verdict) -> bool:
        """True if a verdict's requirement limits inference about people or cases."""
        asks = verdict.required.limits and not verdict.idle
        return asks and self.counted_of(verdict).limits_inference

    @property
    def provisos(self) -> tuple[str, str]:
        """Two clauses that qualify the word "safe" in a sentence.

        The first says that it holds for single cases only, the second what remains open. Each is
        empty if there is nothing to add.
        """
        # Whether a criterion of Foreknow limits the values of a column together.
        has_joint = any(
            self.limits_people(verdict) and not package_of(type(verdict.judged))
            for verdict in self.criteria
        )
        beyond = without_limit(self.scope, has_joint) + (APART_OPEN if self.has_earlier else "")
        if not self.in_cases or self.scope.word:
            return "", beyond
        return OF_EACH_CASE, f"{beyond}{OF_PEOPLE_OPEN}"

    @property
    def in_cases(self) -> bool:
        """True if a row is a case and a person may have several."""
        return self.scope.cases

    @property
    def criteria(self) -> tuple[Verdict, ...]:
        """The verdicts on criteria, which are about groups."""
        return tuple(verdict for verdict in self.verdicts if verdict.of_groups)

    @cached_property
    def unprotected(self) -> tuple[Label, ...]:
        """The sensitive values that no requirement protects: the release may reveal them."""
        first = None if self.policy.schema is None else self.policy.schema.sensitive
        requirements = []
        for requirement in self.policy.requirements:
            if requirement.sensitive in (None, first):
                requirements.append(requirement)
        free = unprotected_codes(self.counts, requirements)
        return tuple(self.counts.values[code] for code in free.tolist())

    @cached_property
    def exposed(self) -> tuple[Exposed, ...]:
        """The number of people over each limit, in the policy's order; for the owner only.

        Everybody is the target in turn, with the worst facts about them. Computed on first use.

        Examples
        --------
        >>> from foreknow.adversaries.facts.facts import Facts
        >>> from foreknow.policy.requirement import Requirement
        >>> counts = GroupCounts.from_bags([["Flu", "Flu", "AIDS"], ["Flu", "Cold", "AIDS"]])
        >>> (found,) = audit(counts, Policy([Requirement(Facts(l=1), below="2/3")])).exposed
        >>> found.over.people, found.over.groups, found.certain.people
        (3, 1, 3)
        """
        from foreknow.auditing.exposed_people import exposed_by

        exposed: list[Exposed] = []
        for position, verdicts in groupby(self.verdicts, key=lambda verdict: verdict.place):
            of_requirement = [*verdicts]
            limits = any(map(self.limits_people, of_requirement))
            exposed += exposed_by(self.counted[position], of_requirement, limits)
        return Listed(exposed)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what the verdicts do not cover, the most important first."""
        page = page_of(self)
        return tuple(page.said(page.notes))

    @cached_property
    def failures(self) -> tuple[Verdict, ...]:
        """The verdicts that are not safe."""
        return tuple(verdict for verdict in self.verdicts if not verdict.safe)

    def failed(self, release: Release | None = None) -> list[str]:
        """The requirements that fail, as text; for a release, by how much if its files show it."""
        if release is not None and not self.policy.owned:
            return self.policy.failures(release)
        return [f"{verdict.requirement.name}: {verdict.words}" for verdict in self.failures]

    def _content(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "release": self.name,
            "safe": self.safe,
            "headline": page_of(self).said(page_of(self).headline),
            "nothing_judged": self.idle,
            "limits_inference": self.limits_inference,
            "unprotected": [str(value) for value in self.unprotected],
            "scope": self.scope.to_dict(),
            "notes": list(self.notes),
            "assumed": list(page_of(self).assumed),
            **({"too_large": list(self.too_large)} if self.too_large else {}),
            "trials": [trial.to_dict() for trial in self.trials or ()],
            "policy": self.policy.to_dict(),
            "verdicts": [
                _verdict_content(verdict, self.counted_of(verdict)) for verdict in self.verdicts
            ],
            "exposed": [exposed.to_dict() for exposed in self.exposed],
            "utility": self.utility.to_dict(),
        }

    def counted_of(self, verdict: Verdict) -> RequirementCounts:
        """The counts by which a verdict was judged."""
        return self.counted[verdict.place]

    def to_frame(self, library: str = "pandas") -> Any:
        """The verdicts as a frame of "pandas", "polars" or "arrow", with a row for each."""
        rows = []
        for verdict in self.verdicts:
            rows.append(
                {
                    "requirement": verdict.requirement.name,
                    "safe": verdict.safe,
                    "judged": str(verdict.judged),
                    "value": None if verdict.value is None else str(verdict.value),
                    "probability": verdict.probability,
                    "limit": None if verdict.of_groups else float(verdict.limit),
                    "attained": None if verdict.reached is None else str(verdict.reached),
                }
            )
        return frame_of(rows, library)

    def to_html(self, path: str | Path | None = None, *, published: bool = False) -> str | None:
        """Write a report as one HTML file that opens offline; the file is complete or not written.

        Parameters
        ----------
        path : path, optional
            Where to write the page; None: return it.
        published : bool
            Whether the report is published with the release; findings by learned priors are then
            left out.
        """
        page = page_of(self, published=published).html()
        if path is not None:
            write_whole(path, page, private=not published)
        return page if path is None else None

    def exposed_to_csv(self, path: str | Path) -> None:
        """Write the groups with people over a limit as CSV, for the owner only.

        There is a row for each requirement and group, the worst first: ``requirement``, ``group``
        (its label), ``people`` (its size), ``found_out`` and ``certain`` (how many people of the
        group, at most), ``value`` (the value that an adversary could be surest of), ``how_sure``
        and ``limit``. The last four are empty for a criterion that fails.
        """
        page: Any = page_of(self)
        write_whole(path, page.exposed_csv(), private=True)

    def __repr__(self) -> str:
        """One line: the name, whether it is safe, and how many requirements were judged."""
        n_requirements = len(self.policy.requirements)
        noun = "requirement" if n_requirements == 1 else "requirements"
        if self.idle:
            return f"Audit({self.name}: nothing was judged, {n_requirements} {noun} about nobody)"
        if self.safe:
            far, beyond = self.provisos if self.limits_inference else ("", "")
            outcome = (
                f"safe{far}" if self.limits_inference else "holds, but nothing limits inference"
            )
            if self.limits_cases:
                outcome = "holds of each case, but nothing limits inference of people"
            n_asking = len({verdict.place for verdict in self.verdicts if not verdict.idle})
            n_idle = n_requirements - n_asking
            about_nobody = f", {n_idle} about nobody" if n_idle else ""
            return f"Audit({self.name}: {outcome}, {n_requirements} {noun}{about_nobody}{beyond})"
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
        The release to judge. It is counted with one GROUP BY, unless it was counted before. In a
        table, published or raw, the policy's schema says what makes a group: the group column, or
        else equal quasi-identifiers. A folder that `publish` wrote needs no policy for this.
    policy : Policy, path or mapping, optional
        A policy, the path of its file, or the tables of one.
    utility : Utility, optional
        Measures to report; default: those that follow from the counts.
    name : str, optional
        The name of the release in reports.
    group : str, optional
        The column with the group of each row, if the release is a table.
    people : Microdata, path or frame, optional
        A table with everybody's exact quasi-identifiers, if the release is generalized. It is used
        for a trial of adversaries who know these and learn from the release.
    learned : bool
        Whether to carry out a trial in addition to the verdicts: what somebody who knows the
        policy's quasi-identifiers learns from the release, if it shows these exactly. A large
        release is sampled.
    **said
        Keys of a policy, instead of `policy` or in addition to it: `quasi_identifiers`,
        `sensitive`, `identifiers`, `hierarchies`; `k_anonymity`, `l_diversity`, `t_closeness`,
        `facts` with `below`. If no requirement is given, the release must be 5-anonymous, and
        nobody who knows one fact may be as sure as 1/2.

    Raises
    ------
    SchemaError
        If the release is a table and the policy has no schema.
    PolicyError
        If a set of the policy contains every sensitive value of the release.

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
    """The audit of a release: what it counts, the verdicts, remarks, and trials if `learned`.

    Verdicts are the judge's if `by_judge`; else explanations stand in their place.
    """
    with counted_release(release, policy, group, people) as release_counts:
        scope = scope_of(release_counts.release, release_counts.shown_policy)
        verdicts, too_large = release_counts.verdicts(by_judge=by_judge)
        rounding = dict(_rounding_of(release_counts.release, release_counts.policy))
    return Audit(
        policy=release_counts.policy,
        counts=release_counts.counts,
        verdicts=verdicts,
        utility=utility or utility_of(release_counts.counts),
        name=name or release_counts.name,
        scope=replace(scope, word=release_counts.word, open=release_counts.open),
        trials=trials_beside(release_counts.sight, release_counts.policy) if learned else None,
        counted=release_counts.requirement_counts,
        too_large=too_large,
        has_earlier=release_counts.has_earlier,
        rounding=rounding,
    )


def _rounding_of(release: Release, policy: Policy) -> Iterator[tuple[str, str | None]]:
    """Yield each column that the policy rounds, and a number of it that is not rounded, or None.

    Nothing is said of a column with texts that are no plain numbers, such as 1,5.
    """
    sensitive = release.by_column()
    for column, setting in policy.options.round.items():
        step = as_fraction(setting)
        try:
            values: Iterable[Any] = (
                sensitive[column].values
                if column in sensitive
                else chain.from_iterable(release.signatures([column]).labels)
            )
        except InputError:  # the release does not show it
            continue
        numbers = {value: read_number(value) for value in values if value not in (None, "*")}
        wrong = (str(x) for x, number in numbers.items() if number and Fraction(number) % step)
        example = next(wrong, None)
        if example is not None or column in sensitive or None not in numbers.values():
            yield column, example


def _nearness(verdict: Verdict) -> float:
    """How near a verdict on inference is to its limit; of groups, 0."""
    limited = not verdict.of_groups and not verdict.idle
    return verdict.probability / float(verdict.limit) if limited else 0.0
