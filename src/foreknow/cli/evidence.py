"""The command `evidence`: a page for somebody who must accept a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from foreknow.cli.inputs import is_published
from foreknow.cli.options import (
    Json,
    KeptPriorsPath,
    Population,
    Quiet,
    SigningKey,
    SomePolicy,
    console,
    print_plain,
    progress,
    read_by,
    reads,
    refuse_inputs,
)
from foreknow.data.reading import NOTHING, Reading
from foreknow.errors import InputError, OutputError, SchemaError


@reads
def evidence(
    folder: Annotated[Path, typer.Argument(help="What foreknow publish wrote.")],
    table: Annotated[
        Path | None, typer.Argument(help="The raw table that it was made of, for before and after.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The page to write (default FOLDER.evidence.html)."),
    ] = None,
    policy: SomePolicy = None,
    priors: KeptPriorsPath = None,
    population: Population = None,
    key: SigningKey = None,
    queries: Annotated[
        int, typer.Option("--queries", help="Random queries for each number of predicates.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Random seed for the queries.")] = 0,
    json: Json = None,
    quiet: Quiet = False,
    reading: Reading = NOTHING,
) -> None:
    """Write what is known of a release onto one page, for somebody who must accept it.

    The release is verified afresh. The page says what was published, to whom it is safe and under
    which assumptions, what was so before, and answers the questions of WP216, HIPAA and NIST SP
    800-188, as far as they can be measured; the rest is marked to be filled in. A browser prints it
    to PDF. It draws no legal conclusion.
    """
    from foreknow.evidence import evidence_report
    from foreknow.policy.policy import Policy
    from foreknow.publishing.signature import Signer, signature_of

    if not is_published(folder):
        raise InputError(
            f"{str(folder)!r} is not a folder that foreknow publish wrote: it has no certificate"
        )
    if table is not None and is_published(table):
        raise SchemaError(f"{str(table)!r} is published already; give the raw table")
    place = folder if folder.is_dir() else folder.parent
    page = place.with_name(f"{place.resolve().name}.evidence.html") if out is None else out
    refuse_inputs(page, json, (folder, table, policy))
    if page.resolve().is_relative_to(place.resolve()):
        raise OutputError(f"{str(page)!r} would lie in what is published; write it elsewhere")
    signer = None if key is None else Signer(key)
    rules = None if policy is None else read_by(Policy.load(policy), reading)
    with progress("Judging the release afresh", quiet):
        known: dict[str, Any] = {"priors": priors, "population": population or None}
        found = evidence_report(folder, table, rules, **known, queries=queries, seed=seed)
    with progress("Writing the page", quiet):
        found.to_html(page)
        signed = None if signer is None else signer.sign_file(page)
    if json is not None:
        found.to_json(json)
    if quiet:
        return
    console().print(found)
    print_plain(f"\nWritten to {page}; a browser prints it to PDF.", soft_wrap=True)
    if signed is not None:
        print_plain(f"Signed in {signature_of(page)}.", soft_wrap=True)
