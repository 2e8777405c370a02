"""Minimal sample uniques: few values that single somebody out, and how special each person is.

The scores are those of M. J. Elliot, A. Manning, K. Mayes, J. Gurd, M. Bane, "SUDA: a program for
detecting special uniques", 2005, as sdcMicro has them: a minimal unique of k of m columns adds
(m - k)! to a person's score. Here they are sought up to a size, which sdcMicro does not limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.call_hints import Plain
from foreknow.data.arrays import FloatArray, IntArray
from foreknow.data.tables.combinations import Combinations

_LISTED = 10  # people of the highest scores, in JSON


@dataclass(frozen=True)
class SpecialUnique:
    """A person with a minimal sample unique: few values single them out."""

    values: tuple[Any, ...]  # the person's value in each column
    score: int
    dis: float | None  # the DIS score; None without a sampling fraction
    minimal: tuple[tuple[str, ...], ...]  # the columns of each minimal unique, the fewest first


@dataclass(frozen=True, eq=False)
class SpecialUniques(Plain):
    """All people whom up to `size` values single out, and the contribution of columns."""

    _json_fields = (
        "size people=n_people people_by_size=people minimal_uniques=minimal contributions dis "
        "worst=_worst"
    )
    _fraction = float

    size: int  # the largest number of columns in a minimal unique that was searched for
    minimal: tuple[int, ...]  # the numbers of minimal uniques with 1, 2, ... columns
    # the numbers of people whose smallest minimal unique has 1, 2, ... columns
    people: tuple[int, ...]
    # the share of all scores that comes from minimal uniques with a column; these shares add up to
    # more than 1, since a minimal unique of several columns counts for each of them
    contributions: dict[str, Fraction]
    scores: NDArray[Any]  # the scores of all people with a minimal unique, the highest first
    # the probability that a unique match is right (Skinner and Elliot, 2002); None without a
    # sampling fraction
    dis: float | None
    dis_scores: FloatArray | None  # the DIS scores of these people, in the order of `scores`
    _rows: IntArray
    _table: Combinations

    @property
    def n_people(self) -> int:
        """The number of people who have a minimal unique."""
        return len(self.scores)

    def listed(self, most: int | None = None) -> Iterator[SpecialUnique]:
        """The people of the highest scores, by the values of their columns."""
        for number, row in enumerate(self._rows[:most].tolist()):
            dis = None if self.dis_scores is None else float(self.dis_scores[number])
            minimal = tuple(self._minimal(row))
            yield SpecialUnique(self._table.values(row), int(self.scores[number]), dis, minimal)

    def _minimal(self, row: int) -> Iterator[tuple[str, ...]]:
        """Yield each minimal set of columns by which the person of a row is unique.

        Minimal: without any one of its columns, the person would not be unique.
        """
        columns, minimal_sets = self._table.columns, list[set[int]]()
        # For each column, which rows have the same value as this one.
        is_equal = np.stack([codes == codes[row] for codes in self._table.codes])
        for size in range(1, self.size + 1):
            for columns_chosen in combinations(range(len(columns)), size):
                # A set that contains a minimal one singles out, too, but is not minimal.
                if any(smaller <= set(columns_chosen) for smaller in minimal_sets):
                    continue
                if np.count_nonzero(is_equal[[*columns_chosen]].all(axis=0)) == 1:
                    minimal_sets.append(set(columns_chosen))
                    yield tuple([columns[column] for column in columns_chosen])

    @property
    def _worst(self) -> list[dict[str, Any]]:
        people = []
        for person in self.listed(_LISTED):
            values = dict(zip(self._table.columns, map(_plain, person.values), strict=True))
            people.append({**vars(person), "values": values})
        return people


def special_uniques(
    table: Combinations, size: int, fraction: Fraction | None = None
) -> SpecialUniques:
    """All people whom up to `size` values single out, with their scores, the highest first.

    A minimal unique of k of m columns singles a person out, though no k - 1 of these columns do; it
    adds (m - k)! to the score. They are sought by the number of columns. `fraction` is the share of
    the population that is in the table; None: the score DIS is not worked out.
    """
    n_columns = len(table.columns)
    size = min(size, n_columns)
    # Only people whom all columns together single out can be unique by fewer.
    candidates = np.flatnonzero(table.people == 1)
    score = np.zeros(len(candidates), dtype=_score_dtype(n_columns, size))
    smallest_size = np.zeros(len(candidates), dtype=np.int64)
    minimal: list[int] = []
    shares = [0] * n_columns
    # Who is unique by each set of one column less, as packed bits, to save memory.
    uniques_below: dict[tuple[int, ...], NDArray[np.uint8]] = {}
    for level in range(1, size + 1):
        uniques_of_level: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        minimal.append(0)
        for columns in combinations(range(n_columns), level):
            is_unique = table.alone(columns)[candidates]
            is_minimal = is_unique.copy()
            # Minimal: unique by this set, and by none with one column less.
            for left_out in combinations(columns, level - 1):
                if left_out:
                    is_minimal &= ~_unpack_bits(uniques_below[left_out], len(candidates))
            if level < size:
                uniques_of_level[columns] = np.packbits(is_unique)
            n_minimal, weight = int(is_minimal.sum()), math.factorial(n_columns - level)
            minimal[-1] += n_minimal
            score[is_minimal] += weight
            smallest_size[is_minimal & (smallest_size == 0)] = level
            for column in columns:
                # A column's share is of all scores that involve it.
                shares[column] += n_minimal * weight
        uniques_below = uniques_of_level
    singled_out = np.flatnonzero(smallest_size)
    # An engine may give any order, so people with equal scores are sorted by their values.
    singled_out = singled_out[np.lexsort(table.ranks(candidates[singled_out])[::-1])]
    order = singled_out[np.argsort(-score[singled_out], kind="stable")]
    total = int(score.sum()) or 1  # 1 if nobody is singled out: all shares are then 0
    contributions = [Fraction(share, total) for share in shares]
    dis, dis_of_people = _dis(table, score[order], fraction)
    n_people_by_size = np.bincount(smallest_size, minlength=size + 1).tolist()
    return SpecialUniques(
        size=size,
        minimal=tuple(minimal),
        people=tuple(n_people_by_size[1:]),  # without those whom no few values single out
        contributions=dict(zip(table.columns, contributions, strict=True)),
        scores=score[order],
        dis=dis,
        dis_scores=dis_of_people,
        _rows=candidates[order],
        _table=table,
    )


def _dis(
    table: Combinations, scores: NDArray[Any], fraction: Fraction | None
) -> tuple[float | None, FloatArray | None]:
    """The chance that a match with a unique person is right (DIS): over all people, and by score.

    `fraction` is the share of the population that is in the table; both are None if it is not
    given.

    A unique match is right for people who are unique in the population, too; pairs in the sample
    tell how many are not (Skinner and Elliot, 2002).
    """
    if fraction is None:
        return None, None
    unique, paired = int((table.people == 1).sum()), 2 * int((table.people == 2).sum())
    expected_right, expected_wrong = unique * fraction, paired * (1 - fraction)
    dis = float(expected_right / (expected_right + expected_wrong)) if unique else 0.0
    if not len(scores):
        return dis, np.empty(0)
    # Powers of scores, as shares of the highest: those of many columns are beyond a float.
    distinct, position_of_score = np.unique(scores, return_inverse=True)
    highest = distinct.tolist()[-1]
    shares = [float(Fraction(score, highest)) for score in distinct.tolist()]
    # The exponent is sdcMicro's: it depends on the number of columns.
    powers = (np.array(shares) ** (1 + (8 - len(table.columns)) / 20))[position_of_score]
    odds = float(expected_wrong / fraction) / (powers * (1 / powers).sum())
    return dis, 1 / (1 + odds)


def _score_dtype(n_columns: int, size: int) -> Any:
    """The dtype of scores: Python's whole numbers where 64 bits might not do."""
    # The highest score possible: every set of up to `size` columns is a minimal unique.
    largest_score = 0
    for k in range(1, size + 1):
        largest_score += math.comb(n_columns, k) * math.factorial(n_columns - k)
    return np.int64 if largest_score < 2**62 else object


def _unpack_bits(bits: NDArray[np.uint8], size: int) -> NDArray[np.bool_]:
    return np.unpackbits(bits, count=size).astype(bool)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def levels(n_columns: int, size: int) -> int:
    """How many sets of up to so many columns there are."""
    return sum(math.comb(n_columns, k) for k in range(1, min(size, n_columns) + 1))
