"""Chances: how sure an adversary can be of everybody, not only of the worst person.

An adversary answers by cells. A cell is some people of one group whom the adversary cannot tell
apart, and a value; each of these people is the target in turn, with the worst facts about them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from foreknow.adversaries.protocol import FloatArray, Mask
from foreknow.data.sparse import IntArray, distinct

# Fractions that are worked out at once: all cells near a limit have few kinds, as a rule.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Chances:
    """The highest posterior of each cell of a release.

    Attributes
    ----------
    case : int64 array, shape (cells,)
        The case of the cell: groups that are alike share one. Ascending.
    case_of : int64 array, shape (groups,), or None
        The case of each group; None where each group is a case by itself.
    value : int64 array, shape (cells,)
        The code of the value.
    kind : int64 array, shape (cells,)
        Which people of the case: ascending within it, and numbered through all cases.
    people, holders : int64 arrays, shape (cells,)
        How many people these are, and how many people of the group have the value, at most.
    chance, upper, lower : float64 arrays, shape (cells,)
        The highest posterior of these people having the value, nearly; and floats that it is never
        above or below.
    exact : callable, cells (positions) -> list of Fraction or None
        The same as fractions; None where that is out of reach.
    prior : callable, cells (positions) -> list of Fraction, or None
        How likely it was before the release.
    certain : bool array, shape (cells,), or None
        Where it is 1, exactly; None where fractions must say so.
    have_it : bool
        Whether the people of a cell are those who have the value; else they are people of whom
        only the group and a kind are known.
    overlap : bool
        Whether one person may be in several cells of a case, since people have several values.
    alike : int64 array, shape (cells,), or None
        Numbers that are equal where the chances of cells are; few, as a rule.
    """

    case: IntArray
    case_of: IntArray | None
    value: IntArray
    kind: IntArray
    people: IntArray
    holders: IntArray
    chance: FloatArray
    upper: FloatArray
    lower: FloatArray
    exact: Callable[[IntArray], list[Fraction | None]]
    prior: Callable[[IntArray], list[Fraction]] | None = None
    certain: Mask | None = None
    have_it: bool = True
    overlap: bool = False
    alike: IntArray | None = None

    def reaching(self, limit: Fraction, cells: IntArray, inclusive: bool = False) -> Mask:
        """Which of some cells reach a limit, settled by fractions where floats are near it.

        What is out of reach of fractions counts as reaching it. Where the limit is `inclusive` it
        may be reached, and only what is above it counts.
        """
        bound = float(limit)
        found: Mask = self.lower[cells] > bound
        near = np.flatnonzero(~found & (self.upper[cells] >= bound))
        first, kind = self._kinds(cells[near])
        settled = np.empty(len(first), dtype=bool)
        for start in range(0, len(first), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            settled[part] = [
                exact is None or exact > limit or (exact == limit and not inclusive)
                for exact in self.exact(cells[near[first[part]]])
            ]
        found[near] = settled[kind]
        return found

    def fractions(self, cells: IntArray) -> list[Fraction | None]:
        """The chances of some cells as fractions; of those that are alike it is worked out once."""
        first, kind = self._kinds(cells)
        found = self.exact(cells[first])
        return [found[i] for i in kind.tolist()]

    def _kinds(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """The first of some cells that are alike, and of which kind each is."""
        if self.alike is None:
            every = np.arange(len(cells))
            return every, every
        return distinct(self.alike[cells])

    def gaining(self, times: Fraction, cells: IntArray) -> Mask:
        """Which of some cells are more than so many times as likely as before, and so forbidden."""
        assert self.prior is not None
        limits = [min(Fraction(1), times * prior) for prior in self.prior(cells)]
        found = np.zeros(len(cells), dtype=bool)
        distinct: dict[Fraction, list[int]] = {}
        for place, limit in enumerate(limits):
            distinct.setdefault(limit, []).append(place)
        for limit, places in distinct.items():
            found[places] = self.reaching(limit, cells[places], inclusive=True)
        return found

    def sure(self, cells: IntArray) -> Mask:
        """Which of some cells are certain, exactly."""
        if self.certain is not None:
            return self.certain[cells]
        return self.reaching(Fraction(1), cells)
