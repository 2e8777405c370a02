"""Every release that Decoy may make of the worlds of a small table, by what is seen on the way.

What is tried next follows from bags that a reader sees. So instead of worlds, the bags of the parts
of accepted cuts are followed, and of each group that is dealt out, how its people may lie in the
parts of the refused cut. The reader is even shown which cuts were accepted and refused; who is not
has an average of such readers' posteriors.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial, prod

import numpy as np
import pytest
from tests.oracle.decoy import Group, added, divided, placements, planned, worst

from foreknow.features.more_methods.decoy import decoy, guards, search
from foreknow.features.more_methods.decoy.decoy import Decoy
from foreknow.features.more_methods.decoy.search import Outcome


@cache
def group(*parts):
    """The same group once."""
    return Group(*parts)


class Left:
    """A group that is dealt out: of everybody in it, who, and the part of a refused cut, if any."""

    def __init__(self, people, side, bag, many, unsafe=frozenset(), quiet=None, decoys=0):
        self.people, self.side, self.bag, self.many = people, side, bag, many
        self.unsafe, self.safe_if_exchanged, self.decoys = unsafe, quiet, decoys
        self.dealt = planned(bag, many)
        self.sizes = tuple(Counter(side)[p] for p in range(max(side) + 1))

    def spared(self, placed):
        """How probable a refusal is of safe values, people being dealt out like that."""
        if self.safe_if_exchanged is None:
            return Fraction(1)
        ways = Counter()
        each = [divided(bag, sizes) for bag, sizes in zip(self.dealt, placed, strict=True)]
        for way in product(*each):
            ways[added(*way)] += prod(own[x] for own, x in zip(each, way, strict=True))
        total = sum(way for bags, way in ways.items() if bags in self.safe_if_exchanged)
        return 1 - Fraction(total, sum(ways.values())) ** self.decoys

    def groups(self):
        """All ways in which it may be dealt out, for each group that bears on no other."""
        if self.safe_if_exchanged is None:
            return [[group((bag,), ((sum(bag),),), frozenset(), Fraction(1))] for bag in self.dealt]
        results = []
        for placed in placements(self.dealt, self.sizes):
            result = group(self.dealt, placed, self.unsafe, self.spared(placed))
            if result.possible:
                results.append(result)
        return [results]

    def deals(self, even=False):
        """How many different releases deals make of it; only those whose worlds are as likely."""
        alike = prod(map(factorial, Counter(self.dealt).values()))
        if self.safe_if_exchanged is None:
            people = [sum(bag) for bag in self.dealt]
            return factorial(sum(people)) // prod(map(factorial, people)) // alike
        results_found = 0
        for placed, placement in placements(self.dealt, self.sizes).items():
            made = group(self.dealt, placed, self.unsafe, self.spared(placed))
            if made.possible and not (even and made.uneven):
                results_found += placement
        return results_found // alike


class Walk:
    """All that may become of the worlds of a table."""

    def __init__(self, microdata, policy):
        self.microdata, self.policy, self.judged = microdata, policy, {}
        self.cuts = 0

    def leaves(self):
        """Lists of groups that are dealt out, each with how probable its acceptances are."""
        search = Decoy()._start(self.microdata, self.policy)
        yield from self._follow(search, [], Fraction(1))

    def _follow(self, search, left, chance):
        if not search.n_groups:
            final = search.final[search.point]
            ends = [
                self._left(search, np.flatnonzero(final == own), None, int(search.dealt[own]))
                for own in search.choose_deals().tolist()
            ]
            yield left + ends, chance
            return
        cuts = search.choose_cuts()
        self.cuts += len(cuts.group)
        if not len(cuts.group):
            search.descend(cuts, _outcome([], []))
            yield from self._follow(search, left, chance)
            return
        start, own = search.guards, search.group_of_people()
        result = np.ones(len(cuts.group), dtype=bool)
        if start.groups_interact:
            search.guards = start.copy()
            result = search.guards.evaluate(
                *search.groups_if_refused(cuts, result)
            ).accept_greedily()
        waiting = [(0, (), search.guards, search.value, left, chance)]
        while waiting:
            number, accepted, search.guards, search.value, found, so_far = waiting.pop()
            if number == len(cuts.group):
                taken = np.array(accepted)
                yield from self._on(search, cuts, start, result, taken, found, so_far)
                search.guards = start
                continue
            if not result[number]:
                state = (search.guards, search.value, found, so_far)
                waiting.append((number + 1, (*accepted, False), *state))
                continue
            people = np.flatnonzero(own == cuts.group[number])
            mine = self._left(search, people, cuts, number)
            rest = (search.guards, search.value, [*found, mine], so_far)
            if mine.deals():
                waiting.append((number + 1, (*accepted, False), *rest))
            before, value = search.guards, search.value
            for bags in divided(mine.bag, mine.sizes):
                if bags in mine.unsafe:
                    continue
                kept = _kept(mine, bags)
                if not kept:
                    continue
                search.value, search.guards = value.copy(), before
                for part, bag in enumerate(bags):
                    inside = people[np.array(mine.side) == part]
                    search.value[inside] = np.repeat(np.arange(len(bag)), bag)
                if start.groups_interact:
                    search.guards = before.copy()
                    search.commit(_with(search, cuts), np.arange(len(cuts.group)) == number)
                state = (search.guards, search.value, found, so_far * kept)
                waiting.append((number + 1, (*accepted, True), *state))

    def _on(self, search, cuts, start, made, accepted, left, chance):
        """Go on with a copy of a search."""
        other = copy.copy(search)
        other._tried, other._went = other._tried.copy(), other._went.copy()
        other.final, other.seat = other.final.copy(), other.seat.copy()
        place = np.full(len(other.final), -1)
        place[other.index] = np.arange(len(other.index))
        own = place[other.point]
        other._point, other._value = own[own >= 0], other.value[own >= 0]
        other._many = np.ones(len(other._point), dtype=np.int64)
        if start.groups_interact:
            other.guards = start.copy()
            if (made & ~accepted).any():
                other.guards.commit(other.groups_if_refused(cuts, made & ~accepted)[0])
            other.commit(_with(other, cuts), accepted)
        other.descend(cuts, _outcome(made, accepted))
        yield from self._follow(other, left, chance)

    def _left(self, search, people, cuts, number):
        """A group of which a cut is refused, or that nothing was tried of."""
        bag = np.bincount(search.value[people], minlength=len(search.labels))
        bag = tuple(bag.tolist())
        if cuts is None:
            return Left(people.tolist(), [0] * len(people), bag, number)
        first = np.flatnonzero(cuts.owner == number)[0]
        side = (search.part_of_people(cuts)[people] - first).tolist()
        key = (tuple(side), bag, int(cuts.n_deals[number]), int(cuts.decoys[number]))
        if search.guards.groups_interact or key not in self.judged:
            every = list(divided(bag, tuple(Counter(side)[p] for p in range(max(side) + 1))))
            each = np.array(every, dtype=np.int64)
            asked = each.reshape(-1, each.shape[2]), np.repeat(np.arange(len(each)), each.shape[1])
            safe, quiet = search.safe(*asked), search.safe_if_exchanged(*asked)
            self.judged[key] = (
                frozenset(way for way, one in zip(every, safe, strict=True) if not one),
                frozenset(way for way, one in zip(every, quiet, strict=True) if one),
            )
        many, decoys = key[2:]
        return Left(people.tolist(), side, bag, many, *self.judged[key], decoys)


def _kept(left, bags):
    """How probable it is that a cut is accepted whose parts have these bags."""
    result = whole = Fraction(0)
    for placed, placement in placements(left.dealt, left.sizes).items():
        each = [divided(bag, sizes) for bag, sizes in zip(left.dealt, placed, strict=True)]
        total = sum(
            prod(own[x] for own, x in zip(each, way, strict=True))
            for way in product(*each)
            if added(*way) == bags
        )
        result += total * placement * (1 - left.spared(placed))
        whole += total * placement
    return result / whole


def _with(search, cuts):
    """Cuts with the bags that their parts have now."""
    part = search.part_of_people(cuts)
    bags = np.zeros_like(cuts.bags)
    np.add.at(bags, (part[part >= 0], search.value[part >= 0]), 1)
    return replace(cuts, bags=bags)


def _outcome(made, accepted):
    return Outcome(np.array(made, dtype=bool), np.array(accepted, dtype=bool))


@pytest.fixture
def eager(monkeypatch):
    """Try cuts also that will nearly always be refused; as many decoys as asked for."""

    def few(decoys, **broken):
        monkeypatch.setattr(search, "_CHANCES", (0,))
        monkeypatch.setattr(guards, "AMOUNTS", (decoys, *(x for x in guards.AMOUNTS if x > decoys)))
        monkeypatch.setattr(search, "AMOUNTS", guards.AMOUNTS)
        for module in (guards, decoy, search):
            monkeypatch.setattr(module, "DECOYS_IF_INTERACTING", decoys)
        if "swaps" in broken:
            monkeypatch.setattr(guards.Guards, "swaps", broken["swaps"])
        if "kept" in broken:
            kept = Fraction(broken["kept"])
            monkeypatch.setattr(guards, "_kept_factor", lambda decoys, power: kept)

    return few


SEEN = {}  # what facts come to, of the same groups


def labelled(sizes):
    """Places of people, so many of each."""
    return [place for place, size in enumerate(sizes) for _ in range(size)]


def given(dealt, seats, side, parts):
    """Every way to give the values of dealt groups to people; and the bags of the parts then."""
    for own in product(*(sorted(set(permutations(labelled(bag)))) for bag in dealt)):
        left = [list(values) for values in own]
        world = [left[seat].pop() for seat in seats]
        bags = [[0] * len(dealt[0]) for _ in range(parts)]
        for part, value in zip(side, world, strict=True):
            bags[part][value] += 1
        yield world, tuple(map(tuple, bags))


def made_of(microdata, policy):
    """How probable each grouping is of each world: groups are numbered as people come."""
    n, labels = microdata.n_rows, list(microdata.values)
    by_key = defaultdict(lambda: defaultdict(Fraction))
    for left, chance in Walk(microdata, policy).leaves():
        every = [(chance, {}, {})]
        for number, one in enumerate(left):
            alone = Fraction(
                prod(factorial(many) for bag in one.dealt for many in bag),
                prod(map(factorial, one.bag)),
            )
            more = []
            for seats in sorted(set(permutations(labelled(map(sum, one.dealt))))):
                cells = Counter(zip(seats, one.side, strict=True))
                placed = tuple(
                    tuple(cells[i, part] for part in range(len(one.sizes))) for i in range(one.many)
                )
                seen = dict(zip(one.people, ((number, i) for i in seats), strict=True))
                for values, bags in given(one.dealt, seats, one.side, len(one.sizes)):
                    times = alone * (1 if bags in one.unsafe else one.spared(placed))
                    world = dict(zip(one.people, values, strict=True))
                    more += [(w * times, g | seen, v | world) for w, g, v in every if times]
            every = more
        for weight, groups, world in every:
            world = tuple(labels[world[p]] for p in range(n))
            by_key[in_order(groups[p] for p in range(n))][world] += weight
    return by_key


def in_order(groups):
    """The same groups, numbered as they come."""
    seen = {}
    return tuple(seen.setdefault(own, len(seen)) for own in groups)


def judge(microdata, policy, facts):
    """What is made of all worlds of a table, and the highest posterior of anybody.

    Returns how many cuts were tried, how many releases there are (which cuts were accepted and
    refused being a part of them), of how many the worlds are not equally likely; the highest
    posterior in those, and in all.
    """
    walk, counts, values = Walk(microdata, policy), Counter(), range(len(microdata.values))
    highest = {False: Fraction(0), True: Fraction(0)}
    for left, _ in walk.leaves():
        groups = [ways for one in left for ways in one.groups()]
        uneven = sum(way.uneven for ways in groups for way in ways)
        for own, value in product(apart(groups, facts), values):
            key = (tuple(sorted(tuple(sorted(map(id, ways))) for ways in own)), value, facts)
            if key not in SEEN:
                SEEN[key] = worst(own, value, facts)
            highest[bool(uneven)] = max(highest[bool(uneven)], SEEN[key])
        counts["releases"] += prod(one.deals() for one in left)
        counts["uneven"] += prod(one.deals() for one in left) - prod(
            one.deals(True) for one in left
        )
    counts["cuts"] = walk.cuts
    return counts, highest[True], max(highest.values())


def apart(groups, facts):
    """Groups that bear on one another: all where people may be linked, else each on its own."""
    return [groups] if facts[2] else [[ways] for ways in groups]
