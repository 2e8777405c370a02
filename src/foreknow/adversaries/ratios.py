"""T and V of the skyline paper (section 6.1) for one value per person, as floats and fractions.

Amounts are read as "at most", every numerator is clipped at 0, and V(0, k) = 1: with these
conventions the closed form equals the worst case over all worlds, boundaries included.

n is the number of people of a group, s how many of them have the target value, and a how many
have neither the target value nor one of the l most frequent others.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.sparse import IntArray

FloatArray = NDArray[np.float64]
# An amount of facts, of all cells alike or of each.
Amount: TypeAlias = "int | IntArray"

_BLOCK = 1 << 16
TINY = float(np.nextafter(0, 1))


def capped(amount: Amount) -> Amount:
    """No more than any release has people, so that whole numbers do not overflow."""
    return min(amount, 2**61) if isinstance(amount, int) else np.minimum(amount, 2**61)


def t_ratio(a: IntArray, s: IntArray, k: Amount) -> FloatArray:
    """T(l, k): odds against the target having the value, as float64 of the shape of `a`."""
    left: FloatArray = np.maximum(a - capped(k), 0).astype(np.float64)
    left /= s
    return left


def v_ratio(n: IntArray, s: IntArray, m: Amount, k: Amount) -> FloatArray:
    """V(m, k): chance that none of m family members has the value, as float64.

    O(min(m, largest s)) vector operations.
    """
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


def times(one: FloatArray, other: FloatArray) -> FloatArray:
    """Multiply ratios so that a product is 0 only if a factor is, never by underflow.

    So a float of 0 means certainty, exactly. Infinity times 0, where a value is nowhere, is NaN.
    """
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


def t_exact(a: int, s: int, k: int) -> Fraction:
    """T(l, k) of one group as a fraction."""
    return Fraction(max(a - k, 0), s)


def v_exact(n: int, s: int, m: int, k: int) -> Fraction:
    """V(m, k) of one group as a fraction."""
    if m == 0:
        return Fraction(1)
    if n - s - k - (m - 1) <= 0:
        return Fraction(0)
    if m <= s:
        return Fraction(math.perm(n - s - k, m), math.perm(n - k, m))
    return Fraction(math.perm(n - k - m, s), math.perm(n - k, s))
