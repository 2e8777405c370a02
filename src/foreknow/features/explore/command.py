"""The command `explore`: a local web page on columns, policy and release."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Annotated

import click

from foreknow.cli.command import command
from foreknow.cli.options import Files, More
from foreknow.cli.terminal import print_plain
from foreknow.data.columns.reading_rules import NOTHING, is_address, named_part
from foreknow.data.tables.formats.database_address import spoken
from foreknow.errors import OutputError
from foreknow_judge.errors import InputError, UnsupportedError


@command()
def explore(
    table: Annotated[
        Path | None,
        More(metavar="TABLE | RELEASE | FOLDER"),
        "A table, what was published, or a folder with such (default: this one).",
    ] = None,
    *,
    policy: Annotated[Path | None, "A policy, to say what the columns are."] = None,
    port: Annotated[
        int | None, More(type=click.IntRange(1, 65535)), "Default: any that is free."
    ] = None,
    no_browser: Annotated[bool, "Only print the address."] = False,
    files: Files,
) -> None:
    """Open a local web page about a table or a release: who is exposed, and what would change it.

    The page is open to this machine only, at the address that is printed. It can read files of the
    current folder, and those that you name. Ctrl-C ends it.
    """
    try:
        from foreknow.features.explore.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise UnsupportedError(
            f'the page needs {error.name}: pip install ".[explore]" in a clone'
        ) from None
    from foreknow.features.explore.session import Session
    from foreknow_judge.files.file_names import CERTIFICATE

    gc.set_threshold(700)  # as usual: it stays, and drops results that hold each other
    folder, first_path = Path(), table
    reading = files.reading
    if policy is not None and reading != NOTHING:
        raise InputError(
            "a policy says how tables are read: leave the options out, or write them into "
            "[schema.reading] of the policy"
        )
    if table is not None and is_address(table):
        raise InputError(
            f"{spoken(table)!r} is a database, and explore opens files; write the table to one"
        )
    if table is not None:
        table_path = named_part(table)[0]
        if not table_path.exists():
            raise InputError(f"{spoken(table)!r} does not exist")
        if not (table_path.is_file() or table_path.is_dir()):
            raise InputError(
                f"{spoken(table)!r} is a pipe or a device, and the page reads a table more than "
                "once; write it to a file"
            )
    if table is not None and table.is_dir() and not (table / CERTIFICATE).is_file():
        folder, first_path = table, None

    def announce(message: str) -> None:
        print_plain(message, soft_wrap=True)
        if not getattr(sys.stdout, "heard", True):  # without the address nobody gets in
            warn(message)

    def warn(message: str) -> None:
        print(message, file=sys.stderr, flush=True)
        if no_browser and not getattr(sys.stderr, "heard", True):
            raise OutputError("the address of the page cannot be printed anywhere")

    serve(Session(folder, first_path, policy, reading), port, not no_browser, announce, warn)
