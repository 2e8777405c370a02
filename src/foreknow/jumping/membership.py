"""Membership: whether the algorithm gets to a function on one table."""

from __future__ import annotations

from collections.abc import Sequence

from foreknow.jumping.dealing import BeyondReach
from foreknow.jumping.runs import Case
from foreknow.jumping.strategy import Need


def gets_to(case: Case, i: int, codes: Sequence[int]) -> bool | None:
    """Whether the algorithm evaluates function i on a table; None where that is beyond reach.

    Parameters
    ----------
    case : Case
    i : int
    codes : sequence of int
        The value of each person.
    """
    exact, strategy = case.exact, case.exact.strategy
    j = 0
    while j < i:
        need = strategy.need(j, i)
        parts = exact.parts(j, codes, case.colours)
        if need is not Need.ALWAYS and not exact.permutation_safe(parts):
            j += 1
            continue
        if need is Need.PERMUTATION:
            return False
        try:
            safe = exact.disclosure_safe(j, parts)
        except BeyondReach:
            return None
        if safe:
            return False
        j = strategy.after(j) if need is Need.GATED else j + 1
    return j == i
