"""Lattice nodes as generalization functions: which rows of a table a node puts together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from foreknow.anonymizers.at_levels import SUPPRESSED
from foreknow.anonymizers.jump.values import at_values, refuse_separated
from foreknow.anonymizers.lattice import Node
from foreknow.anonymizers.rollup import levels_of
from foreknow.errors import InputError, did_you_mean
from foreknow.jumping.functions import Function, Person, renumber
from foreknow.microdata import Attribute, Microdata
from foreknow.sparse import IntArray, combine

Level: TypeAlias = int | str


@dataclass(frozen=True, repr=False)
class AtLevels(Function):
    """A lattice node by the names of quasi-identifiers; those that are left out are suppressed.

    Attributes
    ----------
    levels : tuple of (str, int or "*")
    numbers : tuple of int, optional
        The group of each person, once a table is known.
    """

    levels: tuple[tuple[str, Level], ...] = ()

    def codes(self, people: Sequence[Person]) -> tuple[int, ...]:
        """Group of each person."""
        if self.numbers is None:
            raise InputError(
                f"the function {self} is a lattice node, which only a Microdata has: see "
                "partition, or publish"
            )
        return super().codes(people)

    def __str__(self) -> str:
        return ", ".join(f"{column}={level}" for column, level in self.levels)

    __repr__ = __str__


def read_function(given: Any) -> Function:
    """Read a function as users write it; a node by names also as a text or a mapping.

    >>> read_function("age=1, zip=*"), read_function({"age": 2}), read_function("AB|CD")
    (age=1, zip=*, age=2, AB|CD)
    """
    if isinstance(given, Mapping):
        return AtLevels(levels=tuple((str(c), _level(c, level)) for c, level in given.items()))
    if isinstance(given, str) and "=" in given and "|" not in given:
        return AtLevels(levels=tuple(_read_levels(given)))
    return Function.of(given)


def treats_alike(function: Function) -> bool:
    """Whether a function of rows looks at quasi-identifiers alone, not at the order of rows."""
    return isinstance(function, AtLevels) or function.tupled or function.groups is not None


def function_text(function: Function) -> str:
    """What may be published of a function: not exact quasi-identifiers, nor the order of rows."""
    if function.groups is not None:
        return f"<{len(function.groups)} group{'s' * (len(function.groups) > 1)}>"
    if isinstance(function, AtLevels) or function.numbers is None or function.tupled:
        return str(function)
    return f"<{len(set(function.numbers))} groups of {len(function.numbers)} people>"


def at_nodes(functions: Sequence[Function], microdata: Microdata) -> tuple[Function, ...]:
    """Functions with the group of each person, and nodes with the names of their levels.

    Parameters
    ----------
    functions : sequence of Function
        `AtLevels`, or a tuple of one level per quasi-identifier: 0 is exact, 1 the first level
        of the hierarchy. Other numbers are the groups of the rows; groups are of combinations of
        quasi-identifiers (see `at_values`).
    microdata : Microdata

    Raises
    ------
    InputError
        If a function does not fit the table, or puts people apart who have equal
        quasi-identifiers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.schema import Schema
    >>> rows = pa.table({"age": [21, 25, 38], "disease": ["Flu", "Cold", "Flu"]})
    >>> hierarchies = {"age": {"intervals": [10, 20]}}
    >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease", hierarchies=hierarchies)
    >>> functions = [Function.of((1,)), read_function("age=*"), Function.of([5, 6, 6])]
    >>> [one.numbers for one in at_nodes(functions, Microdata(rows, schema))]
    [(0, 0, 1), (0, 0, 0), (0, 1, 1)]
    """
    found: list[Function] = []
    tops = tops_of(microdata.attributes)
    for function in functions:
        if isinstance(function, AtLevels):
            node = _node(function, microdata, tops)
        elif function.numbers is None or function.groups is not None:
            found.append(at_values(function, microdata))
            continue
        elif function.tupled and len(function.numbers) == len(tops):
            node = function.numbers
        elif not function.tupled and len(function.numbers) == microdata.n_rows:
            kept = np.asarray(function.numbers)[microdata.kept]
            refuse_separated(kept.tolist(), microdata)
            found.append(Function(numbers=renumber(kept.tolist())))
            continue
        else:
            raise InputError(
                f"a function has {len(function.numbers)} numbers: neither one level for each of "
                f"the {len(tops)} quasi-identifiers, as a tuple, nor one group for each of the "
                f"{microdata.n_rows} rows, as a list"
            )
        found.append(_named(node, microdata.attributes, tops))
    return tuple(found)


def tops_of(attributes: Sequence[Attribute]) -> Node:
    """The highest level of each quasi-identifier."""
    return tuple(len(levels_of(attribute)) - 1 for attribute in attributes)


def groups_at(attributes: Sequence[Attribute], node: Node) -> IntArray:
    """The group of each person at a node, from 0."""
    columns, sizes = [], []
    for attribute, level in zip(attributes, node, strict=True):
        nodes = levels_of(attribute)[level]
        columns.append(nodes[attribute.codes])
        sizes.append(int(nodes[-1]) + 1)
    return combine(columns, sizes)[0].astype(np.int64, copy=False)


def node_levels(function: Function, microdata: Microdata) -> dict[str, int] | None:
    """The level of each quasi-identifier of a function of `at_nodes`; None if it is no node."""
    if not isinstance(function, AtLevels):
        return None
    tops = tops_of(microdata.attributes)
    names = [attribute.name for attribute in microdata.attributes]
    return dict(zip(names, _node(function, microdata, tops), strict=True))


def _named(node: Node, attributes: Sequence[Attribute], tops: Node) -> AtLevels:
    levels: list[tuple[str, Level]] = []
    for attribute, level, top in zip(attributes, node, tops, strict=True):
        if not 0 <= level <= top:
            raise InputError(
                f"{attribute.name!r} has the levels 0 (exact) to {top} ('*'), not {level}"
            )
        levels.append((attribute.name, SUPPRESSED if level == top else level))
    return AtLevels(numbers=renumber(groups_at(attributes, node).tolist()), levels=tuple(levels))


def _node(function: AtLevels, microdata: Microdata, tops: Node) -> Node:
    levels = dict(function.levels)
    names = [attribute.name for attribute in microdata.attributes]
    for column in levels:
        if column not in names:
            raise InputError(
                f"the function {function}: {column!r} is no quasi-identifier of {microdata.name}"
                f"{did_you_mean(column, names)}"
            )
    given = [levels.get(name, SUPPRESSED) for name in names]
    return tuple(
        top if isinstance(level, str) else level for level, top in zip(given, tops, strict=True)
    )


def _read_levels(text: str) -> list[tuple[str, Level]]:
    """Read "age=3, sex=*"."""
    levels: list[tuple[str, Level]] = []
    for part in text.split(","):
        column, equals, level = (piece.strip() for piece in part.rpartition("="))
        whole = level.isascii() and level.isdigit()
        if not equals or not column or not (whole or level == SUPPRESSED):
            raise InputError(
                f"the function {text!r} is no node: give a level for each column, such as "
                '"age=3, sex=*"'
            )
        if column in dict(levels):
            raise InputError(f"the function {text!r} names {column!r} twice; keep one")
        levels.append((column, int(level) if whole else level))
    return levels


def _level(column: Any, level: Any) -> Level:
    if level != SUPPRESSED and (
        isinstance(level, bool) or not isinstance(level, (int, np.integer))
    ):
        raise InputError(f"the level of {str(column)!r} is a whole number or '*', not {level!r}")
    return SUPPRESSED if level == SUPPRESSED else int(level)
