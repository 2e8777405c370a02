"""The entry of the command line: its commands, its exit codes, and errors in one line."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from foreknow._version import __version__
from foreknow.cli.asking import ask
from foreknow.cli.attacking import attack
from foreknow.cli.auditing import audit
from foreknow.cli.curves import curves
from foreknow.cli.options import BAD_INPUT, BUG, INTERRUPTED, UNSAFE, console, error_console
from foreknow.cli.priors import priors
from foreknow.cli.publishing import demo, publish, verify
from foreknow.cli.signals import exit_code, unwind_on_signals
from foreknow.cli.skyline import skyline
from foreknow.cli.survey import survey
from foreknow.cli.utility import utility
from foreknow.errors import ForeknowError, InputError, InternalError, NoSafeRelease, StatementError

app = typer.Typer(
    name="foreknow",
    help="Audit and publish tables about people against adversaries who already know something.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Exit codes: 0 safe or written, 1 unsafe or no safe release exists, 2 bad input, "
    "3 a bug in Foreknow, 130 interrupted, 143 terminated.",
)

for command in (
    audit,
    skyline,
    curves,
    survey,
    ask,
    attack,
    utility,
    priors,
    publish,
    verify,
    demo,
):
    app.command()(command)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Audit and publish tables about people against adversaries who already know something."""
    if version:
        console().print(f"foreknow {__version__}", highlight=False)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr, never a traceback."""
    try:
        unwind_on_signals()
        code = app(standalone_mode=False)
        if code == INTERRUPTED:  # Typer's way to say so
            raise KeyboardInterrupt
        sys.exit(code)
    except NoSafeRelease as error:
        _fail(error, UNSAFE)
    except InputError as error:
        _fail(error, BAD_INPUT)
    except ForeknowError as error:
        _fail(error, BUG)
    except (KeyboardInterrupt, typer.Abort):
        error_console().print("interrupted; nothing was left half-written")
        sys.exit(exit_code())
    except OSError as error:
        with suppress(OSError):
            error_console().print(
                f"foreknow: {error}", markup=False, highlight=False, soft_wrap=True
            )
        os._exit(BAD_INPUT)  # a full disk would make Python fail again at its own exit
    except Exception as error:
        if hasattr(error, "show"):
            error.show()  # of the command line's own grammar, such as an unknown option
            sys.exit(BAD_INPUT)
        if "interrupt" in str(error).lower():  # how an engine says that Ctrl-C reached it
            error_console().print("interrupted; nothing was left half-written")
            sys.exit(exit_code())
        if os.environ.get("FOREKNOW_DEBUG"):
            raise
        bug = InternalError(f"{type(error).__name__}: {error}")
        error_console().print(
            f"foreknow: {bug} FOREKNOW_DEBUG=1 shows where.", markup=False, soft_wrap=True
        )
        sys.exit(BUG)


def _fail(error: ForeknowError, code: int) -> None:
    from foreknow.report.console import one_line

    say = error_console()
    # Only a statement's caret takes lines of its own; others would be a file's own words.
    lines = str(error).split("\n") if isinstance(error, StatementError) else [str(error)]
    said = "\n".join(one_line(line, say.encoding) for line in lines)
    say.print(f"foreknow: {said}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)
