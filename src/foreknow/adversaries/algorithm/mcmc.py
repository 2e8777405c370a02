"""Estimated beliefs by Markov chains: walks among the worlds that the release is possible in."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.algorithm.beliefs import (
    CONFIDENCE,
    Beliefs,
    FloatArray,
    between_chains,
    chernoff,
)
from foreknow.adversaries.algorithm.method_runner import Runs, Weight
from foreknow.adversaries.algorithm.observation import Seen
from foreknow.adversaries.algorithm.worlds import Codes, Worlds
from foreknow.data.sparse import IntArray

# Of so many proposals, one each deals a group out anew, exchanges two cells or two values; and
# two swap in several groups at once. All others swap within one group.
_KINDS = 40


@dataclass(eq=False)
class Steps:
    """Proposals, and the chance that the release is made of the worlds they lead to.

    A proposal is as likely as the one that takes it back, whoever of a cell has which of its
    values; so a walk that takes proposals by the ratio of those chances (Metropolis) is
    distributed as the adversary believes, among the worlds that it can reach.
    """

    worlds: Worlds
    runs: Runs
    seen: Seen
    random: np.random.Generator
    mixed: IntArray = field(init=False)
    _chances: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.mixed = np.flatnonzero(np.count_nonzero(self.worlds.bags, axis=1) > 1)
        if not len(self.mixed):
            raise ValueError("there is only one world")
        sizes = self.worlds.bags.sum(axis=1)[self.mixed].astype(float)
        self._chances = sizes / sizes.sum()

    @property
    def n_people(self) -> int:
        """People whose value is open."""
        return int(self.worlds.bags.sum(axis=1)[self.mixed].sum())

    def weight(self, codes: Codes) -> Weight:
        """How probable the release is in a world."""
        return self.runs.weight(codes, self.seen)

    def settled(self, codes: Codes) -> Codes:
        """The world that stands for one."""
        return self.worlds.standing_for(codes) if self.runs.symmetric else codes

    def proposed(self, codes: Codes) -> Codes:
        """Another world, or the same."""
        found = codes.copy()
        kind = int(self.random.integers(_KINDS))
        if kind == 0:
            people = self._people()
            found[people] = self.random.permutation(found[people])
        elif kind == 1:
            self._exchange_cells(found)
        elif kind == 2:
            one, other = self.random.choice(self.worlds.n_values, 2, replace=False).tolist()
            every = self.random.integers(2)
            groups = self.mixed.tolist() if every else [self._group()]
            found = exchanged(self.worlds, codes, one, other, groups)
        elif kind <= 4 and len(self.mixed) > 1:
            many = min(len(self.mixed), 1 + int(self.random.geometric(0.5)))
            for group in self.random.choice(self.mixed, many, replace=False).tolist():
                self._swap(found, self.worlds.members[group])
        else:
            people = self._people()
            for _ in range(int(self.random.geometric(0.6))):
                self._swap(found, people)
        return self.settled(found)

    def _group(self) -> int:
        return int(self.random.choice(self.mixed, p=self._chances))

    def _people(self) -> IntArray:
        return self.worlds.members[self._group()]

    def _swap(self, codes: Codes, people: IntArray) -> None:
        one, two = self.random.choice(len(people), 2, replace=False)
        codes[people[[one, two]]] = codes[people[[two, one]]]

    def _exchange_cells(self, codes: Codes) -> None:
        """Two cells of a group give each other all their values, if they are equally large."""
        people = self._people()
        cells = np.unique(self.worlds.cell_of[people])
        if len(cells) < 2:
            return
        one, two = self.random.choice(cells, 2, replace=False).tolist()
        here, there = (people[self.worlds.cell_of[people] == cell] for cell in (one, two))
        if len(here) == len(there):
            codes[here], codes[there] = codes[there], codes[here]


def exchanged(worlds: Worlds, codes: Codes, one: int, other: int, groups: Iterable[int]) -> Codes:
    """Exchange two values in those of some groups that have as many of both.

    >>> from foreknow.adversaries.algorithm.worlds import Worlds
    >>> codes = np.array([0, 1, 2, 0, 0, 1])
    >>> worlds = Worlds.of(np.array([0, 0, 0, 1, 1, 1]), codes, 3)
    >>> exchanged(worlds, codes, 0, 1, [0, 1])
    array([1, 0, 2, 0, 0, 1])
    """
    found = codes.copy()
    for group in groups:
        bag = worlds.bags[group]
        if bag[one] == bag[other]:
            people = worlds.members[group]
            own = codes[people]
            found[people] = np.where(own == one, other, np.where(own == other, one, own))
    return found


@dataclass(frozen=True)
class Budget:
    """So many runs and seconds from now on, whichever ends first.

    Attributes
    ----------
    runs : Runs
        Counts how often the method was run.
    last : int
        The count at which it ends.
    until : float or None
        On the monotonic clock.
    """

    runs: Runs
    last: int
    until: float | None

    @classmethod
    def of(cls, runs: Runs, most: int, seconds: float | None) -> Budget:
        """Start now."""
        until = None if seconds is None else time.monotonic() + seconds
        return cls(runs, runs.made + most, until)

    def part(self, share: float) -> Budget:
        """A share of what is left."""
        now, until = time.monotonic(), self.until
        last = self.runs.made + int((self.last - self.runs.made) * share)
        return Budget(self.runs, last, None if until is None else now + (until - now) * share)

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.runs.made >= self.last or (
            self.until is not None and time.monotonic() > self.until
        )


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


# Ways that are tried to come nearer, from each world on the way; walks that are tried.
_TRIES, _WALKS = 12, 3


def parts_of(found: list[Codes], steps: Steps, budget: Budget) -> list[list[Codes]]:
    """Sort possible worlds into parts that walks of a chain's steps were found to join.

    Worlds of different parts may be joined nevertheless, by a way that was not found.

    Parameters
    ----------
    found : list of worlds
        In all of them the release is possible.
    steps : Steps
    budget : Budget
        When it is spent, the rest are left out.

    Returns
    -------
    list of lists of worlds
        The first part is that of the first world.
    """
    parts: list[list[Codes]] = []
    known: set[bytes] = set()
    for world in found:
        codes = steps.settled(world)
        if codes.tobytes() in known:
            continue
        known.add(codes.tobytes())
        for part in parts:
            if any(joined(codes, part[0], steps, budget) for _ in range(_WALKS)):
                part.append(codes)
                break
        else:
            if not parts or not budget.spent:
                parts.append([codes])
    return parts


def joined(one: Codes, other: Codes, steps: Steps, budget: Budget) -> bool:
    """Whether a walk from one world came to another, through possible ones only.

    Each step gives some people of a group the values they have in the other world, until there
    is nobody left who has another one.
    """
    codes = one
    while not np.array_equal(codes, other):
        for _ in range(_TRIES):
            if budget.spent:
                return False
            nearer = steps.settled(_nearer(codes, other, steps))
            if _apart(nearer, other) < _apart(codes, other) and steps.weight(nearer):
                codes = nearer
                break
        else:
            return False
    return True


def _apart(one: Codes, other: Codes) -> int:
    return int(np.count_nonzero(one != other))


def _nearer(codes: Codes, other: Codes, steps: Steps) -> Codes:
    """One or two swaps within a group, each of which gives somebody the value they have there."""
    found = codes.copy()
    for _ in range(int(steps.random.integers(1, 3))):
        away = np.flatnonzero(found != other)
        if not len(away):
            break
        person = int(steps.random.choice(away))
        same = away[steps.worlds.groups[away] == steps.worlds.groups[person]]
        givers = same[found[same] == other[person]]
        best = givers[other[givers] == found[person]]
        giver = int(steps.random.choice(best if len(best) else givers))
        found[[person, giver]] = found[[giver, person]]
    return found
