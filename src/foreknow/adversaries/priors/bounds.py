"""Upper bounds of joint posteriors for groups out of reach: two people exchange their values.

Let P be the chance that t has x, N the people, c_y how often y occurs. Exchanging the values of t
and u maps worlds where t has x and u has y to worlds where t has y and u has x, whose weight is
``f(t,y) f(u,x) / (f(t,x) f(u,y))`` times as large. Summed over u and y, with a(u, y) the chance
that u has y given that t has x,

    c_x (1 - P) >= P * sum over u and y of a(u,y) * f(t,y) f(u,x) / (f(t,x) f(u,y)).

Every a is at most 1. For each y they sum to c_y over u, so the sum over u is at least that of the
c_y smallest ratios: *by value*. For each u they sum to at most 1 over y, and to N - c_x in all, so
it is at least the sum of the N - c_x smallest of each one's smallest ratio: *by person*. Both are
right; the larger sum S is taken, and ``P <= c_x / (c_x + S)``. By value it is done twice: what is
left when t has x is a group, in which a(u, y) is a posterior and is bounded in the same way; so
the second time no a(u, y) is taken to be more than that. The largest ratios give a lower
bound in the same way, except where t could have y but u, who could have x, could not: then
exchanging back leads to no world, and the lower bound is 0. Last, a signature's people hold what
others leave: ``n_s P <= c_x - (what others hold at least)``, and ``P <= 1 - (other values)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from foreknow.adversaries.priors.dynamic_program import ROUNDING
from foreknow.adversaries.priors.exact import possible
from foreknow.adversaries.priors.signature_groups import FloatArray
from foreknow.data.sparse import IntArray

# Above it, what is gained by an exact sum is nothing.
_MOST = 1e300
# More than the roundings of a chance; chances are taken to be so much larger.
_SPARE = 2.0**-40
# Values squared times signatures for which sums by value are worked out twice, and lower bounds.
_TWICE = 1 << 21
# Signatures squared times values for which the sums by person are worked out, too.
_BY_PERSON = 10**7


def upper_bounds(people: Sequence[int], counts: Sequence[int], chances: FloatArray) -> FloatArray:
    """Bound posteriors from above, as floats that are never below them.

    Parameters
    ----------
    people, counts : sequences of int
    chances : float array, shape (signatures, values)
        0 wherever no world has the pair; see `feasible.possible`.

    Examples
    --------
    >>> upper_bounds([1, 1], [1, 1], np.array([[0.1, 0.9], [0.003, 0.997]])).round(4)
    array([[0.9736, 0.0264],
           [0.0264, 0.9736]])
    """
    n, c = np.array(people, np.int64), np.array(counts, np.int64)
    least_sums, greatest_sums = _by_value(n, c, chances)
    if len(n) ** 2 * len(c) <= _BY_PERSON:
        least_sums = np.maximum(least_sums, _by_person(n, c, chances))
    # Every sum and quotient has terms of one sign: this covers their roundings, and the priors'.
    error = 16 * ROUNDING * (len(n) + len(c) + 16)
    most = np.minimum(c / (c + least_sums) * (1 + error), 1.0)
    least = c / (c + greatest_sums) * (1 - error)
    held = chances > 0
    most, least = np.where(held, most, 0.0), np.where(held, least, 0.0)
    by_others = (c - (n[:, None] * least).sum(axis=0) + n[:, None] * least) / n[:, None]
    by_rest = 1 - least.sum(axis=1, keepdims=True) + least
    spare = error * (1 + c / n[:, None] + int(c.sum()) / n[:, None])
    refined = np.minimum(by_others, by_rest) + spare
    return np.where(held, np.clip(np.minimum(most, refined), 0.0, 1.0), 0.0)


def _by_value(n: IntArray, c: IntArray, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """By value: for each signature and x, the least and the greatest sum over others.

    ``f(t,y) / f(t,x)`` is the same for all u, so ``f(u,x) / f(u,y)`` is sorted once for x and y.
    """
    f, take = chances.T, c[None, :, None].astype(np.float64)
    if len(c) ** 2 * len(n) > _TWICE:
        rows = []
        for x in range(len(c)):
            ratio, own, order, people = _ratios(f, n, slice(x, x + 1))
            sums = _least_sums(ratio, order, people, 1.0, take)
            rows.append(_products(own, sums).sum(axis=1)[0])
        return np.minimum(np.stack(rows, axis=1), _MOST), np.full(chances.shape, np.inf)
    ratio, own, order, people = _ratios(f, n, slice(None))
    each = _products(own, _least_sums(ratio, order, people, 1.0, take))
    # Given that t has x, of which one less is left, how likely can u be to have y?
    fewer = _products(own, _least_sums(ratio, order, people, 1.0, take - 1))
    others = 1.0 - np.eye(len(c))
    left = np.einsum("yzu,zx->xyu", each, others) + fewer.swapaxes(0, 1)
    chance = np.minimum(take / (take + left) * (1 + _SPARE), 1.0)
    # So much less is taken that roundings of running totals reach no greater ratio.
    less = take * (1 - _SPARE * (16 + len(n)))
    capped = _products(own, _least_sums(ratio, order, people * chance, chance, less))
    least_sums = np.maximum(each, capped).sum(axis=1).T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Of the greatest, nobody is left out, which is on the safe side.
        amounts = np.take_along_axis(people, order[:, :, ::-1], axis=2)
        before = np.cumsum(amounts, axis=2) - amounts
        sorted_ratio = np.take_along_axis(ratio, order[:, :, ::-1], axis=2)
        greatest = _first(sorted_ratio, amounts, before, take)
        stuck = ((f[None, :, :] == 0) & (f[:, None, :] > 0)).any(axis=2, keepdims=True)
        greatest = np.where(stuck, np.inf, greatest)
        greatest_sums = np.where(own > 0, own * greatest, 0.0).sum(axis=1).T
    return np.minimum(least_sums, _MOST), greatest_sums


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


def _products(own: FloatArray, sums: FloatArray) -> FloatArray:
    """``own * sums`` within limits; 0 where own is."""
    with np.errstate(over="ignore"):
        found = np.where(own > 0, own * np.minimum(sums, _MOST), 0.0)
    return np.minimum(found, _MOST)


def _least_sums(
    ratio: FloatArray,
    order: IntArray,
    amounts: FloatArray,
    one: FloatArray | float,
    take: FloatArray,
) -> FloatArray:
    """By x, y and t: sum of the least ratios over u, so much being taken and t being out.

    Parameters
    ----------
    ratio, order : arrays, by x, y and u
        The latter sorts the former.
    amounts : float array
        How much there is of each u.
    one : float array or float
        How much of it is one person's.
    take : float array, by y
    """
    sorted_ratio = np.take_along_axis(ratio, order, axis=2)
    there = np.take_along_axis(amounts, order, axis=2)
    ends = np.cumsum(there, axis=2)
    whole = _first(sorted_ratio, there, ends - there, take)
    # Where t is among the first, the next in order takes its place, or others after it.
    after = (ends <= take).sum(axis=2, keepdims=True)
    end = np.full((*ratio.shape[:2], 1), np.inf)
    following = np.take_along_axis(np.concatenate([sorted_ratio, end], axis=2), after, axis=2)
    inside = np.empty(ratio.shape, dtype=bool)
    np.put_along_axis(inside, order, (ends <= take) & (there > 0), axis=2)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(inside, whole + one * (following - ratio), whole)


def _first(
    ratio: FloatArray, amounts: FloatArray, before: FloatArray, take: FloatArray
) -> FloatArray:
    """Sum of the first so much along the last axis; of all, where there is less."""
    used = np.clip(take - before, 0, amounts)
    with np.errstate(invalid="ignore", over="ignore"):
        found: FloatArray = np.where(used > 0, used * ratio, 0.0).sum(axis=2, keepdims=True)
    return found


def _by_person(n: IntArray, c: IntArray, chances: FloatArray) -> FloatArray:
    """By person: for each signature and x, the least sum over others."""
    found = np.zeros(chances.shape)
    everyone = np.arange(len(n))
    values = np.arange(len(c))
    for s in everyone.tolist():
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.where(chances > 0, chances[s] / chances, np.inf)
            lowest = ratio.argmin(axis=1)
            second = ratio.copy()
            second[everyone, lowest] = np.inf
            rest = np.where(
                values == lowest[:, None], second.min(axis=1)[:, None], ratio.min(axis=1)[:, None]
            )
            each = np.where(np.isinf(rest), _MOST, rest * (chances / chances[s]))
        each = np.minimum(np.nan_to_num(each, nan=_MOST), _MOST)
        order = np.argsort(each, axis=0)
        amounts = (n - (everyone == s))[order]
        used = np.clip(int(n.sum()) - c - (np.cumsum(amounts, axis=0) - amounts), 0, amounts)
        sums = (used * np.take_along_axis(each, order, axis=0)).sum(axis=0)
        found[s] = np.where(chances[s] > 0, np.minimum(sums, _MOST), 0.0)
    return found


def exact_bound(
    people: Sequence[int],
    counts: Sequence[int],
    chances: Sequence[Sequence[Fraction]],
    signature: int,
    value: int,
) -> Fraction | None:
    """The bound by value and by person as a fraction; None where no world has positive weight.

    Examples
    --------
    >>> table = [[Fraction(1, 10), Fraction(9, 10)], [Fraction(3, 1000), Fraction(997, 1000)]]
    >>> exact_bound([1, 1], [1, 1], table, 0, 0)
    Fraction(997, 1024)
    """
    held = possible(np.array([[bool(f) for f in row] for row in chances]), people, counts)
    if held is None:
        return None
    if not held[signature, value]:
        return Fraction(0)
    f = [
        [e if held[s, x] else Fraction(0) for x, e in enumerate(row)]
        for s, row in enumerate(chances)
    ]
    own, c = f[signature], counts[value]
    others = [amount - (s == signature) for s, amount in enumerate(people)]
    columns = [y for y in range(len(counts)) if y != value]
    ratio = {
        (u, y): own[y] * f[u][value] / (own[value] * f[u][y])
        for u in range(len(people))
        for y in columns
        if f[u][y]
    }
    by_value = sum(
        (
            _least(((ratio[u, y], others[u]) for u in range(len(people)) if f[u][y]), counts[y])
            for y in columns
        ),
        Fraction(0),
    )
    each = [
        (min(ratio[u, y] for y in columns if f[u][y]), amount)
        for u, amount in enumerate(others)
        if any(f[u][y] for y in columns)
    ]
    by_person = _least(each, sum(people) - c)
    return Fraction(c) / (c + max(by_value, by_person))


def _least(amounts: Iterable[tuple[Fraction, int]], take: int) -> Fraction:
    """Sum of the smallest `take` of ratios with multiplicities; of all where there are fewer."""
    total = Fraction(0)
    for ratio, amount in sorted(amounts):
        some = min(take, amount)
        total += ratio * some
        take -= some
    return total
