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
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.signature_groups import FloatArray
from foreknow.data.sparse import IntArray
from foreknow.methods.art.judge import guess_of_each, guess_of_one, safe_bags, safe_lists
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

# Similar profiles whose people may be asked to join a target, and values of each that are tried.
_NEIGHBOURS, _VALUES = 16, 12
# People of a recipe at most, as multiples of what one profile needs, and besides; of these most.
_TIMES, _BESIDES, _LARGEST = 3, 4, 30
# What distance, and a profile's excess, weigh against a posterior that reaches its limit.
_DISTANCE, _PRESSURE = 0.03, 0.02
# Targets in a row without a recipe before it gives up.
_PATIENCE = 12

Pair = tuple[int, int]  # a profile and a value


class Mixer:
    """Finds mixed groups until every profile can be grouped by itself, or none is found any more.

    One rule: the profile that is farthest from that, and its most frequent value that is in the
    way, are the target; to one such person are added, one after another, those near people whom
    their own profiles can spare and who make the highest posterior least, until it keeps its limit.
    This recipe is carried out as often as it helps; if there is none, one with fewer people of the
    target's profile is looked for.

    The recipes follow `wanted`, such as different values in each group; `problem` decides what is
    safe. `thrift` goes from 0, as many of the target's profile as can be, to 1, no other.
    """

    def __init__(self, problem: ArtProblem, wanted: ArtProblem, thrift: float) -> None:
        self.problem, self.wanted, self.thrift = problem, wanted, thrift
        self.table = problem.table.copy()  # who is without a group
        self.free = np.ones(problem.n_people, dtype=bool)
        self._odd = ~problem.allowed | (problem.sizes == 0)
        largest = int(problem.sizes[problem.table > 0].max(initial=1))
        self._weight = float(largest * problem.n_people + 1)
        self._near: dict[int, tuple[IntArray, FloatArray]] = {}
        self._changes: dict[tuple[int, bytes, bool], list[tuple[int, float]]] = {}

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

    # ---- small groups, by recipes

    def small_groups(self) -> list[IntArray]:
        """Carry out recipes while they help, until none is found for so many targets in a row."""
        recipes: list[tuple[Counter[Pair], int]] = []
        failed: set[Pair] = set()
        waiting = 0
        while waiting < _PATIENCE and (target := self._target(failed)) is not None:
            needed = min(int(self.problem.sizes[target]) or self.problem.least, _LARGEST)
            most = max(needed - 1, 1)
            first = most - self.thrift * (most - 1)
            shares = sorted(range(1, most + 1), key=lambda own: (abs(own - first), -own))
            tried = (self._recipe(target, needed, own) for own in shares)
            recipe = next(filter(None, tried), None)
            if recipe is None:
                failed.add(target)
                waiting += 1
                continue
            waiting = 0
            times = self._times(recipe)
            recipes.append((recipe, times))
            for pair, count in recipe.items():
                self.table[pair] -= times * count
        _log.info("%d recipes, excess left %g", len(recipes), self.all_excess().sum())
        # People of each profile and value are chosen evenly along the curve: so the groups of a
        # recipe lie one after another along it, and hold people who are near.
        cells = _Cells(self.problem, np.flatnonzero(self.free))
        groups: list[IntArray] = []
        for recipe, n in recipes:
            columns = [cells.take(pair, m * n).reshape(n, m) for pair, m in recipe.items()]
            groups += list(np.concatenate(columns, axis=1))
        if groups:
            self.free[np.concatenate(groups)] = False
        return groups

    def _target(self, failed: set[Pair]) -> Pair | None:
        """The profile in whose way most stands for its size, and the value that does."""
        excess = self.all_excess()
        order = np.argsort(-excess / np.maximum(self.table.sum(axis=1), 1), kind="stable")
        for profile in order[excess[order] > 0].tolist():
            rows, odd = self.table[profile], self._odd[profile] & (self.table[profile] > 0)
            over = self.wanted.deficit(rows[None], np.array([profile]))[0] > 0
            for value in np.lexsort((-rows, ~odd)).tolist():
                if (over | odd)[value] and (profile, value) not in failed:
                    return profile, value
        return None

    def _recipe(self, target: Pair, needed: int, own: int) -> Counter[Pair] | None:
        """A safe group with the target that helps, with up to `own` people of its profile."""
        problem, home = self.problem, target[0]
        most = _TIMES * needed + _BESIDES
        if self.wanted.unique:
            most = min(most, problem.n_values)
        _, distance = self._neighbours(home)
        pairs = [target]
        while len(pairs) < most:
            at_home = sum(profile == home for profile, _ in pairs)
            options, change = self._options(pairs, at_home < own)
            if not len(options):
                return None
            worst = guess_of_each(problem, pairs, options)
            cost = worst + _DISTANCE * distance[options[:, 0]]
            best = int(np.argmin(cost + _PRESSURE * needed / problem.least * change))
            pairs.append((int(options[best, 0]), int(options[best, 1])))
            if len(pairs) >= problem.least and worst[best] < 1.1:
                bag = tuple(sorted(s * problem.n_values + x for s, x in pairs))
                if safe_bags(problem, [bag])[0]:
                    recipe = Counter(sorted(pairs))
                    return recipe if self._times(recipe) else None
        return None

    def _options(self, pairs: list[Pair], at_home: bool) -> tuple[IntArray, FloatArray]:
        """Who may be added, of others whom their profiles can spare; how their excess changes."""
        home = pairs[0][0]
        taken: dict[int, list[int]] = {}
        for profile, value in pairs:
            taken.setdefault(profile, []).append(value)
        held = {x for _, x in pairs} if self.wanted.unique else set()
        options: list[Pair] = []
        changes: list[float] = []
        asked = 0
        for profile in self._neighbours(home)[0].tolist():
            if profile == home and not at_home:
                continue
            rows = self.table[profile]
            if profile in taken:
                rows = rows - np.bincount(taken[profile], minlength=len(rows))
            leaving = self._leaving(profile, rows, profile != home)
            some = [(x, change) for x, change in leaving if x not in held][:_VALUES]
            options += [(profile, x) for x, _ in some]
            changes += [change for _, change in some]
            asked += bool(some)
            if asked == _NEIGHBOURS:
                break
        least = self.problem.least
        return np.array(options), np.clip(changes, -least, least)

    def _leaving(self, profile: int, rows: IntArray, spare: bool) -> list[tuple[int, float]]:
        """Values, most frequent first, of whom one may leave; how the excess changes then."""
        key = profile, rows.tobytes(), spare
        if key not in self._changes:
            values = np.argsort(-rows, kind="stable")[: np.count_nonzero(rows > 0)]
            same = np.full(len(values), profile)
            one = np.eye(len(rows), dtype=np.int64)[values]
            change = self.excess(rows - one, same) - self.excess(rows[None], same[:1])
            if len(self._changes) > 10_000:
                self._changes.clear()
            pairs = zip(values.tolist(), change.tolist(), strict=True)
            self._changes[key] = [pair for pair in pairs if not spare or pair[1] <= 0]
        return self._changes[key]

    def _times(self, recipe: Counter[Pair]) -> int:
        """How often a recipe is best carried out: the excess is convex in it."""
        profiles = np.unique([profile for profile, _ in recipe])
        taken = np.zeros_like(self.table)
        for pair, count in recipe.items():
            taken[pair] = count

        def left(times: int) -> float:
            rows = self.table[profiles] - times * taken[profiles]
            return float(self.excess(rows, profiles).sum())

        low, high = 0, min(int(self.table[pair]) // count for pair, count in recipe.items())
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if left(middle + 1) < left(middle) else (low, middle)
        return low

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
                made = self._diluted(profile, close)
                if made:
                    people = np.concatenate(made)
                    self.free[people] = False
                    self.table -= self.problem.counted(people)
                    groups += made
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
