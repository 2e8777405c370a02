"""Settings: tables in files that people or strangers wrote; every key and type is checked."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, create_model

Amount = Annotated[int, Field(ge=0)]
FromOne = Annotated[int, Field(ge=1)]


class Settings(BaseModel):
    """A table of which every key is known and every value of its type: true is no number."""

    model_config = ConfigDict(
        extra="forbid", strict=True, arbitrary_types_allowed=True, defer_build=True
    )


def one_or_several(table: type[Settings], limit: Any, least: int = 0) -> Any:
    """The type of a table, or of a list of at least `least` points, each with a limit."""
    point = create_model(f"{table.__name__}Point", __base__=table, below=(limit, ...))
    which = Discriminator(lambda given: "list" if isinstance(given, list) else "table")
    listed = list[point]  # type: ignore[valid-type]
    return Annotated[
        Annotated[table, Tag("table")] | Annotated[listed, Field(min_length=least), Tag("list")],
        which,
    ]


def explain(error: ValidationError) -> str:
    """Describe the first problem with the keys of the file."""
    first = max(error.errors(include_url=False), key=lambda e: len(e["loc"]))
    place = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}"
        for part in first["loc"]
        if part not in ("list", "table", "whole", "kept")
    ).removeprefix(".")
    if first["type"] == "missing":
        return f"lacks {place!r}"
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        required = place.startswith("policy.require")
        hint = "; if it is a kind of another package, only who has that can verify it"
        return f"has an unknown key {place!r}{hint if required else ''}"
    said = first["msg"].removeprefix("Value error, ")
    return f"is malformed: {place}{place and ': '}{said[0].lower()}{said[1:]}"
