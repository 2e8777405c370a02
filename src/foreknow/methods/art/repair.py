"""Repair: people without a group join groups, or exchange places with people of a few others."""

from __future__ import annotations

import logging

import numpy as np

from foreknow.data.sparse import IntArray
from foreknow.methods.art.exhaustive import best_grouping
from foreknow.methods.art.first_groups import first_groups
from foreknow.methods.art.judge import Judge
from foreknow.methods.art.mixed_groups import LARGEST, Mixer, dealt_parts
from foreknow.methods.art.problem import ArtProblem

_log = logging.getLogger(__name__)

# People who are grouped afresh at once.
_POOL = 10
# Groups that are looked at for somebody.
_LOOKED = 400
# Attempts without success before it gives up, and in all, for each that is left at first.
_PATIENCE, _EACH = 60, 25
# How often groups are merged, where values may be repeated; and how many.
_MERGED, _MERGES = 0.2, (2, 3, 4, 6, 8, 12, 16)
# How often many are grouped afresh, rather than few; and how many groups at once.
_OFTEN, _MANY = 0.5, (4, 120)


class Repair:
    """Groups and people without one, and how to bring them in."""

    def __init__(
        self,
        problem: ArtProblem,
        judge: Judge,
        groups: list[IntArray],
        left: IntArray,
        random: np.random.Generator,
    ) -> None:
        self.problem, self.judge, self.random = problem, judge, random
        self.groups = groups
        self.left = left

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
            chance = self.random.random()
            if not self.problem.unique and self.random.random() < _MERGED:
                self._merge()
            elif len(self.groups) > 3 and chance < _OFTEN:
                self._fetch()
            elif len(self.groups) > 3 and chance < 1.3 * _OFTEN:
                self._regroup()
            else:
                self._exchange()
            waited = 0 if len(self.left) < before else waited + 1
        _log.info("%d people are left", len(self.left))

    def _join(self) -> None:
        """Let people join single groups that stay safe."""
        staying = []
        for one in self.left.tolist():
            near = self._near(one, _LOOKED)
            good = np.zeros(0, dtype=bool)
            if len(near):
                joined = [np.append(self.groups[g], one) for g in near.tolist()]
                group = np.repeat(np.arange(len(joined)), [len(j) for j in joined])
                who = np.concatenate(joined)
                good = self.judge.safe(
                    group, self.problem.kinds[who], self.problem.values[who], len(joined)
                )
            if good.any():
                g = int(near[int(np.argmax(good))])
                self.groups[g] = np.append(self.groups[g], one)
            else:
                staying.append(one)
        self.left = np.array(staying, dtype=np.int64)

    def _merge(self) -> None:
        """Let somebody join many groups at once, which become one: those without their value."""
        one = int(self.random.choice(self.left))
        near = self._near(one, _LOOKED // 4)
        value = self.problem.values[one]
        held = [int((self.problem.values[self.groups[g]] == value).sum()) for g in near.tolist()]
        order = near[np.argsort(held, kind="stable")].tolist()
        for n in _MERGES:
            people = np.concatenate([self.groups[g] for g in order[:n]] + [np.array([one])])
            if n <= len(order) and self._safe(people):
                self._replace(order[:n], people[-1:], [people], people[:0])
                return

    def _exchange(self) -> None:
        """Group afresh somebody who is left and the people of a few groups."""
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
        people = np.concatenate(pool)
        found = best_grouping(self.problem, self.judge, people, partly=True)
        if found is not None:
            self._replace(chosen, pool[0], *found)

    def _fetch(self) -> None:
        """Make a group for somebody of people from others, who are then joined to groups again."""
        problem = self.problem
        one = int(self.random.choice(self.left))
        mixer = Mixer(problem, self.judge, self.random)
        pairs = mixer.around((int(problem.kinds[one]), int(problem.values[one])))
        if pairs is None:
            return
        free = np.ones(problem.n_people, dtype=bool)
        free[one] = False
        made = [one]
        for kind, value in pairs[1:]:
            able = np.flatnonzero(free & (problem.kinds == kind) & (problem.values == value))
            if not len(able):
                return
            made.append(int(self.random.choice(able)))
            free[made[-1]] = False
        member = np.zeros(problem.n_people, dtype=bool)
        member[made] = True
        owner = np.repeat(np.arange(len(self.groups)), [len(group) for group in self.groups])
        robbed = np.unique(owner[member[np.concatenate(self.groups)]])
        before = list(self.groups), self.left
        left = [self.left[~member[self.left]]]
        for g in sorted(robbed.tolist(), reverse=True):
            rest = self.groups[g][~member[self.groups[g]]]
            if len(rest) and self._safe(rest):
                self.groups[g] = rest
                continue
            left.append(rest)
            self.groups[g] = self.groups[-1]
            self.groups.pop()
        self.groups.append(np.array(made))
        self.left = np.concatenate(left)
        self._join()
        if len(self.left) > len(before[1]):
            self.groups, self.left = before

    def _safe(self, people: IntArray) -> bool:
        kinds, values = self.problem.kinds[people], self.problem.values[people]
        return bool(self.judge.safe(np.zeros(len(people), dtype=np.int64), kinds, values, 1)[0])

    def _regroup(self) -> None:
        """Group afresh many: all of a kind that are left, groups with their kind, and near ones."""
        one = int(self.random.choice(self.left))
        kind = self.problem.kinds[one]
        own = self.left[self.problem.kinds[self.left] == kind]
        size = int(_MANY[0] * (_MANY[1] / _MANY[0]) ** self.random.random())
        lengths = np.array([len(group) for group in self.groups])
        owner = np.repeat(np.arange(len(self.groups)), lengths)
        alike = np.unique(owner[self.problem.kinds[np.concatenate(self.groups)] == kind])
        alike = self.random.permutation(alike)[: size // 2]
        near = self.random.permutation(self._near(one, size))[: size // 4]
        any_ = self.random.integers(0, len(self.groups), size)
        chosen = np.unique(np.concatenate([alike, near, any_]))
        people = np.concatenate([own, *(self.groups[g] for g in chosen.tolist())])
        part = self.problem.part(people)
        groups, left = first_groups(part, self.judge, self.random, self.random.random(), 6)
        made = [people[group] for group in groups]
        self._replace(chosen.tolist(), own, made, people[left])

    def _replace(
        self, chosen: list[int], own: IntArray, groups: list[IntArray], left: IntArray
    ) -> None:
        """Put groups in the place of some, unless more people are left than before."""
        if len(left) > len(own):
            return
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
        distance = self.problem.distances(int(self.problem.kinds[one]))[self.problem.kinds[first]]
        if self.problem.places.shape[1]:
            apart = np.abs(self.problem.places[first] - self.problem.places[one]).mean(axis=1)
            distance = distance + 0.2 * apart
        found: IntArray = some[np.argsort(distance, kind="stable")[:most]]
        return found


# One group in so many joins those who are left; in the end, everybody.
_ONE_IN = (16, 8, 4, 2, 1)
# How near to its limit a posterior of a pool of many may come, to be divided at all.
_CLOSE = 0.97
# Parts that are judged before all others.
_SAMPLE = 8


def pooled_groups(
    problem: ArtProblem, judge: Judge, groups: list[IntArray], left: IntArray
) -> list[IntArray] | None:
    """Bring in people who are left, with people of as few groups as will do.

    Parameters
    ----------
    problem : ArtProblem
    judge : Judge
    groups : list of int64 arrays
        Safe ones.
    left : int64 array
        Everybody else.

    Returns
    -------
    list of int64 arrays, or None
        Safe groups of everybody; None if that fails, which it does for groups of different values,
        and where kinds may not be mixed.
    """
    if problem.unique or problem.apart:
        return None
    needed = _needed(problem)
    able = [int(needed[problem.values[group]].max()) <= LARGEST // 2 for group in groups]
    turn = np.cumsum(able) - 1
    before = -1
    for one_in in _ONE_IN:
        chosen = np.array(able, dtype=bool) & (turn % one_in == 0)
        if chosen.sum() == before:
            continue
        before = int(chosen.sum())
        taken = [group for group, joins in zip(groups, chosen.tolist(), strict=True) if joins]
        made = like_parts(problem, judge, np.concatenate([left, *taken]))
        if made is not None:
            _log.info("%d left are in %d parts of a pool", len(left), len(made))
            staying = zip(groups, chosen.tolist(), strict=True)
            return [group for group, joins in staying if not joins] + made
    return None


def _needed(problem: ArtProblem) -> IntArray:
    """By value, how many people a group that holds it has at least; see `ArtProblem.least`.

    Where limits are so many times the prior, rare values need groups that are too large to be
    judged, unless all are of one kind; they stay where they are.
    """
    present = problem.table.sum(axis=1) > 0
    found = np.ones(problem.n_values, dtype=np.int64)
    for own in problem.known:
        sizes = own.limits.least[np.unique(own.signature_of[present])]
        found = np.maximum(found, np.where(sizes > 0, sizes, problem.n_people + 1).min(axis=0))
    return found


def like_parts(problem: ArtProblem, judge: Judge, people: IntArray) -> list[IntArray] | None:
    """Divide people evenly by kind and value into as many parts as are all found safe.

    Parameters
    ----------
    problem : ArtProblem
    judge : Judge
    people : int64 array

    Returns
    -------
    list of int64 arrays, or None
        None where even the fewest parts are not safe, or out of reach.
    """
    free = np.zeros(problem.n_people, dtype=bool)
    free[people] = True
    taken = np.zeros_like(problem.table)
    np.add.at(taken, (problem.kinds[people], problem.values[people]), 1)
    fewest = -(-len(people) // LARGEST)
    if fewest > 1 and judge.in_bulk(taken) > _CLOSE:
        return None

    def divided(n_parts: int) -> list[IntArray] | None:
        who, part = dealt_parts(problem, taken, free, n_parts, by_value=True)
        first = part < _SAMPLE
        for some in (first, ~first):
            own = who[some]
            kinds, values = problem.kinds[own], problem.values[own]
            number = part[some] - (0 if some is first else _SAMPLE)
            n = min(n_parts, _SAMPLE) if some is first else n_parts - _SAMPLE
            if n > 0 and not judge.safe(number, kinds, values, n).all():
                return None
        order = np.argsort(part, kind="stable")
        return np.split(who[order], np.cumsum(np.bincount(part))[:-1])

    # Small parts are judged faster, so their number falls; then it rises again.
    high = max(len(people) // problem.least, fewest) + 1
    low, made = high, None
    while made is None and low > fewest:
        high, low = low, max(low // 2, fewest)
        made = divided(low)
    while made is not None and high - low > 1:
        middle = (low + high) // 2
        more = divided(middle)
        if more is None:
            high = middle
        else:
            low, made = middle, more
    return made
