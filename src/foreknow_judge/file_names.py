"""File names: what `publish` writes, by its name, and where the owner's part of it lies."""

import os
from pathlib import Path

# The files that `publish` writes beside the tables, and those for the owner only.
CERTIFICATE, REPORT, SIGNATURE = "certificate.json", "report.html", "certificate.json.sig"
CODE_BOOK = "datapackage.json"
LATTICE, OWNER, PRIORS, MEMBERS = "lattice.html", "owner.json", "priors.json", "members.parquet"


def owners_folder(folder: str | Path) -> Path:
    """Where the owner's files of a release are, unless something else was said."""
    path = Path(folder)
    path = path if path.name not in ("", "..") else Path(os.path.abspath(path))
    return path.with_name(f"{path.name}.owner")
