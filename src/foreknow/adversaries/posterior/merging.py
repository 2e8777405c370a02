"""Kinds of people or values whose weights are proportional count as one.

Scaling a row or a column of the weights leaves the posterior as it is. So signatures with
proportional priors over the held values have the same posterior, and values with proportional
priors share that of their union in proportion to how often they occur.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.posterior.priors import FloatArray

Table = TypeVar("Table")


@dataclass(frozen=True)
class Merged(Generic[Table]):
    """A smaller problem with the same posteriors.

    Attributes
    ----------
    people, counts : tuple of int
        Of the merged signatures and values.
    chances : table
        Of one signature and one value of each.
    signature_of, value_of : tuple of int
        Where each signature and value went.
    shares : tuple of Fraction
        The share of each value in the value it went into.
    """

    people: tuple[int, ...]
    counts: tuple[int, ...]
    chances: Table
    signature_of: tuple[int, ...]
    value_of: tuple[int, ...]
    shares: tuple[Fraction, ...]


def merge_exact(
    people: Sequence[int], counts: Sequence[int], chances: Sequence[Sequence[Fraction]]
) -> Merged[list[list[Fraction]]]:
    """Merge what is exactly proportional.

    >>> third = Fraction(1, 3)
    >>> merged = merge_exact([1, 1], [1, 1], [[third, third], [third / 2, third / 2]])
    >>> merged.people, merged.counts, merged.shares
    ((2,), (2,), (Fraction(1, 2), Fraction(1, 2)))
    """
    rows = [_direction(row) for row in chances]
    columns = [_direction(column) for column in zip(*chances, strict=True)]
    return _merge(
        people, counts, rows, columns, lambda s, x: [[chances[a][b] for b in x] for a in s]
    )


def merge_floats(
    people: Sequence[int], counts: Sequence[int], chances: FloatArray
) -> Merged[FloatArray]:
    """Merge what is proportional up to rounding: two roundings of each entry at most."""
    rows = [row.tobytes() for row in _directions(chances)]
    columns = [column.tobytes() for column in _directions(chances.T)]
    return _merge(people, counts, rows, columns, lambda s, x: chances[np.ix_(s, x)])


def spread(found: NDArray[np.object_] | FloatArray, merged: Merged[Table]) -> FloatArray:
    """Posteriors of the signatures and values before they were merged, as floats."""
    shares = np.array([float(share) for share in merged.shares])
    return np.asarray(found[np.ix_(merged.signature_of, merged.value_of)] * shares, np.float64)


def _merge(
    people: Sequence[int],
    counts: Sequence[int],
    rows: Sequence[Hashable],
    columns: Sequence[Hashable],
    pick: Callable[[list[int], list[int]], Table],
) -> Merged[Table]:
    signature_of, signatures = _number(rows)
    value_of, values = _number(columns)
    merged_people, merged_counts = [0] * len(signatures), [0] * len(values)
    for new, amount in zip(signature_of, people, strict=True):
        merged_people[new] += amount
    for new, amount in zip(value_of, counts, strict=True):
        merged_counts[new] += amount
    shares = [Fraction(c, merged_counts[new]) for new, c in zip(value_of, counts, strict=True)]
    return Merged(
        tuple(merged_people),
        tuple(merged_counts),
        pick(signatures, values),
        signature_of,
        value_of,
        tuple(shares),
    )


def _number(keys: Sequence[Hashable]) -> tuple[tuple[int, ...], list[int]]:
    """Number equal keys from 0, with the place of the first of each."""
    numbers: dict[Hashable, int] = {}
    firsts: list[int] = []
    for place, key in enumerate(keys):
        if key not in numbers:
            numbers[key] = len(firsts)
            firsts.append(place)
    return tuple(numbers[key] for key in keys), firsts


def _direction(row: Sequence[Fraction]) -> tuple[Fraction, ...]:
    first = next((chance for chance in row if chance), Fraction(1))
    return tuple(chance / first for chance in row)


def _directions(rows: FloatArray) -> FloatArray:
    """Each row divided by its first entry that is not 0."""
    first = np.take_along_axis(rows, (rows > 0).argmax(axis=1)[:, None], axis=1)
    with np.errstate(over="ignore"):
        found: FloatArray = rows / np.where(first > 0, first, 1)
    # A quotient that is not a number of full precision says nothing; such rows stay apart.
    vague = ~np.isfinite(found) | ((found > 0) & (found < 2.0**-1022)) | ((found == 0) & (rows > 0))
    found[vague.any(axis=1)] = rows[vague.any(axis=1)]
    return np.ascontiguousarray(found)
