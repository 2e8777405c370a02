"""The commands that ask of a release: audit, skyline, curves, risk, learned, utility, ..."""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import chain
from itertools import count as counted_up
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from foreknow.cli.inputs import (
    COLUMNS,
    CRITERIA,
    Columns,
    Judging,
    OfTable,
    attack_on,
    is_published,
    named_set,
    policy_at,
    refuse_published,
    require_published,
    say_index,
    tally_of,
    value_named,
)
from foreknow.cli.options import (
    POLICY,
    UNSAFE,
    AnyOf,
    ForwardedOptions,
    Memory,
    More,
    Only,
    Output,
    Published,
    Raw,
    Results,
    among,
    command,
    console,
    is_whole,
    say_readings,
)
from foreknow.errors import SchemaError
from foreknow.needs import Need
from foreknow_judge.errors import InputError
from foreknow_judge.printed import visible

if TYPE_CHECKING:
    from foreknow.auditing.skyline import Point, SkylineReport
    from foreknow.data.release import Release


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
    given: ForwardedOptions,
) -> int:
    """Judge a release by what adversaries who already know something could find out.

    RELEASE is a table with a group column (--group, or group = "..." in the policy's schema), a
    table whose rows with equal quasi-identifiers form a group, or a folder that "foreknow publish"
    wrote. With --counts, it says how many people share each combination of values. Several folders
    are releases of the same people, and are judged as one.

    Parameters
    ----------
    counts
        RELEASE is a tally, such as foreknow sql counts.
    sensitive
        In place of a policy: the column that must stay hidden. Of a tally, if the policy has no
        [schema].
    count
        Of a tally: the column of counts (default: count).
    verbose
        Print what each column was taken for.
    """
    from foreknow.auditing import audit as auditing
    from foreknow.data.engines.databases import limit_memory
    from foreknow.data.microdata import Microdata
    from foreknow.result import page_of

    limit_memory(memory)
    beside = columns.sensitive is not None and columns.policy is not None
    if not counts and (beside or count is not None):
        option = "--count" if columns.sensitive is None else "--sensitive"
        raise InputError(f"{option} is for a tally, which --counts says; the policy has the rest")
    rules = columns.given if counts and columns.given else columns.rules(release[0])
    with output.progress("Counting the release"):
        if len(release) > 1:
            judged = columns.together(release, counts=counts)
        else:
            (one,) = release
            judged = columns.tally(one, rules, count) if counts else columns.whole(one, rules)
        known = None if people is None else Microdata(people, rules.needed_schema)
        found = auditing.audit(judged, rules, people=known, **given)
    if output.exposed is not None:
        with output.progress("Listing the groups over a limit"):
            found.exposed_to_csv(output.exposed)
    output.show(found, page_of(found, attack=attack_on(release, columns.policy, rules)))
    if not output.quiet:
        say_index(judged)
        say_readings(judged, verbose)
    return 0 if found.safe else UNSAFE


# ---- skyline --------------------------------------------------------------------------------


@command("foreknow.auditing.skyline:skyline_report")
def skyline(
    release: Published,
    *,
    value: list[str] | None = None,
    any_of: AnyOf = None,
    within: str | None = None,
    above: str | None = None,
    name_people: bool = False,
    table: Path | None = None,
    members: Path | None = None,
    columns: Columns,
    output: Results,
    given: Annotated[ForwardedOptions, Only(("confidence",))],
) -> None:
    """Show how much adversaries may know before they can become too sure.

    RELEASE is what "foreknow audit" takes. Its columns are those of the policy, or of the options
    --sensitive and --group or --quasi-identifiers, or of the certificate in its folder.

    Parameters
    ----------
    value
        A sensitive value; repeatable. All when left out.
    above
        Amounts to judge, such as "1,2,3" for l=1, k=2, m=3.
    name_people
        Print who the worst case is about, by name.
    table
        The raw table, to name the people of a folder you published.
    members
        The owner's members.parquet (default: of FOLDER.owner).
    """
    from foreknow.auditing.skyline import skyline_report

    secrets = [secret for secret in (value, any_of, within) if secret]
    if len(secrets) > 1:
        raise InputError("give one of --value, --any-of and --within: each is a secret of its own")
    if (name_people and not value) or (above is not None and not secrets):
        raise InputError("--above and --name-people are about values; add --value")
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
        opened = columns.own(release, members, table) if own else columns.release(release)
        if name_people:
            _refuse_nameless(opened)
        policy = columns.given
        if policy is not None and opened.raw is not None:
            policy = replace(policy, schema=opened.raw.schema)  # with --person
        report = skyline_report(
            opened,
            [value_named(opened.counts, text) for text in dict.fromkeys(value or ())] or None,
            any_of=named_set(opened.counts, any_of, policy),
            policy=policy,
            within=within,
            knowing=[],  # nor any but those with which it was opened
            **given,
        )
    by_itself = bool(value or any_of) or point is not None
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


@command("foreknow.auditing.curves:disclosure_curves")
def curves(
    release: Published,
    *,
    levels: str | None = None,
    any_of: AnyOf = None,
    columns: Annotated[Columns, Only(("group", "quasi_identifiers", "sensitive", "knowing"))],
    output: Results,
    given: ForwardedOptions,
) -> None:
    """Show how sure an adversary can become who knows so many implications, or negations.

    RELEASE is what "foreknow audit" takes; with --levels, it is a raw table, of which each column
    is written at that level of its hierarchy. Its columns are those of the policy, or of the
    options --sensitive and --group or --quasi-identifiers, or of the certificate in its folder.

    Parameters
    ----------
    levels
        Generalize a raw table first, such as "age=3, sex=0"; columns that are left out are
        suppressed.
    """
    from foreknow.auditing.curves import disclosure_curves
    from foreknow.auditing.scope import scope_of
    from foreknow.auditing.skyline import counted_as_one
    from foreknow.methods.fulldomain.rollup import counts_at

    wanted = None if levels is None else _levels(levels)
    if wanted is not None and columns.group is not None:
        raise SchemaError("--levels makes the groups of a raw table; leave out --group")
    value, opened = given.pop("value"), None
    with output.progress("Counting the release"):
        if wanted is None:
            opened = columns.release(release)
            counts, name, column = opened.counts, opened.name, opened.sensitive
        else:
            raw = columns.raw(release)
            counts = counts_at(raw, wanted)
            name, column = f"{raw.name} at {levels}", raw.schema.sensitive
        about = None if value is None else value_named(counts, value)
        if known := named_set(counts, any_of, columns.given):
            if value is not None:
                raise InputError("--any-of is one secret; give it or --value, not both")
            counts, about = counted_as_one(counts, known, columns.given)
        found = disclosure_curves(counts, value=about, name=name, sensitive=column, **given)
        if opened is not None:
            found = replace(found, scope=scope_of(opened))
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


@command("foreknow.auditing.survey:survey")
def survey(
    table: Raw,
    *,
    negations: bool = False,
    columns: Annotated[Columns, Only(("quasi_identifiers", "sensitive"))],
    output: Results,
    given: ForwardedOptions,
) -> None:
    """Judge every generalization of a raw table: how even its groups are, what it discloses.

    Every choice of one level for each quasi-identifier is counted. The hierarchies are those of
    the policy.

    Parameters
    ----------
    negations
        Use negations.
    """
    from foreknow.auditing import survey as surveying

    with output.progress("Judging every generalization"):
        raw = columns.raw(table)
        kind: surveying.Kind = "negations" if negations else "implications"
        found = surveying.survey(raw, kind=kind, **given)
    output.show(found)
    if not output.quiet:
        say_readings(raw)


# ---- risk -----------------------------------------------------------------------------------


@command("foreknow.auditing.risk:risk_report")
def risk(
    table: Published,
    *,
    population: Path | None = None,
    columns: Annotated[OfTable, Only(("group", "quasi_identifiers"))],
    output: Results,
    given: ForwardedOptions,
) -> None:
    """Measure how easily people are found again, and which columns make them unique.

    TABLE is a raw table or a release, also a folder that "foreknow publish" wrote. Which columns
    others may know is said by --quasi-identifiers, by the policy, or by the certificate.
    """
    from foreknow.auditing.risk import risk_report

    opened = None
    by_name = columns.policy is None and not is_published(table)
    if by_name and (columns.quasi_identifiers is None or columns.group is not None):
        raise SchemaError(
            "say which columns others may know: --quasi-identifiers COLUMN,COLUMN; or "
            "--policy FILE, beside which --group COLUMN may name groups"
        )
    with output.progress("Counting the table"):
        if by_name:
            given["quasi_identifiers"] = columns.names
        else:
            opened = columns.whole(table)
        found = risk_report(
            table if opened is None else opened, population, reading=columns.reading, **given
        )
    output.show(found)
    if opened is not None and not output.quiet:
        say_index(opened)


# ---- utility --------------------------------------------------------------------------------


@command("foreknow.utility.report:utility_report")
def utility(
    release: Published,
    table: Raw,
    *,
    models: bool = False,
    target: Annotated[list[str] | None, More(metavar="COLUMN[=VALUE]")] = None,
    queries_of: Path | None = None,
    columns: Annotated[Judging, Only(("group", *COLUMNS))],
    output: Results,
    given: Annotated[
        ForwardedOptions,
        Only(("queries", "attributes", "predicates", "delta", "by", "draws", "seed")),
    ],
) -> None:
    """Measure what a release is still worth: its groups, its labels, answers to queries, models.

    The same seed asks the same queries of every release of TABLE by a policy, so that releases can
    be compared; of two policies with --queries-of. What is printed says more of TABLE than the
    release does: it is for the owner.

    Parameters
    ----------
    queries_of
        Another policy of the same table, whose queries are asked, to compare its releases with.
    attributes
        About which quasi-identifiers queries are (default: all).
    models
        Show how means, cross tables, regressions and trees come out, raw and by the release.
    target
        What models explain; repeatable; implies --models (default: the sensitive columns).
    by
        By which columns (default: all that are published, but sensitive ones).
    draws
        How many tables models draw from the release.
    """
    from foreknow.data.microdata import Microdata
    from foreknow.data.release import Release
    from foreknow.releases.written import open_published
    from foreknow.utility.report import utility_report

    if is_published(table) and not is_published(release):
        release, table = table, release
    rules, written = columns.rules(table), is_published(release)
    schema = rules.needed_schema
    refuse_published(table)
    if written and columns.group is not None:
        raise SchemaError(
            f"the columns of {str(release)!r} are in its certificate; leave out --group"
        )
    if (given["by"] is not None) and not (models or target):
        raise InputError("--by is for models; add --models or --target COLUMN")
    with output.progress("Measuring"):
        found = utility_report(
            open_published(release, schema)
            if written
            else Release.from_schema(release, schema, columns.group, rules.options.unlinked),
            Microdata(table, schema),
            labels=None if written else rules.options.labels,
            like=None if queries_of is None else policy_at(queries_of).microdata(table),
            models=target or models,
            **given,
        )
    output.show(found)


@command("foreknow.attacks.measured:learned_report")
def learned(
    release: Published,
    table: Annotated[
        Path | None, "The raw table it was made of: then right guesses are counted."
    ] = None,
    *,
    people: Path | None = None,
    columns: Annotated[Columns, Only(("group", "quasi_identifiers", "sensitive"))],
    output: Results,
    given: ForwardedOptions,
) -> None:
    """Attack a release by learning from it: what somebody finds out who knows nothing beforehand.

    They learn from all groups together how sensitive values go with columns, and then weigh what
    the members of each group may have. It is a trial, and no verdict: at least this can be done.
    With TABLE, and the owner's folder beside a folder that "foreknow publish" wrote, it is counted
    how many are guessed right.

    Parameters
    ----------
    people
        The exact quasi-identifiers of everybody, if they are generalized.
    """
    from foreknow.attacks.measured import learned_report
    from foreknow.data.microdata import Microdata

    with output.progress("Learning from the release"):
        if table is not None:
            require_published(release)
            refuse_published(table)
            found = learned_report(release, people=table, policy=columns.given, **given)
        else:
            opened, policy = columns.release(release, frozenset({Need.EVERYBODY})), columns.given
            known: Path | Microdata | None = people
            if people is not None and policy is not None:
                known = Microdata(people, policy.needed_schema)
            found = learned_report(opened, people=known, **{**given, "members": None})
    output.show(found)


# ---- a release in a database ------------------------------------------------------------------


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
    """Print the SQL that counts a release where it is, for "foreknow audit --counts".

    One row for each combination of the columns that the policy judges, and how many people have
    it. The release is a table or view with one row for each person; names are written as the
    policy and --table have them, in quotes.
    """
    from foreknow.data.engines.tally import counting_query
    from foreknow.data.release import COUNT

    columns = tally_of(policy_at(policy))
    taken = {name.casefold() for name in columns}  # as most databases compare names
    names = chain([COUNT], (f"{COUNT}_{i}" for i in counted_up(2)))
    amount = next(name for name in names if name not in taken)
    query = counting_query(columns, amount, table, dialect)
    rest = "" if amount == COUNT else f" --count {amount}"
    called = visible(shlex.quote(str(policy)))
    click.echo(f"-- Then: foreknow audit --counts tally.csv --policy {called}{rest}\n{query};")
