"""Possible values: how many of each group can have which, where not everybody can have each.

Who cannot have the same values is of one class; values that the same people cannot have are of one
kind. Both are few, whatever there is of people and values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, IntArray
from foreknow_judge.errors import UnsupportedError


@dataclass(frozen=True, eq=False)
class PossibleMembers:
    """Members of groups by their class, and which kinds of values each class can have."""

    people: IntArray  # shape (groups, classes)
    can: BoolArray  # shape (classes, kinds)
    might: BoolArray  # the same, but that who perhaps cannot might; as `can`, where nothing is open
    kind: IntArray  # shape (values,)
    # whether what is known is that people lack values: not of the target alone, here
    negated: bool = False

    @classmethod
    def of(
        cls, people: IntArray, fires: BoolArray, surely: BoolArray, about: BoolArray
    ) -> PossibleMembers | None:
        """By which rules are about each class, perhaps and surely, and about each value.

        None where no rule is about any of the values.
        """
        if not about.any():
            return None
        rules_of_kind, kind = np.unique(about, axis=1, return_inverse=True)

        def free_of(fire: BoolArray) -> BoolArray:
            return np.asarray(~(fire[:, :, None] & rules_of_kind[None]).any(axis=1))

        return cls(people, free_of(fires), free_of(surely), kind.reshape(-1))

    @property
    def members(self) -> IntArray:
        """How many members can have values of each kind, shape (groups, kinds)."""
        return self.people @ self.can

    @property
    def most(self) -> IntArray:
        """The same with those who perhaps can."""
        return self.people @ self.might

    def of_both(self, kind: int) -> IntArray:
        """How many can have values of this kind, and might of each, shape (groups, kinds)."""
        return self.people @ (self.might & self.can[:, [kind]])

    def take(self, groups: NDArray[Any]) -> PossibleMembers:
        """Only some groups."""
        return replace(self, people=self.people[groups])

    def merge(self, into: IntArray, n_groups: int) -> PossibleMembers:
        """Groups that are united."""
        people = np.zeros((n_groups, self.people.shape[1]), dtype=np.int64)
        np.add.at(people, into, self.people)
        return replace(self, people=people)

    def recoded(self, places: NDArray[Any], values: Any) -> PossibleMembers:
        """Values that become one must be of one kind, or nobody could say who can have it."""
        kind = np.zeros(len(values), dtype=np.int64)
        kind[places] = self.kind
        if (mixed := kind[places] != self.kind).any():
            name = values[int(places[np.argmax(mixed)])]
            raise UnsupportedError(
                f"{name!r} is counted as one value, and some people cannot have all of its values "
                "(impossible): give these a set of their own, or name all of them in one rule"
            )
        return replace(self, kind=kind)


@dataclass(frozen=True, eq=False)
class Classes:
    """The class of people, or of whatever stands for some; and what each class cannot have."""

    codes: NDArray[Any]
    fires: BoolArray  # shape (classes, rules): which rules are about a class, perhaps
    surely: BoolArray
    about: Mapping[str, BoolArray]  # of each sensitive column, shape (rules, values)

    def able(self, column: str, part: IntArray, codes: NDArray[Any], times: Any, n: int) -> Any:
        """Who can have which values of a column, of so many groups; None where everybody can."""
        if column not in self.about:
            return None
        classes = len(self.fires)
        key = part.astype(np.int64) * classes + self.codes[codes]
        people = np.bincount(key, times, n * classes).astype(np.int64).reshape(n, classes)
        return PossibleMembers.of(people, self.fires, self.surely, self.about[column])
