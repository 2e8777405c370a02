"""Which values fall in a published label: a range, a set, a masked code, a period, a node.

Labels are read as anybody reads them who has the release and the hierarchies, and nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.labels import text_of
from foreknow.errors import DataError, did_you_mean

Mask: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = Sequence[Sequence[str]]

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d{1,3})?", re.ASCII)
_EVERYTHING = re.compile(r"\*+( \(level \d+\))?\+*")
_MASKED = re.compile(r"(.*[^*])\*+", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_PERIOD = re.compile(
    r"(?P<year>\d{4})(?P<decade>s)?(-Q(?P<quarter>[1-4])|-(?P<month>\d\d)(-(?P<day>\d\d)"
    r"( (?P<hour>\d\d)h)?)?)?",
    re.ASCII,
)


class Falling:
    """The distinct values of one column, and which of them fall in a label.

    Parameters
    ----------
    values : sequence
        Of a table; None is a missing one.
    column : str
        For messages.
    tree : sequence of rows, optional
        A value and the nodes above it, where the column has a hierarchy of that kind.
    order : sequence of str, optional
        All values from first to last, where texts are written as ranges.

    Examples
    --------
    >>> ages = Falling([19, 20, 24, 25], "age")
    >>> ages.within("20 to 24").tolist(), ages.within("*").all()
    ([False, True, True, False], np.True_)
    """

    def __init__(
        self,
        values: Sequence[Any],
        column: str,
        tree: Rows | None = None,
        order: Sequence[str] | None = None,
    ) -> None:
        self.texts = [None if value is None else text_of(value) for value in values]
        self._column, self._tree = column, tree
        self._leaves = {row[0] for row in tree or ()}
        self._order = None if order is None else {text: i for i, text in enumerate(order)}
        self._known: dict[str | None, Mask] = {}

    def within(self, label: Any) -> Mask:
        """Which values fall in a label."""
        text = None if label is None else text_of(label)
        if text not in self._known:
            self._known[text] = self._read(text)
        return self._known[text]

    def _read(self, text: str | None) -> Mask:
        alone = self._equal(text)
        if text is None or text in self._leaves:
            return alone
        if _EVERYTHING.fullmatch(text):
            return np.ones(len(self.texts), dtype=bool)
        if self._tree is not None and text in self._nodes:
            return self._nodes[text]
        found = alone | self._in_several(text)
        if not found.any() and text.endswith("+"):  # a label that a value has gets a plus
            return self._read(text[:-1])
        return found

    def _equal(self, text: str | None) -> Mask:
        same = np.zeros(len(self.texts), dtype=bool)
        same[self._places.get(text, [])] = True
        number = None if text is None else _number(text)
        if number is not None and not _is_code(text or ""):
            same |= self._between(self._numbers, number, number) & ~self._codes
        return same

    def _in_several(self, text: str) -> Mask:
        if text.endswith(" or missing"):
            return self._read(text.removesuffix(" or missing")) | self._equal(None)
        parts = _parts(text, " | ")
        if len(parts) > 1:
            several = [self._equal(p) | self._equal(None if p == "missing" else p) for p in parts]
            return np.asarray(np.logical_or.reduce(several))
        ends = _parts(text, " to ")
        if len(ends) == 2:
            return self._in_range(*ends)
        if period := _period(text):
            return self._between(self._moments, period[0], period[1], open_=True)
        if masked := _MASKED.fullmatch(text):
            start, length = masked[1], len(text)
            own = [t is not None and len(t) == length and t.startswith(start) for t in self.texts]
            return np.array(own, dtype=bool)
        if text == "missing":
            return self._equal(None)
        return np.zeros(len(self.texts), dtype=bool)

    def _in_range(self, low: str, high: str) -> Mask:
        first, last = _number(low), _number(high.removeprefix("<"))
        if self._order is not None and low in self._order and high in self._order:
            places = [self._order.get(text or "", -1) for text in self.texts]
            return np.array([self._order[low] <= p <= self._order[high] for p in places])
        found = np.zeros(len(self.texts), dtype=bool)
        if first is not None and last is not None:
            found |= self._between(self._numbers, first, last, open_=high.startswith("<"))
        start, end = _period(low), _period(high)
        if start is not None and end is not None:
            found |= self._between(self._moments, start[0], end[1], open_=True)
        return found

    def _between(self, known: Any, low: Any, high: Any, open_: bool = False) -> Mask:
        keys, places = known
        found = np.zeros(len(self.texts), dtype=bool)
        end = bisect_left(keys, high) if open_ else bisect_right(keys, high)
        found[places[bisect_left(keys, low) : end]] = True
        return found

    @cached_property
    def _places(self) -> dict[str | None, list[int]]:
        found: dict[str | None, list[int]] = {}
        for i, text in enumerate(self.texts):
            found.setdefault(text, []).append(i)
        return found

    @cached_property
    def _codes(self) -> Mask:
        return np.array([text is not None and _is_code(text) for text in self.texts], dtype=bool)

    @cached_property
    def _numbers(self) -> tuple[list[Decimal], list[int]]:
        return _sorted([None if text is None else _number(text) for text in self.texts])

    @cached_property
    def _moments(self) -> tuple[list[datetime], list[int]]:
        return _sorted([None if text is None else _moment(text) for text in self.texts])

    @cached_property
    def _nodes(self) -> dict[str, Mask]:
        """The values below each node, by its label; by label and level where that is needed."""
        assert self._tree is not None
        above = {row[0]: row[1:] for row in self._tree}
        rows = []
        for text in self.texts:
            if text is not None and text not in above:
                hint = did_you_mean(text, list(above)[:1000])
                raise DataError(
                    f"the population: column {self._column!r}: the hierarchy does not list the "
                    f"value {text!r}{hint}"
                )
            rows.append(above.get(text or "", ()))
        found: dict[str, Mask] = {}
        for level in range(1, len(next(iter(above.values()), ())) + 1):
            of = [row[level - 1] if row else None for row in rows]
            for label in {row[level - 1] for row in above.values()}:
                mask = np.array([own == label for own in of], dtype=bool)
                found.setdefault(label, mask)
                found[f"{label} (level {level})"] = mask
        return found


def _parts(text: str, joint: str) -> list[str]:
    """What a text joins; parts may be in quotes, as where one of them holds the joint."""
    quoted = _QUOTED.findall(text)
    if quoted and joint.join(quoted) == text:
        return [part[1:-1].replace('""', '"') for part in quoted]
    return text.split(joint)


def _number(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _is_code(text: str) -> bool:
    """Whether digits are a code, whose leading zeros count."""
    return len(text) > 1 and text[0] == "0" and text.isdigit()


def _moment(text: str) -> datetime | None:
    if "-" not in text[1:]:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _period(text: str) -> tuple[datetime, datetime] | None:
    """When a day, month, quarter, year or decade begins, and when the next one does."""
    found = _PERIOD.fullmatch(text)
    if found is None:
        moment = _moment(text)
        return None if moment is None else (moment, moment + timedelta(microseconds=1))
    year = int(found["year"])
    try:
        if found["day"]:
            day = date(year, int(found["month"]), int(found["day"]))
            start = datetime.combine(day, time(int(found["hour"] or 0)))
            return start, start + timedelta(hours=1 if found["hour"] else 24)
        if found["month"]:
            month, many = int(found["month"]), 1
        elif found["quarter"]:
            month, many = 3 * int(found["quarter"]) - 2, 3
        else:
            month, many = 1, 120 if found["decade"] else 12
        after = year * 12 + month - 1 + many
        return datetime(year, month, 1), datetime(after // 12, after % 12 + 1, 1)
    except (ValueError, OverflowError):
        return None


def _sorted(keys: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Keys in order, and the place of each; None is left out."""
    order = sorted((i for i, key in enumerate(keys) if key is not None), key=keys.__getitem__)
    return [keys[i] for i in order], order
