"""Risk of being recognized: 1 over the number of people who look alike, and shares of people.

This shares no code with the criteria that the search uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from foreknow_judge.counts.group_bags import Group, GroupBags, Measured
from foreknow_judge.criteria.gauge import AsFraction, Gauge
from foreknow_judge.criteria.population import Population, PopulationSettings, count_matches
from foreknow_judge.errors import CertificateError
from foreknow_judge.policy.settings import Settings


class RiskSettings(Settings):
    """``risk`` in a policy file."""

    prosecutor: AsFraction = None
    average: AsFraction = None
    uniqueness: AsFraction = None
    strict: bool = False


class PopulationRiskSettings(PopulationSettings):
    """``population_risk`` in a policy file."""

    journalist: AsFraction = None
    uniqueness: AsFraction = None
    strict: bool = False


def gauge_risk(groups: GroupBags, settings: RiskSettings) -> Measured:
    """Measure the risk in the smallest group, the average, and the share of people who are alone.

    Measured is the first of these that breaks its limit, or else the first that has a limit; the
    group is the smallest. The average over people is groups / people: in a group of n, each of n
    people has the risk 1 / n.
    """
    sizes = groups.people.tolist()
    people, smallest = sum(sizes), min(sizes)
    figures = {
        "prosecutor": Fraction(1, smallest),
        "average": Fraction(len(sizes), people),
        "uniqueness": Fraction(sizes.count(1), people),
    }
    smallest_group = groups.group(sizes.index(smallest))
    return _first_over_limit(settings, figures, smallest_group)


def gauge_population_risk(
    groups: GroupBags, settings: PopulationRiskSettings, everybody: Population
) -> Measured:
    """Measure the risk of being found in a population, and the share of people who surely are.

    The risk is 1 / (people of the population who fit a group), highest where these are fewest.
    People are unique if nobody else in the population fits their group.
    """
    n_matches, _, _ = count_matches(groups, settings, everybody)
    sizes = groups.people.tolist()
    n_unique = sum(size for size, n_fitting in zip(sizes, n_matches, strict=True) if n_fitting == 1)
    risks = {
        "journalist": Fraction(1, min(n_matches)),
        "uniqueness": Fraction(n_unique, sum(sizes)),
    }
    rarest_group = groups.group(n_matches.index(min(n_matches)))
    return _first_over_limit(settings, risks, rarest_group)


def _first_over_limit(
    settings: RiskSettings | PopulationRiskSettings, figures: Mapping[str, Fraction], group: Group
) -> Measured:
    """The first risk that breaks its limit, else the first that has a limit.

    `figures` are the risks by name; `settings` have a limit or None for each. With `strict`, a
    limit must not be reached.
    """
    limits = {key: getattr(settings, key) for key in figures}
    limits = {key: limit for key, limit in limits.items() if limit is not None}
    for key, limit in limits.items():
        may_be_zero = key == "uniqueness" and not settings.strict  # at most nobody is alone
        if not (0 < limit <= 1 or (limit == 0 and may_be_zero)):
            raise CertificateError("wrong-setting", "a risk")
    if not limits:
        raise CertificateError("wrong-setting", "a risk")
    for key, limit in limits.items():
        if figures[key] > limit or (settings.strict and figures[key] == limit):
            return Measured(figures[key], group, False, {key: figures[key]})
    return Measured(figures[next(iter(limits))], group, True)


GAUGES = {
    "risk": Gauge(gauge_risk, settings=RiskSettings, of_people=True, of_classes=True),
    "population_risk": Gauge(
        gauge_population_risk,
        settings=PopulationRiskSettings,
        of_people=True,
        of_classes=True,
        of_population=True,
    ),
}
