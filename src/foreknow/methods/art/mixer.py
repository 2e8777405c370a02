"""Mixed groups, for people whose values are too frequent in their profiles.

A profile can be grouped by itself if none of its values is more frequent than its limit. Where one
is, some of those who have it join people of other, similar profiles: in small groups by a *recipe*,
so many of each profile and value, that is found once and carried out as often as it helps; or,
where that fails, in large ones.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import FloatArray, IntArray
from foreknow.methods.art.exact_check import safe_bags
from foreknow.methods.art.groups import FAR, like_parts
from foreknow.methods.art.guesses import Bags, guess_of_one
from foreknow.methods.art.problem import ArtProblem

_log = logging.getLogger(__name__)

Pair = tuple[int, int]  # a profile and a value
Recipe = Counter[Pair]

# Targets that are worked on at once; the nearest profiles and the most frequent values of each that
# are looked at.
_TARGETS, _LOOKED, _VALUES = 64, 128, 16
# What distances of profiles, in priors and in place, and an excess weigh against a posterior that
# reaches its limit.
_DISTANCE, _PLACE, _PRESSURE = 0.03, 0.3, 0.02
# So many times as bad as an excess that goes is one that comes instead.
_WORSE = 3
# People of a target's own that a recipe is thought to need at most.
_LARGEST = 30


@dataclass(frozen=True)
class Way:
    """A strategy for recipes."""

    goal: ArtProblem  # what recipes follow, such as different values in each group
    thrift: float = 0.0  # from 0, as many of the target's profile as can be, to 1, no other
    neighbours: int = 16  # so many similar profiles may be asked at each step
    times: int = 3  # people at most, as multiples of what one profile needs; and four besides


class Mixer:
    """Finds mixed groups until every profile can be grouped by itself, or none is found any more.

    One rule: the profiles that are farthest from that, each with its most frequent value that is in
    the way, are the targets; to one such person are added, one after another, those near people
    whom their own profiles can spare and who make the highest posterior least, until it keeps its
    limit. This recipe is carried out as often as it helps; if there is none, one with fewer people
    of the target's profile is looked for.
    """

    def __init__(self, problem: ArtProblem, goal: ArtProblem) -> None:
        self.problem, self.goal = problem, goal
        self.table = problem.table.copy()  # who is without a group
        self.free = np.ones(problem.n_people, dtype=bool)
        self._odd = ~problem.allowed | (problem.sizes == 0)
        self._with_odd = bool(self._odd.any())
        # Who leaves, by value; in the last row, nobody.
        self._leavers = np.eye(problem.n_values + 1, problem.n_values, dtype=np.int64)
        largest = int(problem.sizes[problem.table > 0].max(initial=1))
        self._weight = float(largest * problem.n_people + 1)
        self._near: dict[int, tuple[IntArray, FloatArray]] = {}

    def again(self) -> Mixer:
        """A copy of the current state, to continue in another way."""
        mixer = copy(self)
        mixer.table, mixer.free = self.table.copy(), self.free.copy()
        return mixer

    def excess(self, rows: IntArray, profiles: IntArray) -> FloatArray:
        """The excess of each row: 0 if and only if the profile can be grouped by itself."""
        total: FloatArray = self.goal.deficit(rows, profiles).sum(axis=-1)
        if self._with_odd:
            total += self._weight * (rows * self._odd[profiles]).sum(axis=-1)
        return total

    def all_excess(self) -> FloatArray:
        """The excess of each profile."""
        return self.excess(self.table, np.arange(len(self.table)))

    def n_in_the_way(self) -> float:
        """About how many people keep profiles from being grouped by themselves."""
        return float(np.minimum(self.all_excess(), self.table.sum(axis=1)).sum())

    # ---- small groups, by recipes

    def small_groups(self, way: Way) -> list[IntArray]:
        """Group people by recipes: carry out recipes while they help, and until no target has one.

        Returned are the members of each group. A recipe says how many people of each profile and
        value a group takes; it is carried out as often as it helps.
        """
        self.goal = way.goal
        recipes: list[tuple[Recipe, int]] = []
        failed: set[Pair] = set()
        while targets := self._targets(failed):
            grown = _Growth(self, targets, way).recipes()
            failed.update(
                target for target, recipe in zip(targets, grown, strict=True) if not recipe
            )
            for recipe in filter(None, grown):
                # Others of this round may have taken whom it needs; the first one always helps.
                times = self.times(recipe)
                if times:
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

    def _targets(self, failed: set[Pair]) -> list[Pair]:
        """The pairs of a profile and a value that recipes should use up first.

        One for each profile in excess, those with the most excess for their size first: its worst
        value for which no recipe failed yet.
        """
        excess = self.all_excess()
        order = np.argsort(-excess / np.maximum(self.table.sum(axis=1), 1), kind="stable")
        in_excess = order[excess[order] > 0]
        rows = self.table[in_excess]
        is_disallowed = self._odd[in_excess] & (rows > 0)
        in_the_way = is_disallowed | (self.goal.deficit(rows, in_excess) > 0)
        targets: list[Pair] = []
        for row, profile in enumerate(in_excess.tolist()):
            values = []
            for x in np.lexsort((-rows[row], ~is_disallowed[row])).tolist():
                if in_the_way[row, x]:
                    values.append(x)
            open_pairs = [(profile, x) for x in values if (profile, x) not in failed]
            targets += open_pairs[:1]
        return targets[:_TARGETS]

    def times(self, recipe: Recipe) -> int:
        """How often to carry out a recipe so that the least is in excess afterwards; 0 or more.

        A recipe says how many people of each profile and value make a group; the excess is convex
        in the number of times, so that a binary search finds the best.
        """
        profiles = sorted({profile for profile, _ in recipe})
        position_of = {profile: i for i, profile in enumerate(profiles)}
        rows = self.table[profiles]
        needed = np.zeros_like(rows)
        for (profile, value), count in recipe.items():
            needed[position_of[profile], value] = count
        before = self.excess(rows, np.array(profiles))

        def worse(times: IntArray) -> FloatArray:
            after = self.excess(rows - times[:, None, None] * needed, np.array(profiles))
            change = after - before
            total: FloatArray = np.maximum(change, _WORSE * change).sum(axis=1)
            return total

        low, high = 0, min(int(self.table[pair]) // count for pair, count in recipe.items())
        while low < high:
            middle = (low + high) // 2
            at_middle, at_next = worse(np.array([middle, middle + 1])).tolist()
            low, high = (middle + 1, high) if at_next < at_middle else (low, middle)
        return low

    def changes(self, rows: IntArray, profiles: IntArray, values: IntArray) -> FloatArray:
        """The change of each row's excess if a person with each of the values leaves."""
        nobody = np.full((len(values), 1), self.problem.n_values)
        leavers = self._leavers[np.concatenate([nobody, values], axis=1)]
        excess = self.excess(rows[:, None] - leavers, profiles[:, None])
        change: FloatArray = excess[:, 1:] - excess[:, :1]
        return change

    def neighbours(self, profile: int) -> tuple[IntArray, FloatArray]:
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
        """Group people of profiles that cannot be grouped by themselves with others' people.

        `hard` are the profiles to try; None for all. Returned are the members of each group, which
        are large.
        """
        groups: list[IntArray] = []
        excess = self.all_excess()
        profiles = range(self.problem.n_profiles) if hard is None else hard
        for profile in sorted(profiles, key=lambda profile: -excess[profile]):
            for close in _CLOSE:
                if self.all_excess()[profile] <= 0:
                    break
                diluted = self._diluted(profile, close)
                if diluted:
                    people = np.concatenate(diluted)
                    self.free[people] = False
                    self.table -= self.problem.counted(people)
                    groups += diluted
                    _log.info("profile %d: %d large groups", profile, len(diluted))
                    break
        return groups

    def _diluted(self, profile: int, close: float) -> list[IntArray]:
        """Divide a profile and people who join it into as many like, safe parts as possible."""
        counts = self.table[profile]
        over = self.goal.deficit(counts[None], np.array([profile]))[0] > 0
        joining = self._joining(profile, over | (self._odd[profile] & (counts > 0)), close)
        if joining is None:
            return []
        joining[profile] = counts
        cells = _Cells(self.problem, np.flatnonzero(self.free))
        chosen = []
        for s, x in np.argwhere(joining).tolist():
            chosen.append(cells.take((s, x), int(joining[s, x])))
        return like_parts(self.problem, np.concatenate(chosen)) or []

    def _joining(
        self, profile: int, in_the_way: NDArray[np.bool_], close: float
    ) -> IntArray | None:
        """How many people of other profiles and values to add to a profile; None if none work.

        With them, all guessed posteriors are at most `close` (1 if it is 0). The result has a row
        for each profile and a column for each value.
        """
        excess = self.all_excess()
        neighbours = self.neighbours(profile)[0].tolist()
        spare_people = {
            j: self._slack(j, in_the_way) for j in neighbours if excess[j] <= 0 and j != profile
        }
        donors = [j for j, slack in spare_people.items() if slack.any()]
        for chosen in [[j] for j in donors[:_SINGLE]] + [donors[:n] for n in _TOGETHER]:

            def blend(share: float, chosen: list[int] = chosen) -> IntArray:
                joining = np.zeros_like(self.table)
                for j in chosen:
                    joining[j] = np.floor(share * spare_people[j])
                return joining

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

    def _slack(self, profile: int, in_the_way: NDArray[np.bool_]) -> IntArray:
        """The most people of a profile, by value, who can leave it and keep it groupable."""
        rows = self.table[profile]
        spare_people = np.where(in_the_way, 0, rows)
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            after = rows - np.floor(middle * spare_people).astype(np.int64)
            can_spare = not self.goal.deficit(after[None], np.array([profile])).any()
            low, high = (middle, high) if can_spare else (low, middle)
        slack: IntArray = np.floor(low * spare_people).astype(np.int64)
        return slack


class _Growth:
    """Recipes of several targets, grown in parallel; the first axis of arrays is the target."""

    def __init__(self, mixer: Mixer, targets: Sequence[Pair], way: Way) -> None:
        problem = mixer.problem
        self._mixer, self._targets, self._way = mixer, targets, way
        # (profiles, values)
        frequent = np.argsort(-mixer.table, axis=1, kind="stable")[:, :_VALUES]
        changes = mixer.changes(mixer.table, np.arange(len(frequent)), frequent)
        counts = np.take_along_axis(mixer.table, frequent, axis=1)
        can_spare = np.where(counts > 0, changes, np.inf).min(axis=1) <= 0  # to spare somebody
        self._profiles = np.full((len(targets), min(problem.n_profiles, _LOOKED)), -1)
        self._cost = np.zeros(self._profiles.shape)
        for target, (home, _) in enumerate(targets):
            order, distance = mixer.neighbours(home)
            sparing = order[1:][can_spare[order[1:]]]
            candidates = np.append(home, sparing)[: self._profiles.shape[1]]
            self._profiles[target, : len(candidates)] = candidates
            distances = problem.place_distances(home)[candidates]
            self._cost[target, : len(candidates)] = (
                _DISTANCE * distance[candidates] + _PLACE * distances
            )
        self._there = self._profiles >= 0
        self._values = frequent[self._profiles]  # (targets, profiles, values)
        self._needed = np.array(
            [min(int(problem.sizes[target]) or problem.least, _LARGEST) for target in targets]
        )
        self._rows, self._changes = mixer.table[self._profiles], changes[self._profiles]
        everywhere = np.arange(len(targets))[:, None], np.arange(self._profiles.shape[1])
        self._spare, self._pressure = self._spared(*everywhere)
        self._begun = tuple(array.copy() for array in self._state)
        # How many of the target's profile there may be, in turn.
        self._shares = [_shares(needed, way.thrift) for needed in self._needed.tolist()]
        self._own = np.array([shares.pop() for shares in self._shares])
        self._members: list[list[Pair]] = [[] for _ in targets]
        self._largest = way.times * self._needed + 4
        if way.goal.unique:
            self._largest = np.minimum(self._largest, problem.n_values)
        self._bags = Bags(problem, len(targets), int(self._largest.max()))
        self._n_own = np.zeros(len(targets), dtype=np.int64)  # of the target's profile, in the bag
        self._held = np.zeros((len(targets), problem.n_values), dtype=bool)
        self._restart(np.arange(len(targets)))

    @property
    def _state(self) -> tuple[NDArray[Any], ...]:
        """Arrays that change as people leave their profiles for a bag, by target and profile."""
        return self._rows, self._changes, self._spare, self._pressure

    def recipes(self) -> list[Recipe | None]:
        """For each target, a safe group that contains it and lowers the excess, or None.

        Groups grow by one person at a time, side by side, each by the person who keeps posteriors
        lowest and lies nearest. A group that gets too large starts again with fewer people of the
        target's profile.
        """
        problem, n = self._mixer.problem, len(self._targets)
        # Posteriors are guessed too low under `joint`; of values that are repeated, too high under
        # `binary`.
        hopeful = (
            1.0 if all(prior_table.reading == "joint" for prior_table in problem.known) else FAR
        )
        recipes: list[Recipe | None] = [None] * n
        growing = np.arange(n)
        while len(growing):
            options, cost = self._options(growing)
            best = cost.argmin(axis=1)
            position = np.arange(len(growing))
            worst, has_option = options[position, best], np.isfinite(cost[position, best])
            self._add(growing[has_option], *np.divmod(best[has_option], self._values.shape[2]))
            sizes = np.array([len(self._members[target]) for target in growing.tolist()])
            full = sizes >= self._largest[growing]
            likely = np.flatnonzero(has_option & (worst < hopeful) & (sizes >= problem.least))
            safe = safe_bags(problem, list(map(self._keys_of_bag, growing[likely].tolist())))
            done = np.zeros(len(growing), dtype=bool)
            for number, is_safe in zip(likely.tolist(), safe, strict=True):
                target = growing[number]
                recipe = Counter(sorted(self._members[target]))
                if is_safe and self._mixer.times(recipe):
                    recipes[target], done[number] = recipe, True
                elif is_safe:
                    has_option[number] = False
            for number in np.flatnonzero(~done & (~has_option | full)).tolist():
                target = growing[number]
                if self._shares[target]:
                    self._own[target] = self._shares[target].pop()
                    self._restart(growing[[number]])
                else:
                    done[number] = True
            growing = growing[~done]
        return recipes

    def _keys_of_bag(self, target: int) -> tuple[int, ...]:
        """The profile and the value of each person in a bag, as one number each, ascending."""
        n_values = self._mixer.problem.n_values
        return tuple(sorted(profile * n_values + value for profile, value in self._members[target]))

    def _restart(self, targets: IntArray) -> None:
        """Reset the bags of some targets to the target alone."""
        for target in targets.tolist():
            self._members[target] = [self._targets[target]]
        target_profiles, target_values = np.array(self._targets)[targets].T
        self._bags.restart(targets, target_profiles, target_values)
        self._n_own[targets] = 1
        self._held[targets] = False
        self._held[targets, target_values] = True
        for array, begun in zip(self._state, self._begun, strict=True):
            array[targets] = begun[targets]
        self._leave(targets, np.zeros(len(targets), dtype=np.int64), target_values)

    def _add(self, targets: IntArray, slots: IntArray, positions: IntArray) -> None:
        """Add a person to the bag of each of some targets."""
        values, profiles = self._values[targets, slots, positions], self._profiles[targets, slots]
        pairs = zip(profiles.tolist(), values.tolist(), strict=True)
        for target, pair in zip(targets.tolist(), pairs, strict=True):
            self._members[target].append(pair)
        self._bags.add(targets, profiles, values)
        self._n_own[targets] += slots == 0
        self._held[targets, values] = True
        self._leave(targets, slots, values)

    def _leave(self, targets: IntArray, slots: IntArray, values: IntArray) -> None:
        """Remove people who were added from those available."""
        self._rows[targets, slots, values] -= 1
        self._changes[targets, slots] = self._mixer.changes(
            self._rows[targets, slots], self._profiles[targets, slots], self._values[targets, slots]
        )
        self._spare[targets, slots], self._pressure[targets, slots] = self._spared(targets, slots)

    def _spared(self, targets: IntArray, slots: IntArray) -> tuple[NDArray[np.bool_], FloatArray]:
        """Who is left that a profile can spare, by value; and what each adds to the cost."""
        changes, values = self._changes[targets, slots], self._values[targets, slots]
        counts = np.take_along_axis(self._rows[targets, slots], values, axis=-1)
        is_home = (slots == 0)[..., None]
        is_spared = (
            self._there[targets, slots][..., None] & (counts > 0) & (is_home | (changes <= 0))
        )
        smallest_size = self._mixer.problem.least
        weight = _PRESSURE * self._needed[targets][..., None] / smallest_size
        return is_spared, weight * np.clip(changes, -smallest_size, smallest_size)

    def _options(self, targets: IntArray) -> tuple[FloatArray, FloatArray]:
        """For each target and person who could be added, the worst posterior then and the cost.

        Both have shape (targets, options) and are infinite where nobody can be spared.
        """
        n = len(targets)
        options = self._spare[targets]
        options[:, 0] &= (self._n_own < self._own)[targets, None]
        if self._way.goal.unique:
            options &= ~self._held[targets[:, None, None], self._values[targets]]
        # Of those who can spare somebody, the nearest.
        has_option = options.any(axis=2)
        options &= (np.cumsum(has_option, axis=1) <= self._way.neighbours)[:, :, None]
        target, slot, candidate = np.nonzero(options)
        worst, cost = (np.full(options.shape, np.inf) for _ in range(2))
        if len(target):
            cells = targets[target], slot
            guesses = self._bags.guess_of_more(
                targets, target, self._profiles[cells], self._values[(*cells, candidate)]
            )
            worst[options] = guesses
            cost[options] = guesses + self._cost[cells] + self._pressure[(*cells, candidate)]
        return worst.reshape(n, -1), cost.reshape(n, -1)


def _shares(needed: int, thrift: float) -> list[int]:
    """How many people of its own profile a recipe may have; the first one to try comes last."""
    max_share = max(needed - 1, 1)
    first = max_share - thrift * (max_share - 1)
    return sorted(range(1, max_share + 1), key=lambda share: (-abs(share - first), share))


# How many of the nearest profiles are asked to join, each by itself; and then how many together.
_SINGLE, _TOGETHER = 24, (2, 4, 8)
# Halvings of the share of the donors that join.
_HALVINGS = 12
# How near to its limit a posterior may come, of all together; parts differ a little. Last, all who
# can join do.
_CLOSE = (0.93, 0.97, 0.0)


class _Cells:
    """People by profile and value, along the curve; some are taken, evenly spread."""

    def __init__(self, problem: ArtProblem, people: IntArray) -> None:
        keys = problem.keys[people]
        order = np.lexsort((problem.curve[people], keys))
        self._people, keys = people[order], keys[order]
        self._n_values = problem.n_values
        self._starts = np.searchsorted(keys, np.arange(problem.table.size + 1))
        self._left: dict[int, IntArray] = {}

    def take(self, pair: Pair, n_people: int) -> IntArray:
        key = pair[0] * self._n_values + pair[1]
        members = self._left.get(key, self._people[self._starts[key] : self._starts[key + 1]])
        picks = (np.arange(n_people) * len(members)) // n_people
        self._left[key] = np.delete(members, picks)
        return members[picks]
