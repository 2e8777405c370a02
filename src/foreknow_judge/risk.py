"""Risk of being recognized: 1 over the number of people who look alike, and shares of people.

This shares no code with the criteria that the search uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from foreknow_judge.counting import Group, GroupBags, Measured
from foreknow_judge.errors import CertificateError
from foreknow_judge.kinds import PopulationRiskSettings, RiskSettings
from foreknow_judge.population import Population, count_matches


def gauge_risk(groups: GroupBags, settings: RiskSettings) -> Measured:
    """Risk in the smallest group, average risk, and the share of people alone in their group."""
    sizes = groups.people.tolist()
    people, smallest = sum(sizes), min(sizes)
    figures = {
        "prosecutor": Fraction(1, smallest),
        "average": Fraction(len(sizes), people),
        "uniqueness": Fraction(sizes.count(1), people),
    }
    return _worst(settings, figures, groups.group(sizes.index(smallest)))


def gauge_population_risk(
    groups: GroupBags, settings: PopulationRiskSettings, everybody: Population
) -> Measured:
    """Risk in the group that fits the fewest people of the population, and the share of uniques."""
    n_matches, _, _ = count_matches(groups, settings, everybody)
    sizes = groups.people.tolist()
    n_unique = sum(size for size, n_fitting in zip(sizes, n_matches, strict=True) if n_fitting == 1)
    risks = {
        "journalist": Fraction(1, min(n_matches)),
        "uniqueness": Fraction(n_unique, sum(sizes)),
    }
    return _worst(settings, risks, groups.group(n_matches.index(min(n_matches))))


def _worst(
    settings: RiskSettings | PopulationRiskSettings, figures: Mapping[str, Fraction], group: Group
) -> Measured:
    """The first risk that breaks its limit, else the first that has a limit."""
    limits = {key: limit for key in figures if (limit := getattr(settings, key)) is not None}
    # A share of 0 can be kept only by "uniqueness", if it may be reached.
    zero = {} if settings.strict else {"uniqueness": 0}
    if not limits or not all(
        0 < limit <= 1 or zero.get(key) == limit for key, limit in limits.items()
    ):
        raise CertificateError("wrong-setting", "a risk")
    for key, limit in limits.items():
        if figures[key] > limit or (settings.strict and figures[key] == limit):
            return Measured(figures[key], group, False, {key: figures[key]})
    return Measured(figures[next(iter(limits))], group, True)
