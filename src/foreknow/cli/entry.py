"""The entry of the command line: its commands, its exit codes, and errors in one line."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from foreknow._version import __version__
from foreknow.cli.analyses import (
    audit,
    curves,
    learned,
    risk,
    schema,
    skyline,
    sql,
    survey,
    utility,
)
from foreknow.cli.ask import ask
from foreknow.cli.attack import attack
from foreknow.cli.explore import explore
from foreknow.cli.options import BAD_INPUT, BUG, UNSAFE, WithMethods, console
from foreknow.cli.prepare import compare, init, priors
from foreknow.cli.process import INTERRUPTED, Interrupts, prepare_memory, streams
from foreknow.cli.publish import demo, evidence, publish, verify
from foreknow.data.address import hidden
from foreknow.errors import (
    ForeknowError,
    InputError,
    InternalError,
    NoSafeRelease,
    NotEnoughMemory,
    StatementError,
    short_of_memory,
)
from foreknow.text import one_line

# Commands whose exit code or files are the outcome; what the others print is.
_SETTLED = ("init", "audit", "attack", "publish", "verify", "evidence", "demo", "priors")

# Set free where memory has run out, so that this can be said.
_SPARE = 4 << 20

app = typer.Typer(
    name="foreknow",
    help="Audit and publish tables about people against adversaries who already know something.",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog="Exit codes: 0 safe or written, 1 unsafe or no safe release exists, 2 bad input, "
    "3 a bug in Foreknow, 4 undecided, 130 interrupted, 143 terminated. They stand when "
    "the output is closed or full.",
)

_COMMANDS = {
    "The main job": (init, publish, audit, verify, evidence, demo),
    "What adversaries can find out": (skyline, curves, ask, risk, attack, learned),
    "What to choose": (compare, utility, survey, explore),
    "Inputs": (priors, schema, sql),
}
for panel, commands in _COMMANDS.items():
    for command in commands:
        with_methods = WithMethods if command in (attack, compare, publish) else None
        app.command(cls=with_methods, rich_help_panel=panel)(command)


@dataclass
class _Call:
    """The command that was called: it decides what a full output means."""

    command: str | None = None


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Audit and publish tables about people against adversaries who already know something."""
    if isinstance(context.obj, _Call):
        context.obj.command = context.invoked_subcommand
    if version:
        console().print(f"foreknow {__version__}", highlight=False)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(interrupts: Interrupts) -> int:
    """Run the command line and return its exit code; a mistake is one line on stderr."""
    call = _Call()
    with streams() as (out, _):
        code = _outcome(call, interrupts)
        out.flush()
        if out.full:
            _say(f"standard output cannot be written: {out.full}")
            if code == 0 and call.command not in _SETTLED:
                return BAD_INPUT
    return code


def _outcome(call: _Call, interrupts: Interrupts) -> int:
    spare = [bytes(_SPARE)]
    try:
        prepare_memory()
        code = app(standalone_mode=False, obj=call)
    except BaseException as error:
        spare.clear()
        if interrupts.came or isinstance(error, (KeyboardInterrupt, typer.Abort)):
            return interrupts.farewell()
        if isinstance(error, SystemExit) and call.command is None:
            return int(error.code or 0)  # a shell asked how words go on
        try:
            return _report(error)
        except MemoryError:
            return _report(NotEnoughMemory("the rest"))
    if code == INTERRUPTED:  # Typer's way to say so
        return interrupts.farewell()
    return int(code or 0)


def _report(error: BaseException) -> int:
    """Say what went wrong, and return the exit code of it."""
    if isinstance(error, NoSafeRelease):
        code = UNSAFE
    elif isinstance(error, (InputError, NotEnoughMemory)):
        code = BAD_INPUT
    elif isinstance(error, ForeknowError):
        code = BUG
    elif hasattr(error, "show"):
        usage = io.StringIO()
        error.show(file=usage)  # of the command line's own grammar, such as an unknown option
        said = hidden(usage.getvalue(), sys.argv)
        print(one_line(said, kept="\n"), end="", file=sys.stderr, flush=True)
        return BAD_INPUT
    elif short_of_memory(error):
        error, code = NotEnoughMemory("this table"), BAD_INPUT
    elif isinstance(error, OSError):
        code = BAD_INPUT
    elif isinstance(error, SystemExit):
        error, code = InputError("the method ended the program, by sys.exit"), BAD_INPUT
    else:
        if os.environ.get("FOREKNOW_DEBUG"):
            raise error  # its own words may hold an address, which who asks for them knows
        bug = InternalError(f"{type(error).__name__}: {error}")
        error, code = ForeknowError(f"{bug} FOREKNOW_DEBUG=1 shows where."), BUG
    if isinstance(error, NoSafeRelease):
        _say(error.said)
        for line in error.way_out:
            print(one_line(hidden(line, sys.argv)), file=sys.stderr, flush=True)
        return code
    _say(error, pointing=isinstance(error, StatementError))
    return code


def _say(said: object, *, pointing: bool = False) -> None:
    """Write a line to stderr; only a caret below a text may be in a line of its own."""
    shown = one_line(hidden(str(said), sys.argv), kept="\n" if pointing else "")
    print(f"foreknow: {shown}", file=sys.stderr, flush=True)
