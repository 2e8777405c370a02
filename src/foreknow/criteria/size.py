"""Sizes: how many people groups have, and how many people look alike."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, cast

import numpy as np
from pydantic import Field

from foreknow import numbers
from foreknow.adversaries.adversary import HasCounts, KnowledgeReach
from foreknow.call_hints import hints
from foreknow.criteria.group_criterion import (
    Attained,
    OfGroups,
    classes_of,
    groups_of,
    smallest,
)
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics, UnitCounts
from foreknow.data.labels.labels import GroupLabels
from foreknow.errors import did_you_mean
from foreknow.needs import Need, Needs
from foreknow.wording import people_text
from foreknow_judge.criteria.gauges import CRITERIA
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.policy.settings import FromOne, Settings

_GROUP_SIZE, _K_ANONYMITY = CRITERIA["group_size"], CRITERIA["k_anonymity"]


Lists: TypeAlias = tuple[tuple[str, ...], ...]


class _OfCombinations(Settings):
    """``{ k = 3, of = 2 }`` in a policy file; a certificate lists the pairs of columns."""

    k: Any
    of: FromOne


@hints()
@dataclass(frozen=True, repr=False)
class GroupSize(OfGroups):
    """Every group has at least k people, so that at least k people share one bag of values.

    If exact columns are published beside the group, fewer people may look alike: see `KAnonymity`.
    A set of tables has this property exactly if each of its subsets has it.

    Parameters
    ----------
    k : int
        The least number of people, at least 1.
    of : str, optional
        A column that numbers households or other units: each group has at least k different ones.
        The owner counts them; a release does not show them. A row that names none is a unit by
        itself. None: people are counted.

    Examples
    --------
    >>> from foreknow.data.counts import GroupCounts
    >>> counts = GroupCounts.from_bags([["Flu", "Cold"], ["Flu", "Flu", "AIDS"]])
    >>> GroupSize(3).measure(counts), GroupSize(3).holds(counts)
    (2, False)
    """

    k: int
    of: str | None = None
    key: ClassVar[str] = "group_size"
    settings: ClassVar[Any] = Annotated[
        _GROUP_SIZE, Field(description="people in each group", examples=[5])
    ]
    needs: ClassVar[Needs] = frozenset({Need.NO_WINDOWS, Need.NO_SETS, Need.EVERYBODY})
    of_people: ClassVar[bool] = True
    compares_table: ClassVar[bool] = False
    of_cases: ClassVar[bool] = True  # of whose people it is then; see `under`
    speaks: ClassVar[KnowledgeReach] = KnowledgeReach(0)
    convex: ClassVar[bool] = True
    complete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        numbers.whole_number(self.k, name, 1)
        if not isinstance(self.of, (str, type(None))):
            raise InputError(f"{name}: of names one column of households or persons, not {self.of}")

    @property
    def unit(self) -> str | None:
        """The column that numbers the units that are counted; None if rows are counted."""
        return self.of

    @property
    def least(self) -> int:  # type: ignore[override]
        """The least number of people of a group."""
        return self.k

    def colour(self, value: Hashable) -> Hashable:
        """The same colour for every value: values do not matter."""
        return 0

    def limit(self, size: int, colour: Hashable) -> int:
        """The most people who may have a value: all, but -1 in a group that is too small."""
        return size if size >= self.k else -1

    def allows(self, row: Any, total: int, size: int) -> bool:
        """True if the group is large enough."""
        return size >= self.k

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> GroupSize:
        """Build it from ``group_size = 5`` in a policy file, or from a table with `k` and `of`."""
        return cls(settings) if isinstance(settings, int) else cls(settings.k, settings.of)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.k}{'' if self.of is None else f', of={self.of!r}'})"

    def under(self, schema: Any, sensitive: str | None = None) -> GroupSize:
        """The same criterion, which counts people if rows are their cases."""
        of = self.of or next(iter(schema.case_persons), None)
        return self if of == self.of else replace(self, of=of)

    def attained(self, release: HasCounts) -> Attained:
        """The smallest group of a release."""
        return self._smallest_attained(groups_of(getattr(release, "of_anybody", release)))

    def sizes(self, counts: GroupCounts) -> IntArray:
        """The number of people, or of different units, in each group."""
        if self.unit is None:
            return counts.sizes
        if not isinstance(counts, UnitCounts):
            raise UnsupportedError(
                f"{self}: how many different {self.unit} groups have, a release and its counts do "
                "not tell; give publish or audit the table, with a policy"
            )
        return counts.units

    def _smallest_attained(self, counts: GroupCounts) -> Attained:
        """The smallest group, by people or by units, and whether it is large enough."""
        sizes = self.sizes(counts)
        group = int(np.argmin(sizes))
        size = int(sizes[group])
        rows: dict[str | None, str] = {None: "person" if size == 1 else "people"}
        people = rows.get(self.unit, f"different {self.unit}")
        text = f"{smallest(counts)} has {size} {people}; required: at least {self.k}"
        return Attained(size, holds=size >= self.k, words=text, group=counts.group_label(group))

    def failing(self, counts: GroupCounts, table_counts: Any) -> BoolArray:
        """True for each group that is too small."""
        return self.sizes(counts) < self.k

    def leaving(self, counts: GroupCounts, table_counts: Any) -> IntArray:
        """The number of people who must leave each group: all, if it is too small."""
        return np.where(self.failing(counts, table_counts), counts.sizes, 0)

    def to_dict(self) -> dict[str, Any]:
        """The entry in a policy file, such as ``{"group_size": 5}``."""
        return {self.key: self.k if self.of is None else {"k": self.k, "of": self.of}}


@hints()
@dataclass(frozen=True, repr=False)
class KAnonymity(GroupSize):
    """Every person looks like at least k people in the columns that others may know.

    People look alike if the release shows the same about them: in the generalized form, everybody
    in a group; in the bucketized form, everybody with the same exact values, whatever their groups.
    In a release of groups without such columns, everybody in a group.

    Parameters
    ----------
    k : int
        The least number of people who look alike, with the person: at least 1.
    of : str, int, or sequence of str, or several of these, optional
        A text: the column that numbers households or other units; see `GroupSize`. A list of
        columns, or several: everybody shares what is published in all columns of each list with at
        least k people, themselves included. The columns are quasi-identifiers, or columns that a
        requirement says are known (`knowing`). A number n: all lists of n quasi-identifiers (n = 2:
        all pairs). None: all columns. Labels are shared if they are written alike: "20 to 29" and
        "20 to 24" differ, though they overlap. If several releases are judged as one, only people
        of the same release share labels.

    Notes
    -----
    For lists of columns, a search asks more than they need: k people in each group.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.release import Release
    >>> people = pa.table({"group": [1, 1, 1, 1], "age": [30, 30, 41, 41]})
    >>> tally = pa.table({"group": [1, 1], "disease": ["Flu", "AIDS"], "count": [3, 1]})
    >>> release = Release.from_bucketized(tally, sensitive="disease", people=people)
    >>> KAnonymity(3).measure(release), GroupSize(3).measure(release)
    (2, 4)
    >>> rows = {"age": ["20 to 29"] * 4, "sex": list("ffmm"), "disease": ["Flu"] * 4}
    >>> release = Release.from_generalized(
    ...     pa.table(rows), quasi_identifiers=["age", "sex"], sensitive="disease"
    ... )
    >>> KAnonymity(4).measure(release), KAnonymity(4, of=["age"]).measure(release)
    (2, 4)
    """

    of: Any = None
    key: ClassVar[str] = "k_anonymity"
    settings: ClassVar[Any] = Annotated[
        _K_ANONYMITY | _OfCombinations, Field(description="people who look alike", examples=[5])
    ]
    of_look_alikes: ClassVar[bool] = True  # and not only who is in a group

    def __post_init__(self) -> None:
        """Refuse a k below 1, and read lists of columns."""
        if isinstance(self.of, int):
            numbers.whole_number(self.of, "KAnonymity: of", 1)
        elif not isinstance(self.of, (str, type(None))):
            set_fields(self, of=_lists_of(self.of))
        numbers.whole_number(self.k, type(self).__name__, 1)

    def under(self, schema: Any, sensitive: str | None = None) -> GroupSize:
        """The criterion for a schema: counts people if rows are cases, and lists its columns."""
        criterion = super().under(schema, sensitive)
        if not isinstance(self.of, int):
            return criterion
        return replace(
            cast(KAnonymity, criterion), of=_combinations(schema.quasi_identifiers, self.of)
        )

    @property
    def unit(self) -> str | None:
        """The column that numbers the units that are counted; None if rows are counted."""
        return self.of if isinstance(self.of, str) else None

    @property
    def by_columns(self) -> bool:
        """True if people need to look alike in lists of columns only, not in all columns."""
        return isinstance(self.of, (int, tuple))

    @property
    def lists(self) -> Lists:
        """The lists of columns in which people look alike; empty if they do in all columns."""
        return self.of if isinstance(self.of, tuple) else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all `lists`."""
        return tuple(dict.fromkeys(chain.from_iterable(self.lists)))

    @property
    def of_groups(self) -> GroupSize | None:
        """The part of the criterion on groups: `Anybody`; None if units are counted in groups."""
        return Anybody() if self.unit is None else None

    @property
    def of_cases(self) -> bool:  # type: ignore[override]
        """True if people are counted, instead of rows that share some columns."""
        return not self.by_columns

    def monotone(self, semantics: Semantics = "single") -> bool:
        """True if merging groups never hurts; with lists it can: others may need their labels."""
        return not self.by_columns

    def attained(self, release: HasCounts) -> Attained:
        """The smallest group of a release, or the fewest people who look alike."""
        if not self.by_columns:
            return self._smallest_attained(classes_of(release))
        counts = classes_of(release)
        # For each list of columns, how many people share its labels; the fewest decide.
        lists, n_sharing = self._count_sharing(counts)
        worst_list = int(np.argmin(n_sharing.min(axis=1)))
        group = int(np.argmin(n_sharing[worst_list]))
        n_people = int(n_sharing[worst_list, group])
        columns = " and ".join(lists[worst_list]) or "columns"
        verb = "shares" if n_people == 1 else "share"
        text = (
            f"{people_text(n_people)} {verb} what is published of their {columns}, the fewest who "
            f"do; required: at least {self.k}"
        )
        return Attained(
            n_people, holds=n_people >= self.k, words=text, group=counts.group_label(group)
        )

    def fails(self, counts: GroupCounts) -> BoolArray | None:
        """True for each group with people who look like too few in some columns."""
        if not self.by_columns:
            return super().fails(counts)
        return np.asarray((self._count_sharing(counts)[1] < self.k).any(axis=0))

    def _count_sharing(self, counts: GroupCounts) -> tuple[Lists, IntArray]:
        """The lists of columns; and how many people share them with each group's, (lists, groups).

        Groups without labels are those of a search: their people share every column.
        """
        if not counts.group_columns:
            lists = self.lists or ((),)
            return lists, np.tile(counts.sizes, (len(lists), 1))
        labels = cast("GroupLabels", counts.groups)
        lists = self.lists
        if isinstance(self.of, int):
            # Columns that only say which release somebody is in are no choice.
            columns_of_people = [name for name in labels.columns if name not in labels.cohorts]
            lists = _combinations(columns_of_people, self.of)
        for name in self.columns:
            if name not in labels.columns:
                hint = did_you_mean(name, labels.columns)
                raise InputError(
                    f"{self}: {name!r} is no column by which groups differ: name "
                    f"quasi-identifiers, or columns that are also in knowing{hint}"
                )
        n_sharing = list[IntArray]()
        for columns in lists:
            # Only people of the same release share labels.
            positions = list(map(labels.columns.index, (*labels.cohorts, *columns)))
            # Groups that show the same in these columns get the same number.
            number_of_labels: dict[Any, int] = {}
            number_of_group = np.empty(len(labels), dtype=np.int64)
            for group, label in enumerate(labels):
                shown = tuple([label[position] for position in positions])
                number_of_group[group] = number_of_labels.setdefault(shown, len(number_of_labels))
            people = np.bincount(number_of_group, counts.sizes).astype(np.int64)
            n_sharing.append(people[number_of_group])
        return lists, np.stack(n_sharing)

    def to_dict(self) -> dict[str, Any]:
        """The entry in a policy file, such as ``{"k_anonymity": 5}``."""
        if not self.lists:
            return super().to_dict()
        return {self.key: {"k": self.k, "of": list(map(list, self.lists))}}

    def published(self) -> dict[str, Any]:
        """The entry in a certificate, which lists columns."""
        if isinstance(self.of, int):
            raise InputError(
                f"KAnonymity: of = {self.of} is of the quasi-identifiers of a schema, and the "
                'policy has none; add a [schema], or name lists, such as of = [["age", "sex"]]'
            )
        return self.to_dict()


@dataclass(frozen=True, repr=False)
class Anybody(GroupSize):
    """A criterion that every group holds, for a search that has nothing else to ask.

    It counts nobody, so it looks at no persons where rows are their cases, either.
    """

    k: int = 1
    of_cases: ClassVar[bool] = True  # it counts nobody

    def under(self, schema: Any, sensitive: str | None = None) -> Anybody:
        """The criterion itself: whose cases rows are does not matter."""
        return self


def _combinations(columns: Sequence[str], n_columns: int) -> Lists:
    """All lists of `n_columns` of some columns."""
    if n_columns > len(columns):
        raise InputError(
            f"KAnonymity: of = {n_columns} is of more columns than the {len(columns)} by which "
            f"groups differ; write of = {len(columns)}, or leave of out"
        )
    return tuple(combinations(columns, n_columns))


def _lists_of(setting: Any) -> Lists:
    """Read the setting `of`: lists of columns. A single name or a list of names is one list."""
    setting = list(setting) if isinstance(setting, (list, tuple)) else [setting]
    lists = [setting] if all(isinstance(name, str) for name in setting) else setting
    checked = []
    for columns in lists:
        names = tuple(columns) if isinstance(columns, (list, tuple)) else ()
        if not names or not all(isinstance(name, str) for name in names):
            raise InputError(
                'KAnonymity: of is a list of columns, such as ["age", "sex"], or a list of these, '
                f"not {setting}"
            )
        if len({*names}) < len(names):
            raise InputError(f"KAnonymity: of names a column twice: {list(names)}")
        checked.append(names)
    return tuple(checked)
