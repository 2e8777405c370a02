"""The command `skyline`: how much knowledge a release withstands, and what is too much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreknow.cli.inputs import Columns, open_by, value_named, warn_of_the_rest
from foreknow.cli.options import (
    Group,
    Html,
    Person,
    QuasiIdentifiers,
    Quiet,
    SemanticsOption,
    Sensitive,
    SomePolicy,
    console,
    is_whole,
    progress,
    refuse_inputs,
)
from foreknow.errors import InputError

if TYPE_CHECKING:
    from foreknow.auditing.skyline import Point, SkylineReport
    from foreknow.data.labels import Label
    from foreknow.data.release import Release


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
    policy: SomePolicy = None,
    group: Group = None,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    person: Person = None,
    semantics: SemanticsOption = None,
    html: Html = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the skylines as JSON.")] = None,
    quiet: Quiet = False,
) -> None:
    """Show how much adversaries may know before they can become too sure.

    RELEASE is what "foreknow audit" takes. Its columns are those of the policy, or of the options
    --sensitive and --group or --quasi-identifiers, or of the certificate in its folder.
    """
    from foreknow.auditing.skyline import skyline_report

    if (above is not None or name_people) and not value:
        raise InputError("--above and --name-people are about values; add --value")
    columns = Columns(group, quasi_identifiers, sensitive, person, semantics)
    refuse_inputs(html, json, tuple(path for path in (release, policy) if path is not None))
    point = None if above is None else _amounts(above)
    with progress("Counting the release", quiet):
        opened = open_by(release, policy, columns)
        if name_people:
            _refuse_nameless(opened)
        wanted = (
            [value_named(opened.counts, text) for text in dict.fromkeys(value)] if value else None
        )
        report = skyline_report(opened, wanted, confidence=confidence)
    if html is not None:
        with progress("Writing the page", quiet):
            report.to_html(html)
    if json is not None:
        report.to_json(json)
    if not quiet:
        _print(report, opened, wanted, point, name_people)
        warn_of_the_rest(opened)


def _print(
    report: SkylineReport,
    release: Release,
    wanted: list[Label] | None,
    point: Point | None,
    name_people: bool,
) -> None:
    from foreknow.auditing import named_people as naming
    from foreknow.report.pages.skyline import value_table, worst_case

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
            console().print(named)


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
    l, k, m = map(int, parts)  # noqa: E741
    return l, k, m
