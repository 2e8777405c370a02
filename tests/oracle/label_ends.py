"""Which numbers or days a label may stand for, by trying each of a universe."""

import re
from datetime import date, timedelta
from functools import cache

NUMBERS = [*range(-30, 131)]
DAYS = [date(1997, 1, 1) + timedelta(days=i) for i in range(7 * 365)]


def covered(label, universe):
    """The values of a universe that a label may stand for; None for one that says none."""
    label = label.removesuffix(" or missing")
    if label == "missing":
        return set()
    if re.fullmatch(r"[*]+( [(]level 1[)])?", label):
        return {*universe}
    if " | " in label:
        parts = [covered(part, universe) for part in label.split(" | ")]
        return None if None in parts else set().union(*parts)
    if label.startswith("<"):
        end = _ends(label[1:], universe)
        return end and {value for value in universe if value < end[0]}
    if match := re.fullmatch("(.+) or (more|later|less|earlier)", label):
        end = _ends(match[1], universe)
        if end is None or (match[2] in ("later", "earlier")) != (universe is DAYS):
            return None
        upwards = match[2] in ("more", "later")
        return {v for v in universe if (v >= end[0] if upwards else v <= end[1])}
    low, _, high = label.partition(" to ")
    first, last = _ends(low, universe), _ends((high or low).removeprefix("<"), universe)
    if first is None or last is None:
        return None
    if first[0] > last[1]:  # which is no range; but it says both
        return {first[0], last[1]}
    return {v for v in universe if first[0] <= v < last[1] or (v == last[1] and high[:1] != "<")}


def _ends(text, universe):
    """The first and the last number or day of a text."""
    if universe is NUMBERS:
        return (int(text), int(text)) if re.fullmatch("-?(0|[1-9][0-9]*)", text) else None
    days = _days_by_name().get(text)
    return (days[0], days[-1]) if days else None


@cache
def _days_by_name():
    days = {}
    for day in DAYS:
        for name in _names(day):
            days.setdefault(name, []).append(day)
    return days


def _names(day):
    year = f"{day:%Y}"
    quarter = f"{year}-Q{(day.month + 2) // 3}"
    return {day.isoformat(), f"{day:%Y-%m}", quarter, year, f"{year[:3]}0s"}


def tells_no_end_apart(label, universe, bottom=None, top=None):
    """Whether it stands for all values up to a bottom or none, and all from a top on or none."""
    values = covered(label, universe)
    beyond = [{v for v in universe if bottom is not None and v <= bottom}]
    beyond.append({v for v in universe if top is not None and v >= top})
    return values is not None and all(end <= values or not end & values for end in beyond)
