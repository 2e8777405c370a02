"""Tables of a policy file, whatever kinds of knowledge, criteria and methods are registered."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    create_model,
)

from foreknow_judge.grammar import FileFormat, Form, RequireTable, SchemaTable, require_table
from foreknow_judge.settings import Settings

Style: TypeAlias = Literal["range", "exact", "hierarchy", "set"]


def _format(given: Any) -> Any:
    """Read a format; for formats of exports, an error that says how to get them."""
    if given in ("xlsx", "sav", "dta"):
        raise ValueError(
            f"a certified release is CSV or Parquet (foreknow export FOLDER --to {given} makes "
            "such a file of one)"
        )
    return given


class PublishTable(Settings):
    """The ``[publish]`` table, without what methods take."""

    method: str = "mondrian"
    form: Form | None = None
    format: Annotated[FileFormat | None, BeforeValidator(_format)] = None
    delimiter: str | None = None
    decimal: str | None = None
    bom: bool | None = None
    labels: dict[str, Style] = Field(default={})
    escape_formulas: bool = False
    unlinked: list[str] = Field(default=[])
    weights: Any = Field(default={})  # read by PublishOptions
    rows_per_part: int | None = None


def _as_numbers(given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a method, which are checked where it is made; decimals as floats."""
    return {key: float(own) if isinstance(own, Decimal) else own for key, own in given.items()}


class TryTable(Settings):
    """A ``[[try]]`` table, without its attack."""

    stop: Any = None


class Registered(NamedTuple):
    """The settings of all knowledge, criteria, attacks and methods, by key."""

    knowledge: Mapping[str, Any]
    criteria: Mapping[str, Any]
    attacks: Mapping[str, Any]
    methods: Mapping[str, Any]


def policy_table(of: Registered) -> type[Settings]:
    """The model of a policy file; a method without a model of its settings takes any."""
    free: Any = Annotated[dict[str, Any], AfterValidator(_as_numbers)]
    methods: dict[str, Any] = {key: ((own or free) | None, None) for key, own in of.methods.items()}
    if all(of.methods.values()) and of.methods:
        methods["method"] = (
            Literal[tuple(of.methods)],
            PublishTable.model_fields["method"].default,
        )
    attacks: dict[str, Any] = {key: (settings, ...) for key, settings in of.attacks.items()}
    publish: Any = create_model("Publish", __base__=PublishTable, **methods)
    require: Any = require_table(of.knowledge, of.criteria, RequireTable, 0)
    tries: Any = create_model("TryTable", __base__=TryTable, **attacks)
    return create_model(
        "Policy",
        __base__=Settings,
        schema_=(SchemaTable | None, Field(default=None, alias="schema")),
        require=(list[require], ...),
        try_=(list[tries], Field(default=[], alias="try")),
        publish=(publish, publish()),
    )
