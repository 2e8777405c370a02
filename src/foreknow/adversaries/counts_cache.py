"""A cache that belongs to counts."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from foreknow.data.counts import GroupCounts

Result = TypeVar("Result")


def remembered(counts: GroupCounts, key: Hashable, make: Callable[[], Result]) -> Result:
    """The cached result under a key; made at the first call.

    >>> counts = GroupCounts.from_bags([["Flu", "Cold"]])
    >>> remembered(counts, "sizes", lambda: "worked out"), remembered(counts, "sizes", lambda: "")
    ('worked out', 'worked out')
    """
    result: Result | None = counts.cache.get(key)
    if result is None:
        result = counts.cache[key] = make()
    return result
