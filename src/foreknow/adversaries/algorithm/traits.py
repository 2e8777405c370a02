"""What is taken for granted of a method: what its class declares, never what it inherits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foreknow.methods.protocol import settings_of as plain_settings
from foreknow.methods.protocol import traits_of
from foreknow.policy.policy import Policy


def deterministic(method: Any, policy: Policy | None) -> bool:
    """Whether one release is made of each table, as far as is known.

    An adversary of the user's own might answer otherwise each time.
    """
    points = policy.points if policy is not None else []
    return traits_of(method).deterministic and all(is_foreknows(p.adversary) for p in points)


def is_foreknows(given: Any) -> bool:
    """Whether an object is of a class of this library, not of one that inherits from it."""
    return type(given).__module__.startswith("foreknow.")


def name_of(method: Any) -> str:
    """What messages call a method.

    >>> from foreknow.methods.mondrian.mondrian import Mondrian
    >>> name_of(Mondrian()), name_of(sorted)
    ('Mondrian(cuts=5)', 'sorted')
    """
    return getattr(method, "__name__", None) or repr(method)


def settings_of(method: Any) -> Mapping[str, Any]:
    """A method's name and plain settings."""
    name = getattr(method, "__name__", type(method).__name__)
    return {"name": name, **plain_settings(method)}
