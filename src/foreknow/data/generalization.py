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
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine, count_pairs
from foreknow.data.labels import text_of
from foreknow.data.meaning import (
    AMONG,
    MISSING,
    OR_MISSING,
    OR_MORE,
    UP_TO,
    Meaning,
    meanings_of,
    quote,
)
from foreknow.data.microdata import Attribute, merged
from foreknow.errors import InternalError, did_you_mean
from foreknow_judge.errors import PolicyError

Style: TypeAlias = Literal["range", "hierarchy", "set"]
STYLES = ("range", "exact", "hierarchy", "set")  # that may be wanted

# What a label stands for. Of a range: whether a null is in it, its first and its last code; of a
# set: its codes; of a hierarchy: the level and the node. Nothing stands for everything.
Codes: TypeAlias = tuple[int, ...]


def style_of(attribute: Attribute, wanted: str | None) -> Style:
    """How an attribute is written: as wanted, else by its kind."""
    if wanted not in (None, *STYLES):
        raise PolicyError(
            f"publish.labels: {attribute.name!r} cannot be written as {wanted!r}"
            f"{did_you_mean(wanted, STYLES)}"
        )
    if wanted == "hierarchy" and not attribute.ancestors:
        raise PolicyError(f"publish.labels: {attribute.name!r} has no hierarchy with levels")
    if wanted == "exact" and attribute.order == "nominal":  # all values, however rare
        return "set"
    if wanted == "range" and attribute.order == "nominal":
        raise PolicyError(
            f"publish.labels: {attribute.name!r} is text without an order; a range of it means "
            "nothing; use set, or give it a hierarchy = { order = [...] }"
        )
    if wanted == "exact":  # ranges from one member's value to another's
        return "range"
    if wanted is not None:
        return wanted  # type: ignore[return-value]
    if attribute.ancestors and attribute.cells is None:
        return "hierarchy"
    return "range" if attribute.order == "ordered" else "set"


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """What the labels of a column mean, kept beside them; in the codes of one domain."""

    domain: list[Any]
    meanings: Mapping[str | None, Codes]

    def of(self, attribute: Attribute) -> Mapping[str | None, Codes] | None:
        """The same for an attribute; None for one of another table."""
        return self.meanings if attribute.domain is self.domain else None


@dataclass(frozen=True, eq=False)
class Coarsened:
    """What each group is published as along one attribute: ``meanings[of_group[g]]``, each once."""

    attribute: Attribute
    style: Style
    meanings: list[Codes]
    of_group: IntArray  # shape (groups,)

    @cached_property
    def _wording(self) -> Wording:
        return Wording(self.attribute, self.style)

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
        covered = np.array(list(map(self._wording.covers, self.meanings)), dtype=np.int64)
        return covered.reshape(-1, 2)[self.of_group]

    @cached_property
    def widths(self) -> NDArray[np.float64]:
        """The NCP of each group along the attribute: how much of its domain the label covers."""
        attribute, places = self.attribute, self.places
        if self.style == "range":
            long = attribute.ends[places[:, 1]] - attribute.positions[places[:, 0]]
            return np.asarray(long / attribute.span)
        many = attribute.many
        size = int(many.sum())
        if self.style == "hierarchy":
            members = np.diff(places)[:, 0] + 1
        else:
            covered = [int(many[list(m)].sum()) or size for m in self.meanings]
            members = np.array(covered)[self.of_group]
        shares: NDArray[np.float64] = (members - 1.0) / max(size - 1, 1)
        return shares

    def ncp(self, people: IntArray) -> float:
        """The NCP of the attribute, averaged over so many people of each group."""
        return float((self.widths * people).sum() / people.sum())

    @property
    def known(self) -> KnownLabels:
        """What the labels mean."""
        attribute, meanings = self.attribute, self.meanings
        if self.style == "set" and attribute.cells is not None:
            attribute, meanings = attribute.cells.values, list(map(attribute.values_in, meanings))
        return KnownLabels(attribute.domain, dict(zip(self._texts, meanings, strict=True)))


def coarsened(
    attribute: Attribute,
    groups: IntArray,
    n_groups: int,
    style: Style,
    floor: IntArray | None = None,
) -> Coarsened:
    """Find what members have in common; `floor` is the least level of each group."""
    least = np.zeros(n_groups, dtype=np.int64) if floor is None else np.asarray(floor)
    suppressed = least >= max(1, len(attribute.ancestors))
    if style == "set":
        pairs = count_pairs(groups, attribute.codes, n_groups, len(attribute.domain))
        offsets, every = pairs[0].tolist(), pairs[1].tolist()
        cells = zip(offsets, offsets[1:], suppressed.tolist(), strict=False)
        sets = [() if all_ else tuple(every[a:b]) for a, b, all_ in cells]
        place = {meaning: i for i, meaning in enumerate(dict.fromkeys(sets))}
        of_group = np.array([place[meaning] for meaning in sets], dtype=np.int64)
        return Coarsened(attribute, style, list(place), of_group)
    null = attribute.domain[0] is None
    low, first, high = _ends(attribute.codes, groups, n_groups, null=null)
    if style == "hierarchy":
        return Coarsened(attribute, style, *_distinct(_lowest_nodes(attribute, low, high, least)))
    # A null comes first, as code 0: it is not the lower end of a range.
    ranges = np.stack(((low == 0) & (high > 0) & null, first, high), axis=1)
    ranges[suppressed] = -1
    distinct, of_group = _distinct(ranges)
    return Coarsened(attribute, style, [() if row[0] < 0 else row for row in distinct], of_group)


def _ends(
    codes: NDArray[Any], groups: IntArray, n_groups: int, *, null: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """The lowest code of each group, the lowest but a null's where it has others, the highest."""
    low = np.full(n_groups, np.iinfo(codes.dtype).max, dtype=codes.dtype)
    high = np.zeros_like(low)  # of one type with the codes, this is many times as fast
    np.minimum.at(low, groups, codes)
    np.maximum.at(high, groups, codes)
    first = low
    if null:
        first, known = high.copy(), codes > 0
        np.minimum.at(first, groups[known], codes[known])
    return low.astype(np.int64), first.astype(np.int64), high.astype(np.int64)


def _distinct(rows: IntArray) -> tuple[list[Codes], IntArray]:
    """Rows of whole numbers from -1, each once and in order; and which of these each row is."""
    which, first = combine([*(rows + 1).T], (rows.max(axis=0, initial=-1) + 2).tolist())
    return list(map(tuple, rows[first].tolist())), which.astype(np.int64)


def _lowest_nodes(attribute: Attribute, low: IntArray, high: IntArray, least: IntArray) -> IntArray:
    """Level and node of the lowest node, from a level on, that holds a run of leaves."""
    level_and_node = np.full((len(low), 2), -1, dtype=np.int64)
    for level, nodes in enumerate(_levels(attribute)):
        fits = (level_and_node[:, 0] < 0) & (least <= level) & (nodes[low] == nodes[high])
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
    """The values that labels list, where some may say `other`; None where they cannot be read.

    What is listed is not among the others, and so is nothing that more people have: the others are
    all values of fewer people than the least that anybody lists.
    """
    labels = [None if text is None else str(text) for text in dict.fromkeys(texts)]
    people = np.bincount(attribute.codes, times, len(attribute.domain))
    for least in (0, *sorted(set(people.tolist()), reverse=True)):
        without_rare = merged(attribute, people < least) if least else attribute
        wording = Wording(without_rare, "set")
        meanings = {label: wording.read(label) for label in labels}
        if all(codes is not None for codes in meanings.values()):
            return {x: without_rare.values_in(codes or ()) for x, codes in meanings.items()}
    return None


def exact_labels(attribute: Attribute) -> list[str | None]:
    """How each value is published where it is exact: a null stays a null."""
    texts = [None if value is None else text_of(value) for value in attribute.domain]
    if attribute.top is None or attribute.cells is not None:
        return texts
    ends = [not isinstance(value, str) and value == attribute.top for value in attribute.domain]
    return [f"{t}{OR_MORE}" if end else t for t, end in zip(texts, ends, strict=True)]


class Wording:
    """The labels of an attribute in one style, one for each meaning; and what a text means."""

    def __init__(self, attribute: Attribute, style: Style) -> None:
        self.exact = exact_labels(attribute)
        self._attribute, self._style = attribute, style

    def write(self, meaning: Codes) -> str | None:
        """The label of a meaning."""
        if not meaning:
            return self.everything
        if self._style == "hierarchy":
            level, node = meaning
            return self._names[level][node]
        return self._set(meaning) if self._style == "set" else self._range(*meaning)

    def covers(self, meaning: Codes) -> tuple[int, int]:
        """First and last code of a meaning."""
        if not meaning:
            return 0, len(self.exact) - 1
        if self._style == "hierarchy":
            return _span(_levels(self._attribute)[meaning[0]], meaning[1])
        if self._style == "set":
            return meaning[0], meaning[-1]
        null_too, first, last = meaning
        return 0 if null_too else first, last

    def read(self, text: str | None) -> Codes | None:
        """What a label means; None for a text that is no label."""
        code = self.codes.get(text)
        if code is not None:
            alone = {"range": (0, code, code), "set": (code,), "hierarchy": (0, code)}
            return alone[self._style]
        if text is None:
            return None
        if self._style == "hierarchy":
            return self._nodes.get(text)
        if text == self.everything:
            return ()
        # A label is read as what is written so.
        ways = map(self._codes_of, meanings_of(text))
        return next((codes for codes in ways if codes and self.write(codes) == text), None)

    def read_all(
        self, labels: Iterable[Any], times: IntArray | None = None
    ) -> dict[Any, Codes] | None:
        """What each of some labels means; None where one of them cannot be read."""
        text_of_label = {label: None if label is None else str(label) for label in labels}
        if self._style == "set":
            sets = meant_by_sets(self._attribute, text_of_label.values(), times)
            return sets and {label: sets[text] for label, text in text_of_label.items()}
        meanings = {label: self.read(text) for label, text in text_of_label.items()}
        known = {label: codes for label, codes in meanings.items() if codes is not None}
        return known if len(known) == len(meanings) else None

    def inside(self, codes: Codes) -> NDArray[np.bool_]:
        """Which values of the domain a meaning covers."""
        inside = np.zeros(len(self.exact), dtype=bool)
        if codes and self._style == "set":
            inside[list(codes)] = True
            return inside
        null_too, first, last = 0, *self.covers(codes)
        if codes and self._style == "range":
            null_too, first, last = codes
        inside[first : last + 1] = True
        inside[:1] |= bool(null_too)
        return inside

    @cached_property
    def codes(self) -> dict[str | None, int]:
        """The code of each value by how it is published."""
        known = {text: code for code, text in enumerate(self.exact)}
        if len(known) < len(self.exact):
            raise InternalError(f"column {self._attribute.name!r}: two values are written alike")
        return known

    @cached_property
    def _names(self) -> list[list[str | None]]:
        return names_of_nodes(self._attribute)

    @cached_property
    def _nodes(self) -> Mapping[str | None, Codes]:
        """The lowest node of each name."""
        lowest: dict[str | None, Codes] = {}
        for level, names in enumerate(self._names):
            for node, name in enumerate(names):
                lowest.setdefault(name, (level, node))
        return lowest

    @cached_property
    def _taken(self) -> set[str | None]:
        """The labels of values, which nothing else may have."""
        return {*self.exact, *self._attribute.listed}

    @cached_property
    def _quoted(self) -> bool:
        """Whether values are quoted, since one of them holds what joins them."""
        if self._attribute.cells is not None and self._style == "range":
            return False
        if self._style == "set":
            return any(t is not None and ("|" in t or t == MISSING) for t in self._taken)
        return any(
            t == MISSING or UP_TO in f" {t} " or f" {t}".endswith(OR_MISSING)
            for t in self._taken
            if t is not None
        )

    @cached_property
    def everything(self) -> str:
        """What says that nothing is published."""
        return self._distinct_from_values("* (level 1)" if "*" in self._taken else "*")

    def _set(self, codes: Sequence[int]) -> str | None:
        if len(codes) == 1:
            return self.exact[codes[0]]
        if len(codes) == len(self.exact) and self.everything == "*":
            return "*"
        return self._distinct_from_values(AMONG.join(map(self._part, codes)))

    def _range(self, null_too: int, low: int, high: int) -> str | None:
        if low == high and not null_too:
            return self.exact[low]
        ends = (low,) if low == high else (low, high)
        text = UP_TO.join(map(self._part, ends))
        if low != high and (self._attribute.cells is not None or high == self._endless):
            begin, end = self._texts[low][0], self._texts[high][1]
            text = f"{begin}{UP_TO}{end}" if end else f"{begin}{OR_MORE}"
        return self._distinct_from_values(f"{text}{OR_MISSING}" if null_too else text)

    def _part(self, code: int) -> str:
        text = self.exact[code]
        if text is None:
            return MISSING
        return quote(text) if self._quoted else text

    def _distinct_from_values(self, label: str) -> str:
        """Add to a label until no value is called so; no label of several ends with a plus."""
        while label in self._taken:
            label += "+"
        return label

    def _codes_of(self, meaning: Meaning) -> Codes | None:
        """What a label means here that is read so; None if it is no set, or no range, of codes."""
        null = () if None not in self.codes or not meaning.missing else (0,)
        if self._style == "set":
            bare = () if meaning.quoted or None not in self.codes else (MISSING,)
            listed = [self.codes.get(None if m in bare else m) for m in meaning.members]
            known = {code for code in listed if code is not None}
            return tuple(sorted({*null, *known})) if len(known) == len(listed) > 0 else None
        if meaning.ends is not None:
            firsts, lasts = self._ends
            first, last = (
                of.get(end) for of, end in zip((firsts, lasts), meaning.ends, strict=True)
            )
        else:
            first = last = self.codes.get(meaning.members[0]) if meaning.members else None
        if first is None or last is None or first > last:
            return None
        return len(null), first, last

    @cached_property
    def _ends(self) -> tuple[Mapping[str | None, int], ...]:
        """The code of what a range begins with, and of what it ends with."""
        if self._attribute.cells is None and self._endless is None:
            return self.codes, self.codes
        return tuple({pair[i]: code for code, pair in enumerate(self._texts)} for i in (0, 1))

    @cached_property
    def _texts(self) -> Sequence[tuple[str | None, str | None]]:
        """What each value begins and ends with in ranges; one that has no end, with nothing."""
        cells = self._attribute.cells
        if cells is not None:
            return cells.texts
        return [(t, "" if code == self._endless else t) for code, t in enumerate(self.exact)]

    @property
    def _endless(self) -> int | None:
        """The code of the number that stands for all from it on, if it is there."""
        attribute, last = self._attribute, len(self.exact) - 1
        if attribute.top is None or attribute.cells is not None or last < 0:
            return None
        return last if attribute.domain[last] == attribute.top else None


def names_of_nodes(attribute: Attribute) -> list[list[str | None]]:
    """What the nodes of a hierarchy are published as, at level 0 and up: names of their own."""
    exact = exact_labels(attribute)
    meant: dict[str | None, set[tuple[int, int]]] = {}
    for nodes, labels in zip(_levels(attribute), [exact, *attribute.labels], strict=True):
        for node, label in enumerate(labels):
            meant.setdefault(label, set()).add(_span(nodes, node))
    # What the hierarchy lists and nobody has is no less a value to a reader.
    unseen = attribute.listed - set(exact)
    taken = {*meant, *unseen}

    def name(label: str, level: int) -> str:
        """Keep a label that means one set of leaves; add the level to another."""
        if label and len(meant[label]) == 1 and label not in unseen:
            return label
        levelled = f"{label} (level {level})"
        while levelled in taken:
            levelled += "+"
        taken.add(levelled)
        return levelled

    names = [exact]
    for level, labels in enumerate(attribute.labels, 1):
        names.append([name(label, level) for label in labels])
    return names


def _span(nodes: IntArray, node: int) -> tuple[int, int]:
    """First and last leaf of a node."""
    return int(np.searchsorted(nodes, node)), int(np.searchsorted(nodes, node, "right")) - 1
