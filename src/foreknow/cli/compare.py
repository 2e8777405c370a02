"""The command `compare`: methods at several limits, measured side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from foreknow.cli.inputs import is_published
from foreknow.cli.options import (
    UNSAFE,
    Html,
    Json,
    PolicyPath,
    Quiet,
    Raw,
    progress,
    read_by,
    reads,
    refuse_inputs,
    show_result,
)
from foreknow.cli.process import INTERRUPTED
from foreknow.data.reading import NOTHING, Reading
from foreknow.errors import InputError, SchemaError


@reads
def compare(
    table: Raw,
    policy: PolicyPath,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            help="Methods, with commas between; all but jump, safe and naive when left out.",
        ),
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(
            "--limits",
            help="Limits of the strictest requirement, such as 0.2,1/3; the others change in "
            "proportion (default: the policy's, and 1/2, 3/4, 5/4 and 3/2 times it).",
        ),
    ] = None,
    amounts: Annotated[
        list[str] | None,
        typer.Option(
            "--amounts",
            metavar="NAME=NUMBERS",
            help="What adversaries know, such as k=1,3,5; may be repeated (default: the policy's).",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", help="End a run that takes longer; 0: never.")
    ] = 60.0,
    queries: Annotated[
        int, typer.Option("--queries", help="Random queries that each release is asked.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Of the queries and of the methods.")] = 0,
    processes: Annotated[
        int | None,
        typer.Option("--processes", help="Runs at once; as many as there are cores if left out."),
    ] = None,
    html: Html = None,
    json: Json = None,
    quiet: Quiet = False,
    reading: Reading = NOTHING,
) -> None:
    """Show what methods would keep of a table at several limits, and how safe that would be.

    Every run publishes TABLE as foreknow publish would, measures the release, and keeps nothing of
    it. Ctrl-C ends the runs: what was finished is printed and written. What is shown says more of
    TABLE than a release does: it is for the owner.
    """
    from foreknow.comparison import compare as run
    from foreknow.policy.policy import Policy

    refuse_inputs(html, json, (table, policy))
    if is_published(table):
        raise SchemaError(f"{str(table)!r} is published already; give the raw table")
    rules = read_by(Policy.load(policy), reading)
    with progress("Comparing", quiet):
        found = run(
            table,
            rules,
            methods=None if methods is None else _listed(methods),
            limits=None if limits is None else _listed(limits),
            amounts=dict(_amount(text) for text in amounts or ()),
            seconds=seconds or None,
            queries=queries,
            seed=seed,
            processes=processes,
        )
    show_result(found, html, json, quiet)
    if not found.complete:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if found.safe else UNSAFE)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _amount(text: str) -> tuple[str, list[int]]:
    """Read NAME=NUMBERS."""
    name, _, numbers = text.partition("=")
    try:
        return name.strip(), [int(number) for number in _listed(numbers)]
    except ValueError:
        raise InputError(f"--amounts {text!r} is not NAME=NUMBERS, such as k=1,3,5") from None
