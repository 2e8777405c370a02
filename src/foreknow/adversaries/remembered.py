"""What was worked out of counts is remembered with them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from foreknow.data.counts import GroupCounts

Result = TypeVar("Result")


def remembered(counts: GroupCounts, key: Hashable, make: Callable[[], Result]) -> Result:
    """What was made of counts under a key; it is made once.

    >>> counts = GroupCounts.from_bags([["Flu", "Cold"]])
    >>> remembered(counts, "sizes", lambda: "worked out"), remembered(counts, "sizes", lambda: "")
    ('worked out', 'worked out')
    """
    result: Result | None = counts.memory.get(key)
    if result is None:
        result = counts.memory[key] = make()
    return result
