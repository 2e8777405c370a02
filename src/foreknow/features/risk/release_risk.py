"""The individual risk of people of a release: of those who look alike in it, by their weights."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.people.survey_weights import weights_of_rows
from foreknow.data.tables.columns import fetch
from foreknow.features.risk.individual import IndividualRisk, class_of_rows, risk_of_classes
from foreknow.publishing.distinct_rows import Entries, Placed
from foreknow_judge.errors import UnsupportedError


def risk_of_release(
    microdata: Microdata,
    placed: Placed,
    counts: GroupCounts,
    limit: Fraction | None,
    labelled: bool,
) -> IndividualRisk:
    """Estimate the risk of everybody in a release, before it is written.

    `placed` says which group each row of the table is in, -1 if it is left out. People look alike
    by the labels of their groups, where quasi-identifiers are `labelled`; else by their exact
    quasi-identifiers. Rows that are left out count for nothing. Risks above `limit` are counted.
    """
    if type(placed.entries) is not Entries:
        raise UnsupportedError(
            "try: individual_risk looks at the weight of each row, and equal rows were counted "
            'outside memory; publish with engine = "memory"'
        )
    source, name = microdata.source, str(microdata.schema.weights)
    weights = weights_of_rows(source, name, microdata.reading)
    group_of_row = placed.entries.of_rows(placed.group_of_entries_in(counts))
    is_kept, class_of_row = group_of_row >= 0, group_of_row
    if not labelled:
        columns = list(microdata.schema.quasi_identifiers)
        class_of_row = class_of_rows(fetch(source, columns), columns)
    _, class_of_person = np.unique(class_of_row[is_kept], return_inverse=True)
    # Without a limit nothing is above it: a risk is at most 1.
    highest_risk = Fraction(1) if limit is None else limit
    return risk_of_classes(class_of_person.reshape(-1), weights[is_kept], name, highest_risk)
