"""Methods: anonymizers by name, with what a policy sets for them."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from typing import Any, Protocol

from foreknow.adversaries.priors import Priors
from foreknow.anonymizers.anatomy import Anatomy
from foreknow.anonymizers.art import ART
from foreknow.anonymizers.fulldomain import FullDomain
from foreknow.anonymizers.mondrian import Mondrian
from foreknow.anonymizers.streamliner import Streamliner
from foreknow.errors import PolicyError, did_you_mean
from foreknow.microdata import Microdata
from foreknow.policy import Policy
from foreknow.sparse import IntArray

METHODS: dict[str, type[Any]] = {
    "anatomy": Anatomy,
    "art": ART,
    "fulldomain": FullDomain,
    "mondrian": Mondrian,
    "streamliner": Streamliner,
}


class Anonymizer(Protocol):
    """A method that groups the rows of a table."""

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group of each row of the source; -1 for rows that are left out."""
        ...


def method_of(given: Anonymizer | str, policy: Policy) -> Anonymizer:
    """Return the method, or the one of a name with what a policy sets for it.

    Parameters
    ----------
    given : Anonymizer or its name
    policy : Policy
        Its options set the parameters of the methods that are given by name.

    Raises
    ------
    PolicyError
        If there is no such method, or it has no such parameter.
    """
    if isinstance(given, type):
        raise PolicyError(f"give a method, such as {given.__name__}(), not its class")
    if not isinstance(given, str):
        if not hasattr(given, "partition"):
            raise PolicyError(f"a method has partition(microdata, policy, seed); {given!r} has not")
        return given
    if given not in METHODS:
        raise PolicyError(f"there is no method {given!r}{did_you_mean(given, METHODS)}")
    settings = dict(policy.options.settings.get(given, {}))
    known = {field.name for field in fields(METHODS[given]) if field.init} - {"priors"}
    for key in settings:
        if key not in known:
            raise PolicyError(f"publish.{given}: there is no {key!r}{did_you_mean(key, known)}")
    if given == "art":
        settings = {**_robustness(policy), **settings}
    for needed in fields(METHODS[given]):
        optional = needed.default is not MISSING or needed.default_factory is not MISSING
        if not optional and needed.name not in settings:
            raise PolicyError(
                f"publish.{given}: {needed.name} is missing; give it in the policy file, or as "
                f"--set {needed.name}=..."
            )
    made: Anonymizer = METHODS[given](**settings)
    return made


def _robustness(policy: Policy) -> dict[str, Any]:
    """The priors of a policy, and the r that its limit asks for."""
    found = [p for r in policy.requirements for p in r.points if isinstance(p.adversary, Priors)]
    if len(found) != 1:
        raise PolicyError(
            'method "art" serves one requirement about priors, with a limit such as '
            f'at_most = "1/4"; the policy has {len(found)}'
        )
    (point,) = found
    if point.below == 1:
        raise PolicyError('method "art" needs a limit below 1, such as at_most = "1/4"')
    # Strictly below a limit is at most a little less.
    r = 1 / point.below if point.inclusive else 1 / point.below + Fraction(1, 1000)
    return {"r": r, "priors": point.adversary}


def settings_of(anonymizer: Anonymizer) -> dict[str, Any]:
    """Plain values of a method's parameters; what is no plain value, by its name."""
    if not is_dataclass(anonymizer):
        return {}
    plain = (str, int, float, bool, type(None))
    return {
        name: given if isinstance(given, plain) else _named(given)
        for name, given in vars(anonymizer).items()
    }


def _named(given: Any) -> str:
    if isinstance(given, Fraction):
        return str(given)
    return str(getattr(given, "__name__", repr(given)))
