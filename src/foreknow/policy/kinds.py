"""Kinds of knowledge and criteria for the judge: its own, and those of other packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foreknow.adversaries import registry as adversaries
from foreknow.criteria import registry as criteria
from foreknow.plugins import foreign, package_of
from foreknow_judge.criteria.gauges import CRITERIA, GAUGES, Gauge
from foreknow_judge.errors import InputError
from foreknow_judge.knowledge.verifiers import VERIFIERS, Judge
from foreknow_judge.policy.kinds import KNOWLEDGE
from foreknow_judge.registry import Kinds


def kind_of(key: str) -> Any:
    """The class of a kind of knowledge, or of a criterion, by what a policy calls it."""
    return (adversaries.ADVERSARIES if key in adversaries.ADVERSARIES else criteria.CRITERIA)[key]


def keys_of_kinds() -> list[str]:
    """The names of kinds of knowledge, and of criteria, in a policy."""
    return [*adversaries.ADVERSARIES, *criteria.CRITERIA]


def registered_kinds(needed_keys: Iterable[str] = ()) -> Kinds:
    """All kinds of knowledge and criteria: those that the judge knows, and further ones.

    Further ones come from other packages, and bring what judges them. One that is needed here and
    brings none is an error.
    """
    asked_keys = {*needed_keys}
    knowledge = _unknown_to_judge(adversaries.ADVERSARIES, VERIFIERS)
    criterion_kinds = _unknown_to_judge(criteria.CRITERIA, GAUGES)
    names = {}  # of further kinds, for remarks on whose word a verdict rests
    for key, kind in (*knowledge.items(), *criterion_kinds.items()):
        for name in foreign([kind]):
            names[key] = name
    return Kinds(
        {**KNOWLEDGE, **{key: kind.settings for key, kind in knowledge.items()}},
        {**CRITERIA, **{key: kind.settings for key, kind in criterion_kinds.items()}},
        {**VERIFIERS, **_brought(knowledge, "judge", Judge, asked_keys)},
        {**GAUGES, **_brought(criterion_kinds, "gauge", Gauge, asked_keys)},
        names,
    )


def _unknown_to_judge(kinds: Mapping[str, Any], our_kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The kinds that the judge does not know."""
    return {key: kinds[key] for key in kinds if key not in our_kinds}


def _brought(
    kinds: Mapping[str, Any], name: str, judge_type: Any, needed: set[str]
) -> dict[str, Any]:
    """The judges, or the gauges of criteria, that further kinds of requirements bring, by key.

    `name` is the attribute of a kind that holds one, of `judge_type`; a kind in `needed` that has
    none is an `InputError`.
    """
    brought = {}
    for key, kind in kinds.items():
        judge_of_kind = getattr(kind, name, None)
        if isinstance(judge_of_kind, judge_type):
            brought[key] = judge_of_kind
        elif key in needed:
            message = f"{kind.__name__} lacks {name}, a foreknow_judge {judge_type.__name__}"
            if not package_of(kind):  # it is Foreknow's: somebody is adding a kind to it
                line = "GAUGES in foreknow_judge/criteria/gauges.py"
                if judge_type is not Gauge:
                    line = "VERIFIERS in foreknow_judge/knowledge/verifiers.py"
                message += f": add a line to {line}"
            raise InputError(message)
    return brought
