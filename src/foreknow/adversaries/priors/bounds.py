"""Upper bounds of joint posteriors for groups out of reach: two people exchange their values.

Let P be the chance that t has x, N the people, c_y how often y occurs. Exchanging the values of t
and u maps worlds where t has x and u has y to worlds where t has y and u has x, whose weight is
``f(t,y) f(u,x) / (f(t,x) f(u,y))`` times as large. Summed over u and y, with a(u, y) the chance
that u has y given that t has x,

    c_x (1 - P) >= P * sum over u and y of a(u,y) * f(t,y) f(u,x) / (f(t,x) f(u,y)).

Every a is at most 1, and for each y they sum to c_y over u. So the sum over u is at least that of
the c_y smallest ratios, and with the sum S over all y, ``P <= c_x / (c_x + S)``. This is done
twice: what is left when t has x is a group, in which a(u, y) is a posterior and is bounded in the
same way; so the second time no a(u, y) is taken to be more than that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreknow.adversaries.assignment import possible
from foreknow.adversaries.priors.signature_groups import FloatArray
from foreknow.data.sparse import IntArray

# Half a unit in the last place of 1.
ROUNDING = 2.0**-53
# Above it, what is gained by an exact sum is nothing.
_MOST = 1e300
# More than the roundings of a chance; chances are taken to be so much larger.
_SPARE = 2.0**-40
# Values squared times signatures for which sums are worked out twice.
_TWICE = 1 << 21


def upper_bounds(people: Sequence[int], counts: Sequence[int], chances: FloatArray) -> FloatArray:
    """Bound posteriors, shape (signatures, values); NaN everywhere where there is no world.

    >>> upper_bounds([1, 1], [1, 1], np.array([[0.1, 0.9], [0.003, 0.997]])).round(4)
    array([[0.9736, 0.0264],
           [0.0264, 0.9736]])
    """
    held = possible(chances > 0, people, counts)
    if held is None:
        return np.full(chances.shape, np.nan)
    f = np.where(held, chances, 0.0)
    n, c = np.array(people, np.int64), np.array(counts, np.int64)
    sums = _least_exchanges(n, c, f)
    # Every sum and quotient has terms of one sign: this covers their roundings, and the priors'.
    error = 16 * ROUNDING * (len(n) + len(c) + 16)
    found: FloatArray = np.where(held, np.minimum(c / (c + sums) * (1 + error), 1.0), 0.0)
    return found


def _least_exchanges(n: IntArray, c: IntArray, chances: FloatArray) -> FloatArray:
    """By signature and x the least sum over others; ratios of two values are sorted once."""
    f, take = chances.T, c[None, :, None].astype(np.float64)
    if len(c) ** 2 * len(n) > _TWICE:
        rows = []
        for x in range(len(c)):
            ratio, own, order, people = _ratios(f, n, slice(x, x + 1))
            sums = _least_sums(ratio, order, people, 1.0, take)
            rows.append(_times(own, sums).sum(axis=1)[0])
        return np.asarray(np.minimum(np.stack(rows, axis=1), _MOST))
    ratio, own, order, people = _ratios(f, n, slice(None))
    each = _times(own, _least_sums(ratio, order, people, 1.0, take))
    # Given that t has x, of which one less is left, how likely can u be to have y?
    fewer = _times(own, _least_sums(ratio, order, people, 1.0, take - 1))
    others = 1.0 - np.eye(len(c))
    left = np.einsum("yzu,zx->xyu", each, others) + fewer.swapaxes(0, 1)
    chance = np.minimum(take / (take + left) * (1 + _SPARE), 1.0)
    # So much less is taken that roundings of running totals reach no greater ratio.
    less = take * (1 - _SPARE * (16 + len(n)))
    capped = _times(own, _least_sums(ratio, order, people * chance, chance, less))
    return np.asarray(np.minimum(np.maximum(each, capped).sum(axis=1).T, _MOST))


def _ratios(
    f: FloatArray, n: IntArray, rows: slice
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """By some x, all y, and u or t: ratios, factors, the order of ratios, and people who count."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(f > 0, f[rows, None, :] / f[None, :, :], np.inf)
        own = np.where(f[rows, None, :] > 0, f[None, :, :] / f[rows, None, :], 0.0)
    own *= ~np.eye(len(f), dtype=bool)[rows, :, None]
    people = np.where(np.isfinite(ratio), n, 0).astype(np.float64)
    return ratio, own, np.argsort(ratio, axis=2), people


def _times(own: FloatArray, sums: FloatArray) -> FloatArray:
    """``own * sums`` within limits; 0 where own is."""
    with np.errstate(over="ignore"):
        found = np.where(own > 0, own * np.minimum(sums, _MOST), 0.0)
    return np.asarray(np.minimum(found, _MOST))


def _least_sums(
    ratio: FloatArray,
    order: IntArray,
    amounts: FloatArray,
    one: FloatArray | float,
    take: FloatArray,
) -> FloatArray:
    """By x, y and t: sum of the least ratios over u, as far as `take` goes, without t."""
    least = np.take_along_axis(ratio, order, axis=2)
    there = np.take_along_axis(amounts, order, axis=2)
    ends = np.cumsum(there, axis=2)
    used = np.clip(take - (ends - there), 0, there)
    # Where t is among the first, the next in order takes its place, or others after it.
    after = (ends <= take).sum(axis=2, keepdims=True)
    end = np.full((*ratio.shape[:2], 1), np.inf)
    following = np.take_along_axis(np.concatenate([least, end], axis=2), after, axis=2)
    inside = np.empty(ratio.shape, dtype=bool)
    np.put_along_axis(inside, order, (ends <= take) & (there > 0), axis=2)
    with np.errstate(invalid="ignore", over="ignore"):
        whole = np.where(used > 0, used * least, 0.0).sum(axis=2, keepdims=True)
        return np.asarray(np.where(inside, whole + one * (following - ratio), whole))
