"""Frozen: the one place that sets fields of a frozen value, while it is made."""

from __future__ import annotations

from typing import Any


def set_fields(made: object, **fields: Any) -> None:
    """Set fields of a frozen value, as they are once it is made."""
    for name, given in fields.items():
        object.__setattr__(made, name, given)
