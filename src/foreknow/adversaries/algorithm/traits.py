"""What is taken for granted of a method: what its class declares, never what it inherits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from foreknow.methods.anatomy import Anatomy
from foreknow.methods.fulldomain.fulldomain import FullDomain
from foreknow.methods.mondrian.mondrian import Mondrian
from foreknow.methods.protocol import settings_of as plain_settings
from foreknow.methods.streamliner import Streamliner
from foreknow.policy.policy import Policy


@dataclass(frozen=True)
class Assumptions:
    """What an attack does not try out.

    Attributes
    ----------
    deterministic : bool
        One release of each table, whatever else was run.
    symmetric : bool
        Rows are treated alike, whatever their order.
    likelihood, could_make : callable, optional
        ``chance(microdata, policy, groups)`` and ``could_make(microdata, policy, groups)``.
    replayed : bool
        `methods.mondrian.replay` says what a run would make.
    frequencies : bool
        By a proof, the posterior of everybody is the frequency in the group that was made.
    least : int
        People of the smallest groups.
    whole : int, optional
        Where the number of people is a multiple of this, all groups are equally large, and people
        come into them whatever their quasi-identifiers.
    highest : Fraction, optional
        By a proof, no posterior is higher, whatever groups look alike to a reader.
    """

    deterministic: bool
    symmetric: bool
    likelihood: Callable[..., Any] | None
    could_make: Callable[..., Any] | None
    replayed: bool
    frequencies: bool
    least: int = 1
    whole: int | None = None
    highest: Fraction | None = None


def assumptions_of(method: Any, policy: Policy | None = None) -> Assumptions:
    """Say what is known of a method; of one that groups anew, nothing that another class declares.

    >>> class Mine(Mondrian):
    ...     def partition(self, microdata, policy=None, seed=None):
    ...         return [0] * microdata.n_rows
    >>> assumptions_of(Mondrian()).symmetric, assumptions_of(Mine()).symmetric
    (True, False)
    """
    kind = type(method)
    fixed = kind is Mondrian or (kind is FullDomain and not callable(method.objective))
    by_lot = kind in (Anatomy, Streamliner)
    frequencies = _declared(method, "tells_frequencies_only") is True
    alike = kind is Anatomy or (kind is Streamliner and method.variant == "rda")
    return Assumptions(
        deterministic=fixed and _only_own_adversaries(policy),
        symmetric=fixed or _declared(method, "symmetric") is True,
        likelihood=_declared(method, "chance"),
        could_make=_declared(method, "could_make"),
        replayed=kind is Mondrian and policy is not None,
        frequencies=frequencies,
        least=method.l if by_lot else 1,
        whole=method.l if alike else None,
        highest=Fraction(1, method.l) if by_lot and frequencies else None,
    )


def is_foreknows(given: Any) -> bool:
    """Whether an object is of a class of this library, not of one that inherits from it."""
    return type(given).__module__.startswith("foreknow.")


def _only_own_adversaries(policy: Policy | None) -> bool:
    """Whether no adversary of a policy is the user's own, who might answer otherwise each time."""
    points = [p for r in (policy.requirements if policy is not None else ()) for p in r.points]
    return all(is_foreknows(point.adversary) for point in points)


def _declared(method: Any, name: str) -> Any:
    """What a method says of itself under a name; None where it does not, or another class did."""
    if is_foreknows(method) or name in getattr(method, "__dict__", {}):
        return getattr(method, name, None)
    makers = {"partition", "grouping"} if hasattr(method, "partition") else {"__call__"}
    for kind in type(method).__mro__:
        if name in vars(kind):
            return None if kind.__module__.startswith("foreknow.") else getattr(method, name)
        if makers & vars(kind).keys():
            return None
    return None


def name_of(method: Any) -> str:
    """What messages call a method.

    >>> name_of(Mondrian()), name_of(sorted)
    ('Mondrian(cuts=5)', 'sorted')
    """
    return getattr(method, "__name__", None) or repr(method)


def settings_of(method: Any) -> Mapping[str, Any]:
    """A method's name and plain settings."""
    name = getattr(method, "__name__", type(method).__name__)
    return {"name": name, **plain_settings(method)}
