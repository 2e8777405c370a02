"""Refusals: divisions that a run refused, as seen by an adversary who knows the method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow.data.microdata import Microdata
from foreknow.methods.mondrian.cuts import counts_of_table
from foreknow.policy.policy import Policy


def replayed_policy(microdata: Microdata, policy: Policy) -> Policy | None:
    """The policy under a table's schema; None if a run by it cannot be replayed.

    So it is if people have several values, or if merging groups can be unsafe.
    """
    policy = replace(policy, schema=microdata.schema)
    return policy if microdata.semantics == "single" and policy.monotone() else None


Refuses: TypeAlias = Callable[[GroupCounts, IntArray], NDArray[np.bool_]]

# Parts that are judged at once.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Refusal:
    """A refused division across groups: the people who move, the part of each, and the others.

    A `Decision` of a replay. `refuses` is asked for groups, and the proposal of each of them.
    """

    people: IntArray
    child: IntArray
    fixed: IntArray  # values of everybody else, shape (parts, values)
    _labels: Labels = field(repr=False)
    _refuses: Refuses = field(repr=False)

    @classmethod
    def of(
        cls,
        people: IntArray,
        child: IntArray,
        group: IntArray,
        codes: NDArray[Any],
        labels: Labels,
        refuses: Refuses,
    ) -> Refusal:
        """The refusal of a division, by the part, the group and the value of each person.

        The arrays have an entry for each person; parts count from 0. An attacker knows which values
        each group has, but not who has which. `refuses` says whether groups with such values would
        be refused as parts.
        """
        group_codes, group_places = np.unique(group, return_inverse=True)
        n_children = int(child.max()) + 1
        # If a group is divided among several parts, its values could be in other parts than they
        # are. `moves` is True for people of such groups.
        pairs = np.unique(group_places.reshape(-1) * n_children + child) // n_children
        moves = (np.bincount(pairs, minlength=len(group_codes)) > 1)[group_places.reshape(-1)]
        # The members of any other group are all in one part. Its values are there, whoever has
        # which.
        fixed = np.zeros((n_children, len(labels)), dtype=np.int64)
        np.add.at(fixed, (child[~moves], codes[~moves]), 1)
        return cls(people[moves], child[moves], fixed, labels, refuses)

    def holds(self, tables: IntArray) -> NDArray[np.bool_]:
        """For each of the `tables`, whether the division would be refused there.

        `tables` are worlds: how many of the people who move have each value, by the part they go
        to; shape (worlds, parts, values).
        """
        worlds, (n_children, values) = len(tables), self.fixed.shape
        step, is_refused = max(1, _AT_ONCE // n_children), np.zeros(worlds, dtype=bool)
        for start in range(0, worlds, step):
            block = slice(start, min(start + step, worlds))
            # Everybody in each part: those who move, and the others; a row for each world and part.
            value_counts = (tables[block] + self.fixed).reshape(-1, values)
            world = np.repeat(np.arange(len(value_counts) // n_children), n_children)
            is_refused[block] = self._refuses(self._counts(value_counts), world)
        return is_refused

    def alone(self, child: int, bags: IntArray) -> NDArray[np.bool_]:
        """True where one part is enough for the cut to be refused, for values of its people.

        A part never reveals more than the whole.
        """
        value_counts = bags + self.fixed[child]
        return self._refuses(self._counts(value_counts), np.arange(len(value_counts)))

    def _counts(self, value_counts: IntArray) -> GroupCounts:
        """The counts of groups, by how many people of each have each value."""
        return counts_of_table(self._labels, value_counts)
