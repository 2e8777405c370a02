"""Extents: what each label of a column covers, by the labels of that column alone.

`foreknow.data.labels.label_meaning` reads a label as a number, a date or a text: the one that suits
all labels of the column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import chain, compress
from typing import Any, Literal, TypeAlias

from foreknow.data.labels.label_meaning import MISSING, Meaning, Rows, Values, meanings_of
from foreknow.numbers import floor_of
from foreknow_judge.errors import DataError
from foreknow_judge.numbers import is_code

About: TypeAlias = Literal["number", "date", "text"]

# Steps of a line are counted in 64 bits.
_MOST = 1 << 62
# A missing value, and how it is called where it is a node.
_NOTHING = (Meaning(missing=True), *(way for way in meanings_of(MISSING) if not way.members))
_START, _DAY, _INSTANT = datetime(1, 1, 1), timedelta(1), timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)
_UNITS = (_DAY, timedelta(hours=1), timedelta(minutes=1), _SECOND, _INSTANT)


@dataclass(frozen=True)
class Extent:
    """The values that a label may stand for.

    Attributes
    ----------
    lower, upper : int, float, date or datetime, optional
        The least and the greatest number or date.
    first, last : int
        The same as steps of the column, both included.
    members : tuple of str
        The texts that it may be; empty if unknown.
    missing : bool
        Whether it may be a missing value.
    everything : bool
        Whether it may be any value.
    """

    lower: Any = None
    upper: Any = None
    first: int = 0
    last: int = -1
    members: tuple[str, ...] = ()
    missing: bool = False
    everything: bool = False

    @property
    def size(self) -> int:
        """How many values it may be, without a missing one; 0 if unknown."""
        return len(self.members) or self.last - self.first + 1

    @property
    def exact(self) -> bool:
        """True if it stands for one value."""
        is_one = self.size + self.missing == 1 and self.lower == self.upper
        return is_one and not self.everything


class Extents:
    """The labels of one column of a release, and the extent of each.

    Parameters
    ----------
    labels : iterable of str or None
        None is a missing value.
    about : "number", "date" or "text", optional
        What they are known to be about; else what all of them look like.
    order : sequence of str, optional
        All values from first to last.
    tree : sequence of rows, optional
        A value and the nodes above it.
    above : "mask" or "tree", optional
        Whether some are codes of which the end is masked, or nodes of a tree that is not known.
    timed : bool
        Whether dates are known to have a time of day, so that a day is no exact value; where a
        label shows an hour, they have one in any case.

    Examples
    --------
    >>> ages = Extents(["20 to 29", "35", "*"])
    >>> ages.about, ages.of["20 to 29"].upper, ages.of["35"].exact, ages.of["*"].everything
    ('number', 29, True, True)
    >>> Extents(["2024-02", "2025"]).of["2024-02"].upper
    datetime.date(2024, 2, 29)
    >>> Extents(["Divorced | Widowed", "Married"]).of["Divorced | Widowed"].members
    ('Divorced', 'Widowed')
    """

    def __init__(
        self,
        labels: Iterable[str | None],
        about: About | None = None,
        order: Sequence[str] | None = None,
        tree: Rows | None = None,
        above: Literal["mask", "tree"] | None = None,
        timed: bool = False,
    ) -> None:
        # If all labels can be read as numbers they are; else as dates; else as texts.
        texts = list(dict.fromkeys(labels))
        self.about: About = "text"
        self.whole = False  # whether numbers are whole
        self.decimals = 0  # decimals of a step of numbers
        self.step = _DAY  # a step of dates
        self._timed = timed
        extents: dict[str | None, Extent] | None = None
        for kind in ("number", "date") if about is None else (about,):
            if kind == "text" or extents is not None:
                continue
            meanings = _meanings_on_a_line(texts, kind)
            if meanings:
                extents = self._numbers(meanings) if kind == "number" else self._dates(meanings)
                self.about = kind if extents else "text"
        self.of: Mapping[str | None, Extent] = extents or self._texts(texts, order, tree, above)

    @property
    def of_days(self) -> bool:
        """True if dates have no time of day."""
        return self.step == _DAY

    def value(self, step: int) -> int | float | date | datetime:
        """The number or date at a step of the line."""
        if self.about == "number":
            return step if self.whole else step / 10**self.decimals
        moment = _START + step * self.step
        return moment.date() if self.step == _DAY else moment

    def _numbers(self, meanings: Mapping[str | None, Meaning]) -> dict[str | None, Extent] | None:
        """The extent of each label as numbers; None if numbers are too large to count in steps.

        An extent has its ends, and its first and last value in steps. Sets `decimals` (a step is a
        unit of the last decimal that any label shows) and `whole`.
        """
        ranges = {}  # the lowest and highest number that each label names
        for text, meaning in meanings.items():
            ends = [Decimal(end) for end in meaning.ends_given]
            if ends:
                ranges[text] = ends[0], ends[-1]
        numbers = [*chain(*ranges.values())]
        highest = max(map(abs, numbers))
        if highest >= _MOST:
            return None
        self.decimals = max(0, *(-int(number.as_tuple().exponent) for number in numbers))
        self.whole = not self.decimals and not any(m.below for m in meanings.values())
        while highest * 10**self.decimals >= _MOST:  # of long floats, the last digits
            self.decimals -= 1
        as_number = int if self.whole else float
        extents = {}
        for text, meaning in meanings.items():
            if text not in ranges:
                extents[text] = _extent_without_ends(meaning)
                continue
            low, high = ranges[text]
            first, last = (floor_of(number, self.decimals) for number in (low, high))
            last = max(first, last - meaning.below)  # "to <30" ends one step before 30
            lower = None if meaning.lower is None else as_number(low)
            upper = None if meaning.upper is None else as_number(high)
            extents[text] = Extent(lower, upper, first, last, missing=meaning.missing)
        return extents

    def _dates(self, meanings: Mapping[str | None, Meaning]) -> dict[str | None, Extent]:
        """The extent of each label as days or moments; sets `step`, the coarsest common unit.

        An extent has its ends, and its first and last value in steps since the year 1.
        """
        # For each label: its start, its end, and whether it is a period, which ends on a full hour.
        periods = {}
        for text, meaning in meanings.items():
            ends = meaning.ends_given
            # Of all days from one on, or up to one, it is the day that is named.
            if ends and meaning.lower is None:
                ends = [ends[0] - _DAY, ends[0]]
            elif ends and meaning.upper is None:
                ends = [ends[0], ends[0] + _DAY]
            if ends:
                start, end = (moment - _START for moment in ends)
                # A period ends where the next one begins, on a full hour; a moment right after
                # itself.
                period = not end % _UNITS[1]
                periods[text] = start, end if period else end - _INSTANT, period
        moments = []
        for start, end, _ in periods.values():
            moments += [start, end]

        def divides_all(unit: timedelta) -> bool:
            return not any(moment % unit for moment in moments)

        self.step = next(filter(divides_all, _UNITS))  # the coarsest comes first
        if self._timed or self.step < _DAY:  # "14h" ends with the last second before 15:00
            self.step = min(self.step, _SECOND)
        extents = {}
        for text, meaning in meanings.items():
            if text not in periods:
                extents[text] = _extent_without_ends(meaning)
                continue
            start, end, period = periods[text]
            # The end of a period does not belong to it.
            first, last = start // self.step, end // self.step - period
            lower = None if meaning.lower is None else self.value(first)
            upper = None if meaning.upper is None else self.value(last)
            extents[text] = Extent(lower, upper, first, last, missing=meaning.missing)
        return extents

    def _texts(
        self,
        texts: Sequence[str | None],
        order: Sequence[str] | None,
        tree: Rows | None,
        above: str | None,
    ) -> dict[str | None, Extent]:
        """The extent of each label as texts.

        `order` and `tree` list the values, if they are known; `above` says what labels are
        otherwise: masked codes, or nodes of a tree.
        """
        all_texts = [None, *(order or ()), *(row[0] for row in tree or ())]
        values = Values(all_texts, "", tree, order) if all_texts[1:] else None
        # Whether lists of this column have their values in quotes: all have, or none.
        all_meanings = chain.from_iterable(map(meanings_of, filter(None, texts)))
        uses_quotes = any(meaning.quoted and meaning.members for meaning in all_meanings)

        def extent_of(text: str | None) -> Extent:
            """The extent of one label: a missing value, values, everything, or unknown.

            The first rule that fits decides.
            """
            meanings = () if text is None else meanings_of(text)
            # A missing value.
            if text is None or (text == MISSING and (above or values)):
                return Extent(missing=True)
            # Values of the order or of the tree.
            if values is not None:
                with suppress(DataError):  # it can be read in two ways
                    is_covered = values.covered_by(text)
                    members = [*compress(all_texts, is_covered)]
                    if members and not any(meaning.everything for meaning in meanings):
                        known_members = tuple(member for member in members if member is not None)
                        return Extent(members=known_members, missing=None in members)
            # Everything.
            if any(meaning.everything for meaning in meanings) and text not in all_texts:
                return Extent(everything=True)
            # A node of a tree that is not at hand, or a value.
            if values is not None or above:
                is_unknown = above == "tree" or (
                    above and any(meaning.start for meaning in meanings)
                )
                return Extent(members=() if is_unknown else (text,))
            # A list of values.
            for meaning in meanings:
                # With one member and nothing missing, it is a value and no list.
                if (
                    meaning.members
                    and meaning.quoted == uses_quotes
                    and (meaning.missing or meaning.members[1:])
                ):
                    texts = (
                        meaning.members
                        if uses_quotes
                        else [m for m in meaning.members if m != MISSING]
                    )
                    return Extent(members=tuple(texts), missing=meaning.missing)
            return Extent(members=(text,))

        return {text: extent_of(text) for text in texts}


def _meanings_on_a_line(texts: Iterable[str | None], kind: str) -> dict[str | None, Meaning] | None:
    """The meaning of each label as numbers, or moments; None if one has no such meaning.

    `kind` is "number" or "date". Labels for everything or for nothing are let through, but there
    must be others.
    """
    kinds = (int, Decimal) if kind == "number" else (datetime,)
    meaning_of_text = {}
    for text in texts:
        meanings = _NOTHING[:1] if text is None else meanings_of(text)
        # The first meaning of this kind; a code such as 007 is no number.
        for meaning in meanings:
            if meaning.is_range_of(*kinds) and not any(map(is_code, meaning.ends or ())):
                meaning_of_text[text] = meaning
                break
        else:
            blank = next(
                (meaning for meaning in meanings if meaning.everything or meaning in _NOTHING), None
            )
            if blank is None:
                return None
            meaning_of_text[text] = blank
    return (
        meaning_of_text if any(meaning.ends_given for meaning in meaning_of_text.values()) else None
    )


def _extent_without_ends(meaning: Meaning) -> Extent:
    return Extent(everything=meaning.everything, missing=meaning.missing)
