"""Memory: where a process may use little of it, reserve little, and say so before all is gone."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from foreknow.errors import NotEnoughMemory

# What the libraries map before there is a table. With less, some of them end the process.
_LEAST = 640 << 20

_ARENA_MAX = -8  # of malloc.h


def prepare() -> None:
    """Keep the libraries from reserving what a limit on the address space does not allow.

    Raises
    ------
    NotEnoughMemory
        If the limit is so low that they would end the process while they load.
    """
    limit = _limit()
    if limit is None:
        return
    if limit < _LEAST:
        raise NotEnoughMemory(
            f"Foreknow to start: the limit is {limit >> 20} MB, it needs {_LEAST >> 20} MB"
        )
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with suppress(OSError, AttributeError):  # each thread reserves a stack and an arena
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def _limit() -> int | None:
    """The limit on the address space, if there is one."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft
