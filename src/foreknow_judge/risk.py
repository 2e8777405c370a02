"""Risk of being recognized: 1 over the number of people who look alike, and shares of people.

This shares no code with the criteria that the search uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from foreknow_judge.counting import Group, GroupBags, Measured
from foreknow_judge.diversity import number_of, require_keys
from foreknow_judge.errors import CertificateError
from foreknow_judge.population import BEYOND, OF_ALL, Population, count_matches


def gauge_risk(held: GroupBags, table: Any) -> Measured:
    """Risk in the smallest group, average risk, and the share of people alone in their group."""
    require_keys(table, "risk", set(), {"prosecutor", "average", "uniqueness", "strict"})
    sizes = held.people.tolist()
    people, least = sum(sizes), min(sizes)
    found = {
        "prosecutor": Fraction(1, least),
        "average": Fraction(len(sizes), people),
        "uniqueness": Fraction(sizes.count(1), people),
    }
    return _worst(table, found, held.group(sizes.index(least)))


def gauge_population_risk(held: GroupBags, table: Any, everybody: Population) -> Measured:
    """Risk in the group that fits the fewest people of the population, and the share of uniques."""
    limits = {"journalist", "uniqueness", "strict"}
    require_keys(table, "population_risk", OF_ALL, limits | BEYOND)
    many, _, _ = count_matches(held, table, everybody)
    sizes = held.people.tolist()
    alone = sum(size for size, others in zip(sizes, many, strict=True) if others == 1)
    risks = {"journalist": Fraction(1, min(many)), "uniqueness": Fraction(alone, sum(sizes))}
    return _worst(table, risks, held.group(many.index(min(many))))


def _worst(table: Mapping[str, Any], found: Mapping[str, Fraction], group: Group) -> Measured:
    """The first risk that breaks its limit, else the first that has a limit."""
    strict = table.get("strict", False)
    limits = {key: number_of(table[key]) for key in found if key in table}
    if not limits or not isinstance(strict, bool):
        raise CertificateError("wrong-setting", "a risk")
    for key, limit in limits.items():
        if found[key] > limit or (strict and found[key] == limit):
            return Measured(found[key], group, False, {key: found[key]})
    return Measured(found[next(iter(limits))], group, True)
