"""What a reader sees of a release: who is in which group, and what else its labels tell."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.attacking.refining import Refinements
from foreknow.errors import InputError
from foreknow.labelling import labels_of, style_of
from foreknow.microdata import Microdata
from foreknow.sparse import IntArray

What: TypeAlias = Literal["groups", "table", "nothing"]


@dataclass(frozen=True, eq=False)
class Seen:
    """A release as a reader sees it; equal to any that a reader cannot tell from it.

    Its bags are not compared: worlds deal out the bags of the release, group by group, so that
    worlds with the same groups have the same bags.

    Attributes
    ----------
    groups : int64 array, shape (people,)
        Numbered by their first members: how a method numbers them tells nothing. People who are
        left out are one more group.
    published : hashable
        What else is published: labels, the level of a generalization; None where nothing is.
    left_out : int, optional
        The group of people who are left out.
    what : {"groups", "table", "nothing"}
        Whether groups are seen; or a table, of which it is not known who is in which row; or that
        nothing is published. Of the last two, `groups` holds one group of everybody.
    """

    groups: IntArray
    published: Any = None
    left_out: int | None = None
    what: What = "groups"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Seen):
            return NotImplemented
        return (
            np.array_equal(self.groups, other.groups)
            and self.left_out == other.left_out
            and self.what == other.what
            and _equal(self.published, other.published)
        )

    def __hash__(self) -> int:
        return hash((self.groups.tobytes(), self.left_out, self.what))

    @classmethod
    def of_everybody(cls, people: int, what: What, published: Any = None) -> Seen:
        """What is seen where it is not known who is in which group."""
        return cls(np.zeros(people, dtype=np.int64), published, None, what)

    @property
    def as_made(self) -> IntArray:
        """The groups, and -1 for people who are left out."""
        if self.left_out is None:
            return self.groups
        return np.where(self.groups == self.left_out, -1, self.groups)

    def apart(self, other: Seen) -> float:
        """The share of pairs of people who are together in one release and not in the other."""
        both = np.bincount(self.groups * (int(other.groups.max()) + 1) + other.groups)
        pairs = [float((n.astype(float) ** 2).sum()) for n in (both, *map(_sizes, (self, other)))]
        return (pairs[1] + pairs[2] - 2 * pairs[0]) / len(self.groups) ** 2


def _sizes(seen: Seen) -> IntArray:
    return np.bincount(seen.groups)


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception as error:  # of a class of the user's
        raise InputError(
            f"what is published cannot be compared, {type(one).__name__} with "
            f"{type(other).__name__}: {error}"
        ) from None


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
        self._label_of: dict[Hashable, Hashable] = {}
        self._refined: dict[Seen, Refinements] = {}

    def see(self, groups: IntArray, floors: Mapping[str, IntArray] | None = None) -> Seen:
        """What is seen of groups, of which some may be written at given levels at least."""
        key = groups.tobytes()
        if self._styles is not None and floors is not None:
            key += b"".join(floor.tobytes() for floor in floors.values())
        if key not in self._known:
            self._known[key] = self._seen(groups, floors or {})
        return self._known[key]

    def refined(self, seen: Seen, least: int) -> Refinements:
        """The groups that may hide behind equal labels, of at least so many people."""
        if seen not in self._refined:
            shown = int(seen.groups.max()) + 1 - (seen.left_out is not None)
            labels: Sequence[Hashable] = seen.published or ()
            if self._styles is None:  # groups are told apart
                least, labels = len(seen.groups), [None] * shown
            self._refined[seen] = Refinements.of(
                seen.groups, seen.left_out, labels, self._label, least
            )
        return self._refined[seen]

    def _label(self, people: tuple[int, ...]) -> Hashable:
        """The label of some people as one group."""
        rows = np.array(people)
        key = tuple(tuple(np.unique(a.codes[rows]).tolist()) for a in self._attributes)
        if key not in self._label_of:
            alone = np.zeros(len(rows), dtype=np.int64)
            self._label_of[key] = self._labels(alone, rows, {})[0]
        return self._label_of[key]

    def _seen(self, groups: IntArray, floors: Mapping[str, IntArray]) -> Seen:
        inside = groups >= 0
        names, place = np.unique(groups[inside], return_inverse=True)
        place = place.reshape(-1).astype(np.int64)
        labels: list[Hashable] = []
        if self._styles is not None and len(names):
            each = self._labels(place, inside, {key: of[names] for key, of in floors.items()})
            known = {label: i for i, label in enumerate(dict.fromkeys(each))}
            place = np.array([known[label] for label in each], dtype=np.int64)[place]
            labels = list(known)
        merged = np.full(len(groups), -1, dtype=np.int64)
        merged[inside] = place
        found = numbered(merged)
        published = None
        if labels:
            _, first = np.unique(found[inside], return_index=True)
            published = tuple(labels[g] for g in place[first].tolist())
        return Seen(found, published, None if inside.all() else int(found[~inside][0]))

    def _labels(
        self, groups: IntArray, inside: NDArray[Any], floors: Mapping[str, IntArray]
    ) -> list[Hashable]:
        """The labels of each group of those who are published."""
        assert self._styles is not None
        n_groups, columns = int(groups.max()) + 1, []
        for attribute in self._attributes:
            style = style_of(attribute, self._styles.get(attribute.name))
            own = replace(attribute, codes=attribute.codes[inside])
            floor = floors.get(attribute.name)
            columns.append(labels_of(own, groups, n_groups, style, floor)[0])
        return list(zip(*columns, strict=True))
