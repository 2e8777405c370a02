"""Level names: what each level of a quasi-identifier's hierarchy is called in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foreknow.schema import Schema


def level_names(schema: Schema, column: str, top: int) -> tuple[str, ...]:
    """Name each level of a column, from "exact" to "*".

    Parameters
    ----------
    schema : Schema
    column : str
        A quasi-identifier.
    top : int
        Its highest level.

    Examples
    --------
    >>> from foreknow.hierarchy import Intervals
    >>> widths = {"age": Intervals([5, 10])}
    >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease", hierarchies=widths)
    >>> level_names(schema, "age", 3)
    ('exact', 'ranges of 5', 'ranges of 10', '*')
    """
    hierarchy: Any = schema.hierarchies.get(column)
    if hierarchy is None:
        table: Mapping[str, Any] = {}
    else:
        table = hierarchy if isinstance(hierarchy, Mapping) else hierarchy.to_dict()
    between = _between(table, top - 1)
    return ("exact", *between, "*") if top else ("exact",)


def _between(table: Mapping[str, Any], n: int) -> Sequence[str]:
    """Names of the levels that are neither exact nor suppressed."""
    named: list[str] = []
    match dict(table):
        case {"intervals": widths}:
            named = [f"ranges of {width}" for width in widths]
        case {"dates": periods}:
            named = [str(period) for period in periods]
        case {"mask": _}:
            named = ["1 character masked", *(f"{i} characters masked" for i in range(2, n + 1))]
    return named[:n] if len(named) >= n else [f"level {i}" for i in range(1, n + 1)]
