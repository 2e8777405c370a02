"""Refinement: some groups near each other are divided anew in another way, again and again.

A new division of some groups is kept where it has no fewer groups, and its people lose no more by
the normalized certainty penalty (NCP); so a release only gets finer. Which groups are taken
together, and by how much the gains of cuts are shaken, is random. The ledger holds the groups that
there are while it is asked about others, so what is kept of both is safe, where merging groups
never hurts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.methods.mondrian.cuts import widths
from foreknow.methods.mondrian.levels import Choice, Level
from foreknow.methods.points import Points
from foreknow.policy.ledger import PolicyLedger

_log = logging.getLogger(__name__)
# How many groups are taken together, and by how much gains are shaken, at most.
_TOGETHER, _NOISE = 8, 1.0


def refined(
    points: Points,
    microdata: Microdata,
    choice: Choice,
    groups: IntArray,
    new_ledger: Callable[[], PolicyLedger],
    random: np.random.Generator,
    until: float,
) -> IntArray:
    """Divide groups of points anew until a moment on the monotonic clock; what they are then."""
    everybody = Level(points, microdata, choice)
    loss, rounds = _losses(everybody, choice, groups), 0
    while time.monotonic() < until:
        region = _neighbours(everybody, groups, random)
        ledger = new_ledger()
        ledger.commit(None, everybody.counts_of(groups))
        shaken = choice._replace(random=random, noise=_NOISE * random.random())
        level = Level(points, microdata, shaken, region[groups])
        while level.n_groups and time.monotonic() < until:
            level.divide(ledger)
        if level.n_groups:
            break
        other, n_regions = _losses(everybody, choice, level.final), int(region.max()) + 1
        of = np.zeros(len(other), dtype=np.int64)
        of[level.final] = region[groups]
        fewer = np.bincount(of, minlength=n_regions) - np.bincount(region, minlength=n_regions)
        less = np.bincount(of, other, n_regions) - np.bincount(region, loss, n_regions)
        better = (fewer >= 0) & (less <= 1e-9) & ((fewer > 0) | (less < -1e-9))
        mine = better[region[groups]]
        _, numbered = np.unique(
            np.where(mine, len(loss) + level.final, groups), return_inverse=True
        )
        groups, rounds = numbered.reshape(-1).astype(np.int64), rounds + 1
        loss = _losses(everybody, choice, groups)
    _log.info("refined in %d rounds: %d groups", rounds, len(loss))
    return groups


def _losses(level: Level, choice: Choice, groups: IntArray) -> NDArray[np.float64]:
    """What the people of each group lose, by NCP."""
    n_groups = int(groups.max()) + 1
    weights = np.ones(len(level.attributes)) if choice.weights is None else choice.weights
    wide = np.zeros(n_groups)
    for attribute, codes, weight in zip(level.attributes, level.codes, weights, strict=True):
        wide += weight * widths(attribute, codes, groups, n_groups)[0]
    people: Any = np.bincount(groups, level.weights, n_groups)
    return np.asarray(wide * people)


def _neighbours(level: Level, groups: IntArray, random: np.random.Generator) -> IntArray:
    """A region for each group, of a few groups near each other: by cuts of random columns."""
    n_groups = int(groups.max()) + 1
    people = np.bincount(groups, level.weights, n_groups)
    middle = np.stack(
        [
            np.bincount(groups, level.weights * codes, n_groups) / people / len(attribute.domain)
            for attribute, codes in zip(level.attributes, level.codes, strict=True)
        ]
    )
    region = np.zeros(n_groups, dtype=np.int64)
    size = float(random.uniform(2, _TOGETHER))
    while n_groups > size * (n_regions := int(region.max()) + 1):
        spread = np.empty((len(middle), n_regions))
        order = np.argsort(region, kind="stable")
        starts = np.searchsorted(region[order], np.arange(n_regions))
        for column, of_column in zip(spread, middle, strict=True):
            ordered = of_column[order]
            column[:] = np.maximum.reduceat(ordered, starts) - np.minimum.reduceat(ordered, starts)
        which = np.argmax(spread * random.random(spread.shape), axis=0)
        own = middle[which[region], np.arange(n_groups)]
        order = np.lexsort((own, region))
        rank = np.empty(n_groups, dtype=np.int64)
        rank[order] = np.arange(n_groups) - starts[region[order]]
        many = np.diff(starts, append=n_groups)
        at = (many * random.uniform(0.3, 0.7, n_regions)).astype(np.int64)
        halves = 2 * region + (rank >= at[region])
        _, region = np.unique(halves, return_inverse=True)
        region = region.reshape(-1)
    return region
