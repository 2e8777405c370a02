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

# The meaning of a label. Of a range: whether it has a null, its first and its last code; of a set:
# its codes; of a node of a hierarchy: its level and its number. () means everything.
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
    """The label of each group along one attribute."""

    attribute: Attribute
    style: Style
    meanings: list[Codes]  # those of all labels, each once
    of_group: IntArray  # shape (groups,): the position of each group's label among them

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
        """The meaning of each label, by its text."""
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
    meanings, of_group = wording_of(attribute, style).in_common(groups, n_groups, floors)
    return Coarsened(attribute, style, meanings, of_group)


def _is_suppressed(attribute: Attribute, floors: IntArray) -> BoolArray:
    """True for groups that publish nothing of an attribute, by the least level of each.

    A level at or above the top of the hierarchy, or above 0 without one, hides everything.
    """
    return np.asarray(floors >= max(1, len(attribute.ancestors)))


def _lowest_and_highest(
    attribute: Attribute, groups: IntArray, n_groups: int
) -> tuple[IntArray, IntArray, IntArray]:
    """For each group its lowest code, its lowest code that is no null, and its highest code.

    The second is that of the null if the group has no other value. Shapes (groups,).
    """
    codes = attribute.codes
    # The type of the codes makes `minimum.at` many times as fast.
    lowest = np.full(n_groups, np.iinfo(codes.dtype).max, dtype=codes.dtype)
    highest = np.zeros_like(lowest)
    np.minimum.at(lowest, groups, codes)
    np.maximum.at(highest, groups, codes)
    # A null, if there is one, has the code 0.
    lowest_value = lowest
    if attribute.domain[0] is None:
        lowest_value, has_value = highest.copy(), codes > 0
        np.minimum.at(lowest_value, groups[has_value], codes[has_value])
    return lowest.astype(np.int64), lowest_value.astype(np.int64), highest.astype(np.int64)


def _distinct_rows(rows: IntArray) -> tuple[list[Codes], IntArray]:
    """The distinct rows, in order, as tuples; and for each row, its position among them.

    Rows are whole numbers from -1 on.
    """
    # Codes must begin at 0, so 1 is added.
    columns, n_codes = [*(rows + 1).T], (rows.max(axis=0, initial=-1) + 2).tolist()
    position_of_row, first_rows = combine(columns, n_codes)
    return list(map(tuple, rows[first_rows].tolist())), position_of_row.astype(np.int64)


def _lowest_nodes(
    attribute: Attribute, low: IntArray, high: IntArray, floors: IntArray
) -> IntArray:
    """For each run of leaves, the lowest node of a hierarchy that holds all of it.

    A leaf is a value, in the order of the hierarchy. `low` and `high` are the first and last leaf
    of each run, and `floors` its least level. Shape of the result (runs, 2): level, node.
    """
    level_and_node = np.full((len(low), 2), -1, dtype=np.int64)
    for level, nodes in enumerate(_nodes_by_level(attribute)):
        # Leaves of a node stand side by side, so the node of both ends holds all between.
        fits = (level_and_node[:, 0] < 0) & (floors <= level) & (nodes[low] == nodes[high])
        level_and_node[fits, 0], level_and_node[fits, 1] = level, nodes[low[fits]]
    if (level_and_node < 0).any():
        raise InternalError(f"the hierarchy of {attribute.name!r} has no single top")
    return level_and_node


def _nodes_by_level(attribute: Attribute) -> list[IntArray]:
    """The node of each leaf at level 0 and up."""
    return [np.arange(len(attribute.domain)), *attribute.ancestors]


def read_sets(
    attribute: Attribute, texts: Iterable[Any], times: IntArray | None = None
) -> dict[str | None, Codes] | None:
    """The codes of the values that each label lists; None if some label cannot be read.

    A label may list `other`, which stands for all values that fewer people have than a limit. The
    limit is not known: any is tried with which all labels can be read. `times` says how many people
    each entry of the attribute is; None: one.
    """
    labels = [None if text is None else str(text) for text in dict.fromkeys(texts)]
    people = np.bincount(attribute.codes, times, len(attribute.domain))
    # First no limit, then from the highest that makes a difference down.
    for limit in (0, *sorted(set(people.tolist()), reverse=True)):
        without_rare = merged(attribute, people < limit) if limit else attribute
        wording = SetWording(without_rare)
        values_of_label = {}
        for label in labels:
            codes = wording.read(label)
            if codes is None:
                break
            values_of_label[label] = without_rare.values_in(codes)
        else:  # all labels were read
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
    has_bottom = attribute.bottom is not None and domain[first] == attribute.bottom
    has_top = attribute.top is not None and domain[last] == attribute.top
    return first if has_bottom else None, last if has_top else None


class Wording:
    """Writes the labels of an attribute in one style, one for each meaning, and reads them."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute

    @cached_property
    def exact(self) -> list[str | None]:
        """How each value is published where it is exact."""
        return exact_labels(self._attribute)

    def in_common(
        self, groups: IntArray, n_groups: int, floors: IntArray
    ) -> tuple[list[Codes], IntArray]:
        """The meaning of each group's label: what the values of its members have in common.

        Returns the meanings, each once, and the position of each group's meaning among them.
        `groups` has the group of each person, and `floors` the least level of each group.
        """
        raise NotImplementedError

    def write(self, meaning: Codes) -> str | None:
        """The label of a meaning."""
        return self._write_label(*meaning) if meaning else self.everything

    def _write_label(self, *codes: int) -> str | None:
        """The label of a meaning other than everything."""
        raise NotImplementedError

    def covers(self, meaning: Codes) -> tuple[int, int]:
        """The first and the last value, as codes, that a meaning covers."""
        return self._first_and_last(*meaning) if meaning else (0, len(self.exact) - 1)

    def _first_and_last(self, *codes: int) -> tuple[int, int]:
        """The first and the last value of a meaning other than everything."""
        raise NotImplementedError

    def places(self, meanings: Sequence[Codes]) -> IntArray:
        """The first and the last code that each meaning covers, shape (meanings, 2)."""
        return np.array(list(map(self.covers, meanings)), dtype=np.int64).reshape(-1, 2)

    def widths(self, meanings: Sequence[Codes]) -> NDArray[np.float64]:
        """The share of the domain that each meaning covers: 0 for one value, 1 for all."""
        values_per_code = self._attribute.many
        sizes = self._sizes(meanings, values_per_code)
        most = max(int(values_per_code.sum()) - 1, 1)
        return np.asarray((sizes - 1.0) / most)

    def _sizes(self, meanings: Sequence[Codes], values_per_code: IntArray) -> IntArray:
        """The number of values that each meaning covers, by the number of values of each code."""
        raise NotImplementedError

    def known(self, meanings: Mapping[str | None, Codes]) -> KnownLabels:
        """The meanings of labels, to keep beside them."""
        return KnownLabels(self._attribute.domain, meanings)

    def read(self, text: str | None) -> Codes | None:
        """The meaning of a label; None for a text that is no label."""
        code = self.codes.get(text)
        if code is not None:
            return self._meaning_of_value(code)
        return None if text is None else self._read_label(text)

    def _meaning_of_value(self, code: int) -> Codes:
        """The meaning of one value."""
        raise NotImplementedError

    def _read_label(self, text: str) -> Codes | None:
        """The meaning of a label that is not a value; None for a text that is no label."""
        if text == self.everything:
            return ()
        # A text may be read in several ways; the right one is written back as the same text.
        ways = map(self._codes_meant, meanings_of(text))
        return next((codes for codes in ways if codes and self.write(codes) == text), None)

    def _codes_meant(self, meaning: Meaning) -> Codes | None:
        """One way to read a label, in codes; None if it names something else than values."""
        raise NotImplementedError

    def read_all(
        self, labels: Iterable[Any], times: IntArray | None = None
    ) -> dict[Any, Codes] | None:
        """The meaning of each label, by label; None if one of them cannot be read.

        `times` says how many people each entry of the attribute is. It is used only where labels
        list values.
        """
        meaning_of_label = {}
        for label in labels:
            meaning = self.read(None if label is None else str(label))
            if meaning is None:
                return None
            meaning_of_label[label] = meaning
        return meaning_of_label

    def inside(self, codes: Codes) -> NDArray[np.bool_]:
        """Which values of the domain a meaning covers, as a mask."""
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
    def _quotes_values(self) -> bool:
        """True if values are quoted, since one of them holds a text that joins values."""
        return any(text is not None and self._holds_joint(text) for text in self._labels_of_values)

    def _holds_joint(self, text: str) -> bool:
        """True if a value holds a text that joins values in labels."""
        raise NotImplementedError

    @cached_property
    def everything(self) -> str:
        """The label for "nothing is published"."""
        return self._distinct_from_values("* (level 1)" if "*" in self._labels_of_values else "*")

    def _value_text(self, code: int) -> str:
        """A value as a part of a label."""
        text = self.exact[code]
        if text is None:
            return MISSING
        return quote(text) if self._quotes_values else text

    def _distinct_from_values(self, label: str) -> str:
        """The label, with as many plus signs as it takes to be the name of no value."""
        while label in self._labels_of_values:
            label += "+"
        return label


class NodeWording(Wording):
    """Labels that are the names of the nodes of a hierarchy."""

    def in_common(
        self, groups: IntArray, n_groups: int, floors: IntArray
    ) -> tuple[list[Codes], IntArray]:
        """The lowest node, as (level, node), that holds all members of each group.

        Returns the nodes, each once, and the position of each group's node among them. `groups` has
        the group of each person, and `floors` the least level of each group.
        """
        low, _, high = _lowest_and_highest(self._attribute, groups, n_groups)
        return _distinct_rows(_lowest_nodes(self._attribute, low, high, floors))

    def _write_label(self, *codes: int) -> str | None:
        """The name of a node, by its level and its number there."""
        level, node = codes
        return self._names[level][node]

    def _first_and_last(self, *codes: int) -> tuple[int, int]:
        """The first and the last value below a node."""
        level, node = codes
        return _leaves_of(_nodes_by_level(self._attribute)[level], node)

    def _sizes(self, meanings: Sequence[Codes], values_per_code: IntArray) -> IntArray:
        return np.asarray(np.diff(self.places(meanings))[:, 0] + 1)

    def _meaning_of_value(self, code: int) -> Codes:
        return 0, code

    def _read_label(self, text: str) -> Codes | None:
        return self._nodes.get(text)

    @cached_property
    def _names(self) -> list[list[str | None]]:
        return names_of_nodes(self._attribute)

    @cached_property
    def _nodes(self) -> Mapping[str | None, Codes]:
        """The lowest node of each name."""
        lowest: dict[str | None, Codes] = {}
        # From low levels to high ones: the first node of a name stays.
        for level, names in enumerate(self._names):
            for node, name in enumerate(names):
                lowest.setdefault(name, (level, node))
        return lowest


class SetWording(Wording):
    """Labels that list values."""

    def in_common(
        self, groups: IntArray, n_groups: int, floors: IntArray
    ) -> tuple[list[Codes], IntArray]:
        """The set of codes that the members of each group have; () hides everything.

        Returns the sets, each once, and the position of each group's set among them. `groups` has
        the group of each person, and `floors` the least level of each group.
        """
        attribute = self._attribute
        # The distinct codes of each group, ascending.
        offsets, cell_codes, _ = count_pairs(
            groups, attribute.codes, n_groups, len(attribute.domain)
        )
        is_hidden = _is_suppressed(attribute, floors).tolist()
        number_of: dict[Codes, int] = {}  # of each meaning
        numbers = []
        for group, (start, end) in enumerate(pairwise(offsets.tolist())):
            meaning = () if is_hidden[group] else tuple(cell_codes[start:end].tolist())
            numbers.append(number_of.setdefault(meaning, len(number_of)))
        return list(number_of), np.array(numbers, dtype=np.int64)

    def _write_label(self, *codes: int) -> str | None:
        """The list of some values; a single one is written as it is."""
        if len(codes) == 1:
            return self.exact[codes[0]]
        if len(codes) == len(self.exact) and self.everything == "*":
            return "*"
        return self._distinct_from_values(AMONG.join(map(self._value_text, codes)))

    def _first_and_last(self, *codes: int) -> tuple[int, int]:
        return codes[0], codes[-1]

    def _sizes(self, meanings: Sequence[Codes], values_per_code: IntArray) -> IntArray:
        """The number of values that each set has, by the number of values of each code."""
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

    def _meaning_of_value(self, code: int) -> Codes:
        return (code,)

    def _codes_meant(self, meaning: Meaning) -> Codes | None:
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
        """The codes of the values that each label lists, by label; None if one cannot be read.

        `times` says how many people each entry of the attribute is: `other` in a label stands for
        values of few people.
        """
        text_of_label = {label: None if label is None else str(label) for label in labels}
        codes_of_text = read_sets(self._attribute, text_of_label.values(), times)
        if codes_of_text is None:
            return None
        return {label: codes_of_text[text] for label, text in text_of_label.items()}

    def inside(self, codes: Codes) -> NDArray[np.bool_]:
        """Which values a set covers, as a mask; () is everything."""
        inside = np.full(len(self.exact), not codes)
        inside[list(codes)] = True
        return inside

    def _holds_joint(self, text: str) -> bool:
        return "|" in text or text == MISSING


class RangeWording(Wording):
    """Labels that go from one value, or one cell, to another."""

    def in_common(
        self, groups: IntArray, n_groups: int, floors: IntArray
    ) -> tuple[list[Codes], IntArray]:
        """The range that holds all members of each group; () stands for everything.

        A range is (whether a null is in it, first code, last code). Returns the ranges, each once,
        and the position of each group's range among them. `groups` has the group of each person,
        and `floors` the least level of each group.
        """
        lowest, first, last = _lowest_and_highest(self._attribute, groups, n_groups)
        # A null comes first, as code 0: it is not the lower end of a range.
        has_null = (lowest == 0) & (last > 0) & (self._attribute.domain[0] is None)
        # Rows of -1 mark everything.
        rows = np.stack((has_null, first, last), axis=1)
        rows[_is_suppressed(self._attribute, floors)] = -1
        # A range without either end is everything.
        rows[self._is_bottomless[first] & self._is_endless[last]] = -1
        distinct_rows, of_group = _distinct_rows(rows)
        return [() if -1 in row else row for row in distinct_rows], of_group

    def _write_label(self, *codes: int) -> str | None:
        """The label of a range, by whether a null is in it, its first code and its last."""
        has_null, first, last = codes
        # One value without a null is written as it is.
        if first == last and not has_null:
            return self.exact[first]
        # The text where the first value begins, and where the last one ends.
        start, _ = self._texts[first]
        _, end = self._texts[last]
        if first == last:
            text = self._value_text(first)
        elif self._is_bottomless[first]:
            text = up_to(str(end), has_dates(self._attribute))
        elif self._is_endless[last]:
            text = from_on(str(start), has_dates(self._attribute))
        elif self._attribute.cells is not None:
            text = f"{start}{UP_TO}{end}"
        else:
            text = f"{self._value_text(first)}{UP_TO}{self._value_text(last)}"
        return self._distinct_from_values(f"{text}{OR_MISSING}" if has_null else text)

    def _first_and_last(self, *codes: int) -> tuple[int, int]:
        """The first and the last code of a range; a null has the code 0."""
        has_null, first, last = codes
        return 0 if has_null else first, last

    def widths(self, meanings: Sequence[Codes]) -> NDArray[np.float64]:
        """The share of the whole span that each range covers."""
        attribute, (first, last) = self._attribute, self.places(meanings).T
        return np.asarray((attribute.ends[last] - attribute.positions[first]) / attribute.span)

    def _meaning_of_value(self, code: int) -> Codes:
        return 0, code, code

    def _codes_meant(self, meaning: Meaning) -> Codes | None:
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
        has_null, first, last = codes or (0, *self.covers(codes))  # no codes: everything
        inside = np.zeros(len(self.exact), dtype=bool)
        inside[first : last + 1] = True
        inside[:1] |= bool(has_null)  # a null has the first code
        return inside

    def _holds_joint(self, text: str) -> bool:
        """True if a value holds a text that joins the ends of ranges; cells never do."""
        if self._attribute.cells is not None:
            return False
        return text == MISSING or UP_TO in f" {text} " or f" {text}".endswith(OR_MISSING)

    @cached_property
    def _codes_of_ends(self) -> tuple[Mapping[str | None, int], ...]:
        """The code of each text that a range may begin with, and of each that it may end with."""
        if self._attribute.cells is None and not (self._is_bottomless | self._is_endless).any():
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
                self.exact, self._is_bottomless, self._is_endless, strict=True
            )
        ]

    @cached_property
    def _is_bottomless(self) -> BoolArray:
        """Which values stand for all up to them, as a mask."""
        cells = self._attribute.cells
        if cells is not None:
            return np.array([not start for start, _ in cells.texts], dtype=bool)
        bottomless, _ = open_codes(self._attribute)
        return np.asarray(np.arange(len(self.exact)) == (-1 if bottomless is None else bottomless))

    @cached_property
    def _is_endless(self) -> BoolArray:
        """Which values stand for all from them on, as a mask."""
        cells = self._attribute.cells
        if cells is not None:
            return np.array([not end for _, end in cells.texts], dtype=bool)
        _, endless = open_codes(self._attribute)
        return np.asarray(np.arange(len(self.exact)) == (-1 if endless is None else endless))


_WORDINGS = {"range": RangeWording, "hierarchy": NodeWording, "set": SetWording}


def wording_of(attribute: Attribute, style: Style) -> Wording:
    """The wording of an attribute's labels in a style."""
    return _WORDINGS[style](attribute)


def names_of_nodes(attribute: Attribute) -> list[list[str | None]]:
    """The published names of a hierarchy's nodes, by level from 0 up.

    If a name stands for several sets of values, or could be taken for a value, the level is added
    to it, so that all names are different.
    """
    exact = exact_labels(attribute)
    # The first and the last leaf of each node with a label.
    spans_of_label: dict[str | None, set[tuple[int, int]]] = {}
    for nodes, labels in zip(_nodes_by_level(attribute), [exact, *attribute.labels], strict=True):
        for node, label in enumerate(labels):
            spans_of_label.setdefault(label, set()).add(_leaves_of(nodes, node))
    # Values that the hierarchy lists and nobody has: a reader takes their names for values, too.
    unseen = attribute.listed - set(exact)
    used_names = {*spans_of_label, *unseen}

    def name(label: str, level: int) -> str:
        """The label, if it means one set of leaves and no unseen value; else with the level."""
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


def _leaves_of(nodes: IntArray, node: int) -> tuple[int, int]:
    """The first and the last leaf of a node; `nodes` has the node of each leaf at its level."""
    return int(np.searchsorted(nodes, node)), int(np.searchsorted(nodes, node, "right")) - 1
