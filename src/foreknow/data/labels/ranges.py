"""Ranges: numbers or dates from one to another, as texts say them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from foreknow.data.labels.labels import Label, text_of
from foreknow.shown_numbers import read_moment
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.numbers import read_number, shown

Kind: TypeAlias = Literal["number", "day", "moment"]
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?")


@dataclass(frozen=True)
class Range:
    """Numbers or dates from one to another; both ends belong to it.

    Parameters
    ----------
    low, high : number, date or str, optional
        15000, "0.5", "2024-01-31"; without one of them it has no end there. A day that is an end
        belongs to it from its first moment to its last.

    Raises
    ------
    InputError
        If an end cannot be read, or `low` is above `high`.

    Examples
    --------
    >>> below = Range.of({"to": 15000})
    >>> below.holds("15000.0"), below.holds("15000.01"), below.holds("unknown"), str(below)
    (True, False, False, 'up to 15000')
    """

    low: int | str | None = None
    high: int | str | None = None

    def __post_init__(self) -> None:
        """Read the ends; `InputError` if there is none, or if the lower one is above the other."""
        for name in ("low", "high"):
            object.__setattr__(self, name, _end_of_range(getattr(self, name)))
        if self.low is None and self.high is None:
            raise InputError("a range has from, to or both, such as { from = 70000 }")
        if self.low is not None and self.high is not None:
            # Both ends must be numbers or both dates, and in order.
            self._require_comparable(number_or_date(str(self.high)), "its ends")
            if not self.holds(str(self.high)):
                raise InputError(f"a range goes from the lower end up, not {self}")

    @classmethod
    def of(cls, setting: Any) -> Self:
        """Read what stands for one: a mapping with `from`, `to` or both."""
        if isinstance(setting, cls):
            return setting
        if not isinstance(setting, Mapping) or not setting or set(setting) - {"from", "to"}:
            raise InputError(
                f"a range is a table with from, to or both, such as {{ to = 15000 }}, not "
                f"{shown(repr(setting))}"
            )
        return cls(setting.get("from"), setting.get("to"))

    def to_dict(self) -> dict[str, int | str]:
        """Its entry in a policy file."""
        ends = {"from": self.low, "to": self.high}
        return {key: end for key, end in ends.items() if end is not None}

    def __str__(self) -> str:
        if self.low is None:
            return f"up to {self.high}"
        return f"{self.low} and more" if self.high is None else f"{self.low} to {self.high}"

    def holds(self, text: str) -> bool:
        """True if a value, by its text, is in the range; a text without digits is in none.

        Raises
        ------
        UnsupportedError
            If a text with digits cannot be compared: it may be a number that others can read.
        """
        parsed = number_or_date(text)
        # A text without digits, such as "unknown", is surely no number or date.
        if parsed is None and not any(map(str.isnumeric, text)):
            return False
        self._require_comparable(parsed, repr(text))
        assert parsed is not None
        low = None if self.low is None else number_or_date(str(self.low))
        high = None if self.high is None else number_or_date(str(self.high))
        if low is not None and _compare_to_end(parsed, low) < 0:
            return False
        return high is None or _compare_to_end(parsed, high) <= 0

    def _require_comparable(self, parsed: tuple[Kind, Any] | None, what: str) -> None:
        """Raise `UnsupportedError` unless a value and the ends are both numbers, or both dates.

        `parsed` is the value as `number_or_date` reads it, and `what` names it in messages.
        """
        parsed_end = number_or_date(str(self.high if self.low is None else self.low))
        is_of_numbers = parsed_end is not None and parsed_end[0] == "number"
        is_number = parsed is not None and parsed[0] == "number"
        if parsed is not None and parsed_end is not None and is_number == is_of_numbers:
            return
        kind, example = ("numbers", "15000") if is_of_numbers else ("dates", "2024-01-31")
        raise UnsupportedError(
            f"the range {self} is of {kind}, such as {example}, and {what} cannot be compared "
            "with it; write the sensitive values so, or name those that are meant in a list"
        )


def _end_of_range(end: Any) -> int | str | None:
    """An end of a range as a policy file has it; None where the range is open."""
    parsed = None if end is None else number_or_date(end)
    if parsed is None and end is not None:
        raise InputError(
            f"an end of a range is a number or a date such as 2024-01-31, not {shown(repr(end))}"
        )
    if end is None or isinstance(end, int):
        return end
    if isinstance(end, float) and end.is_integer():
        return int(end)
    return text_of(end)


def _compare_to_end(parsed: tuple[Kind, Any], end: tuple[Kind, Any]) -> int:
    """1, 0 or -1 if a number or date lies above, at or below an end of a range.

    A moment within the day that is an end counts as at the end.
    """
    (kind, value), (kind_of_end, limit) = parsed, end
    if kind_of_end == "day" and kind == "moment":
        value = value.date()
    elif kind_of_end == "moment" and kind == "day":
        value = datetime.combine(value, time.min)
    return int(value > limit) - int(value < limit)


def number_or_date(label: Label) -> tuple[Kind, Any] | None:
    """A label as ("number", number), ("day", date) or ("moment", date and time).

    None for a label that is neither a number nor a date.
    """
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, datetime):
        # Moments with a zone, or finer than a microsecond, cannot be compared with others.
        is_whole = label.tzinfo is None and not getattr(label, "nanosecond", 0)
        return ("moment", label) if is_whole else None
    if isinstance(label, date):
        return "day", label
    number = read_number(label)
    if number is None and isinstance(label, str) and _DATE.fullmatch(label):
        moment = read_moment(label)
        if moment is not None:
            return ("moment", moment) if label[10:] else ("day", moment.date())
    return None if number is None else ("number", number)
