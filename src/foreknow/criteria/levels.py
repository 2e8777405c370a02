"""Levels: how much the labels of a column may show, for groups of any size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from foreknow.adversaries.adversary import HasCounts, KnowledgeReach
from foreknow.criteria.group_criterion import Attained, OfGroups, as_setting, classes_of
from foreknow.criteria.size import Anybody
from foreknow.data.arrays import BoolArray
from foreknow.data.columns.hierarchy import (
    MONTHS,
    DateLevels,
    Hierarchy,
    Intervals,
    Mask,
    Tree,
    hierarchy_from,
)
from foreknow.data.columns.level_limits import Level
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.label_meaning import MISSING, OR_MISSING, meanings_of
from foreknow.data.schema import Schema
from foreknow.errors import did_you_mean
from foreknow.needs import Need, Needs
from foreknow.numbers import whole_number
from foreknow.settings import given_of
from foreknow.wording import people_text
from foreknow_judge.criteria.gauges import CRITERIA
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import as_fraction

_ENDS = ("top", "bottom")
_TOO_LARGE = 10**300
_FRACTION = re.compile("[.<]")  # in labels of numbers that are not all whole


@dataclass(frozen=True)
class Levels(OfGroups):
    """Labels of some columns are no finer than limits allow: a top, a bottom, or a level.

    The limits are judged on the written labels; methods that generalize see these columns no finer.
    With a `top` of 90, all ages from 90 on are one value, ``90 or more``, and no label ends above
    it; with a `bottom` of 15, all ages up to 15 are one value, ``15 or less``. Days become
    ``2020-01-01 or later`` and ``1936-12-31 or earlier``. With `at_least` 2, each label is one or
    several whole nodes of level 2 of its hierarchy. `measure` is the number of people whose label
    shows more; the criterion holds if it is 0.

    Parameters
    ----------
    limits : mapping of column to mapping
        The limits of each column: ``{"age": {"bottom": 15, "top": 90}, "zip": {"at_least": 2}}``. A
        column may have several. Top and bottom are for numbers, with intervals or without a
        hierarchy, and for days without a hierarchy (a date, or a text such as "1936-12-31").
        `at_least`, from 1, is for columns with intervals, a mask, dates or a tree.

    Notes
    -----
    A label that cannot be read as numbers, or as days, shows more than a top or bottom allows.
    Only quasi-identifiers are judged.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.release import Release
    >>> rows = {"age": ["80 to 89", "90 or more", "85 to 94"], "disease": ["Flu"] * 3}
    >>> release = Release.from_generalized(
    ...     pa.table(rows), quasi_identifiers=["age"], sensitive="disease"
    ... )
    >>> Levels({"age": {"top": 90}}).measure(release)
    1
    """

    limits: Any
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False, compare=False)
    key: ClassVar[str] = "levels"
    settings: ClassVar[Any] = CRITERIA["levels"]
    needs: ClassVar[Needs] = frozenset({Need.NO_WINDOWS, Need.NO_SETS, Need.FINISHED})
    of_people: ClassVar[bool] = True
    of_labels: ClassVar[bool] = True
    compares_table: ClassVar[bool] = False
    of_cases: ClassVar[bool] = True  # it counts nobody
    speaks: ClassVar[Any] = KnowledgeReach(0)
    of_groups: ClassVar[Any] = Anybody()

    def __post_init__(self) -> None:
        """Read the limits of each column: a top and a bottom as numbers or days, and a level."""
        if not isinstance(self.limits, Mapping) or not self.limits:
            raise InputError('Levels: give columns and what they may show: {"age": {"top": 90}}')
        limits = {}
        for column, setting in self.limits.items():
            is_table = isinstance(setting, Mapping) and bool(setting)
            if not is_table or setting.keys() - {*_ENDS, "at_least"}:
                raise InputError(
                    f"Levels: {column!r} has a top, a bottom or at_least, not {setting!r}"
                )
            limit: dict[str, Any] = {}
            for key in _ENDS:
                if setting.get(key) is not None:
                    limit[key] = _read_limit(setting[key], column, key)
            _check_ends(column, limit)
            if setting.get("at_least") is not None:
                limit["at_least"] = whole_number(
                    setting["at_least"], f"Levels: {column}: at_least", 1
                )
            limits[column] = limit
        set_fields(self, limits=limits)

    def __hash__(self) -> int:
        return hash(str(self.limits))

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Levels:
        """Build it from its table in a policy file, or from the entry of a certificate.

        A certificate states the hierarchies of limited columns, too.
        """
        limits: dict[str, Any] = {}
        hierarchies: dict[str, Any] = {}
        for column, setting in settings.items():
            limits[column] = _without_hierarchy(given_of(setting))
            if setting.hierarchy is not None:
                hierarchies[column] = hierarchy_from(setting.hierarchy, column, folder)
        return cls(limits, hierarchies)

    @property
    def levels(self) -> dict[str, Level]:
        """The finest level at which methods may see each column."""
        return {column: Level(**{"at_least": 0, **limit}) for column, limit in self.limits.items()}

    def under(self, schema: Schema, sensitive: str | None = None) -> Levels:
        """The criterion with the hierarchies of a schema, which must have its columns."""
        # A certificate's schema has only the names of some; the requirement states these itself.
        hierarchies: Mapping[str, Any] = {**self.hierarchies, **schema.hierarchies}
        for column, limit in self.limits.items():
            if column not in schema.quasi_identifiers:
                hint = did_you_mean(column, schema.quasi_identifiers)
                raise PolicyError(f"levels: {column!r} is no quasi-identifier{hint}")
            if "at_least" in limit:
                # The level must exist in the column's hierarchy.
                self._refuse_missing_level(column, hierarchies.get(column), limit["at_least"])
        # Only hierarchies of limited columns are kept.
        limited_hierarchies = {}
        for name in self.limits:
            if name in hierarchies:
                limited_hierarchies[name] = hierarchies[name]
        return replace(self, hierarchies=limited_hierarchies)

    def _refuse_missing_level(self, column: str, hierarchy: Any, at_least: int) -> None:
        """Refuse a level that a column's hierarchy does not have."""
        match hierarchy:
            case Intervals():
                n_levels = len(hierarchy.widths)
            case Mask():
                n_levels = hierarchy.length - 1
            case DateLevels():
                n_levels = len(hierarchy.periods)
            case Tree():
                n_levels = len(hierarchy.rows[0]) - 1
            case _:
                raise PolicyError(
                    f"levels: at_least is a level of a hierarchy, and {column!r} has none with "
                    "levels; give it intervals, a mask, dates, a file or rows in "
                    "[schema.hierarchies]"
                )
        if at_least > n_levels:
            raise PolicyError(
                f"levels: {column!r} has {n_levels} levels below the one that hides everything, "
                f"and at_least is {at_least}"
            )

    def attained(self, release: HasCounts) -> Attained:
        """The number of people whose label shows too much, and such a label."""
        counts = classes_of(release)
        fails = self.fails(counts)
        n_people, group = int(counts.sizes[fails].sum()), int(np.argmax(fails))
        hidden = " or ".join(self._hidden_in_words)
        text = f"no label shows {hidden}; how many people share one is not asked"
        # `group` is the first group that fails, if there is one.
        if n_people:
            verb = "has" if n_people == 1 else "have"
            text = f"{people_text(n_people)} {verb} a label that shows {hidden}"
            text += f", such as {counts.group_label(group)}"
        return Attained(n_people, holds=not n_people, words=text, group=counts.group_label(group))

    @property
    def _hidden_in_words(self) -> Iterable[str]:
        """Yield for each limit the values that it hides, in words."""
        for column, limit in self.limits.items():
            if "top" in limit:
                yield f"{column} from {_as_written(limit['top'])} on"
            if "bottom" in limit:
                yield f"{column} up to {_as_written(limit['bottom'])}"
            if "at_least" in limit:
                yield f"{column} below level {limit['at_least']}"

    def fails(self, counts: GroupCounts) -> BoolArray:
        """True for each group with a label that shows more than the limits allow."""
        if not counts.group_columns:
            raise InputError(
                "levels are of labels, by column, and this has groups without: give a Release"
            )
        groups: Any = counts.groups
        is_failing = np.zeros(counts.n_groups, dtype=bool)
        for column, limit in self.limits.items():
            if column not in groups.columns:
                raise InputError(
                    f"levels: {column!r} is none of the columns of groups"
                    f"{did_you_mean(column, groups.columns)}"
                )
            position = groups.columns.index(column)
            labels = [None if label[position] is None else str(label[position]) for label in groups]
            # If no label has a fraction, "5 to 9" stands for all numbers from 5 to below 10.
            are_whole = not any(_FRACTION.search(label or "") for label in labels)
            # Many groups share a label: look at each label once.
            shows_too_much = dict[str | None, bool]()
            for label in dict.fromkeys(labels):
                shows_too_much[label] = not self._keeps_limit(column, limit, label, are_whole)
            is_failing |= np.array([shows_too_much[label] for label in labels], dtype=bool)
        return is_failing

    def _keeps_limit(
        self, column: str, limit: Mapping[str, Any], label: str | None, are_whole: bool
    ) -> bool:
        """True if a label keeps the limit of its column: top, bottom and level."""
        # Nothing is shown.
        if label is None:
            return True
        has_top_or_bottom = "top" in limit or "bottom" in limit
        if has_top_or_bottom and label != MISSING and _tells_ends_apart(label, limit):
            return False
        if "at_least" not in limit:
            return True
        hierarchy: Any = self.hierarchies.get(column)
        self._refuse_missing_level(column, hierarchy, limit["at_least"])
        return _is_coarse(label, hierarchy, limit["at_least"], are_whole)

    def to_dict(self) -> dict[str, Any]:
        """``{"levels": {...}}``, as in a policy file."""
        limits: dict[str, dict[str, Any]] = {}
        for column, limit in self.limits.items():
            limits[column] = dict(limit)
            for key in limit.keys() & set(_ENDS):
                limits[column][key] = _as_written(limit[key])
        return {self.key: limits}

    def published(self) -> dict[str, Any]:
        """The entry in a certificate, with the hierarchies that define the levels."""
        table = self.to_dict()
        for column, limit in table[self.key].items():
            if "at_least" in limit:
                limit["hierarchy"] = _table_of_hierarchy(self.hierarchies[column])
        return table


def levels_of(required: Mapping[str, Any]) -> dict[str, Level]:
    """How fine columns may be by a ``[[require]]`` table of a certificate; {} if it is another."""
    settings = required.get(Levels.key, {})
    if not settings:
        return {}
    limits = map(_without_hierarchy, settings.values())
    return Levels(dict(zip(settings, limits, strict=True))).levels


def _without_hierarchy(setting: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a column that state a limit."""
    limit = dict(setting)
    limit.pop("hierarchy", None)
    return limit


def _table_of_hierarchy(hierarchy: Any) -> dict[str, Any]:
    """The table of a hierarchy, whose rows stand there in place of the name of a file."""
    if isinstance(hierarchy, Tree):
        return {"rows": list(map(list, hierarchy.rows))}
    table: dict[str, Any] = hierarchy.to_dict()
    return table


# ---- what a label shows ---------------------------------------------------------------------


def _tells_ends_apart(label: str, limit: Mapping[str, Any]) -> bool:
    """True if a label may tell values above a top or below a bottom apart from each other.

    `limit` has the top and the bottom of the column. A label that can be read in several ways
    counts if one of them does.
    """
    bare = label.removesuffix(OR_MISSING)
    ways = meanings_of(bare)
    # A label that stands for every value shows nothing.
    if any(way.everything for way in ways):
        return False
    if bare.endswith((")", "+", OR_MISSING)):
        return True  # a name of a node, and no number
    lists = [way.members for way in ways if len(way.members) > 1]
    if lists:
        # A list of values shows each of them.
        members = {*chain.from_iterable(lists)} - {MISSING}
        return any(_tells_ends_apart(member, limit) for member in members)
    dated = any(isinstance(limit.get(key), date) for key in _ENDS)
    types = (datetime,) if dated else (int, Decimal)
    ranges = [way for way in ways if way.is_range_of(*types)]
    # No range that can be read: assume that it shows too much.
    return not ranges or any(_shows_an_end(way, limit) for way in ranges)


def _shows_an_end(way: Any, limit: Mapping[str, Any]) -> bool:
    """True if a range lies beyond a top or a bottom, but does not stand for all beyond it.

    `way` is a meaning of a label, and `limit` has the top and the bottom of its column.
    """
    lower = None if way.lower is None else _comparable(way.lower)
    upper = None if way.upper is None else _comparable(way.upper)
    if "top" in limit:
        top = _comparable(limit["top"])
        # Only "top or more" may begin at the top, and no range may end above it.
        if lower is not None and (lower > top or (lower == top and upper is not None)):
            return True  # "95 to 1" shows 95
        if upper is not None and (upper > top or (upper == top and not way.below)):
            return True
    if "bottom" not in limit:
        return False
    bottom = _comparable(limit["bottom"])
    # Only "bottom or less" may end at the bottom, and no range may begin at or below it.
    if isinstance(limit["bottom"], date):
        next_day = bottom + timedelta(days=1)  # the bottom is all of a day
        if lower is None:
            return bool(upper < next_day)
        return lower < next_day or (upper is not None and upper <= next_day)  # "04 to 03"
    if lower is None:
        return bool(upper < bottom or (upper == bottom and way.below))
    return bool(lower <= bottom or (upper is not None and upper <= bottom))


def _comparable(end: Any) -> Any:
    """An end of a range, or a limit, as a moment or a fraction."""
    if isinstance(end, datetime):
        return end
    return datetime(end.year, end.month, end.day) if isinstance(end, date) else Fraction(end)


def _read_limit(setting: Any, column: str, key: str) -> Any:
    """Read a top or bottom: a number as a fraction, or a day.

    `setting` is as it is written; `column` and `key` are for messages.
    """
    limit: Any = setting
    if not isinstance(setting, date) or isinstance(setting, datetime):
        try:
            is_day = isinstance(setting, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", setting)
            limit = date.fromisoformat(limit) if is_day else as_fraction(limit)
        except ValueError:
            raise InputError(
                f"Levels: {column}: {key} = {setting!r} is no number and no day; write such as 90, "
                "or 1936-12-31"
            ) from None
    # The day after it must exist: a label may say that it begins then.
    if isinstance(limit, date) and limit.year == date.max.year:
        raise InputError("Levels: labels have years up to 9998; write an earlier day")
    if isinstance(limit, Fraction) and abs(limit) >= _TOO_LARGE:
        raise InputError("Levels: labels have numbers of up to 300 digits; write a shorter number")
    return limit


def _check_ends(column: str, limit: Mapping[str, Any]) -> None:
    """Refuse a bottom that is not below the top; nothing to check if one is missing."""
    if len(limit) < len(_ENDS):
        return
    top, bottom = limit["top"], limit["bottom"]
    if isinstance(top, date) != isinstance(bottom, date):
        raise InputError(f"Levels: {column}: bottom and top are two days, or two numbers")
    if bottom >= top:
        raise InputError(
            f"Levels: {column}: the bottom is {_as_written(bottom)}, which is not below the top, "
            f"{_as_written(top)}"
        )


def _as_written(limit: Any) -> Any:
    """A top or bottom as a policy file has it."""
    return limit.isoformat() if isinstance(limit, date) else as_setting(limit)


def _is_coarse(label: str, hierarchy: Any, level: int, are_whole: bool) -> bool:
    """True if a label shows no more than a level of a hierarchy.

    It is a node of that level, a coarser one, or several whole ones. With `are_whole`, all numbers
    of the column are whole, so that 5 is all from 5 to below 6.
    """
    bare = label.removesuffix(OR_MISSING)
    if isinstance(hierarchy, Tree):  # a value of it may be called "unknown or missing"
        if any(label in row[:level] for row in hierarchy.rows):
            return False
        rows = hierarchy.rows
        return label == MISSING or _is_node(label, rows, level) or _is_node(bare, rows, level)
    meanings = meanings_of(bare)
    if label == MISSING or any(meaning.everything for meaning in meanings):
        return True
    if isinstance(hierarchy, Mask):
        return _is_masked(bare, hierarchy, level)
    if isinstance(hierarchy, Intervals):
        return _is_of_intervals(meanings, hierarchy, level, are_whole)
    # Dates: each label must begin and end where a period of the level does.
    period = hierarchy.periods[level - 1]
    if bare == "00h to 23h" or (period == "hour" and re.fullmatch("([01][0-9]|2[0-3])h", bare)):
        return True  # of any day
    moments = []
    for meaning in meanings:
        if meaning.is_range_of(datetime):
            moments.append(meaning)
    ends = chain.from_iterable(meaning.ends_given for meaning in moments)
    return bool(moments) and all(_begins(end, period) for end in ends)


def _is_masked(label: str, hierarchy: Mask, level: int) -> bool:
    """True if at least the last `level` characters of a code are masked."""
    name_and_level: Any = re.fullmatch(r"(.*?)(?: \(level (\d{1,3})\))?", label, re.DOTALL)
    code, named_level = name_and_level[1], name_and_level[2]
    n_masked = len(code) - len(code.rstrip(hierarchy.character))
    if named_level is not None:  # further masked characters are part of the value
        n_masked = min(n_masked, int(named_level))
    return len(code) == hierarchy.length and n_masked >= level


def _is_of_intervals(
    meanings: Iterable[Any], hierarchy: Intervals, level: int, are_whole: bool
) -> bool:
    """True if a label is a range of numbers that ends where intervals of the level do."""
    width, origin = Fraction(str(hierarchy.widths[level - 1])), Fraction(str(hierarchy.origin))
    ranges = []
    for meaning in meanings:
        if meaning.is_range_of(int, Decimal):
            ranges.append(meaning)
    finest = Fraction(str(hierarchy.widths[0]))
    # Then a label that includes its end, such as 5 to 9, leaves no number out.
    grid_is_whole = are_whole and finest.denominator == origin.denominator == 1
    for numbers in ranges:
        includes_its_end = numbers.upper is not None and not numbers.below
        if includes_its_end and not grid_is_whole:  # 5 to 9 leaves 9.5 out
            return False
    return bool(ranges) and all(_is_of_grid(numbers, width, origin) for numbers in ranges)


def _is_of_grid(way: Any, width: Fraction, origin: Fraction) -> bool:
    """True if the ends of a range are cuts of intervals of one width, and in order."""
    positions = [(cut - origin) / width for cut in _cuts(way)]
    return positions == sorted({*positions}) and all(
        position.denominator == 1 for position in positions
    )


def _cuts(way: Any) -> Iterable[Fraction]:
    """The numbers at which a range begins and ends; the last of whole numbers is in it."""
    if way.lower is not None:
        yield Fraction(way.lower)
    if way.upper is not None:
        yield Fraction(way.upper) + (not way.below)


def _begins(moment: Any, period: str) -> bool:
    """True if a period, such as a month, begins at a moment; also at the end of all time."""
    if moment == datetime.max:
        return True
    # The number of the month since year 0; a quarter begins at every third, and so on.
    months = moment.year * 12 + moment.month - 1
    if months % MONTHS.get(period, 1):
        return False
    day = 1 if period in MONTHS else moment.day
    hour = moment.hour if period == "hour" else 0
    same: bool = moment == datetime(moment.year, moment.month, day, hour)
    return same


def _is_node(label: str, rows: Sequence[Sequence[Any]], level: int) -> bool:
    """True if a label is a node from a level on, and is called like nothing below it."""
    columns = list(map(set, zip(*rows, strict=True)))
    if re.fullmatch(r"\*+", label) and label not in columns[0]:
        return True
    # A name that stands on several levels is written with its level.
    label_parts = re.fullmatch(r"(.*) \(level (\d{1,3})\)\+*", label, re.DOTALL)
    # Names of nodes below the level: a label that is also one of these may mean that.
    finer = set[str]().union(*columns[:level])
    if label_parts and label not in finer and level <= int(label_parts[2]) < len(columns):
        return label_parts[1] in columns[int(label_parts[2])]
    return label not in finer and any(label in names for names in columns[level:])
