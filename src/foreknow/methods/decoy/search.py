"""Search: the levels of a top-down search in which a cut is tried once, beside decoys.

All groups of a level are handled at once. What is tried, and beside how many decoys, follows from
quasi-identifiers and from bags of groups alone, so from what is published.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.protocol import Mask
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.methods.decoy.draws import drawn
from foreknow.methods.decoy.guards import Guards
from foreknow.methods.mondrian.cuts import cuts_of
from foreknow.methods.points import Points

_log = logging.getLogger(__name__)
# How many decoys there may be.
AMOUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# Cuts that are considered, and draws by which it is foreseen how often one would be refused.
_TURNS, _FEWEST, _MOST = 16, 8, 32
# A cut that is accepted so often is tried, though another may have more gain at some risk.
_OFTEN = 0.7
# How much the gains of later cuts count beside that of the next one, once for each time that a
# group is twice as large as this.
_LATER, _SMALL = 2.0, 512
# Shares that are tried, and how sharply the risk falls if a value may be more frequent in a part.
_TIMES, _SHARPLY = (1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0, 6.0), 1.0
# Cells of counts that are handled at once.
_CELLS = 1 << 19


@dataclass(frozen=True, eq=False)
class Trial:
    """Cuts that are tried, one of each of some groups.

    Attributes
    ----------
    group : int64 array
        Which group each is of.
    decoys : int64 array
    child : int64 array, shape (points,)
        The part of each point, those of one trial after the other; -1 of other groups.
    owner, people, bags : int64 arrays
        The trial of each part, its people, and how many of them have each value.
    attribute : int64 array
        Along which quasi-identifier each is; -1 where a refusal may well be a decoy's fault.
    """

    group: IntArray
    decoys: IntArray
    child: IntArray
    owner: IntArray
    people: IntArray
    bags: IntArray
    attribute: IntArray


Decide = Callable[["Search", Trial], Mask]


class Search:
    """The groups of one level, and the points that belong to them; at first one of everybody."""

    def __init__(self, points: Points, microdata: Microdata, guards: Guards, cuts: int) -> None:
        self.attributes, self.labels = microdata.attributes, microdata.values
        self.guards, self.cuts = guards, cuts
        self.final = np.empty(len(points), dtype=np.int64)
        self.n_final, self.n_groups, self.level = 0, 1, 0
        # Of each quasi-identifier, how many cuts were tried that only the true values could refuse,
        # and how many of them were accepted; at first as if one of so many values had failed.
        self._tried = np.array([len(a.domain) + 1.0 for a in self.attributes])
        self._went = self._tried - 1
        self.index = np.arange(len(points))
        self.node = np.zeros(len(points), dtype=np.int64)
        self.codes, self.weights = points.codes, points.weights
        self._point, self._many = np.repeat(self.index, points.cells), points.times
        self._value = points.values.astype(np.int64)

    def run(self, decide: Decide) -> IntArray:
        """Divide until nothing is left to try: the group of each point."""
        while self.n_groups:
            trial = self._trial()
            accepted = np.zeros(0, dtype=bool)
            if len(trial.group):
                accepted = decide(self, trial)
                sure = trial.attribute >= 0
                np.add.at(self._tried, trial.attribute[sure], 1)
                np.add.at(self._went, trial.attribute[sure & accepted], 1)
            self._descend(trial, accepted)
            self.level += 1
        return self.final

    def counts(self, bags: IntArray) -> GroupCounts:
        """Groups of so many of each value."""
        group, codes = np.nonzero(bags)
        offsets = np.searchsorted(group, np.arange(len(bags) + 1))
        return GroupCounts(bags.sum(axis=1), offsets, codes, bags[group, codes], self.labels)

    def safe(self, bags: IntArray, owner: IntArray, roughly: bool = False) -> Mask:
        """Whether every limit is kept with the groups of each proposal; `roughly` for estimates."""
        found = np.ones(int(owner.max(initial=-1)) + 1, dtype=bool)
        step = max(_CELLS // bags.shape[1], 1)
        ends = np.append(np.flatnonzero(owner[1:] != owner[:-1]) + 1, len(owner))
        start = 0
        while start < len(owner):
            stop = int(ends[max(np.searchsorted(ends, start + step, side="right") - 1, 0)])
            if stop <= start:
                stop = int(ends[np.searchsorted(ends, start, side="right")])
            first = owner[start]
            own = owner[start:stop] - first
            counts = self.counts(bags[start:stop])
            held = self.guards.evaluate(counts, own, roughly).safe_each()
            found[first : first + len(held)] = held
            start = stop
        return found

    def tried(
        self, trial: Trial, which: IntArray, decoys: IntArray, random: np.random.Generator
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Draw decoys of some trials: bags of their parts, whose decoy each is, its trial."""
        parts = np.flatnonzero(np.isin(trial.owner, which))
        place = np.full(len(trial.group), -1)
        place[which] = np.arange(len(which))
        of = place[trial.owner[parts]]
        ends = np.cumsum(np.bincount(of, minlength=len(which)))
        starts = ends - np.bincount(of, minlength=len(which))
        trial_of = np.repeat(np.arange(len(which)), decoys)
        many = (ends - starts)[trial_of]
        owner = np.repeat(np.arange(len(trial_of)), many)
        begin = np.cumsum(many) - many
        at = parts[starts[trial_of][owner] + np.arange(len(owner)) - begin[owner]]
        whole = np.zeros((len(which), trial.bags.shape[1]), dtype=np.int64)
        np.add.at(whole, of, trial.bags[parts])
        return drawn(whole[trial_of], trial.people[at], owner, random), owner, which[trial_of]

    # ---- what is tried -------------------------------------------------------------------------

    def _trial(self) -> Trial:
        """Choose one cut of each group, from what is known of it, and how many decoys it needs."""
        candidates = [
            cuts_of(attribute, codes, self.node, self.weights, self.n_groups, self.cuts)
            for attribute, codes in zip(self.attributes, self.codes, strict=True)
        ]
        gains = np.hstack([cuts.gain for cuts in candidates])
        attribute_of = np.repeat(
            np.arange(len(candidates)), [cuts.gain.shape[1] for cuts in candidates]
        )
        worth = self._worth(gains, attribute_of)
        order = np.argsort(-worth, axis=1, kind="stable")[:, :_TURNS]
        at = np.hstack([cuts.at for cuts in candidates])
        best = np.full(self.n_groups, -np.inf)
        turn_of = np.full(self.n_groups, -1)
        decoys = np.zeros(self.n_groups, dtype=np.int64)
        attribute = np.full(self.n_groups, -1)
        waiting = np.ones(self.n_groups, dtype=bool)

        def sides(turn: IntArray, groups: Mask) -> Trial:
            chosen = np.take_along_axis(order, np.maximum(turn, 0)[:, None], axis=1)[:, 0]
            which, place = attribute_of[chosen], at[np.arange(self.n_groups), chosen]
            side = np.zeros(len(self.node), dtype=np.int64)
            asking = groups[self.node]
            for position, cuts in enumerate(candidates):
                mine = np.flatnonzero(asking & (which[self.node] == position))
                if len(mine):
                    node = self.node[mine]
                    side[mine] = cuts.sides(self.codes[position][mine], place[node])
            return self._parts(groups, asking, side)

        # Public: it decides what is tried, and nothing else.
        public = np.random.default_rng(self.level)
        for turn in range(order.shape[1]):
            gain = worth[np.arange(self.n_groups), order[:, turn]]
            waiting &= np.isfinite(gain) & (gain > best)
            if not waiting.any():
                break
            trial = sides(np.full(self.n_groups, turn), waiting)
            least = np.minimum.reduceat(trial.people, _starts(trial.owner))
            amount = self._amounts(trial, least)
            some = np.flatnonzero(amount)
            score = np.full(len(trial.group), -np.inf)
            often = np.zeros(len(trial.group))
            if len(some):
                often[some] = self._accepted(trial, some, amount[some], public)
                score[some] = gain[trial.group[some]] * often[some]
            better = score > best[trial.group]
            group = trial.group[better]
            best[group], turn_of[group] = score[better], turn
            along = attribute_of[order[group, turn]]
            attribute[group] = np.where(often[better] >= _OFTEN, along, -1)
            decoys[group] = amount[better]
            waiting[trial.group[often >= _OFTEN]] = False
        if not (turn_of >= 0).any():
            none = np.zeros(0, dtype=np.int64)
            child = np.full(len(self.node), -1, dtype=np.int64)
            bags = np.zeros((0, len(self.labels)), dtype=np.int64)
            return Trial(none, none, child, none, none, bags, none)
        trial = sides(turn_of, turn_of >= 0)
        return replace(trial, decoys=decoys[trial.group], attribute=attribute[trial.group])

    def _worth(self, gains: NDArray[np.float64], along: IntArray) -> NDArray[np.float64]:
        """What to expect of each cut: its gain and all later ones, if it does not fail.

        A cut that goes with the sensitive values fails, and then its group is divided no more. So
        quasi-identifiers of few values, which do so most often, are tried late: when a group is
        small, or may be far from what the policy allows.
        """
        starts = np.flatnonzero(np.append(True, along[1:] != along[:-1]))
        if not gains.shape[1]:
            return gains
        gains = np.where(gains > 0, gains, 0.0)
        none = gains <= 0
        each = np.maximum.reduceat(gains, starts, axis=1)
        later = each.sum(axis=1)
        failed = (1 - self._went / self._tried)[along]
        trust = 1 - failed ** (_SHARPLY * (self._room()[:, None] - 1))
        people = np.bincount(self.node, self.weights, self.n_groups)
        later *= _LATER * np.log2(1 + people / _SMALL)
        return np.where(none, -np.inf, (gains + later[:, None]) * trust)

    def _room(self) -> NDArray[np.float64]:
        """How many times as frequent as in each group values may be in a part, more or less."""
        bags = self.bags_of(self.node, self.n_groups)
        rank = np.argsort(np.argsort(-bags, axis=1, kind="stable"), axis=1)
        found, own = np.ones(self.n_groups), np.arange(self.n_groups)
        for times in _TIMES:  # as if every other value were more frequent there, the rest less
            tilted = np.rint(bags * np.where(rank % 2, 1 / times, times) * 8).astype(np.int64)
            found[self.safe(tilted, own, roughly=True)] = times
        return found

    def _parts(self, groups: Mask, asking: Mask, side: IntArray) -> Trial:
        """Number the parts of some cuts, and count them."""
        widest = int(side.max(initial=0)) + 1
        child = np.full(len(self.node), -1, dtype=np.int64)
        keys, numbered = np.unique(self.node[asking] * widest + side[asking], return_inverse=True)
        child[asking] = numbered
        group = np.flatnonzero(groups)
        owner = (np.cumsum(groups) - 1)[keys // widest]
        people = np.bincount(numbered, self.weights[asking], len(keys)).astype(np.int64)
        bags = self.bags_of(child, len(keys))
        none = np.zeros(len(group), dtype=np.int64)
        return Trial(group, none, child, owner, people, bags, none)

    def bags_of(self, child: IntArray, n_children: int) -> IntArray:
        """How many people of each part have each value."""
        own = child[self._point]
        inside = own >= 0
        n_values = len(self.labels)
        keys = own[inside] * n_values + self._value[inside]
        found = np.bincount(keys, self._many[inside], n_children * n_values)
        return found.reshape(n_children, n_values).astype(np.int64)

    def _amounts(self, trial: Trial, least: IntArray) -> IntArray:
        """The fewest decoys beside which a cut may be refused; 0 where none are enough."""
        whole = np.add.reduceat(trial.bags, _starts(trial.owner), axis=0)
        amounts, groups = np.array(AMOUNTS), self.counts(whole)
        held = self.guards.withstands(groups, least, np.full(len(least), amounts[-1]))
        open_ = np.flatnonzero(held)
        low, high = np.zeros((2, len(open_)), dtype=np.int64)
        high += len(amounts) - 1
        groups, least = groups.take(open_), least[open_]
        while (low < high).any():  # more decoys never tell more
            middle = (low + high) // 2
            enough = self.guards.withstands(groups, least, amounts[middle])
            low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
        found = np.zeros(len(trial.group), dtype=np.int64)
        found[open_] = amounts[high]
        return found

    def _accepted(
        self, trial: Trial, some: IntArray, amount: IntArray, public: np.random.Generator
    ) -> NDArray[np.float64]:
        """How often a cut is accepted, by draws."""
        many = np.clip(amount, _FEWEST, _MOST)
        bags, owner, of = self.tried(trial, some, many, public)
        held = self.safe(bags, owner, roughly=True)
        place = np.zeros(len(trial.group), dtype=np.int64)
        place[some] = np.arange(len(some))
        return (np.bincount(place[of], held, len(some)) / many) ** (amount + 1.0)

    # ---- what becomes of it --------------------------------------------------------------------

    def reserve(self, trial: Trial) -> Mask:
        """Note how trials are judged if they are refused; which may be made."""
        starts = _starts(trial.owner)
        whole = np.add.reduceat(trial.bags, starts, axis=0)
        least = np.minimum.reduceat(trial.people, starts)
        return self.guards.reserve(self.counts(whole), least, trial.decoys)

    def commit(self, trial: Trial, accepted: Mask) -> None:
        """Note the parts of accepted cuts."""
        mine = accepted[trial.owner]
        if mine.any():
            self.guards.commit(self.counts(trial.bags[mine]))

    def _descend(self, trial: Trial, accepted: Mask) -> None:
        """Make groups that were not divided final, and go on with the others."""
        child = np.full(len(self.node), -1, dtype=np.int64)
        n_children = 0
        if accepted.any():
            taken = accepted[trial.owner]
            place = np.cumsum(taken) - 1
            n_children = int(taken.sum())
            mine = trial.child >= 0
            mine[mine] = taken[trial.child[mine]]
            child[mine] = place[trial.child[mine]]
        done = child < 0
        left, numbered = np.unique(self.node[done], return_inverse=True)
        self.final[self.index[done]] = numbered + self.n_final
        self.n_final += len(left)
        _log.info("level done: %d groups final, %d divided further", self.n_final, n_children)
        kept = ~done
        moved = np.cumsum(kept) - 1
        inside = kept[self._point]
        self._point = moved[self._point[inside]]
        self._value, self._many = self._value[inside], self._many[inside]
        self.index, self.weights = self.index[kept], self.weights[kept]
        self.codes = [codes[kept] for codes in self.codes]
        self.node, self.n_groups = child[kept], n_children


def _starts(owner: IntArray) -> IntArray:
    """Where each run of equal owners begins."""
    return np.flatnonzero(np.append(True, owner[1:] != owner[:-1])) if len(owner) else owner
