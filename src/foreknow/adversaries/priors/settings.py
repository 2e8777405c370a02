"""Settings: what a policy file may say of priors."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from foreknow.adversaries.facts.settings import FactsSettings
from foreknow_judge.policy.settings import Settings


class TableSettings(Settings):
    """A table of priors that is written out, as in a certificate."""

    attributes: list[str]
    values: list[str]
    rows: list[Any]
    learned: bool = False
    estimated: bool = False


class PriorsSettings(Settings):
    """``priors = { file = "by_sex.csv" }`` in a policy file."""

    semantics: Literal["joint", "binary"] = "joint"
    facts: FactsSettings | None = None
    file: str | list[str] | None = Field(None, json_schema_extra={"format": "path"})
    tables: list[TableSettings] | None = None

    @model_validator(mode="after")
    def _require_a_source(self) -> PriorsSettings:
        if (self.file is None) == (self.tables is None):
            raise ValueError("give file = a table of probabilities, or several in a list")
        return self
