"""Utility report: how much of a table a release keeps, by every measure there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from foreknow.data.columns.column_layout import grids_of
from foreknow.data.microdata import Microdata
from foreknow.data.utility import Utility, optimal_discernibility, utility_of
from foreknow.features.utility.models import Models, models_of
from foreknow.features.utility.queries import Boxes, draw_queries, release_and_table, release_reader
from foreknow.features.utility.query_error import QueryError, compared, one_group
from foreknow.policy.call_arguments import Arguments, hinted_with_keys
from foreknow.policy.policy import Policy
from foreknow.result import Result
from foreknow.shown_numbers import percentage
from foreknow.written_releases.written_release import as_opened
from foreknow_judge.errors import InputError
from foreknow_judge.policy.grammar import Form


@dataclass(frozen=True, eq=False, repr=False)
class UtilityReport(Result):
    """The utility of a release to its readers.

    Attributes
    ----------
    name : str
        The name of the release.
    form : "generalized" or "bucketized"
        The form of the release.
    utility : Utility
        The measures of the groups. The NCP is that of the published labels; it is empty for a
        bucketized release, whose quasi-identifiers are exact.
    errors : tuple of QueryError
        The query errors, by rising number of quasi-identifiers in a query.
    in_cases : bool
        Whether rows are cases, and a person may have several.
    models : Models or None
        The comparison of models of the release with models of the table; None if not requested.
    weights : str or None
        The column of survey weights that the schema names.
    """

    format = "foreknow utility"

    name: str
    form: Form
    utility: Utility
    errors: tuple[QueryError, ...]
    in_cases: bool = False
    models: Models | None = None
    weights: str | None = None

    @property
    def weighted(self) -> tuple[str, ...]:
        """Which figures are weighted, by their keys; none if the release shows no weights."""
        if self.errors[0].weights is None:
            return ()
        return ("query_errors",) if self.models is None else ("query_errors", "models")

    @property
    def optimum(self) -> int:
        """The least discernibility that groups of at least the smallest size could have."""
        return optimal_discernibility(self.utility.people, self.utility.smallest_group)

    def _content(self) -> dict[str, Any]:
        return {
            "release": self.name,
            "form": self.form,
            **self.utility.to_dict(),
            "optimal_discernibility": self.optimum,
            "query_errors": self.errors,
            **({} if self.models is None else {"models": self.models}),
            **self._weighting(),
        }

    def _weighting(self) -> dict[str, Any]:
        """Which figures are weighted; empty for a table without survey weights."""
        if self.weights is None:
            return {}
        return {"survey_weights": {"column": self.weights, "weighted": self.weighted}}

    def __repr__(self) -> str:
        ncp = self.utility.average_ncp
        ncp_text = "" if ncp is None else f"NCP {percentage(ncp, 1)}, "
        last = self.errors[-1]
        return (
            f"UtilityReport({self.form}, {self.utility.groups} groups: {ncp_text}"
            f"counts by {last.predicates} columns off by {percentage(last.median, 2)})"
        )


@hinted_with_keys
def utility_report(
    release: Any,
    microdata: Any,
    *,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    queries: int = 1000,
    attributes: Sequence[str] | None = None,
    predicates: int | Sequence[int] | None = None,
    selectivity: float = 0.05,
    ranges: bool = True,
    delta: float = 0.005,
    labels: Mapping[str, str] | None = None,
    models: bool | Sequence[str] = False,
    by: Sequence[str] | None = None,
    draws: int = 5,
    seed: int | None = 0,
    like: Microdata | None = None,
    **rules: Unpack[Arguments],
) -> UtilityReport:
    """Measure a release: its groups, the width of its labels, and the errors of queries and models.

    Parameters
    ----------
    release, microdata, policy, attributes, selectivity, ranges, labels, like
        See `foreknow.query_error`. The NCP covers all quasi-identifiers.
    queries : int
        The number of random queries for each number of quasi-identifiers in a query.
    predicates : int or sequence of int, optional
        The numbers of quasi-identifiers in a query; default: one, two, ... up to all.
    delta : float
        The least denominator of relative errors, as a share of all people.
    models : bool or sequence of str
        Whether to compare models; or the columns that the models explain (default: the sensitive
        ones). ``"diagnosis=HIV"`` sets one value of a column against all others, in place of the
        commonest. The models are means and shares by group, correlations and Cramér's V, and cross
        tables; with scikit-learn (the extra ``learn``) also linear or logistic regressions and
        trees. They are fitted to the raw table, to the middles of labels
        (`foreknow.read_release`), and to tables drawn from the release (`foreknow.draw`), which
        must be one that `publish` made.
    by : sequence of str, optional
        The columns that explain; default: the quasi-identifiers, and the columns beside them.
    draws : int
        The number of tables drawn from the release.
    seed : int, optional
        The random seed of the queries and the first draw; further draws take the next numbers.

    Examples
    --------
    >>> import foreknow as fk
    >>> from foreknow import sample
    >>> policy = fk.Policy.load(sample.policy_path())
    >>> microdata = fk.Microdata(sample.table_path(), policy.schema)
    >>> made = fk.publish(microdata, policy)
    >>> found = fk.utility_report(made, sample.table_path(), predicates=[1, 3])
    >>> [error.predicates for error in found.errors]
    [1, 3]
    """
    release, microdata = release_and_table(release, microdata, policy, rules)
    release = as_opened(release)
    reader = release_reader(release, labels)
    all_attributes = (like or microdata).attributes if attributes is None else attributes
    # Workloads: by how many quasi-identifiers at a time queries ask.
    predicate_counts = _numbers(predicates, len(all_attributes))
    draw = partial(
        draw_queries,
        microdata,
        queries=queries,
        attributes=attributes,
        selectivity=selectivity,
        ranges=ranges,
        delta=delta,
        seed=seed,
        like=like,
    )
    workloads = [draw(predicates=n) for n in predicate_counts]
    everything = reader.shown(microdata, microdata.attributes)
    # The NCP is that of the labels as published, so it is measured on what a reader sees.
    utility = utility_of(reader.release)
    if isinstance(everything, Boxes):
        sizes = everything.counts.sizes
        coarsened = [covers.coarsened for covers in everything.covers]
        ncp = {column.attribute.name: column.ncp(sizes) for column in coarsened}
        grids = grids_of(column.attribute for column in coarsened)
        utility = replace(utility, ncp=ncp, grids=grids, weights=reader.weights)
    asked_attributes = workloads[0].attributes
    # Without a choice of attributes, the same view answers the queries.
    visible = everything
    if attributes is not None or like is not None:
        visible = reader.shown(microdata, asked_attributes)
    is_weighted = everything.weights is not None
    overall = one_group(microdata, asked_attributes, weighted=is_weighted)
    errors = tuple([compared(workload, visible, microdata, overall) for workload in workloads])
    in_cases = microdata.schema.unit == "row"
    model_report = None
    if models is not False:
        targets = None if models is True else models
        model_report = models_of(release, microdata, targets, by, draws, seed, weighted=is_weighted)
    return UtilityReport(
        name=reader.release.name,
        form=errors[0].form,
        utility=utility,
        errors=errors,
        in_cases=in_cases,
        models=model_report,
        weights=microdata.schema.weights,
    )


def _numbers(predicates: int | Sequence[int] | None, attributes: int) -> list[int]:
    """The numbers of quasi-identifiers to ask about, rising; None: one, two and so on up to all."""
    if predicates is None:
        return list(range(1, attributes + 1)) or [1]
    numbers = list(predicates) if isinstance(predicates, Iterable) else [predicates]
    if {*map(type, numbers)} != {int}:
        raise InputError(f"predicates must be whole numbers such as [1, 2], not {predicates!r}")
    return sorted(set(numbers))
