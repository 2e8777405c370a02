"""Survey weights: how many people of the population each row, or each group, stands for."""

from __future__ import annotations

from math import floor, log10

import numpy as np

from foreknow.data.arrays import FloatArray, IntArray
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.tables.columns import as_plain_texts, fetch
from foreknow.data.tables.table import Table, require
from foreknow.errors import NoSafeRelease
from foreknow.numbers import nearest_multiple
from foreknow_judge.errors import DataError

_MOST_PEOPLE = 1e12  # whom a row stands for
# In a smaller group, a member who knows the own weight could work out that of another one.
LEAST_PEOPLE = 3


def weights_of_rows(table: Table, weights: str, reading: Reading) -> FloatArray:
    """The weight of each row: how many people of the population the row stands for.

    Refused if a row has no weight, or one that is not above 0.
    """
    require(table, [weights])
    column = fetch(table, [weights]).column(weights)
    texts = as_plain_texts(weights, column, reading, "number").to_pylist()
    for row, text in enumerate(texts, 1):
        if text is None or not 0 < float(text) < _MOST_PEOPLE:
            value_text = "no weight" if text is None else f"the weight {text}"
            raise DataError(
                f"{table.name}: row {row} has {value_text} in {weights!r}; weights are numbers "
                "above 0 and below 1e12, which say how many people of the population a row "
                "stands for"
            )
    return np.array(list(map(float, texts)), np.float64)


def weights_of_groups(
    weight_of_row: FloatArray,
    group_of_row: IntArray,
    step: float | None = None,
    unit_of_row: IntArray | None = None,
    unit: str | None = None,
) -> FloatArray:
    """The weight that is published of each group: the mean of its rows' weights, rounded.

    It is rounded to a multiple of `step`; without one, to two digits, so that it does not tell how
    many of the group have which weight. `unit_of_row` numbers those who know the weights of their
    rows: the persons of cases, or households, by the column `unit`; None: each row is another
    person. Refused if a group has so few of them that one could work out the weight of another.

    >>> weights_of_groups(np.array([60.0, 50.0, 17.0, 19.5]), np.zeros(4, int)).tolist()
    [37.0]
    """
    sizes = np.bincount(group_of_row)
    group_of_unit = group_of_row
    if unit_of_row is not None:
        group_of_unit, _ = np.unique(np.stack([group_of_row, unit_of_row]), axis=1)
    least = int(np.bincount(group_of_unit).min())
    if least < LEAST_PEOPLE:
        who, required = "of the people", f"group_size = {LEAST_PEOPLE}, or a larger k_anonymity"
        if unit is not None:
            who = f"different {unit}"
            required = f'k_anonymity = {{ k = {LEAST_PEOPLE}, of = "{unit}" }}, and knowing = []'
        raise NoSafeRelease(
            f"weights: a group has only {least} {who}, and its weight would reveal the "
            "weights of its members",
            [
                f"require {required}",
                "take the column of weights out of other: then weights are not published",
            ],
        )
    means = np.bincount(group_of_row, weight_of_row) / sizes
    weights = []
    for mean in means.tolist():
        two_digits = float(f"1e{floor(log10(mean)) - 1}")
        weights.append(float(nearest_multiple(mean, two_digits if step is None else step)))
    if not min(weights):
        raise DataError(
            f"publish.round: a weight of {means.min():.3g} is rounded to 0 by steps of {step}; "
            "take a smaller step"
        )
    return np.array(weights, np.float64)
