"""Signatures: how many people of each group have which quasi-identifiers in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from foreknow.counts_checks import whole
from foreknow.errors import DataError
from foreknow.sparse import IntArray

Signature: TypeAlias = "tuple[str | None, ...]"


@dataclass(frozen=True, eq=False, repr=False)
class Signatures:
    """People by group and signature, as compressed sparse rows; immutable.

    A signature is the value of each attribute of a set, as it prints; None is a missing one
    (definition 1 of "Anonymization with Worst-Case Distribution-Based Background Knowledge").

    Attributes
    ----------
    attributes : tuple of str
        The columns.
    labels : tuple of tuples of str or None
        The signatures that occur; each once.
    offsets : int64 array, shape (groups + 1,)
        Cells of group g, by its position in the `GroupCounts`, are
        ``offsets[g]:offsets[g + 1]`` of `codes` and `people`.
    codes : int64 array, shape (cells,)
        Index into `labels`; strictly increasing within a group.
    people : int64 array, shape (cells,)
        At least 1.
    """

    attributes: tuple[str, ...]
    labels: Sequence[Signature]
    offsets: IntArray
    codes: IntArray
    people: IntArray

    def __post_init__(self) -> None:
        for name in ("offsets", "codes", "people"):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        object.__setattr__(self, "labels", tuple(self.labels))
        odd = [label for label in self.labels if len(label) != len(self.attributes)]
        if odd:
            raise DataError(f"{odd[0]!r} is no signature of {', '.join(self.attributes)}")

    def __repr__(self) -> str:
        return (
            f"Signatures({', '.join(self.attributes)}: {len(self.labels)} in "
            f"{len(self.offsets) - 1} groups)"
        )


def signature_text(attributes: Sequence[str], signature: Signature) -> str:
    """Write a signature for people.

    >>> signature_text(("sex", "age"), ("Female", None))
    'sex Female, age missing'
    """
    parts = zip(attributes, signature, strict=True)
    return ", ".join(f"{name} {'missing' if label is None else label}" for name, label in parts)
