"""Levels of labels: a label that is no range, no period and no node of a level shows too much.

This shares no code with the criterion, nor with the code that writes labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from itertools import chain
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from foreknow_judge.counts.group_bags import GroupBags, Measured
from foreknow_judge.counts.labels import (
    AMONG,
    DAY,
    FIRST,
    HOUR_OF_DAY,
    LAST,
    MISSING,
    MONTHS,
    OR_MISSING,
    SIZES,
    Cut,
    Span,
    is_everything,
    name_and_level,
    period_of,
    spans_of,
)
from foreknow_judge.criteria.gauge import Gauge
from foreknow_judge.errors import CertificateError
from foreknow_judge.numbers import as_fraction
from foreknow_judge.policy.settings import Settings, Table


class LevelSettings(Settings):
    """How much one column may show, in a policy file; the hierarchy is a certificate's."""

    top: Any = None
    bottom: Any = None
    at_least: int | None = None
    hierarchy: dict[str, Any] | None = None


def gauge_levels(
    groups: GroupBags, settings: Mapping[str, LevelSettings], columns: Sequence[str]
) -> Measured:
    """How many people have a label that shows too much, and the first group of such people.

    `settings` say for some of the group `columns` how much a label may show.
    """
    shows = np.zeros(len(groups), bool)  # for each group
    for column, level_settings in settings.items():
        if column not in columns:
            raise CertificateError("unknown-column", "levels: the release", column=column)
        labels = groups.labels[columns.index(column)]
        # Among whole numbers "5 to 9" ends where 10 begins; "<10" is a label of other numbers.
        are_integers = not any({".", "<"} & {*(text or "")} for text in labels.texts)
        shows_too_much = np.array(
            [shows_more(text, level_settings, are_integers) for text in labels.texts], bool
        )
        shows |= shows_too_much[labels.codes]
    group = int(np.argmax(shows))
    n_people = int(groups.people[shows].sum())
    return Measured(Fraction(n_people), groups.group(group), not n_people)


def shows_more(label: str | None, settings: LevelSettings, are_integers: bool = True) -> bool:
    """True if a label shows more than the settings of its column allow.

    The settings name the finest level of a hierarchy that is allowed, or ends: no label may tell
    values from `top` on apart, or values up to `bottom`. `are_integers`: all its numbers are whole.
    """
    level, hierarchy = settings.at_least, settings.hierarchy
    top, bottom = map(_limit, (settings.top, settings.bottom))
    # {False} if the ends are numbers, {True} if dates, both (refused) if mixed; empty without ends.
    are_dates = {end.dated for end in (top, bottom) if end is not None}
    if len(are_dates) > 1 or (not are_dates and level is None):
        raise CertificateError("wrong-setting", "levels")
    if label is None:  # a missing label shows nothing
        return False
    bare_label = label.removesuffix(OR_MISSING)
    if are_dates and label != MISSING and _shows_an_end(bare_label, top, bottom):
        return True
    if level is None:
        return False
    if level < 1 or hierarchy is None:
        raise CertificateError("wrong-setting", "levels")
    if "rows" in hierarchy:  # a tree: "x or missing" may be a value of it
        return not _node(label, hierarchy, level)
    return label != MISSING and not _is_coarse(bare_label, hierarchy, level, are_integers)


def _limit(setting: Any) -> Span | None:
    """A top or bottom: a number, or a day."""
    day = period_of(setting) if isinstance(setting, str) else None
    if setting is None or (day is not None and day.unit == "day"):
        return day
    return Span("number", (as_fraction(setting), 0), (as_fraction(setting), 1))


def _shows_an_end(label: str, top: Span | None, bottom: Span | None) -> bool:
    """True if a label tells values from `top` on, or up to `bottom`, apart; None means no such end.

    If top is 90, "90 or more" tells none apart, and "95" and "90 to 94" do.
    """
    if is_everything(label):
        return False
    listed_labels = label.split(AMONG)  # such as "1 | 5"
    if len(listed_labels) > 1:
        return any(
            listed_label != MISSING and _shows_an_end(listed_label, top, bottom)
            for listed_label in listed_labels
        )
    are_dates = {end.dated for end in (top, bottom) if end is not None}
    # A label such as 2020 can be read as a number and as a year: the reading of the ends counts.
    for _, low, high in (span for span in spans_of(label) if span.dated in are_dates):
        # From the lower end to the higher one, also if they are exchanged: "95 to 1" has 1.
        first, last = min(low, (high[0], high[1] - 1)), max((low[0], 1), high)
        # It reaches values from the top on, and is not all of them.
        if top is not None and last > top.low and (high < LAST or low > top.low):
            return True
        if bottom is None or first >= bottom.high:  # wholly above the bottom
            return False
        # It reaches values up to the bottom: it may only be all of them, "10 or less" or wider.
        return bool(low > FIRST or high < bottom.high)
    return True  # no number and no date: nobody can say what it shows


def _is_coarse(label: str, hierarchy: Table, level: int, are_integers: bool) -> bool:
    """True if a label is of a level of a hierarchy, or of a coarser one.

    A hierarchy masks characters, or has intervals of numbers or periods of dates.
    """
    if "mask" in hierarchy:
        is_coarse = _masked(label, hierarchy, level)
    elif "intervals" in hierarchy:
        is_coarse = _wide(label, hierarchy, level, are_integers)
    elif "dates" in hierarchy:
        is_coarse = _long(label, hierarchy, level)
    else:
        raise CertificateError("no-level")
    return is_coarse or is_everything(label)


def _masked(label: str, hierarchy: Table, level: int) -> bool:
    """True if the last `level` characters are masked, and a level in the label is not finer."""
    length, character = hierarchy["mask"], str(hierarchy.get("character", "*"))
    if not isinstance(length, int) or level >= length or len(character) != 1:
        raise CertificateError("no-level")
    code, named_level = name_and_level(label)
    masked = len(code) == length and code.endswith(character * level)
    return masked and (named_level is None or named_level >= level)


def _wide(label: str, hierarchy: Table, level: int, are_integers: bool) -> bool:
    """True if a range of numbers begins and ends where intervals of the level do.

    A level has intervals of one width, which begin at the origin.
    """
    widths = [*map(as_fraction, hierarchy["intervals"])]
    origin = as_fraction(hierarchy.get("origin", 0))
    if level > len(widths) or widths[level - 1] <= 0:
        raise CertificateError("no-level")
    are_integers = are_integers and widths[0].denominator == origin.denominator == 1
    for _, *ends in (span for span in spans_of(label) if not span.dated):
        # An end is (number, 0) before the number, or (number, 1) after it. After 9 comes 10, but
        # only among whole numbers.
        if ends[1][1] and not are_integers:
            return False
        cuts = [sum(end) for end in ends if end not in (FIRST, LAST)]
        fits = all((cut - origin) % widths[level - 1] == 0 for cut in cuts)
        return fits and cuts == sorted({*cuts})  # the first below the second
    return False


def _long(label: str, hierarchy: Table, level: int) -> bool:
    """True if a label begins and ends where periods of the level do, such as months."""
    periods = hierarchy["dates"]
    if level > len(periods) or periods[level - 1] not in {*SIZES, *MONTHS}:
        raise CertificateError("no-level")
    period = periods[level - 1]
    # Hours without a date: a single hour, or the whole day.
    if HOUR_OF_DAY.fullmatch(label) or label == "00h to 23h":
        return period == "hour" or (period == "day" and label == "00h to 23h")
    cuts = [*chain(*(span[1:] for span in spans_of(label) if span.dated))]
    return bool(cuts) and all(cut in (FIRST, LAST) or _begins(cut, period) for cut in cuts)


def _begins(cut: Cut, period: str) -> bool:
    """True if a kind of period, such as a month, begins at a cut.

    A cut is (microseconds since the year 1, 0 for just before or 1 for just after this moment).
    """
    moment, after = cut
    if after or moment % SIZES.get(period, DAY):  # periods begin at midnight, and hours on the hour
        return False
    if period in SIZES or moment == date.max.toordinal() * DAY:  # the end of the last year
        return True
    first = date.fromordinal(moment // DAY + 1)
    return first.day == 1 and (12 * first.year + first.month - 1) % MONTHS[period] == 0


def _node(label: str, hierarchy: Table, level: int) -> bool:
    """True if a label is a node of the level or coarser, with a name that no finer node has.

    The rows of the hierarchy are a value and the nodes above it, one for each level.
    """
    rows = hierarchy["rows"]
    if not isinstance(rows, list) or not rows or level >= len(rows[0]):
        raise CertificateError("no-level")
    if any(not isinstance(row, list) or len(row) != len(rows[0]) for row in rows):
        raise CertificateError("malformed-tree")
    if label in map(str, chain(*(row[:level] for row in rows))):  # it may be the finer node
        return False
    if label == MISSING or label in map(str, chain(*(row[level:] for row in rows))):
        return True
    bare = label.removesuffix(OR_MISSING)
    if bare != label:
        return _node(bare, hierarchy, level)
    # Names that several levels share are written as "name (level 2)".
    name, named_level = name_and_level(label.rstrip("+"))
    if named_level is not None and level <= named_level < len(rows[0]):
        return any(str(row[named_level]) == name for row in rows)
    return is_everything(label)


GAUGES = {
    "levels": Gauge(
        gauge_levels,
        settings=Annotated[dict[str, LevelSettings], Field(min_length=1)],
        of_people=True,
        of_classes=True,
        of_columns=True,
        of_labels=True,
    ),
}
