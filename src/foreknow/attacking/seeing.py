"""What a reader sees of a release: who is in which group, and what else its labels tell."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from foreknow.labelling import labels_of, style_of
from foreknow.microdata import Microdata
from foreknow.sparse import IntArray


@dataclass(frozen=True, eq=False)
class Seen:
    """A release as a reader sees it; equal to any that a reader cannot tell from it.

    Its bags are not compared: worlds deal out the bags of the release, group by group, so that
    worlds with the same groups have the same bags.

    Attributes
    ----------
    groups : int64 array, shape (people,)
        Numbered by their first members: how a method numbers them tells nothing.
    published : hashable
        What else is published: labels, the level of a generalization; None where nothing is.
    """

    groups: IntArray
    published: Hashable = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Seen):
            return NotImplemented
        return np.array_equal(self.groups, other.groups) and self.published == other.published

    def __hash__(self) -> int:
        return hash((self.groups.tobytes(), self.published))

    def apart(self, other: Seen) -> float:
        """The share of pairs of people who are together in one release and not in the other."""
        both = np.bincount(self.groups * (int(other.groups.max()) + 1) + other.groups)
        pairs = [float((n.astype(float) ** 2).sum()) for n in (both, *map(_sizes, (self, other)))]
        return (pairs[1] + pairs[2] - 2 * pairs[0]) / len(self.groups) ** 2


def _sizes(seen: Seen) -> IntArray:
    return np.bincount(seen.groups)


def numbered(groups: IntArray) -> IntArray:
    """Number groups by their first members.

    >>> numbered(np.array([7, 3, 7, 0]))
    array([0, 1, 0, 2])
    """
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place.reshape(-1)]


class Reader:
    """Says what a reader sees of groups, once for each grouping.

    In the generalized form, groups are published with their labels. Groups with equal labels are
    one group to a reader. Labels can tell more than the groups: at which level they were made.
    In the bucketized form only the groups are seen.
    """

    def __init__(self, microdata: Microdata, styles: Mapping[str, str] | None) -> None:
        self._attributes = microdata.attributes
        self._styles = styles
        self._known: dict[bytes, Seen] = {}

    def see(self, groups: IntArray, floors: Mapping[str, IntArray] | None = None) -> Seen:
        """What is seen of groups, of which some may be written at given levels at least."""
        key = groups.tobytes()
        if self._styles is not None and floors is not None:
            key += b"".join(floor.tobytes() for floor in floors.values())
        if key not in self._known:
            self._known[key] = self._seen(groups, floors or {})
        return self._known[key]

    def _seen(self, groups: IntArray, floors: Mapping[str, IntArray]) -> Seen:
        left_out = groups < 0
        if left_out.any():
            return Seen(numbered(groups), (("left out", left_out.tobytes()),))
        if self._styles is None:
            return Seen(numbered(groups))
        n_groups = int(groups.max()) + 1
        columns = []
        for attribute in self._attributes:
            style = style_of(attribute, self._styles.get(attribute.name))
            floor = floors.get(attribute.name)
            columns.append(labels_of(attribute, groups, n_groups, style, floor)[0])
        labels = list(zip(*columns, strict=True))
        place = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        merged = numbered(np.array([place[label] for label in labels])[groups])
        _, first = np.unique(merged, return_index=True)
        return Seen(merged, tuple(labels[g] for g in groups[first].tolist()))
