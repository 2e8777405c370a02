"""Risk of being recognized, as regulators limit it: of a prosecutor, on average, of who is unique.

The figures are those of K. El Emam, "Guide to the De-Identification of Personal Health
Information", 2013, of ARX and of `risk_report`. Merging groups never raises one of a table: there
are fewer groups of as many people, and larger ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, ClassVar, NamedTuple

import numpy as np

from foreknow.adversaries.adversary import HasCounts, KnowledgeReach, Ledger
from foreknow.criteria.group_criterion import (
    Attained,
    OfGroups,
    SumLedger,
    classes_of,
    distinguished,
    smallest,
)
from foreknow.criteria.size import Anybody
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.needs import Need, Needs
from foreknow.settings import with_examples
from foreknow.shown_numbers import significant
from foreknow.wording import people_text
from foreknow_judge.criteria.gauges import CRITERIA
from foreknow_judge.errors import InputError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import Number, as_fraction


class Figure(NamedTuple):
    """One figure of a release, and its limit."""

    amount: Fraction
    limit: Fraction
    words: str


class Limits(OfGroups):
    """The base of both criteria: limits that may be reached unless strict."""

    strict: bool
    names: ClassVar[tuple[str, ...]]

    def _check_limits(self) -> None:
        """Refuse wrong settings, and keep each limit as a fraction."""
        name = type(self).__name__
        if not isinstance(self.strict, bool):
            raise InputError(f"{name}: strict is true or false, not {self.strict!r}")
        if not self.limits:
            raise InputError(f"{name} limits nothing: give {' or '.join(self.names)}")
        for key, value in self.limits.items():
            limit = as_fraction(value)
            set_fields(self, **{key: limit})
            may_be_zero = key == "uniqueness" and not self.strict  # at most nobody is alone
            if limit > 1 or limit < 0 or (limit == 0 and not may_be_zero):
                lowest = "from 0" if may_be_zero else "above 0"
                raise InputError(f"{name}: {key} must be {lowest} to 1, not {value}")

    @property
    def limits(self) -> dict[str, Fraction]:
        """The limits that are set, by name."""
        limits = {key: getattr(self, key) for key in self.names}
        return {key: limit for key, limit in limits.items() if limit is not None}

    def __str__(self) -> str:
        settings = [f"{key}={limit}" for key, limit in self.limits.items()]
        settings += ["strict=True"] if self.strict else []
        return f"{type(self).__name__}({', '.join(settings)})"

    def keeps(self, amount: Fraction, limit: Fraction) -> bool:
        """True if a figure keeps its limit."""
        return amount < limit if self.strict else amount <= limit

    def least_of(self, key: str) -> int:
        """The least number n of people alike for which 1/n keeps a limit; 0 without a limit."""
        if key not in self.limits:
            return 0
        number = 1 / self.limits[key]
        return floor(number) + 1 if self.strict else ceil(number)

    def too_many(self, people: int, everybody: int) -> bool:
        """True if this number of unique people exceeds the limit on uniqueness."""
        limit = self.limits.get("uniqueness")
        return limit is not None and not self.keeps(Fraction(people, everybody), limit)

    def _attained(self, figures: Iterable[Figure], group: Any, suffix: str = "") -> Attained:
        """All figures in words, with the amount of the first that fails, or else of the first."""
        figures = list(figures)
        failing = [figure for figure in figures if not self.keeps(figure.amount, figure.limit)]
        sentences = []
        for figure in figures:
            amount, limit = distinguished(figure.amount, figure.limit)
            must = f"must be below {limit}" if self.strict else f"the limit is {limit}"
            sentences.append(f"{figure.words.format(amount)}, {must}")
        stated, *_ = failing or figures
        words = "; ".join(sentences) + suffix
        return Attained(stated.amount, holds=not failing, words=words, group=group)

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        if not self.strict:
            settings.pop("strict", None)
        return settings


@dataclass(frozen=True)
class Risk(Limits):
    """A limit on the risk that people who are known to be in the table are recognized.

    `KAnonymity` defines who looks alike. A limit may be reached, unless `strict`.

    | limit | of a release |
    | --- | --- |
    | prosecutor | 1 over the fewest people who look alike: the highest risk of a person |
    | average | how many sets of people there are who look alike, over all people: the average of everybody's risk |
    | uniqueness | people who look like nobody else, as a share of all people |

    All given limits must hold. `measure` is the first, in this order, that does not hold; if all
    hold, the first that is given.

    Parameters
    ----------
    prosecutor, average : number, optional
        Limits above 0, at most 1; None: no limit.
    uniqueness : number, optional
        A limit from 0 to 1; None: no limit.
    strict : bool
        Whether figures must stay strictly below the limits.

    Notes
    -----
    1/11 is more than 0.09, so ``prosecutor=0.09`` asks for 12 people who look alike, and
    ``prosecutor="1/11"`` for 11.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["Flu", "Cold"], ["Flu", "Flu", "AIDS"], ["Flu"]])
    >>> Risk(prosecutor="1/2").measure(counts), Risk(average="1/2").measure(counts)
    (Fraction(1, 1), Fraction(1, 2))
    >>> Risk(uniqueness="1/6").holds(counts), Risk(average=0.5, strict=True).holds(counts)
    (True, False)
    """  # noqa: E501

    prosecutor: Number | None = None
    average: Number | None = None
    uniqueness: Number | None = None
    strict: bool = False
    key: ClassVar[str] = "risk"
    names: ClassVar[tuple[str, ...]] = ("prosecutor", "average", "uniqueness")
    settings: ClassVar[Any] = with_examples(
        CRITERIA["risk"], prosecutor=0.09, average=0.05, uniqueness=0
    )
    needs: ClassVar[Needs] = frozenset({Need.NO_WINDOWS, Need.NO_SETS, Need.EVERYBODY})
    of_people: ClassVar[bool] = True
    compares_table: ClassVar[bool] = False
    of_groups: ClassVar[Any] = Anybody()

    def __post_init__(self) -> None:
        self._check_limits()

    @property
    def least(self) -> int:  # type: ignore[override]
        """The least size of a group."""
        return self.least_of("prosecutor")

    @property
    def speaks(self) -> KnowledgeReach | None:
        """The reach of sizes; None for limits on all groups together."""
        return None if self._of_all else KnowledgeReach(0)

    @property
    def _of_all(self) -> bool:
        """True if it asks something of all groups together."""
        return not self.limits.keys() <= {"prosecutor"}

    def attained(self, release: HasCounts) -> Attained:
        """The figures of a release, and its smallest group."""
        counts = classes_of(release)
        group = int(np.argmin(counts.sizes))
        highest = significant(1 / int(counts.sizes[group]), 4)
        suffix = f"; one person's prosecutor risk is up to {highest}, which is not limited"
        suffix *= "prosecutor" not in self.limits
        return self._attained(self._figures(counts), counts.group_label(group), suffix)

    def _figures(self, counts: GroupCounts) -> Iterable[Figure]:
        """The figure of each risk that has a limit, with a sentence that explains it."""
        smallest_size, limits = int(counts.sizes.min()), self.limits
        groups, people = counts.n_groups, counts.n_people
        # Each text has a place for the figure, {}.
        if "prosecutor" in limits:
            text = f"{smallest(counts)} has {people_text(smallest_size)}, a prosecutor risk of {{}}"
            yield Figure(Fraction(1, smallest_size), limits["prosecutor"], text)
        if "average" in limits:
            text = f"there are {groups:,} sets of people who look alike, of {people_text(people)}"
            text += ": an average risk of {}"
            yield Figure(Fraction(groups, people), limits["average"], text)
        if "uniqueness" in limits:
            n_unique = int((counts.sizes == 1).sum())
            text = f"{n_unique:,} of {people_text(people)} look like nobody else, a share of {{}}"
            yield Figure(Fraction(n_unique, people), limits["uniqueness"], text)

    def fails(self, counts: GroupCounts) -> BoolArray:
        """True for each group that is too small, or is one person if too many people are alone."""
        fails, is_unique = self.failing(counts), counts.sizes == 1
        return fails | is_unique if self.too_many(int(is_unique.sum()), counts.n_people) else fails

    def beyond_groups(self, release: HasCounts) -> bool:
        """True if the average fails, which is no single group's failure."""
        counts = classes_of(release)
        amount, limit = Fraction(counts.n_groups, counts.n_people), self.limits.get("average")
        return limit is not None and not self.keeps(amount, limit)

    def ledger(self, semantics: Semantics = "single", whole: Any = None) -> Ledger:
        """Start a ledger for a search."""
        return _RiskLedger(self) if self._of_all else super().ledger(semantics, whole)

    def failing(self, counts: GroupCounts, table_counts: Any = None) -> BoolArray:
        """True for each group that is too small."""
        return counts.sizes < self.least

    def leaving(self, counts: GroupCounts, table_counts: Any = None) -> IntArray:
        """The number of people who must leave each group: everybody, if it is too small."""
        return np.where(self.failing(counts), counts.sizes, 0)


# ---- the ledger: sums over all groups ----------------------------------------------------------


@dataclass(eq=False)
class _RiskLedger(SumLedger):
    """The sums of all groups together."""

    rule: Risk

    def sums(self, counts: GroupCounts) -> IntArray:
        """The summands of each group: 1, its people, 1 if too small, 1 if one person."""
        sizes = counts.sizes
        return np.stack((np.ones_like(sizes), sizes, sizes < self.rule.least, sizes == 1), 1)

    def holds(self, sums: IntArray) -> BoolArray:
        """True for releases whose sums keep the limits; `sums` has a row for each release.

        Its columns are groups, people, groups that are too small, and people who are alone.
        """
        rule = self.rule
        groups, people, small, unique = sums.T.astype(object)  # products of any length
        # No group may be too small for the limit on a single person's risk.
        holds: BoolArray = small == 0
        for n_affected, key in ((groups, "average"), (unique, "uniqueness")):
            if (limit := rule.limits.get(key)) is not None:
                # n / people against the limit, in whole numbers; a release of nobody keeps it.
                scaled, allowed = n_affected * limit.denominator, people * limit.numerator
                holds = holds & (
                    (scaled < allowed if rule.strict else scaled <= allowed) | (people == 0)
                )
        return holds.astype(bool)

    def alone(self, counts: GroupCounts) -> BoolArray:
        """True for each group that may be there at all: other groups may make up for the rest."""
        return ~self.rule.failing(counts)

    def fewest_leaving(self, counts: GroupCounts) -> IntArray:
        """How many people must leave each group at least; see `PolicyLedger`."""
        return self.rule.leaving(counts)
