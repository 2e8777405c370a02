"""The command line: parse, call, print, exit code."""

from __future__ import annotations

import sys

from foreknow.cli.interrupts import Interrupts

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it in one line, also while its parts are imported."""
    interrupts = Interrupts()
    interrupts.watch()
    try:
        from foreknow.cli.entry import run

        code = run(interrupts)
    except KeyboardInterrupt:
        code = interrupts.told()
    except Exception as error:
        if interrupts.came:
            code = interrupts.told()  # what an import made of it
        elif isinstance(error, (MemoryError, ImportError)) and _limited():
            print("foreknow: not enough memory to start (see ulimit -v)", file=sys.stderr)
            code = 2
        else:
            raise
    finally:
        interrupts.leave()
    sys.exit(code)


def _limited() -> bool:
    """Whether the address space is limited."""
    try:
        import resource
    except ImportError:
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
