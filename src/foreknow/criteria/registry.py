"""CRITERIA: every criterion that a policy can require, those of other packages last."""

from __future__ import annotations

from foreknow.adversaries.registry import ADVERSARIES
from foreknow.features import is_installed, leaf_of
from foreknow.plugins import Registry
from foreknow_judge.criteria.gauges import GAUGES

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
# Those that only the judge has a file for.
_PLACES |= {
    key: f"foreknow.criteria.gauged:{key}"
    for key, gauge in GAUGES.items()
    if gauge.by_group and key not in _PLACES
}
OURS = {key: place for key, place in _PLACES.items() if is_installed(leaf_of(place) or "foreknow")}
CRITERIA = Registry("foreknow.criteria", OURS, ADVERSARIES)
