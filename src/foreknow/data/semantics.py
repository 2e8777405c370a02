"""Semantics: whether a person has one value of a sensitive column, a set, or a bag of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from foreknow.errors import SchemaError, did_you_mean, refuse_other
from foreknow_judge.policy.grammar import Semantics


def semantics_of_each(semantics: Any, sensitives: Sequence[str]) -> Any:
    """The one semantics of all columns; where there are several and not all single, of each."""
    if isinstance(semantics, Mapping):
        for name in semantics:
            if name not in sensitives:
                hint = did_you_mean(str(name), sensitives)
                raise SchemaError(f"semantics: {name!r} is no sensitive column{hint}")
        semantics_of_column = {
            name: check_semantics(semantics.get(name, "single")) for name in sensitives
        }
    else:
        semantics_of_column = dict.fromkeys(sensitives, check_semantics(semantics))
    differ = len(semantics_of_column) > 1 and {*semantics_of_column.values()} != {"single"}
    return semantics_of_column if differ else next(iter(semantics_of_column.values()))


def check_semantics(semantics: str) -> Semantics:
    """Return "single", "set" or "multiset"; anything else is a `SchemaError`."""
    refuse_other("semantics is", semantics, get_args(Semantics), SchemaError)
    return cast("Semantics", semantics)
