"""The settings that a policy may give for each kind of knowledge and each criterion."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from foreknow_judge.numbers import as_fraction
from foreknow_judge.policy.settings import Amount, FromOne, Settings, checked

AsFraction = Annotated[Any, AfterValidator(as_fraction)]


class FactsSettings(Settings):
    """``facts = { l = 1, k = 5, m = 2 }`` in a policy file."""

    l: Amount = 0
    k: Amount = 0
    m: Amount = 0


class AmountSettings(Settings):
    """``implications = { k = 3 }`` or ``negations = { k = 3 }`` in a policy file."""

    k: Amount = 0


class OfUnits(Settings):
    """``{ k = 5, of = "household_id" }``: the table of a size that is not of rows."""

    k: FromOne
    of: str


class OfColumns(Settings):
    """``{ k = 11, of = [["age", "sex"], ["zip"]] }``: of people who share some columns."""

    k: FromOne
    of: str | list[str] | list[list[str]]


DiversityKind = Literal["distinct", "entropy", "recursive"]


class LDiversitySettings(Settings):
    """``l_diversity`` in a policy file."""

    l: Any
    kind: DiversityKind = "distinct"
    c: AsFraction = None


class AlphaKSettings(Settings):
    """``alpha_k`` in a policy file."""

    alpha: AsFraction
    k: int


Distance = Literal["equal", "ordered", "hierarchical"]


class TClosenessSettings(Settings):
    """``t_closeness`` in a policy file."""

    t: AsFraction
    distance: Distance = "equal"
    order: list[Any] | None = None
    tree: list[list[Any]] | None = None


class BetaLikenessSettings(Settings):
    """``beta_likeness`` in a policy file."""

    beta: AsFraction
    enhanced: bool = False


class DeltaDisclosureSettings(Settings):
    """``delta_disclosure`` in a policy file."""

    delta: AsFraction


class PopulationSettings(Settings):
    """A population in a policy file; the last four are a certificate's."""

    population: str = Field(json_schema_extra={"format": "path"})
    digest: str | None = Field(None, json_schema_extra={"readOnly": True})
    trees: dict[str, list[list[str]]] | None = None
    orders: dict[str, list[str]] | None = None
    exact: dict[str, list[str]] | None = None


class KMapSettings(PopulationSettings):
    """``k_map`` in a policy file."""

    k: int


class DeltaPresenceSettings(PopulationSettings):
    """``delta_presence`` in a policy file."""

    lowest: AsFraction
    highest: AsFraction


class RiskSettings(Settings):
    """``risk`` in a policy file."""

    prosecutor: AsFraction = None
    average: AsFraction = None
    uniqueness: AsFraction = None
    strict: bool = False


class PopulationRiskSettings(PopulationSettings):
    """``population_risk`` in a policy file."""

    journalist: AsFraction = None
    uniqueness: AsFraction = None
    strict: bool = False


class LevelSettings(Settings):
    """How much one column may show, in a policy file; the hierarchy is a certificate's."""

    top: Any = None
    bottom: Any = None
    at_least: int | None = None
    hierarchy: dict[str, Any] | None = None


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
CRITERIA: dict[str, Any] = {
    "k_anonymity": FromOne | OfColumns,
    "group_size": FromOne | OfUnits,
    "l_diversity": LDiversitySettings,
    "alpha_k": AlphaKSettings,
    "t_closeness": TClosenessSettings,
    "beta_likeness": BetaLikenessSettings,
    "delta_disclosure": DeltaDisclosureSettings,
    "k_map": KMapSettings,
    "delta_presence": DeltaPresenceSettings,
    "risk": RiskSettings,
    "population_risk": PopulationRiskSettings,
    "levels": Annotated[dict[str, LevelSettings], Field(min_length=1)],
}


def settings_of(kind: str, settings: Any) -> Any:
    """The settings of one of these kinds, checked; those of another package as they are."""
    kinds = KNOWLEDGE | CRITERIA
    return checked(kinds[kind], settings, kind) if kind in kinds else settings
