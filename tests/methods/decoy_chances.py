"""How probable it is that Decoy makes groups of a table, over all draws and all decoys.

The same groups may be made in several ways: a cut may be accepted, or be refused and its people be
dealt out as if it had been. So all ways are followed. It asks the program what is tried and what is
safe; `decoy_walk` follows the same without it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction
from itertools import groupby, product
from math import comb, factorial, prod
from operator import itemgetter

import numpy as np

from foreknow.data.arrays import IntArray
from foreknow.methods.decoy.deals import bags_of_groups
from foreknow.methods.decoy.decoy import Decoy
from foreknow.methods.decoy.draws import ranks
from foreknow.methods.decoy.guards import Guards
from foreknow.methods.decoy.search import Outcome, Search, TriedCuts


def chance_of(microdata, policy, groups):
    """How probable it is that Decoy makes these groups of a table."""
    return _follow(Decoy()._start(microdata, policy), np.asarray(groups))


def _follow(search: Search, own: IntArray) -> Fraction:
    """Follow all ways from the groups of a level to the last ones."""
    while search.n_groups:
        cuts = search.choose_cuts()
        ways = list(_ways(search, cuts, own)) if len(cuts.group) else [_NOTHING]
        if not ways:
            return Fraction(0)
        found = Fraction(0)
        for outcome, guards, probability in ways[1:]:
            other = deepcopy(search)
            other.guards = search.guards if guards is None else guards
            other.descend(cuts, outcome)
            found += probability * _follow(other, own)
        outcome, guards, probability = ways[0]
        search.guards = search.guards if guards is None else guards
        search.descend(cuts, outcome)
        if len(ways) > 1 or probability != 1:
            return found + probability * _follow(search, own)
    found = Fraction(1)
    final = search.final[search.point]
    if _crossing(own, final):
        return Fraction(0)
    order = np.argsort(final, kind="stable")
    starts = np.searchsorted(final[order], np.arange(search.n_final + 1))
    for group in search.deal().tolist():
        mine = order[starts[group] : starts[group + 1]]
        found *= _of_deal(search.value[mine], own[mine], int(search.dealt[group]), search)
        if not found:
            return found
    return found


_NOTHING = (Outcome(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)), None, Fraction(1))


def _crossing(own: IntArray, other: IntArray) -> bool:
    """Whether one group lies in two of others."""
    pairs = np.unique(np.stack([own, other]), axis=1)
    return len(pairs.T) > len(np.unique(own))


def _ways(
    search: Search, cuts: TriedCuts, own: IntArray
) -> Iterator[tuple[Outcome, Guards | None, Fraction]]:
    """What may come of cuts so that these groups can follow; limits afterwards; how probable."""
    node, part = search.group_of_people(), search.part_of_people(cuts)
    if _crossing(own, node):
        return
    n, start = len(cuts.group), search.guards
    made, beside = np.ones(n, dtype=bool), start
    if start.coupled:
        beside = start.copy()
        made = beside.evaluate(*search.left(cuts, made)).accept_greedily()
    order = np.argsort(node, kind="stable")
    first = np.searchsorted(node[order], np.arange(search.n_groups + 1))
    waiting = [(0, np.zeros(n, dtype=bool), beside, Fraction(1))]
    while waiting:
        number, accepted, beside, probability = waiting.pop()
        while number < n and not made[number]:
            number += 1
        if number == n:
            guards = None
            if start.coupled:
                guards = start.copy()
                search.guards = guards
                if (made & ~accepted).any():
                    guards.commit(search.left(cuts, made & ~accepted)[0])
                search.commit(cuts, accepted)
                search.guards = start
            yield Outcome(made, accepted), guards, probability
            continue
        search.guards = beside
        group = cuts.group[number]
        people = order[first[group] : first[group + 1]]
        refused, kept = _chances(search, cuts, number, own[people], part[people], people)
        if refused:
            waiting.append((number + 1, accepted, beside, probability * refused))
        if kept:
            if start.coupled:
                search.guards = beside.copy()
                search.commit(cuts, np.arange(n) == number)
            which = accepted | (np.arange(n) == number)
            waiting.append((number + 1, which, search.guards, probability * kept))
        search.guards = start


def _chances(
    search: Search,
    cuts: TriedCuts,
    number: int,
    seat: IntArray,
    side: IntArray,
    people: IntArray,
) -> tuple[Fraction, Fraction]:
    """How probable it is that a cut is refused and its people dealt out so; that it is accepted."""
    values, many = search.value[people], int(cuts.many[number])
    parts = np.flatnonzero(cuts.owner == number)
    bags = cuts.bags[parts]
    is_safe = bool(search.safe(bags, np.zeros(len(parts), dtype=np.int64))[0])
    refused, kept = _of_deal(values, seat, many, search), Fraction(0)
    if refused and is_safe:
        refused *= 1 - _held(search, cuts, number, _places(seat, values, side, parts))
    if is_safe and not _crossing(seat, side):
        kept = _kept(search, cuts, number, bags, many)
    return refused, kept


def _of_deal(values: IntArray, seat: IntArray, many: int, search: Search) -> Fraction:
    """How probable it is that people of some values are dealt into these groups."""
    planned: Counter[tuple[int, ...]] = Counter()
    for bag in _planned(np.bincount(values, minlength=len(search.labels)), many).tolist():
        planned[tuple(np.repeat(np.arange(len(bag)), bag).tolist())] += 1
    return dealt_chance(planned, bags_of(values, seat))


def _planned(bag: IntArray, many: int) -> IntArray:
    """The bags of all groups that a bag is dealt into."""
    starts = ranks(bag[None])[1]
    found: IntArray = bags_of_groups(bag[None], starts, np.array([many]), np.arange(many)[None])[0]
    return found


def _places(
    seat: IntArray, values: IntArray, side: IntArray, parts: IntArray
) -> list[tuple[IntArray, tuple[int, ...]]]:
    """The bag of each group, and how many of it are in each part of a cut."""
    n_values = int(values.max()) + 1
    found = []
    for s in np.unique(seat).tolist():
        mine = seat == s
        many = tuple(int((side[mine] == p).sum()) for p in parts)
        found.append((np.bincount(values[mine], minlength=n_values), many))
    return found


def _bags(
    search: Search, places: list[tuple[IntArray, tuple[int, ...]]]
) -> dict[tuple[tuple[int, ...], ...], int]:
    """In how many ways the parts of a cut get which bags, values being shuffled in each group."""
    n_values = len(search.labels)
    ways: dict[tuple[tuple[int, ...], ...], int] = {tuple((0,) * n_values for _ in places[0][1]): 1}
    for bag, many in places:
        padded = np.zeros(n_values, dtype=np.int64)
        padded[: len(bag)] = bag
        more: dict[tuple[tuple[int, ...], ...], int] = defaultdict(int)
        given, times = every(padded, list(many))
        for before, often in ways.items():
            for own, count in zip(given, times, strict=True):
                after = tuple(
                    tuple(a + b for a, b in zip(x, y, strict=True))
                    for x, y in zip(before, own, strict=True)
                )
                more[after] += often * count
        ways = more
    return ways


def _held(
    search: Search,
    cuts: TriedCuts,
    number: int,
    places: list[tuple[IntArray, tuple[int, ...]]],
) -> Fraction:
    """How probable it is that all decoys of a cut are safe, people being dealt out like that."""
    ways = _bags(search, places)
    each = np.array(list(ways), dtype=np.int64)
    owner = np.repeat(np.arange(len(each)), each.shape[1])
    quiet = search.quiet(each.reshape(-1, each.shape[2]), owner)
    some = sum(many for many, one in zip(ways.values(), quiet.tolist(), strict=True) if one)
    return Fraction(some, sum(ways.values())) ** int(cuts.decoys[number])


def _kept(search: Search, cuts: TriedCuts, number: int, bags: IntArray, many: int) -> Fraction:
    """How probable it is that all decoys are safe, over all ways to deal people out."""
    sizes = bags.sum(axis=1).tolist()
    planned = _planned(bags.sum(axis=0), many)
    goal = tuple(map(tuple, bags.tolist()))
    # Of each group, how many people of each value are in each part.
    ways: dict[tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]], int] = {
        ((), tuple((0,) * bags.shape[1] for _ in sizes)): 1
    }
    for bag in planned:
        more: dict[tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]], int]
        more = defaultdict(int)
        people = int(bag.sum())
        options = []
        for split in _splits(people, sizes):
            given, times = every(bag, list(split))
            options += [(split, one, count) for one, count in zip(given, times, strict=True)]
        for (splits, before), often in ways.items():
            for split, one, count in options:
                after = tuple(
                    tuple(a + b for a, b in zip(x, y, strict=True))
                    for x, y in zip(before, one, strict=True)
                )
                if _within(after, goal):
                    more[(*splits, split), after] += often * count
        ways = more
    found, whole = Fraction(0), 0
    chances: dict[tuple[tuple[tuple[int, ...], tuple[int, ...]], ...], Fraction] = {}
    for (splits, after), often in ways.items():
        if after != goal:
            continue
        key = tuple(sorted(zip(splits, map(tuple, planned.tolist()), strict=True)))
        if key not in chances:
            places = [(bag, split) for split, bag in zip(splits, planned, strict=True)]
            chances[key] = _held(search, cuts, number, places)
        found += often * chances[key]
        whole += often
    return found / whole


def _splits(people: int, sizes: list[int]) -> list[tuple[int, ...]]:
    """Every way in which so many people may be in the parts of a cut."""
    if len(sizes) == 1:
        return [(people,)] if people <= sizes[0] else []
    return [
        (first, *rest)
        for first in range(min(people, sizes[0]) + 1)
        for rest in _splits(people - first, sizes[1:])
    ]


def _within(some: tuple[tuple[int, ...], ...], most: tuple[tuple[int, ...], ...]) -> bool:
    """Whether bags are parts of others."""
    each = zip(some, most, strict=True)
    return all(a <= b for x, y in each for a, b in zip(x, y, strict=True))


def every(bag: IntArray, parts: list[int]) -> tuple[list[tuple[tuple[int, ...], ...]], list[int]]:
    """Every way to give a bag to the parts, and how many ways for people that stands for."""
    ways: list[tuple[tuple[tuple[int, ...], ...], tuple[int, ...], int]] = [
        ((), tuple(bag.tolist()), 1)
    ]
    for people in parts[:-1]:
        ways = [
            ((*given, own), tuple(a - b for a, b in zip(left, own, strict=True)), many * times)
            for given, left, many in ways
            for own in product(*(range(x + 1) for x in left))
            if sum(own) == people
            for times in [prod(map(comb, left, own))]
        ]
    return [(*given, left) for given, left, _ in ways], [many for _, _, many in ways]


def bags_of(kinds, groups):
    """How many groups hold each bag of kinds; bags in ascending order."""
    order = np.lexsort((kinds, groups))
    pairs = zip(groups[order].tolist(), kinds[order].tolist(), strict=True)
    return Counter(tuple(kind for _, kind in own) for _, own in groupby(pairs, key=itemgetter(0)))


def dealt_chance(planned, found) -> Fraction:
    """How probable groups (`found`) are if people get the places of `planned` ones at random.

    There are as many outcomes as orders of the people of each kind. Groups come out if each takes
    the place of a planned group with the same bag; within it, people of a kind may change places.
    Two of each of two kinds, one of each in each of two groups: two ways of four.

    >>> dealt_chance(Counter({(0, 1): 2}), Counter({(0, 1): 2}))
    Fraction(1, 2)
    """
    if planned != found:
        return Fraction(0)
    ways, sizes = 1, Counter[int]()
    for bag, m in found.items():
        ways *= factorial(m) * prod(map(factorial, Counter(bag).values())) ** m
        for kind in bag:
            sizes[kind] += m
    return Fraction(ways, prod(map(factorial, sizes.values())))
