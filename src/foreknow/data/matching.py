"""Which values fall in a published label: a range, a set, a masked code, a period, a node.

Labels are read as anybody reads them who has the release and the hierarchies, and nothing else. A
text that may be one value, or a label that others fall in, is read in each way; where these differ
it is refused, unless it is known to be that value.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.labels import text_of
from foreknow.errors import DataError, did_you_mean
from foreknow.numbers import is_code, read_moment, read_number

Mask: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = Sequence[Sequence[str]]

_EVERYTHING = re.compile(r"\*+( \(level \d+\))?")
_MASKED = re.compile(r".*?(\*+)", re.DOTALL)
_LEVELLED = re.compile(r"(.+) \(level (\d{1,3})\)", re.DOTALL)
# What a plus may be added to, where a value is called so.
_PLUS = re.compile(r"(.*(?:[*)\"]| or missing))\++", re.DOTALL)
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
    >>> ages.covered_by("20 to 24").tolist(), ages.covered_by("*").all()
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
        self._order = None if order is None else {text: i for i, text in enumerate(order)}
        self._listed = {row[0] for row in tree or ()} | {*(order or ())}
        self._known: dict[tuple[str | None, bool], Mask] = {}

    def covered_by(self, label: Any, exactly: bool = False) -> Mask:
        """Which values fall in a label; `exactly`: it is known to be a value as it is."""
        text = None if label is None else text_of(label)
        if (text, exactly) not in self._known:
            self._known[text, exactly] = self._alone(text) if exactly else self._read(text)
        return self._known[text, exactly]

    def misread(self, text: str) -> bool:
        """Whether a value would be taken for a label that others fall in, or none of it does."""
        try:
            return bool((self._read(text) != self._alone(text)).any())
        except DataError:
            return True

    def same(self, value: Any) -> list[int]:
        """The places of what a table's exact value is: a number or a moment however written."""
        text = None if value is None else text_of(value)
        found = set(self._places.get(text, ()))
        if text is not None and not isinstance(value, str):
            if (number := read_number(text)) is not None:
                near = self._from_to(self._numbers, number, number)
                found.update(i for i in near if not is_code(self.texts[i] or ""))
            elif period := _period(text):
                found.update(self._from_to(self._moments, *period, open_=True))
        return sorted(found)

    def equal(self, value: Any) -> Mask:
        """Which values are this one: as it is written, or as a number."""
        text = None if value is None else text_of(value)
        return self._alone(text) if text is None else self._alone(text) | self._numbered(text)

    def _read(self, text: str | None) -> Mask:
        if text is None or text in self._listed:
            return self._alone(text)
        if self._tree is not None and text in self._nodes:
            return self._nodes[text]
        return self._only([self._alone(text), *self._meant(text)], text)

    def _only(self, ways: Sequence[Mask], text: str) -> Mask:
        """What a text means, if it cannot mean two things to this table."""
        found = [way for way in ways if way.any()]
        if any((way != found[0]).any() for way in found):
            raise self._unclear(text)
        return found[0] if found else np.zeros(len(self.texts), dtype=bool)

    def _unclear(self, text: str) -> DataError:
        return DataError(
            f"column {self._column!r}: {text!r} may be one value, or a label that others fall in, "
            "and the population has both, so groups cannot be compared with it; write such values "
            "otherwise, in the table and in the population"
        )

    def _meant(self, text: str) -> Iterator[Mask]:
        """What falls in a label, in each way to read it."""
        if text == "missing":
            yield self._alone(None)
        if _EVERYTHING.fullmatch(text):
            yield np.ones(len(self.texts), dtype=bool)
        yield self._numbered(text)
        if levelled := _LEVELLED.fullmatch(text):
            if _MASKED.fullmatch(levelled[1]):
                yield self._masked(levelled[1], int(levelled[2]))
            else:
                yield from self._meant(levelled[1])
        elif masked := _MASKED.fullmatch(text):
            yield from (self._masked(text, many) for many in range(1, len(masked[1]) + 1))
        if plus := _PLUS.fullmatch(text):
            if self._tree is not None and plus[1] in self._nodes:
                yield self._nodes[plus[1]]
            yield from self._meant(plus[1])
        if text.endswith(" or missing"):
            known = text.removesuffix(" or missing")
            missing = self._missing(quoted=text.startswith('"'))
            yield self._only([self._alone(known), *self._meant(known)], text) | missing
        if quoted := _quoted(text, " | "):
            yield self._union(quoted, quoted=True)
        yield from self._in_several(text, bool(quoted))
        if (ends := _quoted(text, " to ")) and len(ends) == 2:
            yield from self._in_range(*ends)
        if len(ends := text.split(" to ")) == 2:
            yield from self._in_range(*ends)
        if period := _period(text):
            yield self._between(self._moments, *period, open_=True)

    def _alone(self, text: str | None) -> Mask:
        same = np.zeros(len(self.texts), dtype=bool)
        same[self._places.get(text, [])] = True
        return same

    def _numbered(self, text: str) -> Mask:
        """Values that are the same number; digits after a 0 are a code."""
        number = read_number(text)
        if number is None or is_code(text):
            return np.zeros(len(self.texts), dtype=bool)
        return self._between(self._numbers, number, number) & ~self._codes

    def _masked(self, text: str, many: int) -> Mask:
        """Values of the same length that begin alike, up to so many characters."""
        start, length = text[:-many], len(text)
        own = [bool(start and t and len(t) == length and t.startswith(start)) for t in self.texts]
        return np.array(own, dtype=bool)

    def _missing(self, quoted: bool) -> Mask:
        """What is missing; where values are in quotes, none of them is."""
        own = self._alone(None)
        return own if quoted else self._only([own, self._alone("missing")], "missing")

    def _in_several(self, text: str, quoted: bool) -> Iterator[Mask]:
        """A set whose values stand as they are; and the missing one before others."""
        rest = text.removeprefix("missing | ")
        own = _quoted(rest, " | ")
        if rest != text and own:
            ways, bare = [self._union(own, quoted=True)], rest.split(" | ")
            if len(bare) == len(own):  # the quotes may be those of the values
                ways.append(self._union(bare, quoted=True))
            null = self._alone(None)
            yield from [null | way for way in ways if way.any()] or [null]
            return
        parts = text.split(" | ")
        if len(parts) < 2:
            return
        joined = (t for t in self.texts if t is not None and " | " in t and t != text)
        if not quoted and any(t in text for t in joined):
            raise self._unclear(text)
        yield self._union(parts)

    def _union(self, parts: Sequence[str], quoted: bool = False) -> Mask:
        found = np.zeros(len(self.texts), dtype=bool)
        for part in parts:
            if not quoted and part == "missing":
                found |= self._missing(quoted)
            elif quoted:
                found |= self._alone(part)
            else:
                found |= self._only([self._alone(part), self._numbered(part)], part)
        return found

    def _in_range(self, low: str, high: str) -> Iterator[Mask]:
        if self._order is not None and low in self._order and high in self._order:
            places = [self._order.get(text or "", -1) for text in self.texts]
            yield np.array([self._order[low] <= p <= self._order[high] for p in places])
            return
        first, last = read_number(low), read_number(high.removeprefix("<"))
        if first is not None and last is not None:
            yield self._between(self._numbers, first, last, open_=high.startswith("<"))
        start, end = _period(low), _period(high)
        if start is not None and end is not None:
            yield self._between(self._moments, start[0], end[1], open_=True)

    def _between(self, known: Any, low: Any, high: Any, open_: bool = False) -> Mask:
        found = np.zeros(len(self.texts), dtype=bool)
        found[self._from_to(known, low, high, open_)] = True
        return found

    def _from_to(self, known: Any, low: Any, high: Any, open_: bool = False) -> list[int]:
        keys, places = known
        end = bisect_left(keys, high) if open_ else bisect_right(keys, high)
        own: list[int] = places[bisect_left(keys, low) : end]
        return own

    @cached_property
    def _places(self) -> dict[str | None, list[int]]:
        found: dict[str | None, list[int]] = {}
        for i, text in enumerate(self.texts):
            found.setdefault(text, []).append(i)
        return found

    @cached_property
    def _codes(self) -> Mask:
        return np.array([text is not None and is_code(text) for text in self.texts], dtype=bool)

    @cached_property
    def _numbers(self) -> tuple[list[Any], list[int]]:
        return _sorted([None if text is None else read_number(text) for text in self.texts])

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


def _quoted(text: str, joint: str) -> list[str]:
    """What a text joins in quotes, as where one of the parts holds the joint."""
    quoted = _QUOTED.findall(text) if text.startswith('"') else []
    if not quoted or joint.join(quoted) != text:
        return []
    return [part[1:-1].replace('""', '"') for part in quoted]


def _moment(text: str) -> datetime | None:
    return read_moment(text) if "-" in text[1:] else None


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
