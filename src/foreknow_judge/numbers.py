"""Numbers, read exactly: limits such as 0.1, "1/3" and "1e-3", and the numbers of columns."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, floor
from numbers import Rational, Real
from operator import index
from typing import Any, Literal, TypeAlias

from foreknow_judge.errors import InputError

Number: TypeAlias = "float | Fraction | Decimal | str"
# Which way a figure is rounded: an upper bound up, a lower bound down.
Rounding: TypeAlias = Literal["nearest", "up", "down"]

# Floats closer than this (relatively) are compared again as fractions.
CLOSE = 1e-9
# Exact arithmetic on more digits would take too long.
MOST_DIGITS = 4000
# Probabilities are compared with thresholds as floats first; this is well within their range.
_LEAST_THRESHOLD = Fraction(1, 10**300)
_EXPONENT = re.compile(r"[eE][-+]?([\d_]+)\s*\Z")
_MOST_BITS = MOST_DIGITS * 10 // 3
_SHOWN = 40
# For numbers in columns: more digits than any float has; stops 1E+999999 from filling memory.
USUAL_DIGITS = 400
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def as_fraction(number: Number) -> Fraction:
    """Read a number exactly; a float stands for the shortest decimal that prints like it.

    Raises
    ------
    InputError
        If it is not a number, or has too many digits.

    Examples
    --------
    >>> as_fraction(0.1), as_fraction("2/3")
    (Fraction(1, 10), Fraction(2, 3))
    """
    if _too_long(number):
        raise InputError("too-many-digits", shown(number), most=MOST_DIGITS)
    try:
        if isinstance(number, bool):
            raise TypeError
        if isinstance(number, float):
            return Fraction(repr(float(number)))
        if isinstance(number, Real) and not isinstance(number, Rational):
            number = str(number)  # a float of NumPy: as it prints, too
        return Fraction(number)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        said = shown(number) if isinstance(number, Decimal) else quoted(number)
        raise InputError("not-a-number", said) from None


def as_threshold(number: Number) -> Fraction:
    """Read a confidence threshold, which lies in (0, 1].

    >>> as_threshold("1/2")
    Fraction(1, 2)
    """
    bound = as_fraction(number)
    if not _LEAST_THRESHOLD <= bound <= 1:
        right = "above 0 and at most 1 (and at least 1e-300)"
        raise InputError("out-of-range", "a threshold", right=right, given=shown(number))
    return bound


def whole_number(given: Any, name: str, least: int, more: str = "") -> int:
    """Read a whole number of at least `least`; `more` tells in the message what else is allowed.

    >>> whole_number(2, "l", 1)
    2
    """
    try:
        number = least - 1 if isinstance(given, bool) else index(given)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError("not-a-whole-number", name, least=f"{least}{more}", given=given)
    return number


def is_real(given: object) -> bool:
    """True for an int or a float, but not for a bool."""
    return isinstance(given, (int, float)) and not isinstance(given, bool)


def is_long(number: int) -> bool:
    """Whether a whole number has too many digits."""
    return number.bit_length() > _MOST_BITS


def shown(number: Any) -> str:
    """A number for messages: its first characters, or that it has too many digits to print."""
    if isinstance(number, int) and is_long(number):
        return "a whole number of so many digits"
    try:
        text = str(number)
    except ValueError:  # a fraction of more digits than Python prints
        return "a number of so many digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def quoted(given: object) -> str:
    """The `repr` of something given as a number; only the start of a long text."""
    return repr(given[:_SHOWN] + "..." if isinstance(given, str) and given[_SHOWN:] else given)


def _too_long(number: Any) -> bool:
    """True for a number with too many digits before or after its point; False if it is not one."""
    if isinstance(number, str):
        if any(len(part) > MOST_DIGITS + 20 for part in number.split("/")):
            return True
        exponent = _EXPONENT.search(number)
        if exponent is not None and len(exponent[1]) > 6:
            return True
        try:
            number = Decimal(number)
        except ArithmeticError:
            return False
    if isinstance(number, Decimal):
        if not number.is_finite():
            return False
        last = number.as_tuple().exponent
        assert isinstance(last, int)
        places = max(-last, 0)
        return max(abs(number.adjusted()), number.adjusted() + places, places) > MOST_DIGITS
    return isinstance(number, int) and is_long(number)


def exact(number: float | Decimal) -> Decimal:
    """A number as the decimal number that it prints as.

    >>> exact(0.1) == Decimal("0.1")
    True
    """
    return Decimal(float.__repr__(number) if isinstance(number, float) else number)


def is_usual(number: Decimal) -> bool:
    """Whether a number is finite and has no more digits than a float may have."""
    exponent = number.as_tuple().exponent
    if isinstance(exponent, str):
        return False
    return exponent >= -USUAL_DIGITS and number.adjusted() <= USUAL_DIGITS


def read_number(given: Any) -> int | Decimal | None:
    """A value of a column as an exact number; None if it is not one, or has too many digits.

    >>> read_number("1.50"), read_number(0.1), read_number("1,5"), read_number(True)
    (Decimal('1.50'), Decimal('0.1'), None, None)
    """
    if isinstance(given, str):
        number = Decimal(given) if _NUMBER.fullmatch(given) else None
    elif isinstance(given, int):
        return None if isinstance(given, bool) or is_long(given) else given
    else:
        number = exact(given) if isinstance(given, (float, Decimal)) else None
    return None if number is None or not is_usual(number) else number


def is_code(text: str) -> bool:
    """True for digits with a leading zero, such as 007: a code, not a number."""
    return len(text) > 1 and text[0] == "0" and text.isdigit()


def floor_of(number: Decimal, places: int) -> int:
    """A number in units of 10**-places, rounded down to a whole number."""
    return int(number.scaleb(places, EXACT).to_integral_value(ROUND_FLOOR, EXACT))


def decimal_text(units: int, places: int) -> str:
    """Write a number of units of 10**-places as a decimal, without trailing zeros.

    >>> decimal_text(-1250, 3), decimal_text(2000, 3)
    ('-1.25', '2')
    """
    if places == 0:
        return str(units)
    whole, part = divmod(abs(units), 10**places)
    text = f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")
    return f"-{text}" if units < 0 else text


# With more decimals than these, a figure is rounded to the nearest instead of up or down.
MOST_DECIMALS = 60


def rounded(number: Fraction, digits: int, to: Rounding = "nearest") -> Fraction:
    """A number rounded to `digits` decimals."""
    units = number * 10**digits
    if to == "nearest":
        return Fraction(round(units), 10**digits)
    return Fraction(floor(units) if to == "down" else ceil(units), 10**digits)


def fixed(number: Fraction, digits: int) -> str:
    """Write a number with exactly `digits` decimals, of which it must not have more.

    >>> fixed(Fraction(5, 2), 2), fixed(Fraction(7), 0)
    ('2.50', '7')
    """
    units = int(number * 10**digits)
    whole, part = divmod(abs(units), 10**digits)
    text = f"{whole:,}.{part:0{digits}d}" if digits else f"{whole:,}"
    return f"-{text}" if units < 0 else text


def exact_text(probability: Fraction) -> str:
    """Write a fraction; if it is very long, as a decimal number with 40 decimals, rounded up.

    >>> exact_text(Fraction(2, 3))
    '2/3'
    >>> exact_text(Fraction(2**2000, 3 * 2**2000 + 1))
    '0.3333333333333333333333333333333333333334'
    """
    if probability.denominator.bit_length() <= 1000:
        return str(probability)
    places = 40
    above = -(-probability.numerator * 10**places // probability.denominator)
    return f"{above // 10**places}.{above % 10**places:0{places}}"
