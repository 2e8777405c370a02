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

# How many values are ruled out for the target, how many people are known, and how many are linked.
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
    n_people, holders = np.array(people, np.int64), np.array(counts, np.int64)
    sums = _least_exchange_sums(n_people, holders, np.where(can_have, chances, 0.0))
    # Every sum and quotient has terms of one sign: this covers their roundings, and the priors'.
    error = 16 * ROUNDING * (len(n_people) + len(holders) + 16)
    bounds = np.minimum(holders / (holders + sums) * (1 + error), 1.0)
    return np.where(can_have, bounds, 0.0)


def _least_exchange_sums(people: IntArray, counts: IntArray, chances: FloatArray) -> FloatArray:
    """For each signature t and value x, the least sum over other values of exchanges that lose x.

    In a world in which a person of signature t has x, another person has y; the exchange of both
    makes the world likelier by a ratio. The sum takes, for each y, the people where the ratio is
    least. `chances` and the result have the shape (signatures, values).
    """
    f, holders = chances.T, counts[None, :, None].astype(np.float64)
    if len(counts) ** 2 * len(people) > _TWICE:
        # Large groups: a value at a time, without the second step below.
        sums_by_value = []
        for x in range(len(counts)):
            u_part, t_part, order, partners = _exchange_ratios(f, people, slice(x, x + 1))
            sums = _least_sums(u_part, order, partners, take=holders, next_weight=1.0)
            sums_by_value.append(_capped_product(t_part, sums).sum(axis=1)[0])
        return np.asarray(np.minimum(np.stack(sums_by_value, axis=1), _MOST))
    u_part, t_part, order, partners = _exchange_ratios(f, people, slice(None))
    # First step: sums for all pairs of values x and y, if anybody can have y.
    sums = _least_sums(u_part, order, partners, take=holders, next_weight=1.0)
    sums_of_pairs = _capped_product(t_part, sums)
    # Second step: given that t has x, of which one less is left, how likely can u be to have y?
    sums = _least_sums(u_part, order, partners, take=holders - 1, next_weight=1.0)
    sums_of_one_less = _capped_product(t_part, sums)
    is_other = 1.0 - np.eye(len(counts))
    sums_left = np.einsum("yzu,zx->xyu", sums_of_pairs, is_other) + sums_of_one_less.swapaxes(0, 1)
    chance = np.minimum(holders / (holders + sums_left) * (1 + _SPARE), 1.0)
    # So much less is taken that roundings of running totals reach no greater ratio.
    take = holders * (1 - _SPARE * (16 + len(people)))
    # So only the share `chance` of u's people can have y: fewer of the least ratios count.
    sums = _least_sums(u_part, order, partners * chance, take=take, next_weight=chance)
    largest_sums = np.maximum(sums_of_pairs, _capped_product(t_part, sums))
    return np.asarray(np.minimum(largest_sums.sum(axis=1).T, _MOST))


def _exchange_ratios(
    f: FloatArray, people: IntArray, x_rows: slice
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """The two factors by which an exchange of values x and y changes the weight of a world.

    t has x and u has y; `f` has the priors, shape (values, signatures). Returned are u's part,
    f_u(x) / f_u(y); t's part, f_t(y) / f_t(x); the order of u by its part; and how many people of u
    can take part. All have the shape (x of `x_rows`, y, signatures).
    """
    f_of_x, f_of_y = f[x_rows, None, :], f[None, :, :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u_part = np.where(f > 0, f_of_x / f_of_y, np.inf)
        t_part = np.where(f_of_x > 0, f_of_y / f_of_x, 0.0)
    # Who exchanges x for x loses nothing.
    t_part *= ~np.eye(len(f), dtype=bool)[x_rows, :, None]
    partners = np.where(np.isfinite(u_part), people, 0).astype(np.float64)
    return u_part, t_part, np.argsort(u_part, axis=2), partners


def _capped_product(factor: FloatArray, sums: FloatArray) -> FloatArray:
    """The product of a factor and a sum, at most `_MOST`; 0 where the factor is 0."""
    with np.errstate(over="ignore"):
        product = np.where(factor > 0, factor * np.minimum(sums, _MOST), 0.0)
    return np.asarray(np.minimum(product, _MOST))


def _least_sums(
    ratio: FloatArray,
    order: IntArray,
    partners: FloatArray,
    *,
    take: FloatArray,
    next_weight: FloatArray | float,
) -> FloatArray:
    """The sum of the least ratios over people other than t, for each pair of values and each t.

    The last axis is that of signatures. `partners` people have each ratio, and `take` of them are
    taken, those with the least ratios first (`order`). `next_weight` is how much the person counts
    who takes the place of t.
    """
    sorted_ratio = np.take_along_axis(ratio, order, axis=2)
    sorted_partners = np.take_along_axis(partners, order, axis=2)
    ends = np.cumsum(sorted_partners, axis=2)
    # How many people of each signature are taken.
    used = np.clip(take - (ends - sorted_partners), 0, sorted_partners)
    # Where t is among those taken, the next in order takes its place.
    n_taken_whole = (ends <= take).sum(axis=2, keepdims=True)
    end = np.full((*ratio.shape[:2], 1), np.inf)
    with_end = np.concatenate([sorted_ratio, end], axis=2)
    next_ratio = np.take_along_axis(with_end, n_taken_whole, axis=2)
    is_t_taken = np.empty(ratio.shape, dtype=bool)
    np.put_along_axis(is_t_taken, order, (ends <= take) & (sorted_partners > 0), axis=2)
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.where(used > 0, used * sorted_ratio, 0.0).sum(axis=2, keepdims=True)
        without_t = total + next_weight * (next_ratio - ratio)
        return np.asarray(np.where(is_t_taken, without_t, total))


# ---- facts on top -------------------------------------------------------------------------------


def least_odds(
    people: IntArray,
    counts: IntArray,
    priors: FloatArray,
    secret: NDArray[np.bool_],
    amounts: Amounts,
    rows: slice = slice(None),
) -> tuple[FloatArray, FloatArray]:
    """Lower bounds of the odds against values, and of those for linked people, in floats.

    For many groups of one shape: `people` (groups, signatures) have each signature; `counts`
    (groups, values) people have each value; `priors` are by (groups, values, signatures). `secret`
    (groups, values) marks values that are one secret; others are each one by itself. The results
    have the shapes (groups, x of `rows`, signatures), and the same with an axis of linked people
    before.

    Of the values that t is known not to have, and of the known people, those count whose exchanges
    weigh most: for each other value, the sum over its holders without some, or nothing where it is
    ruled out.
    """
    n_ruled_out, n_known, n_linked = amounts
    u_part, t_part = _parts_of_exchanges(people, priors, rows)
    values = np.arange(counts.shape[1])
    is_other_value = values[:, None] != values[rows]
    both_secret = secret.T[:, :, None] & secret[None, :, rows]
    t_part *= (is_other_value[:, None] & ~both_secret)[..., None]
    sums_without = _sums_without_some(u_part, t_part, counts, n_known + n_linked)
    sums_of_values = list(zip(*sums_without, strict=True))
    nothing = np.zeros_like(sums_without[0][0])
    best = _least_totals(sums_of_values, amounts, nothing=nothing, minimum=np.minimum)
    # First t itself, then each linked person, for whom one more is known and no value is ruled out.
    of_target, of_linked = best[n_ruled_out][n_known], best[0][n_known + 1 :]
    # c_x / (c_x + sum) is the bound of the chance: so sum / c_x bounds the odds.
    holders = np.where(priors > 0, counts[:, :, None], 0)[:, rows]
    least_sums = np.minimum((of_target, *of_linked), _MOST)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.where(holders > 0, least_sums / holders, np.inf)
    return odds[0], odds[1:]


def _parts_of_exchanges(
    people: IntArray, priors: FloatArray, rows: slice
) -> tuple[FloatArray, FloatArray]:
    """The two factors by which an exchange of x and y changes the weight of a world.

    t has x (of `rows`) and u has y. The first result is u's part, f_u(x) / f_u(y), by (y, groups,
    x, person u), and the least comes first; the second is t's part, f_t(y) / f_t(x), by (y, groups,
    x, signature of t).
    """
    n_groups, n_signatures = people.shape
    signature_of_u = np.repeat(np.tile(np.arange(n_signatures), n_groups), people.ravel())
    f_u = np.take_along_axis(priors, signature_of_u.reshape(n_groups, 1, -1), axis=2)
    f_u_of_x, f_u_of_y = f_u[:, rows], f_u.swapaxes(0, 1)[:, :, None]
    f_t_of_x, f_t_of_y = priors[:, rows], priors.swapaxes(0, 1)[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        u_part = np.where(f_u_of_y > 0, f_u_of_x / f_u_of_y, np.inf)
        t_part = np.where(f_t_of_x > 0, f_t_of_y / f_t_of_x, 0.0)
    u_part.sort(axis=-1)
    return u_part, t_part


def _sums_without_some(
    u_part: FloatArray, t_part: FloatArray, counts: IntArray, most: int
) -> list[FloatArray]:
    """For each other value y, the least sum of exchanges of its holders, without some of them.

    The first entry is over all holders, the next without the one whose exchange weighs most, and
    so on, up to `most` of them. For the other arguments see `_parts_of_exchanges`.
    """
    holders = counts.T[:, :, None, None]
    running_total = np.cumsum(u_part, axis=-1)
    sums = []
    for n_without in range(most + 1):
        n_left = np.broadcast_to(np.maximum(holders - n_without, 0), (*u_part.shape[:-1], 1))
        total = np.take_along_axis(running_total, np.maximum(n_left - 1, 0), axis=-1)
        total = np.where(n_left > 0, np.minimum(total, _MOST), 0.0)
        place_of_next = np.minimum(n_left, u_part.shape[-1] - 1)
        # Where t is among the holders, whose own exchange weighs 1, the next takes its place.
        of_next = np.minimum(np.take_along_axis(u_part, place_of_next, axis=-1), _MOST)
        of_next *= 1 - 8 * ROUNDING
        with np.errstate(over="ignore"):
            sums.append(t_part * total + np.maximum(t_part * of_next - 1, 0.0))
    return sums


def _least_totals(
    sums_of_values: Sequence[Sequence[Any]], amounts: Amounts, *, nothing: Any, minimum: Any
) -> list[list[Any]]:
    """The least total over all other values, by numbers of values ruled out and of people known.

    ``result[a][b]`` is for a values and b people. For each value, `sums_of_values` has the sums
    without 0, 1, ... of its holders. With nothing ruled out, linked people can be known as well.
    `nothing` is the 0 of these sums, and `minimum` takes the less of two.
    """
    n_ruled_out, n_known, n_linked = amounts
    best = [
        [nothing] * (n_known + n_linked + 1),
        *([nothing] * (n_known + 1) for _ in range(n_ruled_out)),
    ]
    for sums in sums_of_values:
        before, best = best, []
        for a, totals_before in enumerate(before):
            # Nothing is known of this value; or b_here of its holders are; or it is ruled out.
            totals = [total + sums[0] for total in totals_before]
            for b in range(len(totals)):
                for b_here in range(1, b + 1):
                    totals[b] = minimum(totals[b], before[a][b - b_here] + sums[b_here])
                if a:
                    totals[b] = minimum(totals[b], before[a - 1][b])
            best.append(totals)
    return best


def exact_odds(
    people: Sequence[int],
    counts: Sequence[int],
    priors: Sequence[Sequence[Fraction]],
    t: int,
    secret: Sequence[int],
    amounts: Amounts,
) -> list[Fraction | float]:
    """The odds against a set of values for people of signature t, then for people linked to them.

    ``people[s]`` is how many people have signature s, ``counts[x]`` how many have value x, and
    ``priors[s][x]`` the prior of value x for signature s. `secret` has the values. Lower bounds, as
    fractions.
    """
    n_ruled_out, n_known, n_linked = amounts
    odds_for: list[Any] = [Fraction(0)] * (n_linked + 1)
    for x in secret:
        if not priors[t][x]:
            continue
        sums_of_values = []
        for y, n_holders in enumerate(counts):
            if y not in secret:
                n_left = [max(n_holders - j, 0) for j in range(n_known + n_linked + 1)]
                sums_of_values.append([_exact_sum(people, n, priors, t, x, y) for n in n_left])
        best = _least_totals(sums_of_values, amounts, nothing=Fraction(0), minimum=min)
        # First t itself, then each linked person, for whom one more is known.
        of_target, of_linked = best[n_ruled_out][n_known], best[0][n_known + 1 :]
        for i, sum_of_x in enumerate((of_target, *of_linked)):
            odds_for[i] += counts[x] * _inverse(sum_of_x)
    return list(map(_inverse, odds_for))


def _inverse(odds: Fraction | float) -> Fraction | float:
    """1 / odds; the inverse of 0 is infinity, and of infinity 0."""
    if not odds:
        return inf
    return Fraction(0) if odds == inf else 1 / odds


def _exact_sum(
    people: Sequence[int], take: int, priors: Sequence[Sequence[Fraction]], t: int, x: int, y: int
) -> Fraction | float:
    """The least sum of the weights of exchanges of t, who has x, with `take` holders of y.

    ``people[u]`` people have signature u, and their prior of y is ``priors[u][y]``. Infinite if
    fewer can have y.
    """
    if not priors[t][y]:
        return Fraction(0)
    weights = sorted((f[x] / f[y], u) for u, f in enumerate(priors) if f[y])
    total, n_missing = Fraction(0), take
    # The least weights first, until `take` holders of y are found.
    for weight, u in weights:
        n_partners = people[u] - (u == t)  # nobody exchanges with themselves
        used = min(n_missing, n_partners)
        total, n_missing = total + used * weight, n_missing - used
    return inf if n_missing else total * priors[t][y] / priors[t][x]
