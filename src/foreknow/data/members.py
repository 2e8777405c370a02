"""Members: which named person is in which group of a release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from foreknow.data.arrays import IntArray
from foreknow.data.counts import whole
from foreknow.data.labels.labels import Label, Labels
from foreknow.data.person_names import like_name
from foreknow_judge.errors import DataError

_EACH = "each "


def column_of_units(column: str) -> str:
    """The name, among columns, of the number of each unit that `column` names, such as a household.

    >>> column_of_units("home"), units_column("each home"), units_column("home")
    ('each home', 'home', None)
    """
    return f"{_EACH}{column}"


def units_column(name: str) -> str | None:
    """The column whose units are numbered under a name of `column_of_units`; None for others."""
    return name.removeprefix(_EACH) if name.startswith(_EACH) else None


# The name, among columns, of the number of cases that a person has.
CASES = "cases of a person"


@dataclass(frozen=True, eq=False, repr=False)
class Members:
    """People by name, and the group of each; immutable.

    >>> Members(Labels(["Ann", "Tom"]), np.array([0, 1])).group_of("Tom")
    1
    """

    names: Labels
    groups: IntArray  # position of each person's group in the `GroupCounts` of the release

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", whole(self.groups, "groups"))
        if len(self.groups) != len(self.names):
            raise DataError(f"{len(self.names)} names but {len(self.groups)} groups")

    def __len__(self) -> int:
        return len(self.names)

    def group_of(self, name: Label) -> int:
        """The position of a person's group in the counts; `DataError` for an unknown name."""
        try:
            return int(self.groups[self.names.codes[name]])
        except (KeyError, TypeError):
            hint = like_name(str(name), [str(n) for n in self.names[:100_000]])
            raise DataError(f"nobody in the release is called {name!r}{hint}") from None

    def of_group(self, group: int) -> list[Label]:
        """Names of the members of a group."""
        return [self.names[i] for i in np.flatnonzero(self.groups == group).tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists."""
        return {"names": list(self.names), "groups": self.groups.tolist()}

    def __repr__(self) -> str:
        return f"Members({len(self)} people)"


Signature: TypeAlias = "tuple[str | None, ...]"


@dataclass(frozen=True, eq=False, repr=False)
class Signatures:
    """People by group and signature, as compressed sparse rows; immutable.

    A signature is a person's values in some attributes, as they print; None is a missing one
    (definition 1 of "Anonymization with Worst-Case Distribution-Based Background Knowledge").
    Cells of group g, by its position in the `GroupCounts`, are ``offsets[g]:offsets[g + 1]``.
    """

    attributes: tuple[str, ...]
    labels: Sequence[Signature]  # the signatures that occur, each once
    offsets: IntArray
    codes: IntArray  # the signature of each cell, as an index into `labels`; ascending in a group
    people: IntArray  # how many people of the group have it; at least 1

    def __post_init__(self) -> None:
        """Seal the arrays; `DataError` for a label that has not one value per attribute."""
        for name in ("offsets", "codes", "people"):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        object.__setattr__(self, "labels", tuple(self.labels))
        for label in self.labels:
            if len(label) != len(self.attributes):
                raise DataError(f"{label!r} is no signature of {', '.join(self.attributes)}")

    def __repr__(self) -> str:
        return (
            f"Signatures({', '.join(self.attributes)}: {len(self.labels)} in "
            f"{len(self.offsets) - 1} groups)"
        )


def printed(labels: Iterable[Any]) -> Signature:
    """Labels as they print; None where one is missing."""
    return tuple(None if label is None else str(label) for label in labels)


def signature_text(attributes: Sequence[str], signature: Signature) -> str:
    """Write a signature for people.

    >>> signature_text(("sex", "age"), ("Female", None))
    'sex Female, age missing'
    """
    labels_of_columns = zip(attributes, signature, strict=True)
    return ", ".join(
        f"{name} {'missing' if label is None else label}" for name, label in labels_of_columns
    )
