"""Read policy files: TOML, every key checked, errors that name the key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    StrictBool,
    StrictInt,
    StrictStr,
    Tag,
    ValidationError,
)

from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.implications.implications import Implications
from foreknow.adversaries.implications.negations import Negations
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.table import PriorTable
from foreknow.adversaries.protocol import Adversary
from foreknow.data.counts import Semantics
from foreknow.data.engines.columns import Kind
from foreknow.data.schema import Schema
from foreknow.documents import from_toml, read_text
from foreknow.errors import ForeknowError, InputError, PolicyError, did_you_mean
from foreknow.policy.policy import FileFormat, Form, Policy, PublishOptions, Requirement


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


_Amount = Annotated[StrictInt, Field(ge=0)]
_MOST_BYTES = 16 << 20
_Threshold = Any  # read by as_threshold, whose messages say what is wrong


class _FactsTable(CheckedTable):
    l: _Amount = 0  # noqa: E741
    k: _Amount = 0
    m: _Amount = 0


class _FactsPoint(_FactsTable):
    below: _Threshold


class _CountTable(CheckedTable):
    k: _Amount = 0


class _CountPoint(_CountTable):
    below: _Threshold


_one_or_several = Discriminator(lambda given: "list" if isinstance(given, list) else "table")
_Facts = Annotated[
    Annotated[_FactsTable, Tag("table")] | Annotated[list[_FactsPoint], Tag("list")],
    _one_or_several,
]
_Count = Annotated[
    Annotated[_CountTable, Tag("table")] | Annotated[list[_CountPoint], Tag("list")],
    _one_or_several,
]


class _TableOfPriors(CheckedTable):
    attributes: list[StrictStr]
    values: list[StrictStr]
    rows: list[Any]
    learned: bool = False


class _PriorsTable(CheckedTable):
    semantics: Literal["joint", "binary"] = "joint"
    file: StrictStr | list[StrictStr] | None = None
    tables: list[_TableOfPriors] | None = None


class _PriorsPoint(_PriorsTable):
    below: _Threshold


_Priors = Annotated[
    Annotated[_PriorsTable, Tag("table")] | Annotated[list[_PriorsPoint], Tag("list")],
    _one_or_several,
]


class _RequireTable(CheckedTable):
    name: StrictStr | None = None
    values: list[Any] | None = None
    excluded: list[Any] = Field(default=[], alias="except")
    facts: _Facts | None = None
    implications: _Count | None = None
    negations: _Count | None = None
    priors: _Priors | None = None
    below: _Threshold = None
    at_most: _Threshold = None
    at_most_times: _Threshold = None


_ADVERSARIES: dict[str, Callable[[Any], Adversary]] = {
    "facts": lambda read: Facts(read.l, read.k, read.m),
    "implications": lambda read: Implications(read.k),
    "negations": lambda read: Negations(read.k),
    "priors": lambda read: _priors(read),
}


def _priors(read: _PriorsTable) -> Priors:
    """The priors of a policy: of files, or written out as in a certificate."""
    if read.tables is not None:
        tables = [PriorTable.from_dict(table.model_dump()) for table in read.tables]
        return Priors(tables, read.semantics)
    return Priors(read.file, read.semantics)


class _SchemaTable(CheckedTable):
    identifiers: list[StrictStr] = Field(default_factory=list)
    quasi_identifiers: list[StrictStr] = Field(default_factory=list)
    sensitive: StrictStr
    other: list[StrictStr] = Field(default_factory=list)
    semantics: Semantics = "single"
    person: StrictStr | None = None
    group: StrictStr | None = None
    hierarchies: dict[StrictStr, dict[StrictStr, Any]] = Field(default_factory=dict)
    types: dict[StrictStr, Kind] = Field(default_factory=dict)
    missing: Literal["error", "drop"] | dict[StrictStr, StrictStr] = "error"


class _PublishTable(CheckedTable):
    method: Literal[
        "mondrian", "fulldomain", "anatomy", "art", "streamliner", "jump", "safe", "naive"
    ] = "mondrian"
    form: Form = "generalized"
    format: FileFormat = "csv"
    labels: dict[StrictStr, Literal["range", "hierarchy", "set"]] = Field(default_factory=dict)
    escape_formulas: StrictBool = False
    anatomy: AnatomyTable | None = None
    art: ArtTable | None = None
    fulldomain: FullDomainTable | None = None
    jump: JumpTable | None = None
    mondrian: MondrianTable | None = None
    naive: InOrderTable | None = None
    safe: InOrderTable | None = None
    streamliner: StreamlinerTable | None = None

    def settings(self) -> dict[str, dict[str, Any]]:
        """What is set for each method."""
        tables: dict[str, CheckedTable | None] = {
            "anatomy": self.anatomy,
            "art": self.art,
            "fulldomain": self.fulldomain,
            "jump": self.jump,
            "mondrian": self.mondrian,
            "naive": self.naive,
            "safe": self.safe,
            "streamliner": self.streamliner,
        }
        return {
            name: {
                key: float(given) if isinstance(given, Decimal) else given
                for key, given in table.model_dump(exclude_unset=True).items()
            }
            for name, table in tables.items()
            if table is not None
        }


class _PolicyTable(CheckedTable):
    schema_: _SchemaTable | None = Field(default=None, alias="schema")
    require: list[_RequireTable]
    publish: _PublishTable = _PublishTable()


def load_policy(path: Path) -> Policy:
    """Read a policy file; see `Policy.load`."""
    text = read_text(path, _MOST_BYTES, PolicyError, f"the policy {str(path)!r}")
    try:
        table = from_toml(text)
    except ValueError as error:
        raise PolicyError(f"{path.name} is not valid TOML: {error}") from None
    return policy_from(table, path.parent, path.name)


def policy_from(table: Mapping[str, Any], folder: Path, name: str) -> Policy:
    """Check the tables of a policy file and make the policy; `name` begins each message."""
    if not isinstance(table, Mapping):
        raise PolicyError(f"{name}: expected the tables of a policy, not {type(table).__name__}")
    try:
        read = _PolicyTable.model_validate(dict(table))
    except ValidationError as error:
        raise PolicyError(f"{name}: {_explain(error)}") from None
    try:
        requirements = [
            _requirement(required, required.name or f"require[{i}]", folder)
            for i, required in enumerate(read.require)
        ]
        schema = None if read.schema_ is None else _schema(read.schema_, folder)
        publish = read.publish
        options = PublishOptions(
            publish.method,
            publish.form,
            publish.format,
            dict(publish.labels),
            publish.escape_formulas,
            publish.settings(),
        )
        for column in publish.labels:
            if schema is not None and column not in schema.quasi_identifiers:
                raise PolicyError(
                    f"publish.labels: {column!r} is no quasi-identifier"
                    f"{did_you_mean(column, schema.quasi_identifiers)}"
                )
        return Policy(requirements, schema, options)
    except ForeknowError as error:
        kind = type(error) if isinstance(error, InputError) else PolicyError
        raise kind(f"{name}: {error}") from None


def _requirement(read: _RequireTable, name: str, folder: Path) -> Requirement:
    values, excluded = read.values, read.excluded
    tables = {kind: getattr(read, kind) for kind in _ADVERSARIES}
    given = {kind: table for kind, table in tables.items() if table is not None}
    if not given:
        raise PolicyError(f"{name} names no adversary; give one of {', '.join(_ADVERSARIES)}")
    alone = [kind for kind, table in given.items() if not isinstance(table, list)]
    if alone and len(given) > 1:
        raise PolicyError(
            f"{name}: several adversaries in one requirement need a threshold each: write "
            f"{alone[0]} = [{{ ..., below = ... }}], or make it a requirement of its own"
        )
    for priors in read.priors if isinstance(read.priors, list) else [read.priors]:
        if priors is not None and (priors.file is None) == (priors.tables is None):
            raise PolicyError(
                f"{name}: priors: give file = a table of probabilities, or several in a list"
            )
        if priors is not None and priors.file is not None:
            named = [priors.file] if isinstance(priors.file, str) else priors.file
            priors.file = [str(folder / path) for path in named]
    adversary: Any = [
        (_ADVERSARIES[kind](point), point.below)
        for kind, table in given.items()
        if not alone
        for point in table
    ]
    if alone:
        adversary = _ADVERSARIES[alone[0]](given[alone[0]])
    return Requirement(
        adversary,
        read.below,
        values,
        excluded,
        name,
        at_most=read.at_most,
        at_most_times=read.at_most_times,
    )


def _schema(read: _SchemaTable, folder: Path) -> Schema:
    return Schema(
        quasi_identifiers=read.quasi_identifiers,
        sensitive=read.sensitive,
        identifiers=read.identifiers,
        other=read.other,
        semantics=read.semantics,
        person=read.person,
        group=read.group,
        hierarchies=read.hierarchies,
        types=read.types,
        missing=read.missing,
        folder=folder,
    )


def _explain(error: ValidationError) -> str:
    """Say the first problem in the words of the file."""
    # An unknown key explains a missing one; otherwise the deepest place says most.
    first = max(error.errors(), key=lambda e: (e["type"] == "extra_forbidden", len(e["loc"])))
    place, free = "", False
    for part in first["loc"]:
        if isinstance(part, int):
            place += f"[{part}]"
        elif (
            part in _KEYS
            or free
            or (first["type"] == "extra_forbidden" and part == first["loc"][-1])
        ):
            place += f".{part}" if place else part
        free = part in ("hierarchies", "types", "labels")
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        return f"unknown key {place}{did_you_mean(key, _keys_beside(first['loc']))}"
    if first["type"] == "missing":
        return f"{place} is missing"
    if place.startswith("schema.missing"):
        return 'schema.missing must be "error", "drop" or { label = "..." }'
    given = first.get("input")
    shown = f", not {_as_written(given)}" if isinstance(given, (str, int, float, Decimal)) else ""
    if first["type"] == "model_type":
        return f"{place}: it should be a table{shown}"
    said = first["msg"][0].lower() + first["msg"][1:]
    said = said.replace("input should", "it should").replace("valid integer", "whole number")
    return f"{place}: {said}{shown}"


def _as_written(given: Any) -> str:
    if isinstance(given, bool):
        return str(given).lower()
    return repr(given) if isinstance(given, str) else str(given)


def _keys_beside(place: tuple[int | str, ...]) -> list[str]:
    """Keys that the table of an unknown key does have."""
    listed = "list" in place
    count = _CountPoint if listed else _CountTable
    tables: dict[str, type[CheckedTable]] = {
        "schema": _SchemaTable,
        "require": _RequireTable,
        "publish": _PublishTable,
        "mondrian": MondrianTable,
        "streamliner": StreamlinerTable,
        "fulldomain": FullDomainTable,
        "jump": JumpTable,
        "naive": InOrderTable,
        "safe": InOrderTable,
        "anatomy": AnatomyTable,
        "art": ArtTable,
        "facts": _FactsPoint if listed else _FactsTable,
        "implications": count,
        "negations": count,
        "priors": _PriorsPoint if listed else _PriorsTable,
        "tables": _TableOfPriors,
    }
    owner: type[CheckedTable] = _PolicyTable
    for part in place[:-1]:
        owner = tables.get(str(part), owner)
    return _keys(owner)


def _keys(table: type[CheckedTable]) -> list[str]:
    return [field.alias or name for name, field in table.model_fields.items()]


_KEYS = {
    key
    for table in (
        _PolicyTable,
        _SchemaTable,
        _RequireTable,
        _PublishTable,
        _FactsPoint,
        MondrianTable,
        StreamlinerTable,
        FullDomainTable,
        JumpTable,
        AnatomyTable,
        ArtTable,
        _PriorsPoint,
        _TableOfPriors,
    )
    for key in _keys(table)
}
