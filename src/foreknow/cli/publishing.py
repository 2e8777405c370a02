"""The commands `publish`, `verify` and `demo`: make a release, and judge what was written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foreknow.cli.choosing import Method, ReleaseForm, Settings, chosen
from foreknow.cli.options import UNSAFE, PolicyPath, Quiet, console, error_console, progress
from foreknow.errors import SchemaError

if TYPE_CHECKING:
    from foreknow.certificate import Certificate
    from foreknow.policy import Policy


def publish(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet file, or folder of Parquet files.")],
    policy: PolicyPath,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder that does not exist yet.")],
    method: Method = None,
    settings: Settings = None,
    form: ReleaseForm = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="csv or parquet; the policy's when left out.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Reproducible row order: for tests only.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make the most useful release that the policy allows, with its proof.

    Writes OUT with the release, certificate.json, report.html, and owner.json, which is to be
    kept.
    """
    from foreknow.policy import Policy

    rules = chosen(Policy.load(policy), settings, method=method, form=form, format=file_format)
    _publish(table, rules, out, seed, quiet)


def verify(
    certificate: Annotated[
        Path, typer.Argument(help="The certificate.json of a release, or its folder.")
    ],
    release: Annotated[
        Path | None, typer.Argument(help="The release or its folder; beside it when left out.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Judge a written release afresh and compare it with its certificate."""
    from foreknow.certificate import Certificate

    if certificate.is_dir():
        certificate = certificate / "certificate.json"
    known = Certificate.load(certificate)
    with progress("Judging the release afresh", quiet):
        problems = known.check(release if release is not None else certificate.parent)
    for problem in problems:
        error_console().print(problem, style="bold red", markup=False, highlight=False)
    if not problems and not quiet:
        _say_verified(known)
    raise typer.Exit(UNSAFE if problems else 0)


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to write; must not exist.")] = Path(
        "foreknow-demo"
    ),
    seed: Annotated[int | None, typer.Option("--seed", help="Reproducible row order.")] = None,
) -> None:
    """Run the main job on the bundled sample, end to end: publish, audit, verify."""
    from foreknow import sample
    from foreknow.policy import Policy

    say = console()
    rules = Policy.load(sample.policy_path())
    say.print(f"Table:  {sample.table_path()}", highlight=False, soft_wrap=True)
    say.print(f"Policy: {sample.policy_path()}\n", highlight=False, soft_wrap=True)
    _publish(sample.table_path(), rules, folder, seed, quiet=False)
    say.print()
    verify(folder / "certificate.json", folder, quiet=False)


def _publish(table: Path, rules: Policy, out: Path, seed: int | None, quiet: bool) -> None:
    from foreknow import publishing
    from foreknow.microdata import Microdata
    from foreknow.writing import require_new

    if rules.schema is None:
        raise SchemaError("the policy has no [schema] table, which says what the columns are")
    require_new(out)
    with progress("Reading the table", quiet):
        made = publishing.publish(Microdata(table, rules.schema), rules, seed=seed)
        made.write(out)
    if quiet:
        return
    say = console()
    say.print(made.audit)
    _say_notes(made.certificate)
    say.print(f"\nWritten to {out}:", highlight=False, soft_wrap=True)
    notes = {
        "certificate.json": "what was required and found, for foreknow verify",
        "report.html": "explains the release",
        "lattice.html": "[bold]keep it[/bold]: which generalizations are safe, and which not",
        "owner.json": "[bold]keep it[/bold]: the key of the source's digest",
    }
    for path in sorted(
        out.iterdir(), key=lambda p: (list(notes).index(p.name) if p.name in notes else -1, p.name)
    ):
        say.print(f"  {path.name:<18} {notes.get(path.name, 'the release')}", highlight=False)


def _say_notes(known: Certificate) -> None:
    for note in known.notes:
        console().print(f"Note: {note}.", markup=False, highlight=False)


def _told(amounts: Mapping[str, Any]) -> str:
    """An adversary's amounts; of priors, by which columns they are."""
    if "tables" in amounts:
        sets = "; ".join(", ".join(table["attributes"]) for table in amounts["tables"])
        return f"by {sets} ({amounts['semantics']})"
    return ", ".join(f"{name} = {amount}" for name, amount in amounts.items())


def _say_verified(known: Certificate) -> None:
    """Say what was verified: of which columns, against whom, with which limit."""
    say = console()
    say.print(
        f"Verified: {known.people:,} people in {known.n_groups:,} groups by "
        f"{', '.join(known.groups)}; every requirement on {known.sensitive} holds:",
        markup=False,
        highlight=False,
    )
    for finding in known.findings:
        ((kind, amounts),) = finding["adversary"].items()
        limit = "not above" if finding.get("inclusive") else "below"
        times = f" = {finding['times']} times the prior" if "times" in finding else ""
        say.print(
            f"  against {kind} {_told(amounts)}: at most {finding['exact']} ({finding['value']}), "
            f"{limit} {finding['below']}{times}",
            markup=False,
            highlight=False,
        )
    _say_notes(known)
