"""Which function measures each criterion: `GAUGES`, by its key in a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from foreknow_judge.counts.group_bags import Group, GroupBags, Measured
from foreknow_judge.counts.sizes import gauge_k_anonymity, gauge_size
from foreknow_judge.criteria.closeness import (
    gauge_beta_likeness,
    gauge_delta_disclosure,
    gauge_t_closeness,
)
from foreknow_judge.criteria.diversity import gauge_alpha_k, gauge_l_diversity
from foreknow_judge.criteria.levels import gauge_levels
from foreknow_judge.criteria.population import gauge_delta_presence, gauge_k_map
from foreknow_judge.criteria.risk import gauge_population_risk, gauge_risk


class Gauge(NamedTuple):
    """How one criterion is measured, and what it is about."""

    # Returns `Measured`, or its first three fields, for groups and the settings of the criterion.
    measure: Callable[..., Measured | tuple[Fraction | None, Group, bool]]
    of_people: bool = False  # about numbers of people, whatever their values
    of_classes: bool = False  # about people who look alike, by exact columns if there are any
    of_population: bool = False  # compares groups with a population
    of_columns: bool = False  # gets the names of the group columns
    of_labels: bool = False  # about labels, not about numbers of people
    of_releases: bool = False  # gets the name of the cohort column, too
    # Whether, with these settings, sets of values may be counted as one value.
    of_sets: Callable[[Any], bool] = lambda settings: False


def limits_values(gauge: Gauge, settings: Any, groups: GroupBags, arguments: Sequence[Any]) -> bool:
    """True if a criterion fails for these people in groups of one value each.

    No other groups are worse for the criteria of values in `GAUGES`. A criterion that holds for
    such groups, such as "at most n distinct values", limits no inference: they say who has what.
    """
    if gauge.of_people:
        return False
    values = np.flatnonzero(groups.totals)
    # A group for each value, of all who have it; its labels do not matter.
    labels = [column.take(np.zeros(len(values), np.int64)) for column in groups.labels]
    by_value = GroupBags(
        labels, groups.names, np.arange(len(values)), values, groups.totals[values]
    )
    return not Measured(*gauge.measure(by_value, settings, *arguments)).holds


def digests_of(requirements: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """The positions of requirements that compare groups with a population, and its digest."""
    compared = {key for key, gauge in GAUGES.items() if gauge.of_population}
    digests = []
    for position, table in enumerate(requirements):
        digests += [(position, str(table[key].get("digest"))) for key in compared & table.keys()]
    return digests


GAUGES: dict[str, Gauge] = {
    "group_size": Gauge(gauge_size, of_people=True),
    "k_anonymity": Gauge(
        gauge_k_anonymity, of_people=True, of_classes=True, of_columns=True, of_releases=True
    ),
    "l_diversity": Gauge(gauge_l_diversity, of_sets=lambda settings: True),
    "alpha_k": Gauge(gauge_alpha_k, of_classes=True, of_sets=lambda settings: True),
    "t_closeness": Gauge(gauge_t_closeness, of_sets=lambda settings: settings.distance == "equal"),
    "beta_likeness": Gauge(gauge_beta_likeness, of_sets=lambda settings: True),
    "delta_disclosure": Gauge(gauge_delta_disclosure, of_sets=lambda settings: True),
    "k_map": Gauge(gauge_k_map, of_people=True, of_classes=True, of_population=True),
    "delta_presence": Gauge(
        gauge_delta_presence, of_people=True, of_classes=True, of_population=True
    ),
    "risk": Gauge(gauge_risk, of_people=True, of_classes=True),
    "population_risk": Gauge(
        gauge_population_risk, of_people=True, of_classes=True, of_population=True
    ),
    "levels": Gauge(gauge_levels, of_people=True, of_classes=True, of_columns=True, of_labels=True),
}
