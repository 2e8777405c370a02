"""Seeded estimates: worlds drawn at random, and a search for a world against each suspicion."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from foreknow.attacks.algorithm.exact import FloatArray, NoWorldError, Posteriors
from foreknow.attacks.algorithm.method_runner import Runs
from foreknow.attacks.algorithm.worlds import Codes, Worlds
from foreknow.data.sparse import IntArray

_log = logging.getLogger(__name__)
# Draws at first, and for each run of the budget: worlds that were met before cost no run.
_FIRST_DRAWS, _DRAWS_PER_RUN = 400, 5
# Shares of what is left for the first draws, and for all of them if some are kept; the rest
# refutes suspicions.
_FIRST, _DRAWS = 0.1, 0.7
# Searches against each suspicion, steps of one, and possible worlds that they start from.
_SEARCHES, _STEPS, _MOST_STARTS = 8, 12, 64
# All intervals hold together, but for this chance.
_ERROR = 0.05


@dataclass(frozen=True)
class Budget:
    """So many runs and seconds (on the monotonic clock), whichever ends first."""

    runs: Runs
    last: int
    until: float | None

    def part(self, share: float) -> Budget:
        """A share of what is left."""
        now, until = time.monotonic(), self.until
        last = self.runs.made + int(self.left * share)
        return Budget(self.runs, last, None if until is None else now + (until - now) * share)

    @property
    def left(self) -> int:
        """Runs that are left."""
        return self.last - self.runs.made

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0 or (self.until is not None and time.monotonic() > self.until)


def estimated(
    worlds: Worlds, runs: Runs, budget: Budget, seed: int | None, true: bool
) -> Posteriors:
    """Estimate posteriors; `true` says that ``worlds.codes`` is possible."""
    _log.info("too many worlds: sampling them")
    before = runs.made
    search = Search(worlds, runs, np.random.default_rng(seed))
    if true:
        search.note(worlds.codes)
        runs.weight(worlds.codes)  # its run may say what runs on others make
    search.draw(budget.part(_FIRST), _FIRST_DRAWS)
    if search.kept:
        part = budget.part(_DRAWS)
        search.draw(part, part.left * _DRAWS_PER_RUN)
    elif not search.starts and not search.find(worlds.codes, budget.part(_DRAWS)):
        raise NoWorldError
    runs.check_again(search.starts, budget.until)
    not_refuted, unsettled = search.refute(budget)
    low, mean, high = search.intervals()
    return Posteriors(
        worlds,
        "independent worlds",
        search.looked,
        search.kept,
        runs.made - before,
        mean,
        low,
        high,
        not_refuted=not_refuted,
        unsettled=unsettled,
    )


@dataclass(eq=False)
class Search:
    """Draws worlds, and looks for possible ones; `met`: which cells had which values in them."""

    worlds: Worlds
    runs: Runs
    random: np.random.Generator
    looked: int = 0
    kept: int = 0
    starts: list[Codes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.total = np.zeros((self.worlds.n_cells, self.worlds.n_values), dtype=np.int64)
        self.met = self.total > 0

    def note(self, codes: Codes) -> None:
        """Note a possible world."""
        self.met |= self.worlds.tally(codes) > 0
        if len(self.starts) < _MOST_STARTS:
            self.starts.append(codes)

    # ---- draws: kept as often as the release is made of them, as the adversary believes ------

    def draw(self, budget: Budget, most: int) -> None:
        """Draw worlds, at most so many."""
        end = self.looked + most
        while self.looked < end and not budget.spent:
            self.looked += 1
            codes = self._settled(self.worlds.at_random(self.random))
            weight = self.runs.weight(codes)
            if weight and (weight == 1 or self.random.random() < weight):
                self.kept += 1
                self.total += self.worlds.tally(codes)
                self.note(codes)

    def intervals(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Lower ends, estimates and upper ends, by Hoeffding's and Bonferroni's inequalities."""
        shares, is_open = self.worlds.shares, self.worlds.open
        if not self.kept:
            return np.where(is_open, 0.0, shares), shares, np.where(is_open, 1.0, shares)
        mean = self.total / (self.kept * self.worlds.cell_sizes[:, None])
        reach = np.sqrt(np.log(2 * max(1, is_open.sum()) / _ERROR) / (2 * self.kept))
        half = np.where(is_open, reach, 0.0)
        return np.clip(mean - half, 0, 1), mean, np.clip(mean + half, 0, 1)

    # ---- the search for worlds against suspicions --------------------------------------------

    @property
    def suspected(self) -> IntArray:
        """Cells that have one value in all worlds met, though their group has several."""
        several = np.isin(self.worlds.group_of_cell, self.worlds.mixed)
        return np.flatnonzero(several & (self.met.sum(axis=1) == 1))

    def refute(self, budget: Budget) -> tuple[IntArray, IntArray]:
        """The suspicions that no world was found to refute, and those not all tried."""
        _log.info("looking for worlds against %d suspicions", len(self.suspected))
        self._exchange(budget)
        tried = np.zeros(self.worlds.n_cells, dtype=np.int64)
        for turn in range(_SEARCHES):
            for cell in self.random.permutation(self.suspected).tolist():
                if self.met[cell].sum() > 1 or budget.spent:
                    continue
                place = turn if turn < len(self.starts) else self.random.integers(len(self.starts))
                self._refute(cell, self.starts[place], 0 if turn < 2 else _STEPS, budget)
                tried[cell] += not budget.spent
        left = self.suspected
        return left[tried[left] >= _SEARCHES], left[tried[left] < _SEARCHES]

    def _exchange(self, budget: Budget) -> None:
        """Try a possible world with two values exchanged, wherever a group has as many of both."""
        known = self.starts[0]
        for one, other in combinations(range(self.worlds.n_values), 2):
            turned = self.worlds.exchanged(known, one, other)
            if budget.spent or not len(self.suspected):
                return
            if not np.array_equal(turned, known) and not self._distance(turned):
                self.note(turned)

    def _refute(self, cell: int, start: Codes, steps: int, budget: Budget) -> None:
        person = int(self.random.choice(np.flatnonzero(self.worlds.cell_of == cell)))
        group = self.worlds.members[int(self.worlds.group_of_cell[cell])]
        others = group[start[group] != start[person]]
        if len(others):
            turned = _swapped(start, person, int(self.random.choice(others)))
            self._approach(turned, steps, budget, person)

    def find(self, start: Codes, budget: Budget) -> bool:
        """Look for any possible world, from any world; whether one was found."""
        while not budget.spent:
            if self._approach(start, 10 * _STEPS, budget):
                return True
            start = self.worlds.at_random(self.random)
        return False

    def _approach(self, codes: Codes, steps: int, budget: Budget, fixed: int | None = None) -> bool:
        """Swap values towards the release; one person keeps theirs. Whether it was reached."""
        far = self._distance(codes)
        for _ in range(steps):
            if far == 0 or budget.spent:
                break
            one = int(self.random.integers(self.worlds.n_people))
            group = self.worlds.members[int(self.worlds.groups[one])]
            others = group[(codes[group] != codes[one]) & (group != fixed)]
            if one == fixed or not len(others):
                continue
            turned = _swapped(codes, one, int(self.random.choice(others)))
            there = self._distance(turned)
            if there <= far or self.random.random() < 0.02:
                codes, far = turned, there
        if far == 0:
            self.note(codes)
        return far == 0

    def _settled(self, codes: Codes) -> Codes:
        """The world that stands for one."""
        return self.worlds.representative(codes) if self.runs.symmetric else codes

    def _distance(self, codes: Codes) -> float:
        return self.runs.distance(self._settled(codes))


def _swapped(codes: Codes, one: int, other: int) -> Codes:
    found = codes.copy()
    found[[one, other]] = codes[[other, one]]
    return found
