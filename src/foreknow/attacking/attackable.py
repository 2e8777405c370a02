"""Attackable: what may be attacked, and what messages call it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from foreknow.anonymizers.fulldomain import FullDomain
from foreknow.errors import InputError, UnsupportedError
from foreknow.methods import settings_of as plain_settings
from foreknow.microdata import Microdata
from foreknow.policy import Policy


def name_of(method: Any) -> str:
    """What messages call a method.

    >>> from foreknow.anonymizers.mondrian import Mondrian
    >>> name_of(Mondrian()), name_of(sorted)
    ('Mondrian(cuts=5)', 'sorted')
    """
    return getattr(method, "__name__", None) or repr(method)


def settings_of(method: Any) -> Mapping[str, Any]:
    """A method's name and plain settings."""
    name = getattr(method, "__name__", type(method).__name__)
    return {"name": name, **plain_settings(method)}


def check_attackable(microdata: Microdata, method: Any, policy: Policy | None) -> None:
    """Refuse what is no table, no method or no policy, and what is not worked out."""
    if not isinstance(microdata, Microdata):
        raise InputError(
            f"expected Microdata, not {type(microdata).__name__}: a table and the roles of its "
            "columns, Microdata(table, schema)"
        )
    if isinstance(method, type):
        raise InputError(f"give a method, such as {method.__name__}(), not its class")
    if not hasattr(method, "partition") and not callable(method):
        raise InputError(
            f"{method!r} is no method: give an anonymizer, or a function from a table to the "
            "group of each row"
        )
    if policy is not None and not isinstance(policy, Policy):
        raise InputError(f"expected a Policy, not {type(policy).__name__}; see Policy.load")
    if isinstance(method, FullDomain) and method.seconds is not None:
        raise UnsupportedError(
            "FullDomain with a time budget makes what the clock allows, which nobody can "
            "recompute; attack it without seconds"
        )
    if microdata.schema.semantics != "single":
        raise UnsupportedError(
            f"semantics {microdata.schema.semantics!r}: the adversary who knows the algorithm is "
            "worked out only where everybody has one sensitive value"
        )


def checked_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Refuse seeds that are none."""
    given = tuple(seeds)
    if not given or any(isinstance(s, bool) or not isinstance(s, int) or s < 0 for s in given):
        raise InputError(f"seeds must be whole numbers from 0, at least one, not {seeds!r}")
    return given


def takes_seed(method: Any, name: str) -> bool:
    """Whether a function is to be given seeds; refuse one that takes none."""
    if hasattr(method, "partition"):
        return False
    try:
        known = inspect.signature(method).parameters
    except (TypeError, ValueError):
        known = {}  # type: ignore[assignment]
    if "seed" not in known:
        raise InputError(f"seeds are given, but {name} takes none: define it as f(table, seed)")
    return True
