"""Kinds of knowledge and criteria for the judge: its own, and those of other packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foreknow.adversaries import registry as adversaries
from foreknow.criteria import registry as criteria
from foreknow.plugins import foreign, package_of
from foreknow_judge.criteria import GAUGES, Gauge
from foreknow_judge.errors import InputError
from foreknow_judge.knowledge import VERIFIERS, Judge
from foreknow_judge.registry import Kinds


def registered_kinds(asked: Iterable[str] = ()) -> Kinds:
    """All kinds, the judge's own and those of other packages; those `asked` for need a judge."""
    asked_keys = {*asked}
    knowledge = {kind.key: kind.settings for kind in adversaries.ADVERSARIES}
    wanted = {kind.key: kind.settings for kind in criteria.CRITERIA}
    every = (*adversaries.ADVERSARIES, *criteria.CRITERIA)
    others = [kind for kind in every if kind.key not in {*VERIFIERS, *GAUGES}]
    return Kinds(
        knowledge,
        wanted,
        {**VERIFIERS, **_brought(adversaries.ADVERSARIES, "judge", Judge, VERIFIERS, asked_keys)},
        {**GAUGES, **_brought(criteria.CRITERIA, "gauge", Gauge, GAUGES, asked_keys)},
        {kind.key: name for kind in others for name in foreign([kind])},
    )


def _brought(
    kinds: Iterable[Any], name: str, wanted: Any, known: Mapping[str, Any], needed: set[str]
) -> dict[str, Any]:
    """The judges or gauges that further kinds bring."""
    brought = {}
    for kind in kinds:
        judge_of_kind = getattr(kind, name, None)
        if kind.key in known:
            continue
        if isinstance(judge_of_kind, wanted):
            brought[kind.key] = judge_of_kind
        elif kind.key in needed:
            lacks = f"{kind.__name__} lacks {name}, a foreknow_judge {wanted.__name__}"
            table, file = ("GAUGES", "criteria") if wanted is Gauge else ("VERIFIERS", "knowledge")
            ours = f": add a line to {table} in foreknow_judge/{file}.py"
            raise InputError(lacks if package_of(kind) else lacks + ours)
    return brought
