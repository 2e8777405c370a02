"""Estimated beliefs by Markov chains: walks among the worlds that the release is possible in."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from foreknow.attacking.beliefs import Beliefs, FloatArray
from foreknow.attacking.clock import Budget
from foreknow.attacking.intervals import CONFIDENCE, between_chains, chernoff
from foreknow.attacking.running import Weight
from foreknow.attacking.steps import Steps
from foreknow.attacking.worlds import Codes, Worlds
from foreknow.sparse import IntArray

# Chains; more where worlds fall into more parts, so that each part has at least two.
CHAINS, _MOST_PARTS = 6, 6
# The first part of each chain is not counted.
_BURNT = 0.2
# Steps for each run that there is budget for: steps to worlds met before cost no run.
_STEPS_PER_RUN = 8
# Worlds that are noted on the way.
_MOST_MET = 36


@dataclass(eq=False)
class Chain:
    """One walk: the world it is in, and what it met."""

    codes: Codes
    weight: Weight
    moved: IntArray
    record: list[IntArray] = field(default_factory=list)
    changed: int = 0


def walked(steps: Steps, parts: list[list[Codes]], budget: Budget) -> tuple[Beliefs, list[Codes]]:
    """Walk several chains, in turns, from worlds that the release is possible in.

    Parameters
    ----------
    steps : Steps
    parts : list of lists of worlds
        Chains start at these, as many in each part.
    budget : Budget

    Returns
    -------
    Beliefs
        With an interval for each posterior by itself: from the differences between chains, and
        from how often somebody changed values. How much each part weighs is not known; so where
        there are several, an interval holds those of all parts.
    list of worlds
        Where the chains were from time to time.
    """
    worlds, runs = steps.worlds, steps.runs
    before = runs.made
    walked_in = parts[:_MOST_PARTS]
    chains = []
    for i in range(max(CHAINS, 2 * len(walked_in))):
        part = walked_in[i % len(walked_in)]
        start = part[i // len(walked_in) % len(part)]
        chains.append(Chain(start, steps.weight(start), np.zeros(worlds.n_cells, dtype=np.int64)))
    every = max(1, steps.n_people // 4)
    most = max(len(chains), (budget.last - runs.made) * _STEPS_PER_RUN) // len(chains)
    seen_at_all = np.zeros((worlds.n_cells, worlds.n_values), dtype=bool)
    met: list[Codes] = []
    step = 0
    while step < most and not budget.spent:
        step += 1
        for chain in chains:
            if _step(steps, chain):
                seen_at_all |= worlds.tally(chain.codes) > 0
            if step % every == 0 or step == most:
                chain.record.append(worlds.tally(chain.codes))
        if step % every == 0 and len(met) < _MOST_MET:
            met.append(chains[step // every % len(chains)].codes)
    for chain in chains:
        chain.record.append(worlds.tally(chain.codes))
        seen_at_all |= chain.record[-1] > 0
    means = _means([chain.record for chain in chains], worlds)
    ends = [
        _interval(worlds, means[i :: len(walked_in)], chains[i :: len(walked_in)])
        for i in range(len(walked_in))
    ]
    found = Beliefs(
        worlds,
        "chains",
        step * len(chains),
        sum(chain.changed for chain in chains),
        runs.made - before,
        means.mean(axis=0),
        np.min([low for low, _ in ends], axis=0),
        np.max([high for _, high in ends], axis=0),
        seen_at_all,
        len(parts),
    )
    return found, met


def _step(steps: Steps, chain: Chain) -> bool:
    """Propose one step; whether it was taken, to another world."""
    codes = steps.proposed(chain.codes)
    if np.array_equal(codes, chain.codes):
        return False
    weight = steps.weight(codes)
    # Weights can be too small for floats, their ratio is not.
    if not weight or (
        weight < chain.weight and steps.random.random() >= Fraction(weight) / chain.weight
    ):
        return False
    chain.moved[np.unique(steps.worlds.cell_of[chain.codes != codes])] += 1
    chain.changed += 1
    chain.codes, chain.weight = codes, weight
    return True


def _means(record: list[list[IntArray]], worlds: Worlds) -> FloatArray:
    """The mean of each chain without its first part, shape (chains, cells, values)."""
    rows = [np.mean(own[int(len(own) * _BURNT) :], axis=0) for own in record]
    means: FloatArray = np.stack(rows) / worlds.cell_sizes[:, None]
    return means


def _interval(
    worlds: Worlds, means: FloatArray, chains: list[Chain]
) -> tuple[FloatArray, FloatArray]:
    """Intervals by the spread of the chains, no narrower than independent draws allow.

    How many independent draws the records of a group are worth is read off the spread of the
    chains. For a cell it is at most half of how often it changed, without the first times: all
    chains may start at one world, and have to forget it. Where a cell hardly changed, nothing is
    known of it.
    """
    many = sum(len(chain.record) for chain in chains)
    moved = np.sum([chain.moved for chain in chains], axis=0)
    mean = means.mean(axis=0)
    half = between_chains(means)
    spread = means.var(axis=0, ddof=1) / len(means)
    worth = np.zeros(worlds.n_cells)
    alone = mean * (1 - mean)
    for group in range(worlds.n_groups):
        cells = worlds.group_of_cell == group
        noise = spread[cells].sum()
        drawn = alone[cells].sum() / noise if noise > 0 else float(many)
        forgotten = np.maximum(0.0, moved[cells] / 2 - len(chains))
        worth[cells] = np.minimum(forgotten, min(drawn, many))
    low, high = chernoff(mean, worth[:, None], 1 - CONFIDENCE)
    low, high = np.minimum(low, mean - half), np.maximum(high, mean + half)
    closed = (worlds.shares == 0) | (worlds.shares == 1)
    return (
        np.where(closed, mean, np.clip(low, 0, 1)),
        np.where(closed, mean, np.clip(high, 0, 1)),
    )
