"""Estimates of posteriors for groups that are out of reach: worlds drawn at random, and weighed.

People are dealt one after another, each a value by weight: the scaled prior times what is left of
the value, over what those still to come are expected to take. A world's weight makes up for how
likely it was to be drawn. Rounds are independent; an interval rests on how they differ. A verdict
uses the upper bound, not this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.dynamic_program import balanced, normalized
from foreknow.adversaries.priors.exact import possible
from foreknow.adversaries.priors.posteriors import Reading
from foreknow.adversaries.priors.signature_groups import FloatArray, PriorMatrix, SignatureGroups
from foreknow.adversaries.statements.posterior import Estimate
from foreknow.adversaries.statements.sampling import ROUNDS, combined

WORLDS = 1024


@dataclass(frozen=True)
class EstimatedPosteriors:
    """Posteriors of one group that were sampled, by signature and held value.

    Attributes
    ----------
    table : tuple of tuples of Estimate or None
        None where no world has a positive weight.
    estimated : bool
        Always True.
    """

    table: tuple[tuple[Estimate | None, ...], ...]
    estimated: bool = True


def estimate_group(
    groups: SignatureGroups,
    group: int,
    priors: PriorMatrix,
    reading: Reading = "joint",
    *,
    seed: int = 0,
    worlds: int = WORLDS,
) -> EstimatedPosteriors:
    """Estimate the posteriors of one group, with intervals of about 99%.

    Parameters
    ----------
    groups : SignatureGroups
    group : int
    priors : PriorMatrix
    reading : {"joint", "binary"}
    seed : int
        The same seed gives the same estimates.
    worlds : int
        Worlds in each of 16 rounds.

    Examples
    --------
    >>> groups = SignatureGroups.from_people([([0, 1], [0, 1])])
    >>> priors = PriorMatrix.from_fractions([["1/10", "9/10"], ["3/1000", "997/1000"]])
    >>> found = estimate_group(groups, 0, priors)
    >>> found.estimated, found.table[0][0].low < 997 / 1024 < found.table[0][0].high
    (True, True)
    """
    priors.check(groups)
    random = np.random.default_rng(seed)
    signatures, people = zip(*groups.people_of(group), strict=True)
    values, counts = zip(*groups.bag_of(group), strict=True)
    at = np.ix_(signatures, values)
    if reading == "joint":
        return EstimatedPosteriors(_sampled(people, counts, priors.chances[at], random, worlds))
    columns = []
    for x, count in enumerate(counts):
        pair = np.stack([priors.chances[at][:, x], priors.complements[at][:, x]], axis=1)
        both = (count, sum(people) - count)
        held = slice(0, 2 if both[1] else 1)
        found = _sampled(people, both[held], pair[:, held], random, worlds)
        columns.append([row[0] for row in found])
    return EstimatedPosteriors(tuple(zip(*columns, strict=True)))


def _sampled(
    people: Sequence[int],
    counts: Sequence[int],
    chances: FloatArray,
    random: np.random.Generator,
    worlds: int,
) -> tuple[tuple[Estimate | None, ...], ...]:
    held = possible(chances > 0, people, counts)
    if held is None:
        return ((None,) * len(counts),) * len(people)
    chances = np.where(held, chances, 0.0)
    rows = balanced(np.array(people, float), np.array(counts, float), chances)
    rows = normalized(rows[:, :, None])[:, :, 0]
    # Who can have few values is dealt first, while they are there.
    order = np.argsort(held.sum(axis=1), kind="stable")
    who = np.repeat(order, np.array(people)[order])
    rounds = [_round(rows[who], counts, random, worlds) for _ in range(ROUNDS)]
    masses = np.array([mass for mass, _, _ in rounds])
    masses = np.exp(masses - masses.max())
    by_signature = np.zeros((len(people), len(who)))
    by_signature[who, np.arange(len(who))] = 1 / np.array(people)[who]
    shares = np.stack([by_signature @ share for _, share, _ in rounds])
    worth = sum(worth for _, _, worth in rounds)
    return tuple(
        tuple(
            combined(shares[:, s, x], masses, worth) if held[s, x] else Estimate(0.0, 0.0, 0.0)
            for x in range(len(counts))
        )
        for s in range(len(people))
    )


def _round(
    rows: FloatArray, counts: Sequence[int], random: np.random.Generator, worlds: int
) -> tuple[float, FloatArray, float]:
    """Draw one round: log of its mean weight, shares by person and value, draws it is worth."""
    left = np.tile(np.array(counts, dtype=np.float64), (worlds, 1))
    expected = rows[::-1].cumsum(axis=0)[::-1]  # by those who are still to be dealt
    logs = np.zeros(worlds)
    dealt = np.empty((len(rows), worlds), dtype=np.int64)
    every = np.arange(worlds)
    for t, row in enumerate(rows):
        chance = left * np.divide(row, expected[t], out=np.zeros_like(row), where=row > 0)
        running = np.cumsum(chance, axis=1)
        total = running[:, -1]
        drawn = random.random(worlds) * total
        chosen = np.minimum((running <= drawn[:, None]).sum(axis=1), len(row) - 1)
        with np.errstate(divide="ignore"):
            logs += np.log(total) + np.log(expected[t][chosen])
        dealt[t] = chosen
        left[every, chosen] -= 1
        np.maximum(left, 0, out=left)  # of worlds that are lost anyway
    top = logs.max()
    if not np.isfinite(top):
        return -np.inf, np.zeros(rows.shape), 0.0
    weights: NDArray[np.float64] = np.exp(logs - top)
    mean = float(weights.mean())
    weights /= weights.sum()
    shares = np.stack([(dealt == x) @ weights for x in range(len(counts))], axis=1)
    return float(top + np.log(mean)), shares, float(1 / (weights**2).sum())
