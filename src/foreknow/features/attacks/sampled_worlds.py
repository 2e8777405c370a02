"""Worlds drawn at random, and the values of each cell in those that are possible."""

from __future__ import annotations

import logging
import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import FloatArray, IntArray
from foreknow.features.attacks.exact_posteriors import NoWorldError, Posteriors
from foreknow.features.attacks.method_runner import Runs
from foreknow.features.attacks.worlds import Codes, Worlds

_log = logging.getLogger(__name__)
# Draws for each run of the budget: worlds that were met before cost none.
_DRAWS_PER_RUN = 5
# Possible worlds that are run again in the end.
_AGAIN = 64
# All intervals hold together, but for this chance.
_ERROR = 0.05


class Sampled:
    """How many worlds were drawn and kept, and their values, shape (cells, values)."""

    def __init__(self, sizes: IntArray, n_values: int) -> None:
        self._sizes, self.drawn, self.kept = sizes, 0, 0
        self._total = np.zeros((len(sizes), n_values), dtype=np.int64)
        self.met = self._total > 0  # in any possible world, drawn or not

    def meet(self, tables: NDArray[Any]) -> None:
        """Note possible worlds that were found in another way."""
        self.met |= (tables > 0).any(axis=0)

    def keep(self, tables: NDArray[Any], n_drawn: int) -> None:
        """Note the possible ones of `n_drawn` worlds, as tables (worlds, cells, values)."""
        self.drawn += n_drawn
        self.kept += len(tables)
        self._total += tables.sum(axis=0)
        self.meet(tables)

    @property
    def one_valued(self) -> NDArray[np.bool_]:
        """Cells with one value in all possible worlds met."""
        return np.asarray(self.met.sum(axis=1) == 1)

    def interval(self, is_open: NDArray[np.bool_], n_open: int) -> tuple[FloatArray, FloatArray]:
        """Means (cells x values), and half widths of their intervals, 0 where not `is_open`.

        Hoeffding's inequality bounds one mean; by Bonferroni's, the chance of error is divided by
        the `n_open` posteriors that are estimated, so all intervals hold together.
        """
        mean = self._total / (self.kept * self._sizes[:, None])
        reach = math.sqrt(math.log(2 * max(1, n_open) / _ERROR) / (2 * self.kept))
        return mean, np.where(is_open, reach, 0.0)


def estimated(
    worlds: Worlds,
    runs: Runs,
    most_runs: int,
    end_time: float | None,
    seed: int | None,
    is_possible_world: bool,
) -> Posteriors:
    """Estimated posteriors, by at most `most_runs` runs of the method on random worlds.

    Worlds are drawn uniformly; those in which the method would make the release are kept (rejection
    sampling). `is_possible_world` says that ``worlds.codes`` can have led to the release.
    `end_time` None: no limit of time.
    """
    _log.info("too many worlds: sampling them")
    random, sample = np.random.default_rng(seed), Sampled(worlds.cell_sizes, worlds.n_values)
    runs_before, possible_worlds = runs.made, list[Codes]()
    if is_possible_world:
        sample.meet(worlds.tally(worlds.codes)[None])
        possible_worlds.append(worlds.codes)
    # A world that was met before costs no run, so draws are limited, too.
    while runs.made < runs_before + most_runs and sample.drawn < most_runs * _DRAWS_PER_RUN:
        if end_time is not None and time.monotonic() > end_time:
            break
        codes = worlds.at_random(random)
        # Where the order of rows does not matter, equal worlds up to exchanges share one run.
        weight = runs.weight(worlds.representative(codes) if runs.symmetric else codes)
        # A random method makes the release of this world with probability `weight`.
        is_kept = bool(weight) and (weight == 1 or random.random() < weight)
        sample.keep(worlds.tally(codes)[None][:is_kept], 1)
        possible_worlds += [codes] * is_kept
    if not possible_worlds:
        raise NoWorldError(sample.drawn)
    runs.check_again(possible_worlds[:_AGAIN], end_time)
    # The release itself settles values that nobody, or everybody, of a group has. For the others
    # nothing is known until a possible world was drawn.
    low, mean, high = worlds.shares.copy(), worlds.shares, worlds.shares.copy()
    low[worlds.open], high[worlds.open] = 0.0, 1.0
    if sample.kept:
        mean, half_width = sample.interval(worlds.open, int(worlds.open.sum()))
        low, high = np.clip(mean - half_width, 0, 1), np.clip(mean + half_width, 0, 1)
    return Posteriors(
        worlds,
        "independent worlds",
        looked=sample.drawn,
        consistent=sample.kept,
        runs=runs.made - runs_before,
        mean=mean,
        low=low,
        high=high,
        perhaps_certain=worlds.mixed & sample.one_valued,
    )
