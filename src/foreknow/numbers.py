"""Numbers: whole numbers that a call gives, and decimals as they are rounded and written."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, floor
from operator import index
from typing import Any, Literal, TypeAlias

from foreknow_judge.errors import InputError
from foreknow_judge.numbers import MOST_DIGITS

# Which way a figure is rounded: an upper bound up, a lower bound down.
Rounding: TypeAlias = Literal["nearest", "up", "down"]


EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def is_whole(text: str) -> bool:
    """True if a text is a whole number from 0, no longer than Python reads."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def whole_number(number_like: Any, name: str, minimum: int, also_allowed: str = "") -> int:
    """Read a whole number of at least `minimum`; True and 2.0 are refused.

    `name` begins the message; `also_allowed` says in it what else may be given.

    >>> whole_number(2, "l", 1)
    2
    """
    try:
        number = minimum - 1 if isinstance(number_like, bool) else index(number_like)
    except TypeError:
        number = minimum - 1  # too small, so it is refused below
    if number < minimum:
        raise InputError(
            f"{name} must be a whole number from {minimum}{also_allowed}, not {number_like!r}"
        )
    return number


def is_real(value: object) -> bool:
    """True for an int or a float, but not for a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def floor_of(number: Decimal, n_decimals: int) -> int:
    """A number in units of 10**-places, rounded down to a whole number."""
    return int(number.scaleb(n_decimals, EXACT).to_integral_value(ROUND_FLOOR, EXACT))


def decimal_text(units: int, digits: int) -> str:
    """Write a number of units of 10**-digits as a decimal, without trailing zeros.

    >>> decimal_text(-1250, 3), decimal_text(2000, 3)
    ('-1.25', '2')
    """
    if digits == 0:
        return str(units)
    units_before_point, fraction = divmod(abs(units), 10**digits)
    text = f"{units_before_point}.{fraction:0{digits}d}".rstrip("0").rstrip(".")
    return f"-{text}" if units < 0 else text


def nearest_multiple(number: Any, step: float) -> str:
    """The multiple of a step that is nearest to a number, halves away from 0.

    >>> nearest_multiple(1.25, 0.5), nearest_multiple(-150, 100)
    ('1.5', '-200')
    """
    # The step in units of its last decimal, so that everything is exact.
    digits = -min(int(Decimal(str(step)).as_tuple().exponent), 0)
    units = int(Decimal(str(step)).scaleb(digits))
    steps = floor(abs(Fraction(number)) / Fraction(units, 10**digits) + Fraction(1, 2))
    return decimal_text(-steps * units if number < 0 else steps * units, digits)


# With more decimals than these, a figure is rounded to the nearest instead of up or down.
MOST_DECIMALS = 60


def rounded(number: Fraction, digits: int, to: Rounding = "nearest") -> Fraction:
    """A number rounded to `digits` decimals."""
    units = number * 10**digits
    if to == "nearest":
        return Fraction(round(units), 10**digits)
    return Fraction(floor(units) if to == "down" else ceil(units), 10**digits)


def fixed(number: Fraction, digits: int) -> str:
    """Write a number with exactly `digits` decimals; it must not have more.

    >>> fixed(Fraction(5, 2), 2), fixed(Fraction(7), 0)
    ('2.50', '7')
    """
    units = int(number * 10**digits)
    units_before_point, fraction = divmod(abs(units), 10**digits)
    text = f"{units_before_point:,}.{fraction:0{digits}d}" if digits else f"{units_before_point:,}"
    return f"-{text}" if units < 0 else text
