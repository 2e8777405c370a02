"""Certificate: what was required of a release, and what the judge found, as JSON.

A certificate file is untrusted: every key and type is checked. Nothing here may reach an engine:
old versions of pydantic keep alive whatever a model's functions can see.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    AliasGenerator,
    AliasPath,
    Field,
    PlainValidator,
    Strict,
    ValidationInfo,
    field_validator,
)

from foreknow_judge.counts.layout import multivalued_columns
from foreknow_judge.criteria.population import PopulationSettings
from foreknow_judge.errors import CertificateError, InputError, UnsupportedError
from foreknow_judge.files.documents import decode_utf8, from_json, read_bytes
from foreknow_judge.files.file_names import CERTIFICATE
from foreknow_judge.numbers import as_fraction, as_threshold
from foreknow_judge.policy.grammar import (
    CertifiedTable,
    Count,
    FileFormat,
    Flag,
    Form,
    Names,
    RequireTable,
    SchemaTable,
    Semantics,
    as_times,
    each_once,
)
from foreknow_judge.policy.kinds import PriorSettings
from foreknow_judge.policy.roles import check_roles
from foreknow_judge.policy.settings import Settings, Table, Texts, checked, reader_of
from foreknow_judge.policy.support import refuse_knowledge, refuse_release
from foreknow_judge.registry import OURS, Kinds
from foreknow_judge.remarks.scope import Scope

FORMAT = "foreknow certificate"
FORMAT_VERSION = 1
_MOST_BYTES = 256 << 20


# ---- what a file may hold ----------------------------------------------------------------------


_Limit = Annotated[str, AfterValidator(as_threshold)]
_Times = Annotated[str, AfterValidator(as_times)]
_Exact = Annotated[str, AfterValidator(as_fraction)]
_SomeNames = Annotated[list[str], Field(min_length=1), AfterValidator(each_once)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]


class TableOfPriors(Settings):
    """Probabilities of values for people of each kind, in a certificate or the owner's file."""

    attributes: _SomeNames
    values: _SomeNames
    rows: list[Annotated[tuple[list[str | None], list[str]], Strict(False)]]

    @field_validator("rows")
    @classmethod
    def _check_rows(cls, rows: Any, info: ValidationInfo) -> Any:
        if any(len(signature) != len(info.data.get("attributes", ())) for signature, _ in rows):
            raise ValueError("each row needs a text or null for each attribute")
        for chance in {*chain(*(row for _, row in rows))}:
            as_fraction(chance)
        return rows


class _KeptTable(Settings):
    """The digest of priors that were learned from the table; the owner keeps the priors."""

    attributes: _SomeNames
    digest: Digest


class _Priors(PriorSettings):
    """Priors in a certificate: written out, or kept with the owner; never a file name."""

    tables: Annotated[list[TableOfPriors | _KeptTable], Field(min_length=1)]


_PRIORS = "priors"


class _Publish(Settings, extra="allow"):
    """How the release was made; further keys have tables, such as the settings of a method."""

    __pydantic_extra__: dict[str, dict[str, Any]]
    method: str = ""
    form: Form | None = None
    format: FileFormat | None = None
    delimiter: str = ","
    decimal: str = "."
    bom: bool = False
    escape_formulas: bool = False
    unlinked: Names = ()
    labels: dict[str, str] = Field(default={})
    rows_per_part: Count = 0


class _Policy(Settings):
    schema_: SchemaTable = Field(alias="schema")
    require: Annotated[list[CertifiedTable], Field(min_length=1)]
    publish: _Publish = Field(default={}, validate_default=True)


class _Finding(Settings):
    """A `Verdict`; null for what the owner keeps, and no key for what a criterion does not have."""

    requirement: Count
    judged: dict[str, Any]
    below: _Limit | None = None
    at_most: _Limit | None = None
    at_most_times: _Times | None = None
    limit: _Exact | None = None
    value: str | None
    group: str | None
    exact: _Exact | None
    bounded: Literal[True] | None = None
    probability: float | None = None
    safe: bool


class _Source(Settings):
    """The raw table, which the judge does not have."""

    rows: Count
    digest: str
    digest_kind: str = ""


class _After(Settings):
    """A release that was published before."""

    certificate: Digest
    people: Count


def _read_as(kind: Any) -> PlainValidator:
    """Check a table by its type, and keep it as it was read."""

    def check(table: Any) -> Any:
        reader_of(kind).validate_python(table)
        return table

    return PlainValidator(check)


# ---- the certificate ----------------------------------------------------------------------------

# The fields that a file has under `release`, and their keys there.
IN_RELEASE = {
    name: name
    for name in ("form", "format", "groups", "sensitive", "semantics", "people", "n_groups")
} | {"escaped": "escape_formulas", "files": "files"}


@dataclass(frozen=True, repr=False, kw_only=True)
class Certificate:
    """A record that `foreknow verify` can check against the release, without the original table."""

    # It is read from a file by these types.
    __pydantic_config__: ClassVar[Any] = {
        "extra": "forbid",
        "alias_generator": AliasGenerator(
            validation_alias=lambda name: (
                AliasPath("release", IN_RELEASE[name]) if name in IN_RELEASE else name
            )
        ),
    }

    minimal: Flag = False
    notes: Texts = ()
    scope: Annotated[Table, _read_as(Scope)]
    policy: Annotated[Table, _read_as(_Policy)]
    form: Form
    format: FileFormat
    groups: Annotated[Names, Field(min_length=1)]
    sensitive: str
    semantics: Semantics | dict[str, Semantics] = "single"
    people: Count
    n_groups: Count
    escaped: Flag
    files: dict[str, Digest]
    method: dict[str, Any]
    findings: Annotated[tuple[Annotated[Table, _read_as(_Finding)], ...], Field(min_length=1)]
    source: Annotated[Table, _read_as(_Source)]
    seeded: Flag
    versions: dict[str, str]
    grids: dict[str, str] = field(default_factory=dict)
    delimiter: Literal[",", ";", "\t", "|"] = ","
    commas: Texts = ()
    after: tuple[Annotated[Table, _read_as(_After)], ...] = ()
    report: Digest | None = None
    code_book: Digest | None = None

    @property
    def schema(self) -> Any:
        """The ``[schema]`` table of its policy."""
        return self.policy.get("schema", {})

    @property
    def sensitives(self) -> Texts:
        """All sensitive columns."""
        sensitive = self.schema.get("sensitive", self.sensitive)
        return (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)

    @property
    def in_cases(self) -> bool:
        """True if rows are cases instead of people."""
        return bool(self.schema.get("unit") == "row")

    @property
    def unlinked(self) -> Texts:
        """Columns that are published apart from others, according to the publisher."""
        return tuple(self.policy.get("publish", {}).get("unlinked", ()))

    @property
    def parts(self) -> Texts:
        """Names of the tables."""
        return parts_of(self.form, self.semantics, self.sensitives, self.unlinked)

    def paths(self, folder: Path) -> dict[str, list[Path]]:
        """The files of each table in a folder."""
        names = {table: files_of(table, self.format, self.files) for table in self.parts}
        return {table: [*map(folder.joinpath, files)] for table, files in names.items()}

    @property
    def beside(self) -> Texts:
        """The other columns, which are published unchanged."""
        return tuple(self.schema.get("other", ()))

    @property
    def known(self) -> Texts:
        """The columns that identify people: quasi-identifiers."""
        return tuple(self.schema.get("quasi_identifiers", ()))

    @property
    def exact(self) -> Texts:
        """In the bucketized form, the columns by which people can be recognized."""
        return self.known if self.form == "bucketized" else ()

    @property
    def columns(self) -> dict[str, Texts]:
        """The names of the columns of each table, by table: its file may have no others.

        A release is one table ("release"), or a table of people and tables of sensitive values.
        """
        quasi_identifiers = self.known
        if self.parts == ("release",):
            return {"release": (*quasi_identifiers, *self.beside, *self.sensitives)}
        # In the generalized form the quasi-identifiers are the groups, so they stand there already.
        groups = self.groups if self.form == "bucketized" else ()
        columns = {"people": (*quasi_identifiers, *self.beside, *groups)}
        for table, sensitives in self.tables_of_sensitive.items():
            columns[table] = (*self.groups, *sensitives, "count")
        return columns

    @property
    def tables_of_sensitive(self) -> dict[str, Texts]:
        """The columns of each table of sensitive values."""
        in_own_table = (*self.unlinked, *multivalued_columns(self.semantics, self.sensitives))
        return parts_of_sensitive(self.sensitives, in_own_table)

    @classmethod
    def load(cls, path: str | Path, content: bytes | None = None, kinds: Kinds = OURS) -> Self:
        """Read a certificate.

        Parameters
        ----------
        path : path
        content : bytes, optional
            The content of the file, if it was read already.
        kinds : Kinds, optional
            The kinds that its policy may name; those of Foreknow when left out.

        Raises
        ------
        CertificateError
            If the file is not a certificate that this version knows, or contradicts itself.
        """
        path = Path(path)
        content = bytes_of_certificate(path) if content is None else content
        advice = f"give the folder of a release, or its {CERTIFICATE}"
        name = repr(str(path))
        certificate = check_certificate(parse_certificate(path, content, advice), name, kinds)
        return cls(**vars(certificate))


def bytes_of_certificate(path: Path) -> bytes:
    """The content of a certificate file."""
    return read_bytes(path, _MOST_BYTES, CertificateError, repr(str(path)))


def parse_certificate(path: Path, content: bytes, advice: str) -> Any:
    """The JSON value that a certificate file holds, or a file that lies beside one.

    `content` is what the file holds; `advice` ends the error message if this is no JSON.
    """
    name = repr(str(path))
    try:
        return from_json(decode_utf8(content, CertificateError, name))
    except InputError:  # it is a ValueError, too, and has a message of its own
        raise
    except ValueError as error:
        raise CertificateError("not-json", name, problem=error, advice=advice) from None


def check_certificate(table: Any, name: str, kinds: Kinds = OURS) -> Certificate:
    """Read a certificate from its JSON tables; refuse one that contradicts itself.

    `name` begins each message.
    """
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise CertificateError("not-a-certificate", name)
    version = table.get("version")
    # Compared as texts, since in Python 1.0 and True are equal to 1.
    if repr(version) != str(FORMAT_VERSION):
        raise CertificateError("other-version", name, given=version)
    if "cohort" in table:  # a key of older versions only, for what is not supported any longer
        raise UnsupportedError("whole-after", name)
    content = {
        key: value for key, value in table.items() if key not in {"format", "version", "safe"}
    }
    certificate: Certificate = checked(Certificate, content, name)
    # `checked` refuses unknown keys at the top only, not in the table `release`.
    for key in content["release"].keys() - IN_RELEASE.values():
        raise CertificateError("unknown-key", name, problem=f"has an unknown key 'release.{key}'")
    policy = checked(_Policy, certificate.policy, name)
    settings = [
        _settings_of(required, kinds, f"{name}: policy.require[{number}]")
        for number, required in enumerate(policy.require)
    ]
    contradiction = _contradiction(certificate, policy, settings, kinds)
    if table.get("safe") is not all(finding["safe"] for finding in certificate.findings):
        contradiction = "it is safe if and only if each of its findings is"
    if contradiction:
        raise CertificateError("contradicts-itself", name, problem=contradiction)
    return certificate


def _settings_of(required: RequireTable, kinds: Kinds, where: str) -> dict[str, list[Any]]:
    """The settings of each kind of knowledge or criterion that a requirement names, checked.

    The result has a list of settings for each kind, since a requirement may name an adversary
    several times, with other amounts of knowledge: these are its points. `where` begins messages.
    """
    known_kinds = {**kinds.knowledge, **kinds.criteria, _PRIORS: _Priors}
    settings_of: dict[str, list[Any]] = {kind: [] for kind in required.kinds}
    for kind in settings_of.keys() - known_kinds:
        problem = f"has an unknown key {kind!r}; if it is a kind of another package, only who has "
        raise CertificateError("unknown-key", where, problem=f"{problem}that can verify it")
    points = [*required.kinds.items()]
    if not kinds.criteria.keys() & settings_of:  # only adversaries have points
        try:
            points = [(kind, settings) for kind, settings, _ in required.points]
        except InputError as error:  # add where in the certificate it is
            raise CertificateError("wrong-table", where, problem=error) from None
    for kind, settings in points:
        settings_of[kind].append(checked(known_kinds[kind], settings, f"{where}.{kind}"))
    if not settings_of or not all(settings_of.values()):
        problem = "it names no adversary and no criterion"
        raise CertificateError("wrong-table", where, problem=problem)
    return settings_of


def parts_of(
    form: str, semantics: Any, sensitives: Sequence[str] = ("",), unlinked: Sequence[str] = ()
) -> Texts:
    """Names of the tables of a release."""
    one_table = form == "generalized" and semantics == "single"
    in_own_table = (*unlinked, *multivalued_columns(semantics, sensitives))
    return ("release",) if one_table else ("people", *parts_of_sensitive(sensitives, in_own_table))


def parts_of_sensitive(sensitives: Sequence[str], unlinked: Sequence[str]) -> dict[str, Texts]:
    """The columns of each table of sensitive values, by the name of the table.

    Columns that the policy publishes apart (`unlinked`) have a table each; the others share one.

    >>> parts_of_sensitive(["disease", "income"], ["income"])
    {'sensitive': ('disease',), 'sensitive2': ('income',)}
    """
    linked = tuple(name for name in sensitives if name not in unlinked)
    blocks = [linked] * bool(linked) + [(name,) for name in sensitives if name in unlinked]
    return {
        f"sensitive{number if number > 1 else ''}": columns
        for number, columns in enumerate(blocks, 1)
    }


def files_of(table: str, file_format: str, files: Collection[str]) -> list[str]:
    """The names that the files of a table must have: one file, or parts in a folder of its name.

    How many parts there are is taken from `files`, the names in the certificate, but not how they
    are called: so that a name cannot lead elsewhere.

    >>> files_of("people", "csv", ["people.csv", "sensitive.csv"])
    ['people.csv']
    >>> files_of("release", "parquet", ["release.parquet/a", "release.parquet/b"])
    ['release.parquet/part-00000.parquet', 'release.parquet/part-00001.parquet']
    """
    name = f"{table}.{file_format}"
    n_parts = sum(file.startswith(f"{name}/") for file in files)
    part_files = [
        f"{name}/part-{i:05}.parquet" for i in range(n_parts if file_format == "parquet" else 0)
    ]
    return part_files or [name]


def _contradiction(
    certificate: Certificate, policy: _Policy, settings: Sequence[Mapping[str, Any]], kinds: Kinds
) -> str | None:
    """The first contradiction in a certificate as a sentence, or None if there is none.

    `settings` are those of each requirement, by kind of knowledge or criterion.
    """
    try:
        check_roles(policy.schema_)
    except InputError as error:
        return str(error)
    return next(_contradictions(certificate, policy, settings, kinds), None)


def _contradictions(
    certificate: Certificate, policy: _Policy, settings: Sequence[Mapping[str, Any]], kinds: Kinds
) -> Iterator[str]:
    """Yield contradictions in a certificate, each as a sentence.

    Only the first is sure, since later parts rest on earlier ones.
    """
    yield from _contradictions_of_release(certificate, policy)
    with_kept_priors = set[int]()  # positions of requirements whose priors the owner keeps
    for number, (required, settings_of) in enumerate(zip(policy.require, settings, strict=True)):
        yield from _contradictions_of_requirement(certificate, policy, required, settings_of, kinds)
        for point in settings_of.get(_PRIORS, ()):
            if any(isinstance(table, _KeptTable) for table in point.tables):
                with_kept_priors.add(number)
    yield from _contradictions_of_files(certificate, policy)
    yield from _contradictions_of_people(certificate)
    for finding in certificate.findings:
        # A figure on learned priors would tell something of them, so it stays with the owner, too.
        if finding["exact"] is None and finding["requirement"] not in with_kept_priors:
            yield "a finding does not say what was found, though no priors of it are kept"


def _contradictions_of_release(certificate: Certificate, policy: _Policy) -> Iterator[str]:
    """Yield contradictions between the columns of a release and its policy, each as a sentence."""
    schema, unlinked = policy.schema_, policy.publish.unlinked
    columns_beside = (*schema.sensitives, *schema.beside)
    if not {*unlinked} <= {*columns_beside}:
        yield "unlinked columns are sensitive or among other"
    # The bucketized form numbers groups in a column; else equal quasi-identifiers make a group.
    expected_groups = ["group"] if certificate.form == "bucketized" else schema.quasi_identifiers
    for what, actual, by_policy in (
        ("groups of the release are by", [*certificate.groups], expected_groups),
        ("sensitive column of the release is", certificate.sensitive, schema.sensitives[0]),
        ("semantics of the release are", certificate.semantics, schema.semantics),
    ):
        if actual != by_policy:
            yield f"the {what} {actual!r}; by its policy {by_policy!r}"
    has_shared = schema.shared is not None
    refuse_release("the certificate", certificate.form, schema.semantics, shared=has_shared)


def _contradictions_of_requirement(
    certificate: Certificate,
    policy: _Policy,
    required: RequireTable,
    settings_of: Mapping[str, Any],
    kinds: Kinds,
) -> Iterator[str]:
    """Yield contradictions between a requirement and the release, each as a sentence.

    `required` is the requirement; `settings_of` has its settings by kind.
    """
    schema, sensitive = policy.schema_, required.sensitive or certificate.sensitive
    if sensitive not in schema.sensitives:
        yield f"a requirement is about {sensitive!r}, which is no sensitive column"
    # `knowing` names the published columns that the adversary knows of everybody. It may be left
    # out of a policy, but not of a certificate, if there are columns that could be known.
    is_of_people = any(map(kinds.counts_people, settings_of))
    if is_of_people:
        # Criteria on numbers of people, such as k-anonymity, look at no sensitive column.
        must_name_known = bool(schema.beside) and any(map(kinds.by_other_columns, settings_of))
    else:  # one column is the secret itself
        must_name_known = len(schema.sensitives) + len(schema.beside) > 1
    if must_name_known and required.knowing is None:
        yield "a requirement does not say by knowing which columns are known of everybody"
    for name in required.known:
        if name not in (*schema.sensitives, *schema.beside):
            yield f"{name!r} is said to be known, and is not published beside values"
    yield from _contradictions_of_labels(schema, settings_of, kinds)
    if not is_of_people:
        unlinked = policy.publish.unlinked
        yield from _contradictions_of_knowledge(schema, sensitive, required, settings_of, unlinked)


def _contradictions_of_labels(
    schema: SchemaTable, settings_of: Mapping[str, Any], kinds: Kinds
) -> Iterator[str]:
    """Yield criteria that read labels by another hierarchy than the schema has, as sentences.

    Criteria that compare with a population must name it by its digest.
    """
    for settings in settings_of.get("levels", ()):
        for column, levels in settings.items():
            if _of_other_levels(schema, column, levels.hierarchy):
                yield f"levels of {column!r} are of another hierarchy than the schema has"
    for kind in filter(kinds.compares_population, settings_of):
        population = settings_of[kind][0]  # a criterion has one table of settings
        if population.digest is None:
            yield "a population is certified by its digest"
        misread = _read_otherwise(schema, population)
        if misread is not None:
            yield f"{kind} reads labels of {misread!r} by another hierarchy than the schema"


def _contradictions_of_knowledge(
    schema: SchemaTable,
    sensitive: str,
    required: RequireTable,
    settings_of: Mapping[str, Any],
    unlinked: Collection[str],
) -> Iterator[str]:
    """Yield contradictions between what an adversary knows and what is published, as sentences.

    `sensitive` is the column of the secret; `unlinked` are the columns that are published apart.
    For a combination that nobody can judge, an error is raised.
    """
    priors = settings_of.get(_PRIORS, ())
    for table in chain(*(point.tables for point in priors)):
        for attribute in table.attributes:
            if attribute not in (*schema.quasi_identifiers, *schema.beside):
                yield f"priors are by {attribute!r}, which is not published of people"
    has_links = any(point.facts is not None and point.facts.m for point in priors)
    relative_links = has_links and required.at_most_times is not None
    known = required.known
    refuse_knowledge("the certificate", sensitive, known, unlinked, relative_links=relative_links)
    shared = schema.shared
    if shared is not None:
        # One row of a household shows the value that its members share: the column `shown` marks
        # it. The adversary may know whose row it is, so `shown` must count as known.
        is_unlinked = {shared.shown, *shared.values} & {*unlinked}
        if is_unlinked or shared.shown not in known:
            yield "what households share is not judged by whose row shows it"


def _contradictions_of_files(certificate: Certificate, policy: _Policy) -> Iterator[str]:
    """Yield contradictions between the files of a release, their format and its policy."""
    schema, unlinked = policy.schema_, policy.publish.unlinked
    # The files that a release of this form has: no other name may be certified.
    tables = parts_of(certificate.form, certificate.semantics, schema.sensitives, unlinked)
    files = {*chain(*(files_of(table, certificate.format, certificate.files) for table in tables))}
    if certificate.files and set(certificate.files) != files:
        yield f"the files of such a release are {', '.join(sorted(files))}, and no others"
    if otherwise := _published_otherwise(certificate, policy.publish):
        yield otherwise
    if certificate.escaped and certificate.format != "csv":
        yield "formulas are escaped in CSV only"
    if (certificate.delimiter != "," or certificate.commas) and certificate.format != "csv":
        yield "delimiter and decimal commas are those of CSV"
    published = {*schema.quasi_identifiers, *schema.sensitives, *schema.beside}
    if not {*certificate.commas} <= published:
        yield "commas are those of columns that are published"
    if certificate.report is None and certificate.files:
        yield "a release is written with a report, and its digest is missing"
    if not set(certificate.grids) <= set(certificate.groups):
        yield "grids are of columns that make its groups"


def _contradictions_of_people(certificate: Certificate) -> Iterator[str]:
    """Yield contradictions between the numbers of people in a certificate, each as a sentence.

    They stand in its scope (who was left out), its source (the table) and the earlier releases.
    """
    scope = checked(Scope, certificate.scope, "scope")
    if scope.method is None or scope.left_out is None:
        yield "scope.left_out and scope.method are not both given"
        return
    if scope.method == "frequencies" and certificate.form != "bucketized":
        yield "that the method reveals frequencies only is for the bucketized form"
    # The method is "frequencies", "at most 1/2" or the like, or another word.
    at_most = scope.method.removeprefix("at most ")
    if at_most != scope.method and not 0 < as_fraction(at_most) < 1:
        yield "what the method reveals at most is a probability"
    if certificate.semantics != "single":
        # People may have several rows or none, so the rows of the table say nothing about them.
        if scope.left_out:
            yield "people without a value are left out where everybody has one, and only there"
    elif certificate.source["rows"] != certificate.people + scope.left_out:
        yield "the rows of the source are the people of the release and those left out"
    if len({entry["certificate"] for entry in certificate.after}) < len(certificate.after):
        yield "a release that was published before is named twice"


def _of_other_levels(schema: SchemaTable, column: str, stated: Any) -> bool:
    """True if the levels of a column are those of another hierarchy than the schema has."""
    hierarchy = schema.hierarchies.get(column, {})
    if "rows" in hierarchy:  # whose cells are texts in a requirement
        hierarchy = {"rows": [[*map(str, row)] for row in hierarchy["rows"]]}
    is_named = "file" in hierarchy and stated is not None and {*stated} == {"rows"}
    return not is_named and stated not in (None, hierarchy)


def _read_otherwise(schema: SchemaTable, settings: PopulationSettings) -> str | None:
    """A column whose labels a criterion on a population reads otherwise than the schema.

    None if there is no such column. A hierarchy that the schema keeps in a file cannot be compared.
    """
    trees, orders = settings.trees or {}, settings.orders or {}
    for column in [*schema.quasi_identifiers, *trees, *orders]:
        stated = schema.hierarchies.get(column, {})
        if "file" in stated:
            continue
        # Rows of a tree (a value and the labels above it) may come in any order; values may not.
        tree = {tuple(map(str, row)) for row in stated.get("rows", ())}
        order = [*map(str, stated.get("order", ()))]
        if {*map(tuple, trees.get(column, ()))} != tree or orders.get(column, []) != order:
            return column
    return None


def _published_otherwise(certificate: Certificate, publish: _Publish) -> str | None:
    """A sentence on an option of publishing that the release does not follow; None if all agree.

    `publish` are the options of the policy; those that it leaves out have their defaults. Which
    method made the groups cannot be seen in a release, so it is not compared.
    """
    # Only programs that open CSV files run formulas, so in other formats none is escaped.
    escaped = publish.escape_formulas and certificate.format == "csv"
    for key, expected, actual in (
        ("form", publish.form or certificate.form, certificate.form),
        ("format", publish.format or certificate.format, certificate.format),
        ("escape_formulas", escaped, certificate.escaped),
        ("delimiter", publish.delimiter, certificate.delimiter),
    ):
        if expected != actual:
            return f"{key} is {expected!r} by policy.publish, and {actual!r} by the release"
    if certificate.commas and publish.decimal != ",":
        return "decimals have a comma, and policy.publish does not say so"
    for column in certificate.grids:
        if publish.labels.get(column) == "exact":
            return f"labels of {column!r} are exact by policy.publish, and on a grid by the release"
    return None


def map_prior_tables(required: Table, change: Callable[[Table], Table]) -> dict[str, Any]:
    """A ``[[require]]`` table, or `judged` of a finding, with each table of priors changed."""
    if _PRIORS not in required:
        return dict(required)
    points = [{**point, "tables": [*map(change, point["tables"])]} for point in _points(required)]
    is_list = isinstance(required[_PRIORS], (list, tuple))
    return {**required, _PRIORS: points if is_list else points[0]}


def has_kept_priors(required: Table) -> bool:
    """True if a requirement of a certificate depends on priors that are not in it."""
    return any("digest" in table for point in _points(required) for table in point["tables"])


def _points(required: Table) -> Sequence[Table]:
    """The settings of priors in a ``[[require]]`` table, or in `judged` of a finding."""
    points = required.get(_PRIORS, ())
    return points if isinstance(points, (list, tuple)) else [points]


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
