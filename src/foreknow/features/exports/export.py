"""Export: a release as a file for Excel, SPSS or Stata, which no certificate covers."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from foreknow.atomic_files import replaced
from foreknow.call_hints import hinted
from foreknow.data.tables.writers import disarmed
from foreknow.errors import OutputError, did_you_mean, refuse_other_type
from foreknow.features.exports.writers import LONGEST_TITLE, write_statistics, write_workbook
from foreknow.publishing.verification import load_signed, verify
from foreknow.written_releases.written_release import Published, open_published
from foreknow_judge.errors import CertificateError, InputError
from foreknow_judge.files.documents import decode_utf8, from_json, read_bytes
from foreknow_judge.files.file_names import CODE_BOOK
from foreknow_judge.verify import certificate_path

ExportFormat: TypeAlias = Literal["xlsx", "sav", "dta"]
_MOST_BYTES = 64 << 20
_PROGRAMS = {"excel": "xlsx", "spss": "sav", "stata": "dta"}  # and the format of each

NOTE = (
    "Exported by Foreknow from a certified release. The certificate covers the release's own files "
    "(CSV or Parquet), and not this file: to verify, ask for the folder of the release."
)


@hinted
def export(folder: str | Path, to: str | None = None, out: str | Path | None = None) -> list[Path]:
    """Write a verified release as a file for Excel, SPSS or Stata.

    The export holds the cells of the release, as text or numbers, and a note that the certificate
    does not cover it. A release of several tables becomes one workbook with a sheet for each table,
    or one file for each.

    Parameters
    ----------
    folder : path
        The folder that `publish` wrote. It is verified first.
    to : "xlsx", "sav" or "dta", optional
        The format: Excel, SPSS or Stata; default: that of `out`, else Excel.
    out : path, optional
        The file to write; default: ``FOLDER.xlsx`` beside the folder, with the ending of the
        format. For a release of several tables, SPSS and Stata files are named after it:
        ``OUT-people.sav``.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    CertificateError
        If the release is not as certified, or not safe.
    OutputError
        If the format cannot hold the release, or the file would be inside the release's folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import foreknow as fk
    >>> with TemporaryDirectory() as place:
    ...     rules = fk.Policy.load(fk.sample.policy_path())
    ...     made = fk.publish(fk.sample.table_path(), rules)
    ...     _ = made.write(f"{place}/release")
    ...     [path.name for path in export(f"{place}/release")]
    ['release.xlsx']
    """
    refuse_other_type(
        folder,
        (str, Path),
        "a folder that publish wrote",
        "; what is exported are files: made.write(folder), then export(folder)",
    )
    ending = Path(to).suffix[1:].lower() if isinstance(to, str) else ""
    if out is None and ending in get_args(ExportFormat):  # to is the name of a file
        to, out = ending, to
    if to is None:
        ending_of_out = Path(out or "").suffix[1:].lower()
        to = ending_of_out if ending_of_out in get_args(ExportFormat) else "xlsx"
    to = _PROGRAMS.get(str(to).lower(), to)
    if to not in get_args(ExportFormat):
        raise InputError(
            f"to is {to!r}{did_you_mean(str(to), get_args(ExportFormat))}; a release itself is CSV "
            'or Parquet ([publish] format = "parquet")'
        )
    # The release is loaded, and verified before anything is written.
    certified = certificate_path(folder)
    certificate, _ = load_signed(certified)
    release_folder = certified.parent
    resolved_folder = release_folder.resolve()  # "." and ".." have no name
    named_folder = resolved_folder if release_folder.name in ("", "..") else release_folder
    target = (
        Path(out) if out is not None else named_folder.with_name(f"{resolved_folder.name}.{to}")
    )
    if target.suffix.lower() != f".{to}":
        is_csv = "" if target.suffix.lower() != ".csv" else "; a release is CSV, as it is written"
        raise OutputError(
            f"{str(target)!r} does not end with .{to}, the format of the export{is_csv}"
        )
    if target.resolve().is_relative_to(resolved_folder):
        raise OutputError(f"{str(target)!r} would lie in what is published; write it elsewhere")
    if target.exists():
        raise OutputError(f"{str(target)!r} exists already; remove it, or name another (out)")
    verify(release_folder)
    published = open_published(release_folder, certificate=certificate)
    tables = {
        table_name: table.arrow(table.columns) for table_name, table in published.tables.items()
    }
    # Cells that a spreadsheet would read as formulas were escaped; as texts they need not be.
    if certificate.escaped:
        tables = {table_name: disarmed(rows) for table_name, rows in tables.items()}
    titles = _titles_of(published)
    if to == "xlsx":
        with replaced(target, private=False) as aside:
            write_workbook(tables, aside, NOTE, file_name=target.name)
        return [target]
    paths = []
    for table_name, rows in tables.items():
        name = target if len(tables) == 1 else target.with_stem(f"{target.stem}-{table_name}")
        if name.exists():
            raise OutputError(f"{str(name)!r} exists already; remove it, or name another (out)")
        with replaced(name, private=False) as aside:
            write_statistics(rows, aside, titles, NOTE, file_name=name.name)
        paths.append(name)
    return paths


def _titles_of(published: Published) -> dict[str, str]:
    """The titles of columns in the code book, which SPSS and Stata show as labels.

    Empty if the release has no code book.
    """
    book = published.folder / CODE_BOOK
    if published.certificate.code_book is None or not book.is_file():
        return {}
    try:
        content = read_bytes(book, _MOST_BYTES, CertificateError, CODE_BOOK)
        table: Any = from_json(decode_utf8(content, CertificateError, CODE_BOOK))
        titles: dict[str, str] = {}
        for field in chain.from_iterable(
            resource["schema"]["fields"] for resource in table["resources"]
        ):
            if "title" in field:
                titles[str(field["name"])] = str(field["title"])[:LONGEST_TITLE]
        return titles
    except (ValueError, LookupError, TypeError):
        raise CertificateError(f"{CODE_BOOK} of {str(published.folder)!r} cannot be read") from None
