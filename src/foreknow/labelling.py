"""Labelling: write what a group's members have in common as one published value.

A range for numbers and dates ("20 to 37"), the lowest node that holds all members for a
hierarchy ("1234*"), a set for categories ("Divorced | Widowed").
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from foreknow.errors import InternalError, PolicyError, did_you_mean
from foreknow.microdata import Attribute
from foreknow.sparse import IntArray, count_pairs

Style: TypeAlias = Literal["range", "hierarchy", "set"]
_T = TypeVar("_T")


def style_of(attribute: Attribute, wanted: str | None) -> Style:
    """How an attribute is written: as wanted, else by its kind.

    Raises
    ------
    PolicyError
        If it cannot be written so.
    """
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
    """Write the label of each group along one attribute.

    Parameters
    ----------
    attribute : Attribute
    groups : int64 array, shape (people,)
    n_groups : int
    style : "range", "hierarchy" or "set"
    floor : int64 array, shape (groups,), optional
        The least level that each group is written at, though its members may have more in common.
        Only the highest level, "*", counts where no hierarchy is written.

    Returns
    -------
    labels : list of str or None
        A value that is exact is written as it is; None for a group whose members all have a null.
    places : int64 array, shape (groups, 2)
        First and last code that the label covers, to sort groups by: they tell no more than the
        label does.
    """
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
    labels = _members_as(style, attribute, offsets, codes)
    for group in _suppressed(attribute, floor):
        labels[group] = suppressed_label(attribute)
        places[group] = 0, len(attribute.domain) - 1
    return labels, places


def _members_as(
    style: Style, attribute: Attribute, offsets: IntArray, codes: IntArray
) -> list[str | None]:
    """Write the members of each group as a set or a range."""
    low, high = codes[offsets[:-1]], codes[offsets[1:] - 1]
    if style == "set":
        write = _set_writer(attribute)
        cells = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return [write(codes[a:b].tolist()) for a, b in cells]
    # The range of the members that have a value; a null comes first, as code 0.
    null_too = (low == 0) & (high > 0) & (attribute.domain[0] is None)
    least = np.where(null_too, codes[np.minimum(offsets[:-1] + 1, offsets[1:] - 1)], low)
    return _each(np.stack((null_too, least, high), axis=1), lambda row: _range(attribute, *row))


def _suppressed(attribute: Attribute, floor: IntArray | None) -> list[int]:
    """Groups that are to keep nothing of an attribute."""
    if floor is None:
        return []
    return np.flatnonzero(floor >= max(1, len(attribute.ancestors))).tolist()


def suppressed_label(attribute: Attribute) -> str:
    """Write that nothing is published of an attribute, where no hierarchy is written."""
    taken = set(map(text_of, attribute.domain))
    name = "* (level 1)" if "*" in taken else "*"
    while name in taken:
        name += "+"
    return name


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


def _exact(attribute: Attribute, code: int) -> str | None:
    value = attribute.domain[code]
    return None if value is None else text_of(value)


def _range(attribute: Attribute, null_too: int, low: int, high: int) -> str | None:
    both = (low, high) if low != high else (low,)
    text = " to ".join(text_of(attribute.domain[code]) for code in both)
    if null_too:
        return f"{text} or missing"
    return text if low != high else _exact(attribute, low)


def _set_writer(attribute: Attribute) -> Callable[[list[int]], str | None]:
    """Writer of sets; where a value holds the separator itself, all members are quoted."""
    texts = [text_of(value) for value in attribute.domain]
    if any("|" in text for text in texts):
        texts = ['"' + text.replace('"', '""') + '"' for text in texts]

    def write(codes: list[int]) -> str | None:
        if len(codes) == 1:
            return _exact(attribute, codes[0])
        if len(codes) == len(texts) and "*" not in texts:
            return "*"
        return " | ".join(texts[code] for code in codes)

    return write


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
        names = [[_exact(attribute, code) for code in leaves.tolist()], *attribute.labels]
        meant: dict[str | None, set[tuple[int, int]]] = {}
        for level, labels in enumerate(names):
            for node, label in enumerate(labels):
                meant.setdefault(label, set()).add(self.span(level, node))
        self.names = [
            [self._name(label, level, meant) for label in labels]
            for level, labels in enumerate(names)
        ]

    @staticmethod
    def _name(
        label: str | None, level: int, meant: dict[str | None, set[tuple[int, int]]]
    ) -> str | None:
        """Keep a label that means one set of leaves; add the level to another, once or more."""
        if len(meant[label]) == 1 or not level:
            return label
        name = f"{label} (level {level})"
        while name in meant:
            name += "+"
        return name

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
