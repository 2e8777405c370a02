"""Read policy files: TOML, every key checked, errors that name the key.

It lies above the methods: what a requirement or a method takes is declared by `ADVERSARIES`,
`CRITERIA` and `METHODS`, and read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationError, create_model

from foreknow.adversaries import registry as adversaries
from foreknow.attacks.learned import Learned, LearnedSettings
from foreknow.criteria import registry as criteria
from foreknow.data.counts import Semantics
from foreknow.data.engines.columns import Kind
from foreknow.data.schema import Schema
from foreknow.documents import from_toml, read_text, toml_key, toml_value
from foreknow.errors import ForeknowError, InputError, PolicyError, did_you_mean
from foreknow.methods import registry as methods
from foreknow.output import write_new
from foreknow.policy.policy import FileFormat, Form, Policy, PublishOptions
from foreknow.policy.requirement import Requirement
from foreknow.policy.tries import Try
from foreknow.settings import Settings, explain, one_or_several

_MOST_BYTES = 16 << 20
_Limit = Any  # read by as_threshold, whose messages say what is wrong


class RequireSettings(Settings):
    """A ``[[require]]`` table without its adversary or criterion."""

    name: str | None = None
    values: list[Any] | None = None
    excluded: list[Any] = Field(default=[], alias="except")
    any_of: list[Any] | dict[str, list[Any] | dict[str, Any]] | str | None = None  # read by Range
    at_level: int | None = None
    within: Any = None  # read by Width
    sensitive: str | None = None
    knowing: list[str] | None = None
    below: _Limit = None
    at_most: _Limit = None
    at_most_times: _Limit = None


def _semantics(given: Any) -> Any:
    own = [*given.values()] if isinstance(given, dict) else [given]
    if all(isinstance(each, str) and each in get_args(Semantics) for each in own):
        return given
    raise ValueError(
        "it should be 'single', 'set' or 'multiset', or a table of these for each sensitive column"
    )


def _missing(given: Any) -> Any:
    if given in ("error", "drop") or (
        isinstance(given, dict) and all(isinstance(label, str) for label in given.values())
    ):
        return given
    raise ValueError('missing must be "error", "drop" or { label = "..." }')


class SchemaTable(Settings):
    """The ``[schema]`` table: what columns are, and how they are read."""

    identifiers: list[str] = Field(default=[])
    quasi_identifiers: list[str] = Field(default=[])
    sensitive: str | list[str]
    other: list[str] = Field(default=[])
    semantics: Annotated[Any, BeforeValidator(_semantics)] = "single"
    person: str | None = None
    unit: Literal["person", "row"] = "person"
    group: str | None = None
    hierarchies: dict[str, dict[str, Any]] = Field(default={})
    types: dict[str, Kind] = Field(default={})
    missing: Annotated[Any, BeforeValidator(_missing)] = "error"
    reading: dict[str, str | list[str]] = Field(default={})


class PublishTable(Settings):
    """The ``[publish]`` table, without what methods take."""

    method: str = "mondrian"
    form: Form | None = None
    format: FileFormat = "csv"
    labels: dict[str, Literal["range", "exact", "hierarchy", "set"]] = Field(default={})
    escape_formulas: bool = False
    unlinked: list[str] = Field(default=[])
    weights: Any = Field(default={})  # read by PublishOptions
    rows_per_part: int | None = None


class TryTable(Settings):
    """A ``[[try]]`` table."""

    learned: LearnedSettings
    stop: _Limit = None


@cache
def _tables(
    kinds: tuple[Any, ...], wanted: tuple[Any, ...], makers: tuple[str, ...], used: frozenset[str]
) -> type[Settings]:
    """A whole policy file, with everything that is registered; of methods, those it sets."""
    of_kinds: dict[str, Any] = {
        kind.key: (one_or_several(kind.settings, _Limit) | None, None) for kind in kinds
    }
    of_criteria: dict[str, Any] = {each.key: (each.settings | None, None) for each in wanted}
    of_methods: dict[str, Any] = {
        key: (methods.kind_of(key).settings | None if key in used else None, None) for key in makers
    }
    method: Any = Literal[tuple(of_methods)]
    require: Any = create_model("Require", __base__=RequireSettings, **{**of_kinds, **of_criteria})
    publish: Any = create_model(
        "Publish", __base__=PublishTable, method=(method, "mondrian"), **of_methods
    )
    return create_model(
        "Policy",
        __base__=Settings,
        schema_=(SchemaTable | None, Field(default=None, alias="schema")),
        require=(list[require], ...),
        try_=(list[TryTable], Field(default=[], alias="try")),
        publish=(publish, publish()),
    )


def policy_settings(used: Iterable[str] | None = None) -> type[Settings]:
    """What a policy file may hold; of methods only the settings of those that are `used`."""
    makers = tuple(key for key, _ in methods.METHODS)
    of = frozenset(makers if used is None else used)
    return _tables(adversaries.ADVERSARIES, criteria.CRITERIA, makers, of.intersection(makers))


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of a policy file, for editors and for programs that write one.

    >>> sorted(policy_schema()["properties"])
    ['publish', 'require', 'schema', 'try']
    """
    made = policy_settings().model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def save_policy(policy: Policy, path: Path) -> None:
    """Write a policy as a file; see `Policy.save`."""
    table = policy.to_dict()
    lines = []
    for name in ("schema", "require", "try", "publish"):
        several = table.get(name, [])
        for own in several if isinstance(several, list) else [several]:
            lines.append(f"[[{name}]]" if isinstance(several, list) else f"[{name}]")
            lines += [f"{toml_key(key)} = {toml_value(given)}" for key, given in own.items()]
            lines.append("")
    text = "\n".join(lines)
    try:
        same = policy_from(from_toml(text), path.parent, path.name).to_dict() == table
    except ForeknowError as error:
        raise PolicyError(
            f"{str(path)!r} would not be read as the same policy: {error}; files that it names, "
            "such as hierarchies, are looked for beside it"
        ) from None
    if not same:
        raise PolicyError(f"{str(path)!r} would not be read as the same policy")
    write_new(path, text)


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
    for key, what in (("require", "requirement"), ("try", "attack")):
        if isinstance(table.get(key), Mapping):
            raise PolicyError(
                f"{name}: write [[{key}]], in two brackets, above each {what} (a list of tables), "
                f"not [{key}]"
            )
    _refuse_estimates(table, name)
    given = table.get("publish")
    tables = policy_settings(given if isinstance(given, Mapping) else ())
    try:
        read: Any = tables.model_validate(dict(table))
    except ValidationError as error:
        raise PolicyError(f"{name}: {explain(error, tables)}") from None
    try:
        requirements = [
            _requirement(required, required.name or f"require[{i}]", folder)
            for i, required in enumerate(read.require)
        ]
        schema = None if read.schema_ is None else Schema(**dict(read.schema_), folder=folder)
        for column in read.publish.labels:
            if schema is not None and column not in schema.quasi_identifiers:
                raise PolicyError(
                    f"publish.labels: {column!r} is no quasi-identifier"
                    f"{did_you_mean(column, schema.quasi_identifiers)}"
                )
        tries = [Try(Learned(each.learned.by), each.stop) for each in read.try_]
        return Policy(requirements, schema, _options(read.publish), tries)
    except ForeknowError as error:
        kind = type(error) if isinstance(error, InputError) else PolicyError
        raise kind(f"{name}: {error}") from None


def _refuse_estimates(table: Mapping[str, Any], name: str) -> None:
    """A limit of what an attacker learns was once a requirement; nothing can prove one."""
    required = table.get("require")
    for place, each in enumerate(required if isinstance(required, list) else []):
        if isinstance(each, Mapping) and Learned.key in each:
            raise PolicyError(
                f"{name}: require[{place}]: what is learned from a release is an estimate, and no "
                'limit can be proved of it; write [[try]] with learned = { by = ["job"] } and '
                "stop = 0.85, which may stop a publication"
            )


def _options(read: Any) -> PublishOptions:
    set_for = {key: getattr(read, key) for key, _ in methods.METHODS}
    return PublishOptions(
        read.method,
        read.form,
        read.format,
        dict(read.labels),
        read.escape_formulas,
        {key: own.given() for key, own in set_for.items() if own is not None},
        read.unlinked,
        read.weights,
        read.rows_per_part,
    )


def _requirement(read: Any, name: str, folder: Path) -> Requirement:
    kinds = {kind.key: kind for kind in (*adversaries.ADVERSARIES, *criteria.CRITERIA)}
    given = {key: getattr(read, key) for key in kinds if getattr(read, key) is not None}
    if not given:
        known = ", ".join(kind.key for kind in adversaries.ADVERSARIES)
        beside = ", ".join(each.key for each in criteria.CRITERIA)
        raise PolicyError(f"{name} names no adversary; give one of {known}, or of {beside}")
    wanted = [each.key for each in criteria.CRITERIA if each.key in given]
    if wanted and len(given) > 1:
        raise PolicyError(f"{name}: {wanted[0]} stands by itself; make it a requirement of its own")
    alone = [key for key, table in given.items() if not isinstance(table, list)]
    if alone and len(given) > 1:
        raise PolicyError(
            f"{name}: several adversaries in one requirement need a threshold each: write "
            f"{alone[0]} = [{{ ..., below = ... }}], or make it a requirement of its own"
        )
    adversary: Any = [
        (kinds[key].from_settings(point, folder), point.below)
        for key, table in given.items()
        if not alone
        for point in table
    ]
    if alone:
        adversary = kinds[alone[0]].from_settings(given[alone[0]], folder)
    return Requirement(
        adversary,
        read.below,
        read.values,
        read.excluded,
        name,
        any_of=read.any_of,
        at_level=read.at_level,
        within=read.within,
        sensitive=read.sensitive,
        knowing=read.knowing,
        at_most=read.at_most,
        at_most_times=read.at_most_times,
    )
