"""The command `survey`: entropy and worst disclosure of every generalization of a raw table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreknow.cli.inputs import Columns, open_raw
from foreknow.cli.options import (
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
from foreknow.errors import InputError


def survey(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet file, or folder of Parquet files.")],
    knowledge: Annotated[
        str,
        typer.Option("--knowledge", "-k", help="Pieces of knowledge, with commas between."),
    ] = "1,3,5,7,9,11",
    negations: Annotated[
        bool, typer.Option("--negations", help="Of negations instead of implications.")
    ] = False,
    policy: SomePolicy = None,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    html: Html = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the survey as JSON.")] = None,
    quiet: Quiet = False,
) -> None:
    """Judge every generalization of a raw table: how even its groups are, what it discloses.

    Every choice of one level for each quasi-identifier is counted. The hierarchies are those of
    the policy.
    """
    from foreknow.auditing import survey as surveying

    columns = Columns(quasi_identifiers=quasi_identifiers, sensitive=sensitive)
    refuse_inputs(html, json, tuple(path for path in (table, policy) if path is not None))
    pieces = _pieces(knowledge)
    with progress("Judging every generalization", quiet):
        raw = open_raw(table, policy, columns)
        found = surveying.survey(raw, pieces, kind="negations" if negations else "implications")
    if html is not None:
        with progress("Writing the page", quiet):
            found.to_html(html)
    if json is not None:
        found.to_json(json)
    if not quiet:
        console().print(found)


def _pieces(text: str) -> list[int]:
    """Read "1,3,5"."""
    parts = [part.strip() for part in text.split(",")]
    if not all(is_whole(part) for part in parts):
        raise InputError(f"--knowledge takes whole numbers such as 1,3,5, not {text!r}")
    return [int(part) for part in parts]
