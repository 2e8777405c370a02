"""Level limits: how fine a column may be published."""

from __future__ import annotations

from typing import Any, NamedTuple

from foreknow_judge.errors import PolicyError


class Level(NamedTuple):
    """How fine a column may be published."""

    top: Any = None  # numbers or dates from this one on are one value
    at_least: int = 0  # labels are of this level of its hierarchy, or of a coarser one
    bottom: Any = None  # numbers or dates up to this one are one value

    @property
    def has_ends(self) -> bool:
        """True if the highest or the lowest values are one."""
        return self.top is not None or self.bottom is not None

    def with_(self, second: Level) -> Level:
        """The limit that implies both: the lower top, the higher bottom, the coarser level."""
        # None is no limit. The stricter limits are the lowest top and the highest bottom.
        tops = [level.top for level in (self, second) if level.top is not None]
        bottoms = [level.bottom for level in (self, second) if level.bottom is not None]
        at_least = max(self.at_least, second.at_least)
        try:
            level = Level(min(tops, default=None), at_least, max(bottoms, default=None))
            leaves_none = None not in (level.top, level.bottom) and level.bottom >= level.top
        except TypeError:
            raise PolicyError(
                "levels: two requirements say where one column ends, by a number and by a date; "
                "write both as dates, or both as numbers"
            ) from None
        if leaves_none:
            raise PolicyError(
                f"levels: two requirements give one column the bottom {level.bottom} and the top "
                f"{level.top}, so nothing is between them; write a bottom below the top, or leave "
                "the column out"
            )
        return level
