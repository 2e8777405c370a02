"""Method tables: what a policy file may set for each method of publishing."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StrictBool,
    StrictInt,
    StrictStr,
)


def _number(given: Any) -> Decimal:
    if isinstance(given, bool) or not isinstance(given, (int, float, Decimal)):
        raise ValueError("it should be a number")
    return Decimal(str(given))


Number = Annotated[Decimal, Strict(False), BeforeValidator(lambda given: _number(given))]
_Share = Annotated[Number, Field(ge=0, lt=1)]
_Seconds = Annotated[Number, Field(gt=0)]
_FromOne = Annotated[StrictInt, Field(ge=1)]
_Level = Annotated[StrictInt, Field(ge=0)] | Literal["*"]


class CheckedTable(BaseModel):
    """A table of which every key is known."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class MondrianTable(CheckedTable):
    """Settings of `Mondrian`."""

    cuts: StrictInt = 5


class FullDomainTable(CheckedTable):
    """Settings of `FullDomain`."""

    objective: Literal["ncp", "entropy", "height", "discernibility"] = "ncp"
    find: Literal["best", "minimal", "chain"] = "best"
    suppression: _Share = Decimal(0)
    seconds: _Seconds | None = None


class AnatomyTable(CheckedTable):
    """Settings of `Anatomy`."""

    l: Annotated[StrictInt, Field(ge=2)]  # noqa: E741


class ArtTable(CheckedTable):
    """Settings of `ART`; its priors, and r where it is left out, are those of the requirement."""

    r: Annotated[Number, Field(gt=1)] | None = None
    unique: StrictBool = True


class StreamlinerTable(CheckedTable):
    """Settings of `Streamliner`."""

    l: Annotated[StrictInt, Field(ge=2)]  # noqa: E741
    variant: Literal["rda", "ria", "gda", "gsa"] = "rda"
    weights: dict[str, Annotated[StrictInt, Field(ge=0)]] = Field(default_factory=dict)


class InOrderTable(CheckedTable):
    """Settings of `Naive` and `Safe`; their property is what the requirements say."""

    functions: Annotated[list[StrictStr | dict[str, _Level]], Field(min_length=1)] | None = None
    steps: _FromOne = 2_000_000


class JumpTable(InOrderTable):
    """Settings of `Jump`."""

    distances: _FromOne | list[_FromOne] = 1
