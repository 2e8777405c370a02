"""Dealing one item after another, forward and backward: the dynamic program of all readings.

Items 1..N are dealt to kinds, of which kind k takes ``capacities[k]``. A world's weight is the
product of ``rows[i][kind of item i]``. ``forward[l][u]`` is the weight of all ways to deal the
first l items so that u of each kind are used; backward is the same from the end. Items are people
and kinds are values, or items are occurrences of values and kinds are signatures: by symmetry the
sum is the same, so the smaller lattice is taken (errata, section 3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.posterior.lattice import Lattice

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
    >>> from foreknow.adversaries.posterior.lattice import lattice
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
