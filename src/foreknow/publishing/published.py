"""Published: what `foreknow publish` wrote, opened again as its certificate describes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foreknow.data.engines import open_table
from foreknow.data.engines.write import disarm_name
from foreknow.data.release import Release
from foreknow.data.schema import Schema, check_semantics
from foreknow.errors import CertificateError, InputError, SchemaError
from foreknow.publishing.certificate import Certificate, digest_of

CERTIFICATE = "certificate.json"


@dataclass(frozen=True, repr=False)
class Published:
    """A written release, as its reader has it.

    Attributes
    ----------
    release : Release
    certificate : Certificate
    """

    release: Release
    certificate: Certificate

    def __repr__(self) -> str:
        return f"Published({self.release.name}, {self.certificate.form})"


def open_published(path: str | Path, schema: Schema | None = None) -> Published:
    """Open what `foreknow publish` wrote."""
    folder = _folder_of(Path(path))
    known = Certificate.load(folder / CERTIFICATE)
    if set(known.files) != {f"{part}.{known.format}" for part in known.parts}:
        raise CertificateError(f"the certificate of {str(folder)!r} does not name its files")
    # Opened before they are digested: a table that changes afterwards cannot be read any more.
    tables = {}
    for part in known.parts:
        path = folder / f"{part}.{known.format}"
        opened = open_table(path) if path.is_file() else None
        if opened is None or digest_of(path) != known.files[path.name]:
            raise CertificateError(
                f"{path.name} is not the file of {str(folder)!r} that was certified; name the file "
                "itself to audit it as it is"
            )
        tables[part] = opened
    if schema is not None:
        refuse_other_schema(known, schema)
    columns = [*known.groups, known.sensitive]
    if known.escaped:
        columns = [disarm_name(column) for column in columns]
    *groups, sensitive = columns
    if "release" in tables:
        release = Release.from_generalized(
            tables["release"], quasi_identifiers=groups, sensitive=sensitive
        )
    else:
        release = Release.from_bucketized(
            tables["sensitive"],
            group=groups[0] if known.form == "bucketized" else groups,
            sensitive=sensitive,
            semantics=check_semantics(known.semantics),
            people=tables["people"],
        )
    return Published(release.rearmed() if known.escaped else release, known)


def _folder_of(path: Path) -> Path:
    """The folder with the certificate that a path means."""
    for folder in (path, path.parent):
        if path.exists() and (folder / CERTIFICATE).is_file():
            return folder
    if not path.exists():
        raise InputError(f"there is no file or folder {str(path)!r}")
    raise InputError(
        f"{str(path)!r} has no {CERTIFICATE}, as what foreknow publish wrote has; open another "
        "table with Release.from_generalized(path, quasi_identifiers=[...], sensitive=...) or "
        "Release.from_groups(path, group=..., sensitive=...)"
    )


def refuse_other_schema(known: Certificate, schema: Schema) -> None:
    """Raise `SchemaError` if a certificate is for other columns than a schema."""
    other_groups = known.form == "generalized" and set(known.groups) != set(
        schema.quasi_identifiers
    )
    if other_groups or known.sensitive != schema.sensitive:
        raise SchemaError(
            f"the certificate is for {', '.join(known.groups)} and {known.sensitive}, the "
            f"policy for {', '.join(schema.quasi_identifiers)} and {schema.sensitive}"
        )
    if known.semantics != schema.semantics:
        raise SchemaError(
            f"the certificate is for semantics {known.semantics!r}, the policy for "
            f"{schema.semantics!r}"
        )
