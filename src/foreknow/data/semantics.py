"""Semantics: whether a person has one value of a sensitive column, a set, or a bag of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from foreknow.errors import SchemaError, did_you_mean, refuse_other
from foreknow_judge.errors import InputError
from foreknow_judge.policy.grammar import Semantics


def semantics_of_each(semantics: Any, sensitives: Sequence[str]) -> Any:
    """The semantics of sensitive columns: one text for all, or a mapping if they differ.

    `semantics` is one of "single", "set" and "multiset", or a mapping of column to one of these, in
    which columns that are not named are "single".
    """
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
    # Several columns have a mapping as soon as one of them is not single.
    needs_mapping = len(semantics_of_column) > 1 and {*semantics_of_column.values()} != {"single"}
    return semantics_of_column if needs_mapping else next(iter(semantics_of_column.values()))


def check_semantics(semantics: str) -> Semantics:
    """Return "single", "set" or "multiset"; anything else is a `SchemaError`."""
    refuse_other("semantics is", semantics, get_args(Semantics), SchemaError)
    return cast("Semantics", semantics)


def refuse_several(semantics: Any, problem: str, error: type[InputError] = SchemaError) -> None:
    """Raise an error that states a problem, where a person may have several values."""
    if semantics != "single":
        raise error(problem)
