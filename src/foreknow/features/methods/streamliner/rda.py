"""RDA: groups of l people of l colours, planned from the sizes of the colours alone.

A colour is the set of people who share a sensitive value ("Privacy Streamliner", section 2.1). Who
of a colour takes which of its places is drawn at random afterwards. That is what makes RDA safe
against an adversary who knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.errors import InternalError
from foreknow.methods.eligibility import by_value


@dataclass(frozen=True, eq=False)
class Plan:
    """The colours of each group: of its l places, and of those who join it late."""

    slots: NDArray[Any]  # shape (groups, l)
    late: IntArray  # shape (people left over, 2): their colour, and the group that they join

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.slots)


def groups_of_plan(
    plan: Plan, codes: NDArray[Any], sizes: IntArray, random: np.random.Generator
) -> IntArray:
    """Everybody's group, from everybody's colour and the sizes of the colours."""
    return assigned(plan, by_value(codes, sizes, random))


def plan_rda(sizes: IntArray, l: int) -> Plan:
    """Plan the groups of RDA (table 6 of the paper) for an l-eligible table.

    `sizes` is how many people each colour (sensitive value) has. The largest colour gives one
    person to each group until it is used up; the other ``l - 1`` people come from the colours that
    are largest then. Equal colours take turns, beginning with the last of them. When fewer than
    ``l`` colours are left, each person left over joins a smallest group.
    """
    drawing = _Drawing(sizes, l)
    drawing.run()
    slots = drawing.slots[: drawing.done]
    # The colours of the people left over, each as often as it has people.
    remaining = np.repeat(drawing.order[drawing.first :], -drawing.less[drawing.first :])
    return Plan(slots, _join_remaining(slots, remaining.tolist()))


class _Turns(NamedTuple):
    """Groups that take their members by turns from colours of two neighbouring sizes."""

    n_groups: int
    low: int  # the first of these colours
    high: int  # the one after the last
    turn: int  # how many of them each group takes
    cycle: int  # after so many groups, each has had as many turns


class _Drawing:
    """The colours while people are drawn, the largest first.

    `order` has the colours; the other arrays follow it. `less` is minus the number of people that
    each has left, so that it rises, as `np.searchsorted` needs; colours before `first` have nobody
    left. `slots` has the colours of each group, of which `done` are filled.
    """

    def __init__(self, sizes: IntArray, l: int) -> None:
        """Begin with everybody: ``sizes[c]`` people of colour c, the largest colour first."""
        self.l = l
        order = np.argsort(-sizes, kind="stable")
        self.order = order.astype(np.min_scalar_type(max(len(order) - 1, 0)))
        self.less = -sizes[order]
        self.first = 0
        self.slots = np.empty((int(sizes.sum()) // l, l), dtype=self.order.dtype)
        self.done = 0

    def run(self) -> None:
        """Fill groups, always with the largest colours, while l colours have people left.

        ``less`` is minus the number of people that each colour has left, the largest colour first;
        colours before `first` have nobody left.
        """
        while self._enough():
            # The largest colour has one person left, so all have: no more order to keep.
            if self.less[self.first] == -1:
                self._singles()
                return
            while self.less[self.first] and self._enough():
                self._draw()
            if not self.less[self.first]:
                self.first += 1

    def _enough(self) -> bool:
        """True if at least l colours have people left."""
        position = self.first + self.l - 1
        return position < len(self.less) and bool(self.less[position])

    def _singles(self) -> None:
        """Plan the remaining groups at once, when every colour has one person left."""
        groups = int(np.count_nonzero(self.less[self.first :])) // self.l
        positions_drawn = slice(self.first, self.first + groups * self.l)
        self.slots[self.done : self.done + groups] = self.order[positions_drawn].reshape(
            groups, self.l
        )
        self.done += groups
        self.first = positions_drawn.stop

    def _draw(self) -> None:
        """Fill as many groups as can be filled in the same way, from the largest colours.

        The largest colour, at `first`, gives one person to each group, and so do all that are
        larger than the l-th; the other members come by turns from colours about as large as the
        l-th. To draw group by group would be slow, so many groups are written while sizes keep
        their order.
        """
        size = -int(self.less[self.first + self.l - 1])
        # Colours of two neighbouring sizes take turns: try both pairs, and take the one for more
        # groups.
        turns = map(self._turns, (size, size + 1))
        n_groups, low, high, turn, cycle = max(turns, key=itemgetter(0))
        if n_groups:
            members = low + np.arange(cycle * turn) % (high - low)
            self._fill(n_groups // cycle, low, self.order[members].reshape(cycle, turn))
            self.less[low:high] += n_groups * turn // (high - low)
            return
        # Less than a whole cycle: from the last of the equal colours on, which keeps the order.
        low, high, turn = self._between(size, size)
        groups = min((high - low) // turn, -int(self.less[self.first]))
        # Not beyond the point where the next larger colours would be no larger.
        if low > self.first + 1:
            groups = min(groups, -int(self.less[low - 1]) - size)
        positions_drawn = slice(high - groups * turn, high)
        self._fill(1, low, self.order[positions_drawn].reshape(groups, turn))
        self.less[positions_drawn] += 1

    def _between(self, max_size: int, min_size: int) -> tuple[int, int, int]:
        """The positions of other colours of some sizes, and how many of them each group takes.

        Returned are the first position, the one after the last, and that number: the members that
        the largest colour and those above `max_size` leave.
        """
        other_sizes = self.less[self.first + 1 :]
        low = np.searchsorted(other_sizes, -max_size, "left")
        high = np.searchsorted(other_sizes, -min_size, "right")
        return self.first + 1 + int(low), self.first + 1 + int(high), self.l - 1 - int(low)

    def _turns(self, top: int) -> _Turns:
        """The groups that can be filled by turns from the colours of sizes `top` and `top` - 1.

        All larger colours must stay at least as large as these, all smaller ones at most as large,
        and the colour that is being used up must suffice: so the order of colours stays. Zero
        groups if none can be filled in this way.
        """
        low, high, turn = self._between(top, top - 1)
        n_colours = high - low
        if not 0 < turn <= n_colours:
            return _Turns(0, 0, 0, 0, 1)
        # In `cycle` groups, each of these colours has its turn equally often: turn / divisor times.
        divisor = gcd(turn, n_colours)
        cycle = n_colours // divisor
        smallest = -int(self.less[high - 1])
        size_below = -int(self.less[high]) if high < len(self.less) else 0
        # So many cycles: until the leading colour is used up, or the smaller ones are reached.
        rounds = min(
            -int(self.less[self.first]) // cycle, (smallest - size_below) * divisor // turn
        )
        if turn < n_colours and low > self.first + 1:
            # Larger colours are in every group, so the ones by turns come nearer to them.
            n_above = -int(self.less[low - 1]) - top
            rounds = min(rounds, n_above * divisor // (n_colours - turn))
        return _Turns(rounds * cycle, low, high, turn, cycle)

    def _fill(self, rounds: int, low: int, pattern: NDArray[Any]) -> None:
        """Write groups: the colour in use, all larger ones, and the equal ones by turns.

        `pattern` has the colours by turns, a row for each group; it is repeated `rounds` times.
        Larger colours are those from `first` to before position `low`; each gives a person to every
        group.
        """
        groups = rounds * len(pattern)
        rows = self.slots[self.done : self.done + groups].reshape(rounds, len(pattern), self.l)
        rows[:, :, : low - self.first] = self.order[self.first : low]
        rows[:, :, low - self.first :] = pattern
        self.less[self.first : low] += groups
        self.done += groups


def _join_remaining(slots: NDArray[Any], remaining: list[int]) -> IntArray:
    """Let each person who is left over join a smallest group that has nobody of their colour.

    `slots` has the colours of each group, and `remaining` the colours of those left over. Returned
    are pairs of a colour and a group, in the same order.
    """
    joined_late: list[tuple[int, int]] = []
    n_joined = np.zeros(len(slots) if remaining else 0, dtype=np.int64)
    for colour in remaining:
        # Not where the colour is already, nor where somebody of it joined before.
        is_open = ~(slots == colour).any(axis=1)
        is_open[[group for late_colour, group in joined_late if late_colour == colour]] = False
        if not is_open.any():
            raise InternalError("RDA found no group for a person who was left over")
        group = int(np.argmin(np.where(is_open, n_joined, np.iinfo(np.int64).max)))
        n_joined[group] += 1
        joined_late.append((colour, group))
    return np.array(joined_late, dtype=np.int64).reshape(-1, 2)


def assigned(plan: Plan, people: IntArray) -> IntArray:
    """Everybody's group, if people take the places of their colour in turn.

    A plan has the colours of each group's places, and late people as pairs of a colour and a group.
    `people` has the people colour by colour, in the order in which they take places.
    """
    colours = np.concatenate([plan.slots.reshape(-1), plan.late[:, 0]])
    group_of = np.repeat(np.arange(plan.n_groups), plan.slots.shape[1])
    group_of = np.concatenate([group_of, plan.late[:, 1]])
    groups = np.empty(len(people), dtype=np.int64)
    # Sorted by colour, places and people stand in the same order.
    groups[people] = group_of[np.argsort(colours, kind="stable")]
    return groups
