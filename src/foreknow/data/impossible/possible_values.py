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
    """That everybody can have each value: no rule says otherwise."""

    restricts: ClassVar[bool] = False
    is_open: ClassVar[bool] = False

    def take(self, groups: NDArray[Any]) -> Everybody:
        """Only some groups."""
        return self

    def merge(self, into: IntArray, n_groups: int) -> Everybody:
        """Groups that are united."""
        return self

    def recoded(self, new_codes: NDArray[Any], values: Any) -> Everybody:
        """The same with some values joined."""
        return self

    def overfull(self, group: IntArray, value: IntArray, times: IntArray) -> IntArray:
        """The cells, of a group and a value each, with more people than can have the value."""
        return np.zeros(0, dtype=np.int64)


EVERYBODY = Everybody()


@dataclass(frozen=True, eq=False)
class PossibleMembers(Everybody):
    """Members of groups by their class, and which kinds of values each class can have."""

    people: IntArray  # shape (groups, classes)
    can: BoolArray  # shape (classes, kinds)
    might: BoolArray  # the same, but that who perhaps cannot might; as `can`, where nothing is open
    kind: IntArray  # shape (values,)
    # whether what is known is that people lack values: not of the target alone, here
    negated: bool = False
    restricts: ClassVar[bool] = True

    @classmethod
    def of(
        cls, people: IntArray, fires: BoolArray, surely: BoolArray, values_of_rules: BoolArray
    ) -> Everybody:
        """Make it from the rules that perhaps and surely concern each class, and each value."""
        if not values_of_rules.any():
            return EVERYBODY
        return cls(people, *_kinds_of_values(fires, surely, values_of_rules))

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        """True if it is open of somebody whether they can have a value."""
        return bool((self.most > self.members).any())

    @property
    def members(self) -> IntArray:
        """How many members can have values of each kind, shape (groups, kinds)."""
        return self.people @ self.can

    @property
    def most(self) -> IntArray:
        """The same with those who perhaps can."""
        return self.people @ self.might

    def overfull(self, group: IntArray, value: IntArray, times: IntArray) -> IntArray:
        """The cells with more people than can have their value, as positions.

        A cell is a group, a value and a number of people; values of one kind are added up, since
        the same people can have them.
        """
        kind, n_held = self.kind[value], np.zeros((len(self.people), self.can.shape[1]), np.int64)
        np.add.at(n_held, (group, kind), times)
        return np.flatnonzero((n_held > self.most)[group, kind])

    def take(self, groups: NDArray[Any]) -> PossibleMembers:
        """Only some groups."""
        return replace(self, people=self.people[groups])

    def merge(self, into: IntArray, n_groups: int) -> PossibleMembers:
        """Groups that are united."""
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
    fires: BoolArray, surely: BoolArray, values_of_rules: BoolArray
) -> tuple[BoolArray, BoolArray, IntArray]:
    """Which kinds of values each class can and might have; and the kind of each value.

    A kind are values that the same rules exclude. `fires` and `surely`, shape (classes, rules), say
    which rules concern a class, perhaps and surely; `values_of_rules`, shape (rules, values), which
    values a rule excludes. The first two results have the shape (classes, kinds).
    """
    # The distinct columns, shape (rules, kinds).
    rules_of_kind, kind = np.unique(values_of_rules, axis=1, return_inverse=True)

    def free_of(fire: BoolArray) -> BoolArray:
        return np.asarray(~(fire[:, :, None] & rules_of_kind[None]).any(axis=1))

    return free_of(fires), free_of(surely), kind.reshape(-1)


class JointCells(NamedTuple):
    """The values of a counted column and of those beside it, row by row."""

    group: IntArray
    value: IntArray  # codes of the counted column
    codes_beside: Mapping[str, IntArray]  # and of the others
    times: IntArray


@dataclass(frozen=True, eq=False)
class JointMembers(PossibleMembers):
    """The same where rules are about a column that stands beside the counted one.

    A kind is then one of joint values, and `kind` says nothing of the counted values alone.
    """

    # shape (4, cells), by group: the group, the counted value, the kind, how many have it
    cells: IntArray = field(default_factory=lambda: np.zeros((4, 0), dtype=np.int64))

    @classmethod
    def of_cells(
        cls, people: IntArray, rules: tuple[BoolArray, BoolArray, BoolArray], joint: JointCells
    ) -> JointMembers:
        """Make joint members from people by class, rules, and cells of joint values.

        `people` has the shape (groups, classes); `rules` are the three arguments of
        `_kinds_of_values`, whose values are the cells of `joint`.
        """
        can, might, kind = _kinds_of_values(*rules)
        nothing = np.zeros(0, dtype=np.int64)
        keys = np.stack([joint.group, joint.value, kind]).astype(np.int64)
        return cls(people, can, might, nothing, cells=_summed(keys, joint.times))

    def overfull(self, group: IntArray, value: IntArray, times: IntArray) -> IntArray:
        """No cell: the judge refuses such a table."""
        return np.zeros(0, dtype=np.int64)

    def take(self, groups: NDArray[Any]) -> JointMembers:
        """Only some groups, numbered anew in this order."""
        # Cells are sorted by group: those of a group stand side by side.
        starts = np.searchsorted(self.cells[0], np.arange(len(self.people) + 1))
        chosen_cells, offsets = ranges(starts[groups], starts[groups + 1])
        cells = self.cells[:, chosen_cells]
        cells[0] = np.repeat(np.arange(len(groups)), np.diff(offsets))
        return replace(self, people=self.people[groups], cells=cells)

    def merge(self, into: IntArray, n_groups: int) -> JointMembers:
        """Groups that are united."""
        people = np.zeros((n_groups, self.people.shape[1]), dtype=np.int64)
        np.add.at(people, into, self.people)
        group, *codes, times = self.cells
        return replace(self, people=people, cells=_summed(np.stack([into[group], *codes]), times))

    def recoded(self, new_codes: NDArray[Any], values: Any) -> JointMembers:
        """The same with some values joined."""
        group, value, kind, times = self.cells
        cells = _summed(np.stack([group, np.asarray(new_codes)[value], kind]), times)
        return replace(self, cells=cells)

    def surest(self, cells: Iterable[tuple[int, int]], amounts: tuple[int, int]) -> list[Fraction]:
        """For each cell, a group and a value, a bound on how sure an adversary may become.

        `amounts` are the numbers of facts that the adversary knows: l about the target, k about
        others.
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
        ways = [(n_target, n_others)]
        # The facts say that people lack values, of the target or of others. About others that
        # tells no more than what value they have, so all ways to divide the facts bound them.
        if self.negated:
            ways = [(n_facts, n_target - n_facts) for n_facts in range(n_target + 1)]
        bounds = []
        for group, value in cells:
            bag, people = bag_and_people(group)
            bounds.append(max(surest(bag, people, (value,), *way) for way in ways))
        return bounds


def _summed(keys: IntArray, times: IntArray) -> IntArray:
    """The distinct columns of keys, in order; a last row has the sum of their times."""
    cells, place_of_key = np.unique(keys, axis=1, return_inverse=True)
    sums = np.bincount(place_of_key.reshape(-1), times, cells.shape[1]).astype(np.int64)
    return np.vstack([cells, sums])


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of people whom the same rules are about, and the values that each cannot have."""

    codes: NDArray[Any]
    fires: BoolArray  # shape (classes, rules): which rules are about a class, perhaps
    surely: BoolArray
    values_of_rules: Mapping[str, BoolArray]  # of each sensitive column, shape (rules, values)

    @classmethod
    def none(cls) -> Classes:
        """No classes, where no rule is about anybody: everybody can have each value."""
        nobody = np.zeros((0, 0), dtype=bool)
        return cls(np.zeros(0, dtype=np.int64), nobody, nobody, {})

    def possible(
        self, column: str, part_of_row: IntArray, codes: NDArray[Any], times: Any, n: int
    ) -> Everybody:
        """The people who can have each value of a column, in each of `n` groups.

        `part_of_row` and `codes` are, for each row, its group and its combination of values;
        `times` says how many people the row is.
        """
        if column not in self.values_of_rules:
            return EVERYBODY
        people = self._people(part_of_row, codes, times, n)
        return PossibleMembers.of(people, self.fires, self.surely, self.values_of_rules[column])

    def beside(
        self,
        column: str,
        part_of_row: IntArray,
        codes: NDArray[Any],
        times: Any,
        n: int,
        joint: JointCells,
    ) -> JointMembers:
        """The people who can have each value of a column, if columns with rules stand beside it.

        The parameters are those of `possible`, and `joint`: the values of the column and of those
        beside it, cell by cell.
        """
        # A rule excludes a cell if it excludes the value that the cell has in any of the columns.
        values_of_rules = np.zeros((self.fires.shape[1], len(joint.group)), dtype=bool)
        for name, cell_codes in {column: joint.value, **joint.codes_beside}.items():
            if name in self.values_of_rules:
                values_of_rules |= self.values_of_rules[name][:, cell_codes]
        rules = self.fires, self.surely, values_of_rules
        return JointMembers.of_cells(self._people(part_of_row, codes, times, n), rules, joint)

    def _people(self, part_of_row: IntArray, codes: NDArray[Any], times: Any, n: int) -> IntArray:
        """The number of people of each class in each of `n` groups, shape (n, classes)."""
        classes = len(self.fires)
        key = part_of_row.astype(np.int64) * classes + self.codes[codes]
        people = np.bincount(key, times, n * classes).astype(np.int64)
        return people.reshape(n, classes)
