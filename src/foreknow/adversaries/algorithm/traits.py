"""Trust: what is known of a method without running it, by its class or by its own word."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from foreknow.data.microdata import Microdata
from foreknow.errors import InputError, UnsupportedError
from foreknow.methods.anatomy import Anatomy
from foreknow.methods.fulldomain.fulldomain import FullDomain
from foreknow.methods.mondrian.mondrian import Mondrian
from foreknow.methods.protocol import settings_of as plain_settings
from foreknow.methods.streamliner import Streamliner
from foreknow.policy.policy import Policy


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
