"""Meaning: what a published label stands for, by its text; and which values fall in it.

A label is read as anybody reads it who has the release and the hierarchies, and nothing else: it
is one value, a set, a range, a period, a masked code, a node, or everything. A text that can be
read in several ways has several meanings; whoever knows more of its column chooses among them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow.data.arrays import BoolArray
from foreknow.data.labels.labels import text_of
from foreknow.errors import did_you_mean
from foreknow.shown_numbers import read_moment
from foreknow_judge.errors import DataError
from foreknow_judge.numbers import is_code, read_number

Rows: TypeAlias = Sequence[Sequence[str]]
# Numbers or moments in ascending order, and the position of the value that each is read from.
SortedKeys: TypeAlias = tuple[list[Any], list[int]]

# How labels join values; `foreknow.data.labels.generalization` writes them so.
AMONG, UP_TO, OR_MISSING, MISSING = " | ", " to ", " or missing", "missing"
# Of numbers or dates of which the highest, or the lowest, are one value.
OR_MORE, OR_LATER, OR_LESS, OR_EARLIER = " or more", " or later", " or less", " or earlier"

_OPEN = re.compile(f"(.*)({OR_MORE}|{OR_LATER}|{OR_LESS}|{OR_EARLIER})", re.DOTALL)
_EVERYTHING = re.compile(r"\*+( \(level \d+\))?")
_MASKED = re.compile(r".*?(\*+)", re.DOTALL)
_LEVELLED = re.compile(r"(.+) \(level (\d{1,3})\)", re.DOTALL)
# What a plus may be added to, where a value is called so.
_PLUS = re.compile(r"(.*(?:[*)\"]| or missing))\++", re.DOTALL)
_ENDS_OF_NUMBERS: tuple[Any, Any] = Decimal("-Infinity"), Decimal("Infinity")
_ENDS_OF_TIME: tuple[Any, Any] = datetime.min, datetime.max
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_PERIOD = re.compile(
    r"(?P<year>\d{4})((?<=0)(?P<decade>s)|-Q(?P<quarter>[1-4])|-(?P<month>\d\d)"
    r"(-(?P<day>\d\d)( (?P<hour>\d\d)h)?)?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Meaning:
    """One way to read a label: values that it lists, or what all values in it have in common.

    Attributes
    ----------
    members : tuple of str
        Values that it lists, as they print.
    ends : tuple of str
        The first and the last value of a range, as they print.
    lower, upper : Decimal or datetime, optional
        The numbers or moments from one to the other; all from `lower` on, where there is no
        `upper`, and all up to `upper`, where there is no `lower`.
    below : bool
        Whether `upper` is the first that is outside.
    start, length : str and int
        How values begin, and how long they are.
    node : str
        The name of a node of a hierarchy, where that is not the label.
    missing, everything : bool
        Whether the label stands for a missing value, too; and whether for all values.
    quoted : bool
        Whether values stand in quotes, so that they cannot be anything else.
    text : str
        The label itself, if it stands for a missing value beside others; else "".

    Examples
    --------
    >>> [(meaning.lower, meaning.upper) for meaning in meanings_of("20 to 29")]
    [(Decimal('20'), Decimal('29'))]
    >>> [meaning.members for meaning in meanings_of("Divorced | Widowed")]
    [('Divorced', 'Widowed')]
    """

    members: tuple[str, ...] = ()
    ends: tuple[str, str] | None = None
    lower: int | Decimal | datetime | None = None
    upper: int | Decimal | datetime | None = None
    below: bool = False
    start: str = ""
    length: int = 0
    node: str = ""
    missing: bool = False
    everything: bool = False
    quoted: bool = False
    text: str = ""

    @property
    def ends_given(self) -> list[Any]:
        """Its `lower` and `upper`, without one that is missing."""
        return [end for end in (self.lower, self.upper) if end is not None]

    def is_range_of(self, *kinds: type) -> bool:
        """True if it has an end, `lower` or `upper`, of one of these types."""
        return any(isinstance(end, kinds) for end in self.ends_given)

    @property
    def middle(self) -> Decimal | datetime | None:
        """Half way between `lower` and `upper`."""
        low, high = self.lower, self.upper
        if isinstance(low, datetime) and isinstance(high, datetime):
            return low + (high - low) / 2
        if low is None or high is None or isinstance(low, datetime) or isinstance(high, datetime):
            return None
        return (Decimal(low) + Decimal(high)) / 2


@lru_cache(1 << 14)
def meanings_of(text: str) -> tuple[Meaning, ...]:
    """Every way to read a label, but as a value, or a node of a hierarchy, that is called so."""
    return tuple(_meanings(text))


def _meanings(text: str) -> Iterator[Meaning]:
    """Yield every way to read a label: as a node, a value, a range, a set, a period, and so on."""
    if text == MISSING:
        # The word for a missing value, unless a value is called so.
        yield Meaning(missing=True, quoted=True, text=text)
    # Each part below looks for one form. Looking at the start or end of a text first is faster
    # than matching a pattern.
    if text.startswith("*") and _EVERYTHING.fullmatch(text):
        yield Meaning(everything=True)
    number = read_number(text)
    if number is not None and not is_code(text):
        yield Meaning(lower=number, upper=number)
    open_ended = _OPEN.fullmatch(text)
    if open_ended:
        yield from _meanings_of_open_range(*open_ended.groups())
    # "<15" stands for all numbers below 15.
    limit = read_number(text[1:]) if text.startswith("<") else None
    if limit is not None:
        yield Meaning(ends=("", text), upper=limit, below=True)
    yield from _meanings_of_marked(text)
    if text.endswith(OR_MISSING):
        # "20 to 29 or missing": all ways to read what stands before, each with a missing value.
        present_text = text.removesuffix(OR_MISSING)
        quoted = text.startswith('"')
        for meaning in (Meaning(members=(present_text,)), *meanings_of(present_text)):
            with_missing = replace(meaning, missing=True, quoted=quoted, text=text)
            yield meaning if meaning.text else with_missing
    yield from _meanings_of_list(text)
    # A text may hold " to " itself; then it is in quotes.
    for ends in (_quoted_parts(text, UP_TO), text.split(UP_TO)):
        if len(ends) == 2:
            yield from _meanings_of_range(*ends)
    period = _period(text)
    if period is not None:
        yield Meaning(lower=period.start, upper=period.end, below=True)


def _meanings_of_marked(text: str) -> Iterator[Meaning]:
    """Yield the ways to read a text with a level, asterisks or plus signs at its end.

    Asterisks mask the last characters of values; plus signs only tell a label from a value that is
    called so.
    """
    levelled = _LEVELLED.fullmatch(text) if text.endswith(")") else None
    masked = _MASKED.fullmatch(text) if text.endswith("*") else None
    plus = _PLUS.fullmatch(text) if text.endswith("+") else None
    if levelled:
        label, level = levelled.groups()
        if _MASKED.fullmatch(label):  # a level of a mask hides as many characters
            yield from _meanings_of_mask(label, int(level))
        else:
            yield from meanings_of(label)
    if masked:
        # A value may itself end with asterisks, so any number of them may mask.
        asterisks = masked[1]
        for n_masked in range(1, len(asterisks) + 1):
            yield from _meanings_of_mask(text, n_masked)
    if plus:
        label = plus[1]
        yield Meaning(node=label)
        yield from meanings_of(label)


def _meanings_of_mask(text: str, n_masked: int) -> Iterator[Meaning]:
    """Yield the meaning of a masked text: values of its length with the same beginning.

    `n_masked` is how many of its last characters are masked.
    """
    if 0 < n_masked < len(text):
        yield Meaning(start=text[:-n_masked], length=len(text))


def _meanings_of_list(text: str) -> Iterator[Meaning]:
    """Yield the ways to read a list of values, in quotes or not, perhaps after `missing`."""
    quoted = _quoted_parts(text, AMONG)
    if quoted:
        yield Meaning(members=tuple(quoted), quoted=True)
    # After an unquoted "missing", the quoted parts are values.
    after_missing = text.removeprefix(MISSING + AMONG)
    quoted = _quoted_parts(after_missing, AMONG) if after_missing != text else []
    if quoted:
        yield Meaning(members=tuple(quoted), missing=True, quoted=True, text=text)
        bare = after_missing.split(AMONG)
        if len(bare) == len(quoted):  # the quotes may be those of the values
            yield Meaning(members=tuple(bare), missing=True, quoted=True, text=text)
        return
    bare = text.split(AMONG)
    if len(bare) > 1:
        yield Meaning(members=tuple(bare), missing=MISSING in bare)


def _meanings_of_range(low: str, high: str) -> Iterator[Meaning]:
    """Yield the ways to read a range: of numbers, of periods, or of texts in an order of their own.

    `low` and `high` are the texts before and after " to "; "<" before the latter excludes it.
    """
    ends = low, high
    first, last = read_number(low), read_number(high.removeprefix("<"))
    if first is not None and last is not None:
        yield Meaning(ends=ends, lower=first, upper=last, below=high.startswith("<"))
    first_period, last_period = _period(low), _period(high)
    if first_period is not None and last_period is not None:
        yield Meaning(ends=ends, lower=first_period.start, upper=last_period.end, below=True)
    are_numbers = first is not None and last is not None
    are_periods = first_period is not None and last_period is not None
    if not are_numbers and not are_periods:
        yield Meaning(ends=ends)


def from_on(text: str, is_date: bool) -> str:
    """The label of all numbers, or days, from one on."""
    return f"{text}{OR_LATER if is_date else OR_MORE}"


def up_to(text: str, is_date: bool) -> str:
    """The label of all numbers, or days, up to one, or below one such as ``<15``."""
    return text if text.startswith("<") else f"{text}{OR_EARLIER if is_date else OR_LESS}"


def is_open_ended(label: str) -> bool:
    """True if a label is of all numbers, or days, from one on, or up to one."""
    return _OPEN.fullmatch(label.removesuffix(OR_MISSING)) is not None or label.startswith("<")


def _meanings_of_open_range(end: str, direction: str) -> Iterator[Meaning]:
    """Yield the meaning of a label of all numbers or moments from one on, or up to one.

    `direction` is the ending of the label, such as " or more", and `end` is the text before it.
    """
    number, period = read_number(end), _period(end)
    if direction == OR_MORE and number is not None:
        yield Meaning(ends=(end, ""), lower=number)
    elif direction == OR_LESS and number is not None:
        yield Meaning(ends=("", end), upper=number)
    elif direction == OR_LATER and period is not None:
        yield Meaning(ends=(end, ""), lower=period.start)
    elif direction == OR_EARLIER and period is not None:
        yield Meaning(ends=("", end), upper=period.end, below=True)


def _quoted_parts(text: str, joint: str) -> list[str]:
    """The quoted parts of a text that has only such parts, without quotes; [] for another text.

    `joint` stands between the parts, and may also occur inside of them.
    """
    quoted = _QUOTED.findall(text) if text.startswith('"') else []
    if not quoted or joint.join(quoted) != text:
        return []
    return [quoted_text[1:-1].replace('""', '"') for quoted_text in quoted]


def quote(text: str) -> str:
    """Write a text in quotes, as CSV has them.

    >>> print(quote('the "x" row'))
    "the ""x"" row"
    """
    return '"' + text.replace('"', '""') + '"'


def _moment(text: str) -> datetime | None:
    """The moment that a text is; None for a text that is none, such as digits alone."""
    return read_moment(text) if "-" in text[1:] else None


class _Period(NamedTuple):
    """A period of time."""

    start: datetime
    end: datetime  # the first moment after it


def _period(text: str) -> _Period | None:
    """The day, month, quarter, year, decade or hour that a text is.

    None for a text that is no such period. A moment is a period of a microsecond.
    """
    matched = _PERIOD.fullmatch(text)
    if matched is None:
        moment = _moment(text)
        return None if moment is None else _Period(moment, moment + timedelta(microseconds=1))
    year = int(matched["year"])
    try:
        if matched["day"]:
            day = date(year, int(matched["month"]), int(matched["day"]))
            start = datetime.combine(day, time(int(matched["hour"] or 0)))
            size = timedelta(hours=1 if matched["hour"] else 24)
            return _Period(start, start + min(size, datetime.max - start))
        if matched["month"]:
            month, n_months = int(matched["month"]), 1
        elif matched["quarter"]:
            month, n_months = 3 * int(matched["quarter"]) - 2, 3
        else:
            month, n_months = 1, 120 if matched["decade"] else 12
        # Months are counted from the year 0.
        after = year * 12 + month - 1 + n_months
        start = datetime(year, month, 1)
        if after // 12 > date.max.year:
            return _Period(start, datetime.max)
        return _Period(start, datetime(after // 12, after % 12 + 1, 1))
    except ValueError:
        return None


class Values:
    """The distinct values of one column of a table, to see which of them fall in a label.

    A label that can be read in two ways that cover different values of this table is refused,
    unless it is known to be one value.

    Parameters
    ----------
    values : sequence
        None is a missing one.
    column : str
        For messages.
    tree : sequence of rows, optional
        A value and the nodes above it, where the column has a hierarchy of that kind.
    order : sequence of str, optional
        All values from first to last, where texts are written as ranges.

    Examples
    --------
    >>> ages = Values([19, 20, 24, 25], "age")
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
        """Take the distinct values of a column, and the hierarchy or order that labels are of."""
        self.texts = [None if value is None else text_of(value) for value in values]
        self._column, self._tree = column, tree
        # The place of each text in the order, for ranges of texts.
        self._order = {text: i for i, text in enumerate(order or ())}
        self._listed = {row[0] for row in tree or ()} | {*(order or ())}
        self._known: dict[tuple[str | None, bool], BoolArray] = {}

    def covered_by(self, label: Any, is_value: bool = False) -> BoolArray:
        """Which values fall in a label, as a mask; None is a missing value.

        `is_value` says that the label is known to be a value as it is.
        """
        text = None if label is None else text_of(label)
        if (text, is_value) not in self._known:
            inside = self._written_as(text) if is_value else self._values_in(text)
            self._known[text, is_value] = inside
        return self._known[text, is_value]

    def misread(self, text: str) -> bool:
        """True if a value, read as a label, would cover other values, or not the value itself."""
        try:
            return bool((self._values_in(text) != self._written_as(text)).any())
        except DataError:
            return True

    def same(self, value: Any) -> list[int]:
        """The positions of the values that equal a number or moment, however they are written."""
        text = None if value is None else text_of(value)
        positions = set(self._places.get(text, ()))
        if text is not None and not isinstance(value, str):
            number = read_number(text)
            period = _period(text)
            if number is not None:
                equal_numbers = _positions_between(self._numbers, number, number)
                positions.update(i for i in equal_numbers if not is_code(self.texts[i] or ""))
            elif period is not None:
                positions.update(_positions_between(self._moments, *period, below=True))
        return sorted(positions)

    def equal(self, value: Any) -> BoolArray:
        """Which values are this one: as it is written, or as a number."""
        text = None if value is None else text_of(value)
        inside = self._written_as(text)
        return inside if text is None else inside | self._same_number(text)

    def _values_in(self, text: str | None) -> BoolArray:
        """Which values fall in a label, as a mask; `DataError` if that is not clear."""
        if text is None or text in self._listed:
            return self._written_as(text)
        if text in self._nodes:
            return self._nodes[text]
        ways = self._values_by_way(meanings_of(text), text)
        return self._agreed([self._written_as(text), *ways], text)

    def _agreed(self, ways: Iterable[BoolArray], text: str) -> BoolArray:
        """The values that a text means, which all `ways` to read it must cover; else `DataError`.

        Ways that cover no value of this table do not count.
        """
        possible = [way for way in ways if way.any()]
        if any((way != possible[0]).any() for way in possible):
            raise self._ambiguity_error(text)
        return possible[0] if possible else self._no_values

    def _ambiguity_error(self, text: str) -> DataError:
        """The error of a label whose meaning in this table is not clear."""
        return DataError(
            f"column {self._column!r}: {text!r} may be one value, or a label that others fall in, "
            "and the population has both, so groups cannot be compared with it; write such values "
            "otherwise, in the table and in the population"
        )

    def _values_by_way(self, meanings: Iterable[Meaning], text: str) -> Iterator[BoolArray]:
        """Yield, for each way to read a label, which values fall in it."""
        beside_missing: dict[tuple[str, bool], list[BoolArray]] = {}
        for meaning in meanings:
            inside = self._inside(meaning)
            if meaning.text:
                # All ways to read "X or missing" share the missing value: X must be clear first.
                beside_missing.setdefault((meaning.text, meaning.quoted), []).append(inside)
            else:
                yield inside
        for (_, quoted), ways in beside_missing.items():
            yield self._agreed(ways, text) | self._missing_value(quoted=quoted)

    def _inside(self, meaning: Meaning) -> BoolArray:
        """Which values fall in a label that is read in one way.

        A missing value that the label has beside others is added later.
        """
        if meaning.everything:
            return ~self._no_values
        if meaning.node:
            return self._nodes.get(meaning.node, self._no_values)
        if meaning.start:
            start, length = meaning.start, meaning.length
            texts = [text or "" for text in self.texts]
            return np.array([len(text) == length and text.startswith(start) for text in texts])
        if meaning.members:
            return self._in_list(meaning)
        if meaning.ends is not None and self._order.keys() >= {*meaning.ends}:
            # The values of the column have an order: those from the first end to the last.
            first, last = map(self._order.__getitem__, meaning.ends)
            ranks = np.array(
                [self._order.get(text or "", -1) for text in self.texts], dtype=np.int64
            )
            return np.asarray((first <= ranks) & (ranks <= last))
        return self._in_range(meaning)

    def _in_range(self, meaning: Meaning) -> BoolArray:
        """Which values are numbers, or moments, from `meaning.lower` to `meaning.upper`."""
        inside = self._no_values
        if not meaning.ends_given:
            return inside
        is_of_time = isinstance(meaning.ends_given[0], datetime)
        # Where the meaning has no end, its range goes on for ever.
        low, high = _ENDS_OF_TIME if is_of_time else _ENDS_OF_NUMBERS
        low = low if meaning.lower is None else meaning.lower
        high = high if meaning.upper is None else meaning.upper
        keys = self._moments if is_of_time else self._numbers
        inside[_positions_between(keys, low, high, below=meaning.below)] = True
        # A single number does not mean codes, such as 007, but a range may.
        is_number = not is_of_time and meaning.ends is None
        return inside & ~self._codes if is_number else inside

    def _in_list(self, meaning: Meaning) -> BoolArray:
        """Which values a label lists; `DataError` if a part of it might be several values."""
        inside = self._no_values
        if meaning.quoted:
            for member in meaning.members:
                inside[self._places.get(member, [])] = True
            return inside
        label = AMONG.join(meaning.members)
        if len(meaning.members) > 1 and not _quoted_parts(label, AMONG):
            # A value that holds " | " could be a part of this label.
            for text in self.texts:
                if text and AMONG in text and text != label and text in label:
                    raise self._ambiguity_error(label)
        for member in meaning.members:
            if member == MISSING:
                inside |= self._missing_value(quoted=False)
            else:
                inside |= self._agreed(
                    [self._written_as(member), self._same_number(member)], member
                )
        return inside

    @property
    def _no_values(self) -> BoolArray:
        """A mask of no value."""
        return np.zeros(len(self.texts), dtype=bool)

    def _written_as(self, text: str | None) -> BoolArray:
        """The value that is written exactly so, as a mask."""
        inside = self._no_values
        inside[self._places.get(text, [])] = True
        return inside

    def _same_number(self, text: str) -> BoolArray:
        """Which values are the same number as a text; codes, such as 007, are no numbers."""
        number, inside = read_number(text), self._no_values
        if number is not None and not is_code(text):
            inside[_positions_between(self._numbers, number, number)] = True
        return inside & ~self._codes

    def _missing_value(self, *, quoted: bool) -> BoolArray:
        """The missing value, as a mask.

        Unless values are `quoted`, a value called "missing" makes this ambiguous, which is an
        error.
        """
        missing = self._written_as(None)
        return missing if quoted else self._agreed([missing, self._written_as(MISSING)], MISSING)

    @cached_property
    def _places(self) -> dict[str | None, list[int]]:
        """The positions of the values that are written as each text."""
        positions: dict[str | None, list[int]] = {}
        for i, text in enumerate(self.texts):
            positions.setdefault(text, []).append(i)
        return positions

    @cached_property
    def _codes(self) -> BoolArray:
        return np.array([text is not None and is_code(text) for text in self.texts], dtype=bool)

    @cached_property
    def _numbers(self) -> SortedKeys:
        return _sorted_keys([None if text is None else read_number(text) for text in self.texts])

    @cached_property
    def _moments(self) -> SortedKeys:
        return _sorted_keys([None if text is None else _moment(text) for text in self.texts])

    @cached_property
    def _nodes(self) -> dict[str, BoolArray]:
        """Which values are below each node of the tree, by the label of the node.

        A node is also there by its label with its level. Empty without a tree.
        """
        nodes_above = {row[0]: row[1:] for row in self._tree or ()}  # by value
        if not nodes_above:
            return {}
        nodes_of_values = []
        for text in self.texts:
            if text is not None and text not in nodes_above:
                hint = did_you_mean(text, list(nodes_above)[:1000])
                raise DataError(
                    f"the population: column {self._column!r}: the hierarchy does not list the "
                    f"value {text!r}{hint}"
                )
            nodes_of_values.append(nodes_above.get(text or "", ()))
        below: dict[str, BoolArray] = {}
        n_levels = len(next(iter(nodes_above.values())))
        # The node of each value at this level, and which values are below each node.
        for level in range(n_levels):
            labels = [nodes[level] if nodes else None for nodes in nodes_of_values]
            for node in {nodes[level] for nodes in nodes_above.values()}:
                is_below = np.array([label == node for label in labels], dtype=bool)
                below.setdefault(node, is_below)
                below[f"{node} (level {level + 1})"] = is_below
        return below


def _positions_between(keys: SortedKeys, low: Any, high: Any, *, below: bool = False) -> list[int]:
    """The positions of values from one number or moment to another; `below`: without the latter."""
    ascending, positions = keys
    end = bisect_left(ascending, high) if below else bisect_right(ascending, high)
    return positions[bisect_left(ascending, low) : end]


def _sorted_keys(keys: Sequence[Any]) -> SortedKeys:
    """SortedKeys in ascending order, and the position of each; None is left out."""
    order = sorted((i for i, key in enumerate(keys) if key is not None), key=keys.__getitem__)
    return [keys[i] for i in order], order
