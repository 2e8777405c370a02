"""At levels: the counts of a raw table as if each quasi-identifier were generalized to one level.

The same levels as `FullDomain` chooses, here by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foreknow.data.counts import GroupCounts
from foreknow.data.generalization import names_of_nodes
from foreknow.data.labels import Label
from foreknow.data.microdata import Attribute, Microdata
from foreknow.data.schema import Schema
from foreknow.errors import InputError, did_you_mean
from foreknow.methods.fulldomain.lattice import Node
from foreknow.methods.fulldomain.rollup import Rollup, View

SUPPRESSED = "*"


def counts_at(microdata: Microdata, levels: Mapping[str, int | str]) -> GroupCounts:
    """Count the groups of a full-domain generalization.

    Parameters
    ----------
    microdata : Microdata
    levels : mapping of column to int or "*"
        0 is exact, 1 the first level of the column's hierarchy; ``"*"`` is the last, where
        everybody has the same. A quasi-identifier that is left out is suppressed.

    Returns
    -------
    GroupCounts
        Its groups are named by what would be published of them.

    Raises
    ------
    InputError
        If a column is no quasi-identifier, or has no such level.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.schema import Schema
    >>> rows = pa.table({"age": [21, 25, 38], "sex": ["f", "m", "f"], "disease": ["Flu"] * 3})
    >>> schema = Schema(
    ...     quasi_identifiers=["age", "sex"],
    ...     sensitive="disease",
    ...     hierarchies={"age": {"intervals": [10, 20]}},
    ... )
    >>> counts_at(Microdata(rows, schema), {"age": 1}).groups
    [('20 to 29', '*'), ('30 to 39', '*')]
    """
    if not isinstance(levels, Mapping):
        raise InputError(f'levels are a mapping such as {{"age": 1}}, not {levels!r}')
    names = list(microdata.schema.quasi_identifiers)
    for column in levels:
        if column not in names:
            raise InputError(
                f"{column!r} is no quasi-identifier of {microdata.name}"
                f"{did_you_mean(str(column), names)}"
            )
    rollup = Rollup(microdata)
    node = tuple(
        _level(name, levels.get(name, SUPPRESSED), top)
        for name, top in zip(names, rollup.tops, strict=True)
    )
    view = rollup.view(node)
    return replace(view.counts, groups=list(_labels(rollup.attributes, node, view)))


def _level(name: str, given: Any, top: int) -> int:
    if given == SUPPRESSED:
        return top
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise InputError(f"the level of {name!r} is a whole number or '*', not {given!r}")
    if not 0 <= given <= top:
        raise InputError(
            f"{name!r} has the levels 0 (exact) to {top} ('*'), not {given}"
            + ("; give it a hierarchy for levels between" if top == 1 else "")
        )
    return int(given)


def _labels(attributes: Sequence[Attribute], node: Node, view: View) -> Iterator[tuple[Label, ...]]:
    columns = []
    for attribute, level, codes in zip(attributes, node, view.codes, strict=True):
        names: Sequence[Label] = label_of_level(attribute, level)
        columns.append([names[code] for code in codes.tolist()])
    return zip(*columns, strict=True)


def label_of_level(attribute: Attribute, level: int) -> Sequence[Label]:
    """What each node of a level is called."""
    if level == 0:
        return attribute.domain
    return names_of_nodes(attribute)[level] if attribute.labels else (SUPPRESSED,)


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
    >>> from foreknow.data.hierarchy import Intervals
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
