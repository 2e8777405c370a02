"""METHODS: every method that a policy file or the command line can name."""

from __future__ import annotations

from foreknow.errors import PolicyError, did_you_mean
from foreknow.methods.anatomy import Anatomy
from foreknow.methods.art import ART
from foreknow.methods.fulldomain.fulldomain import FullDomain
from foreknow.methods.jump import Jump, Naive, Safe
from foreknow.methods.mondrian.mondrian import Mondrian
from foreknow.methods.protocol import Anonymizer, Kind
from foreknow.methods.streamliner import Streamliner
from foreknow.policy.policy import Policy

METHODS: tuple[type[Kind], ...] = (
    Mondrian,
    FullDomain,
    Anatomy,
    ART,
    Streamliner,
    Jump,
    Safe,
    Naive,
)


def method_of(given: Anonymizer | str, policy: Policy) -> Anonymizer:
    """Return the method, or the one of a name with what a policy sets for it.

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
    known = {kind.key: kind for kind in METHODS}
    if given not in known:
        raise PolicyError(f"there is no method {given!r}{did_you_mean(given, known)}")
    kind, settings = known[given], dict(policy.options.settings.get(given, {}))
    keys = kind.settings.known_keys()
    for key in settings:
        if key not in keys:
            raise PolicyError(
                f"publish.{given}: there is no {key!r}{did_you_mean(key, sorted(keys))}"
            )
    for name, field in kind.settings.model_fields.items():
        if field.is_required() and name not in settings:
            raise PolicyError(
                f"publish.{given}: {name} is missing; give it in the policy file, or as "
                f"--set {name}=..."
            )
    return kind.from_settings(settings, policy)
