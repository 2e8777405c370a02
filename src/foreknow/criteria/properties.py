"""Criteria: classical ones of groups, and properties of what everybody's values may be.

A property judges one person at a time: with which probability they have each value, over a set of
equally likely tables. A set of tables has the property where everybody in the table does. The
classical criteria, k-anonymity and recursive (c, l)-diversity, are special cases of adversaries
here: see `Facts` and `Negations`, and the tests that show it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from pydantic import Field

from foreknow import numbers
from foreknow.adversaries.protocol import HasCounts, Speaks, counts_of, whole_amount
from foreknow.criteria.diversity import LDiversity, at_least
from foreknow.criteria.protocol import (
    Attained,
    EachGroup,
    OfGroups,
    classes_of,
    groups_of,
    smallest,
)
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError, UnsupportedError, hints
from foreknow.frozen import settle
from foreknow.needs import Need, Needs, require
from foreknow.settings import FromOne, Settings

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


class _About:
    """A property of some values only, compared as they print: colour 0, all others colour 1."""

    values: tuple[Hashable, ...] | None
    excluded: tuple[Hashable, ...]
    convex: ClassVar[bool] = True

    def _read(
        self, limit: Any, values: Iterable[Hashable] | None, excluded: Iterable[Hashable]
    ) -> Fraction:
        """The limit; the values that matter are kept."""
        name = type(self).__name__
        for key, given in (("values", values), ("excluded", excluded)):
            if isinstance(given, str):
                raise InputError(f"{name}: {key} is a list of values")
        settle(self, values=None if values is None else tuple(values))
        settle(self, excluded=tuple(excluded))
        most = numbers.as_fraction(limit)
        if not 0 < most <= 1:
            raise InputError(f"{name}: the limit must be above 0 and at most 1, not {limit}")
        return most

    def _about(self) -> str:
        """The arguments that say which values matter, as they are written."""
        text = "" if self.values is None else f", values={list(self.values)}"
        return text + (f", excluded={list(self.excluded)}" if self.excluded else "")

    def colour(self, value: Hashable) -> Hashable:
        text = str(value)
        wanted = self.values is None or text in map(str, self.values)
        return 0 if wanted and text not in map(str, self.excluded) else 1


@dataclass(frozen=True)
class MaxRatio(_About):
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
    complete: ClassVar[bool] = True

    def __init__(
        self,
        limit: Any,
        strict: bool = False,
        values: Iterable[Hashable] | None = None,
        excluded: Iterable[Hashable] = (),
    ) -> None:
        settle(self, most=self._read(limit, values, excluded))
        settle(self, strict=bool(strict))

    def __repr__(self) -> str:
        extra = ", strict=True" if self.strict else ""
        return f"MaxRatio('{self.most}'{extra}{self._about()})"

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


def _last(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `most` that fits, by bisection; 0 fits."""
    return bisect_left(range(1, most + 1), True, key=lambda n: not fits(n))


class _Symmetric:
    """All values alike; the most that a value may occur is found with all others distinct."""

    convex: ClassVar[bool] = True
    complete: ClassVar[bool] = False

    def colour(self, value: Hashable) -> Hashable:
        return 0

    def limit(self, size: int, colour: Hashable) -> int:
        # A value that occurs less often leaves room for more diversity.
        return _last(size, lambda n: self.allows([(0, n), *[(0, 1)] * (size - n)], size, size))

    def allows(self, row: Row, total: int, size: int) -> bool:
        raise NotImplementedError


@dataclass(frozen=True)
class Distinct(_Symmetric):
    """Everybody has at least l possible values. Set-monotonic.

    Examples
    --------
    >>> Distinct(2).allows([(0, 5), (0, 1)], 6, size=6)
    True
    """

    l: int

    def __post_init__(self) -> None:
        numbers.whole_number(self.l, "Distinct", 1)

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

    l: Fraction

    def __init__(self, l: Any) -> None:
        number = numbers.as_fraction(l)
        if number < 1:
            raise InputError(f"Entropy: l must be at least 1, not {l}")
        settle(self, l=number)

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
    l: int

    def __init__(self, c: Any, l: int) -> None:
        times = numbers.as_fraction(c)
        if times <= 0:
            raise InputError(f"Recursive: c must be above 0, not {c}")
        settle(self, c=times)
        settle(self, l=numbers.whole_number(l, "Recursive", 1))

    def __repr__(self) -> str:
        return f"Recursive({str(self.c)!r}, {self.l})"

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Sort and add, in whole numbers."""
        counts = sorted((count for _, count in row), reverse=True)
        rest = sum(counts[self.l - 1 :])
        return counts[0] * self.c.denominator < self.c.numerator * rest


# What counts remember that are of numbers of units, and not of values.
UNITS = "units"


class OfUnits(Settings):
    """``{ k = 5, of = "household_id" }``: the table of a size that is not of rows."""

    k: FromOne
    of: str


@hints()
@dataclass(frozen=True, repr=False)
class GroupSize(OfGroups):
    """Every group has at least k people; the same for a set of tables and its subsets.

    So many share one bag of values. How many look alike is another question where exact columns are
    published beside the group: see `KAnonymity`.

    Parameters
    ----------
    k : int
        From 1.
    of : str, optional
        A column that numbers households, or other units: so many different ones are in each group,
        as the owner counts; a release does not show it. A row that names none is one by itself.

    Examples
    --------
    >>> from foreknow.data.counts import GroupCounts
    >>> counts = GroupCounts.from_bags([["Flu", "Cold"], ["Flu", "Flu", "AIDS"]])
    >>> GroupSize(3).measure(counts), GroupSize(3).holds(counts)
    (2, False)
    """

    k: int
    of: str | None = None
    key: ClassVar[str] = "group_size"
    settings: ClassVar[Any] = Annotated[
        FromOne | OfUnits, Field(description="people in each group", examples=[5])
    ]
    needs: ClassVar[Needs] = frozenset({Need.NO_WINDOWS, Need.NO_SETS, Need.EVERYBODY})
    of_people: ClassVar[bool] = True
    compares_table: ClassVar[bool] = False
    speaks: ClassVar[Speaks] = Speaks(0)
    convex: ClassVar[bool] = True
    complete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        numbers.whole_number(self.k, name, 1)
        if self.of is not None and not isinstance(self.of, str):
            raise InputError(f"{name}: of names one column of households or persons, not {self.of}")

    @property
    def least(self) -> int:  # type: ignore[override]
        """How many people a group has at least."""
        return self.k

    def colour(self, value: Hashable) -> Hashable:
        """Values do not matter."""
        return 0

    def limit(self, size: int, colour: Hashable) -> int:
        """No value at all in a group that is too small."""
        return size if size >= self.k else -1

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Judge the group's size."""
        return size >= self.k

    @classmethod
    def from_settings(cls, read: Any, folder: Path) -> GroupSize:
        """Make it of ``group_size = 5`` in a policy file, or of a table that says of what."""
        return cls(read) if isinstance(read, int) else cls(read.k, read.of)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.k}{'' if self.of is None else f', of={self.of!r}'})"

    def under(self, schema: Any, sensitive: str | None = None) -> GroupSize:
        """Of people, where rows are their cases."""
        return replace(self, of=schema.person) if schema.counts_people and not self.of else self

    def attained(self, release: HasCounts) -> Attained:
        """The smallest group of a release."""
        return self._least(groups_of(release))

    def sizes(self, counts: GroupCounts) -> IntArray:
        """People, or different units, of each group."""
        if self.of is None:
            return counts.sizes
        if UNITS not in counts.memory:
            raise UnsupportedError(
                f"{self}: how many different {self.of} groups have, a release and its counts do "
                "not tell; give publish or audit the table, with a policy"
            )
        return units_of(counts)

    def _least(self, counts: GroupCounts) -> Attained:
        sizes = self.sizes(counts)
        group = int(np.argmin(sizes))
        size = int(sizes[group])
        people = "person" if size == 1 else "people"
        people = people if self.of is None else f"different {self.of}"
        words = f"{smallest(counts)} has {size} {people}, the least is {self.k}"
        return Attained(size, size >= self.k, words, counts.group_label(group))

    def ledger(self, semantics: Semantics = "single", whole: Any = None) -> EachGroup:
        """Start a ledger for a search."""
        return EachGroup(
            lambda counts: self.sizes(counts) < self.k,
            lambda counts: np.where(self.sizes(counts) < self.k, counts.sizes, 0),
        )

    def to_dict(self) -> dict[str, Any]:
        """What stands for it in a policy file, such as ``{"group_size": 5}``."""
        return {self.key: self.k if self.of is None else {"k": self.k, "of": self.of}}


@hints()
@dataclass(frozen=True, repr=False)
class KAnonymity(GroupSize):
    """Everybody looks like at least k people, by the columns that others may know of them.

    Who looks alike is judged by what is seen. In the generalized form it is everybody in a group;
    in the bucketized form, everybody with the same exact values, whatever their groups. A release
    of groups alone, without such columns, is judged by these.

    Parameters
    ----------
    k : int
        From 1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.release import Release
    >>> people = pa.table({"group": [1, 1, 1, 1], "age": [30, 30, 41, 41]})
    >>> tally = pa.table({"group": [1, 1], "disease": ["Flu", "AIDS"], "count": [3, 1]})
    >>> release = Release.from_bucketized(tally, sensitive="disease", people=people)
    >>> KAnonymity(3).measure(release), GroupSize(3).measure(release)
    (2, 4)
    """

    key: ClassVar[str] = "k_anonymity"
    of_look_alikes: ClassVar[bool] = True  # and not only who is in a group

    @property
    def of_groups(self) -> GroupSize | None:
        """Groups of anybody; of units, the same, which are counted in groups."""
        return GroupSize(1) if self.of is None else None

    def attained(self, release: HasCounts) -> Attained:
        """The smallest group of a release, or the fewest people whose exact columns are equal."""
        return self._least(classes_of(release) if self.of is None else groups_of(release))


def units_of(counts: GroupCounts) -> IntArray:
    """Different units of each group: the value 0 is of units that have one row each."""
    each = np.where(counts.codes == 0, counts.counts, 1)
    return np.bincount(counts.cell_groups, each, counts.n_groups).astype(np.int64)


@dataclass(frozen=True)
class RuledOut(_About):
    """Nobody has a value that matters with a probability that reaches a limit, others ruled out.

    Strictly below, as in a policy. It is convex: p(v) + limit * p(R) < limit for every choice of R,
    or p(v) = 0, where p(v) + limit * p(R) is at most the limit, too. So a mixture of two persons'
    probabilities that have it has it: below the limit where one of the two is, else still 0.

    `l` other values may be ruled out, whichever they are, excluded ones too; fewer where there
    are fewer.

    >>> hiv = RuledOut("1/2", 1, values=["HIV"])
    >>> hiv.allows([(0, 2), (1, 1), (1, 3)], 6, size=6)  # 2 of 3, where the last is ruled out
    False
    >>> hiv.allows([(0, 1), (1, 2), (1, 3)], 6, size=6)
    True
    """

    below: Fraction
    l: int
    values: tuple[Hashable, ...] | None
    excluded: tuple[Hashable, ...]
    complete: ClassVar[bool] = False

    def __init__(
        self,
        limit: Any,
        l: int,
        values: Iterable[Hashable] | None = None,
        excluded: Iterable[Hashable] = (),
    ) -> None:
        settle(self, below=self._read(limit, values, excluded))
        settle(self, l=numbers.whole_number(l, "RuledOut: l", 0))

    def __repr__(self) -> str:
        return f"RuledOut('{self.below}', {self.l}{self._about()})"

    def limit(self, size: int, colour: Hashable) -> int:
        """Bisection: the fewest can be ruled out where all other people's values differ."""
        if colour:
            return size
        return _last(size, lambda n: self._below(n, min(self.l, size - n), size))

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Judge the likeliest value that matters: the others have more room."""
        most = max((count for colour, count in row if not colour), default=0)
        if not most:
            return True
        ranked = sorted((count for _, count in row), reverse=True)
        # Of the likeliest l + 1, it is one or is not; then the last is not ruled out either.
        among = len(ranked) <= self.l or most >= ranked[self.l]
        others = sum(ranked[: self.l + 1]) - most if among else sum(ranked[: self.l])
        return self._below(most, others, total)

    def _below(self, count: int, ruled_out: int, total: int) -> bool:
        return count * self.below.denominator < self.below.numerator * (total - ruled_out)


@dataclass(frozen=True)
class Each:
    """Any condition on a person's values: a callable from {value: probability} to a verdict.

    Parameters
    ----------
    holds : callable
        Takes a dict of the possible values with exact probabilities; must be deterministic.
    symmetric : bool
        Whether exchanging values never changes the verdict; then values get arbitrary names, and
        sets are found faster.
    name : str

    Examples
    --------
    >>> no_aids = Each(lambda shares: shares.get("AIDS", 0) <= Fraction(1, 3))
    >>> no_aids.allows([("AIDS", 1), ("Flu", 1)], 2, size=2)
    False
    """

    holds: Callable[[Mapping[Hashable, Fraction]], bool]
    symmetric: bool = False
    name: str = field(default="Each")
    convex: ClassVar[bool] = False
    complete: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"{self.name}(...)" if self.name == "Each" else self.name

    def colour(self, value: Hashable) -> Hashable:
        """Every value by itself, unless the condition is said to be symmetric."""
        return 0 if self.symmetric else value

    def limit(self, size: int, colour: Hashable) -> int:
        """Nothing is known before the condition is asked."""
        return size

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Ask the callable."""
        named = enumerate(count for _, count in row) if self.symmetric else row
        return bool(self.holds({value: Fraction(count, total) for value, count in named if count}))


@dataclass(frozen=True, init=False)
class All:
    """Several properties at once.

    Examples
    --------
    >>> both = All(MaxRatio("2/3"), Distinct(3))
    >>> colour = both.colour("Flu")
    >>> both.allows([(colour, 1), (colour, 1)], 2, size=2)
    False
    """

    parts: tuple[Property, ...]

    def __init__(self, *parts: Any) -> None:
        if not parts:
            raise InputError("All needs at least one property")
        settle(self, parts=tuple(as_property(part) for part in parts))

    def __repr__(self) -> str:
        return f"All({', '.join(map(repr, self.parts))})"

    @property
    def convex(self) -> bool:
        """Where all are."""
        return all(part.convex for part in self.parts)

    @property
    def complete(self) -> bool:
        """Where all are."""
        return all(part.complete for part in self.parts)

    def colour(self, value: Hashable) -> Hashable:
        """Alike for all of them."""
        return tuple(part.colour(value) for part in self.parts)

    def limit(self, size: int, colour: Hashable) -> int:
        """The least limit."""
        return min(
            part.limit(size, one) for part, one in zip(self.parts, _each(colour), strict=True)
        )

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Whether all do."""
        return all(
            part.allows([(_each(colour)[i], count) for colour, count in row], total, size)
            for i, part in enumerate(self.parts)
        )


def _each(colour: Hashable) -> tuple[Hashable, ...]:
    return colour if isinstance(colour, tuple) else ()


def as_property(given: Any) -> Property:
    """A property, or a callable made one.

    A class that inherits from one of these and judges otherwise would have its limits and traits.
    """
    own = (MaxRatio, Distinct, Entropy, Recursive, GroupSize, KAnonymity, RuledOut, Each, All)
    if isinstance(given, own) and type(given) not in own:
        raise InputError(
            f"{type(given).__name__} inherits what may not be true of it: write a property that "
            "declares convex and complete itself, or take Each(function)"
        )
    if not isinstance(given, type) and isinstance(given, Property):
        return given
    if not isinstance(given, type) and callable(given):
        return Each(given)
    raise InputError(f"property must be such as MaxRatio('1/2'), not {given!r}")


def survives(given: Property, row: Row, total: int, size: int, loss: Fraction) -> bool:
    """Whether a person keeps the property when a share of the tables, at most `loss`, goes.

    True only where that is certain. A probability a becomes a / (1 - loss) at most, and
    (a - loss) / (1 - loss) at least.

    >>> survives(MaxRatio("1/2"), [(0, 3), (0, 4)], 10, 10, Fraction(1, 5))
    True
    """
    if loss >= 1:
        return False
    if not loss:
        return given.allows(row, total, size)
    ranked = sorted((Fraction(count, total) / (1 - loss) for _, count in row), reverse=True)
    match given:
        case All():
            return all(
                survives(part, [(_each(c)[i], n) for c, n in row], total, size, loss)
                for i, part in enumerate(given.parts)
            )
        case GroupSize():
            return size >= given.k
        case MaxRatio() | RuledOut():
            most = max((Fraction(n, total) for c, n in row if not c), default=Fraction(0))
            most /= 1 - loss
            if isinstance(given, MaxRatio):
                return most < given.most or (most == given.most and not given.strict)
            ruled = given.below * sum(ranked[: given.l], Fraction(0))
            return not most or most + ruled < given.below
        case Distinct():
            return sum(Fraction(count, total) > loss for _, count in row) >= given.l
        case Recursive():
            return ranked[0] < given.c * (1 - sum(ranked[: given.l - 1], Fraction(0)))
    return False


# ---- classical criteria of a release -------------------------------------------------------------


def k_anonymity(release: HasCounts) -> int:
    """Return the largest k for which everybody looks like at least k people; 0 without groups.

    Notes
    -----
    Where everybody's sensitive value is their identity, it is at least k exactly where
    ``Facts(k=k - 2)`` stays below 1 (Proposition 3 of "Privacy Skyline"), for k of 2 or more.

    Examples
    --------
    >>> from foreknow.data.counts import GroupCounts
    >>> k_anonymity(GroupCounts.from_bags([["Flu", "Cold"], ["Flu", "Flu", "AIDS"]]))
    2
    """
    if isinstance(release, int):
        raise InputError(
            f"k_anonymity(release) says which k a release has; Requirement(KAnonymity({release})) "
            "requires it"
        )
    counts = counts_of(release)
    return int(classes_of(release).sizes.min()) if counts.n_groups else 0


def is_recursively_diverse(release: HasCounts, c: numbers.Number, l: int) -> bool:
    """Whether every group is recursively (c, l)-diverse, in the strict form.

    The most frequent value of each group occurs strictly less than c times as often as all values
    together that come after the l - 1 most frequent ones.

    Parameters
    ----------
    release : Release or GroupCounts
        Under ``single``.
    c : number
        Above 0.
    l : int
        At least 2.

    Raises
    ------
    InputError
        If c or l is out of range, or people have several values.

    Notes
    -----
    The same as that ``Negations(l - 2)`` stays below c / (c + 1), for every value. Definition 17 of
    "Worst-Case Background Knowledge" lost the strictness and its parentheses: with "at most", one
    person with a and one with b would be (1, 2)-diverse, and each value be disclosed with 1/2.

    Examples
    --------
    >>> from foreknow.data.counts import GroupCounts
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cold", "Cancer"]])
    >>> is_recursively_diverse(counts, c=1, l=2), is_recursively_diverse(counts, c=1, l=3)
    (True, False)
    """
    counts = counts_of(release)
    require("(c, l)-diversity", LDiversity.needs, semantics=counts.semantics)
    times, least = numbers.as_fraction(c), whole_amount("(c, l)-diversity", "l", l)
    if times <= 0 or least < 2:
        raise InputError(f"(c, l)-diversity needs c above 0 and l of at least 2, not {(c, l)}")
    return bool(LDiversity(least, "recursive", times).ledger().alone(counts).all())
