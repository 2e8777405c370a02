"""The command `skyline`: how much knowledge a release withstands, and what is too much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foreknow.cli.opening import open_release
from foreknow.cli.options import Html, Quiet, console, progress, refuse_inputs
from foreknow.errors import InputError, SchemaError

if TYPE_CHECKING:
    from foreknow.counts import GroupCounts
    from foreknow.labels import Label
    from foreknow.release import Release
    from foreknow.skylining import Point, SkylineReport


def skyline(
    release: Annotated[Path, typer.Argument(help="CSV, Parquet, or a folder.")],
    confidence: Annotated[
        str,
        typer.Option("--confidence", "-c", help="How sure nobody may become, such as 0.95 or 2/3."),
    ],
    value: Annotated[
        list[str] | None,
        typer.Option("--value", "-v", help="A sensitive value; repeatable. All when left out."),
    ] = None,
    above: Annotated[
        str | None,
        typer.Option("--above", help='Amounts to judge, such as "1,2,3" for l=1, k=2, m=3.'),
    ] = None,
    name_people: Annotated[
        bool, typer.Option("--name-people", help="Print who the worst case is about, by name.")
    ] = False,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="A policy file, for what its columns are."),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="The column with the group of each row.")
    ] = None,
    quasi_identifiers: Annotated[
        str | None,
        typer.Option("--quasi-identifiers", help="Columns that make a group, with commas between."),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option("--sensitive", "-s", help="The column of sensitive values.")
    ] = None,
    person: Annotated[
        str | None, typer.Option("--person", help="The column that names people, if any.")
    ] = None,
    semantics: Annotated[
        str | None, typer.Option("--semantics", help="single, set or multiset; single if not.")
    ] = None,
    html: Html = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the skylines as JSON.")] = None,
    quiet: Quiet = False,
) -> None:
    """Show how much adversaries may know before they can become too sure.

    RELEASE is what "foreknow audit" takes. Its columns are those of the policy, or of the options
    --sensitive and --group or --quasi-identifiers, or of the certificate in its folder.
    """
    from foreknow.skylining import skyline_report

    if (above is not None or name_people) and not value:
        raise InputError("--above and --name-people are about values; add --value")
    columns = {
        "quasi_identifiers": quasi_identifiers,
        "sensitive": sensitive,
        "semantics": semantics,
    }
    refuse_inputs(html, json, tuple(path for path in (release, policy) if path is not None))
    point = None if above is None else _amounts(above)
    with progress("Counting the release", quiet):
        opened = _open(release, policy, group, person, columns)
        if name_people:
            _refuse_nameless(opened)
        wanted = [_label(opened.counts, text) for text in value] if value else None
        report = skyline_report(opened, wanted, confidence=confidence)
    if html is not None:
        with progress("Writing the page", quiet):
            report.to_html(html)
    if json is not None:
        report.to_json(json)
    if not quiet:
        _print(report, opened, wanted, point, name_people)


def _print(
    report: SkylineReport,
    release: Release,
    wanted: list[Label] | None,
    point: Point | None,
    name_people: bool,
) -> None:
    from foreknow import naming
    from foreknow.report.skyline_terminal import named_case, value_table, worst_case

    if not wanted:
        console().print(report)
        return
    for value in report.values:
        judged = point or report.least_beyond(value)
        named = None
        if name_people:
            named = naming.name_people(release, report.disclosure(value, judged))
        console().print(value_table(report, value))
        console().print(worst_case(report, value, judged))
        if named is not None:
            console().print(named_case(named))


def _refuse_nameless(release: Release) -> None:
    try:
        release.holdings  # noqa: B018
    except InputError:
        raise InputError(
            f"{release.name} names nobody; --name-people needs a table with a row for each person, "
            "and --person COLUMN"
        ) from None


def _open(
    path: Path,
    policy: Path | None,
    group: str | None,
    person: str | None,
    columns: dict[str, str | None],
) -> Release:
    """Open a release as a policy, the options, or the certificate in its folder describe it."""
    from foreknow.adversaries.facts import Facts
    from foreknow.policy import Policy, Requirement
    from foreknow.release import Release
    from foreknow.schema import check_semantics

    given = [f"--{name.replace('_', '-')}" for name, column in columns.items() if column]
    certified = path.is_dir() and (path / "certificate.json").is_file()
    if policy is not None:
        if given:
            raise SchemaError(f"{given[0]} contradicts --policy, which says it; give one of them")
        return open_release(path, _with_person(Policy.load(policy), person, certified), group)
    if certified:
        if given or group or person:
            raise SchemaError(
                f"the columns of {str(path)!r} are in its certificate; leave out "
                f"{(given or ['--group' if group else '--person'])[0]}"
            )
        return open_release(path, Policy([Requirement(Facts(), below=1)]), None)
    groups, sensitive = columns["quasi_identifiers"], columns["sensitive"]
    if sensitive is None or (group is None) == (groups is None):
        raise SchemaError(
            "say what the columns are: --policy FILE; or --sensitive COLUMN, and either --group "
            "COLUMN or --quasi-identifiers COLUMN,COLUMN"
        )
    how: dict[str, Any] = {
        "sensitive": sensitive,
        "person": person,
        "semantics": check_semantics(columns["semantics"] or "single"),
    }
    if group is not None:
        return Release.from_groups(path, group=group, **how)
    names = [name.strip() for name in (groups or "").split(",")]
    return Release.from_generalized(path, quasi_identifiers=names, **how)


def _with_person(rules: Any, person: str | None, certified: bool) -> Any:
    """The policy, with the column that names people where the option says it."""
    from dataclasses import replace

    if person is None:
        return rules
    if rules.schema is None or certified:
        raise SchemaError("--person needs a policy with a [schema] table, and a table with names")
    return replace(rules, schema=replace(rules.schema, person=person))


def _amounts(text: str) -> Point:
    """Read "l,k,m"."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(
            f"--above takes three whole numbers l,k,m from 0, such as 1,2,3, not {text!r}"
        )
    l, k, m = map(int, parts)  # noqa: E741
    return l, k, m


def _label(counts: GroupCounts, text: str) -> Label:
    """The sensitive value that prints like a text; unknown ones are left to be refused."""
    same = [value for value in counts.values if str(value) == text]
    if len(same) > 1:
        raise InputError(f"several sensitive values print as {text!r}; make their labels differ")
    return same[0] if same else text
