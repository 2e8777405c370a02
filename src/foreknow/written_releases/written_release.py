"""A written release, as a reader has it by its certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from foreknow.certificates import Certificate
from foreknow.data.columns.hierarchy import Ordered, Tree, hierarchy_from
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.labels.labels import text_of
from foreknow.data.prepare import header_of_shuffled
from foreknow.data.release import Release
from foreknow.data.release_tables import COUNT
from foreknow.data.schema import Schema
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.table import Table
from foreknow.data.tables.views.plain_columns import bare, with_commas
from foreknow.data.tables.views.renamed_columns import Rearmed, has_formula, rearmed
from foreknow.data.tables.views.stacked_tables import bare_rows
from foreknow.errors import SchemaError, refuse_other_type
from foreknow.policy.kinds import registered_kinds
from foreknow_judge.certificate import Certificate as CertificateRead
from foreknow_judge.certificate import (
    digest_of,
    files_of,
    parts_of_sensitive,
)
from foreknow_judge.errors import CertificateError, InputError
from foreknow_judge.files.file_names import CERTIFICATE
from foreknow_judge.files.release_folder import strange_parts
from foreknow_judge.knowledge.impossible_values import is_opaque

ESCAPED = b"escaped"  # noted of a table whose texts that look like formulas were marked


@dataclass(frozen=True, repr=False)
class Published:
    """A written release, as its reader has it: by its files and its certificate."""

    release: Release
    certificate: Certificate
    folder: Path = Path()
    tables: Mapping[str, Table] = field(default_factory=dict)

    def rows(self) -> dict[str, Any]:
        """The tables as they are read."""
        return {
            name: bare(bare_rows(table, table.columns, COUNT))
            for name, table in self.tables.items()
        }

    def __repr__(self) -> str:
        return f"Published({self.release.name}, {self.certificate.form})"


def as_opened(release: Any) -> Any:
    """The release at a path that `foreknow publish` wrote; anything else is returned as it is."""
    return open_published(release) if isinstance(release, (str, Path)) else release


def require_folder(path: Any, way: str = "made.write(folder) writes one") -> None:
    """Raise `InputError` for anything but a path; `way` ends the message, and says what to do."""
    refuse_other_type(path, (str, Path), "a folder that publish wrote", f"; {way}")


def open_published(
    path: str | Path, schema: Schema | None = None, certificate: Certificate | None = None
) -> Published:
    """Open what `foreknow publish` wrote, if its files are as certified.

    With `schema`, a release for other columns is refused. With `certificate`, it is the one that
    was read already.
    """
    require_folder(path)
    folder = _folder_of(Path(path))
    certificate = (
        Certificate.load(folder / CERTIFICATE, kinds=registered_kinds())
        if certificate is None
        else certificate
    )
    if not certificate.files:
        raise CertificateError(f"the certificate of {str(folder)!r} does not name its files")
    # Tables are opened before their files are digested: one that changes afterwards is refused.
    tables = dict[str, Table]()
    for table_name, files in certificate.paths(folder).items():
        path_of_table = folder / f"{table_name}.{certificate.format}"
        # A folder of parts must have no other file, since all are read.
        certified_files = files_of(table_name, certificate.format, certificate.files)
        for problem in strange_parts(path_of_table, certified_files):
            raise CertificateError(problem)
        table = _open_certified(path_of_table, files, certificate)
        for file in files if table is not None else [path_of_table]:
            name = file.relative_to(folder).as_posix()
            if table is None or digest_of(file) != certificate.files[name]:
                raise CertificateError(
                    f"{name} is not the file of {str(folder)!r} that was certified; name the file "
                    "itself to audit it as it is"
                )
        assert table is not None
        tables[table_name] = _as_certified(table, certificate)
    if schema is not None:
        refuse_other_schema(certificate, schema)
    release = as_release(
        tables,
        certificate.form,
        certificate.groups,
        # Only the columns of the files; how the raw table was read does not matter for them.
        Schema(
            quasi_identifiers=certificate.groups,
            sensitive=certificate.sensitives,
            other=certificate.beside,
            semantics=certificate.semantics,
        ),
        unlinked=certificate.unlinked,
        recognized=certificate.exact,
    )
    release = release.described(schema=schema_of(certificate), has_earlier=bool(certificate.after))
    return Published(release, certificate, folder, tables)


def schema_of(certificate: Certificate) -> Schema:
    """The schema of the policy of a certificate, without how columns are read and coarsen."""
    changes: dict[str, Any] = {"hierarchies": {}, "types": {}, "group": None}
    return Schema(**{**certificate.policy["schema"], **changes})


class Spelling(NamedTuple):
    """How the files of a release write texts that look like a formula."""

    notes: Mapping[bytes, bytes] | None  # of a table that is made of them
    table_of: Callable[[Table], Table]  # a table without marks
    name_of: Callable[[str], str]  # a header without its mark
    marks_any: Callable[[Any], bool]  # whether one of these texts has a mark, or should have


_PLAIN = Spelling(None, lambda table: table, str, lambda _: False)
_ESCAPED = Spelling({ESCAPED: b"true"}, Rearmed, rearmed, has_formula)


def spelling_of(certificate: CertificateRead) -> Spelling:
    """The spelling of the texts of a release."""
    return _ESCAPED if certificate.escaped else _PLAIN


def _as_certified(table: Table, certificate: Certificate) -> Table:
    """A written table with its values as they were: no marks of formulas, points in decimals."""
    table = spelling_of(certificate).table_of(table)
    if not certificate.commas:
        return table
    rows = table.arrow(table.columns)
    names = [*certificate.commas, *map(header_of_shuffled, certificate.commas)]
    rows = with_commas(rows, names)
    changed_table = open_table(rows)
    changed_table.name = table.name
    return changed_table


def _open_certified(path: Path, files: Sequence[Path], certificate: Certificate) -> Table | None:
    """The table at a path; None unless all of its files are there, and no others."""
    if not all(file.is_file() for file in files):
        return None
    table = open_table(path, Reading(delimiter=certificate.delimiter))
    return table if getattr(table, "files", files) == files else None


def as_release(
    tables: Mapping[str, Any],
    form: str,
    groups: Sequence[str],
    schema: Schema,
    unlinked: Sequence[str] = (),
    recognized: Sequence[str] = (),
) -> Release:
    """The release that its tables make, as a reader takes them.

    Parameters
    ----------
    tables : mapping of str to table
        The table "release"; or "people", and a table for each part of the sensitive columns.
    form : {"generalized", "bucketized"}
    groups : sequence of str
        The columns that make groups; in the bucketized form one, of ids.
    schema : Schema
    unlinked : sequence of str
        Columns that are shuffled within each group.
    recognized : sequence of str
        Exact columns by which somebody may be found among the people.
    """
    if "release" in tables:
        return Release.from_generalized(
            tables["release"],
            quasi_identifiers=groups,
            sensitive=schema.sensitives,
            other=schema.other,
            unlinked=unlinked,
        )
    # Columns apart from others have a table each: a release is made of each, and these are joined,
    # the one of the main sensitive column first.
    not_linked = (*unlinked, *schema.several)
    group = groups[0] if form == "bucketized" else groups
    releases: list[Release] = []
    for table_name, columns in parts_of_sensitive(schema.sensitives, not_linked).items():
        release = Release.from_bucketized(
            tables[table_name],
            group=group,
            sensitive=columns,
            semantics=schema.semantics_of(columns[0]),
            people=tables["people"],
            quasi_identifiers=recognized,
        )
        if schema.sensitive in release.sensitives:
            releases.insert(0, release)
        else:
            releases.append(release)
    first, *other_releases = releases
    return first.joined(other_releases, schema.sensitives) if other_releases else first


def _folder_of(path: Path) -> Path:
    """The folder with the certificate: the path itself, or the folder of the file that it names."""
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


def refuse_other_schema(certificate: Certificate, schema: Schema) -> None:
    """Raise `SchemaError` if a certificate is for other columns than a schema."""
    other_groups = certificate.form == "generalized" and {*certificate.groups} != {
        *schema.quasi_identifiers
    }
    if other_groups or set(certificate.sensitives) != set(schema.sensitives):
        raise SchemaError(
            f"the certificate is for {', '.join(certificate.groups)} and "
            f"{', '.join(certificate.sensitives)}, "
            f"the policy for {', '.join(schema.quasi_identifiers)} and "
            f"{', '.join(schema.sensitives)}; name the policy of this release (--policy)"
        )
    schema.refuse_other(schema_of(certificate), published=True)
    _refuse_unread_labels(certificate, schema)


def _refuse_unread_labels(certificate: Certificate, schema: Schema) -> None:
    """Raise `SchemaError` for rules on a column whose labels the schema does not explain.

    By the certificate, the labels are names of the nodes of a hierarchy, which do not show the
    values that they stand for. Without that hierarchy in `schema`, it is not known to which people
    a rule (impossible) applies.
    """
    certified_hierarchies = certificate.policy["schema"].get("hierarchies") or {}
    for column in schema.conditions:
        hierarchy: Any = schema.hierarchies.get(column)
        is_explained = hierarchy is not None and is_opaque(hierarchy.to_dict())
        certified = certified_hierarchies.get(column)
        if certified is not None and is_opaque(certified) and not is_explained:
            raise SchemaError(
                f"a rule (impossible) is about {column!r}, whose labels in this release are nodes "
                f"of a hierarchy, as its certificate says: give [schema.hierarchies] {column!r}, "
                "too, as the certificate has it"
            )


def hints_of(certificate: CertificateRead, column: str) -> dict[str, Any]:
    """Hints of a certificate on how the labels of a column are to be read; nothing checked them.

    `about` is "number", "date" or "text"; `above`, `order` and `tree` say
    which hierarchy the labels come from; `timed` that dates have a time of day.
    """
    schema = certificate.policy["schema"]
    hierarchy = dict(schema.get("hierarchies") or {}).get(column)
    kind = dict(schema.get("types") or {}).get(column)
    kind = kind if kind in ("number", "date", "text") else None
    grid = certificate.grids.get(column, "")  # such as "in steps of 5" or "by months"
    if grid.startswith(("in steps", "by ")):
        kind = "number" if grid.startswith("in steps") else "date"
    if grid in ("by hour", "by day"):  # only times are divided so, and no days
        return {"about": kind, "timed": True}
    if not isinstance(hierarchy, Mapping):
        return {"about": kind}
    # Labels of a hierarchy that is not at hand may be any texts.
    if "file" in hierarchy or hierarchy.get("character", "*") != "*":
        return {"about": "text", "above": "tree"}
    if "mask" in hierarchy:
        return {"about": "text", "above": "mask"}
    with suppress(InputError, TypeError, ValueError, LookupError, AttributeError):
        hierarchy_read = hierarchy_from(hierarchy, column, Path())
        if isinstance(hierarchy_read, Ordered):
            return {"about": "text", "order": list(map(text_of, hierarchy_read.values))}
        if isinstance(hierarchy_read, Tree):
            return {"about": "text", "tree": hierarchy_read.rows}
    if "dates" not in hierarchy:
        return {"about": "number"}
    periods = hierarchy["dates"] if isinstance(hierarchy["dates"], list) else []
    # A level of days coarsens times only.
    is_timed = "hour" in periods or "day" in periods
    return {"about": "date", "timed": True} if is_timed else {"about": "date"}


def is_text(certificate: CertificateRead, column: str) -> bool:
    """True if a certificate says that a column is texts, whatever they look like."""
    return hints_of(certificate, column).get("about") == "text"
