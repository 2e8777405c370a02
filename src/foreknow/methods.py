"""Methods: anonymizers by name, with what a policy sets for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

from foreknow.anonymizers.anatomy import Anatomy
from foreknow.anonymizers.fulldomain import FullDomain
from foreknow.anonymizers.mondrian import Mondrian
from foreknow.errors import PolicyError, did_you_mean
from foreknow.microdata import Microdata
from foreknow.policy import Policy
from foreknow.sparse import IntArray

METHODS: dict[str, type[Any]] = {
    "anatomy": Anatomy,
    "fulldomain": FullDomain,
    "mondrian": Mondrian,
}


class Anonymizer(Protocol):
    """A method that groups the rows of a table."""

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group of each row of the source; -1 for rows that are left out."""
        ...


def method_of(given: Anonymizer | str, settings: Mapping[str, Mapping[str, Any]]) -> Anonymizer:
    """Return the method, or the one of a name with what a policy sets for it.

    Parameters
    ----------
    given : Anonymizer or its name
    settings : mapping of name to mapping
        Parameters of the methods that are given by name.

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
    known = {field.name for field in fields(METHODS[given])}
    for key in settings.get(given, {}):
        if key not in known:
            raise PolicyError(f"publish.{given}: there is no {key!r}{did_you_mean(key, known)}")
    made: Anonymizer = METHODS[given](**settings.get(given, {}))
    return made


def settings_of(anonymizer: Anonymizer) -> dict[str, Any]:
    """Plain values of a method's parameters; what is no plain value, by its name."""
    if not is_dataclass(anonymizer):
        return {}
    plain = (str, int, float, bool, type(None))
    return {
        name: given if isinstance(given, plain) else getattr(given, "__name__", repr(given))
        for name, given in vars(anonymizer).items()
    }
