"""Settings: tables in files that people or strangers wrote; every key and type is checked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from foreknow_judge.errors import CertificateError

# A table of a policy or a certificate, as it is read from a file.
Table: TypeAlias = Mapping[str, Any]
Texts: TypeAlias = tuple[str, ...]  # names of columns, files or values

Amount = Annotated[int, Field(ge=0)]
FromOne = Annotated[int, Field(ge=1, strict=True)]


class Settings(BaseModel):
    """A table of which every key is known and every value of its type: true is no number."""

    model_config = ConfigDict(
        extra="forbid", strict=True, arbitrary_types_allowed=True, defer_build=True
    )


# What is wrong with settings, by pydantic's type of its error.
_CODES = {
    "missing": "missing-key",
    "extra_forbidden": "unknown-key",
    "unexpected_keyword_argument": "unknown-key",
    "greater_than_equal": "out-of-bounds",
    "less_than_equal": "out-of-bounds",
    "too_short": "out-of-bounds",
}


def checked(kind: Any, settings: Any, name: str) -> Any:
    """Settings that were read by their type, which refuses what it does not allow."""
    try:
        return reader_of(kind).validate_python(settings)
    except ValidationError as error:
        raise malformed(name, error) from None


@cache
def reader_of(kind: Any) -> TypeAdapter[Any]:
    """The reader of settings of one type, which is made only once."""
    return TypeAdapter(kind)


def malformed(name: str, error: ValidationError) -> CertificateError:
    """The error for the first problem with the keys of a table; its code says of which sort."""
    sort = _first(error)["type"]
    default_code = "wrong-type" if sort.endswith("_type") else "wrong-value"
    return CertificateError(_CODES.get(sort, default_code), name, problem=explain(error))


def _first(error: ValidationError) -> Any:
    return max(error.errors(include_url=False), key=lambda e: len(e["loc"]))


def explain(error: ValidationError) -> str:
    """Words on the first problem with the keys of a file, such as "lacks 'schema.sensitive'"."""
    first = _first(error)
    # The path to the key; names of our classes, which pydantic puts into it, are left out.
    where = "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}"
        for step in first["loc"]
        if step not in ("TableOfPriors", "_KeptTable")
    ).removeprefix(".")
    if first["type"] == "missing":
        return f"lacks {where!r}"
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"has an unknown key {where!r}"
    message = first["msg"].removeprefix("Value error, ")
    return f"is malformed: {where}{where and ': '}{message[0].lower()}{message[1:]}"
