"""The command ``foreknow-verify``: an interrupt ends it at once, in one line, whatever it does."""

import gc
import os
import signal
import sys


def run() -> None:
    """Run the command ``foreknow-verify``, and end the process with its exit code.

    Little is imported before the signal is watched, since until then an interrupt is a traceback.
    """
    # Another handler means that whoever started this process wants interrupts ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    # These three take a fifth of the time of a small release, for nothing: modules are no garbage
    # to collect, nothing here multiplies matrices, so needs no threads of OpenBLAS, and plugins of
    # pydantic could only change what is refused.
    gc.set_threshold(200_000)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "1"
    from foreknow_judge.files.pandas_guard import NoPandas
    from foreknow_judge.output_lines import main

    sys.meta_path.insert(0, NoPandas)  # PyArrow would import pandas, which takes long
    try:
        code = main()
    except BrokenPipeError:  # nobody reads any longer
        code = 2
    _end(code)


def _interrupted(*_: object) -> None:
    _end(130, b"interrupted; nothing was written\n")


def _end(code: int, message: bytes = b"") -> None:
    """Write a message to stderr, and end the process at once with an exit code.

    An exception could be caught, or get another exit code, by DuckDB or while modules are imported;
    and an orderly end takes long. So DuckDB's scratch folder is deleted here.
    """
    scratch = getattr(sys.modules.get("foreknow_judge.files.duckdb_files"), "_scratch", None)
    try:
        if scratch is not None:
            from shutil import rmtree

            rmtree(scratch[1], ignore_errors=True)
        os.write(2, message)
    finally:
        os._exit(code)


if __name__ == "__main__":
    run()
