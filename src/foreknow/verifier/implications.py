"""The verifier's own worst case of k implications, in fractions, one bucket after the other.

Written out from section 3.3 of "Worst-Case Background Knowledge" (MINIMIZE1 and MINIMIZE2), with
its misprints mended, for a target value that is given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import cache
from typing import TypeAlias

Group: TypeAlias = tuple[str | None, ...]
Bag: TypeAlias = Mapping[str, int]


def worst_implications(
    held: Mapping[Group, tuple[int, Bag]], wanted: Collection[str], k: int
) -> tuple[str | None, Group | None, Fraction]:
    """The value, the target's group and the probability at which the adversary is surest."""
    k = min(k, len({value for _, bag in held.values() for value in bag}))
    buckets: dict[tuple[int, ...], _Bucket] = {}
    of_group: dict[Group, _Bucket] = {}
    for group, (_, bag) in held.items():
        shape = tuple(sorted(bag.values(), reverse=True))
        of_group[group] = buckets.setdefault(shape, _Bucket(shape))
    others = [Fraction(1)] * (k + 1)
    for bucket in buckets.values():
        # Of buckets that are alike one is enough: atoms spent on two are no worse on one.
        chances = [bucket.chance(0, h, h) for h in range(k + 1)]
        others = [min(others[h - j] * chances[j] for j in range(h + 1)) for h in range(k + 1)]
    odds: dict[tuple[_Bucket, int], list[Fraction]] = {}
    worst: tuple[Fraction, str, Group] | None = None
    for group, (_, bag) in held.items():
        for value in sorted(set(bag) & set(wanted)):
            cell = of_group[group], bag[value]
            if cell not in odds:
                odds[cell] = [cell[0].odds(cell[1], x) for x in range(k + 1)]
            ratio = min(odds[cell][x] * others[k - x] for x in range(k + 1))
            # Of equal ones the first value; of its groups the first, in the order of `held`.
            if worst is None or (ratio, value) < worst[:2]:
                worst = ratio, value, group
    if worst is None:
        return None, None, Fraction(0)
    ratio, value, target = worst
    return value, target, 1 / (1 + ratio)


class _Bucket:
    """People of one group and how often each value occurs, most frequent first."""

    def __init__(self, counts: tuple[int, ...]) -> None:
        self.people = sum(counts)
        self.counts = counts
        self.chance = cache(self._chance)

    def _chance(self, person: int, most: int, atoms: int) -> Fraction:
        """Least chance that atoms about people from this one on all fail, at most so many each."""
        least = Fraction(1)
        free = self.people - person
        for about in range(1, min(most, atoms, len(self.counts)) + 1):
            left = free - sum(self.counts[:about])
            if left <= 0:
                return Fraction(0)
            rest = self.chance(person + 1, about, atoms - about)
            least = min(least, Fraction(left, free) * rest)
        return least

    def odds(self, holders: int, atoms: int) -> Fraction:
        """Least odds against a value when so many atoms are spent here beside the target's."""
        others = list(self.counts)
        others.remove(holders)
        least: Fraction | None = None
        for about in range(min(atoms, len(others)) + 1):
            left = self.people - holders - sum(others[:about])
            # Others may be said to have what the target is said to have, which is one value more
            # only if the target's own is frequent enough.
            frequent = about == len(others) or holders >= others[about]
            rest = self.chance(1, about + 1 if frequent else about, atoms - about)
            ratio = Fraction(left, holders) * rest
            least = ratio if least is None else min(least, ratio)
        assert least is not None
        return least
