"""Open a release for a command, as a policy, an option or a certificate describe it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreknow.errors import CertificateError, SchemaError, UnsupportedError

if TYPE_CHECKING:
    from foreknow.certificate import Certificate
    from foreknow.policy import Policy
    from foreknow.release import Release


def open_release(path: Path, rules: Policy, group: str | None) -> Release:
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
