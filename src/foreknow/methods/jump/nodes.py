"""Lattice nodes as generalization functions: which rows of a table a node puts together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from foreknow.criteria.properties import Property
from foreknow.data.microdata import Attribute, Microdata
from foreknow.data.sparse import IntArray, combine
from foreknow.errors import InputError, did_you_mean
from foreknow.methods.fulldomain.lattice import Node
from foreknow.methods.fulldomain.levels import SUPPRESSED
from foreknow.methods.fulldomain.rollup import levels_of
from foreknow.methods.jump.functions import Function, Person, renumber


@dataclass(frozen=True, repr=False)
class ByValues(Function):
    """An explicit partition of the people of a table by their quasi-identifiers."""

    def __str__(self) -> str:
        return Function(self.groups).__str__()

    __repr__ = __str__


def at_values(function: Function, microdata: Microdata) -> ByValues:
    """Find everybody's group by their quasi-identifiers.

    Parameters
    ----------
    function : Function
        Its groups hold combinations of quasi-identifiers: tuples in the schema's order, or plain
        values where there is one quasi-identifier. Combinations that nobody has may be named, too:
        a function that covers all that are possible is the same for every table. Values are
        compared as they are, or else as they print.
    microdata : Microdata

    Raises
    ------
    InputError
        If somebody's combination is in no group, or a group holds what is no combination.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.schema import Schema
    >>> rows = {"age": [21, 38, 21], "sex": ["f", "m", "f"], "disease": ["Flu", "Cold", "Flu"]}
    >>> schema = Schema(quasi_identifiers=["age", "sex"], sensitive="disease")
    >>> function = Function.of([[(21, "f"), (21, "m")], [(38, "m")]])
    >>> at_values(function, Microdata(pa.table(rows), schema)).numbers
    (0, 1, 0)
    """
    attributes = microdata.attributes
    known = [_places(attribute) for attribute in attributes]
    group_of: dict[tuple[int, ...], int] = {}
    for g, group in enumerate(function.groups or ()):
        for named in group:
            cells = _cells(named, attributes, function)
            places = [_place(cell, of) for cell, of in zip(cells, known, strict=True)]
            if None not in places and group_of.setdefault(tuple(places), g) != g:  # type: ignore[arg-type]
                raise InputError(f"the function {function} names {named!r} twice")
    numbers = []
    columns = [attribute.codes.tolist() for attribute in attributes]
    for person, codes in enumerate(zip(*columns, strict=True)):
        if codes not in group_of:
            raise InputError(
                f"the function {function} says nothing about {_text(attributes, person)}, of row "
                f"{int(microdata.kept[person]) + 1} of {microdata.name}: give lattice nodes, "
                "groups that hold the quasi-identifiers of everybody, or the group of each row"
            )
        numbers.append(group_of[codes])
    return ByValues(function.groups, renumber(numbers))


def refuse_separated(numbers: Sequence[int], microdata: Microdata) -> None:
    """Refuse to put people apart who have equal quasi-identifiers.

    A generalization function is one of quasi-identifiers: what it makes of equal ones is equal.

    Raises
    ------
    InputError
        Which names two rows.
    """
    attributes = microdata.attributes
    columns = [attribute.codes for attribute in attributes]
    alike, first = combine(list(columns), [len(attribute.domain) for attribute in attributes])
    group = np.asarray(numbers)
    apart = np.flatnonzero(group != group[first[alike]])
    if len(apart):
        person = int(apart[0])
        rows = sorted(int(microdata.kept[p]) + 1 for p in (first[alike[person]], person))
        raise InputError(
            f"a function puts rows {rows[0]} and {rows[1]} of {microdata.name} apart, which are "
            f"both {_text(attributes, person)}: keep people of equal quasi-identifiers together, "
            "or add a quasi-identifier that tells them apart"
        )


def _places(attribute: Attribute) -> dict[Hashable, int]:
    """The code of each value, and of each value as it prints."""
    printed: dict[Hashable, int] = {str(value): i for i, value in enumerate(attribute.domain)}
    return {**printed, **{value: i for i, value in enumerate(attribute.domain)}}


def _place(cell: Any, known: dict[Hashable, int]) -> int | None:
    found = known.get(cell)
    return known.get(str(cell)) if found is None else found


def _cells(named: Any, attributes: Sequence[Attribute], function: Function) -> tuple[Any, ...]:
    cells = named if isinstance(named, tuple) else (named,)
    if len(cells) != len(attributes):
        names = ", ".join(attribute.name for attribute in attributes)
        raise InputError(
            f"the function {function}: {named!r} is no combination of the quasi-identifiers "
            f"({names}). For a table with rows, give lattice nodes, lists of such tuples, or the "
            "group of each row; a function that names people is for `run`"
        )
    return cells


def _text(attributes: Sequence[Attribute], person: int) -> str:
    return ", ".join(f"{one.name} {one.domain[int(one.codes[person])]!r}" for one in attributes)


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
    >>> from foreknow.data.schema import Schema
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


def default_nodes(attributes: Sequence[Attribute], least: int) -> list[Node]:
    """Nodes to try where none are given.

    From the top of the lattice, where everybody is one group, one quasi-identifier after another
    is made more specific by a level: the one that leaves the fewest groups, of equal ones the
    first in the schema. Nodes with a group of fewer people than `least` are not gone to. The way
    back is the order; nodes with more than half as many groups as the last are left out, since
    every further function makes sets harder to count.

    Parameters
    ----------
    attributes : sequence of Attribute
    least : int
        See `least_group`.

    Returns
    -------
    list of Node
        The last is the top.
    """
    tops = tops_of(attributes)
    way: list[tuple[Node, int]] = [(tops, 1)]
    while True:
        below = []
        for a, level in enumerate(way[-1][0]):
            if level:
                node = (*way[-1][0][:a], level - 1, *way[-1][0][a + 1 :])
                sizes = np.bincount(groups_at(attributes, node))
                if sizes.min() >= least:
                    below.append((len(sizes), a, node))
        if not below:
            break
        groups, _, node = min(below)
        way.append((node, groups))
    chosen: list[tuple[Node, int]] = []
    for node, groups in reversed(way):
        if not chosen or 2 * groups <= chosen[-1][1] or (node == tops and groups < chosen[-1][1]):
            chosen.append((node, groups))
    return [node for node, _ in chosen]


def least_group(property: Property, people: int) -> int:
    """People of the smallest group that may have a property, where everybody's value differs.

    A group of one tells its member's value, so it is 2 at least.

    >>> from foreknow.criteria.properties import MaxRatio
    >>> least_group(MaxRatio("1/2"), 10), least_group(MaxRatio("1/2", strict=True), 10)
    (2, 3)
    """
    if not property.convex:
        return 2  # of such a property, values that nobody has are not asked
    colour = property.colour(_Nobodys())
    for size in range(2, people + 1):
        if property.allows([(colour, 1)] * size, size, size):
            return size
    return people


class _Nobodys:
    """A value that no requirement names."""

    def __str__(self) -> str:
        return "\0nobody's"
