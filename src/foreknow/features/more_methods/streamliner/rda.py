"""RDA: groups of l people of l colours, planned from the sizes of the colours alone.

A colour is the set of people who share a sensitive value ("Privacy Streamliner", section 2.1). Who
of a colour takes which of its places is drawn at random afterwards. That is what makes RDA safe
against an adversary who knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from operator import attrgetter
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
    drawing.fill_groups()
    slots = drawing.slots[: drawing.n_filled]
    # The colours of the people left over, each as often as it has people.
    colours_left, sizes_left = drawing.order[drawing.first :], -drawing.minus_sizes[drawing.first :]
    remaining = np.repeat(colours_left, sizes_left)
    return Plan(slots, _join_remaining(slots, remaining.tolist()))


class _TurnColours(NamedTuple):
    """Colours of about one size, from which each group takes some members by turns."""

    low: int  # the position of the first
    high: int  # the one after the last
    per_group: int  # how many of them each group takes


class _Turns(NamedTuple):
    """Groups that can be filled by turns from colours of two neighbouring sizes."""

    n_groups: int
    colours: _TurnColours
    cycle: int  # after so many groups, each of the colours has had as many turns


class _Drawing:
    """The colours while people are drawn, the largest first.

    `order` has the colours; the other arrays follow it. `minus_sizes` is minus the number of people
    that each has left, so that it rises, as `np.searchsorted` needs; colours before `first` have
    nobody left. `slots` has the colours of each group, of which `n_filled` are filled.
    """

    def __init__(self, sizes: IntArray, l: int) -> None:
        """Begin with everybody: ``sizes[c]`` people of colour c, the largest colour first."""
        self.l = l
        order = np.argsort(-sizes, kind="stable")
        self.order = order.astype(np.min_scalar_type(max(len(order) - 1, 0)))
        self.minus_sizes = -sizes[order]
        self.first = 0
        self.slots = np.empty((int(sizes.sum()) // l, l), dtype=self.order.dtype)
        self.n_filled = 0

    def fill_groups(self) -> None:
        """Fill groups, always with the largest colours, while l colours have people left."""
        while self._has_l_colours():
            # The largest colour has one person left, so all have: no more order to keep.
            if self._size_at(self.first) == 1:
                self._fill_from_singles()
                return
            while self._size_at(self.first) and self._has_l_colours():
                self._fill_some()
            if not self._size_at(self.first):
                self.first += 1

    def _size_at(self, position: int) -> int:
        """How many people the colour at a position has left."""
        return -int(self.minus_sizes[position])

    def _has_l_colours(self) -> bool:
        """True if at least l colours have people left."""
        position = self.first + self.l - 1
        return position < len(self.minus_sizes) and bool(self.minus_sizes[position])

    def _fill_from_singles(self) -> None:
        """Fill the remaining groups at once, when every colour has one person left."""
        n_groups = int(np.count_nonzero(self.minus_sizes[self.first :])) // self.l
        end = self.first + n_groups * self.l
        colours = self.order[self.first : end].reshape(n_groups, self.l)
        self.slots[self.n_filled : self.n_filled + n_groups] = colours
        self.n_filled += n_groups
        self.first = end

    def _fill_some(self) -> None:
        """Fill as many groups as can be filled in the same way, from the largest colours.

        The largest colour, at `first`, gives one person to each group, and so do all that are
        larger than the l-th; the other members come by turns from colours about as large as the
        l-th. To draw group by group would be slow, so many groups are written while sizes keep
        their order.
        """
        size = self._size_at(self.first + self.l - 1)
        # Colours of two neighbouring sizes take turns: try both pairs, and take the one for more
        # groups.
        turns = max(map(self._turns, (size, size + 1)), key=attrgetter("n_groups"))
        if turns.n_groups:
            low, high, per_group = turns.colours
            members = low + np.arange(turns.cycle * per_group) % (high - low)
            pattern = self.order[members].reshape(turns.cycle, per_group)
            self._write(pattern, rounds=turns.n_groups // turns.cycle, low=low)
            self.minus_sizes[low:high] += turns.n_groups * per_group // (high - low)
            return
        # Less than a whole cycle: from the last of the equal colours on, which keeps the order.
        low, high, per_group = self._colours_of_sizes(size, size)
        n_groups = min((high - low) // per_group, self._size_at(self.first))
        # Not beyond the point where the next larger colours would be no larger.
        if low > self.first + 1:
            n_groups = min(n_groups, self._size_at(low - 1) - size)
        drawn = slice(high - n_groups * per_group, high)
        self._write(self.order[drawn].reshape(n_groups, per_group), rounds=1, low=low)
        self.minus_sizes[drawn] += 1

    def _colours_of_sizes(self, min_size: int, max_size: int) -> _TurnColours:
        """The colours of some sizes without the largest one, to be taken by turns.

        Each group takes so many of them as the largest colour and those above `max_size` leave.
        """
        others = self.minus_sizes[self.first + 1 :]
        low = int(np.searchsorted(others, -max_size, "left"))
        high = int(np.searchsorted(others, -min_size, "right"))
        start = self.first + 1
        return _TurnColours(start + low, start + high, per_group=self.l - 1 - low)

    def _turns(self, top: int) -> _Turns:
        """The groups that can be filled by turns from the colours of sizes `top` and `top` - 1.

        All larger colours must stay at least as large as these, all smaller ones at most as large,
        and the colour that is being used up must suffice: so the order of colours stays. Zero
        groups if none can be filled in this way.
        """
        colours = self._colours_of_sizes(top - 1, top)
        low, high, per_group = colours
        n_colours = high - low
        if not 0 < per_group <= n_colours:
            return _Turns(n_groups=0, colours=colours, cycle=1)
        # In `cycle` groups, each of these colours has `per_group` / `divisor` turns.
        divisor = gcd(per_group, n_colours)
        cycle = n_colours // divisor
        size_below = self._size_at(high) if high < len(self.minus_sizes) else 0
        # So many cycles: until the leading colour is used up, or the smaller ones are reached.
        n_cycles = min(
            self._size_at(self.first) // cycle,
            (self._size_at(high - 1) - size_below) * divisor // per_group,
        )
        if per_group < n_colours and low > self.first + 1:
            # Larger colours are in every group, so the ones by turns come nearer to them.
            lead = self._size_at(low - 1) - top
            n_cycles = min(n_cycles, lead * divisor // (n_colours - per_group))
        return _Turns(n_cycles * cycle, colours, cycle)

    def _write(self, pattern: NDArray[Any], *, rounds: int, low: int) -> None:
        """Write groups: the colour in use, all larger ones, and those that are taken by turns.

        `pattern` has the colours by turns, a row for each group; it is repeated `rounds` times.
        Larger colours are those from `first` to before position `low`; each gives a person to every
        group.
        """
        n_groups = rounds * len(pattern)
        rows = self.slots[self.n_filled : self.n_filled + n_groups]
        rows = rows.reshape(rounds, len(pattern), self.l)
        rows[:, :, : low - self.first] = self.order[self.first : low]
        rows[:, :, low - self.first :] = pattern
        self.minus_sizes[self.first : low] += n_groups
        self.n_filled += n_groups


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
