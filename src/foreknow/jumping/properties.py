"""Privacy properties: what everybody's possible values must be like for a release to be safe.

A property judges one person at a time: with which probability they have each value, over a set of
equally likely tables. A set of tables has the property where everybody in the table does.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from foreknow import numbers
from foreknow.errors import InputError
from foreknow.jumping.entropy import at_least

# (colour, number of tables in which a person has that value), for values that are possible
Row: TypeAlias = Sequence[tuple[Hashable, int]]


@runtime_checkable
class Property(Protocol):
    """What a property says about itself."""

    @property
    def convex(self) -> bool:
        """Whether a mixture of two persons' probabilities has the property if both have.

        Then a permutation set without the property has no subset with it (Lemma 3): the people
        of a group have, on average, the group's values. So checking the permutation set first
        changes nothing. Nor does it matter whether readers can tell which of several functions
        that group people alike made a release: what they are left with is a mixture.
        """

    @property
    def complete(self) -> bool:
        """Whether `limit` alone decides about a permutation set."""

    def colour(self, value: Hashable) -> Hashable:
        """Values of one colour are treated alike: exchanging them changes no verdict."""

    def limit(self, size: int, colour: Hashable) -> int:
        """How often a value may occur in a group of that size at most, or the group fails."""

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Whether a person of a group of that size may have these values in so many tables."""


def as_fraction(given: Any, name: str) -> Fraction:
    """An exact number from 1/2, "1/2", 0.5 (as written) or a whole number."""
    if isinstance(given, bool):
        raise InputError(f"{name} must be a number, not {given!r}")
    try:
        return numbers.as_fraction(given)
    except InputError:
        raise InputError(
            f"{name} must be a number such as '1/2', not {numbers.quoted(given)}"
        ) from None


def _whole(given: Any, name: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InputError(f"{name} must be a whole number from 1, not {given!r}")
    return given


def is_about(
    value: Hashable, values: Sequence[Hashable] | None, excluded: Sequence[Hashable]
) -> bool:
    """Whether a value matters; values are compared as they print.

    >>> is_about(5, ["5"], ()), is_about("Flu", None, ["Flu"])
    (True, False)
    """
    text = str(value)
    wanted = values is None or text in map(str, values)
    return wanted and text not in map(str, excluded)


def read_about(
    name: str, values: Iterable[Hashable] | None, excluded: Iterable[Hashable]
) -> tuple[tuple[Hashable, ...] | None, tuple[Hashable, ...]]:
    """Read which values matter to a property, and which do not."""
    for key, given in (("values", values), ("excluded", excluded)):
        if isinstance(given, str):
            raise InputError(f"{name}: {key} is a list of values")
    return None if values is None else tuple(values), tuple(excluded)


def about_text(values: Sequence[Hashable] | None, excluded: Sequence[Hashable]) -> str:
    """The arguments that say which values matter, as they are written."""
    text = "" if values is None else f", values={list(values)}"
    return text + (f", excluded={list(excluded)}" if excluded else "")


@dataclass(frozen=True)
class MaxRatio:
    """Nobody has any value with a probability above a limit.

    The limit itself is allowed, as in the paper ("no greater than 1/2"); elsewhere in Foreknow a
    requirement says *below*. ``strict=True`` asks for below here, too.

    Parameters
    ----------
    limit : number or str
        Above 0, at most 1.
    strict : bool
    values : list, optional
        The values that matter; all by default. Compared as they print, as in a policy.
    excluded : list
        Values that do not matter.

    Examples
    --------
    >>> MaxRatio("1/2").allows([(0, 3), (0, 2), (0, 1)], 6, size=6)
    True
    >>> MaxRatio("1/2", strict=True).allows([(0, 3), (0, 2), (0, 1)], 6, size=6)
    False
    """

    most: Fraction
    strict: bool = False
    values: tuple[Hashable, ...] | None = None
    excluded: tuple[Hashable, ...] = ()
    convex: ClassVar[bool] = True
    complete: ClassVar[bool] = True

    def __init__(
        self,
        limit: Any,
        strict: bool = False,
        values: Iterable[Hashable] | None = None,
        excluded: Iterable[Hashable] = (),
    ) -> None:
        most = as_fraction(limit, "MaxRatio")
        if not 0 < most <= 1:
            raise InputError(f"MaxRatio must be above 0 and at most 1, not {limit}")
        object.__setattr__(self, "most", most)
        object.__setattr__(self, "strict", bool(strict))
        some, but = read_about("MaxRatio", values, excluded)
        object.__setattr__(self, "values", some)
        object.__setattr__(self, "excluded", but)

    def __repr__(self) -> str:
        extra = ", strict=True" if self.strict else ""
        return f"MaxRatio('{self.most}'{extra}{about_text(self.values, self.excluded)})"

    def colour(self, value: Hashable) -> Hashable:
        """Two colours: values that matter, and others."""
        return 0 if is_about(value, self.values, self.excluded) else 1

    def limit(self, size: int, colour: Hashable) -> int:
        """The largest whole number within the ratio."""
        if colour:
            return size
        most = self.most.numerator * size
        return (most - 1 if self.strict else most) // self.most.denominator

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Compare in whole numbers."""
        most = self.most.numerator * total - (1 if self.strict else 0)
        by = self.most.denominator
        return all(count * by <= most for colour, count in row if not colour)


class _Symmetric:
    """All values alike; the most that a value may occur is found with all others distinct."""

    convex: ClassVar[bool] = True
    complete: ClassVar[bool] = False

    def colour(self, value: Hashable) -> Hashable:
        """Exchanging any two values changes nothing."""
        return 0

    def limit(self, size: int, colour: Hashable) -> int:
        """Bisection: a value that occurs less often leaves room for more diversity."""
        low, high = 0, size
        while low < high:
            middle = (low + high + 1) // 2
            row = [(0, middle), *[(0, 1)] * (size - middle)]
            low, high = (middle, high) if self.allows(row, size, size) else (low, middle - 1)
        return low

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Judge one person."""
        raise NotImplementedError


@dataclass(frozen=True)
class Distinct(_Symmetric):
    """Everybody has at least l possible values. Set-monotonic.

    Examples
    --------
    >>> Distinct(2).allows([(0, 5), (0, 1)], 6, size=6)
    True
    """

    l: int  # noqa: E741

    def __post_init__(self) -> None:
        _whole(self.l, "Distinct")

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Count the possible values."""
        return sum(count > 0 for _, count in row) >= self.l


@dataclass(frozen=True)
class Entropy(_Symmetric):
    """The entropy of everybody's value is at least log(l). Decided exactly, not by floats.

    Parameters
    ----------
    l : number or str
        At least 1; need not be whole.

    Examples
    --------
    >>> Entropy(2).allows([(0, 1), (0, 1)], 2, size=2), Entropy(2).allows([(0, 2), (0, 1)], 3, 3)
    (True, False)
    """

    l: Fraction  # noqa: E741

    def __init__(self, l: Any) -> None:  # noqa: E741
        number = as_fraction(l, "Entropy")
        if number < 1:
            raise InputError(f"Entropy: l must be at least 1, not {l}")
        object.__setattr__(self, "l", number)

    def __repr__(self) -> str:
        return f"Entropy({self.l})" if self.l.denominator == 1 else f"Entropy('{self.l}')"

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Compare total^total with l^total times the product of count^count."""
        return at_least([count for _, count in row if count], self.l)


@dataclass(frozen=True)
class Recursive(_Symmetric):
    """Recursive (c, l)-diversity: the likeliest value is less likely than c times the rest.

    Strictly less. The rest are all values after the l - 1 likeliest.

    Examples
    --------
    >>> Recursive(1, 2).allows([(0, 1), (0, 1)], 2, size=2)  # strictly
    False
    """

    c: Fraction
    l: int  # noqa: E741

    def __init__(self, c: Any, l: int) -> None:  # noqa: E741
        times = as_fraction(c, "Recursive")
        if times <= 0:
            raise InputError(f"Recursive: c must be above 0, not {c}")
        object.__setattr__(self, "c", times)
        object.__setattr__(self, "l", _whole(l, "Recursive"))

    def __repr__(self) -> str:
        return f"Recursive({str(self.c)!r}, {self.l})"

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Sort and add, in whole numbers."""
        counts = sorted((count for _, count in row), reverse=True)
        rest = sum(counts[self.l - 1 :])
        return counts[0] * self.c.denominator < self.c.numerator * rest


@dataclass(frozen=True)
class KAnonymity:
    """Everybody's group has at least k people; the same for a set of tables and its subsets.

    Examples
    --------
    >>> KAnonymity(3).allows([(0, 1)], 1, size=2)
    False
    """

    k: int
    convex: ClassVar[bool] = True
    complete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _whole(self.k, "KAnonymity")

    def colour(self, value: Hashable) -> Hashable:
        """Values do not matter."""
        return 0

    def limit(self, size: int, colour: Hashable) -> int:
        """No value at all in a group that is too small."""
        return size if size >= self.k else -1

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Judge the group's size."""
        return size >= self.k
