"""Frozen dataclasses: the one place that sets their fields, while one is being made."""

from __future__ import annotations

from typing import Any


def set_fields(record: object, **fields: Any) -> None:
    """Set fields of a frozen dataclass, from its own `__post_init__` or `__init__`."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)
