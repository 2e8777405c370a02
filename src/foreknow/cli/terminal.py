"""The terminal: results and notes as text, and what is shown while something takes long."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from foreknow_judge.files.printable import visible

if TYPE_CHECKING:
    from rich.console import Console


def say_readings(source: Any, verbose: bool = False) -> None:
    """Print doubts about how columns were read; with `verbose`, how each was read."""
    if verbose:
        readings = source.read_as().items()
        columns = [f"{visible(name)}: {reading}" for name, reading in readings]
        print_plain(f"Read as: {'; '.join(columns)}.")
    doubts = source.doubts() if hasattr(source, "doubts") else {}
    for name, reading in doubts.items():
        print_plain(f"Note: {visible(name)} {reading}.")


def console() -> Console:
    """The console on stdout, for results."""
    from rich.console import Console

    return Console(emoji=False)  # a name such as :key: is a name


def progress(message: str, quiet: bool) -> AbstractContextManager[Any]:
    """Show on stderr what takes long, unless asked to be quiet."""
    if quiet:
        return nullcontext()
    from foreknow.report.console import progress as shown

    return shown(message)


def print_plain(text: str, **options: Any) -> None:
    """Print a text in which nothing is markup."""
    console().print(text, markup=False, highlight=False, **options)
