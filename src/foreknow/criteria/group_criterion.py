"""The base class of criteria of groups, the amount that a release attains, and their ledgers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.adversary import HasCounts, Ledger
from foreknow.adversaries.release_counts import asked_of
from foreknow.call_hints import Plain
from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels.labels import Label
from foreknow.needs import Need, Needs, require, several_values
from foreknow.shown_numbers import significant
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.files.json_values import plain
from foreknow_judge.numbers import Number, as_fraction


@dataclass(frozen=True)
class Attained(Plain):
    """The amount of a criterion that a release attains."""

    _json_fields = "exact words group"
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


class OfGroups:
    """The base of criteria that hold for merged groups if they hold for the parts."""

    key: ClassVar[str]
    needs: ClassVar[Needs]
    of_people: ClassVar[bool]
    of_labels: ClassVar[bool] = False
    of_cases: ClassVar[bool] = False
    of_groups: ClassVar[Any] = None
    speaks: ClassVar[Any] = None
    least: ClassVar[int] = 0

    def limits_values(self, counts: GroupCounts | None = None) -> bool:
        """True unless the criterion is about numbers of people, whatever their values."""
        return not self.of_people

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Self:
        """Make it of its table in a policy file."""
        return cls(**dict(settings))

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """Refuse to be called as a function, and say what asks it."""
        raise InputError(
            "a criterion is no function: .holds(release) asks it; of a frame, that is .holds("
            "fk.Release.from_generalized(frame, quasi_identifiers=[...], sensitive=...))"
        )

    def attained(self, release: HasCounts) -> Attained:
        """The amount that a release attains, where, and in words."""
        raise NotImplementedError

    def measure(self, release: HasCounts) -> int | Fraction | float:
        """The amount that a release attains."""
        return self.attained(release).amount

    def holds(self, release: HasCounts) -> bool:
        """True if a release meets the criterion."""
        return self.attained(release).holds

    def monotone(self, semantics: Semantics = "single") -> bool:
        """True: if all parts of a group meet the criterion, so does the group (see the module)."""
        return True

    def ledger(self, semantics: Semantics = "single", whole: Any = None) -> Ledger:
        """Start a ledger for a search; `whole` is how many of the table have each value.

        The ledger answers whether the release stays safe if some groups replace others.
        """
        require(self, {**several_values(semantics), Need.FINISHED: True})
        return EachGroup(
            partial(self.failing, table_counts=whole), partial(self.leaving, table_counts=whole)
        )

    def failing(self, counts: GroupCounts, table_counts: Any) -> BoolArray:
        """True for each group that fails, for the ledger of a search."""
        raise NotImplementedError

    def leaving(self, counts: GroupCounts, table_counts: Any) -> IntArray:
        """The least number of people who must leave each group: all, or until it holds."""
        return np.zeros(counts.n_groups, dtype=np.int64)

    def fails(self, counts: GroupCounts) -> BoolArray | None:
        """True for each group that fails, by a ledger that looks at each."""
        ledger = self.ledger(counts.semantics, counts.totals)
        return ledger.fails(counts) if isinstance(ledger, EachGroup) else None

    def beyond_groups(self, release: HasCounts) -> bool:
        """False: the criterion is about single groups."""
        return False

    def under(self, schema: Any, sensitive: str | None = None) -> Any:
        """The criterion itself, which needs nothing from a schema."""
        return self

    def stricter(self, share: Fraction, decoys: int | None) -> Any:
        """The criterion itself, since odds change nothing."""
        return self

    def may_fail(
        self, counts: GroupCounts, table_counts: Any, times: Fraction, swaps: int
    ) -> BoolArray:
        """True for each group that may fail against a whole table; see `Criterion.may_fail`."""
        raise NotImplementedError

    def ways_out(self, release: HasCounts) -> Sequence[str]:
        """Lines of advice if the criterion fails; none by default."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The criterion's entry in a policy file."""
        return {self.key: self._settings()}

    def _settings(self) -> dict[str, Any]:
        """The fields of the criterion, as the keys of its table."""
        criterion: Any = self
        settings: dict[str, Any] = {}
        for setting in fields(criterion):
            value = getattr(criterion, setting.name)
            if value is not None:
                settings[setting.name] = plain(value, as_setting)
        return settings

    def published(self) -> dict[str, Any]:
        """The criterion's entry in a certificate; by default as in a policy file."""
        return self.to_dict()


def groups_of(release: HasCounts) -> GroupCounts:
    """The counts of a release, which must have groups, and of which rows are people."""
    counts = asked_of("a criterion", release, frozenset({Need.NO_CASES}))
    if not counts.n_groups:
        raise DataError("the release has no groups")
    return counts


def counts_for(criterion: Any, release: HasCounts) -> GroupCounts:
    """The counts of a release; refused where a criterion cannot be about them."""
    asked_of(criterion, release)
    counts = groups_of(release)
    require(criterion, several_values(counts.semantics))
    return counts


def classes_of(release: HasCounts) -> GroupCounts:
    """The counts of people who look alike: in a group, and in published exact columns."""
    published = getattr(release, "release", release)  # of what was published
    return groups_of(getattr(published, "alike", lambda: published)())


def smallest(counts: GroupCounts) -> str:
    """The smallest set of people who look alike, in words."""
    if counts.of_exact_groups:
        return f"the smallest set of people with equal {', '.join(counts.group_columns)}"
    return "the smallest group"


def failing_groups(fails: Callable[..., bool], *columns: NDArray[Any]) -> BoolArray:
    """True for each group that fails, by whole numbers of each; equal groups are asked once.

    `columns` are arrays with an entry for each group, which `fails` gets as arguments.
    """
    rows, combination_of_group = np.unique(np.stack(columns, 1), axis=0, return_inverse=True)
    combination_fails: BoolArray = np.array([fails(*row) for row in rows.tolist()], dtype=bool)
    return combination_fails[combination_of_group.reshape(-1)]


# ---- what their messages and settings share --------------------------------------------------


def as_setting(number: Fraction) -> int | str:
    """A fraction as a policy file has it."""
    return int(number) if number.denominator == 1 else str(number)


def distinguished(amount: Number | float, limit: Number) -> tuple[str, str]:
    """A number and its limit for people, in digits that look alike only where they are equal.

    >>> distinguished(0.2, "1/5"), distinguished(Fraction("0.2000001"), 0.2)
    (('0.2', '0.2'), ('0.2000001', '0.2'))
    >>> distinguished(1, 10**400)
    ('1', '1e+400')
    """
    exact_limit = as_fraction(limit)
    if amount == inf:
        return "inf", _digits(exact_limit, 4)
    exact_amount = as_fraction(amount)
    # More digits until the two texts differ, unless the numbers are equal.
    for digits in range(4, 300):
        amount_text, limit_text = _digits(exact_amount, digits), _digits(exact_limit, digits)
        if amount_text != limit_text or exact_amount == exact_limit:
            break
    return amount_text, limit_text


def _digits(number: Fraction, digits: int) -> str:
    if number >= 10**15:
        return f"{Decimal(int(number)).normalize():.{digits}g}"
    return significant(number, digits)


# ---- the ledgers of criteria --------------------------------------------------------------------


class SumLedger:
    """A ledger of what is added up over all groups: safe while the sums hold."""

    now: Any = 0
    exact: ClassVar[bool] = True
    sums_up: ClassVar[bool] = True

    def sums(self, counts: GroupCounts) -> IntArray:
        """The summands of each group, shape (groups, sums)."""
        raise NotImplementedError

    def holds(self, sums: IntArray) -> BoolArray:
        """True for each release that is safe, by its sums."""
        raise NotImplementedError

    @property
    def looks_back(self) -> bool:
        """True if it matters which groups are replaced."""
        return True

    def admits(self, removed: GroupCounts | None, added: GroupCounts) -> bool:
        """True if the sums hold when `added` replaces `removed`."""
        return bool(self.holds((self.now + self._change(removed, added))[None])[0])

    def commit(self, removed: GroupCounts | None, added: GroupCounts) -> None:
        """Note that `added` replaced `removed`."""
        self.now = self.now + self._change(removed, added)

    def _change(self, removed: GroupCounts | None, added: GroupCounts) -> IntArray:
        change: IntArray = self.sums(added).sum(0)
        return (
            change if removed is None or not self.looks_back else change - self.sums(removed).sum(0)
        )

    def evaluate(
        self, removed: GroupCounts | None, added: GroupCounts, owner: NDArray[Any]
    ) -> SumEvaluation:
        """Measure many proposals: the change of the sums by each; see `Ledger.evaluate`.

        Group g of `added` belongs to proposal ``owner[g]``, and replaces groups in `removed`.
        """
        n_proposals = int(owner.max(initial=-1)) + 1
        changes = _added_up(owner, self.sums(added), n_proposals)
        if removed is not None and self.looks_back:
            # Which proposal each removed group belongs to; by default the one of its number.
            of_group = np.arange(removed.n_groups) if removed.origin is None else removed.origin
            changes -= _added_up(of_group, self.sums(removed), n_proposals)
        return SumEvaluation(self, changes)


def _added_up(owner: NDArray[Any], sums: IntArray, n_owners: int) -> IntArray:
    """The sums of the groups of each owner."""
    columns = [np.bincount(owner, column, minlength=n_owners) for column in sums.T]
    return np.stack(columns, 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SumEvaluation:
    """The change of the sums by each proposal."""

    ledger: SumLedger
    changes: IntArray

    def safe_each(self) -> BoolArray:
        """True for each proposal with which, by itself, the sums hold."""
        return self.ledger.holds(self.ledger.now + self.changes)

    def safe_jointly(self, chosen: BoolArray) -> bool:
        """True if they hold with all the chosen proposals."""
        return bool(self.ledger.holds((self.ledger.now + self.changes[chosen].sum(0))[None])[0])

    def risk_ratio(self) -> FloatArray:
        """0 for each proposal that holds, infinity for each that does not."""
        return np.where(self.safe_each(), 0.0, np.inf)

    def commit(self, chosen: BoolArray) -> None:
        """Note that the chosen proposals were carried out."""
        self.ledger.now = self.ledger.now + self.changes[chosen].sum(0)


@dataclass(eq=False)
class EachGroup(SumLedger):
    """Safe while no group `fails`; `leaving`: how many people must leave each at least."""

    fails: Callable[[GroupCounts], BoolArray]
    leaving: Callable[[GroupCounts], IntArray] | None = None
    sums_up: ClassVar[bool] = False

    def sums(self, counts: GroupCounts) -> IntArray:
        """1 for each group that fails."""
        return self.fails(counts)[:, None].astype(np.int64)

    def holds(self, sums: IntArray) -> BoolArray:
        """True for each release in which no group fails."""
        return np.asarray(sums[:, 0] == 0)

    @property
    def looks_back(self) -> bool:
        """True if a group fails that could be replaced."""
        return bool(np.any(self.now))

    def fewest_leaving(self, counts: GroupCounts) -> IntArray:
        """How many people must leave each group at least; see `PolicyLedger`."""
        if self.leaving is None:
            return np.zeros(counts.n_groups, dtype=np.int64)
        return self.leaving(counts)

    def alone(self, counts: GroupCounts) -> BoolArray:
        """True for each group that holds by itself."""
        return ~self.fails(counts)
