"""Read policy files: TOML, every key checked, errors that name the key.

It lies above the methods: what a requirement or a method takes is declared by `ADVERSARIES`,
`CRITERIA` and `METHODS`, and read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from foreknow.adversaries import registry as adversaries
from foreknow.adversaries.protocol import Adversary, Kind
from foreknow.attacks.learned import Learned, LearnedSettings
from foreknow.criteria import registry as criteria
from foreknow.criteria.protocol import Criterion
from foreknow.data.schema import Schema
from foreknow.documents import from_toml, read_text, toml_key, toml_value
from foreknow.errors import ForeknowError, InputError, PolicyError, did_you_mean
from foreknow.grammar import PublishTable, Registered, policy_table, read
from foreknow.methods import registry as methods
from foreknow.needs import check_members
from foreknow.output import write_new
from foreknow.policy.policy import Policy, PublishOptions
from foreknow.policy.requirement import Requirement
from foreknow.policy.tries import Try
from foreknow.settings import Settings

_MOST_BYTES = 16 << 20


@cache
def _tables(
    kinds: tuple[Any, ...], wanted: tuple[Any, ...], makers: tuple[str, ...], used: frozenset[str]
) -> type[Settings]:
    """A whole policy file, with everything that is registered; of methods, those it sets."""
    for kind in kinds:
        check_members(kind, Kind, Adversary)
    for each in wanted:
        check_members(each, Criterion)
    return policy_table(
        Registered(
            {kind.key: kind.settings for kind in kinds},
            {each.key: each.settings for each in wanted},
            {Learned.key: LearnedSettings},
            {key: methods.kind_of(key).settings if key in used else None for key in makers},
        )
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
    found: Any = read(tables, dict(table), name)
    try:
        requirements = [
            _requirement(required, required.name or f"require[{i}]", folder)
            for i, required in enumerate(found.require)
        ]
        schema = None if found.schema_ is None else Schema(**dict(found.schema_), folder=folder)
        for column in found.publish.labels:
            if schema is not None and column not in schema.quasi_identifiers:
                raise PolicyError(
                    f"publish.labels: {column!r} is no quasi-identifier"
                    f"{did_you_mean(column, schema.quasi_identifiers)}"
                )
        tries = [Try(Learned(each.learned.by), each.stop) for each in found.try_]
        return Policy(requirements, schema, _options(found.publish), tries)
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


def _options(table: Any) -> PublishOptions:
    given = dict(table)
    own = {key: given.pop(key) for key in PublishTable.model_fields}
    return PublishOptions(
        **own, settings={key: of.given() for key, of in given.items() if of is not None}
    )


def _requirement(table: Any, name: str, folder: Path) -> Requirement:
    kinds = {kind.key: kind for kind in (*adversaries.ADVERSARIES, *criteria.CRITERIA)}
    adversary: Any = []
    for key, given in table.kinds.items():
        if not isinstance(given, list):
            adversary = kinds[key].from_settings(given, folder)
            break
        adversary += [(kinds[key].from_settings(point, folder), point.below) for point in given]
    return Requirement.of(adversary, table, name)
