"""Seeded estimates: worlds drawn at random or, where the release is rare, chains of swaps."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.algorithm.exact import FloatArray, NoWorldError, Posteriors
from foreknow.adversaries.algorithm.method_runner import Runs, Weight
from foreknow.adversaries.algorithm.observation import Observation
from foreknow.adversaries.algorithm.worlds import Codes, Worlds
from foreknow.data.sparse import IntArray

_log = logging.getLogger(__name__)
# Shares of what is left for the first draws, for worlds far off, to see which of them belong
# together, and for estimates; the rest refutes suspicions.
_FIRST, _SCATTER, _JOIN, _ESTIMATES = 0.1, 0.1, 0.2, 0.7
# Below this share of kept draws, chains tell more. Known worlds to start from.
_KEPT, _FIRST_DRAWS, _MOST_STARTS = 0.05, 400, 64
# Draws and steps for each run that there is budget for: worlds that were met before cost no run.
_DRAWS_PER_RUN, _STEPS_PER_RUN = 5, 8
# Worlds far off to look for, and known ones that may be joined to them, in so many walks.
_SCATTERED, _JOINED, _JOINS, _NEARER = 4, 3, 3, 12
# Walks against each suspicion, and steps of a walk.
_WALKS, _STEPS = 8, 12
# Chains, or two for each part; the first steps of each are not counted. Worlds to note on the way.
_CHAINS, _MOST_PARTS, _BURNT, _MOST_MET = 6, 6, 0.2, 36
# Of so many proposals, one each assigns a group anew, exchanges two cells or two values; and two
# swap in several groups at once. All others swap within one group.
_KINDS = 40
_ERROR, _HALVINGS = 0.05, 50
# Two-sided 95% points of Student's t with 1, 2, ... degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201)


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
    worlds: Worlds, runs: Runs, seen: Observation, budget: Budget, seed: int | None, true: bool
) -> Posteriors:
    """Estimate posteriors; `true` says that ``worlds.codes`` is possible.

    A cell that had one value in all worlds met is suspected, and a world against it looked for.
    """
    _log.info("too many worlds: sampling them")
    before = runs.made
    search = Search(worlds, runs, seen, np.random.default_rng(seed))
    draws = _Draws(search)
    draws.extend(budget.part(_FIRST), _FIRST_DRAWS)
    starts = ([worlds.codes] if true else []) + draws.starts
    if not starts:
        found = search.find(worlds.codes, budget.part(_ESTIMATES))
        if found is None:
            raise NoWorldError
        starts = [found]
    search.note(starts[0])
    if draws.kept >= max(5, _KEPT * draws.looked):
        part = budget.part(_ESTIMATES)
        draws.extend(part, max(1, part.left * _DRAWS_PER_RUN))
        result = draws.posteriors()
        starts += draws.starts
    else:
        _log.info("few worlds are possible: walking among them")
        scattered = search.scatter(starts[0], budget.part(_SCATTER))
        parts = search.parts([*starts[:_JOINED], *scattered], budget.part(_JOIN))
        result, met = _walked(search, parts, budget.part(_ESTIMATES))
        starts += scattered + met
    runs.check_again(starts, seen, budget.until)
    not_refuted, unsettled = search.refute(starts, budget)
    return replace(result, runs=runs.made - before, not_refuted=not_refuted, unsettled=unsettled)


@dataclass(eq=False)
class Search:
    """Looks for possible worlds; `met` says which cells had which values in them."""

    worlds: Worlds
    runs: Runs
    seen: Observation
    random: np.random.Generator
    met: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.met = np.zeros((self.worlds.n_cells, self.worlds.n_values), dtype=bool)

    def note(self, codes: Codes) -> None:
        """Note a possible world."""
        self.met |= self.worlds.tally(codes) > 0

    def settled(self, codes: Codes) -> Codes:
        """The world that stands for one."""
        return self.worlds.representative(codes) if self.runs.symmetric else codes

    def weight(self, codes: Codes) -> Weight:
        """How probable the release is in a world."""
        return self.runs.weight(codes, self.seen)

    @property
    def suspected(self) -> IntArray:
        """Cells that have one value in all worlds met, though their group has several."""
        several = np.isin(self.worlds.group_of_cell, self.worlds.mixed)
        return np.flatnonzero(several & (self.met.sum(axis=1) == 1))

    def refute(self, starts: list[Codes], budget: Budget) -> tuple[IntArray, IntArray]:
        """Look for a world against each suspicion; those not refuted, and those not all tried.

        A walk starts at a possible world; a member of the cell swaps values with someone, and
        keeps the new value. Then others swap, as long as the release that is made comes no
        further from the one that is published.
        """
        _log.info("looking for worlds against %d suspicions", len(self.suspected))
        tried = np.zeros(self.worlds.n_cells, dtype=np.int64)
        for walk in range(_WALKS):
            for cell in self.random.permutation(self.suspected).tolist():
                if self.met[cell].sum() > 1 or budget.spent:
                    continue
                place = walk if walk < len(starts) else int(self.random.integers(len(starts)))
                self._refute(cell, starts[place], 0 if walk < 2 else _STEPS, budget)
                tried[cell] += not budget.spent
        left = self.suspected
        return left[tried[left] >= _WALKS], left[tried[left] < _WALKS]

    def _refute(self, cell: int, start: Codes, steps: int, budget: Budget) -> None:
        person = int(self.random.choice(np.flatnonzero(self.worlds.cell_of == cell)))
        group = self.worlds.members[int(self.worlds.group_of_cell[cell])]
        others = group[start[group] != start[person]]
        if len(others):
            turned = _swapped(start, person, int(self.random.choice(others)))
            self._approach(turned, steps, budget, person)

    def find(self, start: Codes, budget: Budget) -> Codes | None:
        """Look for any possible world, from any world."""
        while not budget.spent:
            found = self._approach(start, 10 * _STEPS, budget)
            if found is not None:
                return found
            start = self.worlds.at_random(self.random)
        return None

    def scatter(self, known: Codes, budget: Budget) -> list[Codes]:
        """Look for possible worlds far from a known one.

        With two values exchanged in all groups that have as many of both, which no few swaps do;
        and from worlds at random.
        """
        found: list[Codes] = []
        for one, other in combinations(range(self.worlds.n_values), 2):
            turned = self.worlds.exchanged(known, one, other, self.worlds.mixed)
            if budget.spent or len(found) >= _SCATTERED // 2:
                break
            if not np.array_equal(turned, known) and not self._distance(turned):
                found.append(turned)
        for _ in range(4 * _SCATTERED):
            if len(found) >= _SCATTERED or budget.spent:
                break
            made = self._approach(self.worlds.at_random(self.random), 5 * _STEPS, budget)
            found += [] if made is None else [made]
        for codes in found:
            self.note(codes)
        return found

    def _approach(
        self, codes: Codes, steps: int, budget: Budget, fixed: int | None = None
    ) -> Codes | None:
        """Swap values towards the release; one person keeps theirs."""
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
        if far:
            return None
        self.note(codes)
        return codes

    def parts(self, found: list[Codes], budget: Budget) -> list[list[Codes]]:
        """Sort possible worlds into parts that walks were found to join; others may be joined too.

        The first part is that of the first world; without budget the rest are left out.
        """
        parts: list[list[Codes]] = []
        for codes in map(self.settled, found):
            for part in parts:
                if any(self._joins(codes, part[0], budget) for _ in range(_JOINS)):
                    part.append(codes)
                    break
            else:
                if not parts or not budget.spent:
                    parts.append([codes])
        return parts

    def _joins(self, codes: Codes, other: Codes, budget: Budget) -> bool:
        """Whether a walk came to another world, through possible ones, each nearer to it."""
        while not np.array_equal(codes, other):
            for _ in range(_NEARER):
                if budget.spent:
                    return False
                nearer = codes.copy()
                for _ in range(int(self.random.integers(1, 3))):
                    self._swap_towards(nearer, other)
                nearer = self.settled(nearer)
                if (nearer != other).sum() < (codes != other).sum() and self.weight(nearer):
                    codes = nearer
                    break
            else:
                return False
        return True

    def _swap_towards(self, codes: Codes, other: Codes) -> None:
        """Swap within a group, so that someone has the value they have in another world."""
        away = np.flatnonzero(codes != other)
        if len(away):
            person = int(self.random.choice(away))
            same = away[self.worlds.groups[away] == self.worlds.groups[person]]
            givers = same[codes[same] == other[person]]
            best = givers[other[givers] == codes[person]]
            giver = int(self.random.choice(best if len(best) else givers))
            codes[[person, giver]] = codes[[giver, person]]

    def _distance(self, codes: Codes) -> float:
        return self.runs.distance(self.settled(codes), self.seen)


def _swapped(codes: Codes, one: int, other: int) -> Codes:
    found = codes.copy()
    found[[one, other]] = codes[[other, one]]
    return found


# ---- independent worlds ----------------------------------------------------------------------


@dataclass(eq=False)
class _Draws:
    """Worlds at random, kept as often as the release is made of them: as the adversary believes."""

    search: Search
    looked: int = 0
    kept: int = 0
    starts: list[Codes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.total = np.zeros(self.search.met.shape, dtype=np.int64)

    def extend(self, budget: Budget, most: int) -> None:
        """Draw more, at most so many."""
        search, end = self.search, self.looked + most
        while self.looked < end and not budget.spent:
            self.looked += 1
            codes = search.settled(search.worlds.at_random(search.random))
            weight = search.weight(codes)
            if weight and (weight == 1 or search.random.random() < weight):
                self.kept += 1
                self.total += search.worlds.tally(codes)
                if len(self.starts) < _MOST_STARTS:
                    self.starts.append(codes)
        search.met |= self.total > 0

    def posteriors(self) -> Posteriors:
        """Estimates, with intervals that all hold together with the stated confidence."""
        worlds = self.search.worlds
        mean = self.total / (self.kept * worlds.cell_sizes[:, None])
        low, high = chernoff(mean, float(self.kept), _ERROR / max(1, worlds.open.sum()))
        low, high = np.where(worlds.open, low, mean), np.where(worlds.open, high, mean)
        return Posteriors(worlds, "independent worlds", self.looked, self.kept, 0, mean, low, high)


def chernoff(
    mean: FloatArray, many: FloatArray | float, error: float
) -> tuple[FloatArray, FloatArray]:
    """Bound the expectation of numbers from 0 to 1 by the mean of some independent ones.

    Chernoff's bound in Hoeffding's form ("Probability inequalities for sums of bounded random
    variables", 1963, theorem 1): a mean this far off has a probability of at most `error`.

    >>> low, high = chernoff(np.array([0.0, 0.5]), 100, 0.05)
    >>> np.round(low, 3), np.round(high, 3)
    (array([0.   , 0.367]), array([0.036, 0.633]))
    """
    reach = np.broadcast_to(np.log(2 / error) / np.maximum(many, 1e-300), mean.shape)
    return mean - _beyond(1 - mean, reach), mean + _beyond(mean, reach)


def _beyond(mean: FloatArray, reach: FloatArray) -> FloatArray:
    """How far above a mean the expectation may lie: bisection of the relative entropy."""
    low, high = np.zeros_like(mean), 1 - mean
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = _entropy(mean, mean + middle) <= reach
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high


def _entropy(mean: FloatArray, other: FloatArray) -> FloatArray:
    """Relative entropy of two coins."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(mean > 0, mean * np.log(mean / other), 0.0)
        tails = np.where(mean < 1, (1 - mean) * np.log((1 - mean) / (1 - other)), 0.0)
    found: FloatArray = heads + tails
    return np.where(np.isnan(found), np.inf, found)


# ---- chains ----------------------------------------------------------------------------------


@dataclass(eq=False)
class _Chain:
    """One walk: the world it is in, how often each cell changed, and tallies on the way."""

    codes: Codes
    weight: Weight
    moved: IntArray
    record: list[IntArray] = field(default_factory=list)
    changed: int = 0


def _walked(
    search: Search, parts: list[list[Codes]], budget: Budget
) -> tuple[Posteriors, list[Codes]]:
    """Walk chains in turns, as many from each part; the estimate, and some worlds on the way.

    How much each part weighs is not known, so an interval holds those of all parts.

    Proposals are taken by the ratio of weights (Metropolis): so a chain is distributed as the
    adversary believes, among the worlds that it can reach.
    """
    worlds, propose = search.worlds, proposals(search)
    chains = []
    n_parts = min(len(parts), _MOST_PARTS)
    for i in range(max(_CHAINS, 2 * n_parts)):
        part = parts[i % n_parts]
        codes = part[i // n_parts % len(part)]
        moved = np.zeros(worlds.n_cells, dtype=np.int64)
        chains.append(_Chain(codes, search.weight(codes), moved))
    every = max(1, int(worlds.bags[worlds.mixed].sum()) // 4)
    most = max(1, budget.left * _STEPS_PER_RUN // len(chains))
    met: list[Codes] = []
    step = 0
    while step < most and not budget.spent:
        step += 1
        for chain in chains:
            if _step(search, chain, propose):
                search.note(chain.codes)
            if step % every == 0:
                chain.record.append(worlds.tally(chain.codes))
        if step % every == 0 and len(met) < _MOST_MET:
            met.append(chains[step // every % len(chains)].codes)
    for chain in chains:
        chain.record.append(worlds.tally(chain.codes))
    changed = sum(chain.changed for chain in chains)
    each = [_interval(worlds, chains[i::n_parts]) for i in range(n_parts)]
    mean, low, high = (np.stack(own) for own in zip(*each, strict=True))
    ends = low.min(axis=0), high.max(axis=0)
    steps = step * len(chains)
    found = Posteriors(worlds, "chains", steps, changed, 0, mean.mean(axis=0), *ends, len(parts))
    return found, met


def _step(search: Search, chain: _Chain, propose: Callable[[Codes], Codes]) -> bool:
    """Propose one step; whether it was taken, to another world."""
    codes = propose(chain.codes)
    if np.array_equal(codes, chain.codes):
        return False
    weight = search.weight(codes)
    # Weights can be too small for floats, their ratio is not.
    if not weight or (
        weight < chain.weight and search.random.random() >= Fraction(weight) / chain.weight
    ):
        return False
    chain.moved[np.unique(search.worlds.cell_of[chain.codes != codes])] += 1
    chain.changed += 1
    chain.codes, chain.weight = codes, weight
    return True


def proposals(search: Search) -> Callable[[Codes], Codes]:
    """What gives another world, or the same; each as likely as the one that takes it back."""
    worlds, random = search.worlds, search.random
    sizes = worlds.bags.sum(axis=1)[worlds.mixed]
    chances = sizes / sizes.sum()

    def members() -> IntArray:
        return worlds.members[int(random.choice(worlds.mixed, p=chances))]

    def swap(codes: Codes, people: IntArray) -> None:
        one, two = random.choice(len(people), 2, replace=False)
        codes[people[[one, two]]] = codes[people[[two, one]]]

    def exchange_cells(codes: Codes) -> None:
        people = members()
        cells = np.unique(worlds.cell_of[people])
        if len(cells) > 1:
            pair = random.choice(cells, 2, replace=False)
            here, there = (people[worlds.cell_of[people] == cell] for cell in pair)
            if len(here) == len(there):
                codes[here], codes[there] = codes[there], codes[here]

    def propose(codes: Codes) -> Codes:
        found, kind = codes.copy(), int(random.integers(_KINDS))
        if kind == 0:
            people = members()
            found[people] = random.permutation(found[people])
        elif kind == 1:
            exchange_cells(found)
        elif kind == 2:
            one, other = random.choice(worlds.n_values, 2, replace=False).tolist()
            every = random.integers(2)
            groups = worlds.mixed if every else random.choice(worlds.mixed, 1, p=chances)
            found = worlds.exchanged(codes, one, other, groups)
        elif kind <= 4 and len(worlds.mixed) > 1:
            many = min(len(worlds.mixed), 1 + int(random.geometric(0.5)))
            for group in random.choice(worlds.mixed, many, replace=False).tolist():
                swap(found, worlds.members[group])
        else:
            people = members()
            for _ in range(int(random.geometric(0.6))):
                swap(found, people)
        return search.settled(found)

    return propose


def _interval(worlds: Worlds, chains: list[_Chain]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means of some chains, and intervals for each by itself.

    By the spread of the chains, no narrower than independent draws allow. How many of these the
    records of a group are worth is read off the spread; for a cell it is at most half of how often
    it changed, without the first times: chains may start at one world, and have to forget it.
    Where a cell hardly changed, nothing is known of it.
    """
    records = [chain.record[int(len(chain.record) * _BURNT) :] for chain in chains]
    means = np.stack([np.mean(own, axis=0) for own in records]) / worlds.cell_sizes[:, None]
    mean: FloatArray = means.mean(axis=0)
    spread = means.var(axis=0, ddof=1) / len(means)
    many = float(sum(len(chain.record) for chain in chains))
    worth = np.maximum(0.0, np.sum([chain.moved for chain in chains], axis=0) / 2 - len(chains))
    for group in range(worlds.n_groups):
        cells = worlds.group_of_cell == group
        noise = spread[cells].sum()
        drawn = (mean * (1 - mean))[cells].sum() / noise if noise > 0 else many
        worth[cells] = np.minimum(worth[cells], min(drawn, many))
    low, high = chernoff(mean, worth[:, None], _ERROR)
    half = np.sqrt(spread) * _T[len(means) - 2]
    low, high = np.minimum(low, mean - half), np.maximum(high, mean + half)
    low, high = np.where(worlds.open, low, mean), np.where(worlds.open, high, mean)
    return mean, np.clip(low, 0, 1), np.clip(high, 0, 1)
