"""Estimated beliefs from independent worlds: dealt at random, kept as the release is likely."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foreknow.adversaries.algorithm.beliefs import CONFIDENCE, Beliefs, chernoff
from foreknow.adversaries.algorithm.mcmc import Budget
from foreknow.adversaries.algorithm.method_runner import Runs
from foreknow.adversaries.algorithm.observation import Seen
from foreknow.adversaries.algorithm.worlds import Codes, Worlds
from foreknow.data.sparse import IntArray

# Possible worlds that are kept to start other searches from.
_MOST_STARTS = 64
# No more draws than so many times the runs: worlds that were met before cost no run.
_DRAWS_PER_RUN = 5


@dataclass(eq=False)
class Drawn:
    """Independent worlds, so far.

    Attributes
    ----------
    looked, kept : int
    total : int64 array, shape (cells, values)
        How many people of each cell have each value, over all kept worlds.
    starts : list of arrays
        Some kept worlds.
    """

    worlds: Worlds
    runs: Runs
    seen: Seen
    random: np.random.Generator
    looked: int = 0
    kept: int = 0
    total: IntArray = field(init=False)
    starts: list[Codes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.total = np.zeros((self.worlds.n_cells, self.worlds.n_values), dtype=np.int64)

    def draw(self, budget: Budget, most: int) -> None:
        """Draw worlds until the budget is spent; at most so many.

        A world is kept with the probability that the method makes the release of it. What is kept
        is distributed as the adversary believes.
        """
        end = self.looked + most
        while self.looked < end and not budget.spent:
            self.looked += 1
            codes = self.worlds.at_random(self.random)
            if self.runs.symmetric:
                codes = self.worlds.standing_for(codes)
            weight = self.runs.weight(codes, self.seen)
            if weight and (weight == 1 or self.random.random() < weight):
                self.kept += 1
                self.total += self.worlds.tally(codes)
                if len(self.starts) < _MOST_STARTS:
                    self.starts.append(codes)

    def beliefs(self, before: int) -> Beliefs:
        """Estimates, with intervals that all hold together with the stated confidence."""
        worlds = self.worlds
        mean = self.total / (self.kept * worlds.cell_sizes[:, None])
        open_ = (worlds.shares > 0) & (worlds.shares < 1)
        error = (1 - CONFIDENCE) / max(1, int(np.count_nonzero(open_)))
        low, high = chernoff(mean, float(self.kept), error)
        low, high = np.where(open_, low, mean), np.where(open_, high, mean)
        return Beliefs(
            worlds,
            "independent worlds",
            self.looked,
            self.kept,
            self.runs.made - before,
            mean,
            low,
            high,
            self.total > 0,
        )


def draws_for(budget: Budget) -> int:
    """How many worlds may be drawn for the runs that are left."""
    return max(1, (budget.last - budget.runs.made) * _DRAWS_PER_RUN)
