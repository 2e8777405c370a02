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

# Groups that are told apart at once, by one bit each.
_MANY = 512


def transversals(
    cells: NDArray[Any],
    codes: NDArray[Any],
    each: int,
    random: np.random.Generator,
) -> IntArray:
    """Group the people of some cells, `each` of every cell in each group.

    With m groups, a value that c people have occurs at most c / m times, rounded up, in each.

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
    random : numpy.random.Generator

    Returns
    -------
    int64 array, shape (cells, people)
        The group of each person, from 0.

    Examples
    --------
    >>> cells = np.array([[0, 1], [2, 3]])
    >>> values = np.array([[7, 7], [8, 8]])
    >>> found = transversals(cells, values, 1, np.random.default_rng(0))
    >>> sorted(found[0].tolist()), sorted(found[1].tolist())
    ([0, 1], [0, 1])
    """
    n_cells, people = cells.shape
    n_groups = people // each
    # Many groups are made in two steps: first as many parts as a power of two that divides them.
    two = n_groups & -n_groups
    n_parts = min(two, _MANY) if n_groups > _MANY and two > 1 else n_groups
    order = random.permutation(cells.size)
    seats = _seats(order, n_cells, people, n_parts)
    values = _split(codes.reshape(-1)[order], n_parts)
    found = np.empty(cells.size, dtype=np.int64)
    found[order] = colour_edges(seats, values, n_parts)
    if n_parts == n_groups:
        return found.reshape(cells.shape)
    by_part = np.argsort(found.reshape(cells.shape), axis=1, kind="stable")
    by_part = by_part.reshape(n_cells, n_parts, -1).swapaxes(0, 1)
    groups = np.empty(cells.shape, dtype=np.int64)
    rows = np.arange(n_cells)[:, None]
    for part, members in enumerate(by_part):
        inner = transversals(cells[rows, members], codes[rows, members], each, random)
        groups[rows, members] = inner + part * (n_groups // n_parts)
    return groups


def _seats(order: IntArray, n_cells: int, people: int, size: int) -> list[int]:
    """A seat for everybody, in the order in which they come: so many people of a cell share one."""
    cell_of = order // people
    by_cell = np.argsort(cell_of, kind="stable")
    seats = np.empty(len(order), dtype=np.int64)
    seats[by_cell] = np.arange(len(order)) // size
    found: list[int] = seats.tolist()
    return found


def _split(values: NDArray[Any], size: int) -> list[int]:
    """Number the values; one that more people have than that counts as several."""
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    times = -(-int(counts.max()) // size)
    if times > 1:
        by_value = np.argsort(numbers, kind="stable")
        rank = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers[by_value] = numbers[by_value] * times + rank // size
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
