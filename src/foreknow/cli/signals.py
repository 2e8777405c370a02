"""Signals: a program that is told to end cleans up first, as on Ctrl-C."""

from __future__ import annotations

import signal
from typing import Any

from foreknow.cli.options import INTERRUPTED

_ENDING = ("SIGTERM", "SIGHUP")  # there is no SIGHUP on Windows

_received: list[int] = []


def unwind_on_signals() -> None:
    """Take SIGTERM and SIGHUP as Ctrl-C, so that what was written aside is removed.

    A signal that is ignored already, as nohup has it, stays so.
    """
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _unwind)


def exit_code() -> int:
    """What to exit with after an interruption: 128 and the number of the signal."""
    return 128 + _received[0] if _received else INTERRUPTED


def _unwind(number: int, frame: Any) -> None:
    _received.append(number)
    for name in _ENDING:  # cleaning up is not interrupted once more
        signal.signal(getattr(signal, name, number), signal.SIG_IGN)
    raise KeyboardInterrupt
