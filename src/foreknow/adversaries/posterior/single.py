"""One group at a time, as floats: large groups, zero priors, and priors far apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from foreknow.adversaries.posterior.bounds import upper_bounds
from foreknow.adversaries.posterior.dealing import LEAST_TOTAL, deal, relative_error
from foreknow.adversaries.posterior.exact import by_whole_numbers
from foreknow.adversaries.posterior.feasible import possible
from foreknow.adversaries.posterior.lattice import lattice
from foreknow.adversaries.posterior.merging import merge_floats, spread
from foreknow.adversaries.posterior.priors import FloatArray
from foreknow.adversaries.posterior.scaling import balanced, normalized

# Where scaled floats do not suffice, whole numbers do, up to this many states.
_WHOLE_STATES = 1 << 13


@dataclass(frozen=True)
class Judged:
    """What came of one group.

    Attributes
    ----------
    table : float array, shape (signatures, values), or None
        Posteriors, or upper bounds; None where no world has a positive weight.
    bounded : bool
    error : float
        Bound on the relative error, of posteriors.
    """

    table: FloatArray | None
    bounded: bool = False
    error: float = 0.0


def judge(people: Sequence[int], counts: Sequence[int], chances: FloatArray, reach: int) -> Judged:
    """Judge one group under the joint reading.

    Parameters
    ----------
    people, counts : sequences of int
    chances : float array, shape (signatures, values)
    reach : int
        How many states may be gone through.

    Examples
    --------
    >>> chances = np.array([[0.1, 0.9], [0.003, 0.997]])
    >>> judge([1, 1], [1, 1], chances, 100).table.round(6)
    array([[0.973633, 0.026367],
           [0.026367, 0.973633]])
    """
    held = possible(chances > 0, people, counts)
    if held is None:
        return Judged(None)
    chances = np.where(held, chances, 0.0)
    merged = merge_floats(people, counts, chances)
    by_value = prod(c + 1 for c in merged.counts)
    by_signature = prod(n + 1 for n in merged.people)
    if min(by_value, by_signature) > reach:
        return Judged(upper_bounds(people, counts, chances), bounded=True)
    if by_value <= by_signature:
        found = _posteriors(merged.people, merged.counts, merged.chances)
    else:
        found = _posteriors(merged.counts, merged.people, merged.chances.T)
        if found is not None:
            shares = np.array(merged.counts) / np.array(merged.people)[:, None]
            found = Judged(found.table.T * shares, False, found.error)  # type: ignore[union-attr]
    if found is None or found.table is None:
        return Judged(upper_bounds(people, counts, chances), bounded=True)
    return Judged(np.minimum(spread(found.table, merged), 1.0), False, found.error)


def _posteriors(items: Sequence[int], kinds: Sequence[int], chances: FloatArray) -> Judged | None:
    """Deal items to kinds; None where floats and whole numbers both fail."""
    order = sorted(range(len(kinds)), key=lambda k: -kinds[k])
    shape = lattice(tuple(kinds[k] for k in order))
    levels = np.repeat(np.arange(len(items)), items)
    last = np.cumsum(items) - 1
    wanted = np.zeros(len(levels), dtype=bool)
    wanted[last] = True
    scaled = balanced(np.array(items, float), np.array(kinds, float), chances)[:, order]
    weights, totals = deal(normalized(scaled[levels][:, :, None]), shape, wanted)
    table = np.empty(chances.shape)
    if totals[0] >= LEAST_TOTAL:
        found = weights[last, :, 0]
        table[:, order] = found / found.sum(axis=1, keepdims=True)
        return Judged(table, False, relative_error(len(levels), len(kinds), shape.widest))
    if shape.n_states > _WHOLE_STATES:
        return None
    exact = by_whole_numbers(items, kinds, [[Fraction(c) for c in row] for row in chances])
    if exact is None:
        return None
    return Judged(
        np.array(exact, dtype=object).astype(float), False, relative_error(len(levels), 0, 0)
    )
