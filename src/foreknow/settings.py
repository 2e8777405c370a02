"""Settings: tables of policy files, and what is wrong with them in the words of the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Field, Strict, ValidationError, create_model

from foreknow.errors import did_you_mean
from foreknow.names import EXAMPLES, KEYS
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.policy.settings import Settings

_ALIKE = 0.85  # how much alike a misspelt key and the one that is meant are, at least
T = TypeVar("T", bound=Settings)


def _number(number: Any) -> Decimal:
    if isinstance(number, bool) or not isinstance(number, (int, float, Decimal, Fraction)):
        raise ValueError("it should be a number")
    return Decimal(str(float(number) if isinstance(number, Fraction) else number))


Number = Annotated[Decimal, Strict(False), BeforeValidator(_number)]


def explain(error: ValidationError, table: type[Settings]) -> str:
    """A sentence on the first problem of a table, in the words of its file.

    `table` is the model by which it was read; `error` is what pydantic says of it.
    """
    # An unknown key explains a missing one; otherwise the deepest place says most.
    first = max(error.errors(), key=lambda e: (e["type"] == "extra_forbidden", len(e["loc"])))
    model: type[Settings] | None = table  # the table that the path has reached; None for any keys
    place, steps = "", first["loc"]
    unknown = first["type"] == "extra_forbidden"
    # Write the path as in the file, such as require[0].facts.l.
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        if isinstance(step, int):
            place += f"[{step}]"
        elif model is None or step in known_keys(model) or (unknown and last):
            place += f".{step}" if place else step
            if not (unknown and last):
                model = None if model is None else _inner(model, step, "list" in steps[i:])
        # anything else is how pydantic names the members of a union
    if unknown:
        key = str(steps[-1])
        if key in KEYS:  # of other tools, with what to write instead
            return f"unknown key {place}; {KEYS[key]}"
        where = _holding(key, table) if place.count(".") < 2 else ""
        hint = did_you_mean(key, known_keys(model) if model else ())
        like = difflib.get_close_matches(key, KEYS, 1, _ALIKE)
        if like and not where and "did you" not in hint:
            hint = f"; {KEYS[like[0]]}"
        return f"unknown key {place}{f'; it stands below {where}' if where else hint}"
    if first["type"] == "missing":
        return f"{place} is missing"
    input_value = first.get("input")
    contrast = (
        f", not {_as_written(input_value)}"
        if isinstance(input_value, (str, int, float, Decimal))
        else ""
    )
    if first["type"] in ("model_type", "dict_type"):
        example = next((EXAMPLES[step] for step in steps if step in EXAMPLES), "")
        such = f", such as {example}" if example else ""
        return f"{place}: it should be a table{such}{contrast}"
    ours = first["msg"].removeprefix("Value error, ")
    message = first["msg"][0].lower() + first["msg"][1:] if ours == first["msg"] else ours
    message = message.replace("input should", "it should").replace("valid integer", "whole number")
    return f"{place}: {message}{contrast}" if place else f"{message}{contrast}"


def _holding(key: str, root: type[Settings]) -> str:
    """The table of a file that takes a key, as its head is written, such as "[schema]".

    Empty if none does. `root` is the model of the whole file.
    """
    for name, field in root.model_fields.items():
        of_name = field.alias or name
        inner = _inner(root, of_name, listed=True)
        if inner not in (None, root) and key in known_keys(inner):
            is_list = get_origin(field.annotation) is list
            return f"[[{of_name}]]" if is_list else f"[{of_name}]"
    return ""


def _inner(model: type[Settings], key: str, listed: bool) -> type[Settings] | None:
    """The model of the table that a key of `model` holds.

    `model` itself if the key holds plain values, and None if it holds a table of any keys. A key
    may hold one table or a list of them, of another model: `listed` says which is meant.
    """
    for name, field in model.model_fields.items():
        if (field.alias or name) == key:
            tables = []
            for kind in _types_in(field.annotation):
                if isinstance(kind, type):
                    tables.append(kind)
            models = [kind for kind in tables if issubclass(kind, Settings)]
            takes_any_key = any(issubclass(kind, Mapping) for kind in tables)
            if models:
                return models[-1] if listed else models[0]
            return None if takes_any_key else model
    return model


def _types_in(annotation: Any) -> Iterator[Any]:
    """Yield every type in an annotation, such as int and str of list[int] | str."""
    inner = get_args(annotation)
    if not inner:
        yield annotation
    elif getattr(annotation, "__origin__", None) is dict:  # it matters that it has any keys
        yield dict
    for part in inner:
        yield from _types_in(part)


def _as_written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else str(value)


def read(table: type[T], values: Any, name: str, kind: type[InputError] = PolicyError) -> T:
    """Read a table; a message begins with its name."""
    try:
        return table.model_validate(values)
    except ValidationError as error:
        raise kind(f"{name}: {explain(error, table)}") from None


def known_keys(table: type[BaseModel]) -> list[str]:
    """The keys of a table, as they are written."""
    return [field.alias or name for name, field in table.model_fields.items()]


def given_of(table: BaseModel) -> dict[str, Any]:
    """The settings in a table that were given, as plain values."""
    values = table.model_dump(exclude_unset=True)
    for key, value in values.items():
        if isinstance(value, Decimal):
            values[key] = float(value)
    return values


def with_examples(table: Any, **examples: Any) -> Any:
    """The table with an example of some keys, for editors and forms."""
    fields, annotated = dict[str, Any](), cast(Any, Annotated)
    for key, example in examples.items():
        setting = table.model_fields[key]
        annotation = annotated[(setting.annotation, *setting.metadata, Field(examples=[example]))]
        fields[key] = annotation, setting.default
    return create_model(table.__name__, __base__=table, __doc__=table.__doc__, **fields)
