"""Exchanges: bounds of posteriors where no exact one is at hand, with facts on top of priors.

If a person with value x exchanges it with somebody u who has y, a world is so many times as heavy
as u's part says: ``f_t(y) / f_t(x) * f_u(x) / f_u(y)``. In every world in which t has x, c_y others
have y; so what t's exchanges with them add up to is at least the sum of the c_y least. Each world
that they lead to is reached from at most c_x worlds, since t exchanges back with a holder of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.assignment import possible
from foreknow.data.arrays import FloatArray, IntArray

# Values of the target that are ruled out, people who are known, people who are linked.
Amounts: TypeAlias = tuple[int, int, int]

# Half a unit in the last place of 1.
ROUNDING = 2.0**-53
# Above it, what is gained by an exact sum is nothing.
_MOST = 1e300
# More than the roundings of a chance; chances are taken to be so much larger.
_SPARE = 2.0**-40
# Values squared times signatures for which sums are worked out twice.
_TWICE = 1 << 21


def upper_bounds(people: Sequence[int], counts: Sequence[int], chances: FloatArray) -> FloatArray:
    """Upper bounds of posteriors, shape (signatures, values); NaN everywhere without a world.

    ``people[s]`` people have signature s, ``counts[x]`` people have value x, and ``chances[s, x]``
    is the prior.

    >>> upper_bounds([1, 1], [1, 1], np.array([[0.1, 0.9], [0.003, 0.997]])).round(4)
    array([[0.9736, 0.0264],
           [0.0264, 0.9736]])
    """
    can_have = possible(chances > 0, people, counts)
    if can_have is None:
        return np.full(chances.shape, np.nan)
    f = np.where(can_have, chances, 0.0)
    n, c = np.array(people, np.int64), np.array(counts, np.int64)
    # A posterior is at most c / (c + the least sum of exchanges that lose the value).
    sums = _least_exchanges(n, c, f)
    # Every sum and quotient has terms of one sign: this covers their roundings, and the priors'.
    error = 16 * ROUNDING * (len(n) + len(c) + 16)
    return np.where(can_have, np.minimum(c / (c + sums) * (1 + error), 1.0), 0.0)


def _least_exchanges(n: IntArray, c: IntArray, chances: FloatArray) -> FloatArray:
    """For each signature t and value x, the least sum over other values of exchanges that lose x.

    In a world in which a person of signature t has x, another person has y; the exchange of both
    makes the world likelier by a ratio. The sum takes, for each y, the people where the ratio is
    least.
    """
    f, take = chances.T, c[None, :, None].astype(np.float64)
    if len(c) ** 2 * len(n) > _TWICE:
        # Large groups: a value at a time, without the second step below.
        rows = []
        for x in range(len(c)):
            ratio, factor, order, people = _ratios(f, n, slice(x, x + 1))
            sums = _least_sums(ratio, order, people, 1.0, take)
            rows.append(_times(factor, sums).sum(axis=1)[0])
        return np.asarray(np.minimum(np.stack(rows, axis=1), _MOST))
    ratio, factor, order, people = _ratios(f, n, slice(None))
    # Sums for all pairs of values x and y.
    sums_of_pairs = _times(factor, _least_sums(ratio, order, people, 1.0, take))
    # Given that t has x, of which one less is left, how likely can u be to have y?
    fewer = _times(factor, _least_sums(ratio, order, people, 1.0, take - 1))
    is_other = 1.0 - np.eye(len(c))
    sums_left = np.einsum("yzu,zx->xyu", sums_of_pairs, is_other) + fewer.swapaxes(0, 1)
    chance = np.minimum(take / (take + sums_left) * (1 + _SPARE), 1.0)
    # So much less is taken that roundings of running totals reach no greater ratio.
    less = take * (1 - _SPARE * (16 + len(n)))
    # So only the share `chance` of u's people can have y: fewer of the least ratios count.
    capped = _times(factor, _least_sums(ratio, order, people * chance, chance, less))
    return np.asarray(np.minimum(np.maximum(sums_of_pairs, capped).sum(axis=1).T, _MOST))


def _ratios(
    f: FloatArray, n: IntArray, rows: slice
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """The two factors by which an exchange of values x and y changes the weight of a world.

    t has x and u has y; f has the priors, shape (values, signatures). Returned are f_u(x) / f_u(y)
    and f_t(y) / f_t(x), the order of the first by u, and how many people of u can take part; shapes
    (x of `rows`, y, signatures).
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(f > 0, f[rows, None, :] / f[None, :, :], np.inf)
        factor = np.where(f[rows, None, :] > 0, f[None, :, :] / f[rows, None, :], 0.0)
    factor *= ~np.eye(len(f), dtype=bool)[rows, :, None]
    people = np.where(np.isfinite(ratio), n, 0).astype(np.float64)
    return ratio, factor, np.argsort(ratio, axis=2), people


def _times(factor: FloatArray, sums: FloatArray) -> FloatArray:
    """The product of a factor and a sum, at most `_MOST`; 0 where the factor is 0."""
    with np.errstate(over="ignore"):
        product = np.where(factor > 0, factor * np.minimum(sums, _MOST), 0.0)
    return np.asarray(np.minimum(product, _MOST))


def _least_sums(
    ratio: FloatArray,
    order: IntArray,
    amounts: FloatArray,
    next_weight: FloatArray | float,
    take: FloatArray,
) -> FloatArray:
    """The sum of the least ratios over people other than t, for each pair of values and each t.

    The last axis is that of signatures. `amounts` people have each ratio, and `take` of them are
    taken, those with the least ratios first (`order`). `next_weight` is how much the one counts who
    takes the place of t.
    """
    sorted_ratio = np.take_along_axis(ratio, order, axis=2)
    sorted_amounts = np.take_along_axis(amounts, order, axis=2)
    ends = np.cumsum(sorted_amounts, axis=2)
    # How many people of each signature are taken.
    used = np.clip(take - (ends - sorted_amounts), 0, sorted_amounts)
    # Where t is among the first, the next in order takes its place, or others after it.
    after = (ends <= take).sum(axis=2, keepdims=True)
    end = np.full((*ratio.shape[:2], 1), np.inf)
    following = np.take_along_axis(np.concatenate([sorted_ratio, end], axis=2), after, axis=2)
    inside = np.empty(ratio.shape, dtype=bool)
    np.put_along_axis(inside, order, (ends <= take) & (sorted_amounts > 0), axis=2)
    with np.errstate(invalid="ignore", over="ignore"):
        # Without t; if t was among those taken, the next one counts instead.
        total = np.where(used > 0, used * sorted_ratio, 0.0).sum(axis=2, keepdims=True)
        return np.asarray(np.where(inside, total + next_weight * (following - ratio), total))


# ---- facts on top -------------------------------------------------------------------------------


def least_odds(
    n: IntArray,
    c: IntArray,
    f: FloatArray,
    secret: NDArray[np.bool_],
    amounts: Amounts,
    rows: slice = slice(None),
) -> tuple[FloatArray, FloatArray]:
    """Lower bounds of the odds against values, and of those for linked people, in floats.

    For many groups of one shape: n (groups, signatures) counts people; c (groups, values) holders;
    f (groups, values, signatures) has the priors. `secret` (groups, values) marks values that are
    one secret; others are each one by itself. `amounts` are l, k, m. The results have the shapes
    (groups, x of `rows`, signatures), and the same with an axis of linked people before.

    Of l values that t is known not to have, and of k known people, those count whose exchanges
    weigh most: for each other value, the sum over its holders without some, or nothing where it is
    ruled out.
    """
    l, k, m = amounts
    take, values = c.T[:, :, None, None], np.arange(c.shape[1])
    # Along the last axis: each person u, by y, group and x; their exchanges, the least first.
    person = np.repeat(np.tile(np.arange(n.shape[1]), len(n)), n.ravel()).reshape(len(n), 1, -1)
    one_each = np.take_along_axis(f, person, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        long = one_each.swapaxes(0, 1)[:, :, None]
        ratio = np.where(long > 0, one_each[:, rows] / long, np.inf)
        wide = f[:, rows]
        factor = np.where(wide > 0, f.swapaxes(0, 1)[:, :, None] / wide, 0.0)
    is_other_value = values[:, None] != values[rows]
    both_secret = secret.T[:, :, None] & secret[None, :, rows]
    factor *= (is_other_value[:, None] & ~both_secret)[..., None]
    ratio.sort(axis=-1)
    until = np.cumsum(ratio, axis=-1)
    # For each y: the sum of the least exchanges of its holders, without j of them.
    sums = []
    for j in range(k + m + 1):  # of all holders of y but the j whose exchanges weigh most
        n_left = np.broadcast_to(np.maximum(take - j, 0), (*ratio.shape[:-1], 1))
        first = np.take_along_axis(until, np.maximum(n_left - 1, 0), axis=-1)
        first = np.where(n_left > 0, np.minimum(first, _MOST), 0.0)
        last = np.take_along_axis(ratio, np.minimum(n_left, ratio.shape[-1] - 1), axis=-1)
        # Where t is among the first, whose own exchange weighs 1, the next takes its place.
        following = np.minimum(last, _MOST) * (1 - 8 * ROUNDING)
        with np.errstate(over="ignore"):
            sums.append(factor * first + np.maximum(factor * following - 1, 0.0))
    sums_of_values = list(zip(*sums, strict=True))
    best = _fewest(sums_of_values, amounts, np.zeros_like(sums[0][0]), np.minimum)
    # c_x / (c_x + sum) is the bound of the chance: so sum / c_x bounds the odds.
    holders = np.where(f > 0, c[:, :, None], 0)[:, rows]
    least_sums = np.minimum((best[l][k], *best[0][k + 1 :]), _MOST)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.where(holders > 0, least_sums / holders, np.inf)
    return odds[0], odds[1:]


def _fewest(
    sums_of_values: Sequence[Sequence[Any]], amounts: Amounts, nothing: Any, minimum: Any
) -> Any:
    """The least sum over all other values, for each number of values ruled out and of people known.

    ``result[a][b]`` is for a values and b people. For each value, `sums_of_values` has the sums
    without 0, 1, ... of its holders. With nothing ruled out, people are known up to k + m.
    """
    l, k, m = amounts
    best = [[nothing] * (k + m + 1), *([nothing] * (k + 1) for _ in range(l))]
    for sums in sums_of_values:
        before, best = best, []
        for a, row_before in enumerate(before):
            row = [least + sums[0] for least in row_before]
            best.append(row)
            # Without anything known of this value; with j of its holders known; or with the value
            # ruled out.
            for b in range(len(row)):
                for j in range(1, b + 1):
                    row[b] = minimum(row[b], before[a][b - j] + sums[j])
                if a:
                    row[b] = minimum(row[b], before[a - 1][b])
    return best


def exact_odds(
    n: Sequence[int],
    c: Sequence[int],
    f: Sequence[Sequence[Fraction]],
    t: int,
    secret: Sequence[int],
    amounts: Amounts,
) -> list[Fraction | float]:
    """The odds against a set of values for people of signature t, then for people linked to them.

    ``n[s]`` is how many people have signature s, ``c[x]`` how many have value x, and ``f[s][x]``
    the prior of value x for signature s. `secret` has the values; `amounts` are l, k and m. Lower
    bounds, as fractions.
    """
    l, k, m = amounts
    against: list[Any] = [Fraction(0)] * (m + 1)  # what is added up are odds for it
    for x in secret:
        if not f[t][x]:
            continue
        sums_of_values = []
        for y in range(len(c)):
            if y not in secret:
                n_left = [max(c[y] - j, 0) for j in range(k + m + 1)]
                sums_of_values.append([_exact_sum(n, left, f, t, x, y) for left in n_left])
        best = _fewest(sums_of_values, amounts, Fraction(0), min)
        # First the target, then each linked person, for whom one more is known.
        for i, sum_of_x in enumerate((best[l][k], *best[0][k + 1 :])):
            against[i] += c[x] * _inverse(sum_of_x)
    return list(map(_inverse, against))


def _inverse(odds: Fraction | float) -> Fraction | float:
    """1 / odds; the inverse of 0 is infinity, and of infinity 0."""
    if not odds:
        return inf
    return Fraction(0) if odds == inf else 1 / odds


def _exact_sum(
    n: Sequence[int], take: int, f: Sequence[Sequence[Fraction]], t: int, x: int, y: int
) -> Fraction | float:
    """The least sum of the weights of exchanges of t, who has x, with `take` holders of y.

    There are ``n[u]`` people of signature u, whose prior of y is ``f[u][y]``. Infinite if fewer can
    have y.
    """
    if not f[t][y]:
        return Fraction(0)
    # t is nobody's partner in an exchange with t.
    total, people = Fraction(0), [n[u] - (u == t) for u in range(len(n))]
    # The least weights first, until `take` holders of y are found.
    for weight, u in sorted((f[u][x] / f[u][y], u) for u in range(len(n)) if f[u][y]):
        used = min(take, people[u])
        total, take = total + used * weight, take - used
    return float("inf") if take else total * f[t][y] / f[t][x]
