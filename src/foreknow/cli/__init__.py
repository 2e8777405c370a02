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
    except Exception:
        if not interrupts.came:
            raise
        code = interrupts.told()  # what an import made of it
    finally:
        interrupts.leave()
    sys.exit(code)
