"""The command `export`: a certified release as a file of Excel, SPSS or Stata."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from foreknow.cli.command import command
from foreknow.cli.options import Quiet, among
from foreknow.cli.terminal import print_plain, progress
from foreknow_judge.files.printable import visible


@command("foreknow.features.exports.export:export")
def export(
    folder: Annotated[Path, "What foreknow publish wrote."],
    *,
    to: Annotated[str | None, among("xlsx", "sav", "dta")] = None,
    out: Annotated[Path | None, "The file to write; FOLDER.xlsx when left out."] = None,
    quiet: Quiet = False,
) -> None:
    """Write a verified release as a file for Excel (xlsx), SPSS (sav) or Stata (dta).

    The certificate covers the files of the release, not the export. A note in the export says so.
    """
    from foreknow.features.exports.export import export as write

    with progress("Verifying and exporting the release", quiet):
        paths = write(folder, to, out)
    for path in paths if not quiet else ():
        print_plain(
            f"Written to {visible(path)}. The certificate does not cover this file.",
            soft_wrap=True,
        )
