"""The commands that ask of a table before it is published: init, priors and compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from foreknow.cli.inputs import Rules, refuse_published
from foreknow.cli.options import (
    POLICY,
    UNSAFE,
    Files,
    ForwardedOptions,
    More,
    Output,
    Quiet,
    Raw,
    Results,
    command,
    console,
    listed,
    print_plain,
    progress,
)
from foreknow.cli.process import INTERRUPTED
from foreknow.data.address import spoken
from foreknow_judge.errors import InputError
from foreknow_judge.printed import visible
from foreknow_judge.text import some


@command("foreknow.planning.suggestion:suggest_policy")
def init(
    table: Raw,
    *,
    out: Path = Path(POLICY),
    force: bool = False,
    files: Files,
    quiet: Quiet = False,
    given: ForwardedOptions,
) -> None:
    """Write a first policy for a table, with comments, that the table can satisfy.

    Columns get roles by their names, types, looks and numbers of values, with reasons; what needs
    your decision is marked DECIDE. The table can be published by it, unless an identifier repeats:
    then you must say first what a row is, or which limit holds over all rows of a person.

    Parameters
    ----------
    out
        A policy file that does not exist yet.
    force
        Write over one that exists.
    """
    from foreknow.atomic_files import write_whole
    from foreknow.errors import OutputError
    from foreknow.planning.suggestion import suggest_policy

    if not force and (out.exists() or out.is_symlink()):
        raise OutputError(
            f"{str(out)!r} exists already; name a new file with --out, or write over it with "
            "--force"
        )
    with progress("Looking at the columns", quiet):
        found = suggest_policy(table, reading=files.reading, **given)
        write_whole(out, found.to_toml()) if force else found.write(out)
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
    for note in (*found.costs, *found.notes):
        print_plain(f"{visible(note)}.")
    if found.questions:
        say.print("To decide:")
    for question in found.questions[:10]:
        print_plain(f"  {visible(question)}.")
    if len(found.questions) > 10:
        print_plain(f"  and {len(found.questions) - 10} more, in the file.")
    line = f"Written to {visible(out)}; read it, then: foreknow publish {visible(spoken(table))} "
    print_plain(f"{line}--policy {visible(out)} --out FOLDER", soft_wrap=True)


@command()
def priors(
    table: Raw,
    *,
    by: str,
    sensitive: str,
    out: Path,
    files: Files,
    quiet: Quiet = False,
) -> None:
    """Write how frequent each sensitive value is for people of each kind, as a table of priors.

    A policy takes it: priors = { file = "statistics.csv" }. Then the adversary knows the true
    frequencies of TABLE, exactly.

    Parameters
    ----------
    by
        Columns of a kind, with commas between.
    sensitive
        The column of sensitive values.
    out
        A CSV file to write.
    """
    from foreknow.adversaries.priors.priors import Priors
    from foreknow.data.engines import open_table

    Output(json=out).refuse(table)
    with progress("Counting", quiet):
        known = Priors.learn(open_table(table, files.reading), listed(by), sensitive)
        (learned,) = known.tables
    learned.to_csv(out)
    if not quiet:
        print_plain(
            f"{some(len(learned.chances), 'kind', 'kinds')} of people, "
            f"{some(len(learned.values), 'value', 'values')} of "
            f"{visible(sensitive)}: written to {visible(out)}"
        )


@command("foreknow.utility.comparison:compare")
def compare(
    table: Raw,
    *,
    rules: Rules,
    amounts: Annotated[list[str] | None, More(metavar="NAME=NUMBERS")] = None,
    models: bool = False,
    target: Annotated[list[str] | None, More(metavar="COLUMN[=VALUE]")] = None,
    output: Results,
    given: ForwardedOptions,
) -> int:
    """Show what methods would keep of a table at several limits, and how safe that would be.

    Every run publishes TABLE as foreknow publish would, measures the release, and keeps nothing of
    it. Ctrl-C ends the runs: what was finished is printed and written. What is shown says more of
    TABLE than a release does: it is for the owner.

    Parameters
    ----------
    amounts
        What adversaries know, such as k=1,3,5; may be repeated (default: the policy's).
    seconds
        After which a run is ended; 0: never.
    queries
        Random queries that each release is asked.
    models
        Fit models to each release, too, as foreknow utility does.
    target
        What models explain; repeatable; implies --models (default: the sensitive columns).
    """
    from foreknow.utility.comparison import compare as run

    refuse_published(table)
    given["seconds"] = given["seconds"] or None
    with output.progress("Comparing"):
        varied = dict(map(_amount, amounts or ()))
        found = run(table, rules.rules(table), amounts=varied, models=target or models, **given)
    output.show(found)
    if not found.complete:
        return INTERRUPTED
    return 0 if found.safe else UNSAFE


def _amount(text: str) -> tuple[str, list[int]]:
    """Read NAME=NUMBERS."""
    name, _, numbers = text.partition("=")
    try:
        return name.strip(), [int(number) for number in listed(numbers)]
    except ValueError:
        raise InputError(f"--amounts {text!r} is not NAME=NUMBERS, such as k=1,3,5") from None
