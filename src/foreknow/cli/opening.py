"""Open a release for a command, as a policy, an option or a certificate describe it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreknow.errors import CertificateError, SchemaError

if TYPE_CHECKING:
    from foreknow.certificate import Certificate
    from foreknow.policy import Policy
    from foreknow.release import Release
    from foreknow.schema import Schema


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
    group = group or schema.group
    how: dict[str, Any] = {
        "sensitive": schema.sensitive,
        "person": _person_in(path, schema),
        "semantics": schema.semantics,
        "missing": schema.missing,
    }
    if group is not None:
        return Release.from_groups(path, group=group, **how)
    return Release.from_generalized(path, quasi_identifiers=schema.quasi_identifiers, **how)


def _published(folder: Path, known: Certificate, rules: Policy) -> Release:
    """Open what `foreknow publish` wrote; the policy, not the certificate, says what to judge."""
    from foreknow.certificate import digest_of
    from foreknow.frames.writing import disarm_name
    from foreknow.release import Release
    from foreknow.schema import check_semantics

    if set(known.files) != {f"{part}.{known.format}" for part in known.parts}:
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
        if known.semantics != schema.semantics:
            raise SchemaError(
                f"the certificate is for semantics {known.semantics!r}, the policy for "
                f"{schema.semantics!r}"
            )

    columns = [*known.groups, known.sensitive]
    if known.escaped:
        columns = [disarm_name(column) for column in columns]
    *groups, sensitive = columns
    tables = {part: folder / f"{part}.{known.format}" for part in known.parts}
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
    return release.rearmed() if known.escaped else release


def _person_in(path: Path, schema: Schema) -> str | None:
    """The column that names people, where the release still has it; under ``single`` it may not."""
    from foreknow.frames import open_table

    if schema.person is None or schema.semantics != "single":
        return schema.person
    return schema.person if schema.person in open_table(path).columns else None
