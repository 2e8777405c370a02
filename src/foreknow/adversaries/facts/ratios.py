"""Formulas: T and V of the skyline paper for each semantics, under one set of names.

Everything else about facts (the five minima, ledgers, skylines, witnesses) is the same whether a
person has one value, a set, or a bag of them; the formulas are what differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.counts import Semantics
from foreknow.data.sparse import IntArray

FloatArray = NDArray[np.float64]
# An amount of facts, of all cells alike or of each.
Amount: TypeAlias = "int | IntArray"

_BLOCK = 1 << 16
TINY = float(np.nextafter(0, 1))


def capped(amount: Amount) -> Amount:
    """No more than any release has people, so that whole numbers do not overflow."""
    return min(amount, 2**61) if isinstance(amount, int) else np.minimum(amount, 2**61)


def t_ratio(n: IntArray, s: IntArray, slack: NDArray[Any], k: Amount) -> FloatArray:
    """T(l, k): odds against the target having the value."""
    left: FloatArray = np.maximum(slack - capped(k), 0).astype(np.float64)
    left /= s
    return left


def v_ratio(n: IntArray, s: IntArray, m: Amount, k: Amount) -> FloatArray:
    """V(m, k): chance that none of m family members has the value, as float64."""
    none = np.equal(m, 0)
    if none.all():
        return np.ones(len(n))
    m, k = capped(m), capped(k)
    # Clipped where the last numerator is not positive.
    possible = (n - s - k - (m - 1) > 0) & ~none
    product = (possible | none).astype(np.float64)
    if not possible.any():
        return product
    inside = np.flatnonzero(possible) if not possible.all() else slice(None)
    free = (n - k)[inside].astype(np.float64)
    own = s[inside].astype(np.float64)
    family = m if isinstance(m, int) else m[inside].astype(np.float64)
    # The same chance, counted from the family or from the holders of the value: fewer factors.
    fewest, most = int(own.max()), int(np.max(family))
    if most <= fewest:
        upto = None if isinstance(family, int) else family
        product[inside] = _falling(free - own, free, most, upto)
    else:
        product[inside] = _falling(free - family, free, fewest, own)
    product[inside] = np.maximum(product[inside], TINY)
    return product


def safe_product(one: FloatArray, other: FloatArray) -> FloatArray:
    """Multiply ratios so that a product is 0 only if a factor is, never by underflow."""
    with np.errstate(invalid="ignore"):
        product = one * other
    lost = (product == 0) & (one > 0) & (other > 0)
    return np.where(lost, TINY, product)


def _falling(
    top: FloatArray, bottom: FloatArray, steps: int, upto: FloatArray | None = None
) -> FloatArray:
    """Product over i < steps (and i < upto) of (top - i) / (bottom - i)."""
    product = np.ones(len(top))
    block = max(1, _BLOCK // max(1, len(top)))
    for start in range(0, steps, block):
        i = np.arange(start, min(start + block, steps), dtype=np.float64)[:, None]
        if upto is None:
            product *= np.prod((top - i) / (bottom - i), axis=0)
        else:
            within = i < upto
            upper = np.where(within, top - i, 1.0)
            product *= np.prod(upper / np.where(within, bottom - i, 1.0), axis=0)
    return product


def t_exact(n: int, s: int, slack: Fraction, k: int) -> Fraction:
    """T(l, k) of one group as a fraction."""
    return Fraction(max(int(slack) - k, 0), s)


def v_exact(n: int, s: int, m: int, k: int) -> Fraction:
    """V(m, k) of one group as a fraction."""
    if m == 0:
        return Fraction(1)
    if n - s - k - (m - 1) <= 0:
        return Fraction(0)
    if m <= s:
        return Fraction(math.perm(n - s - k, m), math.perm(n - k, m))
    return Fraction(math.perm(n - k - m, s), math.perm(n - k, s))


def t_set(n: IntArray, s: IntArray, slack: FloatArray, k: Amount) -> FloatArray:
    """T(l, k) under ``set``, as float64."""
    odds = np.maximum(n - s - capped(k), 0) / s
    return safe_product(odds, slack)


def t_multiset(n: IntArray, s: IntArray, slack: FloatArray, k: Amount) -> FloatArray:
    """T(l, k) under ``multiset``, as float64."""
    free = n - capped(k)
    possible = free > 1
    rate = s * np.log1p(-1 / np.where(possible, free, 2))  # log of the chance of no occurrence
    odds = np.maximum(np.exp(rate) / -np.expm1(rate), TINY)
    return safe_product(np.where(possible, odds, 0.0), slack)


def v_multiset(n: IntArray, s: IntArray, m: Amount, k: Amount) -> FloatArray:
    """V(m, k) under ``multiset``, as float64; under ``set`` it is as under ``single``."""
    m = capped(m)
    free = n - capped(k)
    possible = free > m
    share = np.where(possible, m, 0) / np.where(possible, free, 1)
    chance = np.maximum(np.exp(s * np.log1p(-share)), TINY)
    return np.where(possible | np.equal(m, 0), chance, 0.0)


def slack_set(n: IntArray, tops: IntArray) -> FloatArray:
    """Chance of having none of some values under ``set``."""
    chance = np.ones(len(n))
    for column in tops.T:
        chance = safe_product(chance, (n - column) / n)
    return chance


def slack_multiset(n: IntArray, occurrences: IntArray) -> FloatArray:
    """Chance of having none of some values under ``multiset``, given how often all occur."""
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.maximum(np.exp(occurrences * np.log1p(-1 / n)), TINY)
    return np.where(occurrences == 0, 1.0, np.where(n == 1, 0.0, chance))


def t_set_exact(n: int, s: int, slack: Fraction, k: int) -> Fraction:
    """T(l, k) of one group under ``set`` as a fraction."""
    return Fraction(max(n - s - k, 0), s) * slack


def t_multiset_exact(n: int, s: int, slack: Fraction, k: int) -> Fraction:
    """T(l, k) of one group under ``multiset`` as a fraction."""
    free = n - k
    if free <= 1:
        return Fraction(0)
    none = (free - 1) ** s
    return Fraction(none, free**s - none) * slack


def v_multiset_exact(n: int, s: int, m: int, k: int) -> Fraction:
    """V(m, k) of one group under ``multiset`` as a fraction."""
    if m == 0:
        return Fraction(1)
    if n - k - m <= 0:
        return Fraction(0)
    return Fraction(n - k - m, n - k) ** s


def slack_exact(n: int, s: int, others: Sequence[int]) -> Fraction:
    """How many people have neither the value nor one of the others."""
    return Fraction(n - s - sum(others))


def slack_set_exact(n: int, s: int, others: Sequence[int]) -> Fraction:
    """Chance of having none of some values under ``set``, as a fraction."""
    chance = Fraction(1)
    for count in others:
        chance *= Fraction(n - count, n)
    return chance


def slack_multiset_exact(n: int, s: int, others: Sequence[int]) -> Fraction:
    """Chance of having none of some values under ``multiset``, as a fraction."""
    return Fraction(n - 1, n) ** sum(others)


class Formulas(NamedTuple):
    """T and V of cells: of many as floats, of one as a fraction; and its exact slack."""

    t: Callable[[IntArray, IntArray, NDArray[Any], Amount], FloatArray]
    v: Callable[[IntArray, IntArray, Amount, Amount], FloatArray]
    t_exact: Callable[[int, int, Fraction, int], Fraction]
    v_exact: Callable[[int, int, int, int], Fraction]
    slack_exact: Callable[[int, int, Sequence[int]], Fraction]


FORMULAS: dict[Semantics, Formulas] = {
    "single": Formulas(t_ratio, v_ratio, t_exact, v_exact, slack_exact),
    "set": Formulas(t_set, v_ratio, t_set_exact, v_exact, slack_set_exact),
    "multiset": Formulas(
        t_multiset, v_multiset, t_multiset_exact, v_multiset_exact, slack_multiset_exact
    ),
}
