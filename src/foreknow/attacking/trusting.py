"""Trust: what is known of a method without running it, by its class or by its own word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from foreknow.anonymizers.anatomy import Anatomy
from foreknow.anonymizers.fulldomain import FullDomain
from foreknow.anonymizers.mondrian import Mondrian
from foreknow.anonymizers.streamliner import Streamliner
from foreknow.policy import Policy


@dataclass(frozen=True)
class Trust:
    """What may be taken for granted of a method.

    Attributes
    ----------
    deterministic : bool
        It makes one release of each table, whatever else was run.
    symmetric : bool
        It treats rows alike, whatever their order.
    chance, could_make : callable, optional
        Its own, by these names.
    frequencies : bool
        By a proof, the posterior of everybody is the frequency in their group, for whoever sees
        the groups.
    least : int
        People of its smallest groups.
    whole : int, optional
        Where the number of people is a multiple of this, all groups are equally large, and people
        come into them whatever their quasi-identifiers.
    highest : Fraction, optional
        By a proof, no posterior is higher, whatever groups look alike to a reader.
    """

    deterministic: bool
    symmetric: bool
    chance: Callable[..., Any] | None
    could_make: Callable[..., Any] | None
    frequencies: bool
    least: int = 1
    whole: int | None = None
    highest: Fraction | None = None


def trust_of(method: Any, policy: Policy | None = None) -> Trust:
    """Say what is known of a method.

    A class that inherits from another and groups people in its own way is another method: what
    the other one says of itself, or is known for, does not count for it.

    >>> class Mine(Mondrian):
    ...     def partition(self, microdata, policy=None, seed=None):
    ...         return [0] * microdata.n_rows
    >>> trust_of(Mondrian()).symmetric, trust_of(Mine()).symmetric
    (True, False)
    """
    fixed = type(method) is Mondrian or (
        type(method) is FullDomain and not callable(method.objective)
    )
    dealt = type(method) in (Anatomy, Streamliner)
    frequencies = _said(method, "tells_frequencies_only") is True
    rda = type(method) is Streamliner and method.variant == "rda"
    return Trust(
        deterministic=fixed and _plain(policy),
        symmetric=fixed or _said(method, "symmetric") is True,
        chance=_said(method, "chance"),
        could_make=_said(method, "could_make"),
        frequencies=frequencies,
        least=method.l if dealt else 1,
        whole=method.l if rda or type(method) is Anatomy else None,
        highest=Fraction(1, method.l) if dealt and frequencies else None,
    )


def is_foreknows(given: Any) -> bool:
    """Whether an object is of a class of this library, not of one that inherits from it."""
    return type(given).__module__.startswith("foreknow.")


def _plain(policy: Policy | None) -> bool:
    """Whether no adversary of a policy is the user's own, who might answer otherwise each time."""
    points = [p for r in (policy.requirements if policy is not None else ()) for p in r.points]
    return all(is_foreknows(point.adversary) for point in points)


def _said(method: Any, name: str) -> Any:
    """What a method says of itself under a name; None where it does not, or another class did."""
    if is_foreknows(method) or name in getattr(method, "__dict__", {}):
        return getattr(method, name, None)
    makers = ("partition", "grouping") if hasattr(method, "partition") else ("__call__",)
    for kind in type(method).__mro__:
        if name in vars(kind):
            return None if kind.__module__.startswith("foreknow.") else getattr(method, name)
        if any(maker in vars(kind) for maker in makers):
            return None
    return None
