"""RIA: everybody gets partners of other colours by lot, and who shares somebody is merged.

Table 5 of "Privacy Streamliner", with two things that it leaves open. Colours are drawn so that
nobody is left without partners: where a colour could run short, the colours that must be drawn
from are drawn from first. And groups are merged with a union-find in arrays.

All lots are drawn for colours, and who of a colour is meant is drawn by lot too: like RDA it treats
the people of a colour alike, and is safe for the same reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.anonymizers.streamliner_deal import Colours
from foreknow.sparse import IntArray

# Cells of a table of lots.
_BLOCK = 1 << 22


def groups_of_ria(
    codes: NDArray[Any],
    sizes: IntArray,
    l: int,  # noqa: E741
    random: np.random.Generator,
) -> IntArray:
    """Everybody's group.

    Each member of a group brings ``l - 1`` partners of other colours into it, and no two members
    of one colour bring the same; so no colour has more than 1/l of a group.

    Parameters
    ----------
    codes : integer array, shape (people,)
        Everybody's colour.
    sizes : int64 array, shape (colours,)
        At most 1/l of the people each.
    l : int
    random : numpy.random.Generator
        Secret.

    Returns
    -------
    int64 array, shape (people,)
    """
    colours = Colours.of(codes, sizes)
    parent = np.arange(len(codes), dtype=colours.people.dtype)
    for colour in np.flatnonzero(sizes).tolist():
        own = random.permutation(_members(colours, colour))
        drawn = _partner_colours(sizes, colour, l, random)
        order = np.argsort(drawn, axis=None, kind="stable")
        times = np.bincount(drawn.reshape(-1), minlength=len(sizes))
        partners = np.empty(drawn.size, dtype=own.dtype)
        partners[order] = np.concatenate(
            [
                random.choice(_members(colours, other), times[other], replace=False)
                for other in np.flatnonzero(times).tolist()
            ]
        )
        merge(parent, np.repeat(own, l - 1), partners)
    roots = _roots(parent, np.arange(len(parent)))
    return np.unique(roots, return_inverse=True)[1].astype(np.int64)


def merge(parent: NDArray[Any], one: NDArray[Any], other: NDArray[Any]) -> None:
    """Put each of some people together with another: union-find, all pairs at once.

    Parameters
    ----------
    parent : integer array, shape (people,)
        Changed in place. The root of everybody's tree is the first of their group.
    one, other : integer arrays of equal length

    Examples
    --------
    >>> parent = np.arange(5)
    >>> merge(parent, np.array([4, 1]), np.array([3, 3]))
    >>> parent[[1, 3, 4]]
    array([1, 1, 1])
    """
    while True:
        one, other = _roots(parent, one), _roots(parent, other)
        apart = one != other
        if not apart.any():
            return
        one, other = one[apart], other[apart]
        # Of several that want the same root, one wins; the rest try again. No circles, since a
        # root only ever goes below an earlier one.
        parent[np.maximum(one, other)] = np.minimum(one, other)


def _roots(parent: NDArray[Any], people: NDArray[Any]) -> NDArray[Any]:
    """The first of everybody's group; shortens the ways there."""
    found: NDArray[Any] = parent[people]
    while True:
        above: NDArray[Any] = parent[found]
        if np.array_equal(above, found):
            parent[people] = found
            return found
        found = above


def _members(colours: Colours, colour: int) -> NDArray[Any]:
    return colours.people[colours.starts[colour] : colours.starts[colour + 1]]


def _partner_colours(
    sizes: IntArray,
    colour: int,
    l: int,  # noqa: E741
    random: np.random.Generator,
) -> NDArray[Any]:
    """Draw ``l - 1`` different other colours for everybody of a colour.

    None is drawn from more often than it has people.

    It can go on as long as ``sum(min(unused, left))`` is at least ``(l - 1) * left``; that holds at
    the beginning, since the table is l-eligible. `spare` is by how much. One person's draw lowers
    it by at most the number of colours, so as many draws as that allows are made at once. After
    that, colours that have as many people as still need partners are drawn first, which keeps it
    from falling further than it must.
    """
    unused, left, need = sizes.copy(), int(sizes[colour]), l - 1
    unused[colour] = 0
    parts = []
    while left:
        pool = np.flatnonzero(unused)
        spare = int(np.minimum(unused, left).sum()) - need * left
        sure = min(spare // len(pool), left)
        if sure:
            drawn = _subsets(pool, min(sure, max(_BLOCK // len(pool), 1)), need, random)
            drawn = drawn[: _until_short(drawn, unused)]
        else:
            full = unused[pool] >= left
            first, then = random.permutation(pool[full]), random.permutation(pool[~full])
            drawn = np.concatenate([first, then])[None, :need]
        unused -= np.bincount(drawn.reshape(-1), minlength=len(unused))
        left -= len(drawn)
        parts.append(drawn.astype(np.min_scalar_type(len(sizes) - 1)))
    return np.concatenate(parts)


def _until_short(drawn: IntArray, unused: IntArray) -> int:
    """How many rows come before the first that draws from a colour that is used up."""
    flat = drawn.reshape(-1)
    short = np.flatnonzero(np.bincount(flat, minlength=len(unused)) > unused)
    return min(
        (
            int(np.flatnonzero(flat == colour)[unused[colour]]) // drawn.shape[1]
            for colour in short.tolist()
        ),
        default=len(drawn),
    )


def _subsets(pool: IntArray, rows: int, need: int, random: np.random.Generator) -> IntArray:
    """Draw some members of a pool for each row, uniformly and without repeats."""
    n = len(pool)
    if n > 4 * need * need:  # repeats are rare: draw such rows again
        picks = random.integers(0, n, size=(rows, need))
        again = np.arange(rows)
        while True:
            ordered = np.sort(picks[again], axis=1)
            again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
            if not len(again):
                return pool[picks]
            picks[again] = random.integers(0, n, size=(len(again), need))
    deck = np.tile(pool, (rows, 1))
    row = np.arange(rows)
    for place in range(need):
        drawn = random.integers(place, n, size=rows)
        deck[row, place], deck[row, drawn] = deck[row, drawn], deck[:, place].copy()
    return deck[:, :need]
