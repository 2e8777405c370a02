"""Frozen dataclasses: the one place that sets their fields, while one is being made."""

from __future__ import annotations

from typing import Any


def set_fields(made: object, **fields: Any) -> None:
    """Set fields of a frozen dataclass, from its own `__post_init__` or `__init__`."""
    for name, given in fields.items():
        object.__setattr__(made, name, given)
