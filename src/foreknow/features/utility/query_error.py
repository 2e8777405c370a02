"""Query error: how far the answers of a release are from those of the table it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from foreknow.call_hints import Plain
from foreknow.data.arrays import FloatArray, IntArray
from foreknow.data.columns.attribute import Attribute
from foreknow.data.microdata import Microdata
from foreknow.data.utility import require_microdata
from foreknow.errors import did_you_mean
from foreknow.features.utility.queries import (
    VIEWS,
    Boxes,
    Buckets,
    Queries,
    draw_queries,
    release_and_table,
    release_reader,
    shown_by_groups,
    true_answers,
)
from foreknow.policy.call_arguments import Arguments, hinted_with_keys
from foreknow.policy.policy import Policy
from foreknow.shown_numbers import percentage
from foreknow_judge.errors import InputError
from foreknow_judge.policy.grammar import Form

_QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95)


@dataclass(frozen=True, eq=False, repr=False)
class QueryError(Plain):
    """The answers to a workload of count queries, and their errors.

    Attributes
    ----------
    exact : float64 array, shape (queries,)
        The answers of the original table.
    estimated : float64 array, shape (queries,)
        The answers of the release.
    people : int
        The number of people in the original table.
    delta : float
        The share of all people that is the least denominator of a relative error.
    form : "generalized" or "bucketized"
    attributes : tuple of str
        The quasi-identifiers that the queries ask about.
    predicates : int
        The number of quasi-identifiers in each query.
    selectivity, ranges, seed
        The settings of `foreknow.query_error`.
    overall : float64 array, shape (queries,), optional
        The answers from the overall counts of the sensitive values and the range of each column,
        as if everybody were in one group. Their errors show how much the release adds.
    weights : str, optional
        The column of survey weights by which people count, in the table by their own and in the
        release by those of their groups; None if the release shows none.
    population : float, optional
        The sum of these weights of the table; the errors are relative to it in place of `people`.
    """

    _json_fields = (
        "queries=exact.size people form attributes predicates selectivity ranges delta seed "
        "weights? population? average quantiles"
    )

    exact: FloatArray
    estimated: FloatArray
    people: int
    delta: float
    form: Form
    attributes: tuple[str, ...]
    predicates: int
    selectivity: float
    ranges: bool
    seed: int | None
    overall: FloatArray | None = None
    weights: str | None = None
    population: float | None = None

    @property
    def relative(self) -> FloatArray:
        """The relative error of each query: ``|exact - estimated| / max(exact, delta * people)``.

        The denominator keeps a query that few people match from outweighing all others.
        """
        return self._errors(self.estimated)

    def _errors(self, answers: FloatArray) -> FloatArray:
        """The relative error of each answer; the denominator is at least a share of all people."""
        floor = self.delta * (self.people if self.population is None else self.population)
        errors: FloatArray = np.abs(self.exact - answers) / np.maximum(self.exact, floor)
        return errors

    @property
    def baseline(self) -> QueryError | None:
        """The same queries, answered from the overall counts alone; None without `overall`."""
        return None if self.overall is None else replace(self, estimated=self.overall, overall=None)

    @property
    def average(self) -> float:
        """The average relative error."""
        return float(self.relative.mean())

    @property
    def median(self) -> float:
        """The median relative error."""
        return self.quantile(0.5)

    def quantile(self, share: float) -> float:
        """The relative error that a share of the queries does not exceed."""
        if not 0 <= share <= 1:
            raise InputError(f"a quantile is a share from 0 to 1, not {share!r}")
        return float(np.quantile(self.relative, share))

    @property
    def quantiles(self) -> dict[str, float]:
        """Some quantiles of the relative errors, by the share of queries."""
        return {str(share): self.quantile(share) for share in _QUANTILES}

    def _content(self) -> dict[str, Any]:
        content, baseline = super()._content(), self.baseline
        if baseline is not None:
            worth = {"average": baseline.average, "quantiles": baseline.quantiles}
            content["overall_counts"] = worth
        return content

    def __repr__(self) -> str:
        return (
            f"QueryError({len(self.exact)} queries, {self.form}: {percentage(self.average, 2)} on "
            f"average, median {percentage(self.median, 2)})"
        )

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"


@hinted_with_keys
def query_error(
    release: Any,
    microdata: Any,
    *,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    queries: int = 1000,
    attributes: Sequence[str] | None = None,
    predicates: int | None = None,
    selectivity: float = 0.05,
    ranges: bool = True,
    delta: float = 0.005,
    labels: Mapping[str, str] | None = None,
    seed: int | None = 0,
    like: Microdata | None = None,
    **rules: Unpack[Arguments],
) -> QueryError:
    """Ask a release random count queries, and compare its answers with those of the table.

    A query asks for sets of values and counts the people whose quasi-identifiers and sensitive
    value are in these sets. A generalized release answers as if each person were equally likely to
    be at any point of their group's box. A bucketized one, whose quasi-identifiers are exact,
    answers as if each person of a group were equally likely to have each value of its bag.

    The points of a box are all that its labels allow, even those that no person of the table has:
    "20 to 37" has all whole numbers, or all days for dates; decimal numbers and times count by
    length; intervals and periods have everything they span; a node of a tree has all leaves that
    the tree lists. Texts and masks have only values of the table. All points lie between the least
    and the greatest value of the column in the table. A query for adjacent values also asks for
    everything between them.

    Parameters
    ----------
    release : Publication, path or Release
        A publication; the folder that it was written to, or a file in it; or a table. A table
        with quasi-identifiers as group columns is generalized; a table with a column of group ids
        and exact quasi-identifiers is bucketized.
    microdata : Microdata, path or frame
        The original table.
    policy : Policy, path or mapping, optional
        Names the roles of the columns, if a table was not read yet; so do `quasi_identifiers` and
        `sensitive`. A publication needs none.
    queries : int
        The number of queries.
    attributes : sequence of str, optional
        The quasi-identifiers to ask about; default: all.
    predicates : int, optional
        The number of quasi-identifiers in each query; default: all. Each query also asks about the
        sensitive attribute.
    selectivity : float
        The approximate share of people who would match if all values were equally frequent and
        independent. Each predicate allows a share ``selectivity ** (1 / (predicates + 1))`` of its
        domain, rounded up to a whole number of values.
    ranges : bool
        Whether queries ask for a range of adjacent values of numbers, dates and hierarchies. If
        not, and for other columns, they ask for any subset.
    delta : float
        The least denominator of relative errors, as a share of people; see `QueryError.relative`.
    labels : mapping of column to "range", "hierarchy" or "set", optional
        The styles of labels in a generalized release, as in a policy's ``[publish.labels]``; a
        publication needs none.
    seed : int, optional
        The random seed: the same seed, table and options ask every release the same queries. None
        takes the system's entropy.
    like : Microdata, optional
        The same table by another policy, whose types and hierarchies then shape the queries. It
        serves to compare two policies by the same queries, about columns that both have.

    Raises
    ------
    DataError
        If the release has labels or values that cannot come from the table.

    Examples
    --------
    >>> import foreknow as fk
    >>> from foreknow import sample
    >>> policy = fk.Policy.load(sample.policy_path())
    >>> microdata = fk.Microdata(sample.table_path(), policy.schema)
    >>> made = fk.publish(microdata, policy)
    >>> fk.query_error(made, microdata, attributes=["age", "sex"], queries=100)
    QueryError(100 queries, generalized: 4.04% on average, median 3.24%)
    """
    release, microdata = release_and_table(release, microdata, policy, rules)
    reader = release_reader(release, labels)
    workload = draw_queries(
        microdata,
        queries=queries,
        attributes=attributes,
        predicates=predicates,
        selectivity=selectivity,
        ranges=ranges,
        delta=delta,
        seed=seed,
        like=like,
    )
    return compared(workload, reader.shown(microdata, workload.attributes), microdata)


def query_error_of_groups(
    microdata: Microdata,
    groups: NDArray[Any],
    form: Form = "generalized",
    *,
    floors: Mapping[str, IntArray] | None = None,
    labels: Mapping[str, str] | None = None,
    queries: int = 1000,
    attributes: Sequence[str] | None = None,
    predicates: int | None = None,
    selectivity: float = 0.05,
    ranges: bool = True,
    delta: float = 0.005,
    seed: int | None = 0,
) -> QueryError:
    """Measure the query errors of groups that were not published, to compare methods.

    Parameters
    ----------
    microdata : Microdata
        The table.
    groups : int array, shape (rows,)
        The group of each row of the source, as a method's `partition` returns it; -1 for rows
        that are left out because their sensitive value is missing.
    form : "generalized" or "bucketized"
        The form in which the groups would be published.
    floors : mapping of column to int64 array, shape (groups,), optional
        The least level to which each group is generalized, as in `LatticeResult.floors`.
    labels : mapping of column to "range", "hierarchy" or "set", optional
        The styles of labels in generalized columns.
    queries, attributes, predicates, selectivity, ranges, delta, seed
        See `query_error`.

    Examples
    --------
    >>> import foreknow as fk
    >>> from foreknow import sample
    >>> schema = fk.Policy.load(sample.policy_path()).schema
    >>> microdata = fk.Microdata(sample.table_path(), schema)
    >>> groups = fk.Anatomy(l=3).partition(microdata, seed=1)
    >>> for form in ("generalized", "bucketized"):
    ...     fk.query_error_of_groups(microdata, groups, form, attributes=["age", "sex"])
    QueryError(1000 queries, generalized: 20.84% on average, median 19.16%)
    QueryError(1000 queries, bucketized: 8.92% on average, median 6.89%)
    """
    require_microdata(microdata)
    if form not in VIEWS:
        raise InputError(f"there is no form {form!r}{did_you_mean(str(form), tuple(VIEWS))}")
    workload = draw_queries(
        microdata,
        queries=queries,
        attributes=attributes,
        predicates=predicates,
        selectivity=selectivity,
        ranges=ranges,
        delta=delta,
        seed=seed,
    )
    asked_attributes = workload.attributes
    visible = shown_by_groups(
        microdata,
        groups,
        form,
        asked_attributes,
        floors or {},
        labels or {},
        weighted=microdata.schema.published_weights is not None,
    )
    return compared(workload, visible, microdata)


def one_group(
    microdata: Microdata, attributes: Sequence[Attribute], *, weighted: bool
) -> Boxes | Buckets:
    """A view of the table as one group: the counts of values, and the range of each column.

    If `weighted`, also the mean of the survey weights.
    """
    everybody = np.zeros(microdata.n_people, dtype=np.int64)
    return shown_by_groups(
        microdata, everybody, "generalized", attributes, {}, {}, weighted=weighted
    )


def compared(
    queries: Queries,
    visible: Boxes | Buckets,
    microdata: Microdata,
    overall: Boxes | Buckets | None = None,
) -> QueryError:
    """The errors of a release's answers, beside those of answers by overall counts alone.

    `visible` is a reader's view of the release, and `overall` of the table as one group (None: it
    is made here). People count by survey weights where the release shows those of groups.
    """
    weights = None if visible.weights is None else microdata.weights
    overall = overall or one_group(microdata, queries.attributes, weighted=weights is not None)
    return QueryError(
        exact=true_answers(microdata, queries, weights),
        estimated=visible.answers(queries),
        people=microdata.n_people,
        delta=queries.delta,
        form="generalized" if isinstance(visible, Boxes) else "bucketized",
        attributes=tuple([attribute.name for attribute in queries.attributes]),
        predicates=queries.predicates,
        selectivity=queries.selectivity,
        ranges=queries.ranges,
        seed=queries.seed,
        overall=overall.answers(queries),
        weights=None if weights is None else microdata.schema.weights,
        population=None if weights is None else float(weights.sum()),
    )
