"""Groups of people who are alike to the adversary, where each value has a limit of its own.

A group of N people of one kind is safe if every value x occurs at most ``L_x N`` times; so is a
union of safe groups. From a block that is safe as a whole, the smallest safe portion is taken that
leaves the rest safe: so many of x at most, and so many at least, that the rest can do without.
"""

from __future__ import annotations

import numpy as np

from foreknow.adversaries.posterior.priors import FloatArray
from foreknow.anonymizers.art.dividing import blocks_along
from foreknow.anonymizers.art.problem import ArtProblem
from foreknow.sparse import IntArray

# Blocks of up to so many people are searched for the nearest; larger ones go along a curve.
_NEAREST = 160
# Sizes of a portion that are looked at together.
_SIZES = 64


def group_portions(
    problem: ArtProblem, people: IntArray, blocks: IntArray, random: np.random.Generator
) -> list[IntArray]:
    """Group the people of each block, which is safe as one group.

    Parameters
    ----------
    problem : ArtProblem
    people : int64 array
    blocks : int64 array, shape (people,)
        From 0; the people of a block are of one kind.
    random : numpy Generator
        For ties.

    Returns
    -------
    list of int64 arrays
        The people of each group.
    """
    each = blocks_along(problem, people, blocks)
    return [group for own in each for group in _portions(problem, own, random)]


def _portions(problem: ArtProblem, people: IntArray, random: np.random.Generator) -> list[IntArray]:
    """Portions of one block; its people lie along the curve."""
    kind = int(problem.kinds[people[0]])
    values, places = problem.values[people], problem.places[people]
    counts = np.bincount(values, minlength=problem.n_values)
    near = len(people) <= _NEAREST and places.shape[1] > 0
    edge = np.abs(places - places.mean(axis=0)).sum(axis=1) + 1e-9 * random.random(len(people))
    free = np.ones(len(people), dtype=bool)
    queues = _Queues(values, problem.n_values)
    groups = []
    first = 1
    while True:
        bounds = _bounds(problem, kind, counts, first)
        if bounds is None:
            break
        first = max(1, bounds[0] // 2)
        if near:
            chosen = _nearest(problem, values, places, free, edge, bounds)
        else:
            chosen = queues.take(bounds)
        free[chosen] = False
        gone = np.bincount(values[chosen], minlength=problem.n_values)
        queues.leave(gone)
        counts = counts - gone
        groups.append(people[chosen])
    groups.append(people[free])
    return groups


def _bounds(
    problem: ArtProblem, kind: int, counts: IntArray, first: int
) -> tuple[int, IntArray, IntArray] | None:
    """The size of the smallest portion, and how often it holds each value at least and at most.

    From `first` on: smaller portions were taken before while there were any, and hardly come back.
    """
    total = int(counts.sum())
    for start in range(first, total, _SIZES):
        sizes = np.arange(start, min(start + _SIZES, total))[:, None]
        high = np.minimum(problem.most(kind, sizes), counts)
        low = np.maximum(counts - problem.most(kind, total - sizes), 0)
        fits = (low <= high).all(axis=1)
        fits &= (low.sum(axis=1) <= sizes[:, 0]) & (sizes[:, 0] <= high.sum(axis=1))
        if fits.any():
            at = int(np.argmax(fits))
            return int(sizes[at, 0]), low[at], high[at]
    return None


def _nearest(
    problem: ArtProblem,
    values: IntArray,
    places: FloatArray,
    free: np.ndarray,
    edge: FloatArray,
    bounds: tuple[int, IntArray, IntArray],
) -> IntArray:
    """Somebody at the edge, and whoever makes the portion least wide."""
    size, low, high = bounds
    nominal = problem.steps > 0
    ranged, named, worth = places[:, ~nominal], places[:, nominal], problem.steps[nominal]
    low, high, open_ = low.copy(), high.copy(), free.copy()
    members: list[int] = []
    least = np.full(ranged.shape[1], np.inf)
    most, new_name = -least, np.zeros(len(values))
    cost = -edge
    while len(members) < size:
        due = int(low.sum()) >= size - len(members)
        able = open_ & ((low if due else high)[values] > 0)
        one = int(np.argmin(np.where(able, cost, np.inf)))
        np.minimum(least, ranged[one], out=least)
        np.maximum(most, ranged[one], out=most)
        name = (named != named[one]) @ worth
        new_name = np.minimum(new_name, name) if members else name
        members.append(one)
        open_[one] = False
        high[values[one]] -= 1
        low[values[one]] = max(low[values[one]] - 1, 0)
        wider = np.maximum(least - ranged, 0) + np.maximum(ranged - most, 0)
        cost = wider.sum(axis=1) + new_name
    return np.array(members, dtype=np.int64)


class _Queues:
    """People of one block by value, along the curve; whoever is taken is taken from the front."""

    def __init__(self, values: IntArray, n_values: int) -> None:
        order = np.argsort(values, kind="stable")
        ends = np.searchsorted(values[order], np.arange(n_values + 1))
        self._people = np.split(order, ends[1:-1])
        self._at = np.zeros(n_values, dtype=np.int64)

    def take(self, bounds: tuple[int, IntArray, IntArray]) -> IntArray:
        """The next along the curve: first as many of each value as must be, then whoever may."""
        size, low, high = bounds
        chosen: list[int] = []
        others: list[int] = []
        for x in np.flatnonzero(high).tolist():
            at = self._at[x]
            chosen += self._people[x][at : at + low[x]].tolist()
            others += self._people[x][at + low[x] : at + min(high[x], low[x] + size)].tolist()
        return np.array(chosen + sorted(others)[: size - len(chosen)], dtype=np.int64)

    def leave(self, counts: IntArray) -> None:
        """Count whom was taken."""
        self._at += counts
