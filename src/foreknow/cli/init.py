"""The command `init`: a first policy for a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreknow.cli.options import (
    QuasiIdentifiers,
    Quiet,
    Raw,
    Sensitive,
    console,
    print_plain,
    progress,
    reads,
)
from foreknow.data.reading import NOTHING, Reading
from foreknow.text import some, visible


@reads
def init(
    table: Raw,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A policy file that does not exist yet.")
    ] = Path("policy.toml"),
    sensitive: Sensitive = None,
    quasi_identifiers: QuasiIdentifiers = None,
    quiet: Quiet = False,
    reading: Reading = NOTHING,
) -> None:
    """Write a first policy for a table: commented, and one that can be kept.

    Columns get roles by their names, types and numbers of values, with reasons; what needs your
    decision is marked DECIDE. The policy can be published as it is.
    """
    from foreknow.errors import OutputError
    from foreknow.policy.suggestion import suggest_policy

    if out.exists() or out.is_symlink():
        raise OutputError(f"{str(out)!r} exists already; name a new file with --out")
    chosen = None
    if quasi_identifiers is not None:
        chosen = [name.strip() for name in quasi_identifiers.split(",") if name.strip()]
    with progress("Looking at the columns", quiet):
        found = suggest_policy(
            table, sensitive=sensitive, quasi_identifiers=chosen, reading=reading
        )
        found.write(out)
    if quiet:
        return
    say, schema = console(), found.policy.needed_schema
    print_plain(
        f"{visible(found.name)}: {some(found.rows, 'row', 'rows')}, "
        f"{some(len(found.columns), 'column', 'columns')}."
    )
    for role, names in (
        ("Identifiers", schema.identifiers),
        ("Quasi-identifiers", schema.quasi_identifiers),
        ("Sensitive", schema.sensitives),
    ):
        if names:
            print_plain(f"  {role}: {', '.join(map(visible, names))}")
    undecided = sum(each.role == "undecided" for each in found.columns)
    if undecided:
        print_plain(f"  No role, so not published: {undecided:,}")
    for note in found.notes:
        print_plain(f"{visible(note)}.")
    if found.questions:
        say.print("To decide:")
    for question in found.questions[:10]:
        print_plain(f"  {visible(question)}.")
    if len(found.questions) > 10:
        print_plain(f"  and {len(found.questions) - 10} more, in the file.")
    line = f"Written to {visible(out)}; read it, then: foreknow publish {visible(table)} --policy "
    print_plain(f"{line}{visible(out)} --out FOLDER", soft_wrap=True)
