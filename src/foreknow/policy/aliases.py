"""Aliases: the keys and tables of a policy in the words of other tools, turned into ours.

A key that has one meaning is taken for it. One that has several, or that stands beside the key it
would become, stays as it is, and is refused by its name where the policy is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria.registry import CRITERIA
from foreknow.names import (
    CRITERION_KEYS,
    CRITERION_SETTINGS,
    FIRST_SETTINGS,
    HIERARCHY_SETTINGS,
    HIERARCHY_TYPES,
    MODEL_KEYS,
    POLICY_TABLES,
    ROLES,
    ROLES_TABLES,
    SCHEMA_TABLES,
    SETTING_VALUES,
    SETTINGS,
    SIZES,
    SUPPRESSING,
    TYPES,
    VARIANTS,
    WHOLE,
    WITHOUT_ROLE,
    WRAPPERS,
    own_name,
)
from foreknow.policy.tables import PublishTable
from foreknow_judge.policy.grammar import LIMITS, SchemaTable

_LISTS = ("quasi_identifiers", "identifiers", "other")
_SUPPRESSION = "suppression"
_REQUIREMENT_KEYS = [*CRITERIA, *ADVERSARIES, *LIMITS, *VARIANTS]


def in_our_tables(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a policy with our keys, in place of those that other tools use.

    Keys that stand beside the tables are moved into them; a key that is not understood stays, and
    is refused later.

    >>> in_our_tables({"qid": ["age"], "sa": "ill", "k": 5})
    {'schema': {'quasi_identifiers': ['age'], 'sensitive': 'ill'}, 'require': [{'k_anonymity': 5}]}
    """
    sections = _renamed(_unwrapped(typed), POLICY_TABLES, POLICY_TABLES.values())
    schema = _table(sections, "schema")
    # Other tools have a table of columns with their roles in place of a schema.
    columns_key = next((name for name in ROLES_TABLES if name in sections), None)
    if columns_key is not None and "schema" not in sections:
        schema = {"columns": sections.pop(columns_key)}
    publish, requirement = _table(sections, "publish"), dict[str, Any]()
    _move_into_tables(sections, schema, publish, requirement)
    if schema:
        sections.pop("schema", None)
        sections = {"schema": _schema(schema), **sections}
    # Requirements are a list of tables, or one; keys beside the tables make one more.
    entries = sections.get("require", [])
    entries = [entries] if isinstance(entries, Mapping) else entries
    if isinstance(entries, list):
        if requirement:
            entries = [*entries, requirement]
        requirements: list[Any] = []
        for entry in entries:
            requirements += _requirements(entry)
        if requirements or "require" in sections:
            sections["require"] = requirements
    if isinstance(sections.get("try"), Mapping):
        sections["try"] = [sections["try"]]
    if publish:
        sections["publish"] = _publish(publish)
    return sections


def _unwrapped(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The tables, with tables that other tools put around them taken away (see `WRAPPERS`).

    Their keys then stand beside the others. Such a table stays if one of its keys belongs nowhere,
    or stands beside it, too.
    """
    known_keys = [*_schema_keys(), *_publish_keys(), *SETTINGS, *_REQUIREMENT_KEYS]
    tables = dict(typed)
    keys_of_criteria = [_our_key(name, CRITERIA) for name in typed]
    for name, models in typed.items():
        is_text = isinstance(models, str) or all(
            isinstance(model, str) for model in _listed(models)
        )
        if _plain(name) in MODEL_KEYS and is_text:
            # A list of criteria whose settings stand beside it says nothing more.
            meant = [_our_key(model, CRITERIA) for model in _listed(models)]
            if None not in meant and {*meant} <= {*keys_of_criteria}:
                del tables[name]
    for name, table in typed.items():
        if _plain(name) not in WRAPPERS or not isinstance(table, Mapping):
            continue
        # Only if all of its keys are known, and none stands beside it already.
        keys = {key: _our_key(key, known_keys) for key in table}
        if all(keys.values()) and not {*table, *keys.values()} & {*tables}:
            del tables[name]
            tables |= table
    return tables


def _move_into_tables(
    tables: dict[str, Any],
    schema: dict[str, Any] | None,
    publish: dict[str, Any] | None,
    requirement: dict[str, Any],
) -> None:
    """Move keys that stand beside the tables of a policy into the table that has such a key.

    That is the schema, what is said about publishing, or one requirement; all dicts are changed in
    place. None is a table that was given in another form, which takes no keys. Keys that fit
    nowhere stay.
    """
    places = (
        (schema, _schema_keys()),
        (publish, _publish_keys()),
        (requirement, _REQUIREMENT_KEYS),
    )
    for name in [*tables]:
        if name in ("schema", "require", "try", "publish"):
            continue
        # Our name for it; then the first place that has such a key and no value for it.
        ours = SCHEMA_TABLES.get(_plain(name), SETTINGS.get(_plain(name), name))
        for table, keys in places:
            key = _our_key(ours, keys)
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
    plain = _plain(name)
    # As it is written, or without capitals and hyphens, or else by what other tools call it.
    return next((key for key in (name, plain) if key in keys), own_name(plain, keys))


def _plain(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("-", "_").replace(" ", "_").lower()


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
    times = Counter(our_key_of.values())  # two keys with one meaning are not renamed
    valid_keys = {*keys}
    renamed: dict[str, Any] = {}
    for name, value in table.items():
        key = our_key_of[name]
        renamed[key if key in valid_keys and times[key] == 1 else name] = value
    return renamed


def _schema(table: Mapping[str, Any]) -> dict[str, Any]:
    """A schema in our keys.

    Roles by column become lists of columns, and texts with commas lists of names.
    """
    schema = _renamed(table, SCHEMA_TABLES, _schema_keys())
    roles = schema.get("columns")
    if isinstance(roles, Mapping):
        columns_of_role = _by_role(roles)
        if columns_of_role.keys().isdisjoint(schema):
            del schema["columns"]
            schema |= columns_of_role
    for key in _LISTS:
        if isinstance(schema.get(key), str):
            schema[key] = [part.strip() for part in schema[key].split(",")]
    columns_with_role = _listed(schema.get("sensitive"))
    for key in _LISTS:
        columns_with_role = [*columns_with_role, *_listed(schema.get(key))]
    # Columns that other tools list as not published: with us they are just not mentioned.
    for key in WITHOUT_ROLE:
        if key in schema and all(name not in columns_with_role for name in _listed(schema[key])):
            del schema[key]
    hierarchies = schema.get("hierarchies")
    if isinstance(hierarchies, Mapping):
        schema["hierarchies"] = {name: _hierarchy(hierarchies[name]) for name in hierarchies}
    return schema


def _listed(columns: Any) -> list[Any]:
    """The names of columns, of which there may be one or none."""
    return columns if isinstance(columns, list) else [columns] * (columns is not None)


def _by_role(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns by their role, as a schema lists them; as they are if a word is no role.

    `columns` has a role for each column, or a table with role, type and hierarchy; or it has lists
    of columns by their role.
    """
    roles_of_keys = {key: ROLES.get(_letters(key)) for key in columns}
    # All keys are roles, and not all values: so these are lists, and no columns that are so called.
    if all(roles_of_keys.values()) and not all(
        isinstance(word, str) and _letters(word) in ROLES for word in columns.values()
    ):
        times = Counter(roles_of_keys.values())
        lists = {str(role): columns[key] for key, role in roles_of_keys.items()}
        lists.pop("none", None)  # not published
        return lists if max(times.values()) == 1 else {"columns": columns}
    by_role: dict[str, Any] = {}
    # What else is said of a column becomes tables of their own in the schema.
    of_columns: dict[str, dict[str, Any]] = {"types": {}, "hierarchies": {}}
    for column, word in columns.items():
        if isinstance(word, Mapping) and {*word} <= {"role", "type", "hierarchy"}:
            kind = TYPES.get(str(word.get("type", "text")).lower())
            if kind is None:
                return {"columns": columns}
            if "type" in word:
                of_columns["types"][column] = kind
            if "hierarchy" in word:
                of_columns["hierarchies"][column] = word["hierarchy"]
            word = word.get("role")
        role = ROLES.get(_letters(word)) if isinstance(word, str) else None
        if role is None:
            return {"columns": columns}
        by_role.setdefault(role, []).append(column)
    without_role = by_role.pop("none", [])  # not published
    for key, settings in of_columns.items():
        kept = {column: settings[column] for column in settings if column not in without_role}
        if kept:
            by_role[key] = kept
    return by_role


def _letters(word: str) -> str:
    return re.sub(r"[^a-z]", "", word.lower()).removesuffix("s")


def _hierarchy(setting: Any) -> Any:
    """A hierarchy in our keys, such as {"intervals": [5, 10]}.

    A number, or a list of numbers, is the widths of ranges. Other tools may have a key `type` that
    names the kind of hierarchy, which is a key with us.
    """
    if isinstance(setting, Mapping):
        table = _renamed(setting, HIERARCHY_SETTINGS, [*HIERARCHY_TYPES.values(), "rows"])
        kind = HIERARCHY_TYPES.get(_plain(str(table.get("type"))))
        if kind is not None and kind in table:
            del table["type"]
        if type(table.get("intervals")) is int:
            table["intervals"] = [table["intervals"]]
        return table
    widths = setting if isinstance(setting, list) else [setting]
    are_numbers = widths and all(type(width) is int for width in widths)
    return {"intervals": widths} if are_numbers else setting


def _requirements(entry: Any) -> list[Any]:
    """The requirements that a table states, in our keys: each criterion is one of its own."""
    if not isinstance(entry, Mapping):  # refused later
        return [entry]
    table = _renamed(_by_criterion(entry), {}, [*CRITERIA, *LIMITS])
    # One value in place of a list of values.
    is_one_value = isinstance(table.get("value"), (str, int, float))
    if is_one_value and not {"values", *CRITERIA, *VARIANTS} & {*table}:
        table["values"] = [table.pop("value")]
    _replace_variants(table)
    # A size is written as a number with us: k_anonymity = 5.
    for key in SIZES:
        size = table.get(key)
        if isinstance(size, Mapping) and [*size] == ["k"]:
            table[key] = size["k"]
    for key, names in CRITERION_SETTINGS.items():
        if isinstance(table.get(key), Mapping):
            table[key] = _settings(table[key], names)
    for key in (*LIMITS, *WHOLE):
        if isinstance(table.get(key), str):
            table[key] = _number(table[key])
    # A single number stands for the first setting: t_closeness = 0.2 means t = 0.2.
    for key, setting in FIRST_SETTINGS.items():
        if key in table and not isinstance(table[key], (Mapping, str)):
            table[key] = {setting: table[key]}
    criteria = [{key: table[key]} for key in table if key in CRITERIA]
    other_keys = {key: value for key, value in table.items() if key not in CRITERIA}
    # Other keys, such as a name, may belong to any of the criteria: then nothing is divided.
    if len(table) == 1 or not criteria or not {*other_keys} <= {*ADVERSARIES, *LIMITS}:
        return [table]
    return [other_keys, *criteria] if other_keys else criteria


def _by_criterion(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A requirement with its criterion as a key, if one of its keys names the criterion.

    So {"model": "k-anonymity", "k": 5} becomes {"k_anonymity": {"k": 5}}; others are as they were.
    """
    for name, word in entry.items():
        if _plain(name) not in CRITERION_KEYS or not isinstance(word, str):
            continue
        criterion = _our_key(word, [*CRITERIA, *VARIANTS])
        settings = {key: value for key, value in entry.items() if key != name}
        if criterion is not None and settings:
            return {criterion: settings}
    return entry


def _replace_variants(requirement: dict[str, Any]) -> None:
    """Replace variants of a criterion, which have a name of their own elsewhere, in place.

    Such as entropy l-diversity: with us it is l_diversity with kind = "entropy".
    """
    for name, value in dict(requirement).items():
        key, variant = VARIANTS.get(_plain(name), (name, {}))
        first_setting = FIRST_SETTINGS.get(key)
        # A single number stands for the first setting.
        is_plain = first_setting is not None and not isinstance(value, Mapping)
        settings = {first_setting: value} if is_plain else value
        # Not if it would replace what the policy says already.
        if key in requirement or not isinstance(settings, Mapping) or {*variant} & {*settings}:
            continue
        requirement[key] = {**settings, **variant}
        del requirement[name]


def _settings(table: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a criterion, with ours for names and words of other tools."""
    settings = _renamed(table, names, names.values())
    for key in ("kind", "distance"):
        if isinstance(settings.get(key), str):
            word = _plain(settings[key])
            settings[key] = SETTING_VALUES.get(word, word)
    return settings


def _number(text: str) -> Any:
    """The number in a text such as 5 or 50%; another text as it is."""
    percent = re.fullmatch(r"(\d{1,3}(?:\.\d{1,9})?) ?%", text.strip())
    if percent is not None:
        return str(Fraction(percent[1]) / 100)
    return int(text) if re.fullmatch(r"\d{1,9}", text.strip()) else text


def _publish(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table [publish] in our keys.

    The share of people who may be left out (`suppression`) becomes a setting of the method, if the
    method has such a setting.
    """
    publish = _renamed(table, SETTINGS, _publish_keys())
    method = str(publish.get("method", PublishTable.model_fields["method"].default))
    key = re.sub(r"[-_ ]", "", method).lower()
    if _SUPPRESSION in publish and key in SUPPRESSING and key not in publish:
        share = publish.pop(_SUPPRESSION)
        as_number = _number(share) if isinstance(share, str) else share
        if isinstance(as_number, str):
            with suppress(ValueError, ZeroDivisionError, OverflowError):  # refused as it is
                as_number = float(Fraction(as_number))
        publish[key] = {_SUPPRESSION: as_number}
    return publish
