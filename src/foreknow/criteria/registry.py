"""CRITERIA: every criterion that a policy can require, those of other packages last."""

from __future__ import annotations

from typing import Any

from foreknow import plugins
from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria.closeness import BetaLikeness, DeltaDisclosure, TCloseness
from foreknow.criteria.diversity import AlphaK, LDiversity
from foreknow.criteria.levels import Levels
from foreknow.criteria.population import DeltaPresence, KMap
from foreknow.criteria.risk import PopulationRisk, Risk
from foreknow.criteria.size import GroupSize, KAnonymity

OURS: tuple[Any, ...] = (
    KAnonymity,
    GroupSize,
    LDiversity,
    AlphaK,
    TCloseness,
    BetaLikeness,
    DeltaDisclosure,
    KMap,
    DeltaPresence,
    Risk,
    PopulationRisk,
    Levels,
)
_KNOWN = (*ADVERSARIES, *OURS)
CRITERIA: tuple[Any, ...] = (*OURS, *plugins.kinds("foreknow.criteria", _KNOWN))
