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
from foreknow.methods.decoy.draws import ranks, shuffled_runs

# Sizes of groups that are tried, smallest first; and how many more where the first does not hold.
_SIZES = np.array([*range(2, 33), *range(34, 65, 3), 72, 80, 96, 128, 192])
# Cells of counts that are handled at once.
_CELLS = 1 << 21

Safe = Callable[[IntArray, IntArray], BoolArray]


def bags_of_groups(bags: IntArray, starts: IntArray, many: IntArray, at: IntArray) -> NDArray[Any]:
    """The bags of some groups that each bag is dealt into; (bags, groups `at`, values)."""
    m, i = many.astype(np.int32)[:, None, None], at.astype(np.int32)[:, :, None]
    first = starts.astype(np.int32)[:, None, :] - 1 - i
    found: NDArray[Any] = (first + bags.astype(np.int32)[:, None, :]) // m - first // m
    return found


def most_groups(
    bags: IntArray, safe: Safe, open_: BoolArray, at_most: IntArray | None = None
) -> IntArray:
    """Into how many groups each bag can be dealt so that `safe` holds; 1 where into none.

    `safe(bags, owner)` says of each owner whether all of its bags are safe together. More than
    `at_most` are not tried.
    """
    people, found = bags.sum(axis=1), np.ones(len(bags), dtype=np.int64)
    waiting = np.flatnonzero(open_ & (people >= 2 * _SIZES[0]))
    if not len(waiting):
        return found
    starts = ranks(bags)[1]
    for size in _SIZES.tolist():
        waiting = waiting[people[waiting] >= 2 * size]
        if not len(waiting):
            break
        many = people[waiting] // size
        ask = slice(None) if at_most is None else np.flatnonzero(many <= at_most[waiting])
        ask, many = waiting[ask], many[ask]
        # First by the largest and the smallest: most sizes fail at these.
        two = np.stack([np.zeros_like(many), many - 1], axis=1)
        ends = bags_of_groups(bags[ask], starts[ask], many, two).reshape(-1, bags.shape[1])
        held = safe(ends, np.repeat(np.arange(len(ask)), 2))
        some = np.flatnonzero(held)
        held[some] = _hold(bags[ask[some]], many[some], safe)
        found[ask[held]] = many[held]
        waiting = waiting[found[waiting] == 1]
    return found


def bags_of_deals(bags: IntArray, many: IntArray) -> tuple[NDArray[Any], IntArray]:
    """The different bags that each bag is dealt into, and of which each is.

    From one group to the next, bags differ only where the seats of some value begin or end.
    """
    starts = ranks(bags)[1]
    ends = np.column_stack([starts, bags.sum(axis=1)])
    few = np.minimum(many, ends.shape[1])  # all groups, where they are no more than ends
    owner = np.repeat(np.arange(len(bags)), few)
    at = np.arange(len(owner)) - np.repeat(np.cumsum(few) - few, few)
    at = np.where(many[owner] > few[owner], ends[owner, at] % many[owner], at)
    return bags_of_groups(bags[owner], starts[owner], many[owner], at[:, None])[:, 0], owner


def _hold(bags: IntArray, many: IntArray, safe: Safe) -> BoolArray:
    """Whether all groups of each deal are safe together, some deals at a time."""
    held = np.zeros(len(bags), dtype=bool)
    step = max(_CELLS // bags.shape[1] ** 2, 1)
    for start in range(0, len(bags), step):
        part = slice(start, start + step)
        held[part] = safe(*bags_of_deals(bags[part], many[part]))
    return held


@dataclass(frozen=True, eq=False)
class Deal:
    """People of some groups, in the order of the small groups that they are dealt into.

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
        many: IntArray,
        random: np.random.Generator,
    ) -> Deal:
        """Deal people out whose group is not below 0, into so `many` of each group, if not 1."""
        mine = np.flatnonzero((group >= 0) & (many[group] > 1))
        own, n_values = group[mine], bags.shape[1]
        # Half the memory where it will do.
        kept: type = np.int32 if max(bags.size, len(group)) < 2**31 else np.int64
        key = (own * n_values + value[mine]).astype(kept)
        key += (ranks(bags)[0] - np.arange(n_values)).astype(kept).reshape(-1)[key]
        order = random.permutation(np.arange(len(mine), dtype=kept))
        order = order[order_of(key[order])]
        n_own = np.bincount(own, minlength=len(many))
        own = np.repeat(np.arange(len(many)), n_own)
        starts = (np.cumsum(n_own) - n_own)[own]
        turn, seat = np.divmod(np.arange(len(own)) - starts, many[own])
        # Each group's seats one after the other: the first ones have a person more.
        fewest, more = np.divmod(n_own, many)
        at = starts + seat * fewest[own] + np.minimum(seat, more[own]) + turn
        people, seats = np.empty((2, len(own)), dtype=np.int64)
        people[at], seats[at] = mine[order], seat
        return cls(people, own, value[people], seats)

    def of(self, chosen: BoolArray) -> Deal:
        """Those of some groups."""
        mine = chosen[self.group]
        return Deal(self.people[mine], self.group[mine], self.value[mine], self.seat[mine])

    def shuffled(
        self, part: IntArray, n_parts: int, n_values: int, random: np.random.Generator
    ) -> IntArray:
        """Bags of parts, values being given at random to the people of each small group."""
        new = np.ones(len(self.seat), dtype=bool)
        new[1:] = (self.seat[1:] != self.seat[:-1]) | (self.group[1:] != self.group[:-1])
        lengths = np.diff(np.flatnonzero(new), append=len(new))
        own = shuffled_runs(part[self.people], lengths, random)
        found = np.bincount(own * n_values + self.value, minlength=n_parts * n_values)
        return found.reshape(n_parts, n_values).astype(np.int64)
