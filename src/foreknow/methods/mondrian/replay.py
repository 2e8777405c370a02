"""Replay: whether Mondrian would make the same groups if values were assigned otherwise.

An adversary who knows the method asks that of very many worlds, which all have the bags of the
release. Most of a run is the same for all of them, and most answers follow from two questions to
the ledger about cuts that were refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, joined
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow.data.microdata import Microdata
from foreknow.methods.mondrian.cuts import counts_of_table
from foreknow.methods.mondrian.levels import Children, Choice, Level
from foreknow.methods.points import Points
from foreknow.methods.refusal import Refusal, replayed_policy
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.policy import Policy

if TYPE_CHECKING:
    from foreknow.methods.mondrian.mondrian import Mondrian

# People of all refused cuts together; of larger tables a run is asked instead.
_MOST = 5_000_000


@dataclass(frozen=True, eq=False)
class Turn:
    """A turn of a level: the ledger before and after it, and what it accepted, in order."""

    before: PolicyLedger
    after: PolicyLedger
    accepted: GroupCounts
    owner: IntArray  # the proposal of each of these children

    def refuses(self, counts: GroupCounts, owner: IntArray, proposal: int) -> NDArray[np.bool_]:
        """True for each proposal that would be refused at this moment of the search.

        It stands in the place of proposal number `proposal` of the turn: those before it were
        decided.
        """
        refused = ~self.before.evaluate(None, counts, owner).safe_each()
        if not len(self.owner) or refused.all():
            return refused
        # Minima only fall: what is accepted after the turn is accepted in it.
        doubtful = ~refused & ~self.after.evaluate(None, counts, owner).safe_each()
        if doubtful.any():
            moment = self.before.copy()
            proposals, proposal_of = np.unique(self.owner, return_inverse=True)
            moment.evaluate(None, self.accepted, proposal_of.reshape(-1)).commit(
                proposals < proposal
            )
            refused |= ~moment.evaluate(None, counts, owner).safe_each()
        return refused


@dataclass(frozen=True, eq=False)
class Replay:
    """The result of one run, for tables that assign the bags of its groups otherwise.

    A cut along the borders of groups divides the same bags in every world; so as long as a run on a
    world decides as the true one did, it has the same ledger, and decides the same about such a
    cut. The first decision that differs, if there is one, is then about a cut across some group.
    The true run refused it; so the other one carries it out, and its groups differ. Hence a world
    leads to the same groups just if every refused cut across a group is refused in it, too, each
    by the ledger of its moment.

    Minima only fall: what the first ledger refuses all later ones refuse; what the last accepts
    all earlier ones accept. Only a cut in between needs a run.
    """

    groups: IntArray  # of each person
    _people: IntArray  # of the refused cuts across groups, with the child and cut of each
    _cuts_of_one_child: IntArray
    _owner: IntArray
    _cuts: Sequence[tuple[Turn, int]]  # the turn and place of each cut
    _first: PolicyLedger
    _last: PolicyLedger
    _labels: Labels = field(repr=False)
    _codes: NDArray[Any] = field(repr=False)

    @classmethod
    def of(cls, method: Mondrian, microdata: Microdata, policy: Policy) -> Replay | None:
        """Run the method, and keep the cuts that it refused.

        None where a replay is not possible: if people have several values, if merging groups can be
        unsafe, or if there are too many cuts.
        """
        replayed = replayed_policy(microdata, policy)
        if replayed is None:
            return None
        policy = replayed
        points = Points.of(microdata)
        level = _Refusals(points, microdata, method.choice(policy, microdata))
        everyone = level.everyone()
        first, last = (policy.ledger(microdata.values, everyone) for _ in range(2))
        if first.looks_back:  # it would have to say what leaves
            return None
        for ledger in (first, last):
            ledger.commit(None, everyone)
        while level.n_groups:
            level.divide(last)
            if level.kept > _MOST:
                return None
        refused_cuts = level.across(points.spread(np.arange(len(points))))
        if sum(len(cuts_of_level.people) for cuts_of_level in refused_cuts) > _MOST:
            return None
        nobody = np.empty(0, dtype=np.int64)
        columns = [(nobody, nobody, nobody)]
        cuts = list[tuple[Turn, int]]()
        for cuts_of_level in refused_cuts:
            columns.append(cuts_of_level[:3])
            cuts += cuts_of_level.cuts
        people, children, owner = joined(columns)
        groups, codes = points.spread(level.final), microdata.sensitive_codes
        return cls(groups, people, children, owner, cuts, first, last, microdata.values, codes)

    @cached_property
    def decisions(self) -> Sequence[Refusal]:
        """The refused cuts. All worlds in which each of them is refused lead to the same groups."""
        cut = self._owner[self._cuts_of_one_child]
        order = np.lexsort((self._cuts_of_one_child, cut))
        people, child, cut = self._people[order], self._cuts_of_one_child[order], cut[order]
        refusals: list[Refusal] = []
        if not len(cut):
            return refusals
        for positions in np.split(np.arange(len(cut)), np.flatnonzero(np.diff(cut)) + 1):
            cut_people, (_, part_of_person) = (
                people[positions],
                np.unique(child[positions], return_inverse=True),
            )
            turn, proposal_place = self._cuts[cut[positions[0]]]
            refuses = partial(turn.refuses, proposal=proposal_place)
            parts = (
                cut_people,
                part_of_person.reshape(-1),
                self.groups[cut_people],
                self._codes[cut_people],
                self._labels,
            )
            refusals.append(Refusal.of(*parts, refuses))
        return refusals

    def same(self, codes: NDArray[Any]) -> bool | None:
        """True if a world of equal bags leads to the same groups; None if only a run can tell."""
        if not len(self._owner):
            return True
        shape = len(self._owner), len(self._labels)
        keys = self._cuts_of_one_child * shape[1] + codes[self._people]
        dense = np.bincount(keys, minlength=shape[0] * shape[1]).reshape(shape)
        counts = counts_of_table(self._labels, dense)
        if not self._first.evaluate(None, counts, self._owner).safe_each().any():
            return True
        if self._last.evaluate(None, counts, self._owner).safe_each().any():
            return False
        return None


class _RefusedCuts(NamedTuple):
    """Cuts that were refused at one level of the search."""

    people: IntArray  # (entries,): who would have been divided
    children: IntArray  # (entries,): the child that each would be in, numbered through all levels
    cut_of_child: IntArray  # (children,): the cut that each child belongs to
    cuts: list[tuple[Turn, int]]  # when each cut was tried: the turn, and its number in the turn


class _Refusals(Level):
    """A level that keeps every proposal that the ledger refuses."""

    def __init__(self, points: Points, microdata: Microdata, choice: Choice) -> None:
        super().__init__(points, microdata, choice)
        self.kept = 0
        self._refused: list[tuple[IntArray, IntArray, IntArray, Turn]] = []

    def _carry_out_accepted(self, ledger: PolicyLedger, children: Children) -> tuple[Any, Any]:
        """Decide about the cuts of a level as the method does, and keep those that were refused."""
        before = ledger.copy()
        accepted, divisible = super()._carry_out_accepted(ledger, children)
        rows, child, owner = children
        is_refused = ~accepted[owner[child]]
        if is_refused.any():
            is_accepted = accepted[owner]
            tally = self.tally(children).part(0, len(owner))
            turn = Turn(before, ledger.copy(), tally.take(is_accepted), owner[is_accepted])
            refused = rows.number[is_refused].astype(np.int64)
            self._refused.append((refused, child[is_refused], owner, turn))
            self.kept += len(refused)
        return accepted, divisible

    def _look_ahead(self, *_: Any) -> int:
        """Ask about one turn: a refused cut that is not proposed again would not be kept."""
        return 1

    def across(self, point_of: IntArray) -> list[_RefusedCuts]:
        """For each level of the search, the refused cuts that would have divided a final group.

        `point_of` is the point of each person.
        """
        members = np.argsort(point_of, kind="stable")
        ends = np.cumsum(np.bincount(point_of, minlength=len(self.final)))
        starts = np.append(0, ends[:-1])
        refused_cuts, n_children, n_proposals = [], 0, 0
        for points, child, owner, turn in self._refused:
            pairs = np.unique(np.stack((owner[child], self.final[points], child)), axis=1)
            divided = np.flatnonzero(
                (pairs[0, 1:] == pairs[0, :-1]) & (pairs[1, 1:] == pairs[1, :-1])
            )
            proposals = np.unique(pairs[0, divided])
            inside = np.isin(owner[child], proposals)
            if not inside.any():
                continue
            children, child_numbers = np.unique(child[inside], return_inverse=True)
            n_members = (ends - starts)[points[inside]]
            of_child = np.repeat(child_numbers.reshape(-1), n_members)
            people = np.concatenate([members[starts[p] : ends[p]] for p in points[inside].tolist()])
            cut_of_child = np.searchsorted(proposals, owner[children])
            cuts = [(turn, proposal) for proposal in proposals.tolist()]
            refused_cuts.append(
                _RefusedCuts(people, of_child + n_children, cut_of_child + n_proposals, cuts)
            )
            n_children += len(children)
            n_proposals += len(proposals)
        return refused_cuts
