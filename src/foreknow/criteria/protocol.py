"""Criterion: what must hold of the groups themselves; it has no adversary and no limit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from foreknow.adversaries.protocol import HasCounts, Ledger, counts_of
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import Label
from foreknow.errors import DataError


@dataclass(frozen=True)
class Attained:
    """What a release attains of a criterion."""

    amount: int | Fraction | float  # exact, unless the criterion says otherwise
    holds: bool
    words: str  # for people: "the smallest group has 3 people, 5 are required"
    group: Label = None  # where it is attained

    def __str__(self) -> str:
        return self.words


@runtime_checkable
class Criterion(Protocol):
    """A criterion of groups; a frozen value, with a line in `registry.CRITERIA`.

    One that the verifier does not know (`GAUGES`) also brings a function `gauge`. One that needs
    something of the schema has a method ``under(schema, column)``, which gives the same criterion
    with it. One that reads the labels of groups declares ``by_labels = True``: searches then give
    its ledger groups with their labels. One that can fail by more than single groups has a method
    ``beyond_groups(release)``, which says whether it does. One that a certificate states otherwise
    has a method ``published()``. One that asks how many people have which value, whatever the
    values are, may say ``counts_values = True``: it is then asked of releases in which a set is one
    value, too.
    """

    key: ClassVar[str]
    """What a policy file calls it."""
    settings: ClassVar[Any]
    """The type of what stands for it in a policy file: a number, or a table of settings."""

    @classmethod
    def from_settings(cls, read: Any, folder: Path) -> Criterion:
        """Make one of what a policy file says."""
        ...

    def attained(self, release: HasCounts) -> Attained:
        """What a release attains, where, and in words."""
        ...

    def measure(self, release: HasCounts) -> int | Fraction | float:
        """What a release attains."""
        ...

    def holds(self, release: HasCounts) -> bool:
        """Whether a release attains what is required."""
        ...

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Whether merging groups can never make a release fail it."""
        ...

    def ledger(self, semantics: Semantics = "single") -> Ledger:
        """Start a ledger for a search.

        One that declares ``compares_table = True`` takes ``whole``, too: an int64 array, how many
        people of the whole table have each value.
        """
        ...

    def to_dict(self) -> dict[str, Any]:
        """What stands for it in a policy file."""
        ...


class OfGroups:
    """What the criteria share that say what is `attained`, and are kept by merging."""

    @classmethod
    def from_settings(cls, read: Any, folder: Path) -> Self:
        """Make it of its table in a policy file."""
        return cls(**dict(read))

    def attained(self, release: HasCounts) -> Attained:
        """What a release attains, where, and in words."""
        raise NotImplementedError

    def measure(self, release: HasCounts) -> int | Fraction | float:
        """What a release attains."""
        return self.attained(release).amount

    def holds(self, release: HasCounts) -> bool:
        """Whether a release attains what is required."""
        return self.attained(release).holds

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Always: what the parts of a group hold, the whole holds (see the module)."""
        return True


def groups_of(release: HasCounts) -> GroupCounts:
    """The counts of a release, which must have groups."""
    counts = counts_of(release)
    if not counts.n_groups:
        raise DataError("the release has no groups")
    return counts
