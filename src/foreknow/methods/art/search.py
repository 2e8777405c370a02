"""ART's search, on arrays: mixed groups, groups of one profile, repair, and the last judgement."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from foreknow.data.sparse import IntArray, ranges
from foreknow.errors import InternalError, NoSafeRelease
from foreknow.methods.art.groups import LARGEST, Mixer, like_parts, uniform_groups
from foreknow.methods.art.infeasibility import ArtNames, asked, impossible, in_the_way
from foreknow.methods.art.judge import guess_of_one, safe_groups, safe_lists
from foreknow.methods.art.problem import ArtProblem

_log = logging.getLogger(__name__)

# People whose groupings are all gone through: 2**12 sets are judged.
EVERY = 12
# Tables of at most so many people are tried again, with other ties.
_AGAIN, _TIMES = 400, 3
# Targets in a row without a small mixed group before it gives up; where there may be large ones,
# and where limits differ.
_PATIENT, _BRIEF, _FEW = 40, 12, 6
# If no greater share is left, repair is tried at once; and at all for so many, or such a share.
_SCARCE, _HOPEFUL = 0.0005, (100, 0.005)


def robust_groups(
    problem: ArtProblem, seed: int | None = None, names: ArtNames | None = None
) -> IntArray:
    """Group everybody so that every posterior keeps its limit, for each attribute set.

    >>> from foreknow.adversaries.priors.signature_groups import matrix
    >>> priors = matrix([[0.5, 0.5], [0.4, 0.6]])
    >>> problem = ArtProblem.of_signatures([[0, 1, 0, 1]], [priors], [0, 0, 1, 1], r=2)
    >>> robust_groups(problem)
    array([0, 1, 0, 1])
    """
    names = names or ArtNames()
    why = impossible(problem, names)
    if why:
        raise NoSafeRelease(f"no grouping {asked(problem)}: " + "; ".join(why))
    if problem.n_people <= EVERY:
        found = best_grouping(problem, np.arange(problem.n_people))
        if found is None:
            raise NoSafeRelease(
                f"no grouping {asked(problem)}: an exhaustive search of the groupings of "
                f"{problem.n_people} people found none"
            )
        return _checked(problem, found[0])
    random = np.random.default_rng(seed)
    for _ in range(_TIMES if problem.n_people <= _AGAIN else 1):
        groups, left = _attempt(problem, random)
        if not len(left):
            return _checked(problem, groups)
    pooled = _pooled(problem, groups, left)
    if pooled is not None:
        return _checked(problem, pooled)
    raise NoSafeRelease(
        f"no grouping that {asked(problem)} was found, which does not prove that there is none; "
        f"{len(left)} of {problem.n_people} people are left: " + in_the_way(problem, names, left)
    )


def _checked(problem: ArtProblem, groups: list[IntArray]) -> IntArray:
    """Judge everything again, by posteriors; number the groups by their first people."""
    people = np.concatenate(groups)
    order = np.argsort([int(group.min()) for group in groups], kind="stable")
    number = np.empty(len(groups), dtype=np.int64)
    number[order] = np.arange(len(groups))
    found = np.full(problem.n_people, -1, dtype=np.int64)
    found[people] = np.repeat(number, [len(group) for group in groups])
    if len(people) != problem.n_people or found.min() < 0:
        raise InternalError("ART did not group everybody once")
    if not safe_groups(
        problem, found, problem.profiles, problem.values, len(groups), quick=False
    ).all():
        raise InternalError("ART made a group that breaks a limit")
    return found


def _attempt(problem: ArtProblem, random: np.random.Generator) -> tuple[list[IntArray], IntArray]:
    """Groups, and people who are left.

    At first without large groups; where values may be repeated, these are then tried for the
    profiles of whom some were left. Mixed groups hold fewer of their own profile each time.
    """
    best = _first_groups(problem, random)
    hard: set[int] = set()
    for thrift in (0.4, 0.8) if problem.unique else (0.0, 0.4, 0.8):
        if len(best[1]) <= _SCARCE * problem.n_people:
            break
        hard |= set(problem.profiles[best[1]].tolist())
        other = _first_groups(problem, random, thrift, None if problem.unique else sorted(hard))
        best = min(best, other, key=lambda found: len(found[1]))
    repair = _Repair(problem, *best, random)
    if len(best[1]) <= max(_HOPEFUL[0], _HOPEFUL[1] * problem.n_people):
        repair.run()
    return repair.groups, repair.left


def _first_groups(
    problem: ArtProblem,
    random: np.random.Generator,
    thrift: float = 0.0,
    hard: Iterable[int] | None = None,
) -> tuple[list[IntArray], IntArray]:
    """Group whom mixed groups and profiles by themselves can; and who is left.

    Large groups are tried for the hard profiles before small ones, and for all others afterwards.
    """
    # Small groups of different values are as many as can be, where one limit holds for all.
    whole = problem.share is not None and (1 / problem.share[0]).denominator == 1
    different = problem.share is not None and (hard is None or whole)
    wanted = replace(problem, unique=True) if different else problem
    mixer = Mixer(problem, wanted, random, thrift)
    groups: list[IntArray] = []
    if not problem.apart:
        patience = _PATIENT if problem.unique else _BRIEF if wanted.unique else _FEW
        groups += [] if hard is None else mixer.large_groups(hard)
        groups += mixer.small_groups(patience)
        groups += [] if hard is None else mixer.large_groups()
    bad = mixer.all_excess() > 0
    kept = mixer.free & ~bad[problem.profiles]
    for profile in np.flatnonzero(bad).tolist():
        own = np.flatnonzero(mixer.free & (problem.profiles == profile))
        kept[_most_of(wanted, own[problem.allowed[profile][problem.values[own]]])] = True
    alone = uniform_groups(wanted, np.flatnonzero(kept), random)
    _log.info("%d mixed groups, %d of one profile", len(groups), len(alone))
    return groups + alone, np.flatnonzero(mixer.free & ~kept)


def _most_of(problem: ArtProblem, people: IntArray) -> IntArray:
    """Of people of one profile, as many as can be grouped by themselves.

    Who is too many leaves, until nobody is: so many of each value, or all there are.
    """
    values = problem.values[people]
    counts = np.bincount(values, minlength=problem.n_values)
    kept, size = counts, len(people) + 1
    while size > kept.sum() > 0:
        size = int(kept.sum())
        kept = np.minimum(counts, problem.most(int(problem.profiles[people[0]]), np.array(size)))
    starts = np.cumsum(counts) - counts
    inside, _ = ranges(starts, starts + kept)
    return people[np.argsort(values, kind="stable")[inside]]


# ---- all groupings of a few -----------------------------------------------------------------


def best_grouping(
    problem: ArtProblem, people: IntArray, *, partly: bool = False
) -> tuple[list[IntArray], IntArray] | None:
    """Of all groupings of up to `EVERY` people the safe one with the least loss; who is left.

    The loss is the ranges of quasi-identifiers, summed over people. None if not all can be grouped;
    but with `partly` people may stay without a group, as few as can be.
    """
    n = len(people)
    member = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1
    asked_ = member.sum(axis=1) >= problem.least
    if problem.unique:
        for x in np.unique(problem.values[people]):
            asked_ &= member[:, problem.values[people] == x].sum(axis=1) <= 1
    sets = np.flatnonzero(asked_)
    sets = sets[safe_lists(problem, [people[member[some]] for some in sets.tolist()])]
    loss = {some: _loss(problem.places[people[member[some]]]) for some in sets.tolist()}
    by_lowest: list[list[int]] = [[] for _ in range(n)]
    for some in loss:
        by_lowest[(some & -some).bit_length() - 1].append(some)
    # Everybody up to a certain one and perhaps others, in all ways that were reached.
    best: dict[int, tuple[float, int, int]] = {0: (0.0, 0, 0)}  # cost, last group, before
    alone = 1e6
    for i in range(n):
        bit = 1 << i
        for mask in [m for m in best if not m & bit and m & (bit - 1) == bit - 1]:
            cost = best[mask][0]
            for some in by_lowest[i]:
                if not some & mask and cost + loss[some] < best.get(mask | some, (np.inf,))[0]:
                    best[mask | some] = (cost + loss[some], some, mask)
            if partly and cost + alone < best.get(mask | bit, (np.inf,))[0]:
                best[mask | bit] = (cost + alone, 0, mask)
    mask = (1 << n) - 1
    if mask not in best:
        return None
    groups: list[IntArray] = []
    left: list[int] = []
    while mask:
        _, some, before = best[mask]
        if some:
            groups.append(people[member[some]])
        else:
            left += people[member[mask & ~before]].tolist()
        mask = before
    return groups, np.array(left, dtype=np.int64)


def _loss(places: np.ndarray) -> float:
    if not places.shape[1]:
        return float(len(places)) ** 2
    return float((places.max(axis=0) - places.min(axis=0)).sum()) * len(places)


# ---- repair ---------------------------------------------------------------------------------

# People who are grouped afresh at once, and groups that are looked at for someone.
_POOL, _LOOKED = 10, 400
# Attempts without success before it gives up, and in all, for each that is left at first.
_PATIENCE, _EACH = 60, 25
# How often someone joins several groups at once; how many, and of how many near ones.
_OFTEN, _MERGED, _CHOICE = 0.25, 12, 32
# How near to its limit a guess may come, for a group to be judged.
_CLOSE = 1.1


class _Repair:
    """Groups and people without one, who join groups or exchange places with people of a few."""

    def __init__(
        self,
        problem: ArtProblem,
        groups: list[IntArray],
        left: IntArray,
        random: np.random.Generator,
    ) -> None:
        self.problem, self.random = problem, random
        self.groups, self.left = groups, left

    def run(self) -> None:
        """Bring in whom it can; who stays is in `left`."""
        if not len(self.left):
            return
        self._join()
        waited = 0
        attempts = _PATIENCE + _EACH * len(self.left)
        while len(self.left) and waited < _PATIENCE and attempts:
            attempts -= 1
            before = len(self.left)
            if not self.problem.unique and self.random.random() < _OFTEN:
                self._merge()
            else:
                self._exchange()
            waited = 0 if len(self.left) < before else waited + 1
        _log.info("%d people are left", len(self.left))

    def _join(self) -> None:
        """Let people join single groups that stay safe."""
        staying = []
        for one in self.left.tolist():
            near = self._near(one, _LOOKED).tolist()
            good = safe_lists(self.problem, [np.append(self.groups[g], one) for g in near])
            if good.any():
                g = near[int(np.argmax(good))]
                self.groups[g] = np.append(self.groups[g], one)
            else:
                staying.append(one)
        self.left = np.array(staying, dtype=np.int64)

    def _exchange(self) -> None:
        """Group afresh someone who is left and the people of a few groups."""
        one = int(self.random.choice(self.left))
        others = self.left[self.left != one]
        with_ = self.random.permutation(others)[: int(self.random.integers(0, 3))]
        pool = [np.append(with_, one)]
        chosen: list[int] = []
        near = self._near(one, 24)
        if self.random.random() < 0.5:
            near = self.random.permutation(near)
        wanted = int(self.random.integers(1, 4))
        for g in near.tolist():
            if sum(map(len, pool)) + len(self.groups[g]) <= _POOL:
                pool.append(self.groups[g])
                chosen.append(g)
            if len(chosen) == wanted:
                break
        found = best_grouping(self.problem, np.concatenate(pool), partly=True)
        if found is not None and len(found[1]) <= len(pool[0]):
            self._replace(chosen, pool[0], *found)

    def _merge(self) -> None:
        """Let someone join some groups, which become one: each the one of least posteriors."""
        one = int(self.random.choice(self.left))
        near = self._near(one, _CHOICE).tolist()
        merged = np.array([one])
        chosen: list[int] = []
        lowest = np.inf
        for _ in range(min(_MERGED, len(near))):
            wider = [np.append(merged, self.groups[g]) for g in near]
            guesses = [guess_of_one(self.problem, self.problem.counted(own)) for own in wider]
            at = int(np.argmin(guesses))
            if guesses[at] >= lowest or len(wider[at]) > LARGEST:
                return
            lowest, merged = guesses[at], wider[at]
            chosen.append(near.pop(at))
            if lowest < _CLOSE and safe_lists(self.problem, [merged])[0]:
                self._replace(chosen, np.array([one]), [merged], merged[:0])
                return

    def _replace(
        self, chosen: list[int], own: IntArray, groups: list[IntArray], left: IntArray
    ) -> None:
        """Put groups in the place of some, and of people who were left."""
        for g in sorted(chosen, reverse=True):
            self.groups[g] = self.groups[-1]
            self.groups.pop()
        self.groups += groups
        outside = np.isin(self.left, own, invert=True)
        self.left = np.concatenate([self.left[outside], left])

    def _near(self, one: int, most: int) -> IntArray:
        """Some groups with people like one, nearest first."""
        n = len(self.groups)
        if not n:
            return np.zeros(0, dtype=np.int64)
        some = np.arange(n) if n <= 4 * most else self.random.choice(n, 4 * most, replace=False)
        first = np.array([self.groups[g][0] for g in some.tolist()])
        problem = self.problem
        distance = problem.distances(int(problem.profiles[one]))[problem.profiles[first]]
        if problem.places.shape[1]:
            apart = np.abs(problem.places[first] - problem.places[one]).mean(axis=1)
            distance = distance + 0.2 * apart
        found: IntArray = some[np.argsort(distance, kind="stable")[:most]]
        return found


# One group in so many joins those who are left; in the end, everybody.
_ONE_IN = (16, 8, 4, 2, 1)


def _pooled(problem: ArtProblem, groups: list[IntArray], left: IntArray) -> list[IntArray] | None:
    """Safe groups of everybody: who is left with people of as few groups as will do, in like parts.

    None if that fails, which it does for groups of different values, and where profiles may not be
    mixed. Where limits are so many times the prior, rare values need groups that are too large to
    be judged, unless all are of one profile; they stay where they are.
    """
    if problem.unique or problem.apart:
        return None
    needed = problem.sizes_of_values
    able = [int(needed[problem.values[group]].max()) <= LARGEST // 2 for group in groups]
    turn = np.cumsum(able) - 1
    before = -1
    for one_in in _ONE_IN:
        chosen = np.array(able, dtype=bool) & (turn % one_in == 0)
        if chosen.sum() == before:
            continue
        before = int(chosen.sum())
        joining = [group for group, joins in zip(groups, chosen, strict=True) if joins]
        made = like_parts(problem, np.concatenate([left, *joining]))
        if made is not None:
            _log.info("%d left are in %d parts of a pool", len(left), len(made))
            return [g for g, joins in zip(groups, chosen, strict=True) if not joins] + made
    return None
