"""Groups of one profile, small and of near people; and mixed ones, for whom is too many in theirs.

Within one profile everybody's posterior is c/N whatever the priors, so only sizes and values
matter; what is left to choose serves utility. A profile can be grouped by itself if none of its
values is more frequent than its limit. Where one is, some of those who have it join people of
other, similar profiles: in small groups by a *recipe*, so many of each profile and value, that is
found once and carried out as often as it helps; or, where that fails, in large ones.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.signature_groups import FloatArray
from foreknow.data.sparse import IntArray
from foreknow.methods.art.judge import guess_of_each, guess_of_one, safe_groups, safe_lists
from foreknow.methods.art.problem import ArtProblem

_log = logging.getLogger(__name__)

# ---- groups of one profile -----------------------------------------------------------------

# Blocks of at most so many smallest groups are not divided.
_FEW = 6
# Blocks of up to so many people are searched for the nearest; larger ones go along a curve.
_NEAREST = 160


def uniform_groups(
    problem: ArtProblem, people: IntArray, random: np.random.Generator
) -> list[IntArray]:
    """Group people of each profile, which is safe as one group, into as small groups as can be."""
    blocks = _blocks(problem, people)
    return [group for own in blocks for group in _portions(problem, own, random)]


def _blocks(problem: ArtProblem, people: IntArray) -> list[IntArray]:
    """People by profile, divided at medians of quasi-identifiers while both halves can be grouped.

    Those of each block lie along the curve.
    """
    if not len(people):
        return []
    order = people[np.argsort(problem.profiles[people], kind="stable")]
    waiting = np.split(order, np.flatnonzero(np.diff(problem.profiles[order])) + 1)
    found: list[IntArray] = []
    while waiting:
        parted = [_halves(problem, own) or [own] for own in waiting]
        found += [halves[0] for halves in parted if len(halves) == 1]
        waiting = [half for halves in parted if len(halves) == 2 for half in halves]
    return [own[np.argsort(problem.curve[own])] for own in found]


def _halves(problem: ArtProblem, people: IntArray) -> list[IntArray] | None:
    """Two sides of the median of the widest quasi-identifier along which both can be grouped."""
    n = len(people)
    if n <= _FEW * problem.least:
        return None
    places, values = problem.places[people], problem.values[people]
    profile = problem.profiles[people[:1]]
    spans = places.max(axis=0) - places.min(axis=0)
    whole = np.bincount(values, minlength=problem.n_values)
    for a in np.argsort(-spans, kind="stable").tolist():
        if not spans[a] > 0:
            break
        order = np.argsort(places[:, a], kind="stable")
        at = places[order, a]
        cuts = np.flatnonzero(at[1:] != at[:-1]) + 1
        cut = int(cuts[np.argmin(np.abs(2 * cuts - n))])
        below = np.bincount(values[order[:cut]], minlength=problem.n_values)
        rows = np.stack([below, whole - below])
        if not problem.deficit(rows, profile).any():
            return [people[order[:cut]], people[order[cut:]]]
    return None


@dataclass(frozen=True)
class _Bounds:
    """How large the smallest portion is, and how often it holds each value."""

    size: int
    low: IntArray
    high: IntArray


def _portions(problem: ArtProblem, people: IntArray, random: np.random.Generator) -> list[IntArray]:
    """Smallest portions of a block that leave the rest safe, one after another."""
    profile = int(problem.profiles[people[0]])
    values, places = problem.values[people], problem.places[people]
    counts = np.bincount(values, minlength=problem.n_values)
    bounds = _smallest(problem, profile, counts, 1)
    if bounds is None:
        return [people]
    near = len(people) <= _NEAREST and places.shape[1] > 0
    if near:
        edge = np.abs(places - places.mean(axis=0)).sum(axis=1) + 1e-9 * random.random(len(people))
    else:
        queues = _Queues(values, problem.n_values)
    free = np.ones(len(people), dtype=bool)
    groups = []
    while bounds is not None:
        if near:
            chosen = _nearest(problem, values, places, free, edge, bounds)
        else:
            chosen = queues.take(bounds)
        free[chosen] = False
        counts = counts - np.bincount(values[chosen], minlength=problem.n_values)
        groups.append(people[chosen])
        # Smaller portions were taken before while there were any, and hardly come back.
        bounds = _smallest(problem, profile, counts, max(1, bounds.size // 2))
    groups.append(people[free])
    return groups


def _smallest(problem: ArtProblem, profile: int, counts: IntArray, first: int) -> _Bounds | None:
    """The smallest portion of at least `first` people, of which the rest is safe, too."""
    total = int(counts.sum())
    if problem.unique:
        due = total // problem.least
        low = (counts == due).astype(np.int64)
        size = max(problem.least, int(low.sum()))
        return _Bounds(size, low, np.minimum(counts, 1)) if due > 1 else None
    sizes = np.arange(first, min(first + 4, total))[:, None]
    while len(sizes):
        high = np.minimum(problem.most(profile, sizes), counts)
        low = np.maximum(counts - problem.most(profile, total - sizes), 0)
        fits = (low <= high).all(axis=1)
        fits &= (low.sum(axis=1) <= sizes[:, 0]) & (sizes[:, 0] <= high.sum(axis=1))
        if fits.any():
            at = int(np.argmax(fits))
            return _Bounds(int(sizes[at, 0]), low[at], high[at])
        last = int(sizes[-1, 0])
        sizes = np.arange(last + 1, min(2 * last + 1, total))[:, None]
    return None


def _nearest(
    problem: ArtProblem,
    values: IntArray,
    places: FloatArray,
    free: NDArray[np.bool_],
    edge: FloatArray,
    bounds: _Bounds,
) -> list[int]:
    """Someone at the edge, and who makes the portion least wide."""
    nominal = problem.steps > 0
    ranged, named, worth = places[:, ~nominal], places[:, nominal], problem.steps[nominal]
    low, high = bounds.low.tolist(), bounds.high.tolist()
    must = sum(low)
    members: list[int] = []
    cost, forced = -edge, must >= bounds.size or (problem.unique and must > 0)
    least = most = ranged[0]
    new_name = edge
    able = free & (bounds.high > 0)[values]
    while len(members) < bounds.size:
        cost[~(able & (np.array(low) > 0)[values] if forced else able)] = np.inf
        one = int(cost.argmin())
        at, value = ranged[one], int(values[one])
        least, most = (np.minimum(least, at), np.maximum(most, at)) if members else (at, at)
        members.append(one)
        able[one] = False
        high[value] -= 1
        if not high[value]:
            able &= values != value
        if low[value]:
            low[value] -= 1
            must -= 1
        forced = must >= bounds.size - len(members)
        cost = (np.maximum(least - ranged, 0) + np.maximum(ranged - most, 0)).sum(axis=1)
        if len(worth):
            name = (named != named[one]) @ worth
            new_name = np.minimum(new_name, name) if len(members) > 1 else name
            cost += new_name
    return members


class _Queues:
    """People of one block by value, along the curve, who are taken from the front."""

    def __init__(self, values: IntArray, n_values: int) -> None:
        order = np.argsort(values, kind="stable")
        ends = np.searchsorted(values[order], np.arange(n_values + 1))
        self._people = [own.tolist() for own in np.split(order, ends[1:-1])]
        self._at = [0] * n_values

    def take(self, bounds: _Bounds) -> list[int]:
        """The next along the curve: as many of each value as must be, then others who may."""
        chosen: list[int] = []
        others: list[tuple[int, int]] = []
        low, high = bounds.low.tolist(), bounds.high.tolist()
        for x in np.flatnonzero(bounds.high).tolist():
            least, most = low[x], high[x]
            own, at = self._people[x], self._at[x]
            chosen += own[at : at + least]
            self._at[x] += least
            others += [(one, x) for one in own[at + least : at + min(most, least + bounds.size)]]
        for one, x in sorted(others)[: bounds.size - len(chosen)]:
            chosen.append(one)
            self._at[x] += 1
        return chosen


# ---- mixed groups --------------------------------------------------------------------------

# Similar profiles whose people may be asked to join, at first and when that fails.
_NEIGHBOURS = (5, 16)
# Values of a profile that are tried at once.
_VALUES = 12
# People of a recipe at most, as multiples of what one profile needs, and besides; of these most.
_TIMES, _BESIDES, _LARGEST = 3, 4, 30
# What a further value's pressure and distance weigh against a posterior that reaches its limit.
_PRESSURE, _DISTANCE = 0.02, 0.03
# How far a choice may be from the best: for ties, and when a search is repeated.
_NOISE = (1e-9, 0.1, 0.3)

Pair = tuple[int, int]


class Mixer:
    """Finds mixed groups until every profile can be grouped by itself, or none is found any more.

    The recipes follow `wanted`, such as different values in each group; `problem` decides what is
    safe. `thrift` goes from 0, as many of the profile itself as can be, to 1, as few: groups of
    more and other people, after which fewer are in the way.
    """

    def __init__(
        self,
        problem: ArtProblem,
        wanted: ArtProblem,
        random: np.random.Generator,
        thrift: float = 0.0,
    ) -> None:
        self.problem, self.wanted, self.random, self.thrift = problem, wanted, random, thrift
        self.table = problem.table.copy()  # who is without a group
        self.free = np.ones(problem.n_people, dtype=bool)
        self._odd = ~problem.allowed | (problem.sizes == 0)
        largest = int(problem.sizes[problem.table > 0].max(initial=1))
        self._weight = float(largest * problem.n_people + 1)
        self._near: dict[int, tuple[IntArray, FloatArray]] = {}
        self._open: dict[int, NDArray[np.bool_]] = {}
        self._noise = _NOISE[0]

    def excess(self, rows: IntArray, profiles: IntArray) -> FloatArray:
        """What stands in the way, by row: 0 if and only if a profile can be grouped by itself.

        How far values exceed their limits; and people who cannot be in a group of their profile,
        who weigh more than all else.
        """
        over = self.wanted.deficit(rows, profiles).sum(axis=-1)
        found: FloatArray = over + self._weight * (rows * self._odd[profiles]).sum(axis=-1)
        return found

    def all_excess(self) -> FloatArray:
        """By profile."""
        return self.excess(self.table, np.arange(len(self.table)))

    def _take(self, groups: list[IntArray]) -> list[IntArray]:
        if groups:
            people = np.concatenate(groups)
            self.free[people] = False
            self.table -= self.problem.counted(people)
            self._open.clear()
        return groups

    # ---- small groups, by recipes

    def small_groups(self, patience: int) -> list[IntArray]:
        """Carry out recipes while they help, until none is found for so many targets in a row."""
        recipes: list[tuple[tuple[Pair, ...], int]] = []
        failed: Counter[Pair] = Counter()
        waiting = 0
        while waiting < patience and (target := self._target(failed)) is not None:
            self._noise = _NOISE[failed[target]]
            found = self._recipe(target)
            if found is None:
                failed[target] += 1
                waiting += 1
                continue
            waiting = 0
            pairs, times = found
            recipes.append(found)
            for profile, rows in self._rows(pairs).items():
                self.table[profile] -= times * rows
                self._open.pop(profile, None)
        _log.info("%d recipes, excess left %g", len(recipes), self.all_excess().sum())
        return self._carried_out(recipes)

    def _carried_out(self, recipes: list[tuple[tuple[Pair, ...], int]]) -> list[IntArray]:
        """Choose people for each recipe: of each profile and value evenly along the curve.

        So the groups of a recipe lie one after another along it, and hold people who are near.
        """
        cells = _Cells(self.problem, np.flatnonzero(self.free))
        groups: list[IntArray] = []
        for pairs, n in recipes:
            each = Counter(pairs).items()
            columns = [cells.take(pair, times * n).reshape(n, times) for pair, times in each]
            groups += list(np.concatenate(columns, axis=1))
        if groups:
            self.free[np.concatenate(groups)] = False
        return groups

    def _rows(self, pairs: Iterable[Pair]) -> dict[int, IntArray]:
        """By profile, how many of each value."""
        found: dict[int, IntArray] = {}
        for profile, value in pairs:
            zeros = np.zeros(self.problem.n_values, dtype=np.int64)
            found.setdefault(profile, zeros)[value] += 1
        return found

    def _target(self, failed: Mapping[Pair, int]) -> Pair | None:
        """The profile in whose way most stands for its size, and the value that does."""
        excess = self.all_excess()
        order = np.argsort(-excess / np.maximum(self.table.sum(axis=1), 1), kind="stable")
        for profile in order[excess[order] > 0].tolist():
            rows, odd = self.table[profile], self._odd[profile]
            over = self.wanted.deficit(rows[None], np.array([profile]))[0] > 0
            pressing = np.where(odd, rows * len(rows) * 10, rows)
            for value in np.argsort(-pressing, kind="stable").tolist():
                bad = over[value] or (odd[value] and rows[value])
                if bad and failed[profile, value] < len(_NOISE):
                    return profile, value
        return None

    def _recipe(self, target: Pair) -> tuple[tuple[Pair, ...], int] | None:
        """A safe group with the target that helps, with few other profiles; and how often."""
        profile, value = target
        size = int(self.table[profile].sum())
        needed = self._needed(target)
        fallback = None
        for neighbours in _NEIGHBOURS:
            for copies in (1,) if self.wanted.unique else (1, 2):
                if copies > self.table[profile, value]:
                    continue
                for own in self._shares(copies, size, needed):
                    pairs = self._grown([target] * copies, own, neighbours, needed)
                    if pairs is None:
                        continue
                    taken = self._rows(pairs)
                    change = self._change(taken)
                    if change >= 0:
                        continue
                    found = pairs, self._times(taken)
                    excess = float(self.all_excess()[profile])
                    if excess / -change * int(taken[profile].sum()) <= size:
                        return found
                    if excess > self._weight:
                        return found
                    fallback = fallback or found
            if fallback is not None:
                return fallback
        return None

    def _needed(self, target: Pair) -> int:
        """How many people of its profile a target would need for its group."""
        return min(int(self.problem.sizes[target]) or self.problem.least, _LARGEST)

    def _change(self, taken: Mapping[int, IntArray], times: int = 1) -> float:
        """How the excess changes when so many of some profiles leave."""
        profiles = np.array(list(taken))
        before = self.table[profiles]
        after = before - times * np.array(list(taken.values()))
        return float(self.excess(after, profiles).sum() - self.excess(before, profiles).sum())

    def _times(self, taken: Mapping[int, IntArray]) -> int:
        """How often a recipe is best carried out: the excess is convex in it."""
        high = min(
            int((self.table[profile][rows > 0] // rows[rows > 0]).min())
            for profile, rows in taken.items()
        )
        low = 1
        while low < high:
            middle = (low + high) // 2
            if self._change(taken, middle + 1) < self._change(taken, middle):
                low = middle + 1
            else:
                high = middle
        return low

    def _shares(self, copies: int, size: int, needed: int) -> list[int]:
        """How many people of the target's profile a recipe may have, in the order of trying."""
        most = max(min(copies * needed - 1, size), copies)
        first = most - self.thrift * (most - copies)
        shares = {copies, most, (copies + most) // 2}
        if self.wanted.unique:
            shares |= {*range(copies, min(most, 4) + 1), *range(most, copies, -2)}
        return sorted(shares, key=lambda own: (abs(own - first), -own))

    def _grown(
        self, start: list[Pair], own: int, neighbours: int, needed: int
    ) -> tuple[Pair, ...] | None:
        """Add to a group who makes its posteriors least, until it is safe."""
        problem = self.problem
        _, distance = self._neighbours(start[0][0])
        pairs = list(start)
        most = _TIMES * needed * len(start) + _BESIDES
        if self.wanted.unique:
            most = min(most, problem.n_values)
        while len(pairs) < most:
            taken = self._rows(pairs)
            options = self._options(pairs, taken, own, neighbours)
            if not options:
                return None
            more = np.array(options)
            worst = guess_of_each(problem, pairs, more)
            cost = worst + _DISTANCE * distance[more[:, 0]]
            cost += _PRESSURE * needed * self._pressure(more, taken)
            cost += self._noise * self.random.random(len(options))
            best = int(np.argmin(cost))
            pairs.append(options[best])
            if len(pairs) >= problem.least and worst[best] < 1.1:
                profiles, values = np.array(pairs).T
                group = np.zeros(len(pairs), dtype=np.int64)
                if safe_groups(problem, group, profiles, values, 1)[0]:
                    return tuple(sorted(pairs))
        return None

    def _options(
        self, pairs: list[Pair], taken: Mapping[int, IntArray], own: int, neighbours: int
    ) -> list[Pair]:
        """Profiles and values that may be added."""
        target = pairs[0][0]
        held = {x for _, x in pairs} if self.wanted.unique else set()
        options: list[Pair] = []
        asked = 0
        for profile in self._neighbours(target)[0].tolist():
            if profile == target and taken[target].sum() >= own:
                continue
            rows = self.table[profile]
            if profile in taken:
                rows = rows - taken[profile]
            open_ = rows > 0
            if profile != target:
                open_ = open_ & self._harmless(profile, rows, cached=profile not in taken)
            values = np.argsort(-rows, kind="stable").tolist()
            values = [x for x in values if open_[x] and x not in held][:_VALUES]
            options += [(profile, x) for x in values]
            asked += bool(values)
            if asked >= neighbours:
                break
        return options

    def _harmless(self, profile: int, rows: IntArray, *, cached: bool) -> NDArray[np.bool_]:
        """For each value, whether a profile is none the worse when one who has it leaves."""
        if cached and profile in self._open:
            return self._open[profile]
        same = np.full(len(rows), profile)
        after = self.excess(rows - np.eye(len(rows), dtype=np.int64), same)
        found: NDArray[np.bool_] = after <= self.excess(rows[None], same[:1])
        if cached:
            self._open[profile] = found
        return found

    def _pressure(self, options: IntArray, taken: Mapping[int, IntArray]) -> FloatArray:
        """How much more stands in the way of a profile when one of it leaves; up to 1."""
        profiles, values = options.T
        before = self.table[profiles].copy()
        for profile, rows in taken.items():
            before[profiles == profile] -= rows
        after = before.copy()
        after[np.arange(len(options)), values] -= 1
        change = self.excess(after, profiles) - self.excess(before, profiles)
        found: FloatArray = np.clip(change / self.problem.least, -1.0, 1.0)
        return found

    def _neighbours(self, profile: int) -> tuple[IntArray, FloatArray]:
        """All profiles, itself first and then the nearest; and how far each is."""
        if profile not in self._near:
            distance = self.problem.distances(profile)
            distance[profile] = 0.0
            order = np.lexsort((np.arange(len(distance)) != profile, distance))
            if len(self._near) > 2000:
                self._near.clear()
            self._near[profile] = (order, distance)
        return self._near[profile]

    # ---- large groups

    def large_groups(self, hard: Iterable[int] | None = None) -> list[IntArray]:
        """Group profiles that cannot be grouped by themselves with many people of other ones."""
        groups: list[IntArray] = []
        excess = self.all_excess()
        wanted = range(self.problem.n_profiles) if hard is None else hard
        for profile in sorted(wanted, key=lambda profile: -excess[profile]):
            for close in _CLOSE:
                if self.all_excess()[profile] <= 0:
                    break
                made = self._take(self._diluted(profile, close))
                groups += made
                if made:
                    _log.info("profile %d: %d large groups", profile, len(made))
                    break
        return groups

    def _diluted(self, profile: int, close: float) -> list[IntArray]:
        """Everybody of a profile and those who join, in as many like parts as are all safe."""
        own = self.table[profile]
        over = self.wanted.deficit(own[None], np.array([profile]))[0] > 0
        joining = self._joining(profile, over | (self._odd[profile] & (own > 0)), close)
        if joining is None:
            return []
        joining[profile] = own
        cells = _Cells(self.problem, np.flatnonzero(self.free))
        chosen = [cells.take((s, x), int(joining[s, x])) for s, x in np.argwhere(joining).tolist()]
        return like_parts(self.problem, np.concatenate(chosen)) or []

    def _joining(self, profile: int, hot: NDArray[np.bool_], close: float) -> IntArray | None:
        """How many of others keep posteriors of all together within `close` of their limits."""
        excess = self.all_excess()
        near = self._neighbours(profile)[0].tolist()
        spare = {j: self._slack(j, hot) for j in near if excess[j] <= 0 and j != profile}
        donors = [j for j, slack in spare.items() if slack.any()]
        for chosen in [[j] for j in donors[:_SINGLE]] + [donors[:n] for n in _TOGETHER]:

            def blend(share: float, chosen: list[int] = chosen) -> IntArray:
                found = np.zeros_like(self.table)
                for j in chosen:
                    found[j] = np.floor(share * spare[j])
                return found

            def highest(table: IntArray) -> float:
                table[profile] = self.table[profile]
                return guess_of_one(self.problem, table)

            if not chosen or highest(blend(1.0)) > (close or 1.0):
                continue
            low, high = 0.0, 1.0
            for _ in range(_HALVINGS if close else 0):
                middle = (low + high) / 2
                low, high = (low, middle) if highest(blend(middle)) <= close else (middle, high)
            return blend(high)
        return None

    def _slack(self, profile: int, hot: NDArray[np.bool_]) -> IntArray:
        """As many of a profile without some values as may leave, so that it can be grouped."""
        rows = self.table[profile]
        kept = np.where(hot, 0, rows)
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            after = rows - np.floor(middle * kept).astype(np.int64)
            fine = not self.wanted.deficit(after[None], np.array([profile])).any()
            low, high = (middle, high) if fine else (low, middle)
        found: IntArray = np.floor(low * kept).astype(np.int64)
        return found


# How many of the nearest profiles are asked to join, each by itself; and then how many together.
_SINGLE, _TOGETHER = 24, (2, 4, 8)
# Halvings of the share of the donors that join.
_HALVINGS = 12
# How near to its limit a posterior may come, of all together; parts differ a little. Last, all who
# can join do.
_CLOSE = (0.93, 0.97, 0.0)


class _Cells:
    """People by profile and value, along the curve, of whom some are taken evenly."""

    def __init__(self, problem: ArtProblem, people: IntArray) -> None:
        keys = problem.keys[people]
        order = np.lexsort((problem.curve[people], keys))
        self._people, keys = people[order], keys[order]
        self._n_values = problem.n_values
        self._starts = np.searchsorted(keys, np.arange(problem.table.size + 1))
        self._left: dict[int, IntArray] = {}

    def take(self, pair: Pair, wanted: int) -> IntArray:
        key = pair[0] * self._n_values + pair[1]
        own = self._left.get(key, self._people[self._starts[key] : self._starts[key + 1]])
        at = (np.arange(wanted) * len(own)) // wanted
        self._left[key] = np.delete(own, at)
        return own[at]


# ---- large groups that are alike -----------------------------------------------------------

# The largest parts whose posteriors are worked out.
LARGEST = 700
# How near to its limit a posterior of many may come, to be divided at all.
_DIVISIBLE = 0.99
# Parts that are judged before all others; and the share of parts that may be too few.
_SAMPLE, _COARSE = 8, 16


def like_parts(problem: ArtProblem, people: IntArray) -> list[IntArray] | None:
    """Divide people evenly by profile and value into as many parts as are all found safe.

    None where even the fewest parts are not safe, or out of reach.
    """
    fewest = -(-len(people) // LARGEST)
    if fewest > 1 and guess_of_one(problem, problem.counted(people)) > _DIVISIBLE:
        return None
    # Round robin by value, profile and place: parts are of one size, and as alike as can be.
    order = np.lexsort((problem.curve[people], problem.profiles[people], problem.values[people]))
    people = people[order]
    keys = problem.keys[people]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(starts, append=len(people))

    def divided(n_parts: int) -> list[IntArray]:
        parts = []
        begin = 0
        for count in counts.tolist():
            each, more = divmod(count, n_parts)
            sizes = np.full(n_parts, each)
            sizes[(begin + np.arange(more)) % n_parts] += 1
            begin += more
            parts.append(np.repeat(np.arange(n_parts), sizes))
        part = np.concatenate(parts)
        at = np.argsort(part, kind="stable")
        return np.split(people[at], np.cumsum(np.bincount(part))[:-1])

    def hopeful(n_parts: int) -> bool:
        return bool(safe_lists(problem, divided(n_parts)[:_SAMPLE]).all())

    # Small parts are judged faster, so their number falls; then it rises again, nearly to the most.
    high = max(len(people) // problem.least, fewest) + 1
    low = max(high // 2, fewest)
    while low > fewest and not hopeful(low):
        high, low = low, max(low // 2, fewest)
    while high - low > 1 + low // _COARSE:
        middle = (low + high) // 2
        low, high = (middle, high) if hopeful(middle) else (low, middle)
    while low >= fewest:
        made = divided(low)
        if safe_lists(problem, made).all():
            return made
        low -= 1 + low // _COARSE
    return None
