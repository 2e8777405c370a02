"""Diversity of the sensitive values of groups: l-diversity and (alpha, k)-anonymity.

This shares no code with the criteria that the search uses.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd
from typing import Any, Literal

import numpy as np

from foreknow_judge.counts.group_bags import GroupBags, Measured, highest
from foreknow_judge.criteria.gauge import AsFraction, Gauge
from foreknow_judge.errors import CertificateError
from foreknow_judge.numbers import as_fraction
from foreknow_judge.policy.settings import Settings

# The longest whole numbers that decide, in bits; with longer ones it would take hours.
_MOST_BITS = 1 << 23
# Floats nearer to each other than this are settled exactly.
_NEAR = 1e-9


DiversityKind = Literal["distinct", "entropy", "recursive"]


class LDiversitySettings(Settings):
    """``l_diversity`` in a policy file."""

    l: Any
    kind: DiversityKind = "distinct"
    c: AsFraction = None


class AlphaKSettings(Settings):
    """``alpha_k`` in a policy file."""

    alpha: AsFraction
    k: int


def gauge_l_diversity(groups: GroupBags, settings: LDiversitySettings) -> Measured:
    """Measure l-diversity: the least diverse group, by the kind that the settings name.

    The kinds are "distinct" (how many values a group has), "recursive" (see `_recursive`) and
    "entropy": exp(entropy) of the shares, as if so many values were equally frequent.
    """
    limit = as_fraction(settings.l)
    if settings.kind == "recursive":
        return _recursive(groups, limit, settings.c)
    if settings.c is not None or limit < 1:
        raise CertificateError("wrong-setting", "l_diversity")
    if settings.kind == "distinct":
        group = int(groups.n_values.argmin())
        holds = bool(groups.n_values[group] >= limit)
        return Measured(Fraction(int(groups.n_values[group])), groups.group(group), holds)
    shares = groups.counts / groups.people[groups.of_group]
    numbers = np.exp(groups.sum_by_group(-shares * np.log(shares)))
    # Floats find the groups that may be least diverse, since logarithms are not whole numbers: a
    # sum of n terms is off by at most n * 2^-50, which is 1e-9 for a million values in a group.
    # These groups are settled exactly; 2e-6 covers numbers that are equal in millionths.
    candidates = np.flatnonzero(numbers <= numbers.min() * (1 + _NEAR) + 2e-6).tolist()
    shapes: dict[tuple[int, ...], int] = {}  # by its counts, the first group that has them
    for group in candidates:
        shapes.setdefault(groups.shape(group), group)
    numbers_of_shapes = {shape: _effective(shape) for shape in shapes}
    worst = min(numbers_of_shapes.values())
    group = min(group for shape, group in shapes.items() if numbers_of_shapes[shape] == worst)
    return Measured(worst, groups.group(group), all(_keeps(shape, limit) for shape in shapes))


def _recursive(groups: GroupBags, l: Fraction, c: Fraction | None) -> Measured:
    """Measure recursive (c, l)-diversity; the figure is the highest ratio of any group.

    In each group, the people with the most frequent value must be fewer than c times those with the
    l-th most frequent value or a rarer one.
    """
    if c is None or l < 2 or l.denominator > 1 or c <= 0:
        raise CertificateError("wrong-setting", "recursive diversity")
    top = groups.top_sum(1)
    remainder = groups.people - groups.top_sum(min(int(l) - 1, len(groups.names)))
    if not remainder.all():  # a group with fewer than l values: the ratio is infinite
        return Measured(None, groups.group(int(np.argmin(remainder))), False)
    worst, group = highest(top, remainder)
    return Measured(worst, groups.group(group), worst < c)


def gauge_alpha_k(groups: GroupBags, settings: AlphaKSettings, look_alikes: GroupBags) -> Measured:
    """Measure (alpha, k)-anonymity: the largest share of a value in a group, and the fewest people.

    A share is at most alpha, and at least k people look alike. `look_alikes` are the classes of
    such people, which differ from the groups in the bucketized form.
    """
    alpha, k = settings.alpha, settings.k
    if not 0 < alpha <= 1 or k < 1:
        raise CertificateError("wrong-setting", "alpha_k")
    worst, group = highest(groups.top_sum(1), groups.people)
    fewest_people = Fraction(int(look_alikes.people.min()))
    holds = worst <= alpha and fewest_people >= k
    return Measured(worst, groups.group(group), holds, {"alpha": worst, "k": fewest_people})


def _effective(shape: tuple[int, ...]) -> Fraction:
    """How many equally frequent values have the same entropy, rounded down to six decimals."""
    total = sum(shape)
    with localcontext() as context:
        context.prec = 70
        entropy = sum(-(Decimal(n) / total) * (Decimal(n) / total).ln() for n in shape)
        number = Decimal(entropy).exp() + Decimal("1e-30")
        return Fraction(int(number * 10**6), 10**6)


def _keeps(shape: tuple[int, ...], limit: Fraction) -> bool:
    """True if the entropy of a group is at least log(limit); `shape` has the counts of its values.

    This is so if total^total is at least limit^total times n^n of each count n.
    """
    common = gcd(*shape)  # entropy depends on shares only, so smaller counts do
    shape = tuple(n // common for n in shape)
    total = sum(shape)
    # Compared as logarithms with 70 digits, which nearly always decides.
    with localcontext() as context:
        context.prec = 70
        ln_limit = Decimal(limit.numerator).ln() - Decimal(limit.denominator).ln()
        gap = Decimal(total) * (Decimal(total).ln() - ln_limit)
        gap -= sum(Decimal(n) * Decimal(n).ln() for n in shape)
        if abs(gap) > Decimal("1e-40") * total:
            return gap > 0
    if total * (total.bit_length() + limit.numerator.bit_length()) > _MOST_BITS:
        raise CertificateError("too-close", "an entropy")
    # So close that only whole numbers can tell: both sides times denominator^total.
    right = limit.numerator**total
    for n in shape:
        right *= n**n
    return bool(total**total * limit.denominator**total >= right)


GAUGES = {
    "l_diversity": Gauge(
        gauge_l_diversity, settings=LDiversitySettings, of_sets=lambda settings: True
    ),
    "alpha_k": Gauge(
        gauge_alpha_k, settings=AlphaKSettings, of_classes=True, of_sets=lambda settings: True
    ),
}
