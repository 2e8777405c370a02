"""What a criterion is to the judge: its settings, what measures it, and what it is about."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator

from foreknow_judge.counts.group_bags import Group, Measured
from foreknow_judge.numbers import as_fraction

AsFraction = Annotated[Any, AfterValidator(as_fraction)]


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
    # Whether each group holds or fails by itself; then a search can ask the gauge, too.
    by_group: bool = False
    merges: bool = False  # whether groups that hold still hold as one
    settings: Any = None  # the type of its settings in a policy file
