"""The commands that ask of a release: audit, skyline, curves, risk, learned, utility, ..."""

from __future__ import annotations

import shlex
from itertools import count as counted_up
from pathlib import Path
from typing import Annotated

import click

from foreknow.cli.command import POLICY, command
from foreknow.cli.inputs import (
    COLUMNS,
    CRITERIA,
    Judging,
    attack_on,
    is_published,
    policy_at,
    say_index,
    tally_columns,
)
from foreknow.cli.options import (
    UNSAFE,
    ForwardedOptions,
    Memory,
    More,
    Only,
    Output,
    Published,
    among,
)
from foreknow.cli.publish import verify_release
from foreknow.cli.terminal import print_plain, say_readings
from foreknow_judge.errors import InputError
from foreknow_judge.files.printable import visible


@command("foreknow.auditing.audit:audit")
def audit(
    release: Annotated[list[Path], More(required=True), Published.__metadata__[0]],
    *,
    columns: Annotated[Judging, Only(("group", *COLUMNS, *CRITERIA))],
    counts: bool = False,
    count: Annotated[str | None, More(flags="--count -n")] = None,
    people: Path | None = None,
    output: Output,
    memory: Memory = None,
    verbose: bool = False,
    forwarded: ForwardedOptions,
) -> int:
    """Judge a release by what adversaries who already know something could find out.

    RELEASE is a folder that "foreknow publish" wrote, or a table. In a table, a group is the rows
    with the same value in the group column (--group, or group = "..." in the policy's schema), or
    with the same quasi-identifiers. With --counts, each row of the table is a combination of values
    and the number of people who have it. Several folders are judged together, as releases of the
    same people.

    Parameters
    ----------
    counts
        RELEASE is a tally: a table of counts, as the query of foreknow sql returns.
    sensitive
        The column that must stay hidden, if there is no policy, or for a tally if the policy has no
        [schema].
    count
        The column of a tally that holds the counts (default: count).
    verbose
        Print how each column was read: as numbers, dates or texts.
    """
    from foreknow.auditing import audit as auditing
    from foreknow.data.microdata import Microdata
    from foreknow.data.tables.formats.databases import limit_memory
    from foreknow.result_pages import page_of

    limit_memory(memory)
    is_beside = columns.sensitive is not None and columns.policy is not None
    if not counts and (is_beside or count is not None):
        option = "--count" if columns.sensitive is None else "--sensitive"
        raise InputError(f"{option} is for a tally (--counts); of a table, the policy names it")
    settings_of_columns = (
        getattr(columns, name) for name in ("policy", "group", *COLUMNS, *CRITERIA)
    )
    # A published folder alone is judged by the policy in its certificate, as foreknow verify does.
    to_files = (output.html, output.json, output.exposed)
    folders = [path if path.is_dir() else path.parent for path in release]
    if (
        len(release) == 1
        and is_published(folders[0])
        and not any((*settings_of_columns, *to_files, counts))
    ):
        if not output.quiet:
            print_plain(f"By the policy in the certificate of {visible(str(folders[0]))}.")
        return verify_release(folders[0], quiet=output.quiet)
    # With only a size to hold, no sensitive column is needed.
    is_table = len(release) == 1 and not is_published(release[0])
    if columns.asks_size_only and is_table and not any((*to_files, counts)):
        holds, sentence = columns.judge_size(release[0])
        if not output.quiet:
            print_plain(f"{sentence}.")
        return 0 if holds else UNSAFE
    rules = columns.given if counts and columns.given else columns.rules(release[0])
    with output.progress("Counting the release"):
        if len(release) > 1:
            source = columns.together(release, counts=counts)
        else:
            (path,) = release
            source = columns.tally(path, rules, count) if counts else columns.whole(path, rules)
        population = None if people is None else Microdata(people, rules.needed_schema)
        result = auditing.audit(source, rules, people=population, **forwarded)
    if output.exposed is not None:
        with output.progress("Listing the groups over a limit"):
            result.exposed_to_csv(output.exposed)
    output.show(result, page_of(result, attack=attack_on(release, columns.policy, rules)))
    if not output.quiet:
        say_index(source)
        say_readings(source, verbose)
    return 0 if result.safe else UNSAFE


@command()
def schema() -> None:
    """Print the JSON Schema of a policy file, for editors and for programs that write one."""
    from json import dumps

    from foreknow.methods.registry import policy_schema

    click.echo(dumps(policy_schema(), indent=2))


@command()
def sql(
    *,
    policy: Annotated[Path, "The policy file (TOML)."] = Path(POLICY),
    table: Annotated[
        str, More(flags="--table -t"), "The release, as the database calls it."
    ] = "release",
    dialect: Annotated[
        str,
        among("standard", "spark"),
        "How names are quoted: standard, or spark (also Databricks and BigQuery).",
    ] = "standard",
) -> None:
    """Print SQL that counts a release in its database, for "foreknow audit --counts".

    One row for each combination of the columns that the policy judges, and how many people have
    it. The release is a table or view with one row for each person; names are written as the
    policy and --table have them, in quotes.
    """
    from foreknow.data.release_tables import COUNT
    from foreknow.data.tables.tally import counting_query

    columns = tally_columns(policy_at(policy))
    # The column of counts gets a name that no other column has.
    used_names = set(map(str.casefold, columns))  # as most databases compare names
    amount, numbers = COUNT, counted_up(2)
    while amount in used_names:
        amount = f"{COUNT}_{next(numbers)}"
    query = counting_query(columns, amount, table, dialect)
    option = "" if amount == COUNT else f" --count {amount}"
    policy_path = visible(shlex.quote(str(policy)))
    click.echo(
        f"-- Then: foreknow audit --counts tally.csv --policy {policy_path}{option}\n{query};"
    )
