"""Comparison: methods at several limits, what each release would keep and how safe it would be."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from itertools import product
from math import floor, log, log10
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from foreknow.auditing.audit import Audit, audit
from foreknow.auditing.named_values import refuse_misspelt
from foreknow.auditing.trial import Trial
from foreknow.call_hints import Plain
from foreknow.criteria.registry import CRITERIA
from foreknow.data.microdata import Microdata
from foreknow.data.tables.views.plain_columns import frame_of
from foreknow.errors import NoSafeRelease, did_you_mean
from foreknow.features import load
from foreknow.methods.registry import METHODS, OURS, key_of
from foreknow.numbers import whole_number
from foreknow.policy.call_arguments import Arguments, hinted_with_keys, policy_of
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Point, Requirement
from foreknow.publishing.priors import marked
from foreknow.publishing.publish import Publication, publish
from foreknow.result import Result
from foreknow.workers import Failure, cores, side_by_side
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.numbers import Number, as_fraction, as_threshold, shown

_log = logging.getLogger(__name__)

Status: TypeAlias = Literal[
    "safe", "holds", "unsafe", "no safe release", "refused", "out of time", "failed", "stopped"
]

# Those that try functions in order foresee who knows them; they take few kinds of knowledge, and
# long: they are compared where they are asked for.
_USUAL = tuple(key for key, _ in OURS if key not in ("jump", "safe", "naive"))
# The policy's own limit, and these times it.
_AROUND = Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(5, 4), Fraction(3, 2)
SECONDS = 60.0
# Every 16th and every 8th person, of so many at least: by these it is said how long all take.
_PARTS, _FEWEST = (16, 8), 800


@dataclass(frozen=True)
class Candidate(Plain):
    """A method at a limit, with the measured release that it makes or the reason why there is none.

    Attributes
    ----------
    method : str
        The name of the method.
    limit : Fraction or None
        The limit of the strictest requirement; the others change in proportion. None if no
        requirement has a limit.
    amounts : mapping of str to int
        What the adversaries know, if it differs from the policy.
    status : str
        "safe"; "holds" (no requirement limits inference); "no safe release"; "refused" (the method
        does not serve such a policy); "out of time"; "failed"; or "stopped" (before it was done).
        "unsafe" does not occur for releases of `publish`.
    why : str
        A sentence that says why the release is not safe.
    form : "generalized" or "bucketized", or None
        The form of the release.
    holds_as_given : bool or None
        Whether the release is also safe by the original policy.
    loss : float or None
        The NCP, averaged over quasi-identifiers; None if they are exact.
    query_error, average_query_error : float or None
        The median and the average relative error of count queries about all quasi-identifiers.
    people, groups : int or None
        The number of people and of groups.
    over : int or None
        The number of people over a limit of the original policy, for the requirement with the most.
        None if it cannot be counted.
    at_most : bool
        Whether `over` is only an upper bound.
    risk : float or None
        How sure an adversary of the original policy can become, at worst, for the requirement whose
        limit varies.
    exact : str or None
        `risk` as a fraction; None if it is not known exactly.
    method_known : str or None
        The outcome for an adversary who knows the method; see `Scope`.
    seconds : float or None
        How long `publish` took, in seconds, with other processes running.
    misplaced : float or None
        The average share of people who are in another cell of cross tables of what models explain.
    fit : Fit or None
        The first regression; see `Models`.
    needs : float or None
        The estimated time of a run that ran out of time, in seconds, from runs with fewer people.
    trial : Trial or None
        What can be learned from a release that shows exact columns of everybody.
    """

    _json_fields = "* safe"

    method: str
    limit: Fraction | None
    amounts: Mapping[str, int] = field(default_factory=dict)
    status: Status = "stopped"
    why: str = ""
    form: str | None = None
    holds_as_given: bool | None = None
    loss: float | None = None
    query_error: float | None = None
    average_query_error: float | None = None
    people: int | None = None
    groups: int | None = None
    over: int | None = None
    at_most: bool = False
    risk: float | None = None
    exact: str | None = None
    method_known: str | None = None
    seconds: float | None = None
    misplaced: float | None = None
    fit: Any = None
    needs: float | None = None
    trial: Trial | None = None

    @property
    def safe(self) -> bool:
        """True if a release holds the policy at the limit."""
        return self.status in ("safe", "holds")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """The releases that several methods make of one table at several limits; for the owner only.

    Attributes
    ----------
    name : str
        The name of the table.
    policy : Policy
        The original policy.
    limit : Fraction or None
        The policy's limit of the strictest requirement; None if no requirement has a limit.
    candidates : tuple of Candidate
        The methods in the order of the call, each at all limits and amounts.
    queries, seed : int
        The number of queries for each release, and the seed of queries and methods.
    seconds : float or None
        The time limit of a run; None: no limit.
    processes : int
        The number of runs at the same time; 0: one after the other in the calling process.
    complete : bool
        Whether all runs ended; False if the comparison was stopped before.
    asked : tuple of str
        The methods that the call names, or else the policy's method.
    """

    format = "foreknow comparison"
    _json_fields = (
        "table=name policy limits_inference limit queries seed seconds processes complete "
        "candidates"
    )

    name: str
    policy: Policy
    limit: Fraction | None
    candidates: tuple[Candidate, ...]
    queries: int
    seed: int
    seconds: float | None
    processes: int
    complete: bool = True
    asked: tuple[str, ...] = ()

    @property
    def in_cases(self) -> bool:
        """True if rows are cases and a person may have several."""
        return self.policy.needed_schema.unit == "row"

    @property
    def weights(self) -> str | None:
        """The column of survey weights that the schema names."""
        return self.policy.needed_schema.weights

    @property
    def is_weighted(self) -> bool:
        """True if errors and models count people by weights, which all releases then show."""
        schema = self.policy.needed_schema
        return schema.published_weights is not None and not schema.several

    @property
    def limits_inference(self) -> bool:
        """True if a requirement limits what is inferred, not only who looks alike."""
        if self.safe:  # then it is known whether the table has what requirements are about
            return any(candidate.status == "safe" for candidate in self.safe)
        return self.policy.limits_inference

    @property
    def safe(self) -> tuple[Candidate, ...]:
        """The candidates with a release that holds the policy at its limit."""
        return tuple(candidate for candidate in self.candidates if candidate.safe)

    @property
    def frontier(self) -> tuple[Candidate, ...]:
        """The safe candidates that no other beats in both risk and query error, safest first."""
        measured = []
        for candidate in self.safe:
            if None not in _risk_and_error(candidate):
                measured.append(candidate)
        unbeaten = [candidate for candidate in measured if not _is_beaten(candidate, measured)]
        return tuple(sorted(unbeaten, key=_risk_and_error))

    def _content(self) -> dict[str, Any]:
        frontier = list(map(self.candidates.index, self.frontier))
        content = {**super()._content(), "frontier": frontier}
        if self.weights is not None:
            weighted = ("query_error", "average_query_error", "misplaced", "fit")
            content["survey_weights"] = {
                "column": self.weights,
                "weighted": weighted if self.is_weighted else (),
            }
        return content

    def to_frame(self, library: str = "pandas") -> Any:
        """The candidates as a frame of "pandas", "polars" or "arrow", with a row for each."""
        rows = []
        for candidate in self.candidates:
            row = candidate.to_dict()
            # Amounts become columns; fit and trial are no single figures, so only the fit's score
            # stays.
            amounts = row.pop("amounts")
            row.pop("fit")
            row["score"] = None if candidate.fit is None else candidate.fit.score.usual
            row.pop("trial")
            row["limit"] = None if candidate.limit is None else float(candidate.limit)
            rows.append({"method": row.pop("method"), "limit": row.pop("limit"), **amounts, **row})
        return frame_of(rows, library)

    def __repr__(self) -> str:
        n_candidates, safe = len(self.candidates), len(self.safe)
        stopped = "" if self.complete else ", stopped before its end"
        adjective = "safe" if self.limits_inference else "hold"
        n_held = sum(bool(candidate.holds_as_given) for candidate in self.safe)
        by_policy = f", {n_held} by the policy as it is" if n_held < safe else ""
        frontier = f"{len(self.frontier)} on the frontier{stopped}"
        return f"Comparison({safe} of {n_candidates} {adjective}{by_policy}, {frontier})"


@dataclass(frozen=True)
class _Job:
    """A run: a method, and the policy with its limits and amounts."""

    method: str
    limit: Fraction | None
    amounts: dict[str, int]
    policy: Policy | None  # None where it contradicts itself, which `why` says
    as_given: bool = False  # whether it is the policy as it was given
    why: str = ""
    part: int = 1  # one in so many people, to see how long these take

    def candidate(self, **measures: Any) -> Candidate:
        return Candidate(self.method, self.limit, self.amounts, **measures)


@dataclass(frozen=True)
class _RunSettings:
    """The table, the policy and the settings that all runs share."""

    microdata: Microdata
    policy: Policy
    queries: int
    seed: int
    models: bool | Sequence[str]


def _risk_and_error(candidate: Candidate) -> tuple[Any, Any]:
    """Risk and query error; None where it was not measured."""
    return candidate.risk, candidate.query_error


def _is_beaten(candidate: Candidate, rivals: Iterable[Candidate]) -> bool:
    """True if a rival has no more risk and no larger error, and is not equal in both."""
    risk, error = _risk_and_error(candidate)
    for rival_risk, rival_error in map(_risk_and_error, rivals):
        is_equal = rival_risk == risk and rival_error == error
        if rival_risk <= risk and rival_error <= error and not is_equal:
            return True
    return False


@hinted_with_keys
def compare(
    table: Any,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    *,
    methods: Sequence[str] | str | None = None,
    limits: Sequence[Number] | Number | None = None,
    amounts: Mapping[str, Sequence[int] | int] | None = None,
    seconds: float | None = SECONDS,
    queries: int = 1000,
    models: bool | Sequence[str] = False,
    seed: int = 0,
    processes: int | None = None,
    **keys: Unpack[Arguments],
) -> Comparison:
    """Publish a table by several methods at several limits, and measure each release.

    Every run does what `publish` does with that method, the policy with that limit, and that seed.
    All releases are asked the same queries as by `query_error`. Nothing is written, and no release
    is kept. Ctrl-C ends the runs and returns those that are finished.

    Parameters
    ----------
    table : Microdata, path or frame
        The table to publish.
    policy : Policy, path or mapping, optional
        The policy of all runs.
    methods : sequence of str, optional
        Names of methods, as in policy files; default: the policy's method, and all except jump,
        safe and naive.
    limits : sequence of numbers, optional
        Limits for the strictest requirement that has one; the limits of all others change in
        proportion, up to 1. Limits in multiples of the prior do not change. Default: the policy's
        limit, and 1/2, 3/4, 5/4 and 3/2 times it, if at most 1.
    amounts : mapping of str to whole numbers, optional
        What adversaries know: ``{"k": [1, 3]}`` tries every k with each limit, for all adversaries
        of the policy that have a k; ``{"k_anonymity": [2, 5]}`` tries these group sizes, and
        ``l_diversity`` these numbers of values. Default: as in the policy.
    seconds : float, optional
        The time limit of a run; None: no limit.
    queries : int
        The number of queries for each release.
    models : bool or sequence of str
        Whether to fit models to each release, too, as in `utility_report`; or the columns that the
        models explain.
    seed : int
        Random seed for queries, methods and models.
    processes : int, optional
        The number of runs at the same time; default: the number of cores. With 0, runs take place
        one after the other in this process, without a time limit; use it for policies with classes
        of your own script.
    **said
        Keys of a policy, as in `audit`, instead of `policy` or in addition to it.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If the table, the policy, a method or a limit cannot be used at all. If one method does not
        serve the policy, its candidate says why.

    Examples
    --------
    >>> from foreknow import sample
    >>> rules = sample.policy_path()
    >>> found = compare(
    ...     sample.table_path(), rules, methods=["fulldomain"], limits=["1/5", "1/4"], processes=0
    ... )
    >>> [(each.method, str(each.limit), each.status, each.groups) for each in found.candidates]
    [('fulldomain', '1/5', 'safe', 16), ('fulldomain', '1/4', 'safe', 32)]
    """
    whole_number(seed, "seed", 0)
    whole_number(queries, "queries", 1)
    n_processes = cores() if processes is None else whole_number(processes, "processes", 0)
    if seconds is not None and not (_is_real(seconds) and seconds > 0):
        raise InputError(f"seconds must be above 0, or None, not {seconds!r}")
    rules = policy_of(policy, keys, table, "compare")
    # Judged are the rows and columns that would be published.
    microdata = rules.as_published(rules.microdata(table))
    rules = marked(replace(rules, schema=microdata.schema), microdata)  # also reads the table
    domains = {sensitive.name: sensitive.domain for sensitive in microdata.sensitives}
    refuse_misspelt(domains, rules.requirements)
    if models is not False:  # refused before anything is published
        load("foreknow.features.utility.models:Question").of(
            microdata, None if models is True else models
        )
    lead = _strictest_point(rules)
    limits_to_try = _limits_to_try(limits, lead)
    jobs = list(_jobs(rules, lead, _methods_to_run(methods, rules), limits_to_try, amounts))
    shared = _RunSettings(microdata, rules, queries, seed, models)
    finished: dict[int, Candidate] = {}
    complete = True
    # What differs least from the policy comes first, for those who stop it.
    order = sorted(range(len(jobs)), key=lambda position: _distance(jobs[position], lead))
    n_processes = min(n_processes, len(jobs))
    # Ctrl-C keeps what is finished.
    try:
        jobs_in_order = [jobs[position] for position in order]
        for place, outcome in _outcomes(shared, jobs_in_order, n_processes, seconds):
            job = jobs_in_order[place]
            finished[order[place]] = _candidate_of(job, outcome, seconds)
            _log.info(
                "%d of %d done, %s%s",
                len(finished),
                len(jobs),
                job.method,
                _limit_phrase(job.limit),
            )
        # Short runs on parts of the people tell how long a run would have taken.
        if n_processes and seconds is not None:
            finished |= _estimate_times(shared, jobs, finished, n_processes, seconds)
    except KeyboardInterrupt:
        complete = False
    stopped = "it was stopped before it was done"
    candidates = []
    for position, job in enumerate(jobs):
        candidates.append(finished.get(position) or job.candidate(why=stopped))
    named_methods = [key_of(rules.options.method)]
    if methods is not None:
        named_methods = _methods_to_run(methods, rules)
    return Comparison(
        name=microdata.name,
        policy=rules,
        limit=None if lead is None else lead.below,
        candidates=tuple(candidates),
        queries=queries,
        seed=seed,
        seconds=None if n_processes == 0 else seconds,
        processes=n_processes,
        complete=complete,
        asked=tuple(named_methods),
    )


def _outcomes(
    shared: _RunSettings, jobs: Sequence[_Job], n_processes: int, seconds: float | None
) -> Iterator[tuple[int, Any]]:
    """Yield each run's position among `jobs` and its outcome, as runs end.

    With 0 processes, one after another in this process, and without a limit of time.
    """
    if n_processes:
        yield from side_by_side(publish_and_measure, shared, jobs, n_processes, seconds)
    else:
        for position, job in enumerate(jobs):
            yield position, publish_and_measure(shared, job)


def _estimate_times(
    shared: _RunSettings,
    jobs: Sequence[_Job],
    finished: Mapping[int, Candidate],
    n_processes: int,
    seconds: float,
) -> dict[int, Candidate]:
    """The runs that ran out of time, each with an estimate of the time that it needs.

    It is estimated from runs of the same method on parts of the people; a run is left out if these
    were not in time. `finished`, and the result, have candidates by the position of their jobs.
    """
    out_of_time = [
        position for position, candidate in finished.items() if candidate.status == "out of time"
    ]
    # One run for each method is enough, the first in order; the last assignment of a key wins.
    first = {jobs[position].method: jobs[position] for position in reversed(out_of_time)}
    shorter_jobs = [replace(job, part=one_in) for job, one_in in product(first.values(), _PARTS)]
    n_people = shared.microdata.n_people
    if n_people < _FEWEST:
        return {}
    seconds_of_parts: dict[str, dict[int, float]] = {}  # by method and part
    for position, candidate in _outcomes(shared, shorter_jobs, n_processes, seconds):
        if isinstance(candidate, Candidate) and candidate.seconds is not None:
            job = shorter_jobs[position]
            seconds_of_parts.setdefault(job.method, {})[job.part] = candidate.seconds
    estimated: dict[int, Candidate] = {}
    # All parts must have been in time.
    for position in out_of_time:
        took = seconds_of_parts.get(jobs[position].method, {})
        if len(took) == len(_PARTS):
            estimated[position] = _with_needed_time(finished[position], took, n_people, seconds)
    return estimated


def _with_needed_time(
    late: Candidate, took: Mapping[int, float], n: int, seconds: float
) -> Candidate:
    """A run that ran out of time, with a sentence how long it would take."""
    needs = max(scaled_time(took), seconds)
    people = " and of ".join(f"{n // one_in:,}" for one_in in sorted(took, reverse=True))
    why = (
        f"{late.why}; it needs about {two_digits(needs)} seconds by itself, by what it took of "
        f"{people} people"
    )
    return replace(late, needs=needs, why=why)


def scaled_time(took: Mapping[int, float]) -> float:
    """Extrapolate the seconds of a run on everybody from runs on two parts of the people.

    >>> scaled_time({16: 1.0, 8: 2.0}), scaled_time({16: 1.0, 8: 4.0})
    (16.0, 256.0)

    `took` has the seconds for one in so many people. Time is taken to grow by a power of people,
    from the first to the fourth.
    """
    smaller_part, larger_part = sorted(took, reverse=True)
    power = log(max(took[larger_part], 1e-6) / max(took[smaller_part], 1e-6)) / log(
        smaller_part / larger_part
    )
    return float(took[larger_part] * larger_part ** min(max(power, 1.0), 4.0))


def two_digits(seconds: float) -> str:
    """A time with two digits.

    >>> two_digits(1234.0), two_digits(7.31)
    ('1,200', '7.3')
    """
    # A time of 10 to 99 has no decimals, one of 1 to 9 has one.
    n_decimals = 1 - floor(log10(seconds))
    return f"{round(seconds, n_decimals):,.{max(n_decimals, 0)}f}"


def _candidate_of(job: _Job, outcome: Any, seconds: float | None) -> Candidate:
    if not isinstance(outcome, Failure):
        candidate: Candidate = outcome
        return candidate
    if outcome.late:
        return job.candidate(status="out of time", why=f"it was ended after {seconds:g} seconds")
    return job.candidate(status="failed", why=outcome.why)


def publish_and_measure(shared: _RunSettings, job: _Job) -> Candidate:
    """Publish and measure a release; a failure becomes a candidate with the reason.

    A job on a part of the rows (every `part`-th) is only timed.
    """
    microdata, seed = shared.microdata, shared.seed
    if job.policy is None:
        return job.candidate(status="refused", why=job.why)
    if job.part > 1:
        is_in_part = np.arange(microdata.n_rows) % job.part == 0
        microdata = microdata.only(is_in_part)
    microdata.attributes  # noqa: B018 - read the table, which is no work of the method
    begun = perf_counter()
    try:
        publication = publish(microdata, job.policy, method=job.method, seed=seed, learned=False)
        seconds = perf_counter() - begun
        if job.part > 1:
            return job.candidate(seconds=seconds)
        measures = _measured(publication, microdata, shared)
        # Everything is judged a second time by the policy as it was given, not with the limit of
        # this run.
        as_given = _judge_as_given(publication, shared, job)
    except NoSafeRelease as none:
        return job.candidate(
            status="no safe release", why=none.said, seconds=perf_counter() - begun
        )
    except InputError as refused:
        return job.candidate(status="refused", why=str(refused))
    except Exception as failed:
        return job.candidate(status="failed", why=f"{type(failed).__name__}: {failed}")
    over, at_most = _people_over_limits(as_given)
    holds: Status = "safe" if publication.audit.limits_inference else "holds"
    return job.candidate(
        status=holds if publication.audit.safe else "unsafe",
        form=publication.certificate.form,
        holds_as_given=as_given.safe,
        loss=publication.utility.average_ncp,
        people=publication.counts.n_people,
        groups=publication.counts.n_groups,
        over=over,
        at_most=at_most,
        method_known=publication.audit.scope.method,
        seconds=seconds,
        **_risk_of_lead(as_given, shared.policy),
        **measures,
    )


def _measured(
    publication: Publication, microdata: Microdata, shared: _RunSettings
) -> dict[str, Any]:
    """The trial, query errors and errors of models of a release, by field of a candidate."""
    trial = _trial(publication, microdata)
    error = load("foreknow.features.utility.query_error:query_error")(
        publication, microdata, queries=shared.queries, seed=shared.seed
    )
    measures = {
        "trial": trial,
        "query_error": error.median,
        "average_query_error": error.average,
    }
    if shared.models is not False:
        targets = None if shared.models is True else shared.models
        models_of = load("foreknow.features.utility.models:models_of")
        models = models_of(
            publication,
            microdata,
            targets,
            seed=shared.seed,
            weighted=error.weights is not None,
        )
        measures["misplaced"] = models.misplaced
        measures["fit"] = next(iter(models.fits), None)
    return measures


def _risk_of_lead(as_given: Audit, policy: Policy) -> dict[str, Any]:
    """How sure the adversary of the strictest limit can be, as a candidate has it."""
    lead = _strictest_point(policy)
    if lead is None:
        return {}
    verdicts = [verdict for verdict in as_given.verdicts if not verdict.of_groups]
    disclosure = verdicts[policy.points.index(lead)].found  # one verdict for each point, in order
    exact = None if disclosure.exact is None else str(disclosure.exact)
    return {"risk": disclosure.probability, "exact": exact}


def _trial(publication: Publication, microdata: Microdata) -> Trial | None:
    """A trial that learns from a release with exact columns; None for any other release."""
    if publication.certificate.form != "bucketized":
        return None
    try:
        trial: Trial = load("foreknow.features.learned_attacks.measured_guesses:learned_report")(
            publication, people=microdata
        )
        return trial
    except InputError:
        return None


def _judge_as_given(publication: Publication, shared: _RunSettings, job: _Job) -> Audit:
    """The release judged by the policy as it was given."""
    if job.as_given:
        return publication.audit
    policy = replace(shared.policy, options=publication.audit.policy.options)
    return audit(publication, policy, learned=False)


def _people_over_limits(audit: Audit) -> tuple[int | None, bool]:
    """The most people over the limit of one requirement, and whether that is an upper bound.

    None if they cannot be counted for some requirement.
    """
    highest, is_bound = 0, False
    for exposed in audit.exposed:
        if exposed.verdict.safe:
            continue
        if exposed.over is None:
            return None, False
        highest, is_bound = max(highest, exposed.over.people), is_bound or exposed.over.at_most
    return highest, is_bound


# ---- what is compared ----------------------------------------------------------------------


def _strictest_point(policy: Policy) -> Point | None:
    """The point (an adversary with a limit) with the lowest limit that is a probability."""
    points = [point for point in policy.points if not point.relative]
    return min(points, key=lambda point: point.below, default=None)


def _methods_to_run(names: Sequence[str] | str | None, policy: Policy) -> list[str]:
    """The methods to compare, by name; for None the usual ones and the policy's."""
    if names is None:
        return list(dict.fromkeys((*_USUAL, key_of(policy.options.method))))
    name_list = (
        [names] if isinstance(names, str) else [*names] if isinstance(names, Iterable) else []
    )
    if not name_list or not all(isinstance(name, str) for name in name_list):
        method_names = ", ".join(key for key, _ in METHODS)
        raise InputError(f"methods must be names such as {method_names}, not {names!r}")
    return list(dict.fromkeys(map(key_of, name_list)))


def _limits_to_try(limits: Any, lead: Point | None) -> Sequence[Fraction | None]:
    """The limits to try in place of the strictest one of the policy; by default, some around it.

    [None] if no requirement has a limit: there is nothing to vary.
    """
    if lead is None:
        if limits is not None:
            raise InputError("no requirement of the policy has a limit that could be another")
        return [None]
    if limits is None:
        return [lead.below * share for share in _AROUND if lead.below * share <= 1]
    numbers = [limits] if isinstance(limits, str) or not isinstance(limits, Sequence) else limits
    if not numbers:
        raise InputError("limits is empty; leave it out for those around the policy's own")
    return sorted(set(map(as_threshold, numbers)))


def _jobs(
    policy: Policy,
    lead: Point | None,
    methods: Sequence[str],
    limits: Sequence[Fraction | None],
    amounts: Mapping[str, Sequence[int] | int] | None,
) -> Iterator[_Job]:
    """Yield a job for each method, limit and combination of amounts.

    A job whose policy is refused has the reason in its place. `lead` is the point with the
    strictest limit, which the others follow in proportion.
    """
    amounts_to_try = _amounts_to_try(policy, amounts)
    jobs_of_any_method: list[_Job] = []
    for values in product(*amounts_to_try.values()):
        amounts_of_job = dict(zip(amounts_to_try, values, strict=True))
        for limit in limits:
            changed, why = None, ""
            try:
                changed = _policy_with(policy, lead, limit, amounts_of_job)
            except PolicyError as error:
                why = str(error)
            job = _Job("", limit, amounts_of_job, changed, as_given=changed is policy, why=why)
            jobs_of_any_method.append(job)
    for method in methods:
        for job in jobs_of_any_method:
            yield replace(job, method=method)


def _amounts_to_try(
    policy: Policy, wanted_amounts: Mapping[str, Sequence[int] | int] | None
) -> dict[str, list[int]]:
    """The amounts to try, ascending, by name; refuse names that no adversary has."""
    amount_names = set[str]()
    for point in policy.points:
        amount_names.update(_known_amounts(point.adversary))
    if not isinstance(wanted_amounts or {}, Mapping):
        raise InputError(
            f'amounts has whole numbers by name, such as {{"k": [1, 3]}}, not {wanted_amounts!r}'
        )
    for requirement in policy.requirements:
        amount_names.update(_size_of(requirement.criterion))
    amounts_of = {}
    for name, numbers in (wanted_amounts or {}).items():
        if name not in amount_names:
            raise InputError(
                f"amounts: no adversary of the policy has {name!r}"
                f"{did_you_mean(name, sorted(amount_names))}"
            )
        number_list = numbers if isinstance(numbers, Sequence) else [numbers]
        distinct = {whole_number(number, f"amounts: {name}", 0) for number in number_list}
        amounts_of[name] = sorted(distinct)
        if not amounts_of[name]:
            raise InputError(f"amounts: {name} is empty; give whole numbers, such as [1, 3]")
    return amounts_of


def _known_amounts(adversary: Any) -> dict[str, int]:
    """The amounts of an adversary's knowledge, by name: its settings that are whole numbers."""
    if not is_dataclass(adversary):
        return {}
    amounts: dict[str, int] = {}
    for setting in fields(adversary):
        value = getattr(adversary, setting.name)
        if setting.init and isinstance(value, int) and not isinstance(value, bool):
            amounts[setting.name] = value
    return amounts


def _policy_with(
    policy: Policy, lead: Point | None, limit: Fraction | None, amounts: Mapping[str, int]
) -> Policy:
    """The policy with other limits and amounts; the same object where nothing changes.

    `limit` is for the strictest point, `lead`; all others change in proportion.
    """
    times = Fraction(1) if lead is None or limit is None else limit / lead.below
    requirements = [
        _requirement_with(requirement, times, amounts) for requirement in policy.requirements
    ]
    for requirement, changed in zip(policy.requirements, requirements, strict=True):
        if changed is not requirement:
            return replace(policy, requirements=requirements)
    return policy


def _requirement_with(
    requirement: Requirement, times: Fraction, amounts: Mapping[str, int]
) -> Requirement:
    """The requirement with limits `times` as high, at most 1, and other amounts of knowledge.

    Limits relative to priors stay. The same object where nothing changes.
    """
    criterion: Any = requirement.criterion
    for name, setting in _size_of(criterion).items():
        if name in amounts:
            return replace(requirement, adversary=replace(criterion, **{setting: amounts[name]}))
    points = []
    for point in requirement.points:
        amount = point.below if point.relative else min(Fraction(1), point.below * times)
        limit = replace(point.limit, amount=amount)
        points.append(Point(_knowing(point.adversary, amounts), limit))
    return requirement if points == list(requirement.points) else requirement.with_points(points)


def _size_of(criterion: Any) -> dict[str, str]:
    """The name of a criterion of one whole number, and of its setting; empty for any other."""
    settings = [*_known_amounts(criterion)]
    written = type(criterion).__name__.lower()
    names = [name for name in CRITERIA if name.replace("_", "") == written]
    return dict(zip(names, settings, strict=True)) if len(settings) == len(names) else {}


def _knowing(adversary: Any, amounts: Mapping[str, int]) -> Any:
    """The adversary with other amounts, of those that it has."""
    known_names = _known_amounts(adversary)
    changed_amounts = {name: amounts[name] for name in amounts if name in known_names}
    return replace(adversary, **changed_amounts) if changed_amounts else adversary


def _distance(job: _Job, lead: Point | None) -> Fraction:
    return Fraction(0) if lead is None or job.limit is None else abs(job.limit - lead.below)


def _limit_phrase(limit: Fraction | None) -> str:
    return "" if limit is None else f" at {shown(limit)}"


def _is_real(number: Any) -> bool:
    try:
        return not isinstance(number, str) and as_fraction(number) is not None
    except InputError:
        return False
