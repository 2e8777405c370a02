"""GDA: partners of other colours who are near by their quasi-identifiers; unsafe when it is known.

Table 7 of "Privacy Streamliner". It is here to be compared with: who knows it and everybody's
quasi-identifiers can rule out every table that it would have grouped otherwise. Four people of
ranks 1 to 4 with values a, a, b, c: the groups {1, 3}: ab and {2, 4}: ac come from one table only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.anonymizers.streamliner_deal import Colours
from foreknow.anonymizers.streamliner_plan import Plan
from foreknow.errors import NoSafeRelease
from foreknow.microdata import Attribute
from foreknow.sparse import IntArray

# People at a time.
_BLOCK = 1 << 16
# Kinds of groups whose distance from somebody who is left over is looked at.
_NEAR = 4096


@dataclass(frozen=True, eq=False)
class Runs:
    """People of one colour and one weighted rank, by colour and then by rank.

    Attributes
    ----------
    colours, ranks, sizes : int64 arrays, shape (runs,)
    """

    colours: IntArray
    ranks: IntArray
    sizes: IntArray


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Groups of the same colours and ranks.

    Attributes
    ----------
    colours, ranks : int64 arrays, shape (kinds, l)
    sizes : int64 array, shape (kinds,)
        How many such groups there are.
    """

    colours: IntArray
    ranks: IntArray
    sizes: IntArray


def plan_gda(runs: Runs, values: Sequence[Any], l: int) -> Plan:  # noqa: E741
    """Plan the groups of GDA.

    Each person of the largest colour, in order of rank, takes the first of those ``l - 1`` colours
    whose first is nearest (equally near ones by colour); when that colour is used up, the colour
    that is largest then follows, until fewer than ``l`` are left. Who is left over joins, colour by
    colour, the group without their colour that is nearest on average. Where very many groups
    differ, only some thousands around the same rank are looked at.

    People of the same colour and rank are planned for together, as long as nothing changes.

    Parameters
    ----------
    runs : Runs
    values : sequence
        The sensitive value of each colour, for the message.
    l : int

    Raises
    ------
    NoSafeRelease
        GDA can be stuck: somebody is left over whose colour is in every group.

    Examples
    --------
    >>> runs = Runs(np.array([0, 0, 1, 2]), np.array([1, 2, 3, 4]), np.array([1, 1, 1, 1]))
    >>> plan_gda(runs, "abc", 2).slots.tolist()
    [[0, 1], [0, 2]]
    """
    kinds, left = _draw(runs, len(values), l)
    dtype = np.min_scalar_type(max(len(values) - 1, 0))
    slots = np.repeat(kinds.colours.astype(dtype), kinds.sizes, axis=0)
    return Plan(slots, _join(kinds, runs, left, values))


def by_rank(
    codes: NDArray[Any],
    n_colours: int,
    attributes: Sequence[Attribute],
    weights: Mapping[str, int],
    random: np.random.Generator,
) -> tuple[Runs, Colours]:
    """Sort people by colour and weighted rank; equal ones by lot.

    The rank of a value is its place in the attribute's order, from 1; a person's weighted rank is
    the sum over the attributes, each times its weight, 1 where none is given.
    """

    def ranks_of(block: slice) -> IntArray:
        total = np.zeros(len(codes[block]), dtype=np.int64)
        for attribute in attributes:
            rank = attribute.codes[block].astype(np.int64) + 1
            total += rank * weights.get(attribute.name, 1)
        return total

    blocks = [slice(start, start + _BLOCK) for start in range(0, len(codes), _BLOCK)]
    ranks = np.empty(0, dtype=np.int64)
    for block in blocks:
        ranks = np.union1d(ranks, ranks_of(block))
    span = n_colours * len(ranks)
    keys = np.empty(len(codes), dtype=np.min_scalar_type(max(span - 1, 0)))
    for block in blocks:
        places = np.searchsorted(ranks, ranks_of(block))
        keys[block] = codes[block].astype(np.int64) * len(ranks) + places
    if span > max(4 * len(codes), 1 << 16):
        found, keys, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        found = found.astype(np.int64)
    else:
        sizes = np.bincount(keys, minlength=span)
        found = np.arange(span)
    colours = Colours.of(keys, sizes)
    colours.shuffle(random)
    starts = np.searchsorted(found // len(ranks), np.arange(n_colours + 1))
    colours = Colours(colours.people, colours.starts[starts])
    held = sizes > 0
    found, sizes = found[held], sizes[held]
    return Runs(found // len(ranks), ranks[found % len(ranks)], sizes), colours


def _draw(runs: Runs, n_colours: int, l: int) -> tuple[_Kinds, IntArray]:  # noqa: E741
    """Make groups until fewer than l colours are left; also what is left of each run."""
    ends = np.searchsorted(runs.colours, np.arange(n_colours), "right")
    at = np.searchsorted(runs.colours, np.arange(n_colours), "left")
    left = runs.sizes.copy()
    total = np.bincount(runs.colours, weights=runs.sizes, minlength=n_colours).astype(np.int64)
    far = np.iinfo(np.int64).max
    # The rank of the first of each colour; a colour that is used up is infinitely far.
    gone = total == 0
    first = np.zeros(n_colours, dtype=np.int64)
    first[~gone] = runs.ranks[at[~gone]]
    n_left = int((~gone).sum())
    colours, ranks, sizes = [], [], []
    own = -1
    while n_left >= l:
        if own < 0 or not total[own]:
            own = int(np.argmax(total))
        distance = np.abs(first - first[own])
        distance[gone] = far
        distance[own] = -1
        chosen = np.argsort(distance, kind="stable")[:l]
        number = int(left[at[chosen]].min())
        colours.append(chosen)
        ranks.append(first[chosen])
        sizes.append(number)
        left[at[chosen]] -= number
        total[chosen] -= number
        for colour in chosen[left[at[chosen]] == 0].tolist():
            at[colour] += 1
            if at[colour] < ends[colour]:
                first[colour] = runs.ranks[at[colour]]
            else:
                at[colour] -= 1
                gone[colour] = True
                n_left -= 1
    found = _Kinds(
        np.array(colours, dtype=np.int64).reshape(-1, l),
        np.array(ranks, dtype=np.int64).reshape(-1, l),
        np.array(sizes, dtype=np.int64),
    )
    return found, left


def _join(kinds: _Kinds, runs: Runs, left: IntArray, values: Sequence[Any]) -> IntArray:
    """Give everybody who is left over the nearest group without their colour."""
    starts = np.cumsum(kinds.sizes) - kinds.sizes
    centres = np.median(kinds.ranks, axis=1)
    late = [np.empty((0, 2), dtype=np.int64)]
    for colour in np.unique(runs.colours[left > 0]).tolist():
        free = np.flatnonzero(~(kinds.colours == colour).any(axis=1))
        free = free[np.argsort(centres[free], kind="stable")]
        room = kinds.sizes[free].copy()
        for run in np.flatnonzero((runs.colours == colour) & (left > 0)).tolist():
            rank, people = int(runs.ranks[run]), int(left[run])
            while people:
                if not len(free):
                    raise NoSafeRelease(
                        f"GDA is stuck: {people} people with {values[colour]!r} are left over, and "
                        "every group holds that value already. A safe release may still exist; "
                        "try variant='rda'"
                    )
                place = int(np.searchsorted(centres[free], rank))
                begin = min(max(place - _NEAR // 2, 0), max(len(free) - _NEAR, 0))
                near = slice(begin, begin + _NEAR)
                distances = np.abs(kinds.ranks[free[near]] - rank).mean(axis=1)
                by_distance = begin + np.argsort(distances, kind="stable")
                before = np.cumsum(room[by_distance]) - room[by_distance]
                takes = np.clip(people - before, 0, room[by_distance])
                used = by_distance[takes > 0]
                takes = takes[takes > 0]
                groups = [
                    starts[kind] + kinds.sizes[kind] - spare + np.arange(take)
                    for kind, spare, take in zip(free[used], room[used], takes, strict=True)
                ]
                found = np.concatenate(groups)
                late.append(np.stack([np.full(len(found), colour), found], axis=1))
                room[used] -= takes
                people -= len(found)
                if (room[used] == 0).any():
                    free, room = free[room > 0], room[room > 0]
    return np.concatenate(late)
