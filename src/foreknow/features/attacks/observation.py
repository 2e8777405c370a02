"""A reader's view of a release: who is in which group, and what else is published."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.labels.generalization import coarsened, style_of
from foreknow.data.labels.labels import is_missing
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
        """True if a reader cannot tell the two releases apart."""
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
    """The group of each person, with groups numbered by their first members.

    >>> numbered(np.array([7, 2, 7, 5])).tolist()
    [0, 1, 0, 2]
    """
    _, first_member, group_of_person = np.unique(groups, return_index=True, return_inverse=True)
    # Rank the groups by the place of their first member; that rank is the new number.
    new_number = np.empty(len(first_member), dtype=np.int64)
    new_number[np.argsort(first_member)] = np.arange(len(first_member))
    return new_number[group_of_person.reshape(-1)]


class Reader:
    """Turns groups into a reader's view; `styles`: how each column's labels are written."""

    def __init__(self, microdata: Microdata, styles: Mapping[str, str] | None) -> None:
        self._attributes, self._styles = microdata.attributes, styles
        self._seen: dict[bytes, Observation] = {}

    def see(self, groups: IntArray, floors: Mapping[str, IntArray] | None = None) -> Observation:
        """The view of groups (below 0: left out), with labels no finer than `floors`.

        `floors` gives, for each column, the lowest level of the hierarchy at which each group may
        be labelled. Views are remembered, since a method often makes the same groups.
        """
        levels = floors if floors is not None and self._styles is not None else {}
        key = groups.tobytes() + b"".join(floor.tobytes() for floor in levels.values())
        if key not in self._seen:
            self._seen[key] = self._observed(groups, levels)
        return self._seen[key]

    def _observed(self, groups: IntArray, floors: Mapping[str, IntArray]) -> Observation:
        """A reader's view of groups: those that have the same labels are one group to a reader.

        `groups` is the group of each person; below 0, the person is left out. `floors` is the
        lowest level of each column's labels, by group.
        """
        is_published = groups >= 0
        group_ids, group_number = np.unique(groups[is_published], return_inverse=True)
        group_number = group_number.reshape(-1).astype(np.int64)
        published_labels = None
        if self._styles is not None and len(group_ids):
            # Groups with equal labels get one code, and become one group.
            levels_of_groups = {name: levels[group_ids] for name, levels in floors.items()}
            labels = self._labels(group_number, is_published, levels_of_groups)
            label_codes: dict[Hashable, int] = {}
            code_of_group = [label_codes.setdefault(label, len(label_codes)) for label in labels]
            group_number = np.array(code_of_group, dtype=np.int64)[group_number]
            # In order of their first members, as `numbered` numbers the groups below.
            codes_in_order = dict.fromkeys(group_number.tolist())
            distinct_labels = list(label_codes)
            published_labels = tuple([distinct_labels[code] for code in codes_in_order])
        # Everybody who is left out counts as one more group, whose number is noted.
        group_of_person = np.full(len(groups), -1, dtype=np.int64)
        group_of_person[is_published] = group_number
        numbered_groups = numbered(group_of_person)
        left_out = None if is_published.all() else int(numbered_groups[~is_published][0])
        return Observation(numbered_groups, published_labels, left_out)

    def _labels(
        self, groups: IntArray, is_published: NDArray[Any], floors: Mapping[str, IntArray]
    ) -> list[Hashable]:
        """The labels of each group: a tuple with one label for each attribute.

        `groups` is the group of each person who is published, by the mask `is_published`; `floors`
        is the lowest level of labels, for each column by group.
        """
        assert self._styles is not None
        n_groups = int(groups.max()) + 1
        label_columns = []
        for attribute in self._attributes:
            style = style_of(attribute, self._styles.get(attribute.name))
            published = replace(attribute, codes=attribute.codes[is_published])
            floor = floors.get(attribute.name)
            label_columns.append(coarsened(published, groups, n_groups, style, floor).labels)
        return list(zip(*label_columns, strict=True))


def read_returned(returned: Any, name: str) -> tuple[IntArray, Any]:
    """Groups that a function of the user returns, and what it publishes beside them, or None.

    A pair is (groups, published) if its first item is a sequence; otherwise, as a pair of texts or
    of numbers, it is the groups of two rows.
    """
    if isinstance(returned, tuple) and len(returned) == 2:
        first_item, second_item = returned
        if hasattr(first_item, "__len__") and not isinstance(first_item, str):
            return groups_from(first_item, name), second_item
    return groups_from(returned, name), None


def groups_from(groups: Any, name: str) -> IntArray:
    """The group of each row as a whole number, from groups in any form; below 0 if left out.

    Whole numbers stay as they are. Other labels are numbered in order of appearance; a row whose
    label is missing or a negative number is left out.

    >>> groups_from(["north", None, "south", "north"], "the pipeline").tolist()
    [0, -1, 1, 0]
    """
    row_groups = groups.to_pylist() if hasattr(groups, "to_pylist") else groups
    try:
        array = np.asarray(row_groups)
        is_integer = array.dtype.kind in "iu" and array.max(initial=0) <= np.iinfo(np.int64).max
        if not is_integer and not hasattr(row_groups, "dtype"):
            # NumPy finds one type for a plain list, in which NaN would be the text "nan", and 1 the
            # same group as "1"; as objects they stay what they are.
            array = np.asarray(row_groups, dtype=object)
    except ValueError:
        raise InputError(f"{name} must give one group for each row, not {groups!r:.60}") from None
    if array.ndim != 1:
        raise InputError(f"{name} must give one group for each row, not {type(groups).__name__}")
    if is_integer:
        return array.astype(np.int64)
    group_numbers: dict[Any, int] = {}
    group_of_row = np.full(len(array), -1, dtype=np.int64)
    for row, label in enumerate(array.tolist()):
        is_negative = isinstance(label, Real) and label < 0
        if is_missing(label) or is_negative:
            continue
        try:
            group_of_row[row] = group_numbers.setdefault(label, len(group_numbers))
        except TypeError:  # a list, or another label that cannot be looked up
            raise InputError(f"{name} gives groups that are no plain labels") from None
    return group_of_row
