"""Quick conditions for r-robustness: the paper's bound on deviations, and sound ones on ratios.

The paper's theorem 1 is right, and tight, under the binary reading. Under the joint reading, its
own equations (1) to (3), it is unsafe: a group may satisfy it for every value and have a posterior
above 1/r (errata, section 3). The conditions on ratios are sound there. All are decided in
fractions, and say nothing of a group that the priors call impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from foreknow.errors import InputError


def delta_ceil(size: int, r: Fraction | int, highest: Fraction) -> Fraction:
    """Greatest deviation that theorem 1 allows (the paper's definition 8).

    Parameters
    ----------
    size : int
        People of the group, N; at least r.
    r : Fraction or int
        Posteriors may be at most 1/r; above 1.
    highest : Fraction
        The greatest prior of the value in the group, f_max; at 1, nothing is allowed.

    Examples
    --------
    >>> round(float(delta_ceil(3, 2, Fraction(1, 10))), 4)  # the paper's table V
    0.0474
    """
    if r <= 1 or size < r:
        raise InputError(f"r must be above 1 and at most the size of the group, {size}; not {r}")
    if highest == 1:
        return Fraction(0)
    odds = highest / (1 - highest)
    return (size - r) * highest / (odds * (r - 1) + size - 1)


def delta_condition(lowest: Fraction, highest: Fraction, size: int, r: Fraction | int) -> bool:
    """Tell whether one value of a group satisfies the paper's theorem 1 (corollary 1).

    The value must occur once in the group. Sound under the binary reading only.

    Examples
    --------
    With the first of three as likely as .1 to have a, the others .06, it holds for r = 2; for b
    and c likewise. The joint posterior is 25/43.

    >>> delta_condition(Fraction(6, 100), Fraction(1, 10), 3, 2)
    True
    """
    return size >= r > 1 and highest - lowest <= delta_ceil(size, r, highest)


def odds_condition(
    lowest: Fraction, highest: Fraction, copies: int, size: int, r: Fraction | int
) -> bool:
    """Tell whether a value is safe under the binary reading, however often it occurs.

    ``(N - c) o_min >= (r - 1) c o_max`` with odds ``o = f / (1 - f)``, multiplied out. With one
    occurrence it is theorem 1. It follows from exchanging two people; see `bounds`.

    Examples
    --------
    >>> odds_condition(Fraction(6, 100), Fraction(1, 10), 1, 3, 2)
    True
    >>> odds_condition(Fraction(6, 100), Fraction(1, 10), 2, 3, 2)
    False
    """
    if copies >= size:
        return False
    spare = (size - copies) * lowest * (1 - highest)
    return spare >= (r - 1) * copies * highest * (1 - lowest)


def ratios(chances: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """For each value the least prior in a group over the greatest; 0 where all are 0.

    Examples
    --------
    >>> ratios([[Fraction(1, 10), Fraction(0)], [Fraction(6, 100), Fraction(0)]])
    [Fraction(3, 5), Fraction(0, 1)]
    """
    columns = list(zip(*chances, strict=True))
    return [min(column) / max(column) if any(column) else Fraction(0) for column in columns]


def least_ratio_condition(
    rho: Sequence[Fraction], counts: Sequence[int], r: Fraction | int
) -> bool:
    """Tell whether a group is safe under the joint reading, by each value's ratio and the least.

    With distinct values: ``rho_x * min(rho_y for y != x) >= (r - 1) / (N - 1)`` for every x
    (errata, section 3). Values that occur c_x times need
    ``rho_x * min(rho_y) * (N - c_x) >= (r - 1) c_x``. It implies `ratio_condition`.

    Parameters
    ----------
    rho : sequence of Fraction
        As by `ratios`, of the values that the group holds.
    counts : sequence of int
        How often each occurs.
    r : Fraction or int
        Posteriors may be at most 1/r; above 1.

    Examples
    --------
    >>> least_ratio_condition([Fraction(4, 5)] * 3, [1, 1, 1], 2)
    True
    >>> least_ratio_condition([Fraction(3, 5)] * 3, [1, 1, 1], 2)
    False
    """
    size = sum(counts)
    return r > 1 and all(
        min((b for y, b in enumerate(rho) if y != x), default=0) * own * (size - c) >= (r - 1) * c
        for x, (own, c) in enumerate(zip(rho, counts, strict=True))
    )


def ratio_condition(rho: Sequence[Fraction], counts: Sequence[int], r: Fraction | int) -> bool:
    """Tell whether a group is safe under the joint reading, by each value's ratio and their sum.

    ``rho_x * sum(c_y rho_y for y != x) >= (r - 1) c_x`` for every x. Exchanging the values of t,
    who has x, and u, who has y, multiplies a world's weight by at least ``rho_x rho_y``; given
    that t has x, there are c_y others who have y. So ``c_x (1 - P) >= P rho_x sum(c_y rho_y)``.
    It admits more groups than `least_ratio_condition`.

    Parameters
    ----------
    rho, counts, r
        As in `least_ratio_condition`.

    Examples
    --------
    >>> rho = [Fraction(9, 10), Fraction(9, 10), Fraction(1, 2), Fraction(1)]
    >>> ratio_condition(rho, [1] * 4, Fraction(12, 5))
    True
    >>> least_ratio_condition(rho, [1] * 4, Fraction(12, 5))
    False
    """
    total = sum((c * own for c, own in zip(counts, rho, strict=True)), Fraction(0))
    return r > 1 and all(
        own * (total - c * own) >= (r - 1) * c for own, c in zip(rho, counts, strict=True)
    )
