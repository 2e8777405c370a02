"""The protocols of adversaries, so that one audit and one search serve all of them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from numpy.typing import NDArray

from foreknow.needs import Need, Needs, check_members
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.numbers import Number
from foreknow_judge.policy.settings import Settings

if TYPE_CHECKING:
    from foreknow.adversaries.disclosure import Disclosure
    from foreknow.adversaries.priors.table import PriorTable
    from foreknow.data.arrays import BoolArray, FloatArray
    from foreknow.data.counts import GroupCounts
    from foreknow.data.labels.labels import Label
    from foreknow_judge.policy.grammar import Semantics


class HasCounts(Protocol):
    """A release: anything that can be counted, or is a `GroupCounts` itself."""

    @property
    def counts(self) -> Any:
        """The `GroupCounts` (of a release)."""


class Evaluation(Protocol):
    """Proposed changes to a release, measured once, asked about often.

    A proposal replaces one group by some; several proposals touch different groups.
    """

    def safe_each(self) -> BoolArray:
        """True for each proposal with which, by itself, the release stays safe."""

    def safe_jointly(self, chosen: BoolArray) -> bool:
        """True if the release stays safe with all the chosen proposals."""

    def commit(self, chosen: BoolArray) -> None:
        """Note that the chosen proposals were carried out."""

    def risk_ratio(self) -> FloatArray:
        """Worst breach probability with each proposal by itself, as a share of the threshold.

        Only asked for by a search among releases that are not safe yet, which is where merging
        can hurt.
        """


class Ledger(Protocol):
    """The few numbers about a release that say whether a change keeps it safe.

    A ledger starts with the empty release; the first commit adds all groups of the first one.
    """

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """True if the release stays safe when some groups are replaced by others."""

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note the replacement."""

    def evaluate(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> Evaluation:
        """Measure many proposals; added group g belongs to proposal ``owner[g]`` (ascending).

        Group p of `removed` is the one that proposal p replaces. It may be left out where the
        adversary is monotone: there the minima over all groups that ever were are those over the
        groups that are.
        """


@runtime_checkable
class Adversary(Protocol):
    """A kind and an amount of knowledge; a frozen value.

    One that a policy file can name also has a `key`, `settings` and `from_settings`, and a line in
    `foreknow.adversaries.registry.ADVERSARIES`: see `Kind`. One that does not need groups that are
    finished is `Searchable`; one that does not need an absolute limit is `Gaining`.
    """

    needs: ClassVar[Needs]
    """What it cannot do without; whatever is not among these, it serves."""

    @property
    def speaks(self) -> KnowledgeReach | None:
        """The reach of the knowledge; None where it is not known; then Decoy refuses it."""

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Return the highest posterior of a value, or over all values."""

    def disclosures(self, release: HasCounts) -> Mapping[Label, Disclosure]:
        """Return the highest posterior of every value; of windows of numbers, the worst alone."""

    def chances(self, release: HasCounts) -> Any:
        """How sure the adversary can be of each person; None where that is not counted."""

    def monotone(self, semantics: Semantics = "single") -> bool:
        """True if merging groups never raises a disclosure."""

    def to_dict(self) -> dict[str, Any]:
        """The table that stands for it in a policy file."""


@runtime_checkable
class Searchable(Adversary, Protocol):
    """An adversary whose limit a search can ask for while it merges or divides groups."""

    def ledger(
        self, threshold: Number, values: Any = None, semantics: Semantics = "single"
    ) -> Ledger:
        """Start a ledger for a search, for some codes of values or all.

        Of windows of numbers it takes those of the whole table in place of the codes.
        """


@runtime_checkable
class Gaining(Adversary, Protocol):
    """An adversary with priors, who may also be limited relative to them."""

    tables: tuple[Any, ...]

    def gains(self, release: HasCounts) -> Mapping[Label, Disclosure]:
        """Return every value's posterior that is the highest relative to its prior."""

    def least(self, release: HasCounts, sets: Iterable[Sequence[str]]) -> Fraction | None:
        """Return the least prior above 0 of anybody, over sets of values."""

    @property
    def in_search(self) -> Adversary | None:
        """The adversary that a search asks before this one is judged; None if there is none."""

    def under(self, schema: Any) -> Any:
        """The adversary with what it needs of a schema."""


@runtime_checkable
class Summing(Adversary, Protocol):
    """An adversary for whom posteriors of the values that are one secret are added up.

    Of all others these values are counted as one.
    """

    def disclosure_of_set(
        self, release: HasCounts, members: Sequence[str], name: Label, *, relative: bool = False
    ) -> Disclosure:
        """Return the highest posterior that a person has any value of a set, given as texts.

        `name` is what these are called; `relative` is to their prior, where there is one.
        """


class KnowledgeReach(NamedTuple):
    """The reach of knowledge or of a criterion: the most people and groups it is about.

    `people`: of how many people's values, the target's among them, speaks what would be likelier if
    more had them; 0 for what only asks which values a group has, and of how many people. `groups`:
    in how many other groups are people that it speaks of. `joined`: that others do not have values
    of any kind bears on the target. `alike`: whether it makes no difference between the values that
    it is asked about, so that groups in which they change places are as safe, and nobody is surer
    of another value of a group than of the most frequent.
    """

    people: int
    groups: int = 0
    joined: bool = False
    alike: bool = False


class Kind(Protocol):
    """The declarations of a class of adversaries for policy files, verifier and pages.

    One that the verifier does not know (`VERIFIERS`) also brings a function `judge`.
    """

    key: ClassVar[str]
    """Its name in policy files."""
    settings: ClassVar[type[Settings]]
    """Its table in a policy file."""

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Adversary:
        """Make one of a checked table; relative paths start at `folder`."""


def check_adversary(adversary: Any, name: str) -> None:
    """Refuse an adversary that lacks members which its needs ask for; `name` begins messages."""
    try:
        check_members(adversary, Adversary)
        # One that does not need finished groups must serve a search; one that does not need an
        # absolute limit must know gains.
        if Need.FINISHED not in adversary.needs:
            check_members(adversary, Searchable)
        if Need.ABSOLUTE not in adversary.needs:
            check_members(adversary, Gaining)
    except InputError as error:
        raise PolicyError(f"{name}: {error}") from None


def prior_tables(adversary: Any) -> tuple[PriorTable, ...]:
    """The tables of priors that an adversary knows; empty for other knowledge and criteria."""
    tables: tuple[PriorTable, ...] = ()
    if getattr(adversary, "key", None) == "priors":
        tables = adversary.tables
    return tables


def whole_amount(adversary: str, name: str, value: Any) -> int:
    """Read an amount; anything but a whole number from 0 is an error.

    >>> whole_amount("Facts", "l", 2)
    2
    """
    try:
        if isinstance(value, bool):
            # True and False would count as 1 and 0.
            raise TypeError
        amount = operator.index(value)
    except TypeError:
        raise InputError(f"{adversary}: {name} must be a whole number, not {value!r}") from None
    if amount < 0:
        raise InputError(f"{adversary}: {name} must be 0 or more, not {amount}")
    return amount
