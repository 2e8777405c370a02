"""Labels of groups and values: distinct, looked up by code, in a stable order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any, TypeAlias

from foreknow.errors import DataError

Label: TypeAlias = Hashable


class Labels(tuple[Label, ...]):
    """Distinct labels; their codes are looked up once and shared by all counts that use them."""

    def __new__(cls, labels: Iterable[Label] = ()) -> Labels:  # noqa: D102
        made = super().__new__(cls, labels)
        if len(made.codes) != len(made):
            twice = [label for label, n in Counter(made).items() if n > 1]
            raise DataError(f"the value label {twice[0]!r} is given twice")
        return made

    @cached_property
    def codes(self) -> dict[Label, int]:
        """Position of each label."""
        return {label: code for code, label in enumerate(self)}


def in_order(labels: Iterable[Label]) -> list[Label]:
    """Sort labels of any types: numbers by value, then texts, then the rest by name.

    >>> in_order(["b", 10, "a", 9])
    [9, 10, 'a', 'b']
    """

    def key(label: Label) -> tuple[int, Any, str]:
        if isinstance(label, (int, float)) and not isinstance(label, bool):
            return (0, label, "")
        if isinstance(label, str):
            return (1, label, "")
        return (2, type(label).__name__, str(label))

    return sorted(labels, key=key)
