"""The commands `read` and `draw`: a written release as one table, for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from foreknow.cli.command import command
from foreknow.cli.inputs import require_published
from foreknow.cli.options import ForwardedOptions, Only, Quiet
from foreknow.cli.terminal import print_plain, progress
from foreknow.errors import OutputError
from foreknow_judge.files.printable import visible
from foreknow_judge.text import some

if TYPE_CHECKING:
    import pyarrow as pa

Folder = Annotated[Path, "What foreknow publish wrote."]
Flat = Annotated[Path, "A .csv or .parquet file to write."]
Readable = Annotated[Path, "A .csv or .parquet file to write; - is standard output, as CSV."]


@command("foreknow.publishing.flat_table:read_release")
def read(folder: Folder, *, out: Readable = Path("-"), quiet: Quiet = False) -> None:
    """Read a release as one table, with the meaning of each label beside it.

    Beside a column of labels are, as far as the folder contains them, the lower end, the upper end,
    the middle and the width of numbers and dates, and the possible values of texts. The name of a
    column that was shuffled within groups ends with _shuffled.
    """
    from foreknow.publishing.flat_table import read_flat

    _refuse(folder, out)
    with progress("Reading the release", quiet):
        table = read_flat(folder)
    _write(table, out, quiet)
    _note(table, quiet)


@command("foreknow.publishing.flat_table:draw")
def draw(
    folder: Folder,
    *,
    out: Flat,
    quiet: Quiet = False,
    forwarded: Annotated[ForwardedOptions, Only(("seed",))],
) -> None:
    """Draw a table of exact values from a release, which any program reads.

    Every value is drawn from its label, with equal probability; values that are shuffled within
    groups are shuffled again. The table reveals nothing beyond the release. Differences between
    draws are no measure of error: every draw has only the information of the labels.
    """
    from foreknow.publishing.flat_table import NO_INTERVAL, draw_flat

    _refuse(folder, out)
    with progress("Drawing", quiet):
        table = draw_flat(folder, **forwarded)
    _write(table, out, quiet)
    if not quiet:
        print(f"Note: {NO_INTERVAL}.", file=sys.stderr)
    _note(table, quiet)


def _note(table: pa.Table, quiet: bool) -> None:
    """Say what lists of dealt out values do not tell."""
    from foreknow.publishing.flat_table import OF_SEVERAL, are_dealt_lists

    if not quiet and are_dealt_lists(table):
        print(f"Note: {OF_SEVERAL}.", file=sys.stderr)


def _refuse(folder: Path, out: Path) -> None:
    from foreknow.publishing.flat_table import refuse_kind

    require_published(folder)
    if str(out) == "-":
        return
    refuse_kind(out)
    # A file among those published would look like a part of the release.
    release_folder = folder if folder.is_dir() else folder.parent
    if out.resolve().is_relative_to(release_folder.resolve()):
        raise OutputError(f"{str(out)!r} would lie in what is published; write it elsewhere")


def _write(table: pa.Table, out: Path, quiet: bool) -> None:
    from foreknow.publishing.flat_table import write_flat

    if str(out) == "-":
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as folder:
            write_flat(table, path := Path(folder) / "table.csv")
            sys.stdout.write(path.read_text("utf-8"))
        return
    write_flat(table, out)
    if not quiet:
        size = (
            f"{some(table.num_rows, 'row', 'rows')}, {some(table.num_columns, 'column', 'columns')}"
        )
        print_plain(f"{size}: written to {visible(out)}", soft_wrap=True)
