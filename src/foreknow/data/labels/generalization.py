"""Labels of groups: what members have in common, as data and as one published value.

| style | labels | for |
| --- | --- | --- |
| range | `20 to 37`, `20 to 37 or missing`, `20 or missing` | numbers and dates; whole cells |
| set | `Divorced | Widowed`, `missing | Widowed`, `Widowed | other` | categories |
| hierarchy | the name of the lowest node that holds all members: `1234*` | hierarchies |
| any | a value as it is, a null as a null, `*` for everything | |

One label means one thing in its column: an exact value is written as it is, and nothing else is
written like a value that someone has or that the hierarchy lists. Where an unquoted range or set
could be read in two ways, its values are quoted (`"mild" to "moderate"`). A name that is taken
gets a level (`* (level 1)`) or plus signs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, IntArray, combine, count_pairs
from foreknow.data.columns.attribute import Attribute
from foreknow.data.columns.levels import has_dates
from foreknow.data.columns.rare_values import merged
from foreknow.data.labels.label_meaning import (
    AMONG,
    MISSING,
    OR_MISSING,
    UP_TO,
    Meaning,
    from_on,
    meanings_of,
    quote,
    up_to,
)
from foreknow.data.labels.labels import text_of
from foreknow.errors import InternalError, did_you_mean
from foreknow_judge.errors import PolicyError

Style: TypeAlias = Literal["range", "hierarchy", "set"]
STYLES = ("range", "exact", "hierarchy", "set")  # that may be wanted

# What a label stands for. Of a range: whether a null is in it, its first and its last code; of a
# set: its codes; of a hierarchy: the level and the node. Nothing stands for everything.
Codes: TypeAlias = tuple[int, ...]


def style_of(attribute: Attribute, style: str | None) -> Style:
    """How an attribute's labels are written: as wanted, else by its kind.

    The result is "range", "hierarchy" or "set". Raises `PolicyError` for a `style` that the
    attribute cannot have; None: no style is wanted.
    """
    if style not in (None, *STYLES):
        raise PolicyError(
            f"publish.labels: {attribute.name!r} cannot be written as {style!r}"
            f"{did_you_mean(style, STYLES)}"
        )
    if style == "hierarchy" and not attribute.ancestors:
        raise PolicyError(f"publish.labels: {attribute.name!r} has no hierarchy with levels")
    if style == "exact" and attribute.order == "nominal":  # all values, however rare
        return "set"
    if style == "range" and attribute.order == "nominal":
        raise PolicyError(
            f"publish.labels: {attribute.name!r} is text without an order; a range of it means "
            "nothing; use set, or give it a hierarchy = { order = [...] }"
        )
    if style == "exact":  # ranges from one member's value to another's
        return "range"
    if style is not None:
        return style  # type: ignore[return-value]
    if attribute.ancestors and attribute.cells is None:
        return "hierarchy"
    return "range" if attribute.order == "ordered" else "set"


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """The meanings of a column's labels, in the codes of one domain."""

    domain: list[Any]
    meanings: Mapping[str | None, Codes]

    def of(self, attribute: Attribute) -> Mapping[str | None, Codes] | None:
        """The meanings, if they are in the codes of this attribute; None for another table's."""
        return self.meanings if attribute.domain is self.domain else None


@dataclass(frozen=True, eq=False)
class Coarsened:
    """The label of each group along one attribute: ``meanings[of_group[g]]``, each once."""

    attribute: Attribute
    style: Style
    meanings: list[Codes]
    of_group: IntArray  # shape (groups,)

    @cached_property
    def _wording(self) -> Wording:
        return wording_of(self.attribute, self.style)

    @cached_property
    def _texts(self) -> list[str | None]:
        return list(map(self._wording.write, self.meanings))

    @cached_property
    def labels(self) -> list[str | None]:
        """The label of each group."""
        return [self._texts[i] for i in self.of_group.tolist()]

    @property
    def places(self) -> IntArray:
        """The first and the last code that each group covers."""
        return self._wording.places(self.meanings)[self.of_group]

    @cached_property
    def widths(self) -> NDArray[np.float64]:
        """The NCP of each group along the attribute: how much of its domain the label covers."""
        return self._wording.widths(self.meanings)[self.of_group]

    def ncp(self, people: IntArray) -> float:
        """The NCP (share of the domain that labels cover) of the attribute, averaged over people.

        `people` is how many people each group has, shape (groups,).
        """
        return float((self.widths * people).sum() / people.sum())

    @property
    def known(self) -> KnownLabels:
        """The meanings of the labels."""
        return self._wording.known(dict(zip(self._texts, self.meanings, strict=True)))


def coarsened(
    attribute: Attribute,
    groups: IntArray,
    n_groups: int,
    style: Style,
    floor: IntArray | None = None,
) -> Coarsened:
    """The label of each group along an attribute: what the values of its members have in common.

    Parameters
    ----------
    attribute : Attribute
    groups : integer array, shape (people,)
        The group of each person.
    n_groups : int
    style : Style
    floor : integer array, shape (groups,), optional
        The least level of the hierarchy that each group has; 0 if left out.
    """
    # Without a floor, labels may be as fine as the members' values.
    floors = np.zeros(n_groups, dtype=np.int64) if floor is None else np.asarray(floor)
    wording = wording_of(attribute, style)
    return Coarsened(attribute, style, *wording.in_common(groups, n_groups, floors))


def _suppressed(attribute: Attribute, floors: IntArray) -> BoolArray:
    """True for groups that publish nothing of an attribute, by the least level of each.

    A level at or above the top of the hierarchy, or above 0 without one, hides everything.
    """
    return np.asarray(floors >= max(1, len(attribute.ancestors)))


def _ends(
    attribute: Attribute, groups: IntArray, n_groups: int
) -> tuple[IntArray, IntArray, IntArray]:
    """For each group its lowest code, its lowest code that is no null, and its highest code.

    The second is that of the null if the group has no other value. Shapes (groups,).
    """
    codes = attribute.codes
    low = np.full(n_groups, np.iinfo(codes.dtype).max, dtype=codes.dtype)
    high = np.zeros_like(low)  # the type of the codes makes `minimum.at` many times as fast
    np.minimum.at(low, groups, codes)
    np.maximum.at(high, groups, codes)
    # A null, if there is one, has the code 0.
    first = low
    if attribute.domain[0] is None:
        first, has_value = high.copy(), codes > 0
        np.minimum.at(first, groups[has_value], codes[has_value])
    return low.astype(np.int64), first.astype(np.int64), high.astype(np.int64)


def _distinct(rows: IntArray) -> tuple[list[Codes], IntArray]:
    """The distinct rows, in order, as tuples; and for each row, the number of its equal there.

    Rows are whole numbers from -1 on.
    """
    # Codes must begin at 0, so 1 is added; the sizes are one more than the largest of these.
    combination_of_row, first = combine(
        [*(rows + 1).T], (rows.max(axis=0, initial=-1) + 2).tolist()
    )
    return list(map(tuple, rows[first].tolist())), combination_of_row.astype(np.int64)


def _lowest_nodes(
    attribute: Attribute, low: IntArray, high: IntArray, floors: IntArray
) -> IntArray:
    """For each run of leaves, the lowest node of a hierarchy that holds all of it.

    A leaf is a value, in the order of the hierarchy. `low` and `high` are the first and last leaf
    of each run, and `floors` its least level. Shape of the result (runs, 2): level, node.
    """
    level_and_node = np.full((len(low), 2), -1, dtype=np.int64)
    for level, nodes in enumerate(_levels(attribute)):
        # Leaves of a node stand side by side, so the node of both ends holds all between.
        fits = (level_and_node[:, 0] < 0) & (floors <= level) & (nodes[low] == nodes[high])
        level_and_node[fits, 0], level_and_node[fits, 1] = level, nodes[low[fits]]
    if (level_and_node < 0).any():
        raise InternalError(f"the hierarchy of {attribute.name!r} has no single top")
    return level_and_node


def _levels(attribute: Attribute) -> list[IntArray]:
    """The node of each leaf at level 0 and up."""
    return [np.arange(len(attribute.domain)), *attribute.ancestors]


def meant_by_sets(
    attribute: Attribute, texts: Iterable[Any], times: IntArray | None = None
) -> dict[str | None, Codes] | None:
    """The codes of the values that each label lists; None if some label cannot be read.

    Some labels may say `other`, which stands for all values of fewer people than a limit that the
    table does not show. `times` says how many people each entry of the attribute is; None: one.
    """
    labels = [None if text is None else str(text) for text in dict.fromkeys(texts)]
    people = np.bincount(attribute.codes, times, len(attribute.domain))
    # Try limits until all labels can be read: first none, then those that make other values rare.
    for limit in (0, *sorted(set(people.tolist()), reverse=True)):
        without_rare = merged(attribute, people < limit) if limit else attribute
        wording = SetWording(without_rare)
        values_of_label = {}
        for label in labels:
            codes = wording.read(label)
            if codes is None:
                break
            values_of_label[label] = without_rare.values_in(codes)
        else:
            return values_of_label
    return None


def exact_labels(attribute: Attribute) -> list[str | None]:
    """How each value is published where it is exact: a null stays a null."""
    texts = [None if value is None else text_of(value) for value in attribute.domain]
    if attribute.cells is None:
        # The highest or lowest value may stand for all beyond it: "90 or more".
        bottomless, endless = open_codes(attribute)
        if endless is not None:
            texts[endless] = from_on(str(texts[endless]), has_dates(attribute))
        if bottomless is not None:
            texts[bottomless] = up_to(str(texts[bottomless]), has_dates(attribute))
    return texts


def open_codes(attribute: Attribute) -> tuple[int | None, int | None]:
    """The code of the value that stands for all up to it, and of that for all from it on.

    None for one that no value is; both if values are in cells.
    """
    domain, last = attribute.domain, len(attribute.domain) - 1
    if attribute.cells is not None or last < 0:
        return None, None
    first = int(domain[0] is None and last > 0)  # 1 if the first value is a null
    has_top = attribute.top is not None and domain[last] == attribute.top
    has_bottom = attribute.bottom is not None and domain[first] == attribute.bottom
    return first if has_bottom else None, last if has_top else None


class Wording:
    """The labels of an attribute in one style, one for each meaning; and what a text means."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute

    @cached_property
    def exact(self) -> list[str | None]:
        """How each value is published where it is exact."""
        return exact_labels(self._attribute)

    def in_common(
        self, groups: IntArray, n_groups: int, floors: IntArray
    ) -> tuple[list[Codes], IntArray]:
        """The meanings of labels, each once, and the number of each group's meaning.

        A label means what members have in common. `groups` has the group of each person, and
        `floors` the least level of each group. Implemented by each style.
        """
        raise NotImplementedError

    def write(self, meaning: Codes) -> str | None:
        """The label of a meaning."""
        return self._label(*meaning) if meaning else self.everything

    def _label(self, *codes: int) -> str | None:
        raise NotImplementedError

    def covers(self, meaning: Codes) -> tuple[int, int]:
        """First and last code of a meaning."""
        return self._ends_of(*meaning) if meaning else (0, len(self.exact) - 1)

    def _ends_of(self, *codes: int) -> tuple[int, int]:
        raise NotImplementedError

    def places(self, meanings: Sequence[Codes]) -> IntArray:
        """First and last code of each meaning, shape (meanings, 2)."""
        return np.array(list(map(self.covers, meanings)), dtype=np.int64).reshape(-1, 2)

    def widths(self, meanings: Sequence[Codes]) -> NDArray[np.float64]:
        """The share of the domain that each meaning covers: 0 for one value, 1 for all."""
        values_per_code = self._attribute.many
        sizes = self._sizes(meanings, values_per_code)
        most = max(int(values_per_code.sum()) - 1, 1)
        return np.asarray((sizes - 1.0) / most)

    def _sizes(self, meanings: Sequence[Codes], values_per_code: IntArray) -> IntArray:
        """How many values each meaning covers, where each code is so many."""
        raise NotImplementedError

    def known(self, meanings: Mapping[str | None, Codes]) -> KnownLabels:
        """The meanings of labels, to keep beside them."""
        return KnownLabels(self._attribute.domain, meanings)

    def read(self, text: str | None) -> Codes | None:
        """The codes of a label; None for a text that is no label."""
        code = self.codes.get(text)
        if code is not None:
            return self._alone(code)
        return None if text is None else self._meaning(text)

    def _alone(self, code: int) -> Codes:
        """The meaning of one value."""
        raise NotImplementedError

    def _meaning(self, text: str) -> Codes | None:
        """The codes of a label that is not a value."""
        if text == self.everything:
            return ()
        # A text may be read in several ways; the right one is written back as the same text.
        ways = map(self._codes_of, meanings_of(text))
        return next((codes for codes in ways if codes and self.write(codes) == text), None)

    def _codes_of(self, meaning: Meaning) -> Codes | None:
        """The codes of the values that a label means.

        None if it names something else than values.
        """
        raise NotImplementedError

    def read_all(
        self, labels: Iterable[Any], times: IntArray | None = None
    ) -> dict[Any, Codes] | None:
        """The codes of each label; None if one of them cannot be read.

        `times` (how many people each entry is) matters only for labels that list values.
        """
        meanings = {}
        for label in labels:
            codes = self.read(None if label is None else str(label))
            if codes is None:
                return None
            meanings[label] = codes
        return meanings

    def inside(self, codes: Codes) -> NDArray[np.bool_]:
        """Which values of the domain a meaning covers."""
        first, last = self.covers(codes)
        inside = np.zeros(len(self.exact), dtype=bool)
        inside[first : last + 1] = True
        return inside

    @cached_property
    def codes(self) -> dict[str | None, int]:
        """The code of each value by how it is published."""
        code_of_text = {text: code for code, text in enumerate(self.exact)}
        if len(code_of_text) < len(self.exact):
            raise InternalError(f"column {self._attribute.name!r}: two values are written alike")
        return code_of_text

    @cached_property
    def _labels_of_values(self) -> set[str | None]:
        """The labels of values, which nothing else may have."""
        return {*self.exact, *self._attribute.listed}

    @cached_property
    def _quoted(self) -> bool:
        """True if values are quoted, since one of them holds what joins them."""
        return any(text is not None and self._joins(text) for text in self._labels_of_values)

    def _joins(self, text: str) -> bool:
        """True if a value holds what joins values."""
        raise NotImplementedError

    @cached_property
    def everything(self) -> str:
        """The label for "nothing is published"."""
        return self._distinct_from_values("* (level 1)" if "*" in self._labels_of_values else "*")

    def _part(self, code: int) -> str:
        text = self.exact[code]
        if text is None:
            return MISSING
        return quote(text) if self._quoted else text

    def _distinct_from_values(self, label: str) -> str:
        """Add to a label until no value is called so; no label of several ends with a plus."""
        while label in self._labels_of_values:
            label += "+"
        return label


class NodeWording(Wording):
    """Labels that are the names of the nodes of a hierarchy."""

    def in_common(
        self, groups: IntArray, n_groups: int, floors: IntArray
    ) -> tuple[list[Codes], IntArray]:
        """The lowest nodes that hold all members of a group, as (level, node), each once.

        Also which of these each group has. `groups` has the group of each person, and `floors` the
        least level of each group.
        """
        low, _, high = _ends(self._attribute, groups, n_groups)
        return _distinct(_lowest_nodes(self._attribute, low, high, floors))

    def _label(self, *codes: int) -> str | None:
        level, node = codes
        return self._names[level][node]

    def _ends_of(self, *codes: int) -> tuple[int, int]:
        level, node = codes
        return _span(_levels(self._attribute)[level], node)

    def _sizes(self, meanings: Sequence[Codes], values_per_code: IntArray) -> IntArray:
        return np.asarray(np.diff(self.places(meanings))[:, 0] + 1)

    def _alone(self, code: int) -> Codes:
        return 0, code

    def _meaning(self, text: str) -> Codes | None:
        return self._nodes.get(text)

    @cached_property
    def _names(self) -> list[list[str | None]]:
        return names_of_nodes(self._attribute)

    @cached_property
    def _nodes(self) -> Mapping[str | None, Codes]:
        """The lowest node of each name."""
        lowest: dict[str | None, Codes] = {}
        for level, names in enumerate(self._names):
            for node, name in enumerate(names):
                lowest.setdefault(name, (level, node))  # from low to high: the first stays
        return lowest


class SetWording(Wording):
    """Labels that list values."""

    def in_common(
        self, groups: IntArray, n_groups: int, floors: IntArray
    ) -> tuple[list[Codes], IntArray]:
        """The sets of codes that the members of a group have, each once; () hides everything.

        Also which of these each group has. `groups` has the group of each person, and `floors` the
        least level of each group.
        """
        attribute = self._attribute
        # The distinct codes of each group, ascending.
        offsets, cell_codes, _ = count_pairs(
            groups, attribute.codes, n_groups, len(attribute.domain)
        )
        is_hidden = _suppressed(attribute, floors).tolist()
        number_of: dict[Codes, int] = {}  # of each meaning
        numbers = []
        for group, (start, end) in enumerate(pairwise(offsets.tolist())):
            meaning = () if is_hidden[group] else tuple(cell_codes[start:end].tolist())
            numbers.append(number_of.setdefault(meaning, len(number_of)))
        return list(number_of), np.array(numbers, dtype=np.int64)

    def _label(self, *codes: int) -> str | None:
        if len(codes) == 1:
            return self.exact[codes[0]]
        if len(codes) == len(self.exact) and self.everything == "*":
            return "*"
        return self._distinct_from_values(AMONG.join(map(self._part, codes)))

    def _ends_of(self, *codes: int) -> tuple[int, int]:
        return codes[0], codes[-1]

    def _sizes(self, meanings: Sequence[Codes], values_per_code: IntArray) -> IntArray:
        sizes = []
        for codes in meanings:
            covered = values_per_code[list(codes)] if codes else values_per_code
            sizes.append(covered.sum())
        return np.array(sizes, np.int64)

    def known(self, meanings: Mapping[str | None, Codes]) -> KnownLabels:
        """The meanings of labels, in the codes of exact values even if rare ones were merged."""
        cells = self._attribute.cells
        if cells is None:
            return super().known(meanings)
        of_values = {text: self._attribute.values_in(codes) for text, codes in meanings.items()}
        return KnownLabels(cells.values.domain, of_values)

    def _alone(self, code: int) -> Codes:
        return (code,)

    def _codes_of(self, meaning: Meaning) -> Codes | None:
        """The codes of the values that a label lists; None if it lists something else."""
        has_null = None in self.codes
        codes = set()
        for member in meaning.members:
            # "missing" in a list means a null, unless it is in quotes.
            is_null = member == MISSING and not meaning.quoted and has_null
            code = self.codes.get(None if is_null else member)
            if code is None:
                return None
            codes.add(code)
        # A label lists each value once, and at least one.
        if not len(codes) == len(meaning.members) > 0:
            return None
        if has_null and meaning.missing:
            codes.add(0)
        return tuple(sorted(codes))

    def read_all(
        self, labels: Iterable[Any], times: IntArray | None = None
    ) -> dict[Any, Codes] | None:
        """The codes of the values that each label lists; None if one cannot be read.

        `times` (how many people each entry is) tells what the label `other` may stand for.
        """
        texts = {label: None if label is None else str(label) for label in labels}
        meanings = meant_by_sets(self._attribute, texts.values(), times)
        return None if meanings is None else {label: meanings[texts[label]] for label in texts}

    def inside(self, codes: Codes) -> NDArray[np.bool_]:
        """Which values a set covers, as a mask; () is everything."""
        inside = np.full(len(self.exact), not codes)
        inside[list(codes)] = True
        return inside

    def _joins(self, text: str) -> bool:
        return "|" in text or text == MISSING


class RangeWording(Wording):
    """Labels that go from one value, or one cell, to another."""

    def in_common(
        self, groups: IntArray, n_groups: int, floors: IntArray
    ) -> tuple[list[Codes], IntArray]:
        """The ranges that hold all members of a group, each once; () stands for everything.

        A range is (whether a null is in it, first code, last code). Also which of these each group
        has. `groups` has the group of each person, and `floors` the least level of each group.
        """
        low, first, high = _ends(self._attribute, groups, n_groups)
        # A null comes first, as code 0: it is not the lower end of a range.
        null_too = (low == 0) & (high > 0) & (self._attribute.domain[0] is None)
        # Rows of -1 mark everything.
        rows = np.stack((null_too, first, high), axis=1)
        rows[_suppressed(self._attribute, floors)] = -1
        # A range without either end is everything.
        rows[self._bottomless[first] & self._endless[high]] = -1
        distinct, of_group = _distinct(rows)
        return [() if row[0] < 0 else row for row in distinct], of_group

    def _label(self, *codes: int) -> str | None:
        """The label of a range, by whether a null is in it, its first code and its last."""
        null_too, low, high = codes
        # One value without a null is written as it is.
        if low == high and not null_too:
            return self.exact[low]
        # What the first value begins with, and what the last one ends with.
        begin, end = self._texts[low][0], self._texts[high][1]
        if low == high:
            text = self._part(low)
        elif self._bottomless[low]:
            text = up_to(str(end), has_dates(self._attribute))
        elif self._endless[high]:
            text = from_on(str(begin), has_dates(self._attribute))
        elif self._attribute.cells is not None:
            text = f"{begin}{UP_TO}{end}"
        else:
            text = f"{self._part(low)}{UP_TO}{self._part(high)}"
        return self._distinct_from_values(f"{text}{OR_MISSING}" if null_too else text)

    def _ends_of(self, *codes: int) -> tuple[int, int]:
        null_too, first, last = codes
        return 0 if null_too else first, last

    def widths(self, meanings: Sequence[Codes]) -> NDArray[np.float64]:
        """The share of the whole span that each range covers."""
        attribute, (first, last) = self._attribute, self.places(meanings).T
        return np.asarray((attribute.ends[last] - attribute.positions[first]) / attribute.span)

    def _alone(self, code: int) -> Codes:
        return 0, code, code

    def _codes_of(self, meaning: Meaning) -> Codes | None:
        """The codes of a label as a range: whether a null is in it, its first code, its last code.

        None if its ends are no values of the attribute, or in the wrong order.
        """
        if meaning.ends is not None:
            first, last = (
                code_of_end.get(end)
                for code_of_end, end in zip(self._codes_of_ends, meaning.ends, strict=True)
            )
        else:
            first = last = self.codes.get(meaning.members[0]) if meaning.members else None
        if first is None or last is None or first > last:
            return None
        return int(meaning.missing and None in self.codes), first, last

    def inside(self, codes: Codes) -> NDArray[np.bool_]:
        """Which values a range covers, as a mask; see `in_common` for its codes."""
        null_too, first, last = codes or (0, *self.covers(codes))  # no codes: everything
        inside = np.zeros(len(self.exact), dtype=bool)
        inside[first : last + 1] = True
        inside[:1] |= bool(null_too)
        return inside

    def _joins(self, text: str) -> bool:
        if self._attribute.cells is not None:
            return False
        return text == MISSING or UP_TO in f" {text} " or f" {text}".endswith(OR_MISSING)

    @cached_property
    def _codes_of_ends(self) -> tuple[Mapping[str | None, int], ...]:
        """The code of each text that a range may begin with, and of each that it may end with."""
        if self._attribute.cells is None and not (self._bottomless | self._endless).any():
            return self.codes, self.codes
        code_of_start, code_of_end = {}, {}
        for code, (start, end) in enumerate(self._texts):
            code_of_start[start], code_of_end[end] = code, code
        return code_of_start, code_of_end

    @cached_property
    def _texts(self) -> Sequence[tuple[str | None, str | None]]:
        """The text of each value as the start and as the end of a range; "" if it is open there."""
        if self._attribute.cells is not None:
            return self._attribute.cells.texts
        return [
            ("" if is_bottomless else text, "" if is_endless else text)
            for text, is_bottomless, is_endless in zip(
                self.exact, self._bottomless, self._endless, strict=True
            )
        ]

    @cached_property
    def _endless(self) -> BoolArray:
        """Which values stand for all from them on."""
        return self._open(1)

    @cached_property
    def _bottomless(self) -> BoolArray:
        """Which values stand for all up to them."""
        return self._open(0)

    def _open(self, end: int) -> BoolArray:
        """The values without a start (`end` 0) or without an end (`end` 1), as a mask."""
        cells = self._attribute.cells
        if cells is not None:
            return np.array([not texts[end] for texts in cells.texts], dtype=bool)
        is_open = np.zeros(len(self.exact), dtype=bool)
        code = open_codes(self._attribute)[end]
        if code is not None:
            is_open[code] = True
        return is_open


_WORDINGS = {"range": RangeWording, "hierarchy": NodeWording, "set": SetWording}


def wording_of(attribute: Attribute, style: Style) -> Wording:
    """The labels of an attribute in a style."""
    return _WORDINGS[style](attribute)


def names_of_nodes(attribute: Attribute) -> list[list[str | None]]:
    """The published names of a hierarchy's nodes, by level from 0 up.

    If a name stands for several sets of values, or could be taken for a value, the level is added
    to it, so that all names are different.
    """
    exact = exact_labels(attribute)
    # The first and the last leaf of each node with a label.
    spans_of_label: dict[str | None, set[tuple[int, int]]] = {}
    for nodes, labels in zip(_levels(attribute), [exact, *attribute.labels], strict=True):
        for node, label in enumerate(labels):
            spans_of_label.setdefault(label, set()).add(_span(nodes, node))
    # Values that the hierarchy lists and nobody has: a reader takes their names for values, too.
    unseen = attribute.listed - set(exact)
    used_names = {*spans_of_label, *unseen}

    def name(label: str, level: int) -> str:
        """Keep a label that means one set of leaves; add the level to another."""
        if label and len(spans_of_label[label]) == 1 and label not in unseen:
            return label
        levelled = f"{label} (level {level})"
        while levelled in used_names:
            levelled += "+"
        used_names.add(levelled)
        return levelled

    names = [exact]
    for level, labels in enumerate(attribute.labels, 1):
        names.append([name(label, level) for label in labels])
    return names


def _span(nodes: IntArray, node: int) -> tuple[int, int]:
    """First and last leaf of a node."""
    return int(np.searchsorted(nodes, node)), int(np.searchsorted(nodes, node, "right")) - 1
