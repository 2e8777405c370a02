"""Properties made of callables and of other properties; and whether losing tables can spoil one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from foreknow.errors import InputError
from foreknow.jumping.properties import (
    Distinct,
    KAnonymity,
    MaxRatio,
    Property,
    Recursive,
    Row,
)
from foreknow.jumping.ruling import RuledOut


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
        object.__setattr__(self, "parts", tuple(as_property(part) for part in parts))

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
    """A property, or a callable made one."""
    if isinstance(given, type) or given is None:
        raise InputError(f"property must be such as MaxRatio('1/2'), not {given!r}")
    if isinstance(given, Property):
        return given
    if callable(given):
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
        case KAnonymity():
            return size >= given.k
        case MaxRatio():
            most = max((Fraction(n, total) for c, n in row if not c), default=Fraction(0))
            most /= 1 - loss
            return most < given.most or (most == given.most and not given.strict)
        case RuledOut():
            most = max((Fraction(n, total) for c, n in row if not c), default=Fraction(0))
            most /= 1 - loss
            ruled = given.below * sum(ranked[: given.l], Fraction(0))
            return not most or most + ruled < given.below
        case Distinct():
            return sum(Fraction(count, total) > loss for _, count in row) >= given.l
        case Recursive():
            return ranked[0] < given.c * (1 - sum(ranked[: given.l - 1], Fraction(0)))
    return False
