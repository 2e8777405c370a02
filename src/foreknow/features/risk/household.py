"""Household risk: how easily at least one member of a household is recognized.

Who finds one member of a household learns what is published of all of them. So the risk of a
household is that at least one of its members is found: one less the product of their chances of
not being found (the "hierarchical risk" of sdcMicro and mu-Argus).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from foreknow.call_hints import Plain
from foreknow.data.arrays import FloatArray
from foreknow.data.person_names import refuse_two_spellings
from foreknow.data.tables.columns import codes_of, fetch
from foreknow.data.tables.table import Table, require
from foreknow.errors import SchemaError
from foreknow.features.risk.individual import class_of_rows
from foreknow_judge.numbers import CLOSE


@dataclass(frozen=True)
class HouseholdRisk(Plain):
    """The risk that at least one member of a household is found.

    Attributes
    ----------
    column : str
        The column that numbers households; a row without a number is one by itself.
    households : int
        The number of households.
    highest, average : float
        The highest and the average risk of a household.
    expected : float
        The expected number of households in which somebody is found.
    above : int
        The number of households whose risk is above the threshold.
    """

    column: str
    households: int
    highest: float
    average: float
    expected: float
    above: int


def household_risk(
    table: Table,
    columns: Sequence[str],
    column: str,
    risk_of_row: FloatArray | None,
    limit: Fraction,
) -> HouseholdRisk:
    """The risk of households: that at least one of their members is found.

    `risk_of_row` is the risk of each row; None: 1 / (rows with the same values in `columns`).
    `column` numbers the households. Households above `limit` are counted.
    """
    if not isinstance(column, str):
        raise SchemaError(f"household must be the name of one column, not {column!r}")
    if column in columns:
        raise SchemaError(f"household: {column!r} is also a column that others may know")
    require(table, [*columns, column])
    rows = fetch(table, [*columns, column])
    people_alike = None
    if risk_of_row is None:
        class_of_row = class_of_rows(rows, columns)
        people_alike = np.bincount(class_of_row)[class_of_row]
        risk_of_row = 1 / people_alike
    codes, values = codes_of(rows.column(column))
    household = codes.astype(np.int64)
    names = values.to_pylist()
    refuse_two_spellings(names, repr(column), repeated=True)
    if None in names:  # each is a household by itself
        unnumbered = np.flatnonzero(household == names.index(None))
        household[unnumbered] = len(names) + np.arange(len(unnumbered))
    _, household = np.unique(household, return_inverse=True)
    not_found = np.ones(int(household.max()) + 1)
    # Nobody is found: the product of the members' chances of not being found.
    np.multiply.at(not_found, household, 1 - risk_of_row)
    risks = 1 - not_found
    is_above = risks > float(limit)
    near = np.flatnonzero(abs(risks - float(limit)) < CLOSE)
    if people_alike is not None and len(near):  # else risks are estimates
        order = np.argsort(household, kind="stable")
        first_of_household = np.searchsorted(household[order], np.arange(len(risks) + 1))
        for number in near:
            members = order[first_of_household[number] : first_of_household[number + 1]]
            is_above[number] = _exact_risk(tuple(sorted(people_alike[members].tolist()))) > limit
    return HouseholdRisk(
        column=column,
        households=len(risks),
        highest=float(risks.max()),
        average=float(risks.mean()),
        expected=float(risks.sum()),
        above=int(is_above.sum()),
    )


@lru_cache(1 << 12)
def _exact_risk(people_alike: tuple[int, ...]) -> Fraction:
    """The risk of a household: for each member, `people_alike` are in the member's class."""
    return 1 - prod((1 - Fraction(1, n) for n in people_alike), start=Fraction(1))
