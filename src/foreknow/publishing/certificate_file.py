"""Certificate files: untrusted JSON, of which every key and type is checked.

Nothing here may reach an engine: old versions of pydantic keep what a model's functions can see.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Strict,
    Tag,
    ValidationError,
    model_validator,
)

from foreknow.adversaries import registry as adversaries
from foreknow.adversaries.priors.priors import Priors
from foreknow.auditing.scope import Scope
from foreknow.criteria import registry as criteria
from foreknow.data.layout import several_of
from foreknow.data.schema import Schema
from foreknow.data.windows import Range, Width
from foreknow.documents import decoded, from_json, read_bytes
from foreknow.errors import CertificateError, InputError
from foreknow.grammar import (
    Amount,
    CertifiedTable,
    FileFormat,
    Form,
    SchemaTable,
    Semantics,
    as_times,
    each_once,
    require_table,
)
from foreknow.needs import Need
from foreknow.numbers import as_fraction, as_threshold
from foreknow.publishing import CERTIFICATE, PRIORS
from foreknow.settings import Settings

FORMAT = "foreknow certificate"
FORMAT_VERSION = 1
KEPT_FORMAT = "foreknow priors"
KEPT_VERSION = 1
_MOST_BYTES = 256 << 20


def _reads(read: Callable[[str], Fraction]) -> AfterValidator:
    """A text that can be read as a number, kept as it is."""

    def check(text: str) -> str:
        read(text)
        return text

    return AfterValidator(check)


_Limit = Annotated[str, _reads(as_threshold)]
_Times = Annotated[str, _reads(as_times)]
_Exact = Annotated[str, _reads(as_fraction)]
_Names = Annotated[list[str], AfterValidator(each_once)]
_SomeNames = Annotated[list[str], Field(min_length=1), AfterValidator(each_once)]
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]


class _TableOfPriors(Settings):
    attributes: _SomeNames
    values: _SomeNames
    rows: list[Annotated[tuple[list[str | None], list[str]], Strict(False)]]

    @model_validator(mode="after")
    def _check_rows(self) -> _TableOfPriors:
        if any(len(signature) != len(self.attributes) for signature, _ in self.rows):
            raise ValueError("each row needs a text or null for each attribute")
        for chance in {chance for _, row in self.rows for chance in row}:
            as_fraction(chance)
        return self


class _KeptTable(Settings):
    """Priors that were learned from the table: the owner has them."""

    attributes: _SomeNames
    digest: _Digest


_whole_or_kept = Discriminator(
    lambda given: "kept" if isinstance(given, dict) and "digest" in given else "whole"
)
_AnyTable = Annotated[
    Annotated[_TableOfPriors, Tag("whole")] | Annotated[_KeptTable, Tag("kept")], _whole_or_kept
]


class _Priors(Settings):
    """Priors as a certificate has them: written out, or kept with the owner; never in files."""

    semantics: Literal["joint", "binary"] = "joint"
    tables: Annotated[list[_AnyTable], Field(min_length=1)]


@cache
def _require_table(kinds: tuple[Any, ...], wanted: tuple[Any, ...]) -> Any:
    """A ``[[require]]`` table of everything that is registered."""
    knowledge = {kind.key: kind.settings for kind in kinds} | {Priors.key: _Priors}
    return require_table(knowledge, {each.key: each.settings for each in wanted}, CertifiedTable, 1)


def _required(given: Any) -> Any:
    table = _require_table(adversaries.ADVERSARIES, criteria.CRITERIA).model_validate(given)
    _check_amounts(table)
    return table


class _Policy(Settings):
    schema_: SchemaTable = Field(alias="schema")
    require: Annotated[list[Annotated[Any, BeforeValidator(_required)]], Field(min_length=1)]
    publish: dict[str, Any] = Field(default={})


class _Release(Settings):
    form: Form
    format: FileFormat
    groups: _Names
    sensitive: str
    semantics: Semantics | dict[str, Semantics] = "single"
    people: Amount
    n_groups: Amount
    escape_formulas: bool
    files: dict[str, _Digest]


class _Finding(Settings):
    """A `Verdict`; null is what is kept with the owner, and left out what a criterion has not."""

    requirement: Amount
    judged: dict[str, Any]
    below: _Limit | None = None
    at_most: _Limit | None = None
    at_most_times: _Times | None = None
    limit: _Exact | None = None
    value: str | None
    group: str | None
    exact: _Exact | None
    probability: float | None = None
    safe: bool


class _KeptPriors(Settings):
    format: Literal["foreknow priors"]
    version: Literal[1]
    may_be_published: Literal[False]
    key: _Digest
    tables: Annotated[list[_TableOfPriors], Field(min_length=1)]


class _Certificate(Settings):
    format: str
    version: int
    safe: bool
    minimal: bool = False
    notes: list[str] = Field(default=[])
    scope: Scope
    policy: _Policy
    release: _Release
    method: dict[str, Any]
    findings: Annotated[list[_Finding], Field(min_length=1)]
    source: dict[str, str | int]
    seeded: bool
    versions: dict[str, str]
    grids: dict[str, str] = Field(default={})
    report: _Digest | None = None


def bytes_of_certificate(path: Path) -> bytes:
    """Read the file of a certificate, once."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CertificateError(f"{str(path)!r} is no file, but a pipe or a device")
    return read_bytes(path, _MOST_BYTES, CertificateError, repr(str(path)))


def read_certificate(path: Path, content: bytes | None = None) -> dict[str, Any]:
    """Read the tables of a certificate, or those of its bytes, which were read already."""
    content = bytes_of_certificate(path) if content is None else content
    advice = f"give the folder of a release, or its {CERTIFICATE}"
    return checked(_parsed(path, content, advice), repr(str(path)))


def read_kept(path: Path) -> dict[str, Any]:
    """Read the owner's file of priors that a certificate names by their digests."""
    if path.exists() and not path.is_file():
        raise CertificateError(f"{str(path)!r} is no file")
    content = read_bytes(path, _MOST_BYTES, CertificateError, repr(str(path)))
    table = _parsed(path, content, f"give the {PRIORS} that publish wrote")
    try:
        _KeptPriors.model_validate(table)
    except ValidationError as error:
        raise CertificateError(
            f"{str(path)!r} does not hold the priors of a release, as publish writes them to "
            f"{PRIORS}: it {_explain(error)}"
        ) from None
    found: dict[str, Any] = table
    return found


def _parsed(path: Path, content: bytes, advice: str) -> Any:
    name = repr(str(path))
    try:
        return from_json(decoded(content, CertificateError, name))
    except InputError:
        raise
    except ValueError as error:
        raise CertificateError(f"{name} is not JSON: {error}; {advice}") from None


def checked(table: Any, name: str) -> dict[str, Any]:
    """Check the tables of a certificate; `name` begins each message."""
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise CertificateError(f"{name} is not a {FORMAT}")
    version = table.get("version")
    if isinstance(version, bool) or version != FORMAT_VERSION:
        raise CertificateError(
            f"{name} is of version {str(version)[:40]}; this program knows version {FORMAT_VERSION}"
        )
    try:
        read = _Certificate.model_validate(table)
    except ValidationError as error:
        raise CertificateError(f"{name} {_explain(error)}") from None
    contradiction = _contradiction(read, table["policy"]["require"])
    if contradiction is not None:
        raise CertificateError(f"{name} contradicts itself: {contradiction}")
    return table


def parts_of(
    form: str, semantics: Any, sensitives: Sequence[str] = ("",), unlinked: Sequence[str] = ()
) -> tuple[str, ...]:
    """Names of the tables of a release."""
    one_table = form == "generalized" and semantics == "single"
    apart = (*unlinked, *several_of(semantics, sensitives))
    return ("release",) if one_table else ("people", *parts_of_sensitive(sensitives, apart))


def parts_of_sensitive(
    sensitives: Sequence[str], unlinked: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The columns of each table of sensitive values: linked ones share one.

    >>> parts_of_sensitive(["disease", "income"], ["income"])
    {'sensitive': ('disease',), 'sensitive2': ('income',)}
    """
    linked = tuple(name for name in sensitives if name not in unlinked)
    blocks = [linked] * bool(linked) + [(name,) for name in sensitives if name in unlinked]
    return {f"sensitive{place if place > 1 else ''}": of for place, of in enumerate(blocks, 1)}


def files_of(part: str, file_format: str, files: Collection[str]) -> list[str]:
    """The files of a table: one, or those in a folder of its name, if there are such.

    >>> files_of("people", "csv", ["people.csv", "sensitive.csv"])
    ['people.csv']
    >>> files_of("release", "parquet", ["release.parquet/a", "release.parquet/b"])
    ['release.parquet/part-00000.parquet', 'release.parquet/part-00001.parquet']
    """
    name = f"{part}.{file_format}"
    many = sum(file.startswith(f"{name}/") for file in files)
    parts = [f"{name}/part-{i:05}.parquet" for i in range(many if file_format == "parquet" else 0)]
    return parts or [name]


def _contradiction(read: _Certificate, requirements: Sequence[Mapping[str, Any]]) -> str | None:
    """What a certificate says in two ways that do not agree."""
    try:
        # Hierarchies, types and the like are the owner's: nothing reads them.
        schema = Schema(**{**dict(read.policy.schema_), "hierarchies": {}, "types": {}})
    except InputError as error:
        return str(error)
    release, semantics = read.release, read.policy.schema_.semantics
    wanted = ["group"] if release.form == "bucketized" else [*schema.quasi_identifiers]
    unlinked = read.policy.publish.get("unlinked", [])
    if not isinstance(unlinked, list) or not {*unlinked} <= {*schema.sensitives, *schema.other}:
        return "unlinked columns are sensitive or among other"
    parts = parts_of(release.form, release.semantics, schema.sensitives, unlinked)
    files = {name for part in parts for name in files_of(part, release.format, release.files)}
    if release.groups != wanted:
        return f"the groups of the release are by {release.groups}, those of its policy by {wanted}"
    if release.sensitive != schema.sensitive:
        return (
            f"the sensitive column of the release is {release.sensitive!r}, that of its policy "
            f"{schema.sensitive!r}"
        )
    for required in read.policy.require:
        if not {required.sensitive or release.sensitive} <= {*schema.sensitives}:
            return f"a requirement is about {required.sensitive!r}, which is no sensitive column"
        of_people = any(each.of_people for each in _criteria(required))
        beside = len(schema.sensitives) + len(schema.other) > 1
        if beside and required.knowing is None and not of_people:
            return "a requirement does not say by knowing which columns are known of everybody"
        for name in required.knowing or ():
            if name not in (*schema.sensitives, *schema.other):
                return f"{name!r} is said to be known, and is not published beside values"
    if release.semantics != semantics:
        return (
            f"the semantics of the release are {release.semantics!r}, those of its policy "
            f"{semantics!r}"
        )
    if release.files and set(release.files) != files:
        return f"the files of such a release are {', '.join(sorted(files))}, and no others"
    if release.escape_formulas and release.format != "csv":
        return "formulas are escaped in CSV only"
    if read.safe != all(finding.safe for finding in read.findings):
        return "it is safe if and only if each of its findings is"
    known = {*schema.quasi_identifiers, *schema.other}
    for required in read.policy.require:
        several = required.priors if isinstance(required.priors, list) else [required.priors]
        for priors in several:
            for table in [] if priors is None else priors.tables:
                for attribute in table.attributes:
                    if attribute not in known:
                        return f"priors are by {attribute!r}, which is not published of people"
    kept = {place for place, table in enumerate(requirements) if is_kept(table)}
    if read.report is None and release.files:
        return "a release is written with a report, and its digest is missing"
    for required in read.policy.require:
        for each in _criteria(required):
            if Need.POPULATION in each.needs and required.kinds[each.key].digest is None:
                return "a population is certified by its digest"
    if read.scope.method is None or read.scope.left_out is None:
        return "scope.left_out and scope.method are not both given"
    if read.scope.method == "frequencies" and release.form != "bucketized":
        return "that the method reveals frequencies only is for the bucketized form"
    if (
        read.scope.method.startswith("at most ")
        and not 0 < as_fraction(read.scope.method.removeprefix("at most ")) < 1
    ):
        return "what the method reveals at most is a probability"
    if release.semantics == "single" and read.source.get("rows") != release.people + (
        read.scope.left_out
    ):
        return "the rows of the source are the people of the release and those left out"
    if release.semantics != "single" and read.scope.left_out:
        return "people without a value are left out where everybody has one, and only there"
    if not set(read.grids) <= set(release.groups):
        return "grids are of columns that make its groups"
    for finding in read.findings:
        if finding.exact is None and finding.requirement not in kept:
            return "a finding does not say what was found, though no priors of it are kept"
    return None


def _criteria(required: CertifiedTable) -> list[Any]:
    """The criterion of a requirement, if it has one."""
    return [each for each in criteria.CRITERIA if each.key in required.kinds]


def _check_amounts(required: CertifiedTable) -> None:
    """Refuse widths and ranges that cannot be read, and a limit too few or too many."""
    if required.within is not None:
        Width.of(required.within)
    for own in required.any_of.values() if isinstance(required.any_of, Mapping) else ():
        if isinstance(own, Mapping):
            Range.of(own)
    if _criteria(required):
        more = required.said.keys() - {"name", "sensitive", "knowing", "any_of"}
        if more:
            raise CertificateError(f"{next(iter(required.kinds))} stands by itself")
        return
    several = [isinstance(own, list) for own in required.kinds.values()]
    if len(required.limits) != several.count(False):
        raise CertificateError("a requirement needs exactly one limit, or one in each point")
    if required.limits and required.below is None and Priors.key not in required.kinds:
        raise CertificateError("at_most and at_most_times are for priors")


def is_kept(required: Mapping[str, Any]) -> bool:
    """Whether a requirement of a certificate stands on priors that are not in it."""
    priors = required.get("priors")
    points = priors if isinstance(priors, (list, tuple)) else [priors]
    given = [point.get("tables") for point in points if isinstance(point, Mapping)]
    tables = [table for of in given if isinstance(of, (list, tuple)) for table in of]
    return any(isinstance(table, Mapping) and "digest" in table for table in tables)


def _explain(error: ValidationError) -> str:
    """Say the first problem in the words of the file."""
    first = max(error.errors(include_url=False), key=lambda e: len(e["loc"]))
    place = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}"
        for part in first["loc"]
        if part not in ("list", "table", "whole", "kept")
    ).removeprefix(".")
    if first["type"] == "missing":
        return f"lacks {place!r}"
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"has an unknown key {place!r}"
    said = first["msg"].removeprefix("Value error, ")
    return f"is malformed: {place}: {said[0].lower()}{said[1:]}"
