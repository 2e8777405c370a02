"""Ruling out: a highest ratio that holds also for whoever knows values that a person does not have.

The facts "not this value" of "Privacy Skyline: Privacy with Multidimensional Adversarial Knowledge"
(section 4), about one person of a disclosure set. They need nothing but that person's
probabilities p: where the values R are ruled out, a value has the probability p / (1 - p(R)). The
worst R are the likeliest other values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from foreknow.errors import InputError
from foreknow.jumping.properties import Row, about_text, as_fraction, is_about, read_about


@dataclass(frozen=True)
class RuledOut:
    """Nobody has a value that matters with a probability that reaches a limit, others ruled out.

    Strictly below, as in a policy. It is convex: p(v) + limit * p(R) < limit for every choice of R,
    or p(v) = 0, where p(v) + limit * p(R) is at most the limit, too. So a mixture of two persons'
    probabilities that have it has it: below the limit where one of the two is, else still 0.

    Parameters
    ----------
    limit : number or str
        Above 0, at most 1.
    l : int
        How many other values may be ruled out, whichever they are; fewer where there are fewer.
    values : list, optional
        The values that matter; all by default. Compared as they print.
    excluded : list
        Values that do not matter; they can be ruled out all the same.

    Examples
    --------
    >>> hiv = RuledOut("1/2", 1, values=["HIV"])
    >>> hiv.allows([(0, 2), (1, 1), (1, 3)], 6, size=6)  # 2 of 3, where the last is ruled out
    False
    >>> hiv.allows([(0, 1), (1, 2), (1, 3)], 6, size=6)
    True
    """

    below: Fraction
    l: int  # noqa: E741
    values: tuple[Hashable, ...] | None
    excluded: tuple[Hashable, ...]
    convex: ClassVar[bool] = True
    complete: ClassVar[bool] = False

    def __init__(
        self,
        limit: Any,
        l: int,  # noqa: E741
        values: Iterable[Hashable] | None = None,
        excluded: Iterable[Hashable] = (),
    ) -> None:
        below = as_fraction(limit, "RuledOut")
        if not 0 < below <= 1:
            raise InputError(f"RuledOut: the limit must be above 0 and at most 1, not {limit}")
        if isinstance(l, bool) or not isinstance(l, int) or l < 0:
            raise InputError(f"RuledOut: l must be a whole number from 0, not {l!r}")
        object.__setattr__(self, "below", below)
        object.__setattr__(self, "l", l)
        some, but = read_about("RuledOut", values, excluded)
        object.__setattr__(self, "values", some)
        object.__setattr__(self, "excluded", but)

    def __repr__(self) -> str:
        return f"RuledOut('{self.below}', {self.l}{about_text(self.values, self.excluded)})"

    def colour(self, value: Hashable) -> Hashable:
        """Two colours: values that matter, and others."""
        return 0 if is_about(value, self.values, self.excluded) else 1

    def limit(self, size: int, colour: Hashable) -> int:
        """Bisection: the fewest can be ruled out where all other people's values differ."""
        if colour:
            return size
        low, high = 0, size
        while low < high:
            middle = (low + high + 1) // 2
            fits = self._below(middle, min(self.l, size - middle), size)
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

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
