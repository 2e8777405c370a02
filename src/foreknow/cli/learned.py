"""The command `learned`: what somebody can learn from a release itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreknow.cli.inputs import Columns, open_by, schema_of
from foreknow.cli.options import (
    Group,
    Html,
    Json,
    QuasiIdentifiers,
    Quiet,
    Sensitive,
    SomePolicy,
    progress,
    read_by,
    reads,
    refuse_inputs,
    show_result,
)
from foreknow.data.reading import NOTHING, Reading
from foreknow.errors import InputError


@reads
def learned(
    release: Annotated[
        Path, typer.Argument(help="A folder of foreknow publish, CSV, Parquet, .xlsx, ...")
    ],
    by: Annotated[str, typer.Option("--by", help="Columns known of people, with commas between.")],
    bandwidths: Annotated[
        str | None,
        typer.Option(
            "--bandwidths",
            help='Smooth numbers over neighbours this near, as shares of the range: "0.5,0.1".',
        ),
    ] = None,
    below: Annotated[
        str | None, typer.Option("--below", help="A limit to compare with, such as 0.5 or 1/3.")
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people", help="The exact quasi-identifiers of everybody, if they are generalized."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A CSV file for what is learned, as priors.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the estimate.")] = 0,
    policy: SomePolicy = None,
    group: Group = None,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    html: Html = None,
    json: Json = None,
    quiet: Quiet = False,
    reading: Reading = NOTHING,
) -> None:
    """Estimate what somebody can learn from a release itself who knows nothing beforehand.

    They learn from all groups together how sensitive values go with columns, and then weigh what
    the members of each group may have. RELEASE is what "foreknow audit" takes.
    """
    from foreknow.auditing.learning import learned_report
    from foreknow.data.microdata import Microdata
    from foreknow.policy.policy import Policy

    refuse_inputs(html, json, (release, policy, people))
    refuse_inputs(None, out, (release, policy, people))
    columns = [name.strip() for name in by.split(",")]
    wide = [part.strip() for part in bandwidths.split(",")] if bandwidths else []
    if out is not None and len(wide) > 1:
        raise InputError("--out takes what is learned with one bandwidth; give one, or none")
    with progress("Learning from the release", quiet):
        roles = Columns(group, quasi_identifiers, sensitive)
        opened = open_by(release, policy, roles, reading)
        known: Path | Microdata | None = people
        if people is not None and policy is not None:
            known = Microdata(people, schema_of(read_by(Policy.load(policy), reading)))
        found = learned_report(
            opened, columns, bandwidths=wide, people=known, below=below, seed=seed
        )
        if out is not None:
            found.lessons[0].learning.table().to_csv(out)
    show_result(found, html, json, quiet)
