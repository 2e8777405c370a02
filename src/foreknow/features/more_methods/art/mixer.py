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
from foreknow.features.more_methods.art.exact_check import safe_bags
from foreknow.features.more_methods.art.groups import FAR, like_parts
from foreknow.features.more_methods.art.guesses import Bags, guess_of_one
from foreknow.features.more_methods.art.problem import ArtProblem

_log = logging.getLogger(__name__)

Pair = tuple[int, int]  # a profile and a value
Recipe = Counter[Pair]

# Targets that are worked on at once; the nearest profiles and the most frequent values of each that
# are looked at.
_TARGETS, _LOOKED, _VALUES = 64, 128, 16
# What distances of profiles, in priors and in place, and an excess weigh against a posterior that
# reaches its limit.
_DISTANCE, _PLACE, _PRESSURE = 0.03, 0.3, 0.02
# An excess that a recipe adds to a profile weighs so many times one that it takes away.
_WORSE = 3
# People of a target's own that a recipe is thought to need at most.
_LARGEST = 30


@dataclass(frozen=True)
class Way:
    """A strategy for recipes."""

    goal: ArtProblem  # the rules of its groups, such as different values in each group
    thrift: float = 0.0  # from 0, as many of the target's profile as can be, to 1, no other
    neighbours: int = 16  # so many similar profiles may be asked at each step
    times: int = 3  # people at most: so many times what one profile needs, and four


class Mixer:
    """Finds mixed groups until every profile can be grouped by itself, or none is found any more.

    One rule: the profiles that are farthest from that, each with its most frequent value that is in
    the way, are the targets; to one such person are added, one after another, those near people
    whom their own profiles can spare and who make the highest posterior least, until it keeps its
    limit. This recipe is carried out as often as it helps; if there is none, one with fewer people
    of the target's profile is looked for.
    """

    def __init__(self, problem: ArtProblem, goal: ArtProblem) -> None:
        """Begin with nobody grouped; `goal` is the problem with the rules of the groups to make."""
        self.problem, self.goal = problem, goal
        # (profiles, values): how many people have no group yet; (people,): who these are.
        self.table = problem.table.copy()
        self.free = np.ones(problem.n_people, dtype=bool)
        # Values that no group of the profile alone may hold, however large it is.
        self._odd = ~problem.allowed | (problem.sizes == 0)
        self._with_odd = bool(self._odd.any())
        # Who leaves, by value; in the last row, nobody.
        self._leavers = np.eye(problem.n_values + 1, problem.n_values, dtype=np.int64)
        # One person with such a value weighs more than any excess of others.
        largest = int(problem.sizes[problem.table > 0].max(initial=1))
        self._weight = float(largest * problem.n_people + 1)
        self._near: dict[int, tuple[IntArray, FloatArray]] = {}

    def again(self) -> Mixer:
        """A copy of the current state, to continue in another way."""
        mixer = copy(self)
        mixer.table, mixer.free = self.table.copy(), self.free.copy()
        return mixer

    def excess(self, rows: IntArray, profiles: IntArray) -> FloatArray:
        """How far each profile is from being grouped by itself: 0 if and only if it can be.

        `rows`, of shape (..., values), counts the people of each of `profiles`. The excess is the
        number of people whom it lacks, and much more for each one with a value that it may never
        hold.
        """
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
        # First plan on counts only: each recipe, and how often. Then choose the people.
        recipes: list[tuple[Recipe, int]] = []
        failed: set[Pair] = set()
        while targets := self._targets(failed):
            grown = _Growth(self, targets, way).recipes()
            # A target without a recipe is not tried again.
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
        for recipe, times in recipes:
            # (groups, people): each row is a group.
            # Of each pair, `count` people for each of the `times` groups.
            members = [
                cells.take(pair, count * times).reshape(times, count)
                for pair, count in recipe.items()
            ]
            groups += list(np.concatenate(members, axis=1))
        if groups:
            self.free[np.concatenate(groups)] = False
        return groups

    def _targets(self, failed: set[Pair]) -> list[Pair]:
        """The pairs of a profile and a value that recipes should use up first, at most `_TARGETS`.

        One for each profile that cannot be grouped by itself, the farthest from it for its size
        first: its worst value for which no recipe failed yet.
        """
        excess = self.all_excess()
        order = np.argsort(-excess / np.maximum(self.table.sum(axis=1), 1), kind="stable")
        in_excess = order[excess[order] > 0]
        rows = self.table[in_excess]
        # A value is in the way if the profile alone may never hold it, or not so often.
        is_disallowed = self._odd[in_excess] & (rows > 0)
        in_the_way = is_disallowed | (self.goal.deficit(rows, in_excess) > 0)
        targets: list[Pair] = []
        for row, profile in enumerate(in_excess.tolist()):
            # The worst are those that are not allowed at all, and then the most frequent.
            for value in np.lexsort((-rows[row], ~is_disallowed[row])).tolist():
                if in_the_way[row, value] and (profile, value) not in failed:
                    targets.append((profile, value))
                    break
        return targets[:_TARGETS]

    def times(self, recipe: Recipe) -> int:
        """The best number of times to carry out a recipe, 0 if it does not help.

        The harm is convex in that number, so the best number is where it stops to fall.
        """
        profiles = sorted({profile for profile, _ in recipe})
        row_of = {profile: row for row, profile in enumerate(profiles)}
        rows = self.table[profiles]
        needed = np.zeros_like(rows)  # people whom the recipe takes each time
        for (profile, value), count in recipe.items():
            needed[row_of[profile], value] = count
        before = self.excess(rows, np.array(profiles))

        def harm(times: IntArray) -> FloatArray:
            """How much worse the profiles are after so many times; below 0 if they are better."""
            after = self.excess(rows - times[:, None, None] * needed, np.array(profiles))
            change = after - before
            # What gets worse counts more than what gets better.
            total: FloatArray = np.maximum(change, _WORSE * change).sum(axis=1)
            return total

        # The scarcest people whom the recipe takes bound the number.
        low, high = 0, min(int(self.table[pair]) // count for pair, count in recipe.items())
        while low < high:
            middle = (low + high) // 2
            at_middle, at_next = harm(np.array([middle, middle + 1])).tolist()
            low, high = (middle + 1, high) if at_next < at_middle else (low, middle)
        return low

    def changes(self, rows: IntArray, profiles: IntArray, values: IntArray) -> FloatArray:
        """The change of each row's excess if a person with each of the values leaves.

        Row i counts the people of ``profiles[i]`` by value. `values` and the result have the shape
        (rows, values that are asked about).
        """
        nobody = np.full((len(values), 1), self.problem.n_values)
        # (rows, 1 + values asked, values): first as it is now, then without each person.
        leavers = self._leavers[np.concatenate([nobody, values], axis=1)]
        excess = self.excess(rows[:, None] - leavers, profiles[:, None])
        change: FloatArray = excess[:, 1:] - excess[:, :1]
        return change

    def neighbours(self, profile: int) -> tuple[IntArray, FloatArray]:
        """All profiles, this one first and then the nearest; and how far each is, by profile."""
        if profile not in self._near:
            distance = self.problem.distances(profile)
            distance[profile] = 0.0
            order = np.lexsort((np.arange(len(distance)) != profile, distance))
            # Bound the memory of this cache.
            if len(self._near) > 2000:
                self._near.clear()
            self._near[profile] = (order, distance)
        return self._near[profile]

    # ---- large groups

    def large_groups(self, hard: Iterable[int] | None = None) -> list[IntArray]:
        """Group profiles that cannot be grouped by themselves with many people of other ones.

        `hard` has the profiles to try; None for all. Returned are the members of each group.
        """
        groups: list[IntArray] = []
        excess = self.all_excess()
        profiles = range(self.problem.n_profiles) if hard is None else hard
        for profile in sorted(profiles, key=lambda profile: -excess[profile]):
            # First leave posteriors some room below their limits, so that parts are safe, too; then
            # less.
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
        """Divide a profile and people who join it into as many like, safe parts as possible.

        People join so that posteriors are at most `close` times their limits (0: at most their
        limits). No parts if they cannot, or if no division is safe.
        """
        counts = self.table[profile]
        is_too_frequent = self.goal.deficit(counts[None], np.array([profile]))[0] > 0
        in_the_way = is_too_frequent | (self._odd[profile] & (counts > 0))  # (values,)
        joining = self._joining(profile, in_the_way, close)
        if joining is None:
            return []
        # The whole profile, and the people of others who join, as numbers; then as people.
        joining[profile] = counts
        cells = _Cells(self.problem, np.flatnonzero(self.free))
        people = []
        for profile_of_cell, value in np.argwhere(joining).tolist():
            n_people = int(joining[profile_of_cell, value])
            people.append(cells.take((profile_of_cell, value), n_people))
        return like_parts(self.problem, np.concatenate(people)) or []

    def _joining(
        self, profile: int, in_the_way: NDArray[np.bool_], close: float
    ) -> IntArray | None:
        """How many people of other profiles to add to one, shape (profiles, values).

        With them, posteriors are at most `close` times their limits; `close` 0 adds all who can
        join, and posteriors need only keep the limits. None if that is out of reach. No one joins
        with a value that is `in_the_way` of the profile.
        """
        excess = self.all_excess()
        spare_people: dict[int, IntArray] = {}  # by profile, nearest first
        for donor in self.neighbours(profile)[0].tolist():
            if excess[donor] <= 0 and donor != profile:
                spare_people[donor] = self._slack(donor, in_the_way)
        # Try each near profile alone, then the nearest few together.
        donors = [donor for donor, slack in spare_people.items() if slack.any()]
        one_by_one = [[donor] for donor in donors[:_SINGLE]]
        together = [donors[:n_donors] for n_donors in _TOGETHER]
        for chosen in one_by_one + together:

            def blend(share: float, chosen: list[int] = chosen) -> IntArray:
                """That share of the people whom the chosen profiles can spare."""
                joining = np.zeros_like(self.table)
                for donor in chosen:
                    joining[donor] = np.floor(share * spare_people[donor])
                return joining

            def highest(table: IntArray) -> float:
                """The highest posterior / limit if these people join the whole profile."""
                table[profile] = self.table[profile]
                return guess_of_one(self.problem, table)

            if not chosen or highest(blend(1.0)) > (close or 1.0):
                continue
            # The smallest share of those who can join that is enough, nearly.
            low, high = 0.0, 1.0
            for _ in range(_HALVINGS if close else 0):
                middle = (low + high) / 2
                low, high = (low, middle) if highest(blend(middle)) <= close else (middle, high)
            return blend(high)
        return None

    def _slack(self, profile: int, in_the_way: NDArray[np.bool_]) -> IntArray:
        """The most people of a profile, by value, who can leave it and keep it groupable.

        Nobody leaves with a value that is `in_the_way` of the profile that they would join. The
        same share of each other value leaves.
        """
        rows = self.table[profile]
        spare_people = np.where(in_the_way, 0, rows)
        low, high = 0.0, 1.0
        # Halve towards the largest share of these people that the profile can lose.
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            after = rows - np.floor(middle * spare_people).astype(np.int64)
            can_spare = not self.goal.deficit(after[None], np.array([profile])).any()
            low, high = (middle, high) if can_spare else (low, middle)
        slack: IntArray = np.floor(low * spare_people).astype(np.int64)
        return slack


class _Growth:
    """Recipes of several targets, grown in parallel: a bag of people for each target.

    A target is a (profile, value) that is in the way; its profile is its *home*. People join its
    bag from its home or from one of the nearest profiles. These are its *slots*: home is slot 0. In
    each slot only the most frequent values are looked at, its *candidates*.

    Arrays have the shape (targets, slots) or (targets, slots, candidates).
    """

    def __init__(self, mixer: Mixer, targets: Sequence[Pair], way: Way) -> None:
        """Prepare a bag of one person for each target."""
        problem = mixer.problem
        self._mixer, self._targets, self._way = mixer, targets, way
        # The most frequent values of each profile, and how its excess changes if one with them
        # leaves.
        frequent = np.argsort(-mixer.table, axis=1, kind="stable")[:, :_VALUES]
        changes = mixer.changes(mixer.table, np.arange(len(frequent)), frequent)
        counts = np.take_along_axis(mixer.table, frequent, axis=1)  # (profiles, candidates)
        # Somebody can leave the profile, and it is no farther from being grouped by itself.
        can_spare = np.where(counts > 0, changes, np.inf).min(axis=1) <= 0
        self._fill_slots(can_spare)
        self._values = frequent[self._profiles]
        # How many people a group needs for one who has the target's value.
        self._needed = np.array(
            [min(int(problem.sizes[target]) or problem.least, _LARGEST) for target in targets]
        )
        self._weight = _PRESSURE * self._needed / problem.least  # of a change of the excess
        # What changes as people leave their profiles for the bag of a target; see `_state`.
        self._rows = mixer.table[self._profiles]
        all_targets = np.arange(len(targets))[:, None]
        all_slots = np.arange(self._profiles.shape[1])
        self._can_join, self._pressure = self._spared(
            all_targets, all_slots, changes[self._profiles], counts[self._profiles]
        )
        self._state_at_start = tuple(array.copy() for array in self._state)
        # How many people of home there may be in the bag: what is tried next comes last.
        self._shares = [_shares(needed, way.thrift) for needed in self._needed.tolist()]
        self._most_of_home = np.array([shares.pop() for shares in self._shares])
        self._members: list[list[Pair]] = [[] for _ in targets]
        self._largest = way.times * self._needed + 4
        if way.goal.unique:
            self._largest = np.minimum(self._largest, problem.n_values)
        self._bags = Bags(problem, len(targets), int(self._largest.max()))
        self._n_of_home = np.zeros(len(targets), dtype=np.int64)  # in the bag
        self._held = np.zeros((len(targets), problem.n_values), dtype=bool)  # values in the bag
        self._restart(np.arange(len(targets)))

    def _fill_slots(self, can_spare: NDArray[np.bool_]) -> None:
        """Give each target its home and then the nearest profiles that can spare somebody.

        Slots that remain empty have the profile -1.
        """
        problem = self._mixer.problem
        n_slots = min(problem.n_profiles, _LOOKED)
        self._profiles = np.full((len(self._targets), n_slots), -1)
        self._distance_cost = np.zeros(self._profiles.shape)
        for target, (home, _) in enumerate(self._targets):
            nearest, distance = self._mixer.neighbours(home)  # home itself comes first
            # Home fills slot 0 though it may spare nobody by this rule: its people are the problem.
            sparing = nearest[1:][can_spare[nearest[1:]]]
            profiles = np.append(home, sparing)[:n_slots]
            self._profiles[target, : len(profiles)] = profiles
            self._distance_cost[target, : len(profiles)] = (
                _DISTANCE * distance[profiles] + _PLACE * problem.place_distances(home)[profiles]
            )

    @property
    def _state(self) -> tuple[NDArray[Any], ...]:
        """Arrays that change as people leave their profiles for a bag, by target and slot.

        They are the people of each slot by value, whether a candidate can join, and what that adds
        to the cost.
        """
        return self._rows, self._can_join, self._pressure

    def recipes(self) -> list[Recipe | None]:
        """For each target a safe group that holds it and helps; None where none is found."""
        problem = self._mixer.problem
        # Posteriors are guessed too low under `joint`; of values that are repeated, too high under
        # `binary`.
        hopeful = (
            1.0 if all(prior_table.reading == "joint" for prior_table in problem.known) else FAR
        )
        recipes: list[Recipe | None] = [None] * len(self._targets)
        growing = np.arange(len(self._targets))  # targets that have no recipe yet
        while len(growing):
            # Each bag takes the person that costs least, if anybody can join.
            worst_of_best, best, can_grow = self._best_options(growing)
            slots, candidates = np.divmod(best[can_grow], self._values.shape[2])
            self._add(growing[can_grow], slots, candidates)
            sizes = np.array([len(self._members[target]) for target in growing.tolist()])
            is_full = sizes >= self._largest[growing]
            # Guesses say which bags may be safe; exact posteriors decide.
            likely = np.flatnonzero(can_grow & (worst_of_best < hopeful) & (sizes >= problem.least))
            safe = safe_bags(problem, list(map(self._keys_of_bag, growing[likely].tolist())))
            is_done = np.zeros(len(growing), dtype=bool)
            for number, is_safe in zip(likely.tolist(), safe, strict=True):
                target = growing[number]
                recipe = Counter(sorted(self._members[target]))
                if is_safe and self._mixer.times(recipe):
                    recipes[target], is_done[number] = recipe, True
                elif is_safe:
                    can_grow[number] = False  # a safe group that does not help: begin again
            # A bag that is full or cannot grow: begin again with fewer people of home, or give up.
            for number in np.flatnonzero(~is_done & (~can_grow | is_full)).tolist():
                target = growing[number]
                if self._shares[target]:
                    self._most_of_home[target] = self._shares[target].pop()
                    self._restart(growing[[number]])
                else:
                    is_done[number] = True
            growing = growing[~is_done]
        return recipes

    def _keys_of_bag(self, target: int) -> tuple[int, ...]:
        """The profile and the value of each person in a bag, as one number each, ascending."""
        n_values = self._mixer.problem.n_values
        return tuple(sorted(profile * n_values + value for profile, value in self._members[target]))

    def _restart(self, targets: IntArray) -> None:
        """Reset the bags of some targets to one person, who is of the target itself."""
        for target in targets.tolist():
            self._members[target] = [self._targets[target]]
        target_profiles, target_values = np.array(self._targets)[targets].T
        self._bags.restart(targets, target_profiles, target_values)
        self._n_of_home[targets] = 1
        self._held[targets] = False
        self._held[targets, target_values] = True
        # Undo all leaving for these targets; then the first person leaves home.
        for array, at_start in zip(self._state, self._state_at_start, strict=True):
            array[targets] = at_start[targets]
        home_slots = np.zeros(len(targets), dtype=np.int64)
        self._leave(targets, home_slots, target_values)

    def _add(self, targets: IntArray, slots: IntArray, candidates: IntArray) -> None:
        """Add a person to the bag of each of some targets.

        Person i comes from a slot of target i, a profile near the target's, and has a candidate
        value of that slot: one of its most frequent.
        """
        values, profiles = self._values[targets, slots, candidates], self._profiles[targets, slots]
        pairs = zip(profiles.tolist(), values.tolist(), strict=True)
        for target, pair in zip(targets.tolist(), pairs, strict=True):
            self._members[target].append(pair)
        self._bags.add(targets, profiles, values)
        self._n_of_home[targets] += slots == 0
        self._held[targets, values] = True
        self._leave(targets, slots, values)

    def _leave(self, targets: IntArray, slots: IntArray, values: IntArray) -> None:
        """Remove people who were added to bags from those of their slots, and update the state."""
        self._rows[targets, slots, values] -= 1
        cells = targets, slots
        rows, profiles, candidates = self._rows[cells], self._profiles[cells], self._values[cells]
        changes = self._mixer.changes(rows, profiles, candidates)
        counts = rows[np.arange(len(rows))[:, None], candidates]
        self._can_join[cells], self._pressure[cells] = self._spared(*cells, changes, counts)

    def _spared(
        self, targets: IntArray, slots: IntArray, changes: FloatArray, counts: IntArray
    ) -> tuple[NDArray[np.bool_], FloatArray]:
        """For each candidate of some slots: whether one can join, and what that adds to the cost.

        A slot is a profile from which people may join a target's bag; slot 0 is the target's home.
        Candidates are its most frequent values: so many people as `counts` says have each, and
        `changes` is how the excess changes if one leaves. `targets` and `slots` are indices of one
        shape; the other arrays and both results have a last axis more, of candidates. Home gives
        anybody, since it is to lose people; another profile only those whose leaving does not take
        it farther from being grouped by itself.
        """
        is_slot = self._profiles[targets, slots][..., None] >= 0  # a slot may be empty
        is_home = (slots == 0)[..., None]
        can_join = is_slot & (counts > 0) & (is_home | (changes <= 0))
        # The change of the excess, in people; limited, so that it does not outweigh posteriors.
        # It weighs more for targets that need larger groups.
        smallest_size = self._mixer.problem.least
        limited = np.minimum(np.maximum(changes, -smallest_size), smallest_size)
        return can_join, self._weight[targets][..., None] * limited

    def _best_options(self, targets: IntArray) -> tuple[FloatArray, IntArray, NDArray[np.bool_]]:
        """The option that costs least for each target: its worst posterior, and its number.

        An option is a slot (a near profile) and a candidate (one of its most frequent values), as
        one number. The third result is False where nobody can join.
        """
        options = self._can_join[targets]  # (targets, slots, candidates)
        # Home gives no more people than this attempt allows.
        options[:, 0] &= (self._n_of_home < self._most_of_home)[targets, None]
        if self._way.goal.unique:
            options &= ~self._held[targets[:, None, None], self._values[targets]]
        # Only the nearest profiles that have somebody who can join.
        has_option = options.any(axis=2)
        options &= (has_option.cumsum(axis=1) <= self._way.neighbours)[:, :, None]
        place = np.flatnonzero(options)
        n_options = options[0].size
        row, number = np.divmod(place, n_options)
        worst_posterior, cost = (np.full((len(targets), n_options), np.inf) for _ in range(2))
        if len(row):
            # Where these options stand in the arrays of all targets.
            cell = targets[row] * n_options + number
            slot_cell = cell // self._values.shape[2]
            # The cost: the worst posterior, the distance of the profile, and what it loses.
            guesses = self._bags.guess_of_more(
                targets, row, self._profiles.take(slot_cell), self._values.take(cell)
            )
            worst_posterior.ravel()[place] = guesses
            guesses += self._distance_cost.take(slot_cell)
            guesses += self._pressure.take(cell)
            cost.ravel()[place] = guesses
        best, every_row = cost.argmin(axis=1), np.arange(len(targets))
        return worst_posterior[every_row, best], best, np.isfinite(cost[every_row, best])


def _shares(needed: int, thrift: float) -> list[int]:
    """How many people of its home a recipe may have; the first number to try comes last.

    Thrift 0 begins with one fewer than are needed, thrift 1 with a single one.

    >>> _shares(5, thrift=0), _shares(5, thrift=1)
    ([1, 2, 3, 4], [4, 3, 2, 1])
    """
    largest = max(needed - 1, 1)
    first = largest - thrift * (largest - 1)
    return sorted(range(1, largest + 1), key=lambda share: (-abs(share - first), share))


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
        """Sort `people` by key (a profile and a value), and along the curve within."""
        keys = problem.keys[people]
        order = np.lexsort((problem.curve[people], keys))
        self._people, keys = people[order], keys[order]
        self._n_values = problem.n_values
        self._starts = np.searchsorted(keys, np.arange(problem.table.size + 1))
        self._left: dict[int, IntArray] = {}  # by key, where some were taken

    def take(self, pair: Pair, n_people: int) -> IntArray:
        """Take so many people of one profile and value, evenly along the curve; nobody twice."""
        profile, value = pair
        key = profile * self._n_values + value
        members = self._left.get(key, self._people[self._starts[key] : self._starts[key + 1]])
        # Positions at equal distances along the curve.
        picks = (np.arange(n_people) * len(members)) // n_people
        self._left[key] = np.delete(members, picks)
        return members[picks]
