"""A secret choice among naive algorithms: a bad example, kept to show that secrecy does not help.

Section 7 and Theorem 8 of "k-Jump Strategy for Preserving Privacy in Micro-Data Disclosure".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

from foreknow.anonymizers.jump import Naive
from foreknow.anonymizers.jump_order import HALF, STEPS, read_functions
from foreknow.errors import InputError
from foreknow.jumping.composed import as_property
from foreknow.jumping.functions import Function, Person, Value
from foreknow.jumping.properties import Property
from foreknow.jumping.runs import DisclosureSet

_MOST_FUNCTIONS = 12


@dataclass(frozen=True)
class SecretRun:
    """What a secret choice did with one table.

    Attributes
    ----------
    released : int or None
        The function whose generalization was released, from 0.
    chosen : tuple of int
        The secret: the functions that were tried.
    sets : dict
        For each secret under which the release is possible, the disclosure set.
    """

    released: int | None
    chosen: tuple[int, ...]
    sets: Mapping[tuple[int, ...], DisclosureSet] = field(repr=False)

    def posterior(self) -> dict[Person, dict[Value, Fraction]]:
        """What the adversary believes: every secret and every table of its set alike (Bayes)."""
        return self._mixed(lambda one: one.size)

    def averaged(self) -> dict[Person, dict[Value, Fraction]]:
        """The paper's average: every secret alike, however many tables agree with it.

        It is not what a rational adversary believes: secrets under which the release is more
        likely are more likely afterwards.
        """
        return self._mixed(lambda one: 1)

    @property
    def max_ratio(self) -> Fraction:
        """The highest posterior of any person and value; 0 if nothing was released."""
        rows = self.posterior().values()
        return max((max(row.values()) for row in rows), default=Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            "released": self.released,
            "chosen": list(self.chosen),
            "secrets": len(self.sets),
            "max ratio": str(self.max_ratio),
        }

    def _mixed(self, weight: Callable[[DisclosureSet], int]) -> dict[Person, dict[Value, Fraction]]:
        possible = [one for one in self.sets.values() if one.size]
        total = sum(map(weight, possible))
        found: dict[Person, dict[Value, Fraction]] = {}
        for one in possible:
            for person, row in one.marginals.items():
                mixed = found.setdefault(person, {})
                for value, share in row.items():
                    mixed[value] = mixed.get(value, Fraction(0)) + share * weight(one) / total
        return found

    def __repr__(self) -> str:
        what = "nothing" if self.released is None else f"function {self.released}"
        return f"<SecretRun: {what} released, {len(self.sets)} secrets possible>"


@dataclass(frozen=True, init=False)
class SecretChoice:
    """Run the naive algorithm on a secret subset of the functions (Tables 15 and 16).

    **Not safe** (Theorem 8): those who know the functions, but not the secret, can be surer of
    somebody's value than the property allows. Use `Jump`; then nothing needs to be secret.

    Parameters
    ----------
    functions : list
        At most 12; as for `Naive`.
    property : Property
    steps : int

    Examples
    --------
    >>> from foreknow.jumping.properties import MaxRatio
    >>> functions = ["AB|CDEFGHI", "AC|BDEFGHI", "BC|ADEFGHI", "ABC|DEFGHI", "ABCDEFGHI"]
    >>> table = dict(zip("ABCDEFGHI", ["C0", "C0", "C0", "C1", "C2", "C3", "C4", "C5", "C6"]))
    >>> run = SecretChoice(functions, MaxRatio("1/2")).run(table, chosen=[3, 4])
    >>> run.released, run.posterior()["A"]["C0"], run.averaged()["A"]["C0"]
    (4, Fraction(17, 23), Fraction(115, 133))
    """

    functions: tuple[Function, ...]
    property: Property
    steps: int

    def __init__(
        self, functions: Sequence[Any], property: Any = HALF, *, steps: int = STEPS
    ) -> None:
        read = read_functions(functions)
        if not 2 <= len(read) <= _MOST_FUNCTIONS:
            raise InputError(f"a secret choice is among 2 to {_MOST_FUNCTIONS} functions")
        object.__setattr__(self, "functions", read)
        object.__setattr__(self, "property", as_property(property))
        object.__setattr__(self, "steps", steps)

    def secrets(self) -> list[tuple[int, ...]]:
        """Every subset of at least two functions; each is chosen with the same probability."""
        n = len(self.functions)
        return list(chain.from_iterable(combinations(range(n), k) for k in range(2, n + 1)))

    def run(
        self, table: Any, chosen: Sequence[int] | None = None, seed: int | None = None
    ) -> SecretRun:
        """Run it with a secret, and compute what the adversary believes who does not know it.

        Parameters
        ----------
        table : mapping of person to value, or sequence of values
        chosen : sequence of int, optional
            The secret, for examples; by default it is random.
        seed : int, optional
            For a reproducible secret, which is none.
        """
        if chosen is None:
            generator = random.SystemRandom() if seed is None else random.Random(seed)
            secret = generator.choice(self.secrets())
        else:
            secret = tuple(sorted(set(chosen)))
            if secret not in self.secrets():
                raise InputError(
                    f"the secret is at least two of the functions 0 to {len(self.functions) - 1}, "
                    f"not {list(chosen)}"
                )
        place = self._naive(secret).run(table).released
        released = None if place is None else secret[place]
        sets = {}
        if released is not None:
            for other in self.secrets():
                if released in other:
                    run = self._naive(other).run(table)
                    sets[other] = run.disclosure_set(other.index(released))
        return SecretRun(released, secret, sets)

    def _naive(self, secret: tuple[int, ...]) -> Naive:
        return Naive([self.functions[i] for i in secret], self.property, steps=self.steps)
