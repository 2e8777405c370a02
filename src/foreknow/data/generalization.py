"""Labelling: write what a group's members have in common as one published value.

A range for numbers and dates ("20 to 37"), the lowest node that holds all members for a
hierarchy ("1234*"), a set for categories ("Divorced | Widowed").

One label means one thing in its column: an exact value is written as it is, and nothing else is
written like a value that somebody has or that the hierarchy lists. Where an unquoted range or set
could be read in two ways, its values are quoted ('"mild" to "moderate"').
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from foreknow.data.microdata import Attribute
from foreknow.data.sparse import IntArray, count_pairs
from foreknow.errors import InternalError, PolicyError, did_you_mean

Style: TypeAlias = Literal["range", "hierarchy", "set"]
_T = TypeVar("_T")


def style_of(attribute: Attribute, wanted: str | None) -> Style:
    """How an attribute is written: as wanted, else by its kind."""
    if wanted not in (None, "range", "hierarchy", "set"):
        raise PolicyError(
            f"publish.labels: {attribute.name!r} cannot be written as {wanted!r}"
            f"{did_you_mean(wanted, ('range', 'hierarchy', 'set'))}"
        )
    if wanted == "hierarchy" and not attribute.ancestors:
        raise PolicyError(f"publish.labels: {attribute.name!r} has no hierarchy with levels")
    if wanted == "range" and attribute.order == "nominal":
        raise PolicyError(
            f"publish.labels: {attribute.name!r} is text without an order; a range of it means "
            "nothing; use set, or give it a hierarchy = { order = [...] }"
        )
    if wanted is not None:
        return wanted  # type: ignore[return-value]
    if attribute.ancestors:
        return "hierarchy"
    return "range" if attribute.order == "ordered" else "set"


def labels_of(
    attribute: Attribute,
    groups: IntArray,
    n_groups: int,
    style: Style,
    floor: IntArray | None = None,
) -> tuple[list[str | None], IntArray]:
    """Write the label of each group along one attribute."""
    offsets, codes, _ = count_pairs(groups, attribute.codes, n_groups, len(attribute.domain))
    low, high = codes[offsets[:-1]], codes[offsets[1:] - 1]
    places = np.stack((low, high), axis=1)
    if style == "hierarchy":
        nodes = _Nodes(attribute)
        rows = np.column_stack((places, np.zeros_like(low) if floor is None else floor))
        covered = _each(rows, lambda row: nodes.covers(*row))
        return _each(rows, lambda row: nodes.label(*row)), np.array(
            covered, dtype=np.int64
        ).reshape(n_groups, 2)
    wording = Wording(attribute, style)
    labels = _members_as(style, wording, offsets, codes)
    for group in _suppressed(attribute, floor):
        labels[group] = wording.everything
        places[group] = 0, len(attribute.domain) - 1
    return labels, places


def _members_as(
    style: Style, wording: Wording, offsets: IntArray, codes: IntArray
) -> list[str | None]:
    """Write the members of each group as a set or a range."""
    if style == "set":
        cells = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return [wording.set_of(codes[a:b].tolist()) for a, b in cells]
    low, high = codes[offsets[:-1]], codes[offsets[1:] - 1]
    # The range of the members that have a value; a null comes first, as code 0.
    null_too = (low == 0) & (high > 0) & (wording.exact[0] is None)
    least = np.where(null_too, codes[np.minimum(offsets[:-1] + 1, offsets[1:] - 1)], low)
    return _each(np.stack((null_too, least, high), axis=1), lambda row: wording.range_of(*row))


def _suppressed(attribute: Attribute, floor: IntArray | None) -> list[int]:
    """Groups that are to keep nothing of an attribute."""
    if floor is None:
        return []
    return np.flatnonzero(floor >= max(1, len(attribute.ancestors))).tolist()


def _each(rows: IntArray, write: Callable[[list[int]], _T]) -> list[_T]:
    """Write each distinct row once."""
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    written = [write(row) for row in distinct.tolist()]
    return [written[i] for i in which.reshape(-1).tolist()]


def text_of(value: Any) -> str:
    """Write one value.

    >>> text_of(dt.date(2024, 1, 31)), text_of(7)
    ('2024-01-31', '7')
    """
    if value is None:
        return "missing"
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


def exact_labels(attribute: Attribute) -> list[str | None]:
    """How each value is published where it is exact: a null stays a null."""
    return [None if value is None else text_of(value) for value in attribute.domain]


class Wording:
    """How an attribute is written in ranges or sets: each has a label of its own.

    Parameters
    ----------
    attribute : Attribute
    style : "range" or "set"

    Attributes
    ----------
    exact : list of str or None
        The label of each value by itself.
    """

    def __init__(self, attribute: Attribute, style: Style) -> None:
        self.exact = exact_labels(attribute)
        self._listed, self._style = attribute.listed, style

    @cached_property
    def _taken(self) -> set[str | None]:
        """The labels of values, which nothing else may have."""
        return {*self.exact, *self._listed}

    @cached_property
    def quoted(self) -> bool:
        """Whether values are quoted, since one of them holds what joins them."""
        if self._style == "set":
            return any(t is not None and ("|" in t or t == "missing") for t in self._taken)
        return any(
            t == "missing" or " to " in f" {t} " or f" {t}".endswith(" or missing")
            for t in self._taken
            if t is not None
        )

    @cached_property
    def everything(self) -> str:
        """What says that nothing is published."""
        return self._own("* (level 1)" if "*" in self._taken else "*")

    def set_of(self, codes: Sequence[int]) -> str | None:
        """Write some values, by increasing codes."""
        if len(codes) == 1:
            return self.exact[codes[0]]
        if len(codes) == len(self.exact) and self.everything == "*":
            return "*"
        return self._own(" | ".join(map(self._part, codes)))

    def range_of(self, null_too: int, low: int, high: int) -> str | None:
        """Write the values from one to another, and whether some are missing."""
        if low == high and not null_too:
            return self.exact[low]
        ends = (low,) if low == high else (low, high)
        text = " to ".join(map(self._part, ends))
        return self._own(f"{text} or missing" if null_too else text)

    def _part(self, code: int) -> str:
        text = self.exact[code]
        if text is None:
            return "missing"
        return quote(text) if self.quoted else text

    def _own(self, label: str) -> str:
        """Add to a label until no value is called so; no label of several ends with a plus."""
        while label in self._taken:
            label += "+"
        return label


def quote(text: str) -> str:
    """Write a text in quotes, as CSV has them.

    >>> print(quote('the "x" row'))
    "the ""x"" row"
    """
    return '"' + text.replace('"', '""') + '"'


def names_of_nodes(attribute: Attribute) -> list[list[str | None]]:
    """What the nodes of a hierarchy are published as, at level 0 and up."""
    return _Nodes(attribute).names


def spans_of_nodes(attribute: Attribute) -> dict[str, tuple[int, int]]:
    """First and last leaf of every node that a hierarchy has a label for, by that label."""
    nodes = _Nodes(attribute)
    return {
        name: nodes.span(level, node)
        for level, names in enumerate(nodes.names)
        for node, name in enumerate(names)
        if name is not None
    }


class _Nodes:
    """The nodes of a hierarchy, each under a name of its own."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        leaves = np.arange(len(attribute.domain))
        self.levels = [leaves, *attribute.ancestors]
        exact = exact_labels(attribute)
        meant: dict[str | None, set[tuple[int, int]]] = {}
        for level, labels in enumerate([exact, *attribute.labels]):
            for node, label in enumerate(labels):
                meant.setdefault(label, set()).add(self.span(level, node))
        # What the hierarchy lists and nobody has is no less a value to a reader.
        unseen = attribute.listed - set(exact)
        taken = {*meant, *unseen}

        def name(label: str, level: int) -> str:
            """Keep a label that means one set of leaves; add the level to another."""
            if label and len(meant[label]) == 1 and label not in unseen:
                return label
            own = f"{label} (level {level})"
            while own in taken:
                own += "+"
            taken.add(own)
            return own

        self.names: list[list[str | None]] = [exact]
        for level, labels in enumerate(attribute.labels, 1):
            self.names.append([name(label, level) for label in labels])

    def span(self, level: int, node: int) -> tuple[int, int]:
        """First and last leaf of a node."""
        nodes = self.levels[level]
        return int(np.searchsorted(nodes, node)), int(np.searchsorted(nodes, node, "right")) - 1

    def _lowest(self, low: int, high: int, floor: int) -> tuple[int, int]:
        for level, nodes in enumerate(self.levels):
            if level >= floor and nodes[low] == nodes[high]:
                return level, int(nodes[low])
        raise InternalError(f"the hierarchy of {self.attribute.name!r} has no single top")

    def label(self, low: int, high: int, floor: int) -> str | None:
        """Name of the lowest node, from a level on, that holds a run of leaves."""
        level, node = self._lowest(low, high, floor)
        return self.names[level][node]

    def covers(self, low: int, high: int, floor: int) -> tuple[int, int]:
        """First and last leaf of that node."""
        return self.span(*self._lowest(low, high, floor))
