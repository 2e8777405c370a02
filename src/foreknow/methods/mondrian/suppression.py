"""Suppression: some people join one group that keeps nothing, where that gains more than it costs.

The groups that a search ended with are cut once more. A side that is not safe by itself is not a
group; its people are suppressed instead. What a cut gains is by how much it lowers the normalized
certainty penalty (NCP) of its people, of whom those who are suppressed lose everything. The cuts
that gain most for each person who is suppressed come first, and the policy's ledger accepts them
with the suppressed people as one group, which is a group of the release like any other. Where
that is not safe, whole groups join it that lose least by it, while all together gain. What is kept
is divided further, as in the search before.

With local suppression, the suppressed people are divided in the same way. Then each loses less than
everything (see `foreknow.methods.mondrian.local_suppression`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.methods.mondrian.cuts import Cuts, outlying_cuts, widths
from foreknow.methods.mondrian.levels import Choice, Level, Ranking
from foreknow.methods.points import Points
from foreknow.policy.ledger import PolicyLedger

_log = logging.getLogger(__name__)
# How many sets of cuts are tried with the suppressed people of a round.
_TRIES = 100


class Suppression:
    """Groups of points, of which up to `limit` people are suppressed, each perhaps with a plan.

    What a suppressed person loses is taken to be this share of everything, `lost`. A plan is a cut
    of the group of which some sides are suppressed. `_merit` is what it gains for each suppressed
    person (-inf without a plan), `_people` how many it suppresses, and `_side` the side that each
    point goes to, -1 if it is suppressed. `out` is True for points that are suppressed already.
    """

    def __init__(
        self,
        points: Points,
        microdata: Microdata,
        choice: Choice,
        groups: IntArray,
        limit: int,
        lost: float = 1.0,
    ) -> None:
        """Begin with groups of which nobody is suppressed; at most `limit` people may be."""
        self._points, self._microdata, self._choice, self._limit = points, microdata, choice, limit
        self._all = Level(points, microdata, choice)
        attributes, weights = microdata.attributes, choice.weights
        self._weights = np.ones(len(attributes)) if weights is None else weights
        # A column of one value is published of everybody; nothing of it is lost.
        self._columns = float(self._weights[[len(a.domain) > 1 for a in attributes]].sum()) * lost
        self._groups, self.out = groups.copy(), np.zeros(len(points), dtype=bool)
        self._side = np.full(len(points), -1, dtype=np.int64)
        n_groups = int(groups.max()) + 1
        self._merit, self._people = np.full(n_groups, -np.inf), np.zeros(n_groups, dtype=np.int64)
        self._loss = np.zeros(n_groups)  # of each person, if the whole group is suppressed

    @property
    def groups(self) -> IntArray:
        """The group of each point, from 0; suppressed people are the last one."""
        last = len(self._merit)
        _, numbered = np.unique(np.where(self.out, last, self._groups), return_inverse=True)
        return numbered.reshape(-1).astype(np.int64)

    @property
    def n_people(self) -> int:
        """How many people are suppressed."""
        return int(self._points.weights[self.out].sum())

    def search(self, ledger: PolicyLedger) -> None:
        """Suppress people while that gains something, and divide what is left of their groups.

        If a group that covers every column cannot be divided or suppressed, nobody is suppressed.
        """
        before, everybody = self._groups.copy(), np.ones(len(self.out), dtype=bool)
        # A group that covers every column is published as suppressed people are, and a reader
        # would take both for one. So it is cut first, or it is that of suppressed people.
        covers_all = self._in_covering_groups()
        if covers_all.any() and int(self._points.weights[covers_all].sum()) <= self._limit:
            self.out = covers_all
        elif covers_all.any():
            self._suppress_in_rounds(covers_all, ledger)
            if self._in_covering_groups().any():
                self._groups, self.out = before, ~everybody
                return
        self._merit[:] = -np.inf
        self._suppress_in_rounds(~self.out, ledger)
        _log.info("%d people are suppressed", self.n_people)

    def _suppress_in_rounds(self, changed: NDArray[np.bool_], ledger: PolicyLedger) -> None:
        """Suppress people in rounds, until nothing is gained or `limit` is reached.

        In each round, cuts are planned for the groups of the `changed` points, and the best plans
        are carried out.
        """
        while self.n_people < self._limit:
            if changed.any():
                self._plan_cuts(changed, ledger)
            chosen = self._best_plans()
            if not len(chosen):
                return
            changed = self._carry_out(chosen, ledger)
            self._divide(changed, ledger)

    def divided(self, ledger: PolicyLedger) -> IntArray:
        """The group of each point, if suppressed people are divided as far as the policy allows."""
        groups = self.groups
        level = Level(self._points, self._microdata, self._choice, groups).keep_only(self.out)
        while level.n_groups:
            level.divide(ledger)
        groups[self.out] = groups.max() + level.final[self.out]
        return groups

    def _level(self, is_included: NDArray[np.bool_]) -> Level:
        """The groups of some points, and no others."""
        return Level(self._points, self._microdata, self._choice, self._groups).keep_only(
            is_included
        )

    def _divide(self, changed: NDArray[np.bool_], ledger: PolicyLedger) -> None:
        """Divide groups as far as the policy allows."""
        if not changed.any():
            return
        level = self._level(changed)
        while level.n_groups:
            level.divide(ledger)
        self._groups[changed] = self._make_room(level.n_final) + level.final[changed]

    def _make_room(self, n_groups: int) -> int:
        """Make room for the plans of more groups; the number of the first."""
        first = len(self._merit)
        self._merit = np.append(self._merit, np.full(n_groups, -np.inf))
        self._people = np.append(self._people, np.zeros(n_groups, dtype=np.int64))
        self._loss = np.append(self._loss, np.zeros(n_groups))
        return first

    # ---- plans ----------------------------------------------------------------------------

    def _widths(
        self, codes: Sequence[NDArray[Any]], groups: IntArray, n_groups: int
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The NCP of each group over all columns, weighted; and whether it covers every column."""
        total, covers_all = np.zeros(n_groups), np.ones(n_groups, dtype=bool)
        columns = zip(self._microdata.attributes, codes, self._weights, strict=True)
        for attribute, column_codes, weight in columns:
            width, covers = widths(attribute, column_codes, groups, n_groups)
            total, covers_all = total + weight * width, covers_all & covers
        return total, covers_all

    def _in_covering_groups(self) -> NDArray[np.bool_]:
        """True for each point that is not suppressed, in a group that covers every column."""
        level = self._level(~self.out)
        group_covers_all = self._widths(level.rows.codes, level.group, level.n_groups)[1]
        covers_all = np.zeros(len(self.out), dtype=bool)
        covers_all[level.rows.number] = group_covers_all[level.group]
        return covers_all

    def _plan_cuts(self, changed: NDArray[np.bool_], ledger: PolicyLedger) -> None:
        """Plan, for each group of the `changed` points, the cut that gains most.

        A cut gains by how much it lowers the loss of the group's people, for each person whom it
        suppresses: those of the sides (children) that are not safe by themselves. It replaces the
        plan that the group has if it gains more. A plan is the gain, how many people it suppresses,
        and for each point of the group the side that it goes to, -1 if it is suppressed.
        """
        level, may_leave = self._level(changed), self._limit - self.n_people
        people = _sums(level.group, level.rows.people, level.n_groups)
        width = self._widths(level.rows.codes, level.group, level.n_groups)[0]
        group_number = np.zeros(level.n_groups, dtype=np.int64)
        group_number[level.group] = self._groups[level.rows.number]
        loss, most_cuts = self._columns - width, self._choice.cuts
        self._loss[group_number] = loss
        cuts_of_columns = list[Cuts]()
        for attribute, codes, weight in zip(
            level.attributes, level.rows.codes, self._weights, strict=True
        ):
            cuts = outlying_cuts(
                attribute,
                codes,
                level.group,
                level.rows.people,
                loss=loss / weight,
                n_candidates=most_cuts,
                room=may_leave,
            )
            cuts_of_columns.append(cuts.times(weight))
        ranking = Ranking.of(cuts_of_columns)
        for turn in range(min(ranking.turns, most_cuts)):
            cut_groups = np.flatnonzero(ranking.has(turn))
            if not len(cut_groups):
                break
            children = level.children(ranking, turn, cut_groups)
            rows, child, owner = children
            child_width, covers_all = self._widths(rows.codes, child, len(owner))
            # People of a child that is not safe alone are suppressed; so are those of a child that
            # covers every column, since a reader would take it for the suppressed people.
            kept_of_child = _sums(child, rows.people, len(owner))
            kept_of_child[covers_all | ~level.safe_alone(ledger, children)] = 0
            kept_people = _sums(owner, kept_of_child, len(cut_groups))
            n_suppressed = people[cut_groups] - kept_people
            lost_before = people[cut_groups] * width[cut_groups]
            lost_by_kept = _sums(owner, kept_of_child * child_width, len(cut_groups))
            gain = lost_before - lost_by_kept - n_suppressed * self._columns
            is_possible = (kept_people > 0) & (n_suppressed <= may_leave) & (gain > 0)
            # The gain for each suppressed person; a plan that suppresses nobody counts double.
            merit = np.where(is_possible, gain / np.maximum(n_suppressed, 0.5), -np.inf)
            better = merit > self._merit[group_number[cut_groups]]
            self._merit[group_number[cut_groups[better]]] = merit[better]
            self._people[group_number[cut_groups[better]]] = n_suppressed[better]
            # The sides that the points of these groups would go to.
            inside = better[owner[child]]
            children_inside = child[inside]
            child_number = children_inside - np.searchsorted(owner, owner[children_inside])
            is_kept = kept_of_child[children_inside] > 0
            self._side[rows.number[inside]] = np.where(is_kept, child_number, -1)

    def _best_plans(self) -> IntArray:
        """The groups with the best plans, which suppress at most half of those who still may be.

        In the first round, when nobody is suppressed yet, they may suppress all of these.
        """
        room = self._limit - self.n_people
        most_people = (room + 1) // 2 if self.out.any() else room
        self._merit[self._people > room] = -np.inf
        order = np.argsort(-self._merit, kind="stable")[: np.count_nonzero(self._merit > -np.inf)]
        allowed = np.cumsum(self._people[order]) <= most_people
        return np.sort(order[: max(1, int(np.count_nonzero(allowed)))])

    # ---- carrying out ---------------------------------------------------------------------

    def _carry_out(self, chosen: IntArray, ledger: PolicyLedger) -> NDArray[np.bool_]:
        """Carry out the plans of the `chosen` groups that the ledger accepts.

        Other groups may join the suppressed people, so that these are safe. Returned is a mask of
        the points that are in new groups now, which may be divided further.
        """
        joining = self._groups_that_may_join(chosen)
        side = np.where(np.isin(self._groups, joining), -1, self._side)
        groups = np.append(chosen, joining)
        moves = _PlannedMoves.counted(self._all, groups, self._groups, side, self.out)
        order = np.argsort(-self._merit[chosen], kind="stable")
        self._merit[chosen] = -np.inf
        accepted = np.zeros(len(groups), dtype=bool)
        # All plans at once, with no group that joins, with one, two, four and so on.
        n_to_try = [0, *(1 << np.arange(len(joining).bit_length())).tolist()]
        for n_joining in n_to_try:
            plans = np.append(order, np.arange(len(chosen), len(groups))[:n_joining])
            if moves.carry_out_if_accepted(plans, ledger):
                accepted[plans] = True
                break
        # If none of that is accepted: each half of the plans, their halves, and so on.
        waiting, tries = [] if accepted.any() else [*np.array_split(order, 2)], len(n_to_try)
        while waiting and tries < _TRIES:
            plans, tries = waiting.pop(), tries + 1
            if len(plans) and moves.carry_out_if_accepted(plans, ledger):
                accepted[plans] = True
            elif len(plans) > 1:
                middle = len(plans) // 2
                waiting += [plans[middle:], plans[:middle]]
        moved = np.isin(self._groups, groups[accepted]) & ~self.out
        self._merit[groups[accepted]] = -np.inf
        self.out |= moved & (side < 0)
        changed = moved & (side >= 0)
        if changed.any():
            keys = np.stack((self._groups[changed], self._side[changed]))
            _, numbered = np.unique(keys, axis=1, return_inverse=True)
            new = numbered.reshape(-1)
            self._groups[changed] = self._make_room(int(new.max()) + 1) + new
        return changed

    def _groups_that_may_join(self, chosen: IntArray) -> IntArray:
        """Whole groups that might join the suppressed people to make them safe; least loss first.

        `chosen` are the groups with plans that are to be carried out. Only so many groups are named
        as may be suppressed, and as the plans gain more than.
        """
        planned = chosen[self._people[chosen] > 0]
        gain = float((self._merit[planned] * self._people[planned]).sum())
        room = self._limit - self.n_people - int(self._people[planned].sum())
        is_kept = ~self.out & ~np.isin(self._groups, chosen)
        size = _sums(self._groups[is_kept], self._points.weights[is_kept], len(self._merit))
        order = np.argsort(self._loss, kind="stable")
        order = order[size[order] > 0]
        lost = np.cumsum(self._loss[order] * size[order])
        return order[(np.cumsum(size[order]) <= room) & (lost < gain)]


class _PlannedMoves:
    """The groups that planned moves would make, counted once, and the people suppressed so far."""

    def __init__(self, counts: GroupCounts, owner: IntArray, out: NDArray[np.bool_]) -> None:
        self._counts, self._owner, self._out = counts, owner, out
        self._suppressed = owner < 0  # parts that are in the suppressed group by now

    @classmethod
    def counted(
        cls, level: Level, chosen: IntArray, groups: IntArray, side: IntArray, is_suppressed: Any
    ) -> _PlannedMoves:
        """Count people of the chosen groups by the side they would go to, and those suppressed now.

        `side` is the part of its group that each point goes to, or -1 if it is to be suppressed. A
        key is the group and the side; the people suppressed so far have the group -1.
        """
        n_sides = int(side.max(initial=0)) + 2
        number_of_group = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
        number_of_group[chosen] = np.arange(len(chosen))
        chosen_group = np.where(is_suppressed, -1, number_of_group[groups])
        is_counted = is_suppressed | (chosen_group >= 0)
        group_and_side = chosen_group[is_counted] * n_sides + np.where(
            is_suppressed[is_counted], 0, side[is_counted] + 1
        )
        distinct_keys, key_number = np.unique(group_and_side, return_inverse=True)
        part_of_point = np.full(len(groups), -1, dtype=np.int64)
        part_of_point[is_counted] = key_number.reshape(-1)
        counts = level.counts_of(part_of_point, len(distinct_keys))
        return cls(counts, distinct_keys // n_sides, distinct_keys % n_sides == 0)

    def carry_out_if_accepted(self, plans: IntArray, ledger: PolicyLedger) -> bool:
        """Carry out the plans of some groups together if the ledger accepts them; True if it did.

        `plans` are numbers among the groups that were counted. The ledger is asked whether the
        groups that the plans leave, and the suppressed people as one group, may replace the present
        ones.
        """
        of_plans = np.isin(self._owner, plans)
        leaving = of_plans & self._out
        # The suppressed people are judged anew only if more join them.
        used = np.flatnonzero(of_plans | (self._suppressed & leaving.any()))
        is_suppressed = (self._suppressed | leaving)[used]
        n_staying = np.count_nonzero(~is_suppressed)
        into = np.where(is_suppressed, n_staying, np.cumsum(~is_suppressed) - 1)
        parts = self._counts.take(used)
        added, removed = parts.merge(into), None
        if ledger.looks_back or not ledger.monotone:
            _, part_places = np.unique(
                np.where(self._suppressed[used], -1, self._owner[used]), return_inverse=True
            )
            removed = parts.merge(part_places.reshape(-1))
        if not ledger.admits(removed, added):
            return False
        ledger.commit(removed, added)
        self._suppressed |= leaving
        return True


def _sums(groups: IntArray, amounts: NDArray[Any], n: int) -> NDArray[Any]:
    """Sum the amounts of each of `n` groups."""
    return np.bincount(groups, weights=amounts, minlength=n).astype(amounts.dtype)
