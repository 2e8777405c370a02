"""Local suppression: which cells of suppressed people stay, so that they form groups of their own.

People who hide the same columns and have equal values in the others are a group, like any other.
The columns are chosen greedily: first none, then one, then two, and so on. Of the choices with as
many columns, the one that keeps most of the rest comes first. A group is kept if the ledger accepts
it beside all others; people who are in none hide everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from foreknow.data.arrays import BoolArray, FloatArray, IntArray, combine
from foreknow.data.counts import GroupCounts
from foreknow.methods.fulldomain.losses import joined
from foreknow.policy.ledger import PolicyLedger

# Up to so many choices of columns, all are tried; else those of few columns, and of all but few.
_MOST_CHOICES = 128


class LocalGroup(NamedTuple):
    """A group of suppressed classes, and the columns that it hides."""

    hidden: tuple[int, ...]
    members: IntArray


class LocalSuppression:
    """Divides the suppressed classes of a node into groups that hide some columns each.

    `codes` and `costs`, the loss by each hidden cell, have the shape (classes, attributes);
    `columns` are the attributes that can be hidden. The ledger has all groups that keep everything.
    """

    def __init__(
        self,
        codes: IntArray,
        costs: FloatArray,
        counts: GroupCounts,
        columns: Sequence[int],
        ledger: PolicyLedger,
    ) -> None:
        self._codes, self._costs, self._counts = codes, costs, counts
        self._columns, self._ledger = tuple(columns), ledger
        self._rest = np.arange(len(codes))
        self._groups: list[LocalGroup] = []

    def hidden(self) -> BoolArray | None:
        """For each class and attribute, whether the cell is hidden; None if no division is safe."""
        for choices in self._choices():
            while self._keep_most(choices):
                pass
        if self._groups:
            self._join_rest()
        is_hidden = np.ones(self._codes.shape, dtype=bool)
        n_returned = self._n_to_suppress()
        if n_returned is None:
            return None
        for group in self._groups[n_returned:]:
            is_hidden[group.members] = False
            for column in group.hidden:
                is_hidden[group.members, column] = True
        return is_hidden

    def _choices(self) -> Iterator[list[tuple[int, ...]]]:
        """Lists of choices of columns to hide; those of one list have as many, the fewest first."""
        n = len(self._columns)
        sizes = range(n) if 2**n <= _MOST_CHOICES else sorted({0, 1, 2, n - 2, n - 1})
        for size in sizes:
            yield list(combinations(self._columns, size))

    def _groups_if_hidden(self, hidden: tuple[int, ...], classes: IntArray) -> IntArray:
        """The group of each of some classes, if these columns are hidden."""
        shown_codes = []
        for column in self._columns:
            if column not in hidden:
                shown_codes.append(self._codes[classes, column])
        sizes = [int(codes.max()) + 1 for codes in shown_codes]
        group_of_class, _ = combine(shown_codes, sizes)
        return group_of_class.astype(np.int64)

    def _saved(self, hidden: tuple[int, ...], classes: IntArray) -> FloatArray:
        """The loss that classes are spared if they hide these columns and not all."""
        shown_columns = [column for column in self._columns if column not in hidden]
        return np.asarray(self._costs[classes][:, shown_columns].sum(axis=1))

    def _keep_most(self, choices: list[tuple[int, ...]]) -> bool:
        """Make the groups of the choice of columns that keeps most.

        False if no choice keeps anything.
        """
        if not len(self._rest):
            return False
        counts = self._counts.take(self._rest)
        divisions = [self._groups_if_hidden(hidden, self._rest) for hidden in choices]
        merged = list(map(counts.merge, divisions))
        all_merged = joined(merged)
        evaluation = self._ledger.evaluate(None, all_merged, np.arange(all_merged.n_groups))
        ends = np.cumsum([counts_of_choice.n_groups for counts_of_choice in merged])[:-1]
        safe_each = np.split(evaluation.safe_each(), ends)
        saved_loss = []
        for hidden, group_of_class, is_safe in zip(choices, divisions, safe_each, strict=True):
            saved_by_classes = self._saved(hidden, self._rest)
            saved_loss.append(float(saved_by_classes[is_safe[group_of_class]].sum()))
        best = int(np.argmax(saved_loss))
        if not saved_loss[best] > 0:
            return False
        hidden, group_of_class = choices[best], divisions[best]
        # Each group is safe by itself; the ledger says which are safe together.
        safe_groups = np.flatnonzero(safe_each[best])
        proposals = self._ledger.evaluate(
            None, merged[best].take(safe_groups), np.arange(len(safe_groups))
        )
        accepted_groups = safe_groups[proposals.accept_greedily()]
        for group in accepted_groups:
            self._groups.append(LocalGroup(hidden, self._rest[group_of_class == group]))
        self._rest = self._rest[~np.isin(group_of_class, accepted_groups)]
        return len(accepted_groups) > 0

    def _join_rest(self) -> None:
        """Let classes that are in no group yet join groups that show the same values.

        A group hides some columns; a class may join it if their values are equal in the other
        columns, and the group stays safe.
        """
        hidden_columns = sorted({group.hidden for group in self._groups}, key=len)
        for hidden in hidden_columns:
            positions = [i for i, group in enumerate(self._groups) if group.hidden == hidden]
            firsts = np.array([self._groups[i].members[0] for i in positions])
            division = self._groups_if_hidden(hidden, np.concatenate((firsts, self._rest)))
            number_of_group, number_of_rest = division[: len(firsts)], division[len(firsts) :]
            for position, number in zip(positions, number_of_group.tolist(), strict=True):
                joining = self._rest[number_of_rest == number]
                if not len(joining):
                    continue
                group = self._groups[position]
                members = np.concatenate((group.members, joining))
                if self._replaces_safely([group], members):
                    self._groups[position] = LocalGroup(hidden, members)
                    is_left = number_of_rest != number
                    self._rest, number_of_rest = self._rest[is_left], number_of_rest[is_left]

    def _n_to_suppress(self) -> int | None:
        """How many groups must be suppressed altogether, so that they and the rest are a safe one.

        The groups that add least loss go first. None if none help.
        """
        if not len(self._rest):
            return 0
        self._groups.sort(key=lambda group: (self._loss(group), group.members.tolist()))
        # None, one, two, four and so on, and at last all.
        powers_of_two = [1 << i for i in range(len(self._groups).bit_length())]
        for n_suppressed in (0, *powers_of_two, len(self._groups)):
            suppressed = self._groups[:n_suppressed]
            members = np.concatenate([self._rest, *(group.members for group in suppressed)])
            if self._replaces_safely(suppressed, members):
                return n_suppressed
        return None

    def _loss(self, group: LocalGroup) -> float:
        """The loss that is added if the people of a group hide everything."""
        people = self._counts.sizes[group.members]
        return float((people * self._saved(group.hidden, group.members)).sum())

    def _replaces_safely(self, groups: Sequence[LocalGroup], members: IntArray) -> bool:
        """True if the ledger accepts one group of these classes in place of some groups.

        Then it is made.
        """
        added = self._counts.take(members).merge(np.zeros(len(members), dtype=np.int64))
        removed = None
        if groups and (self._ledger.looks_back or not self._ledger.monotone):
            members_of_groups = [group.members for group in groups]
            group_of_class = np.repeat(
                np.arange(len(members_of_groups)), list(map(len, members_of_groups))
            )
            removed = self._counts.take(np.concatenate(members_of_groups)).merge(group_of_class)
        if not self._ledger.admits(removed, added):
            return False
        self._ledger.commit(removed, added)
        return True
