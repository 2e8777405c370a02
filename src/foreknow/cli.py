"""The command line: parse, call, print, exit code."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from foreknow._version import __version__
from foreknow.errors import (
    CertificateError,
    ForeknowError,
    InputError,
    InternalError,
    NoSafeRelease,
    OutputError,
    SchemaError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from foreknow.certificate import Certificate
    from foreknow.policy import Policy
    from foreknow.release import Release

UNSAFE, BAD_INPUT, BUG, INTERRUPTED = 1, 2, 3, 130

app = typer.Typer(
    name="foreknow",
    help="Audit and publish tables about people against adversaries who already know something.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Exit codes: 0 safe or written, 1 unsafe or no safe release exists, 2 bad input, "
    "3 a bug in Foreknow, 130 interrupted.",
)

PolicyPath = Annotated[Path, typer.Option("--policy", "-p", help="The policy file (TOML).")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Html = Annotated[
    Path | None, typer.Option("--html", help="Write a report, one file that opens offline.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the audit as JSON.")]


@app.command()
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
    from foreknow import auditing
    from foreknow.policy import Policy

    rules = Policy.load(policy)
    _refuse_inputs(html, json, (release, policy))
    with _progress("Counting the release", quiet):
        judged = _release(release, rules, group)
        result = auditing.audit(judged, rules)
    if html is not None:
        with _progress("Writing the report", quiet):
            result.to_html(html)
    if json is not None:
        result.to_json(json)
    if not quiet:
        _out().print(result)
        unseen = judged.unseen([] if rules.schema is None else rules.schema.other)
        if unseen:
            _out().print(
                f"Not judged: {', '.join(unseen)}. Whoever knows them of a person may find out "
                "more.",
                markup=False,
                highlight=False,
            )
    raise typer.Exit(0 if result.safe else UNSAFE)


@app.command()
def publish(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet file, or folder of Parquet files.")],
    policy: PolicyPath,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder that does not exist yet.")],
    method: Annotated[
        str | None, typer.Option("--method", help="The anonymizer; the policy's when left out.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--form", help="generalized or bucketized; the policy's if not.")
    ] = None,
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

    rules = Policy.load(policy)
    given: dict[str, Any] = {"method": method, "form": form, "format": file_format}
    options = replace(rules.options, **{key: x for key, x in given.items() if x is not None})
    _publish(table, replace(rules, options=options), out, seed, quiet)


@app.command()
def verify(
    certificate: Annotated[Path, typer.Argument(help="The certificate.json of a release.")],
    release: Annotated[
        Path | None, typer.Argument(help="The release or its folder; beside it when left out.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Judge a written release afresh and compare it with its certificate."""
    from foreknow.certificate import Certificate

    known = Certificate.load(certificate)
    with _progress("Judging the release afresh", quiet):
        problems = known.check(release if release is not None else certificate.parent)
    for problem in problems:
        _err().print(problem, style="bold red", markup=False, highlight=False)
    if not problems and not quiet:
        _say_verified(known)
    raise typer.Exit(UNSAFE if problems else 0)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to write; must not exist.")] = Path(
        "foreknow-demo"
    ),
    seed: Annotated[int | None, typer.Option("--seed", help="Reproducible row order.")] = None,
) -> None:
    """Run the main job on the bundled sample, end to end: publish, audit, verify."""
    from foreknow import sample
    from foreknow.policy import Policy

    say = _out()
    rules = Policy.load(sample.policy_path())
    say.print(f"Table:  {sample.table_path()}", highlight=False, soft_wrap=True)
    say.print(f"Policy: {sample.policy_path()}\n", highlight=False, soft_wrap=True)
    _publish(sample.table_path(), rules, folder, seed, quiet=False)
    say.print()
    verify(folder / "certificate.json", folder, quiet=False)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Audit and publish tables about people against adversaries who already know something."""
    if version:
        _out().print(f"foreknow {__version__}", highlight=False)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr, never a traceback."""
    try:
        code = app(standalone_mode=False)
        if code == INTERRUPTED:  # Typer's way to say so
            raise KeyboardInterrupt
        sys.exit(code)
    except NoSafeRelease as error:
        _fail(error, UNSAFE)
    except InputError as error:
        _fail(error, BAD_INPUT)
    except ForeknowError as error:
        _fail(error, BUG)
    except (KeyboardInterrupt, typer.Abort):
        _err().print("interrupted; nothing was left half-written")
        sys.exit(INTERRUPTED)
    except OSError as error:
        with suppress(OSError):
            _err().print(f"foreknow: {error}", markup=False, highlight=False, soft_wrap=True)
        os._exit(BAD_INPUT)  # a full disk would make Python fail again at its own exit
    except Exception as error:
        if hasattr(error, "show"):
            error.show()  # of the command line's own grammar, such as an unknown option
            sys.exit(BAD_INPUT)
        if os.environ.get("FOREKNOW_DEBUG"):
            raise
        bug = InternalError(f"{type(error).__name__}: {error}")
        _err().print(f"foreknow: {bug} FOREKNOW_DEBUG=1 shows where.", markup=False, soft_wrap=True)
        sys.exit(BUG)


def _publish(table: Path, rules: Policy, out: Path, seed: int | None, quiet: bool) -> None:
    from foreknow import publishing
    from foreknow.microdata import Microdata
    from foreknow.writing import require_new

    if rules.schema is None:
        raise SchemaError("the policy has no [schema] table, which says what the columns are")
    require_new(out)
    with _progress("Reading the table", quiet):
        made = publishing.publish(Microdata(table, rules.schema), rules, seed=seed)
        made.write(out)
    if quiet:
        return
    say = _out()
    say.print(made.audit)
    say.print(f"\nWritten to {out}:", highlight=False, soft_wrap=True)
    notes = {
        "certificate.json": "what was required and found, for foreknow verify",
        "report.html": "explains the release",
        "owner.json": "[bold]keep it[/bold]: the key of the source's digest",
    }
    for path in sorted(out.iterdir(), key=lambda p: (p.name in notes, p.name == "owner.json")):
        say.print(f"  {path.name:<18} {notes.get(path.name, 'the release')}", highlight=False)


def _release(path: Path, rules: Policy, group: str | None) -> Release:
    """Open a release as the policy, the option or its certificate describe it."""
    from foreknow.certificate import Certificate
    from foreknow.release import Release

    if path.is_dir() and (path / "certificate.json").is_file():
        known = Certificate.load(path / "certificate.json")
        return _published(path, known, rules)
    schema = rules.schema
    if schema is None:
        raise SchemaError("the policy has no [schema] table, which says what the columns are")
    if schema.semantics != "single":
        raise UnsupportedError(
            f"releases under semantics {schema.semantics!r} are not judged yet, only 'single'"
        )
    missing: Any = schema.missing
    group = group or schema.group
    if schema.person is not None:
        _check_people(path, schema.person)
    if group is not None:
        return Release.from_groups(path, group=group, sensitive=schema.sensitive, missing=missing)
    return Release.from_generalized(
        path,
        quasi_identifiers=schema.quasi_identifiers,
        sensitive=schema.sensitive,
        missing=missing,
    )


def _published(folder: Path, known: Certificate, rules: Policy) -> Release:
    """Open what `foreknow publish` wrote; the policy, not the certificate, says what to judge."""
    from foreknow.certificate import digest_of
    from foreknow.frames.writing import disarm_name
    from foreknow.release import Release

    parts = ("release",) if known.form == "generalized" else ("people", "sensitive")
    if set(known.files) != {f"{part}.{known.format}" for part in parts}:
        raise CertificateError(f"the certificate of {str(folder)!r} does not name its files")
    for name, digest in known.files.items():
        if not (folder / name).is_file() or digest_of(folder / name) != digest:
            raise CertificateError(
                f"{name} is not the file of {str(folder)!r} that was certified; name the file "
                "itself to audit it as it is"
            )
    schema = rules.schema
    if schema is not None:
        wanted = set(schema.quasi_identifiers)
        other_groups = known.form == "generalized" and set(known.groups) != wanted
        if other_groups or known.sensitive != schema.sensitive:
            raise SchemaError(
                f"the certificate is for {', '.join(known.groups)} and {known.sensitive}, the "
                f"policy for {', '.join(schema.quasi_identifiers)} and {schema.sensitive}"
            )

    columns = [*known.groups, known.sensitive]
    if known.escaped:
        columns = [disarm_name(column) for column in columns]
    *groups, sensitive = columns
    if known.form == "bucketized":
        table = folder / f"sensitive.{known.format}"
        release = Release.from_bucketized(table, group=groups[0], sensitive=sensitive)
    else:
        table = folder / f"release.{known.format}"
        release = Release.from_generalized(table, quasi_identifiers=groups, sensitive=sensitive)
    return release.rearmed() if known.escaped else release


def _check_people(path: Path, person: str) -> None:
    """Where a release still tells people apart, nobody may stand in two rows."""
    from foreknow.frames import open_table
    from foreknow.frames.people import refuse_repeats

    table = open_table(path)
    if person in table.columns:
        refuse_repeats(table, person)


def _refuse_inputs(html: Path | None, json: Path | None, inputs: tuple[Path, ...]) -> None:
    """No output may replace what is read, nor the other output."""
    targets = [target for target in (html, json) if target is not None]
    for target in targets:
        place = target.resolve()
        for source in (path.resolve() for path in inputs):
            inside = source.is_dir() and source in place.parents and place.exists()
            if place == source or inside:
                raise OutputError(f"{str(target)!r} is an input; name another file to write to")
    if len({target.resolve() for target in targets}) < len(targets):
        raise OutputError("--html and --json name the same file")


def _say_verified(known: Certificate) -> None:
    """Say what was verified: of which columns, against whom, with which limit."""
    say = _out()
    say.print(
        f"Verified: {known.people:,} people in {known.n_groups:,} groups by "
        f"{', '.join(known.groups)}; every requirement on {known.sensitive} holds:",
        markup=False,
        highlight=False,
    )
    for finding in known.findings:
        amounts = ", ".join(f"{k} = {v}" for k, v in finding["adversary"].get("facts", {}).items())
        say.print(
            f"  against {amounts}: at most {finding['exact']} ({finding['value']}), below "
            f"{finding['below']}",
            markup=False,
            highlight=False,
        )


def _progress(message: str, quiet: bool) -> AbstractContextManager[Any]:
    """Show on stderr what takes long, unless asked to be quiet."""
    if quiet:
        return nullcontext()
    from foreknow.report.progress import progress

    return progress(message)


def _fail(error: ForeknowError, code: int) -> None:
    _err().print(f"foreknow: {error}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)


def _out() -> Console:
    return Console()


def _err() -> Console:
    return Console(stderr=True)


if __name__ == "__main__":
    main()
