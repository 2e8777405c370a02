"""A reader's view of a release: who is in which group, and what else is published."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.labels.generalization import coarsened, style_of
from foreknow.data.microdata import Microdata
from foreknow_judge.errors import InputError

What: TypeAlias = Literal["groups", "nothing"]


@dataclass(frozen=True, eq=False)
class Observation:
    """A release as a reader sees it; equal to any that a reader cannot tell from it.

    Bags are not compared: worlds have the bags of the release, group by group. Where nothing is
    published, `groups` holds one group of everybody.
    """

    groups: IntArray  # numbered by their first members: a method's numbers tell nothing
    published: Any = None  # labels with their levels, or what a function publishes
    left_out: int | None = None  # the group of people who are left out
    what: What = "groups"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Observation):
            return NotImplemented
        if self.left_out != other.left_out or self.what != other.what:
            return False
        published, other_published = self.published, other.published
        try:
            return np.array_equal(self.groups, other.groups) and bool(published == other_published)
        except Exception as error:  # of a class of the user's
            raise InputError(
                f"what is published cannot be compared, {type(published).__name__} with "
                f"{type(other_published).__name__}: {error}"
            ) from None


def numbered(groups: IntArray) -> IntArray:
    """Number groups by their first members."""
    _, first, number_of_group = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number_of_group.reshape(-1)]


class Reader:
    """Turns groups into a reader's view; `styles`: how each column's labels are written."""

    def __init__(self, microdata: Microdata, styles: Mapping[str, str] | None) -> None:
        self._attributes, self._styles = microdata.attributes, styles
        self._seen: dict[bytes, Observation] = {}

    def see(self, groups: IntArray, floors: Mapping[str, IntArray] | None = None) -> Observation:
        """The view of groups (below 0: left out), at the levels of `floors` or above."""
        levels = floors if floors is not None and self._styles is not None else {}
        key = groups.tobytes() + b"".join(floor.tobytes() for floor in levels.values())
        if key not in self._seen:
            self._seen[key] = self._observed(groups, levels)
        return self._seen[key]

    def _observed(self, groups: IntArray, floors: Mapping[str, IntArray]) -> Observation:
        """A reader's view: groups that have the same labels are one to a reader."""
        is_published = groups >= 0
        names, group = np.unique(groups[is_published], return_inverse=True)
        group, published = group.reshape(-1).astype(np.int64), None
        if self._styles is not None and len(names):
            levels_of_groups = {key: levels[names] for key, levels in floors.items()}
            labels = self._labels(group, is_published, levels_of_groups)
            label_codes: dict[Any, int] = {}
            codes = [label_codes.setdefault(label, len(label_codes)) for label in labels]
            distinct = list(label_codes)
            group = np.array(codes, dtype=np.int64)[group]
            published = tuple([distinct[code] for code in dict.fromkeys(group.tolist())])
        group_of_person = np.full(len(groups), -1, dtype=np.int64)
        group_of_person[is_published] = group
        numbered_groups = numbered(group_of_person)
        return Observation(
            numbered_groups,
            published,
            None if is_published.all() else int(numbered_groups[~is_published][0]),
        )

    def _labels(
        self, groups: IntArray, is_published: NDArray[Any], floors: Mapping[str, IntArray]
    ) -> list[Hashable]:
        """The labels of each group, given which people are published."""
        assert self._styles is not None
        columns = []
        for attribute in self._attributes:
            style = style_of(attribute, self._styles.get(attribute.name))
            published = replace(attribute, codes=attribute.codes[is_published])
            floor = floors.get(attribute.name)
            columns.append(coarsened(published, groups, int(groups.max()) + 1, style, floor).labels)
        return list(zip(*columns, strict=True))


def read_returned(returned: Any, name: str) -> tuple[IntArray, Any]:
    """Groups that a function returns, and what is published beside them, or None."""
    # A pair of texts is the groups of two rows.
    pair = isinstance(returned, tuple) and len(returned) == 2 and not isinstance(returned[0], str)
    groups, published = returned if pair and hasattr(returned[0], "__len__") else (returned, None)
    return groups_from(groups, name), published


def groups_from(groups: Any, name: str) -> IntArray:
    """The group of each row as a whole number, from groups in any form; below 0 if left out."""
    row_groups = groups.to_pylist() if hasattr(groups, "to_pylist") else groups
    try:
        array = np.asarray(row_groups)
    except ValueError:
        raise InputError(f"{name} must give one group for each row, not {groups!r:.60}") from None
    if array.ndim != 1:
        raise InputError(f"{name} must give one group for each row, not {type(groups).__name__}")
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    labels = [None if label != label else label for label in array.tolist()]  # not a number
    codes: dict[Any, int] = {}
    try:
        group_of_row = [
            -1 if label is None else codes.setdefault(label, len(codes)) for label in labels
        ]
    except TypeError:
        raise InputError(f"{name} gives groups that are no plain labels") from None
    return np.array(group_of_row, dtype=np.int64)
