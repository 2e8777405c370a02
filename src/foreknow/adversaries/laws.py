"""Laws: T and V of the skyline paper for each semantics, under one set of names.

Everything else about facts (the five minima, ledgers, skylines, witnesses) is the same whether a
person has one value, a set, or a bag of them; the law is what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from foreknow.adversaries.ratios import Amount, FloatArray, t_exact, t_ratio, v_exact, v_ratio
from foreknow.adversaries.ratios_many import (
    spare_multiset_exact,
    spare_set_exact,
    t_multiset,
    t_multiset_exact,
    t_set,
    t_set_exact,
    v_multiset,
    v_multiset_exact,
)
from foreknow.counts import Semantics
from foreknow.sparse import IntArray


@dataclass(frozen=True)
class Law:
    """T and V of a cell with n people, s holders (or occurrences) and so much to spare.

    Attributes
    ----------
    t : (n, s, spare, k) -> float64 array
    v : (n, s, m, k) -> float64 array
    t_exact, v_exact : the same for one cell, as a fraction
    spare_exact : (n, s, counts of the l values) -> int or Fraction
    """

    t: Callable[[IntArray, IntArray, NDArray[Any], Amount], FloatArray]
    v: Callable[[IntArray, IntArray, Amount, Amount], FloatArray]
    t_exact: Callable[[int, int, Fraction, int], Fraction]
    v_exact: Callable[[int, int, int, int], Fraction]
    spare_exact: Callable[[int, int, Sequence[int]], Fraction]


LAWS: dict[Semantics, Law] = {
    "single": Law(
        t=lambda n, s, spare, k: t_ratio(spare, s, k),
        v=v_ratio,
        t_exact=lambda n, s, spare, k: t_exact(int(spare), s, k),
        v_exact=v_exact,
        spare_exact=lambda n, s, others: Fraction(n - s - sum(others)),
    ),
    "set": Law(
        t=t_set,
        v=v_ratio,
        t_exact=t_set_exact,
        v_exact=v_exact,
        spare_exact=lambda n, s, others: spare_set_exact(n, others),
    ),
    "multiset": Law(
        t=t_multiset,
        v=v_multiset,
        t_exact=t_multiset_exact,
        v_exact=v_multiset_exact,
        spare_exact=lambda n, s, others: spare_multiset_exact(n, others),
    ),
}
