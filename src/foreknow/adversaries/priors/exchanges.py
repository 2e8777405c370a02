"""Exchanges: bounds of posteriors where no exact one is at hand, with facts on top of priors.

If a person with value x exchanges it with somebody u who has y, a world is so many times as heavy
as u's part says: ``f_t(y) / f_t(x) * f_u(x) / f_u(y)``. In every world in which t has x, c_y others
have y; so what t's exchanges with them add up to is at least the sum of the c_y least. Each world
that they lead to is reached from at most c_x worlds, since t exchanges back with a holder of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.assignment import possible
from foreknow.adversaries.priors.signature_groups import FloatArray
from foreknow.data.sparse import IntArray

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
            sums = _Lists.of(ratio, order, people).sums(take)
            rows.append(_times(own, sums).sum(axis=1)[0])
        return np.asarray(np.minimum(np.stack(rows, axis=1), _MOST))
    ratio, own, order, people = _ratios(f, n, slice(None))
    lists = _Lists.of(ratio, order, people)
    each = _times(own, lists.sums(take))
    # Given that t has x, of which one less is left, how likely can u be to have y?
    fewer = _times(own, lists.sums(take - 1))
    others = 1.0 - np.eye(len(c))
    left = np.einsum("yzu,zx->xyu", each, others) + fewer.swapaxes(0, 1)
    chance = np.minimum(take / (take + left) * (1 + _SPARE), 1.0)
    # So much less is taken that roundings of running totals reach no greater ratio.
    less = take * (1 - _SPARE * (16 + len(n)))
    capped = _times(own, _Lists.of(ratio, order, people * chance).sums(less, chance))
    return np.asarray(np.minimum(np.maximum(each, capped).sum(axis=1).T, _MOST))


def _ratios(
    f: FloatArray, n: IntArray, rows: slice
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """By some x, all y, and u or t: ratios, factors, the order of ratios, and people who count."""
    wide, long = f[..., rows, None, :], f[..., None, :, :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(long > 0, wide / long, np.inf)
        own = np.where(wide > 0, long / wide, 0.0)
    own *= ~np.eye(f.shape[-2], dtype=bool)[rows, :, None]
    people = np.where(np.isfinite(ratio), n[..., None, None, :], 0).astype(np.float64)
    return ratio, own, np.argsort(ratio, axis=-1), people


def _times(own: FloatArray, sums: FloatArray) -> FloatArray:
    """``own * sums`` within limits; 0 where own is."""
    with np.errstate(over="ignore"):
        found = np.where(own > 0, own * np.minimum(sums, _MOST), 0.0)
    return np.asarray(np.minimum(found, _MOST))


class _Lists(NamedTuple):
    """By x and y, and each kind of people u: ratios as they come, and the least first."""

    ratio: FloatArray
    order: IntArray
    least: FloatArray
    there: FloatArray  # how many people these are
    ends: FloatArray  # and with those before

    @classmethod
    def of(cls, ratio: FloatArray, order: IntArray, amounts: FloatArray) -> _Lists:
        """Sort amounts of people as their ratios are."""
        there = np.take_along_axis(amounts, order, axis=-1)
        least = np.take_along_axis(ratio, order, axis=-1)
        return cls(ratio, order, least, there, np.cumsum(there, axis=-1))

    def sums(self, take: FloatArray, one: FloatArray | float = 1.0) -> FloatArray:
        """By x, y and t: sum of the least ratios over u, as far as `take` goes, without t."""
        least, there, ends = self.least, self.there, self.ends
        used = np.clip(take - (ends - there), 0, there)
        # Where t is among the first, the next in order takes its place, or others after it.
        after = (ends <= take).sum(axis=-1, keepdims=True)
        end = np.full((*least.shape[:-1], 1), np.inf)
        following = np.take_along_axis(np.concatenate([least, end], axis=-1), after, axis=-1)
        inside = np.empty(least.shape, dtype=bool)
        np.put_along_axis(inside, self.order, (ends <= take) & (there > 0), axis=-1)
        with np.errstate(invalid="ignore", over="ignore"):
            whole = np.where(used > 0, used * least, 0.0).sum(axis=-1, keepdims=True)
            return np.where(inside, whole + one * (following - self.ratio), whole)


# ---- facts on top -------------------------------------------------------------------------------


def least_odds(
    n: IntArray,
    c: IntArray,
    f: FloatArray,
    secret: NDArray[np.bool_],
    amounts: Amounts,
    rows: slice = slice(None),
) -> tuple[FloatArray, FloatArray]:
    """Odds against x for t at least, of many groups of one shape; and those of linked people.

    Shapes: n (groups, signatures); c, secret (groups, values); f (groups, values, signatures).
    Results are by group, x of `rows` and t; of linked people, one after another along a first axis.
    A value is a secret by itself, but those of `secret` are one, of which t has none.

    Of l values that t is known not to have, and of k people, those count whose exchanges weigh
    most: of each value the sum of all holders' but so many, or nothing where it is ruled out.
    """
    l, k, m = amounts
    ratio, own, order, people = _ratios(f, n, rows)
    own *= ~(secret[:, rows, None] & secret[:, None, :])[..., None]
    lists, take = _Lists.of(ratio, order, people), c[:, None, :, None].astype(np.float64)
    # By j: of all holders of y but the j whose exchanges weigh most.
    sums = [_times(own, lists.sums(np.maximum(take - j, 0))) for j in range(k + m + 1)]
    each = [[by_value[:, :, y] for by_value in sums] for y in range(c.shape[1])]
    best = _fewest(each, amounts, np.zeros(each[0][0].shape), np.minimum)
    holders = np.where(f > 0, c[:, :, None], 0)[:, rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = [
            np.where(holders > 0, own / holders, np.inf) for own in (best[l][k], *best[0][k + 1 :])
        ]
    return odds[0], np.array(odds[1:]).reshape(m, *holders.shape)


def _fewest(each: Sequence[Sequence[Any]], amounts: Amounts, nothing: Any, least: Any) -> Any:
    """By how many values are ruled out, and people known: the least sum over all others.

    `each` has, of each value, the sums without 0, 1, ... of its holders. With nothing ruled out,
    people are known up to k + m.
    """
    l, k, m = amounts
    best = [[nothing] * (k + m + 1), *([nothing] * (k + 1) for _ in range(l))]
    for own in each:
        before = best
        best = [[before[a][b] + own[0] for b in range(len(before[a]))] for a in range(l + 1)]
        for a, row in enumerate(best):
            for b in range(len(row)):
                for j in range(1, b + 1):
                    row[b] = least(row[b], before[a][b - j] + own[j])
                if a:
                    row[b] = least(row[b], before[a - 1][b])
    return best


def exact_odds(
    n: Sequence[int],
    c: Sequence[int],
    f: Sequence[Sequence[Fraction]],
    t: int,
    secret: Sequence[int],
    amounts: Amounts,
) -> list[Fraction | float]:
    """The same of one signature t as fractions, of some values that are one secret; or infinite."""
    l, k, m = amounts
    against: list[Any] = [Fraction(0)] * (m + 1)  # what is added up are odds for it
    for x in secret:
        if not f[t][x]:
            continue
        each = [
            [_exact_sum(n, max(c[y] - j, 0), f, t, x, y) for j in range(k + m + 1)]
            for y in range(len(c))
            if y not in secret
        ]
        best = _fewest(each, amounts, Fraction(0), min)
        for i, own in enumerate((best[l][k], *best[0][k + 1 :])):
            against[i] += c[x] / own if own else float("inf")
    return [float("inf") if not own else 0 if own == float("inf") else 1 / own for own in against]


def _exact_sum(
    n: Sequence[int], take: int, f: Sequence[Sequence[Fraction]], t: int, x: int, y: int
) -> Fraction | float:
    """What t's exchanges add up to with the so many holders of y with whom they weigh least."""
    if not f[t][y]:
        return Fraction(0)
    total, people = Fraction(0), [n[u] - (u == t) for u in range(len(n))]
    for weight, u in sorted((f[u][x] / f[u][y], u) for u in range(len(n)) if f[u][y]):
        used = min(take, people[u])
        total, take = total + used * weight, take - used
    return float("inf") if take else total * f[t][y] / f[t][x]
