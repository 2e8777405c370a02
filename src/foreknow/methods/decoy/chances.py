"""Chances: how probable it is that groups are made of a table, over all lots and all decoys.

The same groups may be made in several ways: a cut may be accepted, or be refused and its people be
dealt out as if it had been. So all ways are followed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction

import numpy as np

from foreknow.data.sparse import IntArray
from foreknow.errors import UnsupportedError
from foreknow.methods.decoy.deals import dealt, ranks
from foreknow.methods.decoy.draws import every
from foreknow.methods.decoy.guards import Guards
from foreknow.methods.decoy.search import Outcome, Search, Trial
from foreknow.methods.likelihood import bags_of, dealt_chance

# Ways to divide the bags of a group among the parts of a cut that are looked at.
_MOST = 20_000


def chance_of(search: Search, own: IntArray) -> Fraction:
    """How probable it is that a search ends with these groups of everybody.

    Raises
    ------
    UnsupportedError
        If it is not 0, and there are too many ways for decoys to come out.
    """
    beyond: list[UnsupportedError] = []
    found = _follow(search, own, beyond)
    if found and beyond:
        raise beyond[0]
    return found


def _follow(search: Search, own: IntArray, beyond: list[UnsupportedError]) -> Fraction:
    """Follow all ways from the groups of a level to the last ones."""
    while search.n_groups:
        trial = search.trial()
        ways = list(_ways(search, trial, own, beyond)) if len(trial.group) else [_NOTHING]
        if not ways:
            return Fraction(0)
        found = Fraction(0)
        for outcome, guards, probability in ways[1:]:
            other = deepcopy(search)
            other.guards = search.guards if guards is None else guards
            other.descend(trial, outcome)
            found += probability * _follow(other, own, beyond)
        outcome, guards, probability = ways[0]
        search.guards = search.guards if guards is None else guards
        search.descend(trial, outcome)
        if len(ways) > 1 or probability != 1:
            return found + probability * _follow(search, own, beyond)
    found = Fraction(1)
    final = search.final[search.point]
    if _crossing(own, final):
        return Fraction(0)
    order = np.argsort(final, kind="stable")
    starts = np.searchsorted(final[order], np.arange(search.n_final + 1))
    for group in search.deal().tolist():
        mine = order[starts[group] : starts[group + 1]]
        found *= _of_lots(search.value[mine], own[mine], int(search.dealt[group]), search)
        if not found:
            return found
    return found


_NOTHING = (Outcome(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)), None, Fraction(1))


def _crossing(own: IntArray, other: IntArray) -> bool:
    """Whether one group lies in two of others."""
    pairs = np.unique(np.stack([own, other]), axis=1)
    return len(pairs.T) > len(np.unique(own))


def _ways(
    search: Search, trial: Trial, own: IntArray, beyond: list[UnsupportedError]
) -> Iterator[tuple[Outcome, Guards | None, Fraction]]:
    """What may come of trials so that these groups can follow; limits afterwards; how probable."""
    node, part = search.group_of_people(), search.part_of_people(trial)
    if _crossing(own, node):
        return
    n, start = len(trial.group), search.guards
    made, beside = np.ones(n, dtype=bool), start
    if start.coupled:
        beside = start.copy()
        made = beside.evaluate(*search.left(trial, made)).accept_greedily()
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
                    guards.commit(search.left(trial, made & ~accepted)[0])
                search.commit(trial, accepted)
                search.guards = start
            yield Outcome(made, accepted), guards, probability
            continue
        search.guards = beside
        group = trial.group[number]
        people = order[first[group] : first[group + 1]]
        refused, kept = _chances(search, trial, number, own[people], part[people], people, beyond)
        if refused:
            waiting.append((number + 1, accepted, beside, probability * refused))
        if kept:
            if start.coupled:
                search.guards = beside.copy()
                search.commit(trial, np.arange(n) == number)
            which = accepted | (np.arange(n) == number)
            waiting.append((number + 1, which, search.guards, probability * kept))
        search.guards = start


def _chances(
    search: Search,
    trial: Trial,
    number: int,
    seat: IntArray,
    side: IntArray,
    people: IntArray,
    beyond: list[UnsupportedError],
) -> tuple[Fraction, Fraction]:
    """How probable it is that a cut is refused and its people dealt out so; that it is accepted."""
    values, many = search.value[people], int(trial.many[number])
    parts = np.flatnonzero(trial.owner == number)
    bags = trial.bags[parts]
    is_safe = bool(search.safe(bags, np.zeros(len(parts), dtype=np.int64))[0])
    refused, kept = _of_lots(values, seat, many, search), Fraction(0)
    if refused and is_safe and not beyond:
        try:
            refused *= 1 - _held(search, trial, number, _places(seat, values, side, parts))
        except UnsupportedError as error:
            beyond.append(error)
    if is_safe and not _crossing(seat, side):
        kept = Fraction(1, 2)
        if not beyond:
            try:
                kept = _kept(search, trial, number, bags, many)
            except UnsupportedError as error:
                beyond.append(error)
    return refused, kept


def _of_lots(values: IntArray, seat: IntArray, many: int, search: Search) -> Fraction:
    """How probable it is that people of some values are dealt into these groups."""
    planned: Counter[tuple[int, ...]] = Counter()
    for bag in _planned(np.bincount(values, minlength=len(search.labels)), many).tolist():
        planned[tuple(np.repeat(np.arange(len(bag)), bag).tolist())] += 1
    return dealt_chance(planned, bags_of(values, seat))


def _planned(bag: IntArray, many: int) -> IntArray:
    """The bags of all groups that a bag is dealt into."""
    starts = ranks(bag[None])[1]
    found: IntArray = dealt(bag[None], starts, np.array([many]), np.arange(many)[None])[0]
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
        if len(ways) * len(given) > _MOST:
            raise _beyond(sum(sum(one[1]) for one in places))
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
    trial: Trial,
    number: int,
    places: list[tuple[IntArray, tuple[int, ...]]],
) -> Fraction:
    """How probable it is that all decoys of a trial are safe, people being dealt out like that."""
    ways = _bags(search, places)
    each = np.array(list(ways), dtype=np.int64)
    owner = np.repeat(np.arange(len(each)), each.shape[1])
    quiet = search.quiet(each.reshape(-1, each.shape[2]), owner)
    some = sum(many for many, one in zip(ways.values(), quiet.tolist(), strict=True) if one)
    return Fraction(some, sum(ways.values())) ** int(trial.decoys[number])


def _kept(search: Search, trial: Trial, number: int, bags: IntArray, many: int) -> Fraction:
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
        if len(ways) * len(options) > _MOST:
            raise _beyond(sum(sizes))
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
            chances[key] = _held(search, trial, number, places)
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


def _beyond(people: int) -> UnsupportedError:
    return UnsupportedError(
        f"the chance that decoy refuses to divide {people:,} people is not worked out; that what "
        "it makes keeps the policy is proved for any"
    )
