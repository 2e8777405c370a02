"""The commands `publish`, `verify`, `evidence` and `demo`: make a release, and judge it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from foreknow.cli.inputs import load_policy, refuse_published, require_published
from foreknow.cli.options import (
    TERMINAL,
    UNSAFE,
    KeptPriorsPath,
    Memory,
    Method,
    Only,
    Output,
    PolicyPath,
    Population,
    PublicKey,
    Queries,
    QuerySeed,
    Quiet,
    Raw,
    ReleaseForm,
    Settings,
    SigningKey,
    SomePolicy,
    Verbose,
    among,
    chosen,
    console,
    print_plain,
    progress,
    say_readings,
    with_options,
)
from foreknow.data.reading import NOTHING, Reading
from foreknow.errors import InputError, OutputError
from foreknow.text import encodable, one_line, visible

if TYPE_CHECKING:
    from foreknow.policy.policy import Policy


@with_options
def publish(
    table: Raw,
    policy: PolicyPath,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder that does not exist yet.")],
    method: Method = None,
    settings: Settings = None,
    form: ReleaseForm = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="csv or parquet; the policy's when left out.",
            autocompletion=among("csv", "parquet"),
        ),
    ] = None,
    rows_per_part: Annotated[
        int | None,
        typer.Option("--rows-per-part", help="Parquet in files of at most so many rows each."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Reproducible row order: for tests only; keep it secret."),
    ] = None,
    owner: Annotated[
        Path | None,
        typer.Option("--owner", help="A new folder for what only you may see (default OUT.owner)."),
    ] = None,
    key: SigningKey = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="Where the table is grouped: memory, duckdb, or auto: by its size.",
            autocompletion=among("auto", "memory", "duckdb"),
        ),
    ] = "auto",
    memory: Memory = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
    reading: Reading = NOTHING,
) -> None:
    """Make a release that the policy allows, with a certificate.

    Writes OUT with the release, certificate.json and report.html, which may be published whole.
    What is to be kept goes into OUT.owner: the key of the source's digest, who is in which group,
    and what a method says of the table beside its release.
    """
    from foreknow.engine import limit_memory

    limit_memory(memory)
    rules = load_policy(policy, reading)
    given = {"format": file_format, "rows_per_part": rows_per_part}
    rules = chosen(rules, settings, method=method, form=form, **given)
    _publish(table, rules, out, owner, seed, quiet, verbose, key, engine)


@with_options
def verify(
    certificate: Annotated[
        Path, typer.Argument(help="The certificate.json of a release, or its folder.")
    ],
    release: Annotated[
        Path | None, typer.Argument(help="The release or its folder; beside it when left out.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="Judge by this policy, not by the publisher's."),
    ] = None,
    priors: KeptPriorsPath = None,
    key: PublicKey = None,
    evidence: Annotated[
        Path | None,
        typer.Option("--evidence", help="A page of foreknow evidence, signed with the same key."),
    ] = None,
    population: Population = None,
    quiet: Quiet = False,
) -> None:
    """Judge a written release afresh and compare it with its certificate.

    Nothing of the certificate is taken on trust: what is printed was computed from the files. With
    --key, certificate.json must also be what the owner of that key has signed.
    """
    from foreknow.policy.policy import Policy
    from foreknow.publishing import CERTIFICATE
    from foreknow.publishing.signature import check_signature
    from foreknow.publishing.verification import judge, load_signed

    if certificate.is_dir():
        certificate = certificate / CERTIFICATE
    if evidence is not None:
        if key is None:
            raise InputError("--evidence checks a signature; add --key FILE, the public key")
        check_signature(evidence, key)
    known, _ = load_signed(certificate, key)
    rules = None if policy is None else Policy.load(policy)
    with progress("Judging the release afresh", quiet):
        at = release or certificate.parent
        found, problems = judge(known, at, rules, priors, population or None)
    for problem in problems:
        _say_line(Console(stderr=True), problem, "bold red")
    if found is not None and not problems and not quiet:
        console().print(found)
        signed = [path.name for path in (certificate, evidence) if path is not None]
        signed += found.unchanged
        if key is not None:
            _say_line(console(), f"Signed by the owner of {key.name}: {', '.join(signed)}.")
    raise typer.Exit(UNSAFE if problems else 0)


@with_options
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
    queries: Queries = 1000,
    seed: QuerySeed = 0,
    output: Annotated[Output, Only(("json", "quiet"))] = TERMINAL,
    reading: Reading = NOTHING,
) -> None:
    """Write what is known of a release onto one page, for somebody who must accept it.

    The release is verified afresh. The page says what was published, to whom it is safe and under
    which assumptions, what was so before, and answers the questions of WP216, HIPAA and NIST SP
    800-188, as far as they can be measured; the rest is marked to be filled in. A browser prints it
    to PDF. It draws no legal conclusion.
    """
    from foreknow.evidence import evidence_report
    from foreknow.publishing.signature import Signer, signature_of

    require_published(folder)
    refuse_published(table)
    place = folder if folder.is_dir() else folder.parent
    page = place.with_name(f"{place.resolve().name}.evidence.html") if out is None else out
    Output(page, output.json).refuse(folder, table, policy)
    if page.resolve().is_relative_to(place.resolve()):
        raise OutputError(f"{str(page)!r} would lie in what is published; write it elsewhere")
    signer = None if key is None else Signer(key)
    rules = None if policy is None else load_policy(policy, reading)
    with output.progress("Judging the release afresh"):
        known: dict[str, Any] = {"priors": priors, "population": population or None}
        found = evidence_report(folder, table, rules, **known, queries=queries, seed=seed)
    with output.progress("Writing the page"):
        found.to_html(page)
        signed = None if signer is None else signer.sign_file(page)
    output.show(found)
    if output.quiet:
        return
    print_plain(f"\nWritten to {page}; a browser prints it to PDF.", soft_wrap=True)
    if signed is not None:
        print_plain(f"Signed in {signature_of(page)}.", soft_wrap=True)


@with_options
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to write; must not exist.")] = Path(
        "foreknow-demo"
    ),
    seed: Annotated[int | None, typer.Option("--seed", help="Reproducible row order.")] = None,
) -> None:
    """Run the main job on the bundled sample, end to end: publish, audit, verify."""
    from foreknow import sample
    from foreknow.policy.policy import Policy
    from foreknow.publishing import CERTIFICATE

    say = console()
    rules = Policy.load(sample.policy_path())
    say.print(f"Table:  {sample.table_path()}", highlight=False, soft_wrap=True)
    say.print(f"Policy: {sample.policy_path()}\n", highlight=False, soft_wrap=True)
    _publish(sample.table_path(), rules, folder, None, seed, quiet=False)
    say.print()
    verify(certificate=folder / CERTIFICATE, release=folder, quiet=False)


def _publish(
    table: Path,
    rules: Policy,
    out: Path,
    owner: Path | None,
    seed: int | None,
    quiet: bool,
    verbose: bool = False,
    key: Path | None = None,
    engine: str = "auto",
) -> None:
    from foreknow import publishing
    from foreknow.data.microdata import Microdata
    from foreknow.output import require_new
    from foreknow.publishing.publish import publish as make
    from foreknow.publishing.signature import Signer

    schema = rules.needed_schema
    owner = publishing.owners_folder(out) if owner is None else owner
    require_new(out, owner)
    if key is not None:
        Signer(key)  # a key that does not do is refused before there is work
    with progress("Reading the table", quiet):
        microdata = Microdata(table, schema)
        made = make(microdata, rules, seed=seed, engine=engine)
        made.write(out, owner, key=key)
    if quiet:
        return
    say = console()
    say_readings(microdata, verbose)
    say.print(made.audit)
    for note in made.certificate.notes:
        say.print(f"Note: {visible(note)}.", markup=False, highlight=False)
    for said in made.advice:
        say.print(f"{visible(said)}.", markup=False, highlight=False)
    notes = {
        publishing.CERTIFICATE: "what was required and found, for foreknow verify",
        publishing.SIGNATURE: "your signature of it, for foreknow verify --key",
        publishing.REPORT: "explains the release",
        publishing.MEMBERS: "who is in which group, for foreknow ask and attack",
        publishing.LATTICE: "which generalizations are safe, and which not",
        publishing.OWNER: "the key of the source's digest",
        publishing.PRIORS: "the priors that were learned; verify asks for them",
    }
    order = list(notes)
    for folder, begins in ((out, "Written to"), (owner, "For you only, in")):
        line = f"\n{begins} {visible(folder)}:"
        say.print(line, markup=False, highlight=False, soft_wrap=True)
        names = sorted(path.name for path in folder.iterdir())
        for name in sorted(names, key=lambda n: order.index(n) if n in order else -1):
            say.print(f"  {name:<20} {notes.get(name, 'the release')}", highlight=False)


def _say_line(say: Console, text: str, style: str = "") -> None:
    """Print one line that may quote anybody's file."""
    shown = encodable(one_line(text), say.encoding)
    say.print(shown, style=style, markup=False, highlight=False)
