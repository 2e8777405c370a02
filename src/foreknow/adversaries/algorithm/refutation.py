"""Directed search: a possible world in which somebody who seems found out has another value."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.algorithm.mcmc import Budget, exchanged
from foreknow.adversaries.algorithm.method_runner import Runs
from foreknow.adversaries.algorithm.observation import Seen
from foreknow.adversaries.algorithm.worlds import Codes, Worlds
from foreknow.data.sparse import IntArray

# Walks for each suspected cell, and steps of a walk.
_WALKS, _STEPS = 8, 12


@dataclass(eq=False)
class Search:
    """A search for possible worlds, which are noted in `met`.

    Attributes
    ----------
    met : bool array, shape (cells, values)
        Which cells have which values in some possible world.
    """

    worlds: Worlds
    runs: Runs
    seen: Seen
    random: np.random.Generator
    met: NDArray[np.bool_]
    _tried: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self._tried = np.zeros(self.worlds.n_cells, dtype=np.int64)

    @property
    def suspected(self) -> IntArray:
        """Cells that have one value in all worlds met, though their group has several."""
        several = np.count_nonzero(self.worlds.bags, axis=1)[self.worlds.group_of_cell] > 1
        return np.flatnonzero(several & (self.met.sum(axis=1) == 1))

    def refute(self, starts: list[Codes], budget: Budget) -> None:
        """Look for a possible world against each suspicion, until the budget is spent.

        A walk starts at a possible world; a member of the cell swaps values with somebody, and
        keeps the new value. Then others swap, as long as the release that is made comes no
        further from the one that is published.
        """
        for walk in range(_WALKS):
            left = self.suspected
            for cell in self.random.permutation(left).tolist():
                if budget.spent:
                    return
                if self.met[cell].sum() == 1:
                    place = walk if walk < len(starts) else self.random.integers(len(starts))
                    self._walk(cell, starts[int(place)], 0 if walk < 2 else _STEPS, budget)
                    self._tried[cell] += not budget.spent

    @property
    def settled(self) -> NDArray[np.bool_]:
        """Which cells every walk was tried against."""
        return self._tried >= _WALKS

    def find(self, start: Codes, budget: Budget) -> Codes | None:
        """Look for any possible world, from any world."""
        while not budget.spent:
            found = self._approach(start, None, 10 * _STEPS, budget)
            if found is not None:
                return found
            start = self.worlds.at_random(self.random)
        return None

    def scatter(self, known: list[Codes], most: int, budget: Budget) -> list[Codes]:
        """Look for possible worlds far from known ones: from any worlds, and across groups.

        Each known world is also tried with two values exchanged in all groups that have as many
        of both, which no few swaps do.
        """
        found: list[Codes] = []
        for start in known[:1]:
            for one, other in combinations(range(self.worlds.n_values), 2):
                if budget.spent:
                    return found
                turned = exchanged(self.worlds, start, one, other, range(self.worlds.n_groups))
                if not np.array_equal(turned, start) and not self._far(turned):
                    found.append(turned)
        found = found[: most // 2]
        for _ in range(4 * most):
            if len(found) >= most or budget.spent:
                break
            start = self.worlds.at_random(self.random)
            one_more = self._approach(start, None, 5 * _STEPS, budget)
            if one_more is not None:
                found.append(one_more)
        for codes in found:
            self.met |= self.worlds.tally(codes) > 0
        return found

    def _walk(self, cell: int, start: Codes, steps: int, budget: Budget) -> None:
        person = int(self.random.choice(np.flatnonzero(self.worlds.cell_of == cell)))
        group = self.worlds.members[int(self.worlds.group_of_cell[cell])]
        others = group[start[group] != start[person]]
        if not len(others):
            return
        codes = start.copy()
        other = int(self.random.choice(others))
        codes[[person, other]] = codes[[other, person]]
        self._approach(codes, person, steps, budget)

    def _approach(
        self, codes: Codes, fixed: int | None, steps: int, budget: Budget
    ) -> Codes | None:
        """Swap values towards the release; one person keeps theirs."""
        far = self._far(codes)
        for _ in range(steps):
            if far == 0 or budget.spent:
                break
            swapped = self._swapped(codes, fixed)
            if swapped is None:
                continue
            there = self._far(swapped)
            if there <= far or self.random.random() < 0.02:
                codes, far = swapped, there
        if far:
            return None
        self.met |= self.worlds.tally(codes) > 0
        return codes

    def _swapped(self, codes: Codes, fixed: int | None) -> Codes | None:
        one = int(self.random.integers(self.worlds.n_people))
        group = self.worlds.members[int(self.worlds.groups[one])]
        others = group[(codes[group] != codes[one]) & (group != fixed)]
        if one == fixed or not len(others):
            return None
        other = int(self.random.choice(others))
        swapped = codes.copy()
        swapped[[one, other]] = swapped[[other, one]]
        return swapped

    def _far(self, codes: Codes) -> float:
        """How far the release that is made of a world is from the published one; 0 if possible."""
        if self.runs.symmetric:
            codes = self.worlds.standing_for(codes)
        if self.runs.random:
            return 0.0 if self.runs.weight(codes, self.seen) else 1.0
        made = self.runs.make(codes, None if self.runs.seeds is None else self.runs.seeds[0])
        if self.seen.what == "nothing":
            return float(made is not None)
        if made is None:
            return 2.0
        return 0.0 if made == self.seen else max(made.apart(self.seen), 1e-9)
