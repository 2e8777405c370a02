"""Generalization functions: partitions of the people of a table, in the ways that users write them.

Section 3.1 of "k-Jump Strategy for Preserving Privacy in Micro-Data Disclosure". For the rows of a
table they are lattice nodes, or the group of each row.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from foreknow.data.arrays import IntArray, combine
from foreknow.data.columns.attribute import Attribute
from foreknow.data.columns.hierarchy import shown
from foreknow.data.microdata import Microdata
from foreknow.errors import did_you_mean
from foreknow.features.more_methods.jump.properties import Property
from foreknow.methods.fulldomain.lattice import SUPPRESSED, Node, levels_of, read_levels
from foreknow.numbers import whole_number
from foreknow_judge.errors import InputError

Person: TypeAlias = Hashable
Value: TypeAlias = Hashable
Level: TypeAlias = int | str
# How much of a function a message shows.
_SHOWN = 60


@dataclass(frozen=True)
class Function:
    """One generalization function: which people are in one group, whatever their values are."""

    groups: tuple[tuple[Person, ...], ...] | None = None  # people by name
    numbers: tuple[int, ...] | None = None  # the group of each person, in the table's order
    levels: tuple[tuple[str, Level], ...] | None = None  # a node; other columns are suppressed

    @classmethod
    def of(cls, source: Any) -> Function:
        """Read a function as users write it.

        ``"AB|CD"``: each letter is a person; ``[["Ann", "Bob"], ["Carl"]]``: groups of names;
        ``[0, 0, 1]`` or an array: the group of each person, in the table's order; ``"age=1,
        zip=*"``, ``{"age": 1}``: a lattice node.

        >>> Function.of("AB|CD"), Function.of([["Ann", "Bob"], ["Carl"]]), Function.of({"age": 2})
        (AB|CD, Ann, Bob|Carl, age=2)
        """
        if isinstance(source, Function):
            return source
        # A text with = but without | gives levels of columns.
        if isinstance(source, str) and "=" in source and "|" not in source:
            source = read_levels(source, "the function")
        if isinstance(source, Mapping):
            levels = [(str(column), _read_level(column, level)) for column, level in source.items()]
            return cls(levels=tuple(levels))
        if isinstance(source, str):
            return cls(_read_groups(source.split("|"), source))
        if isinstance(source, np.ndarray):
            if source.ndim != 1 or source.dtype.kind not in "iu":
                raise InputError("a function given as an array has one whole number per person")
            return cls(numbers=tuple(source.tolist()))
        if not isinstance(source, Iterable):
            raise InputError(f"{source!r} is no function: write 'AB|CD' or lists of people")
        # A list of whole numbers has everybody's group; any other list has groups of names.
        items = list(source)
        if items and all(isinstance(item, (int, np.integer)) for item in items):
            return cls(numbers=tuple(map(int, items)))
        return cls(_read_groups(items, source))

    def codes(self, people: Sequence[Person]) -> tuple[int, ...]:
        """The group number of each of these people, numbered by first appearance.

        Refused if the function leaves out one of these people, or groups others.
        """
        if self.numbers is not None:
            if len(self.numbers) != len(people):
                raise InputError(
                    f"a function has {len(self.numbers)} group numbers, the table {len(people)} "
                    "people"
                )
            return renumber(self.numbers)
        if self.levels is not None:
            raise InputError(
                f"the function {self.short} is a lattice node, which only a Microdata has: see "
                "partition, or publish"
            )
        group_of: dict[Person, int] = {}
        for number, group in enumerate(self.groups or ()):
            group_of |= dict.fromkeys(group, number)
        missing = [name for name in people if name not in group_of]
        if missing:
            raise InputError(f"the function {self.short} says nothing about {missing[0]!r}")
        # Everybody has a group; if there are more names than people, some name is nobody's.
        if len(group_of) > len(people):
            in_table = set(people)
            extra = [name for name in group_of if name not in in_table]
            hint = did_you_mean(str(extra[0]), list(map(str, people)))
            raise InputError(
                f"the function {self.short} groups {extra[0]!r}, who is not in the table{hint}"
            )
        return renumber([group_of[name] for name in people])

    @property
    def symmetric(self) -> bool:
        """True if a function of rows looks at quasi-identifiers alone, not at the order of rows."""
        return self.levels is not None

    @property
    def text(self) -> str:
        """The function in words that may be published: no names, no order of rows."""
        return self._sizes() if self.levels is None else str(self)

    def __str__(self) -> str:
        """The function as users write it; many group numbers are shown by their sizes alone."""
        if self.levels is not None:
            return ", ".join(f"{column}={level}" for column, level in self.levels)
        if self.groups is not None:
            groups = [list(map(str, group)) for group in self.groups]
            are_letters = all(len(person) == 1 for person in chain.from_iterable(groups))
            separator = "" if are_letters else ", "
            return "|".join(map(separator.join, groups))
        return str(self.numbers) if len(self.numbers or ()) <= 12 else self._sizes()

    __repr__ = __str__

    @property
    def short(self) -> str:
        """The function in words for messages: not everybody's name."""
        return _short(str(self))

    def _sizes(self) -> str:
        """How many groups of how many people, without names."""
        if self.groups is not None:
            people = sum(map(len, self.groups))
            return f"<{len(self.groups)} groups of {people} people>"
        numbers = self.numbers or ()
        return f"<{len(set(numbers))} groups of {len(numbers)} people>"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def read_functions(source: Any) -> tuple[Function, ...]:
    """Functions as users give them, in order."""
    if isinstance(source, str) or not isinstance(source, Sequence):
        raise InputError("functions is a list, in the order in which they are tried")
    if not source:
        raise InputError("there are no functions to try")
    return tuple(map(Function.of, source))


def _read_groups(group_sources: Sequence[Any], source: Any) -> tuple[tuple[Person, ...], ...]:
    """Groups of people, each person once; other input is refused."""
    groups: list[list[Person]] = []
    for group_source in group_sources:
        if not isinstance(group_source, (str, list, tuple, set, frozenset)):
            raise InputError(f"{group_source!r} is no group of people: a list of names is one")
        groups.append(list(group_source))
    named_people: set[Person] = set()
    for person in chain.from_iterable(groups):
        try:
            # Names are kept in a set, so they must be hashable.
            is_repeated = person in named_people
        except TypeError:
            raise InputError(
                f"the function {_short(repr(source))}: {person!r} can be nobody's name"
            ) from None
        if is_repeated:
            raise InputError(f"the function {_short(repr(source))} names {person!r} twice")
        named_people.add(person)
    if not groups or not all(groups):
        raise InputError(f"the function {_short(repr(source))} has an empty group")
    return tuple(map(tuple, groups))


def _read_level(column: Any, level: Any) -> Level:
    name = f"the level of {str(column)!r}"
    return SUPPRESSED if level == SUPPRESSED else whole_number(level, name, 0, " or '*'")


# ---- functions of the rows of a table ------------------------------------------------------------


def with_numbers(function: Function, microdata: Microdata) -> Function:
    """The same function with the group number of each person in a table.

    A function may give a lattice node (a level for each column; other columns get their highest),
    or the group of each row of the table. Refused are functions that name people, that have another
    number of rows, or that separate people with equal quasi-identifiers.
    """
    if function.levels is not None:
        return _function_at(node_of(function, microdata), microdata.attributes)
    if function.numbers is None:
        raise InputError(
            f"the function {function.short} names people, which is for `run`; for the rows of a "
            'table, give lattice nodes, such as "age=1, zip=*", or the group of each row'
        )
    if len(function.numbers) != microdata.n_rows:
        raise InputError(
            f"a function has {len(function.numbers)} group numbers, {microdata.name} "
            f"{microdata.n_rows} rows"
        )
    # Rows that the audit leaves out have no person.
    groups_of_people = np.asarray(function.numbers)[microdata.kept]
    _refuse_if_lookalikes_are_separated(groups_of_people, microdata)
    return Function(numbers=renumber(groups_of_people.tolist()))


def node_of(function: Function, microdata: Microdata) -> Node:
    """The lattice node of a function that gives levels: the level of each quasi-identifier.

    Columns that the function does not name are suppressed.
    """
    levels = dict(function.levels or ())
    names = [attribute.name for attribute in microdata.attributes]
    for column in levels:
        if column not in names:
            raise InputError(
                f"the function {function}: {column!r} is no quasi-identifier of {microdata.name}"
                f"{did_you_mean(column, names)}"
            )
    node = []
    for name, highest in zip(names, _highest_levels(microdata.attributes), strict=True):
        level = levels.get(name, SUPPRESSED)
        # A level given as a text is the asterisk: the highest level.
        node.append(highest if isinstance(level, str) else level)
    return tuple(node)


def _highest_levels(attributes: Sequence[Attribute]) -> Node:
    """The highest level of each quasi-identifier."""
    return tuple([len(levels_of(attribute)) - 1 for attribute in attributes])


def _groups_at(attributes: Sequence[Attribute], node: Node) -> IntArray:
    """The group of each person at a lattice node: equal labels at the node's levels."""
    columns, sizes = [], []
    for attribute, level in zip(attributes, node, strict=True):
        # The label, as a number, of each value of the column at this level.
        nodes = levels_of(attribute)[level]
        columns.append(nodes[attribute.codes])
        sizes.append(int(nodes[-1]) + 1)  # labels are numbered in the order of values
    # People with equal labels in all columns share a group.
    return combine(columns, sizes)[0].astype(np.int64, copy=False)


def _function_at(node: Node, attributes: Sequence[Attribute]) -> Function:
    """The function of a lattice node: groups by the levels of the quasi-identifiers."""
    levels: list[tuple[str, Level]] = []
    for attribute, level, highest in zip(
        attributes, node, _highest_levels(attributes), strict=True
    ):
        if not 0 <= level <= highest:
            raise InputError(
                f"{attribute.name!r} has the levels 0 (exact) to {highest} ('*'), not {level}"
            )
        levels.append((attribute.name, SUPPRESSED if level == highest else level))
    numbers = renumber(_groups_at(attributes, node).tolist())
    return Function(numbers=numbers, levels=tuple(levels))


def _refuse_if_lookalikes_are_separated(group: IntArray, microdata: Microdata) -> None:
    """Refuse groups (of each person) that separate people with equal quasi-identifiers."""
    attributes = microdata.attributes
    columns = [attribute.codes for attribute in attributes]
    class_of_person, first_of_class = combine(columns, [len(a.domain) for a in attributes])
    first_lookalike = first_of_class[class_of_person]  # the first person with equal columns
    separated = np.flatnonzero(group != group[first_lookalike])
    if len(separated):
        person = int(separated[0])
        rows = sorted((microdata.kept[[first_lookalike[person], person]] + 1).tolist())
        raise InputError(
            f"a function puts rows {rows[0]} and {rows[1]} of {microdata.name} apart, which are "
            f"both {_description_of(person, attributes)}: keep people of equal quasi-identifiers "
            "together, or add a quasi-identifier that tells them apart"
        )


def _description_of(person: int, attributes: Sequence[Attribute]) -> str:
    """The quasi-identifiers of a person, in words."""
    value_texts = []
    for attribute in attributes:
        value = attribute.domain[int(attribute.codes[person])]
        value_texts.append(f"{attribute.name} {shown(value)}")
    return ", ".join(value_texts)


# ---- functions that are tried by default ---------------------------------------------------------


def default_nodes(attributes: Sequence[Attribute], min_people: int) -> list[Node]:
    """The nodes to try if none are given, from specific ones to everybody in one group.

    Starting at the top of the lattice, one quasi-identifier after another is made more specific by
    a level: the one that leaves the fewest groups, none with fewer than `min_people`. The functions
    are that path backwards; nodes with more than half as many groups as the last one are left out,
    since every further function makes sets harder to count. Sensitive values are not looked at:
    other tables would have other functions.
    """
    top_node = _highest_levels(attributes)
    path: list[tuple[Node, int]] = [(top_node, 1)]
    while True:
        # One step down in each quasi-identifier in turn, if its groups are large enough.
        lower_nodes = []
        for position, level in enumerate(path[-1][0]):
            if level > 0:
                node = (*path[-1][0][:position], level - 1, *path[-1][0][position + 1 :])
                sizes = np.bincount(_groups_at(attributes, node))
                if sizes.min() >= min_people:
                    lower_nodes.append((len(sizes), position, node))
        if not lower_nodes:
            break
        n_groups, _, node = min(lower_nodes)
        path.append((node, n_groups))
    # From the most specific node upwards; the top, everybody in one group, is kept if it is new.
    chosen: list[tuple[Node, int]] = []
    for node, n_groups in reversed(path):
        if (
            not chosen
            or 2 * n_groups <= chosen[-1][1]
            or (node == top_node and n_groups < chosen[-1][1])
        ):
            chosen.append((node, n_groups))
    return [node for node, _ in chosen]


def least_group(property: Property, people: int) -> int:
    """The size of the smallest group, from 2, that can have the property.

    A group is judged as if all its values differed, which suits a property best. `people`, the size
    of the table, if no smaller group can.
    """
    if not property.convex:
        return 2  # such a property cannot be asked about values that nobody has
    colour = property.colour("\0nobody's")  # the class of a value that no requirement names
    for size in range(2, people + 1):
        if property.allows([(colour, 1)] * size, size, size):
            return size
    return people


def renumber(numbers: Iterable[Hashable]) -> tuple[int, ...]:
    """Whole numbers from 0 in order of first appearance."""
    number_of: dict[Hashable, int] = {}
    return tuple([number_of.setdefault(number, len(number_of)) for number in numbers])
