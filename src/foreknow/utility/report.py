"""Reporting: how much of a table a release keeps, by every measure there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foreknow.data.microdata import Microdata, grids_of
from foreknow.errors import InputError, hinted
from foreknow.grammar import Form
from foreknow.numbers import percentage
from foreknow.result import Result
from foreknow.utility.queries import Boxes, draw_queries, reading_of
from foreknow.utility.query_error import QueryError, compared, one_group
from foreknow.utility.utility import Utility, optimal_discernibility, require_microdata, utility_of


@dataclass(frozen=True, eq=False, repr=False)
class UtilityReport(Result):
    """What a release is still worth to its readers.

    Attributes
    ----------
    name : str
        What the release is called.
    form : "generalized" or "bucketized"
    utility : Utility
        The NCP is that of the published labels; empty for a bucketized release, whose
        quasi-identifiers are exact.
    errors : tuple of QueryError
        By how many quasi-identifiers each query asks about, rising.
    in_cases : bool
        Whether rows are cases, of which a person may have several.
    """

    format = "foreknow utility"

    name: str
    form: Form
    utility: Utility
    errors: tuple[QueryError, ...]
    in_cases: bool = False

    @property
    def optimum(self) -> int:
        """The least discernibility of groups that are at least as large as the smallest."""
        return optimal_discernibility(self.utility.people, self.utility.smallest_group)

    def _content(self) -> dict[str, Any]:
        return {
            "release": self.name,
            "form": self.form,
            **self.utility.to_dict(),
            "optimal_discernibility": self.optimum,
            "query_errors": [error.to_dict() for error in self.errors],
        }

    def __repr__(self) -> str:
        ncp = self.utility.average_ncp
        said = "" if ncp is None else f"NCP {percentage(ncp, 1)}, "
        last = self.errors[-1]
        return (
            f"UtilityReport({self.form}, {self.utility.groups} groups: {said}"
            f"queries about {last.predicates} off by {percentage(last.median, 2)})"
        )


@hinted
def utility_report(
    release: Any,
    microdata: Microdata,
    *,
    queries: int = 1000,
    attributes: Sequence[str] | None = None,
    predicates: int | Sequence[int] | None = None,
    selectivity: float = 0.05,
    ranges: bool = True,
    delta: float = 0.005,
    labels: Mapping[str, str] | None = None,
    seed: int | None = 0,
) -> UtilityReport:
    """Measure a release: its groups, how wide its labels are, and how far queries are off.

    Parameters
    ----------
    release, microdata, attributes, selectivity, ranges, labels
        See `foreknow.query_error`. The NCP is of all quasi-identifiers.
    queries : int
        Random queries for each number of predicates.
    predicates : int or sequence of int, optional
        How many quasi-identifiers the queries ask about; when left out, one, two, ... up to all.
    delta : float
        Errors of small counts are relative to this share of all people.
    seed : int, optional
        Random seed for the queries.

    Examples
    --------
    >>> import foreknow as fk
    >>> from foreknow import sample
    >>> policy = fk.Policy.load(sample.policy_path())
    >>> microdata = fk.Microdata(sample.table_path(), policy.schema)
    >>> found = fk.utility_report(fk.publish(microdata, policy), microdata, predicates=[1, 3])
    >>> [error.predicates for error in found.errors]
    [1, 3]
    """
    require_microdata(microdata)
    reading = reading_of(release, labels)
    many = _numbers(predicates, len(microdata.attributes if attributes is None else attributes))
    workloads = [
        draw_queries(
            microdata,
            queries=queries,
            attributes=attributes,
            predicates=n,
            selectivity=selectivity,
            ranges=ranges,
            delta=delta,
            seed=seed,
        )
        for n in many
    ]
    everything = reading.shown(microdata, microdata.attributes)
    utility = utility_of(reading.release)
    if isinstance(everything, Boxes):
        sizes = everything.counts.sizes
        found = [covers.found for covers in everything.covers]
        ncp = {own.attribute.name: own.ncp(sizes) for own in found}
        utility = replace(utility, ncp=ncp, grids=grids_of(own.attribute for own in found))
        utility = replace(utility, weights=reading.weights)
    asked = workloads[0].attributes
    shown = everything if attributes is None else reading.shown(microdata, asked)
    overall = one_group(microdata, asked)
    errors = tuple(compared(workload, shown, microdata, overall) for workload in workloads)
    in_cases = microdata.schema.unit == "row"
    return UtilityReport(reading.release.name, errors[0].form, utility, errors, in_cases)


def _numbers(predicates: int | Sequence[int] | None, attributes: int) -> list[int]:
    """How many predicates to ask with, rising."""
    if predicates is None:
        return list(range(1, attributes + 1)) or [1]
    given = [predicates] if isinstance(predicates, int) else predicates
    if isinstance(given, str) or not given or not all(type(number) is int for number in given):
        raise InputError(f"predicates must be whole numbers such as [1, 2], not {predicates!r}")
    return sorted(set(given))
