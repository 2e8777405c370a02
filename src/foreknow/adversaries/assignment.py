"""Assignments: whether the values of a group can go to its people, where some cannot have some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray

_Cell: TypeAlias = tuple[int, int]  # a signature and a value


def possible(
    support: NDArray[np.bool_], people: Sequence[int], counts: Sequence[int]
) -> NDArray[np.bool_] | None:
    """A mask of the (signature, value) pairs that occur in some world; None if there is no world.

    A signature is a kind of people, ``people[s]`` of them; ``counts[v]`` people have value v;
    `support` says where priors are positive. A world gives the values to the people. A pair occurs
    if and only if it lies in one known world or on a cycle of exchanges that starts from that
    world.

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
    n_nodes = n_signatures + n_values
    # A graph: a signature leads to values that it may take, a value to signatures that can give it
    # away. Then add paths of every length (Warshall's algorithm).
    leads_to = np.eye(n_nodes, dtype=bool)
    leads_to[:n_signatures, n_signatures:] |= support
    leads_to[n_signatures:, :n_signatures] |= (world > 0).T
    for middle in range(n_nodes):
        leads_to |= leads_to[:, [middle]] & leads_to[middle]
    # A signature may take a value if the value leads back to it: a cycle of exchanges.
    return support & leads_to[n_signatures:, :n_signatures].T


def some_world(
    support: NDArray[np.bool_], people: Sequence[int], counts: Sequence[int]
) -> IntArray | None:
    """How many of each signature (row) have each value (column) in one world; None without one.

    Rows add up to `people`, columns to `counts`; only cells with `support` are above 0. This is a
    maximum flow, found by augmenting paths.
    """
    world = np.zeros(support.shape, dtype=np.int64)
    remaining = list(counts)
    for signature, amount in enumerate(people):
        while amount:
            path = _augmenting_path(support, world, remaining, signature)
            if path is None:
                return None
            takes, gives = path
            _, last_value = takes[0]
            # As many people at once as the path allows: those who still lack a value, the values
            # that remain, and the people who give theirs away.
            flow = min([amount, remaining[last_value], *(int(world[cell]) for cell in gives)])
            for cell in takes:
                world[cell] += flow
            for cell in gives:
                world[cell] -= flow
            amount -= flow
            remaining[last_value] -= flow
    return world


def _augmenting_path(
    support: NDArray[np.bool_], world: IntArray, remaining: Sequence[int], start: int
) -> tuple[list[_Cell], list[_Cell]] | None:
    """The cells that take a person and those that give one, so that `start` gets one more value.

    A cell is a pair of a signature and a value. `start` takes a value; if nobody else has it left
    over, a signature that has it gives it away and takes another one, and so on, until a value that
    remains is taken. Searched breadth first; None if there is no such path.
    """
    taken_by: dict[int, int] = {}  # the signature that takes a value
    given_by: dict[int, int] = {}  # the value that a signature then gives away
    queue = [start]
    for signature in queue:
        for value in np.flatnonzero(support[signature]).tolist():
            if value in taken_by:
                continue
            taken_by[value] = signature
            # The path ends here.
            if remaining[value]:
                return _cells_of_path(start, value, taken_by, given_by)
            for giver in np.flatnonzero(world[:, value]).tolist():
                if giver != start and giver not in given_by:
                    given_by[giver] = value
                    queue.append(giver)
    return None


def _cells_of_path(
    start: int, last_value: int, taken_by: Mapping[int, int], given_by: Mapping[int, int]
) -> tuple[list[_Cell], list[_Cell]]:
    """Follow a path back from its last value: the cells that take, and those that give.

    A cell is a pair of a signature and a value. ``taken_by[v]`` is the signature that takes value
    v, and ``given_by[s]`` the value that signature s gives.
    """
    signature = taken_by[last_value]
    takes, gives = [(signature, last_value)], list[_Cell]()
    while signature != start:
        value = given_by[signature]
        gives.append((signature, value))
        signature = taken_by[value]
        takes.append((signature, value))
    return takes, gives
