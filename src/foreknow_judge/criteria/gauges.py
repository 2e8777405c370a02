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


def _declared() -> Iterator[tuple[str, Gauge]]:
    """Yield each criterion and its gauge, by the files that declare some as `GAUGES`."""
    for module in iter_modules(criteria.__path__, "foreknow_judge.criteria."):
        if module.name != __name__:
            yield from getattr(import_module(module.name), "GAUGES", {}).items()


GAUGES: dict[str, Gauge] = dict(_declared())
# The settings of each in a policy.
CRITERIA: dict[str, Any] = {key: gauge.settings for key, gauge in GAUGES.items()}


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
