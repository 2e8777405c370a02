"""File names: what `publish` calls the files it writes, and the folder of the owner's files."""

import os
from pathlib import Path

# The files that `publish` writes beside the tables, and those for the owner only.
CERTIFICATE, REPORT, SIGNATURE = "certificate.json", "report.html", "certificate.json.sig"
CODE_BOOK = "datapackage.json"
LATTICE, OWNER, PRIORS, MEMBERS = "lattice.html", "owner.json", "priors.json", "members.parquet"
NEWCOMERS = "newcomers.csv", "newcomers.parquet"  # rows of the table: one of these


def owners_folder(folder: str | Path) -> Path:
    """The default folder of the owner's files of a release: ``NAME.owner`` beside it."""
    path = Path(folder)
    path = path if path.name not in ("", "..") else Path(os.path.abspath(path))
    return path.with_name(f"{path.name}.owner")
