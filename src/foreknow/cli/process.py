"""Process: signals, standard streams and memory of the command line.

Ctrl-C, SIGTERM and SIGHUP end it in one line, whatever they break into, and what was written aside
is removed. What is printed may get lost, the exit code may not. Where a process may use little
memory, little is reserved, and it is said before all is gone. Little is imported here, since until
then no signal is watched.
"""

from __future__ import annotations

import _thread
import atexit
import errno
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType
    from typing import Any, TextIO

INTERRUPTED = 130
_ENDING = ("SIGTERM", "SIGHUP")  # there is no SIGHUP on Windows
# What the libraries map before there is a table. With less, some of them end the process.
_LEAST = 640 << 20
_ARENA_MAX = -8  # of malloc.h
# Seconds until an interrupt that could be lost is tried again; and until it is risked, of work, and
# of any kind: a machine that does much else takes long for little work.
_SOON, _PATIENCE, _LONGEST = 0.005, 5.0, 60.0
_IMPORTS = "<frozen importlib"


class Interrupts:
    """Records a signal, which an import may turn into another error, and the exit code."""

    def __init__(self) -> None:
        self.came = False
        self.code = INTERRUPTED
        self._said = self._watching = False
        self._since: tuple[float, float] | None = None  # work and time when the first one came
        self._shown = sys.unraisablehook

    def watch(self) -> None:
        """Begin to watch signals, but not those that are ignored (as by nohup) or others'."""
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

    def leave(self) -> None:
        """Stop watching: what was set is put back, and later signals are ignored."""
        self._said = True  # nothing is interrupted later
        for name in _ENDING:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == self._end:
                signal.signal(number, signal.SIG_DFL)
        if self._watching:
            sys.unraisablehook = self._shown
            atexit.register(_ignore)  # the last one is called first
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def farewell(self) -> int:
        """Print that the run was interrupted, once, and return the exit code."""
        if not self._said:
            self._said = True
            with suppress(OSError, ValueError):
                print("interrupted; nothing was left half-written", file=sys.stderr, flush=True)
        return self.code

    def _note(self, signum: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C: raise `KeyboardInterrupt` now, or later if it could be lost now."""
        self.came = True
        if self._said:  # a second one does not break into the farewell
            return
        work, moment = time.process_time(), time.monotonic()
        # After some work, or some time, since the first signal it is raised in any case.
        began, since = self._since = self._since or (work, moment)
        if _deaf(frame) and work - began < _PATIENCE and moment - since < _LONGEST:
            self._note_later()
        else:
            raise KeyboardInterrupt

    def _end(self, signum: int, frame: FrameType | None) -> None:
        self.code = 128 + signum
        for name in _ENDING:  # a second one does not break into the cleaning up
            signal.signal(getattr(signal, name, signum), signal.SIG_IGN)
        self._note(signum, frame)

    def _unraisable(self, what: sys.UnraisableHookArgs) -> None:
        if self.came and issubclass(what.exc_type, KeyboardInterrupt):
            self._note_later()  # it broke into what cannot fail, such as __del__: once more
        else:
            self._shown(what)

    def _note_later(self) -> None:
        """Interrupt again in a moment, when code that loses interrupts has probably ended."""
        main = _thread.get_ident()

        def interrupt() -> None:
            time.sleep(_SOON)
            if self._said:
                return
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(main, signal.SIGINT)  # a real one also ends what waits
            else:  # Windows
                _thread.interrupt_main()

        with suppress(RuntimeError):  # no thread can be started: it takes another signal
            _thread.start_new_thread(interrupt, ())


def _deaf(frame: FrameType | None) -> bool:
    """True if an exception raised now could be lost: in a hook, or during an import.

    Modules that are compiled swallow it, or end the process, where they import others themselves.
    """
    # Look through all functions that are running, from the innermost.
    while frame is not None:
        code = frame.f_code
        if code is Interrupts._unraisable.__code__ or code.co_filename.startswith(_IMPORTS):
            return True
        frame = frame.f_back
    return False


def _ignore() -> None:
    """Ignore Ctrl-C from now on: everything is written, and the interpreter is about to end."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


# ---- streams -------------------------------------------------------------------------------


class Stream:
    """Standard output or error that never fails: closed or full, the rest is thrown away.

    Characters that its encoding lacks are written as escapes; `lost` is why something is not.
    """

    def __init__(self, inner: TextIO, *, closed: bool = False) -> None:
        self._inner = inner
        self._closed = closed
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        """Write a text, or lose it; signs that the encoding lacks become escapes."""
        if self.lost is None:
            try:
                try:
                    self._inner.write(text)
                except UnicodeEncodeError:
                    encoded = text.encode(self._inner.encoding, "backslashreplace")
                    self._inner.write(encoded.decode(self._inner.encoding))
            except OSError as error:
                self._lose(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what waits, or lose it."""
        if self.lost is None:
            try:
                self._inner.flush()
            except OSError as error:
                self._lose(error)

    @property
    def heard(self) -> bool:
        """True if what was written so far arrived, as far as can be told."""
        self.flush()
        return self.lost is None and not self._closed

    @property
    def full(self) -> str | None:
        """Why nothing could be written, unless nobody reads any longer, as after `| head`."""
        if self.lost is None or self.lost.errno == errno.EPIPE:
            return None
        return self.lost.strerror or str(self.lost)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _lose(self, error: OSError) -> None:
        """Note why writing failed, and send everything else nowhere."""
        self.lost = error
        with suppress(OSError, ValueError):  # what waits would fail again when Python ends
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._inner.fileno())
            os.close(nowhere)


@contextmanager
def streams() -> Iterator[tuple[Stream, Stream]]:
    """While the block runs, print through streams that never fail."""
    _open_closed()
    stdout, stderr = sys.stdout, sys.stderr
    out, err = _stream_to(stdout), _stream_to(stderr)
    sys.stdout, sys.stderr = out, err
    try:
        yield out, err
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = stdout, stderr


def _stream_to(file: TextIO | None) -> Stream:
    """A stream that never fails, to a file, or to nowhere."""
    return Stream(file or open(os.devnull, "w"), closed=file is None)


def _open_closed() -> None:
    """Give closed standard streams a place, so that no file of ours becomes one of them."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)


# ---- memory --------------------------------------------------------------------------------


def prepare_memory() -> None:
    """Keep libraries within a limit on the address space; refuse one too low to load them.

    Nothing is done without a limit.
    """
    limit = address_space()
    if limit is None:
        return
    if limit < _LEAST:
        from foreknow_judge.errors import NotEnoughMemory

        raise NotEnoughMemory(
            f"Foreknow to start: the limit is {limit >> 20} MB, it needs {_LEAST >> 20} MB"
        )
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with suppress(OSError, AttributeError):  # each thread reserves a stack and an arena
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def address_space() -> int | None:
    """The limit on the address space, if there is one."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft
