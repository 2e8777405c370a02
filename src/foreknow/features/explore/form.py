"""The form: the fields of a policy, as its JSON Schema has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from foreknow.methods.registry import policy_schema

_PLAIN = {None, "string", "integer", "number", "boolean"}  # what one line can say


@cache
def form() -> dict[str, Any]:
    """The fields of a policy that the form shows, from its JSON Schema, by part.

    Parts are kinds of knowledge and criteria, the secret, the limit, and what is about publishing.
    """
    tables = policy_schema()["$defs"]
    publish = tables["Publish"]["properties"]
    # The schema notes for each key of a requirement which part of the form it belongs to.
    form_parts: dict[Any, dict[str, Any]] = {}
    for key, schema in tables["Require"]["properties"].items():
        form_parts.setdefault(schema.get("part"), {})[key] = schema
    kinds = []
    # Only knowledge has a limit beside it; a criterion limits by itself.
    for key, schema in {**form_parts["knowledge"], **form_parts["criterion"]}.items():
        if kind := _kind(schema, tables):
            is_limited = schema["part"] == "knowledge"
            kinds.append({"key": key, "limited": is_limited, **kind})
    methods: dict[str, list[dict[str, Any]]] = {}
    for key in publish["method"].get("enum", ()):
        methods[key] = [*_fields(_settings(publish[key], tables), tables)]
    return {
        "kinds": kinds,
        "secret": [*_fields(form_parts["secret"], tables)],
        "limit": [*_fields(form_parts["limit"], tables)],
        "more": [field for field in _fields(form_parts[None], tables) if field["about"]],
        "publish": [*_fields(publish, tables)],
        "methods": methods,
    }


def _kind(schema: Mapping[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a kind of knowledge or of a criterion, and its first values.

    Empty for a kind that no field can show: it stays as the file has it. `tables` are the
    definitions of the JSON Schema.
    """
    alternatives = [*_alternatives(schema, tables)]
    # A plain value has one field without a key.
    settings = _settings(schema, tables) or {"": alternatives[0]}
    required = alternatives[0].get("required", [""])
    fields = [*_fields(settings, tables)]
    start_of_field = {}
    for field in fields:
        if field["start"] is not None:
            start_of_field[field["key"]] = field["start"]
    first_values: dict[str, Any] = {}
    for key, start in start_of_field.items():
        # A field starts filled in if it is required, or has a usual value.
        setting = settings.get(key, {})
        is_usual = setting.get("examples") and setting.get("default", 0) is not None
        if is_usual or key in required:
            first_values[key] = start
    if not first_values and not {*required} & {*settings}:  # any of them will do: the first
        first_values = dict([*start_of_field.items()][:1])
    return {"fields": fields, "usual": first_values.get("", first_values)} if fields else {}


def _settings(schema: Mapping[str, Any], tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys of a table in the JSON Schema; none if it may also be a plain value."""
    properties: Mapping[str, Any] = next(iter(_alternatives(schema, tables))).get("properties", {})
    return properties


def _alternatives(schema: Mapping[str, Any], tables: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the types of value that a key may have, each with the description of the key.

    References to other definitions are followed, and choices (anyOf, oneOf) are gone through.
    """
    shared_keys = {}
    for key, value in schema.items():
        if key not in ("anyOf", "oneOf", "$ref"):
            shared_keys[key] = value
    variants = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if "$ref" in schema:
        variants = [tables[schema["$ref"].rpartition("/")[2]]]
    for sort in variants:
        yield from _alternatives({**shared_keys, **sort}, tables)
    if not variants and schema.get("type") != "null":
        yield shared_keys


def _fields(settings: Mapping[str, Any], tables: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a field for each key whose value fits in a line; other keys stay as in the file."""
    for key, schema in settings.items():
        alternatives = [*_alternatives(schema, tables)]
        is_list = any(map(_is_list, alternatives))
        plain_types = []
        for sort in alternatives:
            if sort.get("type") in _PLAIN:
                plain_types.append(sort.get("type"))
        first_sort = alternatives[0]
        default = first_sort.get("default")
        # Long texts, tables and what only programs write have no field.
        if first_sort.get("readOnly") or isinstance(default, dict) or not (is_list or plain_types):
            continue
        examples = first_sort.get("examples", [])
        yield {
            "key": key,
            "about": first_sort.get("description", ""),
            "sort": "list"
            if is_list and not {*plain_types} - {"string"}
            else plain_types[0] or "number",
            "choices": _choices(first_sort),
            "default": default,
            "start": examples[0] if examples else first_sort.get("minimum"),
            "examples": examples,
        }


def _is_list(sort: Mapping[str, Any]) -> bool:
    items = sort.get("items", {})
    return sort.get("type") == "array" and items.get("type") in _PLAIN and "$ref" not in items


def _choices(sort: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """The values of a key that has only a few, each with its label; empty for any other key."""
    values = [False, True] if sort.get("type") == "boolean" else sort.get("enum", [])
    descriptions = (
        sort.get("enumDescriptions") or ["no", "yes"] * (values == [False, True]) or values
    )
    return [*zip(values, descriptions, strict=True)]
