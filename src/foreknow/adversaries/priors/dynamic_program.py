"""Dealing one item after another, forward and backward: the dynamic program of all readings.

Items 1..N are dealt to kinds, of which kind k takes ``capacities[k]``. A world's weight is the
product of ``rows[i][kind of item i]``. ``forward[l][u]`` is the weight of all ways to deal the
first l items so that u of each kind are used; backward is the same from the end. Items are people
and kinds are values, or items are occurrences of values and kinds are signatures: by symmetry the
sum is the same, so the smaller lattice is taken (errata, section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.signature_groups import FloatArray

Places: TypeAlias = NDArray[np.intp]

# Lattices up to this many states are kept for the next groups of the same shape.
_KEPT = 1 << 12


@dataclass(frozen=True)
class Lattice:
    """States by level, and the steps from each level to the next.

    Attributes
    ----------
    capacities : tuple of int
        How many there are of each kind.
    widths : tuple of int
        States of each level; level l is where l have been used.
    steps : tuple of tuples of (before, after)
        ``steps[l][k]`` are the steps that use one of kind k at level l: places of states in level
        l, and the places in level l + 1 that they lead to.

    Examples
    --------
    >>> lattice((2, 1)).widths
    (1, 2, 2, 1)
    >>> before, after = lattice((2, 1)).steps[1][0]
    >>> before.tolist(), after.tolist()
    ([0, 1], [0, 1])
    """

    capacities: tuple[int, ...]
    widths: tuple[int, ...]
    steps: tuple[tuple[tuple[Places, Places], ...], ...]

    @property
    def n_states(self) -> int:
        """Number of states."""
        return sum(self.widths)

    @property
    def widest(self) -> int:
        """States of the widest level."""
        return max(self.widths)


def lattice(capacities: tuple[int, ...]) -> Lattice:
    """Lay out the states for kinds of such capacities."""
    if prod(c + 1 for c in capacities) <= _KEPT:
        return _kept(capacities)
    return _lay_out(capacities)


def _lay_out(capacities: tuple[int, ...]) -> Lattice:
    shape = tuple(c + 1 for c in capacities)
    total = prod(shape)
    used = np.stack(np.unravel_index(np.arange(total), shape)).astype(np.int32)
    level = used.sum(axis=0)
    order = np.argsort(level, kind="stable")
    starts = np.searchsorted(level[order], np.arange(sum(capacities) + 2))
    place = np.empty(total, dtype=np.intp)
    place[order] = np.arange(total) - starts[level[order]]
    steps = []
    for dealt in range(1, sum(capacities) + 1):
        states = order[starts[dealt] : starts[dealt + 1]]
        row = []
        for k in range(len(shape)):
            after = states[used[k, states] > 0]
            row.append((place[after - prod(shape[k + 1 :])], place[after]))
        steps.append(tuple(row))
    return Lattice(capacities, tuple(np.diff(starts).tolist()), tuple(steps))


_kept = lru_cache(maxsize=128)(_lay_out)


# Half a unit in the last place of 1.
ROUNDING = 2.0**-53
# Rows that sum to at most one keep all partial sums at most one. Where the sum over worlds is at
# least this, what underflows on the way is below `ABSOLUTE` of it.
LEAST_TOTAL = 2.0**-700
ABSOLUTE = 2.0**-300


def deal(
    rows: NDArray[Any], shape: Lattice, wanted: NDArray[np.bool_] | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weigh, for each item and kind, the worlds where the item is dealt to the kind.

    Parameters
    ----------
    rows : array, shape (items, kinds, problems)
        Floats, or whole numbers of any size as objects; not negative.
    shape : Lattice
    wanted : bool array, shape (items,), optional
        Which items to weigh; all when left out.

    Returns
    -------
    weights : array, shape (items, kinds, problems)
        Zero for items that are not wanted.
    totals : array, shape (problems,)
        The weight of all worlds.

    Examples
    --------
    >>> from foreknow.adversaries.priors.dynamic_program import lattice
    >>> rows = np.array([[[0.1], [0.9]], [[0.003], [0.997]]])
    >>> weights, totals = deal(rows, lattice((1, 1)))
    >>> (weights[0, 0] / totals).round(12) == round(997 / 1024, 12)
    array([ True])
    """
    items, _, problems = rows.shape
    one = np.ones((1, problems), dtype=rows.dtype)
    forward = [one]
    for level in range(items):
        reached = np.zeros((shape.widths[level + 1], problems), dtype=rows.dtype)
        for k, (before, after) in enumerate(shape.steps[level]):
            if len(before):
                step = forward[level][before]
                step *= rows[level, k]
                reached[after] += step
        forward.append(reached)
    weights = np.zeros_like(rows)
    left = one
    for level in range(items - 1, -1, -1):
        ahead = np.zeros((shape.widths[level], problems), dtype=rows.dtype)
        weigh = wanted is None or wanted[level]
        for k, (before, after) in enumerate(shape.steps[level]):
            if len(before):
                step = left[after]
                if weigh:
                    weights[level, k] = _along(step, forward[level][before]) * rows[level, k]
                step *= rows[level, k]
                ahead[before] += step
        forward.pop()
        left = ahead
    return weights, left[0]


def _along(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Sum of products over states."""
    if one.dtype == object:
        found: NDArray[Any] = (one * other).sum(axis=0)
        return found
    return np.asarray(np.einsum("sp,sp->p", one, other))


def relative_error(items: int, kinds: int, widest: int) -> float:
    """Bound the relative error of a posterior from floats by `deal`.

    Against the posterior from the fractions that the floats were rounded from. All terms are at
    least 0, so relative errors of terms bound that of their sum. An entry is off by at most five
    roundings (the prior, scaling, merging), an item adds one product and a sum over kinds, and a
    weight is a sum over states; a posterior is a quotient of two such.
    """
    return 1.01 * 2 * ROUNDING * (items * (kinds + 6) + widest + kinds + 10)


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


_SCALINGS = 200
# A change of columns, as a logarithm, that rounding to powers of two hides.
_NEAR = 0.1


def scaled(rows: FloatArray, capacities: FloatArray) -> FloatArray:
    """Scale columns towards their capacities, and rows to sum to one; worlds keep their ratios.

    Powers of two, which are exact; only the last division rounds.

    Parameters
    ----------
    rows : float array, shape (items, kinds, problems)
    capacities : float array, shape (kinds, 1)
    """
    _, exponent = np.frexp(rows.max(axis=1))
    rows = np.ldexp(rows, -exponent[:, None, :])
    _, exponent = np.frexp(rows.sum(axis=0) / capacities)
    return normalized(np.ldexp(rows, -exponent))


def normalized(rows: FloatArray) -> FloatArray:
    """Rows that sum to one, or to zero; first by a power of two, so that nothing is lost."""
    _, exponent = np.frexp(rows.max(axis=1))
    rows = np.ldexp(rows, -exponent[:, None, :])
    total = rows.sum(axis=1)
    total[total == 0] = 1
    rows /= total[:, None, :]
    return rows


def balanced(items: FloatArray, kinds: FloatArray, chances: FloatArray) -> FloatArray:
    """Scale rows and columns by powers of two, so that what is expected fits what there is.

    Sinkhorn's scaling in logarithms. How far it gets is a matter of speed, not of truth: the total
    is looked at afterwards. Rows come last, so that no row loses precision to underflow.

    Parameters
    ----------
    items : float array, shape (rows,)
    kinds : float array, shape (columns,)
    chances : float array, shape (rows, columns)
        At least one positive number in each row and column.
    """
    with np.errstate(divide="ignore"):
        logs = np.log2(chances)
    columns = np.zeros(len(kinds))
    for _ in range(_SCALINGS):
        before = columns
        rows = np.log2(items) - _log_sum(logs + columns, 1)
        columns = np.log2(kinds) - _log_sum(logs + rows[:, None], 0)
        if np.abs(columns - before).max() < _NEAR:
            break
    columns = np.rint(columns)
    rows = np.rint(np.log2(items) - _log_sum(logs + columns, 1))
    exponents = np.clip(rows[:, None] + columns, -4000, 4000).astype(np.int32)
    found: FloatArray = np.ldexp(chances, exponents)
    return found


def _log_sum(logs: FloatArray, axis: int) -> FloatArray:
    top = logs.max(axis=axis, keepdims=True)
    found: FloatArray = np.log2(np.exp2(logs - top).sum(axis=axis)) + top.squeeze(axis)
    return found
