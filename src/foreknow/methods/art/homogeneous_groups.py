"""Groups of people who are alike to the adversary: small, of different values, near each other.

Within one kind everybody's posterior is c/N whatever the priors, so only sizes and values matter;
what is left to choose serves utility. People are divided along quasi-identifiers as long as both
sides can still be grouped, then grouped with their nearest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.signature_groups import FloatArray
from foreknow.data.sparse import IntArray
from foreknow.methods.art.problem import ArtProblem

# Blocks of at most so many groups are not divided.
_FEW = 6


def blocks_along(problem: ArtProblem, people: IntArray, blocks: IntArray) -> Iterator[IntArray]:
    """Yield the people of each block, divided as far as both sides can be grouped.

    Parameters
    ----------
    problem : ArtProblem
    people : int64 array
    blocks : int64 array, shape (people,)
        From 0; the people of a block are of one kind.

    Yields
    ------
    int64 array
        People, along the curve.
    """
    if not len(people):
        return
    blocks = _divided(problem, people, blocks)
    order = np.lexsort((problem.curve[people], blocks))
    people, blocks = people[order], blocks[order]
    yield from np.split(people, np.flatnonzero(np.diff(blocks, prepend=-1))[1:])


def _divided(problem: ArtProblem, people: IntArray, blocks: IntArray) -> IntArray:
    """Divide blocks at medians of quasi-identifiers; returns their new numbers, from 0."""
    width = problem.places.shape[1]
    final = blocks.copy()
    n_final = 0
    active = np.arange(len(people))
    node = blocks
    while len(active):
        node = _numbered(node)
        n = int(node.max()) + 1
        sizes = np.bincount(node, minlength=n)
        open_ = sizes > _FEW * problem.least
        side = np.full(len(active), -1, dtype=np.int64)
        waiting = open_.copy()
        spans = _spans(problem, people[active], node, n)
        ranking = np.argsort(-spans, axis=1, kind="stable")
        for turn in range(width):
            waiting &= spans[np.arange(n), ranking[:, turn]] > 0 if width else False
            if not waiting.any():
                break
            asking = np.flatnonzero(waiting[node])
            at = problem.places[people[active[asking]], ranking[node[asking], turn]]
            proposed = _halves(node[asking], at, n)
            child = 2 * node[asking] + proposed
            fits = _eligible(problem, people[active[asking]], child, 2 * n)
            fits = fits.reshape(n, 2).all(axis=1) & waiting
            taken = fits[node[asking]]
            side[asking[taken]] = proposed[taken]
            waiting &= ~fits
        done = side < 0
        if done.any():
            numbers = _numbered(node[done])
            final[active[done]] = numbers + n_final
            n_final += int(numbers.max()) + 1
        node = 2 * node[~done] + side[~done]
        active = active[~done]
    return final


def _numbered(codes: IntArray) -> IntArray:
    """The same codes, numbered from 0 without gaps."""
    if not len(codes):
        return codes
    present = np.zeros(int(codes.max()) + 1, dtype=bool)
    present[codes] = True
    found: IntArray = (np.cumsum(present) - 1)[codes]
    return found


def _spans(problem: ArtProblem, people: IntArray, node: IntArray, n: int) -> NDArray[np.float64]:
    """By block and quasi-identifier: how far its people lie apart."""
    order = np.argsort(node, kind="stable")
    starts = np.flatnonzero(np.diff(node[order], prepend=-1))
    found = np.empty((n, problem.places.shape[1]))
    for a in range(found.shape[1]):
        at = problem.places[people[order], a]
        found[:, a] = np.maximum.reduceat(at, starts) - np.minimum.reduceat(at, starts)
    return found


def _halves(node: IntArray, at: NDArray[np.float64], n: int) -> IntArray:
    """For each person 0 or 1: below the cut nearest to the middle of their block, or not."""
    order = np.lexsort((at, node))
    sorted_node, sorted_at = node[order], at[order]
    sizes = np.bincount(node, minlength=n)
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(node)) - starts[sorted_node]
    new = np.ones(len(node), dtype=bool)
    new[1:] = (sorted_at[1:] != sorted_at[:-1]) | (sorted_node[1:] != sorted_node[:-1])
    new &= place > 0
    off = np.where(new, np.abs(2 * place - sizes[sorted_node]), 4 * len(node))
    best = np.full(n, 4 * len(node))
    np.minimum.at(best, sorted_node, off)
    cut = np.full(n, len(node))
    where = np.flatnonzero(new & (off == best[sorted_node]))[::-1]
    cut[sorted_node[where]] = place[where]
    side = np.empty(len(node), dtype=np.int64)
    side[order] = place >= cut[sorted_node]
    return side


def _eligible(problem: ArtProblem, people: IntArray, child: IntArray, n: int) -> NDArray[np.bool_]:
    """Whether a block is not empty, and no value is too frequent in it."""
    sizes = np.bincount(child, minlength=n)
    keys = np.sort(child * problem.n_values + problem.values[people])
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    block, value = keys[starts] // problem.n_values, keys[starts] % problem.n_values
    counts = np.diff(starts, append=len(keys))
    if problem.unique:
        fits = counts * problem.least <= sizes[block]
    else:
        kind = np.zeros(n, dtype=np.int64)
        kind[child] = problem.kinds[people]
        fits = problem.fits(kind[block], value, counts, sizes[block])
    found: NDArray[np.bool_] = sizes > 0
    np.logical_and.at(found, block, fits)
    return found


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


# Blocks of up to so many people are searched for the nearest; larger ones go along a curve.
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
            chosen = _portions_nearest(problem, values, places, free, edge, bounds)
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


def _portions_nearest(
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
