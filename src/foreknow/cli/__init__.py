"""The command line: parse, call, print, exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress

from foreknow.cli.process import Interrupts, address_space

__all__ = ["main", "run_and_exit"]

# Objects that are made between two looks for unreachable ones, of which there are hardly any: what
# a command makes is arrays, and what it imports stays. At 700, looking takes a tenth of its time.
_MADE = 1_000_000


def main() -> None:
    """Run the command line; Ctrl-C ends it in one line, also while its parts are imported."""
    gc.set_threshold(_MADE)
    # One look less when it ends. None at all (freeze) would save another tenth of a second, but
    # DuckDB 2.0.0 then prints what it was left with.
    atexit.register(gc.disable)
    # The threads of NumPy's library sleep until there is work, of which there is hardly any: else
    # each keeps a processor busy for a twentieth of a second when it starts.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    interrupts = Interrupts()
    try:
        interrupts.watch()
        from foreknow.cli.entry import run

        code = run(interrupts)
    except KeyboardInterrupt:
        code = interrupts.farewell()
    # An interrupt during an import may come out as any other error.
    except Exception as error:
        if interrupts.came:
            code = interrupts.farewell()  # what an import made of it
        elif isinstance(error, (MemoryError, ImportError)) and address_space() is not None:
            print("foreknow: not enough memory to start (see ulimit -v)", file=sys.stderr)
            code = 2
        else:
            raise
    finally:
        interrupts.leave()
    sys.exit(code)


def run_and_exit() -> None:
    """Run the command line as a process, which then ends without taking every module down."""
    try:
        main()
    except SystemExit as end:
        atexit._run_exitfuncs()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with suppress(OSError, ValueError):  # nobody reads it: the exit code stands
                stream.flush()
        os._exit(int(end.code or 0))
