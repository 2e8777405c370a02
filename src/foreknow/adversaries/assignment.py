"""Assignments: whether the values of a group can go to its people, where some cannot have some."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray


def possible(
    support: NDArray[np.bool_], people: Sequence[int], counts: Sequence[int]
) -> NDArray[np.bool_] | None:
    """A mask of the (signature, value) pairs that occur in some world; None if there is no world.

    `support` says where priors are positive. A pair occurs if and only if, in one world, it lies
    on a cycle of exchanges: strong components of the residual graph.

    >>> possible(np.array([[True, True], [False, True]]), [1, 1], [1, 1])
    array([[ True, False],
           [False,  True]])
    >>> possible(np.array([[True, False], [True, False]]), [1, 1], [1, 1]) is None
    True
    """
    world = some_world(support, people, counts)
    if world is None:
        return None
    n_signatures, n_values = support.shape
    n = n_signatures + n_values
    reach = np.eye(n, dtype=bool)
    reach[:n_signatures, n_signatures:] |= support
    reach[n_signatures:, :n_signatures] |= (world > 0).T
    for middle in range(n):
        reach |= reach[:, [middle]] & reach[middle]
    return support & reach[n_signatures:, :n_signatures].T


def some_world(
    support: NDArray[np.bool_], people: Sequence[int], counts: Sequence[int]
) -> IntArray | None:
    """How many of each signature have each value in one world, by augmenting paths."""
    world = np.zeros(support.shape, dtype=np.int64)
    remaining = list(counts)
    for start, amount in enumerate(people):
        while amount:
            # Which signature takes a value, and which value it then gives away.
            taken_by: dict[int, int] = {}
            value_given: dict[int, int] = {}
            queue, end = [start], -1
            for s in queue:
                for x in np.flatnonzero(support[s]).tolist():
                    if x not in taken_by:
                        taken_by[x] = s
                        if remaining[x]:
                            end = x
                            break
                        for t in np.flatnonzero(world[:, x]).tolist():
                            if t != start and t not in value_given:
                                value_given[t] = x
                                queue.append(t)
                if end >= 0:
                    break
            if end < 0:
                return None
            path = [end]
            while taken_by[path[-1]] != start:
                path.append(value_given[taken_by[path[-1]]])
            gives = [(taken_by[x], value_given[taken_by[x]]) for x in path[:-1]]
            flow = min([amount, remaining[end], *(int(world[pair]) for pair in gives)])
            for x in path:
                world[taken_by[x], x] += flow
            for pair in gives:
                world[pair] -= flow
            amount -= flow
            remaining[end] -= flow
    return world
