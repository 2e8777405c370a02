"""Percentages that never lie: as many digits as it takes to stay on the right side of a limit."""

from __future__ import annotations

from fractions import Fraction

from foreknow.adversaries.disclosure import SETTLED, Disclosure
from foreknow.limits import Point

# A float this near to the limit, to 0 or to 1 is replaced by the fraction it stands for.
_NEAR = 1e-6
_MOST_DIGITS = 60


def percent(found: Disclosure, limit: Fraction, digits: int = 0) -> str:
    """Write a probability as a percentage.

    It equals the limit only where the probability does, and is else on the same side of it; it
    is 0% or 100% only where the probability is 0 or 1.

    Parameters
    ----------
    found : Disclosure
        Its fraction is asked for only near the limit, 0 or 1.
    limit : Fraction
    digits : int
        Decimals to begin with.

    Examples
    --------
    >>> found = Disclosure("AIDS", 0.6204)
    >>> percent(found, Fraction("0.5")), percent(found, Fraction("0.62"))
    ('62%', '62.04%')
    """
    chance = _settled(found, limit)
    if chance == limit:
        return limit_text(limit)
    if chance in (0, 1):
        return f"{100 * chance}%"
    while digits < _MOST_DIGITS:
        scale = 10**digits
        shown = Fraction(round(chance * 100 * scale), 100 * scale)
        if 0 < shown < 1 and shown != limit and (shown < limit) == (chance < limit):
            break
        digits += 1
    return f"{_decimal(chance * 100, digits)}%"


def limit_text(limit: Fraction) -> str:
    """Write a limit exactly: as a percentage where that ends, else as the fraction it is.

    >>> limit_text(Fraction("0.621")), limit_text(Fraction(2, 3))
    ('62.1%', '2/3')
    """
    hundreds = limit * 100
    for digits in range(_MOST_DIGITS):
        if (hundreds * 10**digits).denominator == 1:
            return f"{_decimal(hundreds, digits)}%"
    return str(limit)


def point_limit(point: Point, found: Disclosure) -> str:
    """Write the limit of a disclosure, for a narrow column."""
    if not point.relative:
        return limit_text(point.below)
    limit = point.limit(found)
    chance = Disclosure(found.value, float(limit), lambda: limit)
    return f"{percent(chance, Fraction(1), 1)} = {times_text(point.below)} × prior"


def times_text(times: Fraction) -> str:
    """Write a factor exactly.

    >>> times_text(Fraction("1.5")), times_text(Fraction(4, 3))
    ('1.5', '4/3')
    """
    for digits in range(_MOST_DIGITS):
        if (times * 10**digits).denominator == 1:
            return _decimal(times, digits)
    return str(times)


def is_certain(found: Disclosure, limit: Fraction) -> bool:
    """Whether the probability is 1, exactly."""
    return _settled(found, limit) == 1


def reaches_just(found: Disclosure, limit: Fraction) -> bool:
    """Whether the probability equals the limit, exactly."""
    return _settled(found, limit) == limit


def _settled(found: Disclosure, limit: Fraction) -> Fraction:
    """The probability as far as it must be known; the limit where it cannot be told from it."""
    chance = found.probability
    if min(chance, 1 - chance, abs(chance - float(limit))) > _NEAR:
        return Fraction(chance)
    if found.exact is not None:
        return found.exact
    return limit if abs(chance - float(limit)) <= SETTLED else Fraction(chance)


def _decimal(number: Fraction, digits: int) -> str:
    """Write a positive number with so many decimals, rounded half to even."""
    whole = str(round(number * 10**digits)).rjust(digits + 1, "0")
    return f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
