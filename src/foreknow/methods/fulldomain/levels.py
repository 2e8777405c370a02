"""Levels of generalization of a quasi-identifier: 0 exact, the last suppressed; and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foreknow.data.generalization import names_of_nodes
from foreknow.data.labels import Label
from foreknow.data.microdata import Attribute
from foreknow.data.schema import Schema
from foreknow.data.sparse import IntArray

SUPPRESSED = "*"


def levels_of(attribute: Attribute) -> list[IntArray]:
    """Node of each value at level 0 (exact), 1, ... up to the last, where there is one node.

    >>> age = Attribute("age", np.array([0]), [30, 31], "ordered", (), (), np.array([30.0, 31.0]))
    >>> levels_of(age)
    [array([0, 1]), array([0, 0])]
    """
    exact = np.arange(len(attribute.domain))
    return [exact, *(attribute.ancestors or (np.zeros_like(exact),))]


def label_of_level(attribute: Attribute, level: int) -> Sequence[Label]:
    """What each node of a level is called."""
    if level == 0:
        return attribute.domain
    return names_of_nodes(attribute)[level] if attribute.labels else (SUPPRESSED,)


def level_names(schema: Schema, column: str, top: int) -> tuple[str, ...]:
    """Name each level of a column up to its highest, from "exact" to "*".

    >>> from foreknow.data.hierarchy import Intervals
    >>> widths = {"age": Intervals([5, 10])}
    >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease", hierarchies=widths)
    >>> level_names(schema, "age", 3)
    ('exact', 'ranges of 5', 'ranges of 10', '*')
    """
    hierarchy: Any = schema.hierarchies.get(column) or {}
    table = hierarchy if isinstance(hierarchy, Mapping) else hierarchy.to_dict()
    return ("exact", *_between(table, top - 1), SUPPRESSED) if top else ("exact",)


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
