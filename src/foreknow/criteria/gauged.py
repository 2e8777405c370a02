"""Criteria that only the judge has a file for: a class of each, made from its gauge.

A search asks the gauge itself whether a group holds. That is slower than a class of its own, which
looks at all groups at once; and such a criterion looks at each group by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import make_dataclass
from fractions import Fraction
from functools import cache
from math import inf
from typing import Any, ClassVar

import numpy as np

from foreknow.adversaries.adversary import HasCounts
from foreknow.criteria.group_criterion import Attained, OfGroups, counts_for
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.needs import Need, Needs
from foreknow.shown_numbers import significant
from foreknow_judge.counts.group_bags import Column, GroupBags, Measured
from foreknow_judge.criteria.gauge import Gauge
from foreknow_judge.criteria.gauges import GAUGES, limits_values
from foreknow_judge.errors import CertificateError, InputError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.registry import settings_of

# Sizes of groups of one value; if none of these fails, no value is taken to be limited.
_SIZES = 1, 2, 10, 10**6


class Gauged(OfGroups):
    """The base of these classes; their fields are the settings of the gauge."""

    gauge: ClassVar[Gauge]
    needs: ClassVar[Needs] = frozenset(
        {Need.ONE_VALUE, Need.NO_WINDOWS, Need.NO_SETS, Need.EVERYBODY}
    )
    compares_table: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Read the settings, and refuse those that the gauge refuses."""
        try:
            read = settings_of(self.key, self._settings())
            set_fields(self, **{name: getattr(read, name) for name in type(read).model_fields})
            self._measured(_bags([1], [0], [0], 1, ["a value"]))
        except CertificateError as error:
            raise InputError(f"{self.key}: {error}") from None

    def attained(self, release: HasCounts) -> Attained:
        """The amount that the gauge measures of a release, where, and whether it holds."""
        counts = counts_for(self, release)
        measured = self._measured(_bags_of(counts, np.arange(counts.n_groups)))
        amount: Fraction | float = inf
        text = "more than any number"
        if measured.amount is not None:
            amount, text = measured.amount, significant(measured.amount, 6)
        group = counts.group_label(int(measured.group[0] or 0))
        fails = "" if measured.holds else ", and so fails"
        words = f"the worst group attains {text}{fails}"
        return Attained(amount, measured.holds, words=words, group=group)

    def limits_values(self, counts: GroupCounts | None = None) -> bool:
        """True if a group of one value fails; with counts, a group of those who have it."""
        if counts is None:
            sizes, values = np.array(_SIZES), np.arange(len(_SIZES))
            by_value = _bags(sizes, values, values, len(_SIZES), [*map(str, values)])
            return super().limits_values() and not self._measured(by_value).holds
        everybody = _bags_of(counts, np.arange(counts.n_groups))
        return limits_values(self.gauge, settings_of(self.key, self._settings()), everybody, ())

    def monotone(self, semantics: Semantics = "single") -> bool:
        """True if groups that hold still hold as one."""
        return self.gauge.merges

    def failing(self, counts: GroupCounts, table_counts: Any = None) -> BoolArray:
        """True for each group that fails, as the gauge says of it."""
        fails: BoolArray = np.zeros(counts.n_groups, dtype=bool)
        fails[[*self._failing_among(counts, np.arange(counts.n_groups))]] = True
        return fails

    def _failing_among(self, counts: GroupCounts, groups: IntArray) -> Iterator[int]:
        """Yield the groups that fail among some; where none does, they are measured once."""
        if not len(groups) or self._measured(_bags_of(counts, groups)).holds:
            return
        if len(groups) == 1:
            yield int(groups[0])
            return
        middle = len(groups) // 2
        yield from self._failing_among(counts, groups[:middle])
        yield from self._failing_among(counts, groups[middle:])

    def _measured(self, groups: GroupBags) -> Measured:
        settings = settings_of(self.key, self._settings())
        return Measured(*self.gauge.measure(groups, settings))


def _bags_of(counts: GroupCounts, groups: IntArray) -> GroupBags:
    """Some groups as the judge counts them; each is called by its number among them."""
    taken = counts.take(groups)
    names = [str(value) for value in taken.values]
    return _bags(taken.counts, taken.cell_groups, taken.codes, taken.n_groups, names)


def _bags(people: Any, groups: Any, codes: Any, n_groups: int, names: Sequence[str]) -> GroupBags:
    numbers = Column([str(number) for number in range(n_groups)], np.arange(n_groups))
    return GroupBags([numbers], names, np.asarray(groups), np.asarray(codes), np.asarray(people))


@cache
def __getattr__(key: str) -> Any:
    """The class of a criterion that is named by its key in a policy."""
    gauge = GAUGES.get(key)
    if gauge is None or not gauge.by_group:
        raise AttributeError(key)
    settings = [
        (name, field.annotation) if field.is_required() else (name, field.annotation, field.default)
        for name, field in gauge.settings.model_fields.items()
    ]
    return make_dataclass(
        key.title().replace("_", ""),
        settings,
        bases=(Gauged,),
        frozen=True,
        namespace={
            "key": key,
            "settings": gauge.settings,
            "gauge": gauge,
            "of_people": gauge.of_people,
            "__doc__": gauge.measure.__doc__,
            "__module__": __name__,
        },
    )
