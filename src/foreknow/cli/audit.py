"""The command `audit`: judge a release by a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreknow.cli.inputs import open_release, warn_of_the_rest
from foreknow.cli.options import (
    UNSAFE,
    Html,
    Json,
    PolicyPath,
    Quiet,
    console,
    progress,
    refuse_inputs,
)


def audit(
    release: Annotated[Path, typer.Argument(help="CSV, Parquet, or a folder.")],
    policy: PolicyPath,
    group: Annotated[
        str | None,
        typer.Option("--group", "-g", help="The column with the group of each row, if any."),
    ] = None,
    html: Html = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Judge a release by what adversaries who already know something could find out.

    RELEASE is a table with a group column (--group, or group = "..." in the policy's schema), a
    table whose rows with equal quasi-identifiers form a group, or a folder that "foreknow publish"
    wrote.
    """
    from foreknow.auditing import audit as auditing
    from foreknow.policy.policy import Policy

    rules = Policy.load(policy)
    refuse_inputs(html, json, (release, policy))
    with progress("Counting the release", quiet):
        judged = open_release(release, rules, group)
        result = auditing.audit(judged, rules)
    if html is not None:
        with progress("Writing the report", quiet):
            result.to_html(html)
    if json is not None:
        result.to_json(json)
    if not quiet:
        console().print(result)
        other = [] if rules.schema is None else list(rules.schema.other)
        warn_of_the_rest(judged, [*other, *rules.attributes])
    raise typer.Exit(0 if result.safe else UNSAFE)
