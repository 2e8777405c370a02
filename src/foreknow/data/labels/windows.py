"""Windows: numbers or dates that lie near each other, as one secret each.

A window begins somewhere and is so wide: [x, x + 5000], or [x, x + x/10]. Wherever it begins, the
one that begins at the least value that occurs in it holds at least the same values: `Windows` says
why only these matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any, Literal, cast

import numpy as np

from foreknow.data.arrays import IntArray, count_pairs
from foreknow.data.columns.hierarchy import integers
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow.data.labels.ranges import Kind, number_or_date
from foreknow.needs import refuse_rules, require, several_values
from foreknow.numbers import Rounding, decimal_text, rounded
from foreknow.shown_numbers import common_unit, percentage
from foreknow.toml import toml_value
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.numbers import as_fraction, shown

_SPAN = re.compile(r"([0-9]+) ?(day|hour|minute|second)s?")
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
_PARTS = 10**6  # of a second, in which moments are counted
_NAMED = 3  # values that a message names
_MOST_DECIMALS = 6  # of the end of a window in words


@dataclass(frozen=True)
class Width:
    """How wide a window is: a number, a share of its lower end, or a span of time.

    Parameters
    ----------
    given : number or str
        5000, "0.5", "10%", "30 days", "12 hours". A number is a number of days where the column
        has dates.

    Raises
    ------
    InputError
        If it cannot be read, or is 0 or less.

    Notes
    -----
    A share is of the amount: of the lower end where values are above 0, of the end that is nearer
    to 0 where they are below, so that -110 to -100 is as wide as 100 to 110. No such window holds
    numbers above and below 0, and 0 has a window of its own.

    Examples
    --------
    >>> Width("10%"), Width(5000.0)
    (Width(given='10%'), Width(given=5000))
    """

    given: int | str = field(compare=False)
    amount: Fraction = field(init=False, repr=False)
    measure: Literal["number", "share", "span"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Read the width, and raise an error for one that is not above 0."""
        setting: Any = self.given
        text = setting.strip() if isinstance(setting, str) else str(setting)
        span = _SPAN.fullmatch(text) if isinstance(setting, str) else None
        # A span of time, a share, or a number.
        measure: Literal["number", "share", "span"] = "number"
        if span is not None:
            measure, amount = "span", Fraction(int(span[1]) * _SECONDS[span[2]])
        elif isinstance(setting, str) and text.endswith("%"):
            measure, amount = "share", self._read(text[:-1], setting) / 100
        else:
            amount = self._read(setting, setting)
        if amount <= 0:
            raise InputError(f"within must be above 0, not {shown(setting)}")
        is_whole = measure == "number" and amount.denominator == 1
        object.__setattr__(self, "given", int(amount) if is_whole else text)
        object.__setattr__(self, "amount", amount)
        object.__setattr__(self, "measure", measure)

    @classmethod
    def of(cls, setting: Any) -> Width:
        """Take a width as it is, or read what stands for one."""
        return setting if isinstance(setting, cls) else cls(setting)

    @staticmethod
    def _read(number: Any, setting: Any) -> Fraction:
        """A number as a fraction; `InputError`, which names the whole `setting`, for another."""
        try:
            return as_fraction(number)
        except InputError:
            raise InputError(
                f"within cannot be read: {shown(repr(setting))}; give a number such as 5000, "
                '"10%" of the lower end, or for dates "30 days" (or hours, minutes, seconds)'
            ) from None

    def __str__(self) -> str:
        return shown(f"{self.given:,}" if isinstance(self.given, int) else self.given)

    @property
    def key(self) -> str:
        """Its entry in a policy file."""
        quote = "" if isinstance(self.given, int) else '"'
        return f"within = {quote}{shown(self.given)}{quote}"

    def part(self, n_parts: int) -> Width | None:
        """The width divided by `n_parts`; None if that cannot be written.

        That is so for a span of time, and for a result that is no short decimal.
        """
        if self.measure == "span":
            return None
        if self.measure == "number":
            text, sign = toml_value(self.amount / n_parts), ""
        else:
            text, sign = toml_value(self.amount * 100 / n_parts), "%"
        # A number that is no short decimal becomes a text, which has quotes.
        return None if '"' in text else Width(f"{text}{sign}")

    def words(self, kind: Kind | None = None) -> str:
        """The width in words; `kind` is that of the values.

        >>> Width("10%").words(), Width(30).words("day"), Width(1).words()
        ('10% of the lower end', '30 days', '1')
        """
        if self.measure == "share":
            return f"{self} of the lower end"
        if kind in ("day", "moment") and self.measure == "number":
            return f"{self} {'day' if self.given == 1 else 'days'}"
        return str(self)


@dataclass(frozen=True, eq=False)
class Line:
    """The numbers or dates among sensitive values, ascending."""

    kind: Kind
    # each distinct one: in units of a decimal place, in days, or in millionths of a second
    units: Sequence[int]
    places: int  # the decimal places of a unit
    place: IntArray  # for each label, the position of its number or date among these
    first_labels: Labels  # the first label of each

    @classmethod
    def of(cls, values: Labels) -> Line:
        """Read all labels as numbers, or all as dates, and place them on a line.

        Raises `UnsupportedError` for labels that are neither, or for both kinds together. The
        result is kept with `values`.
        """
        if "line" in values.cache:
            return cast("Line", values.cache["line"])
        readings = [number_or_date(value) for value in values]
        unread = [v for v, parsed in zip(values, readings, strict=True) if parsed is None]
        if unread:
            examples = ", ".join(repr(str(value)) for value in unread[:_NAMED])
            ending = f" and {len(unread) - _NAMED:,} more" if len(unread) > _NAMED else ""
            raise UnsupportedError(
                f"within is for numbers, and dates such as 2024-01-31; of {len(values):,} "
                f"sensitive values these are neither: {examples}{ending}; leave them out of the "
                "table, or write them as numbers"
            )
        parsed: list[tuple[Kind, Any]] = []
        for reading in readings:
            if reading is not None:
                parsed.append(reading)
        kinds = {kind for kind, _ in parsed}
        if kinds >= {"number", "day"} or kinds >= {"number", "moment"}:
            is_number = [kind == "number" for kind, _ in parsed]
            some_number = values[is_number.index(True)]
            some_date = values[is_number.index(False)]
            raise UnsupportedError(
                f"within is for numbers or for dates, and the sensitive column has both: "
                f"{str(some_number)!r} and {str(some_date)!r}"
            )
        kind: Kind = "moment" if "moment" in kinds else "day" if "day" in kinds else "number"
        # Each number or date as a whole number of units.
        n_decimals, units = 0, [amount for _, amount in parsed]
        if kind == "moment":
            units = []
            for own_kind, amount in parsed:
                moment = datetime.combine(amount, time.min) if own_kind == "day" else amount
                units.append(_millionths(moment))
        elif kind == "day":
            units = [day.toordinal() for day in units]
        elif not all(isinstance(number, int) for number in units):
            n_decimals, units = common_unit([Decimal(number) for number in units])
        # Labels that are one number, such as 1 and 1.0, have one place on the line.
        distinct, first, position_of_label = np.unique(
            integers(units), return_index=True, return_inverse=True
        )
        line = cls(
            kind,
            units=distinct.tolist(),
            places=n_decimals,
            place=position_of_label.astype(np.int64),
            first_labels=Labels(values[code] for code in first.tolist()),
        )
        values.cache["line"] = line
        return line

    def reach(self, width: Width) -> IntArray:
        """For each number, the position of the last number in the window that begins at it."""
        if width.measure == "share":
            # A share is of the end nearer to 0: upwards u * (1 + share), below 0 u / (1 + share).
            numerator, denominator = (1 + width.amount).as_integer_ratio()
            ends = []
            for u in self.units:
                ends.append(
                    u * numerator // denominator if u >= 0 else u * denominator // numerator
                )
        else:
            n_units = floor(self._in_units(width))  # numbers lie at whole units
            ends = [unit + n_units for unit in self.units]
        # In one array, so that starts and ends have one type; Python's integers if they are large.
        both = integers([*self.units, *ends])
        starts, ends_of_windows = np.split(both, [len(self.units)])
        return np.searchsorted(starts, ends_of_windows, side="right").astype(np.int64) - 1

    def parted(self, width: Width) -> tuple[IntArray, Labels]:
        """Windows one after another, from the least number on.

        Returns the window of each label, and the names of the windows.
        """
        last, firsts = self.reach(width), [0]
        # The next window begins at the first number after the last window.
        while last[firsts[-1]] + 1 < len(self.units):
            firsts.append(int(last[firsts[-1]]) + 1)
        windows = [Window(self.name(position, width), position) for position in firsts]
        if len({*windows}) < len(windows):  # rounded names of near windows may be equal
            windows = [
                Window(f"from {self.first_labels[position]} on", position) for position in firsts
            ]
        return np.searchsorted(firsts, self.place, "right") - 1, Labels(windows)

    def end(self, unit: int, width: Width) -> Fraction | int:
        """The end of the window that begins at a number; both in units of the line."""
        if width.measure == "share":
            times = 1 + width.amount
            return unit * times if unit >= 0 else unit / times
        return unit + self._in_units(width)

    def _in_units(self, width: Width) -> Fraction | int:
        """The width in units of the line: decimal places, days or millionths of a second."""
        if self.kind == "number":
            n_units = width.amount * 10**self.places
        else:
            # A number is one of days, and a span is in seconds.
            days = width.amount if width.measure == "number" else width.amount / _SECONDS["day"]
            n_units = days * (1 if self.kind == "day" else _SECONDS["day"] * _PARTS)
        return int(n_units) if n_units.denominator == 1 else n_units

    def check(self, width: Width) -> None:
        """Raise `InputError` for a width that does not fit the numbers, or holds them all."""
        if self.kind == "number" and width.measure == "span":
            raise InputError(f"{width.key} is for dates, and the sensitive values are numbers")
        if self.kind != "number" and width.measure == "share":
            raise InputError(
                f"{width.key} is for numbers, and the sensitive values are dates; give a "
                'span, such as "30 days"'
            )
        # A number as a width of dates is one of days.
        days = width.amount / (1 if width.measure == "number" else _SECONDS["day"])
        is_in_days = self.kind == "day" or (self.kind == "moment" and width.measure == "number")
        if days.denominator != 1 and is_in_days:
            finer = "" if self.kind == "day" else ', or a span such as "12 hours"'
            raise InputError(f"{width.key}: the sensitive values are dates; give whole days{finer}")
        low, high = self.units[0], self.units[-1]
        if self.end(low, width) >= high:
            raise InputError(
                f"{width.key} holds every sensitive value of the table, from "
                f"{self.text(low)} to {self.text(high)}: everybody's lies in it; "
                f"{self._advice(low, high, width)}"
            )

    def _advice(self, low: int, high: int, width: Width) -> str:
        """A clause of a message: how wide a window may be, for values from `low` to `high`."""
        if low == high:
            return "a column with one value has nothing to hide"
        if width.measure == "share":
            nearer, farther = sorted((abs(low), abs(high)))
            return f"give less than {percentage(Fraction(farther, nearer) - 1, 0, 'down')}"
        if self.kind == "moment":
            return f'give less than "{(high - low) // _PARTS} seconds"'
        difference = decimal_text(high - low, self.places)
        return f"give less than {difference}{'' if self.kind == 'number' else ' days'}"

    def text(self, unit: Fraction | int, to: Rounding = "nearest") -> str:
        """A number, day or moment of the line, given in its units, in words.

        Numbers are rounded to few decimals: "nearest", "down" or "up".
        """
        if self.kind == "day":
            return date.fromordinal(int(unit)).isoformat()
        if self.kind == "moment":
            days, units_left = divmod(int(unit), _SECONDS["day"] * _PARTS)
            return str(datetime.fromordinal(days) + timedelta(microseconds=units_left))
        decimals = rounded(Fraction(unit) / 10**self.places, _MOST_DECIMALS, to)
        plain_text = decimal_text(int(decimals * 10**_MOST_DECIMALS), _MOST_DECIMALS)
        whole_part, _, fraction = plain_text.partition(".")
        sign = "-" if whole_part.startswith("-") else ""
        return f"{sign}{int(whole_part.removeprefix('-')):,}{'.' if fraction else ''}{fraction}"

    def name(self, position: int, width: Width) -> str:
        """A window in words, by the place of the number at which it begins.

        >>> Line.of(Labels([30000, 32000])).name(0, Width(5000))
        'between 30,000 and 35,000'
        >>> Line.of(Labels([0, 100])).name(0, Width("10%"))
        '0'
        """
        low, latest = self.units[position], None
        if self.kind != "number":
            latest = date.max.toordinal() if self.kind == "day" else _millionths(datetime.max)
        high = self.end(low, width)
        # No date lies after the last one of the calendar.
        high = high if latest is None else min(high, latest)
        first, last = self.text(low, "down"), self.text(high, "up")
        return first if first == last else f"between {first} and {last}"


class Window(str):
    """A window in words; `place` is that of the number at which it begins."""

    place: int

    def __new__(cls, name: str, place: int) -> Window:  # noqa: D102
        window = super().__new__(cls, name)
        window.place = place
        return window

    def __reduce__(self) -> tuple[Any, ...]:
        return Window, (str(self), self.place)


@dataclass(frozen=True, eq=False)
class Windows:
    """Counts of numbers or dates, of which those that lie near each other are one secret.

    Attributes
    ----------
    counts : GroupCounts
        Its values are numbers in ascending order; labels that are one number are one value.
    width : Width

    Raises
    ------
    InputError, UnsupportedError
        If the width does not fit the values, or they are no numbers or dates.

    Notes
    -----
    **Only windows that begin at an occurring value matter.** Let W be any window, and y the least
    value of the whole release that lies in W. The window W' that begins at y ends no earlier than
    W, since ends do not fall where beginnings rise; so W' holds all values of W, and perhaps
    others, A. In each group W' has at least as many holders, s' = s + |A| >= s. Not in W' and
    not among the l most frequent values outside of it there are at most as many people as for W:
    what W' and these l hold together includes W and the l most frequent values outside of W, as
    those of the l that are in A are in W'. So every T and every V of the skyline paper is at
    most what it is for W, in each group, and with it the odds against the adversary: also where
    target and relatives are in two groups, for which the window is one.

    For one group by itself it is enough that windows begin at values of this group. With
    relatives it is not: the window that is worst may begin at a value of the target's group, or at
    one of the relatives'.
    """

    counts: GroupCounts
    width: Width

    @classmethod
    def of(cls, counts: GroupCounts, width: Width) -> Windows:
        """Take counts of numbers or dates, and bring their values into ascending order."""
        require("within", several_values(counts.semantics))
        refuse_rules("within without a policy", counts)
        line = Line.of(counts.values)
        if line.first_labels != counts.values:
            # The place of a value on the line becomes its code.
            places = line.place[counts.codes]
            sizes = counts.n_groups, len(line.first_labels)
            offsets, codes, times = count_pairs(counts.cell_groups, places, *sizes, counts.counts)
            counts = GroupCounts.counted(
                *(counts.sizes, offsets, codes, times),
                values=line.first_labels,
                semantics=counts.semantics,
                groups=counts.groups,
                origin=counts.origin,
            )
        windows = cls(counts, width)
        windows.last  # noqa: B018  # raises an error if the width does not fit the values
        return windows

    @cached_property
    def last(self) -> IntArray:
        """For each value, the code of the last value in the window that begins at it."""
        line, key = Line.of(self.counts.values), ("reach", self.width)
        cache = self.counts.values.cache
        last: IntArray | None = cache.get(key)
        if last is None:
            line.check(self.width)
            last = cache[key] = line.reach(self.width)
        return last

    def window(self, place: int) -> Window:
        """The window that begins at a value."""
        return Window(Line.of(self.counts.values).name(place, self.width), place)

    def merged(self, window: Window) -> GroupCounts:
        """The counts with all values in a window as one value, which comes last."""
        codes = np.arange(self.counts.n_values)
        inside = (codes >= window.place) & (codes <= self.last[window.place])
        other_values = []
        for v, is_inside in zip(self.counts.values, inside, strict=True):
            if not is_inside:
                other_values.append(v)
        return self.counts.united(inside, Labels([*other_values, window]))


def _millionths(moment: datetime) -> int:
    """Millionths of a second since the year 1."""
    since = moment - datetime(1, 1, 1)
    return (since.days + 1) * _SECONDS["day"] * _PARTS + since.seconds * _PARTS + since.microseconds
