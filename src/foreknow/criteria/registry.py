"""CRITERIA: every criterion that a policy can require, those of other packages last."""

from __future__ import annotations

from typing import Any

from foreknow import plugins
from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria.closeness import BetaLikeness, DeltaDisclosure, TCloseness
from foreknow.criteria.diversity import AlphaK, LDiversity
from foreknow.criteria.levels import Levels
from foreknow.criteria.risk import Risk
from foreknow.criteria.size import GroupSize, KAnonymity
from foreknow.leaves import is_installed, load

# Those that compare groups with a population, where measuring risk is installed.
_OF_POPULATIONS = load("foreknow.risks.criteria:KINDS") if is_installed("foreknow.risks") else ()
OURS: tuple[Any, ...] = (
    KAnonymity,
    GroupSize,
    LDiversity,
    AlphaK,
    TCloseness,
    BetaLikeness,
    DeltaDisclosure,
    *_OF_POPULATIONS[:2],
    Risk,
    *_OF_POPULATIONS[2:],
    Levels,
)
_KNOWN = (*ADVERSARIES, *OURS)
CRITERIA: tuple[Any, ...] = (*OURS, *plugins.kinds("foreknow.criteria", _KNOWN))
