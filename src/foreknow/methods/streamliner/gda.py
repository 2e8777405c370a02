"""GDA: partners of other colours who are near by their quasi-identifiers; unsafe when it is known.

Table 7 of "Privacy Streamliner". It is here to be compared with: who knows it and everybody's
quasi-identifiers can rule out every table that it would have grouped otherwise. Four people of
ranks 1 to 4 with values a, a, b, c: the groups {1, 3}: ab and {2, 4}: ac come from one table only.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.microdata import Attribute
from foreknow.data.sparse import IntArray
from foreknow.errors import NoSafeRelease
from foreknow.methods.streamliner.rda import Colours, Plan

# Kinds of groups that are looked at first for somebody, and at most.
_FIRST, _NEAR = 128, 4096


@dataclass(frozen=True, eq=False)
class Kinds:
    """Groups of the same colours and ranks, in the order in which they are made.

    Attributes
    ----------
    colours, ranks : integer arrays, shape (kinds, l)
    sizes : int64 array, shape (kinds,)
        How many such groups there are.
    """

    colours: NDArray[np.integer]
    ranks: NDArray[np.integer]
    sizes: IntArray


class Open:
    """The groups that nobody of a colour is in.

    By the sum of their ranks: the average distance of a rank from a group is at least its distance
    from their mean. So if a group was found at some distance, all that are farther than that by
    their mean need no look.

    Parameters
    ----------
    kinds : Kinds
    colour : int

    Examples
    --------
    >>> colours, ranks = np.array([[0, 1], [0, 2], [1, 2]]), np.array([[3, 5], [6, 9], [1, 2]])
    >>> groups = Open(Kinds(colours, ranks, np.array([1, 1, 1])), 1)
    >>> list(groups.nearest(5, 2))
    [(1, 1)]
    """

    def __init__(self, kinds: Kinds, colour: int) -> None:
        free = np.flatnonzero(~(kinds.colours == colour).any(axis=1))
        sums = kinds.ranks[free].sum(axis=1, dtype=np.int64)
        order = np.argsort(sums, kind="stable")
        self._kinds, self._sums = free[order], sums[order]
        self._ranks = kinds.ranks[self._kinds]
        self._room = kinds.sizes[self._kinds]
        self._full = 0

    def nearest(self, rank: int, people: int) -> Iterator[tuple[int, int]]:
        """The nearest groups for some people, one each; equally near ones as they are made.

        Parameters
        ----------
        rank : int
        people : int

        Yields
        ------
        kind : int
        joined : int
            How many join a group of this kind; fewer than `people` in all if there is no room.
        """
        while people and len(self._kinds):
            if self._full > _NEAR // 8:
                self._forget_full()
                continue
            places, distances = self._near(rank, people)
            if not len(places):
                if not self._full:
                    return
                self._forget_full()
                continue
            for place in places[np.lexsort((self._kinds[places], distances))].tolist():
                joined = min(int(self._room[place]), people)
                self._room[place] -= joined
                self._full += not self._room[place]
                people -= joined
                yield int(self._kinds[place]), joined
                if not people:
                    return

    def _near(self, rank: int, people: int) -> tuple[IntArray, IntArray]:
        """Groups with room that are nearer than all others, and their distances times l."""
        target = rank * self._ranks.shape[1]
        middle = int(np.searchsorted(self._sums, target))
        width = _FIRST
        while True:
            low, high = max(middle - width // 2, 0), middle + width // 2
            distances = np.abs(self._ranks[low:high] - rank).sum(axis=1, dtype=np.int64)
            room = self._room[low:high]
            beyond = [int(target - self._sums[low - 1])] if low else []
            beyond += [int(self._sums[high] - target)] if high < len(self._sums) else []
            if width >= _NEAR or not beyond:
                found = np.flatnonzero(room)
            else:
                found = np.flatnonzero((room > 0) & (distances < min(beyond)))
            if width >= _NEAR or not beyond or room[found].sum() >= people:
                if people < len(found):
                    most = np.partition(distances[found], people - 1)[people - 1]
                    found = found[distances[found] <= most]
                return low + found, distances[found]
            width *= 4

    def _forget_full(self) -> None:
        open_to = self._room > 0
        self._kinds, self._sums = self._kinds[open_to], self._sums[open_to]
        self._ranks, self._room = self._ranks[open_to], self._room[open_to]
        self._full = 0


# Keys in one list; a list is divided when it has twice as many.
_MOST = 512


class Nearest:
    """Things that each lie at a rank, kept in order of rank and number.

    Parameters
    ----------
    ranks : mapping of int to int
        The rank of each thing, by its number.
    n_things : int
        Numbers are below this.

    Examples
    --------
    >>> near = Nearest({0: 5, 1: 3, 2: 7, 3: 40}, 4)
    >>> near.of(5, 3)
    [0, 1, 2]
    >>> near.move(0, 5, 6)
    >>> near.of(5, 1), near.of(6, 1), near.of(39, 2)
    ([0], [0], [3, 2])
    >>> near.leave(3, 40)
    >>> near.of(39, 2)
    [2, 0]
    """

    def __init__(self, ranks: dict[int, int], n_things: int) -> None:
        self._n = n_things
        keys = sorted(rank * n_things + thing for thing, rank in ranks.items())
        self._lists = [keys[i : i + _MOST] for i in range(0, len(keys), _MOST)] or [[]]
        self._lasts = [keys[-1] if keys else -1 for keys in self._lists]

    def of(self, rank: int, many: int) -> list[int]:
        """The things nearest to a rank, equally near ones by number."""
        here = rank * self._n
        # A key less that of the rank is the distance times n and the number: the order wanted.
        found = [key - here for key in self._from(here, many)]
        below = self._below(here, many)
        if len(below) == many and many:
            # Of the farthest of them, those with the least numbers count.
            farthest = below[-1] // self._n
            nearer = [key for key in below if key // self._n > farthest]
            below = nearer + self._from(farthest * self._n, many - len(nearer))
        n = self._n
        found += [(rank - key // n) * n + key % n for key in below]
        found.sort()
        return [key % n for key in found[:many]]

    def leave(self, thing: int, rank: int) -> None:
        """A thing goes."""
        key = rank * self._n + thing
        place = bisect_left(self._lasts, key)
        keys = self._lists[place]
        del keys[bisect_left(keys, key)]
        if keys:
            self._lasts[place] = keys[-1]
        elif len(self._lists) > 1:
            del self._lists[place], self._lasts[place]

    def move(self, thing: int, rank: int, to: int) -> None:
        """A thing goes to another rank."""
        self.leave(thing, rank)
        key = to * self._n + thing
        place = min(bisect_left(self._lasts, key), len(self._lists) - 1)
        keys = self._lists[place]
        insort(keys, key)
        if len(keys) > 2 * _MOST:
            self._lists[place : place + 1] = [keys[:_MOST], keys[_MOST:]]
            self._lasts.insert(place, keys[_MOST - 1])
            place += 1
        self._lasts[place] = self._lists[place][-1]

    def _from(self, key: int, many: int) -> list[int]:
        """The next keys from one on, ascending."""
        place = min(bisect_left(self._lasts, key), len(self._lists) - 1)
        start = bisect_left(self._lists[place], key)
        found = self._lists[place][start : start + many]
        while len(found) < many and place + 1 < len(self._lists):
            place += 1
            found += self._lists[place][: many - len(found)]
        return found

    def _below(self, key: int, many: int) -> list[int]:
        """The last keys below one, descending."""
        place = min(bisect_left(self._lasts, key), len(self._lists) - 1)
        end = bisect_left(self._lists[place], key)
        found = self._lists[place][max(end - many, 0) : end][::-1]
        while len(found) < many and place:
            place -= 1
            keys = self._lists[place]
            found += keys[max(len(keys) - many + len(found), 0) :][::-1]
        return found


# People at a time.
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Runs:
    """People of one colour and one weighted rank, by colour and then by rank.

    Attributes
    ----------
    colours, ranks, sizes : int64 arrays, shape (runs,)
    """

    colours: IntArray
    ranks: IntArray
    sizes: IntArray


def plan_gda(runs: Runs, values: Sequence[Any], l: int) -> Plan:  # noqa: E741
    """Plan the groups of GDA.

    Each person of the largest colour, in order of rank, takes the first of those ``l - 1`` colours
    whose first is nearest (equally near ones by colour); when that colour is used up, the colour
    that is largest then follows, until fewer than ``l`` are left. Who is left over joins, colour by
    colour, the group without their colour that is nearest on average (of equally near ones, the
    first that was made). If it is not among the 4,096 kinds of groups whose average rank is
    nearest, the nearest of these is taken: to look at all would take quadratic time.

    People of the same colour and rank are planned for together, as long as nothing changes. The
    colours are kept in order of their first ranks, so that each step takes time in proportion to l
    and the logarithm of their number.

    Parameters
    ----------
    runs : Runs
    values : sequence
        The sensitive value of each colour, for the message.
    l : int

    Raises
    ------
    NoSafeRelease
        GDA can be stuck: somebody is left over whose colour is in every group.

    Examples
    --------
    >>> runs = Runs(np.array([0, 0, 1, 2]), np.array([1, 2, 3, 4]), np.array([1, 1, 1, 1]))
    >>> plan_gda(runs, "abc", 2).slots.tolist()
    [[0, 1], [0, 2]]
    """
    kinds, left = _draw(runs, len(values), l)
    return Plan(np.repeat(kinds.colours, kinds.sizes, axis=0), _join(kinds, runs, left, values))


def by_rank(
    codes: NDArray[Any],
    n_colours: int,
    attributes: Sequence[Attribute],
    weights: Mapping[str, int],
    random: np.random.Generator,
) -> tuple[Runs, Colours]:
    """Sort people by colour and weighted rank; equal ones by lot.

    The rank of a value is its place in the attribute's order, from 1; a person's weighted rank is
    the sum over the attributes, each times its weight, 1 where none is given.
    """
    weighted = [(attribute.codes, weights.get(attribute.name, 1)) for attribute in attributes]
    span = 1 + sum(len(a.domain) * weights.get(a.name, 1) for a in attributes)

    def ranks_of(block: slice) -> IntArray:
        total = np.zeros(len(codes[block]), dtype=np.int64)
        for own, weight in weighted:
            total += (own[block].astype(np.int64) + 1) * weight
        return total

    blocks = [slice(start, start + _BLOCK) for start in range(0, len(codes), _BLOCK)]
    if span <= max(4 * len(codes), _BLOCK):
        occurs = np.zeros(span, dtype=bool)
        for block in blocks:
            occurs[ranks_of(block)] = True
        ranks = np.flatnonzero(occurs)
    else:
        ranks = np.unique(ranks_of(slice(None)))
    n_keys = n_colours * len(ranks)
    keys = np.empty(len(codes), dtype=np.min_scalar_type(max(n_keys - 1, 0)))
    for block in blocks:
        places = np.searchsorted(ranks, ranks_of(block))
        keys[block] = codes[block].astype(np.int64) * len(ranks) + places
    people, found, sizes = _sorted(keys, n_keys)
    kinds = Colours(people, np.concatenate(([0], np.cumsum(sizes))))
    kinds.shuffle(random)
    of_colour = found // len(ranks)
    starts = kinds.starts[np.searchsorted(of_colour, np.arange(n_colours + 1))]
    found -= of_colour * len(ranks)
    return Runs(of_colour, ranks[found], sizes), Colours(people, starts)


def _sorted(keys: NDArray[Any], n_keys: int) -> tuple[NDArray[Any], IntArray, IntArray]:
    """People by key; the keys that occur, in order, and how often."""
    if n_keys <= _BLOCK:
        counts = np.bincount(keys, minlength=n_keys)
        found = np.flatnonzero(counts)
        return Colours.of(keys, counts).people, found, counts[found]
    order = np.argsort(keys, kind="stable")
    people = order.astype(np.int32 if len(keys) < 2**31 else np.int64)
    del order
    keys = keys[people]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return people, keys[starts].astype(np.int64), np.diff(starts, append=len(keys))


def _draw(runs: Runs, n_colours: int, l: int) -> tuple[Kinds, IntArray]:  # noqa: E741
    """Make groups until fewer than l colours are left; also what is left of each run."""
    numbers = np.arange(n_colours)
    at = np.searchsorted(runs.colours, numbers, "left").tolist()
    ends = np.searchsorted(runs.colours, numbers, "right").tolist()
    totals = np.bincount(runs.colours, weights=runs.sizes, minlength=n_colours).astype(np.int64)
    total = totals.tolist()
    left = runs.sizes.copy()
    # Without copies: one number at a time is read from them very often.
    rank_of, left_of = runs.ranks.data, left.data
    first = {colour: rank_of[at[colour]] for colour in np.flatnonzero(totals).tolist()}
    near = Nearest(first, n_colours)
    # Sizes from above, as they were when last looked at.
    largest = [(-total[colour], colour) for colour in first]
    heapify(largest)
    taken, sizes = array("i" if len(left) < 2**31 else "q"), array("q")
    own = -1
    while len(first) >= l:
        if own < 0 or not total[own]:
            while -largest[0][0] != total[largest[0][1]]:
                heapreplace(largest, (-total[largest[0][1]], largest[0][1]))
            own = largest[0][1]
        chosen = near.of(first[own], l)
        if chosen[0] != own:
            # It comes first; others may lie at the same rank.
            chosen = [own, *(colour for colour in chosen if colour != own)][:l]
        used = [at[colour] for colour in chosen]
        number = min([left_of[run] for run in used])
        taken.extend(used)
        sizes.append(number)
        for colour, run in zip(chosen, used, strict=True):
            left_of[run] -= number
            total[colour] -= number
            if left_of[run]:
                continue
            if run + 1 < ends[colour]:
                at[colour] = run + 1
                near.move(colour, first[colour], rank_of[run + 1])
                first[colour] = rank_of[run + 1]
            else:
                near.leave(colour, first.pop(colour))
    places = np.frombuffer(taken, dtype=taken.typecode).reshape(-1, l)
    small = np.min_scalar_type(max(n_colours - 1, 0))
    ranks = runs.ranks.astype(np.int32) if runs.ranks.max() < 2**31 else runs.ranks
    many = np.array(sizes, dtype=np.int64)
    return Kinds(runs.colours.astype(small)[places], ranks[places], many), left


def _join(kinds: Kinds, runs: Runs, left: IntArray, values: Sequence[Any]) -> IntArray:
    """Give everybody who is left over the nearest group without their colour."""
    starts = (np.cumsum(kinds.sizes) - kinds.sizes).tolist()
    late: list[tuple[int, int]] = []
    for colour in np.unique(runs.colours[left > 0]).tolist():
        groups = Open(kinds, colour)
        joined: dict[int, int] = {}
        for run in np.flatnonzero((runs.colours == colour) & (left > 0)).tolist():
            people = int(left[run])
            for kind, number in groups.nearest(int(runs.ranks[run]), people):
                before = joined.get(kind, 0)
                joined[kind] = before + number
                late += [(colour, starts[kind] + before + i) for i in range(number)]
                people -= number
            if people:
                left_over = int(left[runs.colours == colour].sum()) - sum(joined.values())
                raise NoSafeRelease(
                    f"GDA is stuck: {_people(left_over)} left over with {values[colour]!r}, and "
                    "every group holds that value already. A safe release may still exist; try "
                    "variant='rda'"
                )
    return np.array(late, dtype=np.int64).reshape(-1, 2)


def _people(many: int) -> str:
    return "1 person is" if many == 1 else f"{many:,} people are"
