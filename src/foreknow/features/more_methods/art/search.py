"""ART's search, on arrays: mixed groups, groups of one profile, repair, and the last judgement."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from foreknow.data.arrays import IntArray, ranges
from foreknow.errors import InternalError, NoSafeRelease
from foreknow.features.more_methods.art.exact_check import safe_bags, safe_groups, safe_lists
from foreknow.features.more_methods.art.groups import LARGEST, like_parts, uniform_groups
from foreknow.features.more_methods.art.infeasibility import (
    WHAT_TO_DO,
    ArtNames,
    asked,
    first_of,
    impossible,
    in_the_way,
)
from foreknow.features.more_methods.art.mixer import Mixer, Way
from foreknow.features.more_methods.art.problem import ArtProblem
from foreknow.randomness import generator

_log = logging.getLogger(__name__)

# People whose groupings are all gone through: 2**12 sets are judged.
EVERY = 12
# So great a share of people may be left over for a pool without a further attempt.
_SCARCE = 0.0005
# So many people, or one in 200, may join groups that are there already; of these so many near ones,
# the nearest first.
_FEW, _LOOKED, _NEAREST = 100, 400, 32
# What mixed groups spare of their own profile in each further attempt.
_THRIFT = 0.0, 0.4, 0.8
# Profiles that are asked, and multiples of people, in larger mixed groups.
_FAR_NEIGHBOURS, _FAR_TIMES = 64, 9


def robust_groups(
    problem: ArtProblem, seed: int | None = None, names: ArtNames | None = None
) -> IntArray:
    """Group everybody so that every posterior keeps its limit, for each attribute set.

    Returned is the group of each person. `names` has words for messages. Raises `NoSafeRelease` if
    no grouping is found.

    >>> from foreknow.adversaries.priors.signature_groups import matrix
    >>> priors = matrix([[0.5, 0.5], [0.4, 0.6]])
    >>> problem = ArtProblem.of_signatures([[0, 1, 0, 1]], [priors], [0, 0, 1, 1], r=2)
    >>> robust_groups(problem)
    array([0, 1, 0, 1])
    """
    names = names or ArtNames()
    why = impossible(problem, names)
    if why:
        raise NoSafeRelease(
            f"no grouping {asked(problem)}: {first_of(why)}. To publish, {WHAT_TO_DO}"
        )
    if problem.n_people <= EVERY:
        # So few people have few groupings: try all, so that a refusal is a proof.
        grouping = best_grouping(problem, np.arange(problem.n_people))
        if grouping is None:
            raise NoSafeRelease(
                f"no grouping {asked(problem)}: an exhaustive search of the groupings of "
                f"{problem.n_people} people found none. To publish, {WHAT_TO_DO}"
            )
        return _checked(problem, grouping)
    groups, ungrouped = _attempt(problem, generator(seed, "ART"))
    complete = _with_ungrouped(problem, groups, ungrouped) if len(ungrouped) else groups
    if complete is not None:
        return _checked(problem, complete)
    raise NoSafeRelease(
        f"no grouping that {asked(problem)} was found, which does not prove that there is none; "
        f"{len(ungrouped)} of {problem.n_people} people are left: "
        f"{first_of(in_the_way(problem, names, ungrouped))}. Try another seed, or {WHAT_TO_DO}"
    )


def _checked(problem: ArtProblem, groups: list[IntArray]) -> IntArray:
    """The group of each person, after all groups are judged again.

    Groups are numbered by their first person. Raises an error if a group breaks a limit, or if
    somebody is in no group.
    """
    people = np.concatenate(groups)
    order = np.argsort([int(group.min()) for group in groups], kind="stable")
    number = np.empty(len(groups), dtype=np.int64)
    number[order] = np.arange(len(groups))
    group_of = np.full(problem.n_people, -1, dtype=np.int64)
    group_of[people] = np.repeat(number, [len(group) for group in groups])
    if len(people) != problem.n_people or group_of.min() < 0:
        raise InternalError("ART did not group everybody once")
    if not safe_groups(problem, group_of, problem.profiles, problem.values, len(groups)).all():
        # With facts on top the search aims at limits that are only likely enough: it can fail.
        if problem.with_facts:
            raise NoSafeRelease(
                "people of one kind have too few values that are left where some are ruled out "
                f"and some people known. To publish, {WHAT_TO_DO}"
            )
        raise InternalError("ART made a group that breaks a limit")
    return group_of


def _unite_unsafe(problem: ArtProblem, groups: list[IntArray]) -> list[IntArray]:
    """The groups, those of one profile united that break a limit by themselves.

    A group may keep the limits on its shares, and still break one if values without a limit are
    ruled out. To unite groups of one profile never makes anybody surer.
    """
    safe = safe_lists(problem, groups).tolist()
    safe_by_profile: dict[int, list[IntArray]] = {}
    unsafe_by_profile: dict[int, list[IntArray]] = {}
    # Sort the groups of each profile into two lists.
    for group, is_safe in zip(groups, safe, strict=True):
        profile = int(problem.profiles[group[0]])
        safe_by_profile.setdefault(profile, [])
        unsafe_by_profile.setdefault(profile, [])
        (safe_by_profile if is_safe else unsafe_by_profile)[profile].append(group)
    united: list[IntArray] = []
    for profile, staying in safe_by_profile.items():
        to_unite = unsafe_by_profile[profile]
        # Safe groups join until the united one is safe, or none are left.
        while to_unite and staying and not safe_lists(problem, [np.concatenate(to_unite)])[0]:
            to_unite.append(staying.pop())
        united += staying
        if to_unite:
            united.append(np.concatenate(to_unite))
    return united


def _attempt(problem: ArtProblem, random: np.random.Generator) -> tuple[list[IntArray], IntArray]:
    """Try to group everybody: the members of each group, and the people who are left over.

    An attempt with a higher thrift (0 to 1) puts fewer people of one profile into a group, so that
    more groups get some of them. Of all attempts, the one counts that leaves the fewest people
    over; a further one is made only if too many are left over.
    """
    begun: Begun = {}  # what all attempts share
    best_groups, fewest_left = _first_groups(problem, random, begun)
    hard: set[int] = set()  # profiles of people who were left over in some attempt
    # If values must differ in each group, hard profiles change nothing, so a further attempt with
    # thrift 0 would be the first one again.
    for thrift in _THRIFT[1:] if problem.unique else _THRIFT:
        if len(fewest_left) <= _SCARCE * problem.n_people:
            break
        hard |= set(problem.profiles[fewest_left].tolist())
        profiles = None if problem.unique else tuple(sorted(hard))
        groups, left_over = _first_groups(problem, random, begun, thrift, profiles)
        if len(left_over) < len(fewest_left):
            best_groups, fewest_left = groups, left_over
    return best_groups, fewest_left


# By hard profiles: large groups of theirs, and what is left to mix then.
Begun: TypeAlias = dict[tuple[int, ...] | None, tuple[list[IntArray], Mixer]]


def _first_groups(
    problem: ArtProblem,
    random: np.random.Generator,
    begun: Begun,
    thrift: float = 0.0,
    hard: tuple[int, ...] | None = None,
) -> tuple[list[IntArray], IntArray]:
    """Group people in mixed groups, then the others of each profile by itself.

    `hard` are profiles that get large groups, where small ones were not enough; None for no large
    groups. `begun` keeps the large groups of earlier attempts. Returned are the members of each
    group, and the people who are left over.
    """
    # Small groups of different values are as many as can be, where one limit holds for all.
    is_unit_share = problem.share is not None and (1 / problem.share[0]).denominator == 1
    different = problem.share is not None and (hard is None or is_unit_share)
    goal = replace(problem, unique=True) if different else problem
    # Large groups depend on `hard` only, so they are kept for attempts with another thrift.
    if hard not in begun:
        mixer = Mixer(problem, goal)
        large = [] if hard is None or problem.one_profile else mixer.large_groups(hard)
        begun[hard] = large, mixer
    large, mixer = begun[hard]
    groups, mixer = large.copy(), mixer.again()
    if not problem.one_profile:
        groups += mixer.small_groups(Way(goal, thrift))
        if not problem.unique and mixer.n_in_the_way() <= max(_FEW, problem.n_people // 20):
            # The rest in larger ones, of people from farther away, with repeated values.
            groups += mixer.small_groups(
                Way(problem, thrift=1.0, neighbours=_FAR_NEIGHBOURS, times=_FAR_TIMES)
            )
        mixer.goal = goal
        groups += [] if hard is None else mixer.large_groups()
    # Profiles in which some value is still too frequent: of these, group as many as possible.
    is_in_excess = mixer.all_excess() > 0
    groupable = mixer.free & ~is_in_excess[problem.profiles]
    for profile in np.flatnonzero(is_in_excess).tolist():
        members = np.flatnonzero(mixer.free & (problem.profiles == profile))
        allowed_members = members[problem.allowed[profile][problem.values[members]]]
        groupable[_most_groupable(goal, allowed_members)] = True
    uniform = uniform_groups(goal, np.flatnonzero(groupable), random)
    if problem.with_facts:
        uniform = _unite_unsafe(problem, uniform)
    _log.info("%d mixed groups, %d of one profile", len(groups), len(uniform))
    groups += uniform
    ungrouped = np.flatnonzero(mixer.free & ~groupable)
    # A few who are left may join groups that are there already.
    if len(ungrouped) <= max(_FEW, problem.n_people // 200):
        ungrouped = _let_join(problem, groups, ungrouped)
    return groups, ungrouped


def _most_groupable(problem: ArtProblem, people: IntArray) -> IntArray:
    """As many of `people`, who are of one profile, as can be grouped by themselves."""
    values = problem.values[people]
    counts = np.bincount(values, minlength=problem.n_values)
    kept_counts, size = counts, len(people) + 1
    # How often a value may occur depends on how many are kept: fewer, until nothing changes.
    while size > kept_counts.sum() > 0:
        size = int(kept_counts.sum())
        most = problem.most(int(problem.profiles[people[0]]), np.array(size))
        kept_counts = np.minimum(counts, most)
    # The first holders of each value are kept.
    order = np.argsort(values, kind="stable")
    starts = np.cumsum(counts) - counts
    kept_places, _ = ranges(starts, starts + kept_counts)
    return people[order[kept_places]]


# ---- all groupings of a few -----------------------------------------------------------------


def best_grouping(problem: ArtProblem, people: IntArray) -> list[IntArray] | None:
    """The safe grouping of up to `EVERY` people with the smallest ranges; None if none is safe.

    All sets of people that are safe as a group are tried, and combined from the first person on.
    """
    n = len(people)
    # A set of people is a whole number, in which bit i says whether person i is in it.
    member = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1  # (sets, people)
    may_be_safe = member.sum(axis=1) >= problem.least
    if problem.unique:
        for value in np.unique(problem.values[people]):
            may_be_safe &= member[:, problem.values[people] == value].sum(axis=1) <= 1
    sets = np.flatnonzero(may_be_safe)
    sets = sets[safe_lists(problem, [people[member[subset]] for subset in sets.tolist()])]
    # Among the safe sets, narrow ones are preferred.
    loss = {subset: _loss(problem.places[people[member[subset]]]) for subset in sets.tolist()}
    by_first_person: list[list[int]] = [[] for _ in range(n)]
    for subset in loss:
        # By the first person in the set: each grouping is then built in one order only.
        lowest_bit = subset & -subset
        by_first_person[lowest_bit.bit_length() - 1].append(subset)
    # The cheapest way to reach each set of grouped people, from nobody on.
    best = {0: _PartialGrouping(0.0, 0, 0)}
    for person in range(n):
        bit = 1 << person
        # Those before this person are all grouped, and this person is not: a group that begins with
        # them comes next.
        everyone_before = bit - 1
        begun = [
            grouped
            for grouped in best
            if not grouped & bit and grouped & everyone_before == everyone_before
        ]
        for grouped in begun:
            for subset in by_first_person[person]:
                if subset & grouped:
                    continue
                cost = best[grouped].cost + loss[subset]
                extended = grouped | subset
                if extended not in best or cost < best[extended].cost:
                    best[extended] = _PartialGrouping(cost, subset, grouped)
    grouped = (1 << n) - 1  # everybody
    if grouped not in best:
        return None
    # Back from everybody to nobody, group by group.
    groups: list[IntArray] = []
    while grouped:
        groups.append(people[member[best[grouped].last_group]])
        grouped = best[grouped].before
    return groups


class _PartialGrouping(NamedTuple):
    """The best way to group a set of people; sets are whole numbers, with a bit for each person."""

    cost: float
    last_group: int
    before: int  # who was grouped before that group was added


def _loss(positions: np.ndarray) -> float:
    """How wide a group is, over all columns, times its people; its size squared without columns."""
    if not positions.shape[1]:
        return float(len(positions)) ** 2
    return float((positions.max(axis=0) - positions.min(axis=0)).sum()) * len(positions)


def _let_join(problem: ArtProblem, groups: list[IntArray], people: IntArray) -> IntArray:
    """Let each of `people` join a near group that stays safe; return those who cannot.

    The list `groups` is changed in place. The nearest groups are tried first, and then those that
    are a little farther away.
    """
    first_members = np.array([group[0] for group in groups], dtype=np.int64)
    # Groups as bags of keys: a key is a profile and a value, as one number.
    keys = [problem.keys[group].tolist() for group in groups] if len(people) else []
    staying = []
    for person in people.tolist():
        # How unlike a group's first member is, in priors and in quasi-identifiers.
        by_profile = problem.distances(int(problem.profiles[person]))
        distance = by_profile[problem.profiles[first_members]]
        if problem.places.shape[1]:
            places = problem.places[first_members]
            distance += np.abs(places - problem.places[person]).mean(axis=1)
        nearest_groups = np.argsort(distance, kind="stable")[:_LOOKED].tolist()
        key = int(problem.keys[person])
        for candidates in (nearest_groups[:_NEAREST], nearest_groups[_NEAREST:]):
            extended = [tuple(sorted([*keys[group], key])) for group in candidates]
            is_safe = safe_bags(problem, extended)
            if any(is_safe):
                nearest_safe = candidates[is_safe.index(True)]
                groups[nearest_safe] = np.append(groups[nearest_safe], person)
                keys[nearest_safe].append(key)
                break
        else:
            staying.append(person)
    return np.array(staying, dtype=np.int64)


# One group in so many joins those who are left; in the end, everybody.
_ONE_IN = (16, 8, 4, 2, 1)


def _with_ungrouped(
    problem: ArtProblem, groups: list[IntArray], ungrouped: IntArray
) -> list[IntArray] | None:
    """Groups of everybody: most stay, some are dissolved; None if no such groups are safe.

    The people of dissolved groups (a *pool*) and the ungrouped ones are divided anew. As few groups
    as possible are dissolved.
    """
    if problem.unique or problem.one_profile:
        return None
    needed = problem.sizes_of_values
    may_pool = []
    for group in groups:
        # A pool is divided into parts of at most LARGEST people: a value that needs nearly as many
        # would rarely fit.
        may_pool.append(int(needed[problem.values[group]].max()) <= LARGEST // 2)
    rank = np.cumsum(may_pool) - 1  # of each group among those that may be pooled
    n_dissolved = -1
    for one_in in _ONE_IN:
        is_dissolved = np.array(may_pool, dtype=bool) & (rank % one_in == 0)
        if is_dissolved.sum() == n_dissolved:  # the same groups as before
            continue
        n_dissolved = int(is_dissolved.sum())
        pool = [groups[number] for number in np.flatnonzero(is_dissolved).tolist()]
        new_groups = like_parts(problem, np.concatenate([ungrouped, *pool]))
        if new_groups is not None:
            _log.info("%d left are in %d parts of a pool", len(ungrouped), len(new_groups))
            staying = [groups[number] for number in np.flatnonzero(~is_dissolved).tolist()]
            return staying + new_groups
    return None
