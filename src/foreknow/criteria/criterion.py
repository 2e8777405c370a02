"""Criterion: what must hold of the groups themselves; it has no adversary and no limit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from foreknow.adversaries.adversary import HasCounts, KnowledgeReach, Ledger
from foreknow.needs import Need, Needs, check_members
from foreknow_judge.errors import InputError, PolicyError

if TYPE_CHECKING:
    from foreknow.criteria.group_criterion import Attained
    from foreknow.data.arrays import BoolArray
    from foreknow.data.counts import GroupCounts
    from foreknow_judge.policy.grammar import Semantics


@runtime_checkable
class Criterion(Protocol):
    """A criterion of groups; a frozen value, with a line in `registry.CRITERIA`.

    All members are required; `OfGroups` has what most criteria answer alike. One that the verifier
    does not know (`GAUGES`) also brings a `gauge`, and one that needs a population has it as
    `population`.
    """

    key: ClassVar[str]
    """What a policy file calls it."""
    settings: ClassVar[Any]
    """The type of what stands for it in a policy file: a number, or a table of settings."""
    needs: ClassVar[Needs]
    """What it cannot do without. One that needs groups that are finished is judged on what is
    written alone: a search asks `of_groups` in its place."""
    of_people: ClassVar[bool]
    """Whether it asks how many people there are, whatever their values."""
    compares_table: ClassVar[bool]
    """Whether it compares values of groups with those of the table; then `may_fail` is asked."""

    @property
    def of_labels(self) -> bool:
        """True if the criterion is about labels, and counts nobody."""

    @property
    def of_cases(self) -> bool:
        """True if the criterion may be asked of a table whose rows are cases, several per person.

        Only what a class says in its own body counts: one that inherits from it may count rows.
        """

    @property
    def of_groups(self) -> Criterion | None:
        """The part of a criterion of look-alikes that concerns groups; None for any other one.

        It is asked if exact columns are published: then who looks alike does not depend on groups.
        See `classes_of`.
        """

    @property
    def speaks(self) -> KnowledgeReach | None:
        """The reach of the criterion; None where it is not known; then Decoy refuses it."""

    @property
    def least(self) -> int:
        """How many people a group has at least; 0 where it does not say."""

    def limits_values(self, counts: GroupCounts | None = None) -> bool:
        """True if any group could fail it by its values, and not only by who is in it.

        Of a table whose counts are known: whether any group of its people could.
        """

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Criterion:
        """Make one of what a policy file says."""

    def attained(self, release: HasCounts) -> Attained:
        """The amount that a release attains, where, and in words."""

    def measure(self, release: HasCounts) -> int | Fraction | float:
        """The amount that a release attains."""

    def holds(self, release: HasCounts) -> bool:
        """True if a release attains what is required."""

    def monotone(self, semantics: Semantics = "single") -> bool:
        """True if merging groups can never make a release fail it."""

    def ledger(self, semantics: Semantics = "single", whole: Any = None) -> Ledger:
        """Start a ledger for a search; `whole` is how many of the table have each value, int64."""

    def fails(self, counts: GroupCounts) -> BoolArray | None:
        """True for each group of a release that fails; None if single groups are not asked."""

    def beyond_groups(self, release: HasCounts) -> bool:
        """True if it fails by more than single groups."""

    def under(self, schema: Any, sensitive: str | None = None) -> Criterion:
        """The criterion with what it needs of a schema."""

    def stricter(self, share: Fraction, decoys: int | None) -> Criterion:
        """A criterion that still implies this one where odds may fall to a share of themselves."""

    def may_fail(
        self, counts: GroupCounts, table_counts: Any, times: Fraction, swaps: int
    ) -> BoolArray:
        """True for each group that may fail against the whole table, with some leeway; never less.

        The leeway: `swaps` people of the group have other values, and then the odds of each value
        are higher or lower by a factor of up to `times`. `table_counts` counts people by value.
        """

    def ways_out(self, release: HasCounts) -> Sequence[str]:
        """Lines on what may help where a release fails it."""

    def published(self) -> dict[str, Any]:
        """Its entry in a certificate."""

    def to_dict(self) -> dict[str, Any]:
        """Its entry in a policy file."""


def check_criterion(criterion: Any, name: str) -> None:
    """Refuse what lacks a member of a criterion; `name` begins messages."""
    try:
        check_members(criterion, Criterion)
    except InputError as error:
        raise PolicyError(f"{name}: {error}") from None


def refuse_cases(criterion: Any, schema: Any) -> None:
    """Refuse a criterion that counts rows if rows are cases of people.

    A class may say in its own body (`of_cases`) that it can count people then.
    """
    serves_cases = "of_cases" in vars(type(criterion)) and criterion.of_cases
    if schema.case_persons and not serves_cases:
        raise PolicyError(
            f"{criterion} counts rows, and rows are cases of {schema.person!r}: require "
            "k_anonymity by all columns, or group_size, which count people"
        )


def by_other_columns(criterion: Any) -> bool:
    """True if a criterion, or its class, tells people apart by what is published beside labels."""
    return bool(criterion.of_people) and not (
        criterion.of_labels is True or Need.POPULATION in criterion.needs
    )
