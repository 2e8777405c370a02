"""Estimated beliefs by Markov chains: walks among the worlds that the release is possible in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreknow.attacking.beliefs import Beliefs, FloatArray
from foreknow.attacking.clock import Budget
from foreknow.attacking.intervals import CONFIDENCE, between_chains, chernoff
from foreknow.attacking.running import Runs, Weight
from foreknow.attacking.seeing import Seen
from foreknow.attacking.worlds import Codes, Worlds
from foreknow.sparse import IntArray

CHAINS = 6
# The first part of each chain is not counted.
_BURNT = 0.2
# Steps for each run that there is budget for: steps to worlds met before cost no run.
_STEPS_PER_RUN = 8
# One step in so many deals a whole group out anew, so that a walk can leave a corner.
_ANEW = 16


@dataclass(eq=False)
class Chain:
    """One walk: the world it is in, and what it met.

    Proposals are symmetric: some swaps of two members of a group, or a group dealt out anew. A
    proposal is taken with the ratio of the probabilities that the release is made
    (Metropolis); so the walk is distributed as the adversary believes, **among the worlds that
    its steps can reach** from its start.
    """

    codes: Codes
    weight: Weight
    steps: int = 0
    kept: int = 0
    total: IntArray | None = None


def walked(
    worlds: Worlds,
    runs: Runs,
    seen: Seen,
    starts: list[Codes],
    budget: Budget,
    random: np.random.Generator,
) -> tuple[Beliefs, list[Codes]]:
    """Walk several chains, in turns, from worlds that the release is possible in.

    Parameters
    ----------
    worlds : Worlds
    runs : Runs
    seen : Seen
    starts : list of worlds
        Chains start at these, in turns.
    budget : Budget
    random : numpy Generator

    Returns
    -------
    Beliefs
        With an interval for each posterior by itself: from the differences between chains, and
        from how often somebody changed values.
    list of worlds
        Where the chains were from time to time.
    """
    before = runs.made
    chains = [
        Chain(starts[i % len(starts)], runs.weight(starts[i % len(starts)], seen))
        for i in range(CHAINS)
    ]
    mixed = np.flatnonzero(np.count_nonzero(worlds.bags, axis=1) > 1)
    if not len(mixed):
        raise ValueError("there is only one world")
    sizes = worlds.bags.sum(axis=1)[mixed].astype(float)
    chances = sizes / sizes.sum()
    every = max(1, int(sizes.sum()) // 4)
    most = max(CHAINS, (budget.last - runs.made) * _STEPS_PER_RUN) // CHAINS
    changed, moved = 0, np.zeros(worlds.n_cells, dtype=np.int64)
    seen_at_all = np.zeros((worlds.n_cells, worlds.n_values), dtype=bool)
    record: list[list[IntArray]] = [[] for _ in chains]
    met: list[Codes] = []
    step = 0
    while step < most and not budget.spent:
        step += 1
        for chain, own in zip(chains, record, strict=True):
            group = int(random.choice(mixed, p=chances))
            before_it = chain.codes
            if _step(worlds, runs, seen, chain, group, random):
                changed += 1
                moved[np.unique(worlds.cell_of[chain.codes != before_it])] += 1
                seen_at_all |= worlds.tally(chain.codes) > 0
            if step % every == 0 or step == most:
                own.append(worlds.tally(chain.codes))
        if step % every == 0 and len(met) < CHAINS * CHAINS:
            met.append(chains[step // every % CHAINS].codes)
    for chain, own in zip(chains, record, strict=True):
        own.append(worlds.tally(chain.codes))
        seen_at_all |= own[-1] > 0
    means = _means(record, worlds)
    mean = means.mean(axis=0)
    low, high = _interval(worlds, means, sum(map(len, record)), moved)
    found = Beliefs(
        worlds,
        "chains",
        step * CHAINS,
        changed,
        runs.made - before,
        mean,
        low,
        high,
        seen_at_all,
    )
    return found, met


def _step(
    worlds: Worlds, runs: Runs, seen: Seen, chain: Chain, group: int, random: np.random.Generator
) -> bool:
    """Propose one step; whether it was taken, to another world."""
    people = worlds.members[group]
    codes = chain.codes.copy()
    if random.integers(_ANEW) == 0:
        codes[people] = random.permutation(codes[people])
    else:
        for _ in range(int(random.geometric(0.6))):
            one, two = random.choice(len(people), 2, replace=False)
            codes[people[[one, two]]] = codes[people[[two, one]]]
    if runs.symmetric:
        codes = worlds.standing_for(codes)
    if np.array_equal(codes, chain.codes):
        return False
    weight = runs.weight(codes, seen)
    if not weight or (weight < chain.weight and random.random() * chain.weight >= weight):
        return False
    chain.codes, chain.weight = codes, weight
    return True


def _means(record: list[list[IntArray]], worlds: Worlds) -> FloatArray:
    """The mean of each chain without its first part, shape (chains, cells, values)."""
    rows = [np.mean(own[int(len(own) * _BURNT) :], axis=0) for own in record]
    means: FloatArray = np.stack(rows) / worlds.cell_sizes[:, None]
    return means


def _interval(
    worlds: Worlds, means: FloatArray, many: int, moved: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Intervals by the spread of the chains, no narrower than independent draws allow.

    How many independent draws the records of a group are worth is read off the spread of the
    chains. For a cell it is at most half of how often it changed, without the first times: all
    chains may start at one world, and have to forget it. Where a cell hardly changed, nothing is
    known of it.
    """
    mean = means.mean(axis=0)
    half = between_chains(means)
    spread = means.var(axis=0, ddof=1) / len(means)
    worth = np.zeros(worlds.n_cells)
    alone = mean * (1 - mean)
    for group in range(worlds.n_groups):
        cells = worlds.group_of_cell == group
        noise = spread[cells].sum()
        drawn = alone[cells].sum() / noise if noise > 0 else float(many)
        forgotten = np.maximum(0.0, moved[cells] / 2 - CHAINS)
        worth[cells] = np.minimum(forgotten, min(drawn, many))
    low, high = chernoff(mean, worth[:, None], 1 - CONFIDENCE)
    low, high = np.minimum(low, mean - half), np.maximum(high, mean + half)
    closed = (worlds.shares == 0) | (worlds.shares == 1)
    return (
        np.where(closed, mean, np.clip(low, 0, 1)),
        np.where(closed, mean, np.clip(high, 0, 1)),
    )
