"""Groups of quasi-identifier values as generalization functions of the rows of a table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreknow.errors import InputError
from foreknow.jumping.functions import Function, renumber
from foreknow.microdata import Attribute, Microdata
from foreknow.sparse import combine


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
    >>> from foreknow.schema import Schema
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
