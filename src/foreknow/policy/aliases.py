"""Aliases: the keys and tables of a policy in the words of other tools, turned into ours.

A key that has one meaning is taken for it. One that has several, or that stands beside the key it
would become, stays as it is, and is refused by its name where the policy is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria.registry import CRITERIA
from foreknow.names import (
    FIRST_SETTINGS,
    POLICY_TABLES,
    ROLES,
    ROLES_TABLES,
    SETTINGS,
    SUPPRESSING,
    WHOLE,
    own_name,
)
from foreknow.policy.tables import PublishTable
from foreknow_judge.grammar import LIMITS, SchemaTable

_LISTS = ("quasi_identifiers", "identifiers", "other")
_SUPPRESSION = "suppression"


def in_our_tables(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a policy, whose keys other tools call otherwise, with ours.

    >>> in_our_tables({"qid": ["age"], "sa": "ill", "k": 5})
    {'schema': {'quasi_identifiers': ['age'], 'sensitive': 'ill'}, 'require': [{'k_anonymity': 5}]}
    """
    tables = _renamed(typed, POLICY_TABLES, POLICY_TABLES.values())
    schema = _table(tables, "schema")
    columns_key = next((name for name in ROLES_TABLES if name in tables), None)
    if columns_key is not None and "schema" not in tables:
        schema = {"columns": tables.pop(columns_key)}
    publish, requirement = _table(tables, "publish"), dict[str, Any]()
    _move_into_tables(tables, schema, publish, requirement)
    if schema:
        tables.pop("schema", None)
        tables = {"schema": _schema(schema), **tables}
    entries = tables.get("require", [])
    entries = [entries] if isinstance(entries, Mapping) else entries
    if isinstance(entries, list):
        if requirement:
            entries = [*entries, requirement]
        requirements: list[Any] = []
        for entry in entries:
            requirements += _requirements(entry)
        if requirements or "require" in tables:
            tables["require"] = requirements
    if isinstance(tables.get("try"), Mapping):
        tables["try"] = [tables["try"]]
    if publish:
        tables["publish"] = _publish(publish)
    return tables


def _move_into_tables(
    tables: dict[str, Any],
    schema: dict[str, Any] | None,
    publish: dict[str, Any] | None,
    requirement: dict[str, Any],
) -> None:
    """Move keys that stand beside the tables of a policy into the table that has such a key.

    That is the schema, what is said about publishing, or one requirement. Keys that fit none stay.
    """
    places = (
        (schema, _schema_keys()),
        (publish, _publish_keys()),
        (requirement, [*CRITERIA, *ADVERSARIES, *LIMITS]),
    )
    for name in [*tables]:
        if name in ("schema", "require", "try", "publish"):
            continue
        for table, keys in places:
            key = _our_key(SETTINGS.get(name, name), keys)
            if table is None or key is None or not _fits(tables[name], table.get(key)):
                continue
            value = tables.pop(name)
            table[key] = {**table[key], **value} if key in table else value
            break


def _table(tables: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """A copy of a table, empty if there is none; None if there is something else in its place."""
    table = tables.get(name, {})
    return dict(table) if isinstance(table, Mapping) else None


def _fits(value: Any, present: Any) -> bool:
    """True if a value can be put where there is none, or beside the keys of a table."""
    if present is None:
        return True
    both = isinstance(value, Mapping) and isinstance(present, Mapping)
    return both and not {*value} & {*present}


def _schema_keys() -> list[str]:
    return [*SchemaTable.model_fields, "columns"]


def _publish_keys() -> list[str]:
    return [*PublishTable.model_fields, _SUPPRESSION]


def _our_key(name: str, keys: Iterable[str]) -> str | None:
    """Our key for a name, of some keys; None if it is none of them.

    >>> _our_key("kAnonymity", ["k_anonymity"]), _our_key("quasi-identifiers", ["sensitive"])
    ('k_anonymity', None)
    """
    keys = [*keys]
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("-", "_").replace(" ", "_").lower()
    return next((key for key in (name, plain) if key in keys), own_name(plain, keys))


def _renamed(
    table: Mapping[str, Any], ours: Mapping[str, str], keys: Iterable[str]
) -> dict[str, Any]:
    """A table with our keys, each in place of the one key that means it.

    A key that means none of `keys`, or the same as another key, stays. `ours` has our keys by what
    other tools call them.
    """
    our_key_of = {}
    for name in table:
        plain = str(_our_key(name, keys) or name).lower()
        our_key_of[name] = ours.get(plain, plain)
    times = Counter(our_key_of.values())
    valid_keys = {*keys}
    renamed: dict[str, Any] = {}
    for name, value in table.items():
        key = our_key_of[name]
        renamed[key if key in valid_keys and times[key] == 1 else name] = value
    return renamed


def _schema(table: Mapping[str, Any]) -> dict[str, Any]:
    """A schema in our keys; roles by column become lists, and so do names between commas."""
    schema = _renamed(table, {}, _schema_keys())
    roles = schema.get("columns")
    if isinstance(roles, Mapping):
        columns_of_role = _by_role(roles)
        if columns_of_role.keys().isdisjoint(schema):
            del schema["columns"]
            schema |= columns_of_role
    for key in _LISTS:
        if isinstance(schema.get(key), str):
            schema[key] = [part.strip() for part in schema[key].split(",")]
    hierarchies = schema.get("hierarchies")
    if isinstance(hierarchies, Mapping):
        schema["hierarchies"] = {name: _intervals(hierarchies[name]) for name in hierarchies}
    return schema


def _by_role(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns by their role, as a schema lists them; nothing if a word is no role."""
    by_role: dict[str, list[str]] = {}
    for column, word in columns.items():
        if not isinstance(word, str) or (role := ROLES.get(_letters(word))) is None:
            return {"columns": columns}
        by_role.setdefault(role, []).append(column)
    by_role.pop("none", None)  # not published
    return {**by_role}


def _letters(word: str) -> str:
    return re.sub(r"[^a-z]", "", word.lower()).removesuffix("s")


def _intervals(setting: Any) -> Any:
    """The hierarchy of ranges that a number, or several, state as their widths."""
    widths = setting if isinstance(setting, list) else [setting]
    are_numbers = widths and all(type(width) is int for width in widths)
    return {"intervals": widths} if are_numbers else setting


def _requirements(entry: Any) -> list[Any]:
    """The requirements that a table states: each criterion is one of its own."""
    if not isinstance(entry, Mapping):
        return [entry]
    table = _renamed(entry, {}, [*CRITERIA, *LIMITS])
    for key in (*LIMITS, *WHOLE):
        if isinstance(table.get(key), str):
            table[key] = _number(table[key])
    for key, setting in FIRST_SETTINGS.items():
        if key in table and not isinstance(table[key], (Mapping, str)):
            table[key] = {setting: table[key]}
    criteria = [{key: table[key]} for key in table if key in CRITERIA]
    other_keys = {key: value for key, value in table.items() if key not in CRITERIA}
    if len(table) == 1 or not criteria or not {*other_keys} <= {*ADVERSARIES, *LIMITS}:
        return [table]
    return [other_keys, *criteria] if other_keys else criteria


def _number(text: str) -> Any:
    """The number in a text such as 5 or 50%; another text as it is."""
    percent = re.fullmatch(r"(\d{1,3}(?:\.\d{1,9})?) ?%", text.strip())
    if percent is not None:
        return str(Fraction(percent[1]) / 100)
    return int(text) if re.fullmatch(r"\d{1,9}", text.strip()) else text


def _publish(table: Mapping[str, Any]) -> dict[str, Any]:
    """The choices, with the share of people who may be left out as a setting of the method."""
    publish = _renamed(table, SETTINGS, _publish_keys())
    method = str(publish.get("method", PublishTable.model_fields["method"].default))
    key = re.sub(r"[-_ ]", "", method).lower()
    if _SUPPRESSION in publish and key in SUPPRESSING and key not in publish:
        share = publish.pop(_SUPPRESSION)
        as_number = _number(share) if isinstance(share, str) else share
        share = float(Fraction(as_number)) if isinstance(as_number, str) else as_number
        publish[key] = {_SUPPRESSION: share}
    return publish
