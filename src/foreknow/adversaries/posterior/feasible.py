"""Which values people can have at all, given which priors are zero: flows, no weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def possible(
    support: NDArray[np.bool_], people: Sequence[int], counts: Sequence[int]
) -> NDArray[np.bool_] | None:
    """Find the (signature, value) pairs that occur in some world; None where there is no world.

    A pair occurs if and only if, given one way to deal, it lies on a cycle of exchanges: strong
    components of the residual graph.

    Parameters
    ----------
    support : bool array, shape (signatures, values)
        Where the prior is positive.
    people, counts : sequences of int
        People by signature, and occurrences by value.

    Examples
    --------
    >>> possible(np.array([[True, True], [False, True]]), [1, 1], [1, 1])
    array([[ True, False],
           [False,  True]])
    >>> possible(np.array([[True, False], [True, False]]), [1, 1], [1, 1]) is None
    True
    """
    support = np.asarray(support, dtype=bool)
    dealt = _deal(support, list(people), list(counts))
    if dealt is None:
        return None
    n_signatures, n_values = support.shape
    n = n_signatures + n_values
    reach = np.eye(n, dtype=bool)
    reach[:n_signatures, n_signatures:] |= support
    reach[n_signatures:, :n_signatures] |= (dealt > 0).T
    for middle in range(n):
        reach |= reach[:, [middle]] & reach[middle]
    return support & reach[n_signatures:, :n_signatures].T


def _deal(
    support: NDArray[np.bool_], people: list[int], counts: list[int]
) -> NDArray[np.int64] | None:
    """One way to deal, by augmenting paths; None where there is none."""
    dealt = np.zeros(support.shape, dtype=np.int64)
    for s in range(len(people)):
        for x in np.flatnonzero(support[s]).tolist():
            some = min(people[s], counts[x])
            dealt[s, x] += some
            people[s] -= some
            counts[x] -= some
    for s in range(len(people)):
        while people[s]:
            path = _path(support, dealt, counts, s)
            if path is None:
                return None
            last = path[-1][1]
            some = min([people[s], counts[last], *(int(dealt[t, x]) for t, x in path[1::2])])
            for i, (t, x) in enumerate(path):
                dealt[t, x] += -some if i % 2 else some
            people[s] -= some
            counts[last] -= some
    return dealt


def _path(
    support: NDArray[np.bool_], dealt: NDArray[np.int64], counts: list[int], start: int
) -> list[tuple[int, int]] | None:
    """Pairs to deal and to take back in turns, from a signature to a value that is left."""
    came: dict[int, int] = {}  # value -> signature that takes it
    gave: dict[int, int] = {}  # signature -> value it gives away
    queue = [start]
    for s in queue:
        for x in np.flatnonzero(support[s]).tolist():
            if x in came:
                continue
            came[x] = s
            if counts[x]:
                path = [(s, x)]
                while s != start:
                    given = gave[s]
                    path += [(s, given), (came[given], given)]
                    s = came[given]
                return path[::-1]
            for t in np.flatnonzero(dealt[:, x]).tolist():
                if t != start and t not in gave:
                    gave[t] = x
                    queue.append(t)
    return None
