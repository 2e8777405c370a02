"""Like parts of a pool: people without a group and people of groups, dealt out evenly.

The more people share a group, the nearer are posteriors to priors that are scaled to fit them. So
where the table as a whole keeps the limits, parts of it that are like the whole do, if they are
large enough; though no group may be found that starts from somebody who is in the way.
"""

from __future__ import annotations

import logging

import numpy as np

from foreknow.anonymizers.art.bulk import LARGEST, dealt_parts
from foreknow.anonymizers.art.judge import Judge
from foreknow.anonymizers.art.problem import ArtProblem
from foreknow.sparse import IntArray

_log = logging.getLogger(__name__)

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
