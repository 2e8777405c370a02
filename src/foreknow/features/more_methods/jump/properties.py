"""Properties of disclosure sets, for k-jump.

A property judges one person at a time: with which probability they have each value, over a set of
equally likely tables. A set of tables has the property where everybody in the table does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from foreknow import numbers
from foreknow.criteria.diversity import entropy_is_at_least
from foreknow.criteria.group_criterion import OfGroups
from foreknow.criteria.size import GroupSize, KAnonymity
from foreknow_judge.errors import InputError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import as_fraction

# (colour, number of tables in which a person has that value), for values that are possible
Row: TypeAlias = Sequence[tuple[Hashable, int]]


@runtime_checkable
class Property(Protocol):
    """A safety property of disclosure sets."""

    @property
    def convex(self) -> bool:
        """True if a mixture of two persons' probabilities has the property if both have.

        Then a permutation set without the property has no subset with it (Lemma 3): the people
        of a group have, on average, the group's values. So checking the permutation set first
        changes nothing. Nor does it matter whether readers can tell which of several functions
        that group people alike made a release: what they are left with is a mixture.
        """

    @property
    def complete(self) -> bool:
        """True if `limit` alone decides about a permutation set (all tables of a release)."""

    def colour(self, value: Hashable) -> Hashable:
        """Values of one colour are treated alike: exchanging them changes no verdict."""

    def limit(self, size: int, colour: Hashable) -> int:
        """How often a value of a colour may occur at most in a group of that size."""

    def allows(self, row: Row, total: int, size: int) -> bool:
        """True if a person may have each value in as many of `total` tables as `row` says."""


class _OfSomeValues:
    """A property of some values only, compared as they print: colour 0, all others colour 1."""

    values: tuple[Hashable, ...] | None
    excluded: tuple[Hashable, ...]
    convex: ClassVar[bool] = True

    def _set_values_and_read_limit(
        self, limit: Any, values: Iterable[Hashable] | None, excluded: Iterable[Hashable]
    ) -> Fraction:
        """Set `values` and `excluded`, and return the limit as a fraction above 0 and at most 1."""
        name = type(self).__name__
        for key, labels in (("values", values), ("excluded", excluded)):
            # A text would be read as a list of letters.
            if isinstance(labels, str):
                raise InputError(f"{name}: {key} is a list of values")
        set_fields(self, values=None if values is None else tuple(values))
        set_fields(self, excluded=tuple(excluded))
        fraction = as_fraction(limit)
        if not 0 < fraction <= 1:
            raise InputError(f"{name}: the limit must be above 0 and at most 1, not {limit}")
        return fraction

    def _value_arguments(self) -> str:
        """The arguments that say which values matter, as they are written."""
        text = "" if self.values is None else f", values={list(self.values)}"
        return text + (f", excluded={list(self.excluded)}" if self.excluded else "")

    def colour(self, value: Hashable) -> Hashable:
        text = str(value)
        is_asked = self.values is None or text in map(str, self.values)
        return 0 if is_asked and text not in map(str, self.excluded) else 1


@dataclass(frozen=True)
class MaxRatio(_OfSomeValues):
    """Nobody has any value with a probability above a limit.

    The limit itself is allowed, as in the paper ("no greater than 1/2"), unless `strict` is true.
    Requirements of a policy say *below* instead.

    Parameters
    ----------
    limit : number or str
        The highest probability, above 0 and at most 1.
    strict : bool
        Whether probabilities must stay below the limit.
    values : list, optional
        The values that are limited; the default is all. They are compared as they print, as in a
        policy.
    excluded : list
        Values that are not limited.

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
        """Read the limit; `values` and `excluded` say which values it is about."""
        set_fields(self, most=self._set_values_and_read_limit(limit, values, excluded))
        set_fields(self, strict=bool(strict))

    def __repr__(self) -> str:
        extra = ", strict=True" if self.strict else ""
        return f"MaxRatio('{self.most}'{extra}{self._value_arguments()})"

    def limit(self, size: int, colour: Hashable) -> int:
        """The most people of a group of this size who may have one value."""
        if colour:
            return size
        highest = self.most.numerator * size
        return (highest - 1 if self.strict else highest) // self.most.denominator

    def allows(self, row: Row, total: int, size: int) -> bool:
        """True if no limited value has too large a share; compares whole numbers."""
        highest = self.most.numerator * total - (1 if self.strict else 0)
        by = self.most.denominator
        return all(count * by <= highest for colour, count in row if not colour)


def _last(highest: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `highest` that fits, by bisection; 0 fits always."""
    return bisect_left(range(1, highest + 1), True, key=lambda n: not fits(n))


class _Symmetric:
    """A property that treats values alike: it allows a value most with all others distinct."""

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
    """Everybody has at least l possible values. This property is set-monotonic.

    Examples
    --------
    >>> Distinct(2).allows([(0, 5), (0, 1)], 6, size=6)
    True
    """

    l: int

    def __post_init__(self) -> None:
        numbers.whole_number(self.l, "Distinct", 1)

    def allows(self, row: Row, total: int, size: int) -> bool:
        """True if the person has at least l possible values."""
        return sum(count > 0 for _, count in row) >= self.l


@dataclass(frozen=True)
class Entropy(_Symmetric):
    """The entropy of everybody's value is at least log(l), decided exactly.

    Examples
    --------
    >>> Entropy(2).allows([(0, 1), (0, 1)], 2, size=2), Entropy(2).allows([(0, 2), (0, 1)], 3, 3)
    (True, False)
    """

    l: Fraction

    def __init__(self, l: Any) -> None:
        number = as_fraction(l)
        if number < 1:
            raise InputError(f"Entropy: l must be at least 1, not {l}")
        set_fields(self, l=number)

    def __repr__(self) -> str:
        return f"Entropy({self.l})" if self.l.denominator == 1 else f"Entropy('{self.l}')"

    def allows(self, row: Row, total: int, size: int) -> bool:
        """Compare total^total with l^total times the product of count^count."""
        return entropy_is_at_least([count for _, count in row if count], self.l)


@dataclass(frozen=True)
class Recursive(_Symmetric):
    """Recursive (c, l)-diversity: the likeliest value is less likely than c times the rest.

    The inequality is strict. The rest are all values after the l - 1 likeliest.

    Examples
    --------
    >>> Recursive(1, 2).allows([(0, 1), (0, 1)], 2, size=2)  # strictly
    False
    """

    c: Fraction
    l: int

    def __init__(self, c: Any, l: int) -> None:
        times = as_fraction(c)
        if times <= 0:
            raise InputError(f"Recursive: c must be above 0, not {c}")
        set_fields(self, c=times)
        set_fields(self, l=numbers.whole_number(l, "Recursive", 1))

    def __repr__(self) -> str:
        return f"Recursive({str(self.c)!r}, {self.l})"

    def allows(self, row: Row, total: int, size: int) -> bool:
        """True if counts have the property; computed exactly, by sorting and adding them."""
        counts = sorted((count for _, count in row), reverse=True)
        n_after = sum(counts[self.l - 1 :])
        return counts[0] * self.c.denominator < self.c.numerator * n_after


@dataclass(frozen=True)
class RuledOut(_OfSomeValues):
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
        """Read the limit, the number l of values ruled out, and which values the limit is about."""
        set_fields(self, below=self._set_values_and_read_limit(limit, values, excluded))
        set_fields(self, l=numbers.whole_number(l, "RuledOut: l", 0))

    def __repr__(self) -> str:
        return f"RuledOut('{self.below}', {self.l}{self._value_arguments()})"

    def limit(self, size: int, colour: Hashable) -> int:
        """The most, by bisection: the fewest can be ruled out where all other values differ."""
        if colour:
            return size
        return _last(size, lambda n: self._below(n, min(self.l, size - n), size))

    def allows(self, row: Row, total: int, size: int) -> bool:
        """True if nobody becomes too sure of a value that matters, with `l` other values ruled out.

        `row` has, for each value, its colour (0 if it matters) and in how many of `total` tables
        the person has it. The likeliest value that matters decides; others have more room.
        """
        largest_count = max((count for colour, count in row if not colour), default=0)
        if not largest_count:
            return True
        # The adversary rules out the l likeliest values other than this one.
        ranked = sorted((count for _, count in row), reverse=True)
        # If this value is among the l + 1 likeliest, those are the l others; else the l likeliest.
        is_ranked = len(ranked) <= self.l or largest_count >= ranked[self.l]
        if is_ranked:
            n_ruled_out = sum(ranked[: self.l + 1]) - largest_count
        else:
            n_ruled_out = sum(ranked[: self.l])
        return self._below(largest_count, n_ruled_out, total)

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
        Whether exchanging values never changes the verdict. If so, values get arbitrary names, and
        sets are found faster.
    name : str
        The name that is shown for the condition.

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
        """The value itself; 0 if the condition is symmetric."""
        return 0 if self.symmetric else value

    def limit(self, size: int, colour: Hashable) -> int:
        """The size of the group: the condition sets no limit before it is called."""
        return size

    def allows(self, row: Row, total: int, size: int) -> bool:
        """True if the callable accepts the person's probabilities."""
        # A symmetric condition gets arbitrary names, 0, 1, ..., for the values.
        numbered_counts = enumerate(count for _, count in row) if self.symmetric else row
        return bool(
            self.holds({value: Fraction(count, total) for value, count in numbered_counts if count})
        )


@dataclass(frozen=True, init=False)
class All:
    """All of several properties at once.

    Examples
    --------
    >>> both = All(MaxRatio("2/3"), Distinct(3))
    >>> colour = both.colour("Flu")
    >>> both.allows([(colour, 1), (colour, 1)], 2, size=2)
    False
    """

    parts: tuple[Property, ...]

    def __init__(self, *properties: Any) -> None:
        if not properties:
            raise InputError("All needs at least one property")
        set_fields(self, parts=tuple(map(as_property, properties)))

    def __repr__(self) -> str:
        return f"All({', '.join(map(repr, self.parts))})"

    @property
    def convex(self) -> bool:
        """True if every part is convex."""
        return all(part.convex for part in self.parts)

    @property
    def complete(self) -> bool:
        """True if every part is complete."""
        return all(part.complete for part in self.parts)

    def colour(self, value: Hashable) -> Hashable:
        """The colours that the parts give a value: values are alike if they are for every part."""
        return tuple([part.colour(value) for part in self.parts])

    def limit(self, size: int, colour: Hashable) -> int:
        """The lowest of the parts' limits."""
        pairs = zip(self.parts, _colours_of_parts(colour), strict=True)
        return min(part.limit(size, colour_of_part) for part, colour_of_part in pairs)

    def allows(self, row: Row, total: int, size: int) -> bool:
        """True if every part allows the probabilities."""
        for position, part in enumerate(self.parts):
            if not part.allows(_row_of_part(row, position), total, size):
                return False
        return True


def _colours_of_parts(colour: Hashable) -> tuple[Hashable, ...]:
    return colour if isinstance(colour, tuple) else ()


def as_property(source: Any) -> Property:
    """Return a property as it is, or make one of a callable; refuse anything else.

    A subclass of a built-in property that judges otherwise would inherit limits that are not true
    of it, so subclasses are refused.
    """
    property_classes = (
        MaxRatio,
        Distinct,
        Entropy,
        Recursive,
        GroupSize,
        KAnonymity,
        RuledOut,
        Each,
        All,
    )
    if isinstance(source, property_classes) and type(source) not in property_classes:
        raise InputError(
            f"{type(source).__name__} inherits what may not be true of it: write a property that "
            "declares convex and complete itself, or take Each(function)"
        )
    if not isinstance(source, type) and isinstance(source, Property):
        return source
    if not isinstance(source, (type, OfGroups)) and callable(source):
        return Each(source)
    raise InputError(f"property must be such as MaxRatio('1/2'), not {source!r}")


def _row_of_part(row: Row, position: int) -> Row:
    """A row in the colours of one of several properties."""
    return [(_colours_of_parts(colour)[position], count) for colour, count in row]


def survives(required: Property, row: Row, total: int, size: int, loss: Fraction) -> bool:
    """True if a person surely keeps a property when a share of the tables, at most `loss`, goes.

    A probability a becomes a / (1 - loss) at most, and (a - loss) / (1 - loss) at least.

    Parameters
    ----------
    required : Property
    row : sequence of (class of the value, count)
        In how many of the tables the person has each value.
    total : int
        How many tables there are.
    size : int
        How many people the group of the person has.
    loss : Fraction

    Examples
    --------
    >>> survives(MaxRatio("1/2"), [(0, 3), (0, 4)], 10, 10, Fraction(1, 5))
    True
    """
    if loss >= 1:
        return False
    if not loss:
        return required.allows(row, total, size)
    # The most that each probability can become, the likeliest value first.
    ranked = sorted((Fraction(count, total) / (1 - loss) for _, count in row), reverse=True)
    match required:
        case All():
            for position, part in enumerate(required.parts):
                if not survives(part, _row_of_part(row, position), total, size, loss):
                    return False
            return True
        case GroupSize():
            return size >= required.k
        # The likeliest value that matters (colour 0), at its highest; for RuledOut others go, too.
        case MaxRatio() | RuledOut():
            highest_share = max((Fraction(n, total) for c, n in row if not c), default=Fraction(0))
            highest_share /= 1 - loss
            if isinstance(required, MaxRatio):
                return highest_share < required.most or (
                    highest_share == required.most and not required.strict
                )
            ruled_out_share = required.below * sum(ranked[: required.l], Fraction(0))
            return not highest_share or highest_share + ruled_out_share < required.below
        # A value is surely still possible if more tables have it than are lost.
        case Distinct():
            return sum(Fraction(count, total) > loss for _, count in row) >= required.l
        case Recursive():
            return ranked[0] < required.c * (1 - sum(ranked[: required.l - 1], Fraction(0)))
    return False
