"""The commands that ask of a release: audit, skyline, curves, risk, learned, utility, ..."""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import chain
from itertools import count as counted_up
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreknow.cli.inputs import (
    ANY,
    Columns,
    is_published,
    listed,
    load_policy,
    named_set,
    open_by,
    open_own,
    open_raw,
    open_release,
    open_tally,
    open_whole,
    refuse_published,
    require_published,
    say_index,
    tally_of,
    value_named,
)
from foreknow.cli.options import (
    TERMINAL,
    UNSAFE,
    AnyOf,
    Group,
    Members,
    Memory,
    Only,
    Output,
    People,
    PolicyPath,
    Queries,
    QuerySeed,
    Raw,
    SomePolicy,
    Verbose,
    among,
    console,
    is_whole,
    say_readings,
    with_options,
)
from foreknow.data.reading import NOTHING, Reading
from foreknow.errors import InputError, SchemaError
from foreknow.text import visible

if TYPE_CHECKING:
    from foreknow.auditing.skyline import Point, SkylineReport
    from foreknow.data.release import Release

_Release = Annotated[
    Path, typer.Argument(help="A folder of foreknow publish, CSV, Parquet, .xlsx, ...; - is stdin.")
]


@with_options
def audit(
    release: _Release,
    policy: PolicyPath,
    group: Group = None,
    counts: Annotated[
        bool,
        typer.Option("--counts", help="RELEASE is a tally, such as foreknow sql counts."),
    ] = False,
    sensitive: Annotated[
        str | None,
        typer.Option("--sensitive", "-s", help="Of a tally, if the policy has no [schema]."),
    ] = None,
    count: Annotated[
        str | None,
        typer.Option("--count", "-n", help="Of a tally: the column of counts (default: count)."),
    ] = None,
    people: People = None,
    learned: Annotated[
        bool, typer.Option(help="Try what can be learned from the release itself.")
    ] = True,
    exposed: Annotated[
        Path | None,
        typer.Option("--exposed", help="Write the groups with people over a limit, as CSV."),
    ] = None,
    output: Output = TERMINAL,
    memory: Memory = None,
    verbose: Verbose = False,
    reading: Reading = NOTHING,
) -> None:
    """Judge a release by what adversaries who already know something could find out.

    RELEASE is a table with a group column (--group, or group = "..." in the policy's schema), a
    table whose rows with equal quasi-identifiers form a group, or a folder that "foreknow publish"
    wrote. With --counts, it says how many people share each combination of values.
    """
    from foreknow.auditing import audit as auditing
    from foreknow.data.microdata import Microdata
    from foreknow.engine import limit_memory

    limit_memory(memory)
    rules = load_policy(policy, reading)
    output.refuse(release, policy, people, csv=exposed)
    if not counts and (sensitive is not None or count is not None):
        option = "--count" if sensitive is None else "--sensitive"
        raise InputError(f"{option} is for a tally, which --counts says; the policy has the rest")
    with output.progress("Counting the release"):
        if counts:
            columns = Columns(group, sensitive=sensitive)
            judged = open_tally(release, rules, columns, count, reading)
        else:
            judged = open_release(release, rules, group)
        known = None if people is None else Microdata(people, rules.needed_schema)
        found = auditing.audit(judged, rules, people=known, learned=learned)
    if exposed is not None:
        with output.progress("Listing the groups over a limit"):
            found.exposed_to_csv(exposed)
    output.show(found)
    if not output.quiet:
        say_index(judged)
        say_readings(judged, verbose)
    raise typer.Exit(0 if found.safe else UNSAFE)


# ---- skyline --------------------------------------------------------------------------------


@with_options
def skyline(
    release: _Release,
    confidence: Annotated[
        str,
        typer.Option("--confidence", "-c", help="How sure nobody may become, such as 0.95 or 2/3."),
    ],
    value: Annotated[
        list[str] | None,
        typer.Option("--value", "-v", help="A sensitive value; repeatable. All when left out."),
    ] = None,
    any_of: AnyOf = None,
    within: Annotated[
        str | None,
        typer.Option("--within", help='For numbers and dates: any so near, as 5000 or "10%".'),
    ] = None,
    above: Annotated[
        str | None,
        typer.Option("--above", help='Amounts to judge, such as "1,2,3" for l=1, k=2, m=3.'),
    ] = None,
    name_people: Annotated[
        bool, typer.Option("--name-people", help="Print who the worst case is about, by name.")
    ] = False,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table", help="The raw table, to name the people of a folder you published."
        ),
    ] = None,
    members: Members = None,
    policy: SomePolicy = None,
    columns: Columns = ANY,
    output: Output = TERMINAL,
    reading: Reading = NOTHING,
) -> None:
    """Show how much adversaries may know before they can become too sure.

    RELEASE is what "foreknow audit" takes. Its columns are those of the policy, or of the options
    --sensitive and --group or --quasi-identifiers, or of the certificate in its folder.
    """
    from foreknow.auditing.skyline import skyline_report
    from foreknow.policy.policy import Policy

    if sum(map(bool, (value, any_of, within))) > 1:
        raise InputError("give one of --value, --any-of and --within: each is a secret of its own")
    if (name_people and not value) or (above is not None and not (value or any_of or within)):
        raise InputError("--above and --name-people are about values; add --value")
    output.refuse(release, policy, table, members)
    own = name_people and is_published(release)
    if own and table is None:
        raise InputError(
            f"{str(release)!r} names nobody; add --table TABLE, the table that it was made of, and "
            "--policy FILE"
        )
    if not own and (table or members):
        raise InputError("--table and --members are for --name-people of a published folder")
    point = None if above is None else _amounts(above)
    with output.progress("Counting the release"):
        if own:
            opened = open_own(release, policy, columns, members, reading, table)
        else:
            opened = open_by(release, policy, columns, reading)
        if name_people:
            _refuse_nameless(opened)
        texts = list(dict.fromkeys(value or ()))
        wanted = [value_named(opened.counts, text) for text in texts] or None
        one = None if not any_of else named_set(opened.counts, any_of, policy)
        rules = None if policy is None else Policy.load(policy)
        report = skyline_report(
            opened,
            wanted,
            confidence=confidence,
            any_of=one,
            policy=rules,
            within=within,
            knowing=[],  # nor any but those with which it was opened
        )
        wanted = wanted or (None if one is None else list(report.values))
    by_itself = bool(wanted) or point is not None
    shown = replace(output, quiet=True) if by_itself else output
    shown.show(report)
    if not output.quiet:
        if by_itself:
            _print_each(report, opened, point, name_people)
        say_index(opened)


def _print_each(
    report: SkylineReport, release: Release, point: Point | None, name_people: bool
) -> None:
    """Print each value that was asked for, with a worst case."""
    from foreknow.auditing import named_people
    from foreknow.report.pages.skyline import value_blocks, worst_case
    from foreknow.report.terminal import Laid
    from foreknow.result import page_of

    page = page_of(report)
    for value in report.values:
        judged = point or report.least_beyond(value)
        named = None
        if name_people:  # before anything is printed: it may be refused
            named = named_people.name_people(release, report.disclosure(value, judged))
        shown = [*value_blocks(report, value), *worst_case(report, value, judged)]
        console().print(Laid(page.said(shown)))
        if named is not None:
            console().print(named)
    console().print(Laid(page.beside()))


def _refuse_nameless(release: Release) -> None:
    try:
        release.holdings  # noqa: B018
    except InputError:
        raise InputError(
            f"{release.name} names nobody; --name-people needs a table with a row for each person, "
            "and --person COLUMN"
        ) from None


def _amounts(text: str) -> Point:
    """Read "l,k,m"."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3 or not all(is_whole(part) for part in parts):
        raise InputError(
            f"--above takes three whole numbers l,k,m from 0, such as 1,2,3, not {text!r}"
        )
    l, k, m = map(int, parts)
    return l, k, m


# ---- curves and survey ----------------------------------------------------------------------


@with_options
def curves(
    release: _Release,
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
        str | None, typer.Option("--value", "-v", help="A sensitive value; default: any.")
    ] = None,
    any_of: AnyOf = None,
    policy: SomePolicy = None,
    columns: Annotated[Columns, Only(("group", "quasi_identifiers", "sensitive", "knowing"))] = ANY,
    output: Output = TERMINAL,
    reading: Reading = NOTHING,
) -> None:
    """Show how sure an adversary can become who knows so many implications, or negations.

    RELEASE is what "foreknow audit" takes; with --levels, it is a raw table, of which each column
    is written at that level of its hierarchy. Its columns are those of the policy, or of the
    options --sensitive and --group or --quasi-identifiers, or of the certificate in its folder.
    """
    from foreknow.auditing.curves import disclosure_curves
    from foreknow.auditing.scope import Scope
    from foreknow.auditing.skyline import counted_as_one
    from foreknow.methods.fulldomain.rollup import counts_at
    from foreknow.policy.policy import Policy

    output.refuse(release, policy)
    wanted = None if levels is None else _levels(levels)
    if wanted is not None and columns.group is not None:
        raise SchemaError("--levels makes the groups of a raw table; leave out --group")
    opened = None
    with output.progress("Counting the release"):
        if wanted is None:
            opened = open_by(release, policy, columns, reading)
            counts, name, column = opened.counts, opened.name, opened.sensitive
        else:
            raw = open_raw(release, policy, columns, reading)
            counts = counts_at(raw, wanted)
            name, column = f"{raw.name} at {levels}", raw.schema.sensitive
        if any_of and value is not None:
            raise InputError("--any-of is one secret; give it or --value, not both")
        about = None if value is None else value_named(counts, value)
        if any_of:
            rules = None if policy is None else Policy.load(policy)
            known = named_set(counts, any_of, policy)
            counts, about = counted_as_one(counts, known, rules)
        found = disclosure_curves(counts, upto, about, name=name, sensitive=column)
        if opened is not None:
            found = replace(found, scope=Scope.of(opened))
    output.show(found)
    if opened is not None and not output.quiet:
        say_index(opened)


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


@with_options
def survey(
    table: Raw,
    knowledge: Annotated[
        str, typer.Option("--knowledge", "-k", help="Pieces of knowledge, with commas between.")
    ] = "1,3,5,7,9,11",
    negations: Annotated[bool, typer.Option("--negations", help="Use negations.")] = False,
    policy: SomePolicy = None,
    columns: Annotated[Columns, Only(("quasi_identifiers", "sensitive"))] = ANY,
    output: Output = TERMINAL,
    reading: Reading = NOTHING,
) -> None:
    """Judge every generalization of a raw table: how even its groups are, what it discloses.

    Every choice of one level for each quasi-identifier is counted. The hierarchies are those of
    the policy.
    """
    from foreknow.auditing import survey as surveying

    output.refuse(table, policy)
    parts = listed(knowledge)
    if not parts or not all(is_whole(part) for part in parts):
        raise InputError(f"--knowledge takes whole numbers such as 1,3,5, not {knowledge!r}")
    with output.progress("Judging every generalization"):
        raw = open_raw(table, policy, columns, reading)
        kind: surveying.Kind = "negations" if negations else "implications"
        found = surveying.survey(raw, map(int, parts), kind=kind)
    output.show(found)
    if not output.quiet:
        say_readings(raw)


# ---- risk -----------------------------------------------------------------------------------


@with_options
def risk(
    table: _Release,
    population: Annotated[
        Path | None,
        typer.Option("--population", help="A table of everybody that TABLE could be about."),
    ] = None,
    sampling_fraction: Annotated[
        str | None,
        typer.Option(
            "--sampling-fraction", help="In its place: how much of a population is in TABLE."
        ),
    ] = None,
    threshold: Annotated[
        str, typer.Option("--threshold", "-t", help="Which risk is too high, such as 0.2 or 1/11.")
    ] = "0.2",
    subsets: Annotated[
        int, typer.Option("--subsets", help="Measure sets of up to so many columns.")
    ] = 2,
    suda: Annotated[
        int, typer.Option("--suda", help="Seek minimal uniques of up to so many columns; 0: none.")
    ] = 3,
    policy: SomePolicy = None,
    columns: Annotated[Columns, Only(("group", "quasi_identifiers"))] = ANY,
    output: Output = TERMINAL,
    reading: Reading = NOTHING,
) -> None:
    """Measure how easily people are found again, and which columns make them unique.

    TABLE is a raw table or a release, also a folder that "foreknow publish" wrote. Which columns
    others may know is said by --quasi-identifiers, by the policy, or by the certificate.
    """
    from foreknow.auditing.risk import risk_report

    output.refuse(table, policy, population)
    opened: Release | None = None
    names: list[str] | None = None
    if policy is None and not is_published(table):
        if columns.quasi_identifiers is None or columns.group is not None:
            raise SchemaError(
                "say which columns others may know: --quasi-identifiers COLUMN,COLUMN; or "
                "--policy FILE, beside which --group COLUMN may name groups"
            )
        names = listed(columns.quasi_identifiers) or [""]
    with output.progress("Counting the table"):
        if names is None:
            opened = open_whole(table, policy, columns, reading)
        found = risk_report(
            table if opened is None else opened,
            population,
            quasi_identifiers=names,
            sampling_fraction=sampling_fraction,
            threshold=threshold,
            subsets=subsets,
            suda=suda,
            reading=reading,
        )
    output.show(found)
    if opened is not None and not output.quiet:
        say_index(opened)


# ---- utility --------------------------------------------------------------------------------


@with_options
def utility(
    release: Annotated[
        Path, typer.Argument(help="What foreknow publish wrote, or a CSV or Parquet file.")
    ],
    table: Annotated[Path, typer.Argument(help="The raw table that it was made of.")],
    policy: PolicyPath,
    queries: Queries = 1000,
    predicates: Annotated[
        int | None,
        typer.Option(
            "--predicates",
            help="Quasi-identifiers that each query asks about; when left out 1, 2, ... to all.",
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option("--delta", help="Errors of small counts are relative to this share of all."),
    ] = 0.005,
    seed: QuerySeed = 0,
    group: Group = None,
    output: Output = TERMINAL,
    reading: Reading = NOTHING,
) -> None:
    """Measure what a release is still worth: its groups, its labels, and answers to queries.

    The same seed asks the same queries of every release of TABLE, so that releases can be
    compared. What is printed says more of TABLE than the release does: it is for the owner.
    """
    from foreknow.data.microdata import Microdata
    from foreknow.data.release import Release
    from foreknow.publishing.verification import open_published
    from foreknow.utility.report import utility_report

    output.refuse(release, table, policy)
    rules = load_policy(policy, reading)
    schema, written = rules.needed_schema, is_published(release)
    refuse_published(table)
    if written and group is not None:
        raise SchemaError(
            f"the columns of {str(release)!r} are in its certificate; leave out --group"
        )
    with output.progress("Asking queries"):
        found = utility_report(
            open_published(release, schema)
            if written
            else Release.from_schema(release, schema, group, rules.options.unlinked),
            Microdata(table, schema),
            queries=queries,
            predicates=predicates,
            delta=delta,
            labels=None if written else rules.options.labels,
            seed=seed,
        )
    output.show(found)


@with_options
def learned(
    release: Annotated[
        Path, typer.Argument(help="A folder of foreknow publish, CSV, Parquet, .xlsx, ...")
    ],
    table: Annotated[
        Path | None,
        typer.Argument(help="The raw table it was made of: then right guesses are counted."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", help="Columns known of people, with commas between (default: several tries)."
        ),
    ] = None,
    limit: Annotated[
        str, typer.Option("--limit", help="Surer than this counts as sure, such as 0.9.")
    ] = "0.9",
    people: People = None,
    members: Members = None,
    policy: SomePolicy = None,
    roles: Annotated[Columns, Only(("group", "quasi_identifiers", "sensitive"))] = ANY,
    output: Output = TERMINAL,
    reading: Reading = NOTHING,
) -> None:
    """Attack a release by learning from it: what somebody finds out who knows nothing beforehand.

    They learn from all groups together how sensitive values go with columns, and then weigh what
    the members of each group may have. It is a trial, and no verdict: at least this can be done.
    With TABLE, and the owner's folder beside a folder that "foreknow publish" wrote, it is counted
    how many are guessed right.
    """
    from foreknow.attacks.measured import learned_report
    from foreknow.data.microdata import Microdata

    output.refuse(release, table, policy, people, members)
    columns = None if by is None else listed(by)
    rules = None if policy is None else load_policy(policy, reading)
    with output.progress("Learning from the release"):
        if table is not None:
            require_published(release)
            refuse_published(table)
            found = learned_report(
                release, columns, people=table, policy=rules, members=members, limit=limit
            )
        else:
            opened = open_by(release, policy, roles, reading)
            known: Path | Microdata | None = people
            if people is not None and rules is not None:
                known = Microdata(people, rules.needed_schema)
            found = learned_report(opened, columns, people=known, limit=limit)
    output.show(found)


# ---- a release in a database ------------------------------------------------------------------


def schema() -> None:
    """Print the JSON Schema of a policy file, for editors and for programs that write one."""
    from json import dumps

    from foreknow.policy.file import policy_schema

    typer.echo(dumps(policy_schema(), indent=2))


def sql(
    policy: PolicyPath,
    table: Annotated[
        str, typer.Option("--table", "-t", help="The release, as the database calls it.")
    ] = "release",
    dialect: Annotated[
        str,
        typer.Option(
            "--dialect",
            help="How names are quoted: standard, or spark (also Databricks and BigQuery).",
            autocompletion=among("standard", "spark"),
        ),
    ] = "standard",
) -> None:
    """Print the SQL that counts a release where it is, for "foreknow audit --counts".

    One row for each combination of the columns that the policy judges, and how many people have
    it. The release is a table or view with one row for each person; names are written as the
    policy and --table have them, in quotes.
    """
    from foreknow.data.engines.tally import counting_query
    from foreknow.data.release import COUNT
    from foreknow.policy.policy import Policy

    columns = tally_of(Policy.load(policy))
    taken = {name.casefold() for name in columns}  # as most databases compare names
    names = chain([COUNT], (f"{COUNT}_{i}" for i in counted_up(2)))
    amount = next(name for name in names if name not in taken)
    query = counting_query(columns, amount, table, dialect)
    rest = "" if amount == COUNT else f" --count {amount}"
    called = visible(shlex.quote(str(policy)))
    typer.echo(f"-- Then: foreknow audit --counts tally.csv --policy {called}{rest}\n{query};")
