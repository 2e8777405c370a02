"""CRITERIA: every criterion that a policy can require."""

from __future__ import annotations

from typing import Any

from foreknow.criteria.diversity import AlphaK, LDiversity
from foreknow.criteria.likeness import BetaLikeness, DeltaDisclosure, TCloseness
from foreknow.criteria.population import DeltaPresence, KMap
from foreknow.criteria.risk import PopulationRisk, Risk
from foreknow.criteria.size import GroupSize, KAnonymity

CRITERIA: tuple[Any, ...] = (
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
)
