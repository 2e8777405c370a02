"""Query error: how far the answers of a release are from those of the table it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import FloatArray, IntArray
from foreknow.data.columns.attribute import Attribute
from foreknow.data.microdata import Microdata
from foreknow.data.utility import require_microdata
from foreknow.errors import did_you_mean
from foreknow.figures import percentage
from foreknow.hints import Plain
from foreknow.policy.call_arguments import Arguments, hinted_with_keys
from foreknow.policy.policy import Policy
from foreknow.utility.queries import (
    Boxes,
    Buckets,
    Queries,
    draw_queries,
    release_and_table,
    release_reader,
    shown_by_groups,
    true_answers,
)
from foreknow_judge.errors import InputError
from foreknow_judge.policy.grammar import Form

_QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95)


@dataclass(frozen=True, eq=False, repr=False)
class QueryError(Plain):
    """The answers to a workload of count queries, and how wrong they are.

    Attributes
    ----------
    exact : float64 array, shape (queries,)
        The answers of the original table.
    estimated : float64 array, shape (queries,)
        The answers of the release.
    people : int
        Of the original table.
    delta : float
        The share of people below which an answer counts as if it were this share.
    form : "generalized" or "bucketized"
    attributes : tuple of str
        The quasi-identifiers that are asked about.
    predicates : int
        How many of them each query asks about.
    selectivity : float
    ranges : bool
    seed : int or None
    overall : float64 array, shape (queries,), optional
        The answers of one group of everybody: of how often each sensitive value occurs, and
        nothing else but the range of each column. An error beside theirs says what a release adds.
    """

    _json_fields = (
        "queries=exact.size people form attributes predicates selectivity ranges delta seed "
        "average quantiles"
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

    @property
    def relative(self) -> FloatArray:
        """The relative error of each query: ``|exact - estimated| / max(exact, delta * people)``.

        So a query that few people match does not outweigh all others.
        """
        return self._errors(self.estimated)

    def _errors(self, answers: FloatArray) -> FloatArray:
        floor = self.delta * self.people
        errors: FloatArray = np.abs(self.exact - answers) / np.maximum(self.exact, floor)
        return errors

    @property
    def baseline(self) -> QueryError | None:
        """The same queries, answered from the overall counts alone."""
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
        """Some quantiles of the relative errors, by their share."""
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

    A query counts the people whose quasi-identifiers and sensitive value are among those it asks
    for. A generalized release answers as if everybody were equally likely to be anywhere in the
    box of their group; a bucketized one, whose quasi-identifiers are exact, as if everybody in a
    group were equally likely to have each value of its bag.

    Anywhere in the box is anywhere that its labels allow, whether someone of the table is there
    or not: from "20 to 37" any whole number, of dates any day, of decimal numbers and times by
    length, from an interval or a period whatever it spans, from a node of a tree every leaf that
    the tree lists. Of texts, and below a mask, only the values of the table are known. All of it
    lies between the first and the last value of the column in the table. Likewise a query for
    values next to each other asks for what lies between them.

    Parameters
    ----------
    release : Publication, path or Release
        What `publish` returned; the folder that it was written to, or a file in it; or a table:
        with the quasi-identifiers as group columns it is generalized, with one column of group
        ids and exact quasi-identifiers beside it, bucketized.
    microdata : Microdata, path or frame
        The table it was made of.
    policy : Policy, path or mapping, optional
        Says what the columns of a table are that was not read yet; `quasi_identifiers` and
        `sensitive` do in its place. What `publish` returned knows.
    queries : int
    attributes : sequence of str, optional
        The quasi-identifiers to ask about; default: all.
    predicates : int, optional
        How many of them each query asks about; default: all. It also asks about the
        sensitive attribute.
    selectivity : float
        The share of people who would match if all values were equally frequent and independent
        of each other, about: each predicate allows a share ``selectivity ** (1 / (predicates +
        1))`` of its domain, rounded up to a whole number of values.
    ranges : bool
        Whether numbers, dates and hierarchies are asked for a run of their values, from one to
        another; otherwise, and always for other columns, a query asks for any subset.
    delta : float
        See `QueryError.relative`.
    labels : mapping of column to "range", "hierarchy" or "set", optional
        How a generalized release is written, as in a policy's ``[publish.labels]``. A
        publication knows.
    seed : int, optional
        The same seed, table and options ask the same queries of every release; None for the
        system's entropy.
    like : Microdata, optional
        The same table by another policy. What is asked follows types and hierarchies: two policies
        are compared by the queries of one of them, about columns that both have.

    Raises
    ------
    DataError
        If the release holds labels or values that the table cannot have led to.

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
    """Do what `query_error` does, for a grouping that was not published: to compare methods.

    Parameters
    ----------
    microdata : Microdata
    groups : int array, shape (rows,)
        The group of each row of the source, as a method's `partition` gives it; -1 for rows that
        are left out because their sensitive value is missing.
    form : "generalized" or "bucketized"
    floors : mapping of column to int64 array, shape (groups,), optional
        The least level that each group is generalized to, as in `LatticeResult.floors`.
    labels : mapping of column to "range", "hierarchy" or "set", optional
        How generalized columns would be written.
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
    forms = get_args(Form)
    if form not in forms:
        raise InputError(f"there is no form {form!r}{did_you_mean(str(form), forms)}")
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
    visible = shown_by_groups(microdata, groups, form, asked_attributes, floors or {}, labels or {})
    return compared(workload, visible, microdata)


def one_group(microdata: Microdata, attributes: Sequence[Attribute]) -> Boxes | Buckets:
    """A view of the table as one group: the counts of values, and the range of each column."""
    everybody = np.zeros(microdata.n_people, dtype=np.int64)
    return shown_by_groups(microdata, everybody, "generalized", attributes, {}, {})


def compared(
    queries: Queries,
    visible: Boxes | Buckets,
    microdata: Microdata,
    overall: Boxes | Buckets | None = None,
) -> QueryError:
    """The errors of a release's answers, beside those of answers by overall counts."""
    overall = overall or one_group(microdata, queries.attributes)
    return QueryError(
        exact=true_answers(microdata, queries),
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
    )
