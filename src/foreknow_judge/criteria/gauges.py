"""Every criterion that the judge can measure: those of the files in this folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from foreknow_judge import criteria
from foreknow_judge.counts.group_bags import GroupBags, Measured
from foreknow_judge.criteria.gauge import Gauge as Gauge
from foreknow_judge.policy.kinds import KNOWLEDGE

GAUGES: dict[str, Gauge] = {}
for _module in iter_modules(criteria.__path__, "foreknow_judge.criteria."):
    if _module.name != __name__:
        _declared = getattr(import_module(_module.name), "GAUGES", {})
        # No file may replace what decides on another criterion, or on a kind of knowledge.
        if _declared.keys() & {**GAUGES, **KNOWLEDGE}:
            raise ImportError(f"{_module.name}: GAUGES has a key that is taken")
        GAUGES.update(_declared)
# The settings of each in a policy.
CRITERIA = {key: gauge.settings for key, gauge in GAUGES.items()}


def limits_values(gauge: Gauge, settings: Any, groups: GroupBags, arguments: Sequence[Any]) -> bool:
    """True if a criterion fails for these people in groups of one value each.

    No other groups are worse for the criteria of values in `GAUGES`. A criterion that holds for
    such groups, such as "at most n distinct values", limits no inference: they say who has what.
    Nor does one that fails for small groups only, so one by group must fail for large ones, too.
    """
    if gauge.of_people:
        return False
    values = np.flatnonzero(groups.totals)
    # A group for each value, of all who have it; its labels do not matter.
    labels = [column.take(values * 0) for column in groups.labels]
    for least in (0, 10**6 * gauge.by_group):
        people = np.maximum(groups.totals[values], least)
        by_value = GroupBags(labels, groups.names, np.arange(len(values)), values, people)
        if Measured(*gauge.measure(by_value, settings, *arguments)).holds:
            return False
    return True


def digests_of(requirements: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    """Yield the positions of requirements that compare groups with a population, and its digest."""
    compared = {key for key, gauge in GAUGES.items() if gauge.of_population}
    for position, table in enumerate(requirements):
        for key in compared & table.keys():
            yield position, str(table[key].get("digest"))
