"""Budgets: how many runs and how much time there is, and which part of them is left."""

from __future__ import annotations

import time
from dataclasses import dataclass

from foreknow.attacking.running import Runs


@dataclass(frozen=True)
class Budget:
    """So many runs and seconds from now on, whichever ends first.

    Attributes
    ----------
    runs : Runs
        Counts how often the method was run.
    last : int
        The count at which it ends.
    until : float or None
        On the monotonic clock.
    """

    runs: Runs
    last: int
    until: float | None

    @classmethod
    def of(cls, runs: Runs, most: int, seconds: float | None) -> Budget:
        """Start now."""
        until = None if seconds is None else time.monotonic() + seconds
        return cls(runs, runs.made + most, until)

    def part(self, share: float) -> Budget:
        """A share of what is left."""
        now, until = time.monotonic(), self.until
        last = self.runs.made + int((self.last - self.runs.made) * share)
        return Budget(self.runs, last, None if until is None else now + (until - now) * share)

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.runs.made >= self.last or (
            self.until is not None and time.monotonic() > self.until
        )
