"""CRITERIA: every criterion that a policy can require, those of other packages last."""

from __future__ import annotations

from foreknow.adversaries.registry import ADVERSARIES
from foreknow.features import is_installed, leaf_of
from foreknow.plugins import Registry
from foreknow_judge.criteria.gauges import GAUGES, Gauge

# What each is called, and its class: loaded when it is first asked for.
_PLACES = {
    "k_anonymity": "foreknow.criteria.size:KAnonymity",
    "group_size": "foreknow.criteria.size:GroupSize",
    "l_diversity": "foreknow.criteria.diversity:LDiversity",
    "alpha_k": "foreknow.criteria.diversity:AlphaK",
    "t_closeness": "foreknow.criteria.closeness:TCloseness",
    "beta_likeness": "foreknow.criteria.closeness:BetaLikeness",
    "delta_disclosure": "foreknow.criteria.closeness:DeltaDisclosure",
    "k_map": "foreknow.features.risk.criteria:KMap",
    "delta_presence": "foreknow.features.risk.criteria:DeltaPresence",
    "risk": "foreknow.criteria.risk:Risk",
    "population_risk": "foreknow.features.risk.criteria:PopulationRisk",
    "levels": "foreknow.criteria.levels:Levels",
}


def asks_groups(gauge: Gauge) -> bool:
    """True if a search can ask a gauge: of each group by itself, given nothing but groups."""
    return gauge.by_group and gauge == Gauge(
        gauge.measure,
        settings=gauge.settings,
        of_people=gauge.of_people,
        of_sets=gauge.of_sets,
        by_group=True,
        merges=gauge.merges,
    )


# Those that only the judge has a file for.
_PLACES |= {
    key: f"foreknow.criteria.gauged:criterion_{key}"
    for key, gauge in GAUGES.items()
    if asks_groups(gauge) and key not in _PLACES
}
OURS = {key: place for key, place in _PLACES.items() if is_installed(leaf_of(place) or "foreknow")}
CRITERIA = Registry("foreknow.criteria", OURS, ADVERSARIES)
