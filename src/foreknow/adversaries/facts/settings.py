"""Settings: what a policy file may say of facts."""

from __future__ import annotations

from pydantic import Field

from foreknow_judge.policy import kinds
from foreknow_judge.policy.settings import Amount


class FactsSettings(kinds.FactsSettings):
    """``facts = { l = 1, k = 5, m = 2 }`` in a policy file."""

    l: Amount = Field(default=0, description="values ruled out", examples=[1])
    k: Amount = Field(default=0, description="people known", examples=[3])
    m: Amount = Field(default=0, description="links", examples=[1])
