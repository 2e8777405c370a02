"""Possible values: how many of each group can have which, where not everybody can have each.

Who cannot have the same values is of one class; values that the same people cannot have are of one
kind. Both are few, whatever there is of people and values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, IntArray, ranges
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.knowledge.impossible_values import Cannot
from foreknow_judge.knowledge.joint_values import surest


@dataclass(frozen=True, eq=False)
class Everybody:
    """The possible values where no rule excludes any: everybody can have each value."""

    restricts: ClassVar[bool] = False
    is_open: ClassVar[bool] = False

    def take(self, groups: NDArray[Any]) -> Everybody:
        """The same for some of the groups."""
        return self

    def merge(self, into: IntArray, n_groups: int) -> Everybody:
        """The same for groups that are united: group g becomes a part of ``into[g]``."""
        return self

    def recoded(self, new_codes: NDArray[Any], values: Any) -> Everybody:
        """The same for values with new codes, of which several may become one value."""
        return self

    def overfull(self, group: IntArray, value: IntArray, times: IntArray) -> IntArray:
        """The cells, of a group and a value each, with more people than can have the value."""
        return np.zeros(0, dtype=np.int64)


EVERYBODY = Everybody()


@dataclass(frozen=True, eq=False)
class PossibleMembers(Everybody):
    """Members of groups by their class, and which kinds of values each class can have."""

    people: IntArray  # shape (groups, classes)
    can: BoolArray  # shape (classes, kinds): whether its people surely can have these values
    might: BoolArray  # whether they surely or perhaps can
    kind: IntArray  # shape (values,)
    # whether what is known is that people lack values: not of the target alone, here
    negated: bool = False
    restricts: ClassVar[bool] = True

    @classmethod
    def of(
        cls, people: IntArray, perhaps: BoolArray, surely: BoolArray, excluded: BoolArray
    ) -> Everybody:
        """Make it from people by group and class, and from rules; see `_kinds_of_values`."""
        if not excluded.any():
            return EVERYBODY
        return cls(people, *_kinds_of_values(perhaps, surely, excluded))

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        """True if it is open of somebody whether they can have a value."""
        return bool((self.most > self.members).any())

    @property
    def members(self) -> IntArray:
        """How many members surely can have values of each kind, shape (groups, kinds)."""
        return self.people @ self.can

    @property
    def most(self) -> IntArray:
        """How many members surely or perhaps can, shape (groups, kinds)."""
        return self.people @ self.might

    def overfull(self, group: IntArray, value: IntArray, times: IntArray) -> IntArray:
        """The positions of cells with more people than can have the value.

        A cell is a group, a value and a number of people; values of one kind are added up, since
        the same people can have them.
        """
        kind = self.kind[value]
        n_having = np.zeros((len(self.people), self.can.shape[1]), np.int64)  # by group and kind
        np.add.at(n_having, (group, kind), times)
        return np.flatnonzero((n_having > self.most)[group, kind])

    def take(self, groups: NDArray[Any]) -> PossibleMembers:
        """The same for some of the groups."""
        return replace(self, people=self.people[groups])

    def merge(self, into: IntArray, n_groups: int) -> PossibleMembers:
        """The same for groups that are united: group g becomes a part of ``into[g]``."""
        people = np.zeros((n_groups, self.people.shape[1]), dtype=np.int64)
        np.add.at(people, into, self.people)
        return replace(self, people=people)

    def recoded(self, new_codes: NDArray[Any], values: Any) -> PossibleMembers:
        """The same for values with new codes, of which several may become one value.

        They must be of one kind (values that the same people can have): otherwise nobody could say
        who can have the united value, and `UnsupportedError` is raised.
        """
        kind = np.zeros(len(values), dtype=np.int64)
        kind[new_codes] = self.kind
        is_mixed = kind[new_codes] != self.kind  # another value with the new code has another kind
        if is_mixed.any():
            name = values[int(new_codes[np.argmax(is_mixed)])]
            raise UnsupportedError(
                f"{name!r} is counted as one value, and some people cannot have all of its values "
                "(impossible): give these a set of their own, or name all of them in one rule"
            )
        return replace(self, kind=kind)


def _kinds_of_values(
    perhaps: BoolArray, surely: BoolArray, excluded: BoolArray
) -> tuple[BoolArray, BoolArray, IntArray]:
    """Sort values into kinds, and see who can have them; a kind is what the same rules exclude.

    Parameters
    ----------
    perhaps, surely : bool arrays, shape (classes, rules)
        Which rules may concern the people of a class, and which surely do.
    excluded : bool array, shape (rules, values)
        Which values each rule excludes.

    Returns
    -------
    can, might : bool arrays, shape (classes, kinds)
        Which kinds a class surely can have, and which it surely or perhaps can.
    kind : int64 array, shape (values,)
        The kind of each value.
    """
    # The distinct columns, shape (rules, kinds).
    excluded_kinds, kind = np.unique(excluded, axis=1, return_inverse=True)

    def not_excluded(concerns: BoolArray) -> BoolArray:
        """Which kinds no rule excludes that concerns a class."""
        return np.asarray(~(concerns[:, :, None] & excluded_kinds[None]).any(axis=1))

    return not_excluded(perhaps), not_excluded(surely), kind.reshape(-1)


class JointCells(NamedTuple):
    """People by group and by their values in a counted column and in columns beside it."""

    group: IntArray
    value: IntArray  # codes of the counted column
    codes_beside: Mapping[str, IntArray]  # codes of each column beside it
    times: IntArray  # the number of people


@dataclass(frozen=True, eq=False)
class JointMembers(PossibleMembers):
    """Possible members where rules are about a column that stands beside the counted one.

    A kind is one of joint values (a value of each of these columns), so `kind`, which is by counted
    value, is empty.
    """

    # shape (4, cells), by group: the group, the counted value, the kind, how many have it
    cells: IntArray = field(default_factory=lambda: np.zeros((4, 0), dtype=np.int64))

    @classmethod
    def of_cells(
        cls,
        people: IntArray,
        perhaps: BoolArray,
        surely: BoolArray,
        excluded: BoolArray,
        joint_cells: JointCells,
    ) -> JointMembers:
        """Make it from people by group and class, from rules, and from cells of joint values.

        The rules are those of `_kinds_of_values`, which `excluded` has by cell.
        """
        can, might, kind_of_cell = _kinds_of_values(perhaps, surely, excluded)
        keys = np.stack([joint_cells.group, joint_cells.value, kind_of_cell]).astype(np.int64)
        return cls(
            people,
            can,
            might,
            kind=np.zeros(0, dtype=np.int64),
            cells=_add_up(keys, joint_cells.times),
        )

    def overfull(self, group: IntArray, value: IntArray, times: IntArray) -> IntArray:
        """No cell: a table that contradicts such rules is refused later, when it is judged."""
        return np.zeros(0, dtype=np.int64)

    def take(self, groups: NDArray[Any]) -> JointMembers:
        """The same for some of the groups, which are numbered anew in this order."""
        # Cells are sorted by group: those of a group stand side by side.
        starts = np.searchsorted(self.cells[0], np.arange(len(self.people) + 1))
        chosen_cells, offsets = ranges(starts[groups], starts[groups + 1])
        cells = self.cells[:, chosen_cells]
        cells[0] = np.repeat(np.arange(len(groups)), np.diff(offsets))
        return replace(self, people=self.people[groups], cells=cells)

    def merge(self, into: IntArray, n_groups: int) -> JointMembers:
        """The same for groups that are united: group g becomes a part of ``into[g]``."""
        people = np.zeros((n_groups, self.people.shape[1]), dtype=np.int64)
        np.add.at(people, into, self.people)
        group, *codes, times = self.cells
        return replace(self, people=people, cells=_add_up(np.stack([into[group], *codes]), times))

    def recoded(self, new_codes: NDArray[Any], values: Any) -> JointMembers:
        """The same for values with new codes, of which several may become one value."""
        group, value, kind, times = self.cells
        cells = _add_up(np.stack([group, np.asarray(new_codes)[value], kind]), times)
        return replace(self, cells=cells)

    def surest(self, cells: Iterable[tuple[int, int]], amounts: tuple[int, int]) -> list[Fraction]:
        """For each cell, a group and a value, a bound on how sure an adversary may become of it.

        `amounts` are the numbers of facts that the adversary knows: about the target, and about
        other people.
        """
        starts = np.searchsorted(self.cells[0], np.arange(len(self.people) + 1))
        # Which kinds of values the people of each class surely, or perhaps, cannot have.
        cannot_of_class = []
        for can, might in zip(self.can, self.might, strict=True):
            cannot_of_class.append(
                Cannot(frozenset(np.flatnonzero(~can)), frozenset(np.flatnonzero(~might)))
            )

        @cache  # several cells may be of one group
        def bag_and_people(group: int) -> tuple[Any, Any]:
            """The values of a group with their kinds and numbers, and its people by class."""
            group_cells = self.cells[1:, starts[group] : starts[group + 1]].T.tolist()
            bag = tuple((value, frozenset([kind]), n) for value, kind, n in group_cells)
            people = Counter[Cannot]()
            for cannot, n in zip(cannot_of_class, self.people[group].tolist(), strict=True):
                people[cannot] += n
            return bag, frozenset(people.items())

        n_target, n_others = amounts
        divisions = [(n_target, n_others)]
        # Negated facts say that somebody lacks a value: the target or another. Of others that says
        # no more than the value that they have, so the bounds of all ways to divide the facts
        # among target and others suffice.
        if self.negated:
            divisions = [(n_facts, n_target - n_facts) for n_facts in range(n_target + 1)]
        bounds = []
        for group, value in cells:
            bag, people = bag_and_people(group)
            bounds.append(max(surest(bag, people, (value,), *division) for division in divisions))
        return bounds


def _add_up(keys: IntArray, times: IntArray) -> IntArray:
    """The distinct columns of `keys`, in order, with one more row: the sum of the times of each."""
    cells, place_of_key = np.unique(keys, axis=1, return_inverse=True)
    sums = np.bincount(place_of_key.reshape(-1), times, cells.shape[1]).astype(np.int64)
    return np.vstack([cells, sums])


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of combinations of values whose people the same rules concern, and these rules."""

    codes: NDArray[Any]  # the class of each combination
    perhaps: BoolArray  # shape (classes, rules): which rules may concern a class, or surely do
    surely: BoolArray  # which surely do
    # of each sensitive column: which values each rule excludes, shape (rules, values)
    excluded: Mapping[str, BoolArray]

    @classmethod
    def none(cls) -> Classes:
        """No classes, where no rule is about anybody: everybody can have each value."""
        nobody = np.zeros((0, 0), dtype=bool)
        return cls(np.zeros(0, dtype=np.int64), nobody, nobody, {})

    def possible_members(
        self,
        column: str,
        *,
        group_of_row: IntArray,
        codes: NDArray[Any],
        times: IntArray | None,
        n_groups: int,
        joint_cells: JointCells | None = None,
    ) -> Everybody:
        """How many people of each group can have each value of a column.

        Parameters
        ----------
        column : str
        group_of_row, codes : integer arrays, shape (rows,)
            The group of each row, and its combination of values.
        times : integer array, shape (rows,), or None
            How many people each row is; None: one.
        n_groups : int
        joint_cells : JointCells, optional
            The values of the column and of those beside it, if rules concern some of the latter.
        """
        if joint_cells is None and column not in self.excluded:
            return EVERYBODY
        # The number of people of each class in each group.
        n_classes = len(self.perhaps)
        keys = group_of_row.astype(np.int64) * n_classes + self.codes[codes]
        people = np.bincount(keys, times, n_groups * n_classes).astype(np.int64)
        people = people.reshape(n_groups, n_classes)
        if joint_cells is None:
            return PossibleMembers.of(people, self.perhaps, self.surely, self.excluded[column])
        # A rule excludes a cell if it excludes the value that the cell has in any of the columns.
        excluded = np.zeros((self.perhaps.shape[1], len(joint_cells.group)), dtype=bool)
        for name, cell_codes in {column: joint_cells.value, **joint_cells.codes_beside}.items():
            if name in self.excluded:
                excluded |= self.excluded[name][:, cell_codes]
        return JointMembers.of_cells(people, self.perhaps, self.surely, excluded, joint_cells)
