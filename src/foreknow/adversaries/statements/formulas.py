"""Formulas: what a statement can say about people and values, built in Python and printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from foreknow.errors import InputError

# Words of the language, in any case; as names they need quotes.
KEYWORDS = frozenset({"and", "or", "not", "in", "same"})
# What needs no quotes. A hyphen does not start an arrow.
PLAIN_NAME = r"(?:[^\s\"'\\(),;=!<>\#&|~\-]|-(?!>))+"

MOST_DEEP = 100

_PLAIN = re.compile(PLAIN_NAME)
_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", '"': r"\"", "\\": r"\\"}


class _Formula:
    """The operators that all formulas share."""

    _looseness: ClassVar[int] = 0  # of its connective; looser ones go into parentheses
    _depth = 0

    def __and__(self, other: Formula) -> And:
        return And((as_formula(self), as_formula(other)))

    def __or__(self, other: Formula) -> Or:
        return Or((as_formula(self), as_formula(other)))

    def __invert__(self) -> Not:
        return Not(as_formula(self))

    def implies(self, other: Formula) -> Implies:
        """If this holds, so does the other."""
        return Implies(as_formula(self), as_formula(other))

    def iff(self, other: Formula) -> Iff:
        """Both hold or neither does."""
        return Iff(as_formula(self), as_formula(other))

    def __bool__(self) -> bool:
        # `a and b` would silently be b.
        raise InputError("a formula is neither true nor false; combine formulas with &, | and ~")


class _Compound(_Formula):
    def __post_init__(self) -> None:
        depth = 1 + max(as_formula(part)._depth for part in parts_of(as_formula(self)))
        if depth > MOST_DEEP:
            raise InputError(f"a formula may nest {MOST_DEEP} levels deep, not more")
        object.__setattr__(self, "_depth", depth)


@dataclass(frozen=True)
class Has(_Formula):
    """A person has a value.

    Parameters
    ----------
    person, value : label
        As they print: ``Has(4, 17)`` is ``Has("4", "17")``.

    Examples
    --------
    >>> str(Has("Ann", "AIDS").implies(~Has("Tom", "No value") | Has("Tom", "Flu")))
    'Ann = AIDS -> Tom != "No value" or Tom = Flu'
    """

    person: str
    value: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "person", str(self.person))
        object.__setattr__(self, "value", str(self.value))

    def __str__(self) -> str:
        return f"{quoted(self.person)} = {quoted(self.value)}"


@dataclass(frozen=True)
class Same(_Formula):
    """All of these people have the same value or values; made by `same`."""

    people: tuple[str, ...]

    def __post_init__(self) -> None:
        people = tuple(map(str, self.people))
        if len(set(people)) < len(people) or len(people) < 2:
            raise InputError(f"same() takes two people or more, each once, not {list(people)}")
        object.__setattr__(self, "people", people)

    def __str__(self) -> str:
        return f"same({', '.join(map(quoted, self.people))})"


@dataclass(frozen=True)
class Not(_Compound):
    """The part does not hold."""

    part: Formula

    def __str__(self) -> str:
        if isinstance(self.part, Has):
            return f"{quoted(self.part.person)} != {quoted(self.part.value)}"
        return f"not {_inside(self.part, 0)}"


@dataclass(frozen=True)
class And(_Compound):
    """All parts hold."""

    parts: tuple[Formula, ...]
    _looseness = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(And, self.parts))
        super().__post_init__()

    def __str__(self) -> str:
        return " and ".join(_inside(part, 0) for part in self.parts)


@dataclass(frozen=True)
class Or(_Compound):
    """At least one part holds."""

    parts: tuple[Formula, ...]
    _looseness = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(Or, self.parts))
        super().__post_init__()

    def __str__(self) -> str:
        return " or ".join(_inside(part, 1) for part in self.parts)


@dataclass(frozen=True)
class Implies(_Compound):
    """If the first holds, so does the second."""

    first: Formula
    second: Formula
    _looseness = 3

    def __str__(self) -> str:
        return f"{_inside(self.first, 2)} -> {_inside(self.second, 3)}"


@dataclass(frozen=True)
class Iff(_Compound):
    """Both parts hold or neither does."""

    first: Formula
    second: Formula
    _looseness = 4

    def __str__(self) -> str:
        return f"{_inside(self.first, 4)} <-> {_inside(self.second, 3)}"


Formula: TypeAlias = Has | Not | And | Or | Implies | Iff | Same


def same(*people: str) -> Same:
    """Say that people have the same value, or the same values where they may have several.

    Examples
    --------
    >>> str(same("Ann", "Cary", "Tom"))
    'same(Ann, Cary, Tom)'
    """
    return Same(people)


def quoted(name: str) -> str:
    r"""Write a name as the language reads it, in quotes where it needs them.

    >>> print(quoted("J45.9"), quoted("Ann Lee"), quoted("or"), quoted('5" nail'))
    J45.9 "Ann Lee" "or" "5\" nail"
    """
    if _PLAIN.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + "".join(_ESCAPES.get(char, char) for char in name) + '"'


def as_formula(given: object) -> Formula:
    """Return a formula as it is; refuse anything else."""
    if isinstance(given, (Has, Not, And, Or, Implies, Iff, Same)):
        return given
    raise InputError(f"expected a formula such as Has('Tom', 'AIDS'), not {given!r}")


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """List the formulas that a formula is made of; none for `Has` and `Same`."""
    match formula:
        case Not(part):
            return (part,)
        case And(parts) | Or(parts):
            return parts
        case Implies(first, second) | Iff(first, second):
            return (first, second)
        case _:
            return ()


def walk(formula: Formula) -> Iterator[Has | Same]:
    """All `Has` and `Same` in a formula, from left to right."""
    if isinstance(formula, (Has, Same)):
        yield formula
    for part in parts_of(formula):
        yield from walk(part)


def _flat(kind: type[And | Or], parts: tuple[Formula, ...]) -> tuple[Formula, ...]:
    flat: list[Formula] = []
    for part in map(as_formula, parts):
        flat += part.parts if isinstance(part, kind) else (part,)
    if len(flat) < 2:
        raise InputError(f"{kind.__name__} takes two parts or more")
    return tuple(flat)


def _inside(part: Formula, loosest: int) -> str:
    return f"({part})" if part._looseness > loosest else str(part)
