"""Quick tests of ART's groups: exact for people who are alike, sound for priors that are near."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.posterior.groups import SignatureGroups
from foreknow.anonymizers.art.problem import Known

# More than the roundings of a sum, and of what it is compared with.
_ROUNDING, _SPARE = 1e-12, 1e-9


def alike(groups: SignatureGroups, known: Known) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Groups of one signature, and which of them are safe, exactly.

    Everybody has a value with the same chance, c/N, by symmetry. Except where no world has a
    positive weight: a held value whose prior is 0, or under ``binary`` 1, unless all have it.
    """
    single = np.diff(groups.offsets) == 1
    cells = np.flatnonzero(np.repeat(single, np.diff(groups.value_offsets)))
    owner = np.repeat(np.arange(groups.n_groups), np.diff(groups.value_offsets))[cells]
    signature, value = groups.signatures[groups.offsets[owner]], groups.values[cells]
    counts, sizes = groups.counts[cells], groups.sizes[owner]
    fits = known.priors.chances[signature, value] > 0
    if known.reading == "binary":
        fits &= (known.priors.complements[signature, value] > 0) | (counts == sizes)
    limits = known.limits
    num, den = limits.num[signature, value], limits.den[signature, value]
    over = den * counts + limits.strict[signature, value] - num * sizes
    fits &= np.asarray(over <= 0, dtype=bool)
    safe = single.copy()
    np.logical_and.at(safe, owner, fits)
    return single, safe


def ratios_suffice(groups: SignatureGroups, known: Known) -> NDArray[np.bool_]:
    """The sound condition on ratios for the joint reading, in floats, on the safe side.

    Exchanging the values of t, who has x, and u, who has y, multiplies the weight of a world by
    ``f(t,y) f(u,x) / (f(t,x) f(u,y))``, at least ``f(t,y) / hi_y * lo_x / f(t,x)``, with lo and hi
    the least and greatest priors in the group. Given that t has x, c_y others have y. So

        c_x (1 - P) >= P * lo_x / f(t,x) * sum of c_y f(t,y) / hi_y for y != x,

    and P keeps the limit L of t and x if the factor of P is at least ``(1/L - 1) c_x``. For one
    limit for all it follows from `conditions.ratio_condition`. Groups in which somebody has a
    prior of 0 are left to others: perhaps no world is possible.
    """
    n_values = np.diff(groups.value_offsets)
    n_signatures = np.diff(groups.offsets)
    found = np.zeros(groups.n_groups, dtype=bool)
    shapes = n_signatures * (int(n_values.max(initial=0)) + 1) + n_values
    with np.errstate(divide="ignore"):
        needed = np.maximum(1 / known.limits.floats - 1, 0.0)
    for shape in np.unique(shapes).tolist():
        some = np.flatnonzero(shapes == shape)
        cells = groups.offsets[some][:, None] + np.arange(n_signatures[some[0]])
        bag = groups.value_offsets[some][:, None] + np.arange(n_values[some[0]])
        at = groups.signatures[cells][:, :, None], groups.values[bag][:, None, :]
        chances, counts = known.priors.chances[at], groups.counts[bag][:, None, :]
        positive = (chances > 0).all(axis=(1, 2))
        chances = np.where(chances > 0, chances, 1.0)
        shares = counts * chances / chances.max(axis=1, keepdims=True)
        others = shares.sum(axis=2, keepdims=True) * (1 - _ROUNDING) - shares
        least = chances.min(axis=1, keepdims=True) / chances * others
        enough = (least > needed[at] * counts * (1 + _SPARE)) | ~known.limits.limited[at]
        found[some] = positive & enough.all(axis=(1, 2))
    return found
