"""Walking: Markov chains over the tables of a disclosure set, where draws hardly ever hit it.

A step shuffles the values of a few people of one group, or now and then goes to a table drawn
afresh, and is taken if the algorithm gets to the function on the new table. Steps back are as
likely, so all tables that the chain can get to are alike in the long run (Metropolis). That it can
get to all of them, and has run long enough, is not certain: chains are compared with each other,
and what they say is not a guarantee.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol, TypeAlias

import numpy as np

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

CHAINS, BATCHES = 4, 5
THIN = 10
CONVERGED = 1.1
AFRESH = 5
_TOGETHER = (2, 2, 2, 3, 5)


class Source(Protocol):
    """Draws of tables from some set, all alike."""

    def draw(self) -> list[int]:
        """The value of each person."""

    def has(self, codes: Sequence[int]) -> bool:
        """Whether the set has a table."""


@dataclass(frozen=True)
class Walk:
    """What chains have seen.

    Attributes
    ----------
    mean, half : arrays, shape (cells, values)
        Share of each value, and half the width of its interval by batch means.
    r_hat : float
        Spread between chains against the spread within (Gelman and Rubin), all cells and values
        together; about 1 if they have seen the same. Infinite where some chain has not moved.
    effective : float
        Independent draws that would tell as much, where that is least.
    undecided : int
        Steps that were not taken because it could not be told whether they stay in the set.
    """

    mean: FloatArray
    half: FloatArray
    r_hat: float
    effective: float
    undecided: int


def walk(
    starts: Sequence[Sequence[int]],
    groups: Sequence[Sequence[int]],
    cells: Sequence[Sequence[int]],
    values: int,
    member: Callable[[Sequence[int]], bool | None],
    sources: Sequence[Source],
    chance: random.Random,
    records: int,
    level: float,
) -> Walk:
    """Run chains and compare them.

    Parameters
    ----------
    starts : sequence of tables
        Members of the set; chains begin at them in turn.
    groups : sequence of sequences of int
        People who may exchange values.
    cells : sequence of sequences of int
        People whose shares are taken together.
    values : int
        Number of values.
    member : callable
        Whether a table is in the set.
    sources : sequence of Source
        Draws of tables, all alike; from one of them where it has the chain's own table, too.
    chance : random.Random
    records : int
        How many tables to record, in all chains together.
    level : float
        Chance of error allowed for each cell and value.

    Returns
    -------
    Walk
    """
    per_batch = max(1, records // (CHAINS * BATCHES))
    large = [group for group in groups if len(group) > 1]
    batches, moved, undecided = [], True, 0
    for chain in range(CHAINS if large else 0):
        codes = list(starts[chain % len(starts)])
        steps = 0
        # A fifth of the chain is left out, for it to forget where it began.
        for batch in range(-1, BATCHES):
            sums = np.zeros((len(cells), values))
            for _ in range(per_batch):
                for _ in range(THIN):
                    if chance.randrange(AFRESH):
                        taken = _step(codes, large, member, chance)
                    else:
                        one = chance.choice(sources)
                        fresh = one.draw() if one.has(codes) else codes
                        taken = fresh is not codes and member(fresh)
                        codes = fresh if taken else codes
                    undecided += taken is None
                    steps += bool(taken)
                for c, people in enumerate(cells):
                    for person in people:
                        sums[c, codes[person]] += 1 / len(people)
            if batch >= 0:
                batches.append(sums / per_batch)
        moved = moved and steps > 0
    if not batches:
        sums = np.zeros((len(cells), values))
        for c, people in enumerate(cells):
            for person in people:
                sums[c, starts[0][person]] += 1 / len(people)
        return Walk(sums, np.zeros_like(sums), 1.0, math.inf, 0)
    seen = np.array(batches).reshape(CHAINS, BATCHES, len(cells), values)
    return _compared(seen, per_batch, moved, undecided, level)


def _step(
    codes: list[int],
    groups: Sequence[Sequence[int]],
    member: Callable[[Sequence[int]], bool | None],
    chance: random.Random,
) -> bool | None:
    """Try one step; whether it was taken, None if that could not be told."""
    group = chance.choice(groups)
    people = chance.sample(group, min(len(group), chance.choice(_TOGETHER)))
    old = [codes[person] for person in people]
    new = old.copy()
    chance.shuffle(new)
    if new == old:
        return False
    for person, code in zip(people, new, strict=True):
        codes[person] = code
    inside = member(codes)
    if not inside:
        for person, code in zip(people, old, strict=True):
            codes[person] = code
    return inside


def _compared(seen: FloatArray, per_batch: int, moved: bool, undecided: int, level: float) -> Walk:
    mean = seen.mean(axis=(0, 1))
    n = CHAINS * BATCHES
    between = seen.reshape(n, *mean.shape).var(axis=0, ddof=1) / n
    # No less than of as many independent draws, for what was never or always seen.
    records = n * per_batch
    smooth = (mean * records + 1) / (records + 2)
    alone = smooth * (1 - smooth) / records
    error = np.sqrt(np.maximum(between, alone))
    # Batch means of one chain are all but independent, so both of these estimate their variance.
    within = float(seen.var(axis=1, ddof=1).mean(axis=0).sum())
    spread = float(BATCHES * seen.mean(axis=1).var(axis=0, ddof=1).sum())
    ratio = 1.0 if not spread else math.inf
    if within:
        ratio = math.sqrt(((BATCHES - 1) * within + spread) / (BATCHES * within))
    if not moved:
        ratio = math.inf
    effective = float((alone / np.maximum(between, alone)).min() * records)
    half = _student(level, n - 1) * error
    return Walk(mean, half, ratio, effective, undecided)


def _student(level: float, degrees: int) -> float:
    """A quantile of Student's t, two-sided, by Cornish and Fisher's expansion.

    >>> round(_student(0.01, 19), 2)
    2.86
    """
    z = NormalDist().inv_cdf(1 - level / 2)
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
