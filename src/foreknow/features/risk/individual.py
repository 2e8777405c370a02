"""Individual risk: how easily people of a survey are found in the population that it stands for.

Weights estimate how many people of the population have the values of a class: the sum of the
weights of its rows. The risk of a person is the expected value of 1 / F, where F is that number,
given how many of them are in the table (negative binomial; L. Franconi and S. Polettini,
"Individual risk estimation in mu-Argus: a review", 2004). It is an estimate, and no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow.call_hints import Plain
from foreknow.data.arrays import FloatArray, IntArray, combine
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.people.survey_weights import weights_of_rows
from foreknow.data.tables.columns import codes_of, fetch
from foreknow.data.tables.table import Table, require
from foreknow.errors import SchemaError


@dataclass(frozen=True, eq=False)
class IndividualRisk(Plain):
    """The estimated risk of each person of a survey with weights.

    Attributes
    ----------
    weights : str
        The column of weights.
    population : float
        The sum of the weights: the number of people the table stands for.
    highest, average : float
        The highest and the average risk of a person.
    expected : float
        The expected number of people of the table who are found: the sum of all risks.
    above : int
        The number of people whose risk is above the threshold.
    of_rows : float64 array
        The risk of each row of the table, in its order.
    """

    _json_fields = "weights population highest average expected above"

    weights: str
    population: float
    highest: float
    average: float
    expected: float
    above: int
    of_rows: FloatArray = field(repr=False)


def individual_risk(
    table: Table, columns: Sequence[str], weights: str, reading: Reading, limit: Fraction
) -> IndividualRisk:
    """The estimated risk of each row by `columns`, with a column of survey weights."""
    if weights in columns:
        raise SchemaError(f"weights: {weights!r} is also a column that others may know")
    require(table, [*columns, weights])
    weight_of_row = weights_of_rows(table, weights, reading)
    class_of_row = class_of_rows(fetch(table, columns), columns)
    return risk_of_classes(class_of_row, weight_of_row, weights, limit)


def risk_of_classes(
    class_of_row: IntArray, weight_of_row: FloatArray, weights: str, limit: Fraction
) -> IndividualRisk:
    """The estimated risk of each row, given the class that it is in, and its weight.

    A class is everybody with the same values in the columns that others may know. `weights` is the
    name of the column, and rows whose risk is above `limit` are counted.
    """
    n_rows = np.bincount(class_of_row)
    # The weights of a class add up to its people in the population.
    people_in_population = np.bincount(class_of_row, weight_of_row).astype(np.float64)
    risk_of_row = expected_chances(n_rows, people_in_population)[class_of_row]
    return IndividualRisk(
        weights=weights,
        population=float(weight_of_row.sum()),
        highest=float(risk_of_row.max()),
        average=float(risk_of_row.mean()),
        expected=float(risk_of_row.sum()),
        above=int((risk_of_row > float(limit)).sum()),
        of_rows=risk_of_row,
    )


def class_of_rows(rows: Any, columns: Sequence[str]) -> IntArray:
    """The number of the class of each row: of all rows with the same values of some columns."""
    coded = [codes_of(rows.column(name)) for name in columns]
    of_row, _ = combine([codes for codes, _ in coded], [len(values) for _, values in coded])
    return of_row.astype(np.int64)


def expected_chances(n_rows: IntArray, in_population: FloatArray) -> FloatArray:
    """The expected value of 1 / F for each class: F people, `n_rows` of them in the table.

    Exact for classes of one and two rows, and close to it above, as in sdcMicro. Where weights say
    that the population has no more than the table, it is one in these rows.

    >>> expected_chances(np.array([1, 2, 3]), np.array([17.0, 110.0, 3.0])).round(8).tolist()
    [0.17707583, 0.01714426, 0.33333333]

    F - n_rows is taken to be negative binomial with the sampling fraction ``n_rows /
    in_population``.
    """
    share = np.minimum(n_rows / np.maximum(in_population, n_rows), 1.0)
    unsampled = 1 - share
    # The approximation for classes of three rows and more; the smaller ones are set below.
    chances = share / (n_rows - unsampled)
    is_sampled = unsampled > 1e-3  # below, differences of nearly equal numbers lose their digits
    is_single, is_pair = is_sampled & (n_rows == 1), is_sampled & (n_rows == 2)
    chances[is_single] = share[is_single] / unsampled[is_single] * -np.log(share[is_single])
    chances[is_pair] = (
        share[is_pair]
        / unsampled[is_pair] ** 2
        * (share[is_pair] * np.log(share[is_pair]) + unsampled[is_pair])
    )
    is_small = ~is_sampled & (n_rows <= 2)
    chances[is_small] = 1 / n_rows[is_small] - unsampled[is_small] / (
        n_rows[is_small] + 1
    )  # the first terms of a series
    return np.asarray(chances)
