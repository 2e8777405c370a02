"""Amounts of knowledge: whole numbers from 0, checked alike for every adversary."""

from __future__ import annotations

import operator
from typing import Any

from foreknow.errors import InputError


def whole_amount(adversary: str, name: str, given: Any) -> int:
    """Read an amount; anything but a whole number from 0 is an error.

    >>> whole_amount("Facts", "l", 2)
    2
    """
    try:
        if isinstance(given, bool):
            raise TypeError
        amount = operator.index(given)
    except TypeError:
        raise InputError(f"{adversary}: {name} must be a whole number, not {given!r}") from None
    if amount < 0:
        raise InputError(f"{adversary}: {name} must be 0 or more, not {amount}")
    return amount
