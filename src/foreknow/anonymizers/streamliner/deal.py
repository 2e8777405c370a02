"""Dealing people to the places of a plan: everybody of a colour is equally likely to get each.

All that is random in RDA is here. The generator must be secret: who knows its seed can run the
method on every table that agrees with the release, and see which of them leads to it.

Memory: 12 bytes per person beside the table, 8 of which are the result, and some 40 per colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.anonymizers.streamliner.plan import Plan
from foreknow.sparse import IntArray

# People at a time: large enough for NumPy, small enough for a processor's cache.
_BLOCK = 1 << 16
# Colours of up to so many people are shuffled all at once.
_SMALL = 32


@dataclass(eq=False)
class Colours:
    """Everybody's position, colour by colour.

    Attributes
    ----------
    people : integer array, shape (people,)
    starts : int64 array, shape (colours + 1,)
        Colour c is ``people[starts[c]:starts[c + 1]]``.
    """

    people: NDArray[Any]
    starts: IntArray

    @classmethod
    def of(cls, codes: NDArray[Any], sizes: IntArray) -> Colours:
        """Sort people by colour, in linear time.

        Examples
        --------
        >>> Colours.of(np.array([1, 0, 1]), np.array([1, 2])).people
        array([1, 0, 2], dtype=int32)
        """
        starts = np.concatenate(([0], np.cumsum(sizes)))
        people = np.empty(len(codes), dtype=_least_signed(len(codes)))
        cursor = starts[:-1].copy()
        for begin in range(0, len(codes), _BLOCK):
            order, places = _places(codes[begin : begin + _BLOCK], cursor)
            order += begin
            people[places] = order
        return cls(people, starts)

    def shuffle(self, random: np.random.Generator) -> None:
        """Put everybody of each colour into random order."""
        sizes = np.diff(self.starts)
        for colour in np.flatnonzero(sizes > _SMALL).tolist():
            random.shuffle(self.people[self.starts[colour] : self.starts[colour + 1]])
        # Small ones all at once: first places, then second places, ...
        for place in range(min(int(sizes.max(initial=0)), _SMALL) - 1):
            colours = np.flatnonzero((sizes > place + 1) & (sizes <= _SMALL))
            here = self.starts[colours] + place
            other = self.starts[colours] + random.integers(place, sizes[colours])
            self.people[here], self.people[other] = self.people[other], self.people[here]


def deal(plan: Plan, colours: Colours) -> NDArray[Any]:
    """Give the next person of each colour to the next place of that colour.

    Returns
    -------
    integer array, shape (people,)
        Everybody's group.

    Examples
    --------
    >>> from foreknow.anonymizers.streamliner.plan import plan_rda
    >>> colours = Colours.of(np.array([0, 1, 1, 0]), np.array([2, 2]))
    >>> deal(plan_rda(np.array([2, 2]), 2), colours)
    array([0, 0, 1, 1], dtype=int32)
    """
    width = plan.slots.shape[1]
    groups = np.empty(len(colours.people), dtype=_least_signed(plan.n_groups))
    cursor = colours.starts[:-1].copy()
    step = max(_BLOCK // width, 1)
    for begin in range(0, plan.n_groups, step):
        order, places = _places(plan.slots[begin : begin + step].reshape(-1), cursor)
        order //= width
        order += begin
        groups[colours.people[places]] = order
    order, places = _places(plan.late[:, 0], cursor)
    groups[colours.people[places]] = plan.late[order, 1]
    return groups


def _places(codes: NDArray[Any], cursor: IntArray) -> tuple[IntArray, IntArray]:
    """The order by colour of a block, and the place of each in its colour; moves the cursor on."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))[: len(codes)]
    present = ordered[firsts]
    counts = np.diff(firsts, append=len(codes))
    places = np.repeat(cursor[present] - firsts, counts)
    places += np.arange(len(codes))
    cursor[present] += counts
    return order, places


def _least_signed(many: int) -> type[np.signedinteger[Any]]:
    return np.int32 if many < 2**31 else np.int64
