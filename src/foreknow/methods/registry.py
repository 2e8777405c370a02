"""Methods: anonymizers by name, with what a policy sets for them."""

from __future__ import annotations

from dataclasses import is_dataclass
from fractions import Fraction
from inspect import Parameter, signature
from typing import Any, Protocol

from foreknow.adversaries.priors.priors import Priors
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import PolicyError, did_you_mean
from foreknow.methods.anatomy import Anatomy
from foreknow.methods.art import ART, Limit
from foreknow.methods.fulldomain.fulldomain import FullDomain
from foreknow.methods.jump import Jump, Naive, Safe
from foreknow.methods.jump.algorithms import InOrder
from foreknow.methods.jump.policy_property import property_of
from foreknow.methods.mondrian.mondrian import Mondrian
from foreknow.methods.streamliner import Streamliner
from foreknow.policy.policy import Policy

METHODS: dict[str, type[Any]] = {
    "anatomy": Anatomy,
    "art": ART,
    "fulldomain": FullDomain,
    "jump": Jump,
    "mondrian": Mondrian,
    "naive": Naive,
    "safe": Safe,
    "streamliner": Streamliner,
}
# What is taken from the requirements of a policy, not set beside them.
_OF_THE_POLICY = {"limits", "priors", "property", "values"}


class Anonymizer(Protocol):
    """A method that groups the rows of a table.

    It may have more, which `publish` and `attack` look for:

    | attribute | what it is for |
    | --- | --- |
    | ``grouping(microdata, policy, seed, explain=...)`` | gives a `Grouping` in place of groups |
    | ``asks_policy`` | True where what it makes holds the policy, or is a bug |
    | ``minimal(policy)`` | whether no division of what it makes would be safe |
    | ``notes(policy, seed)`` | what a reader should know, for certificate and report |
    | ``advice`` | what may help where the policy fails what it makes |
    | ``chance(microdata, policy, groups)`` | how likely it is to make these groups |
    """

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
        If there is no such method, it has no such parameter, or it cannot serve the policy.
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
    parameters = signature(METHODS[given]).parameters
    known = parameters.keys() - _OF_THE_POLICY
    for key in settings:
        if key not in known:
            raise PolicyError(
                f"publish.{given}: there is no {key!r}{did_you_mean(key, sorted(known))}"
            )
    if given == "art":
        settings = {**_robustness(policy), **settings}
    if issubclass(METHODS[given], InOrder):
        settings["property"] = property_of(policy)
    for needed in parameters.values():
        if needed.default is Parameter.empty and needed.name not in settings:
            raise PolicyError(
                f"publish.{given}: {needed.name} is missing; give it in the policy file, or as "
                f"--set {needed.name}=..."
            )
    made: Anonymizer = METHODS[given](**settings)
    return made


def _robustness(policy: Policy) -> dict[str, Any]:
    """Each limit of a policy on what whoever knows some priors may become sure of."""
    keys = {"below": "below", "at_most": "at_most", "at_most_times": "times"}
    found = [
        Limit(p.adversary, values=r.values, excluded=r.excluded, **{keys[p.key]: p.below})
        for r in policy.requirements
        for p in r.points
        if isinstance(p.adversary, Priors)
    ]
    if not found:
        raise PolicyError(
            'method "art" serves requirements about priors, with a limit such as '
            'at_most = "1/4"; the policy has none'
        )
    if all(limit.at_most == 1 for limit in found):
        raise PolicyError('method "art" needs a limit below 1, such as at_most = "1/4"')
    return {"limits": tuple(found)}


def asks_policy(anonymizer: Anonymizer) -> bool:
    """Whether a method asks the policy of what it makes."""
    return bool(said_by(anonymizer, "asks_policy"))


def notes_of(anonymizer: Anonymizer, policy: Policy, seed: int | None) -> tuple[str, ...]:
    """What a method says to the readers of its releases."""
    own = said_by(anonymizer, "notes")
    return () if own is None else tuple(own(policy, seed))


def said_by(anonymizer: Anonymizer, name: str) -> Any:
    """What a method says of itself; None where a class below the one that says it groups anew."""
    if name in getattr(anonymizer, "__dict__", {}):
        return getattr(anonymizer, name)
    for kind in type(anonymizer).__mro__:
        if name in vars(kind):
            return getattr(anonymizer, name)
        if {"partition", "grouping"} & vars(kind).keys():
            return None
    return None


def settings_of(anonymizer: Anonymizer) -> dict[str, Any]:
    """Plain values of a method's parameters; what is no plain value, by its name."""
    if hasattr(anonymizer, "to_dict"):
        settings: dict[str, Any] = anonymizer.to_dict()
        return settings
    if not is_dataclass(anonymizer):
        return {}
    plain = (str, int, float, bool, dict, type(None))
    return {
        name: given if isinstance(given, plain) else _named(given)
        for name, given in vars(anonymizer).items()
    }


def _named(given: Any) -> str:
    if isinstance(given, Fraction):
        return str(given)
    return str(getattr(given, "__name__", repr(given)))
