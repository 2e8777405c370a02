"""Groups that take equally many people from every cell, no value more often than allowed.

An edge colouring: a seat of a cell and a sensitive value are joined by each person in that seat
who has that value; a group is a set of people no two of whom share a seat or a value. By König's
theorem as many groups suffice as a seat has people, if no value has more people than that. So such
groups exist for every table; nothing about the cells can prevent them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.sparse import IntArray


def transversals(
    cells: NDArray[Any],
    codes: NDArray[Any],
    each: int,
    cap: int,
    random: np.random.Generator,
) -> IntArray:
    """Group the people of some cells, `each` of every cell in each group.

    People of a cell are seated by lot, and all of them come in random order; nothing else is
    known of a person but seat and value, nothing else of a cell but its seats. So people of a
    cell and value are treated alike, and so are the cells.

    Parameters
    ----------
    cells : integer array, shape (cells, people)
    codes : integer array
        Sensitive values of the same people.
    each : int
        Divides the number of people in a cell.
    cap : int
        How often a value may occur in a group.
    random : numpy.random.Generator

    Returns
    -------
    int64 array, shape (cells, people)
        The group of each person, from 0.

    Examples
    --------
    >>> cells = np.array([[0, 1], [2, 3]])
    >>> values = np.array([[7, 7], [8, 8]])
    >>> found = transversals(cells, values, 1, 1, np.random.default_rng(0))
    >>> sorted(found[0].tolist()), sorted(found[1].tolist())
    ([0, 1], [0, 1])
    """
    n_cells, people = cells.shape
    n_groups = people // each
    order = random.permutation(cells.size)
    seats = _seats(order, n_cells, people, n_groups)
    values = _split(codes.reshape(-1)[order], n_groups, cap)
    groups = np.empty(cells.size, dtype=np.int64)
    groups[order] = colour_edges(seats, values, n_groups)
    return groups.reshape(cells.shape)


def _seats(order: IntArray, n_cells: int, people: int, n_groups: int) -> list[int]:
    """A seat for everybody, in the order in which they come: a cell's first n_groups share one."""
    cell_of = order // people
    by_cell = np.argsort(cell_of, kind="stable")
    seats = np.empty(len(order), dtype=np.int64)
    seats[by_cell] = np.arange(len(order)) // n_groups
    found: list[int] = seats.tolist()
    return found


def _split(values: NDArray[Any], n_groups: int, cap: int) -> list[int]:
    """Number the values; one that may occur several times in a group counts as several."""
    _, numbers = np.unique(values, return_inverse=True)
    if cap > 1:
        by_value = np.argsort(numbers, kind="stable")
        counts = np.bincount(numbers)
        rank = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers[by_value] = numbers[by_value] * cap + rank // n_groups
    found: list[int] = numbers.tolist()
    return found


def colour_edges(left: list[int], right: list[int], n_colours: int) -> list[int]:
    """Colour the edges of a bipartite graph so that no two at a vertex are alike.

    Edge by edge: a colour that is free at both ends, or, where there is none, one that becomes so
    when two colours are exchanged along a path (Kempe's chain).

    Parameters
    ----------
    left, right : lists of int
        The ends of each edge.
    n_colours : int
        No vertex has more edges.

    Examples
    --------
    >>> colour_edges([0, 0, 1, 1], [0, 1, 1, 0], 2)
    [0, 1, 0, 1]
    """
    ends = (left, right)
    full = (1 << n_colours) - 1
    free = [[full] * (max(side, default=-1) + 1) for side in ends]  # colours, as bits
    held: list[list[dict[int, int]]] = [[{} for _ in masks] for masks in free]  # colour -> edge
    found = [-1] * len(left)

    def give(edge: int, colour: int) -> None:
        found[edge] = colour
        for side in (0, 1):
            vertex = ends[side][edge]
            free[side][vertex] ^= 1 << colour
            held[side][vertex][colour] = edge

    def take(edge: int) -> None:
        for side in (0, 1):
            vertex = ends[side][edge]
            free[side][vertex] ^= 1 << found[edge]
            del held[side][vertex][found[edge]]

    for edge, (one, other) in enumerate(zip(left, right, strict=True)):
        both = free[0][one] & free[1][other]
        if both:
            give(edge, _lowest(both))
            continue
        colour, spare = _lowest(free[0][one]), _lowest(free[1][other])
        # From `other` on, edges of `colour` and `spare` by turns; `one` has no edge of `colour`,
        # so the path does not come there.
        path, side, vertex, now = [], 1, other, colour
        while now in held[side][vertex]:
            path.append(held[side][vertex][now])
            side = 1 - side
            vertex = ends[side][path[-1]]
            now = spare if now == colour else colour
        exchanged = [spare if found[step] == colour else colour for step in path]
        for step in path:
            take(step)
        for step, new in zip(path, exchanged, strict=True):
            give(step, new)
        give(edge, colour)
    return found


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
