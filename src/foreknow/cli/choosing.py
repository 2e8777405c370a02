"""Choosing a method: the options that say how a release is made, laid over the policy's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foreknow.errors import InputError

if TYPE_CHECKING:
    from foreknow.policy import Policy

Method = Annotated[
    str | None, typer.Option("--method", help="The anonymizer; the policy's when left out.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the method, such as suppression=0.05; may be repeated.",
    ),
]
ReleaseForm = Annotated[
    str | None, typer.Option("--form", help="generalized or bucketized; the policy's if not.")
]


def chosen(rules: Policy, settings: list[str] | None, **given: str | None) -> Policy:
    """Return the policy with what the command line says of method, form and format."""
    said: dict[str, Any] = {key: x for key, x in given.items() if x is not None}
    options = replace(rules.options, **said)
    own = dict(options.settings.get(options.method, {}))
    own.update(_setting(text) for text in settings or ())
    if own:
        options = replace(options, settings={**options.settings, options.method: own})
    return replace(rules, options=options)


def _setting(text: str) -> tuple[str, Any]:
    """Read KEY=VALUE; the value as in a policy file, or as a plain text."""
    from foreknow.documents import from_toml

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {text!r} is not KEY=VALUE, such as suppression=0.05")
    try:
        return key.strip(), from_toml(f"x = {value.strip()}", float)["x"]
    except ValueError:
        return key.strip(), value.strip()
