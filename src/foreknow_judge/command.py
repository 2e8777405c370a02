"""The command ``foreknow-verify``: an interrupt ends it at once, in one line, whatever it does."""

import gc
import os
import signal
import sys


def run() -> None:
    """Run the command; little is imported before it, since until then no signal is watched."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is to be ignored
        signal.signal(signal.SIGINT, _end)
    # A fifth of the time of a small release, for nothing: modules are no garbage, and nothing here
    # multiplies matrices.
    gc.set_threshold(200_000)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from foreknow_judge.lines import main

    try:
        code = main()
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  nobody reads any longer
        code = 2
    gc.freeze()
    sys.exit(code)


def _end(*_: object) -> None:
    """End the process here: what is raised, DuckDB and modules that are imported turn or lose."""
    aside = getattr(sys.modules.get("foreknow_judge.duckdb_files"), "_scratch", None)
    try:
        if aside is not None:
            from shutil import rmtree

            rmtree(aside[1], ignore_errors=True)
        os.write(2, b"interrupted; nothing was written\n")
    finally:
        os._exit(130)
