"""Criteria that only the judge has a file for: a class of each, made from its gauge.

A search asks the gauge itself whether a group holds. That is slower than a class of its own, which
looks at all groups at once; and such a criterion looks at each group by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, make_dataclass
from fractions import Fraction
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel

from foreknow.adversaries.adversary import HasCounts
from foreknow.criteria.group_criterion import Attained, OfGroups, counts_for
from foreknow.criteria.registry import asks_groups
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

# People of one value in a group that is large, whatever the settings.
_MANY = 10**6
# What the name of a class begins with in this module, before the key of its criterion.
PREFIX = "criterion_"


class Gauged(OfGroups):
    """The base of these classes; their fields are the settings of the gauge."""

    gauge: ClassVar[Gauge]
    bare: ClassVar[str | None]  # the only field, where the settings are no class
    needs: ClassVar[Needs] = frozenset(
        {Need.ONE_VALUE, Need.NO_WINDOWS, Need.NO_SETS, Need.EVERYBODY}
    )
    compares_table: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Read the settings, and refuse those that the gauge refuses."""
        try:
            set_fields(self, **self._fields_of(self._read()))
            self._measured(_bags([1], [0], [0], 1, ["a value"]))
        except CertificateError as error:
            raise InputError(f"{self.key}: {error}") from None

    def __reduce__(self) -> Any:
        return _made, (self.key, vars(self))

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Gauged:
        """Make it of what a policy file has."""
        return cls(**cls._fields_of(settings))

    @classmethod
    def _fields_of(cls, settings: Any) -> dict[str, Any]:
        """The fields, by settings that were read."""
        values = _frozen(settings)
        return values if cls.bare is None else {cls.bare: values}

    def to_dict(self) -> dict[str, Any]:
        """The criterion's entry in a policy file."""
        settings = self._settings()
        return {self.key: settings if self.bare is None else settings[self.bare]}

    def _read(self) -> Any:
        return settings_of(self.key, self.to_dict()[self.key])

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
        """True if a large group of one value fails; with counts, of a value that somebody has."""
        if counts is None:  # values that the settings name may be the only ones that are limited
            names = [*_texts(self._settings()), "a value"]
            each = np.arange(len(names))
            people = np.full(len(names), _MANY)
            large = _bags(people, each, each, len(names), names)
            return super().limits_values() and not self._measured(large).holds
        everybody = _bags_of(counts, np.arange(counts.n_groups))
        return limits_values(self.gauge, self._read(), everybody, ())

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
        measured = Measured(*self.gauge.measure(groups, self._read()))
        return measured._replace(holds=bool(measured.holds))


# What no setting can be called.
_TAKEN = {*dir(Gauged), "bare", "gauge", "key", "of_people", "settings"}


def _bags_of(counts: GroupCounts, groups: IntArray) -> GroupBags:
    """Some groups as the judge counts them; each is called by its number among them."""
    taken = counts.take(groups)
    names = [str(value) for value in taken.values]
    return _bags(taken.counts, taken.cell_groups, taken.codes, taken.n_groups, names)


def _bags(people: Any, groups: Any, codes: Any, n_groups: int, names: Sequence[str]) -> GroupBags:
    numbers = Column([str(number) for number in range(n_groups)], np.arange(n_groups))
    return GroupBags([numbers], names, np.asarray(groups), np.asarray(codes), np.asarray(people))


def _frozen(setting: Any) -> Any:
    """A setting as a field has it: lists as tuples, and tables without what they leave out."""
    if isinstance(setting, BaseModel):
        setting = {name: value for name, value in setting if value is not None}
    if isinstance(setting, dict):
        return {name: _frozen(value) for name, value in setting.items()}
    return tuple(map(_frozen, setting)) if isinstance(setting, list) else setting


def _texts(settings: Any) -> Iterator[str]:
    """Yield every value in some settings, as text."""
    if isinstance(settings, Mapping):
        settings = [*settings, *settings.values()]
    if not isinstance(settings, list):
        yield str(settings)
        return
    for inner in settings:
        yield from _texts(inner)


def _made(key: str, settings: Mapping[str, Any]) -> Gauged:
    """The criterion with these settings."""
    criterion: Gauged = class_of(key)(**settings)
    return criterion


@cache
def class_of(key: str) -> Any:
    """The class of a criterion that is named by its key in a policy.

    Its fields are the settings. Settings that are no class, such as a number, are one field.
    """
    gauge = GAUGES[key]
    members = getattr(gauge.settings, "model_fields", None)
    if members is None:
        bare, settings = "amount", [("amount", Any)]
    else:
        bare, settings = None, sorted(map(_field_of, members.items()), key=len)
    taken = sorted({name for name, *_ in settings} & _TAKEN)
    if taken:
        raise InputError(f"{key}: a setting cannot be called {' or '.join(map(repr, taken))}")
    return make_dataclass(
        key.title().replace("_", ""),
        settings,
        bases=(Gauged,),
        frozen=True,
        namespace={
            "key": key,
            "settings": gauge.settings,
            "bare": bare,
            "gauge": gauge,
            "of_people": gauge.of_people,
            "__doc__": gauge.measure.__doc__,
            "__module__": __name__,
        },
    )


def _field_of(member: tuple[str, Any]) -> Any:
    """A setting as a field of a dataclass, with its default if it has one."""
    name, info = member
    if info.is_required():
        return name, info.annotation
    make = partial(info.get_default, call_default_factory=True)
    return name, info.annotation, field(default_factory=make)


def __getattr__(name: str) -> Any:
    """The class that `registry` names by the prefix and a key."""
    key = name.removeprefix(PREFIX)
    if key == name or key not in GAUGES or not asks_groups(GAUGES[key]):
        raise AttributeError(name)
    return class_of(key)
