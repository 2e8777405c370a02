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

from foreknow.data.arrays import FloatArray, IntArray, combine
from foreknow.data.engines.columns import as_plain_texts, codes_of, fetch
from foreknow.data.engines.table import Table, require
from foreknow.data.reading import Reading
from foreknow.errors import SchemaError
from foreknow.hints import Plain
from foreknow_judge.errors import DataError

_MOST_PEOPLE = 1e12  # whom a row stands for


@dataclass(frozen=True, eq=False)
class IndividualRisk(Plain):
    """The estimated risk of each person of a survey with weights.

    Attributes
    ----------
    weights : str
        The column of weights.
    population : float
        The sum of the weights: how many people the table stands for.
    highest, average : float
        Of the risks of all people.
    expected : float
        How many people of the table are expected to be found: the sum of all risks.
    above : int
        People whose risk is above the threshold.
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
    """Estimate the risk of each row by `columns`, with a column of weights."""
    if weights in columns:
        raise SchemaError(f"weights: {weights!r} is also a column that others may know")
    require(table, [*columns, weights])
    of_weight = weights_of_rows(table, weights, reading)
    of_row = class_of_rows(fetch(table, columns), columns)
    return risk_of_classes(of_row, of_weight, weights, limit)


def weights_of_rows(table: Table, weights: str, reading: Reading) -> FloatArray:
    """Read the weight of each row."""
    require(table, [weights])
    column = fetch(table, [weights]).column(weights)
    texts = as_plain_texts(weights, column, reading, "number").to_pylist()
    for row, text in enumerate(texts, 1):
        if text is None or not 0 < float(text) < _MOST_PEOPLE:
            shown = "no weight" if text is None else f"the weight {text}"
            raise DataError(
                f"{table.name}: row {row} has {shown} in {weights!r}; weights are numbers above 0 "
                "and below 1e12, which say how many people of the population a row stands for"
            )
    return np.array(list(map(float, texts)), np.float64)


def risk_of_classes(
    of_row: IntArray, of_weight: FloatArray, weights: str, limit: Fraction
) -> IndividualRisk:
    """Estimate the risk of each row by the class that it is in, and its weight."""
    n_rows = np.bincount(of_row)
    in_population = np.bincount(of_row, of_weight).astype(np.float64)
    of_rows = expected_chances(n_rows, in_population)[of_row]
    return IndividualRisk(
        weights=weights,
        population=float(of_weight.sum()),
        highest=float(of_rows.max()),
        average=float(of_rows.mean()),
        expected=float(of_rows.sum()),
        above=int((of_rows > float(limit)).sum()),
        of_rows=of_rows,
    )


def class_of_rows(rows: Any, columns: Sequence[str]) -> IntArray:
    """The number of the class of each row: of all who have the same values of some columns."""
    coded = [codes_of(rows.column(name)) for name in columns]
    of_row, _ = combine([codes for codes, _ in coded], [len(values) for _, values in coded])
    return of_row.astype(np.int64)


def expected_chances(n_rows: IntArray, in_population: FloatArray) -> FloatArray:
    """The expected value of 1 / F for each class: F people, `n_rows` of them in the table.

    Exact for classes of one and two rows, and close to it above, as in sdcMicro. Where weights say
    that the population has no more than the table, it is one in these rows.

    >>> expected_chances(np.array([1, 2, 3]), np.array([17.0, 110.0, 3.0])).round(8).tolist()
    [0.17707583, 0.01714426, 0.33333333]
    """
    share = np.minimum(n_rows / np.maximum(in_population, n_rows), 1.0)
    rest = 1 - share
    chances = share / (n_rows - rest)
    sampled = rest > 1e-3  # below, differences of nearly equal numbers lose their digits
    one, two = sampled & (n_rows == 1), sampled & (n_rows == 2)
    chances[one] = share[one] / rest[one] * -np.log(share[one])
    chances[two] = share[two] / rest[two] ** 2 * (share[two] * np.log(share[two]) + rest[two])
    few = ~sampled & (n_rows <= 2)
    chances[few] = 1 / n_rows[few] - rest[few] / (n_rows[few] + 1)  # the first terms of a series
    return np.asarray(chances)
