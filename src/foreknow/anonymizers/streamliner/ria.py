"""RIA: everybody gets partners of other colours by lot, and who shares somebody is merged.

Table 5 of "Privacy Streamliner", with two things that it leaves open. Colours are drawn so that
nobody is left without partners (`foreknow.anonymizers.streamliner.partners`). And groups are merged
with a union-find in arrays.

All lots are drawn for colours, and who of a colour is meant is drawn by lot too: like RDA it treats
the people of a colour alike, and is safe for the same reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.anonymizers.streamliner.deal import Colours
from foreknow.anonymizers.streamliner.partners import choices, partner_colours
from foreknow.sparse import IntArray, ranges


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

    Examples
    --------
    >>> groups_of_ria(np.array([1, 0, 2]), np.array([1, 1, 1]), 3, np.random.default_rng(0))
    array([0, 0, 0])
    """
    colours = Colours.of(codes, sizes)
    colours.shuffle(random)
    present = np.flatnonzero(sizes)
    sizes, starts = sizes[present], colours.starts[present]
    parent = np.arange(len(codes), dtype=colours.people.dtype)
    for some, drawn in partner_colours(sizes, l - 1, random):
        own = colours.people[ranges(starts[some], starts[some] + sizes[some])[0]]
        own_times = sizes[some] * (l - 1)
        # Nobody of one colour gets the same partner: so all draws of a colour are made together.
        asked = drawn.reshape(-1)
        if len(some) > 1:
            least = np.min_scalar_type(len(some) * len(sizes))
            asked = asked.astype(least)
            asked += np.repeat((np.arange(len(some)) * len(sizes)).astype(least), own_times)
        order = np.argsort(asked, kind="stable")
        keys, times = _counted(asked[order])
        of = keys % len(sizes)
        places = np.repeat(starts[of], times) + choices(sizes[of], times, random)
        partners = np.empty(asked.size, dtype=own.dtype)
        partners[order] = colours.people[places]
        merge(parent, np.repeat(own, l - 1), partners)
    roots = _roots(parent, np.arange(len(parent)))
    groups: IntArray = (np.cumsum(roots == np.arange(len(roots))) - 1)[roots]
    return groups


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


def _counted(ordered: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Different numbers of those in order, and how often each occurs."""
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return ordered[starts].astype(np.int64), np.diff(starts, append=len(ordered))
