"""A secret choice among naive algorithms: a bad example, kept to show that secrecy does not help.

Section 7 and Theorem 8 of "k-Jump Strategy for Preserving Privacy in Micro-Data Disclosure".
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

from foreknow.criteria.properties import Property
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError, UnsupportedError
from foreknow.frozen import settle
from foreknow.methods.jump.functions import Function, Person, Value, renumber
from foreknow.methods.jump.jump import HALF, STEPS, Naive
from foreknow.methods.jump.run import DisclosureSet
from foreknow.methods.likelihood import groups_of_people
from foreknow.methods.protocol import Grouping, Traits
from foreknow.policy.policy import Policy

_MOST_FUNCTIONS = 12


@dataclass(frozen=True)
class SecretRun:
    """The function released (None: nothing); the secret; the disclosure set under each secret."""

    released: int | None
    chosen: tuple[int, ...]
    sets: Mapping[tuple[int, ...], DisclosureSet] = field(repr=False)

    def posterior(self) -> dict[Person, dict[Value, Fraction]]:
        """What the adversary believes: every secret and every table of its set alike (Bayes)."""
        return self._mixed(lambda one: one.size)

    def averaged(self) -> dict[Person, dict[Value, Fraction]]:
        """The paper's average: every secret alike, as no rational adversary believes."""
        return self._mixed(lambda one: 1)

    @property
    def max_ratio(self) -> Fraction:
        """The highest posterior of any person and value, also where nothing was released."""
        return max(max(row.values()) for row in self.posterior().values())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            "released": self.released,
            "chosen": list(self.chosen),
            "secrets": len(self.sets),
            "max ratio": str(self.max_ratio),
        }

    def _mixed(self, weight: Callable[[DisclosureSet], int]) -> dict[Person, dict[Value, Fraction]]:
        total = sum(map(weight, self.sets.values()))
        found: dict[Person, dict[Value, Fraction]] = {}
        for one in self.sets.values():
            for person, row in one.marginals.items():
                mixed = found.setdefault(person, {})
                for value, share in row.items():
                    mixed[value] = mixed.get(value, Fraction(0)) + share * weight(one) / total
        return found


@dataclass(frozen=True, init=False)
class SecretChoice:
    """Run the naive algorithm on a secret subset of the functions (Tables 15 and 16).

    **Not safe** (Theorem 8): an adversary who knows the functions, but not the secret, can be surer
    of someone's value than the property allows. Use `Jump`; then nothing needs to be secret. The
    `chance` of each outcome is known, so `attack` finds that out.

    Parameters
    ----------
    functions, property, steps
        As for `Naive`; 2 to 12 functions.

    Examples
    --------
    >>> from foreknow.criteria.properties import MaxRatio
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
        naive = Naive(functions, property, steps=steps)
        if not 2 <= len(naive.given) <= _MOST_FUNCTIONS:
            raise InputError(f"a secret choice is among 2 to {_MOST_FUNCTIONS} functions")
        settle(self, functions=naive.given)
        settle(self, property=naive.property)
        settle(self, steps=naive.steps)

    @builtins.property
    def symmetric(self) -> bool:
        """As of `Naive`."""
        return self._naive().symmetric

    @builtins.property
    def traits(self) -> Traits:
        """Its likelihood is known; it is refused where `publish` asks to explain."""
        return Traits(symmetric=self.symmetric, likelihood=self.chance, grouping=self.grouping)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, as of `Naive`."""
        return self._naive().to_dict()

    def secrets(self) -> list[tuple[int, ...]]:
        """Every subset of at least two functions; each is chosen with the same probability."""
        n = len(self.functions)
        return [secret for k in range(2, n + 1) for secret in combinations(range(n), k)]

    def run(
        self, table: Any, chosen: Sequence[int] | None = None, seed: int | None = None
    ) -> SecretRun:
        """Run it on a table, as `Naive.run`, with the secret `chosen` or a random one."""
        secret = self._drawn(seed) if chosen is None else tuple(sorted(set(chosen)))
        if secret not in self.secrets():
            raise InputError(
                f"the secret is at least two of the functions 0 to {len(self.functions) - 1}, "
                f"not {list(chosen or ())}"
            )
        place = self._naive(secret).run(table).released
        released = None if place is None else secret[place]
        sets = {}
        for other in self.secrets():
            if released is None:
                sets[other] = self._naive(other).run(table).nothing_set()
            elif released in other:
                sets[other] = self._naive(other).run(table).disclosure_set(other.index(released))
        return SecretRun(
            released, secret, {own: found for own, found in sets.items() if found.size}
        )

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group the rows of a table with a random secret; see `Naive.partition`."""
        return self._naive(self._drawn(seed)).partition(microdata, policy)

    def grouping(
        self,
        microdata: Microdata,
        policy: Policy | None = None,
        seed: int | None = None,
        *,
        explain: bool = False,
    ) -> Grouping:
        """Group the rows of a table to attack them; refused where `publish` asks to explain."""
        if explain:
            raise UnsupportedError(
                "SecretChoice is not safe: it is kept as a bad example, to be attacked, not to be "
                "published; take Jump, of which nothing needs to be secret"
            )
        return Grouping(self.partition(microdata, policy, seed))

    def chance(self, microdata: Microdata, policy: Policy | None, groups: Any) -> Fraction:
        """How probable it is that these groups of rows are made of a table, over all secrets.

        A secret releases the first of its functions whose permutation set has the property.
        """
        own = groups_of_people(microdata, groups)
        if own is None:
            return Fraction(0)
        wanted = renumber(own.tolist())
        naive = self._naive().settled(microdata)
        case = naive.case(microdata)
        safe = [case.permutation_safe(i) for i in range(len(naive.given))]
        firsts = [next((i for i in secret if safe[i]), None) for secret in self.secrets()]
        made = sum(i is not None and naive.given[i].numbers == wanted for i in firsts)
        return Fraction(made, len(firsts))

    def _drawn(self, seed: int | None) -> tuple[int, ...]:
        generator = random.SystemRandom() if seed is None else random.Random(seed)
        return generator.choice(self.secrets())

    def _naive(self, secret: Sequence[int] | None = None) -> Naive:
        functions = self.functions if secret is None else [self.functions[i] for i in secret]
        return Naive(functions, self.property, steps=self.steps)
