"""The command `curves`: what so many implications or negations disclose of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreknow.cli.inputs import Columns, open_by, open_raw, value_named, warn_of_the_rest
from foreknow.cli.options import (
    Group,
    Html,
    QuasiIdentifiers,
    Quiet,
    Sensitive,
    SomePolicy,
    console,
    is_whole,
    progress,
    refuse_inputs,
)
from foreknow.errors import InputError, SchemaError


def curves(
    release: Annotated[Path, typer.Argument(help="CSV, Parquet, or a folder.")],
    levels: Annotated[
        str | None,
        typer.Option(
            "--levels",
            help='Generalize a raw table first, such as "age=3, sex=0"; columns that are left out '
            "are suppressed.",
        ),
    ] = None,
    upto: Annotated[int, typer.Option("--upto", help="The most pieces of knowledge.")] = 12,
    value: Annotated[
        str | None,
        typer.Option("--value", "-v", help="A sensitive value; any when left out."),
    ] = None,
    policy: SomePolicy = None,
    group: Group = None,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    html: Html = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the curves as JSON.")] = None,
    quiet: Quiet = False,
) -> None:
    """Show how sure somebody can become who knows so many implications, or negations.

    RELEASE is what "foreknow audit" takes; with --levels, it is a raw table, of which each column
    is written at that level of its hierarchy. Its columns are those of the policy, or of the
    options --sensitive and --group or --quasi-identifiers, or of the certificate in its folder.
    """
    from foreknow.auditing.curves import disclosure_curves
    from foreknow.methods.fulldomain.levels import counts_at

    columns = Columns(group, quasi_identifiers, sensitive)
    refuse_inputs(html, json, tuple(path for path in (release, policy) if path is not None))
    wanted = None if levels is None else _levels(levels)
    if wanted is not None and group is not None:
        raise SchemaError("--levels makes the groups of a raw table; leave out --group")
    opened = None
    with progress("Counting the release", quiet):
        if wanted is None:
            opened = open_by(release, policy, columns)
            counts, name, column = opened.counts, opened.name, opened.sensitive
        else:
            raw = open_raw(release, policy, columns)
            counts = counts_at(raw, wanted)
            name, column = f"{raw.name} at {levels}", raw.schema.sensitive
        about = None if value is None else value_named(counts, value)
        found = disclosure_curves(counts, upto, about, name=name, sensitive=column)
    if html is not None:
        with progress("Writing the page", quiet):
            found.to_html(html)
    if json is not None:
        found.to_json(json)
    if not quiet:
        console().print(found)
        if opened is not None:
            warn_of_the_rest(opened)


def _levels(text: str) -> dict[str, int | str]:
    """Read "age=3, sex=*"."""
    levels: dict[str, int | str] = {}
    for part in text.split(","):
        column, equals, level = (piece.strip() for piece in part.rpartition("="))
        whole = is_whole(level)
        if not equals or not column or not (whole or level == "*"):
            raise InputError(
                f'--levels takes a level for each column, such as "age=3, sex=*", not {text!r}'
            )
        if column in levels:
            raise InputError(f"--levels names {column!r} twice; keep one")
        levels[column] = int(level) if whole else level
    return levels
