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
    held: GroupBags, settings: Mapping[str, LevelSettings], columns: Sequence[str]
) -> Measured:
    """How many people have a label that shows too much, and the first group of such people."""
    shows = np.zeros(len(held), bool)
    for column, own in settings.items():
        if column not in columns:
            raise CertificateError("unknown-column", "levels: the release", column=column)
        labels = held.labels[columns.index(column)]
        whole = not any({".", "<"} & {*(text or "")} for text in labels.texts)
        more = np.array([shows_more(text, own, whole) for text in labels.texts], bool)
        shows |= more[labels.codes]
    at = int(np.argmax(shows))
    many = int(held.people[shows].sum())
    return Measured(Fraction(many), held.group(at), not many)


def shows_more(label: str | None, settings: LevelSettings, whole: bool = True) -> bool:
    """Whether a label shows more than its table allows; `whole` if the numbers are integers."""
    level, hierarchy = settings.at_least, settings.hierarchy
    if settings.top is None and level is None:
        raise CertificateError("wrong-setting", "levels")
    if label is None:
        return False
    known = label.removesuffix(" or missing")
    topped = settings.top is not None and label != "missing"
    if topped and _reaches(known, as_fraction(settings.top)):
        return True
    if level is None:
        return False
    if level < 1 or hierarchy is None:
        raise CertificateError("wrong-setting", "levels")
    if "rows" in hierarchy:  # of which a value may be called "unknown or missing"
        return not _node(label, hierarchy, level)
    return label != "missing" and not _is_coarse(known, hierarchy, level, whole)


def _reaches(label: str, top: Fraction) -> bool:
    if _ALL.fullmatch(label):
        return False
    parts = label.split(" | ")
    if len(parts) > 1:
        return any(part != "missing" and _reaches(part, top) for part in parts)
    if found := re.fullmatch(f"({_NUMBER}) or more", label):
        return _exactly(found[1]) > top
    if found := re.fullmatch(f"({_NUMBER}) to (<?)({_NUMBER})", label):
        low, high = _exactly(found[1]), _exactly(found[3])
        return low >= top or (high > top if found[2] else high >= top)
    if re.fullmatch(_NUMBER, label) and not re.fullmatch("0[0-9]+", label):
        return _exactly(label) >= top
    return True


def _exactly(text: str) -> Fraction:
    return Fraction(Decimal(text))


def _is_coarse(label: str, hierarchy: Table, level: int, whole: bool) -> bool:
    """Whether a label is of a level of a hierarchy, or of a coarser one."""
    kinds: dict[str, Callable[[str, Table, int], bool]]
    kinds = {"mask": _masked, "intervals": partial(_wide, whole=whole), "dates": _long}
    kind = next((key for key in kinds if key in hierarchy), None)
    if kind is None:
        raise CertificateError("no-level")
    return kinds[kind](label, hierarchy, level)


def _masked(label: str, hierarchy: Table, level: int) -> bool:
    """Whether the last `level` characters are masked, and a level in the label is not finer."""
    length, character = hierarchy["mask"], str(hierarchy.get("character", "*"))
    if not isinstance(length, int) or level >= length or len(character) != 1:
        raise CertificateError("no-level")
    if _ALL.fullmatch(label):
        return True
    told: Any = re.fullmatch("(.*?)(?: [(]level ([0-9]{1,3})[)])?", label, re.DOTALL)
    masked = len(told[1]) == length and told[1].endswith(character * level)
    return masked and int(told[2] or level) >= level


def _wide(label: str, hierarchy: Table, level: int, whole: bool) -> bool:
    """Whether a range begins and ends where intervals of the level do."""
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
    whole = whole and finest.denominator == origin.denominator == 1
    cuts = []
    if found := re.fullmatch(f"({_NUMBER}) or more", label):
        cuts = [_exactly(found[1])]
    elif found := re.fullmatch(f"({_NUMBER}) to <({_NUMBER})", label):
        cuts = [_exactly(found[1]), _exactly(found[2])]
    elif whole and (found := re.fullmatch(f"({_NUMBER})(?: to ({_NUMBER}))?", label)):
        cuts = [_exactly(found[1]), _exactly(found[2] or found[1]) + 1]
    fits = all((cut - origin) % width == 0 for cut in cuts)
    return bool(cuts) and fits and cuts == sorted({*cuts})


def _long(label: str, hierarchy: Table, level: int) -> bool:
    """Whether a period is at least as long as that of the level."""
    periods = list(_PERIODS)
    if level > len(hierarchy["dates"]) or hierarchy["dates"][level - 1] not in periods:
        raise CertificateError("no-level")
    allowed = periods[periods.index(hierarchy["dates"][level - 1]) :]
    return bool(_ALL.fullmatch(label)) or any(re.fullmatch(_PERIODS[p], label) for p in allowed)


def _node(label: str, hierarchy: Table, level: int) -> bool:
    """Whether a label is a node of the level or coarser, with a name that no finer node has."""
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
    told = re.fullmatch("(.*) [(]level ([0-9]{1,3})[)][+]*", label, re.DOTALL)
    if told and level <= int(told[2]) < len(rows[0]):
        return any(str(row[int(told[2])]) == told[1] for row in rows)
    return bool(_ALL.fullmatch(label))
