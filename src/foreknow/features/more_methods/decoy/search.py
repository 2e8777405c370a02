"""Search: the levels of a top-down search in which a cut is tried once, beside decoys.

All groups of a level are handled at once. What is tried, beside how many decoys, and into how many
groups people are dealt if the cut is refused, follows from quasi-identifiers and from bags of
groups alone, so from what is published.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, IntArray, combine, ranges, starts_of
from foreknow.data.columns.attribute import Attribute
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.features.more_methods.decoy.deals import Deal, bags_of_deals, most_groups
from foreknow.features.more_methods.decoy.draws import UnlikeParts, deal_bags, value_ranks
from foreknow.features.more_methods.decoy.guards import AMOUNTS, DECOYS_IF_INTERACTING, Guards
from foreknow.methods.mondrian.cuts import (
    Cuts,
    counts_of_table,
    cuts_of,
    sides,
    whole_proposals,
)
from foreknow.methods.points import Points
from foreknow.policy.ledger import PolicyEvaluation

_log = logging.getLogger(__name__)
# Chances of being accepted that are told apart. A cut that has the last one is tried, though
# another may have more gain at some risk; one that has not even the first is not.
_CHANCES = (0.15, 0.3, 0.5, 0.8)
# After how many cuts of a group it is asked whether one of them will do; how many are considered.
_TURNS, _MOST = (1, 3, 7), 15
# Up to how many people are dealt out where a cut is refused, and what share of the groups that they
# could be dealt into without a refusal must be left.
_DEALT, _ENOUGH = 4096, 0.75
# Shares that are tried, and how sharply the risk falls if a value may be more frequent in a part.
_TIMES, _SHARPLY = (1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0, 6.0), 0.5
# Cells of counts that are handled at once.
_CELLS = 1 << 19


@dataclass(frozen=True, eq=False)
class TriedCuts:
    """Cuts that are tried, at most one of each group.

    Attributes
    ----------
    group : int64 array
        Which group each is of.
    decoys, n_deals : int64 array
        How many decoys there are, and into how many groups people are dealt if it is refused.
    child : int64 array, shape (points,)
        The part of each point, those of one cut after the other; -1 of other groups.
    owner, people, bags : int64 arrays
        The cut of each part, its people, and how many of them have each value.
    attribute : int64 array
        Along which quasi-identifier each is; -1 where a refusal may well be a decoy's fault.
    """

    group: IntArray
    decoys: IntArray
    n_deals: IntArray
    child: IntArray
    owner: IntArray
    people: IntArray
    bags: IntArray
    attribute: IntArray


class _Parts(NamedTuple):
    """The parts that candidate cuts divide groups into."""

    of_point: IntArray  # (points,): the part of each point
    group: IntArray  # (parts,)
    people: IntArray  # (parts,)


class Decoys(NamedTuple):
    """Decoys of cuts: the same cuts of the same groups, with values dealt out at random."""

    bags: IntArray  # (parts, values): how many people of each part have each value
    owner: IntArray  # (parts,): the decoy that each part belongs to
    cut_of: IntArray  # (decoys,): the cut that each decoy is one of


@dataclass(frozen=True, eq=False)
class Outcome:
    """The tried cuts, the accepted ones, and the deal in case of a refusal.

    One that was not tried tells nothing.
    """

    made: BoolArray
    accepted: BoolArray
    deal: Deal | None = None


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate cuts of all groups of a level, those of one quasi-identifier after another."""

    attributes: Sequence[Attribute]
    gain: NDArray[np.float64]  # (groups, candidates)
    cut_codes: IntArray  # (groups, candidates): where each divides, as in `Cuts`
    attribute: IntArray  # (candidates,): along which quasi-identifier each is

    @classmethod
    def of(cls, attributes: Sequence[Attribute], cuts_by_attribute: list[Cuts]) -> Candidates:
        """Put the cuts of all quasi-identifiers side by side: one column for each candidate."""
        attribute = np.repeat(
            np.arange(len(cuts_by_attribute)), [cuts.gain.shape[1] for cuts in cuts_by_attribute]
        )
        gain = np.hstack([cuts.gain for cuts in cuts_by_attribute])
        return cls(
            attributes, gain, np.hstack([cuts.cut_code for cuts in cuts_by_attribute]), attribute
        )

    def sides(
        self, cut: IntArray, group: IntArray, codes: list[NDArray[Any]], points: IntArray
    ) -> IntArray:
        """The side of each point by the cut of its group, as a number from 0.

        ``cut[g]`` is the candidate for group g; `points` are the numbers of points (distinct
        combinations of quasi-identifiers), `group` the group of each, and `codes` has for each
        column the codes of all points.
        """
        side_of_point = np.zeros(len(points), dtype=np.int64)
        attribute_of_group = self.attribute[cut]  # (groups,)
        cut_code = self.cut_codes[np.arange(len(cut)), cut]
        for number, attribute in enumerate(self.attributes):
            on_attribute = np.flatnonzero((attribute_of_group == number)[group])
            if len(on_attribute):
                side_of_point[on_attribute] = sides(
                    attribute, codes[number][points[on_attribute]], cut_code[group[on_attribute]]
                )
        return side_of_point


@dataclass(eq=False)
class _BestCuts:
    """The cut of each group that promises most so far, among the candidates."""

    cut: IntArray  # (groups,): the candidate; -1 for none
    promise: NDArray[np.float64]  # (groups,): its worth times the chance that it is accepted
    attribute: IntArray  # (groups,): the column whose record its result counts for; -1 for none

    @classmethod
    def none_of(cls, n_groups: int) -> _BestCuts:
        """No cut yet for any group."""
        no_cut, no_attribute = np.full((2, n_groups), -1)
        return cls(no_cut, np.full(n_groups, -np.inf), no_attribute)

    def replace_where_better(
        self, cut: IntArray, promise: NDArray[np.float64], attribute: IntArray
    ) -> None:
        """Take over, for each group, the best of some cuts if it promises more; (groups, cuts)."""
        best = promise.argmax(axis=1)
        best_promise = promise[np.arange(len(promise)), best]
        groups = np.flatnonzero(best_promise > self.promise)
        best = best[groups]
        self.cut[groups] = cut[groups, best]
        self.promise[groups] = promise[groups, best]
        self.attribute[groups] = attribute[groups, best]


Decide = Callable[["Search", TriedCuts], Outcome]
Judge = Callable[[GroupCounts, IntArray], PolicyEvaluation]


class Search:
    """The groups of one level, and the points that belong to them; at first one of everybody.

    Four things are numbered. *People* as in the table; *points*, their distinct combinations of
    quasi-identifiers, of which those of final groups are dropped level by level; *groups* of the
    level, whose points are left; *final* groups, in the order in which they became final. A *cell*
    is a value at a point that is left.
    """

    def __init__(
        self, points: Points, microdata: Microdata, guards: Guards, cuts: int, tries: bool = True
    ) -> None:
        """Begin with one group of everybody.

        Points are the distinct combinations of quasi-identifiers. `guards` judge groups by the
        policy; `cuts` is how many cuts of a group are considered along each column; without
        `tries`, none is.
        """
        self.attributes, self.labels = microdata.attributes, microdata.values
        self.guards, self.cuts, self.tries = guards, cuts, tries
        # Of people: their point (by the number it had at first), value, and place among the groups
        # that their final group was dealt into.
        self.point = points.spread(np.arange(len(points)))
        self.value: IntArray = microdata.sensitive_codes.astype(np.int64)
        self.seat = np.zeros(len(self.point), dtype=np.int64)
        # Of final groups: into how many each was dealt, and whether that is still to be done.
        self.dealt, self.open = np.zeros((2, 0), dtype=np.int64)
        # Of points, all there were: their final group.
        self.final = np.empty(len(points), dtype=np.int64)
        self.n_final, self.n_groups, self.level = 0, 1, 0
        # Of each quasi-identifier, how many cuts were tried that only the true values could refuse,
        # and how many of them were accepted; at first as if one of so many values had failed.
        self._tried = np.array([len(a.domain) + 1.0 for a in self.attributes])
        self._went = self._tried - 1
        # Of points that are left: the number each had at first, its group, codes and people.
        self.index = np.arange(len(points))
        self.node = np.zeros(len(points), dtype=np.int64)
        self.codes, self.weights = points.codes, points.weights
        # Of cells: their point among those left, people and value.
        self._point, self._many = np.repeat(self.index, points.cells), points.times
        self._value = points.values.astype(np.int64)

    def run(self, decide: Decide) -> None:
        """Divide until nothing is left to try."""
        while self.n_groups:
            self.step(decide)

    def step(self, decide: Decide) -> None:
        """Divide the groups of one level."""
        cuts = self.choose_cuts()
        none = np.zeros(0, dtype=bool)
        outcome = decide(self, cuts) if len(cuts.group) else Outcome(none, none)
        self.descend(cuts, outcome)

    def descend(self, cuts: TriedCuts, outcome: Outcome) -> None:
        """Go on with the parts of accepted cuts; the other groups are final, and dealt if refused.

        Notes for every final group into how many it is dealt (1 while that is open), and whether it
        is open; and for each quasi-identifier, how many cuts along it were tried and accepted.
        """
        # A record of each column: cuts that only the true values could refuse, and how many went
        # well.
        tells_of_values = (cuts.attribute >= 0) & outcome.made
        np.add.at(self._tried, cuts.attribute[tells_of_values], 1)
        np.add.at(self._went, cuts.attribute[tells_of_values & outcome.accepted], 1)
        refused = outcome.made & ~outcome.accepted
        # Groups that were not tried are open: they may still be dealt out in the end.
        n_deals, is_open = np.ones((2, self.n_groups), dtype=np.int64)
        n_deals[cuts.group[refused]], is_open[cuts.group[refused]] = cuts.n_deals[refused], 0
        if outcome.deal is not None:
            deal = outcome.deal.of_groups(n_deals > 1)
            self.seat[deal.people] = deal.seat
        is_final = np.ones(self.n_groups, dtype=bool)
        is_final[cuts.group[outcome.accepted]] = False
        self.dealt = np.concatenate([self.dealt, n_deals[is_final]])
        self.open = np.concatenate([self.open, is_open[is_final]])
        self._descend(cuts, outcome.accepted)
        self.level += 1

    def choose_deals(self) -> IntArray:
        """Choose into how many small groups to deal each final group that is open; return those.

        A final group is open if no cut of it was refused: then it may be dealt into as many as are
        safe.
        """
        open_groups = np.flatnonzero(self.open)
        if not len(open_groups):
            return open_groups
        # Open groups are numbered from 0; everybody else is in group -1.
        number_of_group = np.full(self.n_final, -1)
        number_of_group[open_groups] = np.arange(len(open_groups))
        group_of = number_of_group[self.final[self.point]]
        bags = self._bags(group_of, len(open_groups))
        # Groups of one kind have the same answer: work it out once.
        _, kind, forms = self.guards.kinds(bags)
        n_parts = most_groups(forms, self.safe, np.ones(len(forms), dtype=bool))[kind]
        # Each choice was safe by itself; where groups bear on one another, accept them in turn.
        if self.guards.groups_interact:
            step = max(_CELLS // len(self.labels) ** 2, 1)
            for start in range(0, len(bags), step):
                block = slice(start, start + step)
                dealt_bags, owner = bags_of_deals(bags[block], n_parts[block])
                is_safe = self.guards.evaluate(self.counts(dealt_bags), owner).accept_greedily()
                n_parts[block] = np.where(is_safe, n_parts[block], 1)
        self.dealt[open_groups], self.open[:] = n_parts, 0
        return open_groups

    def finish(self, random: np.random.Generator) -> IntArray:
        """Deal the open groups out, and return everybody's group."""
        chosen = np.zeros(self.n_final, dtype=bool)
        chosen[self.choose_deals()] = True
        group_of = self.final[self.point]
        deal = self.draw_deal(np.where(chosen[group_of], group_of, -1), self.dealt, random)
        self.seat[deal.people] = deal.seat
        # Final groups get consecutive numbers, one for each small group that they were dealt into.
        starts = np.cumsum(self.dealt) - self.dealt
        return starts[group_of] + self.seat

    def draw_deal(self, group: IntArray, n_parts: IntArray, random: np.random.Generator) -> Deal:
        """Deal the people of groups out at random; people of group -1 are not dealt."""
        return Deal.draw(group, self.value, self._bags(group, len(n_parts)), n_parts, random)

    def _bags(self, group: IntArray, n_groups: int) -> IntArray:
        """The bags of groups, given the group of each person, or -1."""
        is_in_group, n_values = group >= 0, len(self.labels)
        keys = group[is_in_group] * n_values + self.value[is_in_group]
        counts = np.bincount(keys, minlength=n_groups * n_values)
        return counts.reshape(n_groups, n_values).astype(np.int64)

    def group_of_people(self) -> IntArray:
        """The group of each person at this level; -1 if it is final."""
        group_of_point = np.full(len(self.final), -1)
        group_of_point[self.index] = self.node
        return group_of_point[self.point]

    def part_of_people(self, cuts: TriedCuts) -> IntArray:
        """The part of a cut that each person would be in; -1 without a cut."""
        part_of_point = np.full(len(self.final), -1)
        part_of_point[self.index] = cuts.child
        return part_of_point[self.point]

    def counts(self, bags: IntArray) -> GroupCounts:
        """The counts of groups with these bags."""
        return counts_of_table(self.labels, bags)

    def safe(self, bags: IntArray, owner: IntArray) -> BoolArray:
        """True for each proposal whose groups keep every limit; `owner` has a bag's proposal."""
        return self._safe_proposals(self.guards.evaluate, bags, owner)

    def roughly(self, bags: IntArray, owner: IntArray) -> BoolArray:
        """True for each proposal whose groups keep every limit, a little stricter: an estimate."""
        return self._safe_proposals(self.guards.roughly, bags, owner)

    def safe_if_exchanged(self, bags: IntArray, owner: IntArray) -> BoolArray:
        """True for each decoy that keeps every limit after any `swaps` exchanges of values."""
        return self._safe_proposals(self.guards.exchanged, bags, owner)

    def _safe_proposals(self, judge: Judge, bags: IntArray, owner: IntArray) -> BoolArray:
        """True for each proposal (some groups that are judged together) that is safe.

        ``owner[b]`` is the proposal of bag b. If groups are independent, equal kinds of bags are
        judged once.
        """
        if self.guards.groups_interact:
            return self._measured(judge, bags, owner)
        safe = np.ones(int(owner.max(initial=-1)) + 1, dtype=bool)
        first, kind, forms = self.guards.kinds(bags)
        kind_is_safe = self._measured(judge, forms, np.arange(len(first)))
        safe[owner[~kind_is_safe[kind]]] = False
        return safe

    def _measured(self, judge: Judge, bags: IntArray, owner: IntArray) -> BoolArray:
        """True for each safe proposal; judged are as many bags at a time as memory allows."""
        safe = np.ones(int(owner.max(initial=-1)) + 1, dtype=bool)
        offsets = np.arange(len(bags) + 1) * bags.shape[1]
        for start, stop in whole_proposals(owner, offsets, _CELLS):
            first = owner[start]
            batch_safe = judge(self.counts(bags[start:stop]), owner[start:stop] - first).safe_each()
            safe[first : first + len(batch_safe)] = batch_safe
        return safe

    def drawn_decoys(
        self, cuts: TriedCuts, chosen: IntArray, n_decoys: IntArray, random: np.random.Generator
    ) -> Decoys:
        """Draw decoys of the chosen cuts, ``n_decoys[i]`` of cut ``chosen[i]``.

        A decoy is the same cut of the same group, with the values of its people dealt out at
        random.
        """
        # The parts of the chosen cuts, those of one cut after the other; cuts numbered anew.
        parts = np.flatnonzero(np.isin(cuts.owner, chosen))
        number_of_cut = np.full(len(cuts.group), -1)
        number_of_cut[chosen] = np.arange(len(chosen))
        cut_of_part = number_of_cut[cuts.owner[parts]]
        n_parts_of_cut = np.bincount(cut_of_part, minlength=len(chosen))
        first_part = np.cumsum(n_parts_of_cut) - n_parts_of_cut
        # Each decoy has the parts of its cut.
        cut_of = np.repeat(np.arange(len(chosen)), n_decoys)  # (decoys,)
        places, _ = ranges(first_part[cut_of], first_part[cut_of] + n_parts_of_cut[cut_of])
        part_index = parts[places]
        # From here on, an entry for each part of each decoy.
        owner = np.repeat(np.arange(len(cut_of)), n_parts_of_cut[cut_of])
        # The bag of the group that is cut: all its parts together.
        cut_bags = np.zeros((len(chosen), cuts.bags.shape[1]), dtype=np.int64)
        np.add.at(cut_bags, cut_of_part, cuts.bags[parts])
        decoy_bags = deal_bags(cut_bags[cut_of], cuts.people[part_index], owner, random)
        return Decoys(decoy_bags, owner, chosen[cut_of])

    def decoys(
        self,
        cuts: TriedCuts,
        chosen: IntArray,
        n_decoys: IntArray,
        deal: Deal,
        random: np.random.Generator,
    ) -> Decoys:
        """Draw decoys of the `chosen` cuts, ``n_decoys[i]`` of cut ``chosen[i]``.

        A decoy is the same cut of the same group, with the values of its people dealt out at
        random. Where people are dealt into several small groups if the cut is refused (`deal`),
        values are shuffled within these only, so that each keeps its bag.
        """
        is_whole = cuts.n_deals[chosen] == 1
        # Where a refusal leaves the group whole, all its values are dealt at random.
        drawn = self.drawn_decoys(cuts, chosen[is_whole], n_decoys[is_whole], random)
        all_bags, owners, cuts_of_decoys = [drawn.bags], [drawn.owner], [drawn.cut_of]
        n_drawn = len(drawn.cut_of)
        dealt, n_of_dealt = chosen[~is_whole], n_decoys[~is_whole]
        part_of_person, n_values = self.part_of_people(cuts), len(self.labels)
        decoy_of_group = np.full(self.n_groups, -1)
        # The others keep their small groups: in each turn, values are shuffled within these.
        for turn in range(int(n_of_dealt.max(initial=0))):
            # One decoy more of each cut that needs so many.
            redealt = dealt[n_of_dealt > turn]
            decoy_of_group[:] = -1
            decoy_of_group[cuts.group[redealt]] = np.arange(len(redealt))
            deal_of_redealt = deal.of_groups(decoy_of_group >= 0)
            is_redealt = np.isin(cuts.owner, redealt)  # (parts,)
            parts = np.flatnonzero(is_redealt)
            number_of_part = np.cumsum(is_redealt) - 1
            bags = deal_of_redealt.shuffled(
                number_of_part[part_of_person], len(parts), n_values, random
            )
            all_bags.append(bags)
            owners.append(decoy_of_group[cuts.group[cuts.owner[parts]]] + n_drawn)
            cuts_of_decoys.append(redealt)
            n_drawn += len(redealt)
        return Decoys(
            np.concatenate(all_bags), np.concatenate(owners), np.concatenate(cuts_of_decoys)
        )

    # ---- what is tried -------------------------------------------------------------------------

    def choose_cuts(self) -> TriedCuts:
        """Choose one cut of each group, from what is known of it, and how many decoys it needs.

        Cuts are looked at by falling worth, some turns at a time. The best one promises most: its
        worth times the chance that all its decoys are safe. A group waits no longer once a cut of
        it is as good as sure.
        """
        candidates = self._candidates()
        bags = self.bags_of(self.node, self.n_groups)
        _, kind, forms = self.guards.kinds(bags)  # what is worked out of a form holds for its kind
        room_of_forms, (decoys_of_forms, deals_of_forms) = self._room(forms), self._amounts(forms)
        n_decoys, n_deals = decoys_of_forms[kind], deals_of_forms[kind]
        worth = self._worth(candidates.gain, candidates.attribute, room_of_forms[kind])
        order = np.argsort(-worth, axis=1, kind="stable")[:, :_MOST]  # (groups, candidates)
        # Small groups take more risk: less is lost if a cut of them is refused.
        share = np.bincount(self.node, self.weights, self.n_groups) / len(self.point)
        min_chance = _CHANCES[0] + (_CHANCES[-1] - _CHANCES[0]) * np.sqrt(share)  # (groups,)
        best = _BestCuts.none_of(self.n_groups)
        is_waiting, unlike_parts = n_decoys > 0, UnlikeParts.of(forms)
        points = np.arange(len(self.node))
        for cut in np.split(order, _TURNS, axis=1):  # (groups, turns): whose turn it is in each
            worth_of_cut = np.take_along_axis(worth, cut, axis=1)
            is_asked = is_waiting[:, None] & (worth_of_cut > best.promise[:, None])
            if not is_asked.any():
                break
            parts_by_turn = []
            for asked_groups, candidate in zip(is_asked.T, cut.T, strict=True):
                # Worth falls from turn to turn, so who is asked was asked in the turns before.
                points = points[asked_groups[self.node[points]]]
                parts_by_turn.append(self._divide_points(points, candidates, candidate))
            chance = self._chances_of_acceptance(parts_by_turn, unlike_parts, kind, n_decoys)
            # Cuts with too small a chance are not tried.
            is_promising = is_asked & (chance >= min_chance[:, None])
            promise = np.full(cut.shape, -np.inf)
            promise[is_promising] = worth_of_cut[is_promising] * chance[is_promising]
            # Only the refusal of a cut that was as good as sure says something about its column.
            is_sure = chance >= _CHANCES[-1]
            attribute = np.where(is_sure, candidates.attribute[cut], -1)
            best.replace_where_better(cut, promise, attribute)
            is_waiting &= ~is_sure.any(axis=1)
        return self._cut(candidates, best.cut, n_decoys, n_deals, best.attribute)

    def _candidates(self) -> Candidates:
        """A few cuts of each group along each column: those that divide it most evenly."""
        cuts_of_attributes = []
        for column, codes in zip(self.attributes, self.codes, strict=True):
            cuts = cuts_of(column, codes, self.node, self.weights, self.n_groups, self.cuts)
            cuts_of_attributes.append(cuts)
        return Candidates.of(self.attributes, cuts_of_attributes)

    def _cut(
        self,
        candidates: Candidates,
        cut: IntArray,
        n_decoys: IntArray,
        n_deals: IntArray,
        attribute: IntArray,
    ) -> TriedCuts:
        """Cut each group by the candidate that `cut` names for it; a group of -1 stays whole.

        The other arrays have the fields of `TriedCuts` for every group.
        """
        is_cut = cut >= 0
        points, group = np.flatnonzero(is_cut[self.node]), np.flatnonzero(is_cut)
        part, group_of_part, people = self._divide_points(points, candidates, cut)
        # The part of each point; -1 for points of groups that stay whole.
        child = np.full(len(self.node), -1, dtype=np.int64)
        child[points] = part
        number_of_cut = np.cumsum(is_cut) - 1  # of each group that is cut
        return TriedCuts(
            group=group,
            decoys=n_decoys[group],
            n_deals=n_deals[group],
            child=child,
            owner=number_of_cut[group_of_part],
            people=people,
            bags=self.bags_of(child, len(people)),
            attribute=attribute[group],
        )

    def _worth(
        self, gains: NDArray[np.float64], attribute: IntArray, room: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The expected gain of each cut and of later ones, if it is accepted.

        A cut that goes with the sensitive values fails, and then its group is divided no more. So
        quasi-identifiers of few values, which do so most often, are tried late: when a group is a
        small part of the table, or may be far from what the policy allows.

        `gains` and the result have the shape (groups, candidates); `attribute` is the column of
        each candidate, in ascending order, and `room` of each group what `_room` says.
        """
        if not gains.shape[1]:
            return gains
        starts = np.flatnonzero(np.append(True, attribute[1:] != attribute[:-1]))
        gains = np.where(gains > 0, gains, 0.0)
        no_gain = gains <= 0
        # After this cut, about the best cut along each column can still be made.
        best_by_attribute = np.maximum.reduceat(gains, starts, axis=1)
        later_gain = best_by_attribute.sum(axis=1)
        # The more room, the less likely it is that a cut along a column fails that often failed.
        failure_share = (1 - self._went / self._tried)[attribute]
        trust = 1 - failure_share ** (_SHARPLY * (room[:, None] - 1))
        people = np.bincount(self.node, self.weights, self.n_groups)
        later_gain *= np.sqrt(people / len(self.point))
        return np.where(no_gain, -np.inf, (gains + later_gain[:, None]) * trust)

    def _room(self, bags: IntArray) -> NDArray[np.float64]:
        """For each bag, by how much the share of a value may grow in a part that is safe, about.

        1 if no growth is safe; else the last factor of `_TIMES` up to which all are safe. Tried are
        parts in which every other value, by rank, is more frequent, and the rest less.
        """
        ranks, _ = value_ranks(bags)
        has_odd_rank = ranks % 2 > 0
        highest_times, open_bags = np.ones(len(bags)), np.arange(len(bags))
        for times in _TIMES:
            # Eight times as many people, so that rounding matters little.
            factor = np.where(has_odd_rank[open_bags], 8 / times, 8 * times)
            tilted_bags = np.rint(bags[open_bags] * factor).astype(np.int64)
            open_bags = open_bags[self.roughly(tilted_bags, np.arange(len(open_bags)))]
            highest_times[open_bags] = times
        return highest_times

    def _divide_points(self, points: IntArray, candidates: Candidates, cut: IntArray) -> _Parts:
        """Divide the groups of some points, each by the candidate that `cut` names.

        Parts are numbered in order of group, then of side.
        """
        node = self.node[points]
        side = candidates.sides(cut, node, self.codes, points)
        part, first = combine([node, side], [self.n_groups, int(side.max(initial=0)) + 1])
        people = np.bincount(part, self.weights[points], len(first)).astype(np.int64)
        return _Parts(part, node[first], people)

    def bags_of(self, child: IntArray, n_children: int) -> IntArray:
        """How many people of each part have each value; points of -1 are in none."""
        n_values = len(self.labels)
        keys = (child[self._point] + 1) * n_values + self._value
        counts = np.bincount(keys, self._many, (n_children + 1) * n_values)
        return counts.reshape(-1, n_values)[1:].astype(np.int64)

    def _amounts(self, bags: IntArray) -> tuple[IntArray, IntArray]:
        """How many decoys each group needs, and into how many groups it is dealt if it is refused.

        A group without decoys is not cut. They are the fewest decoys beside which a refusal leaves
        nearly as many groups as without one; where none are enough, the most.
        """
        n_decoys, n_groups = np.zeros((2, len(bags)), dtype=np.int64)
        if not self.tries:
            return n_decoys, n_groups
        is_small = bags.sum(axis=1) <= _DEALT
        most_possible = most_groups(bags, self.roughly, is_small)
        for amount in (DECOYS_IF_INTERACTING,) if self.guards.groups_interact else AMOUNTS:

            def is_refusal_safe(bags: IntArray, owner: IntArray, amount: int = amount) -> BoolArray:
                judge = self.guards.evaluate_refused
                return self._safe_proposals(
                    lambda groups, owners: judge(groups, owners, amount), bags, owner
                )

            # Groups for which fewer decoys leave too few small groups after a refusal.
            undecided = np.flatnonzero(n_groups < _ENOUGH * most_possible)
            undecided = undecided[is_refusal_safe(bags[undecided], np.arange(len(undecided)))]
            n_decoys[undecided] = amount
            n_groups[undecided] = most_groups(
                bags[undecided], is_refusal_safe, is_small[undecided], most_possible[undecided]
            )
        return n_decoys, n_groups

    def _chances_of_acceptance(
        self,
        parts_by_turn: list[_Parts],
        unlike_parts: UnlikeParts,
        kind: IntArray,
        n_decoys: IntArray,
    ) -> NDArray[np.float64]:
        """For each group and turn, the chance that its cut is accepted; 0 where there is no cut.

        It is estimated as one of `_CHANCES`. By the normal distribution, each of these says how far
        the shares of values in parts are at most from those of the group, in the cut and all its
        decoys. The result is the highest chance for which parts that are as far are safe.

        `parts_by_turn` has the parts of all cuts of a turn; ``kind[g]`` is the row of group g in
        `unlike_parts`. Shape (groups, turns).
        """
        # A cut is that of a group in a turn, as one number: turn * n_groups + group.
        turn = np.repeat(
            np.arange(len(parts_by_turn)), [len(parts.group) for parts in parts_by_turn]
        )
        cut_of_part = turn * self.n_groups + np.concatenate([p.group for p in parts_by_turn])
        people = np.concatenate([parts.people for parts in parts_by_turn])
        chances = np.zeros(len(parts_by_turn) * self.n_groups)
        likely_cuts = cut_of_part[starts_of(cut_of_part)]
        # From the lowest chance up; a cut that fails one has no higher one.
        for chance in _CHANCES:
            deviations = _deviations_not_exceeded(chance, most_decoys=int(n_decoys.max()))
            number_of_cut = np.full(len(chances), -1)
            number_of_cut[likely_cuts] = np.arange(len(likely_cuts))
            parts = np.flatnonzero(number_of_cut[cut_of_part] >= 0)
            group = cut_of_part[parts] % self.n_groups
            bags = unlike_parts.bags(kind[group], people[parts], deviations[n_decoys[group]])
            is_safe = self.safe_if_exchanged(bags, number_of_cut[cut_of_part[parts]])
            likely_cuts = likely_cuts[is_safe]
            chances[likely_cuts] = chance
        return chances.reshape(len(parts_by_turn), -1).T

    # ---- what becomes of it --------------------------------------------------------------------

    def groups_if_refused(self, cuts: TriedCuts, chosen: BoolArray) -> tuple[GroupCounts, IntArray]:
        """The groups that people are dealt into if chosen cuts are refused, and the cut of each."""
        # The parts of a cut together are the bag of its group.
        cut_bags = np.add.reduceat(cuts.bags, starts_of(cuts.owner), axis=0)
        bags, owner = bags_of_deals(cut_bags[chosen], cuts.n_deals[chosen])
        return self.counts(bags), owner

    def commit(self, cuts: TriedCuts, accepted: BoolArray) -> None:
        """Note the parts of accepted cuts, where groups bear on one another."""
        is_accepted = accepted[cuts.owner]
        if is_accepted.any() and self.guards.groups_interact:
            self.guards.commit(self.counts(cuts.bags[is_accepted]))

    def _descend(self, cuts: TriedCuts, accepted: BoolArray) -> None:
        """Make groups that were not divided final, and go on with the parts of accepted cuts."""
        # (points,): the group of the next level, which is a part of an accepted cut; -1 for none.
        child = np.full(len(self.node), -1, dtype=np.int64)
        n_children = 0
        if accepted.any():
            # Parts of accepted cuts become the groups of the next level, numbered from 0.
            is_accepted_part = accepted[cuts.owner]
            new_number_of_part = np.cumsum(is_accepted_part) - 1
            n_children = int(is_accepted_part.sum())
            in_accepted = cuts.child >= 0
            in_accepted[in_accepted] = is_accepted_part[cuts.child[in_accepted]]
            child[in_accepted] = new_number_of_part[cuts.child[in_accepted]]
        is_final = child < 0
        # Groups without such a part are final now, with the next free numbers.
        final_nodes, number_of_final = np.unique(self.node[is_final], return_inverse=True)
        self.final[self.index[is_final]] = number_of_final + self.n_final
        self.n_final += len(final_nodes)
        _log.info("level done: %d groups final, %d divided further", self.n_final, n_children)
        # Drop the points of final groups, and their cells.
        continues = ~is_final
        new_number_of_point = np.cumsum(continues) - 1
        is_kept_cell = continues[self._point]
        self._point = new_number_of_point[self._point[is_kept_cell]]
        self._value, self._many = self._value[is_kept_cell], self._many[is_kept_cell]
        self.index, self.weights = self.index[continues], self.weights[continues]
        self.codes = [codes[continues] for codes in self.codes]
        self.node, self.n_groups = child[continues], n_children


def _deviations_not_exceeded(chance: float, most_decoys: int) -> NDArray[np.float64]:
    """For each number of decoys from 0: standard deviations that the cut and they keep within.

    Neither the cut nor any decoy exceeds so many, with that chance, if they are independent and
    normal.
    """
    deviations = []
    for n_decoys in range(most_decoys + 1):
        chance_of_one = chance ** (1 / (n_decoys + 1))
        deviations.append(NormalDist().inv_cdf((1 + chance_of_one) / 2))
    return np.array(deviations)
