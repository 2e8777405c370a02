"""Entropy compared with a logarithm, exactly: logarithms of whole numbers, never rounded wrongly.

The entropy of counts c of sum N is at least log(l) where N^N >= l^N times the product of all c^c.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

from foreknow.numbers import CLOSE


def at_least(counts: Sequence[int], l: Fraction) -> bool:
    """Whether the entropy of positive counts is at least log(l).

    >>> at_least([1, 1, 1], Fraction(3)), at_least([2, 1, 1], Fraction(3))
    (True, False)
    >>> at_least([10**30, 10**30 + 1], Fraction(2))
    False
    """
    common = math.gcd(*counts)
    counts = [count // common for count in counts]
    total = sum(counts)
    shares = [float(Fraction(count, total)) for count in counts]
    gap = -math.fsum(share * math.log(share) for share in shares if share)
    gap -= math.log(l.numerator) - math.log(l.denominator)
    if abs(gap) > CLOSE:
        return gap > 0
    # total^total * den^total against num^total * product of count^count
    powers = Counter({total: total})
    powers[l.denominator] += total
    powers[l.numerator] -= total
    for count in counts:
        powers[count] -= count
    return _sign(powers) >= 0


def effective_number(counts: Sequence[int]) -> Fraction:
    """How many equally frequent values have the entropy of these counts; six decimals, down.

    >>> effective_number([2, 2, 2]), float(effective_number([2, 1]))
    (Fraction(3, 1), 1.889881)
    """
    context, total = Context(prec=60), sum(counts)
    gap = Decimal(0)
    for count, times in Counter(counts).items():
        gap = context.add(gap, context.multiply(Decimal(count * times), context.ln(Decimal(count))))
    entropy = context.subtract(context.ln(Decimal(total)), context.divide(gap, Decimal(total)))
    # What is a whole number is not lost to the last digit.
    number = context.add(context.exp(entropy), Decimal("1e-30"))
    return Fraction(int(number.scaleb(6)), 10**6)


def _sign(powers: Counter[int]) -> int:
    """Sign of the sum of exponent * log(base)."""
    if _is_one(powers):
        return 0
    digits = 50
    while True:
        context = Context(prec=digits)
        terms = [
            context.multiply(Decimal(power), context.ln(Decimal(base)))
            for base, power in powers.items()
            if base > 1 and power
        ]
        gap = Decimal(0)
        for term in terms:
            gap = context.add(gap, term)
        size = sum(map(abs, terms), Decimal(0))
        if abs(gap) > size * (len(terms) + 4) * Decimal(10) ** (2 - digits):
            return 1 if gap > 0 else -1
        digits *= 2


def _is_one(powers: Counter[int]) -> bool:
    """Whether the product of base^exponent is 1, by splitting bases until they are coprime."""
    left = {base: power for base, power in powers.items() if base > 1 and power}
    while left:
        base = max(left)
        power = left.pop(base)
        for other in left:
            common = math.gcd(base, other)
            if common > 1:
                other_power = left.pop(other)
                for part, exponent in (
                    (common, power + other_power),
                    (base // common, power),
                    (other // common, other_power),
                ):
                    if part > 1:
                        left[part] = left.get(part, 0) + exponent
                left = {part: exponent for part, exponent in left.items() if exponent}
                break
        else:
            return False  # coprime to all others, with an exponent
    return True
