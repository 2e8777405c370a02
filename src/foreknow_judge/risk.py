"""Risk of being recognized: 1 over the number of people who look alike, and shares of people.

This shares no code with the criteria that the search uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from foreknow_judge.counting import Group, GroupBags, Measured
from foreknow_judge.errors import CertificateError
from foreknow_judge.kinds import PopulationRiskSettings, RiskSettings
from foreknow_judge.numbers import as_fraction
from foreknow_judge.population import Population, count_matches


def gauge_risk(held: GroupBags, settings: RiskSettings) -> Measured:
    """Risk in the smallest group, average risk, and the share of people alone in their group."""
    sizes = held.people.tolist()
    people, least = sum(sizes), min(sizes)
    found = {
        "prosecutor": Fraction(1, least),
        "average": Fraction(len(sizes), people),
        "uniqueness": Fraction(sizes.count(1), people),
    }
    return _worst(settings, found, held.group(sizes.index(least)))


def gauge_population_risk(
    held: GroupBags, settings: PopulationRiskSettings, everybody: Population
) -> Measured:
    """Risk in the group that fits the fewest people of the population, and the share of uniques."""
    many, _, _ = count_matches(held, settings, everybody)
    sizes = held.people.tolist()
    alone = sum(size for size, others in zip(sizes, many, strict=True) if others == 1)
    risks = {"journalist": Fraction(1, min(many)), "uniqueness": Fraction(alone, sum(sizes))}
    return _worst(settings, risks, held.group(many.index(min(many))))


def _worst(
    settings: RiskSettings | PopulationRiskSettings, found: Mapping[str, Fraction], group: Group
) -> Measured:
    """The first risk that breaks its limit, else the first that has a limit."""
    given = {key: getattr(settings, key) for key in found}
    limits = {key: as_fraction(limit) for key, limit in given.items() if limit is not None}
    if not limits:
        raise CertificateError("wrong-setting", "a risk")
    for key, limit in limits.items():
        if found[key] > limit or (settings.strict and found[key] == limit):
            return Measured(found[key], group, False, {key: found[key]})
    return Measured(found[next(iter(limits))], group, True)
