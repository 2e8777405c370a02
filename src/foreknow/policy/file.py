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
from foreknow.criteria import registry as criteria
from foreknow.data.counts import Semantics
from foreknow.data.engines.columns import Kind
from foreknow.data.schema import Schema
from foreknow.documents import from_toml, read_text
from foreknow.errors import ForeknowError, InputError, PolicyError, did_you_mean
from foreknow.methods import registry as methods
from foreknow.policy.policy import FileFormat, Form, Policy, PublishOptions
from foreknow.policy.requirement import Requirement
from foreknow.settings import Settings, explain, one_or_several

_MOST_BYTES = 16 << 20
_Limit = Any  # read by as_threshold, whose messages say what is wrong


class RequireSettings(Settings):
    """A ``[[require]]`` table without its adversary or criterion."""

    name: str | None = None
    values: list[Any] | None = None
    excluded: list[Any] = Field(default=[], alias="except")
    any_of: list[Any] | dict[str, list[Any]] | str | None = None
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


class _SchemaSettings(Settings):
    identifiers: list[str] = Field(default=[])
    quasi_identifiers: list[str] = Field(default=[])
    sensitive: str | list[str]
    other: list[str] = Field(default=[])
    semantics: Annotated[Any, BeforeValidator(_semantics)] = "single"
    person: str | None = None
    group: str | None = None
    hierarchies: dict[str, dict[str, Any]] = Field(default={})
    types: dict[str, Kind] = Field(default={})
    missing: Annotated[Any, BeforeValidator(_missing)] = "error"
    reading: dict[str, str] = Field(default={})


class _PublishSettings(Settings):
    method: str = "mondrian"
    form: Form | None = None
    format: FileFormat = "csv"
    labels: dict[str, Literal["range", "exact", "hierarchy", "set"]] = Field(default={})
    escape_formulas: bool = False
    unlinked: list[str] = Field(default=[])
    weights: Any = Field(default={})  # read by PublishOptions
    rows_per_part: int | None = None


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
    require: Any = create_model("_Require", __base__=RequireSettings, **{**of_kinds, **of_criteria})
    publish: Any = create_model(
        "_Publish", __base__=_PublishSettings, method=(method, "mondrian"), **of_methods
    )
    return create_model(
        "_Policy",
        __base__=Settings,
        schema_=(_SchemaSettings | None, Field(default=None, alias="schema")),
        require=(list[require], ...),
        publish=(publish, publish()),
    )


def policy_settings(used: Iterable[str] | None = None) -> type[Settings]:
    """What a policy file may hold; of methods only the settings of those that are `used`."""
    makers = tuple(key for key, _ in methods.METHODS)
    of = frozenset(makers if used is None else used)
    return _tables(adversaries.ADVERSARIES, criteria.CRITERIA, makers, of.intersection(makers))


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
    if isinstance(table.get("require"), Mapping):
        raise PolicyError(
            f"{name}: write [[require]], in two brackets, above each requirement (a list of "
            "tables), not [require]"
        )
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
        return Policy(requirements, schema, _options(read.publish))
    except ForeknowError as error:
        kind = type(error) if isinstance(error, InputError) else PolicyError
        raise kind(f"{name}: {error}") from None


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
