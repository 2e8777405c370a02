"""Figures: numbers and dates as they are shown, and how far apart they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from math import floor, log10
from typing import Any

from foreknow.numbers import EXACT, MOST_DECIMALS, Rounding, decimal_text, fixed, floor_of, rounded
from foreknow_judge.numbers import as_fraction


def read_moment(moment: Any) -> datetime | None:
    """A date, a date-time or an ISO text as a date-time without zone; None for anything else."""
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            return None
    if isinstance(moment, datetime):
        # The zone is dropped and not converted: a day stays the day that is written.
        return moment.replace(tzinfo=None)
    return datetime.combine(moment, time.min) if isinstance(moment, date) else None


def days_of(moment: date | time) -> float:
    """Place of a date, a date-time or a time of day, in days."""
    days = float(moment.toordinal()) if isinstance(moment, date) else 0.0
    if isinstance(moment, (datetime, time)):
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
        days += (seconds + moment.microsecond / 1e6) / 86400
    return days


def common_unit(numbers: Sequence[Decimal]) -> tuple[int, list[int]]:
    """The decimal places that the numbers need, and the numbers in units of the last place.

    >>> common_unit([Decimal("0.50"), Decimal(2)])
    (1, [5, 20])
    """
    exponents = []  # -2 for 0.05; trailing zeros do not count
    for number in numbers:
        exponents.append(int(number.normalize(EXACT).as_tuple().exponent))
    n_decimals = max(0, -min(exponents, default=0))
    return n_decimals, [floor_of(number, n_decimals) for number in numbers]


def percentage(
    share: float | Fraction,
    digits: int = 0,
    to: Rounding = "nearest",
    told_apart: Callable[[Fraction], bool] = lambda printed: True,
) -> str:
    """Write a share as a percentage with `digits` decimals, or as many more as it takes.

    It is 0% or 100% only if the share is exactly 0 or 1. `told_apart` may refuse a printed share,
    such as one that looks equal to a limit: then more decimals are shown.

    >>> percentage(Fraction(1, 3), 1), percentage(Fraction(1, 3), 1, "up"), percentage(0.9962)
    ('33.3%', '33.4%', '99.6%')
    >>> percentage(0.004), percentage(0), percentage(2.5)
    ('0.4%', '0%', '250%')
    """
    percents = 100 * (share if isinstance(share, (int, Fraction)) else as_fraction(share))
    if percents in (0, 100):
        return f"{percents}%"
    for decimals in range(digits, MOST_DECIMALS):
        printed = rounded(percents, decimals, to)
        if printed not in (0, 100) and told_apart(printed / 100):
            digits = decimals
            break
    else:
        digits, printed = MOST_DECIMALS, rounded(percents, MOST_DECIMALS, to)
    return f"{fixed(printed, digits)}%"


def significant(
    number: float | Fraction, digits: int = 4, to: Rounding = "nearest", reserved: int = 1
) -> str:
    """Write a non-negative number with at least `digits` significant digits, and its whole part.

    It has more digits where rounding would show 0, or the number `reserved` (such as 1 for a
    chance), for a number that is not.
    """
    exact_number = number if isinstance(number, (int, Fraction)) else as_fraction(number)
    if exact_number in (0, reserved):
        return str(exact_number)
    # The power of ten of the first digit; a float cannot tell it of smaller numbers.
    first = floor(log10(exact_number)) if exact_number > Fraction(1, 10**300) else -300
    for decimals in range(max(0, digits - 1 - first), MOST_DECIMALS + 300):
        printed = rounded(exact_number, decimals, to)
        if printed not in (0, reserved):
            return decimal_text(int(printed * 10**decimals), decimals)
    return decimal_text(int(rounded(exact_number, 400, to) * 10**400), 400)
