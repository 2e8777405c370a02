"""Criterion: what must hold of the groups themselves; it has no adversary and no limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.protocol import FloatArray, HasCounts, Ledger, Mask, counts_of
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import GroupLabels, Label
from foreknow.errors import DataError
from foreknow.plain import Plain


@dataclass(frozen=True)
class Attained(Plain):
    """What a release attains of a criterion."""

    _told = "exact words group"
    value: ClassVar[None] = None
    prior: ClassVar[None] = None

    amount: int | Fraction | float  # exact, unless the criterion says otherwise
    holds: bool
    words: str  # for people: "the smallest group has 3 people, 5 are required"
    group: Label = None  # where it is attained

    @property
    def exact(self) -> Fraction | None:
        """The amount as a fraction; None where it is infinite."""
        return None if self.amount in (inf, -inf) else Fraction(self.amount)

    def __str__(self) -> str:
        return self.words


@runtime_checkable
class Criterion(Protocol):
    """A criterion of groups; a frozen value, with a line in `registry.CRITERIA`.

    One that the verifier does not know (`GAUGES`) also brings a function `gauge`. One that needs
    something of the schema has a method ``under(schema, column)``, which gives the same criterion
    with it. One that can fail by more than single groups has a method ``beyond_groups(release)``,
    which says whether it does. One that a certificate states otherwise
    has a method ``published()``. One that asks how many people have which value, whatever the
    values are, may say ``counts_values = True``: it is then asked of releases in which a set is one
    value, too. One of how many people there are, whatever their values, says ``of_people = True``.
    One that asks who looks alike (see `classes_of`) has ``of_groups``: what is left of it to ask of
    groups where exact columns are published, by which they change nothing of that. One that is
    judged on what is written alone says ``searched = False``, too: of it a search asks `of_groups`
    in either form, ``fails(counts)`` says which groups fail, and ``ways_out(release)`` gives lines
    on what may help.
    """

    key: ClassVar[str]
    """What a policy file calls it."""
    settings: ClassVar[Any]
    """The type of what stands for it in a policy file: a number, or a table of settings."""

    @classmethod
    def from_settings(cls, read: Any, folder: Path) -> Criterion:
        """Make one of what a policy file says."""

    def attained(self, release: HasCounts) -> Attained:
        """What a release attains, where, and in words."""

    def measure(self, release: HasCounts) -> int | Fraction | float:
        """What a release attains."""

    def holds(self, release: HasCounts) -> bool:
        """Whether a release attains what is required."""

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Whether merging groups can never make a release fail it."""

    def ledger(self, semantics: Semantics = "single") -> Ledger:
        """Start a ledger for a search.

        One that declares ``compares_table = True`` takes ``whole``, too: an int64 array, how many
        people of the whole table have each value.
        """

    def to_dict(self) -> dict[str, Any]:
        """What stands for it in a policy file."""


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


def classes_of(release: HasCounts) -> GroupCounts:
    """Those who look alike: groups, or people of equal exact columns where these are published."""
    own = getattr(release, "release", release)  # of what was published
    alike = getattr(own, "alike", None)
    return groups_of(own if alike is None else alike())


def smallest(counts: GroupCounts) -> str:
    """What the smallest of those who look alike is called."""
    if isinstance(counts.groups, GroupLabels) and counts.groups.exact:
        return f"the smallest set of people with equal {', '.join(counts.groups.columns)}"
    return "the smallest group"


def failing_groups(fails: Callable[..., bool], *columns: NDArray[Any]) -> Mask:
    """Which groups fail, by whole numbers of each; Python's own, and asked once of equal groups."""
    rows, which = np.unique(np.stack(columns, 1), axis=0, return_inverse=True)
    bad: Mask = np.array([fails(*row) for row in rows.tolist()], dtype=bool)
    return bad[which.reshape(-1)]


# ---- the ledger of criteria ---------------------------------------------------------------------


@dataclass(eq=False)
class EachGroup:
    """Safe while no group `fails`; `leaving`: how many people must leave each at least."""

    fails: Callable[[GroupCounts], Mask]
    leaving: Callable[[GroupCounts], NDArray[np.int64]] | None = None
    exact: ClassVar[bool] = True
    failing: int = field(default=0, init=False)

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """Whether no group fails when `added` replaces `removed`."""
        return self.failing == self._many(removed) and not self._many(added)

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note that `added` replaced `removed`."""
        self.failing += self._many(added) - self._many(removed)

    def evaluate(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> EachGroupEvaluation:
        """Measure many proposals; see `Ledger.evaluate`."""
        n_proposals = int(owner.max(initial=-1)) + 1
        entering = np.bincount(owner[self.fails(added)], minlength=n_proposals)
        leaving = np.zeros(n_proposals, dtype=np.int64)
        if removed is not None:
            at = np.arange(removed.n_groups) if removed.origin is None else removed.origin
            leaving += np.bincount(at[self.fails(removed)], minlength=n_proposals)
        return EachGroupEvaluation(self, entering, leaving)

    def fewest_leaving(self, counts: GroupCounts) -> NDArray[np.int64]:
        """How many people must leave each group at least; see `PolicyLedger`."""
        if self.leaving is None:
            return np.zeros(counts.n_groups, dtype=np.int64)
        return self.leaving(counts)

    def alone(self, counts: GroupCounts) -> Mask:
        """Whether each group holds by itself."""
        holds: Mask = ~self.fails(counts)
        return holds

    def _many(self, counts: GroupCounts | None) -> int:
        return 0 if counts is None else int(self.fails(counts).sum())


@dataclass(frozen=True, eq=False)
class EachGroupEvaluation:
    """How many failing groups each proposal brings, and how many it takes away."""

    ledger: EachGroup
    entering: NDArray[np.int64]
    leaving: NDArray[np.int64]

    def safe_each(self) -> Mask:
        """Whether no group fails with each proposal by itself."""
        alone: Mask = (self.entering == 0) & (self.leaving == self.ledger.failing)
        return alone

    def safe_jointly(self, chosen: Mask) -> bool:
        """Whether no group fails with all the chosen proposals."""
        left = self.ledger.failing - self.leaving[chosen].sum()
        return not left and not self.entering[chosen].any()

    def risk_ratio(self) -> FloatArray:
        """0 for what holds, infinity for what does not."""
        return np.where(self.safe_each(), 0.0, np.inf)

    def commit(self, chosen: Mask) -> None:
        """Note that the chosen proposals were carried out."""
        self.ledger.failing += int((self.entering[chosen] - self.leaving[chosen]).sum())
