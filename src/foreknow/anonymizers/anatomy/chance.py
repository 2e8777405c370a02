"""The chance that Anatomy makes some groups: exact at any size, from their bags alone.

People of a value are shuffled over the places of that value; then everybody who is left over joins
one of the groups that lack their value, each as likely. So the chance is a sum over who of those
left over may have joined which group, of the chance of that times the chance that people are
dealt out so. Nothing of it asks who has which place in the table: worlds of one release, which
have the same bags, all lead to it with the same chance. Hence the posterior of everybody is the
frequency in the group, at any size, for whoever sees the groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import perm, prod
from typing import TypeAlias

from foreknow.anonymizers.anatomy.rounds import rounds_of
from foreknow.anonymizers.dealt_chance import Bag, dealt_chance
from foreknow.sparse import IntArray

# Who joined a group, and what it held before.
_Joined: TypeAlias = tuple[Bag, Bag]


def chance_of_anatomy(found: Counter[Bag], sizes: IntArray, l: int) -> Fraction:  # noqa: E741
    """How probable groups with these bags are, whatever they are called.

    Parameters
    ----------
    found : Counter of bags
        The values of each group, as codes, ascending.
    sizes : int64 array, shape (values,)
        How often each occurs; at most one in l people.
    l : int

    Returns
    -------
    Fraction

    Examples
    --------
    Values a, a, b, b, c with l = 2: the last one joins either group with probability 1/2.

    >>> import numpy as np
    >>> chance_of_anatomy(Counter({(0, 1): 1, (0, 1, 2): 1}), np.array([2, 2, 1]), 2)
    Fraction(1, 4)
    """
    planned, left = _planned(rounds_of(sizes, l), sizes)
    n_groups = planned.total()
    if found.total() != n_groups or any(len(bag) < l for bag in found):
        return Fraction(0)
    without = {v: n_groups - sum(m for bag, m in planned.items() if v in bag) for v in left}
    each = Fraction(1, prod(without.values()))
    larger = sorted(bag for bag, m in found.items() if len(bag) > l for _ in range(m))
    plain = Counter({bag: m for bag, m in found.items() if len(bag) == l})
    joinings = 0
    for joined in {frozenset(one) for one in _joinings(larger, frozenset(left), l)}:
        before = Counter(bag for _, bag in joined)
        if plain + before == planned:
            joinings += prod(perm(planned[bag], m) for bag, m in before.items())
    if not joinings:
        return Fraction(0)
    # Of one bag each: people are dealt to places of groups that are known by who joined them.
    return joinings * each * dealt_chance(found, found)


def _planned(rounds: IntArray, sizes: IntArray) -> tuple[Counter[Bag], list[int]]:
    """The bags of all rounds, and the values of those who are left over."""
    values = [v for v, many in enumerate(sizes.tolist()) for _ in range(many)]
    members: dict[int, list[int]] = {}
    for value, number in zip(values, rounds.tolist(), strict=True):
        members.setdefault(number, []).append(value)
    left = members.pop(-1, [])
    return Counter(tuple(own) for own in members.values()), left


def _joinings(larger: list[Bag], left: frozenset[int], l: int) -> Iterator[tuple[_Joined, ...]]:  # noqa: E741
    """Every way to say who of those left over joined which of the larger groups."""
    if not larger:
        if not left:
            yield ()
        return
    bag, others = larger[0], larger[1:]
    for joined in combinations(sorted(left & set(bag)), len(bag) - l):
        before = list(bag)
        for value in joined:
            before.remove(value)
        for more in _joinings(others, left - set(joined), l):
            yield ((joined, tuple(before)), *more)
