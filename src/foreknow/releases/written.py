"""A written release, as a reader has it by its certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foreknow.certificates import Certificate
from foreknow.data.engines import Table, bare, open_table
from foreknow.data.engines.stacked import bare_rows
from foreknow.data.engines.write import disarm_name, rearmed, with_commas
from foreknow.data.hierarchy import Ordered, Tree, hierarchy_from
from foreknow.data.labels import text_of
from foreknow.data.prepare import header_of_shuffled
from foreknow.data.reading import Reading
from foreknow.data.release import COUNT, Release
from foreknow.data.schema import Schema
from foreknow.errors import SchemaError
from foreknow.policy.kinds import registered_kinds
from foreknow_judge.certificate import Certificate as CertificateRead
from foreknow_judge.certificate import (
    digest_of,
    files_of,
    parts_of_sensitive,
)
from foreknow_judge.errors import CertificateError, InputError
from foreknow_judge.file_names import CERTIFICATE
from foreknow_judge.folder import strange_parts
from foreknow_judge.impossible import is_opaque
from foreknow_judge.layout import multivalued_columns


@dataclass(frozen=True, repr=False)
class Published:
    """A written release, as its reader has it."""

    release: Release
    certificate: Certificate
    folder: Path = Path()
    tables: Mapping[str, Table] = field(default_factory=dict)

    def rows(self) -> dict[str, Any]:
        """The tables as they are read."""
        escaped = self.certificate.escaped
        name = header_of(self.certificate, rearmed)
        return {
            part: bare(bare_rows(table, table.columns, COUNT, bare=name, escaped=escaped))
            for part, table in self.tables.items()
        }

    def __repr__(self) -> str:
        return f"Published({self.release.name}, {self.certificate.form})"


def as_opened(release: Any) -> Any:
    """A release; opened, where it is the path of what `foreknow publish` wrote."""
    return open_published(release) if isinstance(release, (str, Path)) else release


def open_published(
    path: str | Path, schema: Schema | None = None, known: Certificate | None = None
) -> Published:
    """Open what `foreknow publish` wrote; by a certificate that was read, these very files."""
    folder = _folder_of(Path(path))
    known = (
        Certificate.load(folder / CERTIFICATE, kinds=registered_kinds()) if known is None else known
    )
    if not known.files:
        raise CertificateError(f"the certificate of {str(folder)!r} does not name its files")
    # Opened before they are digested: a table that changes afterwards cannot be read any more.
    tables = dict[str, Table]()
    for part, files in known.paths(folder).items():
        place = folder / f"{part}.{known.format}"
        for strange in strange_parts(place, files_of(part, known.format, known.files)):
            raise CertificateError(strange)
        opened = _opened(place, files, known)
        for file in files if opened is not None else [place]:
            name = file.relative_to(folder).as_posix()
            if opened is None or digest_of(file) != known.files[name]:
                raise CertificateError(
                    f"{name} is not the file of {str(folder)!r} that was certified; name the file "
                    "itself to audit it as it is"
                )
        assert opened is not None
        tables[part] = _as_certified(opened, known)
    if schema is not None:
        refuse_other_schema(known, schema)
    written = header_of(known)
    schema = _schema_of(known, written)
    release = as_release(
        tables,
        known.form,
        schema.quasi_identifiers,
        schema,
        [*map(written, known.unlinked)],
        [*map(written, known.exact)],
    )
    release = release.rearmed() if known.escaped else release
    release = release.described(schema=schema_of(known))
    return Published(release, known, folder, tables)


def header_of(
    known: CertificateRead, of: Callable[[str], str] = disarm_name
) -> Callable[[str], str]:
    """What gives the header of a column in the files, or the column `of` a header."""
    return of if known.escaped else str


def schema_of(known: Certificate) -> Schema:
    """The schema of the policy of a certificate, without how columns are read and coarsen."""
    said: dict[str, Any] = {"hierarchies": {}, "types": {}, "group": None}
    return Schema(**{**known.policy["schema"], **said})


def _schema_of(known: Certificate, written: Callable[[str], str]) -> Schema:
    """The columns of a release by a certificate, as they are `written`."""
    how = known.semantics
    return Schema(
        quasi_identifiers=[*map(written, known.groups)],
        sensitive=[*map(written, known.sensitives)],
        other=[*map(written, known.beside)],
        semantics=how if isinstance(how, str) else {written(name): how[name] for name in how},
    )


def _as_certified(opened: Table, known: Certificate) -> Table:
    """A table as CSV would have it: of other programs' files, and with points in decimals."""
    if not known.commas:
        return opened
    rows = opened.arrow(opened.columns)
    names = [*known.commas, *map(header_of_shuffled, known.commas)]
    rows = with_commas(rows, [*map(header_of(known), names)])
    made = open_table(rows)
    made.name = opened.name
    return made


def _opened(path: Path, files: Sequence[Path], known: Certificate) -> Table | None:
    """A table, if its files are these and no others."""
    if not all(file.is_file() for file in files):
        return None
    opened = open_table(path, Reading(delimiter=known.delimiter) if known.format == "csv" else None)
    return opened if getattr(opened, "files", files) == files else None


def as_release(
    tables: Mapping[str, Any],
    form: str,
    groups: Sequence[str],
    schema: Schema,
    unlinked: Sequence[str] = (),
    recognized: Sequence[str] = (),
) -> Release:
    """Take the tables for what a reader makes of them; in the bucketized form, with exact columns.

    By those that are `recognized` somebody may be found among the people.
    """
    if "release" in tables:
        return Release.from_generalized(
            tables["release"],
            quasi_identifiers=groups,
            sensitive=schema.sensitives,
            other=schema.other,
            unlinked=unlinked,
        )
    apart = (*unlinked, *schema.several)
    opened = [
        Release.from_bucketized(
            tables[part],
            group=groups[0] if form == "bucketized" else groups,
            sensitive=columns,
            semantics=schema.semantics_of(columns[0]),
            people=tables["people"],
            quasi_identifiers=recognized,
        )
        for part, columns in parts_of_sensitive(schema.sensitives, apart).items()
    ]
    first, *others = sorted(opened, key=lambda each: schema.sensitive not in each.sensitives)
    return first.joined(others, schema.sensitives) if others else first


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
    other_groups = known.form == "generalized" and {*known.groups} != {*schema.quasi_identifiers}
    if other_groups or set(known.sensitives) != set(schema.sensitives):
        raise SchemaError(
            f"the certificate is for {', '.join(known.groups)} and {', '.join(known.sensitives)}, "
            f"the policy for {', '.join(schema.quasi_identifiers)} and "
            f"{', '.join(schema.sensitives)}"
        )
    schema.refuse_other(schema_of(known), published=True)
    _refuse_unread_labels(known, schema)
    if multivalued_columns(known.semantics, known.sensitives) != schema.several:
        raise SchemaError(
            f"the certificate is for semantics {known.semantics!r}, the policy for "
            f"{schema.semantics!r}"
        )


def _refuse_unread_labels(known: Certificate, schema: Schema) -> None:
    """Refuse rules on a column whose labels only the hierarchy of the certificate explains."""
    written = known.policy["schema"].get("hierarchies") or {}
    for column in schema.conditions:
        ours: Any = schema.hierarchies.get(column)
        explained = ours is not None and is_opaque(ours.to_dict())
        if column in written and is_opaque(written[column]) and not explained:
            raise SchemaError(
                f"a rule (impossible) is about {column!r}, whose labels in this release are nodes "
                f"of a hierarchy, as its certificate says: give [schema.hierarchies] {column!r}, "
                "too, as the certificate has it"
            )


def hints_of(known: CertificateRead, column: str) -> dict[str, Any]:
    """What a certificate tells of the labels of a column; nothing has checked it."""
    schema = known.policy["schema"]
    hierarchy = dict(schema.get("hierarchies") or {}).get(column)
    about = dict(schema.get("types") or {}).get(column)
    about = about if about in ("number", "date", "text") else None
    grid = known.grids.get(column, "")
    if grid.startswith(("in steps", "by ")):
        about = "number" if grid.startswith("in steps") else "date"
    if not isinstance(hierarchy, Mapping):
        return {"about": about}
    if "file" in hierarchy or hierarchy.get("character", "*") != "*":
        return {"about": "text", "above": "tree"}
    if "mask" in hierarchy:
        return {"about": "text", "above": "mask"}
    with suppress(InputError, TypeError, ValueError, LookupError, AttributeError):
        made = hierarchy_from(hierarchy, column, Path())
        if isinstance(made, Ordered):
            return {"about": "text", "order": list(map(text_of, made.values))}
        if isinstance(made, Tree):
            return {"about": "text", "tree": made.rows}
    return {"about": "date" if "dates" in hierarchy else "number"}


def is_text(known: CertificateRead, column: str) -> bool:
    """Whether a certificate says that a column is texts, whatever they look like."""
    return hints_of(known, column).get("about") == "text"
