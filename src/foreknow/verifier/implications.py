"""The verifier's own worst case of k implications, of all buckets at once.

Written out from section 3.3 of "Worst-Case Background Knowledge" (MINIMIZE1 and MINIMIZE2), with
its misprints mended, for a target value that is given. Arrays are of floats to rank, and of
fractions where the least is decided: the steps are the same.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from foreknow.verifier.counts import NEAR, Group, Held, Ints, distinct


def worst_implications(
    held: Held, wanted: Collection[str], k: int
) -> tuple[str | None, Group | None, Fraction]:
    """The value, the target's group and the probability at which the adversary is surest."""
    about = np.array([name in wanted for name in held.names], bool)[held.codes]
    if not about.any():
        return None, None, Fraction(0)
    k = min(k, len(held.names))
    # Of buckets that are alike as far as it matters one is enough.
    frequent = [held.ranked(place) for place in range(k + 2)]
    alike, shape = distinct(held.people, *frequent)
    counts = np.stack([held.people, *frequent])[:, alike]
    others = _others(counts, k)
    value, group = held.codes[about], held.of_group[about]
    cells, cell = distinct(shape[group], held.counts[about])
    of, holders = shape[group][cells], held.counts[about][cells]
    rough = _least_odds(_Buckets(counts[:, of]), holders, [float(x) for x in others])
    near = np.flatnonzero(rough <= rough.min() + NEAR * max(1.0, rough.min()))
    odds = _least_odds(_Buckets(_exact(counts[:, of[near]])), _exact(holders[near]), others)
    least = min(odds.tolist())
    places = np.isin(cell, near[[ratio == least for ratio in odds]])
    # Of equal ones the first value; of its groups the first, in the order of `held`.
    first = value[places].min()
    at = int(group[places & (value == first)].min())
    return held.names[first], held.group(at), 1 / (1 + Fraction(least))


def _others(counts: Ints, k: int) -> list[Fraction]:
    """Least chance that so many atoms in other buckets all fail; a bucket may be counted twice."""
    rough = _Buckets(counts)
    least = [Fraction(1)]
    for atoms in range(1, k + 1):
        chances = rough.chance(0, atoms, atoms)
        near = np.flatnonzero(chances <= chances.min() + NEAR)
        exact = _Buckets(_exact(counts[:, near])).chance(0, atoms, atoms)
        least.append(Fraction(min(exact.tolist())))
    for atoms in range(1, k + 1):
        least[atoms] = min(least[atoms - own] * least[own] for own in range(atoms + 1))
    return least


def _least_odds(buckets: _Buckets, holders: Any, others: list[Any]) -> Any:
    k = len(others) - 1
    odds = [buckets.odds(holders, atoms) * others[k - atoms] for atoms in range(k + 1)]
    return np.minimum.reduce(odds)


def _exact(numbers: Ints) -> Any:
    """The same numbers as fractions."""
    exact = np.empty(numbers.shape, object)
    exact.reshape(-1)[:] = [Fraction(number) for number in numbers.reshape(-1).tolist()]
    return exact


class _Buckets:
    """People of groups, and how often each value occurs there, most frequent first."""

    def __init__(self, counts: Any) -> None:
        self.people, self.counts = counts[0], counts[1:]
        self.sums = [0 * self.people]
        for count in self.counts:
            self.sums.append(self.sums[-1] + count)
        self.chance = cache(self._chance)

    def _chance(self, person: int, most: int, atoms: int) -> Any:
        """Least chance that atoms about people from this one on all fail, at most so many each."""
        free = self.people - person
        least = 1 + 0 * self.people
        for about in range(1, min(most, atoms) + 1):
            left = np.maximum(free - self.sums[about], 0) / np.maximum(free, 1)
            least = np.minimum(least, left * self.chance(person + 1, about, atoms - about))
        return least

    def odds(self, holders: Any, atoms: int) -> Any:
        """Least odds against a value when so many atoms are spent here beside the target's."""
        ratios = []
        for about in range(atoms + 1):
            left = self.people - holders - self._others(holders, about)
            following = self._others(holders, about + 1) - self._others(holders, about)
            # Others may be said to have what the target is said to have, which is one value more
            # only if the target's own is frequent enough.
            more, same = (self.chance(1, most, atoms - about) for most in (about + 1, about))
            ratios.append(left / holders * np.where(holders >= following, more, same))
        return np.minimum.reduce(ratios)

    def _others(self, holders: Any, many: int) -> Any:
        """How many have one of the most frequent values but the target's own."""
        among = holders >= self.counts[many]
        return np.where(among, self.sums[many + 1] - holders, self.sums[many])
