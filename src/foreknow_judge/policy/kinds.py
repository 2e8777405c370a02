"""The settings that a policy may give for each kind of knowledge."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from foreknow_judge.policy.settings import Amount, Settings


class FactsSettings(Settings):
    """``facts = { l = 1, k = 5, m = 2 }`` in a policy file."""

    l: Amount = 0
    k: Amount = 0
    m: Amount = 0


class AmountSettings(Settings):
    """``implications = { k = 3 }`` or ``negations = { k = 3 }`` in a policy file."""

    k: Amount = 0


class PriorSettings(Settings):
    """``priors`` with their tables, as the judge and a certificate have them."""

    semantics: Literal["joint", "binary"] = "joint"
    facts: FactsSettings | None = None
    tables: Annotated[list[Any], Field(min_length=1)]


KNOWLEDGE: dict[str, Any] = {
    "facts": FactsSettings,
    "implications": AmountSettings,
    "negations": AmountSettings,
    "priors": PriorSettings,
}
