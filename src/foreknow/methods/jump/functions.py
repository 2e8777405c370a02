"""Generalization functions: partitions of the people of a table, in the ways that users write them.

Section 3.1 of "k-Jump Strategy for Preserving Privacy in Micro-Data Disclosure".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from foreknow.errors import InputError, did_you_mean

Person: TypeAlias = Hashable
Value: TypeAlias = Hashable


@dataclass(frozen=True)
class Function:
    """One generalization function: which people are in one group, whatever their values are.

    Attributes
    ----------
    groups : tuple of tuples, optional
        People by name.
    numbers : tuple of int, optional
        The group of each person, in the table's order.
    tupled : bool
        Whether the numbers were given as a tuple; then they may be the levels of a lattice node.
    """

    groups: tuple[tuple[Person, ...], ...] | None = None
    numbers: tuple[int, ...] | None = None
    tupled: bool = False

    @classmethod
    def of(cls, given: Any) -> Function:
        """Read a function as users write it.

        Parameters
        ----------
        given : str, sequence of groups, or sequence of int
            ``"AB|CD"``: each letter is a person; ``"Ann, Bob|Carl"``: names between commas or
            blanks. ``[["Ann", "Bob"], ["Carl"]]``: groups of names. ``[0, 0, 1]`` or an array:
            the group of each person, in the table's order. People may be named by tuples, such as
            their quasi-identifiers: ``[[(21, "f"), (25, "f")], [(38, "m")]]``.

        Examples
        --------
        >>> str(Function.of("AB|CD")), str(Function.of([["Ann", "Bob"], ["Carl"]]))
        ('AB|CD', 'Ann, Bob|Carl')
        """
        if isinstance(given, Function):
            return given
        if isinstance(given, str):
            return cls(groups=_checked([_names(part) for part in given.split("|")], given))
        if isinstance(given, np.ndarray):
            if given.ndim != 1 or given.dtype.kind not in "iu":
                raise InputError("a function given as an array has one whole number per person")
            return cls(numbers=tuple(given.tolist()))
        if isinstance(given, Mapping) or not isinstance(given, Iterable):
            raise InputError(f"{given!r} is no function: write 'AB|CD' or lists of people")
        parts = list(given)
        if parts and all(isinstance(p, (int, np.integer)) for p in parts):
            return cls(None, tuple(int(p) for p in parts), isinstance(given, tuple))
        for part in parts:
            if not isinstance(part, (str, list, tuple, set, frozenset, np.ndarray)):
                raise InputError(f"{part!r} is no group of people: a list of names is one")
        return cls(
            groups=_checked([_names(p) if isinstance(p, str) else list(p) for p in parts], given)
        )

    def codes(self, people: Sequence[Person]) -> tuple[int, ...]:
        """Group of each person, numbered by first appearance.

        Raises
        ------
        InputError
            If the function is not about exactly these people.
        """
        if self.numbers is not None:
            if len(self.numbers) != len(people):
                raise InputError(
                    f"a function has {len(self.numbers)} group numbers, the table {len(people)} "
                    "people"
                )
            return renumber(self.numbers)
        group_of = {person: g for g, group in enumerate(self.groups or ()) for person in group}
        missing = [person for person in people if person not in group_of]
        if missing:
            raise InputError(f"the function {self} says nothing about {missing[0]!r}")
        if len(group_of) > len(people):
            known = set(people)
            extra = next(person for person in group_of if person not in known)
            hint = did_you_mean(str(extra), [str(p) for p in people])
            raise InputError(f"the function {self} groups {extra!r}, who is not in the table{hint}")
        return renumber([group_of[person] for person in people])

    def __str__(self) -> str:
        if self.numbers is not None:
            if len(self.numbers) > 12:
                return f"<{len(set(self.numbers))} groups of {len(self.numbers)} people>"
            return str(self.numbers)
        groups = [[str(person) for person in group] for group in self.groups or ()]
        letters = all(len(person) == 1 for group in groups for person in group)
        return "|".join(("" if letters else ", ").join(group) for group in groups)

    __repr__ = __str__


def _names(part: str) -> list[Person]:
    if re.search(r"[,\s]", part.strip()):
        return [name for name in re.split(r"[,\s]+", part.strip()) if name]
    return list(part.strip())


def _checked(groups: list[list[Person]], given: Any) -> tuple[tuple[Person, ...], ...]:
    groups = [[tuple(p) if isinstance(p, list) else p for p in group] for group in groups]
    for person in (p for group in groups for p in group):
        if not _can_be_named(person):
            raise InputError(f"the function {given!r}: {person!r} can be nobody's name")
    if not groups or not all(groups):
        raise InputError(f"the function {given!r} has an empty group")
    twice = [p for p, n in Counter(p for group in groups for p in group).items() if n > 1]
    if twice:
        raise InputError(f"the function {given!r} names {twice[0]!r} twice")
    return tuple(tuple(group) for group in groups)


def _can_be_named(person: Any) -> bool:
    try:
        hash(person)
    except TypeError:
        return False
    return True


def renumber(numbers: Iterable[Hashable]) -> tuple[int, ...]:
    """Whole numbers from 0 in order of first appearance.

    >>> renumber("bab")
    (0, 1, 0)
    """
    seen: dict[Hashable, int] = {}
    return tuple(seen.setdefault(number, len(seen)) for number in numbers)


def refined(partitions: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Cells of the common refinement: people whom no function tells apart.

    >>> refined([(0, 0, 1, 1), (0, 1, 1, 1)])
    (0, 1, 2, 2)
    """
    return renumber(zip(*partitions, strict=True))


def joined(partitions: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Parts of the finest common coarsening: people whom some chain of groups connects.

    >>> joined([(0, 0, 1, 1, 2), (0, 1, 1, 2, 3)])
    (0, 0, 0, 0, 1)
    """
    n = len(partitions[0])
    parent = list(range(n))

    def root(x: int) -> int:
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for partition in partitions:
        first: dict[int, int] = {}
        for person, group in enumerate(partition):
            parent[root(person)] = root(first.setdefault(group, person))
    return renumber(root(person) for person in range(n))
