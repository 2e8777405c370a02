"""GDA: partners of other colours who are near by their quasi-identifiers; unsafe when it is known.

Table 7 of "Privacy Streamliner". It is here to be compared with: an adversary who knows it and
everybody's quasi-identifiers can rule out every table that it would have grouped otherwise. Four
people of ranks 1 to 4 with values a, a, b, c: the groups {1, 3}: ab and {2, 4}: ac come from one
table only.
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
from foreknow.methods.streamliner.rda import Colours, Plan, least_signed

# Kinds of groups that are looked at for a person who is left over, on each side of their rank:
# more and more, as long as others might be nearer.
_NEAR = (64, 256, 1024, 4096)


@dataclass(frozen=True, eq=False)
class Runs:
    """People of one colour and weighted rank, by colour and rank; or groups of such, as made."""

    colours: NDArray[Any]  # of groups, shape (kinds, l)
    ranks: NDArray[Any]
    sizes: IntArray


def by_rank(
    codes: NDArray[Any],
    n_colours: int,
    attributes: Sequence[Attribute],
    weights: Mapping[str, int],
    random: np.random.Generator,
) -> tuple[Runs, Colours]:
    """Sort people by colour and weighted rank, a sum of places; equal ones in random order."""
    span = 1 + sum(len(a.domain) * weights.get(a.name, 1) for a in attributes)
    rank = np.zeros(len(codes), dtype=least_signed(span))
    for attribute in attributes:
        rank += (attribute.codes.astype(rank.dtype) + 1) * weights.get(attribute.name, 1)
    if span <= max(4 * len(codes), 1 << 16):
        occurs = np.bincount(rank) > 0
        ranks, place = np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[rank]
    else:
        ranks, place = np.unique(rank, return_inverse=True)
    keys = codes.astype(np.min_scalar_type(max(n_colours, 2) * len(ranks)))
    keys *= keys.dtype.type(len(ranks))
    keys += place.astype(keys.dtype)
    del rank, place
    people = np.argsort(keys, kind="stable").astype(least_signed(len(keys)))
    keys = keys[people]
    begins = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    colours, places = np.divmod(keys[begins].astype(np.int64), len(ranks))
    Colours(people, np.append(begins, len(keys))).shuffle(random)
    starts = np.append(begins, len(keys))[np.searchsorted(colours, np.arange(n_colours + 1))]
    sizes = np.diff(begins, append=len(keys))
    return Runs(colours, ranks[places].astype(np.int64), sizes), Colours(people, starts)


def plan_gda(runs: Runs, values: Sequence[Any], l: int) -> Plan:
    """Plan the groups of GDA; the values are those of the colours, for the message.

    Each person of the largest colour, in order of rank, takes the first of those ``l - 1`` colours
    whose first is nearest (equally near ones by colour), until fewer than ``l`` colours are left.
    People left over join, colour by colour, the nearest group without it. One whose colour is in
    every group: NoSafeRelease.
    """
    kinds, left = _kinds(runs, len(values), l)
    late = _joined(kinds, runs, left, values)
    return Plan(np.repeat(kinds.colours, kinds.sizes, axis=0), late)


def _kinds(runs: Runs, n_colours: int, l: int) -> tuple[Runs, IntArray]:
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
    taken, sizes = array("q"), array("q")
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
            near.leave(colour, first.pop(colour))
            if run + 1 < ends[colour]:
                at[colour] = run + 1
                first[colour] = rank_of[run + 1]
                near.come(colour, first[colour])
    places = np.frombuffer(taken, dtype=np.int64).reshape(-1, l)
    colours = runs.colours.astype(np.min_scalar_type(max(n_colours - 1, 0)))
    ranks = runs.ranks.astype(least_signed(int(runs.ranks.max())))
    return Runs(colours[places], ranks[places], np.array(sizes, dtype=np.int64)), left


class Nearest:
    """Colours at ranks, in order of rank and colour: the keys are rank times n plus colour."""

    def __init__(self, ranks: dict[int, int], n: int) -> None:
        self.n = n
        self.keys = sorted(rank * n + colour for colour, rank in ranks.items())

    def of(self, rank: int, many: int) -> list[int]:
        """The colours nearest to a rank, equally near ones by number."""
        keys, n = self.keys, self.n
        here = rank * n
        place = bisect_left(keys, here)
        # A key less that of the rank is the distance times n plus the colour: the order wanted.
        found = [key - here for key in keys[place : place + many]]
        if place:
            # Below, too; of those at the farthest rank, the least colours count.
            low = max(place - many, 0)
            farthest = keys[low] // n * n
            begin = bisect_left(keys, farthest, 0, low)
            end = bisect_left(keys, farthest + n, low, place)
            below = keys[begin : begin + end - low] + keys[end:place]
            found += [(rank - key // n) * n + key % n for key in below]
            found.sort()
        return [key % n for key in found[:many]]

    def leave(self, colour: int, rank: int) -> None:
        """Remove a colour from a rank."""
        del self.keys[bisect_left(self.keys, rank * self.n + colour)]

    def come(self, colour: int, rank: int) -> None:
        """Put a colour at a rank."""
        insort(self.keys, rank * self.n + colour)


def _joined(kinds: Runs, runs: Runs, left: IntArray, values: Sequence[Any]) -> IntArray:
    """Give everybody who is left over the nearest group without their colour."""
    starts = (np.cumsum(kinds.sizes) - kinds.sizes).tolist()
    late: list[tuple[int, int]] = []
    for colour in np.unique(runs.colours[left > 0]).tolist():
        groups = Open(kinds.colours, kinds.ranks, kinds.sizes, colour)
        joined: dict[int, int] = {}
        own = np.flatnonzero((runs.colours == colour) & (left > 0)).tolist()
        for run in own:
            people = int(left[run])
            for kind, number in groups.nearest(int(runs.ranks[run]), people):
                before = joined.get(kind, 0)
                joined[kind] = before + number
                late += [(colour, starts[kind] + before + i) for i in range(number)]
                people -= number
            if people:
                stuck = int(left[own].sum()) - sum(joined.values())
                raise NoSafeRelease(
                    f"GDA is stuck: {stuck:,} {'person is' if stuck == 1 else 'people are'} left "
                    f"over with {values[colour]!r}, and every group holds that value already. A "
                    "safe release may still exist; try variant='rda'"
                )
    return np.array(late, dtype=np.int64).reshape(-1, 2)


class Open:
    """The kinds of groups that lack a colour and have room, by the sum of their ranks."""

    def __init__(
        self, colours: NDArray[Any], ranks: NDArray[Any], sizes: IntArray, colour: int
    ) -> None:
        free = np.flatnonzero(~(colours == colour).any(axis=1))
        sums = ranks[free].sum(axis=1, dtype=np.int64)
        order = np.argsort(sums, kind="stable")
        self.kinds, self.sums = free[order], sums[order]
        self.ranks, self.room = ranks[self.kinds], sizes[self.kinds]
        self.full = 0

    def nearest(self, rank: int, people: int) -> Iterator[tuple[int, int]]:
        """The nearest kinds of groups for some people, and how many join each."""
        while people and len(self.kinds):
            found, distances = self._near(rank, people)
            if not len(found) or self.full > _NEAR[-1] // 8:
                self._forget_full()
                continue
            if people < len(found):
                close = distances <= np.partition(distances, people - 1)[people - 1]
                found, distances = found[close], distances[close]
            for i in found[np.lexsort((self.kinds[found], distances))].tolist():
                joined = min(int(self.room[i]), people)
                self.room[i] -= joined
                self.full += not self.room[i]
                people -= joined
                yield int(self.kinds[i]), joined
                if not people:
                    return

    def _near(self, rank: int, people: int) -> tuple[IntArray, IntArray]:
        """Groups with room that are nearer than all others, and their distances times l."""
        target = rank * self.ranks.shape[1]
        middle = int(np.searchsorted(self.sums, target))
        for width in _NEAR:
            low, high = max(middle - width, 0), min(middle + width, len(self.sums))
            found = low + np.flatnonzero(self.room[low:high])
            distances = np.abs(self.ranks[found] - rank).sum(axis=1, dtype=np.int64)
            if width < _NEAR[-1]:
                edges = [self.sums[low - 1]] if low else []
                edges += [self.sums[high]] if high < len(self.sums) else []
                near = distances < min((abs(int(edge) - target) for edge in edges), default=np.inf)
                found, distances = found[near], distances[near]
            if self.room[found].sum() >= people:
                break
        return found, distances

    def _forget_full(self) -> None:
        open_to = self.room > 0
        self.kinds, self.sums = self.kinds[open_to], self.sums[open_to]
        self.ranks, self.room = self.ranks[open_to], self.room[open_to]
        self.full = 0
