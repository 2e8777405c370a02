"""Who is left over by GDA joins the group without their colour that is nearest on average."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foreknow.sparse import IntArray

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
