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


def registered_kinds(needed_keys: Iterable[str] = ()) -> Kinds:
    """All kinds, ours and those of other packages; those with `needed_keys` need a judge."""
    asked_keys = {*needed_keys}
    knowledge = {kind.key: kind.settings for kind in adversaries.ADVERSARIES}
    criterion_settings = {kind.key: kind.settings for kind in criteria.CRITERIA}
    all_kinds = (*adversaries.ADVERSARIES, *criteria.CRITERIA)
    foreign_kinds = [kind for kind in all_kinds if kind.key not in {*VERIFIERS, *GAUGES}]
    return Kinds(
        knowledge,
        criterion_settings,
        {**VERIFIERS, **_brought(adversaries.ADVERSARIES, "judge", Judge, VERIFIERS, asked_keys)},
        {**GAUGES, **_brought(criteria.CRITERIA, "gauge", Gauge, GAUGES, asked_keys)},
        {kind.key: name for kind in foreign_kinds for name in foreign([kind])},
    )


def _brought(
    kinds: Iterable[Any],
    name: str,
    judge_type: Any,
    registered: Mapping[str, Any],
    needed: set[str],
) -> dict[str, Any]:
    """The judges or gauges that further kinds bring."""
    brought = {}
    for kind in kinds:
        judge_of_kind = getattr(kind, name, None)
        if kind.key in registered:
            continue
        if isinstance(judge_of_kind, judge_type):
            brought[kind.key] = judge_of_kind
        elif kind.key in needed:
            lacks = f"{kind.__name__} lacks {name}, a foreknow_judge {judge_type.__name__}"
            table, file = (
                ("GAUGES", "criteria") if judge_type is Gauge else ("VERIFIERS", "knowledge")
            )
            ours = f": add a line to {table} in foreknow_judge/{file}.py"
            raise InputError(lacks if package_of(kind) else lacks + ours)
    return brought
