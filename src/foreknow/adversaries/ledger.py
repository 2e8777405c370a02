"""The ledger of minima: what a search must keep of all groups to ask "is this still safe?".

A kind of knowledge says which ratios each (group, key) cell has, and how odds against a breach
follow from the minima of these ratios over groups. Where merging groups never hurts, the minima
over all groups there ever were are those over the groups there are, so they only fall, and what
attains them is kept: ratios near the limit are then decided by fractions. Where merging can hurt,
the cells of all present groups are kept, and a ratio near the limit counts as unsafe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow.errors import InternalError
from foreknow_judge.errors import InputError
from foreknow_judge.numbers import CLOSE

# How many answers of fractions are remembered.
_MOST_VERDICTS = 1 << 16


@dataclass(frozen=True, eq=False)
class KeyedRatios:
    """Cells of some groups in ascending order of key, and their ratios.

    A cell is a group together with a key, such as a sensitive value that occurs in it. From the
    least ratios over groups the odds against a breach follow.
    """

    key: IntArray  # what the minima are kept apart by, such as a sensitive value
    group: IntArray
    ratios: FloatArray  # shape (ratios, cells)
    # for fractions: has `take`, `join` and `content`, equal where no fraction tells apart
    detail: Any = None

    def take(self, index: NDArray[Any]) -> KeyedRatios:
        """The cells at some places, in their order."""
        if index.dtype == bool:
            index = np.flatnonzero(index)
        detail = None if self.detail is None else self.detail.take(index)
        ratios = self.ratios.take(index, axis=1)
        return KeyedRatios(self.key[index], self.group[index], ratios, detail)

    @property
    def starts(self) -> IntArray:
        """The place at which the cells of each key begin."""
        return _run_starts(self.key)


class Measure(ABC):
    """The ratios of cells, and the odds that follow from them, for one kind of knowledge."""

    @property
    def has_fractions(self) -> bool:
        """True if its cells have a detail by which fractions decide."""
        return False

    @property
    @abstractmethod
    def nowhere(self) -> FloatArray:
        """The ratios of a group without the key, shape (ratios, 1)."""

    @abstractmethod
    def bind(self, n_values: int) -> int:
        """Note how many sensitive values there are; return how many keys."""

    @abstractmethod
    def cells(self, counts: GroupCounts, groups: BoolArray | None = None) -> KeyedRatios:
        """The cells of the groups, or of some of them."""

    @abstractmethod
    def odds(self, minima: FloatArray) -> FloatArray:
        """Odds against a breach, of minima of shape (ratios, ...)."""

    def refused(self, counts: GroupCounts, parts: int = 1) -> BoolArray | None:
        """True for groups that are surely unsafe, where that is known without their cells.

        Or, divided into several parts, have one that is.
        """
        return None

    def attaining(self, cells: KeyedRatios, minima: FloatArray) -> KeyedRatios:
        """The cells that may attain a minimum, each once."""
        return cells

    def exact(self, detail: Any) -> Fraction:
        """The breach probability over the cells of one key, by their detail, if these have one."""
        raise InternalError("a ledger without fractions was asked for one")

    def fewest_leaving(self, counts: GroupCounts) -> IntArray:
        """How many people must leave each group at least; 0 where that is not known."""
        return np.zeros(counts.n_groups, dtype=np.int64)


@dataclass(eq=False)
class MinLedger:
    """The minima of the ratios of every key; see `foreknow.adversaries.adversary.Ledger`."""

    measure: Measure
    threshold: Fraction
    is_wanted: BoolArray | None = None
    falling: bool = True
    _values: Labels | None = field(default=None, init=False)
    _minima: FloatArray = field(init=False)
    _cells: KeyedRatios = field(init=False)
    _lowered: BoolArray = field(init=False)  # keys of which it is not known yet whether they hold
    _unsafe: bool = field(default=False, init=False)
    _verdicts: dict[bytes, bool] = field(init=False, default_factory=dict)
    # Present groups have numbers: those of each bag, the bag of each, and how many were given.
    _numbers: dict[bytes, list[int]] = field(init=False, default_factory=lambda: defaultdict(list))
    _contents: dict[int, bytes] = field(init=False, default_factory=dict)
    _n_numbers: int = field(default=0, init=False)

    @property
    def is_exact(self) -> bool:
        """True if fractions decide what is close to the threshold, rather than refuse it."""
        return self.falling and self.measure.has_fractions

    @cached_property
    def _odds_limit(self) -> float:
        """The odds against a secret at the threshold; a lower probability is above these."""
        return float((1 - self.threshold) / self.threshold)

    @property
    def looks_back(self) -> bool:
        """True if minima rise again where groups leave."""
        return not self.falling

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """True if the release stays safe when `added` replaces `removed`."""
        return self._evaluate_one(removed, added).safe_jointly(np.ones(1, dtype=bool))

    def fewest_leaving(self, counts: GroupCounts) -> IntArray:
        """How many people must leave each group at least; see `PolicyLedger`."""
        return self.measure.fewest_leaving(counts)

    def divisible(self, counts: GroupCounts) -> BoolArray:
        """True for each group that may have parts that are all safe; see `PolicyLedger`."""
        refused = self.measure.refused(counts, parts=2) if self.falling else None
        return np.ones(counts.n_groups, dtype=bool) if refused is None else ~refused

    def alone(self, counts: GroupCounts) -> BoolArray:
        """True for each group that is safe by itself, if the ledger is empty."""
        return self.evaluate(None, counts, np.arange(counts.n_groups)).safe_each()

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note that `added` replaced `removed`."""
        self._evaluate_one(removed, added).commit(np.ones(1, dtype=bool))

    def evaluate(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> MinEvaluation:
        """Measure the minima after each of many proposals to replace groups.

        Proposal p replaces group p of `removed` by the groups g of `added` with ``owner[g] == p``.
        Without `removed`, proposals only add groups.
        """
        self._bind(added)
        proposal_of_removed = None
        if removed is not None:
            # Groups that are parts of one group have their `origin`: the proposal that replaces it.
            # By default, proposal p replaces group p.
            one_each = np.arange(removed.n_groups)
            proposal_of_removed = one_each if removed.origin is None else removed.origin
        proposal_of_added = np.asarray(owner, dtype=np.int64)
        return MinEvaluation(self, removed, added, proposal_of_added, proposal_of_removed)

    def _evaluate_one(self, removed: GroupCounts | None, added: GroupCounts) -> MinEvaluation:
        """The evaluation of one proposal that replaces all of `removed` by all of `added`."""
        self._bind(added)
        only_proposal = np.zeros(added.n_groups, dtype=np.int64)
        of_removed = None if removed is None else np.zeros(removed.n_groups, dtype=np.int64)
        return MinEvaluation(self, removed, added, only_proposal, of_removed)

    def _bind(self, counts: GroupCounts) -> None:
        """Take the values of the first counts as those of the table, and start all minima.

        Later counts must have the same values.
        """
        if self._values is None:
            if self.is_wanted is not None:
                is_wanted = np.asarray(self.is_wanted)
                if is_wanted.dtype != bool or is_wanted.shape != (counts.n_values,):
                    raise InputError(f"values= must be a bool array of {counts.n_values} entries")
            n_keys = self.measure.bind(counts.n_values)
            # No groups yet: every minimum is that of a group without the key.
            nothing = counts.take(np.empty(0, dtype=np.int64))
            self._cells = self.measure.cells(nothing)
            self._minima = np.repeat(self.measure.nowhere, n_keys, axis=1)
            self._lowered = np.zeros(n_keys, dtype=bool)
            self._values = counts.values
        elif self._values is not counts.values and self._values != counts.values:
            raise InternalError("a ledger received other value labels than before")

    # ---- what stands ----------------------------------------------------------------------

    @property
    def n_keys(self) -> int:
        """How many keys there are."""
        n_keys: int = self._minima.shape[1]
        return n_keys

    def present_minima(self, leaving: IntArray | None = None) -> FloatArray:
        """The minima of every key; where they can rise, without some groups that leave."""
        return self._minima if self.falling else self.minima_over(self._cells_without(leaving))

    def _cells_without(self, leaving: IntArray | None) -> KeyedRatios:
        """The cells that stay when some groups leave, by their numbers in the ledger."""
        if leaving is None or not len(leaving):
            return self._cells
        stays = np.ones(self._n_numbers, dtype=bool)
        stays[leaving] = False
        return self._cells.take(stays[self._cells.group])

    def minima_over(self, cells: KeyedRatios) -> FloatArray:
        """The minima over some cells, of every key; keys without a cell get those of no group."""
        minima = np.repeat(self.measure.nowhere, self.n_keys, axis=1)
        if len(cells.key):
            starts = cells.starts
            minima[:, cells.key[starts]] = np.minimum.reduceat(cells.ratios, starts, axis=1)
        return minima

    def minima_without(self, key: IntArray, group: IntArray) -> FloatArray:
        """For each i, the least ratios of ``key[i]`` over all groups but ``group[i]``.

        A key is what minima are kept apart by, such as a sensitive value. Shape (ratios, keys).
        Where no other group has the key, the ratios are those of a group without it.
        """
        lowest, cells = self.minima_over(self._cells), self._cells
        without = np.empty((len(lowest), len(key)))
        for i, ratio in enumerate(cells.ratios):
            # For each key, one group that attains the minimum (the first, which is written last),
            # and the minimum over the other groups. Only that group leaves a higher one behind.
            attaining = np.flatnonzero(ratio == lowest[i, cells.key])[::-1]
            lowest_group = np.full(self.n_keys, -1)
            lowest_group[cells.key[attaining]] = cells.group[attaining]
            is_lowest_group = cells.group == lowest_group[cells.key]
            other_ratios = np.where(is_lowest_group, self.measure.nowhere[i], ratio)
            second_lowest = np.full(self.n_keys, self.measure.nowhere[i, 0])
            if len(cells.key):
                starts = cells.starts
                second_lowest[cells.key[starts]] = np.minimum.reduceat(other_ratios, starts)
            leaves = lowest_group[key] == group
            without[i] = np.where(leaves, second_lowest[key], lowest[i, key])
        return without

    def are_safe(self, minima: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Two masks for minima, the least values of what the measure turns into odds.

        The first is True where the odds against a secret are surely above the limit. The second is
        True where floats cannot say, but `self.is_exact` says that fractions can. Other close ones
        count as unsafe.
        """
        odds, odds_limit = self.measure.odds(minima), self._odds_limit
        if not odds_limit:  # odds of 0 are exact
            return odds > 0, np.zeros(odds.shape, dtype=bool)
        margin = CLOSE * odds_limit
        close = np.abs(odds - odds_limit) <= margin
        return odds > odds_limit + margin, close & self.is_exact

    def stays_safe_with(self, key: int, added: Any) -> bool:
        """True if one key stays safe, by fractions, if cells with the detail `added` join."""
        first, last = np.searchsorted(self._cells.key, (key, key + 1))
        if first == last:  # the ledger keeps no cells of the key
            return self.is_safe_alone(added)
        return self.is_safe_alone(self._cells.detail.take(slice(first, last)).join(added))

    def is_safe_alone(self, detail: Any) -> bool:
        """True if some cells of one key, and no others, stay below the limit, by fractions.

        Equal cells have equal bytes (`content`), by which verdicts are remembered.
        """
        content = detail.content()
        if content not in self._verdicts:
            self._verdicts[content] = self.measure.exact(detail) < self.threshold
        return self._verdicts[content]

    def count_unsafe(self) -> int:
        """How many keys are unsafe now; where minima only fall, 1 if any is, and else 0.

        Where minima only fall, an unsafe key stays unsafe: so only keys that fell since the last
        call are looked at.
        """
        if not self.falling:
            is_safe, _ = self.are_safe(self.present_minima())
            return int(np.count_nonzero(~is_safe))
        lowered = np.flatnonzero(self._lowered)
        if len(lowered):
            self._lowered[:] = False
            is_safe, is_close = self.are_safe(self._minima[:, lowered])
            self._unsafe |= not np.all(is_safe | is_close)
            # Keys that are too close for floats: fractions decide by the cells that are kept.
            no_further_cells = self._cells.detail.take(slice(0)) if is_close.any() else None
            for key in lowered[is_close].tolist():
                self._unsafe = self._unsafe or not self.stays_safe_with(key, no_further_cells)
        return int(self._unsafe)

    # ---- changes --------------------------------------------------------------------------

    def numbers_of(self, counts: GroupCounts) -> IntArray:
        """The ledger's numbers of some present groups, found by their bags.

        Equal groups are told apart by their order alone: each gets another number.
        """
        n_used: dict[bytes, int] = defaultdict(int)
        numbers = []
        for bag in _bags_as_bytes(counts):
            present_numbers = self._numbers.get(bag, [])
            if n_used[bag] >= len(present_numbers):
                raise InternalError("a group is to be replaced that is not in the ledger")
            numbers.append(present_numbers[n_used[bag]])
            n_used[bag] += 1
        return np.array(numbers, dtype=np.int64)

    def replace(self, leaving: IntArray | None, cells: KeyedRatios, counts: GroupCounts) -> None:
        """Remove the groups with the numbers `leaving` (None: none), and add those of `counts`.

        `cells` are the cells of the added groups.
        """
        present = self._cells_without(leaving)
        for number in [] if leaving is None else leaving.tolist():
            self._numbers[self._contents.pop(number)].remove(number)
        # New groups get new numbers, under which their bags are remembered.
        numbers = np.arange(counts.n_groups) + self._n_numbers
        self._n_numbers += counts.n_groups
        for bag, number in zip(_bags_as_bytes(counts), numbers.tolist(), strict=True):
            self._numbers[bag].append(number)
            self._contents[number] = bag
        added = KeyedRatios(cells.key, numbers[cells.group], cells.ratios)
        self._cells = _join_cells(present, added)

    def lower_minima(self, cells: KeyedRatios) -> None:
        """Lower minima that only fall by some cells, and keep the cells that attain one."""
        if not len(cells.key):
            return
        self._minima = np.minimum(self._minima, self.minima_over(cells))
        if self.measure.has_fractions:
            attaining = self.measure.attaining(cells, self._minima)
            self._cells = self.measure.attaining(_join_cells(self._cells, attaining), self._minima)
        # Whether these keys are still safe is asked later.
        self._lowered[cells.key] = True
        # Bound the memory of remembered verdicts.
        if len(self._verdicts) > _MOST_VERDICTS:
            self._verdicts.clear()


def _join_cells(first: KeyedRatios, second: KeyedRatios) -> KeyedRatios:
    """The cells of both, in order of key."""
    key = np.concatenate((first.key, second.key))
    order = np.argsort(key, kind="stable")
    detail = None
    if first.detail is not None and second.detail is not None:
        detail = first.detail.join(second.detail).take(order)
    group = np.concatenate((first.group, second.group))[order]
    ratios = np.concatenate((first.ratios, second.ratios), axis=1).take(order, axis=1)
    return KeyedRatios(key[order], group, ratios, detail)


def _bags_as_bytes(counts: GroupCounts) -> Iterator[bytes]:
    """The bag of each group, as bytes."""
    for g in range(counts.n_groups):
        cells = slice(counts.offsets[g], counts.offsets[g + 1])
        arrays = (counts.sizes[g : g + 1], counts.codes[cells], counts.counts[cells])
        yield b"".join(array.tobytes() for array in arrays)


def _run_starts(*columns: IntArray) -> IntArray:
    """The places at which runs of equal rows begin."""
    new = np.ones(len(columns[0]), dtype=bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(new)


@dataclass(eq=False)
class MinEvaluation:
    """Proposals measured against one ledger; each replaces a group by others."""

    ledger: MinLedger
    removed: GroupCounts | None
    added: GroupCounts
    owner: IntArray  # the proposal that adds each group of `added`
    leaving: IntArray | None  # the proposal with which each group of `removed` leaves

    @cached_property
    def _n_proposals(self) -> int:
        return int(self.owner.max(initial=-1)) + 1

    @cached_property
    def _possible(self) -> BoolArray:
        """True for each proposal that is not refused at once."""
        possible = np.ones(self._n_proposals, dtype=bool)
        refused = self.ledger.measure.refused(self.added) if self.ledger.falling else None
        if refused is not None:
            possible[self.owner[refused]] = False
        return possible

    @cached_property
    def _cells(self) -> KeyedRatios:
        """The cells of possible proposals."""
        is_possible = None if self._possible.all() else self._possible[self.owner]
        return self.ledger.measure.cells(self.added, is_possible)

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """The distinct pairs of a key and a proposal that proposals bring, with their least ratios.

        Returned are the position of the first cell, the key and the proposal of each pair, and its
        minima, of shape (ratios, pairs).
        """
        cells = self._cells
        owner = self.owner[cells.group]
        starts = _run_starts(cells.key, owner)
        if not len(starts):
            return starts, starts, starts, cells.ratios
        # Each cell is a pair by itself: nothing to take the minimum of.
        are_single = len(starts) == len(owner)
        minima = cells.ratios if are_single else np.minimum.reduceat(cells.ratios, starts, axis=1)
        return starts, cells.key[starts], owner[starts], minima

    def safe_each(self) -> BoolArray:
        """For each proposal, whether the release stays safe if it alone is carried out.

        A proposal is groups that are added in place of others. A cell is a group with a key, such
        as a value that occurs in it; the new cells lower the minima of their keys. Floats decide
        where these are clear, and fractions where they are close to the limit.
        """
        ledger = self.ledger
        if not self._possible.any():
            return self._possible
        return self._safe_each_falling() if ledger.falling else self._safe_each_rising()

    def _safe_each_falling(self) -> BoolArray:
        """The result of `safe_each` where minima only fall."""
        ledger = self.ledger
        starts, key, owner, minima = self._pairs
        possible: BoolArray = self._possible & (not ledger.count_unsafe())
        if not len(key):
            return possible
        # The minima after each proposal: of its new groups and of those that stay.
        total = np.minimum(minima, ledger.present_minima()[:, key])
        is_safe, is_close = ledger.are_safe(total)
        possible[owner[~is_safe & ~is_close]] = False
        ends, detail = np.append(starts[1:], len(self._cells.key)), self._cells.detail
        for pair in np.flatnonzero(is_close & possible[owner]):
            if possible[owner[pair]]:
                cells = slice(starts[pair], ends[pair])
                # The worst by itself is soon found unsafe, and more cells lower no risk.
                odds = ledger.measure.odds(self._cells.ratios[:, cells])
                worst = detail.take(starts[pair] + np.argmin(odds, keepdims=True))
                possible[owner[pair]] = ledger.is_safe_alone(worst) and ledger.stays_safe_with(
                    int(key[pair]), detail.take(cells)
                )
        return possible

    def _safe_each_rising(self) -> BoolArray:
        """The result of `safe_each` where minima can rise, as groups leave.

        Then a proposal is safe if no key that it touches is unsafe afterwards, and each key that is
        unsafe now is among those that it makes safe.
        """
        ledger = self.ledger
        _, key, owner, minima = self._pairs
        # The ledger's number of the group that leaves with each proposal; -1 if none does.
        number = np.full(self._n_proposals, -1)
        if self.removed is not None and self.leaving is not None:
            number[self.leaving] = self._numbers
            # Keys of the group that leaves may have higher minima then: they are touched, too.
            left = ledger.measure.cells(self.removed)
            key = np.concatenate((key, left.key))
            owner = np.concatenate((owner, self.leaving[left.group]))
            nowhere = np.repeat(ledger.measure.nowhere, len(left.key), axis=1)
            minima = np.concatenate((minima, nowhere), axis=1)
            # One pair for each proposal and key that it touches.
            order = np.lexsort((key, owner))
            key, owner = key[order], owner[order]
            starts = _run_starts(key, owner)
            if len(starts):
                minima = np.minimum.reduceat(minima.take(order, axis=1), starts, axis=1)
            key, owner = key[starts], owner[starts]
        if not len(key):
            return self._possible & (not ledger.count_unsafe())
        # The minima after each proposal: of its new groups and of those that stay.
        total = np.minimum(minima, ledger.minima_without(key, number[owner]))
        is_safe, _ = ledger.are_safe(total)
        is_safe_now, _ = ledger.are_safe(ledger.present_minima())
        n_broken = np.bincount(owner[~is_safe], minlength=self._n_proposals)
        n_mended = np.bincount(
            owner[is_safe], ~is_safe_now[key[is_safe]], minlength=self._n_proposals
        )
        return np.asarray((n_broken == 0) & (n_mended == np.count_nonzero(~is_safe_now)))

    def safe_jointly(self, chosen: BoolArray) -> bool:
        """True if the release stays safe when all the chosen proposals are carried out together.

        The minima of every key are taken over the groups that stay and those that are added. Floats
        decide where they are clear, and fractions where they are close to the limit.
        """
        ledger = self.ledger
        if ledger.falling and (ledger.count_unsafe() or np.any(chosen & ~self._possible)):
            return False
        _, key, owner, minima = self._pairs
        is_of_chosen = chosen[owner]
        key, total = key[is_of_chosen], ledger.present_minima(self._leaving(chosen))
        if ledger.falling and not len(key):
            return True
        # Pairs are in order of key: one minimum for each key over all chosen proposals.
        if len(key):
            starts = _run_starts(key)
            keys = key[starts]
            new_minima = np.minimum.reduceat(minima[:, is_of_chosen], starts, axis=1)
            if ledger.falling:  # keys that do not fall need no second look
                total = np.minimum(total[:, keys], new_minima)
            else:
                total[:, keys] = np.minimum(total[:, keys], new_minima)
        is_safe, is_close = ledger.are_safe(total)
        if not np.all(is_safe | is_close):
            return False
        for position in np.flatnonzero(is_close):
            cells = (self._cells.key == keys[position]) & chosen[self.owner[self._cells.group]]
            if not ledger.stays_safe_with(int(keys[position]), self._cells.detail.take(cells)):
                return False
        return True

    def risk_ratio(self) -> FloatArray:
        """The worst breach probability of each proposal, as a share of the threshold.

        If fractions decide, 0 for a safe proposal and infinity for another.
        """
        if self.ledger.is_exact:
            return np.where(self.safe_each(), 0.0, np.inf)
        if self.ledger.falling:
            _, key, owner, minima = self._pairs
            # At least as bad as the release is now; then by the keys that each proposal lowers.
            worst = np.full(self._n_proposals, self._shares(self.ledger.present_minima()).max())
            total = np.minimum(minima, self.ledger.present_minima()[:, key])
            np.maximum.at(worst, owner, self._shares(total))
            return worst
        # Minima can rise: work out every key for each proposal.
        shares = []
        for proposal in range(self._n_proposals):
            mask = np.arange(self._n_proposals) == proposal
            minima = np.minimum(
                self.ledger.present_minima(self._leaving(mask)),
                self.ledger.minima_over(self._cells_of_chosen(mask)),
            )
            shares.append(self._shares(minima).max(initial=0.0))
        return np.array(shares)

    def _shares(self, minima: FloatArray) -> FloatArray:
        """Breach probabilities as shares of the threshold."""
        shares: FloatArray = 1 / (1 + self.ledger.measure.odds(minima))
        return shares / float(self.ledger.threshold)

    def commit(self, chosen: BoolArray) -> None:
        """Carry the chosen proposals out, in the ledger."""
        if not chosen.any():
            return
        cells = self._cells_of_chosen(chosen)
        if self.ledger.falling:
            self.ledger.lower_minima(cells)
            return
        # Number the added groups of the chosen proposals from 0.
        chosen_groups = np.flatnonzero(chosen[self.owner])
        new_number = np.full(self.added.n_groups, -1)
        new_number[chosen_groups] = np.arange(len(chosen_groups))
        renumbered = KeyedRatios(cells.key, new_number[cells.group], cells.ratios)
        self.ledger.replace(self._leaving(chosen), renumbered, self.added.take(chosen_groups))

    def _cells_of_chosen(self, chosen: BoolArray) -> KeyedRatios:
        """The cells of the groups that the chosen proposals add."""
        cells = self._cells
        # Cells of proposals that were refused at once were not worked out before.
        if np.any(chosen & ~self._possible):
            cells = self.ledger.measure.cells(self.added)
        return cells.take(chosen[self.owner[cells.group]])

    @cached_property
    def _numbers(self) -> IntArray:
        """The ledger's numbers of the groups that proposals replace."""
        assert self.removed is not None
        return self.ledger.numbers_of(self.removed)

    def _leaving(self, chosen: BoolArray) -> IntArray | None:
        if self.removed is None or self.leaving is None or self.ledger.falling:
            return None
        return self._numbers[chosen[self.leaving]]
