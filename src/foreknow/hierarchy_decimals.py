"""Numbers as the decimals they print as, counted exactly in units of a decimal place."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.errors import HierarchyError

Number: TypeAlias = int | float | Decimal | str

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_MOST_DIGITS = 400  # more than any float has; keeps 1E+999999 from filling the memory


def exact(number: float | Decimal) -> Decimal:
    """The decimal that a number prints as.

    >>> exact(0.1) == Decimal("0.1")
    True
    """
    return Decimal(float.__repr__(number) if isinstance(number, float) else number)


def to_decimal(given: Any, what: str) -> Decimal:
    """Read a number, or the text of one; `what` names it in messages."""
    if isinstance(given, bool) or not isinstance(given, (int, float, Decimal, str)):
        raise HierarchyError(f"{what} must be a number, not {given!r}")
    try:
        if isinstance(given, str) and not given.isascii():
            raise ValueError
        number = Decimal(given.strip()) if isinstance(given, str) else exact(given)
    except InvalidOperation:
        raise HierarchyError(f"{what} must be a number, not {given!r}") from None
    exponent = number.as_tuple().exponent
    if isinstance(exponent, str) or exponent < -_MOST_DIGITS or number.adjusted() > _MOST_DIGITS:
        raise HierarchyError(f"{what} must be a finite number of usual size, not {given}")
    return number


def not_a_number(value: Any) -> str | None:
    """Why a value of a column cannot lie in an interval; None if it can."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return "intervals need numbers"
    if isinstance(value, int):
        return None
    number = exact(value)
    if not number.is_finite():
        return "intervals need finite numbers"
    return "it is too large" if number and number.adjusted() > _MOST_DIGITS else None


def common_unit(numbers: Sequence[Decimal]) -> tuple[int, list[int]]:
    """The decimal places that the numbers need, and the numbers in units of the last place.

    >>> common_unit([Decimal("0.50"), Decimal(2)])
    (1, [5, 20])
    """
    exponents = [int(number.normalize(_EXACT).as_tuple().exponent) for number in numbers]
    places = max(0, -min(exponents, default=0))
    return places, [_floor(number, places) for number in numbers]


def floors(
    values: Sequence[Any], kinds: set[type], places: int, reach: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Round numbers down to units of a decimal place, exactly; also return keys that sort them.

    Machine integers where `reach` more or less cannot overflow, Python's own otherwise.

    Parameters
    ----------
    values : sequence of int, float or Decimal
        Finite numbers.
    kinds : set of types
        The types of the values.
    places : int
        Decimal places of the unit.
    reach : int
        The largest number that will be added to a result, or divide it.
    """
    ranks: NDArray[Any] | None = None
    whole: Sequence[int] = values
    if not kinds <= {int}:
        numbers = [exact(value) for value in values]
        whole = [_floor(number, places) for number in numbers]
        ranks = np.array(values) if kinds == {float} else objects(numbers)
    elif places:
        scale = 10**places
        whole = [value * scale for value in values]
    most = max(max(whole, default=0), -min(whole, default=0))
    units = np.array(whole, np.int64) if most + reach < 2**62 else objects(whole)
    return units, units if ranks is None else ranks


def decimal_text(units: int, places: int) -> str:
    """Print a number of units of a decimal place, without needless zeros.

    >>> decimal_text(-1250, 3), decimal_text(2000, 3)
    ('-1.25', '2')
    """
    if places == 0:
        return str(units)
    whole, part = divmod(abs(units), 10**places)
    text = f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")
    return f"-{text}" if units < 0 else text


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """An array of the very objects, which NumPy neither rounds nor cuts."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _floor(number: Decimal, places: int) -> int:
    return int(number.scaleb(places, _EXACT).to_integral_value(ROUND_FLOOR, _EXACT))
