"""Value positions: the place of values and labels on a line, and their share in a query."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, chain, pairwise
from math import gcd
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.columns.attribute import Attribute
from foreknow.data.columns.hierarchy import DateLevels, Intervals, Ordered, Tree, period_of
from foreknow.data.labels.generalization import Coarsened, Codes, Style, coarsened, wording_of
from foreknow.data.labels.label_meaning import is_open_ended
from foreknow.data.labels.labels import text_of
from foreknow.data.microdata import Microdata
from foreknow.shown_numbers import common_unit, read_moment
from foreknow_judge.errors import DataError
from foreknow_judge.numbers import exact, is_usual

# The step of each value; and by level, the first step that the node of each value could hold, and
# the one after its last.
Limits: TypeAlias = Sequence[Sequence[tuple[int, int]]]
Steps: TypeAlias = tuple[Sequence[int], Limits]

_DAY, _HOUR = 86_400_000_000, 3_600_000_000
_UNITS = (_DAY, _HOUR, 60_000_000, 1_000_000, 1_000, 1)  # in microseconds


def listed_steps(values: Sequence[Any], hierarchy: Tree | Ordered) -> Steps:
    """The position of each value among all values that a hierarchy lists, and the ends of nodes.

    For each level and value: the positions from which, and up to which, the leaves below the
    value's node lie.
    """
    if isinstance(hierarchy, Tree):
        leaves = [leaf for leaf, *_ in hierarchy.rows]
        listed_values: list[Any] = list(dict.fromkeys(leaves))
    else:
        listed_values = list(hierarchy.values)
    # Laid out together, each value that occurs comes right before itself in the list, so that the
    # number of values listed before it is its position.
    levels = hierarchy.levels([*values, *listed_values], "", lambda _: 0)
    is_listed = levels.order >= len(values)
    listed_before = np.concatenate(([0], np.cumsum(is_listed)))
    value_places = np.flatnonzero(~is_listed)
    # The last level is the root, which covers everything.
    limits = []
    for nodes in levels.ancestors[:-1]:
        first_steps = listed_before[np.searchsorted(nodes, nodes[value_places], "left")]
        end_steps = listed_before[np.searchsorted(nodes, nodes[value_places], "right")]
        limits.append(list(zip(first_steps.tolist(), end_steps.tolist(), strict=True)))
    return listed_before[value_places].tolist(), limits


def number_steps(values: Sequence[Any], hierarchy: Intervals | None = None) -> Steps | None:
    """Numbers in whole steps of the last decimal that any of them needs; None for other values.

    Beside the steps, for each level of `hierarchy` (intervals) the ends of each number's interval.
    """
    kinds = set(map(type, values))
    if not kinds <= {int, float, Decimal}:
        return None
    decimals_needed, steps = 0, list(values)
    if kinds != {int}:
        decimals = list(map(exact, values))
        if not all(map(is_usual, decimals)):
            return None
        decimals_needed, steps = common_unit(decimals)
    if hierarchy is None:
        return steps, []
    # Bounds of intervals may lie between two steps.
    # In a unit in which steps and bounds are both whole numbers.
    bounds = [Decimal(str(number)) for number in (hierarchy.origin, *hierarchy.widths)]
    _, (unit, origin, *widths) = common_unit([Decimal(1).scaleb(-decimals_needed), *bounds])

    intervals_of_levels: list[list[tuple[int, int]]] = []
    for width in widths:
        # -(-a // b) is a / b rounded up.
        lows = [origin + (step * unit - origin) // width * width for step in steps]
        # The first step of an interval, and the first one after it.
        intervals = [(-(-low // unit), -(-(low + width) // unit)) for low in lows]
        intervals_of_levels.append(intervals)
    return steps, intervals_of_levels


def date_steps(values: Sequence[Any], hierarchy: DateLevels | None = None) -> Steps | None:
    """Moments in whole steps of the coarsest unit in which all are whole; None for other values.

    Units are days, hours, and so on. Beside the steps, for each period of `hierarchy` (such as
    months) the ends of each moment's period.
    """
    optional_moments = [_microseconds(value, clock=hierarchy is not None) for value in values]
    moments = [moment for moment in optional_moments if moment is not None]
    if len(moments) < len(values):
        return None
    periods = () if hierarchy is None else hierarchy.periods
    # Hours of the day divide days, so steps are hours or finer.
    units = _UNITS[1:] if "hour" in periods else _UNITS
    divisor = gcd(*moments)
    unit = next(unit for unit in units if divisor % unit == 0)
    steps = [moment // unit for moment in moments]
    intervals_of_periods: list[list[tuple[int, int]]] = []
    for period in periods:
        hours = [period_of(period, moment // _HOUR) for moment in moments]
        intervals = []
        for first, end in hours:
            intervals.append((first * _HOUR // unit, end * _HOUR // unit))
        intervals_of_periods.append(intervals)
    return steps, intervals_of_periods


def _microseconds(value: Any, *, clock: bool) -> int | None:
    """A date, time or moment in microseconds; None for what is none of these.

    With `clock`, it is what a clock shows; otherwise the instant, which depends on the time zone.
    """
    if isinstance(value, str) and clock:
        value = read_moment(value)
    if not isinstance(value, (dt.date, dt.time)):
        return None
    days = value.toordinal() if isinstance(value, dt.date) else 0
    microseconds = days * _DAY
    if isinstance(value, (dt.datetime, dt.time)):
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        microseconds += seconds * 1_000_000 + value.microsecond
        offset = None if clock else value.utcoffset()
        if offset is not None:
            microseconds -= offset // dt.timedelta(microseconds=1)
    return microseconds


# Some stretches of a line: the first step of each, and the one after its last; in order.
Stretches: TypeAlias = tuple[tuple[int, int], ...]

# A longer line is laid out with fewer steps: beyond that there is no counting in int64.
_MOST_STEPS, _FEWER = 1 << 60, 1 << 50


@dataclass(frozen=True, eq=False)
class ValuePositions:
    """The values of an attribute as steps of a line; a null lies right before the first value."""

    cells: IntArray  # the step of each value, increasing
    nodes: tuple[IntArray, ...]  # by level: the first step of each node, the one after its last

    @property
    def everything(self) -> Stretches:
        """The stretch from the first value to the last."""
        return ((int(self.cells[0]), int(self.cells[-1]) + 1),)

    def between(self, low: int, high: int) -> tuple[int, int]:
        """The stretch from one value to another, by their codes."""
        return int(self.cells[low]), int(self.cells[high]) + 1

    def of_values(self, codes: NDArray[Any]) -> Stretches:
        """The stretches (runs of neighbouring steps) of some values, by ascending codes.

        All values make `everything`, with what lies between them.
        """
        if len(codes) == len(self.cells):
            return self.everything
        cells = self.cells[codes]
        # A stretch ends where the next value is more than one step away.
        last = np.append(np.diff(cells) > 1, True)
        starts = cells[np.append(True, last[:-1])]
        return tuple(zip(starts.tolist(), (cells[last] + 1).tolist(), strict=True))

    def of_meaning(self, style: Style, meaning: Codes, cells: bool = False) -> Stretches:
        """The stretches of the line that a label covers.

        `meaning` is what the label says, as codes: the values of a set; the level and node of a
        hierarchy; or, for a range, if it includes missing values, and its first and last value.
        Nothing: all values. With `cells`, each value stands for the interval that it was rounded
        to.
        """
        return _STRETCHES[style](self, meaning, cells) if meaning else self.everything

    def _of_set(self, codes: Codes, cells: bool) -> Stretches:
        return self.of_values(np.array(codes))

    def _of_node(self, meaning: Codes, cells: bool) -> Stretches:
        level, node = meaning
        start, end = self.nodes[level][node].tolist()
        return ((start, end),)

    def _of_range(self, meaning: Codes, cells: bool) -> Stretches:
        has_null, first, last = meaning
        null_stretch = (self.between(0, 0),) if has_null else ()
        if cells:
            return (*null_stretch, (int(self.nodes[1][first, 0]), int(self.nodes[1][last, 1])))
        return (*null_stretch, self.between(first, last))


_STRETCHES: dict[Style, Callable[[ValuePositions, Codes, bool], Stretches]] = {
    "set": ValuePositions._of_set,
    "hierarchy": ValuePositions._of_node,
    "range": ValuePositions._of_range,
}


def all_positions(microdata: Microdata, attributes: Sequence[Attribute]) -> list[ValuePositions]:
    """Lay out some quasi-identifiers of a table."""
    hierarchies = microdata.schema.hierarchies
    return [positions_of(attribute, hierarchies.get(attribute.name)) for attribute in attributes]


def positions_of(attribute: Attribute, hierarchy: Any = None) -> ValuePositions:
    """Lay out the values of an attribute, from the first that occurs to the last.

    Whole numbers and days are a step each, those that do not occur as well. Decimal numbers and
    times lie as far apart as they are: a step is the finest unit that any of them needs, and a
    stretch counts by its length. Every leaf that a tree or an order lists is a step. Of texts and
    of masked codes nothing tells which others there could be: those that occur are a step each.
    """
    values = attribute.domain[int(attribute.domain[0] is None) :]  # a missing value comes first
    steps: Steps | None = None
    if isinstance(hierarchy, (Tree, Ordered)):
        steps = listed_steps(values, hierarchy)
    elif isinstance(hierarchy, Intervals):
        steps = number_steps(values, hierarchy)
    elif isinstance(hierarchy, DateLevels):
        steps = date_steps(values, hierarchy)
    elif hierarchy is None and attribute.order == "ordered":
        steps = number_steps(values) or date_steps(values)
    return _laid_out(attribute, *(steps or (range(len(values)), [])))


def _laid_out(attribute: Attribute, steps: Sequence[int], limits: Limits) -> ValuePositions:
    """Place values on a line of at most `_MOST_STEPS` steps, so that sums fit into 64 bits.

    `steps` are the positions of the values in the finest unit, ascending, and `limits` the ends of
    the nodes of each level. A missing value is right before the first step.
    """
    n_nulls = int(attribute.domain[0] is None)
    start = steps[0] if steps else 0
    span = steps[-1] + 1 - start if steps else 1

    # A line that is too long is laid out with fewer steps.
    def place(step: int) -> int:
        return step - start if span <= _MOST_STEPS else (step - start) * _FEWER // span

    # Every value gets a step of its own after the one before, whatever roundings and changing
    # clocks did.
    offsets = accumulate((place(step) - i for i, step in enumerate(steps)), max)
    positions = [step + i for i, step in enumerate(offsets)]
    cells = [-1] * n_nulls + positions
    names: list[Sequence[str]] = [list(map(text_of, attribute.domain)), *attribute.labels]
    stretch_of_name: dict[tuple[str, int, int], tuple[int, int]] = {}
    nodes = []
    for level, node_of_value in enumerate((np.arange(len(cells)), *attribute.ancestors)):
        # The codes of a node's values, as a range: values are in order of their nodes.
        ends = np.cumsum(np.bincount(node_of_value)).tolist()
        codes = list(pairwise([0, *ends]))
        stretches = []
        for name, (first_code, end_code) in zip(names[level], codes, strict=True):
            start_of_label, end = cells[first_code], cells[end_code - 1] + 1
            # Level 0 is the values themselves; the root and missing values have no limits.
            if 0 < level <= len(limits) and first_code >= n_nulls:
                first_leaf, last_leaf = map(place, limits[level - 1][first_code - n_nulls])
                # Neither into the values of the node before, nor beyond the ends of the line.
                if first_code:
                    start_of_label = min(start_of_label, max(first_leaf, cells[first_code - 1] + 1))
                if end_code < len(cells):
                    end = max(end, last_leaf)
            # What is called alike and has the same leaves is the same to a reader.
            stretches.append(
                stretch_of_name.setdefault((name, first_code, end_code), (start_of_label, end))
            )
        nodes.append(np.array(stretches, dtype=np.int64))
    return ValuePositions(np.array(cells, dtype=np.int64), tuple(nodes))


@dataclass(frozen=True, eq=False)
class Covers:
    """The distinct labels of one attribute, each as stretches of its line."""

    positions: ValuePositions
    of_group: IntArray  # the label of each group
    offsets: IntArray  # label i has `starts` and `ends` from its offset to the next
    starts: IntArray
    ends: IntArray
    coarsened: Coarsened

    @classmethod
    def of(cls, positions: ValuePositions, coarsened: Coarsened) -> Covers:
        """The distinct labels of a column as stretches, and which of them each group has.

        `coarsened` has what each label means, and the label of each group.
        """
        # If the table was rounded before it was asked, only its cells (intervals) are known.
        cells = coarsened.attribute.cells is not None and len(positions.nodes) > 1
        number_of_label: dict[Stretches, int] = {}
        label_of_meaning = np.empty(len(coarsened.meanings), dtype=np.int64)
        # Labels that cover the same stretches are one label.
        for meaning_number, meaning in enumerate(coarsened.meanings):
            label = positions.of_meaning(coarsened.style, meaning, cells)
            label_of_meaning[meaning_number] = number_of_label.setdefault(
                label, len(number_of_label)
            )
        pairs = list(chain.from_iterable(number_of_label))
        ends_of_stretches = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        offsets = np.cumsum([0, *map(len, number_of_label)], dtype=np.int64)
        starts, ends = ends_of_stretches.T
        return cls(
            positions,
            of_group=label_of_meaning[coarsened.of_group],
            offsets=offsets,
            starts=starts,
            ends=ends,
            coarsened=coarsened,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def shares(self, is_asked: BoolArray) -> NDArray[np.float64]:
        """The share of each label's steps (rows) that each query (columns) asks for.

        `is_asked` says which values each query asks for; steps between two neighbouring values are
        asked for if both values are.
        """
        # Asked steps before each value, in whole numbers: a sum of floats would lose a single step
        # of a long line.
        asked_before = np.zeros((is_asked.shape[0] + 1, is_asked.shape[1]), dtype=np.int64)
        is_gap_asked = is_asked[1:] & is_asked[:-1]
        gaps = np.diff(self.positions.cells) - 1
        if gaps.any():
            asked_before[2:] = is_gap_asked
            asked_before[2:] *= gaps[:, None]
        asked_before[1:] += is_asked
        np.cumsum(asked_before, axis=0, out=asked_before)
        # A stretch has the asked steps below its end, less those below its start.
        hits = self._below(self.ends, asked_before, is_gap_asked) - self._below(
            self.starts, asked_before, is_gap_asked
        )
        widths = self.ends - self.starts
        # Some labels have several stretches: their steps are added up.
        if len(widths) > len(self):
            hits = np.add.reduceat(hits, self.offsets[:-1], axis=0)
            widths = np.add.reduceat(widths, self.offsets[:-1])
        shares: NDArray[np.float64] = hits / widths[:, None]
        return shares

    def _below(self, steps: IntArray, asked_before: IntArray, is_gap_asked: BoolArray) -> IntArray:
        """How many of the steps below each of `steps` are asked for, by query."""
        cells = self.positions.cells
        n_passed = np.searchsorted(cells, steps)
        n_below: IntArray = asked_before[n_passed]
        # The part of a gap between two values that lies below.
        in_gap = np.flatnonzero((n_passed > 0) & (n_passed < len(cells)))
        in_gap = in_gap[steps[in_gap] > cells[n_passed[in_gap] - 1] + 1]
        last = n_passed[in_gap] - 1
        n_below[in_gap] += is_gap_asked[last] * (steps[in_gap] - cells[last] - 1)[:, None]
        return n_below


def covers_of_groups(
    attribute: Attribute,
    positions: ValuePositions,
    groups: NDArray[Any],
    n_groups: int,
    style: Style,
    floor: IntArray | None = None,
) -> Covers:
    """The extent of each group's label; `floor` is the least level of each."""
    if floor is not None and attribute.ancestors:
        floor = np.minimum(floor, len(attribute.ancestors))
    return Covers.of(positions, coarsened(attribute, groups, n_groups, style, floor))


def covers_of_texts(
    attribute: Attribute,
    positions: ValuePositions,
    texts: Iterable[Any],
    style: Style,
    meanings: Mapping[str | None, Codes] | None = None,
    times: IntArray | None = None,
) -> Covers:
    """The stretches of each published label: its known meaning, or else how it reads.

    A label of a set may stand for all rare values, which only the table tells: `times` says how
    many people each entry of the attribute is.
    """
    wording = wording_of(attribute, style)
    printed = [None if text is None else str(text) for text in texts]
    # Equal texts are read once.
    number_of_text = {text: i for i, text in enumerate(dict.fromkeys(printed))}
    if meanings is None:
        meanings = wording.read_all(number_of_text, times)

    def meaning(text: str | None) -> Codes:
        """The codes that a label covers.

        Refused if the label does not read as one of this table.
        """
        codes = wording.read(text) if meanings is None else meanings[text]
        if codes is not None:
            return codes
        if text is None:
            raise DataError(
                f"column {attribute.name!r}: a label is missing, but no value of the table is"
            )
        hint_on_levels = ""
        if is_open_ended(text):
            hint_on_levels = " (of a policy with levels, policy.microdata(table))"
        raise DataError(
            f"column {attribute.name!r}: the label {text!r} cannot be read as a {style}; give the "
            f"table that the release was made from{hint_on_levels}"
        )

    label_of_group = np.array([number_of_text[text] for text in printed], dtype=np.int64)
    return Covers.of(
        positions, Coarsened(attribute, style, list(map(meaning, number_of_text)), label_of_group)
    )


def codes_of_texts(attribute: Attribute, texts: Iterable[Any]) -> IntArray:
    """The code of each published exact value; None is a missing one."""
    code_of_text = wording_of(attribute, "set").codes
    codes = []
    for text in texts:
        code = code_of_text.get(None if text is None else str(text))
        if code is None:
            raise DataError(f"column {attribute.name!r}: the original table has no {text!r} in it")
        codes.append(code)
    return np.array(codes, dtype=np.int64)
