"""T and V of the skyline paper (section 6.1) for people with several values, or none.

Under ``set`` every value of a group falls on as many different people as it occurs; under
``multiset`` every occurrence falls on anybody, labelled. Values are independent of each other, so
what the adversary knows of the target is the chance that it has none of the l values that are
known to come only with the target value: ``spare`` here, a product over those values. Amounts are
read as "at most" and every numerator is clipped at 0, the base of a power before the power is
taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from foreknow.adversaries.ratios import TINY, Amount, FloatArray, capped, times
from foreknow.sparse import IntArray


def t_set(n: IntArray, s: IntArray, spare: FloatArray, k: Amount) -> FloatArray:
    """T(l, k) under ``set``, as float64."""
    odds = np.maximum(n - s - capped(k), 0) / s
    return times(odds, spare)


def t_multiset(n: IntArray, s: IntArray, spare: FloatArray, k: Amount) -> FloatArray:
    """T(l, k) under ``multiset``, as float64."""
    free = n - capped(k)
    possible = free > 1
    rate = s * np.log1p(-1 / np.where(possible, free, 2))  # log of the chance of no occurrence
    odds = np.maximum(np.exp(rate) / -np.expm1(rate), TINY)
    return times(np.where(possible, odds, 0.0), spare)


def v_multiset(n: IntArray, s: IntArray, m: Amount, k: Amount) -> FloatArray:
    """V(m, k) under ``multiset``, as float64; under ``set`` it is as under ``single``."""
    m = capped(m)
    free = n - capped(k)
    possible = free > m
    share = np.where(possible, m, 0) / np.where(possible, free, 1)
    chance = np.maximum(np.exp(s * np.log1p(-share)), TINY)
    return np.where(possible | np.equal(m, 0), chance, 0.0)


def spare_set(n: IntArray, tops: IntArray) -> FloatArray:
    """Chance of having none of some values under ``set``.

    Parameters
    ----------
    n : int64 array, shape (cells,)
    tops : int64 array, shape (cells, values)
        How often each of the values occurs in the group; 0 for one that does not.
    """
    chance = np.ones(len(n))
    for column in tops.T:
        chance = times(chance, (n - column) / n)
    return chance


def spare_multiset(n: IntArray, occurrences: IntArray) -> FloatArray:
    """Chance of having none of some values under ``multiset``, given how often all occur."""
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.maximum(np.exp(occurrences * np.log1p(-1 / n)), TINY)
    return np.where(occurrences == 0, 1.0, np.where(n == 1, 0.0, chance))


def t_set_exact(n: int, s: int, spare: Fraction, k: int) -> Fraction:
    """T(l, k) of one group under ``set`` as a fraction."""
    return Fraction(max(n - s - k, 0), s) * spare


def t_multiset_exact(n: int, s: int, spare: Fraction, k: int) -> Fraction:
    """T(l, k) of one group under ``multiset`` as a fraction."""
    free = n - k
    if free <= 1:
        return Fraction(0)
    none = (free - 1) ** s
    return Fraction(none, free**s - none) * spare


def v_multiset_exact(n: int, s: int, m: int, k: int) -> Fraction:
    """V(m, k) of one group under ``multiset`` as a fraction."""
    if m == 0:
        return Fraction(1)
    if n - k - m <= 0:
        return Fraction(0)
    return Fraction(n - k - m, n - k) ** s


def spare_set_exact(n: int, others: Sequence[int]) -> Fraction:
    """Chance of having none of some values under ``set``, as a fraction."""
    chance = Fraction(1)
    for count in others:
        chance *= Fraction(n - count, n)
    return chance


def spare_multiset_exact(n: int, others: Sequence[int]) -> Fraction:
    """Chance of having none of some values under ``multiset``, as a fraction."""
    return Fraction(n - 1, n) ** sum(others)
