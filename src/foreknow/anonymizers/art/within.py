"""Groups of people who are alike to the adversary: small, of different values, near each other.

Within one kind everybody's posterior is c/N whatever the priors, so only sizes and values matter;
what is left to choose serves utility. People are divided along quasi-identifiers as long as both
sides can still be grouped, then grouped with their nearest.
"""

from __future__ import annotations

import numpy as np

from foreknow.anonymizers.art.dividing import blocks_along
from foreknow.anonymizers.art.problem import ArtProblem
from foreknow.sparse import IntArray

# Blocks of up to so many people are searched for the nearest; larger ones go along a curve.
_NEAREST = 160


def group_within(
    problem: ArtProblem, people: IntArray, blocks: IntArray, random: np.random.Generator
) -> list[IntArray]:
    """Group the people of each block; each has no value more often than in 1/k of its people.

    Then ``floor(n/k)`` groups hold everybody, each of at least k different values.

    Parameters
    ----------
    problem : ArtProblem
    people : int64 array
    blocks : int64 array, shape (people,)
        From 0.
    random : numpy Generator
        For ties.

    Returns
    -------
    list of int64 arrays
        The people of each group.
    """
    each = blocks_along(problem, people, blocks)
    return [group for own in each for group in _dealt(problem, own, random)]


def _dealt(problem: ArtProblem, people: IntArray, random: np.random.Generator) -> list[IntArray]:
    """Make as many groups of one block as can be; `people` lie along the curve."""
    n_groups = len(people) // problem.least
    if n_groups <= 1:
        return [people]
    if len(people) <= _NEAREST and problem.places.shape[1]:
        return _nearest(problem, people, n_groups, random)
    return _along(problem, people, n_groups)


def _nearest(
    problem: ArtProblem, people: IntArray, n_groups: int, random: np.random.Generator
) -> list[IntArray]:
    """One group after another: from somebody at the edge, whoever makes it least wide."""
    k = problem.least
    values, places = problem.values[people], problem.places[people]
    left = np.bincount(values, minlength=problem.n_values)
    free = np.ones(len(people), dtype=bool)
    groups: list[list[int]] = []
    edge = np.abs(places - places.mean(axis=0)).sum(axis=1) + 1e-9 * random.random(len(people))
    nominal = problem.steps > 0
    rising = ~nominal
    ranged = places[:, rising]
    named = places[:, nominal]
    worth = problem.steps[nominal]
    for g in range(n_groups):
        due = n_groups - g  # groups to come, this one too: more often, no value may occur
        must = np.flatnonzero(left == due)
        wanted = max(k, len(must))
        forced = free if not len(must) else free & np.isin(values, must)
        seed = int(np.argmax(np.where(forced, edge, -1.0)))
        members = [seed]
        low, high = ranged[seed].copy(), ranged[seed].copy()
        new_name = (named != named[seed]) @ worth
        fits = free & (values != values[seed])
        n_must = len(must) - (1 if len(must) else 0)
        for _ in range(wanted - 1):
            loss = (np.maximum(low - ranged, 0) + np.maximum(ranged - high, 0)).sum(axis=1)
            loss += new_name
            allowed = fits
            if n_must >= wanted - len(members):
                allowed = fits & np.isin(values, must)
            loss[~allowed] = np.inf
            one = int(np.argmin(loss))
            members.append(one)
            if left[values[one]] == due:
                n_must -= 1
            np.minimum(low, ranged[one], out=low)
            np.maximum(high, ranged[one], out=high)
            if len(worth):
                new_name = np.minimum(new_name, (named != named[one]) @ worth)
            fits &= values != values[one]
        free[members] = False
        left[values[members]] -= 1
        groups.append(members)
    _add_rest(problem, people, groups, np.flatnonzero(free))
    return [people[np.array(members)] for members in groups]


def _add_rest(
    problem: ArtProblem, people: IntArray, groups: list[list[int]], rest: IntArray
) -> None:
    """Give the few who are left to the nearest group that lacks their value."""
    values, places = problem.values[people], problem.places[people]
    for one in rest.tolist():
        best, least = -1, np.inf
        for g, members in enumerate(groups):
            if values[one] not in values[members]:
                width = (
                    np.ptp(places[[*members, one]], axis=0).sum()
                    - np.ptp(places[members], axis=0).sum()
                )
                loss = width * len(members)
                if loss < least:
                    best, least = g, loss
        groups[best].append(one)


def _along(problem: ArtProblem, people: IntArray, n_groups: int) -> list[IntArray]:
    """One group after another along the curve: the next of each value, those due first."""
    k = problem.least
    values = problem.values[people]
    order = np.argsort(values, kind="stable")
    present, starts = np.unique(values[order], return_index=True)
    queues = [part.tolist() for part in np.split(order, starts[1:])]
    ends = [len(queue) for queue in queues]
    at = [0] * len(present)
    groups: list[list[int]] = []
    for g in range(n_groups):
        due = n_groups - g
        heads = [
            (ends[x] - at[x] < due, queues[x][at[x]], x)
            for x in range(len(queues))
            if at[x] < ends[x]
        ]
        heads.sort()
        n_must = sum(not later for later, _, _ in heads)
        members = []
        for _, one, x in heads[: max(k, n_must)]:
            members.append(one)
            at[x] += 1
        groups.append(members)
    rest = [one for x, queue in enumerate(queues) for one in queue[at[x] :]]
    held = [set(values[members].tolist()) for members in groups]
    for one in rest:
        value = int(values[one])
        g = min(range(one * n_groups // len(people), n_groups), default=0)
        ring = [*range(g, n_groups), *range(g)]
        chosen = next(h for h in ring if value not in held[h])
        groups[chosen].append(one)
        held[chosen].add(value)
    return [people[np.array(members)] for members in groups]
