"""Groups by signature: people by what an adversary knows of them, bags by value, and priors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foreknow.data.arrays import FloatArray, IntArray, ranges, row_sums
from foreknow.data.counts import GroupCounts
from foreknow_judge.errors import DataError

ValueMode: TypeAlias = Literal["joint", "binary"]


@dataclass(frozen=True, eq=False, repr=False)
class SignatureGroups:
    """Two tables of the same groups, as compressed sparse rows; codes increase within a group."""

    offsets: IntArray  # how many people of each group have which signature
    signatures: IntArray
    people: IntArray
    value_offsets: IntArray  # how often each value occurs there; everyone has exactly one
    values: IntArray
    counts: IntArray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> IntArray:
        """People of each group."""
        return row_sums(self.people, self.offsets)

    @cached_property
    def n_signatures(self) -> IntArray:
        """How many signatures each group has."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def n_values(self) -> IntArray:
        """How many values occur in each group."""
        return self.value_offsets[1:] - self.value_offsets[:-1]

    def checked(self, counts: GroupCounts) -> SignatureGroups:
        """These groups; an error if one has another number of people than its counts say."""
        differing = np.flatnonzero(self.sizes != counts.sizes)
        if len(differing):
            g = int(differing[0])
            raise DataError(
                f"group {counts.group_label(g)!r} has {int(self.sizes[g])} people by signature but "
                f"{int(counts.sizes[g])} values; everyone has exactly one"
            )
        return self

    def people_of(self, group: int) -> tuple[tuple[int, int], ...]:
        """Pairs (signature, people) of one group."""
        return _pairs(self.offsets, self.signatures, self.people, group)

    def bag_of(self, group: int) -> tuple[tuple[int, int], ...]:
        """Pairs (value, occurrences) of one group."""
        return _pairs(self.value_offsets, self.values, self.counts, group)

    def take(self, groups: IntArray) -> SignatureGroups:
        """The given groups (positions), in that order."""
        if len(groups) == self.n_groups and (groups == np.arange(len(groups))).all():
            return self
        cells, offsets = ranges(self.offsets[groups], self.offsets[groups + 1])
        bag, value_offsets = ranges(self.value_offsets[groups], self.value_offsets[groups + 1])
        return SignatureGroups(
            offsets,
            self.signatures[cells],
            self.people[cells],
            value_offsets,
            self.values[bag],
            self.counts[bag],
        )

    def distinct(self) -> tuple[IntArray, IntArray]:
        """One group of each kind of equal groups, in order, and the number of each group's kind.

        Groups are equal if they have the same signatures and values equally often.
        """
        if self.n_groups == 1:
            return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        # Only groups with as many signatures and as many values can be equal.
        lengths, bags = self.n_signatures, self.n_values
        shapes = lengths * (int(bags.max(initial=0)) + 1) + bags
        like = np.arange(self.n_groups)  # the first group that each is like
        distinct_shapes, times = np.unique(shapes, return_counts=True)
        for shape in distinct_shapes[times > 1].tolist():
            same_shape = np.flatnonzero(shapes == shape)
            cells = self.offsets[same_shape][:, None] + np.arange(lengths[same_shape[0]])
            bag = self.value_offsets[same_shape][:, None] + np.arange(bags[same_shape[0]])
            columns = self.signatures[cells], self.people[cells], self.values[bag], self.counts[bag]
            first, number = equal_rows(np.concatenate(columns, axis=1))
            like[same_shape] = same_shape[first[number]]
        firsts, case_of = np.unique(like, return_inverse=True)
        return firsts, case_of.reshape(-1)


def equal_rows(rows: IntArray) -> tuple[IntArray, IntArray]:
    """One row of each kind, and the kind of each row, for whole numbers from 0.

    >>> equal_rows(np.array([[1, 2], [0, 1], [1, 2]]))
    (array([1, 0]), array([1, 0, 1]))
    """
    dtype: type = np.int32 if rows.max(initial=0) < 2**31 else np.int64
    small: NDArray[Any] = np.ascontiguousarray(rows, dtype=dtype)
    # Each row as one string of bytes, which sorts fast.
    keys = small.view(np.dtype((np.void, small.dtype.itemsize * small.shape[1])))[:, 0]
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return first, number.reshape(-1)


def _pairs(
    offsets: IntArray, codes: IntArray, amounts: IntArray, group: int
) -> tuple[tuple[int, int], ...]:
    cells = slice(offsets[group], offsets[group + 1])
    return tuple(zip(codes[cells].tolist(), amounts[cells].tolist(), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class PriorMatrix:
    """Prior probabilities by signature and value (definition 2); rows may have any sum."""

    fractions: Sequence[Sequence[Fraction]]

    @classmethod
    def from_fractions(cls, rows: Sequence[Sequence[Fraction | int | str]]) -> PriorMatrix:
        """Build from numbers, or texts of them."""
        return cls([[Fraction(chance) for chance in row] for row in rows])

    def exact(self, signature: int, value: int) -> Fraction:
        """One probability."""
        return self.fractions[signature][value]

    def rows(self, signatures: Iterable[int], values: Sequence[int]) -> list[list[Fraction]]:
        """The probabilities of some values: a row for each of some signatures."""
        rows: list[list[Fraction]] = []
        for signature in signatures:
            chances = self.fractions[signature]
            rows.append([chances[value] for value in values])
        return rows

    @cached_property
    def chances(self) -> FloatArray:
        """The floats nearest to the probabilities, shape (signatures, values)."""
        return np.array(self.fractions, dtype=float, ndmin=2)

    @cached_property
    def complements(self) -> FloatArray:
        """The floats nearest to one minus each probability."""
        return np.array(1 - np.array(self.fractions, dtype=object, ndmin=2), dtype=float)

    @cached_property
    def pairs(self) -> PriorMatrix:
        """For value x the columns 2x, having it, and 2x + 1, not having it."""
        rows: list[list[Fraction]] = []
        for chances in self.fractions:
            pairs = [(chance, 1 - chance) for chance in chances]
            rows.append(list(chain.from_iterable(pairs)))
        return PriorMatrix(rows)


def matrix(chances: ArrayLike) -> PriorMatrix:
    """Make a `PriorMatrix` of floats that stand for themselves."""
    return PriorMatrix.from_fractions(np.asarray(chances, dtype=np.float64).tolist())
