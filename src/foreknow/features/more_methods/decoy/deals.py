"""Deals: a group is dealt out, at random, into as many small ones as keep a policy.

How many there are, and how often each value occurs in each, follows from the bag of the group: its
people are ordered by value, the most frequent first, and seated round the groups in turn. Which
people of a value take which of its seats is drawn. So every world of the groups is as likely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, IntArray, order_of
from foreknow.features.more_methods.decoy.draws import shuffled_runs, value_ranks

# Sizes of groups that are tried, smallest first; and how many more where the first does not hold.
_SIZES = np.array([*range(2, 33), *range(34, 65, 3), 72, 80, 96, 128, 192])
# Cells of counts that are handled at once.
_CELLS = 1 << 21

Safe = Callable[[IntArray, IntArray], BoolArray]


def bags_of_groups(
    bags: IntArray, starts: IntArray, n_groups: IntArray, groups: IntArray
) -> NDArray[Any]:
    """The bags of some of the groups that each bag is dealt into; shape (bags, groups, values).

    A bag is how many people have each value. Bag b is dealt into ``n_groups[b]`` groups, of which
    row b of `groups` names some. Seats are numbered round the groups: seat s is in group s modulo
    the number of groups. The holders of value v have the seats from ``starts[b, v]`` on.
    """
    n_dealt, number = n_groups.astype(np.int32)[:, None, None], groups.astype(np.int32)[:, :, None]
    # The numbers up to x that are i modulo m are (x - i) // m + 1: those up to the last seat of a
    # value, less those before its first.
    before_first = starts.astype(np.int32)[:, None, :] - 1 - number
    up_to_last = before_first + bags.astype(np.int32)[:, None, :]
    dealt: NDArray[Any] = up_to_last // n_dealt - before_first // n_dealt
    return dealt


def most_groups(
    bags: IntArray, safe: Safe, is_open: BoolArray, at_most: IntArray | None = None
) -> IntArray:
    """The number of groups into which each bag of values can be dealt so that all are safe; else 1.

    Parameters
    ----------
    bags : integer array, shape (bags, values)
        How many people have each value.
    safe : function of bags and owners
        Says of each owner whether all of its bags are safe together.
    is_open : bool array, shape (bags,)
        The bags to be dealt.
    at_most : integer array, shape (bags,), optional
        The highest number of groups to try.
    """
    people, n_groups = bags.sum(axis=1), np.ones(len(bags), dtype=np.int64)
    waiting = np.flatnonzero(is_open & (people >= 2 * _SIZES[0]))
    if not len(waiting):
        return n_groups
    starts = value_ranks(bags)[1]
    for size in _SIZES.tolist():
        waiting = waiting[people[waiting] >= 2 * size]
        if not len(waiting):
            break
        # Small sizes first: they make the most groups.
        parts = people[waiting] // size
        tried = waiting
        if at_most is not None:
            may_have = parts <= at_most[waiting]
            tried, parts = waiting[may_have], parts[may_have]
        # First judge the first and the last group alone: most sizes fail at these.
        first_and_last = np.stack([np.zeros_like(parts), parts - 1], axis=1)
        outer_bags = bags_of_groups(bags[tried], starts[tried], parts, first_and_last)
        owners = np.repeat(np.arange(len(tried)), 2)
        is_safe = safe(outer_bags.reshape(-1, bags.shape[1]), owners)
        candidates = np.flatnonzero(is_safe)
        is_safe[candidates] = _groups_hold(bags[tried[candidates]], parts[candidates], safe)
        n_groups[tried[is_safe]] = parts[is_safe]
        waiting = waiting[n_groups[waiting] == 1]
    return n_groups


def bags_of_deals(bags: IntArray, n_groups: IntArray) -> tuple[NDArray[Any], IntArray]:
    """The different bags that each bag is dealt into, and the number of the bag each comes from.

    Bag b is dealt into ``n_groups[b]`` groups. From one group to the next, bags differ only where
    the seats of some value begin or end, so the groups at those seats show all different bags.
    """
    starts = value_ranks(bags)[1]
    seat_ends = np.column_stack([starts, bags.sum(axis=1)])
    # All groups, where they are no more than ends; else the groups at which seats end.
    n_checked = np.minimum(n_groups, seat_ends.shape[1])
    owner = np.repeat(np.arange(len(bags)), n_checked)
    # A number from 0 for each group to look at, within its bag.
    position = np.arange(len(owner)) - np.repeat(np.cumsum(n_checked) - n_checked, n_checked)
    has_more_groups = n_groups[owner] > n_checked[owner]
    group_at_end = seat_ends[owner, position] % n_groups[owner]
    group = np.where(has_more_groups, group_at_end, position)
    bags_dealt = bags_of_groups(bags[owner], starts[owner], n_groups[owner], group[:, None])
    return bags_dealt[:, 0], owner


def _groups_hold(bags: IntArray, n_groups: IntArray, safe: Safe) -> BoolArray:
    """True for each deal whose groups are all safe together; a few deals are judged at a time."""
    holds = np.zeros(len(bags), dtype=bool)
    step = max(_CELLS // bags.shape[1] ** 2, 1)
    for start in range(0, len(bags), step):
        block = slice(start, start + step)
        holds[block] = safe(*bags_of_deals(bags[block], n_groups[block]))
    return holds


@dataclass(frozen=True, eq=False)
class Deal:
    """The people of some groups, in the order of the small groups that they are dealt into.

    Attributes
    ----------
    people, group, value : int64 arrays
        Who, of which group, with which value.
    seat : int64 array
        Which of its small groups, from 0.
    """

    people: IntArray
    group: IntArray
    value: IntArray
    seat: IntArray

    @classmethod
    def draw(
        cls,
        group: IntArray,
        value: IntArray,
        bags: IntArray,
        n_parts: IntArray,
        random: np.random.Generator,
    ) -> Deal:
        """Deal the people of each group into small groups, as cards are dealt round a table.

        ``group[p]`` is the group of person p, ``value[p]`` the value. People stand in line by
        value, the most frequent first, and those of one value in random order; each small group
        takes one in turn. ``bags[g]`` is how many people of group g have each value, ``n_parts[g]``
        into how many small groups they are dealt. Groups of one part are left out, and people whose
        group is below 0.
        """
        dealt_people = np.flatnonzero((group >= 0) & (n_parts[group] > 1))
        group_of, n_values = group[dealt_people], bags.shape[1]
        # Half the memory where it will do.
        dtype: type = np.int32 if max(bags.size, len(group)) < 2**31 else np.int64
        sort_key = (group_of * n_values + value[dealt_people]).astype(dtype)
        # The order: by group, there by the rank of the value, there at random.
        sort_key += (value_ranks(bags)[0] - np.arange(n_values)).astype(dtype).reshape(-1)[sort_key]
        order = random.permutation(np.arange(len(dealt_people), dtype=dtype))
        order = order[order_of(sort_key[order])]
        # From here on, arrays follow that order.
        n_people = np.bincount(group_of, minlength=len(n_parts))
        group_of = np.repeat(np.arange(len(n_parts)), n_people)
        starts = (np.cumsum(n_people) - n_people)[group_of]
        # As round a table: in each turn, one person for each of the group's seats.
        turn, seat = np.divmod(np.arange(len(group_of)) - starts, n_parts[group_of])
        # Each group's seats one after the other: the first ones have a person more.
        fewest, n_larger = np.divmod(n_people, n_parts)
        position = starts + seat * fewest[group_of] + np.minimum(seat, n_larger[group_of]) + turn
        people, seats = np.empty((2, len(group_of)), dtype=np.int64)
        people[position], seats[position] = dealt_people[order], seat
        return cls(people, group_of, value[people], seats)

    def of_groups(self, chosen: BoolArray) -> Deal:
        """The deals of some groups; ``chosen[g]`` says whether group g is one of them."""
        is_chosen = chosen[self.group]
        return Deal(
            self.people[is_chosen],
            self.group[is_chosen],
            self.value[is_chosen],
            self.seat[is_chosen],
        )

    def shuffled(
        self, part_of_person: IntArray, n_parts: int, n_values: int, random: np.random.Generator
    ) -> IntArray:
        """How many people of each part have each value if values are dealt at random.

        The values of each small group are shuffled among its people, so that each small group keeps
        its values. `part_of_person` is the part of each person, to which a cut would take them.
        Shape of the result: (parts, values).
        """
        is_first = np.ones(len(self.seat), dtype=bool)
        # Small groups stand one after the other: a new one begins where the seat or the group
        # changes.
        is_first[1:] = (self.seat[1:] != self.seat[:-1]) | (self.group[1:] != self.group[:-1])
        lengths = np.diff(np.flatnonzero(is_first), append=len(is_first))
        # To shuffle the parts is the same as to shuffle the values.
        shuffled_parts = shuffled_runs(part_of_person[self.people], lengths, random)
        counts = np.bincount(shuffled_parts * n_values + self.value, minlength=n_parts * n_values)
        return counts.reshape(n_parts, n_values).astype(np.int64)
