"""The commands that ask of a table before it is published: init, priors and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreknow.cli.inputs import listed, load_policy, refuse_published
from foreknow.cli.options import (
    TERMINAL,
    UNSAFE,
    Output,
    PolicyPath,
    QuasiIdentifiers,
    Quiet,
    Raw,
    Sensitive,
    console,
    print_plain,
    progress,
    with_options,
)
from foreknow.cli.process import INTERRUPTED
from foreknow.data.address import spoken
from foreknow.data.reading import NOTHING, Reading
from foreknow.errors import InputError
from foreknow.text import some, visible


@with_options
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
    decision is marked DECIDE. The policy can be published as it is, unless an identifier repeats:
    then you must say first what a row is.
    """
    from foreknow.errors import OutputError
    from foreknow.policy.suggestion import suggest_policy

    if out.exists() or out.is_symlink():
        raise OutputError(f"{str(out)!r} exists already; name a new file with --out")
    chosen = None if quasi_identifiers is None else listed(quasi_identifiers)
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
    line = f"Written to {visible(out)}; read it, then: foreknow publish {visible(spoken(table))} "
    print_plain(f"{line}--policy {visible(out)} --out FOLDER", soft_wrap=True)


@with_options
def priors(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet, or a folder; one row per person.")],
    by: Annotated[str, typer.Option("--by", help="Columns of a kind, with commas between.")],
    sensitive: Annotated[
        str, typer.Option("--sensitive", "-s", help="The column of sensitive values.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A CSV file to write.")],
    quiet: Quiet = False,
    reading: Reading = NOTHING,
) -> None:
    """Write how frequent each sensitive value is for people of each kind, as a table of priors.

    A policy takes it: priors = { file = "statistics.csv" }. Then the adversary knows the true
    frequencies of TABLE, exactly.
    """
    from foreknow.adversaries.priors.priors import Priors
    from foreknow.data.engines import open_table

    Output(json=out).refuse(table)
    with progress("Counting", quiet):
        (learned,) = Priors.learn(open_table(table, reading), listed(by), sensitive).tables
    learned.to_csv(out)
    if not quiet:
        console().print(
            f"{some(len(learned.chances), 'kind', 'kinds')} of people, "
            f"{some(len(learned.values), 'value', 'values')} of "
            f"{visible(sensitive)}: written to {visible(out)}",
            markup=False,
            highlight=False,
        )


@with_options
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
    output: Output = TERMINAL,
    reading: Reading = NOTHING,
) -> None:
    """Show what methods would keep of a table at several limits, and how safe that would be.

    Every run publishes TABLE as foreknow publish would, measures the release, and keeps nothing of
    it. Ctrl-C ends the runs: what was finished is printed and written. What is shown says more of
    TABLE than a release does: it is for the owner.
    """
    from foreknow.comparison import compare as run

    output.refuse(table, policy)
    refuse_published(table)
    rules = load_policy(policy, reading)
    with output.progress("Comparing"):
        found = run(
            table,
            rules,
            methods=None if methods is None else listed(methods),
            limits=None if limits is None else listed(limits),
            amounts=dict(_amount(text) for text in amounts or ()),
            seconds=seconds or None,
            queries=queries,
            seed=seed,
            processes=processes,
        )
    output.show(found)
    if not found.complete:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if found.safe else UNSAFE)


def _amount(text: str) -> tuple[str, list[int]]:
    """Read NAME=NUMBERS."""
    name, _, numbers = text.partition("=")
    try:
        return name.strip(), [int(number) for number in listed(numbers)]
    except ValueError:
        raise InputError(f"--amounts {text!r} is not NAME=NUMBERS, such as k=1,3,5") from None
