"""Strategies: which sets are judged, in which order, and where a table goes from each verdict.

Tables 6, 7 and 9 of "k-Jump Strategy ...", with Table 13 mended: a jump from function j has
distance k[j].
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from foreknow.criteria.properties import Property
from foreknow.errors import InputError


class Need(enum.Enum):
    """What must be known of an earlier function to tell whether a table gets to a later one."""

    NOTHING = "its permutation set cannot be safe, nor its disclosure set"
    PERMUTATION = "only whether its permutation set is safe"
    GATED = "whether its disclosure set is safe, where its permutation set is"
    ALWAYS = "whether its disclosure set is safe, in any case"


@dataclass(frozen=True)
class Strategy:
    """The public algorithm, apart from the functions.

    Attributes
    ----------
    kind : "naive", "safe" or "jump"
    property : Property
    distances : tuple of int
        Jump distance of each function.
    """

    kind: Literal["naive", "safe", "jump"]
    property: Property
    distances: tuple[int, ...] = ()

    def need(self, j: int, i: int) -> Need:
        """What to know of function j for those who ask whether a table gets to function i.

        Every table gets to the first function, so its disclosure set is its permutation set. A
        jump that passes i, or a release, keep a table from i alike (section 4.2.1). Where the
        property is convex, no disclosure set is safe whose permutation set is not (Lemma 3).
        """
        if self.kind == "naive" or j == 0:
            return Need.PERMUTATION
        if self.kind == "jump":
            return Need.PERMUTATION if self.after(j) > i else Need.GATED
        return Need.GATED if self.property.convex else Need.ALWAYS

    def after(self, j: int) -> int:
        """Where a table goes whose disclosure set at j is not safe though its permutation set is.

        A jump past the last function ends behind it, with nothing released.
        """
        return min(j + self.distances[j], len(self.distances)) if self.kind == "jump" else j + 1


def distances_of(given: Any, n: int) -> tuple[int, ...]:
    """One distance per function, from a number or a vector.

    >>> distances_of(2, 3), distances_of([1, 1, 2], 3)
    ((2, 2, 2), (1, 1, 2))
    """
    listed = isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str)
    if isinstance(given, np.ndarray) and given.ndim != 1:
        raise InputError(f"jump distances have one dimension, not the shape {given.shape}")
    vector = list(given) if listed else [given] * (1 if isinstance(given, str) else n)
    for k in vector:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise InputError(f"a jump distance is a whole number from 1, not {k!r}")
    if len(vector) != n:
        raise InputError(f"{len(vector)} jump distances for {n} functions: give one for each")
    return tuple(map(int, vector))
