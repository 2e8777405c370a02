"""Division of people who are alike along their quasi-identifiers, while both sides can do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from foreknow.anonymizers.art.problem import ArtProblem
from foreknow.sparse import IntArray

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
