"""Levels of labels: each label is parsed, and a label that cannot be parsed shows too much.

This shares no code with the criterion, nor with the code that writes labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from foreknow_judge.counting import GroupBags, Measured
from foreknow_judge.errors import CertificateError
from foreknow_judge.kinds import LevelSettings
from foreknow_judge.numbers import as_fraction
from foreknow_judge.population import edges_of_period
from foreknow_judge.settings import Table

_NUMBER = r"[-+]?[0-9]{1,300}(?:[.][0-9]*)?(?:[eE][-+]?[0-9]{1,3})?"
_ALL = re.compile(r"[*]+( [(]level [0-9]+[)])?[+]*")
# How periods are written, from fine to coarse.
_PERIODS = {
    "hour": r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}h|[0-9]{2}h",
    "day": r"[0-9]{4}-[0-9]{2}-[0-9]{2}|00h to 23h",
    "month": r"[0-9]{4}-(?:0[1-9]|1[0-2])",
    "quarter": r"[0-9]{4}-Q[1-4]",
    "year": r"[0-9]{4}",
    "decade": r"[0-9]{3}0s",
    "century": r"([0-9]{2})00 to (\1)99",
}


def gauge_levels(
    groups: GroupBags, settings: Mapping[str, LevelSettings], columns: Sequence[str]
) -> Measured:
    """How many people have a label that shows too much, and the first group of such people."""
    shows = np.zeros(len(groups), bool)
    for column, level_settings in settings.items():
        if column not in columns:
            raise CertificateError("unknown-column", "levels: the release", column=column)
        labels = groups.labels[columns.index(column)]
        are_integers = not any({".", "<"} & {*(text or "")} for text in labels.texts)
        shows_too_much = np.array(
            [shows_more(text, level_settings, are_integers) for text in labels.texts], bool
        )
        shows |= shows_too_much[labels.codes]
    group = int(np.argmax(shows))
    n_people = int(groups.people[shows].sum())
    return Measured(Fraction(n_people), groups.group(group), not n_people)


def shows_more(label: str | None, settings: LevelSettings, are_integers: bool = True) -> bool:
    """True if a label shows more than its table allows; `are_integers` is about its numbers."""
    level, hierarchy = settings.at_least, settings.hierarchy
    top, bottom = map(_limit, (settings.top, settings.bottom))
    if (top, bottom, level) == (None, None, None) or (
        isinstance(top, str) != isinstance(bottom, str) and None not in (top, bottom)
    ):
        raise CertificateError("wrong-setting", "levels")
    if label is None:
        return False
    bare_label = label.removesuffix(" or missing")
    has_ends = (top, bottom) != (None, None) and label != "missing"
    if has_ends and _shows_an_end(bare_label, top, bottom):
        return True
    if level is None:
        return False
    if level < 1 or hierarchy is None:
        raise CertificateError("wrong-setting", "levels")
    if "rows" in hierarchy:  # of which a value may be called "unknown or missing"
        return not _node(label, hierarchy, level)
    return label != "missing" and not _is_coarse(bare_label, hierarchy, level, are_integers)


def _shows_an_end(label: str, top: Any, bottom: Any) -> bool:
    """True if a label tells values from the top on, or up to the bottom, apart."""
    if _ALL.fullmatch(label):
        return False
    parts = label.split(" | ")
    if len(parts) > 1:
        return any(part != "missing" and _shows_an_end(part, top, bottom) for part in parts)
    dated = isinstance(bottom if top is None else top, str)
    ends = _ends_of_days(label) if dated else _ends_of_numbers(label)
    if ends is None:
        return True
    low, high, is_below = ends
    if top is not None:
        if high is None and low > top:
            return True
        if high is not None and (high > top or (high == top and not is_below)):
            return True
        if low is not None and high is not None and low >= top:
            return True
    if bottom is None:
        return False
    if low is None:
        return bool(high < bottom or (high == bottom and is_below))
    return bool(low <= bottom or (high is not None and high <= bottom))


def _ends_of_numbers(label: str) -> tuple[Any, Any, bool] | None:
    """The ends of a range, None where it has none; and whether the last is outside."""
    if match := re.fullmatch(f"({_NUMBER}) or (more|less)", label):
        number = _exactly(match[1])
        return (number, None, False) if match[2] == "more" else (None, number, False)
    if match := re.fullmatch(f"<({_NUMBER})", label):
        return None, _exactly(match[1]), True
    if match := re.fullmatch(f"({_NUMBER}) to (<?)({_NUMBER})", label):
        return _exactly(match[1]), _exactly(match[3]), bool(match[2])
    if re.fullmatch(_NUMBER, label) and not re.fullmatch("0[0-9]+", label):
        return _exactly(label), _exactly(label), False
    return None


def _ends_of_days(label: str) -> tuple[Any, Any, bool] | None:
    """The same of days and periods, as ISO texts, which sort like days."""
    match: Any = re.fullmatch("(.*?)(?: or (later|earlier)| to (.*))?", label, re.DOTALL)
    first, last = edges_of_period(match[1]), edges_of_period(match[3] or match[1])
    if first is None or last is None:
        return None
    low = None if match[2] == "earlier" else first[0]
    return low, None if match[2] == "later" else last[1], False


def _limit(setting: Any) -> Any:
    """A top or bottom: a number, or a day as text."""
    dated = isinstance(setting, str) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", setting)
    return setting if dated or setting is None else as_fraction(setting)


def _exactly(text: str) -> Fraction:
    return Fraction(Decimal(text))


def _is_coarse(label: str, hierarchy: Table, level: int, are_integers: bool) -> bool:
    """True if a label is of a level of a hierarchy, or of a coarser one."""
    kinds: dict[str, Callable[[str, Table, int], bool]]
    kinds = {
        "mask": _masked,
        "intervals": partial(_wide, are_integers=are_integers),
        "dates": _long,
    }
    kind = next((key for key in kinds if key in hierarchy), None)
    if kind is None:
        raise CertificateError("no-level")
    return kinds[kind](label, hierarchy, level)


def _masked(label: str, hierarchy: Table, level: int) -> bool:
    """True if the last `level` characters are masked, and a level in the label is not finer."""
    length, character = hierarchy["mask"], str(hierarchy.get("character", "*"))
    if not isinstance(length, int) or level >= length or len(character) != 1:
        raise CertificateError("no-level")
    if _ALL.fullmatch(label):
        return True
    match: Any = re.fullmatch("(.*?)(?: [(]level ([0-9]{1,3})[)])?", label, re.DOTALL)
    masked = len(match[1]) == length and match[1].endswith(character * level)
    return masked and int(match[2] or level) >= level


def _wide(label: str, hierarchy: Table, level: int, are_integers: bool) -> bool:
    """True if a range begins and ends where intervals of the level do."""
    if level > len(hierarchy["intervals"]):
        raise CertificateError("no-level")
    width, origin = map(
        as_fraction, (hierarchy["intervals"][level - 1], hierarchy.get("origin", 0))
    )
    if width <= 0:
        raise CertificateError("no-level")
    if _ALL.fullmatch(label):
        return True
    finest = as_fraction(hierarchy["intervals"][0])
    are_integers = are_integers and finest.denominator == origin.denominator == 1
    cuts = []
    if (match := re.fullmatch(f"({_NUMBER}) or more", label)) or (
        match := re.fullmatch(f"<({_NUMBER})", label)
    ):
        cuts = [_exactly(match[1])]
    elif are_integers and (match := re.fullmatch(f"({_NUMBER}) or less", label)):
        cuts = [_exactly(match[1]) + 1]
    elif match := re.fullmatch(f"({_NUMBER}) to <({_NUMBER})", label):
        cuts = [_exactly(match[1]), _exactly(match[2])]
    elif are_integers and (match := re.fullmatch(f"({_NUMBER})(?: to ({_NUMBER}))?", label)):
        cuts = [_exactly(match[1]), _exactly(match[2] or match[1]) + 1]
    fits = all((cut - origin) % width == 0 for cut in cuts)
    return bool(cuts) and fits and cuts == sorted({*cuts})


def _long(label: str, hierarchy: Table, level: int) -> bool:
    """True if a period is at least as long as that of the level."""
    periods = list(_PERIODS)
    if level > len(hierarchy["dates"]) or hierarchy["dates"][level - 1] not in periods:
        raise CertificateError("no-level")
    allowed = periods[periods.index(hierarchy["dates"][level - 1]) :]
    return bool(_ALL.fullmatch(label)) or any(re.fullmatch(_PERIODS[p], label) for p in allowed)


def _node(label: str, hierarchy: Table, level: int) -> bool:
    """True if a label is a node of the level or coarser, with a name that no finer node has."""
    rows = hierarchy["rows"]
    if not isinstance(rows, list) or not rows or level >= len(rows[0]):
        raise CertificateError("no-level")
    if any(not isinstance(row, list) or len(row) != len(rows[0]) for row in rows):
        raise CertificateError("malformed-tree")
    finer = {str(cell) for row in rows for cell in row[:level]}
    if label in finer:
        return False
    if label == "missing" or any(str(cell) == label for row in rows for cell in row[level:]):
        return True
    bare = label.removesuffix(" or missing")
    if bare != label:
        return _node(bare, hierarchy, level)
    match = re.fullmatch("(.*) [(]level ([0-9]{1,3})[)][+]*", label, re.DOTALL)
    if match and level <= int(match[2]) < len(rows[0]):
        return any(str(row[int(match[2])]) == match[1] for row in rows)
    return bool(_ALL.fullmatch(label))
