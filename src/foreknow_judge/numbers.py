"""Numbers, read exactly: limits such as 0.1, "1/3" and "1e-3", and the numbers of columns."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, TypeAlias

from foreknow_judge.errors import InputError

Number: TypeAlias = "float | Fraction | Decimal | str"

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
            number = str(number)  # a float of NumPy, such as float32: as it prints, too
        return Fraction(number)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        number_text = shown(number) if isinstance(number, Decimal) else quoted(number)
        raise InputError("not-a-number", number_text) from None


def as_threshold(number: Number) -> Fraction:
    """Read a limit on how sure somebody may become, which lies in (0, 1].

    >>> as_threshold("1/2")
    Fraction(1, 2)
    """
    bound = as_fraction(number)
    if not _LEAST_THRESHOLD <= bound <= 1:
        right = "at least 1e-300" if 0 < bound <= 1 else "above 0 and at most 1"
        raise InputError("out-of-range", "a threshold", right=right, given=shown(number))
    return bound


def is_long(number: int) -> bool:
    """True if a whole number has too many digits."""
    return number.bit_length() > _MOST_BITS


def shown(number: Any) -> str:
    """A number as a text for messages: its first characters, or that it has too many digits."""
    if isinstance(number, int) and is_long(number):  # printing it would take long, or fail
        return "a whole number of so many digits"
    try:
        text = str(number)
    except ValueError:  # a fraction of more digits than Python prints
        return "a number of so many digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def quoted(number: object) -> str:
    """The `repr` of something given as a number; only the start of a long text."""
    return repr(number[:_SHOWN] + "..." if isinstance(number, str) and number[_SHOWN:] else number)


def _too_long(number: Any) -> bool:
    """True for a number with too many digits before or after its point, or in all.

    A text is too long already if parsing it would take long: so its length comes first.
    """
    if isinstance(number, str):
        # Both parts of a fraction; a sign, a point and an exponent take fewer than 20 characters.
        if any(len(digits) > MOST_DIGITS + 20 for digits in number.split("/")):
            return True
        # "1e9999999" is short, but stands for millions of digits.
        exponent = _EXPONENT.search(number)
        if exponent is not None and len(exponent[1]) > 6:
            return True
        try:
            number = Decimal(number)
        except ArithmeticError:  # a fraction, whose parts are short enough, or no number
            return False
    if isinstance(number, Decimal):
        if not number.is_finite():  # inf and nan have no digits; they are refused elsewhere
            return False
        last = number.as_tuple().exponent
        assert isinstance(last, int)
        # How many digits come after the point, and the power of ten of the first digit.
        decimals, magnitude = max(-last, 0), number.adjusted()
        return max(abs(magnitude), magnitude + decimals, decimals) > MOST_DIGITS
    return isinstance(number, int) and is_long(number)


def exact(number: float | Decimal) -> Decimal:
    """A number as the decimal number that it prints as.

    >>> exact(0.1) == Decimal("0.1")
    True
    """
    return Decimal(float.__repr__(number) if isinstance(number, float) else number)


def is_usual(number: Decimal) -> bool:
    """True if a number is finite and has no more digits than a float may have."""
    exponent = number.as_tuple().exponent
    if isinstance(exponent, str):
        return False
    return exponent >= -USUAL_DIGITS and number.adjusted() <= USUAL_DIGITS


def read_number(value: Any) -> int | Decimal | None:
    """A value of a column as an exact number; None if it is not one, or has too many digits.

    >>> read_number("1.50"), read_number(0.1), read_number("1,5"), read_number(True)
    (Decimal('1.50'), Decimal('0.1'), None, None)
    """
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        number = Decimal(value) if match else None
        # Without an exponent, match[3], the length of the text says that it has few digits; to
        # count them would take as long as to read the number.
        if match and not match[3] and len(value) <= USUAL_DIGITS:
            return number
    elif isinstance(value, int):
        return None if isinstance(value, bool) or is_long(value) else value
    else:
        number = exact(value) if isinstance(value, (float, Decimal)) else None
    return None if number is None or not is_usual(number) else number


def is_code(text: str) -> bool:
    """True for digits with a leading zero, such as 007: a code, not a number."""
    return len(text) > 1 and text[0] == "0" and text.isdigit()


def exact_text(probability: Fraction) -> str:
    """Write a fraction; if it is very long, as a decimal number with 40 decimals, rounded up.

    >>> exact_text(Fraction(2, 3))
    '2/3'
    >>> exact_text(Fraction(2**2000, 3 * 2**2000 + 1))
    '0.3333333333333333333333333333333333333334'
    """
    if probability.denominator.bit_length() <= 1000:
        return str(probability)
    n_decimals = 40
    # In units of the last decimal, rounded up (minus, floor, minus): so it is never less.
    above = -(-probability.numerator * 10**n_decimals // probability.denominator)
    return f"{above // 10**n_decimals}.{above % 10**n_decimals:0{n_decimals}}"
