"""The commands that ask of a table before it is published: init, priors and compare."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from foreknow.cli.command import POLICY, command
from foreknow.cli.options import Files, ForwardedOptions, Output, Quiet, Raw
from foreknow.cli.terminal import console, print_plain, progress
from foreknow.cli.typed_words import listed
from foreknow.data.columns.reading_rules import STDIN, file_of
from foreknow.data.tables.formats.database_address import spoken
from foreknow_judge.files.printable import visible
from foreknow_judge.text import some


@command("foreknow.planning.suggestion.policy:suggest_policy")
def init(
    table: Raw,
    *,
    out: Path = Path(POLICY),
    force: bool = False,
    files: Files,
    quiet: Quiet = False,
    forwarded: ForwardedOptions,
) -> None:
    """Write a first policy for a table, with comments, that the table can satisfy.

    Each column gets a role, by its name, type and values, with a reason. What you must decide is
    marked DECIDE. You can publish the table by this policy, unless an identifier repeats: then you
    must first say what a row is, or which limit holds for all rows of a person.

    Parameters
    ----------
    out
        A policy file that does not exist yet; - is standard output.
    force
        Overwrite an existing file.
    """
    from foreknow.atomic_files import write_whole
    from foreknow.errors import OutputError
    from foreknow.planning.suggestion.policy import suggest_policy

    if str(out) == STDIN or _is_standard_output(out):  # `foreknow init table.csv > policy.toml`
        with progress("Looking at the columns", quiet):
            suggestion = suggest_policy(table, reading=files.reading, **forwarded)
        sys.stdout.write(suggestion.to_toml())
        return
    path = file_of(table)
    is_missing = path is not None and not path.exists()  # which is said below
    if not force and not is_missing and (out.exists() or out.is_symlink()):
        raise OutputError(
            f"{str(out)!r} exists already; name a new file with --out, or write over it with "
            "--force"
        )
    with progress("Looking at the columns", quiet):
        suggestion = suggest_policy(table, reading=files.reading, **forwarded)
        write_whole(out, suggestion.to_toml()) if force else suggestion.write(out)
    if quiet:
        return
    say, schema = console(), suggestion.policy.needed_schema
    print_plain(
        f"{visible(suggestion.name)}: {some(suggestion.rows, 'row', 'rows')}, "
        f"{some(len(suggestion.columns), 'column', 'columns')}."
    )
    for role, names in (
        ("Identifiers", schema.identifiers),
        ("Quasi-identifiers", schema.quasi_identifiers),
        ("Sensitive", schema.sensitives),
    ):
        if names:
            print_plain(f"  {role}: {', '.join(map(visible, names))}")
    undecided = sum(column.role == "undecided" for column in suggestion.columns)
    if undecided:
        print_plain(f"  No role, so not published: {undecided:,}")
    for note in (*suggestion.costs, *suggestion.notes):
        print_plain(f"{visible(note)}.")
    if suggestion.questions:
        say.print("To decide:")
    for question in suggestion.questions[:10]:
        print_plain(f"  {visible(question)}.")
    if len(suggestion.questions) > 10:
        print_plain(f"  and {len(suggestion.questions) - 10} more, in the file.")
    line = f"Written to {visible(out)}; read it, then: foreknow publish {visible(spoken(table))} "
    print_plain(f"{line}--policy {visible(out)} --out FOLDER", soft_wrap=True)


def _is_standard_output(path: Path) -> bool:
    """True if what is printed goes to this file."""
    try:
        return path.is_file() and os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # of a test or a notebook
        return False


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
        The columns that make a kind of people, with commas between.
    sensitive
        The column of sensitive values.
    out
        A CSV file to write.
    """
    from foreknow.adversaries.priors.priors import Priors
    from foreknow.data.tables.sources import open_table

    Output(json=out).refuse(table)
    with progress("Counting", quiet):
        learned_priors = Priors.learn(open_table(table, files.reading), listed(by), sensitive)
        (learned,) = learned_priors.tables
    learned.to_csv(out)
    if not quiet:
        print_plain(
            f"{some(len(learned.chances), 'kind', 'kinds')} of people, "
            f"{some(len(learned.values), 'value', 'values')} of "
            f"{visible(sensitive)}: written to {visible(out)}"
        )
