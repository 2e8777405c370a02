"""Make a policy of the keyword arguments of a call, and read its table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypedDict, TypeVar

from foreknow.call_hints import hinted
from foreknow.criteria.registry import CRITERIA
from foreknow.data.columns.reading_rules import file_of
from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow.errors import CallError, SchemaError
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.settings import known_keys
from foreknow_judge.files.file_names import CERTIFICATE
from foreknow_judge.numbers import Number

_LOG = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")


class Arguments(TypedDict, total=False):
    """Arguments in place of a policy, or in addition to one: the keys of a policy file.

    Criteria that are named are required in addition to those of a policy. Criteria of the registry
    that are not listed here are keys, too, with their settings as a table: see `KEYS`.
    """

    quasi_identifiers: Sequence[str] | str | None
    sensitive: Sequence[str] | str | None
    identifiers: Sequence[str] | str | None
    hierarchies: Mapping[str, Any] | None
    k_anonymity: int | None
    l_diversity: Any
    t_closeness: Any
    facts: Mapping[str, int] | None
    below: Number | None


# All arguments that a call takes in place of a policy.
KEYS = tuple(dict.fromkeys([*Arguments.__annotations__, *CRITERIA]))
_LEFT_OUT = ("identifiers", "hierarchies")
_COLUMNS = ("quasi_identifiers", "sensitive", *_LEFT_OUT)
# The name of requirements that apply if a call has none.
BY_DEFAULT = "Foreknow's default"
_USUAL = [
    {"name": BY_DEFAULT, "k_anonymity": 5},
    {"name": BY_DEFAULT, "facts": {"l": 1}, "below": 0.5},
]
_LISTS = ("quasi_identifiers", "identifiers")
_WANTED = 'fk.audit(table, quasi_identifiers=["age", "zip"], sensitive="diagnosis", k_anonymity=5)'


def hinted_with_keys(call: Callable[P, R]) -> Callable[P, R]:
    """`hinted`, for a call that takes `KEYS` by name."""
    return hinted(call, keys=KEYS)


def policy_of(
    policy: Policy | Mapping[str, Any] | str | Path | None,
    keywords: Mapping[str, Any],
    table: Any = None,
    name: str = "audit",
    example: Callable[[Any, str], str] | None = None,
) -> Policy:
    """The given policy, extended by the other arguments; or a policy made from these.

    Where neither is given, the error has an `example` of a call with the table. Without
    requirements, the default ones apply. If only the path of a table is given, the
    policy.toml beside it is used. For a table that was read already, see `Policy.under`.
    """
    rules = _policy_of(policy, keywords, table, name, example or call_of_any_table)
    if not isinstance(table, Microdata):  # only a table that was read has a schema of its own
        return rules
    if policy is None or (isinstance(policy, Policy) and policy.schema is None):
        rules = replace(rules, schema=_with_the_rest(rules.schema, keywords, table.schema))
    return rules.under(table.schema)


def _with_the_rest(
    stated: Schema | None, keywords: Mapping[str, Any], table_schema: Schema
) -> Schema | None:
    """The schema of a call; hierarchies and identifiers that it leaves out are the table's.

    Only if both have the same quasi-identifiers and sensitive columns, so that the same table is
    meant. `keywords` are the arguments of the call.
    """
    # The table's hierarchies would not be about the columns of another schema.
    if stated is None or {*stated.quasi_identifiers} != {*table_schema.quasi_identifiers}:
        return stated
    if stated.sensitives != table_schema.sensitives:
        return stated
    left_out = [key for key in _LEFT_OUT if keywords.get(key) is None]
    return replace(stated, **{key: getattr(table_schema, key) for key in left_out})


def _policy_of(
    policy: Policy | Mapping[str, Any] | str | Path | None,
    keywords: Mapping[str, Any],
    table: Any,
    name: str,
    example: Callable[[Any, str], str],
) -> Policy:
    """The policy of a call, as `policy_of`, without regard to the schema of the table.

    Parameters
    ----------
    policy
        What was given as the policy.
    keywords : mapping
        The other arguments, which may state columns and requirements; None is none.
    table
        What was given as the table.
    name : str
        The function that was called, in messages.
    example : function of the table and the name
        Writes an example of a call with a policy.
    """
    arguments = {key: value for key, value in keywords.items() if value is not None}
    limit = arguments.pop("below", None)
    if limit is not None and _is_points(policy):  # an adversary in place of a policy
        policy, limit = Policy(policy, below=limit), None
    tables: list[Any] = []  # of requirements
    for key in arguments:
        if key not in _COLUMNS:
            tables.append(_table(key, arguments[key]))
    if limit is not None:
        # A limit belongs to facts; without any, to an adversary who knows nothing more.
        fact_tables = [value for value in tables if "facts" in value] or [{"facts": {"l": 0}}]
        tables = [value for value in tables if "facts" not in value]
        tables += [{**value, "below": limit} for value in fact_tables]
    schema, requirements = _schema(arguments), _requirements(tables)
    path = file_of(table) if policy is None and schema is None else None
    if path is not None:
        policy_file = path.with_name("policy.toml")
        if policy_file.is_file():  # the policy of the table, as on the command line
            _LOG.warning("%s: the policy is %s, which lies beside it", table, policy_file)
            return _policy_of(policy_file, keywords, table, name, example)
        if (path / CERTIFICATE).is_file():
            raise CallError(
                f"{name}() is missing the policy; fk.verify({str(table)!r}) judges a published "
                "folder by the policy in its certificate"
            )
    if policy is None and schema is None:
        raise CallError(
            f"{name}() is missing the policy: the path of a policy.toml, or what it would say, "
            f"as {example(table, name)}"
        )
    if policy is None:
        return Policy(requirements or _requirements(_USUAL), schema)
    # A policy and further arguments: requirements are added, except those that it has already.
    rules = Policy.of(policy)
    if schema is None and not requirements:
        return rules
    _refuse_two(rules, schema, arguments)
    required = [*rules.requirements]
    for requirement in requirements:
        if requirement not in required:
            required.append(replace(requirement, name=f"require[{len(required)}]"))
    return Policy(required, schema or rules.schema, rules.options, tries=rules.tries)


def call_of_any_table(table: Any, name: str) -> str:
    """A call with the columns of no table in particular."""
    return _WANTED.replace("audit", name)


def _requirements(entries: Sequence[Any]) -> Sequence[Requirement]:
    """The requirements of some tables; none of no tables."""
    return Policy.from_dict({"require": entries}, name="the policy").requirements if entries else ()


def _refuse_two(rules: Policy, schema: Schema | None, arguments: Mapping[str, Any]) -> None:
    """Refuse columns that differ from those of the policy."""
    if schema is not None and rules.schema is not None and rules.schema != schema:
        key = next(key for key in _COLUMNS if key in arguments)
        raise SchemaError(f"the policy says what the columns are; leave out {key}, or change it")


def _is_points(policy: Any) -> bool:
    """True if it is only knowledge without a limit, such as points of a skyline."""
    is_file = file_of(policy) is not None
    if policy is None or is_file or isinstance(policy, (Policy, Requirement)):
        return False
    if isinstance(policy, Mapping):
        return "require" not in policy and "schema" not in policy
    listed = policy if isinstance(policy, (list, tuple)) else ()
    return not any(isinstance(element, Requirement) for element in listed)


def schema_of(
    policy: Policy | Mapping[str, Any] | str | Path | None, keywords: Mapping[str, Any]
) -> Schema:
    """The schema of a policy, or of the arguments (`keywords`) in its place; None is no argument.

    An error if neither has one.
    """
    arguments = {}
    for key, value in keywords.items():
        if value is not None:
            arguments[key] = value
    schema = _schema(arguments)
    if policy is not None:
        rules = Policy.of(policy)
        _refuse_two(rules, schema, arguments)
        return schema or rules.needed_schema
    if schema is None:
        raise SchemaError(
            "say what the columns of the table are: policy=, or quasi_identifiers=[...] and "
            "sensitive=; or give Microdata(table, schema)"
        )
    return schema


def microdata_of(
    table: Any, policy: Policy | Mapping[str, Any] | str | Path | None, keywords: Mapping[str, Any]
) -> Microdata:
    """A raw table; if it was not read yet, read by a policy or by the arguments in its place.

    A table that was read is refused if the call says something else of its columns.
    """
    if not isinstance(table, Microdata):
        return Microdata(table, schema_of(policy, keywords))
    stated = _schema({key: value for key, value in keywords.items() if value is not None})
    stated = _with_the_rest(stated, keywords, table.schema)
    if stated is not None:
        stated.refuse_other(table.schema)
    if policy is None:
        return table
    rules = Policy.of(policy)
    if rules.schema is None:
        return table
    rules.needed_schema.refuse_other(table.schema)
    return rules.as_published(table)


def _schema(arguments: Mapping[str, Any]) -> Schema | None:
    """The schema that the arguments of a call give; None if none of them is about columns."""
    schema_fields = {key: arguments[key] for key in _COLUMNS if key in arguments}
    if not schema_fields:
        return None
    for key, lacking in (("quasi_identifiers", "[...]"), ("sensitive", '"..."')):
        if key not in schema_fields:
            only = " (how many look alike needs none: see fk.k_anonymity and fk.risk)"
            raise CallError(
                f"say which columns others may know, and which one must stay hidden: add {key}="
                f"{lacking}{only if key == 'sensitive' else ''}"
            )
    for key, names in schema_fields.items():  # columns of pandas that have no names are numbers
        if key in _LISTS and isinstance(names, (list, tuple)):
            schema_fields[key] = list(map(_name, names))
        elif key == "sensitive":
            listed = isinstance(names, (list, tuple))
            schema_fields[key] = list(map(_name, names)) if listed else _name(names)
    for key in _LISTS:
        if isinstance(schema_fields.get(key), str):
            schema_fields[key] = [schema_fields[key]]
    return Schema(**schema_fields)


def _name(name: Any) -> Any:
    """The name of a column, which a whole number may be."""
    return str(name) if type(name) is int else name


def _table(key: str, value: Any) -> dict[str, Any]:
    """The table of a policy file; a plain value of a criterion is its first setting."""
    settings: Any = CRITERIA[key].settings if key in CRITERIA else None
    if isinstance(value, Mapping) or not hasattr(settings, "model_fields"):
        return {key: value}
    return {key: {known_keys(settings)[0]: value}}
