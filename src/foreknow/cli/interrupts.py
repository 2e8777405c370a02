"""Interrupts: Ctrl-C ends the command line in one line, whatever it breaks into.

SIGTERM and SIGHUP do the same, so that what was written aside is removed.
"""

from __future__ import annotations

import _thread
import atexit
import signal
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:  # without `typing`: little should be imported before the signal is watched
    from types import FrameType

INTERRUPTED = 130
_ENDING = ("SIGTERM", "SIGHUP")  # there is no SIGHUP on Windows


class Interrupts:
    """Whether a signal came: imports and engines make errors of their own of it.

    Attributes
    ----------
    came : bool
    code : int
        To exit with: 128 and the number of the signal.
    """

    def __init__(self) -> None:
        self.came = False
        self.code = INTERRUPTED
        self._told = self._watching = False
        self._shown = sys.unraisablehook

    def watch(self) -> None:
        """Begin to watch, unless a signal is ignored, as nohup has it, or somebody else's."""
        try:
            for name in _ENDING:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._end)
            if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
                return
            signal.signal(signal.SIGINT, self._note)
        except ValueError:  # not in the main thread, which is the one that signals reach
            return
        self._watching = True
        sys.unraisablehook = self._unraisable
        atexit.register(_ignore)

    def leave(self) -> None:
        """Watch no longer."""
        if self._watching:
            sys.unraisablehook = self._shown
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def told(self) -> int:
        """Say so, once, and return the exit code."""
        if not self._told:
            self._told = True
            with suppress(OSError, ValueError):
                print("interrupted; nothing was left half-written", file=sys.stderr, flush=True)
        return self.code

    def _note(self, signum: int, frame: FrameType | None) -> None:
        self.came = True
        if not self._told:  # a second one does not break into the farewell
            raise KeyboardInterrupt

    def _end(self, signum: int, frame: FrameType | None) -> None:
        self.code = 128 + signum
        for name in _ENDING:  # a second one does not break into the cleaning up
            signal.signal(getattr(signal, name, signum), signal.SIG_IGN)
        self._note(signum, frame)

    def _unraisable(self, what: sys.UnraisableHookArgs) -> None:
        if self.came and issubclass(what.exc_type, KeyboardInterrupt):
            _thread.interrupt_main()  # it broke into what cannot fail, such as __del__: once more
        else:
            self._shown(what)


def _ignore() -> None:
    """All is written and said: let the interpreter end in peace."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
