"""Groups that take equally many people from every cell, no value more often than allowed.

As long as many groups are to be made, and their number is even, people are shared out to two
halves, each for half of the groups. They are paired within each cell; and also within each value as
far as that goes, all others by twos; then everybody is sent to another half than both partners.
That is possible, since pairs of the two kinds take turns around rings. A value that c people have
is had by at most c / 2 of each half, rounded up.

What is left is an edge colouring: a seat of a cell and a sensitive value are joined by each person
in that seat who has that value; a group is a set of people no two of whom share a seat or a value.
By König's theorem as many groups suffice as a seat has people, if no value has more people than
that. So such groups exist for every table; nothing about the cells can prevent them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.sparse import IntArray

# People who are shared out at a time: few enough for a processor's cache.
_MANY = 1 << 15
# People of whom groups are made one person after the other, which is quicker then.
_FEW = 1 << 10


def transversals(
    cells: NDArray[Any],
    codes: NDArray[Any],
    each: int,
    random: np.random.Generator,
) -> IntArray:
    """Group the people of some cells, `each` of every cell in each group.

    With m groups, a value that c people have occurs at most c / m times, rounded up, in each.

    All people come in random order, and are seated in it; nothing else is known of a person but
    cell and value, nothing else of a cell but who is in it. So people of a cell and value are
    treated alike, and so are the cells.

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
    order = random.permutation(cells.size).astype(_index(cells.size))
    cell = (order // people).astype(np.min_scalar_type(n_cells))
    found = np.empty(cells.size, dtype=np.int64)
    found[order] = _shared_out(cell, codes.reshape(-1)[order], people // each)
    return found.reshape(cells.shape)


def _shared_out(cell: NDArray[Any], values: NDArray[Any], n_groups: int) -> NDArray[Any]:
    """The group of everybody, by cell and value, in the order in which they come."""
    part: NDArray[Any] = np.zeros(len(cell), dtype=np.int32)
    n_parts = 1
    while n_groups % (2 * n_parts) == 0 and len(part) > _FEW * n_parts:
        part = 2 * part + _half(part, cell, values)
        n_parts *= 2
        if len(part) > _MANY and n_parts < n_groups:
            for side, some in enumerate([np.flatnonzero(part == 0), np.flatnonzero(part)]):
                inner = _shared_out(cell[some], values[some], n_groups // 2)
                part[some] = inner + side * (n_groups // 2)
            return part
    if n_parts < n_groups:
        return _coloured(part, cell, values, n_groups // n_parts)
    return part


def _half(part: NDArray[Any], cell: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Share the people of each part out to two halves, equally by cell, and by value as can be."""
    one = _partners(np.lexsort((cell, part)))
    by_value = np.lexsort((values, part))
    same = values[by_value], part[by_value]
    last = np.ones(len(part), dtype=bool)
    last[:-1] = (same[0][1:] != same[0][:-1]) | (same[1][1:] != same[1][:-1])
    ends = np.flatnonzero(last)
    counts = np.diff(ends, prepend=-1)
    odd = ends[counts % 2 == 1]
    # Of a value with an odd number of people in a part, the last one is paired with another such.
    by_value = np.concatenate([np.delete(by_value, odd), by_value[odd]])
    ring = _least_of_ring(_partners(by_value)[one])
    found: NDArray[Any] = ring > ring[one]
    return found


def _partners(order: NDArray[Any]) -> NDArray[Any]:
    """Pair everybody with the next one in an order."""
    found = np.empty(len(order), dtype=_index(len(order)))
    found[order[::2]] = order[1::2]
    found[order[1::2]] = order[::2]
    return found


def _least_of_ring(follower: NDArray[Any]) -> NDArray[Any]:
    """The first of all who follow each other around a ring."""
    least: NDArray[Any] = np.minimum(np.arange(len(follower), dtype=follower.dtype), follower)
    further = follower
    while (least[follower] != least).any():
        further = further[further]
        least = np.minimum(least, least[further])
    return least


def _index(size: int) -> Any:
    """A type for numbers below a size."""
    return np.int32 if size <= 2**31 else np.int64


def _coloured(
    part: NDArray[Any], cell: NDArray[Any], values: NDArray[Any], n_groups: int
) -> NDArray[Any]:
    """Make a few groups of each part."""
    found = np.empty(len(part), dtype=np.int32)
    by_part = np.argsort(part, kind="stable").reshape(int(part.max()) + 1, -1)
    for number, people in enumerate(by_part):
        seats = _numbered(cell[people], n_groups)
        colours = colour_edges(seats, _numbered(values[people], n_groups), n_groups)
        found[people] = np.array(colours) + number * n_groups
    return found


def _numbered(values: NDArray[Any], size: int) -> list[int]:
    """Number cells or values; where more people have one than `size`, so many share a number."""
    order = np.argsort(values, kind="stable")
    first = np.ones(len(order), dtype=bool)
    first[1:] = values[order[1:]] != values[order[:-1]]
    begins = np.flatnonzero(first)
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(rank % size == 0) - 1
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
