"""Frozen: the one place that sets fields of a frozen value, while it is made or once, later."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self, TypeVar, overload

Found = TypeVar("Found")


def set_fields(made: object, **fields: Any) -> None:
    """Set fields of a frozen value, as they are once it is made."""
    for name, given in fields.items():
        object.__setattr__(made, name, given)


class side_cached(cached_property[Found]):  # noqa: N801
    """A `cached_property` of values that threads make: until Python 3.12 one lock is for all."""

    @overload
    def __get__(self, made: None, of: Any = None) -> Self: ...

    @overload
    def __get__(self, made: object, of: Any = None) -> Found: ...

    def __get__(self, made: Any, of: Any = None) -> Any:
        if made is None:
            return self
        found = made.__dict__[self.attrname] = self.func(made)
        return found
