"""The command `evidence`: all that was measured of a written release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from foreknow.cli.command import command
from foreknow.cli.inputs import (
    Columns,
    refuse_published,
    require_published,
)
from foreknow.cli.options import Answers, ForwardedOptions, Only, Output
from foreknow.cli.terminal import print_plain
from foreknow.errors import OutputError


@command("foreknow.features.evidence.evidence:evidence_report")
def evidence(
    folder: Annotated[Path, "What foreknow publish wrote."],
    table: Annotated[Path | None, "The raw table of the release, to compare it with."] = None,
    *,
    out: Path | None = None,
    columns: Annotated[Columns, Only()],
    key: Path | None = None,
    output: Answers,
    forwarded: ForwardedOptions,
) -> None:
    """Write a page of evidence on a release, for somebody who must accept it.

    The release is verified afresh. The page says what was published, what holds, against whom,
    under which assumptions, and what held for the raw table. It answers the questions of WP216, the
    ICO, ISO/IEC 27559, NIST SP 800-188, Article 66 of the European Health Data Space and HIPAA, as
    far as they can be measured; the rest is left for you to fill in. A browser prints the page to
    PDF. It draws no legal conclusion.

    Parameters
    ----------
    out
        The page to write (default FOLDER.evidence.html).
    policy
        A policy, to say what the columns are.
    key
        Sign with this private Ed25519 key (needs the extra sign).
    """
    from foreknow.features.evidence.evidence import evidence_report
    from foreknow.publishing.signature import Signer, signature_of

    require_published(folder)
    refuse_published(table)
    release_folder = folder if folder.is_dir() else folder.parent
    page = (
        release_folder.with_name(f"{release_folder.resolve().name}.evidence.html")
        if out is None
        else out
    )
    inputs = []
    for path in (folder, table, columns.policy):
        if path is not None:
            inputs.append(path)
    Output(page, output.json).refuse(*inputs)
    if page.resolve().is_relative_to(release_folder.resolve()):
        raise OutputError(f"{str(page)!r} would lie in what is published; write it elsewhere")
    signer = None if key is None else Signer(key)
    is_there = page.exists()
    with output.progress("Judging the release afresh"):
        report = evidence_report(
            folder, columns.table_of(release_folder, table), columns.given, **forwarded
        )
    with output.progress("Writing the page"):
        report.to_html(page)
        signed = None if signer is None else signer.sign_file(page)
    output.show(report)
    if output.quiet:
        return
    over = ", over the file that was there" if is_there else ""
    print_plain(f"\nWritten to {page}{over}; a browser prints it to PDF.", soft_wrap=True)
    if signed is not None:
        print_plain(f"Signed in {signature_of(page)}.", soft_wrap=True)
