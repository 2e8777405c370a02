"""The plan of RDA: how many people of which colour go into which group, from counts alone.

A colour is the set of people who share a sensitive value ("Privacy Streamliner", section 2.1).
The plan is made from the sizes of the colours and nothing else; who of a colour takes which of
its places is decided afterwards, by lot (`foreknow.methods.streamliner.rda`). That is what
makes RDA safe against an adversary who knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.sparse import IntArray
from foreknow.errors import InternalError


@dataclass(frozen=True, eq=False)
class Plan:
    """Groups of colours.

    Attributes
    ----------
    slots : integer array, shape (groups, l)
        The colours of each group, all different.
    late : int64 array, shape (people left over, 2)
        The colour of everybody who is left over, and the group that they join.
    """

    slots: NDArray[Any]
    late: IntArray

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.slots)


def plan_rda(sizes: IntArray, l: int) -> Plan:  # noqa: E741
    """Plan the groups of RDA (table 6 of the paper).

    The largest colour gives one person to each group until it is used up; the other ``l - 1``
    people come from the colours that are largest then. Equal colours take turns, beginning with
    the last of them. When fewer than ``l`` colours are left, each person who is left over joins a
    smallest group without their colour.

    Long stretches in which the same colours are drawn, or equal colours take turns, are planned
    at once; so the time is linear in the number of people whatever the number of colours, and
    hardly depends on it where the colours are few.

    Parameters
    ----------
    sizes : int64 array, shape (colours,)
    l : int
        At most the number of people divided by the largest size: the table must be l-eligible.

    Examples
    --------
    >>> plan_rda(np.array([1, 3, 2]), 2).slots.tolist()
    [[1, 2], [1, 0], [1, 2]]
    >>> plan_rda(np.array([1, 1, 1]), 2).late
    array([[2, 0]])
    """
    largest_first = np.argsort(-sizes, kind="stable")
    drawing = _Drawing(largest_first, sizes[largest_first], l)
    drawing.run()
    slots = drawing.slots[: drawing.done]
    return Plan(slots, _join(slots, drawing.rest()))


class _Drawing:
    """The colours while people are drawn from them.

    Colours from `first` on are kept in order of size: `less[i]` is minus the size of the i-th.
    The one at `first` is being used up and may be smaller than the next ones.
    """

    def __init__(self, order: IntArray, sizes: IntArray, l: int) -> None:  # noqa: E741
        self.l = l
        self.order = order.astype(np.min_scalar_type(max(len(order) - 1, 0)))
        self.less = -sizes
        self.first = 0
        self.slots = np.empty((int(sizes.sum()) // l, l), dtype=self.order.dtype)
        self.done = 0

    def run(self) -> None:
        """Draw while there are at least l colours."""
        while self._enough() and not self._singles():
            while self.less[self.first] and self._enough():
                self._draw()
            if not self.less[self.first]:
                self.first += 1

    def rest(self) -> list[int]:
        """The colour of everybody who is left over."""
        return [
            int(self.order[i])
            for i in range(self.first, self._end())
            for _ in range(-int(self.less[i]))
        ]

    def _end(self) -> int:
        """Where the colours end that are not used up."""
        if self.first + 1 >= len(self.less):
            return len(self.less)
        others = self.less[self.first + 1 :]
        return self.first + 1 + int(np.searchsorted(others, 0))

    def _enough(self) -> bool:
        place = self.first + self.l - 1
        return place < len(self.less) and bool(self.less[place])

    def _singles(self) -> bool:
        """Plan the rest at once if every colour has one person left."""
        if self.less[self.first] != -1:
            return False
        end = self._end()
        groups = (end - self.first) // self.l
        upto = self.first + groups * self.l
        rows = self.order[self.first : upto].reshape(groups, self.l)
        self.slots[self.done : self.done + groups] = rows
        self.less[self.first : upto] = 0
        self.done += groups
        self.first = upto
        return True

    def _draw(self) -> None:
        """Fill as many groups as can be filled in the same way."""
        begin, need = self.first + 1, self.l - 1
        if not need:
            self._fill(-int(self.less[self.first]), begin, self.order[:0][None])
            return
        size = -int(self.less[begin + need - 1])
        turns = max(
            (self._turns(begin, need, top) for top in (size, size + 1)),
            key=lambda turns: turns.rounds * turns.cycle,
        )
        if turns.rounds:
            equal = turns.high - turns.low
            members = turns.low + np.arange(turns.cycle * turns.turn) % equal
            pattern = self.order[members].reshape(turns.cycle, turns.turn)
            self._fill(turns.rounds, turns.low, pattern)
            self.less[turns.low : turns.high] += turns.rounds * turns.turn * turns.cycle // equal
            return
        # Less than a whole cycle: from the last of the equal colours on, which keeps the order.
        low, high = self._range(begin, size, size)
        turn = need - (low - begin)
        groups = min((high - low) // turn, -int(self.less[self.first]))
        if low > begin:
            groups = min(groups, -int(self.less[low - 1]) - size)
        drawn = slice(high - groups * turn, high)
        self._fill(1, low, self.order[drawn].reshape(groups, turn))
        self.less[drawn] += 1

    def _range(self, begin: int, most: int, least: int) -> tuple[int, int]:
        """Where the colours of some sizes are."""
        others = self.less[begin:]
        low = begin + int(np.searchsorted(others, -most, "left"))
        return low, begin + int(np.searchsorted(others, -least, "right"))

    def _turns(self, begin: int, need: int, top: int) -> _Turns:
        """How often colours of two neighbouring sizes can take turns until something else happens.

        After a whole cycle each of them is smaller by the same amount. All larger colours must
        stay at least as large as they are; all smaller ones at most as large; the colour that is
        being used up must suffice.
        """
        low, high = self._range(begin, top, top - 1)
        equal, turn = high - low, need - (low - begin)
        if not 0 < turn <= equal:
            return _Turns(0, 0, 0, 0, 0)
        common = gcd(turn, equal)
        cycle = equal // common
        least = -int(self.less[high - 1])
        below = -int(self.less[high]) if high < len(self.less) else 0
        rounds = min(-int(self.less[self.first]) // cycle, (least - below) * common // turn)
        if turn < equal and low > begin:
            above = -int(self.less[low - 1]) - top
            rounds = min(rounds, above * common // (equal - turn))
        return _Turns(low, high, turn, cycle, rounds)

    def _fill(self, rounds: int, low: int, pattern: NDArray[Any]) -> None:
        """Write groups: the colour in use, all larger ones, and the equal ones by turns."""
        groups = rounds * len(pattern)
        rows = self.slots[self.done : self.done + groups].reshape(rounds, len(pattern), self.l)
        larger = slice(self.first + 1, low)
        rows[:, :, 0] = self.order[self.first]
        rows[:, :, 1 : low - self.first] = self.order[larger]
        rows[:, :, low - self.first :] = pattern
        self.less[self.first] += groups
        self.less[larger] += groups
        self.done += groups


@dataclass(frozen=True)
class _Turns:
    """Colours ``low:high`` take turns: `turn` of them per group, `rounds` times `cycle` groups."""

    low: int
    high: int
    turn: int
    cycle: int
    rounds: int


def _join(slots: NDArray[Any], rest: list[int]) -> IntArray:
    """Give everybody who is left over a smallest group without their colour."""
    late: list[tuple[int, int]] = []
    joined = np.zeros(len(slots) if rest else 0, dtype=np.int64)
    for colour in rest:
        open_to = ~(slots == colour).any(axis=1)
        open_to[[group for other, group in late if other == colour]] = False
        if not open_to.any():
            raise InternalError("RDA found no group for somebody who was left over")
        group = int(np.argmin(np.where(open_to, joined, np.iinfo(np.int64).max)))
        joined[group] += 1
        late.append((colour, group))
    return np.array(late, dtype=np.int64).reshape(-1, 2)


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
    >>> from foreknow.methods.streamliner.rda import plan_rda
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
